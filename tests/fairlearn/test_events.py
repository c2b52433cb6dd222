"""Which rows an event is about, and where it happened, against Fairlearn's own rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.events import occurrence
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fairlearn import (
    EVENTS,
    audit_predictions,
    worst_case,
    worst_case_violation,
)

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

N = 600
# Half a second an audit instead of some: what is tested is the plumbing.
QUICK = {"learner": "tree", "n_splits": 2, "n_repeats": 1}
FAIRLEARN_RATE = {
    "selection": metrics.selection_rate,
    "error": lambda t, p, **kw: 1 - accuracy_score(t, p, **kw),
    "false_positive": metrics.false_positive_rate,
    "false_negative": metrics.false_negative_rate,
    "true_positive": metrics.true_positive_rate,
}


def rate_by_group(event, case, weight=None, rows=slice(None)):
    """Fairlearn's rate of the event for each value of `s`."""
    return metrics.MetricFrame(
        metrics=FAIRLEARN_RATE[event],
        y_true=case.y_true[rows],
        y_pred=case.y_pred[rows],
        sensitive_features=case.s[rows],
        sample_params=None if weight is None else {"sample_weight": weight[rows]},
    )


@pytest.mark.parametrize(
    ("event", "weighted"),
    [*((event, event == "error") for event in EVENTS), ("false_negative", True)],
)
def test_everybodys_rates_equal_fairlearns(case, event, weighted):
    """Without balancing, everybody's rates are Fairlearn's, and so are ratio and inside rates."""
    weight = case.weight if weighted else None
    result = audit_predictions(
        case.y_true,
        case.y_pred,
        sample_weight=weight,
        event=event,
        balance="none",
        **case.arguments,
    )
    selected, rejected = (1, 0) if event == "selection" else (event, EVENTS[event].opposite)
    assert {own.outcome for own in result.violations} == {selected, rejected}
    for violation in (own for own in result.violations if own.outcome == selected):
        theirs = rate_by_group(event, case, weight, violation.held_out)
        here, there = violation.population.rates
        assert here == pytest.approx(theirs.by_group[violation.group], abs=1e-12)
        assert there == pytest.approx(theirs.by_group[-violation.group], abs=1e-12)
        ratio = violation.population.ratio
        assert min(ratio, 1 / ratio) == pytest.approx(theirs.ratio(), abs=1e-12)
        inside = rate_by_group(event, case, weight, violation.membership & violation.held_out)
        for found, side in zip(violation.rates, (1, -1), strict=True):
            assert found == pytest.approx(inside.by_group[side * violation.group], abs=1e-12)


@pytest.mark.parametrize(
    ("event", "hits", "among"),
    [
        ("selection", [2, 3, 6, 7], range(8)),
        ("error", [2, 3, 4, 5], range(8)),
        ("false_positive", [2, 3], [0, 1, 2, 3]),
        ("false_negative", [4, 5], [4, 5, 6, 7]),
        ("true_positive", [6, 7], [4, 5, 6, 7]),
    ],
)
def test_events_by_hand(event, hits, among):
    """Every pair of true label and prediction, twice for each sensitive value and copy."""
    y_true = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    y_pred = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    copies = 25
    s = np.tile(np.repeat(["a", "b"], 8), copies)
    X = np.repeat(np.arange(copies) % 5, 16).reshape(-1, 1)
    n = 2 * copies
    result = audit_predictions(
        np.tile(y_true, n),
        np.tile(y_pred, n),
        sensitive_features=s,
        audit_features=X,
        event=event,
        groups=["a"],
        min_group_size=10,
        **QUICK,
    )
    counts = result.violations[0].population.counts
    label = 1 if event == "selection" else event
    assert result.favorable_label == {"error": "correct", "false_negative": "true_positive"}.get(
        event, label
    )
    assert counts[label].tolist() == [len(hits) * copies] * 2
    assert counts.sum(axis=1).tolist() == [len(list(among)) * copies] * 2
    n_left_out = n * (8 - len(list(among)))
    assert sum(result.excluded.values()) == n_left_out
    assert set(result.excluded) <= {"true label is 1", "true label is not 1"}


def test_rows_of_another_true_label_and_of_zero_weight_are_counted_apart(case):
    weight = np.ones(N)
    weight[:20] = 0
    result = audit_predictions(
        case.y_true,
        case.y_pred,
        sample_weight=weight,
        event="true_positive",
        **case.arguments,
    )
    n_negative = int((case.y_true == 0).sum())
    n_zero = int((case.y_true[:20] == 1).sum())
    assert result.excluded == {"true label is not 1": n_negative, "zero weight": n_zero}
    assert result.worst_case.held_out.sum() == N - n_negative - n_zero


@pytest.mark.parametrize("event", ["false_positive", "true_positive", "error"])
def test_a_true_label_that_is_missing_is_none_of_the_labels(event):
    y_true, y_pred = np.array([np.nan, 1, 1, 0, 0]), np.array([1, 1, 0, 1, 0])
    found = occurrence(y_true, y_pred, event, None, missing="exclude")
    assert [one is None for one in found.outcome] == [True, False, False, False, False]
    n_other = 0 if event == "error" else 2
    zero = {"zero weight": n_other} if n_other else {}
    told = list(found.excluded({"missing outcome": 1} | zero).items())
    assert told[-1] == ("missing outcome", 1)
    assert [count for _, count in told[:-1]] == [n_other] * len(zero)
    weight = found.weights(np.full(5, 3.0))
    assert weight[0] == 3.0  # so that it is counted as what it is
    assert (weight == 0).sum() == n_other


@pytest.mark.parametrize("event", ["selection", "true_positive"])
def test_rows_keep_their_people(case, event):
    """An event among some rows is an audit of these rows, by the people whose rows they are."""
    people = np.random.default_rng(6).integers(0, 250, N)
    result = audit_predictions(
        case.y_true, case.y_pred, clusters=people, event=event, **case.arguments
    )
    rows = np.ones(N, dtype=bool) if event == "selection" else (case.y_true == 1).to_numpy()
    expected = mdfa.audit(
        case.X[rows],
        case.y_pred[rows],
        sensitive_features=case.s[rows],
        clusters=people[rows],
        favorable_label=1,
        **QUICK,
    )
    drop = ["outcome", "reason"]
    pd.testing.assert_frame_equal(
        result.to_frame().drop(columns=drop), expected.to_frame().drop(columns=drop)
    )
    assert result.provenance["n_clusters"] == len(set(people[rows]))


def test_text_labels_equal_numbers_once_the_favourable_one_is_said(case):
    names = np.array(["deny", "grant"])
    y_pred, y_true = names[case.y_pred], names[case.y_true]
    told = {"event": "false_negative", **case.arguments}
    found = worst_case_violation(y_true, y_pred, pos_label="grant", **told)
    assert found == worst_case_violation(case.y_true, case.y_pred, **told)
    with pytest.raises(InputError, match=r"pos_label: the labels are 'deny', 'grant'; say which"):
        worst_case_violation(y_true, y_pred, **case.arguments)
    with pytest.raises(InputError, match=r"pos_label: 'yes' is not among the labels found"):
        worst_case_violation(y_true, y_pred, pos_label="yes", **case.arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y * 0.7 + 0.1, r"y_pred: scores were given .* y_pred >= 0\.5"),
        (lambda y: y.astype("Int64").where(y.index > 0), r"y_pred: 1 of 600 predictions are miss"),
        (lambda y: y + 1, r"pos_label: the labels are 1, 2"),
        (lambda y: y.iloc[:-1], r"y_pred: 599 rows were given, but audit_features has 600"),
        (lambda y: y.set_axis(y.index + 5), r"y_pred: its index differs from that of audit_fea"),
        (lambda y: y * 0, r"y_pred: every one of the 600 predictions is 0: nothing to audit"),
        (lambda y: y * 0 + 1, r"y_pred: every one of the 600 predictions is 1: nothing to audit"),
    ],
    ids=["scores", "missing", "one-two", "short", "index", "all rejected", "all selected"],
)
def test_predictions_that_cannot_be_audited(case, change, message):
    with pytest.raises(InputError, match=message):
        worst_case(case.y_true, change(case.y_pred), **case.arguments)


def test_the_favourable_outcome_is_who_is_harmed():
    """20 of 100 women and 60 of 100 men are predicted 1: thrice as many, or half as many get 0."""
    s = np.repeat(["f", "m"], 100)
    y = np.tile(np.repeat([1, 0], [10, 40]), 4)
    y[100:] = np.tile(np.repeat([1, 0], [30, 20]), 2)
    X = np.tile(np.repeat([0, 1], 50), 2).reshape(-1, 1)
    told = {"sensitive_features": s, "audit_features": X, "balance": "none", **QUICK}
    harm = worst_case(None, y, **told)
    assert (harm.group, harm.reference, harm.outcome) == ("f", "m", 1)
    assert harm.ratio == pytest.approx(3, rel=0.05)
    assert harm.disparate_impact == pytest.approx(1 / 3, rel=0.05)
    assert harm.direction == "less often"
    risk = worst_case(None, y, favorable_label=0, **told)
    assert (risk.group, risk.reference, risk.outcome) == ("m", "f", 0)
    assert risk.ratio == pytest.approx(2, rel=0.05)
    with pytest.raises(
        InputError, match="favorable_label: 'yes' is not among the labels found: 0,"
    ):
        worst_case(None, y, favorable_label="yes", **told)


def test_the_favourable_side_of_an_event_follows_from_the_label():
    y_true, y_pred = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    good, bad = (
        {event: occurrence(y_true, y_pred, event, None).favorable(one) for event in EVENTS}
        for one in (1, 0)
    )
    assert good == {
        "selection": 1,
        "error": "correct",
        "false_positive": "false_positive",
        "false_negative": "true_positive",
        "true_positive": "true_positive",
    }
    assert bad == {
        "selection": 0,
        "error": "correct",
        "false_positive": "true_negative",
        "false_negative": "false_negative",
        "true_positive": "false_negative",
    }


def test_one_of_several_labels_is_selected_or_not(case, audited):
    """As if the others were one; which of these is good is not asked."""
    grades = case.y_pred.astype(object).where(case.y_pred == 1, case.other)
    found = audit_predictions(None, grades, pos_label=1, **case.arguments)
    assert found.outcome_labels == ("not selected", "selection")
    drop = ["outcome", "reason"]
    pd.testing.assert_frame_equal(
        found.to_frame().drop(columns=drop), audited.to_frame().drop(columns=drop)
    )
    assert found.worst_harm.outcome == "selection"
    with pytest.raises(InputError, match=r"favorable_label: with 4 labels it does not say which"):
        worst_case(None, grades, pos_label=1, favorable_label="u", **case.arguments)


def test_spellings_and_missing_labels_as_if_there_were_none(case):
    """Of predictions and true labels; rows that lack either have no event."""
    words = np.array(["no", "yes"])
    true, predicted = (pd.Series(words[np.asarray(y)]) for y in (case.y_true, case.y_pred))
    place = np.arange(len(true))
    absent = (place % 20 == 0) | (place % 30 == 0)
    how = {"sensitive_features": case.s, "audit_features": case.X, "event": "false_positive"}
    found = audit_predictions(
        true.where(place % 3 > 0, true.str.upper()).mask(place % 20 == 0),
        predicted.where(place % 4 > 0, predicted + " ").mask(place % 30 == 0),
        **how, pos_label="Yes", merge_spellings=True, missing_outcome="exclude", **QUICK,
    )  # fmt: skip
    how = {name: value[~absent] if name != "event" else value for name, value in how.items()}
    clean = audit_predictions(true[~absent], predicted[~absent], **how, pos_label="yes", **QUICK)
    for one, other in zip(found.violations, clean.violations, strict=True):
        assert one.delta == pytest.approx(other.delta, nan_ok=True)
        assert one.n_rows == other.n_rows
