"""Looks at eleven report pages in a browser, with what that needs installed first.

    python .ci/pages.py [FOLDER]    keeps the pages in FOLDER

Where Debian's chromium or axe-core cannot be installed it says so, and that nothing was looked at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import check_page
import numpy as np
import pandas as pd

import mdfa_fairness_plugin as mdfa

QUICK = {"learner": "tree", "n_splits": 2, "n_repeats": 1}
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=y>{{ 7 * 7 }} $x$ & a name that goes on"


def demo() -> mdfa.AuditResult:
    """The arrests."""
    return of(mdfa.datasets.load_arrests(), favorable_label="released")


def of(data, **settings) -> mdfa.AuditResult:
    """An audit of a data set."""
    groups = data.sensitive_features
    return mdfa.audit(data.X, data.y, sensitive_features=groups, **QUICK, **settings)


def people(n: int = 1200, n_noise_features: int = 0):
    """A small data set with something to find."""
    made = {"delta": 1.5, "imbalance": 0.0, "n_noise_features": n_noise_features}
    return mdfa.datasets.make_synthetic(n, random_state=1, **made)


def searches() -> mdfa.AuditResult:
    """Thirty searches, of groups with long names."""
    data = people(3000)
    place = np.random.default_rng(0).integers(0, 15, len(data.X))
    names = [f"the {i}th of fifteen districts, whose name is long" for i in range(15)]
    data.sensitive_features = pd.Series(np.array(names)[place], name="district of residence")
    return of(data)


def numbers() -> mdfa.AuditResult:
    """An outcome that is a number."""
    data = people()
    rng = np.random.default_rng(2)
    data.y = pd.Series(2000 + 300 * data.y + 200 * rng.normal(size=len(data.y)), name="wage")
    return of(data, outcome_type="numeric")


def classes() -> mdfa.AuditResult:
    """Four outcomes, of three groups."""
    data = people(2400)
    rng = np.random.default_rng(3)
    held = np.array(["none", "fine", "probation", "prison"])
    place = np.where(data.y == 1, rng.integers(0, 4, len(data.y)), rng.integers(0, 3, len(data.y)))
    data.y = pd.Series(held[place], name="sentence")
    data.sensitive_features = data.sensitive_features.where(rng.random(len(data.y)) < 0.7, 2)
    return of(data)


def score() -> mdfa.AuditResult:
    """Marks of a score, which are an order."""
    data = people()
    rng = np.random.default_rng(4)
    data.y = pd.Series(np.clip(data.y * 3 + rng.integers(0, 7, len(data.y)), 0, 9), name="score")
    return of(data, ordered=list(range(10)))


def hostile() -> mdfa.AuditResult:
    """Names that are markup."""
    data = people()
    data.X.columns = [f"{HOSTILE} {i}" for i in range(2)]
    data.y = data.y.map({0: f"{HOSTILE} no", 1: f"{HOSTILE} yes"})
    data.sensitive_features = data.sensitive_features.map({1: HOSTILE, -1: "b"}).rename(HOSTILE)
    return of(data)


def comparison() -> mdfa.ComparisonResult:
    """Three models, with true labels."""
    data = people()
    answers = {f"model {i}": np.roll(data.y, i) for i in range(3)}
    told = {"sensitive_features": data.sensitive_features, "y_true": data.y, "n_splits": 2}
    return mdfa.compare(data.X, answers, **told, learner="tree", n_repeats=1)


def card():
    """One person's."""
    data = people()
    auditor = mdfa.MDFAuditor(**QUICK)
    return auditor.fit(data.X, data.y, sensitive_features=data.sensitive_features).explain_row(
        None, row=1
    )


PAGES: dict[str, Callable] = {
    "demo": demo,
    "searches": searches,
    "features": lambda: of(people(n_noise_features=58)),
    "comparison": comparison,
    "card": card,
    "hostile": hostile,
    "numbers": numbers,
    "classes": classes,
    "score": score,
}
REAL: dict[str, Callable] = {
    "compas": lambda: of(mdfa.datasets.load_compas(binary_race=True)),
    "german": lambda: of(mdfa.datasets.load_german()),
}


def main() -> int:
    """Make the pages and look at them; 1 if anything is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(sys.argv[1] if len(sys.argv) > 1 else folder)
        try:
            browser, axe = installed()
        except (OSError, subprocess.SubprocessError) as error:
            print(f"pages: not looked at, as the browser or axe-core cannot be installed ({error})")
            return 0
        return check_page.check(list(made(work)), browser, axe)


def installed() -> tuple[str, str]:
    """The browser, and the text of axe-core."""
    quietly = partial(subprocess.run, check=True, timeout=600, stdout=subprocess.DEVNULL)
    asked = {"chromium": check_page.find_chromium(), "npm": shutil.which("npm")}
    given = os.environ.get("MDFA_AXE_CORE")
    missing = [name for name, path in asked.items() if not path and not (name == "npm" and given)]
    if missing:
        quietly(["apt-get", "-qq", "update"])
        quietly(["apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing])
    browser = check_page.find_chromium()
    if browser is None:
        raise OSError("no chromium after its installation")
    return browser, check_page.load_axe(given)


def made(folder: Path) -> Iterator[Path]:
    """Each page, written; those of real data where there are any."""
    warnings.simplefilter("ignore")
    for name, make in (PAGES | (REAL if os.environ.get("MDFA_DATA_HOME") else {})).items():
        path = folder / f"{name}.html"
        make().to_html(path)
        yield path


if __name__ == "__main__":
    sys.exit(main())
