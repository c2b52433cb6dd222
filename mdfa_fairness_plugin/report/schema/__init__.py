"""JSON schemas (draft 2020-12) of what audits and cards write."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

from mdfa_fairness_plugin.settings import is_choice, shown

AUDIT_SCHEMA: Final = "urn:mdfa-fairness-plugin:schema:audit-3"
CARD_SCHEMA: Final = "urn:mdfa-fairness-plugin:schema:card-1"
# Also those of files written before.
SCHEMAS: Final = (
    AUDIT_SCHEMA,
    "urn:mdfa-fairness-plugin:schema:audit-2",
    "urn:mdfa-fairness-plugin:schema:audit-1",
    CARD_SCHEMA,
)


def load_schema(name: str) -> dict[str, Any]:
    """Give a schema that the package ships.

    Parameters
    ----------
    name : str
        One of ``SCHEMAS``: ``AUDIT_SCHEMA``, ``CARD_SCHEMA`` or, for older files, an earlier one; it
        stands under ``"schema"`` in the JSON it is for.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If there is no such schema.

    Examples
    --------
    >>> load_schema(AUDIT_SCHEMA)["title"]
    'Result of an audit by mdfa-fairness-plugin'
    """
    if not is_choice(name, SCHEMAS):
        raise ValueError(f"name: {shown(name)} is not one of {', '.join(SCHEMAS)}.")
    file = f"{name.rpartition(':')[2]}.schema.json"
    text = resources.files(__name__).joinpath(file).read_text(encoding="utf-8")
    return json.loads(text)
