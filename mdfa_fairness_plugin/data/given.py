"""Probabilities that the user gave row by row: of whom they speak, and whether they can."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdfa_fairness_plugin.data.columns import (
    find_label,
    known_label,
    listing,
    natural_order,
    read_column,
)
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.contrasts import Contrast
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.exceptions import Count, InputError, Message

if TYPE_CHECKING:
    from mdfa_fairness_plugin.data.problem import AuditProblem

PROPENSITY, OUTCOME = "propensity", "outcome_probability"
# Probabilities of all values add up to one, but for rounding to two decimals.
_ROUNDING = 0.01

_ByLabel = Mapping[Hashable, np.ndarray]


@dataclass(frozen=True, eq=False)
class GivenProbabilities:
    """Probabilities of every row of the input; None where the audit fits models of its own."""

    outcome: _ByLabel | None = None  # by outcome
    propensity: Mapping[str, _ByLabel] | None = None  # by sensitive column and value

    def of_contrast(self, contrast: Contrast) -> np.ndarray | None:
        """``Pr[S = the group | x]`` among those who are compared."""
        if self.propensity is None:
            return None
        own = self.propensity[contrast.sensitive_feature]
        group = own[contrast.group]
        return group if contrast.reference is None else group / (group + own[contrast.reference])


NOTHING_GIVEN = GivenProbabilities()


def read_given(
    problem: AuditProblem, propensity: Any, outcome_probability: Any, pairing: Pairing
) -> GivenProbabilities:
    """Read what is given as arrays; estimators are none of it."""
    outcome: dict[Hashable, np.ndarray] | None = None
    by_column = None

    def read(given: Any, argument: str, *, single: bool = False) -> Table:
        if single:
            table = read_vector(given, argument)
        else:
            table = read_table(given, argument, column_name=argument)
        check_length(table, problem.n_samples, "X")
        return pairing.align(table)

    amount = problem.amount if problem.outcome_type == "numeric" else None
    if outcome_probability is None or hasattr(outcome_probability, "fit"):
        pass
    elif amount is not None:
        expected = _numbers(read(outcome_probability, OUTCOME, single=True), 0)
        known = np.isfinite(expected[problem.source_row])
        if not known.all():
            raise InputError(
                f"{OUTCOME}: {int((~known).sum()):,} of {len(known):,} values are missing or infinite. "
                "Give every row what is expected of the outcome by a model that has not seen it."
            )
        outcome = dict.fromkeys(tuple[Hashable, ...](amount.directions), expected)
    else:
        values, everybody = problem.outcome_labels, problem.source_row
        outcome = _by_label(outcome_probability, OUTCOME, values, "outcomes", read)
        _check(outcome, OUTCOME, values, everybody)
        _refuse_absent(problem.outcomes, outcome, OUTCOME, "outcomes")
    if propensity is not None and not hasattr(propensity, "fit"):
        by_column = _by_column(problem, propensity, read)
    return GivenProbabilities(outcome=outcome, propensity=by_column)


def _by_column(
    problem: AuditProblem, propensity: Any, read: Callable[..., Table]
) -> dict[str, _ByLabel]:
    names = [column.name for column in problem.sensitive]
    given: Mapping[str, Any]
    if isinstance(propensity, Mapping) and propensity and all(str(k) in names for k in propensity):
        given = {str(key): value for key, value in propensity.items()}
    elif len(names) == 1:
        given = {names[0]: propensity}
    else:
        raise InputError(
            f"{PROPENSITY}: several sensitive columns are audited: {listing(names)}. Say whose "
            f"probabilities these are, as in {{{names[0]!r}: p, {names[1]!r}: q}}."
        )
    found: dict[str, _ByLabel] = {}
    for column in problem.sensitive:
        wanted = [one for one in problem.contrasts if one.sensitive_feature == column.name]
        wanted = [one for one in wanted if one.reason is None]
        if column.name not in given:
            _refuse_absent([column.name] if wanted else (), found, PROPENSITY, "sensitive columns")
            continue
        argument = PROPENSITY if len(names) == 1 else f"{PROPENSITY}[{column.name!r}]"
        values, what = column.labels.used().values, f"values of {column.name!r}"
        own = _by_label(given[column.name], argument, values, what, read)
        _check(own, argument, values, problem.source_row[column.labels.codes >= 0])
        references = [one.reference for one in wanted if one.reference is not None]
        asked = dict.fromkeys([one.group for one in wanted] + references)
        _refuse_absent(asked, own, argument, what)
        found[column.name] = own
    return found


def _by_label(
    given: Any, argument: str, values: Sequence[Hashable], what: str, read: Callable[..., Table]
) -> dict[Hashable, np.ndarray]:
    """Probabilities by label; of two labels both, if one is given."""
    order = [values[place] for place in natural_order(values)]
    found: dict[Hashable, np.ndarray] = {}
    if isinstance(given, Mapping):
        for key, one in given.items():
            label = known_label(key, values, argument, f"the {what}")
            found[label] = _numbers(read(one, f"{argument}[{key!r}]", single=True), 0)
    else:
        table = read(given, argument)
        named = [find_label(name, values) for name in table.names]
        if table.n_columns == 1 and len(values) == 2:
            found[order[1]] = _numbers(table, 0)
        elif table.n_columns != len(values):
            example = f"{{{values[0]!r}: p, ...}}"
            raise InputError(
                f"{argument}: {table.n_columns} column(s) of probabilities were given for the "
                f"{len(values)} {what}: {listing(values)}. Say whose they are, as in {example}, or "
                "give a column for each."
            )
        elif table.named and None not in named:
            found = {values[place]: _numbers(table, i) for i, place in enumerate(named)}  # type: ignore[index]
        else:
            found = {value: _numbers(table, i) for i, value in enumerate(order)}
    if len(values) == 2 and len(found) == 1:
        (label,) = found
        other = values[1 - values.index(label)]
        found[other] = 1.0 - found[label]
    return found


def _numbers(table: Table, place: int) -> np.ndarray:
    column = read_column(table.array(place), table.argument)
    if column.numbers is None:
        raise InputError(f"{table.argument}: probabilities expected, labels were given.")
    return np.asarray(column.numbers, dtype=float)


def _check(given: _ByLabel, argument: str, values: Sequence[Hashable], rows: np.ndarray) -> None:
    """Refuse what is no probability, for rows that are compared."""
    rows = np.unique(rows)
    total = np.zeros(len(rows))
    for label, probability in given.items():
        own = probability[rows]
        total += own
        wrong = ~((own > 0) & (own < 1))
        if wrong.any():
            place = int(np.argmax(wrong))
            raise InputError(
                Message(
                    f"{argument}: numbers strictly between 0 and 1 expected; ",
                    Count(int(wrong.sum()), of=len(rows)),
                    f" have others, such as {own[place]:g} of {label!r} at row {rows[place]}. Give "
                    "every row the probability by a model that has not seen it; if such a model is "
                    "sure, cut its probabilities off, as in numpy.clip(p, .001, .999).",
                )
            )
    over = np.abs(total - 1.0) if len(given) == len(values) else total - 1.0
    if over.max(initial=0.0) > _ROUNDING:
        place = int(np.argmax(over))
        raise InputError(
            f"{argument}: the probabilities of {listing(list(given))} add up to {total[place]:.3g} at "
            f"row {rows[place]}, not to one."
        )


def _refuse_absent(wanted: Any, given: Mapping[Any, Any], argument: str, what: str) -> None:
    absent = [one for one in wanted if one not in given]
    if absent:
        raise InputError(
            f"{argument}: none are given for {listing(absent)}, of the {what} that are audited. Give "
            "them too, or name what is to be audited."
        )
