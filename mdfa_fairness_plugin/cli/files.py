"""Files that a command reads beside its table: what was stated, and what a reader can check them by."""

from __future__ import annotations

import tomllib
from typing import Any

from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.request import Request


def read_statement(request: Request) -> dict[str, Any] | None:
    """What ``--statement`` states; None without it."""
    if request.statement is None:
        return None
    try:
        return tomllib.loads(request.statement.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(
            f"--statement: {error.strerror or error}: {request.statement}"
        ) from error
    except ValueError as error:  # of TOML, or of text
        raise CommandError(
            f"--statement: {request.statement} is no TOML that can be read: {error}. Lines such as "
            'auditor = "A name" are expected.'
        ) from error
