"""Reads the table a command is given, and finds columns and labels named in text."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.cli.console import CommandError, collected_notes, show_notes
from mdfa_fairness_plugin.cli.files import read_statement
from mdfa_fairness_plugin.cli.labels import (
    Values,
    find_favorable,
    find_names,
    find_outcomes,
    find_reference,
    listed,
    split_list,
)
from mdfa_fairness_plugin.cli.outputs import in_print
from mdfa_fairness_plugin.cli.request import OPTIONS, PARQUET_SUFFIXES, Request, given
from mdfa_fairness_plugin.dask.blocks import in_microseconds
from mdfa_fairness_plugin.data.amounts import LESS, MORE
from mdfa_fairness_plugin.data.columns import composed, read_labels
from mdfa_fairness_plugin.data.containers import refuse_repeated
from mdfa_fairness_plugin.data.quantities import to_groups, to_quantities
from mdfa_fairness_plugin.data.written import Marks, find_writing
from mdfa_fairness_plugin.exceptions import InputError, did_you_mean, renaming

_CSV_SUFFIXES = (".csv", ".tsv", ".txt")
_BLANKS = r"\s+"  # pandas takes it for any number of them
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}

# Name pandas gives a column without one; saved row numbers are the usual case.
_UNNAMED = "Unnamed: "

# Options whose columns are numbers, or may be.
_NUMBERS = ("--weight", "--scores", "--exposure", "--sensitive-probabilities")
_OUTCOMES = ("--outcome", "--outcomes", "--true")


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A file's table, the names that more than one of its columns has, and how to find columns."""

    frame: pd.DataFrame
    repeated_names: frozenset[str] = frozenset()

    def column(self, name: str, option: str) -> Hashable:
        """Column of that name, or an error that lists the ones there are."""
        by_name = {composed(str(column)): column for column in self.frame.columns}
        name = composed(name)
        if name not in by_name:
            raise CommandError(
                f"{option}: the table has no column {name!r}.{did_you_mean(name, by_name)} "
                f"Its columns: {listed(by_name)}."
            )
        if name in self.repeated_names:
            raise CommandError(
                f"{option}: more than one column is called {name!r}; rename them so that each "
                "name stands once."
            )
        return by_name[name]

    def columns(self, given: Sequence[str], option: str) -> list[Hashable]:
        """Columns named as ``A,B``; a name with a comma may be given whole or in quotes."""
        known = {composed(str(column)) for column in self.frame.columns}
        names: list[str] = []
        for text in map(composed, given):
            parts = [text] if text in known else split_list(text)
            names.extend(part if part in known else part.strip() for part in parts)
        return [self.column(name, option) for name in dict.fromkeys(names) if name]

    def roles(self, request: Request, *fields: str) -> dict[str, list[Hashable]]:
        """Columns that these fields name, by option: the one of a text, those of several, or none."""
        found = {}
        for option, names in ((OPTIONS[name], getattr(request, name)) for name in fields):
            if isinstance(names, str):
                found[option] = [self.column(names, option)]
            else:
                found[option] = self.columns(names or (), option)
        return found

    def choose_features(
        self, request: Request, roles: Mapping[str, Sequence[Hashable]]
    ) -> list[Hashable]:
        """Columns asked for or all, less those dropped or with a role; says what looks wrong."""
        asked = self.columns(request.features, "--features")
        dropped = self.columns(request.drop, "--drop")
        role_of = {column: option for option, columns in roles.items() for column in columns}
        for column in role_of:
            if sum(column in columns for columns in roles.values()) > 1:
                raise CommandError(
                    f"column {str(column)!r} is given for two of {', '.join(roles)}; each needs its "
                    "own."
                )
        for column in asked:
            if column in role_of:
                raise CommandError(
                    f"--features: {str(column)!r} is already the column of {role_of[column]}."
                )
        candidates = asked or [c for c in self.frame.columns if not str(c).startswith(_UNNAMED)]
        chosen = [c for c in candidates if c not in role_of and c not in dropped]
        read = [own for option in _NUMBERS for own in roles.get(option, ())]
        amounts = [own for option in _OUTCOMES for own in roles.get(option, ())]
        self._read_as_asked(request, [*chosen, *read], amounts if request.is_numeric else [])
        self._make_groups(request, roles["--sensitive"])
        if not chosen:
            raise CommandError(
                "no column is left as an audited feature; name fewer columns in --drop, or some in "
                "--features."
            )
        if not request.quiet:
            show_notes(self._remarks(chosen))
        return chosen

    def _read_as_asked(
        self, request: Request, columns: list[Hashable], amounts: list[Hashable]
    ) -> None:
        """Read labels and quantities among these columns as the options say; amounts in any case."""
        for column in self.columns(request.categorical, "--categorical"):
            self.frame[column] = self.frame[column].astype("category")
        columns = [*columns, *amounts] if request.writing else amounts
        read = as_numbers(self.frame, columns, request)
        for column in columns:
            self.frame[column] = read[column]

    def _make_groups(self, request: Request, sensitive: Sequence[Hashable]) -> None:
        """Make groups of the numbers of sensitive columns, as ``--bins`` says."""
        for text in request.bins:
            name, _, cuts = text.rpartition("=")
            column = self.column(name, "--bins")
            if column not in sensitive:
                raise CommandError(f"--bins: {name!r} is not among the columns of --sensitive.")
            try:
                count = cuts.lower().startswith("q")
                bins = int(cuts[1:]) if count else [float(cut) for cut in cuts.split(",")]
            except ValueError:
                raise CommandError(
                    f"--bins: {text!r} was given; cuts such as {name}=18,25,45 or a number of groups "
                    f"such as {name}=q4 expected."
                ) from None
            with renaming({"bins": "--bins", "values": f"--bins: column {name!r}"}):
                self.frame[column] = to_groups(self.frame[column], bins)

    def _remarks(self, features: Sequence[Hashable]) -> Iterator[str]:
        """Say what looks wrong with the features."""
        for column in self.frame.columns:
            if column not in features and str(column).startswith(_UNNAMED):
                yield (
                    f"column {str(column)!r} has no name in the file (row numbers?) and is left "
                    "out; --features can ask for it"
                )
        for feature in features:
            yield from _remarks_on_column(str(feature), self.frame[feature])


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """The columns that a request names for one audit, and the audit's settings."""

    outcome: Hashable
    sensitive: list[Hashable]
    features: list[Hashable]
    by_row: dict[str, Any]  # arguments of an audit that are columns besides
    settings: dict[str, Any]

    def rows(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Arguments of an audit that are columns of this table."""
        return {
            "X": frame[self.features],
            "y": frame[self.outcome],
            "sensitive_features": frame[self.sensitive] if self.sensitive else None,
            **{name: frame[column] for name, column in self.by_row.items()},
        }


def as_numbers(frame: pd.DataFrame, columns: list[Hashable], request: Request) -> pd.DataFrame:
    """These columns, text that stands for quantities read as the options say it is written."""
    with collected_notes() as notes:
        read = to_quantities(frame[columns], **request.writing) if columns else frame[columns]
    show_notes(() if request.quiet else in_print(notes, request))
    return read


def by_row_of(roles: Mapping[str, Sequence[Hashable]]) -> dict[str, Hashable]:
    """Columns that say more of each row, by the arguments of an audit that they are."""
    options = {"sample_weight": "--weight", "clusters": "--cluster", "exposure": "--exposure"}
    return {name: column for name, option in options.items() for column in roles[option]}


def settings_of(
    table: Table,
    request: Request,
    outcomes: Sequence[Hashable],
    groups: Sequence[Hashable],
    values: Values,
    of_groups: Values,
) -> dict[str, Any]:
    """Settings that were given, labels found among the values of the columns they are of."""
    return request.settings | given(
        **find_outcomes(request, outcomes, values),
        favorable_label=find_favorable(request, outcomes, values),
        reference_group=find_reference(request, groups, of_groups),
        decision_inputs=table.columns(request.decision_input, "--decision-input") or None,
        statement=read_statement(request.statement),
    )


def find_columns(table: Table, request: Request, values: Values) -> Columns:
    """Find what the request names, labels among the ``values`` of their columns."""
    named = ("outcome", "sensitive", "weight", "cluster", "exposure", "sensitive_probabilities")
    roles = table.roles(request, *named)
    features = table.choose_features(request, roles)
    (outcome,), sensitive = roles["--outcome"], roles["--sensitive"]
    outcomes, groups, labels = values, sensitive, values
    if request.is_numeric:  # of numbers there is less or more
        outcomes = lambda column: pd.Series([LESS, MORE], name=column)  # noqa: E731
    if probabilities := roles["--sensitive-probabilities"]:  # groups are called as these columns
        groups = sensitive or probabilities[:1]
        labels = lambda _: pd.Series(probabilities, dtype=object)  # noqa: E731
    return Columns(
        outcome=outcome,
        sensitive=sensitive,
        features=features,
        by_row=by_row_of(roles) | given(sensitive_probabilities=probabilities or None),
        settings=settings_of(table, request, [outcome], groups, values, labels)
        | given(
            outcome_names=request.event_names
            or find_names(request.outcome_names, [outcome], outcomes, "--outcome-names")
            or None,
            group_names=find_names(request.group_names, groups, labels, "--group-names") or None,
        ),
    )


def read_table(request: Request) -> Table:
    """Read a CSV or Parquet file; in a CSV only empty cells and ``--na-values`` are missing."""
    path = request.file
    # What the shell opened may have the name of a file.
    suffixes = [suffix.lower() for suffix in (path if path.suffix else path.resolve()).suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in _COMPRESSED else None
    kind = suffixes[-1] if suffixes else ""
    content = None if path.is_file() else _read_once(path)
    if content is not None and not kind:  # a pipe that the shell made
        kind = ".parquet" if content.startswith(b"PAR1") else ".csv"
    if kind in PARQUET_SUFFIXES:
        table = _read_parquet(path, content, request.na_values)
    elif kind in _CSV_SUFFIXES:
        usual = "\t" if kind == ".tsv" else ","
        mark = usual if request.separator is None else request.separator.replace("\\t", "\t")
        if len(mark) != 1 and mark != _BLANKS:
            raise CommandError(
                f"--separator: {mark!r} was given; one character expected, or {_BLANKS} for any blanks."
            )
        how = {
            "sep": mark,
            "encoding": request.encoding,
            "compression": None if packed is None else _COMPRESSED[packed],
        }
        table = _read_csv(path, content, how, request.na_values)
    else:
        raise CommandError(
            f"{path}: only files ending in .csv, .tsv or .parquet can be read; rename or convert "
            "it."
        )
    if table.frame.empty:
        raise CommandError(f"{path}: the file has no rows below its header.")
    return table


def _read_once(path: Path) -> bytes:
    """All that comes through a pipe, which cannot be read again."""
    if not path.is_fifo():
        raise CommandError(f"{path}: this is a device, no file; give a file or a pipe.")
    return path.read_bytes()


def _opened(path: Path, content: bytes | None) -> Path | io.BytesIO:
    """What to read from, anew each time."""
    return path if content is None else io.BytesIO(content)


def _read_csv(
    path: Path, content: bytes | None, how: dict[str, Any], na_values: Sequence[str]
) -> Table:
    how = {**how, "keep_default_na": False}
    encoding = how["encoding"]
    try:
        header = pd.read_csv(_opened(path, content), header=None, nrows=1, dtype=str, **how)
        frame = pd.read_csv(
            _opened(path, content), na_values=["", *na_values], low_memory=False, **how
        )
    except UnicodeDecodeError as error:
        other = "utf-16" if error.object[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
        raise CommandError(
            f"{path}: not readable as {encoding.removesuffix('-sig')} text ({error.reason}); say "
            f"how it is encoded, for instance --encoding {other}."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise CommandError(f"{path}: the file is empty.") from error
    except LookupError as error:
        raise CommandError(f"--encoding: {error}.") from error
    except (OSError, EOFError, ValueError, csv.Error) as error:
        hint = ""
        if "Expected" in str(error) and "fields" in str(error):
            hint = ". If another mark than a comma separates the cells, name it: --separator ';'."
        reason = (
            _first_line(error).removeprefix("Error tokenizing data. ").removeprefix("C error: ")
        )
        if "out of memory" in reason:
            raise MemoryError(f"while {path} was read") from error
        raise CommandError(f"{path}: cannot be read as CSV: {reason}{hint}") from error
    if header.shape[1] == 1 and any(mark in str(header.iloc[0, 0]) for mark in ";\t|"):
        raise CommandError(
            f"{path}: found one column, {str(header.iloc[0, 0])!r}. Say what separates the cells, "
            "for instance --separator ';'."
        )
    if not isinstance(frame.index, pd.RangeIndex):
        raise CommandError(
            f"{path}: the rows have more cells than the header has names; give every column a name."
        )
    _keep_codes(frame, _opened(path, content), {**how, "na_values": ["", *na_values]})
    names = header.iloc[0]
    return Table(frame=frame, repeated_names=frozenset(names[names.duplicated()]))


def _keep_codes(frame: pd.DataFrame, opened: Path | io.BytesIO, how: dict[str, Any]) -> None:
    """Give numbers their text back that may be none, or others than they look.

    Those with a leading zero somewhere, such as postal codes, and those whose points may all separate
    thousands.
    """
    numeric = [i for i, kind in enumerate(frame.dtypes) if kind.kind in "iuf"]
    if not numeric:
        return
    text = pd.read_csv(opened, usecols=numeric, dtype=str, **how)
    for place, column in zip(numeric, text.columns, strict=True):
        texts = text[column].dropna()
        dotted = texts[texts.str.contains(".", regex=False)]
        unclear = len(dotted) and dotted.str.fullmatch(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}").all()
        if unclear or texts.str.fullmatch(r"0[0-9]+").any():
            frame.isetitem(place, text[column])


def _read_parquet(path: Path, content: bytes | None, na_values: Sequence[str]) -> Table:
    pyarrow = import_optional("pyarrow", extra="parquet", feature=f"Reading {path.name}")
    parquet = import_optional("pyarrow.parquet", extra="parquet", feature=f"Reading {path.name}")
    try:
        schema = parquet.read_schema(_opened(path, content))
        refuse_repeated(schema.names, "table")
        # Times of day are read apart: what pandas makes of them has no nanoseconds.
        times = [own.name for own in schema if own.type == pyarrow.time64("ns")]
        others = [name for name in schema.names if name not in times]
        frame = pd.read_parquet(_opened(path, content), engine="pyarrow", columns=others)
        if times:
            clocks = in_microseconds(parquet.read_table(_opened(path, content), columns=times))
            named = [name for name in schema.names if name in times or name in frame.columns]
            frame = frame.assign(**{name: clocks[name].to_pandas().array for name in times})[named]
    except InputError as error:
        raise error.renamed(str(path)) from error
    except (OSError, ValueError, NotImplementedError) as error:
        raise CommandError(f"{path}: cannot be read as Parquet: {_first_line(error)}") from error
    # An index with a name is a column that its writer moved there; any other is row numbers.
    frame = frame.reset_index(drop=all(name is None for name in frame.index.names))
    if na_values:
        frame = frame.mask(frame.isin(list(na_values)))
    return Table(frame=frame)


def _remarks_on_column(name: str, values: pd.Series) -> Iterator[str]:
    present = values.dropna()
    is_text = pd.api.types.is_string_dtype(present)
    if not is_text and not pd.api.types.is_integer_dtype(present):
        return
    distinct = present.drop_duplicates()
    if len(distinct) < len(values) or len(values) <= 20:
        return
    if is_text and find_writing(read_labels(values.array, name), Marks()) is not None:
        return
    yield (
        f"column {name!r} has another value in every row; if it only names the rows, add "
        f"--drop {name}"
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
