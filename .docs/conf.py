"""Settings of Sphinx for the API reference: ``sphinx-build -W .docs FOLDER``."""

from mdfa_fairness_plugin import __version__

project = "mdfa-fairness-plugin"
release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "groupwise"
autodoc_typehints = "none"
numpydoc_show_class_members = False  # they stand below their class with what they take
html_theme = "alabaster"
html_theme_options = {"description": "API reference", "page_width": "60em"}
html_show_sphinx = False
html_copy_source = False


def leave_out(app, what, name, value, skip, options):
    """Leave out what other packages made, such as AIF360's own methods; None keeps the usual rule."""
    home = getattr(value, "__module__", None) or "mdfa_fairness_plugin"
    made = name.startswith("set_") and name.endswith("_request")  # by scikit-learn
    return True if made or not home.startswith("mdfa_fairness_plugin") else None


def setup(app):
    """Tell Sphinx of it."""
    app.connect("autodoc-skip-member", leave_out)
