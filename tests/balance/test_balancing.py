"""The balance stage: methods by name, given weights, diagnostics."""

import json
import tracemalloc
import warnings
from functools import partial

import numpy as np
import pytest

from mdfa_fairness_plugin.balance import (
    EntropyBalancing,
    MMDNetwork,
    balance,
    balancing,
    check_support,
    diagnose,
    overlap_weights,
    weigh,
)
from mdfa_fairness_plugin.exceptions import BalanceWarning, InputError, WarningLog
from mdfa_fairness_plugin.numerics.rows import RowView

QUICK_METHODS = ["kernel_matching", "entropy", "propensity", "overlap"]


@pytest.mark.parametrize("method", QUICK_METHODS)
def test_every_method_makes_the_groups_more_alike(method, quadratic):
    X, s, _ = quadratic
    found = balance(X, s, method=method, random_state=0)
    diagnostics = found.diagnostics
    assert diagnostics.method == method
    assert diagnostics.mmd_after < diagnostics.mmd_before / 3
    assert (found.weights >= 0).all()
    assert diagnostics.effective_sample_size[0] < (s > 0).sum()


def test_the_network_by_name(quadratic, monkeypatch):
    pytest.importorskip("torch", reason="the network needs torch (extra 'network')")
    monkeypatch.setattr(balancing, "MMDNetwork", partial(MMDNetwork, max_epochs=2))
    X, s, _ = quadratic
    X, s = X[:200], s[:200]
    found = balance(X, s, method="mmd_network", random_state=0)
    assert found.diagnostics.method == "mmd_network"
    assert found.details.features(X).shape == (200, 8)
    assert not found.details.joint
    assert found.details.max_weight == 10.0
    joint = balance(X, s, method="mmd_network", label=s, max_weight=4.0, random_state=0)
    assert joint.details.joint
    assert joint.details.max_weight == 4.0


def test_none_leaves_everything_as_it_is(cells):
    X, s, _ = cells
    found = balance(X, s, method="none", random_state=0)
    assert (found.weights == 1).all()
    assert found.diagnostics.mmd_after == found.diagnostics.mmd_before
    assert found.diagnostics.effective_sample_size == pytest.approx((180.0, 150.0))
    assert found.diagnostics.largest_weight == pytest.approx(1.0)


def test_given_weights_and_differences_worked_by_hand(cells):
    """Share of the first cell: 30/180 against 60/150, and equal once weighted."""
    X, s, weights = cells
    found = balance(X, s, method=weights, names=["a", "b", "c"], random_state=0)
    p, q = 30 / 180, 60 / 150
    spread = np.sqrt((p * (1 - p) + q * (1 - q)) / 2)
    diagnostics = found.diagnostics
    assert diagnostics.method == "given"
    assert diagnostics.smd_before["a"] == pytest.approx((p - q) / spread, abs=1e-12)
    assert list(diagnostics.smd_after.values()) == pytest.approx([0, 0, 0], abs=1e-12)
    assert diagnostics.mmd_after == pytest.approx(0.0, abs=1e-7)
    assert diagnostics.largest_weight == pytest.approx(2.0 / (150 / 180))
    assert (found.weights == weights).all()


def test_a_feature_constant_within_both_groups_has_a_finite_difference():
    s = np.repeat([1, -1], 50)
    X = np.column_stack([s, np.ones(100)]).astype(float)
    smd = diagnose(X, s, np.ones(100)).smd_before
    assert smd["x0"] == pytest.approx(2.0)  # two overall standard deviations
    assert smd["x1"] == 0.0


def test_in_a_feature_that_does_not_vary_the_groups_do_not_differ():
    """Whatever rounding leaves: 35.7 is not a sum of a few powers of two."""
    rng = np.random.default_rng(0)
    s = rng.choice([-1, 1], 5_001)
    X = np.column_stack([np.full(5_001, 35.7), rng.normal(size=5_001)])
    found = diagnose(X, s, rng.random(5_001))
    assert found.smd_before["x0"] == found.smd_after["x0"] == 0.0


@pytest.mark.parametrize("method", ["overlap", "propensity", "none", "entropy"])
def test_a_view_of_rows_equals_a_copy_of_them(method, quadratic):
    X, s, e = quadratic
    rows = np.flatnonzero(np.random.default_rng(0).random(len(s)) < 0.8)
    own = {"method": method, "propensity": e[rows], "sample_weight": e[rows], "random_state": 0}
    view = RowView(X, rows)
    there = balance(view, s[rows], **own)
    copied = balance(X[rows], s[rows], **own)
    assert (there.weights == copied.weights).all()
    assert there.diagnostics.to_dict() == copied.diagnostics.to_dict()
    assert (weigh(view, s[rows], **own).weights == copied.weights).all()
    assert (
        balance(view, s[rows], method=method, random_state=0).weights
        == balance(X[rows], s[rows], method=method, random_state=0).weights
    ).all()


def test_the_other_direction_of_the_same_weights_is_not_measured_again(quadratic, monkeypatch):
    X, s, e = quadratic
    flipped = {"X": X, "s": -s, "propensity": 1 - e, "method": "overlap", "random_state": 0}
    fresh = balance(**flipped).diagnostics
    known = []
    first = balance(X, s, propensity=e, method="overlap", random_state=0, known_measures=known)
    monkeypatch.setattr(balancing, "_measure", None)
    second = balance(**flipped, known_measures=known).diagnostics
    assert second.mmd_after == first.diagnostics.mmd_after
    for name in ("mmd_before", "mmd_after", "mmd_by_chance", "smd_before", "smd_after"):
        assert getattr(second, name) == pytest.approx(getattr(fresh, name), abs=1e-9)
    assert second.effective_sample_size == pytest.approx(fresh.effective_sample_size)
    again = balance(X, s, propensity=e, method="overlap", random_state=0, known_measures=known)
    assert again.diagnostics.to_dict() == first.diagnostics.to_dict()
    with pytest.raises(TypeError):  # other weights, or another split of the rows
        balance(X, s, propensity=e, method="propensity", known_measures=known)
    with pytest.raises(TypeError):
        balance(X, np.roll(s, 1), method=first.weights, propensity=e, known_measures=known)


def test_features_are_not_copied_for_diagnostics():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(40_000, 100)), rng.choice([-1, 1], 40_000)
    e, rows = rng.uniform(0.3, 0.7, 39_000), np.arange(39_000)
    tracemalloc.start()
    balance(RowView(X, rows), s[rows], method="overlap", propensity=e)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * X.nbytes


def test_given_propensity_is_used(cells):
    X, s, weights = cells
    e = np.select([X[:, 0] == 1, X[:, 1] == 1], [30 / 90, 60 / 120], 90 / 120)
    assert balance(X, s, method="propensity", propensity=e).weights == pytest.approx(weights)
    found = balance(X, s, method="overlap", propensity=e)
    assert (found.weights == overlap_weights(e, s)).all()


@pytest.mark.parametrize("method", ["entropy", "kernel_matching", "none"])
def test_integer_weights_act_like_repeated_rows(method, quadratic):
    X, s, e = quadratic
    X, s, e = X[:400], s[:400], e[:400]
    copies = np.random.default_rng(1).integers(1, 4, size=400)
    weighted = balance(X, s, method=method, sample_weight=copies, propensity=e, random_state=0)
    repeated = balance(
        np.repeat(X, copies, axis=0),
        np.repeat(s, copies),
        method=method,
        propensity=np.repeat(e, copies),
        random_state=0,
    )
    one, other = weighted.diagnostics, repeated.diagnostics
    assert one.mmd_before == pytest.approx(other.mmd_before, rel=1e-6)
    assert one.mmd_after == pytest.approx(other.mmd_after, abs=1e-3)
    assert one.smd_before["x0"] == pytest.approx(other.smd_before["x0"], abs=1e-9)
    assert one.smd_after["x0"] == pytest.approx(other.smd_after["x0"], abs=1e-2)
    assert one.share_outside_support == pytest.approx(other.share_outside_support, abs=1e-12)


def test_largest_weight_can_be_limited(quadratic):
    X, s, e = quadratic
    s = -s  # the rare corner now needs large weights
    for method in ("entropy", "propensity"):
        free = balance(X, s, method=method, propensity=1 - e, random_state=0)
        cut = balance(X, s, method=method, propensity=1 - e, random_state=0, max_weight=3.0)
        assert free.diagnostics.largest_weight > 5
        group = s > 0
        limit = 3.0 * free.weights[group].mean()
        assert cut.weights[group] == pytest.approx(np.minimum(free.weights[group], limit))


def test_kernel_matching_is_limited_to_ten_or_to_what_is_asked(quadratic):
    X, s, e = quadratic
    X, s, e = X[:400], s[:400], e[:400]
    for asked, limit in ((None, 10.0), (1.3, 1.3)):
        found = balance(X, s, method="kernel_matching", propensity=e, max_weight=asked)
        assert found.details.max_weight == limit
    # The last one binds, relative to an average near one.
    assert found.diagnostics.largest_weight < 1.5


def test_any_object_with_fit_and_weights(cells):
    X, s, weights = cells

    class Exact:
        def fit(self, X, s, sample_weight):
            return self

        def weights(self, X, s):
            return weights

    found = balance(X, s, method=Exact(), random_state=0)
    assert found.diagnostics.method == "Exact"
    assert isinstance(found.details, Exact)
    assert found.diagnostics.mmd_after == pytest.approx(0.0, abs=1e-7)


def test_support_counts_come_from_the_propensity_or_from_before():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    s = np.repeat([1, -1], 200)
    e = np.where(np.arange(400) < 40, 0.99, 0.5)
    found = balance(X, s, method="none", propensity=e)
    assert found.diagnostics.n_outside_support == 40
    assert found.diagnostics.share_outside_support == pytest.approx(0.1)
    trimmed = check_support(e, s)
    rest = trimmed.mask
    after = balance(
        X[rest], s[rest], method="none", propensity=e[rest], common_support=trimmed
    ).diagnostics
    assert after.n_outside_support == 40


def test_features_that_tell_the_group_are_reported_as_such():
    s = np.random.default_rng(0).choice([-1, 1], 1_000)
    found = balance(s[:, None].astype(float), s, method="entropy", random_state=0)
    assert found.diagnostics.share_outside_support == 1.0


def test_no_convergence_is_a_warning_that_is_kept(quadratic, monkeypatch):
    X, s, _ = quadratic
    monkeypatch.setattr(EntropyBalancing.__init__, "__defaults__", (64, None, 1, None))
    log = WarningLog()
    with pytest.warns(BalanceWarning, match="within 1 iterations"):
        balance(X[:300], s[:300], method="entropy", random_state=0, log=log)
    assert [record.category for record in log.records] == ["BalanceWarning"]


def test_diagnostics_are_plain_once_asked(cells):
    X, s, weights = cells
    plain = balance(X, s, method=weights, random_state=0).diagnostics.to_dict()
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(
    ("method", "found"),
    [
        ("magic", "'magic'"),
        (np.ones(3), "shape"),
        (np.full(330, -1.0), "not negative"),
        (np.full(330, np.nan), "finite"),
        (np.zeros(330), "zero"),
        (object(), "object"),
        (["a"] * 330, "numbers"),
    ],
)
def test_wrong_methods_and_weights_are_named(method, found, cells):
    X, s, _ = cells
    with pytest.raises(InputError, match=f"balance: .*{found}"):
        balance(X, s, method=method, random_state=0)


def test_wrong_propensity_and_names_are_named(cells):
    X, s, _ = cells
    with pytest.raises(InputError, match="propensity"):
        balance(X, s, method="propensity", propensity=np.full(330, 1.5))
    with pytest.raises(InputError, match="names"):
        balance(X, s, method="none", names=["a"])
    with pytest.raises(InputError, match="both groups"):
        balance(X, np.ones(330), method="none")


@pytest.mark.parametrize("method", [*QUICK_METHODS, "none"])
def test_arguments_are_left_as_they_were_and_runs_repeat(method, quadratic):
    X, s, _ = quadratic
    X, s = X[:300].copy(), s[:300].copy()
    X.flags.writeable = s.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = balance(X, s, method=method, random_state=1).weights
        assert (balance(X, s, method=method, random_state=1).weights == first).all()


class Careless:
    """Standardises what it is given in place, as ``StandardScaler(copy=False)`` does."""

    def fit(self, X, s, sample_weight):
        X -= X.mean(axis=0)
        s[:] = 1
        sample_weight *= 2.0
        return self

    def weights(self, X, s):
        X *= 0.0
        s[:] = -1
        return np.ones(len(X))


def test_objects_that_write_into_their_arguments_do_no_harm():
    rng = np.random.default_rng(0)
    X, s = rng.normal(5.0, 2.0, size=(200, 3)), np.where(rng.random(200) < 0.5, 1, -1)
    base, e = rng.uniform(0.5, 1.5, 200), np.full(200, 0.5)
    before = X.copy(), s.copy(), base.copy()
    weigh(X, s, method=Careless(), sample_weight=base, propensity=e)
    weigh(RowView(X), s, method=Careless(), sample_weight=base, propensity=e)
    for now, then in zip((X, s, base), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_a_large_mean_hides_no_difference(spread):
    """Weights of one leave things as they were, and shifting a feature changes nothing."""
    rng = np.random.default_rng(1)
    Z, s = rng.normal(size=(5_000, 3)), np.where(rng.random(5_000) < 0.4, 1, -1)
    plain = diagnose(Z, s, np.ones(5_000))
    moved = diagnose(1e9 + spread * Z, s, np.ones(5_000))
    for name, value in plain.smd_before.items():
        assert moved.smd_before[name] == pytest.approx(value, abs=2e-3)
        assert moved.smd_after[name] == pytest.approx(moved.smd_before[name], abs=1e-9)
