"""Rows of an audit that somebody names: by an expression, a mask or a function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.columns import TypedColumn
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.expressions import Columns, find_name, parse
from mdfa_fairness_plugin.data.pairing import alignment, check_length
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.data.quantities import NOTHING_SAID, typed_quantity
from mdfa_fairness_plugin.data.written import Marks
from mdfa_fairness_plugin.exceptions import InputError

_NOT_THE_OUTCOME = (
    "who got which outcome is what is compared, and rows cannot be chosen by it. Name features that "
    "were there before it"
)


def named_questions(where: Any) -> dict[str, Any]:
    """Questions by what they are called."""
    if isinstance(where, Mapping):
        named = {str(name): one for name, one in where.items()}
    else:
        several = isinstance(where, list | tuple)
        is_mask = several and where and all(isinstance(one, bool | np.bool_) for one in where)
        asked = where if several and not is_mask else [where]
        named = {}
        for number, one in enumerate(asked, start=1):
            label = " ".join(one.split()) if isinstance(one, str) else f"mask {number}"
            label = getattr(one, "__name__", label) if callable(one) else label
            named[label if label not in named else f"{label} ({number})"] = one
    if not named:
        raise InputError(
            "where: nothing is asked; pass an expression such as 'age < 25', or a mask."
        )
    return named


def columns_of(table: Table, marks: Marks = NOTHING_SAID) -> Columns:
    """Columns of a table by name, text that holds quantities read as such."""
    places = {name: place for place, name in enumerate(table.names)}
    return lambda name: typed_quantity(table, places[find_name(name, table.names)], marks)


class Questioned:
    """The working rows of a problem, with the columns that questions may name."""

    def __init__(self, problem: AuditProblem, extra: Any = None) -> None:
        self.problem = problem
        self.extra: Table | None = None
        if extra is not None:
            self.extra = self.paired(read_table(extra, "extra", column_name="extra"))
        self._read: dict[str, TypedColumn] = {}

    def inside(self, where: Any) -> np.ndarray:
        """Working rows that are meant, bool (n_rows,)."""
        if isinstance(where, str):
            inside = parse(where).told(self.column).holds
        elif callable(where):
            inside = self._called(where)
        else:
            inside = _mask(self.paired(read_vector(where, "where")))
        y = self.problem.stratum
        inside = np.broadcast_to(inside, y.shape)
        if len(np.unique(y[inside])) == 1 and not np.isin(y[~inside], y[inside]).any():
            raise InputError(f"where: these rows are the outcome itself; {_NOT_THE_OUTCOME}.")
        return inside

    def column(self, name: str) -> TypedColumn:
        """An audited feature as it was given, or one of the other columns."""
        if name not in self._read:
            self._read[name] = self._found(name)
        return self._read[name]

    def _found(self, name: str) -> TypedColumn:
        problem, encoder = self.problem, self.problem.encoder
        others = () if self.extra is None else self.extra.names
        plans = {plan.name: plan for plan in encoder.plans_}
        if name == problem.outcome_name and name not in map(str, plans):
            raise InputError(f"where: {name!r} is the outcome; {_NOT_THE_OUTCOME}.")
        of_others = {str(one) for one in others} - {str(one) for one in plans}
        known = [*plans, *(one for one in others if str(one) in of_others)]
        reasons = {str(one): why for one, why in encoder.dropped_.items()}
        if name in reasons and name not in map(str, known):
            raise InputError(
                f"where: column {name!r} is not audited ({reasons[name]}); pass it with extra= to "
                "name it all the same."
            )
        found = find_name(name, known)
        if found in plans:
            plan, levels = plans[found], None
            if plan in encoder.leveled_:
                assert problem.levels is not None
                levels = problem.levels[:, encoder.leveled_.index(plan)]
            return plan.decoded(problem.X, levels)
        assert self.extra is not None
        column = typed_quantity(self.extra, others.index(found))
        outcome = problem.y if problem.outcome_labels else problem.value(problem.outcomes[0])
        if _repeats(column.keys, outcome):
            raise InputError(f"where: {name!r} repeats the outcome; {_NOT_THE_OUTCOME}.")
        return column

    def _called(self, where: Callable[[pd.DataFrame], Any]) -> np.ndarray:
        """What a function says of a table of the working rows."""
        problem = self.problem
        names: list[Hashable] = [plan.name for plan in problem.encoder.plans_]
        names += [name for name in (self.extra.names if self.extra else ()) if name not in names]
        columns = {name: _series(self.column(str(name))) for name in names}
        index = problem.source_row if problem.index is None else problem.index[problem.source_row]
        told = where(pd.DataFrame(columns).set_axis(index, axis=0))
        table = read_vector(np.asarray(told), "where")
        if table.n_rows != problem.n_rows:
            raise InputError(
                f"where: the function gave {table.n_rows:,} values for the {problem.n_rows:,} rows it "
                "was given; one true or false for each is needed."
            )
        return _mask(table)

    def paired(self, table: Table) -> Table:
        """Rows of an argument as the working rows, by index where both sides have one."""
        check_length(table, self.problem.n_samples, "X")
        rows = self.problem.source_row
        if table.index is not None and self.problem.index is not None:
            order = alignment(table.index, self.problem.index, table.argument, "X")
            rows = rows if order is None else order[rows]
        return table.take(rows)


def _mask(table: Table) -> np.ndarray:
    column = table.typed(0)
    if column.kind != "boolean" or np.isnan(column.numbers).any():
        raise InputError(
            "where: an expression, a mask of true and false without a gap, or a function that gives "
            f"one was expected; {column.kind} values were found."
        )
    return column.numbers > 0


def _series(column: TypedColumn) -> Any:
    if column.labels is None:
        return column.numbers > 0 if column.kind == "boolean" else column.numbers
    values = np.array([*column.labels.values, None], dtype=object)
    return values[column.labels.codes]


def _repeats(values: np.ndarray, outcome: np.ndarray) -> bool:
    """Whether a column is the outcome under other names."""
    codes, y = (np.unique(own, return_inverse=True)[1] for own in (values, outcome))
    return codes.max() == y.max() == len(np.unique(codes * (y.max() + 1) + y)) - 1
