"""Clusters whose rows lie in several blocks: their keys, and sums that add up over blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.clusters import as_text, numbered
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.estimates import Sums
from mdfa_fairness_plugin.measure.leak import LeakSums
from mdfa_fairness_plugin.measure.means import Means
from mdfa_fairness_plugin.measure.sums import MeasuredRows, SearchSums
from mdfa_fairness_plugin.search.level_sets import Tally

# More clusters than this are pooled into as many groups. A variance estimated from M independent sums
# is off by a share of sqrt(2 / M): of 2,048 by 3.1 %, a standard error by 1.6 %.
MOST_GROUPS = 2048
# A key has as many random bits as a float holds.
_KEY_BITS = 53


def cluster_keys(ids: pd.Series, seed: int) -> np.ndarray:
    """Random number in [0, 1) of each row's cluster, from its id and the seed; NaN without id."""
    codes, found = numbered(ids)
    text = np.array([as_text(value) for value in found.tolist()], dtype=object)
    key = np.full(len(text) + 1, np.nan)
    if len(text):
        hashed = pd.util.hash_array(text, hash_key=f"{seed % 2**64:016x}", categorize=False)
        key[:-1] = np.ldexp((hashed >> np.uint64(64 - _KEY_BITS)).astype(float), -_KEY_BITS)
    return key[codes]


def content_ids(frame: pd.DataFrame) -> pd.Series:
    """Id of all that each row says: equal rows have one, however a part of the rows holds them."""
    told = {place: _comparable(frame.iloc[:, place]) for place in range(frame.shape[1])}
    return pd.util.hash_pandas_object(pd.DataFrame(told), index=False, categorize=False)


def content_digest(frame: pd.DataFrame) -> int:
    """Number that other rows, in whatever parts, would hardly have; parts' add up, modulo 2**64."""
    try:
        return int(content_ids(frame).to_numpy().sum(dtype=np.uint64))
    except (TypeError, NotImplementedError):  # values that are refused wherever they are read
        return 0


def _comparable(column: pd.Series) -> np.ndarray:
    """Numbers as floats, with one zero and one NaN, all else as text."""
    kind = column.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        number = column.to_numpy(dtype=float, na_value=np.nan) + 0.0
        return np.where(np.isnan(number), np.nan, number)
    codes, found = pd.factorize(column)
    return np.array([*(f"={as_text(one)}" for one in found.tolist()), ""], dtype=object)[codes]


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouping:
    """Which clusters are summed together, by their keys, and which were learned from."""

    learned: np.ndarray
    known: np.ndarray | None  # every cluster, ascending, each a group; None: too many, pooled

    @classmethod
    def of(cls, sample: np.ndarray, smallest: np.ndarray) -> Grouping:
        """Grouping by the keys of the rows learned from and the smallest keys of all clusters."""
        return cls(
            learned=np.unique(sample), known=smallest if len(smallest) <= MOST_GROUPS else None
        )

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return MOST_GROUPS if self.known is None else len(self.known)

    @property
    def n_measured(self) -> int | None:
        """Number of clusters that were not learned from; None: not known."""
        if self.known is None:
            return None
        return len(np.setdiff1d(self.known, self.learned, assume_unique=True))

    def group(self, key: np.ndarray) -> np.ndarray:
        """Group of each row."""
        if self.known is not None:
            group = np.minimum(np.searchsorted(self.known, key), len(self.known) - 1)
            if (self.known[group] != key).any():
                raise InputError(
                    "clusters: ids appeared that were not there before; the data changed during the "
                    "audit."
                )
            return group
        # The last bits: the first decide who is learned from.
        return np.ldexp(key, _KEY_BITS).astype(np.int64) % MOST_GROUPS


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSums(Sums):
    """Sums of one search by group, for S = +1 and S = -1; those of parts of the rows add up."""

    # (2 n_sets, 2, 2, n_groups); of weights and of those of hits in every set: with the balance's
    # weights, then with sampling weights alone.
    counts: np.ndarray
    # (n_rungs, n_sets, 2, n_groups); of w (1{Y=y} - m) by the models of every rung, the best last.
    left: np.ndarray
    # (n_sets, 4, 2, n_groups); of R, of what is left of the outcome, of its size, and of e times its
    # size.
    leak: np.ndarray

    @classmethod
    def of(
        cls, rows: MeasuredRows, members: Sequence[np.ndarray], group: np.ndarray, n_groups: int
    ) -> GroupSums:
        """Sum over some rows."""
        cell = (rows.s < 0) * n_groups + group

        def split(amount: np.ndarray, member: np.ndarray) -> np.ndarray:
            sums = np.bincount(cell[member], amount[member], 2 * n_groups)
            return sums.reshape(2, n_groups)

        def counts(weights: np.ndarray, member: np.ndarray) -> np.ndarray:
            return np.array([split(weights, member), split(weights * rows.value, member)])

        e = rows.propensity
        terms = (rows.value - rows.outcome) * rows.base
        size = np.abs(terms) + 1e-12
        amounts = (terms * ((rows.s > 0) - e), terms, size, size * e)
        rungs = (*rows.lesser, (rows.weights, rows.outcome))
        left = [weights * (rows.value - outcome) for weights, outcome in rungs]
        return cls(
            counts=np.array(
                [counts(rows.weights, member) for member in members]
                + [counts(rows.base, member) for member in members]
            ),
            left=np.array([[split(own, member) for member in members] for own in left]),
            leak=np.array([[split(own, member) for own in amounts] for member in members]),
        )

    @classmethod
    def none(cls) -> GroupSums:
        """Sums of no group."""
        return cls(counts=np.empty(0), left=np.empty(0), leak=np.empty(0))


def by_cluster(search: SearchSums, sums: GroupSums, grouping: Grouping) -> SearchSums:
    r"""Sums of one search whose errors go by cluster instead of by row.

    Which clusters a group pools is chance, so :math:`\sum_g (T_g - T/M)^2 M / (M - 1)` over the sums of
    the :math:`M` groups is, on average over the ways to pool, the sum of :math:`t^2` over clusters;
    likewise for products. Fourth powers come out larger than of clusters, so that a spread is used
    where more terms carry it, never where fewer do.
    """
    n_groups = grouping.n_groups
    pooled = grouping.known is None
    factor = n_groups / (n_groups - 1) if pooled else 1.0

    def centred(amount: np.ndarray) -> np.ndarray:
        return amount - amount.mean(axis=-1, keepdims=True) if pooled else amount

    def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return factor * (a * b).sum(axis=-1)

    weight, hits = (centred(sums.counts[:, which]) for which in (0, 1))
    *lesser, left = centred(sums.left)
    residual = centred(sums.leak[:, 0].sum(axis=1))
    pairs = ((weight, weight), (hits, hits), (weight, hits))
    clustered = np.stack([products(a, b) for a, b in pairs], axis=1)
    sets = []
    for place, own in enumerate(search.sets):
        leftover = replace(
            own.leftover,
            first=products(weight[place], left[place]),
            second=products(left[place], left[place]),
            fourth=(left[place] ** 4).sum(axis=-1),
        )
        rungs = [
            replace(
                rung, left=np.array([products(a, a), products(a, left[place]), leftover.second])
            )
            for rung, a in zip(own.rungs, (rung[place] for rung in lesser), strict=True)
        ]
        _, terms, size, propensity = sums.leak[place][:, sums.leak[place, 2] > 0]
        leak = LeakSums(
            total=own.leak.total,
            squares=float(products(residual[place], residual[place])),
            fourths=float((residual[place] ** 4).sum()),
            leftover=terms,
            propensity=propensity / size,
        )
        told = 0 if isinstance(own.rates, Means) else 1  # by weights, as all hit; by those of hits
        sets.append(
            replace(
                own,
                rates=replace(own.rates, clustered=clustered[place]),
                leftover=leftover,
                leak=leak,
                rungs=tuple(rungs),
                # Where groups pool clusters there are at least as many of these.
                hit_clusters=int((sums.counts[place, told] > 0).any(axis=0).sum()),
            )
        )
    plain = tuple(
        replace(own, clustered=squares)
        for own, squares in zip(search.plain, clustered[len(sets) :], strict=True)
    )
    return replace(search, sets=tuple(sets), plain=plain)


def tally_by_cluster(tally: Tally, rows: SearchSums, clusters: SearchSums) -> Tally:
    """Tally with errors by cluster: as much larger than those by row as everybody's are."""
    by_row, by_group = (_errors(own) for own in (rows, clusters))
    ratio = np.divide(by_group, by_row, out=np.ones_like(by_row), where=by_row > 0)
    counts = tally.counts[list(tally.which)]
    counts[-len(ratio) :] *= ratio[..., np.newaxis]
    return Tally(counts)


def _errors(sums: SearchSums) -> np.ndarray:
    """Of everybody, shape (3, 2): squares of weights, of what errs, and products of both.

    Of numbers that is what is left of them, which a tally sums; of the products, whose sign is
    chance, the root of both squares.
    """
    everybody = sums.everybody
    if not isinstance(everybody.rates, Means):
        return everybody.rates.clustered
    squares, left = everybody.rates.clustered[0], everybody.leftover.second
    return np.array([squares, left, np.sqrt(squares * left)])
