"""Numbers as they are read: one rule of decimals for ratios, percentage points and amounts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from mdfa_fairness_plugin.describe.wording import number, rounded

Places = Callable[[Sequence[float]], int]  # decimals of numbers that stand together

# Decimals beyond which nothing is told apart.
_MOST: Final = 4
_UNKNOWN, _INFINITE = "unknown", "infinitely many"
_HARDLY: Final = 1e-9  # what arithmetic leaves of nothing


def alike(values: Sequence[float], places: Places, *, none: float = math.nan) -> list[str]:
    """Write numbers that are read together with the same decimals: the one rule of all reports.

    As many as ``places`` says, and more until the smallest and the largest look different, and until
    none of them looks like ``none``, where nothing differs, but is not.
    """
    known = [value for value in values if math.isfinite(value)]
    n = places(known) if known else _MOST
    while n < _MOST and _mistaken(known, n, none):
        n += 1
    return [_fixed(value, n, none) for value in values]


def _mistaken(known: Sequence[float], n: int, none: float) -> bool:
    """Whether numbers that differ look equal, or like none, with so many decimals."""
    low, high = min(known), max(known)
    apart = high - low > 1e-4 * max(abs(low), abs(high))
    if apart and round(low, n) == round(high, n):
        return True
    return any(abs(x - none) > _HARDLY and round(x, n) == round(none, n) for x in known)


def _fixed(value: float, n: int, none: float) -> str:
    """Write a number with so many decimals; what is next to none is never written as none."""
    if math.isnan(value):
        return _UNKNOWN
    if math.isinf(value):
        return _INFINITE if value > 0 else "minus infinity"
    near = round(value, n)
    if abs(value - none) > _HARDLY and near == round(none, n):
        near += math.copysign(10.0**-n, value - none)
    return f"{near + 0.0:,.{max(n, 0)}f}"  # no minus before a zero


def decimals(text: str) -> int:
    """How many decimals a number was written with."""
    return len(text.partition(".")[2])


def ratio_places(ratios: Sequence[float]) -> int:
    """Decimals of ratios: one, two where one is close to 1 or below, none of 10 and more."""
    return max(
        0 if r >= 10 else 1 if r >= 1.15 else 2 if r >= 0.1 else _digits(r, 2) for r in ratios
    )


def times_places(ratios: Sequence[float]) -> int:
    """Decimals of ratios of means, which are often close."""
    return max(0 if r >= 10 else 2 if r >= 0.1 else _digits(r, 2) for r in ratios)


def point_places(points_: Sequence[float]) -> int:
    """Decimals of percentage points: one, none where all are 10 and more, two digits below 1."""
    sizes = [abs(own) for own in points_ if own] or [1.0]
    return _digits(max(sizes), 2) if max(sizes) < 1 else int(min(sizes) < 9.95)


def amount_places(amounts_: Sequence[float], digits: int = 3) -> int:
    """Decimals of amounts: three digits of the first, at most four of the largest."""
    most = _digits(max(map(abs, amounts_)), digits)
    return min(max(_digits(abs(amounts_[0]), digits), most), most + 1)


def _digits(value: float, digits: int) -> int:
    """Decimals that give a number so many digits; of a very small one as many as it needs."""
    return (
        2 if value == 0 else digits - 1 - math.floor(math.log10(abs(float(f"{value:.{digits}g}"))))
    )


def ratio_text(ratio: float) -> str:
    """Write a ratio to one decimal, more where it is close to 1 or to 0: 1.8, 1.04, 0.031."""
    return alike((ratio,), ratio_places, none=1.0)[0]


def ratio_or_inf(ratio: float) -> str:
    """Write a ratio in a table, ``inf`` where it is infinite."""
    return "inf" if math.isinf(ratio) else ratio_text(ratio)


def ratios_text(values: Sequence[float]) -> list[str]:
    """Write ratios that are read together; ``inf`` where one is infinite, empty where it is unknown."""
    return short(alike(values, ratio_places, none=1.0))


def points(difference: float) -> str:
    """A difference of rates in percentage points: 61, 8.4, 0.32; empty if it is unknown."""
    return points_of((difference,))[0]


def points_of(differences: Sequence[float]) -> list[str]:
    """Differences of rates that are read together, in percentage points; empty where unknown."""
    return short(alike([100.0 * x for x in differences], point_places, none=0.0))


def short(texts: Sequence[str]) -> list[str]:
    """Numbers as tables have them: ``inf``, and empty where one is unknown."""
    return [_SHORT.get(text, text) for text in texts]


_SHORT: Final = {_UNKNOWN: "", _INFINITE: "inf"}


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
    rates: tuple[float, float], ratio: str, write: Callable[[float, int], str]
) -> list[str]:
    """Write two rates exactly enough for their quotient to be the ratio as it was written."""
    own, other = rates
    digits = next((n for n in range(_MOST) if _leads_to(own, other, n, ratio)), _MOST - 1)
    return [write(rate, digits) for rate in rates]


def _leads_to(own: float, other: float, n: int, ratio: str) -> bool:
    """Whether rates in percent to so many decimals are not nothing and give that ratio."""
    own, other = round(100.0 * own, n), round(100.0 * other, n)
    if ratio in ("", "inf") or not other:
        return bool(own) and ratio in ("", "inf")
    return bool(own) and f"{own / other:,.{decimals(ratio)}f}" == ratio


def frequency(rate: float, digits: int) -> str:
    """A rate as a natural frequency: 24 of 100, 241 of 1,000."""
    return f"{round(rate * 10 ** (2 + digits)):,d} of {10 ** (2 + digits):,d}"


def percentage(rate: float, digits: int) -> str:
    """A rate in percent, with so many decimals."""
    return f"{100.0 * rate:.{digits}f} %"


def amount_text(value: float, digits: int = 3) -> str:
    """Write an amount to a few digits, with marks for thousands: 6,050, 29,800, 1.3, 0.0123."""
    return amounts((value,), digits)[0]


def amounts(values: Sequence[float], digits: int = 3) -> list[str]:
    """Write amounts to be compared, with digits enough to see how far they are apart."""
    known = [abs(value) for value in values if math.isfinite(value)]
    if 0 < max(known, default=0.0) < 1e-9:
        return [number(float(f"{value:.{digits}g}")) for value in values]
    texts = alike(values, lambda own: amount_places(own, digits), none=0.0)
    while all("." in t and t.endswith("0") for t in texts if t[-1].isdigit()) and known:
        texts = [t[:-1].removesuffix(".") if t[-1].isdigit() else t for t in texts]
    return texts


def told_apart(values: Sequence[float]) -> list[str]:
    """Write values of a feature to be compared, with three digits at least: 1999.0 and 1999.5."""
    known = [value for value in values if math.isfinite(value)]
    size = max(map(abs, known), default=0.0)
    if size >= 10_000 or 0 < size < 1e-4:
        return [rounded(value) for value in values]
    spread = max(known, default=0.0) - min(known, default=0.0)
    places = 2 - math.floor(math.log10(size)) if size else 0
    if spread:
        places = max(places, -math.floor(math.log10(spread)))
    texts = alike(values, lambda _: min(max(places, 0), 6))
    return [text.replace(",", "") for text in texts]  # years have no marks
