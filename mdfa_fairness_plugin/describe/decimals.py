"""One rule of decimals for numbers that are read together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

Places = Callable[[Sequence[float]], int]  # decimals of numbers that stand together

# Decimals beyond which nothing is told apart.
MOST: Final = 4
_UNKNOWN, _INFINITE = "unknown", "infinitely many"
_MOST_WRITTEN: Final = 9  # decimals; smaller numbers are written as 1.5e-12
_HARDLY: Final = 1e-9  # what arithmetic leaves of nothing
_SHORT: Final = {_UNKNOWN: "", _INFINITE: "inf"}


def alike(values: Sequence[float], places: Places, *, none: float = math.nan) -> list[str]:
    """Write numbers that are read together with the same decimals: the one rule of all reports.

    As many as ``places`` says, and more until the smallest and the largest look different, and
    neither looks like ``none``, where nothing differs, but is not; and one more if the first, an
    estimate, then no longer looks like an end of its interval.
    """
    known = [value for value in values if math.isfinite(value)]
    n = places(known) if known else MOST
    while n < MOST and _mistaken(known, n, none):
        n += 1
    n += n < MOST and _at_an_end(known, n) and not _at_an_end(known, n + 1)
    if n > _MOST_WRITTEN:
        moved = -math.floor(math.log10(max(map(abs, known))))
        texts = [_fixed(value * 10.0**moved, n - moved, math.nan) for value in values]
        return [f"{text}e-{moved}" if text[-1].isdigit() else text for text in texts]
    ends = (min(known), max(known)) if known else ()
    return [_fixed(value, n, none if value in ends else math.nan) for value in values]


def _at_an_end(known: Sequence[float], n: int) -> bool:
    """Whether the first of an estimate and both ends of its interval looks like one of these."""
    if len(known) != 3 or not known[1] < known[0] < known[2]:
        return False
    value, low, high = (round(x, n) for x in known)
    return value in (low, high)


def _mistaken(known: Sequence[float], n: int, none: float) -> bool:
    """Whether numbers that differ look equal, or like none, with so many decimals."""
    low, high = min(known), max(known)
    apart = high - low > 1e-4 * max(abs(low), abs(high))
    if apart and round(low, n) == round(high, n):
        return True
    return any(abs(x - none) > _HARDLY and round(x, n) == round(none, n) for x in (low, high))


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
    return len(text.partition("e")[0].partition(".")[2])


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


def amount_places(amounts_: Sequence[float], digits: int) -> int:
    """Decimals of amounts: three digits of the first, at most four of the largest."""
    most = _digits(max(map(abs, amounts_)), digits)
    return min(max(_digits(abs(amounts_[0]), digits), most), most + 1)


def _digits(value: float, digits: int) -> int:
    """Decimals that give a number so many digits; of a very small one as many as it needs."""
    return (
        2 if value == 0 else digits - 1 - math.floor(math.log10(abs(float(f"{value:.{digits}g}"))))
    )


def ratios_text(values: Sequence[float]) -> list[str]:
    """Write ratios that are read together; ``inf`` where one is infinite, empty where it is unknown."""
    return short(alike(values, ratio_places, none=1.0))


def amounts(values: Sequence[float], digits: int = 3) -> list[str]:
    """Write amounts to be compared, with digits enough to see how far they are apart."""
    texts = alike(values, lambda own: amount_places(own, digits), none=0.0)
    while (own := [t for t in texts if t[-1].isdigit()]) and all(map(_padded, own)):
        texts = [t[:-1].removesuffix(".") if t in own else t for t in texts]
    return texts


def _padded(text: str) -> bool:
    """Whether a number ends with a zero behind the point."""
    return "." in text and text.endswith("0") and "e" not in text


def short(texts: Sequence[str]) -> list[str]:
    """Numbers as tables have them: ``inf``, and empty where one is unknown."""
    return [_SHORT.get(text, text) for text in texts]
