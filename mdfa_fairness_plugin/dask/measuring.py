"""Second pass: what was learned is applied to every row it has not seen, and summed."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.dask.groups import GroupSums
from mdfa_fairness_plugin.dask.learning import Judge, Panel
from mdfa_fairness_plugin.dask.survey import joint_codes, read_block
from mdfa_fairness_plugin.data.columns import Labels
from mdfa_fairness_plugin.data.containers import read_table
from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.given import CrossFittedEstimator
from mdfa_fairness_plugin.learn.probability import CrossFittedProbability
from mdfa_fairness_plugin.measure.estimates import Sums
from mdfa_fairness_plugin.measure.sums import SETS, MeasuredRows, SearchSums
from mdfa_fairness_plugin.numerics.rows import Asked, RowView
from mdfa_fairness_plugin.numerics.threads import one_thread
from mdfa_fairness_plugin.search.ground import rungs_of
from mdfa_fairness_plugin.search.level_sets import Tally

# Which combinations of memberships belong to each set.
_N_CELLS = 2 ** len(SETS)
_OWNERS = np.array([[cell >> place & 1 for cell in range(_N_CELLS)] for place in range(len(SETS))])
# A row with a weight of n counts as n rows; as many are summed at a time.
_MOST_COPIES = 262_144


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockSums(Sums):
    """Sums of one search over rows it has not seen; those of parts of the rows add up."""

    search: SearchSums  # as if every row were somebody else's
    tally: Tally  # by score, for the path; likewise
    groups: GroupSums
    # (n_models, n_sets, 2), by repeat; sums of R and R squared in every set with the nuisances
    # of each fold alone.
    leak_by_model: np.ndarray
    # (n_models, n_sets, 3, 2); likewise of weights, those of rows with the outcome, and those times
    # the predicted outcome, of S = +1 and S = -1.
    rates_by_model: np.ndarray
    # (2, 2); rows without a comparable row, of the group and of the others: their number and
    # weight.
    outside: np.ndarray
    weight: float  # of all rows of either side

    @property
    def n_outside(self) -> tuple[int, int]:
        """Rows without a comparable row, of the group and of the others."""
        group, others = self.outside[:, 0]
        return int(group), int(others)

    @property
    def share_outside(self) -> float:
        """Their share of the weight."""
        return float(self.outside[:, 1].sum() / self.weight) if self.weight else 0.0

    @property
    def clustered(self) -> bool:
        """Whether somebody may have several rows."""
        return self.groups.left.size > 0


@dataclass(eq=False)
class Measurement:
    """What came back of some rows."""

    # Rows, those that were learned from (with all others of their clusters), and those measured.
    n_rows: int = 0
    n_learned: int = 0
    n_measured: int = 0
    digest: int = 0  # of what the rows say
    searches: tuple[BlockSums, ...] = ()
    # Rows with a level, or a missing value, that the rows learned from do not have.
    unseen: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Measurement) -> Measurement:
        searches = self.searches or other.searches
        if self.searches and other.searches:
            pairs = zip(self.searches, other.searches, strict=True)
            searches = tuple(a + b for a, b in pairs)
        return Measurement(
            n_rows=self.n_rows + other.n_rows,
            n_learned=self.n_learned + other.n_learned,
            n_measured=self.n_measured + other.n_measured,
            digest=(self.digest + other.digest) % 2**64,
            searches=searches,
            unseen=self.unseen + other.unseen,
        )


@one_thread()
def measure_block(block: Any, number: int, panel: Panel) -> Measurement:
    """Measure the rows of one block."""
    found = Measurement()
    for frame, key in read_block(block, number, panel.columns, panel.seed, panel.chunk_rows):
        found += _measure_chunk(frame, key, panel)
    return found


def add_measurements(parts: Sequence[Measurement]) -> Measurement:
    """Sum of several measurements, in their order."""
    return sum(parts, start=Measurement())


def _measure_chunk(frame: pd.DataFrame, key: np.ndarray, panel: Panel) -> Measurement:
    columns = panel.columns
    weight = columns.weights(frame)
    weight = np.where(np.isfinite(weight) & (weight > 0), weight, 0.0)
    outcome, numbers = columns.outcomes(frame)
    if numbers is None:
        outcome = _known(outcome, panel.outcomes, "y")
    weight[outcome.codes < 0] = 0.0
    sensitive = [
        _known(labels, panel.labels[position], str(columns.sensitive[position]))
        for position, labels in enumerate(columns.groups(frame))
    ]
    # Rows of whom was learned from are not measured: all that is measured was never seen.
    if panel.grouping is None:
        codes, strata = joint_codes([*sensitive, outcome])
        cut = np.array([panel.cut.get(stratum, -1.0) for stratum in strata])
        learned = (key <= cut[codes]) & (weight > 0)
    else:
        learned = np.isin(key, panel.grouping.learned) & (weight > 0)
    rows = np.flatnonzero(~learned & (weight > 0))
    done = Measurement(
        n_rows=len(frame),
        n_learned=int(learned.sum()),
        n_measured=len(rows),
        digest=columns.digest(frame),
    )
    if len(rows) == 0:
        return done
    frame, weight = frame.take(rows), weight[rows]
    values = [
        _values(part, sensitive, rows, panel)
        for part in zip(panel.parts, panel.labels, strict=True)
    ]
    table = read_table(frame[list(columns.features)], "X")
    encoded = panel.encoder.rows(table)
    done.unseen = Counter(panel.encoder.unseen(table))
    chunk = _Chunk(encoded)
    chunk.y, chunk.n_outcomes = outcome.codes[rows], len(panel.outcomes)
    if numbers is not None:
        assert panel.scale is not None
        chunk.amounts = panel.scale.values(numbers[rows])
    if any(judge.rule.alternatives for judge in panel.judges):
        chunk.display = panel.encoder.display_frame(table, encoded=encoded[:])
    if panel.weight_type == "frequency":
        chunk.copies, chunk.base = weight.astype(np.int64), np.ones(len(rows))
    else:
        chunk.base = weight / panel.mean_weight
    exposure = columns.exposures(frame)
    if exposure is not None:
        chunk.base = chunk.base * exposure / panel.mean_exposure
    if panel.grouping is not None:
        chunk.n_groups, chunk.group = panel.grouping.n_groups, panel.grouping.group(key[rows])
    done.searches = tuple(_sums(judge, chunk, values[judge.column]) for judge in panel.judges)
    return done


def _codes_among(values: Sequence[Hashable], known: Sequence[Hashable]) -> np.ndarray:
    """Codes of values among those known, -1 of others; and -1 after them, of what is missing."""
    where = {value: code for code, value in enumerate(known)}
    return np.array([*(where.get(value, -1) for value in values), -1], dtype=np.intp)


def _known(labels: Labels, values: tuple[Hashable, ...], name: str) -> Labels:
    """Labels by their codes among all values."""
    codes = _codes_among(labels.values, values)[labels.codes]
    if (codes[labels.codes >= 0] < 0).any():
        raise InputError(
            f"{name}: values appeared that were not there before; the data changed during the audit."
        )
    return Labels(codes=codes, values=values)


def _values(
    part: tuple[tuple[int, ...], tuple[Hashable, ...]],
    sensitive: Sequence[Labels],
    rows: np.ndarray,
    panel: Panel,
) -> np.ndarray:
    """Codes of a sensitive column or combination of columns on these rows; -1 where missing."""
    columns, values = part
    own = []
    for column in columns:
        codes = sensitive[column].codes[rows]
        if panel.missing is not None:
            missing, _ = _codes_among([panel.missing], panel.labels[column])
            codes = np.where(codes < 0, missing, codes)
        own.append(Labels(codes=codes, values=panel.labels[column]))
    if len(own) == 1:
        return own[0].codes
    codes, combinations = joint_codes(own)
    return _codes_among(combinations, values)[codes]


class _Chunk(Asked):
    """Rows that are measured together, each model asked once for all searches that share it."""

    y: np.ndarray  # place of each row's outcome among ``n_outcomes``
    n_outcomes: int
    amounts: np.ndarray | None = None  # of outcomes that are numbers
    base: np.ndarray
    copies: np.ndarray | None = None  # as how many rows each counts
    display: pd.DataFrame | None = None
    group: np.ndarray | None = None  # of each row's cluster
    n_groups: int = 0

    def __init__(self, X: RowView) -> None:
        super().__init__(X)
        self._each: dict[Any, np.ndarray] = {}

    def ask(self, model: Any) -> np.ndarray:
        """Ask a model; probabilities are the mean of what each fold's says."""
        if isinstance(model, CrossFittedProbability | CrossFittedEstimator):
            return model.link.bounded(self._by_model(model).mean(axis=0))
        return super().ask(model)

    def each(self, model: CrossFittedProbability) -> np.ndarray:
        """Probability by each fold's models, shape (n_models, n)."""
        return model.link.bounded(self._by_model(model))

    def _by_model(self, model: CrossFittedProbability | CrossFittedEstimator) -> np.ndarray:
        if model not in self._each:  # lesser models are scored with the best one
            rungs = (*model.lesser, model)
            self._each.update(zip(rungs, model.by_rung(self.rows), strict=True))
        return self._each[model]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Judged:
    """What a search says of every row of a chunk, those in every set, and their bins by score."""

    rows: MeasuredRows
    members: tuple[np.ndarray, ...]
    bins: np.ndarray


def _taken(rows: MeasuredRows, some: np.ndarray) -> MeasuredRows:
    """These rows, as often as they are named."""
    names = ("s", "value", "y", "base", "weights", "propensity", "outcome")
    lesser = tuple((weights[some], outcome[some]) for weights, outcome in rows.lesser)
    return replace(rows, lesser=lesser, **{name: getattr(rows, name)[some] for name in names})


def _sums(judge: Judge, chunk: _Chunk, values: np.ndarray) -> BlockSums:
    """Sums of one search over rows of these sensitive values."""
    y, base, copies = chunk.y, chunk.base, chunk.copies
    e_fitted = chunk.predict(judge.propensity)
    comparable = (e_fitted > judge.limits[0]) & (e_fitted < judge.limits[1])
    e = judge.propensities(e_fitted)
    s = judge.sides(values)
    score = judge.region.scores(chunk)
    inside = score >= judge.region.threshold
    value = judge.valued.values(y, chunk.amounts)
    covered = np.full(len(y), judge.rule.text == EVERYBODY)
    if judge.rule.alternatives:
        assert chunk.display is not None
        covered = judge.rule.applies(chunk.display)

    def counted(rows: np.ndarray) -> np.ndarray:
        return rows if copies is None else np.repeat(rows, copies[rows])

    either = counted(np.flatnonzero(s != 0))
    outside = either[~comparable[either]]
    unknown = counted(np.flatnonzero((values < 0) & comparable & inside))
    compared = np.flatnonzero((s != 0) & comparable)
    weights = np.zeros(len(y))
    weights[compared] = base[compared] * judge.balancer.weights(
        chunk.X[compared], s[compared], e[compared]
    )
    outcome = judge.rates(chunk.predict(judge.outcome_model))  # and with it by lesser models
    rungs = rungs_of(judge.propensity, judge.outcome_model)[:-1]
    lesser = [
        (judge.propensities(chunk.predict(own_e)), judge.rates(chunk.predict(own_m)))
        for own_e, own_m in rungs
    ]
    judged = _Judged(
        rows=MeasuredRows(
            s=s,
            value=value,
            kind=judge.valued.kind,
            of=judge.valued.of,
            y=judge.valued.counted(value, y),
            n_outcomes=len(judge.valued.of.counted_by) or chunk.n_outcomes,
            base=base,
            weights=weights,
            propensity=e,
            outcome=outcome,
            lesser=tuple(
                (judge.weights_by(own_e, s, base, weights), own_m) for own_e, own_m in lesser
            ),
            shares=tuple(min(own_e.share, own_m.share) for own_e, own_m in rungs),
        ),
        members=(
            np.ones(len(y), dtype=bool),
            inside,
            score >= judge.region.core_threshold,
            covered,
            score >= judge.proposed,
        ),
        bins=judge.bins.index(score),
    )
    rows = counted(compared)
    parts = [
        _part(judge, chunk, judged, rows[start : start + _MOST_COPIES])
        for start in range(0, max(len(rows), 1), _MOST_COPIES)
    ]
    total = functools.reduce(operator.add, parts)
    return replace(
        total,
        search=replace(
            total.search,
            missing=_missing(judge, chunk, judged.rows, unknown),
            n_missing=len(unknown),
        ),
        outside=np.array(
            [
                [float((s[outside] == sign).sum()), base[outside[s[outside] == sign]].sum()]
                for sign in (1, -1)
            ]
        ),
        weight=float(base[either].sum()),
    )


def _missing(judge: Judge, chunk: _Chunk, rows: MeasuredRows, unknown: np.ndarray) -> np.ndarray:
    """Weights of rows of unknown side as either side, of those with the outcome and without."""
    if judge.valued.of_means:
        return np.zeros((2, 2))
    positive = rows.value[unknown]
    one = np.ones(len(unknown), dtype=np.intp)
    sums = []
    for sign in (1, -1):
        own = judge.balancer.weights(chunk.X[unknown], sign * one, rows.propensity[unknown])
        own = rows.base[unknown] * own
        sums.append([own[positive].sum(), own[~positive].sum()])
    return np.array(sums)


def _part(judge: Judge, chunk: _Chunk, judged: _Judged, some: np.ndarray) -> BlockSums:
    """Sums over some rows, as often as they are named."""
    rows = _taken(judged.rows, some)
    members = tuple(own[some] for own in judged.members)
    side = rows.s < 0
    cell = sum(own.astype(np.intp) << place for place, own in enumerate(members)) * 2 + side

    def by_set(amount: np.ndarray) -> np.ndarray:
        return _OWNERS @ np.bincount(cell, amount, 2 * _N_CELLS).reshape(_N_CELLS, 2)

    leak_by_model, rates_by_model = [], []
    each = zip(chunk.each(judge.propensity), chunk.each(judge.outcome_model), strict=False)
    for e_fitted, m_fitted in each:
        e, m = judge.propensities(e_fitted[some]), judge.rates(m_fitted[some])
        residual = (rows.value - m) * (~side - e) * rows.base
        leak_by_model.append(
            np.stack([by_set(own).sum(axis=-1) for own in (residual, residual**2)], axis=-1)
        )
        weights = judge.weights_by(e, rows.s, rows.base, rows.weights)
        amounts = (weights, weights * rows.value, weights * m)
        rates_by_model.append(np.stack([by_set(own) for own in amounts], axis=1))
    groups = GroupSums.none()
    if chunk.group is not None:
        groups = GroupSums.of(rows, members, chunk.group[some], chunk.n_groups)
    nobody = np.zeros(len(some), dtype=np.intp)
    tally = (Tally.of_means if judge.valued.of_means else Tally.of)(
        judged.bins[some],
        len(judge.bins),
        rows.s,
        rows.value,
        rows.weights,
        nobody,
        1,
        predicted=rows.outcome if judge.adjusts else None,
    )
    search = SearchSums.of(rows, members, missing=np.zeros((2, 2)), n_missing=0)
    return BlockSums(
        search=search.shortened(),
        tally=tally.total(),
        groups=groups,
        leak_by_model=np.array(leak_by_model),
        rates_by_model=np.array(rates_by_model),
        outside=np.zeros((2, 2)),
        weight=0.0,
    )
