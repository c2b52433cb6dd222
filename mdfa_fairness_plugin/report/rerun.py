"""Python code that makes an audit again."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdfa_fairness_plugin.describe.wording import clean
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.report.reading import entries
from mdfa_fairness_plugin.settings import Settings


def rerun_code(result: AuditRecord) -> str:
    """Code with the parameters that are not at their defaults; what it cannot hold as comments."""
    parameters = entries(result.provenance, "parameters")
    defaults = Settings().parameters
    seed = result.provenance.get("seed")
    if isinstance(seed, int | np.integer):
        parameters["random_state"] = int(seed)
    lines = ["import mdfa_fairness_plugin as mdfa", "", "result = mdfa.audit(", "    X,", "    y,"]
    lines.append("    sensitive_features=A,")
    if result.provenance.get("weight_type", "none") != "none":
        lines.append("    sample_weight=w,")
    # Copies that were found without ids are found again.
    found = any(one.category == "RepeatedRowsWarning" for one in result.warnings)
    if result.provenance.get("n_clusters") is not None and not found:
        lines.append("    clusters=ids,")
    for name, value in sorted(parameters.items(), key=lambda item: str(item[0])):
        if name in defaults and _same(defaults[name], value):
            continue
        text = clean(repr(value), 200)
        if _is_code(value):
            lines.append(f"    {clean(name, 40)}={text},")
        else:
            text = type(value).__qualname__ if " at 0x" in text else clean(value, 200)
            lines.append(f"    # {clean(name, 40)}: {text}")
    return "\n".join([*lines, ")"])


def _is_code(value: Any) -> bool:
    """Whether the argument can be written as it was given."""
    if isinstance(value, str):
        # What was an object or an array is kept as its description.
        return "(" not in value and not value.startswith("array of shape")
    if isinstance(value, list | tuple):
        return all(map(_is_code, value))
    return value is None or isinstance(value, bool | int | float)


def _same(default: Any, value: Any) -> bool:
    return type(default) is type(value) and repr(default) == repr(value)
