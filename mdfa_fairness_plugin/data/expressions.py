"""Conditions on rows as people write them, such as ``age < 25 and priors >= 3``.

Read by the parser below and looked up among columns; nothing is ever evaluated as code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from mdfa_fairness_plugin.data.columns import MICROSECONDS_PER_DAY, TypedColumn, listing
from mdfa_fairness_plugin.data.written import Writing
from mdfa_fairness_plugin.exceptions import InputError, did_you_mean

# Longer and deeper ones are no question that a person asks; Python's own stack holds far more.
MOST_CHARACTERS: Final = 5_000
_DEEPEST: Final = 50

_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<number>[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<quoted>`(?:[^`]|``)+`)
    |(?P<text>"[^"]*"|'[^']*')
    |(?P<name>[^\W\d][\w.\-]*)
    |(?P<sign><=|>=|==|!=|<>|=|<|>|≤|≥|≠)
    |(?P<both>&&?)|(?P<either>\|\|?)
    |(?P<mark>[()\[\],!~])
    )""",
    re.VERBOSE,
)
_SAME_AS: Final = {"=": "==", "<>": "!=", "≤": "<=", "≥": ">=", "≠": "!="}
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
NEGATED: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_KEYWORDS: Final = frozenset({"and", "or", "not", "in", "is", "missing", "true", "false"})
_HOW: Final = (
    'Write conditions such as age < 25, city == "Oslo", city in ("Oslo", "Bergen"), 18 <= age < 25, '
    'day < "2024-01-31" or age is missing, joined by and, or, not and brackets; names with blanks or '
    "signs in `backquotes`."
)

# Finds a column by its name.
Columns = Callable[[str], TypedColumn]


class Told(NamedTuple):
    """Rows of which a condition is known to hold, and not to hold; neither where a value is missing."""

    holds: np.ndarray
    fails: np.ndarray


@dataclass(frozen=True)
class Value:
    """A number, a text, or true and false."""

    value: float | str | bool


@dataclass(frozen=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True)
class Compared:
    """A column beside a value, or beside another column."""

    left: Name
    sign: str
    right: Value | Name

    def told(self, columns: Columns) -> Told:
        """Judge every row."""
        column = columns(self.left.name)
        if isinstance(self.right, Name):
            other = _numbers(self.right.name, columns(self.right.name))
            return _of_numbers(self.sign, _numbers(self.left.name, column), other)
        return _compared(self.left.name, column, self.sign, self.right.value)


@dataclass(frozen=True)
class Missing:
    """A column without a value."""

    column: Name

    def told(self, columns: Columns) -> Told:
        """Judge every row."""
        column = columns(self.column.name)
        missing = np.isnan(column.numbers) if column.labels is None else column.labels.codes < 0
        return Told(missing, ~missing)


@dataclass(frozen=True)
class IsTrue:
    """A column of yes and no by itself."""

    column: Name

    def told(self, columns: Columns) -> Told:
        """Judge every row."""
        column = columns(self.column.name)
        if column.kind != "boolean":
            _refuse(
                f"column {self.column.name!r} is not one of true and false; say what it is compared "
                f"with, as in {self.column.name} == ..."
            )
        return _of_numbers("==", column.numbers, 1.0)


@dataclass(frozen=True)
class Not:
    """What does not hold."""

    of: Node

    def told(self, columns: Columns) -> Told:
        """Judge every row."""
        own = self.of.told(columns)
        return Told(own.fails, own.holds)


@dataclass(frozen=True)
class Joined:
    """Conditions all of which hold, or one of which does."""

    all_of: bool
    parts: tuple[Node, ...]

    def told(self, columns: Columns) -> Told:
        """Judge every row."""
        each = [part.told(columns) for part in self.parts]
        holds, fails = np.array([own.holds for own in each]), np.array([own.fails for own in each])
        both, either = np.logical_and.reduce, np.logical_or.reduce
        if self.all_of:
            return Told(both(holds), either(fails))
        return Told(either(holds), both(fails))


Node = Compared | Missing | IsTrue | Not | Joined


@dataclass(frozen=True)
class Expression:
    """A condition on rows."""

    text: str
    node: Node
    names: tuple[str, ...]  # columns, in their order

    @property
    def sides(self) -> tuple[str, str]:
        """It and its opposite in words, such as ``score >= 7`` and ``score < 7``."""
        node = self.node
        if isinstance(node, Compared) and isinstance(node.right, Value):
            left, _, right = self.text.partition(_written(node.sign, self.text))
            if right and left.strip(" `") == node.left.name:
                signs = (node.sign, NEGATED[node.sign])
                return tuple(f"{left.strip()} {sign} {right.strip()}" for sign in signs)  # type: ignore[return-value]
        return self.text, f"not ({self.text})"

    def told(self, columns: Columns) -> Told:
        """Judge every row of these columns."""
        return self.node.told(columns)


def parse(text: str) -> Expression:
    """Read an expression; errors are about ``where``."""
    if len(text) > MOST_CHARACTERS:
        _refuse(
            f"the expression has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read"
        )
    parser = _Parser(tuple(_tokens(text)))
    node = parser.whole()
    names = dict.fromkeys(one.text for one in parser.tokens if one.kind == "name")
    return Expression(" ".join(text.split()), node, tuple(names))


def find_name(name: str, known: Sequence[Hashable]) -> Hashable:
    """Column of that name among those known, or an error that names the closest."""
    by_text = {str(one): one for one in reversed(known)}
    if name not in by_text:
        meant = did_you_mean(name, by_text)
        _refuse(f"there is no column {name!r}.{meant} Those known: {listing(by_text)}", "")
    return by_text[name]


def _refuse(problem: str, advice: str = _HOW) -> NoReturn:
    raise InputError(f"where: {problem}. {advice}".rstrip())


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text) and text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            bad = text[place:].lstrip()[:20]
            why = ""
            if bad[0].isdigit():
                why = " (numbers have a decimal point and nothing between thousands)"
            elif bad[0] in "\"'`":
                why = " (the second quotation mark is missing)"
            _refuse(f"{bad!r} cannot be read{why}")
        kind = str(found.lastgroup)
        own = found.group(kind)
        if kind == "name" and own.lower() in _KEYWORDS and own in (own.lower(), own.upper()):
            kind, own = "word", own.lower()
        elif kind == "quoted":
            kind, own = "name", own[1:-1].replace("``", "`")
        elif kind in ("both", "either"):
            kind, own = "word", "and" if kind == "both" else "or"
        elif own in ("!", "~"):
            kind, own = "word", "not"
        yield _Token(kind, own, found.start(found.lastgroup or 0))
        place = found.end()


class _Parser:
    """Reads tokens from the left to the right, ``or`` last."""

    def __init__(self, tokens: tuple[_Token, ...]) -> None:
        self.tokens = tokens
        self.place = 0
        self.depth = 0

    def whole(self) -> Node:
        """All of the tokens."""
        if not self.tokens:
            _refuse("the expression is empty")
        node = self.either()
        if self.place < len(self.tokens):
            self.unexpected()
        return node

    def either(self) -> Node:
        """Conditions joined by ``or``."""
        return self.joined("or", self.both)

    def both(self) -> Node:
        """Conditions joined by ``and``."""
        return self.joined("and", self.negated)

    def joined(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self.take("word", word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Joined(word == "and", tuple(parts))

    def negated(self) -> Node:
        """A condition, one in brackets, or what does not hold."""
        self.depth += 1
        if self.depth > _DEEPEST:
            _refuse(f"brackets and nots are nested more than {_DEEPEST} deep")
        if self.take("word", "not"):
            node: Node = Not(self.negated())
        elif self.take("mark", "("):
            node = self.either()
            self.expect(")")
        else:
            node = self.condition()
        self.depth -= 1
        return node

    def condition(self) -> Node:
        """One column compared, perhaps from both sides."""
        left = self.operand()
        if isinstance(left, Name) and self.take("word", "is"):
            present = self.take("word", "not")
            if not self.take("word", "missing"):
                _refuse("after 'is' only 'missing' or 'not missing' can stand")
            return Not(Missing(left)) if present else Missing(left)
        negated = isinstance(left, Name) and bool(self.take("word", "not"))
        if isinstance(left, Name) and self.take("word", "in"):
            any_of = Joined(False, tuple(Compared(left, "==", value) for value in self.values()))
            return Not(any_of) if negated else any_of
        if negated:
            self.unexpected()
        parts: list[Node] = []
        while token := self.take("sign"):
            right = self.operand()
            parts.append(self.compared(left, _SAME_AS.get(token, token), right))
            left = right
        if not parts and isinstance(left, Name):
            if self.place < len(self.tokens) and self.tokens[self.place].text in ("(", "["):
                _refuse(
                    f"{left.name!r} is called or indexed; only columns and values can stand here"
                )
            return IsTrue(left)
        if not parts:
            _refuse(f"the value {getattr(left, 'value', left)!r} stands alone")
        return parts[0] if len(parts) == 1 else Joined(True, tuple(parts))

    def compared(self, left: Value | Name, sign: str, right: Value | Name) -> Node:
        if isinstance(left, Name):
            return Compared(left, sign, right)
        if isinstance(right, Name):
            return Compared(right, _MIRRORED.get(sign, sign), left)
        _refuse(f"{left.value!r} {sign} {right.value!r} compares two values and names no column")

    def operand(self) -> Value | Name:
        """A column or a value."""
        for kind, read in _OPERANDS:
            if text := self.take(kind):
                return read(text)
        for word in ("true", "false"):
            if self.take("word", word):
                return Value(word == "true")
        self.unexpected()

    def values(self) -> list[Value]:
        """Values in brackets."""
        closing = ")" if self.take("mark", "(") else "]" if self.take("mark", "[") else ""
        if not closing:
            _refuse("after 'in' values in brackets are expected")
        found: list[Value] = []
        while True:
            value = self.operand()
            if isinstance(value, Name):
                _refuse(f"{value.name!r} stands among values; put text in quotation marks")
            found.append(value)
            if not self.take("mark", ","):
                self.expect(closing)
                return found

    def take(self, kind: str, text: str | None = None) -> str:
        """Text of the next token if it is of that kind; empty if not."""
        if self.place < len(self.tokens):
            token = self.tokens[self.place]
            if token.kind == kind and text in (None, token.text):
                self.place += 1
                return token.text
        return ""

    def expect(self, mark: str) -> None:
        if not self.take("mark", mark):
            self.unexpected(f"; {mark!r} is expected")

    def unexpected(self, expected: str = "") -> NoReturn:
        """Refuse the next token."""
        if self.place >= len(self.tokens):
            _refuse(f"the expression ends too early{expected}")
        token = self.tokens[self.place]
        before = self.tokens[self.place - 1] if self.place else None
        if before is not None and before.kind == "name" and token.text in ("(", "["):
            _refuse(f"{before.text!r} is called or indexed; only columns and values can stand here")
        if token.text == "," and before is not None and before.kind == "number":
            expected = "; numbers have nothing between thousands"
        _refuse(f"{token.text!r} cannot stand at character {token.place + 1}{expected}")


_OPERANDS: Final[tuple[tuple[str, Callable[[str], Value | Name]], ...]] = (
    ("number", lambda text: Value(float(text))),
    ("text", lambda text: Value(text[1:-1])),
    ("name", Name),
)


def _written(sign: str, text: str) -> str:
    """The sign as the text has it."""
    spellings = [sign, *(own for own, same in _SAME_AS.items() if same == sign)]
    return next((own for own in spellings if own in text), sign)


def _of_numbers(sign: str, left: np.ndarray, right: Any) -> Told:
    known = ~(np.isnan(left) | np.isnan(right))
    holds = _COMPARE[sign](left, right)
    return Told(holds & known, ~holds & known)


def _numbers(name: str, column: TypedColumn) -> np.ndarray:
    if column.numbers is None:
        _refuse(f"column {name!r} holds text, which is compared with values only")
    return column.numbers


def _compared(name: str, column: TypedColumn, sign: str, value: float | str | bool) -> Told:
    if column.labels is None:
        return _of_numbers(sign, column.numbers, _as_number(name, column.kind, value))
    labels = column.labels
    place = next((i for i, own in enumerate(labels.values) if _same(own, value)), None)
    if place is None:
        meant = did_you_mean(value, labels.values)
        shown_value = f"{value:g}" if isinstance(value, float) else value
        ask = "" if sign in ("==", "!=") or labels.ordered else " It holds text, not numbers."
        _refuse(
            f"column {name!r} has no value {shown_value!r}.{meant}{ask} Its values: "
            f"{listing(labels.values)}",
            "",
        )
    if sign not in ("==", "!=") and not labels.ordered:
        _refuse(f"column {name!r} holds text in no order, so that only ==, != and in can be asked")
    codes = np.where(labels.codes < 0, np.nan, labels.codes)
    return _of_numbers(sign, codes, float(place))


def _same(label: Hashable, value: float | str | bool) -> bool:
    """Whether a label is meant: the same text, or the same number."""
    if isinstance(label, str):
        return label == value
    if isinstance(value, str):
        return str(label) == value
    return bool(label == value)


def _as_number(name: str, kind: str, value: float | str | bool) -> float:
    """A value on the scale of a column of numbers; dates and times as days."""
    if kind == "time":
        found = Writing(kind="time").value(value) if isinstance(value, str) else math.nan
        if math.isnan(found):
            _refuse(f'column {name!r} holds times of day; write one as "08:15", not {value!r}')
        return found
    dates = kind in ("datetime", "timedelta")
    if isinstance(value, str) and kind == "datetime":
        if re.fullmatch(r"\d{4}(-\d\d){0,2}([T ]\d\d:\d\d(:\d\d)?)?", value):
            try:
                stamp = np.datetime64(value.replace(" ", "T"), "us")
                return float(stamp.astype("i8")) / MICROSECONDS_PER_DAY
            except ValueError:
                pass
        _refuse(f'column {name!r} holds dates; write one as "2024-01-31", not {value!r}')
    if isinstance(value, str):
        wanted = "durations; compare it with a number of days" if dates else "numbers"
        _refuse(f"column {name!r} holds {wanted}, not {value!r}")
    if kind == "datetime":
        _refuse(f'column {name!r} holds dates; write one as "2024-01-31"')
    return float(value)
