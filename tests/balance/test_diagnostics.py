"""How alike weights make the features: figures worked by hand, and what is not measured twice."""

import json
import tracemalloc

import numpy as np
import pytest

from mdfa_fairness_plugin.balance.balancer import overlap_weights
from mdfa_fairness_plugin.balance.diagnostics import Distances, diagnose
from mdfa_fairness_plugin.balance.support import Support
from mdfa_fairness_plugin.numerics.rows import RowView


def diagnosed(X, s, weights, **given):
    n, d = X.shape
    usual = {
        "method": "given",
        "base": np.ones(n),
        "places": {f"x{j}": j for j in range(d)},
        "support": Support(mask=np.ones(n, dtype=bool), n_outside=0, share_outside=0.0),
    }
    usual |= given
    return diagnose(Distances.of(X, s, usual["base"], weights), s, weights, **usual)


def test_weights_of_one_leave_everything_as_it_is(cells):
    X, s, _ = cells
    found = diagnosed(X, s, np.ones(330), method="none")
    assert found.method == "none"
    assert found.mmd_after == found.mmd_before
    assert found.effective_sample_size == pytest.approx((180.0, 150.0))
    assert found.largest_weight == pytest.approx(1.0)


def test_differences_worked_by_hand(cells):
    """Share of the first cell: 30/180 against 60/150, and equal once weighted."""
    X, s, weights = cells
    found = diagnosed(X, s, weights, places={"a": 0, "b": 1, "c": 2})
    p, q = 30 / 180, 60 / 150
    spread = np.sqrt((p * (1 - p) + q * (1 - q)) / 2)
    assert found.smd_before["a"] == pytest.approx((p - q) / spread, abs=1e-12)
    assert list(found.smd_after.values()) == pytest.approx([0, 0, 0], abs=1e-12)
    assert found.mmd_after == pytest.approx(0.0, abs=1e-7)
    assert found.largest_weight == pytest.approx(2.0 / (150 / 180))


def test_a_feature_constant_within_both_groups_has_a_finite_difference():
    s = np.repeat([1, -1], 50)
    X = np.column_stack([s, np.ones(100)]).astype(float)
    smd = diagnosed(X, s, np.ones(100)).smd_before
    assert smd["x0"] == pytest.approx(2.0)  # two overall standard deviations
    assert smd["x1"] == 0.0


def test_in_a_feature_that_does_not_vary_the_groups_do_not_differ():
    """Whatever rounding leaves: 35.7 is not a sum of a few powers of two."""
    rng = np.random.default_rng(0)
    s = rng.choice([-1, 1], 5_001)
    X = np.column_stack([np.full(5_001, 35.7), rng.normal(size=5_001)])
    found = diagnosed(X, s, rng.random(5_001))
    assert found.smd_before["x0"] == found.smd_after["x0"] == 0.0


def test_a_view_of_rows_equals_a_copy_of_them(quadratic):
    X, s, e = quadratic
    rows = np.flatnonzero(np.random.default_rng(0).random(len(s)) < 0.8)
    own = s[rows], overlap_weights(e, s)[rows]
    there = diagnosed(RowView(X, rows), *own, base=e[rows])
    assert there.to_dict() == diagnosed(X[rows], *own, base=e[rows]).to_dict()


def test_seen_from_the_other_side_the_distances_are_turned(quadratic):
    X, s, e = quadratic
    base, weights = np.ones(len(s)), overlap_weights(e, s)
    turned, other = Distances.of(X, s, base, weights).turned(), Distances.of(X, -s, base, weights)
    assert turned.mmds == pytest.approx(other.mmds, abs=1e-9)
    assert turned.by_chance == pytest.approx(other.by_chance, abs=1e-9)
    assert turned.differences == pytest.approx(other.differences, abs=1e-9)


def test_features_are_not_copied():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(40_000, 100)), rng.choice([-1, 1], 40_000)
    rows = np.arange(39_000)
    tracemalloc.start()
    diagnosed(RowView(X, rows), s[rows], rng.uniform(0.3, 0.7, 39_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * X.nbytes


def test_integer_weights_act_like_repeated_rows(quadratic):
    X, s, e = (a[:400] for a in quadratic)
    copies = np.random.default_rng(1).integers(1, 4, size=400)
    one = diagnosed(X, s, overlap_weights(e, s), base=copies.astype(float))
    Xr, sr, er = (np.repeat(a, copies, axis=0) for a in (X, s, e))
    other = diagnosed(Xr, sr, overlap_weights(er, sr))
    assert one.mmd_before == pytest.approx(other.mmd_before, rel=1e-6)
    assert one.mmd_after == pytest.approx(other.mmd_after, rel=1e-6)
    assert one.smd_before == pytest.approx(other.smd_before, abs=1e-9)
    assert one.smd_after == pytest.approx(other.smd_after, abs=1e-9)


def test_rows_outside_are_those_found_before(cells):
    X, s, weights = cells
    support = Support(mask=np.ones(330, dtype=bool), n_outside=40, share_outside=0.1)
    found = diagnosed(X, s, weights, support=support)
    assert (found.n_outside_support, found.share_outside_support) == (40, 0.1)


def test_diagnostics_are_plain_once_asked(cells):
    plain = diagnosed(*cells).to_dict()
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_a_large_mean_hides_no_difference(spread):
    """Weights of one leave things as they were, and shifting a feature changes nothing."""
    rng = np.random.default_rng(1)
    Z, s = rng.normal(size=(5_000, 3)), np.where(rng.random(5_000) < 0.4, 1, -1)
    plain = diagnosed(Z, s, np.ones(5_000))
    moved = diagnosed(1e9 + spread * Z, s, np.ones(5_000))
    for name, value in plain.smd_before.items():
        assert moved.smd_before[name] == pytest.approx(value, abs=2e-3)
        assert moved.smd_after[name] == pytest.approx(moved.smd_before[name], abs=1e-9)
