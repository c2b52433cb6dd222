"""Whole numbers that are codes: rows of one value are alike, those of neighbouring values are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mdfa_fairness_plugin.data.columns import Labels, listing
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.data.held import NOT_HELD_EQUAL
from mdfa_fairness_plugin.exceptions import FeatureWarning, WarningLog

# So many values are tried. Of one with more rows than this, boosted trees learn what it stands for.
_FEWEST_VALUES, _MOST_ROWS = 50, 25
# Standard deviations, of the outcome and of a group each.
_SURE = 4.0


def warn_of_codes(
    encoded: np.ndarray,
    encoder: FeatureEncoder,
    outcome: Labels,
    groups: Sequence[Labels],
    log: WarningLog,
) -> None:
    """Warn of numbers whose values tell the outcome and a group in a way that models cannot see."""
    found = []
    for plan in encoder.plans_:
        if plan.kind != "numeric" or plan.width != 1:
            continue
        numbers = encoded[:, plan.places[0]]
        if not all((some == np.floor(some)).all() for some in (numbers[:1_000], numbers)):
            continue
        _, place, n_rows = np.unique(numbers, return_inverse=True, return_counts=True)
        few = n_rows[(n_rows > 1) & (n_rows <= _MOST_ROWS)].sum() > len(numbers) / 2
        if few and len(n_rows) >= _FEWEST_VALUES:
            told = [max(_apart(place, n_rows, own), default=0.0) for own in (outcome, *groups)]
            if told[0] > _SURE and max(told[1:]) > _SURE:
                found.append(plan.name)
                log.note(NOT_HELD_EQUAL, f"{plan.name!r}: in its order, though it acts as codes do")
    if found:
        log.warn(
            FeatureWarning,
            f"X: equal numbers in {listing(found)} go with the outcome and with the group, and "
            "neighbouring ones do not, as in codes. Models see them in their order alone, so people "
            "with the same code are not compared. If they are codes, say so with "
            ".astype('category'); if they say whose each row is, pass them as clusters=.",
        )


def _apart(place: np.ndarray, n_rows: np.ndarray, labels: Labels) -> Iterator[float]:
    """Of each label, how surely it is more alike in one value than in neighbouring ones."""
    known = labels.codes >= 0
    codes, n_labels = labels.codes, len(labels.values)
    if n_labels > _MOST_ROWS:  # numbers, of which the larger half is one
        codes, n_labels = (codes > np.median(codes[known])).astype(int), 2
    for code in range(n_labels):
        own = codes == code
        own = np.where(known, own - own[known].mean(), 0.0)
        total = np.bincount(place, own)
        mean = total / n_rows
        beside = (np.append(mean[1], mean[:-1]) + np.append(mean[1:], mean[-2])) / 2
        pairs = total**2 - np.bincount(place, own**2)  # of two rows of one value
        excess = np.where(n_rows > 1, pairs / np.maximum(n_rows - 1, 1) - total * beside, 0.0)
        size = np.sqrt((excess**2).sum())
        yield float(excess.sum() / size) if size else 0.0
