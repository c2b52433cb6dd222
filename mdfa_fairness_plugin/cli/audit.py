"""``mdfa audit``: one audit of a table in a file, with a gate for continuous integration."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdfa_fairness_plugin.cli.console import (
    DONE,
    GATE_TRIPPED,
    CommandError,
    check_apart,
    check_writable,
    collected_notes,
    command_line,
    complain,
    min_cell_option,
    progress,
    say,
    show_notes,
)
from mdfa_fairness_plugin.cli.parts import are_parts, audit_parts, existing_or_parts
from mdfa_fairness_plugin.cli.table import Table, find_label, read_table

if TYPE_CHECKING:
    import pandas as pd

_BALANCES = ["auto", "mmd_network", "kernel_matching", "entropy", "propensity", "overlap", "none"]
_STDOUT = Path("-")


def _refuse_nan(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    # Nothing is above NaN, so such a gate would never trip.
    if value is not None and math.isnan(value):
        raise click.BadParameter("must be a number")
    return value


@click.command(
    "audit",
    epilog="Example: mdfa audit loans.csv --outcome approved --sensitive sex,race --drop id",
)
@click.argument("file", type=click.Path(path_type=Path), callback=existing_or_parts)
@click.option("--outcome", required=True, metavar="COL", help="What the classifier answered.")
@click.option(
    "--sensitive",
    required=True,
    multiple=True,
    metavar="COL[,COL]",
    help="Sensitive features, such as race or sex. Each is audited.",
)
@click.option(
    "--features",
    multiple=True,
    metavar="COL,...",
    help="Features that make people alike. Default: every column not named otherwise.",
)
@click.option(
    "--drop",
    multiple=True,
    metavar="COL,...",
    help="Columns to leave out of the features, such as row numbers or true labels.",
)
@click.option(
    "--outcome-label",
    multiple=True,
    metavar="VALUE",
    help="Outcome to audit; may be repeated. Default: both of two.",
)
@click.option(
    "--reference",
    metavar="VALUE",
    help="Compare with this sensitive value only. Default: with everybody else.",
)
@click.option("--weight", metavar="COL", help="Column of sample weights.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="A",
    help="Smallest share of people, in the subgroup and with the outcome, worth reporting.",
)
@click.option(
    "--missing",
    type=click.Choice(["exclude", "category", "raise"]),
    help="Rows with a missing sensitive value: leave out (default), a group of their own, refuse.",
)
@click.option("--balance", type=click.Choice(_BALANCES), help="How the groups are made comparable.")
@click.option(
    "--confidence",
    "confidence_level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Level of the intervals, such as 0.95.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answer.")
@click.option("--jobs", "n_jobs", type=int, metavar="N", help="Processors to use; -1 for all.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Write the whole report to this page.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE.json",
    help="Write every number to this file; - for stdout, in the place of the summary.",
)
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.xml",
    help="Write one test case per search to this file, as continuous integration reads them: failed "
    "where the gate of --fail-above trips, skipped where there is not enough evidence.",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(0, math.inf, max_open=True),
    callback=_refuse_nan,
    metavar="DELTA",
    help="Exit with status 1 if a violation's lower confidence bound of delta, the log ratio of "
    "outcome rates, is above this (0.22 is a ratio of 1.25).",
)
@click.option(
    "--null-draws",
    type=click.IntRange(min=1),
    metavar="N",
    help="Repeat the whole audit N times with sensitive values redrawn given the features, and say "
    "where the violations found fall among these. Takes N times as long; 199 is a good number.",
)
@click.option(
    "--stability",
    "n_repeats",
    type=click.IntRange(min=1),
    metavar="N",
    help="Repeat the audit on N half samples, and say whether they find the same people.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Compute on the Dask cluster whose scheduler is here, such as tcp://10.0.0.1:8786. Default, "
    "for several files: this machine's processors.",
)
@min_cell_option
@click.option("--separator", metavar="CHAR", help="Separates the cells of a CSV. Default: comma.")
@click.option("--encoding", default="utf-8-sig", help="Encoding of a CSV. Default: UTF-8.")
@click.option(
    "--na-values",
    multiple=True,
    metavar="TEXT",
    help="Text that means missing, beside the empty cell; may be repeated.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors and a tripped gate.")
def audit_command(
    file: Path,
    outcome: str,
    sensitive: tuple[str, ...],
    features: tuple[str, ...],
    drop: tuple[str, ...],
    outcome_label: tuple[str, ...],
    reference: str | None,
    weight: str | None,
    alpha: float | None,
    missing: str | None,
    balance: str | None,
    confidence_level: float | None,
    seed: int,
    n_jobs: int | None,
    report: Path | None,
    json_file: Path | None,
    junit_file: Path | None,
    fail_above: float | None,
    null_draws: int | None,
    n_repeats: int | None,
    scheduler: str | None,
    min_cell: int,
    separator: str | None,
    encoding: str,
    na_values: tuple[str, ...],
    quiet: bool,
) -> None:
    """Audit the outcomes in FILE, a .csv or .parquet table with one row per person.

    FILE may also be a folder of Parquet files or a quoted pattern, 'part-*.parquet'. These, and any
    Parquet file with --scheduler, are audited with Dask, where they lie.

    In a CSV only an empty cell is missing: "?", "none" and "NA" are values like any other unless
    --na-values names them.
    """
    spread_out = are_parts(file) or scheduler is not None
    read_file = None if are_parts(file) else file
    if report is not None:
        check_writable(report, "--report", not_over=read_file)
    if json_file is not None and json_file != _STDOUT:
        check_writable(json_file, "--json", not_over=read_file)
    if junit_file is not None:
        check_writable(junit_file, "--junit", not_over=read_file)
    check_apart((report, "--report"), (json_file, "--json"), (junit_file, "--junit"))
    if spread_out:
        if null_draws is not None or n_repeats is not None or na_values:
            raise CommandError(
                "--null-draws, --stability and --na-values need the rows in memory, so they cannot be "
                "used with several files or a scheduler."
            )
        with collected_notes() as notes, progress(f"auditing {file} ...", quiet=quiet):
            result = audit_parts(
                file,
                outcome=outcome,
                sensitive=sensitive,
                features=features,
                drop=drop,
                outcome_label=outcome_label,
                reference=reference,
                weight=weight,
                scheduler=scheduler,
                quiet=quiet,
                alpha=alpha,
                missing=missing,
                balance=balance,
                confidence_level=confidence_level,
                n_jobs=n_jobs,
                random_state=seed,
            )
    else:
        result, notes = _audit_file(
            file,
            quiet=quiet,
            seed=seed,
            outcome=outcome,
            sensitive=sensitive,
            features=features,
            drop=drop,
            outcome_label=outcome_label,
            reference=reference,
            weight=weight,
            separator=separator,
            encoding=encoding,
            na_values=na_values,
            alpha=alpha,
            missing=missing,
            balance=balance,
            confidence_level=confidence_level,
            n_jobs=n_jobs,
        )

    _write_files(result, report, json_file, junit_file, fail_above, min_cell)
    if not quiet:
        summary = "" if json_file == _STDOUT else result.summary()
        if summary:
            say(summary)
        for text in _repeated(result, null_draws, n_repeats, n_jobs):
            # What is written for machines stays alone on stdout.
            (complain if json_file == _STDOUT else say)(text)
        show_notes(notes, summary)
        for path in (report, json_file, junit_file):
            if path is not None and path != _STDOUT:
                complain(f"written: {path}")
    status = DONE if fail_above is None else _apply_gate(result, fail_above, quiet=quiet)
    click.get_current_context().exit(status)


def _audit_file(file: Path, *, quiet: bool, seed: int, **options: Any) -> tuple[Any, list[str]]:
    """Audit one table in memory; the result, and what the user was warned of."""
    import mdfa_fairness_plugin as mdfa

    asked = read_audit(file, quiet=quiet, **options)
    with (
        collected_notes() as notes,
        progress(f"auditing {len(asked.X):,} rows of {file.name} ...", quiet=quiet),
    ):
        result = mdfa.audit(
            asked.X,
            asked.y,
            sensitive_features=asked.sensitive_features,
            random_state=seed,
            **asked.parameters,
        )
    return result, notes


def _repeated(
    result: Any, null_draws: int | None, n_repeats: int | None, n_jobs: int | None
) -> Iterator[str]:
    """Summaries of the repetitions asked for, with a progress bar on stderr."""
    if null_draws is not None:
        null = result.null_distribution(null_draws, n_jobs=n_jobs, progress=True)
        yield f"WITHOUT A VIOLATION\n{null.summary()}\n"
    if n_repeats is not None:
        stable = result.stability(n_repeats, n_jobs=n_jobs, progress=True)
        yield f"ON OTHER PEOPLE\n{stable.summary()}\n"


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """What a command line asks to be audited.

    Parameters
    ----------
    X : DataFrame
    y : Series
    sensitive_features : DataFrame
    parameters : dict
        Of the auditor, only those given.
    """

    X: pd.DataFrame
    y: pd.Series
    sensitive_features: pd.DataFrame
    parameters: dict[str, Any]


def read_audit(
    file: Path,
    *,
    outcome: str,
    sensitive: Sequence[str],
    features: Sequence[str],
    drop: Sequence[str],
    outcome_label: Sequence[str],
    reference: str | None,
    weight: str | None,
    separator: str | None,
    encoding: str,
    na_values: Sequence[str],
    quiet: bool,
    **parameters: Any,
) -> Asked:
    """Read the table and find what the options name in it.

    Parameters
    ----------
    file : Path
    outcome, sensitive, features, drop, outcome_label, reference, weight, separator, encoding
        As on the command line.
    na_values, quiet
        As on the command line.
    **parameters
        Of the auditor; None where not given.

    Returns
    -------
    Asked
    """
    table = read_table(file, separator=separator, encoding=encoding, na_values=na_values)
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
    frame = table.frame
    if not quiet:
        for remark in table.remarks(feature_columns):
            complain(f"note: {remark}")
    given = {
        **parameters,
        "sample_weight": None if weight_column is None else frame[weight_column],
        "outcomes": [
            find_label(text, frame[outcome_column], "--outcome-label") for text in outcome_label
        ]
        or None,
        "reference_group": find_reference(reference, frame, sensitive_columns),
    }
    return Asked(
        X=frame[feature_columns],
        y=frame[outcome_column],
        sensitive_features=frame[sensitive_columns],
        parameters={name: value for name, value in given.items() if value is not None},
    )


def choose_features(
    table: Table,
    *,
    asked: Sequence[Hashable],
    dropped: Sequence[Hashable],
    roles: dict[str, Sequence[Hashable]],
) -> list[Hashable]:
    """Columns to audit: the ones asked for or all, less those dropped or with another role.

    Parameters
    ----------
    table : Table
    asked, dropped : sequence of names
    roles : dict of option to sequence of names

    Returns
    -------
    list of names
    """
    role_of = {column: option for option, named in roles.items() for column in named}
    n_named = sum(len(named) for named in roles.values())
    if len(role_of) < n_named:
        twice = next(
            column for column in role_of if sum(column in named for named in roles.values()) > 1
        )
        raise CommandError(
            f"column {str(twice)!r} is given for two of {', '.join(roles)}; each needs its own."
        )
    for column in asked:
        if column in role_of:
            raise CommandError(
                f"--features: {str(column)!r} is already the column of {role_of[column]}."
            )
    candidates = asked or table.named_columns
    chosen = [c for c in candidates if c not in role_of and c not in dropped]
    if not chosen:
        raise CommandError(
            "no column is left as an audited feature; name fewer columns in --drop, or some in "
            "--features."
        )
    return chosen


def find_reference(
    text: str | None, frame: pd.DataFrame, sensitive_columns: Sequence[Hashable]
) -> Hashable | None:
    """Sensitive value a text means, in the one sensitive column; None for none."""
    if text is None:
        return None
    if len(sensitive_columns) > 1:
        raise CommandError(
            "--reference names one value, so it needs one --sensitive column; audit the columns "
            "one by one."
        )
    return find_label(text, frame[sensitive_columns[0]], "--reference")


def _write_files(
    result: Any,
    report: Path | None,
    json_file: Path | None,
    junit_file: Path | None,
    fail_above: float | None,
    min_cell: int,
) -> None:
    try:
        if report is not None:
            result.to_html(report, min_cell=min_cell, command=command_line())
        if junit_file is not None:
            result.to_junit(junit_file, fail_above=fail_above)
        if json_file == _STDOUT:
            say(result.to_json().rstrip("\n"))
        elif json_file is not None:
            result.to_json(json_file)
    except OSError as error:
        raise CommandError(f"cannot write {error.filename}: {error.strerror}.") from error


def _apply_gate(result: Any, threshold: float, *, quiet: bool) -> int:
    """Exit status: 1 if any violation is surely larger than the threshold."""
    from mdfa_fairness_plugin.describe.wording import label_text, named
    from mdfa_fairness_plugin.report.junit import trips

    over = [violation for violation in result.violations if trips(violation, threshold)]
    for violation in over:
        complain(
            f"gate: {named(violation.sensitive_feature, violation.group)}, outcome "
            f"{label_text(violation.outcome)}: lower bound of delta {violation.interval[0]:.3f} is "
            f"above --fail-above {threshold:g}"
        )
    if over:
        return GATE_TRIPPED
    unsure = sum(v.verdict == "insufficient_evidence" for v in result.violations)
    if unsure and not quiet:
        complain(
            f"note: the gate did not trip, but {unsure} of {len(result.violations)} searches had "
            "too little evidence to tell"
        )
    return DONE


def options_of_audit(*names: str) -> list[click.Parameter]:
    """Options of ``mdfa audit`` that other commands have too, by the names of their values."""
    by_name = {parameter.name: parameter for parameter in audit_command.params}
    return [by_name[name] for name in names]
