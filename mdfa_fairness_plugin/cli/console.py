"""What the commands say: results to stdout, remarks and progress to stderr."""

from __future__ import annotations

import ast
import logging
import os
import re
import shlex
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

import click

from mdfa_fairness_plugin.cli.request import BYLINE, CALLED, OUTPUTS
from mdfa_fairness_plugin.exceptions import MDFAError, MDFAWarning, visible
from mdfa_fairness_plugin.report.lines import folded

# What arguments of the package are called on the command line, where not by their own names.
_OPTIONS: Final = {
    **CALLED,
    "clusters": "--cluster",
    "decision_inputs": "--decision-input",
    "metric": "--metric",
    "outcomes": "--outcome-label",
    "outcomes_by_model": "--outcomes",
    "pos_label": "--outcome-label",
    "sample_weight": "--weight",
    "sensitive_features": "--sensitive",
    "scores": "--scores",
    "statement": "--statement",
    "tolerance": "--tolerance",
    "y": "--outcome",
    "y_pred": "--outcome",
    "y_true": "--true",
}


def _listed(labels: str) -> str:
    """Labels of a list as they are typed after an option."""
    try:
        return shlex.quote(",".join(str(one) for one in ast.literal_eval(f"({labels},)")))
    except (ValueError, SyntaxError):
        return labels


def _as_bins(call: re.Match[str]) -> str:
    """Groups of numbers as they are asked for on the command line."""
    name, cuts = call[0].removeprefix("as in mdfa_fairness_plugin.to_groups(").rsplit(", [", 1)
    typed = cuts[: cuts.index("]")].replace(" ", "")
    return f"as in --bins {shlex.quote(f'{name}={typed}')} or --bins {shlex.quote(f'{name}=q4')}"


# What messages on columns say of Python, as it is said on the command line.
_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"outcomes=\[(.*)\](?=; or merge)", lambda own: f"--outcome-label {_listed(own[1])}"),
    (r"weight_type='(\w+)'", r"--weight-type \1"),
    (r" with mdfa_fairness_plugin\.to_quantities\(X, \.\.\.\),", ":"),
    (r"\b(decimal|thousands)=('[^']+')", r"--\1 \2"),
    (r"\bdate_format=('[^']+')", r"--date-format \1"),
    (r"\b(event|favorable|robust|solver)='(\w+)'", r"--\1 \2"),
    (r"\bfavorable_label=('[^']*'|[^\s.]+)", r"--favorable-label \1"),
    (r"\bmeasure='(\w+)'", r"--compare-by \1"),
    (r"\bsensitive_type='(\w+)'", r"--sensitive-type \1"),
    (r"\bmin_(difference|ratio)\b", r"--min-\1"),
    (r"\boutcome_type(?:='(\w+)')?", lambda own: f"--outcome-type {own[1] or ''}".strip()),
    (r"\bordered=\[([^\]]*)\]", lambda own: f"--ordered {_listed(own[1])}"),
    (r"\bpos_label=('[^']*'|[^\s.]+)", r"--outcome-label \1"),
    (r"\by_pred\b", "--outcome"),
    (r"groups with mdfa_fairness_plugin\.to_groups", "groups with --bins"),
    (r"Replace what means missing by None", "Say what means missing with --na-values"),
    (r"as in mdfa_fairness_plugin\.to_groups\(.*?, \[.*?\]\) or to_groups\(.*?, 4\)", _as_bins),
    (r"say so with \.astype\('category'\)", "say so with --categorical"),
    (r"without min_cell\b", "without --withhold"),
    (r"can be read with mdfa_fairness_plugin\.to_quantities", "can be read with --decimal"),
    (r"merge_spellings=True", "--merge-spellings"),
    (r"missing_outcome='exclude'", "--drop-missing-outcomes"),
    (r"name it in decision_inputs\.", "name it with --decision-input."),
    (r"name the ones to audit in outcomes", "name one with --outcome-label"),
    (r"or pass None for (both|all)\.", r"or leave the option out for \1."),
)

USAGE_ERROR = 2
_LEAST_COLUMNS = 40

# Where a command writes to, and what it says.
_UNSAID: Final = frozenset({*OUTPUTS, *BYLINE, "allow_rows", "quiet"})

# For terminals that cannot show the sign itself; anything else they lack becomes an escape.
_PLAIN = str.maketrans(
    {
        "≥": ">=", "≤": "<=", "×": "x", "–": "-", "—": "-", "−": "-", "…": "...", "±": "+/-",
        "δ": "delta", "γ": "gamma", "α": "alpha", "→": "->", "’": "'", "‘": "'", "“": '"',
        "”": '"', "•": "*",
    }
)  # fmt: skip


class CommandError(click.ClickException):
    """Usage or input error: one message to stderr, status 2."""

    exit_code = USAGE_ERROR

    def show(self, file: object = None) -> None:
        """Write the message, whatever the terminal can show."""
        complain(f"Error: {self.format_message()}")


def say(text: str, *, as_is: bool = False) -> None:
    """Write to stdout, in lines that the terminal need not break."""
    _write(sys.stdout, text, None if as_is else columns_of(sys.stdout))


def complain(text: str) -> None:
    """Write to stderr."""
    _write(sys.stderr, text, columns_of(sys.stderr))


def asked_columns() -> int | None:
    """How many columns the user asks for, in files as well."""
    told = os.environ.get("COLUMNS", "")
    return max(int(told), _LEAST_COLUMNS) if told.isdecimal() and int(told) else None


def columns_of(stream: TextIO) -> int | None:
    """Columns of the terminal that is written to; None where it is a file or a pipe."""
    try:
        if not stream.isatty():
            return None
        columns = asked_columns() or 0
        return max(columns or os.get_terminal_size(stream.fileno()).columns, _LEAST_COLUMNS)
    except (OSError, ValueError, AttributeError):
        return None


def _write(stream: TextIO, text: str, columns: int | None) -> None:
    text = folded(visible(text), columns)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    try:
        click.echo(text, file=stream)
        stream.flush()
    except BrokenPipeError:
        # The reader has seen enough (as in `mdfa audit ... | head`). The status still counts, so go
        # on, and let Python find an open file when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Status(logging.Handler):
    """Shows on one line of a terminal what the package does, since when, and for how long still.

    Records may say ``about``, that they begin a part of the work, and the ``share`` of it that is done;
    of share 0 is what stays to be read while it is done.
    """

    def __init__(self, start: str) -> None:
        super().__init__(logging.INFO)
        self._over = threading.Event()
        self._begin(start)
        self._clock = threading.Thread(target=self._tick, daemon=True)
        self._clock.start()

    def _begin(self, about: str) -> None:
        self._about, self._head, self._detail = about, "", ""
        self._began = self._told = time.monotonic()
        self._share = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        share = getattr(record, "share", None)
        if getattr(record, "about", False):
            self._begin(message)
        elif share == 0:
            self._begin(self._about)
            self._head = message
        else:
            self._detail = message
        if share:
            self._share, self._told = share, time.monotonic()
        self._show()

    def _tick(self) -> None:
        while not self._over.wait(1):
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        said = ", ".join(filter(None, (self._head, self._detail)))
        text = f"{self._about.removesuffix(' ...')}: {said}" if said else self._about
        clock = f" ({_duration(now - self._began)}"
        if 0 < self._share < 1:
            whole = (self._told - self._began) / self._share
            clock += f", about {_duration(max(self._began + whole - now, 1))} left"
        self._put(text, f"{clock})")

    def _put(self, text: str, clock: str = "") -> None:
        room = (columns_of(sys.stderr) or _LEAST_COLUMNS) - 1 - len(clock)
        line = " ".join(visible(text).split())[:room] + clock
        try:
            sys.stderr.write(f"\r\x1b[2K{line.encode('ascii', 'replace').decode('ascii')}")
            sys.stderr.flush()
        except OSError:
            pass  # A closed terminal is no reason to lose the audit.

    def close(self) -> None:
        """Clear the line."""
        if not self._over.is_set():
            self._over.set()
            self._clock.join()
            self._put("")
        super().close()


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@contextmanager
def progress(start: str, *, quiet: bool) -> Iterator[None]:
    """Show what the package is doing, from ``start`` on, if anybody is watching."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    logger = logging.getLogger("mdfa_fairness_plugin")
    level, propagate = logger.level, logger.propagate
    status = _Status(start)
    logger.addHandler(status)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(status)
        status.close()
        logger.setLevel(level)
        logger.propagate = propagate


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Gather the package's warnings as plain messages; others are of no use to who types a command."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", MDFAWarning)
        try:
            yield notes
        finally:
            said: list[Any] = [warning.message for warning in caught]
            notes.extend(dict.fromkeys(own.args[0] for own in said))  # not str: they know counts


def show_notes(notes: Iterable[str], already_said: str = "") -> None:
    """Write the notes to stderr that the text on stdout does not repeat."""
    # The summary may break lines, also at hyphens.
    said = "".join(already_said.split())
    for note in notes:
        if "".join(note.split()) not in said:
            complain(f"note: {note}")


def command_line() -> str:
    """Give the command being run as it could be typed again, without where it writes to."""
    context = click.get_current_context()
    words = ["mdfa", str(context.info_name)]
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name in _UNSAID:
            continue
        value = context.params[name]
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(parameter, click.Argument):
                words.append(str(one))
            else:
                option = parameter.opts[-1]
                words.append(option if one is True else f"{option}={one}")
    return shlex.join(words)


def in_options(error: MDFAError) -> str:
    """Write an error of the package in terms of the command line: options, not Python arguments."""
    if error.argument in _OPTIONS:
        error = error.renamed(_OPTIONS[error.argument])
    message = str(error)
    for python, typed in _WORDS:
        message = re.sub(python, typed, message)
    return message
