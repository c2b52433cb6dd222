"""What a single feature tells: who is in which group, or what the outcome was."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data.leaks import Answer, best_teller
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakedFeatureWarning,
    LeakWarning,
    MissingSensitiveWarning,
    WarningLog,
)


def answer(positive, weight=None, unit=None):
    positive = np.asarray(positive, dtype=bool)
    weight = np.ones(len(positive)) if weight is None else np.asarray(weight, dtype=float)
    return Answer(positive, weight, unit)


# -- the sensitive features


@pytest.mark.parametrize(
    "copy",
    [
        lambda sex: sex,
        lambda sex: sex.map({"f": 1, "m": 0}),
        lambda sex: sex == "m",
        lambda sex: sex.map({"f": "woman", "m": "man"}).astype("category"),
        lambda sex: sex.map({"f": 3.5, "m": None}),
    ],
)
def test_a_feature_that_repeats_the_sensitive_one_is_dropped(data, copy):
    X, y, A = data
    expected = build_problem(X, y, A["sex"])
    with pytest.warns(LeakedFeatureWarning, match=r"X: dropped 'copied', which repeat.* 'sex'"):
        problem = build_problem(X.assign(copied=copy(A["sex"])), y, A["sex"])
    assert problem.feature_names == ("age", "visits")
    np.testing.assert_array_equal(problem.X, expected.X)
    assert "copied" in problem.encoder.feature_names_in_


def test_one_hot_copies_are_dropped(data):
    X, y, A = data
    dummies = pd.get_dummies(A["race"], prefix="race")
    with pytest.warns(LeakedFeatureWarning) as caught:
        problem = build_problem(X.join(dummies), y, A["race"])
    assert len(caught) == 1
    assert "'race_A', 'race_B', 'race_C'" in str(caught[0].message)
    assert problem.feature_names == ("age", "visits")


def test_a_copy_is_recognised_where_the_sensitive_value_is_known(data):
    X, y, A = data
    race = A["race"].where(np.arange(len(A)) >= 40, None)
    copied = A["race"].map({"A": 0, "B": 5, "C": 9})
    with pytest.warns((LeakedFeatureWarning, MissingSensitiveWarning)):
        problem = build_problem(X.assign(copied=copied), y, race)
    assert problem.feature_names == ("age", "visits")


def test_few_known_rows_do_not_make_features_repeat_a_quantity():
    """Any measurement is one to one with twenty known ages, or with pairs of rows; a copy is more."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    twice = X.loc[np.repeat(np.arange(200), 2)].reset_index(drop=True)
    ages = rng.permutation(400) + 20.0
    few = np.where(np.arange(400) < 20, ages, np.nan)
    steps = rng.choice([20.0, 30.0, 40.0], 400)
    y = np.arange(400) % 2

    def dropped(table, sensitive, kind="numeric"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return set(build_problem(table, y, sensitive, sensitive_type=kind).encoder.dropped_)

    assert dropped(X, few) == set()
    assert dropped(X, [f"{own:g}" if own == own else None for own in few], "auto") == set()
    pairs = np.repeat(ages[:200], 2)
    assert dropped(twice.assign(copy=-pairs), pairs) == {"copy"}
    # One of three steps is no more than a part of a quantity, and all that a group is.
    told = X.assign(copy=np.exp(steps), last=steps == 40)
    assert dropped(told, steps) == {"copy"}
    assert dropped(told, steps.astype(str), "auto") == {"copy", "last"}


def test_a_feature_that_nearly_repeats_the_sensitive_one_stays(data):
    X, y, A = data
    nearly = (A["sex"] == "m").astype(int)
    nearly[0] = 1 - nearly[0]
    assert "nearly" in build_problem(X.assign(nearly=nearly), y, A["sex"]).feature_names


def test_every_sensitive_column_is_searched_for(data):
    X, y, A = data
    with pytest.warns(LeakedFeatureWarning) as caught:
        problem = build_problem(X.join(A), y, A)
    assert len(caught) == 2
    assert problem.feature_names == ("age", "visits")


def test_nothing_but_the_sensitive_feature_is_refused(data):
    _, y, A = data
    with (
        pytest.warns(LeakedFeatureWarning),
        pytest.raises(InputError, match=r"X: no feature is left .*'sex' .repeats the sensitive"),
    ):
        build_problem(A[["sex"]], y, A["sex"])


def test_a_sparse_copy_is_dropped(data):
    X, y, A = data
    values = np.column_stack([X.to_numpy(), A["sex"] == "m"]).astype(float)
    with pytest.warns(LeakedFeatureWarning, match="X: dropped 'x2'"):
        problem = build_problem(sparse.csr_array(values), y, A["sex"])
    assert problem.feature_names == ("x0", "x1")


# -- how well a column tells an answer, worked by hand


def test_each_is_told_by_the_majority_of_the_others_with_their_value():
    """b and c: three alike are told by each other; a has one against one, d is alone."""
    values = np.array(["a", "a", "b", "b", "b", "c", "c", "c", "d"], dtype=object)
    positive = [1, 0, 1, 1, 1, 0, 0, 0, 1]
    assert answer(positive).left_open(values) == pytest.approx(3 / 9)


def test_one_of_three_is_told_wrongly_by_the_other_two():
    values = np.repeat(["a", "b"], [3, 3])
    # Whose value is b: of each no's others one says yes and one no, which leaves it open.
    assert answer([1, 1, 1, 1, 0, 0]).left_open(values) == pytest.approx(3 / 6)


def test_a_cut_costs_a_row_for_each_end():
    values = np.arange(100.0)
    assert answer(values >= 70).left_open(values) == pytest.approx(0.02)
    assert answer(values < 30).left_open(values) == pytest.approx(0.02)
    assert answer((values > 20) & (values < 40)).left_open(values) == pytest.approx(0.02)
    assert answer((values < 20) | (values > 40)).left_open(values) == pytest.approx(0.02)


def test_what_lies_on_the_wrong_side_of_a_cut_is_left_open():
    values, positive = np.arange(100.0), np.arange(100) >= 70
    positive[[3, 50, 80]] ^= True
    assert answer(positive).left_open(values) == pytest.approx(0.05)


def test_missing_values_are_a_value():
    values = np.where(np.arange(100) < 60, np.nan, np.arange(100.0))
    assert answer(np.isnan(values)).left_open(values) == pytest.approx(0.02)
    dates = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(100), "D"))
    dates = dates.where(np.arange(100) >= 60)
    assert answer(dates.isna()).left_open(dates.to_numpy()) <= 0.02


def test_weights_count_people():
    """In a each yes has two others against two, and the no of two has three against it."""
    values = np.repeat(["a", "b", "c", "d", "e"], 4)
    positive = np.repeat([1, 0, 1, 0, 1], 4)
    positive[3] = 0
    weight = np.ones(20)
    assert answer(positive, weight).left_open(values) == pytest.approx(1 / 20)
    weight[3] = 2
    assert answer(positive, weight).left_open(values) == pytest.approx(5 / 21)


def test_nobody_is_told_by_their_own_rows(rng):
    """A column that holds another value for each person tells nothing of their answer."""
    person = np.repeat(np.arange(200), 3)
    positive, income = rng.random(200) < 0.3, rng.normal(size=200)
    assert answer(positive[person]).left_open(income[person]) == 0.0
    assert answer(positive[person], unit=person).left_open(income[person]) > 0.2


def test_the_order_of_rows_is_no_matter(rng):
    values, positive = rng.integers(0, 40, 500), rng.random(500) < 0.3
    weight, order = rng.uniform(0.5, 2, 500), rng.permutation(500)
    one = answer(positive, weight).left_open(values)
    other = answer(positive[order], weight[order]).left_open(values[order])
    assert one == pytest.approx(other, abs=1e-12)


def test_the_best_teller_of_a_group_is_named_if_it_tells_half_of_what_is_to_tell(rng):
    group = rng.random(4000) < 0.4
    zip_code = np.where(rng.random(4000) < 0.97, group, ~group) * 50 + rng.integers(0, 50, 4000)
    columns = pd.DataFrame({"age": rng.normal(size=4000), "zip": zip_code})
    name, share = best_teller(columns, np.arange(4000), answer(group))
    assert name == "zip"
    assert share == pytest.approx(0.97, abs=0.01)
    assert best_teller(columns[["age"]], np.arange(4000), answer(group))[0] == ""


# -- the outcome


COPIES = {
    "copy": lambda y: y,
    "true or false": lambda y: y == 1,
    "one or zero": lambda y: y.astype(float),
    "two or one": lambda y: 2 - y,
    "text": lambda y: np.where(y == 1, "granted", "denied"),
    "filled in for one": lambda y: np.where(y == 1, 1.0, np.nan),
    "category": lambda y: pd.Categorical(np.where(y == 1, "yes", "no")),
}
LEAKS = {
    "score": lambda y, rng: np.where(y == 1, 50.0, 0.0) + rng.uniform(0, 50, len(y)),
    "falling score": lambda y, rng: np.where(y == 1, 0.0, 50.0) + rng.uniform(0, 50, len(y)),
    "points": lambda y, rng: np.where(y == 1, 50, 0) + rng.integers(0, 50, len(y)),
    "reason": lambda y, rng: np.where(
        y == 1, rng.choice(["a1", "a2"], len(y)), rng.choice(["b1", "b2", "b3"], len(y))
    ),
    "amount": lambda y, rng: np.where(y == 1, rng.uniform(1, 9, len(y)), np.nan),
}


def people(seed, n=900, ratio=3.0):
    """Outcomes that one group gets a third as often in a quarter of the rows."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(18, 80, n), "income": rng.normal(3e4, 8e3, n).round(2)})
    sex = rng.choice(["f", "m"], n)
    lost = (X["age"] < 34) & (sex == "f") & (rng.random(n) < 1 - 1 / ratio)
    return X, np.where(lost, 0, rng.random(n) < 0.4).astype(int), sex, rng


def said(*args, **options):
    """Warnings of leaks, as the log has them and as Python emits them."""
    log = WarningLog()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build_problem(*args, log=log, **options)
    told = [str(one.message) for one in caught if issubclass(one.category, LeakWarning)]
    assert told == [one.message for one in log.records if one.category == "LeakWarning"]
    return told


@pytest.mark.parametrize("kind", COPIES)
def test_a_feature_that_repeats_the_outcome_is_refused(kind):
    X, y, sex, _ = people(0)
    leaked = X.assign(again=COPIES[kind](y))
    with pytest.raises(InputError, match=r"X: 'again' repeat.*decision_inputs") as caught:
        build_problem(leaked, y, sex)
    assert caught.value.argument == "X"
    assert build_problem(leaked, y, sex, decision_inputs="again").n_rows == len(y)


@pytest.mark.parametrize("kind", LEAKS)
@pytest.mark.parametrize("n", [700, 3000])
def test_a_feature_that_tells_the_outcome_alone_is_warned_of_once(kind, n):
    for seed in range(5):
        X, y, sex, rng = people(seed, n)
        assert said(X, y, sex) == []
        assert said(X.assign(leak=LEAKS[kind](y, rng)), y, sex) == [
            "'leak' decides the outcome alone. If it is an input of the decision, nothing can be "
            "left to find; if it is its result, drop it."
        ]


def test_a_limit_on_one_feature_as_the_whole_rule_is_warned_of():
    X, _, sex, _ = people(1)
    assert len(said(X, (X["income"] > 36_000).astype(int), sex)) == 1


def test_inputs_of_the_decision_are_noted_and_not_warned_of():
    X, _, sex, _ = people(2)
    y = (X["income"] > 36_000).astype(int)
    log = WarningLog()
    problem = build_problem(X, y, sex, decision_inputs=["income"], log=log)
    (note,) = (one for one in problem.warnings if one.category == "DecisionInputs")
    assert "'income' decides the outcome alone and is said to be an input" in note.message


def test_a_tenth_of_those_with_the_rarer_outcome_may_be_left_open():
    X, _, sex, rng = people(3, 4000)
    y = rng.random(4000) < 0.2
    for wrong, n_told in ((0.015, 1), (0.025, 0)):  # of .2 a tenth is .02
        told = np.where(rng.permutation(4000) < wrong * 4000, ~y, y)
        score = told * 50 + rng.uniform(0, 50, 4000)
        assert len(said(X.assign(score=score), y, sex)) == n_told


def test_one_hot_columns_are_one_feature():
    X, y, sex, rng = people(4)
    reason = LEAKS["reason"](y, rng)
    (one,) = said(X.join(pd.get_dummies(reason, prefix="reason")), y, sex)
    assert one.startswith("'reason' decides")
    names = [f"reason_{level}" for level in np.unique(reason)]
    dummies = X.join(pd.get_dummies(reason, prefix="reason"))
    assert said(dummies, y, sex, decision_inputs=names) == []
    assert said(dummies, y, sex, decision_inputs="reason") == []


def test_of_several_outcomes_those_audited_are_told():
    X, _, sex, rng = people(5)
    y = rng.choice(["fined", "freed", "jailed"], len(X))
    bail = X.assign(
        bail=np.where(y == "freed", rng.uniform(1, 2, len(X)), rng.uniform(0, 1, len(X)))
    )
    (one,) = said(bail, y, sex, outcomes=["freed"])
    assert one.startswith("'bail' decides the outcome 'freed' alone.")
    assert said(bail, y, sex, outcomes=["jailed"]) == []
    with pytest.raises(InputError, match="'again' repeat"):
        build_problem(X.assign(again=pd.Series(y).map({"fined": 3, "freed": 1, "jailed": 2})), y, sex,
                      outcomes=["freed"])  # fmt: skip


@pytest.mark.parametrize("weight_type", ["sampling", "frequency"])
def test_weights_neither_hide_a_leak_nor_make_one(weight_type):
    X, y, sex, rng = people(6)
    options = {"sample_weight": rng.integers(1, 9, len(X)), "weight_type": weight_type}
    assert said(X, y, sex, **options) == []
    assert len(said(X.assign(score=LEAKS["score"](y, rng)), y, sex, **options)) == 1


def test_rows_of_one_person_do_not_tell_each_other():
    X, y, sex, _ = people(7)
    who = np.repeat(np.arange(len(X)), 3)
    X = X.iloc[who].reset_index(drop=True)
    assert said(X, y[who], sex[who], clusters=who) == []


def test_of_many_rows_some_are_looked_at(rng):
    n = 50_000
    X = pd.DataFrame({"score": rng.normal(size=n), "age": rng.integers(18, 80, n)})
    assert len(said(X, X["score"] > 1, rng.choice(["f", "m"], n))) == 1
    assert said(X, rng.random(n) < 0.1, rng.choice(["f", "m"], n)) == []


def test_a_sparse_leak_is_found(data):
    X, _, A = data
    values = np.column_stack([X.to_numpy(), X["visits"] > 4, X["visits"] > 6]).astype(float)
    with pytest.raises(InputError, match="X: 'x2' repeat"):
        build_problem(sparse.csr_array(values), X["visits"] > 4, A["sex"])


@pytest.mark.parametrize("name", ["incme", 3, None, ["income", "sex"]])
def test_a_decision_input_that_is_no_feature_is_refused(name):
    X, y, sex, _ = people(8)
    if name is None:
        assert build_problem(X, y, sex, decision_inputs=None).n_rows == len(y)
        return
    with pytest.raises(
        InputError, match=r"is no feature; the features are 'age', 'income'"
    ) as error:
        build_problem(X, y, sex, decision_inputs=name)
    assert error.value.argument == "decision_inputs"


def test_a_feature_left_out_may_be_named_as_an_input():
    X, y, sex, _ = people(9)
    assert build_problem(X.assign(state="NY"), y, sex, decision_inputs=["state"]).n_rows == len(y)
