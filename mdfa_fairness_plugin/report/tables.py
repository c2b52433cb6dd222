"""The tables of an audit's document."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.profile import DIFFERENCE, PARTS
from mdfa_fairness_plugin.describe.wording import (
    clean,
    count,
    is_missing,
    label_text,
    named,
    percent,
    rounded,
)
from mdfa_fairness_plugin.fields import Rounded
from mdfa_fairness_plugin.records import AuditRecord, Violation, ranked
from mdfa_fairness_plugin.report import effects
from mdfa_fairness_plugin.report.document import HTML, Table, Value
from mdfa_fairness_plugin.report.figures import told_apart
from mdfa_fairness_plugin.report.findings import POWER, power_cell, short_verdict
from mdfa_fairness_plugin.report.rates import Effect
from mdfa_fairness_plugin.report.reading import comparison, diagnostics, entries, shown_case
from mdfa_fairness_plugin.report.sentences import deviations, p_cell

NOT_MEASURED: Final = "not measured"
_MOST_SEARCHES: Final = 16
# On pages; nobody reads more, and the result itself has all.
_MOST_LISTED: Final = 500
_MOST_PROFILE_ROWS: Final = 30
_MOST_COMPARISONS: Final = 16
_MOST_LEVELS: Final = 3


def frame_table(frame: pd.DataFrame, caption: str = "") -> Table:
    """A DataFrame with its index as text."""
    return Table(
        header=("", *(label_text(label) for label in frame.columns)),
        rows=tuple(
            (label_text(label), *map(cell, row))
            for label, row in zip(frame.index, frame.to_numpy(dtype=object), strict=True)
        ),
        caption=caption,
    )


def cell(value: Any) -> Value:
    """A value of a table of any type; None is withheld, as in every document."""
    if value is None:
        return None
    if is_missing(value):
        return ""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return f"{value:,d}"
    if isinstance(value, float | np.floating):
        return rounded(float(value))
    return label_text(value)


class SearchColumn(NamedTuple):
    """A column of a table of searches."""

    title: str
    write: Callable[[Any, Effect], Value]
    of_sets: bool = False  # whether it says something of a set of rows, too


def search_columns(searches: Sequence[Any], *, wide: bool = False) -> list[SearchColumn]:
    """Columns of what searches, or answers, found; wide: also in the words of auditors."""
    beside = effects.beside_title(searches) if wide else ""
    return [
        SearchColumn(effects.effect_title(searches), effects.effect_cell, True),
        SearchColumn("Between", effects.interval_cell, True),
        *([SearchColumn(beside, effects.beside_cell, True)] if beside else []),
        SearchColumn("Rows", lambda own, _: own.n_rows, True),
        SearchColumn("p", lambda own, _: p_cell(own)),
        *([SearchColumn("SD", lambda own, _: _far(own))] if wide else []),
        SearchColumn(POWER, lambda own, _: power_cell(own)),
        SearchColumn("Finding", lambda own, _: short_verdict(own)),
    ]


def searches_table(result: AuditRecord, *, wide: bool = False) -> Table:
    """Every group with every outcome, the worst first; wide: also in the words of auditors."""
    rows: list[tuple[Value, ...]] = []
    listed, case = ranked(result.violations), shown_case(result)
    columns = search_columns(result.violations, wide=wide)
    place = [one.title for one in columns].index("Rows")
    columns.insert(
        place, SearchColumn("Everybody", lambda own, by: effects.effect_cell(own.population, by))
    )
    most = _MOST_LISTED if wide else _MOST_SEARCHES
    for violation in listed[:most]:
        effect = effects.effect_of(violation)
        who = named(violation.sensitive_feature, violation.group, 24)
        if violation.reference is not None:
            who = f"{who} (vs {label_text(violation.reference, 16)})"
        if violation is case and case.rule == EVERYBODY:
            who = f"{who}, {EVERYBODY}"
        found, *more = (one.write(violation, effect) for one in columns)
        found = NOT_MEASURED if found == "" and wide else found
        rows.append((who, label_text(violation.outcome, 16), found, *more))
        if violation is case:
            rows += _beside(case, columns)
    n_more = len(listed) - most
    return Table(
        header=("Who", "Outcome", *(one.title for one in columns)),
        rows=tuple(rows),
        caption="Every group with every outcome",
        titled=HTML,
        n_text=2,
        text_last=True,
        more=f"and {count(n_more, 'more search', 'more searches')}" if n_more > 0 else "",
    )


def _far(violation: Violation) -> Value:
    """How far beyond chance a search is; None if that is withheld."""
    hidden = "p_value_adjusted" in violation.withheld
    return None if hidden else deviations(violation.standard_deviations)


def _beside(case: Violation, columns: Sequence[SearchColumn]) -> list[tuple[Value, ...]]:
    """Everybody in the search told first, or a part of them that is told beside them."""
    whole = case.rule == EVERYBODY
    name, own = ("a part of them", case.beside) if whole else (EVERYBODY, case.population)
    effect = effects.effect_of(case)
    if own is None or not (own.measured or effect.fields[0] in own.withheld):
        return []
    cells = (one.write(own, effect) if one.of_sets else "" for one in columns)
    return [(name, label_text(case.outcome, 16), *cells)]


def balance_table(result: AuditRecord) -> Table:
    """How alike the groups were made, one row per comparison."""
    rows = []
    for key, value in result.balance.items():
        found = diagnostics(value)
        cells: list[Value] = [
            None if name in found.get("withheld", ()) else _balance_cell(found.get(name), write)
            for name, write in _BALANCE
        ]
        method = label_text(found["method"]) if found.get("method") else ""
        rows.append((named(*comparison(key)), method, *cells))
    header = (
        "Comparison",
        "Method",
        "MMD before",
        "after",
        "Largest standardised difference before",
        "after",
        "Effective rows (group / others)",
        "No counterpart",
    )
    caption = "Differences between the groups, before and after weighting"
    n_more = len(rows) - _MOST_COMPARISONS
    more = f"{count(n_more, 'more row')} not shown; the result itself has all."
    return Table(
        header=header,
        rows=tuple(rows[:_MOST_COMPARISONS]),
        caption=caption,
        n_text=2,
        more=more if n_more > 0 else "",
    )


def _effective(n: float) -> str:
    """An effective number of rows."""
    return f"{n:,.0f}" if n >= 100 or isinstance(n, Rounded) else rounded(n)


_BALANCE: Final = (
    ("mmd_before", rounded),
    ("mmd_after", rounded),
    ("smd_before", rounded),
    ("smd_after", rounded),
    ("effective_sample_size", _effective),
    ("share_outside_support", percent),
)


def _balance_cell(value: Any, write: Callable[[float], str]) -> str:
    """A number, two of them, or the largest difference over features; empty if it is unknown."""
    if isinstance(value, Mapping):
        value = max((abs(d) for d in value.values() if isinstance(d, int | float)), default=None)
    if isinstance(value, list | tuple):
        return " / ".join(_balance_cell(one, write) for one in value)
    return write(value) if isinstance(value, int | float) else ""


# Or, of a request, in the command.
_TOLD_ELSEWHERE: Final = (
    "command", "files", "iterations", "parameters", "request", "timings", "versions",
)  # fmt: skip


def provenance_table(result: AuditRecord) -> Table:
    """Versions, seed, parameters and hash, one row each."""
    provenance = result.provenance
    rows = [
        (_title(name), label_text(value, 80))
        for name, value in in_order(provenance)
        if name not in _TOLD_ELSEWHERE and value is not None
    ]
    for name, between, limit in (("versions", " ", 30), ("parameters", " = ", 60)):
        values = entries(provenance, name)
        if values:
            pairs = (f"{clean(k, 30)}{between}{clean(v, limit)}" for k, v in in_order(values))
            rows.append((_title(name), ", ".join(pairs)))
    return Table(header=("What", "Value"), rows=tuple(rows), caption="Provenance", n_text=2)


def in_order(values: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Items by name; an object's address in memory differs from run to run and is left out."""
    ordered = sorted(values.items(), key=lambda item: str(item[0]))
    return [(k, type(v).__qualname__ if " at 0x" in str(v) else v) for k, v in ordered]


def _title(name: object) -> str:
    text = clean(name, 40).replace("_", " ")
    return text[:1].upper() + text[1:]


def profile_table(
    profile: pd.DataFrame, *, everybody: bool, most: int = _MOST_PROFILE_ROWS
) -> Table:
    """The subgroup beside the population; of the population alone if the subgroup is everybody."""
    caption = "Features by sensitive value"
    if not everybody:
        caption += ", in the population and in the subgroup"
    elif profile.columns.nlevels == 2:
        profile = profile.loc[:, [str(label[0]) == PARTS[0] for label in profile.columns]]
    if profile.empty:
        return Table(header=(), rows=())
    rows = []
    n_all, profile = len(profile), _most_telling(profile).iloc[:most]
    for label, values in zip(profile.index, profile.to_numpy(dtype=object), strict=True):
        parts = label if isinstance(label, tuple) else (label, "", "")
        statistic = str(parts[-1])
        kinds = ["difference" if c == DIFFERENCE else statistic for c in profile.columns]
        cells = [_profile_cell(v, kind) for v, kind in zip(values, kinds, strict=True)]
        if statistic.startswith("mean"):
            # Means that differ must not look the same.
            means = [
                i for i, k in enumerate(kinds) if k != "difference" and not is_missing(values[i])
            ]
            for i, text in zip(means, told_apart([float(values[i]) for i in means]), strict=True):
                cells[i] = text
        rows.append((_row_name(parts), *cells))
    n_cut = n_all - len(rows)
    more = f"{count(n_cut, 'more row')}, less different, not shown; the result itself has all."
    return Table(
        header=("Feature", *(_column_name(label) for label in profile.columns)),
        rows=tuple(rows),
        caption=caption,
        more=more if n_cut > 0 else "",
    )


def _most_telling(profile: pd.DataFrame) -> pd.DataFrame:
    """Profile without the levels that differ least, where it is long; features stay in order."""
    if len(profile) <= _MOST_PROFILE_ROWS or profile.index.nlevels != 3:
        return profile
    numbers = pd.DataFrame(profile.to_numpy(dtype=object)).apply(pd.to_numeric, errors="coerce")
    size = numbers.iloc[:, -1].abs().fillna(0.0).to_numpy(dtype=float)
    keep = np.ones(len(profile), dtype=bool)
    by_feature: dict[Any, list[int]] = {}
    for i, (feature, level, _) in enumerate(profile.index):
        if level != "":
            by_feature.setdefault(feature, []).append(i)
    for places in by_feature.values():
        for i in sorted(places, key=lambda i: -size[i])[_MOST_LEVELS:]:
            keep[i] = False
    return profile.loc[keep]


def _row_name(parts: tuple[Any, ...]) -> str:
    *names, statistic = parts
    name = ": ".join(label_text(part) for part in names if part != "")
    return name if statistic in ("", "count", "share") else f"{name}, {statistic}"


def _column_name(label: Any) -> str:
    parts = label if isinstance(label, tuple) else (label,)
    return ", ".join(label_text(part) for part in parts)


def _profile_cell(value: Any, statistic: str) -> Value:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return label_text(value)
    if math.isnan(number):
        return ""
    if math.isinf(number):
        return "only in it" if number > 0 else "only outside"
    if statistic == "share":
        return percent(number)
    if statistic == "difference":
        return f"{number:+.2f}"
    if "year" in statistic:
        return f"{number:.1f}"
    return f"{number:,.0f}" if statistic == "count" else rounded(number)
