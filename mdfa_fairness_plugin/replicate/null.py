r"""An audit repeated on sensitive values redrawn as if nothing leaked.

Repeating *everything* the audit did, search and choice included, says what it would have reported
without a violation.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed
from scipy.stats import chi2

from mdfa_fairness_plugin.arguments import settled
from mdfa_fairness_plugin.data.amounts import MORE
from mdfa_fairness_plugin.data.columns import find_label
from mdfa_fairness_plugin.data.contrasts import Contrast
from mdfa_fairness_plugin.data.given import PROPENSITY
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.describe.wording import label_text, percent, rounded
from mdfa_fairness_plugin.learn.given import repeated_probability
from mdfa_fairness_plugin.learn.links import IDENTITY, LOGIT, Link
from mdfa_fairness_plugin.learn.models import Shared
from mdfa_fairness_plugin.measure.splitting import draw_folds
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.pipeline import AuditSource, deltas_and_statistics
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.replicate.repeats import (
    Named,
    checked,
    effect_text,
    measures_of,
    repeat,
    rerun,
    scale_of,
    search_text,
    searched,
    untold,
)
from mdfa_fairness_plugin.search.compared import Compared
from mdfa_fairness_plugin.search.outcomes import outcomes_of
from mdfa_fairness_plugin.search.prepare import audit_folds, by_column

_N_FOLDS = 5
# Values with fewer rows have no model of their own: they are redrawn at their overall rate.
_FEWEST_ROWS = 30
# How often redraws that spread as assumed are said to spread more.
_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class NullDistribution:
    """What the same audit reports where the outcome tells nothing about S beyond x.

    Parameters
    ----------
    searches : tuple of tuple
        ``(sensitive_feature, group, outcome)`` of each search.
    observed : ndarray of shape (n_searches,)
        Delta of the audit, or its difference in units of the outcome (``Violation.effect``).
    draws : ndarray of shape (n_draws, n_searches)
        The same of the worst subgroup found on each draw; NaN where a search could not be made.
    observed_statistics : ndarray of shape (n_searches,)
        Leak statistic ``z`` of the subgroup, before any allowance for the search.
    statistics : ndarray of shape (n_draws, n_searches)
        The same on each draw. The audit's own p-values allow for a standard deviation of 1.22 in
        regions that five folds found.
    everybody : ndarray of shape (n_draws, n_searches)
        Leak statistic of everybody compared on each draw.
    measures : tuple of str
        Whether each search compares by "ratio" or "difference", or by the "slope" of a sensitive
        quantity; empty: all by ratio.
    spreads : ndarray of shape (n_searches,)
        Standard deviation of ``everybody`` about zero; the audit's test takes it to be 1.
    spreads_more : ndarray of shape (n_searches,)
        Whether it is larger beyond its own error (5 % over all searches): then the audit's p-values
        are too small.
    p_values : ndarray of shape (n_searches,)
        Share of the draws, the observed one among them, whose statistic is at least as large.
    p_values_delta : ndarray of shape (n_searches,)
        The same for delta itself.
    p_value : float
        The same for the largest statistic over all searches: chance of a result like the worst one
        anywhere in the audit, without a violation.
    """

    searches: tuple[Named, ...]
    observed: np.ndarray
    draws: np.ndarray
    observed_statistics: np.ndarray
    statistics: np.ndarray
    everybody: np.ndarray
    measures: tuple[str, ...] = ()
    spreads: np.ndarray = field(init=False)
    spreads_more: np.ndarray = field(init=False)
    p_values: np.ndarray = field(init=False)
    p_values_delta: np.ndarray = field(init=False)
    p_value: float = field(init=False)

    def __post_init__(self) -> None:
        n, seen, drawn = len(self.searches), self.observed_statistics, self.statistics
        known = (~np.isnan(self.everybody)).sum(axis=0)
        squares = np.nansum(self.everybody**2, axis=0)
        with np.errstate(invalid="ignore"):
            spreads = np.sqrt(squares / known)
        told = {
            "measures": self.measures or ("ratio",) * n,
            "p_values": np.array(list(map(_share_above, seen, drawn.T))),
            "p_values_delta": np.array(list(map(_share_above, self.observed, self.draws.T))),
            "p_value": _share_above(_largest(seen), _largest(drawn)),
            "spreads": spreads,
            "spreads_more": squares > chi2.isf(_LEVEL / max(n, 1), np.maximum(known, 1)),
        }
        for name, value in told.items():
            object.__setattr__(self, name, value)

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.draws)

    def __repr__(self) -> str:
        return f"NullDistribution({self.n_draws} draws, p_value={self.p_value:.3g})"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search: the observed delta among those of the draws.

        With a column ``measure`` if some searches do not compare by ratio: ``delta``, ``null_median``
        and ``null_95`` are then differences of means, or slopes, in units of the outcome.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # searches that no draw could make
            finite = np.where(np.isfinite(self.draws), self.draws, np.nan)
            quantiles = np.nanquantile(finite, [0.5, 0.95], axis=0)
            spread = np.nanstd(self.statistics, axis=0)
        names = ["sensitive_feature", "group", "outcome"]
        frame = pd.DataFrame(list(self.searches), columns=names, dtype=object)
        if not set(self.measures) <= {"ratio"}:
            frame["measure"] = list(self.measures)
        return frame.assign(
            delta=self.observed,
            null_median=quantiles[0],
            null_95=quantiles[1],
            p_value=self.p_values,
            p_value_delta=self.p_values_delta,
            spread=spread,
            spread_everybody=self.spreads,
        )

    def summary(self) -> str:
        """Tell where the observed violations fall, in plain text."""
        what, redrawn = "difference", "sensitive values redrawn from the features alone"
        if set(self.measures) == {"slope"}:
            what = "slope"
            redrawn = "the signs of what features do not tell of the quantity redrawn"
        lines = [
            f"The whole audit was repeated {self.n_draws:,} times with {redrawn}, so that any "
            f"{what} is chance. They are redrawn by models of the features: what these do not see, the "
            "repetitions do not show."
        ]
        every = zip(self.searches, self.measures, self.p_values, self.observed, strict=True)
        for search, measure, p, effect in every:
            told = untold(effect)
            if not np.isnan(p):
                often = (
                    f"{_share_text(p, self.n_draws)} of the repetitions showed as clear a {what}"
                )
                told = f"{effect_text(effect, measure)}; {often}"
            lines.append(f"- {search_text(search)}: {told}.")
        lines.append(
            f"As clear a {what} as the audit's clearest, in any of its searches: "
            f"{_share_text(self.p_value, self.n_draws)} of the repetitions."
        )
        each = zip(self.searches, self.spreads_more, strict=True)
        more = dict.fromkeys(search[0] for search, own in each if own)
        if more:
            lines.append(
                f"In the repetitions on {', '.join(map(label_text, more))} the statistic of everybody "
                f"spreads {rounded(self.spreads[self.spreads_more].max())} times as far as the audit's "
                "test assumes, so the audit's own p-values are too small there."
            )
        return "\n".join(lines)


def null_distribution(
    result: AuditRecord,
    n_draws: int = 199,
    *,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> NullDistribution:
    r"""Repeat a whole audit on sensitive values redrawn from their distribution given x.

    Parameters
    ----------
    result : AuditResult
    n_draws : int, default=199
        The smallest p-value that can be found is ``1 / (n_draws + 1)``.
    n_jobs : int or None, default=None
        Draws made at a time; the answer does not depend on it.
    random_state : int or None, default=None
        None: the audit's own seed.
    progress : bool, default=False
        Show a progress bar on the standard error stream.

    Returns
    -------
    null : NullDistribution

    Raises
    ------
    InputError
        If the result was read from elsewhere and does not hold its data.

    Notes
    -----
    Each value is drawn from :math:`Pr[S | x]`, cross-fitted or as the audit was given it;
    outcomes and features stay. A plain shuffle would also break the tie between S and x, and so make
    the comparison too easy. Rows of a cluster that share a value are redrawn together. Unknown
    sensitive values stay unknown; every sensitive column is redrawn on its own.

    Of a sensitive quantity :math:`S - E[S | x]` changes its sign at random, for all rows of a cluster
    together: how far it varies then still goes with the features and with how far the outcome does,
    as a shuffle of residuals would not keep it.

    Of the outcome, which no redraw changes, every repetition is told by the audit's own models, unless
    it compares pairs of several values or leaves out rows whose value is unknown.

    The models of :math:`Pr[S | x]` are the audit's best. Where they miss how S hangs together with
    the features, so do the redraws, and a violation that is their bias looks as clear as a real one;
    ``Violation.depends_on_models`` looks for that.
    """
    source, n_draws, seed = checked(result, n_draws, "n_draws", random_state, of_groups=False)
    chances = chances_of(source, seed)
    source = replace(source, problem=_with_outcomes(source))
    parts = repeat(
        lambda i: delayed(_null_draw)(source, chances, seed, i), n_draws, n_jobs, progress
    )
    draws, statistics, everybody = np.stack(parts, axis=1)
    how = source.settings.estimator
    effects = [
        own.estimates.get(how, own.effect) if own.by_difference else own.delta
        for own in result.violations
    ]
    return NullDistribution(
        searches=searched(result),
        observed=np.array(effects),
        draws=draws,
        observed_statistics=np.array([violation.statistic for violation in result.violations]),
        statistics=statistics,
        everybody=everybody,
        measures=measures_of(result),
    )


def _null_draw(
    source: AuditSource, chances: list[np.ndarray], seed: int, number: int
) -> np.ndarray:
    """Delta and statistics of every search on one redraw, shape (3, n_searches)."""
    rng = np.random.default_rng([seed, number])
    problem = without_leak(source.problem, chances, rng)
    settings = source.settings.reseeded(int(rng.integers(2**31 - 1)))
    searches = rerun(problem, settings)
    if searches is None:
        return np.full((3, len(problem.contrasts) * len(problem.outcomes)), np.nan)
    found = deltas_and_statistics(searches, problem, settings)
    found[0] *= [scale_of(search) if search.made else 1.0 for search in searches]
    return found


def without_leak(
    problem: AuditProblem, chances: list[np.ndarray], rng: np.random.Generator
) -> AuditProblem:
    """The same rows with every sensitive column redrawn from its chances."""
    if problem.quantity is not None:
        return _without_slope(problem, chances[0], rng)
    redrawn = {
        column.name: _redrawn(column, chance, problem.cluster, rng)
        for column, chance in zip(problem.sensitive, chances, strict=True)
    }
    contrasts = tuple(
        replace(contrast, s=_sides(contrast, redrawn[contrast.sensitive_feature]))
        for contrast in problem.contrasts
    )
    return replace(
        problem, contrasts=contrasts, sensitive=tuple(redrawn[c.name] for c in problem.sensitive)
    )


@one_blas_thread()
def _with_outcomes(source: AuditSource) -> AuditProblem:
    """Outcomes as the audit's own models expect them, where no redraw changes the rows compared."""
    problem, settings = source.problem, settled(source.settings, source.problem)
    every = all(one.rows.all() for one in problem.contrasts if not one.reason)
    if problem.given.outcome is not None or not every:
        return problem
    folds = audit_folds(problem, next(by_column(problem.contrasts)), settings)
    rows = np.ones(problem.n_rows, dtype=bool)
    compared = Compared(problem, rows, folds, settings, ladder=False)
    given = {}
    for outcome in outcomes_of(problem):
        mean = compared.outcome_model(outcome, source.cells).out_of_fold
        given[outcome.label] = np.full(problem.n_samples, np.nan)
        given[outcome.label][problem.source_row] = outcome.expected(mean)
    return replace(problem, given=replace(problem.given, outcome=given))


def chances_of(source: AuditSource, seed: int) -> list[np.ndarray]:
    """Probabilities of the values of every sensitive column given the features, or their mean."""
    problem = source.problem
    if problem.quantity is not None:
        return [_expected(source, problem.quantity.values, seed)]
    return [_chances(source, column, seed) for column in problem.sensitive]


@one_blas_thread()
def _chances(source: AuditSource, column: SensitiveFeature, seed: int) -> np.ndarray:
    """Probability of each value of a column given the features, out of fold; (n_rows, n_values)."""
    problem = source.problem
    codes, counts = column.labels.codes, column.labels.counts
    known, n_values = np.flatnonzero(codes >= 0), len(counts)
    chances = np.tile(counts / max(counts.sum(), 1), (len(codes), 1))
    given = (problem.given.propensity or {}).get(column.name)
    if given is not None:
        return _given_chances(problem, column, given, chances)
    modelled = [value for value in _by_rows(column) if counts[value] >= _FEWEST_ROWS]
    told = _by_features(source, known, codes[known], seed)
    # Of two values one model tells both.
    for value in modelled[:1] if n_values == len(modelled) == 2 else modelled:
        chances[known, value] = told(codes[known] == value)
    if n_values == len(modelled) == 2:
        chances[known, modelled[1]] = 1.0 - chances[known, modelled[0]]
    return chances / chances.sum(axis=1, keepdims=True)


@one_blas_thread()
def _expected(source: AuditSource, values: np.ndarray, seed: int) -> np.ndarray:
    """What a quantity is on average given the features, out of fold, shape (n_rows,)."""
    known = np.flatnonzero(~np.isnan(values))
    more = (values[known] > np.median(values[known])).astype(np.intp)
    expected = np.full(len(values), np.nan)
    told = _by_features(source, known, more, seed)
    expected[known] = told(values[known], IDENTITY)
    return expected


def _by_features(
    source: AuditSource, rows: np.ndarray, strata: np.ndarray, seed: int
) -> Callable[..., np.ndarray]:
    """What the features of these rows tell of a value, out of folds that are even within strata."""
    problem, propensity = source.problem, source.settings.propensity
    unit = None if problem.unit is None else problem.unit[rows]
    folds = draw_folds(strata, _N_FOLDS, np.random.default_rng([seed, 1]), unit)
    X, weight = problem.encoded.take(rows), problem.sample_weight[rows]
    shared = functools.cache(lambda: Shared.of(X, folds, weight).told(source.cells))

    def told(value: np.ndarray, link: Link = LOGIT) -> np.ndarray:
        how = {
            "link": link,
            "sample_weight": weight,
            "seeds": (seed,),
            "shared": shared,
            "ladder": False,
        }
        own = folds[np.newaxis]
        return repeated_probability(propensity, PROPENSITY, X, value, own, **how).out_of_fold

    return told


def _without_slope(
    problem: AuditProblem, expected: np.ndarray, rng: np.random.Generator
) -> AuditProblem:
    """The same rows with what a quantity is beyond what is expected of it of either sign."""
    assert problem.quantity is not None
    values = problem.quantity.values
    whose = np.arange(len(values)) if problem.cluster is None else problem.cluster
    _, own = np.unique(whose, return_inverse=True)
    values = expected + rng.choice([-1.0, 1.0], size=len(values))[own] * (values - expected)
    quantity = replace(problem.quantity, values=values)
    more = np.where(values > np.nanmedian(values), 1, -1)
    contrasts = (
        replace(
            quantity.turned(one),
            s=np.where(one.s == 0, 0, more if one.group == MORE else -more).astype(np.int8),
        )
        for one in problem.contrasts
    )
    return replace(problem, quantity=quantity, contrasts=tuple(contrasts))


def _given_chances(
    problem: AuditProblem,
    column: SensitiveFeature,
    given: Mapping[Hashable, np.ndarray],
    chances: np.ndarray,
) -> np.ndarray:
    """The user's probabilities; values without share what they leave as they do overall."""
    told = np.array([label in given for label in column.labels.values])
    share = np.where(told, 0.0, chances)
    share /= np.maximum(share.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    for value in np.flatnonzero(told):
        chances[:, value] = given[column.labels.values[value]][problem.source_row]
    left = np.maximum(1.0 - chances[:, told].sum(axis=1, keepdims=True), 0.0)
    chances = np.where(told, chances, left * share)
    return chances / chances.sum(axis=1, keepdims=True)


def _redrawn(
    column: SensitiveFeature,
    chances: np.ndarray,
    cluster: np.ndarray | None,
    rng: np.random.Generator,
) -> SensitiveFeature:
    """Values drawn anew; rows of a cluster that share a value get one, by their mean chances."""
    codes = column.labels.codes
    order = _by_rows(column)
    level = rng.random(len(codes))
    if cluster is not None:
        _, first, own = np.unique(cluster, return_index=True, return_inverse=True)
        mixed = np.bincount(own, codes != codes[first][own]) > 0
        own = np.where(mixed[own], len(first) + np.arange(len(own)), own)
        _, first, own, size = np.unique(
            own, return_index=True, return_inverse=True, return_counts=True
        )
        level = level[first][own]
        sums = [np.bincount(own, chance)[own] for chance in chances.T]
        chances = np.stack(sums, axis=1) / size[own, np.newaxis]
    reached = chances[:, order].cumsum(axis=1) < level[:, np.newaxis]
    place = np.minimum(reached.sum(axis=1), len(order) - 1)
    drawn = np.where(codes < 0, codes, order[place])
    return replace(column, labels=replace(column.labels, codes=drawn))


def _by_rows(column: SensitiveFeature) -> np.ndarray:
    """Values by how many rows have them, then by which rows: however they are called."""
    codes, counts = column.labels.codes, column.labels.counts
    known = np.flatnonzero(codes >= 0)
    places = np.bincount(codes[known], weights=known, minlength=len(counts))
    return np.lexsort((places, counts))


def _sides(contrast: Contrast, column: SensitiveFeature) -> np.ndarray:
    """S of a contrast from the values of its column."""
    codes, values = column.labels.codes, column.labels.values
    group = find_label(contrast.group, values)
    reference = contrast.reference
    others = codes >= 0 if reference is None else codes == find_label(reference, values)
    return np.where(codes == group, 1, np.where(others, -1, 0)).astype(np.int8)


def _share_above(observed: float, draws: np.ndarray) -> float:
    """Share of the draws at least as large, the observed one counted among them."""
    known = draws[~np.isnan(draws)]
    share = float((known >= observed).sum() + 1) / (len(known) + 1)
    return float("nan") if np.isnan(observed) else share


def _largest(statistics: np.ndarray) -> Any:
    """Largest over the searches; NaN if none was made."""
    filled = np.where(np.isnan(statistics), -np.inf, statistics)
    largest = filled.max(axis=-1, initial=-np.inf)
    return np.where(np.isneginf(largest), np.nan, largest)


def _share_text(p: float, n_draws: int) -> str:
    """Share of the repetitions behind a p-value, without the observed one."""
    above = round(p * (n_draws + 1)) - 1
    return "none" if above <= 0 else percent(above / n_draws)
