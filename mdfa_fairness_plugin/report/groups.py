"""Every group in a table, and what of it may be printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy.optimize import linprog

from mdfa_fairness_plugin.data.sensitive import JOINT
from mdfa_fairness_plugin.describe.wording import label_text, named, percent
from mdfa_fairness_plugin.records import (
    AuditRecord,
    GroupCounts,
    Judged,
    Measured,
    Subgroup,
    Violation,
)
from mdfa_fairness_plugin.report.cells import Kept, few_of
from mdfa_fairness_plugin.report.copies import printed, thin
from mdfa_fairness_plugin.report.document import HTML, Paragraphs, Table, Value
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.means import OfMeans
from mdfa_fairness_plugin.report.profile_cells import tells_of_few
from mdfa_fairness_plugin.report.rates import BOUNDED

_MOST_GROUPS: Final = 40
_MOST_OUTCOMES: Final = 3
_ALL_OF_THEM: Final = (
    "A reader who is obliged to see them finds them in result.group_table() and with --group-table "
    "FILE.csv, where no count is withheld."
)
_SOME: Final = f"Some counts of groups are withheld here. {_ALL_OF_THEM}"
_NONE_TOLD: Final = (
    "Counts of every group are withheld here: together with the other numbers they would tell of a few "
    f"rows. {_ALL_OF_THEM}"
)


def groups_blocks(result: AuditRecord) -> tuple[Table, Paragraphs]:
    """Every group with its rates, and where counts are withheld that somebody may have to see."""
    if result.groups and all("counts" in own.withheld for own in result.groups if own.known):
        empty = Table(header=(), rows=(), media=HTML)
        return empty, Paragraphs((_NONE_TOLD,), "note", media=HTML)
    labels, good = result.outcome_labels, result.favorable_label
    told = [labels.index(good)] if good in labels else list(range(len(labels)))[:_MOST_OUTCOMES]
    impact = good in labels
    highest = highest_rates(result.groups, told[0]) if impact else {}
    effect = effect_of(next(iter(result.violations), None))
    means = effect if isinstance(effect, OfMeans) and not labels else None
    rows: list[tuple[Value, ...]] = []
    for own in result.groups:
        n = None if None in own.counts else sum(k for k in own.counts if k is not None)
        if n == 0 and (own.known or effect is BOUNDED):
            continue
        hidden = "counts" in own.withheld
        cells: list[Value] = [n, None if hidden else percent(own.share)]
        if means is not None:
            cells.append(_rate(own.rates[0], "rates" in own.withheld, means.average))
        for place in told:
            cells += [own.counts[place], _rate(own.rates[place], hidden, percent)]
        if impact:
            cells.append(_impact(own, own.rates[told[0]], highest, hidden))
        rows.append((_who(own), *cells))
    header = ["Who", "Rows expected" if effect is BOUNDED else "Rows", "Share"]
    if means is not None:
        header.append("Mean rank" if means.unit else "Mean")
    for place in told:
        header += [label_text(labels[place], 16), "Rate"]
    header += ["Impact ratio"] if impact else []
    n_more = len(rows) - _MOST_GROUPS
    table = Table(
        header=tuple(header),
        rows=tuple(rows[:_MOST_GROUPS]),
        caption="Every group, compared or not, features as they are",
        more=f"and {n_more} more; result.group_table() has all" if n_more > 0 else "",
        media=HTML,
    )
    withheld = any(own.withheld for own in result.groups)
    lines = ("Impact ratio: rate over that of the group with the highest.",) if impact else ()
    if not impact and len(labels) > len(told):
        names = ", ".join(label_text(one, 16) for one in labels[len(told) :])
        lines = (f"Of other outcomes ({names}) result.group_table() has the rates.",)
    lines = (*lines, _SOME) if withheld else lines
    return table, Paragraphs(lines if rows else (), "note", media=HTML)


def _who(own: GroupCounts) -> str:
    if own.known:
        return named(own.sensitive_feature, own.group, 40)
    return f"{label_text(own.sensitive_feature)} not known"


def _rate(rate: float, hidden: bool, write: Callable[[float], str]) -> Value:
    if math.isnan(rate):
        return None if hidden else ""
    return write(rate)


def highest_rates(groups: Sequence[GroupCounts], place: int) -> dict[str, float]:
    """Highest rate of the groups of each feature; unknown where one is withheld."""
    rates: dict[str, list[float]] = {}
    for own in groups:
        if own.known:
            rates.setdefault(own.sensitive_feature, []).append(own.rates[place])
    return {feature: float(np.max(own)) for feature, own in rates.items()}


def _impact(own: GroupCounts, rate: float, highest: Mapping[str, float], hidden: bool) -> Value:
    most = highest.get(own.sensitive_feature, math.nan)
    if math.isnan(most):
        return None
    if not own.known or hidden or not most > 0:
        return ""
    return f"{rate / most:.3f}"


# -- what may be printed


def closed_groups(
    result: AuditRecord, shown: Violation | None, min_cell: int, *, told: bool
) -> frozenset[tuple[str, Hashable]]:
    """Groups, by column and value, of which nothing is told beside the search told first.

    Those with a count of a few, and those that would tell of these: all groups of a column add up to
    everybody, and combinations to the groups they are of. Where the table told first is not ``told``
    in full, everybody is no more known than it is, so that nothing of other groups is.
    """
    groups = result.groups or _compared(result, shown)
    names = [(own.sensitive_feature, own.group) for own in groups]
    if not groups or not told:
        return frozenset(names)
    cells = np.array([own.counts for own in groups], dtype=float)
    columns = np.array([feature for feature, _ in names])
    known = np.array([own.known for own in groups])
    first = None if shown is None else shown.sensitive_feature
    sides = [] if shown is None else sides_of(shown)
    fixed = np.array([name in sides for name in names]) | (cells.sum(axis=1) == 0)
    few, lines = few_of(cells, min_cell), []
    hidden = np.any(few, axis=1)
    for column in dict.fromkeys(columns):
        places = columns == column
        if (hidden & places & ~known).any():  # any search tells how many have no value in it
            hidden |= places if column != first else ~places
            places &= known
        lines.append(places)
    # What is not known of a whole column adds up to nothing that is known.
    lines = [line.astype(float) for line in lines if not hidden[line].all()]
    lines += _parts(groups)
    for place, outcome in np.argwhere(few).tolist():
        beside = _to_hide(cells, lines, hidden, fixed, (place, outcome), min_cell)
        if beside is None:
            return frozenset(names)
        hidden |= beside
    return frozenset(name for name, hide in zip(names, hidden, strict=True) if hide)


def _to_hide(
    cells: np.ndarray,
    lines: Sequence[np.ndarray],
    hidden: np.ndarray,
    fixed: np.ndarray,
    place: tuple[int, int],
    min_cell: int,
) -> np.ndarray | None:
    """The smallest groups to hide for a count to be any of a few; None if there are none.

    ``lines`` (n, n_groups) are sums that are known, so that others make up for it.
    """
    group, outcome = place
    own, beside = cells[:, outcome], np.zeros(len(cells), dtype=bool)
    sums = np.vstack([*lines, np.eye(len(cells))[group]])
    cost = np.where(hidden, 0.0, 1.0 + cells.sum(axis=1))
    most = [np.where(fixed, 0.0, end) for end in (np.inf, own)]  # one has more, or less
    for step in (min_cell - 1 - own[group], -own[group]):
        found = linprog(
            np.tile(cost, 2),
            A_eq=np.hstack([sums, -sums]),
            b_eq=np.r_[np.zeros(len(lines)), step],
            bounds=np.column_stack([np.zeros(2 * len(cells)), np.concatenate(most)]),
        )
        if found.status != 0:
            return None
        beside |= (found.x.reshape(2, -1) > 1e-6).any(axis=0)
    return beside


def _compared(result: AuditRecord, shown: Violation | None) -> tuple[GroupCounts, ...]:
    """Groups by the searches alone; last, of every feature, all others compared."""
    found: dict[str, dict[Hashable, np.ndarray]] = {}
    for own in result.violations:
        counts = own.population.counts
        if shown is None or len(counts) != 2 or set(counts) != set(shown.population.counts):
            continue
        cells = counts.reindex(columns=shown.population.counts.columns).to_numpy(dtype=float)
        groups = found.setdefault(own.sensitive_feature, {})
        groups[own.group], others = cells
        if own.reference is not None:
            groups[own.reference] = others
        groups.setdefault(None, cells.sum(axis=0) if own.reference is None else 0 * others)
    for groups in found.values():
        groups[None] = (2 * groups[None] - sum(groups.values())).clip(0)
    return tuple(
        GroupCounts(sensitive_feature=name, group=group, counts=tuple(map(int, row)))
        for name, groups in found.items()
        for group, row in groups.items()
    )


def _parts(groups: Sequence[GroupCounts]) -> list[np.ndarray]:
    """Each group less its combinations with those of other columns, if there are any."""
    *names, joint = dict.fromkeys(own.sensitive_feature for own in groups)
    lines = []
    for i, own in enumerate(groups if joint == JOINT.join(names) else ()):
        if own.known and own.sensitive_feature != joint:
            place, line = names.index(own.sensitive_feature), np.zeros(len(groups))
            for k, part in enumerate(groups):
                if part.sensitive_feature == joint and isinstance(part.group, tuple):
                    line[k] = -float(part.group[place] == own.group)
            line[i] = 1.0
            lines.append(line)
    return lines


def printable_groups(
    result: AuditRecord,
    shown: Violation | None,
    kept: Kept,
    closed: Collection[tuple[str, Hashable]],
    min_cell: int,
) -> tuple[GroupCounts, ...]:
    """Groups without those that are closed.

    Nothing is printed where a difference to the counts of the search told first is small, or one of
    these is withheld.
    """
    groups = result.groups
    if not groups:
        return ()
    cells = np.array([own.counts for own in groups], dtype=float)
    hidden = np.array([(own.sensitive_feature, own.group) in closed for own in groups])
    if not _open(result, shown, kept, cells, hidden, min_cell):
        hidden[:] = True
    return tuple(
        _copy(own, min_cell, hide=bool(hide)) for own, hide in zip(groups, hidden, strict=True)
    )


def telling_parts(
    result: AuditRecord, shown: Violation | None, min_cell: int
) -> Iterator[Measured]:
    """All who meet one rule, or were asked about, where several groups' numbers leave a few others."""
    found: dict[str, list[tuple[Judged, Measured]]] = {}
    for own in sorted(result.violations, key=lambda own: own is not shown):
        if own.rule:
            found.setdefault(own.rule, []).append((own, own.rule_subgroup))
    for asked in result.asked:
        found.setdefault(asked.label, []).append((asked, asked))
    for pairs in found.values():
        there = [pair for pair in pairs if not pair[1].counts.empty]
        there.sort(key=lambda pair: thin(pair[1].counts, min_cell))
        searches = tuple(
            Violation(**vars(own.key), population=Subgroup(counts=part.counts))
            for own, part in there
        )
        if len({(own.sensitive_feature, own.group) for own in searches}) > 1:
            alone = AuditRecord(violations=searches)
            closed = closed_groups(alone, searches[0], min_cell, told=True)
            yield from (part for own, part in there if closed & set(sides_of(own)))


def sides_of(search: Judged) -> list[tuple[str, Hashable]]:
    """Column and value of the group of a search, and of whom it is compared with."""
    sides = (search.group, search.reference)
    return [(search.sensitive_feature, own) for own in sides if own is not None]


def _copy(own: GroupCounts, min_cell: int, *, hide: bool) -> GroupCounts:
    if not hide:
        few = bool(own.counted) and tells_of_few(own.counted, min_cell)
        rates = (math.nan,) if few else own.rates
        return printed(GroupCounts, own, counts=own.counts, rates=rates, share=own.share)
    n = len(own.counts)
    return printed(GroupCounts, own, counts=(None,) * n, rates=(math.nan,) * n)


def _open(
    result: AuditRecord,
    shown: Violation | None,
    kept: Kept,
    cells: np.ndarray,
    hidden: np.ndarray,
    min_cell: int,
) -> bool:
    """Whether the counts of the search told first leave the groups free to be printed."""
    # What is inside the subgroup adds up to no group.
    inside = [name for name in kept.sums if name == "n_rows" or name[0] in ("in", "rows")]  # type: ignore[index]
    if not all(kept.told(name) for name in kept.sums if name not in inside):
        return False
    if shown is None or shown.population.counts.empty:
        return True
    compared = shown.population.counts
    # Its outcomes come first, those of the groups in the order of the labels.
    named_outcomes: list[Any] = list(compared.columns)
    labels = result.outcome_labels or named_outcomes  # all rows of numbers are in one column
    if not set(labels) <= set(named_outcomes):
        return False
    columns = [named_outcomes.index(label) for label in labels]
    sides = compared.to_numpy(dtype=float)[:, columns]
    column = [
        i for i, own in enumerate(result.groups) if own.sensitive_feature == shown.sensitive_feature
    ]
    own = [i for i in column if result.groups[i].known]
    group = [i for i in own if result.groups[i].group == shown.group]
    others = [
        i for i in own if i not in group and shown.reference in (None, result.groups[i].group)
    ]
    left = np.array([cells[group].sum(axis=0), cells[others].sum(axis=0)]) - sides
    rest = cells[column].sum(axis=0) - sides.sum(axis=0)
    # Of the others, those withheld are what the printed ones leave.
    last = sides[1] - cells[[i for i in others if not hidden[i]]].sum(axis=0)
    apart = np.vstack([left, left.sum(axis=0), rest, last])
    return bool((apart >= 0).all()) and not few_of(apart, min_cell).any()
