"""Where the rows of a distributed audit lie: partitions of a Dask DataFrame, or Parquet files."""

from __future__ import annotations

import glob
import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.containers import refuse_repeated
from mdfa_fairness_plugin.exceptions import DataNotFoundError, InputError, InputTypeError

_SUFFIXES = (".parquet", ".pq", ".parq")
# Rows of Parquet that one task reads: a second or more of work, so that scheduling costs nothing.
_TASK_ROWS = 500_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """Rows that are not in this process."""

    columns: tuple[Hashable, ...]  # names of all columns
    data: Any  # Dask DataFrame or pyarrow data set

    def blocks(self, columns: Sequence[Hashable]) -> list[Any]:
        """Parts of the rows, in order, with these columns only."""
        if hasattr(self.data, "to_delayed"):
            return list(self.data[list(columns)].to_delayed())
        return list(_parquet_blocks(self.data, tuple(str(name) for name in columns)))


@dataclass(frozen=True, kw_only=True, eq=False)
class ParquetBlock:
    """Row groups of one Parquet file."""

    fragment: Any
    schema: Any  # of the whole data set
    columns: tuple[str, ...]

    def chunks(self, n_rows: int) -> Iterator[pd.DataFrame]:
        """Give the rows in order, at most ``n_rows`` at a time."""
        batches = iter(
            self.fragment.to_batches(
                schema=self.schema,
                columns=list(self.columns),
                batch_size=n_rows,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
            )
        )
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ValueError) as error:
                raise InputError(f"ddf: {self.fragment.path} cannot be read: {error}") from error
            if batch is None:
                return
            if batch.num_rows:
                frame = in_microseconds(_pyarrow().Table.from_batches([batch])).to_pandas()
                # An index with a name is a column that its writer moved there.
                named = [name for name in frame.index.names if name in self.columns]
                frame = frame.reset_index() if named else frame.reset_index(drop=True)
                yield frame[list(self.columns)]


def _pyarrow(part: str = "") -> Any:
    """pyarrow, or a part of it such as ``".dataset"``."""
    return import_optional(f"pyarrow{part}", extra="dask", feature="Reading Parquet files")


def in_microseconds(table: Any) -> Any:
    """A pyarrow table whose times of day are such as Python has."""
    pyarrow = _pyarrow()
    for place, own in enumerate(table.schema):
        if own.type == pyarrow.time64("ns"):
            cut = table.column(place).cast(pyarrow.time64("us"), safe=False)
            table = table.set_column(place, own.with_type(cut.type), cut)
    return table


def chunks_of(block: Any, n_rows: int) -> Iterator[pd.DataFrame]:
    """Give the rows of a block in order, at most ``n_rows`` at a time."""
    if isinstance(block, ParquetBlock):
        yield from block.chunks(n_rows)
        return
    if not isinstance(block, pd.DataFrame):
        raise InputError(
            f"ddf: a partition is a {type(block).__name__}, no pandas DataFrame. Give partitions that "
            "are frames with the same columns."
        )
    for start in range(0, len(block), n_rows):
        yield block.iloc[start : start + n_rows]


def open_source(data: Any) -> Source:
    """Find the rows."""
    if hasattr(data, "to_delayed") and hasattr(data, "columns"):
        names = tuple(data.columns)
        refuse_repeated(names, "ddf")
        return Source(columns=names, data=data)
    files = [data] if isinstance(data, str | os.PathLike) else data
    several = isinstance(files, list | tuple) and files
    if several and all(isinstance(one, str | os.PathLike) for one in files):
        return _open_parquet(files)
    kind, hint = f"{type(data).__module__}.{type(data).__name__}", ""
    if hasattr(data, "iloc"):
        hint = " Use mdfa_fairness_plugin.audit for rows in memory, or dask.dataframe.from_pandas."
    raise InputTypeError(
        f"ddf: a Dask DataFrame, or Parquet files as a path, a pattern or a list, expected; {kind} "
        f"found.{hint}"
    )


def find_files(name: str | os.PathLike[str]) -> list[str]:
    """Parquet files of a name, a folder or a pattern, sorted."""
    text = os.fspath(name)
    if glob.has_magic(text) and not os.path.exists(text):  # a pattern, and no name
        found = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
        what = "no file matches this pattern"
    elif os.path.isdir(text):
        inside = (path for path in Path(text).rglob("*") if path.suffix.lower() in _SUFFIXES)
        hidden = (".", "_")
        found = sorted(
            str(path)
            for path in inside
            if path.is_file()
            and not any(part.startswith(hidden) for part in path.relative_to(text).parts)
        )
        what = f"the folder holds no file ending in {' or '.join(_SUFFIXES)}"
    else:
        found = [text] if os.path.isfile(text) else []
        what = "there is no such file or folder"
    if not found:
        raise DataNotFoundError(f"{text}: {what}.")
    return found


def _open_parquet(names: Sequence[str | os.PathLike[str]]) -> Source:
    dataset = _pyarrow(".dataset")
    filesystem = None
    if any("://" in os.fspath(name) for name in names):
        fsspec = import_optional("fsspec", extra="dask", feature="Reading remote files")
        filesystem, _, files = fsspec.get_fs_token_paths([os.fspath(name) for name in names])
    else:
        files = [file for name in names for file in find_files(name)]
    try:
        how = {"format": "parquet", "partitioning": "hive", "filesystem": filesystem}
        found = dataset.dataset(files, **how)
        schema = _common_schema(found)
        if schema != found.schema:
            found = dataset.dataset(files, schema=schema, **how)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        for file in files if filesystem is None else ():
            refuse_repeated(_names_in(file), "ddf", f" in {file}")
        raise InputError(f"ddf: {files[0]} cannot be read as Parquet: {error}") from error
    return Source(columns=tuple(found.schema.names), data=found)


def _names_in(file: str) -> list[str]:
    """Names of a file's columns; none if it cannot be read."""
    try:
        return list(_pyarrow(".parquet").read_schema(file).names)
    except (OSError, ValueError):
        return []


def _common_schema(found: Any) -> Any:
    """Schema of all files: numbers that are whole in some and not in others are no whole ones."""
    schema = found.schema
    for fragment in found.get_fragments():
        physical = fragment.physical_schema
        refuse_repeated(physical.names, "ddf", f" in {fragment.path}")
        more = [name for name in physical.names if name not in schema.names]
        if more:
            raise InputError(
                f"ddf: {fragment.path} has a column {listing(more)}, which files before it lack. "
                "All files must hold the same columns."
            )
        for own in physical:
            place = schema.get_field_index(own.name)
            kinds = {_kind(own.type), _kind(schema.field(place).type)}
            if own.type != schema.field(place).type and kinds == {"number"}:
                schema = schema.set(place, own.with_type(_pyarrow().float64()))
    return schema


def _parquet_blocks(found: Any, columns: tuple[str, ...]) -> Iterator[ParquetBlock]:
    """Row groups of every file, several together while they are small."""
    dataset = _pyarrow(".dataset")
    for fragment in found.get_fragments():
        try:
            names = set(fragment.physical_schema.names)
            names |= set(dataset.get_partition_keys(fragment.partition_expression))
        except (OSError, ValueError) as error:
            raise InputError(f"ddf: {fragment.path} cannot be read as Parquet: {error}") from error
        absent = [name for name in columns if name not in names]
        if absent:
            raise InputError(
                f"ddf: {fragment.path} has no column {listing(absent)}, which other files have. "
                "All files must hold the same columns."
            )
        _check_types(found.schema, fragment, columns)
        together: list[list[int]] = []
        n_rows = 0
        for group in fragment.row_groups:
            if not together or n_rows + group.num_rows > _TASK_ROWS:
                together.append([])
                n_rows = 0
            together[-1].append(group.id)
            n_rows += group.num_rows
        for groups in together:
            own = fragment.subset(row_group_ids=groups)
            yield ParquetBlock(fragment=own, schema=found.schema, columns=columns)


def _check_types(schema: Any, fragment: Any, columns: tuple[str, ...]) -> None:
    """Refuse a column that holds numbers in one file and text in another."""
    physical = fragment.physical_schema
    for name in set(columns) & set(physical.names):
        own, first = physical.field(name).type, schema.field(name).type
        kinds = {_kind(own), _kind(first)} - {"null"}
        if len(kinds) > 1:
            raise InputError(
                f"ddf: column {name!r} is {own} in {fragment.path} and {first} in the files before it. "
                "Give it one type."
            )


def _kind(kind: Any) -> str:
    """What values of a pyarrow type are to an audit."""
    types = _pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return "null"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_temporal(kind):
        return "time"
    return "text"
