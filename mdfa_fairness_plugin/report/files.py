"""Files written whole or not at all: beside, then moved into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to; what is there afterwards takes the place of the file, or nothing does.

    A link keeps pointing to its file, which keeps its permissions. Devices and pipes, and files in
    folders that nothing can be added to, are written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() and os.access(target.parent, os.W_OK)):
        with _naming(path):
            yield target
        return
    # The suffix stays: it tells some writers the format.
    part = target.with_name(f".{target.stem[:100]}.{os.getpid()}.part{target.suffix}")
    try:
        with _naming(path):
            yield part
            if target.exists():
                shutil.copymode(target, part)
            os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors name the file that was asked for."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error
