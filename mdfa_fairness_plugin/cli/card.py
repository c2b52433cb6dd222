"""``mdfa card``: where one person of an audited table stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from mdfa_fairness_plugin.cli.audit import options_of_audit, read_audit
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

_STDOUT = Path("-")
# Options that say how the audit itself is made, as ``mdfa audit`` has them.
_AUDIT_OPTIONS: Final = (
    "outcome",
    "sensitive",
    "features",
    "drop",
    "outcome_label",
    "reference",
    "weight",
    "alpha",
    "missing",
    "balance",
    "confidence_level",
    "seed",
    "n_jobs",
    "separator",
    "encoding",
    "na_values",
    "quiet",
)


@click.command(
    "card",
    epilog="Example: mdfa card loans.csv --outcome approved --sensitive sex --row 17 --html card.html",
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--row",
    required=True,
    type=click.IntRange(0),
    metavar="N",
    help="Row of the person in FILE: 0 is the first below the header.",
)
@click.option(
    "--comparators",
    "n_comparators",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="K",
    help="Nearest people of each side to count; more if counts would be too small to show.",
)
@click.option(
    "--show-records",
    is_flag=True,
    help="Print the records of the nearest people, and counts however small.",
)
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Write the card to this page.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE.json",
    help="Write every number to this file; - for stdout, in the place of the text.",
)
@min_cell_option
def card_command(
    file: Path,
    row: int,
    n_comparators: int,
    show_records: bool,
    html_file: Path | None,
    json_file: Path | None,
    min_cell: int,
    seed: int,
    quiet: bool,
    **options: Any,
) -> None:
    """Tell where one person of FILE stands: a card to contest a decision with.

    Audits FILE as mdfa audit does, then tells whether the person is in the subgroup treated most
    unequally (by a model that had not seen them), how comparable people of either side fared, and
    how certain that is. Nobody else's record is printed unless --show-records asks for it.
    """
    if html_file is not None:
        check_writable(html_file, "--html", not_over=file)
    if json_file is not None and json_file != _STDOUT:
        check_writable(json_file, "--json", not_over=file)
    check_apart((html_file, "--html"), (json_file, "--json"))
    asked = read_audit(file, quiet=quiet, **options)
    if row >= len(asked.X):
        raise CommandError(
            f"--row: {row} was given, but the last row of {file.name} is "
            f"{len(asked.X) - 1}; the first is 0."
        )

    import mdfa_fairness_plugin as mdfa

    parameters = dict(asked.parameters)
    weight = parameters.pop("sample_weight", None)
    with (
        collected_notes() as notes,
        progress(f"auditing {len(asked.X):,} rows of {file.name} ...", quiet=quiet),
    ):
        auditor = mdfa.MDFAuditor(random_state=seed, **parameters)
        auditor.fit(
            asked.X,
            asked.y,
            sensitive_features=asked.sensitive_features,
            sample_weight=weight,
        )
        card = auditor.explain_row(
            None,
            row=row,
            n_comparators=n_comparators,
            show_records=show_records,
            min_cell=min_cell,
        )
    _write_files(card, html_file, json_file)
    if not quiet:
        text = "" if json_file == _STDOUT else card.summary()
        if text:
            say(text)
        show_notes(notes, text)
        for path in (html_file, json_file):
            if path is not None and path != _STDOUT:
                complain(f"written: {path}")


def _write_files(card: Any, html_file: Path | None, json_file: Path | None) -> None:
    try:
        if html_file is not None:
            card.to_html(html_file)
        if json_file == _STDOUT:
            say(card.to_json().rstrip("\n"))
        elif json_file is not None:
            card.to_json(json_file)
    except OSError as error:
        raise CommandError(f"cannot write {error.filename}: {error.strerror}.") from error


card_command.params += options_of_audit(*_AUDIT_OPTIONS)
