"""Second pass: what was learned is applied to every row it has not seen, and summed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.dask.blocks import chunks_of
from mdfa_fairness_plugin.dask.survey import (
    Columns,
    Stratum,
    block_keys,
    joint_codes,
    read_weights,
)
from mdfa_fairness_plugin.data.columns import Labels, read_labels, read_table
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.describe.conditions import EVERYBODY, Rule
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.learn.probability import PROBABILITY_FLOOR, CrossFittedProbability
from mdfa_fairness_plugin.measure.estimates import (
    Leftover,
    Rates,
    measure,
    measure_leftover,
    robust_sums,
)
from mdfa_fairness_plugin.measure.tests import LeakSums
from mdfa_fairness_plugin.numerics.threads import one_blas_thread
from mdfa_fairness_plugin.search.ground import Predictor, usual_weights
from mdfa_fairness_plugin.search.level_sets import Bins, Tally
from mdfa_fairness_plugin.search.orthogonal import OrthogonalPredictor

# Sets of rows measured in every search.
EVERYONE, REGION, CORE, RULE = range(4)
# Which of the sixteen combinations of memberships belong to each set.
_OWNERS = np.array([[combination >> place & 1 for combination in range(16)] for place in range(4)])
# Numbers held per row of a chunk: the basis of the nuisances' logistic part is the widest, and several
# of its size exist at a time. With this a chunk takes some 100 MB.
_CHUNK_NUMBERS = 2_500_000
_MOST_CHUNK_ROWS = 65_536
# A row with a weight of n counts as n rows; as many are summed at a time.
_MOST_COPIES = 262_144


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """One search as it judges and weighs rows it has not seen.

    Parameters
    ----------
    column : int
        Place of the sensitive column.
    group, reference : int
        Codes of the values compared; a reference of -1 is everybody else.
    outcome : int
        Code of the outcome.
    propensity, outcome_model : CrossFittedProbability
    flip_s, flip_y : bool
    limits : tuple of float
    predictor : callable
    threshold, core_threshold : float
    bins : Bins
        Of the scores; both thresholds are edges.
    method : str
        What weights follow from, if not from ``balancer``.
    balancer : object or None
    scales : tuple of float
    rule : Rule
    """

    column: int
    group: int
    reference: int
    outcome: int
    propensity: CrossFittedProbability
    outcome_model: CrossFittedProbability
    flip_s: bool
    flip_y: bool
    limits: tuple[float, float]
    predictor: Predictor
    threshold: float
    core_threshold: float
    bins: Bins
    method: str
    balancer: Any
    scales: tuple[float, float]
    rule: Rule


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """All that a block of rows is measured with.

    Parameters
    ----------
    columns : Columns
    labels : tuple of tuple
        Values of every sensitive column, intersections included, by code.
    outcomes : tuple
        Outcome labels by code.
    parts : tuple of tuple of int
        Columns of the data that each sensitive column is made of.
    missing : label or None
        What a missing sensitive value counts as; None: as missing.
    weight_type : {"none", "frequency", "sampling"}
    mean_weight : float
    cut : dict of stratum to float
        Largest key of a row that was learned from.
    seed : int
    encoder : FeatureEncoder
    judges : tuple of Judge
    """

    columns: Columns
    labels: tuple[tuple[Hashable, ...], ...]
    outcomes: tuple[Hashable, ...]
    parts: tuple[tuple[int, ...], ...]
    missing: Hashable
    weight_type: str
    mean_weight: float
    cut: dict[Stratum, float]
    seed: int
    encoder: FeatureEncoder
    judges: tuple[Judge, ...]

    @property
    def chunk_rows(self) -> int:
        """Rows to work on at a time."""
        width = max(
            [len(self.encoder.encoded_names_)]
            + [len(judge.propensity.basis.varies) for judge in self.judges]
        )
        return int(np.clip(_CHUNK_NUMBERS // width, 1_000, _MOST_CHUNK_ROWS))


@dataclass(eq=False)
class SetSums:
    """Sums over one set of rows.

    Parameters
    ----------
    rates : Rates
    leftover : Leftover
    counts : ndarray of int of shape (2, n_outcomes)
        Rows by S and outcome.
    """

    rates: Rates
    leftover: Leftover
    counts: np.ndarray

    def __add__(self, other: SetSums) -> SetSums:
        return SetSums(
            self.rates + other.rates, self.leftover + other.leftover, self.counts + other.counts
        )


@dataclass(eq=False)
class SearchSums:
    """Sums of one search over rows it has not seen; those of parts of the rows add up.

    Parameters
    ----------
    sets : tuple of SetSums
        Of everybody compared, the region, its core and its rule.
    tally : Tally
        By score, for the path.
    plain : tuple of Rates
        Of everybody and of the region, with sampling weights alone.
    robust : ndarray of shape (5,)
    leak : LeakSums
        Of the region.
    leak_by_model : ndarray of shape (n_models, 2)
        Sums of R and R squared in the region with the nuisances of each fold alone.
    rates_by_model : ndarray of shape (n_models, 4, 2, 2)
        Sums of weights, and of those of rows with the outcome, of S = +1 and S = -1 in every set.
    outside : ndarray of shape (2, 2)
        Rows without a comparable row, of the group and of the others: their number and weight.
    weight : float
        Of all rows of either side.
    missing : ndarray of shape (2, 2)
        Weights of rows of unknown side in the region, as one of the group and as one of the others,
        for those with the outcome and those without.
    n_missing : int
    """

    sets: tuple[SetSums, ...]
    tally: Tally
    plain: tuple[Rates, Rates]
    robust: np.ndarray
    leak: LeakSums
    leak_by_model: np.ndarray
    rates_by_model: np.ndarray
    outside: np.ndarray
    weight: float
    missing: np.ndarray
    n_missing: int

    def __add__(self, other: SearchSums) -> SearchSums:
        return SearchSums(
            sets=tuple(a + b for a, b in zip(self.sets, other.sets, strict=True)),
            tally=self.tally + other.tally,
            plain=(self.plain[0] + other.plain[0], self.plain[1] + other.plain[1]),
            robust=self.robust + other.robust,
            leak=(self.leak + other.leak).shortened(),
            leak_by_model=self.leak_by_model + other.leak_by_model,
            rates_by_model=self.rates_by_model + other.rates_by_model,
            outside=self.outside + other.outside,
            weight=self.weight + other.weight,
            missing=self.missing + other.missing,
            n_missing=self.n_missing + other.n_missing,
        )


@dataclass(eq=False)
class Measurement:
    """What came back of some rows.

    Parameters
    ----------
    n_rows, n_learned, n_measured : int
        Rows, those that were learned from, and those measured.
    searches : tuple of SearchSums
    unseen : dict of feature to int
        Rows with a level, or a missing value, that the rows learned from do not have.
    """

    n_rows: int = 0
    n_learned: int = 0
    n_measured: int = 0
    searches: tuple[SearchSums, ...] = ()
    unseen: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: Measurement) -> Measurement:
        unseen = dict(self.unseen)
        for name, count in other.unseen.items():
            unseen[name] = unseen.get(name, 0) + count
        if not (self.searches and other.searches):
            searches = self.searches or other.searches
        else:
            pairs = zip(self.searches, other.searches, strict=True)
            searches = tuple(a + b for a, b in pairs)
        return Measurement(
            n_rows=self.n_rows + other.n_rows,
            n_learned=self.n_learned + other.n_learned,
            n_measured=self.n_measured + other.n_measured,
            searches=searches,
            unseen=unseen,
        )


@one_blas_thread()
def measure_block(block: Any, number: int, panel: Panel) -> Measurement:
    """Measure the rows of one block.

    Parameters
    ----------
    block : DataFrame or ParquetBlock
    number : int
        Place of the block among all.
    panel : Panel

    Returns
    -------
    measurement : Measurement
    """
    keys = block_keys(panel.seed, number)
    found = Measurement()
    for frame in chunks_of(block, panel.chunk_rows):
        found += _measure_chunk(frame, keys.random(len(frame)), panel)
    return found


def add_measurements(parts: Sequence[Measurement]) -> Measurement:
    """Sum of several measurements, in their order."""
    return sum(parts, start=Measurement())


def _measure_chunk(frame: pd.DataFrame, key: np.ndarray, panel: Panel) -> Measurement:
    n_rows, columns = len(frame), panel.columns
    weight = np.ones(n_rows)
    if columns.weight is not None:
        weight, _ = read_weights(frame[columns.weight])
    outcome = _known(read_labels(frame[columns.outcome].array, "y"), panel.outcomes, "y")
    sensitive = [
        _known(
            read_labels(frame[name].array, f"sensitive_features: column {str(name)!r}"),
            panel.labels[position],
            str(name),
        )
        for position, name in enumerate(columns.sensitive)
    ]
    # Rows that were learned from are not measured: all that is measured was never seen.
    codes, strata = joint_codes([*sensitive, outcome])
    cut = np.array([panel.cut.get(stratum, -1.0) for stratum in strata])
    learned = (key <= cut[codes]) & (weight > 0)
    rows = np.flatnonzero(~learned & (weight > 0))
    done = Measurement(n_rows=n_rows, n_learned=int(learned.sum()), n_measured=len(rows))
    if len(rows) == 0:
        return done
    frame, weight = frame.take(rows), weight[rows]
    y = outcome.codes[rows]
    values = [
        _values(part, sensitive, rows, panel)
        for part in zip(panel.parts, panel.labels, strict=True)
    ]
    table = read_table(frame[list(columns.features)], "X")
    X = panel.encoder.transform(table)
    display = None
    if any(judge.rule.alternatives for judge in panel.judges):
        display = panel.encoder.display_frame(table, encoded=X)
    done.unseen = panel.encoder.unseen(table)
    if panel.weight_type == "frequency":
        copies, base = weight.astype(np.int64), np.ones(len(rows))
    else:
        copies, base = None, weight / panel.mean_weight
    scores = _Scores(X)
    done.searches = tuple(
        _sums(judge, scores, values[judge.column], y, base, copies, display, len(panel.outcomes))
        for judge in panel.judges
    )
    return done


def _known(labels: Labels, values: tuple[Hashable, ...], name: str) -> Labels:
    """Labels by their codes among all values."""
    where = {value: code for code, value in enumerate(values)}
    if any(value not in where for value in labels.used().values):
        raise InputError(
            f"{name}: values appeared that were not there before; the data changed during the audit."
        )
    codes = np.array([*(where.get(value, -1) for value in labels.values), -1], dtype=np.intp)
    return Labels(codes=codes[labels.codes], values=values)


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
            place = {value: code for code, value in enumerate(panel.labels[column])}
            codes = np.where(codes < 0, place.get(panel.missing, -1), codes)
        own.append(Labels(codes=codes, values=panel.labels[column]))
    if len(own) == 1:
        return own[0].codes
    codes, combinations = joint_codes(own)
    where = {value: code for code, value in enumerate(values)}
    return np.array([where.get(value, -1) for value in combinations], dtype=np.intp)[codes]


class _Scores:
    """What models say of a chunk of rows, each asked once for all searches that share it."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        self._known: dict[tuple[int, str], Any] = {}

    def probability(self, model: CrossFittedProbability) -> tuple[np.ndarray, np.ndarray]:
        """Probability by all models together, and by each."""
        key = (id(model), "probability")
        if key not in self._known:
            each = model.by_model(self.X)
            self._known[key] = _bounded(each.mean(axis=0)), _bounded(each)
        return self._known[key]

    def score(self, judge: Judge) -> np.ndarray:
        """Score of the search."""
        predictor = judge.predictor
        if not isinstance(predictor, OrthogonalPredictor):
            return predictor(self.X)
        key = (id(predictor.difference), "difference")
        if key not in self._known:
            self._known[key] = predictor.difference.predict(self.X)
        return predictor.scores_of(
            self._known[key][predictor.choice.scale],
            self.probability(judge.propensity)[0],
            self.probability(judge.outcome_model)[0],
        )


def _bounded(probability: np.ndarray) -> np.ndarray:
    return np.clip(probability, PROBABILITY_FLOOR, 1.0 - PROBABILITY_FLOOR)


def _sums(
    judge: Judge,
    scores: _Scores,
    values: np.ndarray,
    y: np.ndarray,
    base: np.ndarray,
    copies: np.ndarray | None,
    display: pd.DataFrame | None,
    n_outcomes: int,
) -> SearchSums:
    """Sums of one search over a chunk of rows."""
    e_fitted, e_each = scores.probability(judge.propensity)
    m, m_each = scores.probability(judge.outcome_model)
    comparable = (e_fitted > judge.limits[0]) & (e_fitted < judge.limits[1])
    e = 1.0 - e_fitted if judge.flip_s else e_fitted
    m = 1.0 - m if judge.flip_y else m
    s = np.where(values == judge.group, 1, -1)
    others = values >= 0 if judge.reference < 0 else values == judge.reference
    s[(s < 0) & ~others] = 0
    score = scores.score(judge)
    inside = score >= judge.threshold
    positive = y == judge.outcome
    covered = np.full(len(y), judge.rule.text == EVERYBODY)
    if judge.rule.alternatives:
        assert display is not None
        covered = judge.rule.applies(display)

    def counted(rows: np.ndarray) -> np.ndarray:
        return rows if copies is None else np.repeat(rows, copies[rows])

    either = counted(np.flatnonzero(s != 0))
    outside = either[~comparable[either]]
    unknown = counted(np.flatnonzero((values < 0) & comparable & inside))
    missing = np.array(
        [
            [
                scale * (base[rows] * usual_weights(judge.method, side, e[rows])).sum()
                for rows in (unknown[positive[unknown]], unknown[~positive[unknown]])
            ]
            for side, scale in zip(("group", "reference"), judge.scales, strict=True)
        ]
    )
    compared = np.flatnonzero((s != 0) & comparable)
    weights = np.zeros(len(y))
    weights[compared] = base[compared] * _weights(
        judge, scores.X[compared], s[compared], e[compared]
    )
    core = score >= judge.core_threshold
    index = judge.bins.index(score)
    n_models = min(len(e_each), len(m_each))
    leak_by_model = np.zeros((n_models, 2))
    rates_by_model = np.zeros((n_models, 4, 2, 2))
    by_propensity = judge.balancer is None
    total: SearchSums | None = None
    rows = counted(compared)
    for start in range(0, max(len(rows), 1), _MOST_COPIES):
        some = rows[start : start + _MOST_COPIES]
        side, hit, w, b = s[some], positive[some], weights[some], base[some]
        everyone = np.ones(len(some), dtype=bool)
        owned = (everyone, inside[some], core[some], covered[some])
        member = owned[REGION]
        cell = sum(own.astype(np.intp) << place for place, own in enumerate(owned)) * 2 + (side < 0)
        for k in range(n_models):
            e_k = e_each[k, some]
            e_k = 1.0 - e_k if judge.flip_s else e_k
            m_k = m_each[k, some]
            m_k = 1.0 - m_k if judge.flip_y else m_k
            residual = ((hit - m_k) * ((side > 0) - e_k) * b)[member]
            w_k = b * _weights(judge, scores.X, side, e_k) if by_propensity else w
            leak_by_model[k] += residual.sum(), (residual**2).sum()
            for stat, amount in enumerate((w_k, w_k * hit)):
                by_cell = np.bincount(cell, amount, 32).reshape(16, 2)
                rates_by_model[k, :, stat] += _OWNERS @ by_cell
        sets = tuple(
            SetSums(
                rates=measure(hit, side, w, own),
                leftover=measure_leftover(hit, side, w, m[some], own),
                counts=np.array(
                    [
                        np.bincount(y[some[own & (side == sign)]], minlength=n_outcomes)
                        for sign in (1, -1)
                    ]
                ),
            )
            for own in owned
        )
        part = SearchSums(
            sets=sets,
            tally=Tally.of(
                index[some], len(judge.bins), side, hit, w, np.zeros(len(some), dtype=np.intp), 1
            ).total(),
            plain=(measure(hit, side, b), measure(hit, side, b, member)),
            robust=robust_sums(hit, side, b, member, e[some], m[some]),
            leak=LeakSums.of(hit, side, e[some], m[some], b, member).shortened(),
            leak_by_model=np.zeros((n_models, 2)),
            rates_by_model=np.zeros((n_models, 4, 2, 2)),
            outside=np.zeros((2, 2)),
            weight=0.0,
            missing=np.zeros((2, 2)),
            n_missing=0,
        )
        total = part if total is None else total + part
    assert total is not None
    total.leak_by_model = leak_by_model
    total.rates_by_model = rates_by_model
    total.outside = np.array(
        [
            [float((s[outside] == sign).sum()), base[outside[s[outside] == sign]].sum()]
            for sign in (1, -1)
        ]
    )
    total.weight = float(base[either].sum())
    total.missing = missing
    total.n_missing = len(unknown)
    return total


def _weights(judge: Judge, X: np.ndarray, s: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Balancing weights of rows of known side."""
    if judge.balancer is not None:
        if len(s) == 0:
            return np.zeros(0)
        return np.asarray(judge.balancer.weights(X, s), dtype=float)
    return np.where(
        s > 0, usual_weights(judge.method, "group", e), usual_weights(judge.method, "reference", e)
    )
