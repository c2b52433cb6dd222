"""Numbers as they are read: ratios, percentage points, and amounts of anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mdfa_fairness_plugin.describe.wording import number, rounded


def ratio_text(ratio: float) -> str:
    """Write a ratio to one decimal, more where it is close to 1 or to 0: 1.8, 1.04, 0.031."""
    if math.isnan(ratio):
        return "unknown"
    if math.isinf(ratio):
        return "infinitely many"
    if ratio >= 10:
        return f"{ratio:,.0f}"
    if 0 < abs(ratio - 1) < 0.005:
        return f"{ratio:.3f}"
    if ratio >= 1.15:
        return f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 0.1 or ratio == 0 else rounded(ratio, 2)


def times_text(ratio: float) -> str:
    """Write a ratio of means, which are often close: 1.25, 0.88, 12."""
    return f"{ratio:.2f}" if 0.995 > ratio >= 0.1 or 1.005 <= ratio < 10 else ratio_text(ratio)


def ratio_or_inf(ratio: float) -> str:
    """Write a ratio in a table, ``inf`` where it is infinite."""
    return "inf" if math.isinf(ratio) else ratio_text(ratio)


def between(low: float, high: float, *, write: Callable[[float], str] = ratio_text) -> str:
    """An interval on the ratio in words; empty if it is unknown."""
    if math.isnan(low) and math.isnan(high):
        return ""
    if math.isnan(high) or math.isinf(high):
        return f"at least {write(low)} times"
    if math.isnan(low):
        return f"at most {write(high)} times"
    return f"between {write(low)} and {write(high)} times"


def points(difference: float) -> str:
    """A difference of rates in percentage points: 61, 8.4, 0.32; empty if it is unknown."""
    if math.isnan(difference):
        return ""
    number = 100.0 * difference
    if abs(number) < 1:
        return rounded(number, 2)
    return f"{number:.0f}" if abs(number) >= 9.95 else f"{number:.1f}"


def points_text(difference: float, interval: tuple[float, float]) -> str:
    """How large a difference of rates is, with its interval; empty if it is unknown."""
    if math.isnan(difference):
        return ""
    low, high = map(points, interval)
    span = f" ({low} to {high})" if low and high else ""
    return f"{points(difference)} percentage points{span}"


def amount_text(value: float, digits: int = 3) -> str:
    """Write an amount to a few digits, with marks for thousands: 6,050, 29,800, 1.3, 0.0123."""
    if not math.isfinite(value) or value == 0:
        return number(value)
    short = float(f"{value:.{digits}g}")
    places = digits - 1 - math.floor(math.log10(abs(short)))
    if places > digits + 3:
        return f"{short:.{digits}g}"
    text = f"{short:,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def amounts(values: Sequence[float]) -> list[str]:
    """Write amounts to be compared, with digits enough to see how far they are apart."""
    known = [value for value in values if math.isfinite(value)]
    spread = max(known) - min(known) if known else 0.0
    size = max(map(abs, known), default=0.0)
    # What is closer than that is as good as equal.
    more = math.floor(math.log10(size / spread)) if spread > 1e-4 * size else 0
    return [amount_text(value, more + 3) for value in values]


def told_apart(values: Sequence[float]) -> list[str]:
    """Write numbers to be compared, with digits enough to see the difference: 1999.0 and 1999.5."""
    known = [value for value in values if math.isfinite(value)]
    spread = max(known) - min(known) if known else 0.0
    size = max(map(abs, known), default=0.0)
    if spread == 0 or size >= 10_000 or size < 1e-4:
        return [rounded(value) for value in values]
    # Never fewer than three digits in all.
    places = max(-math.floor(math.log10(spread)), 2 - math.floor(math.log10(size)), 0)
    if places > 6:
        return [rounded(value) for value in values]
    return [f"{v:.{places}f}" if math.isfinite(v) else number(v) for v in values]
