"""People in whom a violation is planted, their audits, and what it means that two agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa

# A tree and two folds: half a second per audit of 400 rows.
FAST = {"learner": "tree", "n_splits": 2, "random_state": 0}
NUMBERS = (
    "delta",
    "interval",
    "gamma",
    "gamma_lemma",
    "mass",
    "n_rows",
    "share",
    "rates",
    "p_value",
    "p_value_adjusted",
    "detectable_delta",
    "verdict",
    "reason",
    "rule_fidelity",
)


def draw_people(n=400, seed=0, violation=2.6, discrete=False):
    """Features of all kinds; women in town A are denied 2.6 times as often as men like them.

    Denials: 65 % of women against 25 % of men in town A, 25 % of everybody elsewhere: among all
    41 % against 25 %. Who is a woman depends on age, a little.
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(2, 6, n) * 10.0 if discrete else rng.uniform(20, 60, n)
    X = pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["A", "B", "C"], n, p=[0.4, 0.3, 0.3]),
            "member": rng.random(n) < 0.5,
        }
    )
    woman = rng.random(n) < np.where(age > 40, 0.4, 0.5)
    rate = np.where(woman & (X["town"] == "A"), 0.25 * violation, 0.25)
    y = pd.Series(np.where(rng.random(n) < rate, "deny", "grant"), name="decision")
    return X, y, pd.Series(np.where(woman, "f", "m"), name="sex")


def audit_fast(X, y, s, sample_weight=None, **params):
    return mdfa.audit(X, y, sensitive_features=s, sample_weight=sample_weight, **(FAST | params))


def searches_of(result, groups=None, outcomes=None):
    groups, outcomes = groups or {}, outcomes or {}
    return {
        (groups.get(v.group, v.group), outcomes.get(v.outcome, v.outcome)): v
        for v in result.violations
    }


def check_numbers(v, w, skip=()):
    for name in NUMBERS:
        if name not in skip:
            assert getattr(v, name) == pytest.approx(getattr(w, name), nan_ok=True, abs=0), name


def check_rungs(one, other):
    for name in ("ratios", "propensity_losses", "outcome_losses", "allowance"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=0), name


@pytest.fixture(scope="session")
def people():
    """Draw people; the violation planted in them is a ratio."""
    return draw_people


@pytest.fixture(scope="session")
def audit():
    """Audit in half a second, but for what is asked otherwise."""
    return audit_fast


@pytest.fixture(scope="session")
def make_auditor():
    """The auditor of ``audit``, not yet fitted."""
    return lambda **params: mdfa.MDFAuditor(**(FAST | params))


@pytest.fixture(scope="session")
def by_search():
    """Searches under their old names, where labels were called otherwise."""
    return searches_of


@pytest.fixture(scope="session")
def assert_same_numbers():
    """Every number of two searches is equal."""
    return check_numbers


@pytest.fixture(scope="session")
def assert_same():
    """Every number of every search is equal, and so are the rows inside."""

    def check(one, two, *, groups=None, outcomes=None, skip=()):
        left, right = searches_of(one), searches_of(two, groups, outcomes)
        assert set(left) == set(right)
        for key, v in left.items():
            w = right[key]
            check_numbers(v, w, skip)
            for name in ("population", "core", "searched", "rule_subgroup"):
                one_set, other_set = getattr(v, name), getattr(w, name)
                for figure in ("delta", "interval", "gamma", "mass", "p_value"):
                    assert getattr(one_set, figure) == pytest.approx(
                        getattr(other_set, figure), nan_ok=True, abs=0
                    ), (name, figure)
            if v.depends_on_models is not None:
                check_rungs(v.depends_on_models, w.depends_on_models)
            np.testing.assert_array_equal(v.path.delta, w.path.delta)
            np.testing.assert_array_equal(v.counts.to_numpy(), w.counts.to_numpy())
            np.testing.assert_array_equal(v.membership, w.membership)
            np.testing.assert_array_equal(v.held_out, w.held_out)

    return check


@pytest.fixture(scope="session")
def planted():
    """The default audit of people in whom a ratio of 2.6 is planted, and its data."""
    X, y, s = draw_people(1500, seed=1)
    auditor = mdfa.MDFAuditor(random_state=0).fit(X, y, sensitive_features=s)
    return auditor, X, y, s


@pytest.fixture(scope="session")
def fast():
    """A quick audit that others are compared with, and its data."""
    X, y, s = draw_people()
    return audit_fast(X, y, s), X, y, s
