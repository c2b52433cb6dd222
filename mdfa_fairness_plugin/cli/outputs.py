"""What a command hands over: files, text on stdout, notes on stderr, and the status of its gate."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from mdfa_fairness_plugin.cli.console import (
    CommandError,
    asked_columns,
    columns_of,
    complain,
    say,
    show_notes,
)
from mdfa_fairness_plugin.cli.request import STDOUT, Request
from mdfa_fairness_plugin.comparison.withholding import as_printed
from mdfa_fairness_plugin.data.sensitive import JOINT
from mdfa_fairness_plugin.describe.wording import clean, label_text, named
from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.records import INSUFFICIENT, AuditRecord
from mdfa_fairness_plugin.report.displays.comparison import ComparisonDisplay
from mdfa_fairness_plugin.report.files import written_beside
from mdfa_fairness_plugin.report.junit import DELTA, Case, limited, of_ranks, told_limit, trips
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.text import as_wide_as

# How the names of files end.
_ENDINGS: Final = {
    **dict.fromkeys(("--csv", "--group-table", "--pairs"), (".csv",)),
    "--members": (".csv", ".parquet"),
    "--plot": (".png", ".svg", ".pdf"),
}
DONE = 0
GATE_TRIPPED = 1
DIFFERS = 1


def check_outputs(request: Request) -> None:
    """Refuse a file that cannot be written, or two in one, before the work is done."""
    taken: dict[Path, str] = {}
    for option, path in request.outputs.items():
        if path != STDOUT:
            _check_writable(path, option, request.file)
    for option, endings in _ENDINGS.items():
        file = request.outputs.get(option)
        if file is not None and file.suffix.lower() not in endings:
            known = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
            raise CommandError(f"{option}: {file.name!r} must end in {known}.")
    for option, path in request.outputs.items():
        first = option if path == STDOUT else taken.setdefault(path.resolve(), option)
        if first != option:
            raise CommandError(
                f"{first} and {option}: both would be written to {str(path)!r}; give each a name of "
                "its own."
            )


def _check_writable(path: Path, option: str, source: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise CommandError(f"{option}: the folder {str(folder)!r} does not exist.")
    target = path if path.exists() else folder
    if path.is_dir() or not os.access(target, os.W_OK):
        raise CommandError(f"{option}: {str(path)!r} cannot be written.")
    if source.is_file() and path.exists() and path.samefile(source):
        raise CommandError(f"{option}: {str(path)!r} is the input; give another name.")


def _write(request: Request, result: Any, page: Mapping[str, Any]) -> dict[Path, str]:
    """Write the files asked for, the page with these arguments; tell which could not be, and why."""
    failed: dict[Path, str] = {}
    for option, path in request.outputs.items():
        try:
            if option == "--json" and path == STDOUT:
                say(result.to_json(**_kept_back(request)).rstrip("\n"), as_is=True)
            elif option == "--json":
                result.to_json(path, **_kept_back(request))
            elif option == "--junit":
                result.to_junit(path, fail_above=request.fail_above, min_cell=request.min_cell)
            elif option == "--cyclonedx":
                result.to_cyclonedx(path, min_cell=request.min_cell)
            elif option in _ENDINGS:
                with written_beside(path) as part:
                    _write_beside(request, result, option, part)
            else:
                result.to_html(path, **page)
        except OSError as error:
            failed[path] = error.strerror or str(error)
    return failed


def _kept_back(request: Request) -> dict[str, int]:
    """What JSON is to withhold."""
    return {"min_cell": request.min_cell} if request.withhold else {}


def _write_beside(request: Request, result: Any, option: str, path: Path) -> None:
    """Write a table, or draw a picture."""
    if option == "--plot":
        shown = ComparisonDisplay.from_result(as_printed(result, request.min_cell))
        figure: Any = shown.plot().figure_
        figure.savefig(path, dpi=150, facecolor=figure.get_facecolor())
    elif option == "--group-table":
        _joined(result.group_table(), "category", "reference").to_csv(path, index=False)
    elif option == "--pairs":
        _joined(result.pairs().rename_axis("row"), "sensitive_value").to_csv(path)
    elif option == "--csv":
        _joined(_models(result), "group", "reference").to_csv(path, index=False)
    elif request.outputs[option].suffix.lower() == ".csv":
        result.members().rename_axis("row").to_csv(path)
    else:  # labels as text, since a column of Parquet has one type
        members, labels = result.members().rename_axis("row"), ["group", "reference", "outcome"]
        members[labels] = members[labels].map(lambda own: None if own is None else str(own))
        members.to_parquet(path)


def _models(result: Any) -> pd.DataFrame:
    """A line per model, with what is shown of it as an alternative, if anything was asked."""
    table, more = result.to_frame(), result.alternative_frame()
    return table.join(more[[name for name in more if name not in table]]) if len(more) else table


def _joined(table: pd.DataFrame, *who: str) -> pd.DataFrame:
    """A table in which those in a combination of groups are joined by "&"."""
    table[[*who]] = table[[*who]].map(
        lambda own: JOINT.join(map(str, own)) if isinstance(own, tuple) else own
    )
    return table


def deliver(
    request: Request,
    result: Any,
    notes: list[str],
    *,
    more: Iterable[str] = (),
    printable: bool = False,
    **page: Any,
) -> None:
    """Write the files; say the summary, more texts, other notes, and what was written.

    One that is printable keeps small counts back itself; ``page`` is what else its page says.
    """
    kept = {} if printable else {"min_cell": request.min_cell}
    failed = _write(request, result, kept | request.byline | page)
    if not request.quiet:
        # What is written for machines stays alone on stdout.
        is_alone = request.json_file == STDOUT
        with as_wide_as(columns_of(sys.stdout) or asked_columns()):
            summary = "" if is_alone else result.summary(**kept)
            if summary:
                say(summary)
            for text in more:
                (complain if is_alone else say)(text)
            known = () if is_alone else getattr(result, "warnings", ())
            told = {str(own.message) for own in known}
            show_notes(in_print([own for own in notes if own not in told], request), summary)
            for path in request.outputs.values():
                if path != STDOUT and path not in failed:
                    complain(f"written: {path}")
    if failed:
        each = "; ".join(f"{str(path)!r} ({reason})" for path, reason in failed.items())
        raise CommandError(f"cannot write {each}. What was there before is left as it was.")


def in_print(notes: Iterable[str], request: Request) -> list[str]:
    """Notes without their small counts."""
    given = AuditRecord(warnings=tuple(AuditWarning(category="", message=own) for own in notes))
    return [own.message for own in redact(given, request.min_cell).result.warnings]


def gate(request: Request, result: Any) -> int:
    """Exit status: 1 if any violation or change is surely larger than ``--fail-above``."""
    if request.fail_above is None:
        return DONE
    cases: Sequence[Case] = result.cases(request.min_cell)
    violations = [case.search for case in cases]
    if violations and all(getattr(own, "harm", None) is False for own in violations):
        raise CommandError(
            "--fail-above: nothing can trip it, since only the favourable outcome is audited; audit "
            "the other one, too (--outcome-label)."
        )
    if violations and all(map(of_ranks, violations)):
        raise CommandError(
            "--fail-above: nothing can trip it, since of --ordered it limits the cuts, and only mean "
            "ranks are audited; audit a cut, too (--outcome-label)."
        )
    said = {what for what, _ in map(limited, violations)} - {DELTA}
    if said and not request.quiet:
        complain(f"note: --fail-above {request.fail_above:g} is a limit of {said.pop().strip(',')}")
    over = [case for case in cases if trips(case.search, request.fail_above)]
    for case in over:
        violation = case.printed or case.search
        about = f"{clean(case.about)}: " if case.about else ""
        complain(
            f"gate: {about}{named(violation.sensitive_feature, violation.group)}, outcome "
            f"{label_text(violation.outcome)}: lower bound of {told_limit(violation)} is above "
            f"--fail-above {request.fail_above:g}"
        )
    if over:
        return GATE_TRIPPED
    unsure = sum(violation.verdict == INSUFFICIENT for violation in violations)
    if unsure and not request.quiet:
        complain(
            f"note: the gate did not trip, but {unsure} of {len(violations)} searches had too little "
            "evidence to tell"
        )
    return DONE
