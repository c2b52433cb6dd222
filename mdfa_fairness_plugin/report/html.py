"""A result as one self-contained page, and as a fragment for notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.profile import DIFFERENCE, PARTS
from mdfa_fairness_plugin.describe.wording import (
    clean,
    count,
    label_text,
    named,
    percent,
    rounded,
)
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.report.pictures import pictures
from mdfa_fairness_plugin.report.redaction import WITHHELD_TEXT, cells_sentence, redact
from mdfa_fairness_plugin.report.story import (
    Story,
    Table,
    comparison,
    diagnostics,
    frame_table,
    p_text,
    ratio_text,
    shown_case,
    tell,
    told_apart,
)

# The usual floor where health records are published.
MIN_CELL: Final = 11
_MOST_PROFILE_ROWS: Final = 30
_MOST_COMPARISONS: Final = 16
_MOST_LEVELS: Final = 3
_LETTERS: Final = (
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
# Words written from right to left, with the blanks and digits between them.
_RIGHT_TO_LEFT: Final = re.compile(rf"{_LETTERS}(?:[\s\d'…-]*{_LETTERS})*")


def render_page(
    result: AuditRecord, *, min_cell: int = MIN_CELL, command: str | None = None
) -> str:
    """Give a page that needs no script and fetches nothing.

    Parameters
    ----------
    result : AuditResult
    min_cell : int, default=11
        Counts below this are not printed, nor is what would give them away; 1 prints all.
    command : str or None, default=None
        What made the result, if it was a command; None: Python code is shown.

    Returns
    -------
    str
        HTML; every text drawn from the data is escaped. The same result gives the same bytes.
    """
    redaction = redact(result, min_cell)
    context = _context(redaction.result)
    context |= {
        "pictures": pictures(result, redaction),
        "key_numbers": _key_numbers(redaction.result),
        "cells": cells_sentence(redaction),
        "silence": _silence_table(redaction.result),
        "provenance": _provenance_table(redaction.result),
        "command": clean(command) if command else rerun_code(result),
    }
    return environment().get_template("page.html").render(context)


def render_fragment(result: AuditRecord) -> str:
    """Give the text and tables as one element, as notebooks show it; every count is in it."""
    context = _context(result) | {
        "pictures": {},
        "key_numbers": (),
        "cells": "",
        "silence": None,
        "provenance": None,
        "command": "",
    }
    return environment().get_template("fragment.html").render(context)


def isolate(text: str) -> Markup:
    """Escape a text, and keep names written from right to left from turning their neighbours.

    Parameters
    ----------
    text : str

    Returns
    -------
    Markup
    """
    parts, end = [Markup()], 0
    for match in _RIGHT_TO_LEFT.finditer(text):
        parts += [escape(text[end : match.start()]), Markup("<bdi>{}</bdi>").format(match.group())]
        end = match.end()
    return Markup().join([*parts, escape(text[end:])])


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """Templates of the package, with escaping on."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("mdfa_fairness_plugin.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["isolate"] = isolate
    return made


def _context(result: AuditRecord) -> dict[str, Any]:
    story: Story = tell(result)
    shown = shown_case(result)
    everybody = shown is not None and shown.rule == EVERYBODY
    profile = None
    if shown is not None:
        profile = _profile_table(_of_everybody(shown.profile) if everybody else shown.profile)
    return {
        "story": story,
        "counts": _counts_tables(result),
        "profile": profile,
        "everybody": everybody,
        "balance": _balance_table(result),
    }


def _counts_tables(result: AuditRecord) -> tuple[tuple[str, Table], ...]:
    """Rows by sensitive value and outcome: in the subgroup told first, and of everybody compared."""
    shown = shown_case(result)
    if shown is None:
        return ()
    tables = [("Rows in the subgroup, by outcome", frame_table(shown.counts))]
    if shown.rule == EVERYBODY:
        tables = [("Rows compared, by outcome", frame_table(shown.counts))]
    else:
        tables.append(("All rows compared, by outcome", frame_table(shown.population.counts)))
    return tuple((title, table) for title, table in tables if table is not None)


def _key_numbers(result: AuditRecord) -> tuple[tuple[str, str], ...]:
    """Name and value of the numbers read first."""
    shown = shown_case(result)
    if shown is None:
        return ()
    low, high = shown.ratio_interval
    ends = [e for e in (low, high) if not math.isnan(e)]
    numbers = []
    if shown.measured:
        span = f" ({ratio_text(low)} to {ratio_text(high)})" if len(ends) == 2 else ""
        infinite = math.isinf(shown.ratio)
        numbers.append(
            ("Rate ratio", "infinite" if infinite else f"{ratio_text(shown.ratio)}{span}")
        )
    elif not math.isnan(low):
        numbers.append(("Rate ratio", f"at least {ratio_text(low)}"))
    everybody = shown.population
    if shown.rule != EVERYBODY and math.isfinite(everybody.delta):
        ends_all = everybody.ratio_interval
        span = "" if any(map(math.isnan, ends_all)) else f" ({_span(ends_all)})"
        numbers.append(("For everybody", f"{ratio_text(everybody.ratio)}{span}"))
    if not math.isnan(shown.p_value_adjusted):
        p = p_text(shown.p_value_adjusted).removeprefix("p ").removeprefix("= ")
        numbers.append(("p, all searches", p))
    if shown.n_rows > 0:
        numbers.append(("Rows in it", f"{shown.n_rows:,d}"))
    return tuple(numbers)


def _span(ends: tuple[float, float]) -> str:
    return f"{ratio_text(ends[0])} to {ratio_text(ends[1])}"


def _silence_table(result: AuditRecord) -> Table | None:
    """Who could not be compared, one row per comparison."""
    rows = []
    for entry in result.silence:
        who = named(entry.sensitive_feature, entry.group)
        if entry.reference is not None:
            who = f"{who} (vs {label_text(entry.reference)})"
        shares = (entry.rule_recall, entry.rule_precision)
        rows.append(
            (
                who,
                clean(entry.rule, 200) if entry.rule else "no short rule",
                _whole(entry.n_rows),
                _whole(entry.n_group),
                "" if math.isnan(entry.share) else percent(entry.share),
                *("" if math.isnan(share) else percent(share) for share in shares),
            )
        )
    if not rows:
        return None
    header = (
        "Comparison",
        "Where they are found",
        "Rows left out",
        "of the group itself",
        "Share of rows",
        "Of them, meet the rule",
        "Of those who meet it, left out",
    )
    return _cut(Table(header=header, rows=tuple(rows), n_text=2), _MOST_COMPARISONS)


def _whole(n: int) -> str:
    return f"{n:,d}" if n >= 0 else WITHHELD_TEXT


def _cut(table: Table, most: int) -> Table:
    """Keep the first rows, and say how many were cut."""
    more = len(table.rows) - most
    if more <= 0:
        return table
    note = f"{count(more, 'more row')} not shown; the result itself has all."
    return replace(table, rows=table.rows[:most], more=note)


def _provenance_table(result: AuditRecord) -> Table | None:
    """Versions, seed, parameters and hash, one row each."""
    provenance = result.provenance
    rows: list[tuple[str, str]] = []
    for name, value in _in_order(provenance):
        if name in ("timings", "parameters", "versions", "iterations"):
            continue
        rows.append((_title(name), label_text(value, 80)))
    versions, parameters = provenance.get("versions"), provenance.get("parameters")
    if isinstance(versions, Mapping):
        listed = ", ".join(f"{clean(k, 30)} {clean(v, 30)}" for k, v in _in_order(versions))
        rows.append(("Versions", listed))
    if isinstance(parameters, Mapping):
        listed = ", ".join(f"{clean(k, 30)} = {clean(v, 60)}" for k, v in _in_order(parameters))
        rows.append(("Parameters", listed))
    if not rows:
        return None
    return Table(header=("What", "Value"), rows=tuple(rows), n_text=2)


def _in_order(values: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Items by name; an object's address in memory differs from run to run and is left out."""
    ordered = sorted(values.items(), key=lambda item: str(item[0]))
    return [(k, type(v).__qualname__ if " at 0x" in str(v) else v) for k, v in ordered]


def _title(name: object) -> str:
    text = clean(name, 40).replace("_", " ")
    return text[:1].upper() + text[1:]


def rerun_code(result: AuditRecord) -> str:
    """Python code that makes the audit again; parameters left at their defaults are left out.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    str
        Arguments that code cannot write, such as arrays, are left as comments.
    """
    from mdfa_fairness_plugin.auditor import MDFAuditor

    given = result.provenance.get("parameters")
    parameters = dict(given) if isinstance(given, Mapping) else {}
    defaults = MDFAuditor().get_params(deep=False)
    seed = result.provenance.get("seed")
    if isinstance(seed, int | np.integer):
        parameters["random_state"] = int(seed)
    lines = ["import mdfa_fairness_plugin as mdfa", "", "result = mdfa.audit(", "    X,", "    y,"]
    lines.append("    sensitive_features=A,")
    for name, value in sorted(parameters.items(), key=lambda item: str(item[0])):
        if name in defaults and _same(defaults[name], value):
            continue
        text = clean(repr(value), 200)
        if _is_code(value):
            lines.append(f"    {clean(name, 40)}={text},")
        else:
            text = type(value).__qualname__ if " at 0x" in text else clean(value, 200)
            lines.append(f"    # {clean(name, 40)}: {text}")
    return "\n".join([*lines, ")"])


def _is_code(value: Any) -> bool:
    """Whether the argument can be written as it was given."""
    if isinstance(value, str):
        # What was an object or an array is kept as its description.
        return "(" not in value and not value.startswith("array of shape")
    if isinstance(value, list | tuple):
        return all(map(_is_code, value))
    return value is None or isinstance(value, bool | int | float)


def _same(default: Any, value: Any) -> bool:
    return type(default) is type(value) and repr(default) == repr(value)


def _of_everybody(profile: pd.DataFrame) -> pd.DataFrame:
    """Profile without the columns of a subgroup that is everybody."""
    if profile.columns.nlevels != 2:
        return profile
    return profile.loc[:, [str(label[0]) == PARTS[0] for label in profile.columns]]


def _profile_table(profile: pd.DataFrame) -> Table | None:
    """Lay the subgroup out beside the population; None if it was not described."""
    if profile.empty:
        return None
    rows = []
    n_all, profile = len(profile), _most_telling(profile)
    for label, values in zip(profile.index, profile.to_numpy(dtype=object), strict=True):
        parts = label if isinstance(label, tuple) else (label, "", "")
        statistic = str(parts[-1])
        kinds = ["difference" if c == DIFFERENCE else statistic for c in profile.columns]
        cells = [_profile_cell(v, kind) for v, kind in zip(values, kinds, strict=True)]
        if statistic.startswith("mean"):
            # Means that differ must not look the same.
            means = [i for i, kind in enumerate(kinds) if kind != "difference" and cells[i]]
            for i, text in zip(means, told_apart([float(values[i]) for i in means]), strict=True):
                cells[i] = text
        rows.append((_row_name(parts), *cells))
    header = ("Feature", *(_column_name(label) for label in profile.columns))
    table = Table(header=header, rows=tuple(rows[:_MOST_PROFILE_ROWS]))
    n_cut = n_all - len(table.rows)
    more = f"{count(n_cut, 'more row')}, less different, not shown; the result itself has all."
    return replace(table, more=more) if n_cut > 0 else table


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


def _profile_cell(value: Any, statistic: str) -> str:
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


def _balance_table(result: AuditRecord) -> Table | None:
    """How alike the groups were made, one row per comparison; None if it was not recorded."""
    rows = []
    for key, value in result.balance.items():
        feature, group = comparison(key)
        found = diagnostics(value)
        sizes = found.get("effective_sample_size")
        rows.append(
            (
                named(feature, group),
                label_text(found["method"]) if found.get("method") else "",
                _optional(found.get("mmd_before")),
                _optional(found.get("mmd_after")),
                _largest(found.get("smd_before")),
                _largest(found.get("smd_after")),
                " / ".join(_optional(size) for size in sizes)
                if isinstance(sizes, list | tuple)
                else "",
                _optional_share(found.get("share_outside_support")),
            )
        )
    if not rows:
        return None
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
    return _cut(Table(header=header, rows=tuple(rows), n_text=2), _MOST_COMPARISONS)


def _optional(value: Any) -> str:
    return rounded(float(value)) if isinstance(value, int | float | np.number) else ""


def _optional_share(value: Any) -> str:
    return percent(float(value)) if isinstance(value, int | float | np.number) else ""


def _largest(differences: Any) -> str:
    """Largest absolute difference over features."""
    if not isinstance(differences, Mapping):
        return ""
    sizes = [abs(float(d)) for d in differences.values() if isinstance(d, int | float)]
    return rounded(max(sizes)) if sizes else ""
