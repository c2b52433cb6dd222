r"""Choice among candidate regions, by what the data can vouch for.

The supremum of the ratio over all regions of mass at least alpha is a level set, but of which
score is not known: a difference of rates ranks rows by harm done, a ratio by unequal treatment, and
each fails somewhere. So several scores propose regions, and the one
with the highest lower confidence limit of delta is kept. Limits that nearly tie go to the larger
region: any part of a region has the same delta, and a part is not the whole. In the end *everybody*
stands beside it, and whose limit is higher is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mdfa_fairness_plugin.search.level_sets import Bins, LevelSets, SearchData, Sweep, measure_sets
from mdfa_fairness_plugin.search.solver import Alone, Solved

# Regions need this many rows of each S value to be measured at all.
FEWEST_ROWS = 10
# Lower limits within one standard error of the best count as equal, as in the one-standard-error rule.
_TIE_STANDARD_ERRORS = 1.0
# So many standard errors make one loss plainly larger than another.
_PLAINLY = 1.96
# Parts of a single held-out sample, each judged by what the others chose.
_N_PARTS = 5
# Masses that differ by less than this count as the same.
_SAME_MASS = 0.02
# Steps of the path that is kept for the report.
_PATH_SHARES = np.linspace(0.02, 1.0, 50)


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """A score and the thresholds it proposes."""

    name: str
    scores: np.ndarray  # (n,); out of fold where held out; larger is worse treated
    # (n_candidates,); None: half way up the score's top, for scores that are zero without a
    # violation.
    thresholds: np.ndarray | None = None
    # (n_shares,); also proposes the level sets of these shares of the rows.
    shares: tuple[float, ...] = ()
    # (n,); held-out losses of what the score is made of, one array for all that share it.
    losses: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """The region kept."""

    family: str  # score that proposed it
    scores: np.ndarray  # (n,)
    threshold: float  # ``-inf`` for everybody
    proposed: float  # likewise, before the region was held beside everybody
    # Of the most unequally treated part: highest lower limit among the level sets inside it.
    core_threshold: float
    path: LevelSets  # sets along this score, smallest first

    @property
    def member(self) -> np.ndarray:
        """Rows in the region, bool of shape (n,)."""
        return self.scores >= self.threshold


def plateau_thresholds(sweep: Sweep, alpha: float) -> np.ndarray:
    """Cuts half way up to a score's top, the best for a region of one height."""
    # The 95 % quantile is the middle of the scores in a region of a tenth. Smaller ones, which hold at
    # least alpha of the rows, need a higher one; of larger ones it would be the luckiest rows' score.
    shares = np.array([0.05, min(alpha, 0.05), 0.1])
    top, highest, of_a_tenth = sweep.quantiles(shares)
    cuts = 0.5 * np.array([top, highest])
    return cuts[(cuts > 0.0) & [True, cuts[1] > max(cuts[0], of_a_tenth)]]


class Losses(NamedTuple):
    """Which scores the held-out rows do not rule out, by the losses of what they are made of."""

    place: np.ndarray  # (n_scores,); of each score's among the losses
    counts: np.ndarray  # (n_parts,)
    sums: np.ndarray  # (n_parts, n_losses)
    products: np.ndarray  # (n_parts, n_losses, n_losses)

    @classmethod
    def of(
        cls,
        losses: Sequence[np.ndarray | None],
        held: np.ndarray,
        cluster: np.ndarray | None,
        part: np.ndarray,
    ) -> Losses:
        """Of each score; ``part`` is the held-out rows', a cluster's rows are one."""
        distinct = list({id(own): own for own in losses}.values())
        place = np.array(
            [next(i for i, one in enumerate(distinct) if one is own) for own in losses]
        )
        each = np.array([np.zeros(held.sum()) if own is None else own[held] for own in distinct])
        if cluster is not None:
            _, first, unit = np.unique(cluster[held], return_index=True, return_inverse=True)
            each = np.array([np.bincount(unit, own) for own in each])
            part = part[first]
        by_part = [each[:, part == one] for one in range(part.max() + 1)]
        return cls(
            place,
            np.array([own.shape[1] for own in by_part]),
            np.array([own.sum(axis=1) for own in by_part]),
            np.array([own @ own.T for own in by_part]),
        )

    def tenable(self, own: int | None) -> np.ndarray:
        """Scores whose loss on all parts but one is not plainly larger than the least; bool."""
        kept = np.arange(len(self.counts)) != (-1 if own is None else own)
        n = self.counts[kept].sum()
        mean = self.sums[kept].sum(axis=0) / n
        square = self.products[kept].sum(axis=0) / n
        best = int(np.argmin(mean))
        more = mean - mean[best]
        variance = np.diag(square) + square[best, best] - 2.0 * square[best] - more**2
        return (more <= _PLAINLY * np.sqrt(np.maximum(variance, 0.0) / n))[self.place]


class Proposals:
    """Scores of one search, counted once for every part of the held-out rows."""

    def __init__(
        self,
        data: SearchData,
        families: Sequence[Family],
        binned: Sequence[tuple[Bins, np.ndarray]] | None = None,
    ) -> None:
        self.data = data
        self.families = families
        held = data.held_out
        # Bins of every score, and each row's: the same however the rows are parted.
        self.binned = binned or [_binned(family.scores[held]) for family in families]
        part, self._part = np.unique(_parts(data)[held], return_inverse=True)
        self.n_parts = len(part)
        self.part = np.full(len(held), -1)
        self.part[held] = self._part
        self._losses = Losses.of(
            [family.losses for family in families], held, data.cluster, self._part
        )
        self._tallies = [
            data.tally(bins, index, self._part, self.n_parts) for bins, index in self.binned
        ]

    def without(self, own: int | None) -> tuple[np.ndarray, list[Family], list[Sweep]]:
        """Held-out rows of all parts but one, what may propose by them, and counts by each score."""
        rows = self.data.held_out if own is None else self.data.held_out & (self.part != own)
        tenable = self._losses.tenable(own)
        each = zip(self.families, self.binned, self._tallies, tenable, strict=True)
        asked = [(family, bins, tally) for family, (bins, _), tally, may in each if may]
        sweeps = [
            Sweep(
                tally.total(own), bins, self.data.confidence_level, self.data.spread, self.data.kind
            )
            for _, bins, tally in asked
        ]
        return rows, [family for family, _, _ in asked], sweeps


def _binned(scores: np.ndarray) -> tuple[Bins, np.ndarray]:
    bins = Bins.of(scores)
    return bins, bins.index(scores)


def select_region(proposals: Proposals, own: int | None = None) -> Selection:
    """Keep the candidate with the highest lower limit of delta, the largest of those that tie.

    Everybody is one only as what a region grows to, or where nothing smaller can be measured.

    Proposals with less mass than alpha, or fewer than ten rows of an S value, grow along their own
    score until they have enough.
    """
    data = proposals.data
    rows, families, sweeps = proposals.without(own)
    candidates: list[tuple[int, float]] = [(0, -np.inf)]
    for position, (family, sweep) in enumerate(zip(families, sweeps, strict=True)):
        floor = sweep.smallest(data.alpha, FEWEST_ROWS)
        cuts = {min(sweep.snap(float(cut)), floor) for cut in _cuts(family, sweep, data.alpha)}
        candidates += [(position, cut) for cut in sorted(cuts) if np.isfinite(cut)]
    measured = measure_sets([(sweeps[position], np.array([cut])) for position, cut in candidates])
    measured = replace(measured, low=np.where(np.isnan(measured.low), -np.inf, measured.low))
    best = int(np.argmax(measured.low[1:])) + 1 if len(candidates) > 1 else 0
    near = measured.low >= measured.low[best] - _TIE_STANDARD_ERRORS * measured.error[best]
    near[0] = False
    # Of those of nearly the same mass, the fewest rows: rows that add neither outcomes nor a
    # difference (nobody has the outcome there) are no part of the violation.
    distance = np.abs(measured.mass - measured.mass[best])
    alike = near & (distance <= _SAME_MASS * measured.mass[best])
    alike[best] = True
    kept = min(np.flatnonzero(alike).tolist(), key=lambda i: (measured.n_rows[i], -measured.low[i]))
    kept = _extended(replace(data, held_out=rows), families, candidates, measured, near, kept)
    position, threshold = candidates[kept]
    if kept == 0:
        position = _best_family(sweeps)
    sweep = sweeps[position]
    path = sweep.at(path_thresholds(sweep, threshold))
    return Selection(
        family=families[position].name,
        scores=families[position].scores,
        threshold=threshold,
        proposed=threshold,
        core_threshold=_core(path, threshold),
        path=path,
    )


def _cuts(family: Family, sweep: Sweep, alpha: float) -> np.ndarray:
    """Thresholds a family proposes."""
    cuts = plateau_thresholds(sweep, alpha) if family.thresholds is None else family.thresholds
    return np.append(cuts, sweep.quantiles(np.array(family.shares)) if family.shares else [])


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """Who is in the region and in its core, each row by a choice it had no say in."""

    member: np.ndarray  # (n,); False for rows that are not held out
    core: np.ndarray

    @classmethod
    def of_most(cls, proposals: Sequence[Proposals]) -> Judged:
        """As most ways to part the rows have it."""
        judged = [cross_selected(own) for own in proposals]
        if len(judged) == 1:
            return judged[0]
        return cls(
            member=np.mean([own.member for own in judged], axis=0) > 0.5,
            core=np.mean([own.core for own in judged], axis=0) > 0.5,
        )


class Scoring(NamedTuple):
    """What scores propose of some rows, and each of them, by its name, of all rows."""

    propose: Callable[[Any], Sequence[Family]]
    scores_of: Callable[[str], np.ndarray]


class Chosen(NamedTuple):
    """A choice, and whom it holds for."""

    selection: Selection
    judged: Judged
    searched: np.ndarray  # (n,); who was inside before the region was held beside everybody
    alone: tuple[Alone, ...] = ()


def cross_selected(proposals: Proposals) -> Judged:
    """Judge the held-out rows of each part by the choice the other parts made.

    Even the choice among a few candidates favours lucky ones, so the rows that a region is measured
    and tested on must have no say in it.
    """
    data = proposals.data
    member = np.zeros(len(data.s), dtype=bool)
    core = member.copy()
    for own in range(proposals.n_parts):
        rows = proposals.part == own
        others = data.held_out & ~rows
        if min((others & (data.s > 0)).sum(), (others & (data.s < 0)).sum()) == 0:
            member |= rows
            core |= rows
            continue
        selection = select_region(proposals, own)
        member |= rows & selection.member
        core |= rows & (selection.scores >= selection.core_threshold)
    return Judged(member=member, core=core)


def choose(
    data: SearchData,
    propose: Callable[[Any], Sequence[Family]],
    scores_of: Callable[[str], np.ndarray],
    alone: Sequence[Scoring] = (),
) -> Chosen:
    """Choose a region on the deciding rows and tell for all rows who is inside.

    What is proposed, and the scores of all rows by name, are averaged over repeats. If there are
    several, ``alone`` are those of one split of each by itself, chosen by if the data ask for it.
    """
    deciding = data.deciding
    every = (deciding == data.held_out).all()
    rows: Any = slice(None) if every else np.flatnonzero(deciding)
    some = data if every else data.take(rows)
    parted = [replace(some, folds=folds) for folds in (some.folds, *some.other_folds)]

    def told(
        parted: Sequence[SearchData], scoring: Scoring
    ) -> tuple[Selection, Judged, np.ndarray]:
        families = scoring.propose(rows)
        first = Proposals(parted[0], families)
        proposals = [first, *(Proposals(own, families, first.binned) for own in parted[1:])]
        selection, judged = select_region(proposals[0]), Judged.of_most(proposals)
        if not every:
            scores = scoring.scores_of(selection.family)
            selection, judged = _for_all(data, selection, judged, rows, scores)
        return _agreed(data, selection, judged)

    chosen = told(parted if alone else parted[:1], Scoring(propose, scores_of))
    asked = alone if data.tells_alone else ()
    by_repeat = [told([own], one) for own, one in zip(parted[: len(asked)], asked, strict=True)]
    return Chosen(*chosen, tuple(Alone(own.member, searched) for _, own, searched in by_repeat))


def _for_all(
    data: SearchData, chosen: Selection, judged: Judged, rows: np.ndarray, scores: np.ndarray
) -> tuple[Selection, Judged]:
    """A choice of some rows, for all that are held out."""
    member = data.held_out & (scores >= chosen.threshold)
    core = data.held_out & (scores >= chosen.core_threshold)
    member[rows], core[rows] = judged.member, judged.core
    sweep = Sweep.of(data, scores)
    path = sweep.at(path_thresholds(sweep, chosen.threshold))
    return replace(chosen, scores=scores, path=path), Judged(member=member, core=core)


def solved(data: SearchData, region: Any, chosen: Chosen) -> Solved:
    """What a solver returns of a chosen region: learning rows that are not judged go by the choice."""
    held, selection, judged = data.held_out, chosen.selection, chosen.judged
    core = selection.scores >= selection.core_threshold
    member = np.where(held, judged.member, selection.member)
    # A core that gave way to the region does so for other rows too.
    own_core = not np.array_equal(judged.core[held], judged.member[held])
    return Solved(
        region=replace(
            region,
            threshold=selection.threshold,
            core_threshold=selection.core_threshold if own_core else selection.threshold,
        ),
        threshold=selection.threshold,
        proposed=selection.proposed,
        scores=np.array(selection.scores),  # no row of an array of all scores
        member=member,
        core=np.where(data.held_out, judged.core, core),
        searched=chosen.searched & data.held_out,
        alone=chosen.alone,
        path=selection.path,
    )


def _agreed(
    data: SearchData, selection: Selection, judged: Judged
) -> tuple[Selection, Judged, np.ndarray]:
    """Everybody, for all rows, where choice or measurement says so; and who was in before."""
    if np.isneginf(selection.threshold):
        judged = replace(judged, member=data.held_out)
    searched = judged.member
    judged = at_least_everybody(data, judged)
    if (judged.member == data.held_out).all():
        selection = replace(selection, threshold=-np.inf)
    return selection, judged, searched


def at_least_everybody(data: SearchData, judged: Judged) -> Judged:
    """Give way to everybody where these fare worse by lower limits; so does a core to its region."""
    member, core = judged.member, judged.core
    if not data.limit(member) >= data.limit(data.held_out):
        member = data.held_out
    if not data.limit(core) >= data.limit(member):
        core = member
    return Judged(member=member, core=core)


def _parts(data: SearchData) -> np.ndarray:
    """Folds of the held-out rows; five parts, even in S and Y, where they are one."""
    if len(np.unique(data.folds[data.held_out])) > 1:
        return data.folds
    part = np.zeros(len(data.s), dtype=np.intp)
    held = data.held_out
    unit = np.arange(len(data.s)) if data.cluster is None else data.cluster
    _, first, own = np.unique(unit[held], return_index=True, return_inverse=True)
    cell = (2 * (data.s > 0) + data.positive)[held][first]
    part_of = np.zeros(len(first), dtype=np.intp)
    for value in np.unique(cell):
        units = np.flatnonzero(cell == value)
        part_of[units] = np.arange(len(units)) % _N_PARTS
    part[held] = part_of[own]
    return part


def _extended(
    data: SearchData,
    families: Sequence[Family],
    candidates: Sequence[tuple[int, float]],
    measured: LevelSets,
    near: np.ndarray,
    kept: int,
) -> int:
    """Largest candidate that adds people treated in the same way to the one kept.

    Going up in mass, a candidate takes over if the rows it adds show, on their own, a violation at
    least half as large as the kept one's (or as a ratio of three, whichever is smaller): by its
    lower limit, or by the estimate itself where the candidate's limit nearly ties with the best. So a
    pure part of a region grows to the whole, and ground without a violation stays outside.
    """
    sure = 0.5 * min(measured.low[kept], data.kind.plain)
    likely = 0.5 * min(measured.delta[kept], data.kind.plain)
    if not likely > 0:
        return kept

    def member(i: int) -> np.ndarray:
        position, cut = candidates[i]
        return (families[position].scores >= cut) & data.held_out

    current = member(kept)
    for i in np.argsort(measured.mass, kind="stable"):
        if not measured.mass[i] > (1.0 + _SAME_MASS) * measured.mass[kept]:
            continue
        proposed = member(int(i))
        added = proposed & ~current
        if min((added & (data.s > 0)).sum(), (added & (data.s < 0)).sum()) < FEWEST_ROWS:
            continue
        likely_enough = near[i] and data.delta(added) >= likely
        if likely_enough or (sure > 0 and data.limit(added) >= sure):
            kept, current = int(i), proposed
    return kept


def _best_family(sweeps: Sequence[Sweep]) -> int:
    """Score to rank rows by when everybody is the region: that of the best level sets."""
    paths = [path_thresholds(sweep, -np.inf) for sweep in sweeps]
    sets = measure_sets(list(zip(sweeps, paths, strict=True)))
    usable = (sets.fewest >= FEWEST_ROWS) & np.isfinite(sets.low)
    lows = np.where(usable, sets.low, -np.inf)
    starts = np.cumsum([0, *(len(path) for path in paths[:-1])])
    return int(np.argmax(np.maximum.reduceat(lows, starts)))


def path_thresholds(sweep: Sweep, threshold: float) -> np.ndarray:
    """Thresholds of a path: evenly spaced shares of the rows, and the threshold kept."""
    cuts = np.append(sweep.quantiles(_PATH_SHARES), threshold)
    cuts = cuts[np.isfinite(cuts)]
    return np.append(np.unique(cuts)[::-1], [] if np.isfinite(threshold) else [-np.inf])


def _core(path: LevelSets, threshold: float) -> float:
    """Threshold of the set of highest lower limit among those not larger than the region."""
    usable = (path.threshold >= threshold) & (path.fewest >= FEWEST_ROWS) & ~np.isnan(path.low)
    if not usable.any():
        return threshold
    return float(path.threshold[np.argmax(np.where(usable, path.low, -np.inf))])
