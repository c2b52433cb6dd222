"""A result as dictionary and JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.records import Violation, WorstCasePath
from mdfa_fairness_plugin.report.plain import as_json, to_plain

COUNTS = pd.DataFrame([[40, 10], [15, 30]], index=["Black", "everyone else"], columns=["no", "yes"])


def refused(**fields):
    """A search with some of its figures."""
    given = {
        "sensitive_feature": "race",
        "group": "Black",
        "outcome": "no",
        "verdict": "violation",
        "delta": math.log(1.8),
        "interval": (math.log(1.4), math.log(2.3)),
        "counts": COUNTS,
        "membership": [True, False, True, True],
    }
    return Violation(**(given | fields))


def audit(*violations, **fields):
    return AuditResult(violations=violations, **{"n_samples": 6172, **fields})


def rich():
    path = WorstCasePath(
        delta=np.array([math.inf, 1.0, math.nan]),
        mass=np.array([0.01, 0.05, 0.1], dtype=np.float32),
        n_rows=np.array([3, 5, 9]),
        threshold=np.array([2.0, 1.0, 0.0]),
        interval_low=np.array([0.1, 0.2, np.nan]),
        interval_high=np.full(3, np.inf),
    )
    profile = pd.DataFrame(
        [[1.0, np.nan]],
        index=pd.MultiIndex.from_tuples([("age", "", "mean")]),
        columns=pd.MultiIndex.from_tuples([("population", "a"), ("subgroup", "a")]),
    )
    return audit(
        refused(path=path, profile=profile, estimates={"raw": np.float64("nan"), "hajek": 0.5}),
        refused(group=("Black", np.int64(2)), outcome=np.True_, reference=("White", 1)),
        Violation(sensitive_feature="race", group="Other", outcome="no"),
        balance={("race", np.int64(3)): {"mmd_after": np.inf, "smd": {"age": np.float32(0.5)}}},
        provenance={
            "seed": np.int64(3),
            "parameters": {"learner": object(), "f": len, "none": None, 1: "one", "1": "text"},
            "when": pd.Timestamp("2020-01-31"),
            "timings": {"fit": 1.23},
        },
        excluded={"zero weight": np.int64(3)},
        outcome_labels=(pd.Timestamp("2020-01-31"), np.float64(1.5), None),
    )


def test_json_is_strict():
    def refuse(constant):
        raise AssertionError(constant)

    plain = json.loads(rich().to_json(), parse_constant=refuse)
    assert plain == to_plain(rich())
    assert plain == rich().to_dict()


def test_dictionary_holds_what_the_result_holds():
    plain = rich().to_dict(rows=True)
    first, second, third = plain["violations"]
    assert plain["worst_case"] == 0
    assert first["membership"] == "1011"
    assert first["ratio"] == pytest.approx(1.8)
    assert first["path"]["delta"] == ["inf", 1.0, None]
    assert first["path"]["n_rows"] == [3, 5, 9]
    assert first["counts"] == {
        "columns": ["no", "yes"],
        "index": ["Black", "everyone else"],
        "values": [[40, 10], [15, 30]],
    }
    assert first["profile"]["columns"] == [["population", "a"], ["subgroup", "a"]]
    assert first["profile"]["values"] == [[1.0, None]]
    assert first["estimates"] == {"raw": None, "hajek": 0.5}
    assert second["group"] == ["Black", 2]
    assert second["outcome"] is True
    assert third["delta"] is None
    assert third["membership"] == ""
    assert plain["balance"] == [
        {"sensitive_feature": "race", "group": 3, "mmd_after": "inf", "smd": {"age": 0.5}}
    ]
    assert plain["outcome_labels"] == ["2020-01-31", 1.5, None]
    assert plain["excluded"] == {"zero weight": 3}
    assert AuditResult().to_dict()["worst_case"] is None


def test_same_result_gives_the_same_bytes():
    """Even with timings, the order of dictionaries and addresses in memory different."""
    one = rich()
    fields = {**one.provenance, "timings": {"fit": 99.0}}
    fields["parameters"] = {**fields["parameters"], "learner": object()}
    two = AuditResult(
        **{
            **{name: getattr(one, name) for name in one.__dataclass_fields__},
            "provenance": dict(reversed(fields.items())),
        }
    )
    assert one.to_json() == two.to_json()
    assert one.to_html() == two.to_html()
    assert "1.23" not in one.to_json()
    assert " at 0x" not in one.to_json()


def test_keys_that_look_alike_are_both_kept():
    parameters = rich().to_dict()["provenance"]["parameters"]
    assert {parameters["1"], parameters["1 (str)"]} == {"one", "text"}


def test_membership_of_many_rows_stays_small():
    mask = np.random.default_rng(0).random(100_000) < 0.5
    plain = to_plain(audit(refused(membership=mask)), rows=True)
    assert plain["violations"][0]["membership"] == "".join("1" if m else "0" for m in mask)


def test_rows_are_told_only_if_asked_for():
    few, all_of_it = rich().to_dict(), rich().to_dict(rows=True)
    for own, other in zip(few["violations"], all_of_it["violations"], strict=True):
        assert set(other) - set(own) == {"membership", "held_out", "left_out"}
        assert other | own == other
    assert json.loads(rich().to_json(rows=True)) == all_of_it


def test_functions_are_what_the_methods_call():
    result = rich()
    assert as_json(to_plain(result)) == result.to_json()
