"""AIF360's group lists and protected attributes as the sensitive column of an audit."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import InputError, InputTypeError

if TYPE_CHECKING:
    from aif360.datasets import StructuredDataset
    from numpy.typing import ArrayLike
    from scipy.sparse import spmatrix

UNPRIVILEGED = "unprivileged"
PRIVILEGED = "privileged"
NEITHER = "neither"
OTHERS = "everybody else"
FAVORABLE = "favorable"
UNFAVORABLE = "unfavorable"

Groups = Sequence[Mapping[str, float]] | None
Protected = bool | Collection[str]  # all or none of the protected attributes, or these
Protection: TypeAlias = "Hashable | ArrayLike | Sequence[Hashable | ArrayLike] | None"
Table: TypeAlias = "pd.DataFrame | ArrayLike | spmatrix"
Features: TypeAlias = "str | Sequence[str] | Table | None"
ByRow: TypeAlias = "str | ArrayLike | None"  # a feature, or its values


def check_lists(dataset: StructuredDataset, unprivileged: Groups, privileged: Groups) -> None:
    """Refuse lists that are no lists of dicts of protected attributes, or overlap."""
    for name, groups in (("unprivileged_groups", unprivileged), ("privileged_groups", privileged)):
        if groups is not None:
            _check_list(dataset, name, groups)
    if unprivileged is None or privileged is None:
        return
    n_both = int((mask_of(dataset, unprivileged) & mask_of(dataset, privileged)).sum())
    if n_both:
        raise InputError(
            f"unprivileged_groups, privileged_groups: {n_both:,} rows are in both, as "
            f"{describe(unprivileged)} and {describe(privileged)} overlap; the lists must be "
            "disjoint. Name more attributes in the dicts to tell them apart."
        )


def _check_list(dataset: StructuredDataset, name: str, groups: object) -> None:
    if isinstance(groups, (Mapping, str)) or not isinstance(groups, Sequence):
        raise InputTypeError(
            f"{name}: a list of dicts such as [{{'sex': 0}}] expected, "
            f"{type(groups).__name__} found."
        )
    if not groups:
        raise InputError(f"{name}: an empty list covers nobody. Pass None to leave it out.")
    known = list(dataset.protected_attribute_names)
    for group in groups:
        if not isinstance(group, Mapping):
            raise InputTypeError(
                f"{name}: each element must be a dict such as {{'sex': 0}}, "
                f"{type(group).__name__} found."
            )
        check_known(name, group, known)


def check_known(argument: str, names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names of what is no protected attribute."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            f"{argument}: {', '.join(map(repr, unknown))} is no protected attribute of the dataset; "
            f"those known are {', '.join(map(repr, known))}."
        )


def mask_of(dataset: StructuredDataset, groups: Groups) -> np.ndarray:
    """Rows in a list, shape (n,): any of its dicts, each with all its values."""
    values = dataset.protected_attributes
    names = list(dataset.protected_attribute_names)
    inside = np.zeros(len(values), dtype=bool)
    for group in groups or ():
        fits = np.ones(len(values), dtype=bool)
        for attribute, value in group.items():
            fits &= values[:, names.index(attribute)] == value
        inside |= fits
    return inside


def describe(groups: Groups, dataset: StructuredDataset | None = None) -> str:
    """Name the people of a list: ``"sex=Female or race=0 and sex=1"``."""
    if groups is None:
        return OTHERS
    maps = {} if dataset is None else _value_maps(dataset)
    texts = []
    for group in groups:
        pairs = [
            f"{attribute}={maps.get(attribute, {}).get(value, _plain(value))}"
            for attribute, value in group.items()
        ]
        texts.append(" and ".join(pairs) or "everybody")
    return " or ".join(texts)


def sensitive_column(
    dataset: StructuredDataset, unprivileged: Groups, privileged: Groups
) -> pd.DataFrame:
    """Sensitive columns of the audit: one of the lists, or without any the protected attributes.

    Rows in neither of two lists are None; with a single list those outside are everybody else.
    """
    if unprivileged is None and privileged is None:
        return protected_frame(dataset)
    rest = OTHERS if unprivileged is None or privileged is None else None
    column = np.full(len(dataset.protected_attributes), rest, dtype=object)
    column[mask_of(dataset, unprivileged)] = UNPRIVILEGED
    column[mask_of(dataset, privileged)] = PRIVILEGED
    listed = [*(unprivileged or ()), *(privileged or ())]
    used = {attribute for group in listed for attribute in group}
    name = " & ".join(name for name in dataset.protected_attribute_names if name in used)
    return pd.DataFrame({name or "group": pd.Series(column, dtype=object)})


def protected_frame(dataset: StructuredDataset) -> pd.DataFrame:
    """Protected attributes, their values as the dataset's metadata calls them."""
    maps = _value_maps(dataset)
    columns: dict[str, pd.Series] = {}
    for place, name in enumerate(dataset.protected_attribute_names):
        values = pd.Series(dataset.protected_attributes[:, place])
        names = maps.get(name)
        columns[name] = values.map(names).astype(object) if names else values
    return pd.DataFrame(columns)


def _value_maps(dataset: StructuredDataset) -> dict[str, dict[float, Hashable]]:
    """Names of protected values, for attributes whose every value has one."""
    maps = dataset.metadata.get("protected_attribute_maps")
    names = list(dataset.protected_attribute_names)
    if not isinstance(maps, Sequence) or len(maps) != len(names):
        return {}
    out = {}
    for place, (name, values) in enumerate(zip(names, maps, strict=True)):
        found = np.unique(dataset.protected_attributes[:, place])
        if isinstance(values, Mapping) and all(value in values for value in found):
            out[name] = {float(value): text for value, text in values.items()}
    return out


def _plain(value: Any) -> Any:
    """Whole numbers without their ``.0``."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
