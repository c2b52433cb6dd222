"""Which rows an event is about, and where it happened, against Fairlearn's own rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import (
    InputError,
)
from mdfa_fairness_plugin.fairlearn import (
    EVENTS,
    audit_predictions,
    worst_case_violation,
)

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

N = 600
# Half a second an audit instead of some: what is tested is the plumbing.
QUICK = {"learner": "tree", "n_splits": 2}
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


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("event", list(EVENTS))
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
    assert len(result.violations) == 2
    for violation in result.violations:
        assert violation.outcome == (1 if event == "selection" else event)
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
        outcomes=[1],
        random_state=0,
        **QUICK,
    )
    drop = ["outcome", "reason"]
    pd.testing.assert_frame_equal(
        result.to_frame().drop(columns=drop), expected.to_frame().drop(columns=drop)
    )
    without = audit_predictions(case.y_true, case.y_pred, event=event, **case.arguments)
    assert without.worst_case.interval != result.worst_case.interval


def test_text_labels_equal_numbers_once_the_favourable_one_is_said(case):
    names = np.array(["deny", "grant"])
    y_pred, y_true = names[case.y_pred], names[case.y_true]
    for event in ("selection", "false_negative"):
        expected = worst_case_violation(case.y_true, case.y_pred, event=event, **case.arguments)
        found = worst_case_violation(
            y_true, y_pred, event=event, pos_label="grant", **case.arguments
        )
        assert found == expected
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
        worst_case_violation(case.y_true, change(case.y_pred), **case.arguments)


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
