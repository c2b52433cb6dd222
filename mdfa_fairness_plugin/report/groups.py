"""Every group in a table, and what of it may be printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mdfa_fairness_plugin.data.sensitive import JOINT
from mdfa_fairness_plugin.describe.wording import label_text, named, percent
from mdfa_fairness_plugin.records import AuditRecord, GroupCounts, Subgroup, Violation
from mdfa_fairness_plugin.report.cells import Kept
from mdfa_fairness_plugin.report.copies import printed
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
    rows: list[tuple[Value, ...]] = []
    for own in result.groups:
        n = None if None in own.counts else sum(k for k in own.counts if k is not None)
        if n == 0 and (own.known or effect is BOUNDED):
            continue
        hidden = "counts" in own.withheld
        cells: list[Value] = [n, None if hidden else percent(own.share)]
        if isinstance(effect, OfMeans) and not labels:
            known = not math.isnan(own.rates[0])
            lost = None if "rates" in own.withheld else ""
            cells.append(effect.average(own.rates[0]) if known else lost)
        for place in told:
            cells += [own.counts[place], _rate(own.rates[place], hidden)]
        if impact:
            cells.append(_impact(own, own.rates[told[0]], highest, hidden))
        rows.append((_who(own), *cells))
    header = ["Who", "Rows expected" if effect is BOUNDED else "Rows", "Share"]
    if isinstance(effect, OfMeans) and not labels:
        header.append("Mean rank" if effect.unit else "Mean")
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
    lines = (*lines, _SOME) if withheld else lines
    return table, Paragraphs(lines if rows else (), "note", media=HTML)


def _who(own: GroupCounts) -> str:
    if own.known:
        return named(own.sensitive_feature, own.group, 40)
    return f"{label_text(own.sensitive_feature)} not known"


def _rate(rate: float, hidden: bool) -> Value:
    if math.isnan(rate):
        return None if hidden else ""
    return percent(rate)


def highest_rates(groups: Sequence[GroupCounts], place: int) -> dict[str, float]:
    """Highest rate of the groups of each feature; unknown where one is withheld."""
    highest: dict[str, float] = {}
    for own in groups:
        if own.known:
            rate = own.rates[place]
            before = highest.get(own.sensitive_feature, 0.0)
            highest[own.sensitive_feature] = (
                math.nan if math.isnan(rate) or math.isnan(before) else max(rate, before)
            )
    return highest


def _impact(own: GroupCounts, rate: float, highest: Mapping[str, float], hidden: bool) -> Value:
    most = highest.get(own.sensitive_feature, math.nan)
    if math.isnan(most):
        return None
    if not own.known or hidden or not most > 0:
        return ""
    return f"{rate / most:.3f}"


# -- what may be printed


def telling_beside(
    result: AuditRecord, shown: Violation, min_cell: int, *, told: bool
) -> list[Subgroup]:
    """Everybody by other searches of the same column, where it would tell of a few.

    That is of groups that others less the printed ones leave few of; and, where the table of the
    search told first is not ``told`` in full, of every group, for all have the same totals.
    """
    columns = shown.population.counts.columns
    others = {
        own.group: own.population
        for own in result.violations
        if own.sensitive_feature == shown.sensitive_feature and own.group != shown.group
        if own.reference is None and set(own.population.counts.columns) == set(columns)
    }
    if shown.reference is not None or not others:
        return []
    groups = list(others.values())
    cells = np.array([own.counts[columns].to_numpy(dtype=float)[0] for own in groups])
    rest = shown.population.counts.to_numpy(dtype=float)[1] - cells.sum(axis=0)
    hidden = _hidden(np.vstack([cells, rest.clip(0)]), min_cell)
    return [own for own, hide in zip(groups, hidden, strict=False) if hide or not told]


def printable_groups(
    result: AuditRecord, shown: Violation | None, kept: Kept, min_cell: int
) -> tuple[GroupCounts, ...]:
    """Groups without small cells, and without what would give one away.

    Of a feature whose groups add up to a number that is known, groups are withheld until those that
    are have in all enough rows of every outcome. Nothing is printed where a difference to the counts
    of the search told first is small, or one of these is withheld.
    """
    groups = result.groups
    if not groups:
        return ()
    cells = np.array([own.counts for own in groups], dtype=float)
    features = [own.sensitive_feature for own in groups]
    by_feature = {
        name: np.array([i for i, own in enumerate(features) if own == name])
        for name in dict.fromkeys(features)
    }
    hidden = np.zeros(len(groups), dtype=bool)
    for places in by_feature.values():
        hidden[places] = _hidden(cells[places], min_cell)
    *parts, last = by_feature
    joint = by_feature[last]
    if last == JOINT.join(parts) and (hidden.any() or _apart(groups, cells, joint, min_cell)):
        hidden[joint] = True
    if not _open(result, shown, kept, cells, by_feature, hidden, min_cell):
        hidden[:] = True
    return tuple(
        _copy(own, min_cell, hide=bool(hide)) for own, hide in zip(groups, hidden, strict=True)
    )


def _copy(own: GroupCounts, min_cell: int, *, hide: bool) -> GroupCounts:
    if not hide:
        few = bool(own.counted) and tells_of_few(own.counted, min_cell)
        rates = (math.nan,) if few else own.rates
        return printed(GroupCounts, own, counts=own.counts, rates=rates, share=own.share)
    n = len(own.counts)
    return printed(GroupCounts, own, counts=(None,) * n, rates=(math.nan,) * n)


def _telling(cells: np.ndarray, min_cell: int) -> np.ndarray:
    """Whether rows of counts have a small one, or tell that nobody has an outcome."""
    few = (cells > 0) & (cells < min_cell)
    none = (cells == 0) & (cells.sum(axis=-1, keepdims=True) > 0)
    return (few | none).any(axis=-1)


def _hidden(cells: np.ndarray, min_cell: int) -> np.ndarray:
    """Groups of one feature that are withheld: those that tell, and the smallest beside them."""
    hidden = _telling(cells, min_cell)
    if not hidden.any():
        return hidden
    for place in np.argsort(cells.sum(axis=1), kind="stable"):
        filled = hidden & (cells.sum(axis=1) > 0)
        if filled.sum() > 1 and (cells[hidden].sum(axis=0) >= min_cell).all():
            break
        hidden[place] |= cells[place].sum() > 0
    return hidden


def _apart(
    groups: Sequence[GroupCounts], cells: np.ndarray, joint: np.ndarray, min_cell: int
) -> bool:
    """Whether a group less its part in the combinations leaves a few people."""
    names = list(dict.fromkeys(one.sensitive_feature for one in groups))
    combined: dict[int, Any] = {k: groups[k].group for k in joint if groups[k].known}
    for i, own in enumerate(groups):
        if i in joint or not own.known:
            continue
        place = names.index(own.sensitive_feature)
        inside = [k for k, who in combined.items() if who[place] == own.group]
        if _telling(cells[i] - cells[inside].sum(axis=0), min_cell):
            return True
    return False


def _open(
    result: AuditRecord,
    shown: Violation | None,
    kept: Kept,
    cells: np.ndarray,
    by_feature: Mapping[str, np.ndarray],
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
    own = [i for i in by_feature.get(shown.sensitive_feature, ()) if result.groups[i].known]
    group = [i for i in own if result.groups[i].group == shown.group]
    others = [
        i for i in own if i not in group and shown.reference in (None, result.groups[i].group)
    ]
    left = np.array([cells[group].sum(axis=0), cells[others].sum(axis=0)]) - sides
    rest = cells[by_feature[shown.sensitive_feature]].sum(axis=0) - sides.sum(axis=0)
    # Of the others, those withheld are what the printed ones leave.
    last = sides[1] - cells[[i for i in others if not hidden[i]]].sum(axis=0)
    apart = np.vstack([left, left.sum(axis=0), rest, last])
    return bool((apart >= 0).all()) and not _telling(apart, min_cell).any()
