"""``mdfa compare``: several models' answers in one table, aggregate ratios beside the worst case."""

from __future__ import annotations

from collections.abc import Hashable

import pandas as pd

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.cli.console import CommandError, collected_notes, progress
from mdfa_fairness_plugin.cli.files import files_of
from mdfa_fairness_plugin.cli.labels import find_labels
from mdfa_fairness_plugin.cli.outputs import check_outputs, deliver, gate
from mdfa_fairness_plugin.cli.questions import told_of_files
from mdfa_fairness_plugin.cli.request import Request, given
from mdfa_fairness_plugin.cli.table import Table, by_row_of, read_table, settings_of


def run(request: Request) -> int:
    """Compare the columns of ``--outcomes``, and give the gate's status."""
    check_outputs(request)
    files = files_of(request)
    table = read_table(request)
    frame = table.frame
    named = ("outcomes", "sensitive", "truth", "scores", "weight", "cluster", "exposure")
    roles = table.roles(request, *named)
    models, sensitive = roles["--outcomes"], roles["--sensitive"]
    if not models:
        raise CommandError("--outcomes: no column is named.")
    baseline = _find_baseline(table, request, models)
    features = table.choose_features(request, roles)
    values = frame.__getitem__
    settings = settings_of(table, request, models, sensitive, values, values) | given(
        y_true=next((frame[column] for column in roles["--true"]), None),
        **{name: frame[column] for name, column in by_row_of(roles).items()},
        groups=_find_groups(request, frame, sensitive),
        metric=request.metric,
        scores=_find_scores(frame, models, roles["--scores"]),
        tolerance=request.tolerance,
    )
    start = f"comparing {len(models)} models on {len(frame):,} rows of {request.file.name} ..."
    with collected_notes() as notes, progress(start, quiet=request.quiet):
        result = mdfa.compare(
            frame[features],
            {str(model): frame[model] for model in models},
            sensitive_features=frame[sensitive],
            baseline=str(baseline),
            n_splits=request.splits,
            verbose=1,
            **settings,
        )
    result = told_of_files(result, files)
    deliver(request, result, notes)
    return gate(request, result)


def _find_scores(
    frame: pd.DataFrame, models: list[Hashable], columns: list[Hashable]
) -> dict[str, pd.Series] | None:
    """Scores of every model, named in their order."""
    if columns and len(columns) != len(models):
        raise CommandError(
            f"--scores: {len(columns)} columns were named for {len(models)} models; name one for each, "
            "in the order of --outcomes."
        )
    told = {str(model): frame[own] for model, own in zip(models, columns, strict=False)}
    return told or None


def _find_baseline(table: Table, request: Request, models: list[Hashable]) -> Hashable:
    """Model that the others are compared with."""
    if request.baseline is None:
        return models[0]
    baseline = table.column(request.baseline, "--baseline")
    if baseline not in models:
        raise CommandError(
            f"--baseline: {request.baseline!r} is not among the columns of --outcomes: "
            f"{', '.join(str(model) for model in models)}."
        )
    return baseline


def _find_groups(
    request: Request, frame: pd.DataFrame, sensitive: list[Hashable]
) -> list[Hashable] | None:
    if request.group and len(sensitive) > 1:
        raise CommandError(
            "--group names values of one --sensitive column; compare the columns one by one."
        )
    return find_labels(request.group, sensitive, frame.__getitem__, "--group") or None
