"""``mdfa verify``: whether an audit is of these files, and gives the same when it is made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from mdfa_fairness_plugin.cli.audit import audited
from mdfa_fairness_plugin.cli.console import CommandError, collected_notes, in_options, say
from mdfa_fairness_plugin.cli.files import files_in, read_statement
from mdfa_fairness_plugin.cli.outputs import DIFFERS, DONE
from mdfa_fairness_plugin.cli.questions import request_of
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.comparison.verifying import (
    Finding,
    Verification,
    audits_compared,
    files_compared,
    versions_compared,
)
from mdfa_fairness_plugin.exceptions import MDFAError
from mdfa_fairness_plugin.provenance import versions
from mdfa_fairness_plugin.records.statement import checked_statement
from mdfa_fairness_plugin.report.reading import entries
from mdfa_fairness_plugin.report.stored import read_json
from mdfa_fairness_plugin.results import AuditResult


def run(request: Request) -> int:
    """Compare hashes, versions and, if asked for, every value; 1 if anything differs."""
    old = AuditResult.from_json(request.from_file)
    read = old.provenance.get("files")
    if not read:
        raise CommandError(
            f"{request.from_file}: it does not say which files were read; it has to be written by "
            "mdfa audit FILE --json."
        )
    files = tuple(files_compared(read, [one for path in request.files for one in files_in(path)]))
    found = Verification(
        files=files,
        versions=tuple(versions_compared(entries(old.provenance, "versions"), versions())),
    )
    if request.again:
        found = replace(found, again=_again(request, old, read_json(request.from_file), found))
    if not request.quiet:
        say(found.summary())
    return DONE if found.same else DIFFERS


def _again(
    request: Request, old: AuditResult, told: Mapping[str, Any], found: Verification
) -> tuple[Finding, ...]:
    """The audit made again, of the first file, as its JSON says it was asked for."""
    own = request_of(old, request.from_file)
    own = replace(own, file=request.files[0], n_jobs=request.n_jobs, quiet=True)
    try:
        with collected_notes():
            result = audited(own)
    except (MDFAError, click.ClickException) as error:
        if all(one.same for one in found.files):
            raise
        reason = in_options(error) if isinstance(error, MDFAError) else error.format_message()
        return (Finding(said=f"It cannot be made of these files: {reason}", same=False),)
    stated = next((path for path in request.files[1:] if path.suffix == ".toml"), None)
    statement = old.statement if stated is None else checked_statement(read_statement(stated))
    found_again = tuple(audits_compared(told, replace(result, statement=statement)))
    if stated is not None or not statement:
        return found_again
    said = "The statement was not verified: its file was not given."
    return (*found_again, Finding(said=said, same=True))
