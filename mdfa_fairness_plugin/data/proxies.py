"""Groups known by probability, for some rows besides as they are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mdfa_fairness_plugin.data.columns import find_label, listing, objects, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_vector
from mdfa_fairness_plugin.data.sensitive import UNNAMED
from mdfa_fairness_plugin.exceptions import InputError, MissingSensitiveWarning, WarningLog
from mdfa_fairness_plugin.settings import Settings

# Of a thousand samples drawn at random one is taken for another.
_TAKEN_FOR_ANOTHER = 0.001

# Rows' probabilities add up to 1 but for how they were rounded when written down.
_ROUNDED = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Proxies:
    """Probabilities of groups as they were given for rows of the input, and groups known besides."""

    groups: tuple[Hashable, ...]
    told: np.ndarray  # (n_samples, n_groups); of rows without any, whether they are of a group
    known: np.ndarray  # (n_samples,): place of the group, -1 where it is not known

    @property
    def both(self) -> np.ndarray:
        """Rows whose group is known and was open by the probabilities."""
        return (self.known >= 0) & (self.told.max(axis=1) < 1.0)

    def of(self, group: Hashable, reference: Hashable | None) -> np.ndarray | None:
        """Probability of a group, if all others are those that it is compared with."""
        own = find_label(group, list(self.groups))
        if own is None or (reference is not None and len(self.groups) > 2):
            return None
        return self.told[:, own]


@dataclass(frozen=True, kw_only=True, eq=False)
class Copies:
    """Each row once for every group it may be of."""

    row: np.ndarray  # of the input
    groups: Table  # the group of each copy
    probability: np.ndarray
    proxies: Proxies

    def weights(self, given: Any) -> np.ndarray:
        """Sampling weights of the copies."""
        return self.probability if given is None else np.asarray(given)[self.row] * self.probability

    def clusters(self, given: Table | None) -> Table:
        """Whose the copies are: those of a row are one person's."""
        each = read_vector(np.arange(self.row[-1] + 1), "clusters") if given is None else given
        return each.take(self.row)


def read_probabilities(table: Table, known: Table | None) -> Copies:
    """Read probabilities of groups, a column each; where a group is known it is certain."""
    argument = "sensitive_probabilities"
    if table.n_columns < 2:
        raise InputError(
            f"{argument}: a column for each group expected, {table.n_columns} found. Of two groups "
            "give both, as in DataFrame({'F': p, 'M': 1 - p})."
        )
    groups: list[Hashable] = list(table.names)
    columns = []
    for position, name in enumerate(groups):
        try:
            columns.append(np.asarray(table.array(position), dtype=float))
        except (TypeError, ValueError) as error:
            raise InputError(f"{argument}: probabilities expected in {name!r}.") from error
    told = np.column_stack(columns)
    wrong = ~((told >= 0) & (told <= 1)).all(axis=1)
    wrong |= np.abs(told.sum(axis=1) - 1.0) > _ROUNDED
    certain = _certain(groups, known, len(told))
    unread = wrong & (certain >= 0)
    wrong &= certain < 0
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{argument}: {int(wrong.sum()):,} of {len(told):,} rows hold no probabilities that add "
            f"up to 1, the first at row {first}: {[float(one) for one in told[first]]}. Give every row "
            "the probability of each group."
        )
    is_known = certain >= 0
    as_known = np.eye(len(groups))[certain]
    told = np.where(unread[:, None], as_known, told)
    told = told / told.sum(axis=1, keepdims=True)
    proxies = Proxies(groups=tuple(groups), told=told, known=certain)
    told = np.where(is_known[:, None], as_known, told)
    row, place = np.nonzero(told > 0)
    name = known.names[0] if known is not None and known.n_columns else UNNAMED
    series = pd.Series(objects(groups)[place], name=name)
    own = read_vector(series, "sensitive_features")
    return Copies(row=row, groups=own, probability=told[row, place], proxies=proxies)


def refuse_with_probabilities(asked: Settings, per_exposure: bool) -> None:
    """Refuse what says nothing of groups that are not known."""
    if asked.outcome_type == "numeric" or asked.ordered is not None or per_exposure:
        raise InputError(
            "sensitive_probabilities: bounds are known of outcomes that people have or have not, and "
            "numbers or ranks are audited. Audit labels, such as y >= 100."
        )
    if asked.weight_type == "frequency":
        raise InputError(
            "sensitive_probabilities: rows count by their probabilities, and "
            "weight_type='frequency' needs whole rows. Repeat the rows instead."
        )
    if asked.estimator in ("raw", "unweighted"):
        raise InputError(
            f"estimator: {asked.estimator!r} found, and bounds of groups known by probability are at "
            "equal features. Use 'doubly_robust' or 'hajek'."
        )
    if asked.intersections:
        raise InputError("sensitive_probabilities: there is one column, so intersections=False.")
    if asked.missing != "exclude":
        raise InputError(
            f"missing: {asked.missing!r} is about rows whose group is not known, and "
            "sensitive_probabilities tell it of these. Leave it out."
        )


def _certain(groups: list[Hashable], known: Table | None, n_rows: int) -> np.ndarray:
    """Place of each row's group where it is known, -1 elsewhere."""
    if known is None:
        return np.full(n_rows, -1)
    if known.n_columns != 1:
        raise InputError(
            f"sensitive_features: with sensitive_probabilities one column expected, {known.n_columns} "
            "found: the group of the rows where it is known, missing elsewhere."
        )
    labels = read_labels(known.array(0), "sensitive_features")
    places = [find_label(value, groups) for value in labels.values]
    strange = [own for own, place in zip(labels.values, places, strict=True) if place is None]
    if strange:
        raise InputError(
            f"sensitive_features: {listing(strange)} is no column of sensitive_probabilities: "
            f"{listing(groups)}."
        )
    return np.array([*(place for place in places if place is not None), -1])[labels.codes]


def sample_of(
    copies: Copies | None,
    source_row: np.ndarray,
    X: np.ndarray,
    outcomes: tuple[np.ndarray, Sequence[Hashable]],
    names: Sequence[str],
    log: WarningLog,
) -> Proxies | None:
    """Groups known besides their probabilities, if nothing shows that these are no random sample.

    None if no group is, or if features or probabilities of those who are differ from those of the
    others with the same outcome, or of three outcomes and more these themselves. Working rows are rows
    of the input several times; outcomes are theirs, by the places of labels.
    """
    if copies is None:
        return None
    proxies = copies.proxies
    row, first = np.unique(source_row, return_index=True)
    told, known = proxies.told[row], proxies.both[row]
    if not known.any():
        return None
    columns, y, labels = np.column_stack([X[first], told[:, :-1]]), outcomes[0][first], outcomes[1]
    names = (*names, *(f"probability of {own}" for own in proxies.groups[:-1]))
    is_open = told.max(axis=1) < 1.0
    strata, whose = np.unique(y[is_open]), " of those with the same outcome"
    if len(strata) > 2:  # a correction by one outcome and all others asks for the same share of all
        whose = ""
        columns = np.column_stack([columns, y[:, np.newaxis] == strata])
        names = (*names, *(f"outcome {labels[own]}" for own in strata))
        y, strata = np.zeros_like(y), np.zeros(1)
    limit = float(ndtri(1.0 - _TAKEN_FOR_ANOTHER / 2.0 / (len(strata) * len(names))))
    for stratum in strata:
        own = is_open & (y == stratum)
        sides = columns[own & known], columns[own & ~known]
        sizes = np.array([len(side) for side in sides])
        if sizes.min() == 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(columns[own].var(axis=0) * (1.0 / sizes).sum())
            far = np.abs(sides[0].mean(axis=0) - sides[1].mean(axis=0)) / error
        worst = int(np.nanargmax(np.append(far, 0.0)))
        if worst < len(far) and far[worst] > limit:
            log.warn(
                MissingSensitiveWarning,
                f"sensitive_features: rows whose group is known are no random sample{whose}, as "
                f"{names[worst]!r} differs. They narrow the bounds, but do not correct the estimate by "
                "probability.",
            )
            return None
    return proxies
