"""Every group's favourable outcomes in one table, as audits that are signed report them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from mdfa_fairness_plugin.data.columns import find_label, listing, objects
from mdfa_fairness_plugin.data.contrasts import (
    Contrast,
    contrasts_of,
    references_of,
    with_intersections,
)
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.sensitive import SensitiveFeature
from mdfa_fairness_plugin.data.words import Words
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.intervals import delta_interval, difference_interval
from mdfa_fairness_plugin.records import AuditRecord, ratio_of
from mdfa_fairness_plugin.replicate.asked import measured_in
from mdfa_fairness_plugin.replicate.repeats import prepared, source_of
from mdfa_fairness_plugin.replicate.sweep import answered, read_scores
from mdfa_fairness_plugin.settings import Settings, is_number

HIGHEST: Final = "highest"
OTHERS: Final = "others"
UNKNOWN: Final = "Unknown"

_TEXTS: Final = ("sensitive_feature", "category", "reference")
_COUNTS: Final = ("n", "n_favourable", "flips")
_LAST: Final = ("not_compared_reason", "excluded_reason")
_COLUMNS: Final = (
    *_TEXTS, "n", "share", "n_favourable", "rate",
    "impact_ratio", "impact_ratio_low", "impact_ratio_high",
    "impact_ratio_equal_features", "impact_ratio_equal_features_low",
    "impact_ratio_equal_features_high",
    "difference_points", "difference_points_low", "difference_points_high",
    "difference_points_equal_features", "difference_points_equal_features_low",
    "difference_points_equal_features_high",
    "standard_deviations_unadjusted", "p_fisher_unadjusted", "shortfall", "flips",
    "score_difference_standardised", *_LAST,
)  # fmt: skip


def group_table(
    result: AuditRecord,
    reference: Any = HIGHEST,
    *,
    exclude_below: float | None = None,
    exclude_reason: str | None = None,
    scores: Any = None,
) -> pd.DataFrame:
    """Give every group's favourable outcomes beside those of a reference, without a search.

    A row per value of each sensitive feature, then per combination of them, whether the audit looked
    at combinations or not, then those whose value is not known. Numbers without a judgement, so that
    the reader's own rule can be applied; no rule of law is built in, and nothing passes or fails.

    Parameters
    ----------
    result : AuditResult
    reference : {"highest", "others"}, value or dict, default="highest"
        Whom a group is compared with: the group with the highest rate; all other groups; a sensitive
        value (features without it are compared by all others), or one per feature. A value that is
        called "highest" or "others" can be named in a dict.
    exclude_below : float or None, default=None
        Groups with a smaller share of the rows are not compared; their count and rate stay.
    exclude_reason : str or None, default=None
        Why, for ``excluded_reason``.
    scores : array-like of float of shape (n_samples,) or None, default=None
        Higher is better: the favourable outcome is then a score above the median of all rows, and the
        rate a scoring rate. A Series is paired by index.

    Returns
    -------
    table : DataFrame
        The same columns and types whatever is asked; no count is withheld, however small.

        - ``sensitive_feature``, ``category``, ``reference``: who; combinations are tuples. A category
          "Unknown" at the end has the rows without a value, which no other row counts. ``reference``
          is None where it is all others, or the group itself.
        - ``n``, ``share``, ``n_favourable``: rows, of all rows of the audit, with the outcome.
        - ``rate``: of the favourable outcome, weighted as the audit is.
        - ``impact_ratio``, ``difference_points``: the rate over that of the reference, and minus it in
          percentage points, each with ``_low`` and ``_high``, the ends of an interval by the audit's
          ``confidence_level``. With ``_equal_features`` the same at equal audited features, among
          those who have comparable people on the other side, by the audit's own estimate.
        - ``standard_deviations_unadjusted``: difference of the rates over its standard deviation, were
          both the same; negative where the group gets the favourable outcome less often.
          ``p_fisher_unadjusted``: Fisher's exact p, of two sides. Both are of the counts of rows, as if
          every row was another person's, and are adjusted neither for features nor for looking at
          several groups. Sampling weights are left out, so they may point another way than rates do.
        - ``shortfall``: favourable outcomes that the group would have more, had it the rate of itself
          and its reference together; of rows, without sampling weights.
        - ``flips``: fewest people of the group whose outcome would have to be the other one for
          ``p_fisher_unadjusted`` to be on the other side of 1 - ``confidence_level``; missing if no
          number would do.
        - ``score_difference_standardised``: mean score minus that of the reference, over the root of
          the mean of both variances; NaN without scores.
        - ``not_compared_reason``: why there are no figures at equal features;
          ``excluded_reason``: why there are none at all.

    Raises
    ------
    InputError
        If no outcome is said to be favourable and there are no scores; if nobody has the reference, or
        it is excluded; if every group of a feature is; if the result does not hold its data.

    Notes
    -----
    What is in the table is what these ask for: the rules of New York City on Local Law 144 (6 RCNY
    5-300 to 5-301: selection and scoring rates, impact ratios, intersections, unknown categories,
    categories under 2 % of the data); the Uniform Guidelines on Employee Selection Procedures, 29 CFR
    1607.4(D), and question 21 of their questions and answers (four fifths, and whether one or a few
    more selections would change a finding); the practice of the Office of Federal Contract Compliance
    Programs (shortfall, standard deviations, practical significance); the Interagency Fair Lending
    Examination Procedures (differences in rates, and at equal features). With ``scores`` features that
    tell which side of the median a row is on are not refused: people alike in them get the same.

    Examples
    --------
    >>> import mdfa_fairness_plugin as mdfa
    >>> data = mdfa.datasets.make_synthetic(n_samples=600, random_state=0)
    >>> result = mdfa.audit(
    ...     data.X, data.y, sensitive_features=data.sensitive_features, favorable_label=0,
    ...     learner="tree", n_splits=2, random_state=0,
    ... )
    >>> table = result.group_table()
    >>> table["category"].tolist()
    [-1, 1, 'Unknown']
    """
    source = source_of(result)
    settings, parts = source.settings, source.problem.sensitive
    if settings.intersections and len(parts) > 1:
        parts = parts[:-1]
    columns = list(with_intersections(list(parts), True))
    own = replace(source.problem, sensitive=tuple(columns))
    problem, numbers = _favourable(own, scores)
    tables = [
        _Column.of(problem, column, settings, numbers, exclude_below, exclude_reason)
        for column in columns
    ]
    if isinstance(reference, str) and reference == HIGHEST:
        references = [own.highest for own in tables]
    elif isinstance(reference, str) and reference == OTHERS:
        references = [None for _ in tables]
    else:
        references = references_of("reference", reference, columns, len(parts))
    tables = [own.beside(one) for own, one in zip(tables, references, strict=True)]
    equal = _at_equal_features(problem, settings, [c for own in tables for c in own.contrasts])
    rows = [row for own in tables for row in own.rows(equal)]
    return _framed([*rows, *(own.unknown for own in tables)])


def _favourable(problem: AuditProblem, scores: Any) -> tuple[AuditProblem, np.ndarray | None]:
    """The problem with a favourable outcome, that of the audit or a score above the median."""
    if scores is not None:
        numbers, name = read_scores(problem, scores)
        middle = float(np.median(numbers))
        above = numbers > middle
        if not above.any():
            raise InputError(f"scores: no score is above their median of {middle:g}.")
        labels = (f"{name} <= {middle:g}", f"{name} > {middle:g}")
        words = Words(labels=labels, favorable=labels[1])
        return replace(answered(problem, above, labels, words), outcomes=labels[1:]), numbers
    if not problem.outcome_labels:
        raise InputError(
            "group_table: it counts who gets the favourable outcome, and numbers are none. Pass the "
            "numbers as scores, for the share of each group above their median, or see the means of "
            "both sides in Violation.rates."
        )
    if problem.cuts:
        raise InputError(
            "group_table: it counts who gets the favourable outcome, and an order has several. Audit "
            "one cut of it as labels, or pass scores."
        )
    if problem.words.favorable is None:
        raise InputError(
            "favorable_label: a table of groups needs to know which outcome is the favourable one; "
            f"name one of {listing(problem.outcome_labels)} in the audit, or pass scores."
        )
    return replace(problem, outcomes=(problem.words.favorable,)), None


def _at_equal_features(
    problem: AuditProblem, settings: Settings, contrasts: list[Contrast]
) -> dict[tuple[str, Hashable], dict[str, Any]]:
    """Figures of each comparison among all rows that can be compared, or the reason for none."""
    as_rows = settings.weighs_by_row or problem.given.propensity is not None
    audited = {(c.sensitive_feature, c.group, c.reference) for c in problem.contrasts}
    why = "weights or probabilities given row by row are those of other comparisons"
    told: dict[tuple[str, Hashable], dict[str, Any]] = {}
    made = []
    for one in contrasts:
        who = (one.sensitive_feature, one.group)
        if as_rows and (*who, one.reference) not in audited:
            told[who] = {"reason": why}
        else:
            made.append(one)
    problem = replace(problem, contrasts=tuple(made))
    searches, settled = (prepared(problem, settings) if made else None) or ([], settings)
    everybody = np.ones(problem.n_rows, dtype=bool)
    measured = [measured_in(search, everybody, problem) for search in searches]
    every = conclude(measured, settled, problem.outcome_labels)
    for search, figures in zip(searches, every, strict=True):
        key = search.key
        told[(key.sensitive_feature, key.group)] = figures or {"reason": str(search.reason)}
    return told


@dataclass(frozen=True, kw_only=True, eq=False)
class _Column:
    """The groups of one sensitive feature, or of the combinations of all."""

    problem: AuditProblem
    column: SensitiveFeature
    settings: Settings
    scores: np.ndarray | None
    positive: np.ndarray
    excluded: dict[int, str]  # why, by place among the values
    reference: Hashable | None = None

    @classmethod
    def of(
        cls,
        problem: AuditProblem,
        column: SensitiveFeature,
        settings: Settings,
        scores: np.ndarray | None,
        below: float | None,
        reason: str | None,
    ) -> _Column:
        """Leave out groups that are too small a share of the rows."""
        _check_exclusion(below, reason)
        labels = column.labels.used()
        shares = labels.counts / problem.n_rows
        small = [] if below is None else [i for i, own in enumerate(shares) if own < below]
        if small and len(small) == len(shares):
            raise InputError(
                f"exclude_below: every group of {column.name!r} is below {below:g} of the rows; the "
                f"largest has {shares.max():.3g}. Use a smaller limit, or merge groups."
            )
        return cls(
            problem=problem,
            column=replace(column, labels=labels),
            settings=settings,
            scores=scores,
            positive=problem.has(problem.outcomes[0]),
            excluded=dict.fromkeys(small, reason or f"below {below} of the rows"),
        )

    @property
    def values(self) -> tuple[Hashable, ...]:
        """Groups."""
        return self.column.labels.values

    @property
    def compared(self) -> list[int]:
        """Places of the groups that are not left out."""
        return [place for place in range(len(self.values)) if place not in self.excluded]

    @property
    def highest(self) -> Hashable:
        """Group with the highest rate."""
        rates = {place: self._counted(place)["rate"] for place in self.compared}
        return self.values[max(rates, key=lambda place: rates[place])]

    def beside(self, reference: Hashable | None) -> _Column:
        """The groups beside a reference, which is none of those left out."""
        place = None if reference is None else find_label(reference, self.values)
        if place in self.excluded:
            raise InputError(
                f"reference: {reference!r} is left out by exclude_below; name a larger group."
            )
        return replace(self, reference=reference)

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """Each group that is compared beside the reference."""
        return contrasts_of(
            self.column,
            set(self.compared),
            self.reference,
            self.problem.y,
            self.problem.outcome_labels,
            self.settings.min_group_size,
            self.problem.cluster,
        )

    def rows(self, equal: dict[tuple[str, Hashable], dict[str, Any]]) -> list[dict[str, Any]]:
        """A row per group, in the order of its labels."""
        sides = {contrast.group: contrast.s for contrast in self.contrasts}
        rows = []
        for place, value in enumerate(self.values):
            row = self._counted(place)
            if value in sides:
                row |= {"reference": self.reference} | self._beside(sides[value])
                row |= _equal(equal.get((self.column.name, value), {}))
            elif place in self.excluded:
                row["excluded_reason"] = self.excluded[place]
            else:
                row |= dict.fromkeys(("impact_ratio", "impact_ratio_equal_features"), 1.0)
                row |= {"difference_points": 0.0, "difference_points_equal_features": 0.0}
            rows.append(row)
        return rows

    @property
    def unknown(self) -> dict[str, Any]:
        """Rows without a value."""
        return self._counted(-1) | {"category": UNKNOWN}

    def _counted(self, place: int) -> dict[str, Any]:
        """Rows of a group, and its rate."""
        rows = self.column.labels.codes == place
        n, weight = int(rows.sum()), self.problem.sample_weight[rows]
        positive = self.positive[rows]
        return {
            "sensitive_feature": self.column.name,
            "category": self.values[place],
            "reference": None,
            "n": n,
            "share": n / self.problem.n_rows,
            "n_favourable": int(positive.sum()),
            "rate": float(weight[positive].sum() / weight.sum()) if n else math.nan,
        }

    def _beside(self, s: np.ndarray) -> dict[str, Any]:
        """What tells a group (+1) from its reference (-1), features as they are."""
        rows = s != 0
        s, positive, weight = s[rows], self.positive[rows], self.problem.sample_weight[rows]
        cluster = None if self.problem.cluster is None else self.problem.cluster[rows]
        rates = measure(positive, s, weight, None, cluster)
        level = float(self.settings.confidence_level)
        hits = tuple(int(positive[s == side].sum()) for side in (1, -1))
        sizes = tuple(int((s == side).sum()) for side in (1, -1))
        if not min(sizes):
            return {"not_compared_reason": "nobody is in the reference"}
        gap = math.nan
        if self.scores is not None:
            gap = _standardised(self.scores[rows], s, weight)
        return {
            **_spanned(
                (rates.delta, *delta_interval(rates, level)),
                (float(rates.rates[0] - rates.rates[1]), *difference_interval(rates, level)),
            ),
            "standard_deviations_unadjusted": standard_deviations(hits, sizes),
            "p_fisher_unadjusted": _fisher(hits, sizes),
            "shortfall": sizes[0] * sum(hits) / sum(sizes) - hits[0],
            "flips": flips(hits, sizes, 1.0 - level),
            "score_difference_standardised": gap,
        }


def _check_exclusion(below: float | None, reason: str | None) -> None:
    if below is None and reason is not None:
        raise InputError("exclude_reason: it is of groups left out; pass exclude_below= as well.")
    if below is not None and not (is_number(below) and 0 < below < 1):
        raise InputError(f"exclude_below: a share between 0 and 1 expected, {below!r} found.")
    if reason is not None and not (isinstance(reason, str) and reason.strip()):
        raise InputError(f"exclude_reason: a text expected, {reason!r} found.")


def _spanned(
    deltas: tuple[float, ...], differences: tuple[float, ...], of: str = ""
) -> dict[str, float]:
    """Ratio and difference of two rates, each with the ends of its interval, by column."""
    told = {"impact_ratio": [*map(ratio_of, deltas)]}
    told["difference_points"] = [100.0 * own for own in differences]
    return {
        f"{name}{of}{end}": value
        for name, values in told.items()
        for end, value in zip(("", "_low", "_high"), values, strict=True)
    }


def _equal(figures: dict[str, Any]) -> dict[str, Any]:
    """The same at equal features, as it was measured."""
    if "delta" not in figures:
        return {"not_compared_reason": figures.get("reason", "no comparable rows")}
    return _spanned(
        (figures["delta"], *figures["interval"]),
        (figures["difference"], *figures["difference_interval"]),
        "_equal_features",
    )


def standard_deviations(hits: tuple[int, ...], sizes: tuple[int, ...]) -> float:
    """Difference of two rates over its standard deviation with one rate for both; NaN if constant."""
    own, other = (k / n for k, n in zip(hits, sizes, strict=True))
    rate = sum(hits) / sum(sizes)
    variance = rate * (1.0 - rate) * sum(1.0 / n for n in sizes)
    return (own - other) / math.sqrt(variance) if variance > 0 else math.nan


def _fisher(hits: tuple[int, ...], sizes: tuple[int, ...]) -> float:
    table = [[k, n - k] for k, n in zip(hits, sizes, strict=True)]
    return float(fisher_exact(table).pvalue)


def flips(hits: tuple[int, ...], sizes: tuple[int, ...], level: float) -> int | None:
    """Fewest people of the first group whose outcome must change for Fisher's p to cross a level.

    P falls from its peak at equal rates to both sides, so that each side is halved until it is found.
    """
    start, (n, n_other) = hits[0], sizes

    def beyond(k: int) -> bool:
        return _fisher((k, hits[1]), sizes) < level

    found = beyond(start)
    equal = round(n * hits[1] / n_other)
    fewest: list[int] = []
    for end in (equal,) if found else (0, n):
        if beyond(end) == found:
            continue
        near, far = start, end
        while abs(far - near) > 1:
            middle = (near + far) // 2
            near, far = (middle, far) if beyond(middle) == found else (near, middle)
        fewest.append(abs(far - start))
    return min(fewest, default=None)


def _standardised(scores: np.ndarray, s: np.ndarray, weight: np.ndarray) -> float:
    """Standardised mean difference, as of features (``BalanceDiagnostics``)."""
    means, variances = [], []
    for side in (1, -1):
        own, w = scores[s == side], weight[s == side]
        means.append(float(np.average(own, weights=w)))
        variances.append(float(np.average((own - means[-1]) ** 2, weights=w)))
    spread = math.sqrt(sum(variances) / 2.0)
    return (means[0] - means[1]) / spread if spread > 0 else math.nan


def _framed(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a table whose columns and types are always the same."""
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        texts = name in _TEXTS
        own = [row.get(name, "" if name in _LAST else None if texts else math.nan) for row in rows]
        if name in _COUNTS:
            own = [None if isinstance(one, float) else one for one in own]
            columns[name] = pd.array(own, dtype="Int64" if name == "flips" else "int64")
        elif texts or name in _LAST:
            columns[name] = pd.Series(objects(own), dtype=object)
        else:
            columns[name] = np.array(own, dtype=float)
    return pd.DataFrame(columns)
