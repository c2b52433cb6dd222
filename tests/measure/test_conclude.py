"""What is concluded from sums: every figure of a table worked by hand, every verdict and why."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdfa_fairness_plugin.measure.conclude import Measured, conclude, counts_frame
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.intervals import delta_interval, gamma_interval, mass_interval
from mdfa_fairness_plugin.measure.tests import detectable_delta

SETTINGS = {
    "estimator": "hajek",
    "alpha": 0.05,
    "confidence_level": 0.95,
    "adjusted": 0.01,
    "n_tests": 4,
    "spread": 1.2,
    "test_spread": 1.4,
}


def table(hits, inside, everybody=(500, 500), outside_hits=(0, 0)):
    """Rows of the group, then of the others: those inside first, those with the outcome first."""
    s = np.repeat([1, -1], everybody)
    member = np.concatenate([np.arange(n) < k for n, k in zip(everybody, inside, strict=True)])
    positive = np.concatenate(
        [
            (np.arange(n) < hit) | ((np.arange(n) >= k) & (np.arange(n) < k + more))
            for n, k, hit, more in zip(everybody, inside, hits, outside_hits, strict=True)
        ]
    )
    return positive, s, member


def measured(hits=(40, 20), inside=(100, 100), estimates=None, **changes):
    """Sums of a table where 120 of the group and 80 of the others have the outcome in all."""
    positive, s, member = table(hits, inside, outside_hits=(120 - hits[0], 80 - hits[1]))
    ones = np.ones(len(s))
    region = measure(positive, s, ones, member)
    return Measured(
        **{
            "population": measure(positive, s, ones),
            "region": region,
            "leftover": None,
            "estimates": {"hajek": region.delta} if estimates is None else estimates,
            "missing_bounds": (0.1, 1.5),
            "n_compared": len(s),
            "n_rows": int(member.sum()),
            "n_hits": int((positive & member).sum()),
        }
        | changes
    )


def test_figures_of_a_table_worked_by_hand():
    """40 and 20 of 100 inside, among 500 each of whom 120 and 80 have the outcome."""
    given = measured()
    found = conclude(given, **SETTINGS)
    assert (found["verdict"], found["reason"]) == ("violation", "")
    assert found["delta"] == pytest.approx(math.log(2))
    assert found["rates"] == pytest.approx((0.4, 0.2))
    assert found["mass"] == pytest.approx(0.2 * 0.3)
    assert found["gamma"] == pytest.approx(0.2 * 0.2 / 4)
    # The region holds a fifth of either side, so Lemma 1 says the same.
    assert found["gamma_lemma"] == pytest.approx(0.2 * 0.2 / 4)
    assert (found["n_rows"], found["share"]) == (200, 0.2)
    assert found["missing_bounds"] == (0.1, 1.5)
    assert found["e_value"] == pytest.approx(2 + math.sqrt(2))
    assert found["estimates"] is given.estimates
    assert found["interval"] == delta_interval(given.region, 0.95, 1.2)
    assert found["gamma_interval"] == gamma_interval(given.region, 0.95, 1.2)
    assert found["mass_interval"] == mass_interval(given.region, 0.95, 1.2)
    low = math.exp(found["interval"][0])
    assert found["e_value_limit"] == pytest.approx(low + math.sqrt(low * (low - 1)))
    assert found["detectable_delta"] == detectable_delta(
        alpha=0.05, rate=0.2, sizes=(500.0, 500.0), level=0.05 / 4, spread=1.4
    )


def test_another_estimate_moves_the_interval_and_the_bounds_along():
    """Doubly robust .8 instead of ln 2: everything on the scale of delta moves by the difference."""
    given = measured(estimates={"hajek": math.log(2), "doubly_robust": 0.8})
    one = conclude(given, **SETTINGS)
    other = conclude(given, **SETTINGS | {"estimator": "doubly_robust"})
    shift = 0.8 - math.log(2)
    assert other["delta"] == 0.8
    for name in ("interval", "missing_bounds"):
        assert other[name] == pytest.approx([end + shift for end in one[name]])
    assert other["e_value"] == pytest.approx(
        math.exp(0.8) + math.sqrt(math.exp(0.8) * (math.exp(0.8) - 1))
    )
    for name in ("gamma", "mass", "rates", "gamma_interval", "mass_interval"):
        assert other[name] == one[name]


def test_an_estimate_without_end_leaves_the_interval_where_it_is():
    given = measured(estimates={"hajek": math.log(2), "raw": math.inf})
    one, other = (conclude(given, **SETTINGS | {"estimator": name}) for name in ("hajek", "raw"))
    assert other["delta"] == math.inf
    assert (other["interval"], other["missing_bounds"]) == (one["interval"], one["missing_bounds"])


@pytest.mark.parametrize(
    ("hits", "adjusted", "verdict", "reason"),
    [
        ((40, 20), 0.049, "violation", ""),
        ((40, 20), 0.051, "none_larger_than_detectable", ""),
        ((20, 40), 0.001, "none_larger_than_detectable", ""),
        ((20, 20), 0.001, "none_larger_than_detectable", ""),
        ((7, 3), 0.001, "violation", ""),
        ((7, 2), 0.001, "insufficient_evidence", "only 9 rows of the subgroup have the outcome"),
        ((0, 0), 0.001, "insufficient_evidence", "nobody in the subgroup has the outcome"),
        ((40, 20), math.nan, "insufficient_evidence", "nobody in the subgroup has the outcome"),
    ],
)
def test_verdicts_and_their_reasons(hits, adjusted, verdict, reason):
    """A p-value below 5 % and a ratio above one, in at least ten rows with the outcome."""
    found = conclude(measured(hits), **SETTINGS | {"adjusted": adjusted})
    assert found["verdict"] == verdict
    assert found["reason"].startswith(reason)
    assert bool(found["reason"]) == bool(reason)


def test_what_could_not_have_been_found_is_no_all_clear():
    """Twelve rows a side and a mass of one in a thousand: not even a thousandfold ratio."""
    positive, s, _ = table((6, 6), (12, 12), everybody=(12, 12))
    rates = measure(positive, s, np.ones(24))
    few = measured(population=rates, region=rates, estimates={"hajek": rates.delta})
    for adjusted, verdict in ((0.5, "insufficient_evidence"), (0.01, "insufficient_evidence")):
        found = conclude(few, **SETTINGS | {"adjusted": adjusted, "alpha": 0.001})
        assert found["detectable_delta"] == math.inf
        assert found["verdict"] == verdict
        assert "thousandfold ratio in a subgroup of mass 0.001" in found["reason"]


def test_share_is_unknown_where_nobody_was_compared():
    assert math.isnan(conclude(measured(n_compared=0), **SETTINGS)["share"])


def test_counts_have_the_audited_outcome_first():
    counts = np.array([[1, 2, 3], [4, 5, 6]])
    found = counts_frame(counts, ("f", "w"), None, ("a", "b", "c"), "b")
    assert found.index.tolist() == [("f", "w"), "everyone else"]
    assert found.columns.tolist() == ["b", "a", "c"]
    assert found.to_numpy().tolist() == [[2, 1, 3], [5, 4, 6]]
    assert counts_frame(counts, "f", "m", ("a", "b", "c"), "a").index.tolist() == ["f", "m"]
