"""What a result says of how it was made."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
import scipy.linalg  # loads its library
import sklearn
from threadpoolctl import ThreadpoolController

from mdfa_fairness_plugin import __version__
from mdfa_fairness_plugin.settings import Settings

LINEAR_ALGEBRA = "linear algebra"


@dataclass(frozen=True, kw_only=True)
class ReadFile:
    """A file that an audit read, by which others can tell whether theirs is the same."""

    name: str
    bytes: int
    sha256: str


def versions() -> dict[str, str]:
    """What an audit's numbers may depend on."""
    return {
        "mdfa_fairness_plugin": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pandas": pd.__version__,
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
        LINEAR_ALGEBRA: _linear_algebra(),
    }


@functools.cache
def _linear_algebra() -> str:
    """Libraries that add up numbers, and for which processors: others round otherwise."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    told = {f"{one.internal_api} {getattr(one, 'architecture', None) or ''}" for one in found}
    return ", ".join(sorted(map(str.strip, told))) or "unknown"


def provenance_of(settings: Settings, *, solver: str, balance: Any, **more: Any) -> dict[str, Any]:
    """Versions, seed and parameters of an audit, then what else is known of it."""
    return {
        "versions": versions(),
        "seed": settings.seed,
        "parameters": {one: describe_parameter(own) for one, own in settings.parameters.items()},
        "solver": solver,
        "balance": balance if isinstance(balance, str) else "given",
        **more,
    }


def describe_parameter(value: Any) -> Any:
    """Parameters as provenance keeps them: arrays by shape and hash."""
    if isinstance(value, Mapping):
        return {key: describe_parameter(one) for key, one in value.items()}
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray | list | tuple) and len(value) > 50:
        array = np.ascontiguousarray(np.asarray(value))
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        digest = hashlib.sha256(content).hexdigest()[:16]
        return f"array of shape {array.shape}, sha256 {digest}"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return type(value).__name__
    if hasattr(value, "get_params"):
        return repr(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if callable(value) or " at 0x" in repr(value):
        return f"{getattr(value, '__qualname__', type(value).__qualname__)}(...)"
    return value
