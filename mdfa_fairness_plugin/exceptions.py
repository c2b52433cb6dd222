"""Errors and warnings, each with its own class so that users can catch or filter it."""

from __future__ import annotations

import difflib
import logging
import math
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

logger = logging.getLogger(__name__)

_PACKAGE_ROOT: Final = str(Path(__file__).resolve().parent)
# What the text of an error begins with: "X: ", "X['age']: ", "y_true, y_pred: ".
_ARGUMENT: Final = re.compile(r"(\w+(?:, \w+)*)(\[.*?\])?: ", re.DOTALL)


# Characters that reorder or hide the text around them, or are a letter that shows nothing.
_HIDING: Final = frozenset(
    "\u061c\u115f\u1160\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u3164"
    "\ufeff\uffa0"
)
_JOINERS: Final = "\u200c\u200d"


def is_hidden(character: str) -> bool:
    """Whether a character shows nothing, or moves or colours what is around it."""
    kind = unicodedata.category(character)
    unseen = kind == "Cf" and unicodedata.bidirectional(character) == "BN"
    return character in _HIDING or kind in ("Cc", "Cs") or unseen


def visible(text: str) -> str:
    """Text whose characters are all seen, line breaks and tabs aside.

    Others become ``\ufffd``, but for joiners between letters, which some scripts are written with.
    """
    if text.isascii() and text.isprintable():
        return text

    def shown(place: int, one: str) -> str:
        if one in "\n\t" or not is_hidden(one):
            return one
        around = text[place - 1 : place] + text[place + 1 : place + 2]
        joins = one in _JOINERS and len(around) == 2 and not around.isascii()
        return one if joins else "\ufffd"

    return "".join(shown(place, one) for place, one in enumerate(text))


def did_you_mean(name: object, known: Iterable[object], cutoff: float = 0.6) -> str:
    """Question whether one of those known was meant, to follow a sentence; empty if none is close."""
    by_lower = {str(one).lower(): str(one) for one in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=cutoff)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


@dataclass(frozen=True)
class Count:
    """How many rows or values a message speaks of."""

    n: int
    of: int | None = None  # among how many
    unit: str = "rows"  # what is counted; empty for a number alone
    said: str = ""  # all of it in words, where they are not "n of m rows"

    def __str__(self) -> str:
        among = "" if self.of is None else f" of {self.of:,}"
        return self.said or f"{self.n:,}{among} {self.unit}".rstrip()


class Message(str):
    """Text that keeps the counts it was put together from, so that they can be withheld."""

    parts: tuple[str | Count, ...]  # in the order they are read, no messages inside

    def __new__(cls, *parts: str | Count) -> Self:
        """Join the parts."""
        message = super().__new__(cls, "".join(map(str, parts)))
        kept: list[str | Count] = []
        for one in (one for part in parts for one in getattr(part, "parts", (part,)) if one != ""):
            last = kept[-1] if kept else None
            if isinstance(one, str) and isinstance(last, str):
                kept[-1] = last + one
            else:
                kept.append(one)
        message.parts = tuple(kept)
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts


class MDFAError(Exception):
    """Base class of every error this package raises on purpose."""

    def __str__(self) -> str:
        return visible(super().__str__())

    @property
    def argument(self) -> str:
        """Name of the argument at fault, empty if there is none."""
        return self._head()[0]

    @property
    def reason(self) -> str:
        """What is wrong, without the argument."""
        return self._after(self._head()[1])

    def renamed(self, argument: str) -> Self:
        """Give the same error about an argument that is called otherwise."""
        return type(self)(Message(argument, self._after(len(self.argument))))

    def _head(self) -> tuple[str, int]:
        """The argument, and how many characters its naming takes."""
        found = _ARGUMENT.match(str(self))
        return (found.group(1), found.end()) if found else ("", 0)

    def _after(self, n: int) -> str:
        """The text without its first characters; its counts are kept."""
        text = self.args[0] if self.args else ""
        first, *others = text.parts if isinstance(text, Message) else (str(text),)
        return text if n == 0 else Message(str(first)[n:], *others)


@contextmanager
def renaming(names: Mapping[str, str]) -> Iterator[None]:
    """Call arguments by other names in errors of what is done inside."""
    try:
        yield
    except MDFAError as error:
        if error.argument not in names:
            raise
        raise error.renamed(names[error.argument]) from error


class InputError(MDFAError, ValueError):
    """An argument has a value the audit cannot work with."""


class InputTypeError(MDFAError, TypeError):
    """An argument has a type the audit cannot work with."""


class NothingToAuditError(InputError):
    """The outcome is constant, so no group can be treated differently."""


class OverlapError(MDFAError, ValueError):
    """The compared groups share too little ground for any weights to balance them."""


class OptionalDependencyError(MDFAError, ImportError):
    """A feature needs a package that is not installed."""


class DataNotFoundError(MDFAError, FileNotFoundError):
    """A data set is neither on disk nor reachable."""


class MDFAWarning(UserWarning):
    """Base class of every warning this package emits."""


class MissingSensitiveWarning(MDFAWarning):
    """Rows with a missing sensitive value were left out."""


class LeakedFeatureWarning(MDFAWarning):
    """An audited feature repeats a sensitive one and was dropped."""


class LeakWarning(MDFAWarning):
    """What tells the outcome may be its result: a single feature, or probabilities that were given."""


class FeatureWarning(MDFAWarning):
    """A feature could not be used as it was given."""


class ParsedTextWarning(MDFAWarning):
    """Text was read as the numbers, dates or durations that it stands for."""


class SmallGroupWarning(MDFAWarning):
    """A group is too small to audit; it is listed as insufficient evidence."""


class WeightWarning(MDFAWarning):
    """Weights were read in a way the user may not have meant."""


class RepeatedRowsWarning(MDFAWarning):
    """Rows repeat others exactly, more often than chance explains; equal ones count as one person."""


class OverlapWarning(MDFAWarning):
    """Some rows have no comparable row in the other group."""


class SpellingWarning(MDFAWarning):
    """Labels differ in their spelling alone: capital letters, blanks, a dot, the Unicode form."""


class SearchWarning(MDFAWarning):
    """A search ended before it was done."""


class BalanceWarning(MDFAWarning):
    """The groups could not be balanced as well as asked."""


class RepairWarning(MDFAWarning):
    """Columns tell the groups apart after a repair of the features."""


class ModelDependenceWarning(MDFAWarning):
    """A ratio falls as the models of the features get better, too far to be called a violation."""


class NothingToAuditWarning(MDFAWarning):
    """A metric is not a number, as the outcome is constant."""


class NothingFoundWarning(MDFAWarning):
    """A table is split by a subgroup that is no violation."""


@dataclass(frozen=True)
class AuditWarning:
    """One caveat, as the result keeps it."""

    category: str  # name of the warning class, or of the notice
    message: str  # what the user was told; a `Message` if it speaks of counts


class WarningLog:
    """Collects the caveats of one audit, so that the report repeats them."""

    def __init__(self) -> None:
        self._records: list[AuditWarning] = []

    @property
    def records(self) -> tuple[AuditWarning, ...]:
        """Everything said so far, in order, without repeats."""
        return tuple(dict.fromkeys(self._records))

    def warn(self, category: type[MDFAWarning], *message: str | Count) -> None:
        """Emit a warning at the user's line and keep it."""
        text = _text(message)
        self._records.append(AuditWarning(category.__name__, text))
        warnings.warn(text, category, stacklevel=_stacklevel_of_caller())

    def note(self, category: str, *message: str | Count) -> None:
        """Keep a notice that needs no warning."""
        text = _text(message)
        self._records.append(AuditWarning(category, text))
        logger.info("%s: %s", category, text)


def nan_if_constant(metric: Callable[[], float]) -> float:
    """Give a metric; NaN, with a warning, where the outcome is constant, as models tried may be."""
    try:
        return metric()
    except NothingToAuditError as error:
        WarningLog().warn(NothingToAuditWarning, f"{error} The metric is NaN.")
        return math.nan


def _text(parts: tuple[str | Count, ...]) -> str:
    parts = tuple(visible(one) if type(one) is str else one for one in parts)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else Message(*parts)


def _stacklevel_of_caller() -> int:
    """Frames up to the first one outside this package and scikit-learn."""
    level = 2
    frame = sys._getframe(level)
    while frame.f_back is not None:
        filename = frame.f_code.co_filename
        if not (filename.startswith(_PACKAGE_ROOT) or "/sklearn/" in filename.replace("\\", "/")):
            break
        frame = frame.f_back
        level += 1
    return level
