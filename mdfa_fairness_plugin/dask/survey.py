"""First pass: what values there are, how many rows of each kind, and a sample to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.dask.amounts import AmountSums
from mdfa_fairness_plugin.dask.blocks import chunks_of
from mdfa_fairness_plugin.dask.columns import Columns
from mdfa_fairness_plugin.dask.groups import MOST_GROUPS, cluster_keys
from mdfa_fairness_plugin.data.clusters import refuse_clusters
from mdfa_fairness_plugin.data.columns import Labels, listing, natural_order
from mdfa_fairness_plugin.data.decisions import (
    EXCLUDE,
    MISSING_OUTCOME,
    refuse_constant,
    refuse_missing,
    refuse_scores,
)
from mdfa_fairness_plugin.data.sensitive import refuse_measurements, refuse_missing_sensitive
from mdfa_fairness_plugin.data.spelling import MERGED, commonest_spellings, reading_as
from mdfa_fairness_plugin.data.weights import WeightSums
from mdfa_fairness_plugin.exceptions import InputError, WarningLog
from mdfa_fairness_plugin.numerics.threads import one_thread
from mdfa_fairness_plugin.settings import Settings

CHUNK_ROWS = 65_536
# More values than this are no labels; what there is of them is enough for the error message.
_MOST_LABELS = 2_000
_MOST_STRATA = 50_000
# Rows of each kind kept beyond twice their share, so that every kind has some.
_SPARE_ROWS = 30
# What pandas infers of values, by what it is to an audit; all else is labels.
_KINDS = {
    "numbers": ("integer", "floating", "mixed-integer-float", "decimal", "boolean"),
    "dates": ("datetime", "datetime64", "date", "period"),
    "durations": ("timedelta", "timedelta64", "time"),
}

Stratum = tuple[Hashable, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey:
    """Counts of some rows and those of them that may be in the sample."""

    n_rows: int = 0  # rows, those without weight included
    digest: int = 0  # of what the rows say
    kinds: dict[Hashable, str] = field(default_factory=dict)  # of features, where they have values
    n_missing_outcome: int = 0
    n_missing_cluster: int = 0
    # Keys of clusters, ascending: all, or of more than ``MOST_GROUPS`` one more than that.
    clusters: np.ndarray = field(default_factory=lambda: np.empty(0))
    weights: WeightSums = field(default_factory=WeightSums)
    amounts: AmountSums = field(default_factory=AmountSums)  # of outcomes that are numbers
    # Rows of each combination of sensitive values (None where missing) and outcome, the outcome
    # last, in the order in which they first appear.
    counts: dict[Stratum, int] = field(default_factory=dict)
    # Per sensitive column, the values found or declared, as keys.
    levels: tuple[dict[Hashable, None], ...] = ()
    # Whether a sensitive column is a categorical wherever it was read.
    declared: tuple[bool, ...] = ()
    kept: pd.DataFrame | None = None
    # (n_kept,); random number of each kept row, or of its cluster; the smallest of a stratum make its
    # sample, the first rows among equals.
    key: np.ndarray = field(default_factory=lambda: np.empty(0))
    # (n_kept,); place in ``counts``.
    stratum: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    # (n_kept, 2); block and row.
    place: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))

    @property
    def n_present(self) -> int:
        """Rows with a positive weight and an outcome."""
        return sum(self.counts.values())

    def counted(self, place: int) -> Counter[Hashable]:
        """Rows with each value at a place of the combinations."""
        counts: Counter[Hashable] = Counter()
        for stratum, count in self.counts.items():
            counts[stratum[place]] += count
        return counts

    @property
    def left_out(self) -> dict[str, int]:
        """Rows left out whatever is asked, by reason."""
        counts = {"zero weight": self.weights.n_zero, MISSING_OUTCOME: self.n_missing_outcome}
        return {reason: count for reason, count in counts.items() if count}

    def trimmed(self, n_sample: int) -> Survey:
        """Drop rows that cannot be in a sample of ``n_sample`` of these and any other rows."""
        if self.kept is None or len(self.kept) <= 2 * n_sample:
            return self
        counts = np.array(list(self.counts.values()), dtype=float)
        share = n_sample * counts / counts.sum()
        # A stratum gives at most its share of all rows to the sample, give or take chance: twice
        # that and six standard deviations are never used up.
        most = np.ceil(2 * share + 6 * np.sqrt(share) + _SPARE_ROWS)
        rows = np.flatnonzero(_rank_within(self.stratum, self.key) < most[self.stratum])
        return replace(
            self,
            kept=self.kept.take(rows),
            key=self.key[rows],
            stratum=self.stratum[rows],
            place=self.place[rows],
        )


def _rank_within(stratum: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Place of each row among those of its stratum, by key."""
    order = np.lexsort((key, stratum))
    starts = np.searchsorted(stratum[order], stratum[order], side="left")
    rank = np.empty(len(key), dtype=np.intp)
    rank[order] = np.arange(len(key)) - starts
    return rank


@one_thread()
def survey_block(block: Any, number: int, columns: Columns, n_sample: int, seed: int) -> Survey:
    """Survey one block of rows."""
    found, n_before = Survey(), 0
    for frame, key in read_block(block, number, columns, seed, CHUNK_ROWS):
        part = _survey_chunk(frame, key, columns, (number, n_before))
        n_before += len(frame)
        found = merge_surveys([found, part], n_sample)
    return found


def read_block(
    block: Any, number: int, columns: Columns, seed: int, n_rows: int
) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Rows of a block, so many at a time, and a random number of each, the same at every reading."""
    draw = np.random.default_rng([seed, number])  # by a row's place, or one for a whole cluster
    for frame in chunks_of(block, n_rows):
        frame = columns.read(frame)
        ids = columns.clusters(frame)
        yield frame, draw.random(len(frame)) if ids is None else cluster_keys(ids, seed)


def merge_surveys(surveys: Sequence[Survey], n_sample: int) -> Survey:
    """Survey of several parts of the rows, in their order."""
    counts: Counter[Stratum] = Counter()
    strata = []
    for one in surveys:
        counts.update(one.counts)
        where = {stratum: place for place, stratum in enumerate(counts)}
        moved = np.array([where[stratum] for stratum in one.counts], dtype=np.intp)
        strata.append(moved[one.stratum])
    if len(counts) > _MOST_STRATA:
        raise InputError(
            f"sensitive_features: more than {_MOST_STRATA:,} combinations of sensitive values and "
            "outcomes were found. Audit the sensitive features one by one, or merge values."
        )
    read = [one for one in surveys if one.levels]
    levels = []
    for of_column in zip(*(one.levels for one in read), strict=True):
        known: dict[Hashable, None] = {}
        for own in of_column:
            if len(known) < _MOST_LABELS:
                known.update(own)
        levels.append(known)
    frames = [one.kept for one in surveys if one.kept is not None]
    return Survey(
        n_rows=sum(one.n_rows for one in surveys),
        digest=sum(one.digest for one in surveys) % 2**64,
        kinds=_same_kinds([one.kinds for one in surveys]),
        n_missing_outcome=sum(one.n_missing_outcome for one in surveys),
        n_missing_cluster=sum(one.n_missing_cluster for one in surveys),
        clusters=_smallest(np.concatenate([one.clusters for one in surveys])),
        weights=sum((one.weights for one in surveys), start=WeightSums()),
        amounts=sum((one.amounts for one in surveys), start=AmountSums()),
        counts=counts,
        levels=tuple(levels),
        declared=tuple(map(all, zip(*(one.declared for one in read), strict=True))),
        kept=concatenate(frames) if frames else None,
        key=np.concatenate([one.key for one in surveys]),
        stratum=np.concatenate(strata),
        place=np.concatenate([one.place for one in surveys]),
    ).trimmed(n_sample)


def _kind(column: pd.Series) -> str:
    """What the values of a feature are to an audit; empty if there are none."""
    found = pd.api.types.infer_dtype(column, skipna=True)
    return next(
        (kind for kind, names in _KINDS.items() if found in names), "labels" * (found != "empty")
    )


def _same_kinds(parts: Sequence[dict[Hashable, str]]) -> dict[Hashable, str]:
    """What features hold in several parts of the rows, which must be of one kind in all."""
    found: dict[Hashable, str] = {}
    for name, kind in (item for own in parts for item in own.items()):
        if found.setdefault(name, kind) != kind:
            raise InputError(
                f"X: column {name!r} holds {found[name]} in some parts of the rows and {kind} in "
                "others. Give it one type in all of them."
            )
    return found


def _smallest(key: np.ndarray) -> np.ndarray:
    """The smallest different keys: enough to tell whether there are few."""
    return np.unique(key)[: MOST_GROUPS + 1]


def concatenate(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several frames of the same columns, categories united."""
    if len(frames) == 1:
        return frames[0]
    united = {}
    for name in frames[0].columns:
        series = [frame[name] for frame in frames]
        if not all(isinstance(one.dtype, pd.CategoricalDtype) for one in series):
            continue
        if any(one.dtype != series[0].dtype for one in series):
            ordered = all(one.cat.ordered for one in series)
            levels = pd.Index(dict.fromkeys(v for one in series for v in one.cat.categories))
            dtype = pd.CategoricalDtype(_in_order(series) if ordered else levels, ordered=ordered)
            united[name] = dtype
    if united:
        frames = [frame.astype(united) for frame in frames]
    return pd.concat(frames, ignore_index=True)


def _in_order(series: Sequence[pd.Series]) -> list[Any]:
    """Levels of ordered categoricals in an order that agrees with all of them."""
    orders = [list(one.cat.categories) for one in series]
    levels: list[Any] = []
    while any(orders):
        heads = [order[0] for order in orders if order]
        free = [head for head in heads if not any(head in order[1:] for order in orders)]
        if not free:
            raise InputError(
                f"X: column {series[0].name!r} is an ordered categorical whose levels come in another "
                f"order in another part of the rows ({listing(heads)}). Give it one order."
            )
        levels.append(free[0])
        orders = [[level for level in order if level != free[0]] for order in orders]
    return levels


def _survey_chunk(
    frame: pd.DataFrame, key: np.ndarray, columns: Columns, start: tuple[int, int]
) -> Survey:
    """Survey rows of which the first is that at a place, a block and a row."""
    n_rows = len(frame)
    digest, features = columns.digest(frame), frame[list(columns.features)]
    outcome, numbers = columns.outcomes(frame)
    outcome = outcome.used()
    known = outcome.codes >= 0
    weights, weight = WeightSums(), columns.weights(frame)
    weighs = np.isfinite(weight) & (weight > 0)
    if columns.weight is not None:
        weights = WeightSums.of(weight[known | ~weighs])
    n_missing = int((weighs & ~known).sum())
    rows = np.flatnonzero(weighs & known)
    if len(rows) < n_rows:
        frame, key, outcome = frame.take(rows), key[rows], outcome.take(rows).used()
    amounts = AmountSums()
    if numbers is None:
        check_scores(outcome.values)
    else:
        amounts = AmountSums.of(numbers[rows], weight[rows], columns.exposures(frame))
    n_unknown, clusters = 0, np.empty(0)
    if columns.clustered:
        n_unknown = int(np.isnan(key).sum())
        clusters = _smallest(key[~np.isnan(key)])
    sensitive = columns.groups(frame)
    for name, labels in zip(columns.sensitive, sensitive, strict=True):
        if len(labels.values) > _MOST_LABELS:
            refuse_measurements(str(name), labels.values)
            raise InputError(
                f"sensitive_features: {str(name)!r} holds more than {_MOST_LABELS:,} different values, "
                "which are no groups. Merge them into fewer."
            )
    stratum, strata = joint_codes([*sensitive, outcome])
    counts = np.bincount(stratum, minlength=len(strata))
    return Survey(
        n_rows=n_rows,
        digest=digest,
        kinds={name: kind for name in features if (kind := _kind(features[name]))},
        n_missing_outcome=n_missing,
        n_missing_cluster=n_unknown,
        clusters=clusters,
        weights=weights,
        amounts=amounts,
        counts=dict(zip(strata, counts.tolist(), strict=True)),
        levels=tuple(dict.fromkeys(labels.values[:_MOST_LABELS]) for labels in sensitive),
        declared=tuple(
            isinstance(frame[name].dtype, pd.CategoricalDtype) for name in columns.sensitive
        ),
        kept=frame,
        key=key,
        stratum=stratum,
        place=np.column_stack([np.zeros_like(rows), rows]) + start,
    )


def check_scores(values: tuple[Hashable, ...]) -> None:
    """Refuse outcomes that are scores, or have too many labels to be any."""
    if len(values) > 1:
        refuse_scores(values, "y")
    if len(values) > _MOST_LABELS:
        raise InputError(
            f"y: more than {_MOST_LABELS:,} different outcomes were found: {listing(values, 5)}. Merge "
            "them into the few that decide."
        )


def joint_codes(columns: Sequence[Labels]) -> tuple[np.ndarray, list[Stratum]]:
    """Code of each row's combination of labels, and the combinations, first come first."""
    joint = np.zeros(len(columns[0].codes), dtype=np.int64)
    for labels in columns:
        joint = joint * (len(labels.values) + 1) + labels.codes + 1
        joint = pd.factorize(joint)[0].astype(np.int64)
    first = np.unique(joint, return_index=True)[1]
    combinations = [
        tuple(
            None if labels.codes[row] < 0 else labels.values[labels.codes[row]]
            for labels in columns
        )
        for row in first
    ]
    return joint.astype(np.intp), combinations


def spellings_of(
    survey: Survey, columns: Columns, log: WarningLog
) -> dict[Hashable, dict[Hashable, Hashable]]:
    """Outcomes and sensitive values to be read as another spelling of the same word, by column."""
    found = {}
    names = columns.sensitive if columns.numeric else (*columns.sensitive, columns.outcome)
    for place, name in enumerate(names):
        counts = survey.counted(place)
        values = [one for one in counts if one is not None]
        values = [values[position] for position in natural_order(values)]
        if spellings := commonest_spellings(values, [counts[one] for one in values]):
            found[name] = spellings
            n_rows = sum(counts[one] for one in spellings)
            log.note(
                MERGED, f"{name!r}: spellings read as one: ", reading_as(spellings, n_rows), "."
            )
    return found


def check_survey(survey: Survey, columns: Columns, settings: Settings) -> dict[str, int]:
    """Refuse what no audit can work with, wherever the rows lie."""
    if survey.n_rows == 0:
        raise InputError("ddf: it has no rows; there is nobody to compare.")
    outcomes = list(survey.counted(-1))
    values = tuple(outcomes[place] for place in natural_order(outcomes))
    n_outcomes = survey.n_present + survey.n_missing_outcome
    if settings.missing_outcome == "raise" or not survey.n_present:
        refuse_missing(survey.n_missing_outcome, n_outcomes, "y", "outcomes", EXCLUDE)
    if columns.numeric:
        survey.amounts.check(settings, per=columns.exposure is not None)
    else:
        refuse_scores(values, "y")
        check_scores(values)
        refuse_constant(values, n_outcomes, "y")
    n_missing = {}
    for position, name in enumerate(columns.sensitive):
        if not survey.declared[position]:
            refuse_measurements(str(name), tuple(survey.levels[position]))
        n_missing[str(name)] = survey.counted(position)[None]
        refuse_missing_sensitive(n_missing[str(name)], str(name), settings.missing)
    if columns.clustered:
        refuse_clusters(survey.n_missing_cluster, n_outcomes, len(survey.clusters))
    return n_missing


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Rows to learn from."""

    frame: pd.DataFrame  # in the order of the data
    cut: dict[Stratum, float]  # largest key of a row in the sample; -1 where the stratum has none
    key: np.ndarray  # (n,)


def draw_sample(survey: Survey, n_sample: int) -> Sample:
    """Draw every stratum's share, and at least one row of every sensitive value and outcome."""
    assert survey.kept is not None
    strata = list(survey.counts)
    counts = np.array(list(survey.counts.values()), dtype=np.int64)
    if counts.sum() <= n_sample:
        wanted = counts.copy()
    else:
        ends = np.floor(np.cumsum(counts) * (n_sample / counts.sum()) + 0.5).astype(np.int64)
        wanted = np.minimum(np.diff(ends, prepend=0), counts)
        absent = []  # all of them before any is added: whichever sensitive column comes first
        for column in range(len(strata[0])):
            for value in dict.fromkeys(stratum[column] for stratum in strata):
                own = np.flatnonzero([stratum[column] == value for stratum in strata])
                if wanted[own].sum() == 0:
                    absent.append(own[np.argmax(counts[own])])
        wanted[absent] = 1
    rank = _rank_within(survey.stratum, survey.key)
    rows = np.flatnonzero(rank < wanted[survey.stratum])
    cut = np.full(len(strata), -1.0)
    np.maximum.at(cut, survey.stratum[rows], survey.key[rows])
    order = np.lexsort((survey.place[rows, 1], survey.place[rows, 0]))
    return Sample(
        frame=survey.kept.take(rows[order]).reset_index(drop=True),
        cut=dict(zip(strata, cut.tolist(), strict=True)),
        key=survey.key[rows[order]],
    )
