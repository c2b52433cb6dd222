"""Outcomes that are numbers: read, refused where they are none, and brought to one scale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy.stats import rankdata

from mdfa_fairness_plugin.data.columns import Labels, find_label, listing, read_column, read_labels
from mdfa_fairness_plugin.data.decisions import EXCLUDE, all_alike, refuse_missing
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records.searches import AMOUNT, RANK, STEPS
from mdfa_fairness_plugin.settings import Settings, is_number

# Spreads below these, of the largest number and at all, are lost where squares are added up.
_LEAST_SPREAD, _TINY = 1e-9, 1e-150
# What is searched for in a number, and whether it is searched as minus that number.
LESS, MORE = "less", "more"
DIRECTIONS: Final = {LESS: True, MORE: False}
# In an order of labels, besides every cut.
LOWER, HIGHER = "lower rank", "higher rank"


NEEDS_NUMBERS: Final = (
    "exposure: it divides counts, which need outcome_type='numeric'; leave it out to audit labels."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Amount:
    """How much of the outcome each row has, in units of its standard deviation."""

    values: np.ndarray
    unit: float  # one of the values in those of the outcome
    measure: str  # "difference" or "ratio"
    directions: tuple[str, str] = (LESS, MORE)  # what outcomes are called
    nonnegative: bool = False
    scale: str = AMOUNT  # what values are counted in
    per: bool = False  # whether per unit of exposure

    @property
    def told(self) -> np.ndarray:
        """Values in what they are counted in."""
        return self.values * self.unit

    def take(self, rows: np.ndarray) -> Amount:
        """Of these rows, in this order."""
        return replace(self, values=self.values[rows])


def read_numbers(array: Any, argument: str, missing: str) -> np.ndarray:
    """Numbers of each row, NaN where there is none; refused unless they are to be left out."""
    column = read_column(array, argument)
    if column.numbers is None or column.kind not in ("numeric", "boolean"):
        found = read_labels(array, argument).values
        raise no_numbers(argument, found)
    numbers = np.asarray(column.numbers, dtype=float)
    unknown = np.isnan(numbers)
    if missing == "raise" or unknown.all():
        refuse_missing(int(unknown.sum()), len(numbers), argument, "outcomes", EXCLUDE)
    n_infinite = int(np.isinf(numbers).sum())
    if n_infinite:
        first = int(np.flatnonzero(np.isinf(numbers))[0])
        raise InputError(
            f"{argument}: {n_infinite:,} of {len(numbers):,} outcomes are infinite, the first at row "
            f"{first}. Give them a finite number, or leave these rows out."
        )
    return numbers


def read_exposure(array: Any, n_rows: int) -> np.ndarray:
    """Exposure of each row, positive."""
    column = read_column(array, "exposure")
    values = np.zeros(n_rows) if column.numbers is None else np.asarray(column.numbers, dtype=float)
    refuse_unexposed(int((~is_exposure(values)).sum()), n_rows)
    return values


def is_exposure(values: np.ndarray) -> np.ndarray:
    """Whether numbers can be divided by these."""
    return np.isfinite(values) & (values > 0)


def refuse_unexposed(n_unexposed: int, n_rows: int) -> None:
    """Refuse exposures that counts cannot be divided by."""
    if n_unexposed:
        raise InputError(
            f"exposure: {n_unexposed:,} of {n_rows:,} values are no positive number. Pass how long or "
            "how often each row could have been counted, and leave out rows that never could."
        )


def no_numbers(argument: str, found: Sequence[Hashable]) -> InputError:
    """Say that outcomes to audit as numbers are labels."""
    text = any(isinstance(own, str) for own in found)
    how = " (mdfa_fairness_plugin.to_quantities makes them of a table's texts)" if text else ""
    return InputError(
        f"{argument}: outcome_type='numeric' needs numbers, and {listing(found, 3)} was found. "
        f"Pass the amounts as numbers{how}, or leave outcome_type out to audit labels."
    )


def per_exposure(numbers: np.ndarray, exposure: np.ndarray) -> np.ndarray:
    """Counts by how long or how often each row could have been counted."""
    if (numbers < 0).any():
        raise InputError("exposure: counts are divided by it, and some outcomes are below zero.")
    return numbers / exposure


def amount_of(numbers: np.ndarray, weight: np.ndarray, asked: Settings, *, per: bool) -> Amount:
    """Numbers as they are compared; ``per``: counts per exposure, of which ratios are usual."""
    if np.ptp(numbers) == 0:
        raise all_alike("y", len(numbers), f"{numbers[0]:g}")
    if asked.measure == "ratio" and asked.robust == "rank":
        raise InputError(
            "measure: ranks have no ratio. Use measure='difference' with robust='rank', or a share."
        )
    nonnegative = bool(numbers.min() >= 0)
    if asked.measure == "ratio" and not nonnegative:
        n = int((numbers < 0).sum())
        raise InputError(
            f"measure: 'ratio' compares means of what is never negative, and {n:,} of "
            f"{len(numbers):,} outcomes are below zero. Use measure='difference'."
        )
    if asked.robust == "rank":
        numbers = _shares_below(numbers, weight)
    elif asked.robust is not None:
        share = float(asked.robust)
        numbers = np.clip(numbers, *_quantiles(numbers, weight, [share, 1.0 - share]))
        if np.ptp(numbers) == 0:
            raise InputError(
                f"robust: with {share:g} of the rows moved in at either end every outcome is "
                f"{numbers[0]:g}. Use a smaller share, or robust='rank'."
            )
    usual = "ratio" if per and asked.robust is None else "difference"
    measure = usual if asked.measure == "auto" else asked.measure
    scale = RANK if asked.robust == "rank" else AMOUNT
    return scaled(numbers, weight, measure=measure, scale=scale, per=per)


def refuse_meaningless(
    asked: Settings, amount: Amount | None, *, ordered: bool, labels: Sequence[Hashable]
) -> None:
    """Refuse arguments that say nothing of such outcomes, and would be ignored."""
    slopes, by = asked.sensitive_type == "numeric", "ratio" if amount is None else amount.measure
    kind = f"outcomes are {'an order of ' if ordered else ''}labels here"
    size = "slopes are compared here" if slopes else f"sides are compared by their {by} here"
    numeric = amount is not None and not ordered
    leave_out = "Leave it out"
    if all(map(is_number, labels)):
        leave_out += ", or say outcome_type='numeric' if these are numbers"
    means: dict[str, tuple[bool, str, str, str]] = {
        "favorable": (
            amount is not None,
            "numbers or of an order",
            kind,
            f"Say which of them is good, as in favorable_label={labels[-1]!r}",
        ),
        "robust": (numeric, "numbers", kind, leave_out),
        "measure": (slopes or amount is not None, "numbers", kind, leave_out),
        "min_difference": (
            slopes or by == "difference", "differences", size, "Leave it out, or say min_ratio",
        ),
        "min_ratio": (
            not slopes and (ordered or by == "ratio"), "ratios", size,
            "Leave it out, or say min_difference",
        ),
    }  # fmt: skip
    for name, (is_heard, speaks_of, but, instead) in means.items():
        given = getattr(asked, name)
        if name == "measure" and given == by:  # as it is done anyhow
            continue
        if not is_heard and given != getattr(Settings, name):
            raise InputError(f"{name}: {given!r} speaks of {speaks_of}, and {but}. {instead}.")


def _shares_below(numbers: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Share of the people with less than each, half of those with as much counted."""
    if np.ptp(weight) == 0:
        return (rankdata(numbers) - 0.5) / len(numbers)
    _, place = np.unique(numbers, return_inverse=True)
    of_value = np.bincount(place, weight)
    return ((np.cumsum(of_value) - of_value / 2.0) / of_value.sum())[place]


def _quantiles(numbers: np.ndarray, weight: np.ndarray, shares: list[float]) -> np.ndarray:
    """Numbers that these shares of the people do not exceed."""
    if np.ptp(weight) == 0:
        return np.quantile(numbers, shares)
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    return numbers[order][np.searchsorted(reached, shares).clip(max=len(numbers) - 1)]


def scaled(numbers: np.ndarray, weight: np.ndarray, **named: Any) -> Amount:
    """Numbers in units of their standard deviation."""
    centre = np.average(numbers, weights=weight)
    with np.errstate(over="ignore", under="ignore"):
        unit = float(np.sqrt(np.average((numbers - centre) ** 2, weights=weight)))
    if not max(_LEAST_SPREAD * float(np.abs(numbers).max()), _TINY) < unit < np.inf:
        raise InputError(
            f"y: the numbers between {numbers.min():g} and {numbers.max():g} have a standard deviation "
            f"of {unit:g}, which arithmetic cannot tell from chance. Pass them in other units, or less "
            "what all have in common."
        )
    # Of ranks and steps, which start anywhere, there is no ratio.
    nonnegative = bool(numbers.min() >= 0) and named.get("scale", AMOUNT) == AMOUNT
    return Amount(values=numbers / unit, unit=unit, nonnegative=nonnegative, **named)


def as_labels(numbers: np.ndarray) -> Labels:
    """Numbers as labels, for what only asks which rows are alike; NaN is missing."""
    known = ~np.isnan(numbers)
    values, codes = np.unique(numbers[known], return_inverse=True)
    all_codes = np.full(len(numbers), -1, dtype=np.intp)
    all_codes[known] = codes
    return Labels(codes=all_codes, values=tuple(values.tolist()))


def asked_directions(asked: Any, directions: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Which of the outcomes of a number are audited."""
    if asked is None:
        return directions
    from_user = [asked] if isinstance(asked, str) else list(asked)
    unknown = [one for one in from_user if find_label(one, directions) is None]
    if unknown or not from_user:
        raise InputError(
            f"outcomes: {listing(unknown)} is none of those audited: {listing(directions)}. "
            "Name some of these, or pass None for all."
        )
    return tuple(one for one in directions if one in from_user)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """Labels from one on in an order, or those before it."""

    label: str
    other: str  # the complement
    codes: frozenset[int]
    above: bool


def ordered_cuts(order: Any, found: tuple[Hashable, ...]) -> tuple[tuple[int, ...], list[Cut]]:
    """Rank of each label found, and every cut between two of them with its complement."""
    if isinstance(order, (str, set, frozenset)):
        raise InputError(
            f"ordered: a list of labels from the lowest to the highest expected, {order!r} found."
        )
    labels = list(order)
    places = [find_label(label, found) for label in labels]
    unknown = [label for label, place in zip(labels, places, strict=True) if place is None]
    if unknown or len(set(places)) != len(labels) or set(places) != set(range(len(found))):
        raise InputError(
            f"ordered: every outcome found in y once, from the lowest to the highest, expected: "
            f"{listing(found)}; {listing(labels)} given."
        )
    if len(found) < 3:
        raise InputError(
            f"ordered: y has {len(found)} outcomes, {listing(found)}; an order says something from "
            "three on. Leave it out."
        )
    ranks = [0] * len(found)
    for rank, place in enumerate(places):
        ranks[place or 0] = rank
    cuts: list[Cut] = []
    for rank in range(1, len(labels)):
        name = found[places[rank] or 0]
        last, first = rank == len(labels) - 1, rank == 1
        high = str(name) if last else f"{name} or higher"
        low = str(found[places[0] or 0]) if first else f"below {name}"
        above = frozenset(place for place, own in enumerate(ranks) if own >= rank)
        below = frozenset(range(len(found))) - above
        cuts.append(Cut(label=high, other=low, codes=above, above=True))
        cuts.append(Cut(label=low, other=high, codes=below, above=False))
    called = [*(cut.label for cut in cuts), LOWER, HIGHER]
    twice = sorted({name for name in called if called.count(name) > 1})
    if twice:
        raise InputError(
            f"ordered: with these labels two outcomes would be called {listing(twice)}. Rename the "
            "labels."
        )
    return tuple(ranks), cuts


def ranked(
    order: Any, found: tuple[Hashable, ...], codes: np.ndarray, weight: np.ndarray
) -> tuple[Amount, dict[Hashable, Cut]]:
    """Rank of each row in units of its deviation, if it has any, and the cuts of the order by name."""
    ranks, cuts = ordered_cuts(order, found)
    own = np.array(ranks, dtype=float)[codes]
    named: dict[str, Any] = {"directions": (LOWER, HIGHER), "scale": STEPS, "measure": "difference"}
    varies = np.ptp(own) > 0
    amount = scaled(own, weight, **named) if varies else Amount(values=own, unit=1.0, **named)
    return amount, {cut.label: cut for cut in cuts}
