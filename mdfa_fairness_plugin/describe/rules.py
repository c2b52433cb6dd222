"""A short rule that says who is in a subgroup, by a beam search over conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.bins import Best, Bins, Features
from mdfa_fairness_plugin.describe.cells import unequal
from mdfa_fairness_plugin.describe.conditions import (
    EVERYBODY,
    NOBODY,
    Condition,
    Rule,
    rule_fit,
    sentence,
)
from mdfa_fairness_plugin.describe.rounding import polished
from mdfa_fairness_plugin.describe.sample import Draft, Sample

# Below this a rule says too little about who is in; chance gives 1/2.
MIN_FIDELITY: Final = 0.6
# What a second alternative must add, as a condition must add its cost.
_UNION_COST: Final = 0.05
_GOOD_ENOUGH: Final = 0.95  # no second conjunction is looked for
_BEAM_WIDTH: Final = 6
_MAX_FEATURES: Final = 40  # kept after the first step, by what each does alone
# Candidates whose phi differ by less may cover the same rows; sums in another order differ by less.
_SAME: Final = 1e-9
_MAX_SWEEPS: Final = 3


def describe_rule(
    inside: np.ndarray,
    display: pd.DataFrame,
    *,
    rows: np.ndarray | None = None,
    displays: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
    max_conditions: int = 4,
    max_rows: int = 20_000,
    min_fidelity: float = MIN_FIDELITY,
    cut: Features | None = None,
) -> tuple[Rule, np.ndarray]:
    """Find a short rule for the rows marked ``inside``, and the rows it covers, bool (n_rows,).

    A beam search over conjunctions of conditions, one per feature, each the best interval or set of
    levels given the others; then over unions of two, if these are clearly better; then plainer words
    for as much. It maximises the phi coefficient of rule and membership, which unlike plain agreement
    does not favour "nobody" for small subgroups, and unlike balanced agreement does not cover ten
    outsiders for each member.

    ``rows`` are positions in ``display`` of the rows described, all by default. At most ``max_rows``
    are searched, sampled evenly inside and outside; the measures of fit are of all rows. A rule that
    fits less than ``min_fidelity`` is none. ``cut`` are the frame's features, if cut before.
    """
    n = len(inside)
    nobody = np.zeros(n, dtype=bool)
    weights = unequal(sample_weight)
    if n == 0 or not inside.any():
        return Rule(text=NOBODY, fidelity=1.0) if n else Rule(), nobody
    if inside.all():
        return Rule(text=EVERYBODY, fidelity=1.0, precision=1.0, recall=1.0), ~nobody
    chosen, n_members, chosen_weights = _sample(inside, weights, max_rows)
    if rows is not None:
        chosen = rows[chosen]
    cut = Features(display, displays) if cut is None else cut
    features = [f for f in cut.at(chosen) if f.n_bins + f.has_missing > 1]
    search = _Beam(Sample(features, n_members, chosen_weights))
    alternatives = search.best_rule(max_conditions)
    if not alternatives:
        return Rule(), nobody
    rule = Rule(text=sentence(alternatives), alternatives=alternatives)
    covered = rule.applies(display, rows)
    rule = replace(rule, **rule_fit(covered, inside, weights))
    return (rule, covered) if rule.fidelity >= min_fidelity else (Rule(), nobody)


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


@dataclass(frozen=True)
class _Candidate:
    """A conjunction with the rows it covers and its score net of the words it takes."""

    score: float
    cost: float
    conditions: tuple[Condition, ...]
    covered: np.ndarray


class _Beam:
    """Looks for a rule on sampled rows."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._bins = Bins(sample, sample.features)
        self._alone: dict[int, Bins] = {}  # by column

    def best_rule(self, max_conditions: int) -> tuple[tuple[Condition, ...], ...]:
        """Give the best conjunction, or union of two, after polishing; empty if none helps."""
        if min(self.sample.totals) <= 0 or not self.sample.features:
            return ()
        nothing = np.zeros(len(self.sample.weights), dtype=bool)
        by_length = self._conjunctions(max_conditions, nothing)
        ranked = sorted((c for candidates in by_length for c in candidates), key=lambda c: -c.score)
        if not ranked:
            return ()
        best, best_score = self._improved([list(ranked[0].conditions)])
        # A union is tried from the best starts of each length that leaves room for another.
        starts = [c for candidates in by_length[: max_conditions - 1] for c in candidates[:2]]
        for start in starts if best_score < _GOOD_ENOUGH else ():
            room = max_conditions - len(start.conditions)
            for candidates in self._conjunctions(room, start.covered):
                second = candidates[0]
                union, score = self._improved([list(start.conditions), list(second.conditions)])
                if score > best_score + 1e-9:
                    best, best_score = union, score
        return polished(best, self.sample) if best_score > 0 else ()

    def _improved(self, rule: Draft) -> tuple[Draft, float]:
        """Choose each condition anew given the others until none changes, by phi less cost of words."""
        sample = self.sample
        costs = [[condition.cost for condition in conjunction] for conjunction in rule]
        words = _UNION_COST * (len(rule) - 1)
        score = sample.score(sample.covered(rule)) - sum(map(sum, costs)) - words
        places = [(part, i) for part in range(len(rule)) for i in range(len(rule[part]))]
        # A condition need not be looked at again before another one has changed.
        settled: set[tuple[int, int]] = set()
        beside: dict[int, tuple[np.ndarray, tuple[float, float]]] = {}
        for part, place in places * _MAX_SWEEPS:
            if (part, place) in settled:
                continue
            settled.add((part, place))
            if part not in beside:
                taken = sample.covered(rule[:part] + rule[part + 1 :])
                beside[part] = ~taken, sample.tally(taken)
            free, start = beside[part]
            for i, condition in enumerate(rule[part]):
                if i != place:
                    free = free & sample.covered_by(condition)
            column = rule[part][place].column
            if column not in self._alone:
                self._alone[column] = Bins(sample, [column])
            best = self._alone[column].best([free], start, sample.totals)
            if not math.isfinite(best.raw[0, 0]):
                continue
            chosen = best.condition(0, 0)
            spared = costs[part][place] - chosen.cost
            net = float(best.raw[0, 0]) - sum(map(sum, costs)) + spared - words
            if net > score + 1e-9:
                rule = [list(conjunction) for conjunction in rule]
                rule[part][place] = chosen
                costs[part][place] -= spared
                score, settled, beside = net, {(part, place)}, {part: beside[part]}
        return rule, score

    def _conjunctions(self, max_length: int, taken: np.ndarray) -> list[list[_Candidate]]:
        """Best conjunctions of each length, among rows not yet ``taken`` by another."""
        free = ~taken
        totals = self.sample.tally(free)
        level = [_Candidate(-math.inf, 0.0, (), free)]
        bins = self._bins
        found: list[list[_Candidate]] = []
        for _ in range(max_length):
            best = bins.best([parent.covered for parent in level], (0.0, 0.0), totals)
            for i, parent in enumerate(level):
                columns = {condition.column for condition in parent.conditions}
                best.raw[i, [bins.place[c] for c in columns if c in bins.place]] = -math.inf
            level = self._grown(level, best)
            if not level:
                break
            found.append(level)
            if len(bins.features) > _MAX_FEATURES:
                loss = best.cost[0] - best.raw[0]  # infinite where there is no condition
                kept = np.argsort(loss, kind="stable")[:_MAX_FEATURES]
                kept = np.sort(kept[loss[kept] < math.inf])
                bins = Bins(self.sample, [bins.features[i].column for i in kept])
        return found

    def _grown(self, level: list[_Candidate], best: Best) -> list[_Candidate]:
        """Best candidates with one more condition, one for each set of rows they may cover."""
        cost = np.array([parent.cost for parent in level])[:, None] + best.cost
        raw, score = best.raw.ravel(), (best.raw - cost).ravel()
        children: dict[int, _Candidate] = {}

        def child(which: int) -> tuple[bytes, _Candidate]:
            i, feature = divmod(which, best.raw.shape[1])
            if which not in children:
                condition = best.condition(i, feature)
                children[which] = _Candidate(
                    float(score[which]),
                    float(cost[i, feature]),
                    (*level[i].conditions, condition),
                    level[i].covered & self.sample.covered_by(condition),
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
