"""Files that a command reads, by which others can check it, and what is stated in one of them."""

from __future__ import annotations

import hashlib
import os
import tomllib
from pathlib import Path
from typing import Any

from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.request import Request, are_parts
from mdfa_fairness_plugin.dask.blocks import find_files
from mdfa_fairness_plugin.provenance import ReadFile


def read_statement(path: Path | None) -> dict[str, Any] | None:
    """What a file of ``--statement`` states; None without one."""
    if path is None:
        return None
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"--statement: {error.strerror or error}: {path}") from error
    except ValueError as error:  # of TOML, or of text
        raise CommandError(
            f"--statement: {path} is no TOML that can be read: {error}. Lines such as auditor = "
            '"A name" are expected.'
        ) from error


def files_of(request: Request) -> tuple[ReadFile, ...]:
    """The files of the table, then the statement; what is no file, such as a pipe, is left out.

    Called before the table is read: what is written later is another file.
    """
    own = () if request.statement is None else files_in(request.statement)
    return (*files_in(request.file), *own)


def files_in(path: Path) -> tuple[ReadFile, ...]:
    """A file, or those of a folder or pattern, whose names then tell where in it they lie."""
    if not are_parts(path):
        return (read_file(path),) if path.is_file() else ()
    found = find_files(path)
    folder = path if path.is_dir() else os.path.commonpath([os.path.dirname(one) for one in found])
    return tuple(read_file(Path(one), Path(one).relative_to(folder).as_posix()) for one in found)


def read_file(path: Path, name: str | None = None) -> ReadFile:
    """A file by its content."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ReadFile(name=name or path.name, bytes=path.stat().st_size, sha256=digest)
