"""A short rule that says who is in a subgroup."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

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
_MAX_FEATURES: Final = 40  # kept after the first step, by what each does alone
_SIMPLE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.")


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

    def applies(self, display: pd.DataFrame) -> np.ndarray:
        """Whether each row of a display frame meets the condition."""
        series = display.iloc[:, self.column]
        if self.numeric:
            x = _comparable(series, self.kind)
            meets = (x > self.low) & (x <= self.high)
            return np.asarray(meets | np.isnan(x) if self.missing else meets)
        codes, levels = _factorize(as_levels(series, self.kind))
        named_levels = set(self.levels)
        named_codes = [code for code, level in enumerate(levels) if level in named_levels]
        return np.isin(codes, named_codes) != self.negated

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

    def applies(self, display: pd.DataFrame) -> np.ndarray:
        """Whether the rule covers each row of a display frame, new rows included.

        Parameters
        ----------
        display : DataFrame of shape (n_rows, n_features)
            With the columns of the frame the rule was made from.

        Returns
        -------
        ndarray of shape (n_rows,)
            All False for an empty rule.
        """
        covered = np.full(len(display), self.text == EVERYBODY)
        for conjunction in self.alternatives:
            covered |= _all_apply(conjunction, display)
        return covered


def describe_rule(
    membership: np.ndarray,
    display: pd.DataFrame,
    *,
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
    display : DataFrame of shape (n_rows, n_features)
        Audited features with readable values.
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
    inside = np.asarray(membership, dtype=bool)
    n = len(inside)
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if n == 0 or not inside.any():
        return Rule(text=NOBODY, fidelity=1.0, agreement=1.0) if n else Rule()
    if inside.all():
        return Rule(text=EVERYBODY, fidelity=1.0, agreement=1.0, precision=1.0, recall=1.0)
    if display.shape[1] == 0 or max_conditions < 1:
        return Rule()

    rows, row_weights = _sample(inside, weights, max_rows)
    kinds = feature_kinds(display, displays)
    search = _Search(display.iloc[rows], kinds, inside[rows], row_weights)
    alternatives = search.best_rule(max_conditions)
    if not alternatives:
        return Rule()
    draft = Rule(text=_join(alternatives), alternatives=alternatives)
    rule = replace(draft, **rule_fit(draft.applies(display), inside, weights))
    return rule if rule.fidelity >= MIN_FIDELITY else Rule()


def rule_fit(covered: np.ndarray, inside: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
    """Measure how well rows covered agree with the rows of a subgroup.

    Parameters
    ----------
    covered, inside : ndarray of bool of shape (n_rows,)
        Rows a rule covers; rows of the subgroup. Both some and not all are inside.
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    dict of str to float
        The measures of ``Rule``: fidelity, agreement, precision, recall.
    """
    hits = weights[covered & inside].sum()
    recall = hits / weights[inside].sum()
    rejected = weights[~covered & ~inside].sum() / weights[~inside].sum()
    n_covered = weights[covered].sum()
    return {
        "fidelity": float((recall + rejected) / 2),
        "agreement": float(weights[covered == inside].sum() / weights.sum()),
        "precision": float(hits / n_covered) if n_covered > 0 else math.nan,
        "recall": float(recall),
    }


def _sample(
    inside: np.ndarray, weights: np.ndarray, max_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to search, as many inside as outside where both abound, with weights that undo it."""
    n = len(inside)
    if n <= max_rows:
        return np.arange(n), weights
    rng = np.random.default_rng(0)  # fixed: a description may not change between calls
    members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    n_members = min(len(members), max(max_rows // 2, max_rows - len(others)))
    n_others = min(len(others), max_rows - n_members)
    rows, factors = [], []
    for part, size in ((members, n_members), (others, n_others)):
        rows.append(np.sort(rng.choice(part, size, replace=False)))
        factors.append(np.full(size, len(part) / size))
    chosen = np.concatenate(rows)
    return chosen, weights[chosen] * np.concatenate(factors)


def _phi(hits: Any, misses: Any, inside: float, outside: float) -> Any:
    """Phi coefficient of a rule covering ``hits`` of ``inside`` and ``misses`` of ``outside``."""
    covered = hits + misses
    spread = covered * (inside + outside - covered) * inside * outside
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (hits * outside - misses * inside) / np.sqrt(spread)
    return np.where(spread > 1e-12 * (inside + outside) ** 4, value, 0.0)


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
    codes: np.ndarray  # intp (n,)
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


class _Search:
    """Looks for a rule on the sampled rows."""

    def __init__(
        self, display: pd.DataFrame, kinds: list[str], inside: np.ndarray, weights: np.ndarray
    ) -> None:
        self.display = display
        self.inside = inside
        self.weights = weights
        self._totals = self._tally(np.ones(len(inside), dtype=bool))
        found = (_make_feature(display, column, kind) for column, kind in enumerate(kinds))
        self.features = [f for f in found if f.n_bins + f.has_missing > 1]
        self._by_column = {feature.column: feature for feature in self.features}
        self._covers: dict[Condition, np.ndarray] = {}

    def best_rule(self, max_conditions: int) -> tuple[tuple[Condition, ...], ...]:
        """Give the best conjunction, or union of two, after polishing; empty if none helps."""
        if min(self._totals) <= 0:
            return ()
        nothing = np.zeros(len(self.inside), dtype=bool)
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

    def _net(self, rule: list[list[Condition]]) -> float:
        """Score of a rule less the cost of its words."""
        cost = sum(_cost(condition) for conjunction in rule for condition in conjunction)
        return self._score(self._covered(rule)) - cost - _UNION_COST * (len(rule) - 1)

    def _improved(
        self, rule: list[list[Condition]], max_sweeps: int = 3
    ) -> tuple[list[list[Condition]], float]:
        """Choose each condition anew given the others, until none changes."""
        score = self._net(rule)
        for _ in range(max_sweeps):
            before = score
            for part, place in [(p, i) for p in range(len(rule)) for i in range(len(rule[p]))]:
                free, taken = self._around(rule, part, place)
                feature = self._by_column[rule[part][place].column]
                choice = self._best_condition(
                    feature, np.flatnonzero(free), self._tally(taken), self._totals
                )
                if choice is None:
                    continue
                trial = [list(conjunction) for conjunction in rule]
                trial[part][place] = choice[2]
                net = self._net(trial)
                if net > score + 1e-9:
                    rule, score = trial, net
            if score <= before + 1e-9:
                break
        return rule, score

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
        members = self.weights[rows & self.inside].sum()
        return float(members), float(self.weights[rows].sum() - members)

    def _score(self, covered: np.ndarray) -> float:
        return float(_phi(*self._tally(covered), *self._totals))

    def _beam(self, max_length: int, taken: np.ndarray) -> list[list[_Candidate]]:
        """Best conjunctions of each length, among rows not yet ``taken`` by another."""
        free = ~taken
        totals = self._tally(free)
        level = [_Candidate(-math.inf, 0.0, (), free)]
        features = self.features
        found: list[list[_Candidate]] = []
        for _ in range(max_length):
            grown: dict[bytes, _Candidate] = {}
            singles: dict[int, float] = {}
            for parent in level:
                rows = np.flatnonzero(parent.covered)
                used = {condition.column for condition in parent.conditions}
                for feature in features:
                    if feature.column in used:
                        continue
                    choice = self._best_condition(feature, rows, (0.0, 0.0), totals)
                    if choice is None:
                        continue
                    raw, cost, condition = choice
                    singles[feature.column] = raw - cost
                    covered = parent.covered & self._covered_by(condition)
                    total = parent.cost + cost
                    child = _Candidate(raw - total, total, (*parent.conditions, condition), covered)
                    key = np.packbits(covered).tobytes()
                    if key not in grown or child.score > grown[key].score + 1e-12:
                        grown[key] = child
            if not found and len(features) > _MAX_FEATURES:
                strongest = sorted(singles, key=lambda column: -singles[column])[:_MAX_FEATURES]
                features = [f for f in features if f.column in set(strongest)]
            level = sorted(grown.values(), key=lambda c: -c.score)[:_BEAM_WIDTH]
            if not level:
                break
            found.append(level)
        return found

    def _covered_by(self, condition: Condition) -> np.ndarray:
        if condition not in self._covers:
            self._covers[condition] = condition.applies(self.display)
        return self._covers[condition]

    def _best_condition(
        self,
        feature: _Feature,
        rows: np.ndarray,
        start: tuple[float, float],
        totals: tuple[float, float],
    ) -> tuple[float, float, Condition] | None:
        """Best condition on one feature among ``rows``, with its raw score and its cost.

        ``start`` counts members and others covered whatever the condition.
        """
        size = feature.n_bins + 1
        code, inside, weight = feature.codes[rows], self.inside[rows], self.weights[rows]
        both = np.bincount(code + size * inside, weights=weight, minlength=2 * size)
        outside_by_bin, inside_by_bin = both[:size], both[size:]

        def score(hits: np.ndarray, misses: np.ndarray) -> np.ndarray:
            return _phi(hits + start[0], misses + start[1], *totals)

        options = _intervals if feature.numeric else _level_sets
        return options(feature, inside_by_bin, outside_by_bin, score)

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
        covered = np.zeros(len(self.inside), dtype=bool)
        for part, conjunction in enumerate(rule):
            kept = [c for place, c in enumerate(conjunction) if (part, place) != without]
            meets = np.ones(len(self.inside), dtype=bool)
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
        weight, inside = self.weights[moving], self.inside[moving]
        hits_at = np.bincount(codes, weights=weight * inside, minlength=len(cuts))
        misses_at = np.bincount(codes, weights=weight * ~inside, minlength=len(cuts))
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
    if not low < high:
        return float(low)
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


@lru_cache(maxsize=128)
def _pairs(n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """All runs of bins, first and last, wider runs after narrower starts."""
    first, last = np.triu_indices(n_bins)
    return first, last


_Options = tuple[float, float, Condition] | None
_Scorer = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _intervals(
    feature: _Feature, inside: np.ndarray, outside: np.ndarray, score: _Scorer
) -> _Options:
    """Best run of bins, with or without the missing values, or these alone."""
    n = feature.n_bins
    best: tuple[float, float, Condition] | None = None

    def offer(raw: float, cost: float, condition: Condition) -> None:
        nonlocal best
        if best is None or raw - cost > best[0] - best[1] + 1e-12:
            best = (float(raw), float(cost), condition)

    first, last = _pairs(n)
    up_inside = np.concatenate([[0.0], np.cumsum(inside[:n])])
    up_outside = np.concatenate([[0.0], np.cumsum(outside[:n])])
    hits = up_inside[last + 1] - up_inside[first]
    misses = up_outside[last + 1] - up_outside[first]
    ends = (first > 0).astype(int) + (last < n - 1)
    for missing in (False, True) if feature.has_missing else (False,):
        raw = score(hits + missing * inside[n], misses + missing * outside[n])
        cost = _CONDITION_COST + _DETAIL_COST * ((ends == 2) + missing)
        idle = ends == 0
        if missing or not feature.has_missing:
            raw = np.where(idle, -np.inf, raw)
        if not np.isfinite(raw).any():
            continue
        i = int(np.argmax(raw - cost))
        low = feature.edges[first[i] - 1] if first[i] > 0 else -math.inf
        high = feature.edges[last[i]] if last[i] < n - 1 else math.inf
        offer(raw[i], cost[i], _numeric_condition(feature, low, high, missing))
    if feature.has_missing:
        raw_missing = score(np.array([inside[n]]), np.array([outside[n]]))
        alone = _numeric_condition(feature, math.inf, math.inf, True)
        offer(raw_missing[0], _CONDITION_COST, alone)
    return best


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
    feature: _Feature, inside: np.ndarray, outside: np.ndarray, score: _Scorer
) -> _Options:
    """Best set of few levels, or all but few, taken by how many of their rows are members."""
    n = feature.n_bins
    inside, outside = inside[:n], outside[:n]
    weight = inside + outside
    seen = np.flatnonzero(weight > 0)
    if len(seen) < 2:
        return None
    order = seen[np.argsort(-inside[seen] / weight[seen], kind="stable")]
    hits, misses = np.cumsum(inside[order])[:-1], np.cumsum(outside[order])[:-1]
    raw = score(hits, misses)
    n_named = np.arange(1, len(order))
    n_left_out = len(order) - n_named
    # Two levels: the one meant is named. More: whichever list is shorter.
    negated = (n_left_out < n_named) & (len(feature.levels) > 2)
    listed = np.where(negated, n_left_out, n_named)
    cost = _CONDITION_COST + _LEVEL_COST * (listed - 1)
    net = np.where(listed <= _MAX_NAMED_LEVELS, raw - cost, -np.inf)
    best = int(np.argmax(net))
    if not np.isfinite(net[best]):
        return None
    kept, left_out = order[: best + 1], order[best + 1 :]
    chosen = sorted((left_out if negated[best] else kept).tolist())
    condition = Condition(
        column=feature.column,
        name=feature.name,
        kind=feature.kind,
        levels=tuple(feature.levels[i] for i in chosen),
        negated=bool(negated[best]),
    )
    return float(raw[best]), float(cost[best]), condition


def _make_feature(display: pd.DataFrame, column: int, kind: str) -> _Feature:
    name = label_text(display.columns[column])
    series = display.iloc[:, column]
    if kind in ("numeric", "datetime"):
        x = _comparable(series, kind)
        known = ~np.isnan(x)
        edges = _edges(x[known])
        codes = np.searchsorted(edges, x, side="left")
        codes[~known] = len(edges) + 1
        return _Feature(
            column=column,
            name=name,
            kind=kind,
            codes=codes,
            n_bins=len(edges) + 1 if known.any() else 0,
            has_missing=bool((~known).any()),
            whole=bool((x[known] == np.floor(x[known])).all()),
            values=x,
            edges=edges,
        )
    codes, levels = _factorize(as_levels(series, kind))
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
    """Cut points such that bins hold about equally many rows, rounded where that is harmless."""
    distinct = np.unique(x)
    if len(distinct) <= _N_BINS:
        return distinct[:-1]
    marks = np.unique(np.quantile(x, np.linspace(0, 1, _N_BINS + 1)[1:-1], method="lower"))
    marks = marks[marks < distinct[-1]]
    following = distinct[np.searchsorted(distinct, marks, side="right")]
    whole = bool((distinct == np.floor(distinct)).all())
    return np.unique(
        [simplest_between(a, b, whole=whole) for a, b in zip(marks, following, strict=True)]
    )


def _comparable(series: pd.Series, kind: str) -> np.ndarray:
    """Values as floats; dates as whole days, so that a rule can name the day."""
    x = numeric_values(series)
    return np.floor(x) if kind == "datetime" else x


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


def _all_apply(conjunction: Iterable[Condition], display: pd.DataFrame) -> np.ndarray:
    meets = np.ones(len(display), dtype=bool)
    for condition in conjunction:
        meets &= condition.applies(display)
    return meets


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
