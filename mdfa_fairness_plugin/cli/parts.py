"""``mdfa audit`` of many Parquet files: what the options name is looked up without reading them all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdfa_fairness_plugin.cli.console import CommandError, complain
from mdfa_fairness_plugin.cli.table import Table, find_label

if TYPE_CHECKING:
    from mdfa_fairness_plugin.dask.blocks import Source
    from mdfa_fairness_plugin.results import AuditResult

# Rows that remarks on the columns are made from.
_HEAD_ROWS = 1_000
_CHUNK_ROWS = 100_000
_MAGIC = "*?["


def are_parts(file: Path) -> bool:
    """Whether a name stands for several files: a folder, or a pattern that is no file's name."""
    return file.is_dir() or (not file.exists() and any(mark in str(file) for mark in _MAGIC))


def existing_or_parts(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Refuse a name that is neither a file nor stands for several."""
    if not (value.exists() or are_parts(value)):
        raise click.BadParameter(f"File {str(value)!r} does not exist.")
    return value


def audit_parts(
    file: Path,
    *,
    outcome: str,
    sensitive: Sequence[str],
    features: Sequence[str],
    drop: Sequence[str],
    outcome_label: Sequence[str],
    reference: str | None,
    weight: str | None,
    scheduler: str | None,
    quiet: bool,
    **parameters: Any,
) -> AuditResult:
    """Audit Parquet files where they lie.

    Parameters
    ----------
    file : Path
        A file, a folder or a pattern.
    outcome, sensitive, features, drop, outcome_label, reference, weight, scheduler, quiet
        As on the command line.
    **parameters
        Of the auditor; None where not given.

    Returns
    -------
    AuditResult
    """
    from mdfa_fairness_plugin.cli.audit import choose_features
    from mdfa_fairness_plugin.dask import audit_dask
    from mdfa_fairness_plugin.dask.blocks import open_source

    source = open_source(str(file))
    table = Table(frame=_head(source))
    outcome_column = table.column(outcome, "--outcome")
    sensitive_columns = table.columns(sensitive, "--sensitive")
    weight_column = None if weight is None else table.column(weight, "--weight")
    feature_columns = choose_features(
        table,
        asked=table.columns(features, "--features"),
        dropped=table.columns(drop, "--drop"),
        roles={
            "--outcome": [outcome_column],
            "--sensitive": sensitive_columns,
            "--weight": [] if weight_column is None else [weight_column],
        },
    )
    if not quiet:
        for remark in table.remarks(feature_columns):
            complain(f"note: {remark}")
    if reference is not None and len(sensitive_columns) > 1:
        raise CommandError(
            "--reference names one value, so it needs one --sensitive column; audit the columns "
            "one by one."
        )
    given = {
        **parameters,
        "outcomes": _labels(source, outcome_column, outcome_label, "--outcome-label") or None,
        "reference_group": None
        if reference is None
        else _labels(source, sensitive_columns[0], [reference], "--reference")[0],
    }
    return audit_dask(
        str(file),
        outcome=outcome_column,
        sensitive=sensitive_columns,
        features=feature_columns,
        sample_weight=weight_column,
        scheduler=scheduler,
        **{name: value for name, value in given.items() if value is not None},
    )


def _head(source: Source) -> Any:
    """First rows, which have every column."""
    from mdfa_fairness_plugin.dask.blocks import chunks_of

    for block in source.blocks(source.columns):
        for chunk in chunks_of(block, _HEAD_ROWS):
            return chunk
    raise CommandError("the files have no rows.")


def _labels(source: Source, column: Hashable, texts: Sequence[str], option: str) -> list[Hashable]:
    """Values of a column that texts stand for; the column is read for them, and nothing else."""
    if not texts:
        return []
    import pandas as pd

    from mdfa_fairness_plugin.dask.blocks import chunks_of

    found: dict[Hashable, None] = {}
    for block in source.blocks((column,)):
        for chunk in chunks_of(block, _CHUNK_ROWS):
            found.update(dict.fromkeys(chunk[column].dropna().unique().tolist()))
    values = pd.Series(list(found), dtype=object, name=str(column))
    return [find_label(text, values, option) for text in texts]
