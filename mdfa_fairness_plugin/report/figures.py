"""Ratios, percentage points, rates and amounts as they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mdfa_fairness_plugin.describe.decimals import (
    MOST,
    alike,
    amounts,
    decimals,
    point_places,
    ratio_places,
    short,
)
from mdfa_fairness_plugin.describe.wording import rounded


def ratio_text(ratio: float) -> str:
    """Write a ratio to one decimal, more where it is close to 1 or to 0: 1.8, 1.04, 0.031."""
    return alike((ratio,), ratio_places, none=1.0)[0]


def ratio_or_inf(ratio: float) -> str:
    """Write a ratio in a table, ``inf`` where it is infinite."""
    return "inf" if math.isinf(ratio) else ratio_text(ratio)


def points(difference: float) -> str:
    """A difference of rates in percentage points: 61, 8.4, 0.32; empty if it is unknown."""
    return points_of((difference,))[0]


def points_of(differences: Sequence[float]) -> list[str]:
    """Differences of rates that are read together, in percentage points; empty where unknown."""
    return short(alike([100.0 * x for x in differences], point_places, none=0.0))


def in_brackets(value: str, low: str, high: str, more: str = "") -> str:
    """A number with its interval, as far as it is known, and more in the same brackets."""
    inside = ", ".join(filter(None, (ends(low, high), more if low or high else "")))
    return f"{value} ({inside})" if inside else value


def ends(low: str, high: str) -> str:
    """Both ends of an interval as they were written; empty if none is known."""
    if high in ("", "inf"):
        return f"at least {low}" if low else ""
    return f"{low} to {high}" if low else f"at most {high}"


def points_text(difference: float, interval: tuple[float, float]) -> str:
    """How large a difference of rates is, with its interval; empty if it is unknown."""
    value, low, high = points_of((difference, *interval))
    if not value:
        return ""
    span = f" ({low} to {high})" if low and high else ""
    return f"{value} percentage points{span}"


def rates_text(
    rates: tuple[float, float],
    ratio: str,
    write: Callable[[float, int], str],
    difference: str = "",
    most: int = MOST,
) -> list[str]:
    """Write two rates exactly enough for quotient and difference to be as they were written.

    Where these are not made of them, or there are none, exactly enough not to be nothing. None
    below a tenth: with fewer than ``most`` decimals of a percentage.
    """
    own, other = rates
    quotient = own / other if own and other else math.nan
    if f"{quotient:,.{decimals(ratio)}f}" != ratio:
        ratio = ""
    if f"{100.0 * (own - other):,.{decimals(difference)}f}" != difference:
        difference = ""
    most = MOST if min(rates) < 0.1 else most
    fitting = (n for n in range(most) if _leads_to(own, other, n, ratio, difference))
    digits = next(fitting, most - 1)
    return [write(rate, digits) for rate in rates]


def _leads_to(own: float, other: float, n: int, ratio: str, difference: str) -> bool:
    """Whether rates in percent, so rounded, are not nothing, and give what is made of them."""
    first, second = (round(100.0 * rate, n) for rate in (own, other))
    if difference and f"{first - second:,.{decimals(difference)}f}" != difference:
        return False
    told = [share for share, rate in ((first, own), (second, other)) if rate]
    if not ratio:
        return all(told)
    return all(told) and f"{told[0] / told[1]:,.{decimals(ratio)}f}" == ratio


def frequency(rate: float, digits: int) -> str:
    """A rate as a natural frequency: 24 of 100, 241 of 1,000."""
    return f"{round(rate * 10 ** (2 + digits)):,d} of {10 ** (2 + digits):,d}"


def percentage(rate: float, digits: int) -> str:
    """A rate in percent, with so many decimals."""
    return f"{100.0 * rate:.{digits}f} %"


def amount_text(value: float, digits: int = 3) -> str:
    """Write an amount to a few digits, with marks for thousands: 6,050, 29,800, 1.3, 0.0123."""
    return amounts((value,), digits)[0]


def told_apart(values: Sequence[float]) -> list[str]:
    """Write values of a feature to be compared, with three digits at least: 1999.0 and 1999.5."""
    known = [value for value in values if math.isfinite(value)]
    size = max(map(abs, known), default=0.0)
    if size >= 10_000 or 0 < size < 1e-4:
        return [rounded(value) for value in values]
    spread = max(known, default=0.0) - min(known, default=0.0)
    places = 2 - math.floor(math.log10(size)) if size else 0
    if spread >= 1e-6:
        places = max(places, -math.floor(math.log10(spread)))
    texts = alike(values, lambda _: min(max(places, 0), 6))
    return [text.replace(",", "") for text in texts]  # years have no marks
