"""Table 3: repaired classifiers of three data sets."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.exceptions import OptionalDependencyError
from mdfa_fairness_plugin.experiments import repaired, reproduce, table3


def test_table3_of_german_credit(data_home, check, monkeypatch):
    pytest.importorskip("fairlearn", reason="Red-LC is Fairlearn's")
    monkeypatch.setattr(table3, "DATA_SETS", ("German",))
    monkeypatch.setattr(table3, "MODELS", ("LC", "Red-LC"))
    made = check(reproduce("table3", data_home=data_home, n_splits=2, reading="ours"))
    for model in ("LC", "Red-LC"):
        assert math.isfinite(made.find(f"German, {model}: DT_G", table3.DONE_PROPERLY).ours)
    outcome = "done properly, outcome rates"
    repaired_ratio = made.find("German, Red-LC: DI", outcome).ours
    assert abs(math.log(repaired_ratio)) < abs(math.log(made.find("German, LC: DI", outcome).ours))
    assert made.runs["split"].nunique() == 2


def test_a_repair_that_is_not_installed_is_named(monkeypatch):
    def missing(name, **options):
        raise OptionalDependencyError("Install BlackBoxAuditing.")

    monkeypatch.setattr(repaired, "make_repair", missing)
    X = pd.DataFrame({"a": np.arange(20.0)})
    sensitive = pd.Series(["f", "m"] * 10)
    data = repaired._out_of_fold(X, np.arange(20) % 2, sensitive, "f")
    assert repaired._answers({"x": data}, 0, "x", "DI-LC") == "Install BlackBoxAuditing."
    case = repaired.Case(
        name="German",
        X=X,
        sensitive=sensitive,
        group="f",
        y=data["y"],
        outcomes={},
        absent={"DI-LC": "Install BlackBoxAuditing."},
    )

    class Nothing:
        searches = (None,)

    (row,) = table3._of_models(case, Nothing())
    assert row.why == "Install BlackBoxAuditing."
    assert math.isnan(row.ours)


def test_most_communities_have_no_counterpart_by_all_features(data_home):
    """By 96 census features like cannot be compared with like; by eight, it can."""
    data = repaired._crimes(data_home)
    case = repaired.Case(
        name="Crimes",
        X=data["audited"],
        sensitive=data["sensitive"],
        group=data["group"],
        y=data["y"],
        outcomes={},
        absent={},
        everything=data["everything"],
    )
    (row,) = table3._by_everything(case, 0)
    assert row.ours > 0.5
    assert data["audited"].shape[1] == 8
    assert "racepctblack" not in data["everything"]
