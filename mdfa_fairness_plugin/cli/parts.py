"""``mdfa audit`` of many Parquet files: what the options name is looked up without reading them all."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import pandas as pd

from mdfa_fairness_plugin.cli.console import progress
from mdfa_fairness_plugin.cli.files import files_of
from mdfa_fairness_plugin.cli.questions import told_of_request
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.cli.table import Table, find_columns
from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.dask.blocks import Source, chunks_of, open_source
from mdfa_fairness_plugin.exceptions import InputError, renaming

# Rows that remarks on the columns are made from.
_HEAD_ROWS = 1_000
_CHUNK_ROWS = 100_000


def audit_parts(request: Request) -> Any:
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
            sample_weight=named.weight,
            clusters=named.cluster,
            exposure=named.exposure,
            scheduler=request.scheduler,
            verbose=1,
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
