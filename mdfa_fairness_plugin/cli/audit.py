"""``mdfa audit``: one audit of a table in a file, with a gate for continuous integration."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import collected_notes, command_line, progress
from mdfa_fairness_plugin.cli.events import rows_asked
from mdfa_fairness_plugin.cli.files import files_of
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver, gate
from mdfa_fairness_plugin.cli.questions import check_asked, told_of_request, with_answers
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.cli.table import Table, find_columns
from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.dask.blocks import Source, chunks_of, open_source
from mdfa_fairness_plugin.exceptions import InputError, renaming
from mdfa_fairness_plugin.report.asked import Answers
from mdfa_fairness_plugin.report.redaction import redact

# Rows that remarks on the columns are made from.
_HEAD_ROWS = 1_000
_CHUNK_ROWS = 100_000


def run(request: Request) -> int:
    """Audit, deliver, and give the gate's status."""
    check_outputs(request)
    with collected_notes() as notes:
        result = audited(request)
    deliver(request, result, notes, more=_repeated(request, result), command=command_line())
    return gate(request, result)


def audited(request: Request) -> Any:
    """Audit where the rows lie, or in memory."""
    return _audit_parts(request) if request.is_spread_out else _audit_file(request)


def _audit_file(request: Request) -> Any:
    """Audit one table in memory."""
    asked, files = request, files_of(request)
    frame, named, request = rows_asked(request)
    check_asked(frame, named, request)
    start = f"auditing {len(frame):,} rows of {request.file.name} ..."
    with progress(start, quiet=request.quiet):
        result = mdfa.audit(**named.rows(frame), verbose=1, **named.settings)
        result = told_of_request(result, asked, named.features, files, request.where)
        return with_answers(result, frame, named, request)


def _audit_parts(request: Request) -> Any:
    """Audit Parquet files where they lie."""
    naming = renaming({"ddf": str(request.file)})
    with naming, progress(f"auditing {request.file} ...", quiet=request.quiet):
        files = files_of(request)
        source = open_source(str(request.file))
        named = find_columns(Table(frame=_head(source)), request, partial(_values, source))
        result = audit_dask(
            str(request.file),
            outcome=named.outcome,
            sensitive=named.sensitive,
            features=named.features,
            scheduler=request.scheduler,
            verbose=1,
            **named.by_row,
            **named.settings,
        )
        return told_of_request(result, request, named.features, files)


def _head(source: Source) -> pd.DataFrame:
    """First rows, which have every column."""
    for block in source.blocks(source.columns):
        for chunk in chunks_of(block, _HEAD_ROWS):
            return chunk
    raise InputError("ddf: the files have no rows.")


def _values(source: Source, column: Hashable) -> pd.Series:
    """Different values of a column, which is read for them, and nothing else."""
    found: dict[Hashable, None] = {}
    for block in source.blocks((column,)):
        for chunk in chunks_of(block, _CHUNK_ROWS):
            found.update(dict.fromkeys(chunk[column].dropna().unique().tolist()))
    return pd.Series(list(found), dtype=object, name=str(column))


def _repeated(request: Request, result: Any) -> Iterator[str]:
    """Summaries of the repetitions asked for, with a progress bar on stderr."""
    how: dict[str, Any] = {"n_jobs": request.n_jobs, "progress": sys.stderr.isatty()}
    if request.null_draws is not None:
        null = result.null_distribution(request.null_draws, **how)
        seen = np.where(_hidden(request, result), np.nan, null.observed_statistics)
        yield f"WITHOUT A DISPARITY\n{replace(null, observed_statistics=seen).summary()}\n"
    if request.n_repeats is not None:
        stable = result.stability(request.n_repeats, **how)
        yield f"ON OTHER PEOPLE\n{stable.summary()}\n"
    if request.group_pairs:
        every = replace(result, asked=(*result.asked, *result.group_pairs()))
        told = redact(every, request.min_cell).result.asked[len(result.asked) :]
        yield f"EVERY PAIR OF GROUPS\n{Answers(told).summary()}\n"
    if request.explained:
        found, hidden = result.explained(**how), _hidden(request, result)
        kept = {n: np.where(hidden, np.nan, getattr(found, n)) for n in ("delta", "difference")}
        yield f"WITHOUT EACH FEATURE\n{replace(found, **kept).summary()}\n"


def _hidden(request: Request, result: Any) -> list[bool]:
    """Of which searches ``--min-cell`` keeps back what was found."""
    told = redact(result, request.min_cell).result.violations
    return [was.measured > own.measured for was, own in zip(result.violations, told, strict=True)]
