"""AIF360 itself, imported quietly."""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from mdfa_fairness_plugin._optional import import_optional


def part(module: str) -> ModuleType:
    """Import a part of AIF360, such as ``"metrics"``, without its import-time messages."""
    with quiet():
        return import_optional(
            f"aif360.{module}", extra="aif360", feature="mdfa_fairness_plugin.aif360"
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Keep to itself what AIF360 logs on the root logger and warns of while it is imported.

    Only records that its own files log are held back. Handlers, filters and warning filters are
    afterwards as they were: ``logging.warning`` would otherwise leave a handler on the root logger.
    """
    folders = _folders()

    def is_elsewhere(record: logging.LogRecord) -> bool:
        return not any(Path(record.pathname).is_relative_to(folder) for folder in folders)

    root = logging.getLogger()
    stand_in = logging.NullHandler()
    root.addHandler(stand_in)
    root.addFilter(is_elsewhere)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeFilter(is_elsewhere)
        root.removeHandler(stand_in)


def _folders() -> list[Path]:
    """Where AIF360 lies, without importing it."""
    try:
        spec = importlib.util.find_spec("aif360")
    except (ImportError, ValueError):  # Absent, or hidden on purpose.
        return []
    return [] if spec is None else [Path(one) for one in spec.submodule_search_locations or ()]
