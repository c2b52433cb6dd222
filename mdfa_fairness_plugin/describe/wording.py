"""Names and numbers as a person reads them; text drawn from data made safe to show."""

from __future__ import annotations

import datetime as dt
import enum
import math
import re
from collections.abc import Hashable
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import visible

# Kinds of feature whose numbers have a unit, that of the same name.
UNITS: Final = ("days", "hours", "minutes", "seconds")
_BREAK: Final = re.compile("[\t\n\r\v\f\x85\u2028\u2029]")
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object, limit: int | None = None) -> str:
    r"""Make text from data safe for a terminal, on one line, its middle left out beyond ``limit``.

    Line breaks and tabs become spaces; other control characters, terminal escapes, marks that hide
    or reorder text and lone surrogates become ``\ufffd``.
    """
    shown = visible(_BREAK.sub(" ", str(text)))
    if limit is not None and len(shown) > limit:
        tail = limit // 3
        shown = shown[: limit - tail - 1] + "…" + shown[len(shown) - tail :]
    return shown


def for_xml(text: str) -> str:
    """Text without the characters that XML 1.0 has no way to write."""
    return _NOT_XML.sub("\ufffd", text)


def is_missing(label: object) -> bool:
    """Whether a label is None, NaN, NA or NaT."""
    if label is None or label is pd.NA or label is pd.NaT:
        return True
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def label_text(label: object, limit: int | None = 40) -> str:
    """Write a label of any type on one short line; tuples (intersections) are joined by ``" & "``.

    Text with blanks at its ends, or none at all, is quoted so that it can be seen.
    """
    return clean(_plain_text(label), limit)


def _plain_text(label: object) -> str:
    if is_missing(label):
        return "(missing)"
    if isinstance(label, tuple):
        return " & ".join(_plain_text(part) for part in label)
    plain = plain_label(label)
    if isinstance(plain, float):
        return number(plain)
    text = str(plain)
    return f"'{text}'" if text != text.strip() or not text else text


def plain_label(label: object) -> Any:
    """Turn a label of any type into one that JSON has: null, true, 1, 1.5, text or a list of these.

    Infinite numbers become text, missing ones null; dates are written in ISO 8601.
    """
    if isinstance(label, np.datetime64):
        label = pd.Timestamp(label)
    elif isinstance(label, np.generic) and not isinstance(label, np.timedelta64):
        label = label.item()
    if isinstance(label, enum.Enum):
        return str(label)
    if is_missing(label):
        return None
    if isinstance(label, bool | int):
        return label
    if isinstance(label, float):
        return plain_float(label)
    if isinstance(label, str):
        return str(label).encode("utf-8", "replace").decode("utf-8")
    if isinstance(label, tuple | list):
        return [plain_label(part) for part in label]
    if isinstance(label, frozenset | set):
        return sorted((plain_label(part) for part in label), key=str)
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    if isinstance(label, dt.date | dt.time):
        return label.isoformat().removesuffix("T00:00:00")
    return str(label)


def plain_float(value: object) -> float | str | None:
    """Give a float as strict JSON has it: null if missing, ``"inf"`` or ``"-inf"`` if infinite."""
    if value is None:
        return None
    number_ = float(value)  # type: ignore[arg-type]
    if math.isnan(number_):
        return None
    if math.isinf(number_):
        return "inf" if number_ > 0 else "-inf"
    return number_


def named(feature: object, label: Hashable, limit: int = 40) -> str:
    """Write a sensitive value with its column: ``race = Black``; a column without a name is ``''``."""
    return f"{label_text(feature, limit)} = {label_text(label, limit)}"


def number(value: float) -> str:
    """Write a number exactly enough to be used, without needless digits: 25, 0.35, 50,000."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinity" if value > 0 else "minus infinity"
    if value == int(value) and abs(value) < 1e15:
        # Years keep their usual form.
        return f"{int(value):,d}" if abs(value) >= 10_000 else f"{int(value):d}"
    return repr(float(value))


def quantity(value: float, kind: str) -> str:
    """Write a value of a feature of some kind, with the unit it has: 390 days, 08:15, 25."""
    if kind == "time":
        return clock(value)
    if kind not in UNITS or math.isnan(value):
        return number(value)
    return f"{number(value)} {kind[:-1] if value == 1 else kind}"


def clock(hours: float) -> str:
    """Write a time of day: 08:15, or 08:15:30 if it is no whole minute."""
    if not math.isfinite(hours):
        return "ever"
    minutes, seconds = divmod(round(hours * 3_600), 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{seconds:02d}" if seconds else text


def rounded(value: float, digits: int = 3) -> str:
    """Write a number for reading only, to a few significant digits: 0.0123, 1999, 12,346, 2."""
    if not math.isfinite(value):
        return number(value)
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if places <= 0:
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"  # as number() does
    if places > 8:
        return f"{value:.{digits - 1}g}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Write how many there are of something: 1 row, 1,200 rows."""
    return f"{n:,d} {noun if n == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Write a share in percent, never rounding something to nothing or to all: under 0.1 %."""
    if math.isnan(share):
        return "an unknown share"
    value = 100 * share
    if 0 < value < 0.1:
        return "under 0.1 %"
    if 99.9 < value < 100:
        return "over 99.9 %"
    if 10 <= value <= 99 or value in (0.0, 100.0):
        return f"{value:.0f} %"
    return f"{value:.1f}".removesuffix(".0") + " %"
