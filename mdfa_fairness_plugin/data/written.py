"""Numbers, dates, times of day and durations that are written as text."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from mdfa_fairness_plugin.data.columns import (
    MICROSECONDS_PER_DAY,
    Kind,
    Labels,
    is_real,
    microseconds,
    objects,
)
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.settings import is_choice, shown

DECIMALS: Final = (".", ",")
THOUSANDS: Final = (",", ".", " ", "'", "_")
# Of a column's texts these are looked at first; where hardly any can be read, no more are.
_FIRST = 200

# Blanks that do not break and other apostrophes separate thousands as the plain ones do.
_PLAIN = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " ", "’": "'", "−": "-", "–": "-"})
_CURRENCIES = (
    r"(?:US|R|A|C|NZ|HK)?\$|[¢£¤¥฿৳﷼\u20a0-\u20cf]|kr\.?|zł|Kč|Ft|Fr\.|"
    "EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|BRL|MXN|"
    "ZAR|KRW|SGD|HKD|ILS|THB|IDR|NGN|KES|EGP"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: ?([ap]m))?"
_CLOCK_OF_DATE = rf"(?:(?:t| +){_CLOCK} ?(z|utc|[+-]\d{{2}}:?\d{{2}})?)?"
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
# Parts of a date in the order of each pattern: y year, m month, d day, x and z day and month in
# either order, s a separator.
_DATES: Final = tuple(
    (re.compile(pattern + _CLOCK_OF_DATE, re.IGNORECASE), parts)
    for pattern, parts in (
        (r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", "ysmd"),
        (r"(\d{1,2})(\.) ?(\d{1,2})\. ?(\d{4}|\d{2})", "dsmy"),
        (r"(\d{1,2})([-/])(\d{1,2})\2(\d{4}|\d{2})", "xszy"),
        (r"(\d{4})[-/](\d{1,2})", "ym"),
        (r"(\d{1,2})[-/](\d{4})", "my"),
        (rf"(\d{{1,2}})\.?[ -]?{_MONTH},?[ -]?(\d{{4}}|\d{{2}})", "dmy"),
        (rf"{_MONTH} ?(\d{{1,2}}),? (\d{{4}})", "mdy"),
        (rf"{_MONTH}[ -]?(\d{{4}})", "my"),
        (rf"{_MONTH}[ -](\d{{2}})", "my"),
        (rf"(\d{{4}})[ -]?{_MONTH}", "ym"),
    )
)
_EITHER_ORDER = re.compile(r"\d{1,2}([-/])\d{1,2}\1\d{2}")
_FULL_YEAR = re.compile(r"\d{4}")
_TIME = re.compile(_CLOCK, re.IGNORECASE)
_DURATION = re.compile(
    r"(-?\d+(?:\.\d+)?) ?days?(?:,? \+?(-?)(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?))?"
    r"|(-?)P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_CODE = re.compile(r"0\d+")
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def fewest_rows(n_rows: int) -> int:
    """Rows that a level needs to be compared."""
    return 5 if n_rows < 200 else max(10, math.ceil(0.005 * n_rows))


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What a user says about how numbers and dates are written; empty: nothing."""

    decimal: str = ""
    thousands: str = ""
    date_format: str = ""

    @classmethod
    def checked(cls, decimal: Any, thousands: Any, date_format: Any) -> Marks:
        """Refuse marks that mean nothing."""
        if decimal is not None and not is_choice(decimal, DECIMALS):
            raise InputError(f"decimal: '.' or ',' expected, {shown(decimal)} found.")
        plain = thousands.translate(_PLAIN) if isinstance(thousands, str) else thousands
        if plain is not None and not is_choice(plain, THOUSANDS):
            raise InputError(f"thousands: one of {THOUSANDS} expected, {shown(thousands)} found.")
        if plain is not None and plain == decimal:
            raise InputError(f"thousands: {thousands!r} is the decimal mark too; give two.")
        if date_format is not None and "%" not in str(date_format):
            raise InputError(
                f"date_format: {date_format!r} has no parts such as %d.%m.%Y (see datetime.strptime)."
            )
        return cls(decimal=decimal or "", thousands=plain or "", date_format=str(date_format or ""))


@dataclass(frozen=True, kw_only=True)
class Writing:
    """One way in which quantities are written."""

    kind: Kind  # "numeric", "datetime", "time" or "timedelta"
    decimal: str = "."
    thousands: str = ""  # empty: whatever is usual with the decimal mark
    unit: str = ""  # that numbers have: per cent or a currency
    day_first: bool = True
    century: int = 2000  # of years of two digits
    date_format: str = ""

    def value(self, text: Hashable) -> float:
        """The quantity: a number, or days (since 1970, midnight, or long); NaN if it is none."""
        if not isinstance(text, str):
            return float(text) if self.kind == "numeric" and is_real(text) else math.nan  # type: ignore[arg-type]
        if self.kind == "numeric":
            found = self.number(text)
            # A currency may be left out, per cent not.
            fits = found.unit == self.unit or (found.unit == "" and self.unit != "%")
            return found.value if fits else math.nan
        plain = text.translate(_PLAIN).strip()
        if self.date_format:
            return _by_format(plain, self.date_format, self.kind)
        if self.kind == "datetime":
            return _date(plain, self.day_first, self.century)
        return _time(plain) if self.kind == "time" else _duration(plain)

    def number(self, text: str) -> _Number:
        """A text as a number with whatever unit."""
        return _number(text.translate(_PLAIN).strip(), self.decimal, self.thousands)

    def read(self, labels: Labels) -> np.ndarray:
        """What each of the labels is; NaN where it is no quantity."""
        return np.array([self.value(value) for value in labels.values], dtype=np.float64)

    def array(self, labels: Labels, read: np.ndarray) -> Any:
        """Quantities of the rows in a type that says what they are; missing where there is none."""
        days = np.append(read, math.nan)[labels.codes]
        if self.kind == "numeric":
            return days
        ticks = microseconds(days)
        if self.kind != "time":
            return ticks.view("M8[us]" if self.kind == "datetime" else "m8[us]")
        times = ticks.view("M8[us]").tolist()
        return objects([None if one is None else one.time() for one in times])

    def shown(self, value: float) -> str:
        """A quantity as a message gives it."""
        if self.kind == "numeric":
            return f"{value:.15g}"
        moment = np.datetime64(0, "us") + np.timedelta64(round(value * MICROSECONDS_PER_DAY), "us")
        if self.kind == "timedelta":
            return f"{value:.6g} days"
        text = str(np.datetime_as_string(moment, unit="s"))
        return text[11:] if self.kind == "time" else text.removesuffix("T00:00:00")


class Unclear(NamedTuple):
    """Why a column that seems to hold quantities cannot be read."""

    writing: Writing
    text: str  # one that shows it
    other: Writing | None  # another way to read it; None: too many texts are no quantities
    n_rest: int = 0  # rows with such a text
    n_known: int = 0  # rows with any


class _Number(NamedTuple):
    value: float
    unit: str


def find_writing(labels: Labels, marks: Marks, max_levels: int = 30) -> Writing | Unclear | None:
    """How a column of texts writes quantities; None if it holds labels.

    All or nearly all of the texts have to be quantities: the others are read as missing, which keeps
    the most frequent of them apart by an indicator, so that the rest may only be as many rows as are
    pooled among levels; and as long as each text has rows enough to be a level, levels hold all equal
    and nothing is read. Every way of reading that reaches nearly all is weighed, and two that differ
    are one too many.
    """
    labels = labels.used()
    values, counts = labels.values, labels.counts
    texts = [value for value in values if isinstance(value, str)]
    if not texts or any(_CODE.fullmatch(text.strip()) for text in texts):
        return None
    ways = _ways(marks, texts)
    # Evenly over the sorted texts: codes of one kind stand together.
    some = texts[:: -(-len(texts) // _FIRST)]
    shares = [[_share_read(way, some) for way in group] for group in ways]
    if max(map(max, shares)) <= 0.25:
        return None
    n_known = int(counts.sum())
    few = fewest_rows(n_known)
    enough = len(values) <= max_levels and int(counts.min()) >= few
    mixed: Unclear | None = None
    for group, share in zip(ways, shares, strict=True):
        read = [_read(way, values, counts) for way, of in zip(group, share, strict=True) if of > 0]
        if not read:
            continue
        whole = [one for one in read if one.nearly_all(few, enough, len(texts) == len(values))]
        if whole:
            best = max(whole, key=lambda one: one.n_read)
            for other in whole:
                differ = np.flatnonzero(
                    ~np.isnan(best.values) & ~np.isnan(other.values) & (best.values != other.values)
                )
                if len(differ):
                    text = str(values[int(differ[-1])])
                    return Unclear(best.writing, text, other.writing)
            return best.writing
        best = max(read, key=lambda one: one.n_read)
        if mixed is None and best.mostly and not enough:
            rest = np.isnan(best.values)
            text = str(values[int(np.argmax(np.where(rest, counts, -1)))])
            mixed = Unclear(best.writing, text, None, n_known - best.n_read, n_known)
    return mixed


def refusal(name: str, unclear: Unclear) -> InputError:
    """Say what is unclear, and how to settle it."""
    what = _NAMES[unclear.writing.kind]
    labels = "If they are labels, say so with .astype('category')."
    if unclear.other is None:
        return InputError(
            f"{name} holds {what} as text, but {unclear.n_rest:,} of its {unclear.n_known:,} values "
            f"are none, {unclear.text!r} for instance. Replace what means missing by None, and write "
            f"the others as {what}. {labels}"
        )
    one, other = unclear.writing, unclear.other
    meanings = " or ".join(sorted(way.shown(way.value(unclear.text)) for way in (one, other)))
    if one.kind == "numeric":
        options = f"decimal={one.decimal!r} or decimal={other.decimal!r}"
    else:
        options = "date_format='%d/%m/%Y', or as they are written"
    return InputError(
        f"{name} holds {what} as text that can be read in two ways: {unclear.text!r} is {meanings}. "
        f"Say which with mdfa_fairness_plugin.to_quantities(X, ...), {options}. {labels}"
    )


def told(name: Hashable, writing: Writing, labels: Labels, read: np.ndarray) -> str:
    """What a column was read as, with an example."""
    known = (str(labels.values[i]) for i in np.flatnonzero(~np.isnan(read)))
    text = max(known, key=lambda one: (len(one), one))
    unit = f" in {writing.unit}" if writing.unit else ""
    value = writing.shown(writing.value(text))
    return f"{name!r} ({_NAMES[writing.kind]}{unit}, {text!r} is {value})"


def unread(labels: Labels, read: np.ndarray) -> Mapping[str, int]:
    """Texts that are no quantities, and how many rows have each."""
    counts = labels.counts
    lost = np.flatnonzero(np.isnan(read) & (counts > 0))
    return {str(labels.values[i]): int(counts[i]) for i in lost}


_NAMES: Final[Mapping[str, str]] = {
    "numeric": "numbers",
    "datetime": "dates",
    "time": "times of day",
    "timedelta": "durations",
}


class _Read(NamedTuple):
    """A column read in one way."""

    writing: Writing
    values: np.ndarray  # of the texts; NaN where they are no quantity
    counts: np.ndarray

    @property
    def n_read(self) -> int:
        return int(self.counts[~np.isnan(self.values)].sum())

    @property
    def mostly(self) -> bool:
        """Whether more of the texts are quantities than not."""
        return bool(2 * np.isnan(self.values).sum() < len(self.values))

    def nearly_all(self, few: int, enough: bool, pure: bool) -> bool:
        """Whether the texts that are none may be read as missing."""
        rest = self.counts[np.isnan(self.values)]
        if not len(rest):
            return pure or not enough
        return self.mostly and not enough and int(rest.sum() - rest.max()) < few


def _read(way: Writing, values: Sequence[Hashable], counts: np.ndarray) -> _Read:
    """Read texts in one way, with the unit that most numbers have."""
    if way.kind == "numeric":
        units: dict[str, int] = {}
        for value, count in zip(values, counts.tolist(), strict=True):
            if isinstance(value, str):
                found = way.number(value)
                if not math.isnan(found.value):
                    units[found.unit] = units.get(found.unit, 0) + count
        unit = max(units, key=units.__getitem__, default="")
        if not unit:  # a currency that some leave out
            unit = max((u for u in units if u not in ("", "%")), key=units.__getitem__, default="")
        way = replace(way, unit=unit)
    return _Read(way, np.array([way.value(value) for value in values]), counts)


def _share_read(way: Writing, texts: Sequence[str]) -> float:
    of_number = way.kind == "numeric"
    read = (way.number(text).value if of_number else way.value(text) for text in texts)
    return sum(not math.isnan(one) for one in read) / len(texts)


def _ways(marks: Marks, texts: Sequence[str]) -> list[list[Writing]]:
    """Ways of reading by what is read; what the user says goes before all that they leave open."""
    own = [one for one in DECIMALS if marks.decimal in ("", one) and marks.thousands != one]
    numbers = [Writing(kind="numeric", decimal=one, thousands=marks.thousands) for one in own]
    dates = [
        Writing(kind="datetime", day_first=day_first, century=century)
        for day_first in ((True, False) if any(map(_EITHER_ORDER.search, texts)) else (True,))
        for century in ((2000, 1900) if not all(map(_FULL_YEAR.search, texts)) else (2000,))
    ]
    others = [[Writing(kind="time")], [Writing(kind="timedelta")]]
    given: list[list[Writing]] = []
    if marks.date_format:
        dated = any(f"%{part}" in marks.date_format for part in "dmyYjbBcxGV")
        given.append([Writing(kind="datetime" if dated else "time", date_format=marks.date_format)])
    if marks.decimal or marks.thousands:
        given.append(numbers)
        numbers = [Writing(kind="numeric", decimal=decimal) for decimal in DECIMALS]
    return [*given, numbers, dates, *others]


# -- numbers


def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    marks = [re.escape(mark) for mark in (thousands or THOUSANDS) if mark != decimal]
    grouped = [rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+" for mark in marks]
    if "," in marks:
        grouped.append(r"[1-9]\d?(?:,\d{2})*,\d{3}")  # as in India
    whole = "|".join([*grouped, r"0|[1-9]\d*"])
    point = re.escape(decimal)
    body = rf"(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    return re.compile(
        rf"(?P<sign>[-+]?)(?P<before>{_CURRENCIES})? ?(?P<sign2>[-+]?)(?P<body>{body})"
        rf"(?: ?(?P<after>%|{_CURRENCIES}))?"
    )


_PATTERNS: dict[tuple[str, str], re.Pattern[str]] = {}
_NONE: Final = _Number(math.nan, "")


def _number(text: str, decimal: str, thousands: str) -> _Number:
    """A number and its unit; NaN if the text is none. Negative ones may stand in parentheses."""
    pattern = _PATTERNS.get((decimal, thousands))
    if pattern is None:
        pattern = _PATTERNS[decimal, thousands] = _pattern(decimal, thousands)
    negative = text.startswith("(") and text.endswith(")")
    found = pattern.fullmatch(text[1:-1] if negative else text)
    if found is None:
        return _NONE
    sign, before, second, body, after = found.groups()
    if (sign and second) or (before and after) or (negative and (sign or second)):
        return _NONE
    mantissa, _, power = body.lower().partition("e")
    whole, _, part = mantissa.partition(decimal)
    digits = re.sub(r"\D", "", whole)
    if len(digits) > 15:  # more than a double tells apart: a code
        return _NONE
    value = float(f"{digits or 0}.{part or 0}e{power or 0}")
    value = -value if negative or "-" in (sign, second) else value
    return _Number(value, before or after or "") if math.isfinite(value) else _NONE


# -- dates, times and durations, in days


def _date(text: str, day_first: bool, century: int) -> float:
    for pattern, order in _DATES:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        parts = dict(zip(order, found.groups(), strict=False))
        if "x" in parts:
            first, second = parts["x"], parts["z"]
            parts["d"], parts["m"] = (first, second) if day_first else (second, first)
        month = parts["m"][:3].lower()
        year = int(parts["y"]) + century * (len(parts["y"]) == 2)
        number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
        try:
            day = datetime.date(year, number, int(parts.get("d", 1))).toordinal() - _EPOCH
        except ValueError:
            return math.nan
        *clock, zone = found.groups()[len(order) :]
        return day + _clock(*clock) - _offset(zone)
    return math.nan


def _clock(hour: str | None, minute: str | None, second: str | None, half: str | None) -> float:
    """Part of the day; zero if no time is given, NaN if there is none such."""
    if hour is None or minute is None:
        return 0.0
    h, m, s = int(hour), int(minute), float(second or 0)
    if half:
        if not 1 <= h <= 12:
            return math.nan
        h = h % 12 + 12 * (half.lower() == "pm")
    return (h * 3_600 + m * 60 + s) / 86_400 if h < 24 and m < 60 and s < 60 else math.nan


def _offset(zone: str | None) -> float:
    if zone is None or zone.lower() in ("z", "utc"):
        return 0.0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone[0] == "-" else minutes) / 1_440


def _time(text: str) -> float:
    found = _TIME.fullmatch(text)
    return math.nan if found is None else _clock(*found.groups())


def _duration(text: str) -> float:
    """As pandas writes durations, ``3 days 04:00:00``, or ISO 8601, ``P3DT4H``."""
    found = _DURATION.fullmatch(text)
    if found is None or text.endswith(("P", "T")):
        return math.nan
    days, minus, *clock = found.groups()[:5]
    if days is None:
        minus, *others = found.groups()[5:]
        weeks, days, *clock = others
    else:
        weeks = None
    h, m, s = (float(one or 0) for one in clock)
    part = (h * 3_600 + m * 60 + s) / 86_400
    if found.group(1):  # only the part has the sign
        return float(days) + (-part if minus else part)
    total = 7 * float(weeks or 0) + float(days or 0) + part
    return -total if minus else total


def _by_format(text: str, date_format: str, kind: Kind) -> float:
    try:
        found = datetime.datetime.strptime(text, date_format)
    except ValueError:
        return math.nan
    found = found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)
    day = 0 if kind == "time" else found.toordinal() - _EPOCH
    clock = found - datetime.datetime.combine(found, datetime.time())
    return day + clock.total_seconds() / 86_400
