"""What balances: methods by name, given weights, a user's object; the same in memory and with Dask."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.arguments import checked_settings
from mdfa_fairness_plugin.balance import balancer
from mdfa_fairness_plugin.balance.balancer import BALANCERS, odds_weights, overlap_weights, weigh
from mdfa_fairness_plugin.balance.entropy import EntropyBalancing
from mdfa_fairness_plugin.balance.mmd import diagnose_mmd
from mdfa_fairness_plugin.balance.network import MMDNetwork
from mdfa_fairness_plugin.cli import asked
from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.exceptions import BalanceWarning, InputError, WarningLog
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.measure.splitting import draw_folds
from mdfa_fairness_plugin.numerics.rows import RowView

QUICK_METHODS = [name for name in BALANCERS if name != "mmd_network"]


@pytest.fixture
def quick_network(monkeypatch):
    """A tenth of the epochs: these tests are about the way, not about how well it balances."""
    quick = {"max_epochs": 6, "n_splits": 2, "n_restarts": 1, "regularisation_grid": (0.1,)}
    monkeypatch.setattr(balancer, "make_network", _networks(**quick))


def _networks(**settings):
    return lambda method, seed, device: MMDNetwork(random_state=seed, device=device, **settings)


@pytest.fixture(params=list(BALANCERS))
def method(request, quick_network):
    if request.param == "mmd_network":
        pytest.importorskip("torch", reason="the network needs torch (extra 'network')")
    return request.param


class Steep:
    """A user's own way: the group's weights grow with the first feature."""

    def fit(self, X, s, sample_weight):
        self.centre_ = np.average(X[:, 0], weights=sample_weight)
        return self

    def weights(self, X, s):
        return np.where(s > 0, 1.0 + (X[:, 0] > self.centre_), 1.0)


# -- every name


def test_weights_of_known_sides_equal_those_assumed_for_the_same_side(method, quadratic):
    """Row by row, to rounding: bounds for unknown sides and blocks of rows are weighed by these."""
    X, s, e = (a[:400] for a in quadratic)
    base = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    found = weigh(X, s, method, propensity=e, sample_weight=base, random_state=0)
    assert found.method == method
    for side in (1, -1):
        own = np.flatnonzero(s == side)
        assumed = found.weights_of(X, np.full(400, side), e, np.arange(400))
        np.testing.assert_allclose(assumed[own], found.weights[own], rtol=1e-9)
        np.testing.assert_allclose(
            found.balancer.weights(X[own], s[own], e[own]), found.weights[own], rtol=1e-9
        )


@pytest.fixture(scope="module")
def towns():
    """Four towns with shares of the group from .2 to .8, and rates that differ by town and group."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 4, 8_000)
    of_group = rng.random(8_000) < np.array([0.2, 0.5, 0.5, 0.8])[town]
    rates = np.array([[0.1, 0.3, 0.3, 0.6], [0.5, 0.4, 0.4, 0.7]])[of_group.astype(int), town]
    return pd.DataFrame(
        {
            "x1": town % 2,
            "x2": town // 2,
            "side": np.where(of_group, "a", "b"),
            "denied": rng.random(8_000) < rates,
        }
    )


@pytest.mark.parametrize("balance", [*BALANCERS, Steep()], ids=[*BALANCERS, "own"])
def test_everybody_s_delta_is_the_same_in_memory_and_with_dask(balance, towns, monkeypatch):
    """With weights learned from a quarter of the rows as with those learned from all.

    Within .05: the weights of 2,000 rows move delta by .01 to .035 (two draws of the towns, every
    method). Methods lie five times as far apart: about .79 without weights, .40 with those of the
    overlap, .65 with odds, and -.30 with odds seen from the other side.
    """
    dd = pytest.importorskip("dask.dataframe")
    if balance == "mmd_network":
        pytest.importorskip("torch", reason="the network needs torch (extra 'network')")
        # Whose rates are compared follows from the weights, so they have to be learned to the end.
        networks = _networks(n_restarts=1, regularisation_grid=(0.1,))
        monkeypatch.setattr(balancer, "make_network", networks)
    params = {"balance": balance, "learner": "tree", "n_splits": 2, "outcomes": True}
    params |= {"max_learning_rows": 2_000, "random_state": 0}
    here = mdfa.audit(
        towns[["x1", "x2"]], towns["denied"], sensitive_features=towns["side"], **params
    )
    there = audit_dask(
        dd.from_pandas(towns, npartitions=3),
        outcome="denied",
        sensitive="side",
        scheduler="synchronous",
        **params,
    )
    deltas = [{v.group: v.population.delta for v in one.violations} for one in (here, there)]
    assert set(deltas[0]) == {"a", "b"}
    assert deltas[1] == pytest.approx(deltas[0], abs=0.05)


def test_symmetric_methods_weigh_a_row_the_same_from_either_side(method, quadratic):
    """What is between the sides is then measured once for both."""
    X, s, e = (a[:400] for a in quadratic)
    here = weigh(X, s, method, propensity=e, random_state=0)
    there = weigh(X, -s, method, propensity=1 - e, random_state=0)
    assert np.allclose(here.weights, there.weights, rtol=1e-9) == here.symmetric


def test_the_command_line_and_settings_take_exactly_the_registered_names():
    assert ("auto", *BALANCERS) == asked.BALANCES
    for name in asked.BALANCES:
        assert checked_settings(balance=name).balance == name
    with pytest.raises(InputError, match=r"balance: .*'entropy '"):
        checked_settings(balance="entropy ")


def test_every_fitted_method_counts_sampling_weights(method, quadratic):
    """On the rows fitted to, both sides weigh the same, sampling weights included."""
    X, s, e = (a[:400] for a in quadratic)
    base = np.where(X[:, 0] > 0, 3.0, 0.5)
    weights = weigh(X, s, method, propensity=e, sample_weight=base, random_state=0).weights
    if not BALANCERS[method](0, None).from_propensity:
        sides = [(base * weights)[s == side].sum() for side in (1, -1)]
        assert sides[0] == pytest.approx(sides[1])


@pytest.mark.parametrize("method", [name for name in QUICK_METHODS if name != "none"])
def test_every_method_makes_the_groups_more_alike(method, quadratic):
    X, s, e = quadratic
    weights = weigh(X, s, method, propensity=e, random_state=0).weights
    (before, after), _ = diagnose_mmd(X, s, [np.ones(len(s)), weights])
    assert after < before / 3
    assert (weights >= 0).all()


@pytest.mark.parametrize("method", QUICK_METHODS)
def test_arguments_are_left_as_they_were_and_runs_repeat(method, quadratic):
    X, s, e = (a[:300].copy() for a in quadratic)
    X.flags.writeable = s.flags.writeable = e.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = weigh(X, s, method, propensity=e, random_state=1).weights
        assert (weigh(X, s, method, propensity=e, random_state=1).weights == first).all()


@pytest.mark.parametrize("method", QUICK_METHODS)
def test_a_view_of_rows_equals_a_copy_of_them(method, quadratic):
    X, s, e = quadratic
    rows = np.flatnonzero(np.random.default_rng(0).random(len(s)) < 0.8)
    own = {"propensity": e[rows], "sample_weight": e[rows], "random_state": 0}
    there = weigh(RowView(X, rows), s[rows], method, **own).weights
    assert (there == weigh(X[rows], s[rows], method, **own).weights).all()


@pytest.mark.parametrize("method", ["entropy", "kernel_matching"])
def test_integer_weights_act_like_repeated_rows(method, quadratic):
    X, s, e = (a[:400] for a in quadratic)
    copies = np.random.default_rng(1).integers(1, 4, size=400)
    weighted = weigh(X, s, method, propensity=e, sample_weight=copies, random_state=0).weights
    Xr, sr, er = (np.repeat(a, copies, axis=0) for a in (X, s, e))
    repeated = weigh(Xr, sr, method, propensity=er, random_state=0).weights
    assert np.repeat(weighted, copies) == pytest.approx(repeated, abs=1e-2)


def test_the_bound_of_the_weights_is_the_paper_s():
    for name in ("mmd_network", "kernel_matching"):
        assert BALANCERS[name](0, None).balancer.max_weight == 10.0


def test_no_convergence_is_a_warning_that_is_kept(quadratic, monkeypatch):
    X, s, e = (a[:300] for a in quadratic)
    monkeypatch.setattr(EntropyBalancing.__init__, "__defaults__", (64, None, 1, None))
    log = WarningLog()
    with pytest.warns(BalanceWarning, match="within 1 iterations"):
        weigh(X, s, "entropy", propensity=e, random_state=0, log=log)
    assert [record.category for record in log.records] == ["BalanceWarning"]


# -- closed forms


def test_weights_from_the_true_propensity_balance_cells(cells):
    X, s, weights = cells
    e = np.select([X[:, 0] == 1, X[:, 1] == 1], [30 / 90, 60 / 120], 90 / 120)
    assert odds_weights(e, s) == pytest.approx(weights, abs=1e-12)
    overlap = overlap_weights(e, s)
    means = [np.average(X[s == side], axis=0, weights=overlap[s == side]) for side in (1, -1)]
    assert means[0] == pytest.approx(means[1], abs=1e-12)
    assert overlap.max() <= 1
    assert (weigh(X, s, "propensity", propensity=e).weights == odds_weights(e, s)).all()
    assert (weigh(X, s, "overlap", propensity=e).weights == overlap).all()
    assert (weigh(X, s, "none", propensity=e).weights == 1).all()


# -- given weights and a user's object


def test_given_weights_are_used_as_they_are(cells):
    X, s, weights = cells
    e = np.full(len(s), 0.5)
    found = weigh(X, s, weights, propensity=e)
    assert found.method == "given"
    assert (found.weights == weights).all()
    some = np.arange(0, 330, 2)
    cut = weigh(X[some], s[some], weights, propensity=e[some], rows=some)
    assert (cut.weights == weights[some]).all()
    assert (cut.weights_of(X[:3], s[:3], e[:3], np.arange(3)) == weights[:3]).all()


def test_any_object_with_fit_and_weights(quadratic):
    X, s, e = (a[:200] for a in quadratic)
    given = Steep()
    found = weigh(X, s, given, propensity=e)
    assert found.method == "Steep"
    assert (found.weights == Steep().fit(X, s, np.ones(200)).weights(X, s)).all()
    assert not hasattr(given, "centre_")


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
    weigh(X, s, Careless(), sample_weight=base, propensity=e)
    weigh(RowView(X), s, Careless(), sample_weight=base, propensity=e)
    for now, then in zip((X, s, base), before, strict=True):
        np.testing.assert_array_equal(now, then)


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
        weigh(X, s, method, propensity=np.full(330, 0.5))


def test_one_group_alone_cannot_be_balanced(cells):
    with pytest.raises(InputError, match="both groups"):
        weigh(cells[0], np.ones(330), "none", propensity=np.full(330, 0.5))


# -- what balancing is for: the certificate strength comes out as on balanced data

# Outcome y is certain inside the half disc of Section 4.1 where S = +1 and missed there by a share
# nu of S = -1, so that gamma = Pr[G | S = -1] nu / 4 by the definition below Eq. 4.
DELTA = 1.0
MUS = (-0.3, 0.1, 0.3)


def _features_and_propensity(rng, n, mu):
    X = rng.normal(size=(n, 2))
    return X, expit(mu * X.sum(axis=1) ** 2)


def _half_disc(X):
    return ((X**2).sum(axis=1) <= 1) & (X.sum(axis=1) < 0)


def _true_strength(mu):
    X, e = _features_and_propensity(np.random.default_rng(0), 400_000, mu)
    return np.average(_half_disc(X), weights=1 - e) * (1 - math.exp(-DELTA)) / 4


def _errors(method, seeds, mus):
    errors = []
    for mu in mus:
        truth = _true_strength(mu)
        for seed in seeds:
            rng = np.random.default_rng([seed, 5])
            X, e = _features_and_propensity(rng, 5_000, mu)
            s = np.where(rng.random(5_000) < e, 1, -1)
            G = _half_disc(X)
            y = G & ((s > 0) | (rng.random(5_000) < math.exp(-DELTA)))
            folds = draw_folds(s, 5, np.random.default_rng(0))
            propensity = cross_fitted_probability(X, s > 0, folds).out_of_fold
            w = weigh(X, s, method, propensity=propensity, random_state=0).weights
            share = [w[y & (s == side)].sum() / w[s == side].sum() / 2 for side in (1, -1)]
            errors.append((share[0] - share[1]) / 2 - truth)
    return np.abs(errors)


@pytest.mark.parametrize("method", ["entropy", "kernel_matching", "propensity"])
def test_certificate_strength_is_right(method):
    assert _errors(method, range(3), MUS).mean() < 0.004


def test_without_balancing_it_is_not():
    assert _errors("none", range(3), (-0.3, 0.3)).mean() > 0.008


@pytest.mark.slow
def test_certificate_strength_is_right_with_the_network():
    pytest.importorskip("torch", reason="the network needs torch (extra 'network')")
    assert _errors("mmd_network", range(1), MUS).max() < 0.004
