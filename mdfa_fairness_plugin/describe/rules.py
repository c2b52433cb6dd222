"""A short rule that says who is in a subgroup."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.cells import row_blocks, unequal
from mdfa_fairness_plugin.describe.profile import as_levels, feature_kinds, numeric_values
from mdfa_fairness_plugin.describe.wording import is_missing, label_text, number

EVERYBODY: Final = "everybody"
NOBODY: Final = "nobody"

# What a condition must add to the correlation of rule and membership to be worth its words.
_CONDITION_COST: Final = 0.01
_DETAIL_COST: Final = 0.005  # a second end, "or missing"
_LEVEL_COST: Final = 0.003  # each further category named
_UNION_COST: Final = 0.05
# What a rounder cut point may lose.
_ROUNDING_LOSS: Final = 0.004
# Below this a rule says too little about who is in; chance gives 1/2.
MIN_FIDELITY: Final = 0.6
_GOOD_ENOUGH: Final = 0.95  # no second conjunction is looked for
_N_BINS: Final = 32
_MAX_NAMED_LEVELS: Final = 4
_BEAM_WIDTH: Final = 6
_FEW: Final = 64  # histograms scored at a time
_MAX_FEATURES: Final = 40  # kept after the first step, by what each does alone
# Candidates whose phi differ by less may cover the same rows; sums in another order differ by less.
_SAME: Final = 1e-9
_SIMPLE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.")

# Values of one feature: numbers, or codes and the levels they stand for.
_Values = np.ndarray | tuple[np.ndarray, tuple[Hashable, ...]]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One condition on one displayed feature.

    Parameters
    ----------
    column : int
        Position of the feature in the display frame.
    name : str
        Its name, safe to show.
    kind : {"numeric", "datetime", "categorical", "boolean"}
        How values compare.
    low, high : float
        Numeric features: values above ``low`` and at most ``high`` (days since 1970 for dates).
    whole : bool
        Whether all values are whole numbers, which changes the wording only.
    missing : bool
        Whether missing values belong too.
    levels : tuple
        Categorical features: the levels named, None for the missing one.
    negated : bool
        Whether ``levels`` are those left out.
    """

    column: int
    name: str
    kind: str
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    missing: bool = False
    levels: tuple[Hashable, ...] = ()
    negated: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the condition is on an ordered quantity."""
        return self.kind in ("numeric", "datetime")

    def met_by(self, values: _Values) -> np.ndarray:
        """Whether each of some values of the feature meets the condition."""
        if isinstance(values, tuple):
            codes, levels = values
            named = set(self.levels)
            meets = np.array([(level in named) != self.negated for level in levels], dtype=bool)
            return meets[codes]
        meets = values <= self.high
        if self.low > -math.inf:
            meets &= values > self.low
        if self.missing:
            meets |= np.isnan(values)
        return meets

    @property
    def text(self) -> str:
        """The condition in words."""
        return self._numeric_text() if self.numeric else self._level_text()

    def _numeric_text(self) -> str:
        low, high = math.isfinite(self.low), math.isfinite(self.high)
        if self.low == math.inf:
            return f"{self.name} is missing"
        if not low and not high:
            return f"{self.name} is recorded"
        step = self.low + 1 if self.whole else math.nextafter(self.low, math.inf)
        one_value = step == self.high
        if self.kind == "datetime":
            below, above = f"until {_date(self.high)}", f"after {_date(self.low)}"
            between = f"is {_date(self.high)}" if one_value else f"{above} and {below}"
        elif self.whole:
            first, last = number(self.low + 1), number(self.high)
            below, above = f"at most {last}", f"at least {first}"
            between = f"is {first}" if one_value else f"from {first} to {last}"
        else:
            below, above = f"at most {number(self.high)}", f"above {number(self.low)}"
            between = f"between {number(self.low)} and {number(self.high)}"
            between = f"is {number(self.high)}" if one_value else between
        words = between if low and high else below if high else above
        return f"{self.name} {words}{self._or_missing}"

    @property
    def _or_missing(self) -> str:
        return " (or missing)" if self.missing else ""

    def _level_text(self) -> str:
        shown = [_quoted(level) for level in self.levels]
        if len(shown) == 1:
            return f"{self.name} is {'not ' if self.negated else ''}{shown[0]}"
        *head, last = shown
        joined = f"{', '.join(head)} {'nor' if self.negated else 'or'} {last}"
        return f"{self.name} is {'neither ' if self.negated else ''}{joined}"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A short description of a subgroup, and how well it fits.

    Parameters
    ----------
    text : str
        ``"everybody"``, ``"nobody"``, the conditions in words, or empty if no short rule
        describes the subgroup.
    alternatives : tuple of tuple of Condition
        At most two conjunctions, of which one must hold.
    fidelity : float
        Balanced agreement: mean of the shares of rows inside and outside the subgroup that
        the rule puts on the right side. 1 is perfect, 1/2 no better than chance.
    agreement : float
        Share of rows where rule and membership agree.
    precision : float
        Share of the rule's rows that are in the subgroup.
    recall : float
        Share of the subgroup's rows that the rule covers.
    """

    text: str = ""
    alternatives: tuple[tuple[Condition, ...], ...] = ()
    fidelity: float = math.nan
    agreement: float = math.nan
    precision: float = math.nan
    recall: float = math.nan

    @property
    def n_conditions(self) -> int:
        """Conditions in all alternatives."""
        return sum(map(len, self.alternatives))

    def applies(self, display: pd.DataFrame, rows: np.ndarray | None = None) -> np.ndarray:
        """Whether the rule covers each row of a display frame, new rows included.

        Parameters
        ----------
        display : DataFrame of shape (n_display_rows, n_features)
            With the columns of the frame the rule was made from.
        rows : ndarray of int of shape (n_rows,), optional
            Positions of the rows asked about; every row of the frame by default.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            All False for an empty rule.
        """
        covered = np.full(len(display) if rows is None else len(rows), self.text == EVERYBODY)
        if not self.alternatives:
            return covered
        asked = [(c, i) for i, conjunction in enumerate(self.alternatives) for c in conjunction]
        features = dict.fromkeys((condition.column, condition.kind) for condition, _ in asked)
        for block in row_blocks(len(covered)):
            chosen = block if rows is None else rows[block]
            meets = np.ones((len(self.alternatives), len(covered[block])), dtype=bool)
            for column, kind in features:
                values = _values(display, column, kind, chosen)
                for condition, i in asked:
                    if condition.column == column:
                        meets[i] &= condition.met_by(values)
            covered[block] = meets.any(axis=0)
        return covered


def describe_rule(
    membership: np.ndarray,
    display: pd.DataFrame,
    *,
    rows: np.ndarray | None = None,
    displays: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
    max_conditions: int = 4,
    max_rows: int = 20_000,
) -> Rule:
    """Find a short rule for who is in a subgroup.

    A beam search over conjunctions of conditions, one per feature, each the best interval or
    set of levels given the others; then, if it describes the subgroup clearly better, a union
    of two. Conditions that add little are dropped and cut points moved to rounder numbers
    that serve as well. The same input always gives the same rule.

    Parameters
    ----------
    membership : ndarray of shape (n_rows,)
        Whether each row is in the subgroup.
    display : DataFrame of shape (n_display_rows, n_features)
        Audited features with readable values.
    rows : ndarray of int of shape (n_rows,), optional
        Positions in ``display`` of the rows described; every row of the frame, in its order, by
        default. Cheaper than a frame of these rows only: few columns and rows are looked at.
    displays : sequence of DisplayFeature, optional
        Gives each column's ``kind``; otherwise it follows from the column's type.
    sample_weight : ndarray of shape (n_rows,), optional
        Sampling weights.
    max_conditions : int, default 4
        Conditions in the whole rule, ``a from 1 to 2`` being one.
    max_rows : int, default 20000
        Rows searched; more are sampled evenly inside and outside. The measures of fit are of
        all rows.

    Returns
    -------
    Rule

    Notes
    -----
    The search maximises the phi coefficient of rule and membership, which unlike plain
    agreement does not favour "nobody" for small subgroups, and unlike balanced agreement
    does not cover ten outsiders for each member.

    Examples
    --------
    >>> display = pd.DataFrame({"age": np.arange(100.0), "sex": ["F", "M"] * 50})
    >>> rule = describe_rule((display.age <= 40) & (display.sex == "M"), display)
    >>> rule.text, rule.fidelity
    ('age at most 40 and sex is M', 1.0)
    """
    return described(
        np.asarray(membership, dtype=bool),
        display,
        rows=rows,
        displays=displays,
        sample_weight=sample_weight,
        max_conditions=max_conditions,
        max_rows=max_rows,
    )[0]


def described(
    inside: np.ndarray,
    display: pd.DataFrame,
    *,
    rows: np.ndarray | None = None,
    displays: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
    max_conditions: int = 4,
    max_rows: int = 20_000,
) -> tuple[Rule, np.ndarray]:
    """Find the rule of ``describe_rule``, and the rows it covers.

    Parameters
    ----------
    inside : ndarray of bool of shape (n_rows,)
    display, rows, displays, sample_weight, max_conditions, max_rows
        Of ``describe_rule``.

    Returns
    -------
    rule : Rule
    covered : ndarray of bool of shape (n_rows,)
        What ``rule.applies(display, rows)`` gives.
    """
    n = len(inside)
    nobody = np.zeros(n, dtype=bool)
    weights = unequal(sample_weight)
    if n == 0 or not inside.any():
        return Rule(text=NOBODY, fidelity=1.0, agreement=1.0) if n else Rule(), nobody
    if inside.all():
        rule = Rule(text=EVERYBODY, fidelity=1.0, agreement=1.0, precision=1.0, recall=1.0)
        return rule, ~nobody
    if display.shape[1] == 0 or max_conditions < 1:
        return Rule(), nobody

    chosen, n_members, chosen_weights = _sample(inside, weights, max_rows)
    if rows is not None:
        chosen = rows[chosen]
    kinds = feature_kinds(display, displays)
    search = _Search(display, kinds, chosen, n_members, chosen_weights)
    alternatives = search.best_rule(max_conditions)
    if not alternatives:
        return Rule(), nobody
    rule = Rule(text=_join(alternatives), alternatives=alternatives)
    covered = rule.applies(display, rows)
    rule = replace(rule, **rule_fit(covered, inside, weights))
    return (rule, covered) if rule.fidelity >= MIN_FIDELITY else (Rule(), nobody)


def rule_fit(
    covered: np.ndarray, inside: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, Any]:
    """Measure how well rows covered agree with the rows of a subgroup.

    Parameters
    ----------
    covered, inside : ndarray of bool of shape (n_rows,)
        Rows a rule covers; rows of the subgroup. Both some and not all are inside.
    weights : ndarray of shape (n_rows,), optional

    Returns
    -------
    dict of str to float
        The measures of ``Rule``: fidelity, agreement, precision, recall.
    """
    cells = np.zeros(4)
    for block in row_blocks(len(inside)):
        cell = 2 * covered[block].astype(np.int8) + inside[block]
        cells += np.bincount(cell, None if weights is None else weights[block], minlength=4)
    neither, missed, extra, hits = cells.tolist()
    recall, rejected = hits / (hits + missed), neither / (neither + extra)
    return {
        "fidelity": (recall + rejected) / 2,
        "agreement": (hits + neither) / (hits + missed + extra + neither),
        "precision": hits / (hits + extra) if hits + extra > 0 else math.nan,
        "recall": recall,
    }


def _sample(
    inside: np.ndarray, weights: np.ndarray | None, max_rows: int
) -> tuple[np.ndarray, int, np.ndarray]:
    """Rows to search, members first; how many of these there are; weights.

    As many members as others where both abound; the weights undo that.
    """
    n, n_inside = len(inside), int(inside.sum())
    max_rows = min(max_rows, n)
    n_members = min(n_inside, max(max_rows // 2, max_rows - (n - n_inside)))
    rng = np.random.default_rng(0)  # fixed: a description may not change between calls
    drawn, factors = [], []
    for part, size in ((inside, n_members), (~inside, max_rows - n_members)):
        rows = np.flatnonzero(part)
        size = min(size, len(rows))
        factors.append(np.full(size, len(rows) / size))
        drawn.append(np.sort(rng.choice(rows, size, replace=False)) if n > max_rows else rows)
    chosen = np.concatenate(drawn)
    undo = np.concatenate(factors)
    return chosen, len(drawn[0]), undo if weights is None else weights[chosen] * undo


def _phi(hits: np.ndarray, misses: np.ndarray, inside: float, outside: float) -> np.ndarray:
    """Phi coefficient of rules covering ``hits`` of ``inside`` and ``misses`` of ``outside``."""
    covered = hits + misses
    spread = inside + outside - covered
    spread *= covered
    spread *= inside
    spread *= outside
    value = hits * outside
    value -= np.multiply(misses, inside, out=covered)
    least = max(1e-12 * (inside + outside) ** 4, np.finfo(float).tiny)
    value /= np.sqrt(np.maximum(spread, least, out=covered), out=covered)
    value[spread <= least] = 0.0
    return value


def _cost(condition: Condition) -> float:
    """Cost of one condition's words, in units of the phi coefficient."""
    if condition.numeric:
        two_ends = math.isfinite(condition.low) and math.isfinite(condition.high)
        more = condition.missing and condition.low != math.inf
        return _CONDITION_COST + _DETAIL_COST * (two_ends + more)
    return _CONDITION_COST + _LEVEL_COST * (len(condition.levels) - 1)


@dataclass(frozen=True, kw_only=True)
class _Feature:
    """One display column cut into bins: intervals of values, or levels; the last is missing."""

    column: int
    name: str
    kind: str
    codes: np.ndarray  # int (n,)
    n_bins: int  # the missing bin not counted
    has_missing: bool
    whole: bool = False
    values: np.ndarray = field(default_factory=lambda: np.empty(0))  # numeric: float (n,)
    edges: np.ndarray = field(default_factory=lambda: np.empty(0))  # numeric: between bins
    levels: tuple[Hashable, ...] = ()

    @property
    def numeric(self) -> bool:
        return self.kind in ("numeric", "datetime")


@dataclass(frozen=True)
class _Candidate:
    """A conjunction with the rows it covers and its score net of the words it takes."""

    score: float
    cost: float
    conditions: tuple[Condition, ...]
    covered: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Options:
    """Best condition for each of several histograms of features cut alike."""

    raw: np.ndarray  # float (n_histograms,); -inf where there is none
    cost: np.ndarray  # float (n_histograms,)
    condition: Callable[[int, _Feature], Condition]  # of one histogram


@dataclass(frozen=True, kw_only=True, eq=False)
class _Choices:
    """Best condition on each feature, for several sets of rows."""

    raw: np.ndarray  # float (n_sets, n_features); -inf where there is none
    cost: np.ndarray  # float (n_sets, n_features)
    condition: Callable[[int, int], Condition]  # of one set and feature


class _Bins:
    """Features cut into bins, to find the best condition on each of them in one go."""

    def __init__(self, features: list[_Feature], n_members: int, weights: np.ndarray) -> None:
        self.features = features
        self.place = {feature.column: i for i, feature in enumerate(features)}
        self._n_members = n_members
        self._weights = weights
        self._alike: dict[tuple[bool, int, bool], list[int]] = {}
        for i, feature in enumerate(features):
            key = (feature.numeric, feature.n_bins, feature.has_missing)
            self._alike.setdefault(key, []).append(i)
        self._n_bins = sum(feature.n_bins + 1 for feature in features)
        # The codes of a row lie side by side, those of features cut alike next to each other; those
        # of rows outside follow on those of members.
        self._codes = np.empty(
            (len(weights), len(features)), dtype=np.min_scalar_type(2 * self._n_bins)
        )
        place = first = 0
        for (_, n_bins, _), alike in self._alike.items():
            for i in alike:
                np.add(features[i].codes, first, out=self._codes[:, place], casting="unsafe")
                place, first = place + 1, first + n_bins + 1
        self._codes[n_members:] += self._codes.dtype.type(self._n_bins)

    def best(
        self, sets: Sequence[np.ndarray], start: tuple[float, float], totals: tuple[float, float]
    ) -> _Choices:
        """Best condition on each feature among the rows of each mask.

        ``start`` counts members and others covered whatever the condition.
        """
        counts = np.empty((2, len(sets), self._n_bins))
        for i, covered in enumerate(sets):
            counts[:, i] = self._counts(covered)
        raw, cost = np.empty((2, len(sets), len(self.features)))
        found: dict[int, tuple[_Options, int, int]] = {}
        first = 0
        for (numeric, n_bins, has_missing), alike in self._alike.items():
            last = first + len(alike) * (n_bins + 1)
            histograms = counts[:, :, first:last].reshape(2, -1, n_bins + 1)
            first = last
            options = (
                _runs(histograms, has_missing, start, totals)
                if numeric
                else _level_sets(histograms, start, totals)
            )
            raw[:, alike] = options.raw.reshape(len(sets), -1)
            cost[:, alike] = options.cost.reshape(len(sets), -1)
            found |= {i: (options, place, len(alike)) for place, i in enumerate(alike)}

        def condition(which: int, i: int) -> Condition:
            options, place, n_alike = found[i]
            return options.condition(which * n_alike + place, self.features[i])

        return _Choices(raw=raw, cost=cost, condition=condition)

    def _counts(self, covered: np.ndarray) -> np.ndarray:
        """Weight of members and of others in every bin of every feature among the rows marked."""
        rows = np.flatnonzero(covered)
        each = np.repeat(self._weights.take(rows), self._codes.shape[1])
        codes = self._codes.take(rows, axis=0).ravel()
        return np.bincount(codes, weights=each, minlength=2 * self._n_bins).reshape(2, -1)


class _Search:
    """Looks for a rule on the sampled rows: members first, then the others."""

    def __init__(
        self,
        display: pd.DataFrame,
        kinds: list[str],
        rows: np.ndarray,
        n_members: int,
        weights: np.ndarray,
    ) -> None:
        self.n_members = n_members
        self.weights = weights
        self._totals = self._tally(np.ones(len(rows), dtype=bool))
        found = (_make_feature(display, column, kind, rows) for column, kind in enumerate(kinds))
        self.features = [f for f in found if f.n_bins + f.has_missing > 1]
        self._by_column = {feature.column: feature for feature in self.features}
        self._bins = _Bins(self.features, n_members, weights)
        self._alone: dict[int, _Bins] = {}
        self._covers: dict[Condition, np.ndarray] = {}

    def best_rule(self, max_conditions: int) -> tuple[tuple[Condition, ...], ...]:
        """Give the best conjunction, or union of two, after polishing; empty if none helps."""
        if min(self._totals) <= 0 or not self.features:
            return ()
        nothing = np.zeros(len(self.weights), dtype=bool)
        by_length = self._beam(max_conditions, nothing)
        ranked = sorted((c for candidates in by_length for c in candidates), key=lambda c: -c.score)
        if not ranked:
            return ()
        best, best_score = self._improved([list(ranked[0].conditions)])
        # A union is tried from the best starts of each length that leaves room for another.
        starts = [c for candidates in by_length[: max_conditions - 1] for c in candidates[:2]]
        for start in starts if best_score < _GOOD_ENOUGH else ():
            room = max_conditions - len(start.conditions)
            seconds = [c for group in self._beam(room, start.covered) for c in group[:1]]
            for second in seconds:
                union, score = self._improved([list(start.conditions), list(second.conditions)])
                if score > best_score + 1e-9:
                    best, best_score = union, score
        return self._polish(best) if best_score > 0 else ()

    def _improved(
        self, rule: list[list[Condition]], max_sweeps: int = 3
    ) -> tuple[list[list[Condition]], float]:
        """Choose each condition anew given the others, until none changes.

        The score is the phi coefficient less the cost of the rule's words.
        """
        costs = [[_cost(condition) for condition in conjunction] for conjunction in rule]
        words = _UNION_COST * (len(rule) - 1)
        score = self._score(self._covered(rule)) - sum(map(sum, costs)) - words
        places = [(part, i) for part in range(len(rule)) for i in range(len(rule[part]))]
        # A condition need not be looked at again before another one has changed.
        settled: set[tuple[int, int]] = set()
        beside: dict[int, tuple[np.ndarray, tuple[float, float]]] = {}
        for part, place in places * max_sweeps:
            if (part, place) in settled:
                continue
            settled.add((part, place))
            if part not in beside:
                taken = self._covered(rule[:part] + rule[part + 1 :])
                beside[part] = ~taken, self._tally(taken)
            free, start = beside[part]
            for i, condition in enumerate(rule[part]):
                if i != place:
                    free = free & self._covered_by(condition)
            choices = self._alone_in(rule[part][place].column).best([free], start, self._totals)
            if not math.isfinite(choices.raw[0, 0]):
                continue
            chosen = choices.condition(0, 0)
            spared = costs[part][place] - _cost(chosen)
            net = float(choices.raw[0, 0]) - sum(map(sum, costs)) + spared - words
            if net > score + 1e-9:
                rule = [list(conjunction) for conjunction in rule]
                rule[part][place] = chosen
                costs[part][place] -= spared
                score, settled, beside = net, {(part, place)}, {part: beside[part]}
        return rule, score

    def _alone_in(self, column: int) -> _Bins:
        """Bins of a single feature."""
        if column not in self._alone:
            self._alone[column] = _Bins([self._by_column[column]], self.n_members, self.weights)
        return self._alone[column]

    def _around(
        self, rule: list[list[Condition]], part: int, place: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows one condition decides on, and rows another conjunction already covers."""
        rest = [conjunction for i, conjunction in enumerate(rule) if i != part]
        taken = self._covered(rest)
        others = [c for i, c in enumerate(rule[part]) if i != place]
        return self._covered([others]) & ~taken, taken

    def _tally(self, rows: np.ndarray) -> tuple[float, float]:
        """Weight of members and of others among rows given by a mask."""
        # Not a dot product: that of some libraries depends on the number of threads.
        counted = self.weights * rows
        return float(counted[: self.n_members].sum()), float(counted[self.n_members :].sum())

    def _score(self, covered: np.ndarray) -> float:
        hits, misses = self._tally(covered)
        return float(_phi(np.array([hits]), np.array([misses]), *self._totals)[0])

    def _beam(self, max_length: int, taken: np.ndarray) -> list[list[_Candidate]]:
        """Best conjunctions of each length, among rows not yet ``taken`` by another."""
        free = ~taken
        totals = self._tally(free)
        level = [_Candidate(-math.inf, 0.0, (), free)]
        bins = self._bins
        found: list[list[_Candidate]] = []
        for _ in range(max_length):
            choices = bins.best([parent.covered for parent in level], (0.0, 0.0), totals)
            for i, parent in enumerate(level):
                used = (bins.place.get(condition.column) for condition in parent.conditions)
                choices.raw[i, [place for place in used if place is not None]] = -math.inf
            level = self._grown(level, choices)
            if not level:
                break
            found.append(level)
            if len(bins.features) > _MAX_FEATURES:
                loss = choices.cost[0] - choices.raw[0]  # infinite where there is no condition
                kept = [
                    i for i in np.argsort(loss, kind="stable")[:_MAX_FEATURES] if loss[i] < math.inf
                ]
                bins = _Bins([bins.features[i] for i in sorted(kept)], self.n_members, self.weights)
        return found

    def _grown(self, level: list[_Candidate], choices: _Choices) -> list[_Candidate]:
        """Best candidates with one more condition, one for each set of rows they may cover."""
        cost = np.array([parent.cost for parent in level])[:, None] + choices.cost
        raw, score = choices.raw.ravel(), (choices.raw - cost).ravel()
        children: dict[int, _Candidate] = {}

        def child(which: int) -> tuple[bytes, _Candidate]:
            i, feature = divmod(which, choices.raw.shape[1])
            if which not in children:
                condition = choices.condition(i, feature)
                children[which] = _Candidate(
                    float(score[which]),
                    float(cost[i, feature]),
                    (*level[i].conditions, condition),
                    level[i].covered & self._covered_by(condition),
                )
            return np.packbits(children[which].covered).tobytes(), children[which]

        # Whom a candidate covers is worked out from the best down, as few are kept.
        seen: set[bytes] = set()
        least = -math.inf
        for which in np.argsort(-score, kind="stable").tolist():
            if not math.isfinite(score[which]):
                break
            seen.add(child(which)[0])
            if len(seen) == _BEAM_WIDTH:
                least = float(score[which])
                break
        # Those that cover the same rows have the same phi, whatever their words cost.
        phi = raw[np.isfinite(raw) & (score >= least - _SAME)]
        alike = np.flatnonzero((np.abs(raw[:, None] - phi) < _SAME).any(axis=1))
        grown: dict[bytes, _Candidate] = {}
        for which in alike.tolist():
            key, candidate = child(which)
            if key not in grown or candidate.score > grown[key].score + 1e-12:
                grown[key] = candidate
        return sorted(grown.values(), key=lambda c: -c.score)[:_BEAM_WIDTH]

    def _covered_by(self, condition: Condition) -> np.ndarray:
        if condition not in self._covers:
            feature = self._by_column[condition.column]
            self._covers[condition] = condition.met_by(
                feature.values if feature.numeric else (feature.codes, feature.levels)
            )
        return self._covers[condition]

    def _polish(self, rule: list[list[Condition]]) -> tuple[tuple[Condition, ...], ...]:
        """Drop conditions that add little, then round the cut points of the rest."""
        self._drop_idle(rule)
        for part, conjunction in enumerate(rule):
            for place, condition in enumerate(conjunction):
                if condition.numeric and condition.low != math.inf:
                    conjunction[place] = self._rounded(rule, part, place)
        self._drop_idle(rule)
        for part, conjunction in enumerate(rule):
            for place, condition in enumerate(conjunction):
                if condition.numeric and condition.low != math.inf:
                    conjunction[place] = self._plainest(rule, part, place)
        return tuple(tuple(sorted(conjunction, key=lambda c: c.column)) for conjunction in rule)

    def _covered(
        self, rule: list[list[Condition]], without: tuple[int, int] | None = None
    ) -> np.ndarray:
        covered = np.zeros(len(self.weights), dtype=bool)
        for part, conjunction in enumerate(rule):
            kept = [c for place, c in enumerate(conjunction) if (part, place) != without]
            meets = np.ones(len(self.weights), dtype=bool)
            for condition in kept:
                meets &= self._covered_by(condition)
            covered |= meets
        return covered

    def _drop_idle(self, rule: list[list[Condition]]) -> None:
        while sum(map(len, rule)) > 1:
            score = self._score(self._covered(rule))
            if len(rule) == 2:
                for part in (1, 0):
                    if self._score(self._covered([rule[part]])) >= score - _CONDITION_COST:
                        rule[:] = [rule[part]]
                        break
                else:
                    part = -1
                if part >= 0:
                    continue
            losses = [
                (score - self._score(self._covered(rule, (part, place))), part, place)
                for part, conjunction in enumerate(rule)
                for place in range(len(conjunction))
                if len(conjunction) > 1
            ]
            if not losses or min(losses)[0] > _CONDITION_COST / 2:
                return
            _, part, place = min(losses)
            del rule[part][place]

    def _plainest(self, rule: list[list[Condition]], part: int, place: int) -> Condition:
        """Drop what a condition says in vain, and name a value that is the only one it admits."""
        condition = rule[part][place]
        x = self._by_column[condition.column].values
        score = self._score(self._covered(rule))
        for fewer in _simpler(condition):
            trial = [list(conjunction) for conjunction in rule]
            trial[part][place] = fewer
            if self._score(self._covered(trial)) >= score - _DETAIL_COST / 2:
                condition = fewer
                break
        admitted = np.unique(x[(x > condition.low) & (x <= condition.high)])
        if len(admitted) != 1:
            return condition
        (value,) = admitted.tolist()
        below = value - 1.0 if condition.whole else math.nextafter(value, -math.inf)
        return replace(condition, low=below, high=value)

    def _rounded(self, rule: list[list[Condition]], part: int, place: int) -> Condition:
        """Move the ends of one condition to the roundest numbers that serve as well."""
        condition = rule[part][place]
        feature = self._by_column[condition.column]
        free, taken = self._around(rule, part, place)
        if math.isfinite(condition.high):
            high = self._best_end(feature, condition, free, taken, upper=True)
            condition = _replace_ends(condition, condition.low, high)
        if math.isfinite(condition.low):
            low = self._best_end(feature, condition, free, taken, upper=False)
            condition = _replace_ends(condition, low, condition.high)
        return condition

    def _best_end(
        self,
        feature: _Feature,
        condition: Condition,
        free: np.ndarray,
        taken: np.ndarray,
        *,
        upper: bool,
    ) -> float:
        """Best end of an interval, the other fixed, as round as the score allows."""
        x = feature.values
        fixed = x > condition.low if upper else x <= condition.high
        moving = np.flatnonzero(free & fixed)
        if len(moving) == 0:
            return condition.high if upper else condition.low
        base = taken | (free & np.isnan(x)) if condition.missing else taken
        hits, misses = self._tally(base)
        cuts, codes = np.unique(x[moving], return_inverse=True)
        weight, n_members = self.weights[moving], np.searchsorted(moving, self.n_members)
        hits_at = np.bincount(codes[:n_members], weight[:n_members], minlength=len(cuts))
        misses_at = np.bincount(codes[n_members:], weight[n_members:], minlength=len(cuts))
        # Cutting at cuts[i] keeps values up to it (upper) or leaves them out (lower).
        below_hits, below_misses = np.cumsum(hits_at), np.cumsum(misses_at)
        kept_hits = hits + (below_hits if upper else below_hits[-1] - below_hits)
        kept_misses = misses + (below_misses if upper else below_misses[-1] - below_misses)
        scores = _phi(kept_hits, kept_misses, *self._totals)[:-1]
        if len(scores) == 0:
            return condition.high if upper else condition.low
        best = int(np.argmax(scores))
        good = scores >= scores[best] - _ROUNDING_LOSS
        first = last = best
        while first > 0 and good[first - 1]:
            first -= 1
        while last + 1 < len(good) and good[last + 1]:
            last += 1
        shift = 1.0 if condition.whole and not upper else 0.0  # "at least" names the next number
        return (
            simplest_between(cuts[first] + shift, cuts[last + 1] + shift, whole=condition.whole)
            - shift
        )


def _simpler(condition: Condition) -> list[Condition]:
    """Give the condition with one of its two ends, or without the missing values."""
    options = []
    if math.isfinite(condition.low) and math.isfinite(condition.high):
        options += [replace(condition, low=-math.inf), replace(condition, high=math.inf)]
    if condition.missing and (math.isfinite(condition.low) or math.isfinite(condition.high)):
        options.append(replace(condition, missing=False))
    return options


def _replace_ends(condition: Condition, low: float, high: float) -> Condition:
    return condition if low >= high else replace(condition, low=low, high=high)


def simplest_between(low: float, high: float, *, whole: bool = False) -> float:
    """Roundest number from ``low`` up to, not including, ``high``.

    Examples
    --------
    >>> simplest_between(0.337, 0.362), simplest_between(23.2, 25.9), simplest_between(17, 18)
    (0.35, 25.0, 17.0)
    """
    low, high = float(low), float(high)  # numbers of numpy take twice as long
    if not low < high:
        return low
    if low <= 0 < high:
        return 0.0
    exponent = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for power in range(exponent, exponent - 16, -1):
        for multiple in (1, 0.5, 0.2):
            step = multiple * 10.0**power
            if whole and step < 1:
                return float(math.ceil(low))
            first, last = math.ceil(low / step), math.ceil(high / step) - 1
            if first <= last:
                middle = round((low + high) / 2 / step)
                chosen = round(min(max(middle, first), last) * step, max(0, 1 - power))
                if low <= chosen < high:
                    return float(chosen)
    return float(low)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """All runs of bins, that of all bins in place ``n_bins - 1``."""

    first: np.ndarray
    last: np.ndarray
    after: np.ndarray  # the bin after the last
    cost: np.ndarray  # without the missing values and with them


@lru_cache(maxsize=128)
def _pairs(n_bins: int) -> _Pairs:
    """All runs of bins, wider runs after narrower starts."""
    first, last = np.triu_indices(n_bins)
    # Here a second end and "or missing" together cost no more than one; `_cost`, by which a condition
    # replaces another, counts both.
    detailed = ((first > 0) & (last < n_bins - 1)) | np.array([[False], [True]])
    cost = _CONDITION_COST + _DETAIL_COST * detailed
    return _Pairs(first=first, last=last, after=last + 1, cost=cost)


def _runs(
    counts: np.ndarray,
    has_missing: bool,
    start: tuple[float, float],
    totals: tuple[float, float],
) -> _Options:
    """Best run of bins, with or without the missing values, or these alone.

    Counts are of members and of others, a row for each histogram, missing values in the last column.
    """
    n = counts.shape[2] - 1
    pairs = _pairs(n)
    raw, cost = np.empty((2, counts.shape[1]))
    chosen = np.empty(counts.shape[1], dtype=np.intp)
    up_to = np.zeros_like(counts)
    np.cumsum(counts[:, :, :n], axis=2, out=up_to[:, :, 1:])
    # A few histograms at a time stay in the processor's cache.
    for begin in range(0, len(raw), _FEW):
        few = slice(begin, begin + _FEW)
        row = np.arange(len(raw[few]))
        covered = up_to[:, few].take(pairs.after, axis=2)
        covered -= up_to[:, few].take(pairs.first, axis=2)
        options = []
        for missing in (False, True) if has_missing else (False,):
            if missing:
                covered += counts[:, few, n:]
            phi = _phi(covered[0] + start[0], covered[1] + start[1], *totals)
            words = pairs.cost[int(missing)]
            net = phi - words
            if missing or not has_missing:
                net[:, n - 1] = -math.inf  # asks for nothing
            best = net.argmax(axis=1)
            options.append((phi[row, best], words[best], best + missing * len(words)))
        if has_missing:
            alone = counts[:, few, n]
            phi = _phi(alone[0] + start[0], alone[1] + start[1], *totals)
            options.append((phi, np.full(len(row), _CONDITION_COST), 2 * len(words) + 0 * row))
        option = options[0]
        for other in options[1:]:
            better = other[0] - other[1] > option[0] - option[1] + 1e-12
            option = tuple(np.where(better, *pair) for pair in zip(other, option, strict=True))
        raw[few], cost[few], chosen[few] = option

    def condition(which: int, feature: _Feature) -> Condition:
        missing, place = divmod(int(chosen[which]), len(pairs.first))
        if missing == 2:
            return _numeric_condition(feature, math.inf, math.inf, True)
        first, last = pairs.first[place], pairs.last[place]
        low = feature.edges[first - 1] if first > 0 else -math.inf
        high = feature.edges[last] if last < n - 1 else math.inf
        return _numeric_condition(feature, low, high, missing == 1)

    return _Options(raw=raw, cost=cost, condition=condition)


def _numeric_condition(feature: _Feature, low: float, high: float, missing: bool) -> Condition:
    return Condition(
        column=feature.column,
        name=feature.name,
        kind=feature.kind,
        low=float(low),
        high=float(high),
        whole=feature.whole,
        missing=missing,
    )


def _level_sets(
    counts: np.ndarray, start: tuple[float, float], totals: tuple[float, float]
) -> _Options:
    """Best set of few levels, or all but few, taken by how many of their rows are members.

    Counts are of members and of others, a row for each histogram; the last column is empty.
    """
    inside, outside = counts[:, :, :-1]
    n = inside.shape[1]
    weight = inside + outside
    seen = weight > 0
    share = np.full(weight.shape, -math.inf)
    np.divide(inside, weight, out=share, where=seen)
    order = np.argsort(-share, axis=1, kind="stable")
    hits = np.take_along_axis(inside, order, axis=1).cumsum(axis=1)[:, :-1]
    misses = np.take_along_axis(outside, order, axis=1).cumsum(axis=1)[:, :-1]
    raw = _phi(hits + start[0], misses + start[1], *totals)
    n_seen = seen.sum(axis=1)[:, None]
    n_named = np.arange(1, n)
    n_left_out = n_seen - n_named
    # Two levels: the one meant is named. More: whichever list is shorter.
    negated = (n_left_out < n_named) & (n > 2)
    listed = np.where(negated, n_left_out, n_named)
    cost = _CONDITION_COST + _LEVEL_COST * (listed - 1)
    raw[(n_left_out < 1) | (listed > _MAX_NAMED_LEVELS)] = -math.inf
    best = np.argmax(raw - cost, axis=1)
    row = np.arange(len(best))

    def condition(which: int, feature: _Feature) -> Condition:
        cut, end = best[which] + 1, n_seen[which, 0]
        said_not = bool(negated[which, best[which]])
        chosen = order[which, cut:end] if said_not else order[which, :cut]
        return Condition(
            column=feature.column,
            name=feature.name,
            kind=feature.kind,
            levels=tuple(feature.levels[i] for i in sorted(chosen.tolist())),
            negated=said_not,
        )

    return _Options(raw=raw[row, best], cost=cost[row, best], condition=condition)


def _make_feature(display: pd.DataFrame, column: int, kind: str, rows: np.ndarray) -> _Feature:
    name = label_text(display.columns[column])
    x = _values(display, column, kind, rows)
    if not isinstance(x, tuple):
        order = np.argsort(x)  # missing values last
        known = x[order[: len(x) - int(np.isnan(x).sum())]]
        edges = _edges(known)
        ends = [0, *np.searchsorted(known, edges, side="right").tolist(), len(known), len(x)]
        codes = np.empty(len(x), dtype=np.int32)
        codes[order] = np.repeat(np.arange(len(edges) + 2, dtype=np.int32), np.diff(ends))
        return _Feature(
            column=column,
            name=name,
            kind=kind,
            codes=codes,
            n_bins=len(edges) + 1 if len(known) else 0,
            has_missing=len(known) < len(x),
            whole=_whole(known),
            values=x,
            edges=edges,
        )
    codes, levels = x
    return _Feature(
        column=column,
        name=name,
        kind=kind,
        codes=codes,
        n_bins=len(levels),
        has_missing=False,
        levels=levels,
    )


def _edges(x: np.ndarray) -> np.ndarray:
    """Cut points of sorted values: bins of about as many rows, rounded where that is harmless."""
    last = np.flatnonzero(x[1:] != x[:-1])  # of its value
    if len(last) < _N_BINS:
        return x[last]
    marks = x[((len(x) - 1) * np.linspace(0, 1, _N_BINS + 1)[1:-1]).astype(np.intp)]
    marks = np.unique(marks[marks < x[-1]])
    following = x[np.searchsorted(x, marks, side="right")].tolist()
    whole = _whole(x)
    return np.array(
        [
            simplest_between(a, b, whole=whole)
            for a, b in zip(marks.tolist(), following, strict=True)
        ]
    )


def _whole(x: np.ndarray) -> bool:
    return bool((x == np.floor(x)).all())


def _values(display: pd.DataFrame, column: int, kind: str, rows: np.ndarray | slice) -> _Values:
    """Values of one column of a frame in some of its rows, as conditions compare them.

    Dates are whole days, so that a rule can name the day.
    """
    series = display.iloc[:, column]
    plain = isinstance(series.dtype, np.dtype)
    series = pd.Series((series.to_numpy() if plain else series.array)[rows], copy=False)
    if kind == "numeric":
        return numeric_values(series)
    if kind == "datetime":
        return np.floor(numeric_values(series))
    return _factorize(as_levels(series, kind))


def _factorize(series: pd.Series) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Codes and levels sorted by text, the missing one None, whatever the rows' order."""
    codes, found = pd.factorize(series, use_na_sentinel=True)
    levels: list[Hashable] = [
        level.item() if isinstance(level, np.generic) else level for level in found
    ]
    if (codes < 0).any():
        codes = np.where(codes < 0, len(levels), codes)
        levels.append(None)
    order = sorted(range(len(levels)), key=lambda i: (is_missing(levels[i]), str(levels[i])))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return (place[codes] if len(codes) else codes), tuple(levels[i] for i in order)


def _join(alternatives: tuple[tuple[Condition, ...], ...]) -> str:
    if len(alternatives) == 1:
        return _and(alternatives[0])
    shared = [c for c in alternatives[0] if all(c in other for other in alternatives[1:])]
    rest = [tuple(c for c in one if c not in shared) for one in alternatives]
    if not all(rest):
        return _and(shared)
    if not shared:
        return ", or ".join(f"({_and(one)})" if len(one) > 1 else _and(one) for one in rest)
    # What both alternatives ask for is said once.
    return f"{_and(shared)} and ({', or '.join(_and(one) for one in rest)})"


def _and(conjunction: Iterable[Condition]) -> str:
    return " and ".join(condition.text for condition in conjunction)


def _quoted(level: Hashable) -> str:
    """Write a level's name, in quotes where it could be taken for the sentence around it."""
    if level is None or level == "(missing)":
        return "missing"
    text = label_text(level)
    bare = text.startswith(("(", "'")) or set(text) <= _SIMPLE
    return text if bare else f"'{text}'"


def _date(days: float) -> str:
    return str(np.datetime64(int(days), "D")) if math.isfinite(days) else "ever"
