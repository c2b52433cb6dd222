"""JSON schemas (draft 2020-12) of what audits and cards write."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

AUDIT_SCHEMA: Final = "urn:mdfa-fairness-plugin:schema:audit-1"
CARD_SCHEMA: Final = "urn:mdfa-fairness-plugin:schema:card-1"


def load_schema(name: str) -> dict[str, Any]:
    """Give a schema that the package ships.

    Parameters
    ----------
    name : str
        ``AUDIT_SCHEMA`` or ``CARD_SCHEMA``; it stands under ``"schema"`` in the JSON it is for.

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
    if name not in (AUDIT_SCHEMA, CARD_SCHEMA):
        raise ValueError(f"name: {name!r} is not one of {AUDIT_SCHEMA}, {CARD_SCHEMA}.")
    file = f"{name.rpartition(':')[2]}.schema.json"
    text = resources.files(__name__).joinpath(file).read_text(encoding="utf-8")
    return json.loads(text)
