"""What balancing is for: the certificate strength comes out as on balanced data.

Outcome y is certain inside the half disc of Section 4.1 where S = +1 and missed there by a share
nu of S = -1, so that gamma = Pr[G | S = -1] nu / 4 by the definition below Eq. 4.
"""

import math

import numpy as np
import pytest
from scipy.special import expit

from mdfa_fairness_plugin.balance import weigh
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.measure.splitting import draw_folds

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
    assert _errors("mmd_network", range(2), MUS).mean() < 0.004
