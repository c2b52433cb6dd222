"""What AIF360 tests its own metrics by, told of ours: worked by hand, of both classes alike."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

from mdfa_fairness_plugin.aif360 import MDFAClassificationMetric, MDFADatasetMetric
from mdfa_fairness_plugin.aif360.toolkit import part

datasets, metrics = part("datasets"), part("metrics")
CLASSIFIED = {
    "theirs": metrics.ClassificationMetric,
    "ours": MDFAClassificationMetric,
}
LABELLED = {"theirs": metrics.BinaryLabelDatasetMetric, "ours": MDFADatasetMetric}
LISTS = {"unprivileged_groups": [{"s": 0}], "privileged_groups": [{"s": 1}]}

# Twelve people of three groups: who was hired, and who ought to have been.
GROUP = np.repeat([0, 1, 2], 4)
TRUTH = np.array([1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0])
HIRED = np.array([1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1])


@pytest.fixture(params=["theirs", "ours"])
def whose(request):
    return request.param


def labelled(y, protected=("s",), kind=datasets.BinaryLabelDataset, **columns):
    """Data set of labels y, with the columns given."""
    weights = {"instance_weights_name": "w"} if "w" in columns else {}
    scores = {"scores_names": ["score"]} if "score" in columns else {}
    own = {}
    if kind is not datasets.BinaryLabelDataset:
        own = {"favorable_label": [1.0, 3.0], "unfavorable_label": [0.0, 2.0]}
    return kind(
        df=pd.DataFrame({**columns, "y": y}),
        label_names=["y"],
        protected_attribute_names=list(protected),
        **own,
        **weights,
        **scores,
    )


def judged(whose, predicted=HIRED, truth=TRUTH, lists=None, **columns):
    """Metric of predictions about people of one or two protected attributes."""
    columns = columns or {"s": GROUP}
    kind = columns.pop("kind", datasets.BinaryLabelDataset)
    scores = {"score": columns.pop("score")} if "score" in columns else {}
    protected = [name for name in ("s", "t") if name in columns]
    true = labelled(truth, protected, kind, **columns)
    told = labelled(predicted, protected, kind, **columns, **scores)
    return CLASSIFIED[whose](true, told, **(lists or {}))


def entropy(benefit):
    return np.mean((benefit / benefit.mean()) ** 2 - 1) / 2


def of_groups(benefit, groups):
    """Everybody's benefit by the mean of their group."""
    return pd.Series(benefit).groupby(groups).transform("mean").to_numpy()


def test_inequality_of_benefits_needs_no_lists(whose):
    """A benefit of 1 is what one ought to get, 2 is more, 0 less."""
    metric = judged(whose)
    benefit = 1.0 + HIRED - TRUTH
    assert metric.generalized_entropy_index() == pytest.approx(entropy(benefit))
    assert metric.coefficient_of_variation() == pytest.approx(math.sqrt(2 * entropy(benefit)))
    part = benefit[benefit > 0] / benefit.mean()
    assert metric.theil_index() == pytest.approx((part * np.log(part)).sum() / 12)
    between = entropy(of_groups(benefit, GROUP))
    assert metric.between_all_groups_generalized_entropy_index() == pytest.approx(between)
    # Everybody gets what they ought to.
    assert judged(whose, predicted=TRUTH).generalized_entropy_index() == 0


def test_inequality_between_lists_of_one_of_two_attributes(whose):
    s, t = np.array([0, 0, 1, 1, 1, 1]), np.array([0, 1, 1, 1, 0, 0])
    truth, predicted = np.array([1, 0, 0, 1, 0, 0]), np.array([0, 0, 0, 1, 1, 1])
    metric = judged(whose, predicted, truth, LISTS, s=s, t=t)
    between = entropy(of_groups(1.0 + predicted - truth, s))
    assert metric.between_group_generalized_entropy_index() == pytest.approx(between)


def test_several_labels_may_be_favorable(whose):
    odd = np.array([0, 2] * 6)  # 1 and 3 are favorable, 0 and 2 are not
    metric = judged(
        whose,
        HIRED + odd,
        TRUTH + odd,
        {"unprivileged_groups": [{"s": 0}], "privileged_groups": [{"s": 1}, {"s": 2}]},
        s=GROUP,
        kind=part("datasets.multiclass_label_dataset").MulticlassLabelDataset,
    )
    assert metric.binary_confusion_matrix() == {"TP": 6, "FN": 1, "FP": 2, "TN": 3}
    assert metric.false_negative_rate_difference() == 1 / 2 - 0
    assert metric.num_positives(privileged=True) == 5


def test_scores_are_shares_of_a_label(whose):
    score = np.linspace(0.05, 0.93, 12)
    metric = judged(whose, lists=LISTS, s=np.minimum(GROUP, 1), score=score)
    assert metric.num_generalized_true_positives() == pytest.approx(score[TRUTH == 1].sum())
    assert metric.num_generalized_false_positives() == pytest.approx(score[TRUTH == 0].sum())
    women = (GROUP == 0) & (TRUTH == 1)
    found = metric.generalized_false_negative_rate(privileged=False)
    assert found == pytest.approx(1 - score[women].mean())


def test_weights_say_how_many_people_a_row_stands_for(whose):
    w = np.arange(1, 13)
    lists = {"unprivileged_groups": [{"s": 0}], "privileged_groups": [{"s": 2}]}
    metric = judged(whose, lists=lists, s=GROUP, w=w)
    rates = [np.average(HIRED[s == GROUP], weights=w[s == GROUP]) for s in (0, 2)]
    assert metric.disparate_impact() == pytest.approx(rates[0] / rates[1])
    assert metric.statistical_parity_difference() == pytest.approx(rates[0] - rates[1])
    assert metric.num_instances() == w.sum()
    assert metric.num_false_negatives() == w[(HIRED == 0) & (TRUTH == 1)].sum()
    assert metric.accuracy() == pytest.approx(w[HIRED == TRUTH].sum() / w.sum())
    truths = LABELLED[whose](metric.dataset, **lists)
    assert truths.base_rate() == pytest.approx(np.average(TRUTH, weights=w))


def test_error_rates_of_lists_and_their_averages(whose):
    lists = {"unprivileged_groups": [{"s": 0}], "privileged_groups": [{"s": 1}, {"s": 2}]}
    metric = judged(whose, lists=lists)
    low, high = GROUP == 0, GROUP > 0
    true, false = (
        [HIRED[side & (label == TRUTH)].mean() for side in (low, high)] for label in (1, 0)
    )
    assert metric.equal_opportunity_difference() == pytest.approx(true[0] - true[1])
    odds = np.array([true[0] - true[1], false[0] - false[1]])
    assert metric.average_odds_difference() == pytest.approx(odds.mean())
    assert metric.average_abs_odds_difference() == pytest.approx(np.abs(odds).mean())
    wrong = [(HIRED != TRUTH)[side].mean() for side in (low, high)]
    assert metric.error_rate_ratio() == pytest.approx(wrong[0] / wrong[1])
    measures = metric.performance_measures(privileged=False)
    assert (measures["TPR"], measures["FPR"]) == pytest.approx((true[0], false[0]))
    for name in ("selection_rate", "precision", "false_discovery_rate"):
        assert metric.difference(getattr(metric, name)) == pytest.approx(
            getattr(metric, name)(privileged=False) - getattr(metric, name)(privileged=True)
        )


def test_neighbours_and_smoothed_counts(whose):
    """Three pairs of twins of whom one pair is told apart; four cells of Dirichlet counts."""
    x = np.repeat([0.0, 10.0, 20.0], 2)
    y = np.array([1, 1, 0, 0, 1, 0])
    metric = LABELLED[whose](labelled(y, s=np.array([0, 1] * 3), x=x), **LISTS)
    # Each of the last pair sees itself and the other: one half of a label away.
    assert metric.consistency(n_neighbors=2) == pytest.approx([1 - (0.5 + 0.5) / 6])
    counts = [(y[s::2].sum(), 3) for s in (0, 1)]
    rates = [(n + 0.5) / (of + 1) for n, of in counts]
    worst = max(abs(math.log(rates[0] / rates[1])), abs(math.log((1 - rates[0]) / (1 - rates[1]))))
    assert metric.smoothed_empirical_differential_fairness() == pytest.approx(worst)


def test_nobody_favored_on_one_side(whose):
    """Ratios without a denominator are not errors."""
    none = np.where(GROUP == 1, 0, HIRED)
    metric = judged(whose, none, lists=LISTS)
    with np.errstate(all="ignore"):
        assert metric.disparate_impact() == math.inf
        assert metric.precision(privileged=True) == 0
    turned = {"unprivileged_groups": LISTS["privileged_groups"], "privileged_groups": [{"s": 0}]}
    assert judged(whose, none, lists=turned).disparate_impact() == 0


def test_wrong_arguments(whose):
    both = {"unprivileged_groups": [{"s": 0}], "privileged_groups": [{"s": 0}, {"s": 1}]}
    with pytest.raises(ValueError, match="disjoint"):
        judged(whose, lists=both)
    with pytest.raises(TypeError):
        LABELLED[whose](pd.DataFrame({"s": GROUP, "y": TRUTH}))
    dataset = labelled(TRUTH, s=GROUP)
    with pytest.raises(TypeError):
        CLASSIFIED[whose](dataset, TRUTH)
    with pytest.raises(ValueError, match=r"expected to differ only|broadcast"):
        CLASSIFIED[whose](dataset, labelled(TRUTH[:6], s=GROUP[:6]))
    for name in ("unprivileged", "privileged"):
        other = {key: own for key, own in LISTS.items() if key != f"{name}_groups"}
        for make in (judged(whose, lists=other), LABELLED[whose](dataset, **other)):
            with pytest.raises(AttributeError, match=f"'{name}_groups' was not provided"):
                make.base_rate(privileged=name == "privileged")
            with pytest.raises(AttributeError, match="was not provided"):
                make.disparate_impact()
