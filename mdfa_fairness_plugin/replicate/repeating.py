r"""An audit repeated: on sensitive values redrawn as if nothing leaked, and on half samples.

What one audit reports rests on one draw of the data. Repeating *everything* it did, search and choice
included, says what it would have reported without a violation, and whether it would find the same
people again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.columns import find_label
from mdfa_fairness_plugin.data.problem import AuditProblem, Contrast
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.describe.rules import describe_rule
from mdfa_fairness_plugin.describe.wording import label_text, named, percent, rounded
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning, OverlapError, WarningLog
from mdfa_fairness_plugin.learn.probability import cross_fitted_probability
from mdfa_fairness_plugin.measure.splitting import draw_folds
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.pipeline import AuditRun, AuditSource
from mdfa_fairness_plugin.records import ratio_of
from mdfa_fairness_plugin.results import AuditResult

Search = tuple[str, Hashable, Hashable]
_N_FOLDS = 5
# Values with fewer rows have no model of their own: they are redrawn at their overall rate.
_FEWEST_ROWS = 30


# ---------------------------------------------------------------------------------------------
# The null certificate


@dataclass(frozen=True, kw_only=True, eq=False)
class NullDistribution:
    """What the same audit reports where the outcome tells nothing about S beyond x.

    Parameters
    ----------
    searches : tuple of tuple
        ``(sensitive_feature, group, outcome)`` of each search.
    observed : ndarray of shape (n_searches,)
        Delta of the audit.
    draws : ndarray of shape (n_draws, n_searches)
        Delta of the worst subgroup found on each draw; NaN where a search could not be made.
    observed_statistics : ndarray of shape (n_searches,)
        Leak statistic ``z`` of the subgroup, before any allowance for the search.
    statistics : ndarray of shape (n_draws, n_searches)
        The same on each draw. Their standard deviation is the spread that the audit's own p-values
        take to be at most 1.25.
    p_values : ndarray of shape (n_searches,)
        Share of the draws, the observed one among them, whose statistic is at least as large.
    p_values_delta : ndarray of shape (n_searches,)
        The same for delta itself.
    p_value : float
        The same for the largest statistic over all searches: chance of a result like the worst one
        anywhere in the audit, without a violation.
    """

    searches: tuple[Search, ...]
    observed: np.ndarray
    draws: np.ndarray
    observed_statistics: np.ndarray
    statistics: np.ndarray
    p_values: np.ndarray = field(init=False)
    p_values_delta: np.ndarray = field(init=False)
    p_value: float = field(init=False)

    def __post_init__(self) -> None:
        columns = range(len(self.searches))
        seen, drawn = self.observed_statistics, self.statistics
        object.__setattr__(
            self, "p_values", np.array([_share_above(seen[j], drawn[:, j]) for j in columns])
        )
        object.__setattr__(
            self,
            "p_values_delta",
            np.array([_share_above(self.observed[j], self.draws[:, j]) for j in columns]),
        )
        object.__setattr__(self, "p_value", _share_above(_largest(seen), _largest(drawn)))

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.draws)

    def __repr__(self) -> str:
        return f"NullDistribution({self.n_draws} draws, p_value={self.p_value:.3g})"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search: the observed delta among those of the draws."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # searches that no draw could make
            finite = np.where(np.isfinite(self.draws), self.draws, np.nan)
            quantiles = np.nanquantile(finite, [0.5, 0.95], axis=0)
            spread = np.nanstd(self.statistics, axis=0)
        names = [list(part) for part in zip(*self.searches, strict=True)] or [[], [], []]
        return pd.DataFrame(
            {
                "sensitive_feature": pd.Series(names[0], dtype=object),
                "group": pd.Series(names[1], dtype=object),
                "outcome": pd.Series(names[2], dtype=object),
                "delta": self.observed,
                "null_median": quantiles[0],
                "null_95": quantiles[1],
                "p_value": self.p_values,
                "p_value_delta": self.p_values_delta,
                "spread": spread,
            }
        )

    def summary(self) -> str:
        """Tell where the observed violations fall, in plain text."""
        lines = [
            f"The whole audit was repeated {self.n_draws:,} times with sensitive values redrawn from "
            "the features alone, so that any difference is chance."
        ]
        for search, p, delta in zip(self.searches, self.p_values, self.observed, strict=True):
            if np.isnan(p):
                lines.append(f"- {_search_text(search)}: not measured.")
                continue
            lines.append(
                f"- {_search_text(search)}: ratio {rounded(ratio_of(delta))}; "
                f"{_share_text(p, self.n_draws)} of the repetitions showed as clear a difference."
            )
        lines.append(
            f"As clear a difference as the audit's clearest, in any of its searches: "
            f"{_share_text(self.p_value, self.n_draws)} of the repetitions."
        )
        return "\n".join(lines)


def null_distribution(
    result: AuditResult,
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
    Each value is drawn from :math:`Pr[S | x]`, cross-fitted, given the features; outcomes and features
    stay. A plain shuffle would also break the tie between S and x, and so make the comparison too
    easy. Unknown sensitive values stay unknown; every sensitive column is redrawn on its own.
    """
    source, n_draws, seed = _prepare(result, n_draws, "n_draws", random_state)
    problem = source.problem
    chances = [_chances(problem, column, seed) for column in problem.sensitive]
    observed = _searched(result)
    parts = _repeat(
        lambda i: delayed(_null_draw)(source, chances, seed, i), n_draws, n_jobs, progress
    )
    return NullDistribution(
        searches=observed,
        observed=np.array([violation.delta for violation in result.violations]),
        draws=np.array([part[0] for part in parts]).reshape(n_draws, len(observed)),
        observed_statistics=np.array([violation.statistic for violation in result.violations]),
        statistics=np.array([part[1] for part in parts]).reshape(n_draws, len(observed)),
    )


def _null_draw(
    source: AuditSource, chances: list[np.ndarray], seed: int, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Delta and statistic of every search on one redraw."""
    problem = source.problem
    rng = np.random.default_rng([seed, number])
    redrawn = {
        column.name: _redrawn(column, chance, rng)
        for column, chance in zip(problem.sensitive, chances, strict=True)
    }
    contrasts = tuple(
        replace(contrast, s=_sides(contrast, redrawn[contrast.sensitive_feature]))
        for contrast in problem.contrasts
    )
    changed = replace(
        problem, contrasts=contrasts, sensitive=tuple(redrawn[c.name] for c in problem.sensitive)
    )
    run = _rerun(changed, source.auditor, int(rng.integers(2**31 - 1)))
    if run is None:
        nothing = np.full(len(contrasts) * len(problem.outcomes), np.nan)
        return nothing, nothing
    return run.deltas(), run.leaks()


@one_blas_thread()
def _chances(problem: AuditProblem, column: SensitiveFeature, seed: int) -> np.ndarray:
    """Probability of each value of a column given the features, out of fold; (n_rows, n_values)."""
    codes = column.labels.codes
    known = np.flatnonzero(codes >= 0)
    n_values = len(column.labels.values)
    counts = np.bincount(codes[known], minlength=n_values)
    chances = np.tile(counts / max(counts.sum(), 1), (len(codes), 1))
    modelled = [value for value in _by_rows(column) if counts[value] >= _FEWEST_ROWS]
    rng = np.random.default_rng([seed, 1])
    folds = draw_folds(codes[known], _N_FOLDS, rng)
    # Of two values one model tells both.
    for value in modelled[:1] if n_values == len(modelled) == 2 else modelled:
        chances[known, value] = cross_fitted_probability(
            problem.X[known],
            codes[known] == value,
            folds,
            sample_weight=problem.sample_weight[known],
            random_state=seed,
        ).out_of_fold
    if n_values == len(modelled) == 2:
        chances[known, modelled[1]] = 1.0 - chances[known, modelled[0]]
    return chances / chances.sum(axis=1, keepdims=True)


def _redrawn(
    column: SensitiveFeature, chances: np.ndarray, rng: np.random.Generator
) -> SensitiveFeature:
    codes = column.labels.codes
    order = _by_rows(column)
    level = rng.random(len(codes))[:, np.newaxis]
    place = np.minimum((chances[:, order].cumsum(axis=1) < level).sum(axis=1), len(order) - 1)
    drawn = np.where(codes < 0, codes, order[place])
    return replace(column, labels=replace(column.labels, codes=drawn))


def _by_rows(column: SensitiveFeature) -> np.ndarray:
    """Values by how many rows have them, then by which rows: however they are called."""
    codes = column.labels.codes
    known = np.flatnonzero(codes >= 0)
    n_values = len(column.labels.values)
    counts = np.bincount(codes[known], minlength=n_values)
    places = np.bincount(codes[known], weights=known, minlength=n_values)
    return np.lexsort((places, counts))


def _sides(contrast: Contrast, column: SensitiveFeature) -> np.ndarray:
    """S of a contrast from the values of its column."""
    codes, values = column.labels.codes, column.labels.values
    group = find_label(contrast.group, values)
    if contrast.reference is None:
        others = codes >= 0
    else:
        others = codes == find_label(contrast.reference, values)
    return np.where(codes == group, 1, np.where(others, -1, 0)).astype(np.int8)


# ---------------------------------------------------------------------------------------------
# Stability


@dataclass(frozen=True, kw_only=True, eq=False)
class Stability:
    """Whether an audit of other people from the same population finds the same subgroup.

    Parameters
    ----------
    searches : tuple of tuple
        ``(sensitive_feature, group, outcome)`` of each search.
    jaccard : ndarray of shape (n_repeats, n_searches)
        Overlap with the audit's own subgroup: people in both over people in either. NaN where a
        search could not be repeated.
    chance : ndarray of shape (n_searches,)
        Overlap of two groups of this size drawn at random.
    frequency : ndarray of shape (n_searches, n_samples)
        Share of the repeats that put each person inside; NaN for people who were not compared.
    features : DataFrame of shape (n_features, n_searches)
        Share of the repeats in whose rule each feature appears.
    """

    searches: tuple[Search, ...]
    jaccard: np.ndarray
    chance: np.ndarray
    frequency: np.ndarray
    features: pd.DataFrame

    @property
    def n_repeats(self) -> int:
        """Number of repeats."""
        return len(self.jaccard)

    def __repr__(self) -> str:
        return (
            f"Stability({self.n_repeats} repeats, mean overlap {_mean(self.jaccard.ravel()):.2f})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search: mean and range of the overlap, and the features that come back."""
        lines = []
        for j, (name, group, outcome) in enumerate(self.searches):
            overlap = self.jaccard[:, j][~np.isnan(self.jaccard[:, j])]
            shares = self.features.iloc[:, j]
            lines.append(
                {
                    "sensitive_feature": name,
                    "group": group,
                    "outcome": outcome,
                    "overlap": _mean(overlap),
                    "overlap_low": overlap.min() if len(overlap) else np.nan,
                    "overlap_high": overlap.max() if len(overlap) else np.nan,
                    "chance": self.chance[j],
                    "features": ", ".join(
                        f"{label_text(feature)} ({percent(share)})"
                        for feature, share in shares[shares > 0]
                        .sort_values(ascending=False, kind="stable")
                        .head(4)
                        .items()
                    ),
                }
            )
        return pd.DataFrame(lines)

    def summary(self) -> str:
        """Tell how far the subgroups come back, in plain text."""
        lines = [
            f"The audit was repeated on {self.n_repeats} half samples. Overlap is people in both "
            "subgroups over people in either: 1 is the same people."
        ]
        for search, line in zip(self.searches, self.to_frame().to_dict("records"), strict=True):
            if np.isnan(line["overlap"]):
                lines.append(f"- {_search_text(search)}: could not be repeated.")
                continue
            often = f"; most often in the rule: {line['features']}" if line["features"] else ""
            lines.append(
                f"- {_search_text(search)}: overlap {line['overlap']:.2f} "
                f"({line['overlap_low']:.2f} to {line['overlap_high']:.2f}; {line['chance']:.2f} by "
                f"chance){often}."
            )
        return "\n".join(lines)


def stability(
    result: AuditResult,
    n_repeats: int = 20,
    *,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> Stability:
    """Repeat an audit on halves of its rows and compare the people it finds.

    Parameters
    ----------
    result : AuditResult
    n_repeats : int, default=20
        Halves; two at a time are complementary, so that they share nobody.
    n_jobs : int or None, default=None
        Repeats made at a time; the answer does not depend on it.
    random_state : int or None, default=None
        None: the audit's own seed.
    progress : bool, default=False
        Show a progress bar on the standard error stream.

    Returns
    -------
    stability : Stability

    Raises
    ------
    InputError
        If the result was read from elsewhere and does not hold its data.

    Notes
    -----
    Half samples in complementary pairs (Shah and Samworth 2013) rather than bootstrap samples, whose
    repeated rows would be in the training and the held-out part at once. A half finds less than the
    whole does, so the overlap understates how stable the whole audit is. Everybody is judged: rows
    outside the half by the models of the half.
    """
    source, n_repeats, seed = _prepare(result, n_repeats, "n_repeats", random_state)
    parts = _repeat(lambda i: delayed(_half)(source, seed, i), n_repeats, n_jobs, progress)
    problem = source.problem
    n = len(result.violations)
    jaccard = np.full((n_repeats, n), np.nan)
    chance = np.full(n, np.nan)
    frequency = np.full((n, problem.n_samples), np.nan)
    names = [display.name for display in problem.encoder.displays_]
    used = np.zeros((len(names), n))
    for j, violation in enumerate(result.violations):
        if len(violation.side) == 0:  # a search that could not be made
            continue
        rows = np.flatnonzero(violation.side[problem.source_row] != 0)
        own = violation.membership[problem.source_row][rows]
        told = [
            (i, part[j][0][rows]) for i, part in enumerate(parts) if part is not None and part[j]
        ]
        for i, inside in told:
            either = int((inside | own).sum())
            jaccard[i, j] = (inside & own).sum() / either if either else np.nan
        if not told or len(rows) == 0:
            continue
        shares = np.array([own.mean(), np.mean([inside.mean() for _, inside in told])])
        both = shares.prod()
        chance[j] = both / (shares.sum() - both) if shares.sum() > both else np.nan
        sources = problem.source_row[rows]
        frequency[j, sources] = np.mean([inside for _, inside in told], axis=0)
        for i, _ in told:
            for feature in parts[i][j][1]:
                used[names.index(feature), j] += 1.0
        used[:, j] /= len(told)
    searches = _searched(result)
    features = pd.DataFrame(used, index=pd.Index(names, dtype=object, name="feature"))
    features.columns = pd.MultiIndex.from_tuples(
        searches, names=["sensitive_feature", "group", "outcome"]
    )
    return Stability(
        searches=searches,
        jaccard=jaccard,
        chance=chance,
        frequency=frequency,
        features=features,
    )


def _half(
    source: AuditSource, seed: int, number: int
) -> list[tuple[np.ndarray, tuple[str, ...]] | None] | None:
    """Who is inside by an audit of one half, and the features its rule names, per search."""
    problem = source.problem
    pair, own = divmod(number, 2)
    rng = np.random.default_rng([seed, 2, pair])
    # Copies of one input row stay together: the half must not know the other half's people.
    first = np.sort(np.unique(problem.source_row, return_index=True)[1])
    stratum = problem.y.copy()
    for contrast in problem.contrasts:
        stratum = 3 * stratum + contrast.s + 1
        stratum = np.unique(stratum, return_inverse=True)[1]
    of_source = np.full(problem.n_samples, -1)
    of_source[problem.source_row[first]] = draw_folds(stratum[first], 2, rng)
    rows = np.flatnonzero(of_source[problem.source_row] == own)
    half = replace(
        problem,
        X=problem.X[rows],
        display=problem.display.iloc[rows].reset_index(drop=True),
        y=problem.y[rows],
        sample_weight=problem.sample_weight[rows],
        contrasts=tuple(replace(c, s=c.s[rows]) for c in problem.contrasts),
        sensitive=tuple(column.take(rows) for column in problem.sensitive),
        source_row=problem.source_row[rows],
    )
    run = _rerun(half, source.auditor, int(rng.integers(2**31 - 1)))
    if run is None:
        return None
    told: list[tuple[np.ndarray, tuple[str, ...]] | None] = []
    for found in run.found:
        if found is None:
            told.append(None)
            continue
        inside = found.predictor(problem.X) >= found.selection.threshold
        held = found.data.held_out
        if found.member[held].all():
            inside[:] = True
        inside[rows[found.rows[held]]] = found.member[held]
        rule = describe_rule(
            found.member[held],
            half.display,
            rows=found.rows[held],
            displays=problem.encoder.displays_,
            sample_weight=half.sample_weight[found.rows[held]],
        )
        features = {c.name for conditions in rule.alternatives for c in conditions}
        told.append((inside, tuple(sorted(features))))
    return told


# ---------------------------------------------------------------------------------------------
# Repeating


def _prepare(
    result: AuditResult, number: int, name: str, random_state: int | None
) -> tuple[AuditSource, int, int]:
    if result.source is None:
        raise InputError(
            "result: it does not hold its data, so the audit cannot be repeated; use the result that "
            "MDFAuditor.fit or audit() returned."
        )
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise InputError(f"{name}: a whole number of at least 1 expected, {number!r} found.")
    if random_state is None:
        return result.source, int(number), result.source.seed
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise InputError(
            f"random_state: a seed of at least 0 or None expected, {random_state!r} found."
        )
    return result.source, int(number), int(random_state)


def _repeat(
    task: Callable[[int], Any], number: int, n_jobs: int | None, progress: bool
) -> list[Any]:
    """Results of all tasks in order, shown as they come."""
    if n_jobs == 0:
        raise InputError("n_jobs: a whole number other than 0, or None, expected; 0 found.")
    done: Iterable[Any] = Parallel(n_jobs=n_jobs, return_as="generator")(
        task(i) for i in range(number)
    )
    if progress:
        from tqdm import tqdm

        done = tqdm(done, total=number, unit="audit")
    return list(done)


def _rerun(problem: AuditProblem, auditor: MDFAuditor, seed: int) -> AuditRun | None:
    """Every search again; None if there is no common ground."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MDFAWarning)
        run = AuditRun(problem, auditor.plan(problem, seed), auditor, WarningLog())
        try:
            run.run()
        except OverlapError:
            return None
    return run


def _searched(result: AuditResult) -> tuple[Search, ...]:
    return tuple((v.sensitive_feature, v.group, v.outcome) for v in result.violations)


def _search_text(search: Search) -> str:
    name, group, outcome = search
    return f"{named(name, group)}, outcome {label_text(outcome)}"


def _share_above(observed: float, draws: np.ndarray) -> float:
    """Share of the draws at least as large, the observed one counted among them."""
    known = draws[~np.isnan(draws)]
    if np.isnan(observed):
        return float("nan")
    return float((known >= observed).sum() + 1) / (len(known) + 1)


def _largest(statistics: np.ndarray) -> Any:
    """Largest over the searches; NaN if none was made."""
    filled = np.where(np.isnan(statistics), -np.inf, statistics)
    largest = filled.max(axis=-1, initial=-np.inf)
    return np.where(np.isneginf(largest), np.nan, largest)


def _share_text(p: float, n_draws: int) -> str:
    """Share of the repetitions behind a p-value, without the observed one."""
    above = round(p * (n_draws + 1)) - 1
    return "none" if above <= 0 else percent(above / n_draws)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
