"""A result as one self-contained page, and as a fragment for notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.wording import label_text, named, percent, rounded
from mdfa_fairness_plugin.report.story import (
    Story,
    Table,
    comparison,
    diagnostics,
    shown_case,
    tell,
)
from mdfa_fairness_plugin.results import AuditResult


def render_page(result: AuditResult) -> str:
    """Give a page that needs no script and fetches nothing.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    str
        HTML; every text drawn from the data is escaped. The same result gives the same bytes.
    """
    return _environment().get_template("page.html").render(_context(result))


def render_fragment(result: AuditResult) -> str:
    """Give the same content as one element, as notebooks show it."""
    return _environment().get_template("fragment.html").render(_context(result))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("mdfa_fairness_plugin.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _context(result: AuditResult) -> dict[str, Any]:
    story: Story = tell(result)
    shown = shown_case(result)
    profile = _profile_table(shown.profile) if shown is not None else None
    return {"story": story, "profile": profile, "balance": _balance_table(result)}


def _profile_table(profile: pd.DataFrame) -> Table | None:
    """Lay the subgroup out beside the population; None if it was not described."""
    if profile.empty:
        return None
    rows = []
    for label, values in zip(profile.index, profile.to_numpy(dtype=object), strict=True):
        parts = label if isinstance(label, tuple) else (label, "", "")
        statistic = str(parts[-1])
        rows.append((_row_name(parts), *(_profile_cell(value, statistic) for value in values)))
    header = ("", *(_column_name(label) for label in profile.columns))
    return Table(header=header, rows=tuple(rows))


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
    if statistic == "share":
        return percent(number)
    if "year" in statistic:
        return f"{number:.1f}"
    return f"{number:,.0f}" if statistic == "count" else rounded(number)


def _balance_table(result: AuditResult) -> Table | None:
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
    return Table(header=header, rows=tuple(rows), n_text=2)


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
