r"""Cells of rows in which models of S and of Y miss the same, so that they can be told of them.

Where predictions of S and of Y are right, what they leave of two rows that are alike has nothing in
common. Where both miss the same effect of the features it has, and S and Y go together at equal
features without any unfairness. So rows are sorted into cells, by features and never by what is left:
two features at a time, one value of a number each, and neighbourhoods in all features if these are few.
Of what is left, R of S and Q of Y, the products of different rows of a cell are summed,

.. math:: T = \sum_c \frac{\sum_c R \sum_c Q - \sum_c R Q}{n_c},

which is on average what misses in common add to the sum of R Q, the covariance of S and Y at equal
features: a second-order U-statistic (Robins et al. 2008; Liu, Mukherjee and Robins 2020). Unfairness
adds nothing to it, as it joins R and Q of the same row. Misses that are now of one sign, now of the
other add nothing either, but a subgroup may pick those of one: so R with R and Q with Q are looked at
too, and both must be beyond chance. What is missed is told to models like levels of a category.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import chdtrc, ndtr

from mdfa_fairness_plugin.data.display import ToldFeature
from mdfa_fairness_plugin.numerics.rows import RowView

# Bins of a number, also taken so many together.
_BINS, _TOGETHER = 16, 4
# Rows of a neighbourhood.
_NEIGHBOURS = 10
# Models are told so many at a time at most: of hundreds of copies of a feature not every pair.
_AT_A_TIME = 200
# More pairs of features take longer than they are worth; rows looked at a time to choose among them,
# and features from which on even that takes too much.
_MOST_PAIRS, _ROWS, _MOST_CUTS = 2_000, 5_000, 2_000
# Cells whose chances are reckoned at a time.
_CELLS = 65_536


@dataclass(frozen=True, eq=False)
class Cut:
    """Parts of the rows by one feature: its levels, or bins of a number."""

    name: str
    columns: tuple[int, ...]  # one, or those of levels
    edges: np.ndarray | None  # of bins
    size: int  # number of parts

    @classmethod
    def by(cls, name: str, column: int, edges: np.ndarray) -> Cut:
        """Bins of a number between edges."""
        return cls(name, (column,), edges, len(edges) + 1)

    @property
    def together(self) -> int:
        """How many bins are taken together."""
        return _TOGETHER if self.edges is not None and self.size > _TOGETHER else 1

    @property
    def coarse(self) -> Cut:
        """With bins taken together, if it has enough."""
        if self.together == 1:
            return self
        assert self.edges is not None
        return Cut.by(self.name, self.columns[0], self.edges[_TOGETHER - 1 :: _TOGETHER])

    def codes(self, X: np.ndarray) -> np.ndarray:
        """Part of each row, from 0."""
        if self.edges is not None:
            return np.searchsorted(self.edges, X[:, self.columns[0]], side="right")
        own = X[:, self.columns] > 0
        return np.where(own.any(axis=1), own.argmax(axis=1) + 1, 0)


@dataclass(frozen=True, eq=False)
class Crossed:
    """Rows by one feature, or by two together."""

    cuts: tuple[Cut, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Features that tell the cells."""
        return tuple(cut.name for cut in self.cuts)

    @property
    def said(self) -> str:
        """How the cells are spoken of."""
        if len(self.cuts) == 1:
            return f"each value of {self.cuts[0].name!r}"
        return f"{self.cuts[0].name!r} and {self.cuts[1].name!r} together"

    @property
    def by_value(self) -> bool:
        """Whether rows are alike in a single number."""
        return len(self.cuts) == 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(cut.size for cut in self.cuts)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for the same cells."""
        return tuple((cut.name, cut.columns, cut.size) for cut in self.cuts)

    def codes(self, X: np.ndarray) -> np.ndarray:
        """Cell of each row, from 0."""
        own = [cut.codes(X) for cut in self.cuts]
        return own[0] if len(own) == 1 else own[0] * self.cuts[1].size + own[1]


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Rows near each other in all features, halved by one after the other."""

    names: tuple[str, ...]
    halved: tuple[tuple[int, np.ndarray], ...]  # column, and where each part is cut

    @classmethod
    def of(cls, X: np.ndarray, names: tuple[str, ...]) -> Neighbourhoods:
        """As many parts as have about so many rows."""
        code, halved = np.zeros(len(X), dtype=np.intp), []
        columns = itertools.cycle(range(X.shape[1]))
        for depth in range(int(math.log2(len(X) / _NEIGHBOURS))):
            column = next(columns)
            at = np.array([_middle(X[code == part, column]) for part in range(2**depth)])
            halved.append((column, at))
            code = 2 * code + (X[:, column] > at[code])
        return cls(names, tuple(halved))

    @property
    def said(self) -> str:
        """How the neighbourhoods are spoken of."""
        return "all features together"

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for the same neighbourhoods."""
        return self.names

    @property
    def by_value(self) -> bool:
        """Whether rows are alike in a single number."""
        return False

    @property
    def size(self) -> int:
        """Number of neighbourhoods."""
        return 2 ** len(self.halved)

    def codes(self, X: np.ndarray) -> np.ndarray:
        """Neighbourhood of each row, from 0."""
        code = np.zeros(len(X), dtype=np.intp)
        for column, at in self.halved:
            code = 2 * code + (X[:, column] > at[code])
        return code


def _middle(values: np.ndarray) -> float:
    """Where values are cut in two: at the median, or the mean if nothing is above that."""
    if not len(values):
        return 0.0
    median = float(np.median(values))
    return median if (values > median).any() else float(values.mean())


Cells = Crossed | Neighbourhoods


class _Sums(NamedTuple):
    """Sums over the rows of cells: of 1, R, Q, squares and fourth powers, R Q and its square.

    Each (n_kinds, n_cells), of several kinds of as many cells.
    """

    n: np.ndarray
    totals: tuple[np.ndarray, np.ndarray]
    squares: tuple[np.ndarray, np.ndarray]
    fourths: tuple[np.ndarray, np.ndarray]
    product: np.ndarray
    product_squares: np.ndarray
    own: np.ndarray  # what R Q of single rows adds to the product of both totals

    @classmethod
    def of(cls, sums: np.ndarray) -> _Sums:
        """Of cells of several rows; others add nothing. Sums are (n_sums, n_kinds, ...)."""
        sums = sums.reshape(*sums.shape[:2], -1)
        n = sums[0]
        R, Q, R2, Q2, R4, Q4, product, product_squares, *own = np.where(n > 1, sums[1:], 0.0)
        own = own[0] if own else product
        n = np.maximum(n, 1.0)
        return cls(n, (R, Q), (R2, Q2), (R4, Q4), product, product_squares, own)

    def p_values(self, at_most: float) -> np.ndarray:
        """Chance of as much in common, (n_kinds,); 1 where it plainly is more than ``at_most``."""
        alone = np.maximum(self._alone(0), self._alone(1))
        return np.minimum(2.0 * np.minimum(alone, self._in_common(at_most / 2.0)), 1.0)

    def _alone(self, i: int) -> np.ndarray:
        """Of one of both, by a chi-squared variable of the same mean and variance."""
        n, total, squares, fourths = self.n, self.totals[i], self.squares[i], self.fourths[i]
        spread = 2.0 * (np.maximum(squares**2 - fourths, 0.0) / n**2).sum(axis=1)
        mean = squares / n
        sizes = (mean**2).sum(axis=1)
        known = (spread > 0) & (sizes > 0)
        degrees = mean.sum(axis=1) ** 2 / np.where(known, sizes, 1.0)
        z = ((total**2 - squares) / n).sum(axis=1) / np.sqrt(np.where(known, spread, 1.0))
        p = chdtrc(degrees, np.maximum(degrees + z * np.sqrt(2.0 * degrees), 0.0))
        return np.where(known, p, 1.0)

    def _in_common(self, at_most: float) -> np.ndarray:
        """Of both, if one of them is nothing but chance, whatever the other is.

        Where both are, by Chernoff's bound for products of normal variables.
        """
        (R, Q), (R2, Q2), n = self.totals, self.squares, self.n
        total = ((R * Q - self.own) / n).sum(axis=1)
        pairs = np.maximum(R2 * Q2 + self.product**2 - 2.0 * self.product_squares, 0.0)
        each = [(own / n**2).sum(axis=1) for own in (pairs, R**2 * Q2, Q**2 * R2)]
        spread = np.max(each, axis=0)
        p = 2.0 * ndtr(-np.abs(total) / np.sqrt(np.where(spread > 0, spread, np.inf)))
        seen = (p < at_most) & pairs.any(axis=1)
        p[~seen] = 1.0
        for kind in np.flatnonzero(seen).tolist():
            p[kind] = max(p[kind], self._bound(kind, float(total[kind]), pairs[kind]))
        return p

    def _bound(self, kind: int, total: float, pairs: np.ndarray) -> float:
        """Chernoff's, of one kind."""
        squares, n = self.squares[0][kind] * self.squares[1][kind], self.n[kind]
        alike = np.zeros(len(n))
        np.divide(self.product[kind], np.sqrt(squares), out=alike, where=squares > 0)
        size = np.sqrt(pairs / (1.0 + alike**2)) / n
        alike *= math.copysign(1.0, total)
        most = float((size * np.maximum(1.0 + alike, 0.1)).max())

        def exponent(share: float) -> float:
            own = share / most * size
            logs = -0.5 * np.log((1.0 - own * alike) ** 2 - own**2) - own * alike
            return float(logs.sum()) - share / most * abs(total)

        found = minimize_scalar(exponent, bounds=(0.0, 1.0 - 1e-9), method="bounded")
        return 2.0 * math.exp(min(float(found.fun), 0.0))


class Sorter:
    """Rows sorted into every kind of cells that is looked at."""

    def __init__(self, features: Sequence[ToldFeature], rows: RowView) -> None:
        X = rows[:]
        self._cuts = [cut for one in features for cut in _cuts(one, X)]
        self._codes = [_small(cut.codes(X), cut.size) for cut in self._cuts]
        alone: list[Cells] = [Crossed((cut,)) for cut in _by_value(self._cuts, X)]
        if 2 ** X.shape[1] * _NEIGHBOURS <= len(X):
            alone.append(Neighbourhoods.of(X, tuple(one.name for one in features)))
        self._alone = [(cells, _small(cells.codes(X), cells.size)) for cells in alone]
        if len(self._cuts) > _MOST_CUTS:
            self._cuts, self._codes = [], []
        n_pairs = math.comb(len(self._cuts), 2)
        n_fine = math.comb(sum(cut.together == 1 for cut in self._cuts), 2)
        self._n_kinds = len(alone) + 2 * n_pairs - n_fine

    def missed(self, R: np.ndarray, Q: np.ndarray, level: float) -> list[Cells]:
        """Cells that hold more in common than by chance, the surest first, of each features one."""
        at_most = level / max(self._n_kinds, 1)
        tried = [
            (p_value, place, cells)
            for sums, kinds in self._sums(R, Q)
            for p_value, (place, cells) in zip(sums.p_values(at_most).tolist(), kinds, strict=True)
            if p_value < at_most
        ]
        found: dict[tuple[str, ...], Cells] = {}
        for _, _, cells in sorted(tried, key=lambda one: one[:2]):
            found.setdefault(cells.names, cells)
        return list(found.values())[:_AT_A_TIME]

    def _sums(
        self, R: np.ndarray, Q: np.ndarray
    ) -> Iterator[tuple[_Sums, list[tuple[int, Cells]]]]:
        """Sums in several kinds of as many cells, and which these are, each with its place."""
        each = (R, Q, R**2, Q**2, R**4, Q**4, R * Q, (R * Q) ** 2)

        def tally(code: np.ndarray, *shape: int) -> np.ndarray:
            counted = [np.bincount(code, own, math.prod(shape)) for own in (None, *each)]
            return np.array(counted, dtype=float).reshape(-1, *shape)

        for place, (cells, code) in enumerate(self._alone):
            yield _Sums.of(tally(code, 1, cells.size)), [(place, cells)]
        alike: dict[tuple[int, int, int, int], list[tuple[int, int, int]]] = {}
        for place, pair in enumerate(self._pairs(R, Q), start=len(self._alone)):
            one, other = (self._cuts[i] for i in pair)
            key = one.size, one.together, other.size, other.together
            alike.setdefault(key, []).append((place, *pair))
        for (n_one, together, n_other, other_together), pairs in alike.items():
            at_once = max(_CELLS // (n_one * n_other), 1)
            for start in range(0, len(pairs), at_once):
                places, ones, others = zip(*pairs[start : start + at_once], strict=True)
                codes = [
                    self._codes[i].astype(np.intp) * n_other + self._codes[j]
                    for i, j in zip(ones, others, strict=True)
                ]
                sums = np.stack([tally(code, n_one, n_other) for code in codes], axis=1)
                cuts = [[self._cuts[i] for i in own] for own in (ones, others)]
                yield _Sums.of(_beyond_each(sums)), _crossed(places, *cuts)
                if max(together, other_together) > 1:
                    sums = np.add.reduceat(sums, range(0, n_one, together), axis=2)
                    sums = np.add.reduceat(sums, range(0, n_other, other_together), axis=3)
                    coarse = [[cut.coarse for cut in own] for own in cuts]
                    yield _Sums.of(_beyond_each(sums)), _crossed(places, *coarse)

    def _pairs(self, R: np.ndarray, Q: np.ndarray) -> Iterable[tuple[int, int]]:
        """Pairs of features; of too many those that tell most by halves of their values."""
        n = len(self._cuts)
        if math.comb(n, 2) <= _MOST_PAIRS:
            return itertools.combinations(range(n), 2)
        told = np.zeros((2, n, n))
        middle = [np.median(code) for code in self._codes]
        share = [float(np.mean(code > at)) for code, at in zip(self._codes, middle, strict=True)]
        for start in range(0, len(R), _ROWS):
            own = slice(start, start + _ROWS)
            above = (np.column_stack([code[own] for code in self._codes]) > middle) - share
            told += [above.T @ (above * left[own, np.newaxis]) for left in (R, Q)]
        size = np.abs(told[0] * told[1])
        pairs = np.column_stack(np.triu_indices(n, 1))
        most = np.argsort(-size[tuple(pairs.T)], kind="stable")[:_MOST_PAIRS]
        return [(int(i), int(j)) for i, j in pairs[most]]


def _crossed(
    places: Sequence[int], ones: Sequence[Cut], others: Sequence[Cut]
) -> list[tuple[int, Cells]]:
    cuts = zip(ones, others, strict=True)
    return [(place, Crossed(both)) for place, both in zip(places, cuts, strict=True)]


def _cuts(feature: ToldFeature, X: np.ndarray) -> Iterator[Cut]:
    """Parts by a feature: its levels, rare ones pooled, or bins of each of its columns.

    Rare levels are known to models one by one: what a row's answer did to the predictions of the few
    others would pass for what they have in common.
    """
    columns = feature.encoded
    if len(columns) > 1 and np.isin(X[:, columns], (0, 1)).all():
        yield Cut(feature.name, columns, None, len(columns) + 1)
        return
    for column in columns:
        values = np.unique(X[:, column])
        edges = (values[1:] + values[:-1]) / 2
        if len(values) > _BINS:
            edges = np.unique(np.quantile(X[:, column], np.arange(1, _BINS) / _BINS))
        if len(edges):
            yield Cut.by(feature.name, column, edges)


def _by_value(cuts: Sequence[Cut], X: np.ndarray) -> Iterator[Cut]:
    """Values of numbers one by one, of which most are of several rows."""
    for cut in cuts:
        if cut.edges is None:
            continue
        values, n = np.unique(X[:, cut.columns[0]], return_counts=True)
        if len(values) >= _BINS and n[n > 1].sum() > len(X) / 2:
            yield Cut.by(cut.name, cut.columns[0], (values[1:] + values[:-1]) / 2)


def _small(codes: np.ndarray, size: int) -> np.ndarray:
    return codes.astype(np.min_scalar_type(size))


def _beyond_each(sums: np.ndarray) -> np.ndarray:
    """Sums over cells of two features, (n_sums, n_kinds, ., .), of totals what is beyond each of both.

    So a row tells of other cells, too; what its own R Q adds to products of totals is put last.
    """
    n, product = sums[0], sums[7]
    total = sums[1:3] * 1.0
    weight = n / n.sum(axis=(1, 2), keepdims=True)
    total += weight * sums[1:3].sum(axis=(2, 3), keepdims=True)
    own = weight**2 * (product + product.sum(axis=(1, 2), keepdims=True))
    here = 1.0 - weight
    for axis in (1, 2):
        of, rows = (each.sum(axis=axis, keepdims=True) for each in (product, n))
        share = np.divide(n, rows, out=np.zeros_like(n), where=rows > 0)
        total -= share * sums[1:3].sum(axis=axis + 1, keepdims=True)
        beyond = share - weight
        own += beyond**2 * (of - product) - weight**2 * of
        here -= beyond
    return np.concatenate([sums[:1], total, sums[3:], [own + here**2 * product]])
