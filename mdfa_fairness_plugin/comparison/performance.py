"""How well models do: a metric of each, and how much each row moves it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.comparison.answers import Answers
from mdfa_fairness_plugin.comparison.bench import Bench
from mdfa_fairness_plugin.data.columns import listing, objects
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError
from mdfa_fairness_plugin.measure.influence import mean_influence, paired_interval
from mdfa_fairness_plugin.settings import check_least, is_choice, shown

ACCURACY_METRIC: Final = "accuracy"
AUC: Final = "auc"
# Of numbers, as scikit-learn calls them: higher is better.
R2: Final = "r2"
ERROR: Final = "neg_mean_absolute_error"
# Groups of rows left out in turn: an error estimated from 100 of them is itself off by 7 %.
_N_GROUPS: Final = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """What models are measured by, checked."""

    name: str
    function: Callable[..., Any] | None  # the user's
    scores: Mapping[Hashable, np.ndarray]  # by model, each (n_samples,); empty if none were given
    tolerance: float | None


@dataclass(frozen=True, eq=False)
class Performance:
    """A metric's value, what moves it by row or group of rows, and whose row each is."""

    value: float
    influence: np.ndarray
    cluster: np.ndarray | None = None

    def beside(self, other: Performance, level: float) -> tuple[float, tuple[float, float]]:
        """How much better than another of the same rows, with its interval."""
        difference = self.value - other.value
        own, its = self.influence, other.influence
        return difference, paired_interval(difference, own, its, level, cluster=self.cluster)


def read_metric(metric: Any, scores: Any, tolerance: Any, answers: Answers) -> Metric | None:
    """What was asked for; None if nothing was."""
    names = (ACCURACY_METRIC, AUC) if answers.numbers is None else (R2, ERROR)
    known = f"{', '.join(map(repr, names))} or a function"
    if metric is None:
        for name, given in (("scores", scores), ("tolerance", tolerance)):
            if given is not None:
                raise InputError(f"{name}: pass metric= as well: {known}.")
        return None
    if not (callable(metric) or is_choice(metric, names)):
        raise InputError(f"metric: {known} expected, {shown(metric)} found.")
    if answers.truth is None or not answers.known_truth.any():
        raise InputError("y_true: a metric says how well models do; pass the true labels.")
    if tolerance is not None:
        check_least("tolerance", tolerance, 0)
    if metric == AUC:
        _check_auc(scores, answers)
    if metric == ACCURACY_METRIC and scores is not None:
        raise InputError(
            "scores: accuracy is of the outcomes; leave them out, or pass metric='auc'."
        )
    if answers.numbers is not None and scores is not None:
        raise InputError("scores: models that predict numbers have none; leave them out.")
    return Metric(
        name=metric if isinstance(metric, str) else getattr(metric, "__name__", "metric"),
        function=metric if callable(metric) else None,
        scores={} if scores is None else _read_scores(scores, answers),
        tolerance=None if tolerance is None else float(tolerance),
    )


def _check_auc(scores: Any, answers: Answers) -> None:
    if len(answers.labels) != 2:
        raise InputError(
            f"metric: 'auc' is of two outcomes; {len(answers.labels)} were found. Pass 'accuracy' or a "
            "function."
        )
    if scores is None:
        raise InputError(
            "scores: metric='auc' ranks people by each model's scores, such as the probability of "
            f"{answers.labels[1]!r}; pass scores={{model: array}}."
        )
    assert answers.truth is not None
    found = np.unique(answers.truth[answers.truth >= 0])
    if len(found) < 2:
        raise InputError(
            f"y_true: every true label is {answers.labels[found[0]]!r}, so there is no AUC."
        )


def _read_scores(scores: Any, answers: Answers) -> dict[Hashable, np.ndarray]:
    """Scores of every model, paired as outcomes are."""
    given = dict(scores.items()) if isinstance(scores, pd.DataFrame) else scores
    if not isinstance(given, Mapping):
        raise InputTypeError(
            f"scores: a mapping of each model to its array expected, {type(given).__name__} found."
        )
    absent = [model for model in answers.models if model not in given]
    strange = [name for name in given if name not in answers.models]
    if absent or strange:
        what = (
            f"none were given of {listing(absent)}" if absent else f"{listing(strange)} is no model"
        )
        raise InputError(f"scores: {what}; the models are {listing(answers.models)}.")
    read = {}
    for model in answers.models:
        argument = f"scores[{model!r}]"
        column = answers.aligned(given[model], argument).typed(0)
        if column.labels is not None or not np.isfinite(column.numbers).all():
            raise InputError(f"{argument}: finite numbers without a gap expected.")
        read[model] = np.asarray(column.numbers, dtype=float)
    return read


def usual_metrics(bench: Bench, model: Hashable) -> dict[str, Performance]:
    r"""Share of right answers, or R2 and minus the mean absolute error, where the truth is known.

    Empty where it is known of nobody. With the mean squared error E and the variance V of the true
    numbers, R2 is 1 - E/V, and

    .. math:: \psi_i = \frac{w_i}{\sum w} \left(\frac{E (d_i^2 - V)}{V^2} - \frac{e_i^2 - E}{V}\right)
    """
    answers = bench.answers
    if answers.truth is None or not answers.known_truth.any():
        return {}
    rows = _Known(bench)
    if answers.numbers is None:
        right = (rows.codes(model) == rows.truth).astype(float)
        value = float(np.average(right, weights=rows.weight))
        influence = mean_influence(right, rows.weight)
        return {ACCURACY_METRIC: Performance(value, influence, rows.cluster)}
    error = answers.of(model)[rows.source_row] - rows.truth
    share = rows.weight / rows.weight.sum()
    apart = (rows.truth - share @ rows.truth) ** 2
    lost, variance = float(share @ error**2), float(share @ apart)
    influence = mean_influence(-np.abs(error), rows.weight)
    found = {ERROR: Performance(-float(share @ np.abs(error)), influence, rows.cluster)}
    if variance > 0:
        influence = share * (lost * (apart - variance) / variance**2 - (error**2 - lost) / variance)
        found[R2] = Performance(1.0 - lost / variance, influence, rows.cluster)
    return found


def performance(metric: Metric, bench: Bench, model: Hashable) -> Performance:
    """A model's performance by what was asked for."""
    if metric.function is not None:
        return _by_groups(metric, bench, model)
    if metric.name == AUC:
        rows = _Known(bench)
        scores = metric.scores[model][rows.source_row]
        value, influence = auc(rows.truth == 1, scores, rows.weight)
        return Performance(value, influence, rows.cluster)
    found = usual_metrics(bench, model).get(metric.name)
    if found is None:
        raise InputError("y_true: every true number is the same, so there is no R2.")
    return found


class _Known:
    """The rows whose true label is known."""

    def __init__(self, bench: Bench) -> None:
        problem, answers = bench.problem, bench.answers
        assert answers.truth is not None
        truth = answers.truth[problem.source_row]
        known = answers.known_truth[problem.source_row]
        self.answers, self.truth = answers, truth[known]
        self.source_row, self.weight = problem.source_row[known], problem.sample_weight[known]
        self.cluster = None if problem.cluster is None else problem.cluster[known]

    def codes(self, model: Hashable) -> np.ndarray:
        """Places of the model's answers among the labels."""
        return self.answers.codes[self.answers.models.index(model)][self.source_row]


def auc(positive: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    r"""Area under the ROC curve, and each row's influence on it.

    The weighted share of pairs of a positive and a negative row in which the positive one has the
    higher score, ties counting half. With :math:`F_0(s)` the share of negative weight below a score:

    .. math:: \psi_i = \frac{w_i (F_0(s_i) - A)}{W_1} \text{ or } \frac{w_j (1 - F_1(s_j) - A)}{W_0}

    The sum of squares is the variance of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988), but
    for their n - 1 in the place of n.
    """
    codes = np.unique(scores, return_inverse=True)[1].reshape(-1)
    below = []
    for side in (~positive, positive):
        at = np.bincount(codes, weight * side)
        below.append(((np.cumsum(at) - at / 2.0) / at.sum())[codes])
    area = float(np.average(below[0][positive], weights=weight[positive]))
    influence = np.where(positive, below[0] - area, 1.0 - below[1] - area)
    totals = np.where(positive, weight[positive].sum(), weight[~positive].sum())
    return area, weight * influence / totals


def _by_groups(metric: Metric, bench: Bench, model: Hashable) -> Performance:
    """The user's metric, and how it moves as groups of rows are left out (grouped jackknife)."""
    rows = _Known(bench)
    scores, truth = metric.scores.get(model), rows.truth
    if rows.answers.numbers is not None:
        told = rows.answers.of(model)[rows.source_row]
    else:
        labels = objects(rows.answers.labels)
        values = np.array(labels.tolist()) if not isinstance(labels[0], tuple) else labels
        truth = values[rows.truth]
        told = values[rows.codes(model)] if scores is None else scores[rows.source_row]
    weighted = bool((rows.weight != rows.weight[0]).any())
    whose = np.arange(len(truth)) if rows.cluster is None else rows.cluster
    unit = np.unique(whose, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    n_groups = min(n_units, _N_GROUPS)
    group = (np.random.default_rng(0).permutation(n_units) % n_groups)[unit]

    def measured(kept: np.ndarray | slice) -> float:
        weight = {"sample_weight": rows.weight[kept]} if weighted else {}
        return _called(metric, truth[kept], told[kept], weight)

    without = np.array([measured(group != one) for one in range(n_groups)])
    share = math.sqrt((n_groups - 1) / n_groups)
    return Performance(measured(slice(None)), share * (without.mean() - without))


def _called(metric: Metric, truth: np.ndarray, told: np.ndarray, weight: dict[str, Any]) -> float:
    """What the user's metric gives, a finite number."""
    assert metric.function is not None
    if weight and not _takes_weight(metric.function):
        raise InputError(
            f"metric: {metric.name} does not take sample_weight, and the rows have weights. Pass a "
            "function of y_true, answers and sample_weight."
        )
    try:
        value = float(metric.function(truth, told, **weight))
    except Exception as error:
        raise InputError(
            f"metric: {metric.name} failed ({type(error).__name__}: {error})."
        ) from error
    if not math.isfinite(value):
        raise InputError(f"metric: {metric.name} gave {value}; a finite number expected.")
    return value


def _takes_weight(function: Callable[..., Any]) -> bool:
    try:
        accepted = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some of C tell nothing
        return True
    return any(own.name == "sample_weight" or own.kind is own.VAR_KEYWORD for own in accepted)
