"""The subgroups of an audit measured again without each feature: what it explains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import delayed
from scipy.special import ndtri

from mdfa_fairness_plugin.arguments import settled
from mdfa_fairness_plugin.data.display import ToldFeature, told_features
from mdfa_fairness_plugin.data.given import OUTCOME, PROPENSITY
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.decimals import amounts, ratios_text
from mdfa_fairness_plugin.describe.recorded import features_of
from mdfa_fairness_plugin.describe.wording import label_text
from mdfa_fairness_plugin.exceptions import InputError, OverlapError, WarningLog
from mdfa_fairness_plugin.measure.influence import Effect, effect_of
from mdfa_fairness_plugin.measure.sums import MeasuredRows
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.pipeline import measured_rows
from mdfa_fairness_plugin.records import AuditedFeature, AuditRecord, SearchKey, ratio_of
from mdfa_fairness_plugin.replicate.repeats import (
    Named,
    quietly,
    repeat,
    scale_of,
    search_text,
    searched,
    source_of,
    untold,
)
from mdfa_fairness_plugin.search.outcomes import outcomes_of
from mdfa_fairness_plugin.search.prepare import (
    Grounds,
    audit_folds,
    by_column,
    judged_parts,
    searches_of,
    side_of,
)
from mdfa_fairness_plugin.settings import Settings

# Working rows inside, and those with common support, of every search that could be made.
_Regions = Mapping[SearchKey, tuple[np.ndarray, np.ndarray]]
# Rows measured in every search, which of them are inside, and the scale of its effect.
_Rows = dict[SearchKey, tuple[MeasuredRows, np.ndarray, float]]


_R = TypeVar("_R", bound=AuditRecord)
_NONE: Any = partial(np.empty, 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Explained:
    """What each feature explains of the difference between rates as observed and at equal features.

    Parameters
    ----------
    searches : tuple of tuple
        ``(sensitive_feature, group, outcome)`` of each search.
    features : tuple of str
        Audited features; last those of which reports show nothing and models tell the levels apart.
    delta : ndarray of shape (n_searches,)
        Log ratio in each subgroup at equal features, as the audit reports it; NaN where a search
        could not be made.
    without : ndarray of shape (n_features, n_searches)
        The same with all features equal but one.
    unweighted : ndarray of shape (n_searches,)
        The same with none equal: rates as observed.
    errors : ndarray of shape (n_features, n_searches)
        Standard errors of ``without - delta``; NaN where a rate is zero.
    difference, difference_without, difference_unweighted : ndarray
        The first three of searches that compare by the difference of means, in units of the outcome,
        as ``errors`` are then; NaN of those that compare by a ratio, as the others are of these.
    worst : int or None
        Which search is the audit's worst case.
    confidence_level : float
        That of the audit.
    """

    searches: tuple[Named, ...]
    features: tuple[str, ...]
    delta: np.ndarray
    without: np.ndarray
    unweighted: np.ndarray
    errors: np.ndarray
    worst: int | None
    confidence_level: float
    difference: np.ndarray = field(default_factory=_NONE)
    difference_without: np.ndarray = field(default_factory=_NONE)
    difference_unweighted: np.ndarray = field(default_factory=_NONE)

    def __post_init__(self) -> None:
        for name, shape in (
            ("difference", self.delta.shape),
            ("difference_without", self.without.shape),
            ("difference_unweighted", self.delta.shape),
        ):
            if not getattr(self, name).size:
                object.__setattr__(self, name, np.full(shape, math.nan))

    def __repr__(self) -> str:
        return f"Explained({len(self.features)} features, {len(self.searches)} searches)"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search and feature; in each search the one that moves most comes first.

        ``change`` is ``ratio_without / ratio``, 1 where a feature explains nothing. Its intervals
        hold for all features of a search at once (Bonferroni). If some searches compare by the
        difference of means, further columns have it, ``change`` being 0 there where a feature
        explains nothing.
        """
        level = (1.0 - self.confidence_level) / max(len(self.features), 1)
        by_difference = self.by_difference
        with np.errstate(invalid="ignore"):
            change = np.where(
                by_difference, self.difference_without - self.difference, self.without - self.delta
            )
            margin = -ndtri(level / 2.0) * self.errors
        order = np.argsort(-np.nan_to_num(np.abs(change), nan=-1.0), axis=0, kind="stable")
        lines = []
        for j, (name, group, outcome) in enumerate(self.searches):
            write = float if by_difference[j] else ratio_of
            for i in order[:, j]:
                line = {
                    "sensitive_feature": name,
                    "group": group,
                    "outcome": outcome,
                    "feature": self.features[i],
                    "ratio": ratio_of(self.delta[j]),
                    "ratio_without": ratio_of(self.without[i, j]),
                    "ratio_unweighted": ratio_of(self.unweighted[j]),
                    "change": write(change[i, j]),
                    "change_low": write(change[i, j] - margin[i, j]),
                    "change_high": write(change[i, j] + margin[i, j]),
                }
                if by_difference.any():
                    line["difference"] = self.difference[j]
                    line["difference_without"] = self.difference_without[i, j]
                    line["difference_unweighted"] = self.difference_unweighted[j]
                lines.append(line)
        return pd.DataFrame(lines)

    @property
    def by_difference(self) -> np.ndarray:
        """Whether each search compares by the difference of means."""
        return ~np.isnan(self.difference)

    def of_search(self, search: int) -> pd.DataFrame:
        """Give the rows of one search, by its position."""
        n = len(self.features)
        return self.to_frame().iloc[search * n : (search + 1) * n].reset_index(drop=True)

    def summary(self) -> str:
        """Tell which features carry the difference, in plain text."""
        measure = "difference" if self.by_difference.any() else "ratio"
        lines = [
            "Each feature was left out in turn: the models of the features were fitted without it and "
            f"the same rows measured again. What is not named moves the {measure} no more than "
            "chance. Features that tell the same stand in for each other, so that none seems to "
            "explain much."
        ]
        each = enumerate(map(search_text, self.searches))
        return "\n".join([*lines, *(f"- {name}: {self._told(j)}." for j, name in each)])

    def _told(self, search: int) -> str:
        """One search: its effect with all features equal and with none, and what moves it."""
        name, nothing, unit, write = "ratio", 1.0, "times as large", ratios_text
        sizes = [ratio_of(own[search]) for own in (self.delta, self.unweighted)]
        if self.by_difference[search]:
            name, nothing, unit, write = "difference", 0.0, "more", amounts
            sizes = [self.difference[search], self.difference_unweighted[search]]
        if math.isnan(sizes[0]):
            return untold(np.fmax(self.unweighted[search], self.difference_unweighted[search]))
        moved = "; ".join(
            f"{write((line[f'{name}_without'],))[0]} without {label_text(line['feature'])} "
            f"({' to '.join(write((line['change_low'], line['change_high'])))} {unit})"
            for line in self.of_search(search).to_dict("records")
            if line["change_low"] > nothing or line["change_high"] < nothing
        )
        equal, observed = write(sizes)
        return (
            f"{name} {equal} at equal features, {observed} as observed; "
            f"{moved or 'no single feature moves it beyond chance'}"
        )


def with_explained(result: _R, explained: Explained) -> _R:
    """Give a copy whose reports tell the ratio without each feature.

    Parameters
    ----------
    result : AuditResult
    explained : Explained
        What :meth:`explained` of this result returned.

    Returns
    -------
    result : AuditResult
        With ``features``, whose ``ratio_without`` is set, or ``difference_without``.

    Raises
    ------
    InputError
        If it is of another audit, or the result does not hold its data.
    """
    if not hasattr(explained, "without"):
        raise InputError(
            f"explained: what explained() returned expected, {type(explained).__name__} found."
        )
    features = result.features or features_of(source_of(result).problem, result.violations)
    names = {own.feature for own in features}
    if explained.searches != searched(result) or not names <= set(explained.features):
        raise InputError(
            "explained: it is of another audit; pass what explained() of this result returned."
        )
    return replace(result, features=tuple(_beside(own, explained) for own in features))


def _beside(feature: AuditedFeature, explained: Explained) -> AuditedFeature:
    """A feature with what every search measures without it."""
    i, differences = explained.features.index(feature.feature), ()
    if explained.by_difference.any():
        differences = tuple(explained.difference_without[i].tolist())
    ratios = tuple(map(ratio_of, explained.without[i]))
    return replace(feature, ratio_without=ratios, difference_without=differences)


def explained(
    result: AuditRecord, *, n_jobs: int | None = None, progress: bool = False
) -> Explained:
    r"""Measure the subgroups of an audit again with each audited feature left out in turn.

    Parameters
    ----------
    result : AuditResult
    n_jobs : int or None, default=None
        Features left out at a time; the answer does not depend on it.
    progress : bool, default=False
        Show a progress bar on the standard error stream.

    Returns
    -------
    explained : Explained

    Raises
    ------
    InputError
        If the result does not hold its data; if probabilities or weights were given row by row, as
        these cannot be fitted without a feature; if the audit makes no features equal.

    Notes
    -----
    People, folds, estimator and seeds are the audit's. The models of the group and of the outcome, and
    the balance, are fitted again with all columns of the feature set to zero, so that nothing can be
    learned from them. Nothing is searched for again: what an audit without the feature would find is
    another question.

    Each log ratio is to first order a sum over rows, so the variance of a difference is the sum of
    squares of the rows' differences; the rows of a cluster are one term. Subgroup and models are taken
    as they are. What noise features moved in 25 sets of 1,000 rows spread .8 to 1.05 times as far.

    The changes do not add up to that of all features at once: where two tell the same, neither changes
    anything alone. The models are of everybody compared, so what a feature does only together with
    another counts as its own.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=600, imbalance=0.3, random_state=0)
    >>> result = mdfa.audit(
    ...     data.X, data.y, sensitive_features=data.sensitive_features, n_splits=2, random_state=0
    ... )
    >>> result.explained().to_frame().columns[3:7].tolist()
    ['feature', 'ratio', 'ratio_without', 'ratio_unweighted']
    """
    source = source_of(result)
    problem, settings = source.problem, settled(source.settings, source.problem)
    _check(problem, settings)
    features = told_features(problem.encoder.displays_, problem.encoder.leveled_)
    regions = _regions_of(result, problem)
    rows = _measured(problem, settings, regions)
    whole = {key: _effect(*own, settings) for key, own in rows.items()}
    told = repeat(
        lambda i: delayed(_left_out)(problem, settings, regions, whole, features[i]),
        len(features),
        n_jobs,
        progress,
    )
    found, unknown = result.violations, (math.nan, math.nan)
    table = np.array([[part.get(one.key, unknown) for one in found] for part in told])
    by_difference = np.array([one.by_difference for one in found])
    observed = np.array([one.estimates.get("unweighted", math.nan) for one in found])
    reported, without = np.array([one.effect for one in found]), table[:, :, 0]
    return Explained(
        searches=searched(result),
        features=tuple(feature.name for feature in features),
        delta=np.where(by_difference, math.nan, reported),
        without=np.where(by_difference, math.nan, without),
        unweighted=np.where(by_difference, math.nan, observed),
        errors=table[:, :, 1],
        difference=np.where(by_difference, reported, math.nan),
        difference_without=np.where(by_difference, without, math.nan),
        difference_unweighted=np.where(by_difference, observed, math.nan),
        worst=next((j for j, one in enumerate(found) if one is result.worst_case), None),
        confidence_level=float(settings.confidence_level),
    )


def _regions_of(result: AuditRecord, problem: AuditProblem) -> _Regions:
    return {
        one.key: (one.membership[problem.source_row], ~one.left_out[problem.source_row])
        for one in result.violations
        if len(one.side)
    }


@one_blas_thread()
def _measured(problem: AuditProblem, settings: Settings, regions: _Regions) -> _Rows:
    """Rows measured in every search as the models of these features have them, and who is inside."""
    outcomes, parts = outcomes_of(problem), judged_parts(problem.n_rows, settings)
    found: _Rows = {}
    for contrasts in by_column(problem.contrasts):
        folds = audit_folds(problem, contrasts, settings)
        grounds = Grounds(problem, contrasts, folds, parts, settings, ladder=False)
        for contrast in contrasts:
            name = (contrast.sensitive_feature, contrast.group)
            of_group = (k for k in regions if (k.sensitive_feature, k.group) == name)
            key = next(of_group, None)
            if key is None:
                continue
            with quietly():  # the audit has said it
                ground = grounds.of(contrast, regions[key][1])
                assert not isinstance(ground, OverlapError)
                side = side_of(contrast, ground, WarningLog())
                for search in searches_of(contrast, outcomes, side, ""):
                    inside = regions[search.key][0][search.rows[search.data.held_out]]
                    found[search.key] = measured_rows(search, problem), inside, scale_of(search)
    return found


def _left_out(
    problem: AuditProblem,
    settings: Settings,
    regions: _Regions,
    whole: Mapping[SearchKey, Effect],
    feature: ToldFeature,
) -> dict[SearchKey, tuple[float, float]]:
    """Effect of every search without a feature, and the error of its difference from the whole."""
    X, levels = problem.X.copy(), problem.levels
    X[:, list(feature.encoded)] = 0.0
    if feature.levels:
        assert levels is not None
        levels = levels.copy()
        levels[:, list(feature.levels)] = -1
    rows = _measured(replace(problem, X=X, levels=levels), settings, regions)
    told = {}
    for key, (own, member, scale) in rows.items():
        found = _effect(own, member, scale, settings)
        told[key] = found.delta, math.sqrt((found - whole[key]).variance(own.cluster))
    return told


def _effect(rows: MeasuredRows, member: np.ndarray, scale: float, settings: Settings) -> Effect:
    """As the audit reports it, in units of the outcome."""
    if settings.estimator == "raw":
        return effect_of(rows.value & member, rows.s, rows.weights)
    outcome = rows.outcome if settings.adjusts else None
    return effect_of(rows.value, rows.s, rows.weights, member, outcome, rows.kind).times(scale)


def _check(problem: AuditProblem, settings: Settings) -> None:
    """Refuse what cannot be fitted without a feature."""
    for argument, given in (
        (PROPENSITY, problem.given.propensity),
        (OUTCOME, problem.given.outcome),
    ):
        if given is not None:
            raise InputError(
                f"{argument}: probabilities were given row by row, and cannot be fitted without a "
                "feature. Audit with the estimator itself, or with the audit's own models."
            )
    if settings.estimator == "unweighted" or not settings.balances:
        argument = "estimator" if settings.balances else "balance"
        raise InputError(
            f"{argument}: {getattr(settings, argument)!r} makes no features equal, so none of them "
            "explains anything. Audit with the defaults of estimator and balance."
        )
    if settings.weighs_by_row:
        raise InputError(
            "balance: weights were given row by row, and cannot be made without a feature. Audit "
            "with a method's name."
        )
