"""Every search by itself, as a page opens it."""

from __future__ import annotations

import math
from typing import Final

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import clean, label_text, named
from mdfa_fairness_plugin.records import AuditRecord, Violation, ranked
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import HTML, Folded, Paragraphs, Table
from mdfa_fairness_plugin.report.effects import effect_cell, effect_of, interval_cell, span_cell
from mdfa_fairness_plugin.report.figures import short
from mdfa_fairness_plugin.report.findings import short_verdict
from mdfa_fairness_plugin.report.means import OfMeans
from mdfa_fairness_plugin.report.rates import BOUNDED
from mdfa_fairness_plugin.report.tables import NOT_MEASURED, frame_table, profile_table

# Beyond these a page would be long; the table has all.
_MOST_OPENED: Final = 200
_MOST_STEPS: Final = 5
_MOST_PROFILE_ROWS: Final = 6
_LONGEST: Final = 300


def opened(result: AuditRecord) -> tuple[Folded, ...]:
    """Rates and counts per group, path, profile and rule of every search, names in full."""
    return tuple(map(_opened, ranked(result.violations)[:_MOST_OPENED]))


def _opened(search: Violation) -> Folded:
    effect = effect_of(search)
    who = named(search.sensitive_feature, search.group, _LONGEST)
    if search.reference is not None:
        who = f"{who} (vs {label_text(search.reference, _LONGEST)})"
    cells = effect_cell(search, effect), interval_cell(search, effect)
    size = next(filter(None, cells), "withheld" if None in cells else NOT_MEASURED)
    title = f"{who}, {label_text(search.outcome, _LONGEST)}: {size}; {short_verdict(search)}"
    lines = [say.case_sentence(search)] if search.measured or search.withheld else []
    if isinstance(effect, OfMeans) and not any(map(math.isnan, search.rates)):
        sides = say.group_of(search), say.others_of(search)
        lines.append(f"In the subgroup {effect.both(search, *sides)}.")
    lines += [say.rule_sentence(search)] if lines and search.rule != EVERYBODY else []
    lines += [clean(search.reason, _LONGEST)] if search.reason else []
    everybody = search.rule == EVERYBODY
    # The features that differ most come first.
    first = search.profile.iloc[: 4 * _MOST_PROFILE_ROWS]
    by_outcome = (
        "" if isinstance(effect, OfMeans) and search.counts.shape[1] == 1 else " by outcome"
    )
    told = profile_table(first, everybody=everybody, most=_MOST_PROFILE_ROWS)
    tables: tuple[Table, ...] = (
        frame_table(search.counts, f"Rows{by_outcome}"),
        _path(search),
        told,
    )
    if effect is BOUNDED:  # rates of either side are not known
        tables = frame_table(search.counts, "Rows expected, by outcome"), told
    return Folded(title, (Paragraphs(tuple(lines)), *tables), media=HTML)


def _path(search: Violation) -> Table:
    """A few regions, from the worst to everybody."""
    effect, frame = effect_of(search), search.path.to_frame()
    names = ["mass", "delta", "interval_low", "interval_high"]
    steps = frame.loc[frame["delta"].notna(), names].sort_values("mass").to_numpy(dtype=float)
    size = search.outcome_sd if search.by_difference else 1.0
    rows = []
    for mass, *numbers in steps[:: max(1, -(-len(steps) // _MOST_STEPS))]:
        scaled = [effect.from_scale(size * one) for one in numbers]
        value, low, high = short(effect.alike(scaled))
        rows.append((f"{mass:.2g}", effect.in_cell(value), span_cell(low, high, effect)))
    header = ("Mass", effect.name.capitalize(), "Between")
    return Table(header=header, rows=tuple(rows), caption="As the subgroup grows")
