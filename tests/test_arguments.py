"""What is asked of an audit: registered names accepted, others refused, nothing left to "auto"."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.arguments import checked_settings, problem_of, settled
from mdfa_fairness_plugin.balance import BALANCERS
from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError
from mdfa_fairness_plugin.learn.learners import LEARNERS
from mdfa_fairness_plugin.search.solvers import SOLVERS
from mdfa_fairness_plugin.settings import Settings

REGISTERED = {"balance": BALANCERS, "learner": LEARNERS, "solver": SOLVERS}


@pytest.fixture
def problem():
    """Forty rows; the first has no weight, so that rows are chosen among those given."""
    rng = np.random.default_rng(0)
    weight = np.r_[0, np.ones(39)]
    return problem_of(
        rng.normal(size=(40, 2)),
        np.arange(40) % 2,
        np.arange(40) // 2 % 2,
        weight,
        Settings(min_group_size=10),
    )


@pytest.mark.parametrize("argument", REGISTERED)
def test_registered_names_are_accepted_and_others_refused(argument):
    for name in ("auto", *REGISTERED[argument]):
        assert getattr(checked_settings(**{argument: name}), argument) == name
    with pytest.raises(InputError, match=f"^{argument}: one of 'auto', .*'nothing' found"):
        checked_settings(**{argument: "nothing"})


def test_unknown_arguments_are_refused_alike_everywhere():
    """By name, before anything is looked at, with those known."""
    for call in (
        lambda **params: mdfa.audit([[0.0]], [0], sensitive_features=[0], **params),
        lambda **params: mdfa.compare([[0.0]], {}, sensitive_features=[0], **params),
        lambda **params: audit_dask([], outcome="y", sensitive="s", **params),
    ):
        with pytest.raises(InputError, match=r"unknown argument\(s\) colour; .*alpha.*solver"):
            call(colour=1)


@pytest.mark.parametrize(
    ("learner", "solver"),
    [
        ("auto", "orthogonal"),
        ("svm_rbf", "level_set"),
        (LinearRegression(), "orthogonal"),
        (LogisticRegression(), "level_set"),
    ],
)
def test_nothing_is_left_to_auto(problem, learner, solver):
    settings = settled(checked_settings(learner=learner), problem)
    assert (settings.solver, settings.balance) == (solver, "overlap")


def test_given_weights_come_in_the_order_of_the_working_rows(problem):
    weights = np.arange(40.0)
    settings = settled(checked_settings(balance=weights), problem)
    assert sorted(settings.balance) == list(range(1, 40))
    np.testing.assert_array_equal(settings.balance, weights[problem.source_row])


def test_what_the_data_cannot_bear_is_refused(problem):
    with pytest.raises(InputError, match="n_splits: 25 folds of 39 rows"):
        settled(checked_settings(n_splits=25), problem)
    with pytest.raises(InputError, match="balance: one weight per row expected, 40 in all"):
        settled(checked_settings(balance=np.ones(39)), problem)
    with pytest.raises(InputError, match="balance: an instance expected"):
        settled(checked_settings(balance=LinearRegression), problem)
    with pytest.raises((InputError, InputTypeError), match="balance: a method's name"):
        settled(checked_settings(balance=object()), problem)
