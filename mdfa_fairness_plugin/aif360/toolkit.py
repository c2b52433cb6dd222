"""AIF360 itself: imported quietly, and told apart into what runs here and what does not."""

from __future__ import annotations

import importlib.util
import logging
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pandas as pd

from mdfa_fairness_plugin._optional import import_optional

# Parts of AIF360 that need a package it does not install: (component, module to import, what to
# install). Its own advice names extras of its version 0.6.1.
_NEEDS = (
    ("DisparateImpactRemover", "BlackBoxAuditing", "BlackBoxAuditing"),
    ("ExponentiatedGradientReduction", "fairlearn", "fairlearn"),
    ("GridSearchReduction", "fairlearn", "fairlearn"),
    ("AdversarialDebiasing", "tensorflow", "'aif360[AdversarialDebiasing]'"),
    ("OptimPreproc", "cvxpy", "'aif360[OptimPreproc]'"),
    ("FACTS_bias_scan", "mlxtend", "'aif360[FACTS]'"),
    ("ot_distance", "ot", "'aif360[OptimalTransport]'"),
)


def part(module: str) -> ModuleType:
    """Import a part of AIF360 without its import-time messages.

    Parameters
    ----------
    module : str
        Dotted name below ``aif360``, such as ``"metrics"``.

    Raises
    ------
    OptionalDependencyError
        If AIF360 is not installed.
    """
    with quiet():
        return import_optional(
            f"aif360.{module}", extra="aif360", feature="mdfa_fairness_plugin.aif360"
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Keep to itself what AIF360 logs on the root logger and warns of while it is imported.

    Only records that its own files log are held back. Handlers, filters and warning filters are
    afterwards as they were: ``logging.warning`` would otherwise leave a handler on the root logger.
    """
    folders = _folders()

    def is_elsewhere(record: logging.LogRecord) -> bool:
        return not any(Path(record.pathname).is_relative_to(folder) for folder in folders)

    root = logging.getLogger()
    stand_in = logging.NullHandler()
    root.addHandler(stand_in)
    root.addFilter(is_elsewhere)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeFilter(is_elsewhere)
        root.removeHandler(stand_in)


def _folders() -> list[Path]:
    """Where AIF360 lies, without importing it."""
    try:
        spec = importlib.util.find_spec("aif360")
    except (ImportError, ValueError):  # Absent, or hidden on purpose.
        return []
    return [] if spec is None else [Path(one) for one in spec.submodule_search_locations or ()]


def toolkit_status() -> pd.DataFrame:
    """Tell which parts of AIF360 run with what is installed here.

    Returns
    -------
    status : DataFrame
        One row per part known to depend on something else: ``component``, ``runs`` (bool),
        ``reason`` and ``advice`` (both empty where it runs).

    Notes
    -----
    The plug-in needs none of these parts. ``StandardDataset``, and with it the data sets that ship
    with AIF360 0.6.1, fails on the text columns of pandas 3; ``PrejudiceRemover`` starts whatever
    ``python`` comes first on the path.
    """
    rows = [_standard_dataset(), _de_dummy_code()]
    for component, module, package in _NEEDS:
        found = importlib.util.find_spec(module) is not None
        rows.append(
            (component, found, "", "")
            if found
            else (
                component,
                False,
                f"the package {module!r} is not installed",
                f"pip install {package}",
            )
        )
    rows.append(_prejudice_remover())
    return pd.DataFrame(rows, columns=["component", "runs", "reason", "advice"])


def _standard_dataset() -> tuple[str, bool, str, str]:
    """Try the smallest data set with a text column."""
    component = "StandardDataset (AdultDataset, CompasDataset, GermanDataset, ...)"
    datasets = part("datasets")
    frame = pd.DataFrame({"sex": ["m", "f"], "town": ["a", "b"], "y": [0, 1]})
    try:
        with quiet():
            datasets.StandardDataset(
                frame, "y", [1], ["sex"], [["m"]], categorical_features=["town"]
            )
    except Exception as error:  # Whatever goes wrong inside AIF360, the way out is the same.
        return (
            component,
            False,
            f"AIF360 cannot read text columns of pandas {pd.__version__} "
            f"({type(error).__name__}: {error})",
            "use load_compas, load_adult or load_german of mdfa_fairness_plugin.aif360, or convert "
            "text columns with .astype(object) first",
        )
    return component, True, "", ""


def _de_dummy_code() -> tuple[str, bool, str, str]:
    """Try to turn the smallest one-hot columns back into a category."""
    component = "convert_to_dataframe(de_dummy_code=True)"
    frame = pd.DataFrame(
        {"sex": [0, 1], "town=a": [1, 0], "town=b": [0, 1], "y": [0, 1]}, dtype=float
    )
    try:
        with quiet():
            part("datasets").BinaryLabelDataset(
                df=frame,
                label_names=["y"],
                protected_attribute_names=["sex"],
                metadata={"protected_attribute_maps": [{0.0: "f", 1.0: "m"}]},
            ).convert_to_dataframe(de_dummy_code=True)
    except Exception as error:  # As above.
        return (
            component,
            False,
            f"AIF360 cannot write text into the columns of pandas {pd.__version__} "
            f"({type(error).__name__}: {error})",
            "none needed for an audit, which shows one-hot columns as their category itself",
        )
    return component, True, "", ""


def _prejudice_remover() -> tuple[str, bool, str, str]:
    component = "PrejudiceRemover"
    own = Path(sys.executable)
    found = shutil.which("python")
    if found is not None and Path(found).parent == own.parent:
        return component, True, "", ""
    where = "no 'python' is on the PATH" if found is None else f"'python' on the PATH is {found}"
    return (
        component,
        False,
        f"it runs its learner with the 'python' on the PATH, and {where}, not {own}",
        f"activate the environment, or put {own.parent} first on the PATH",
    )
