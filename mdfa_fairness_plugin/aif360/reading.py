"""A `StructuredDataset` as the features, outcomes and weights of an audit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.aif360.groups import (
    FAVORABLE,
    UNFAVORABLE,
    ByRow,
    Protected,
    check_known,
    protected_frame,
)
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.containers import read_vector
from mdfa_fairness_plugin.data.pairing import check_length
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakedFeatureWarning,
    NothingToAuditError,
    WarningLog,
)

if TYPE_CHECKING:
    from aif360.datasets import BinaryLabelDataset, StructuredDataset

# What AIF360 puts between a category and its level in the name of a one-hot column.
SEPARATOR = "="


def audited_features(
    dataset: StructuredDataset,
    *,
    audit_features: Sequence[str] | None = None,
    include_protected: Protected = False,
    by_row: Mapping[str, ByRow] = MappingProxyType({}),
    log: WarningLog | None = None,
) -> pd.DataFrame:
    """Features people are compared by, protected ones last if asked for; none that ``by_row`` names."""
    names = [str(name) for name in dataset.feature_names]
    protected = list(dataset.protected_attribute_names)
    if isinstance(audit_features, str):
        audit_features = [audit_features]
    asked = protected
    if include_protected is not True:
        wanted = include_protected or ()
        wanted = {wanted} if isinstance(wanted, str) else wanted
        check_known("include_protected", wanted, protected)
        asked = [name for name in protected if name in wanted or name in (audit_features or ())]
    apart = {own: name for name, own in by_row.items() if isinstance(own, str)}
    for own in (*(audit_features or ()), *asked):
        if own in apart:
            says = "what counts are divided by" if apart[own] == "exposure" else "whose row each is"
            raise InputError(
                f"{apart[own]}: {own!r} says {says}, so people cannot be compared by it. Leave it out "
                "of audit_features and include_protected."
            )
    if audit_features is None:
        places = [place for place, name in enumerate(names) if name not in apart]
        kept = _not_protected(dataset, names, places, protected, log)
    else:
        kept = _named(names, protected, audit_features)
    X = pd.DataFrame(np.asarray(dataset.features, dtype=float)[:, kept])
    X.columns = pd.Index([names[place] for place in kept], dtype=object)
    if asked:
        X = pd.concat([X, protected_frame(dataset)[asked]], axis=1)
    return X


def _not_protected(
    dataset: StructuredDataset,
    names: list[str],
    places: list[int],
    protected: list[str],
    log: WarningLog | None,
) -> list[int]:
    """Those places whose features are neither protected nor stand for something that is."""
    hidden = {_category(name) for name in protected} | set(protected)
    kept = [place for place in places if not {names[place], _category(names[place])} & hidden]
    repeats: dict[str, list[str]] = {}
    for column, attribute in zip(dataset.protected_attributes.T, protected, strict=True):
        same = [place for place in kept if _one_to_one(dataset.features[:, place], column)]
        if same:
            repeats[attribute] = [names[place] for place in same]
            kept = [place for place in kept if place not in same]
    if repeats and log is not None:
        told = "; ".join(
            f"{', '.join(map(repr, found))} (repeats {name!r})" for name, found in repeats.items()
        )
        log.warn(
            LeakedFeatureWarning,
            f"dataset: features left out because they repeat a protected attribute: {told}. Pass "
            "audit_features to compare people by them all the same.",
        )
    return kept


def _category(name: str) -> str:
    return name.split(SEPARATOR, 1)[0]


def _one_to_one(values: np.ndarray, attribute: np.ndarray) -> bool:
    """Whether each value of the attribute goes with one value of the feature and back."""
    for some in (slice(0, 500), slice(None)):  # Most differ within the first rows.
        pairs = np.column_stack([values[some], attribute[some]])
        n, n_own, n_pairs = (len(np.unique(one, axis=0)) for one in (*pairs.T, pairs))
        # A constant tells nothing, and with hardly two rows per value any measurement is one-to-one.
        if not n == n_own == n_pairs or n < 2 or 2 * n > len(pairs):
            return False
    return True


def _named(names: list[str], protected: list[str], wanted: Sequence[str]) -> list[int]:
    kept: list[int] = []
    for one in wanted:
        if one in protected:
            continue
        is_it = [name == one or (SEPARATOR in name and _category(name) == one) for name in names]
        found = [place for place, own in enumerate(is_it) if own]
        if not found:
            raise InputError(
                f"audit_features: {one!r} is neither a feature of the dataset nor a category of "
                f"its one-hot columns. Found: {', '.join(map(repr, names))}."
            )
        kept += [place for place in found if place not in kept]
    return kept


def outcomes(dataset: BinaryLabelDataset, argument: str) -> np.ndarray:
    """Outcome of each row, ``"favorable"`` or ``"unfavorable"``, object array of shape (n,)."""
    named = label_names(dataset, argument)
    if len(set(named)) == 1:
        raise NothingToAuditError(
            f"{argument}: all {len(named):,} rows have the {named[0]} label, so no group is treated "
            "differently and there is nothing to audit."
        )
    return named


def has_numbers(dataset: object) -> bool:
    """Whether its labels are numbers."""
    return isinstance(dataset, part("datasets").RegressionDataset)


def predicted_numbers(dataset: StructuredDataset, argument: str) -> np.ndarray:
    """Numbers of each row: labels that are some, or else scores, of shape (n,)."""
    labels, scores = (np.asarray(one, dtype=float) for one in (dataset.labels, dataset.scores))
    if has_numbers(dataset):
        return labels.ravel()
    if np.array_equal(labels, scores):  # AIF360 puts them there where no scores were given.
        name = argument.removesuffix(".labels")
        raise InputError(
            f"{name}.scores: they are the labels, so there are no scores to audit. Set them, as in "
            f"{name}.scores = model.predict_proba(X)[:, [1]]."
        )
    return scores.ravel()


def label_names(dataset: BinaryLabelDataset, argument: str) -> np.ndarray:
    """Name each row's label, ``"favorable"`` or ``"unfavorable"``, object array of shape (n,)."""
    labels = np.asarray(dataset.labels, dtype=float).ravel()
    favorable = labels == dataset.favorable_label
    other = ~favorable & (labels != dataset.unfavorable_label)
    if other.any():
        raise InputError(
            f"{argument}: {int(other.sum()):,} labels are neither the favorable_label "
            f"{dataset.favorable_label:g} nor the unfavorable_label {dataset.unfavorable_label:g}, "
            f"such as {labels[other][0]:g}. Turn scores into labels with a threshold first."
        )
    return np.where(favorable, FAVORABLE, UNFAVORABLE).astype(object)


def weights(dataset: StructuredDataset) -> np.ndarray | None:
    """Instance weights, or None if all are one."""
    values = np.asarray(dataset.instance_weights, dtype=float).ravel()
    return None if (values == 1.0).all() else values


def values_by_row(dataset: StructuredDataset, given: ByRow, argument: str) -> np.ndarray | None:
    """Values given, or those of the feature that is named; None if not known."""
    if given is None:
        return None
    if not isinstance(given, str):
        column = read_vector(given, argument)
        check_length(column, len(dataset.features), "dataset")
        return column.array(0)
    if argument == "exposure" and has_numbers(dataset):
        raise InputError(
            f"exposure: the feature {given!r} was named, and a RegressionDataset scales its features "
            "to shares of their range. Pass the values, one per row."
        )
    names = [str(name) for name in dataset.feature_names]
    if given not in names:
        raise InputError(
            f"{argument}: {given!r} is no feature of the dataset. Name one of {listing(names)}; or "
            f"pass {'the ids' if argument == 'clusters' else 'values'}, one per row."
        )
    return np.asarray(dataset.features)[:, names.index(given)]


def fingerprint(*parts: object) -> str:
    """Digest of arrays, frames and anything with a meaningful ``repr``."""
    digest = hashlib.blake2b(digest_size=16)
    for one in parts:
        if isinstance(one, np.ndarray) and one.dtype != object:
            digest.update(f"{one.shape}{one.dtype}".encode())
            digest.update(np.ascontiguousarray(one).tobytes())
        elif isinstance(one, pd.DataFrame | pd.Series):
            digest.update(repr(list(getattr(one, "columns", ()))).encode())
            digest.update(pd.util.hash_pandas_object(one).to_numpy().tobytes())
        elif isinstance(one, Mapping):
            digest.update(fingerprint(*(part for pair in one.items() for part in pair)).encode())
        else:
            digest.update(repr(one).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def check_same_features(dataset: StructuredDataset, classified_dataset: StructuredDataset) -> None:
    """Refuse datasets whose people differ, unless told whose features to compare by."""
    ours, theirs = (getattr(one, "features", None) for one in (dataset, classified_dataset))
    if ours is None or theirs is None or ours.shape != theirs.shape:
        return  # AIF360 says what is wrong.
    if list(dataset.instance_names) != list(classified_dataset.instance_names):
        raise InputError(
            "dataset, classified_dataset: their rows differ or are in another order, by their "
            "instance_names. Copy the one and set the labels of the copy."
        )
    if not np.array_equal(ours, theirs):
        raise InputError(
            "dataset, classified_dataset: their features differ, as after a repair of the "
            "features. Pass features_from='dataset' or features_from='classified_dataset' to say "
            "which people are to be compared by."
        )


def check_same_people(dataset: StructuredDataset, classified_dataset: StructuredDataset) -> None:
    """Refuse datasets that differ in more than labels and scores, as AIF360 does."""
    with dataset.temporarily_ignore("labels", "scores"):
        if dataset != classified_dataset:
            raise InputError(
                "dataset, classified_dataset: they are to differ only in labels or scores. Copy the "
                "one and set the labels of the copy."
            )


@contextmanager
def compared_without_features(*datasets: StructuredDataset) -> Iterator[None]:
    """Let AIF360 compare two datasets without their features, and leave no trace.

    Its own comparison adds to ``ignore_fields`` in place; copies share that set, so they would
    ignore labels and scores ever after.
    """
    kept = [(one, one.ignore_fields) for one in datasets if hasattr(one, "ignore_fields")]
    for one, fields in kept:
        one.ignore_fields = fields | {"features"}
    try:
        yield
    finally:
        for one, fields in kept:
            one.ignore_fields = fields
