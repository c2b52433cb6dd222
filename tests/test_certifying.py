"""A certificate in one call."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.estimates import certificate_strength

DATA = mdfa.datasets.make_synthetic(3000, 2.0, 0.0, random_state=1)


def certified(**params):
    given = {"group": 1, "outcome": 1, "learner": "tree", "random_state": 0} | params
    return mdfa.certify(DATA.X, DATA.y, sensitive_features=DATA.sensitive_features, **given)


def test_strength_of_the_planted_certificate():
    """The half disc's own gamma; who is inside was held out, and is in the half disc mostly."""
    found = certified()
    inside = DATA.region & (DATA.y == 1).to_numpy()
    truth = float(certificate_strength(inside.mean(), 2.0))
    assert found.gamma == pytest.approx(truth, abs=0.012)
    assert found.gamma_lemma == pytest.approx(found.gamma, abs=0.01)
    assert found.member.shape == (3000,)
    assert 0 < found.member.sum() < 0.35 * 3000
    assert certified().gamma == found.gamma
    assert certified(random_state=1).gamma != found.gamma


def test_weights_may_be_given_and_order_does_not_matter():
    equal = certified(balance=np.ones(3000))
    assert equal.gamma == certified(balance="none").gamma
    turn = np.random.default_rng(0).permutation(3000)
    turned = mdfa.certify(
        DATA.X.iloc[turn], DATA.y.iloc[turn],
        sensitive_features=DATA.sensitive_features.iloc[turn],
        group=1, outcome=1, learner="tree", balance="none", random_state=0,
    )  # fmt: skip
    assert turned.gamma == pytest.approx(equal.gamma)
    np.testing.assert_array_equal(turned.member, equal.member[turn])


def test_the_bound_holds_beyond_what_an_audit_needs_not():
    """Neither bounds the other, but both fall with the strength."""
    for ratio in (2.0, 4.0):
        bound = mdfa.rows_by_theorem(ratio, mass=0.05, n_regions=8)
        assert math.isfinite(bound)
        assert bound > mdfa.rows_by_theorem(2 * ratio, mass=0.05, n_regions=8)
        assert mdfa.rows_needed(ratio, rate=0.5) > mdfa.rows_needed(2 * ratio, rate=0.5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"group": 7}, "groups"),
        ({"outcome": 9}, "outcomes"),
        ({"learner": "nonsense"}, "learner"),
        ({"balance": "nonsense"}, "balance"),
        ({"balance": np.ones(3)}, "balance: one weight per row expected"),
        ({"balance": int}, "balance: an instance expected"),
    ],
)
def test_what_is_wrong_is_named(params, message):
    with pytest.raises(InputError, match=message):
        certified(**params)
