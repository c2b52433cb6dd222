"""Import of optional packages, with the way to install them when they are absent."""

from __future__ import annotations

import importlib
from types import ModuleType

from mdfa_fairness_plugin.exceptions import OptionalDependencyError


def import_optional(module: str, *, extra: str, feature: str) -> ModuleType:
    """Import ``module`` or say which extra installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        root = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != root:
            raise
        raise OptionalDependencyError(
            f"{feature} needs the package {root!r}, which is not installed. "
            f"Install it with: pip install 'mdfa-fairness-plugin[{extra}]'"
        ) from error
