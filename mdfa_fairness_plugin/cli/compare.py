"""``mdfa compare``: several models' answers in one table, aggregate ratios beside the worst case."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdfa_fairness_plugin.cli.audit import (
    choose_features,
    find_reference,
    options_of_audit,
)
from mdfa_fairness_plugin.cli.console import (
    CommandError,
    check_apart,
    check_writable,
    collected_notes,
    complain,
    min_cell_option,
    progress,
    say,
    show_notes,
)
from mdfa_fairness_plugin.cli.table import Table, find_label, read_table

if TYPE_CHECKING:
    import pandas as pd

_STDOUT = Path("-")


@click.command(
    "compare",
    epilog="Example: mdfa compare loans.csv --outcomes before,repaired --sensitive sex --true paid",
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--outcomes",
    required=True,
    multiple=True,
    metavar="COL,...",
    help="Columns of outcomes, one per model.",
)
@click.option("--true", "truth", metavar="COL", help="True labels, for accuracy and error rates.")
@click.option(
    "--baseline", metavar="COL", help="Model to compare the others with. Default: the first."
)
@click.option(
    "--splits",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    metavar="N",
    help="Repeated 70/30 splits; 0 for none.",
)
@click.option(
    "--group", multiple=True, metavar="VALUE", help="Sensitive value to audit; may be repeated."
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.png",
    help="Draw each model's worst case beside its aggregate ratio (.png, .svg or .pdf).",
)
@min_cell_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def compare_command(
    file: Path,
    outcomes: tuple[str, ...],
    sensitive: tuple[str, ...],
    truth: str | None,
    baseline: str | None,
    splits: int,
    features: tuple[str, ...],
    drop: tuple[str, ...],
    outcome_label: tuple[str, ...],
    group: tuple[str, ...],
    reference: str | None,
    weight: str | None,
    alpha: float | None,
    missing: str | None,
    confidence_level: float | None,
    seed: int,
    n_jobs: int | None,
    report: Path | None,
    json_file: Path | None,
    plot: Path | None,
    min_cell: int,
    separator: str | None,
    encoding: str,
    na_values: tuple[str, ...],
    quiet: bool,
) -> None:
    """Compare the models whose outcomes are columns of FILE, a .csv or .parquet table.

    Each model is audited alone; then every model is measured inside the worst subgroup of every
    other, on the same people, to see whether a repair moved the harm elsewhere.
    """
    for path, option in ((report, "--report"), (json_file, "--json"), (plot, "--plot")):
        if path is not None and path != _STDOUT:
            check_writable(path, option, not_over=file)
    check_apart((report, "--report"), (json_file, "--json"), (plot, "--plot"))
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise CommandError(f"--plot: {plot.name!r} must end in .png, .svg or .pdf.")

    table = read_table(file, separator=separator, encoding=encoding, na_values=na_values)
    models = table.columns(outcomes, "--outcomes")
    if not models:
        raise CommandError("--outcomes: no column is named.")
    roles = _Roles(table, models, sensitive, truth, weight)
    base = models[0] if baseline is None else table.column(baseline, "--baseline")
    if base not in models:
        raise CommandError(
            f"--baseline: {baseline!r} is not among the columns of --outcomes: "
            f"{', '.join(str(model) for model in models)}."
        )
    feature_columns = choose_features(
        table,
        asked=table.columns(features, "--features"),
        dropped=table.columns(drop, "--drop"),
        roles=roles.by_option,
    )
    frame = table.frame
    if not quiet:
        for remark in table.remarks(feature_columns):
            complain(f"note: {remark}")
    given: dict[str, Any] = {
        "alpha": alpha,
        "missing": missing,
        "confidence_level": confidence_level,
        "n_jobs": n_jobs,
        "y_true": None if roles.truth is None else frame[roles.truth],
        "sample_weight": None if roles.weight is None else frame[roles.weight],
        "outcomes": _find_outcomes(outcome_label, frame, models),
        "groups": _find_groups(group, frame, roles.sensitive),
        "reference_group": find_reference(reference, frame, roles.sensitive),
    }

    import mdfa_fairness_plugin as mdfa

    start = f"comparing {len(models)} models on {len(frame):,} rows of {file.name} ..."
    with collected_notes() as notes, progress(start, quiet=quiet):
        result = mdfa.compare(
            frame[feature_columns],
            {str(model): frame[model] for model in models},
            sensitive_features=frame[roles.sensitive],
            baseline=str(base),
            n_splits=splits,
            random_state=seed,
            verbose=1,
            **{name: value for name, value in given.items() if value is not None},
        )

    _write_files(result, report, json_file, plot, min_cell)
    if quiet:
        return
    summary = "" if json_file == _STDOUT else result.summary()
    if summary:
        say(summary)
    show_notes(notes, summary)
    for path in (report, json_file, plot):
        if path is not None and path != _STDOUT:
            complain(f"written: {path}")


class _Roles:
    """Columns with a role, so that none is taken for a feature."""

    def __init__(
        self,
        table: Table,
        models: list[Hashable],
        sensitive: tuple[str, ...],
        truth: str | None,
        weight: str | None,
    ) -> None:
        self.sensitive = table.columns(sensitive, "--sensitive")
        self.truth = None if truth is None else table.column(truth, "--true")
        self.weight = None if weight is None else table.column(weight, "--weight")
        self.by_option: dict[str, Sequence[Hashable]] = {
            "--outcomes": models,
            "--sensitive": self.sensitive,
            "--true": [] if self.truth is None else [self.truth],
            "--weight": [] if self.weight is None else [self.weight],
        }


def _find_outcomes(
    texts: tuple[str, ...], frame: pd.DataFrame, models: list[Hashable]
) -> list[Hashable] | None:
    """Labels to audit, looked up in every model's outcomes."""
    import pandas as pd

    if not texts:
        return None
    given = pd.concat([frame[model] for model in models], ignore_index=True)
    given.name = ", ".join(str(model) for model in models)
    return [find_label(text, given, "--outcome-label") for text in texts]


def _find_groups(
    texts: tuple[str, ...], frame: pd.DataFrame, sensitive: list[Hashable]
) -> list[Hashable] | None:
    if not texts:
        return None
    if len(sensitive) > 1:
        raise CommandError(
            "--group names values of one --sensitive column; compare the columns one by one."
        )
    return [find_label(text, frame[sensitive[0]], "--group") for text in texts]


def _write_files(
    result: Any,
    report: Path | None,
    json_file: Path | None,
    plot: Path | None,
    min_cell: int,
) -> None:
    try:
        if report is not None:
            result.to_html(report, min_cell=min_cell)
        if json_file == _STDOUT:
            say(result.to_json().rstrip("\n"))
        elif json_file is not None:
            result.to_json(json_file)
        if plot is not None:
            _draw(result, plot)
    except OSError as error:
        raise CommandError(f"cannot write {error.filename}: {error.strerror}.") from error


def _draw(result: Any, path: Path) -> None:
    from mdfa_fairness_plugin.report.displays.comparison import ComparisonDisplay

    figure: Any = ComparisonDisplay.from_result(result).plot().figure_
    figure.savefig(path, dpi=150, facecolor=figure.get_facecolor())


compare_command.params += options_of_audit(
    "sensitive",
    "features",
    "drop",
    "outcome_label",
    "reference",
    "weight",
    "alpha",
    "missing",
    "confidence_level",
    "seed",
    "n_jobs",
    "report",
    "json_file",
    "separator",
    "encoding",
    "na_values",
)
