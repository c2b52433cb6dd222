"""What a comparison returns: its records, and ways to print and store them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.comparison import tables
from mdfa_fairness_plugin.comparison.records import Alternative, Difference, ModelSearch, Transfer
from mdfa_fairness_plugin.comparison.story import tell_page, tell_text
from mdfa_fairness_plugin.comparison.withholding import as_printed
from mdfa_fairness_plugin.describe.wording import plain_float, plain_label
from mdfa_fairness_plugin.exceptions import AuditWarning, InputError
from mdfa_fairness_plugin.records import SearchKey
from mdfa_fairness_plugin.report import html
from mdfa_fairness_plugin.report.junit import Case, cases_of_models, properties_of
from mdfa_fairness_plugin.report.notebooks import MIN_CELL, mark_of
from mdfa_fairness_plugin.report.plain import in_print, plain_origin, plain_value, to_plain
from mdfa_fairness_plugin.report.reported import ReportedByRow
from mdfa_fairness_plugin.results import AuditResult

_FORMAT: Final = "mdfa-comparison-result"
_FORMAT_VERSION: Final = 1

_Found = TypeVar("_Found", ModelSearch, Transfer)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonResult(ReportedByRow):
    """Several models of the same people: aggregate ratios beside the worst case.

    Parameters
    ----------
    models : tuple
        Names, as the user gave them and in that order.
    baseline : hashable
        Model the others are compared with.
    searches : tuple of SearchKey
    rows : tuple of ModelSearch
        One per model and search.
    transfers : tuple of Transfer
        One per search, model whose subgroup it is, and model measured there.
    differences : tuple of Difference
        Every other model against the baseline.
    alternatives : tuple of Alternative
        Every model, the baseline too, by a metric and how unequal it is; empty without a metric.
    audits : dict of model to AuditResult
        The cross-fitted audit of each model, what ``audit`` returns for it alone; models that could
        not be audited are not in it.
    split_delta : ndarray of shape (n_splits, n_searches, n_models, n_models)
        ``[i, k, a, b]``: held-out log ratio of the outcomes of model ``b`` inside the subgroup
        found for model ``a``, in split ``i`` and search ``k``; or the difference of means, in units of
        the outcome.
    n_splits : int
    alpha : float or "auto"
        Smallest mass worth reporting, as asked for.
    confidence_level : float
    n_samples : int
    outcome_labels : tuple
    warnings : tuple of AuditWarning
    provenance : dict
    statement : dict of str to str
        What was stated of the comparison, as for an audit.
    """

    models: tuple[Hashable, ...]
    baseline: Hashable
    searches: tuple[SearchKey, ...] = ()
    rows: tuple[ModelSearch, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    differences: tuple[Difference, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    audits: Mapping[Hashable, AuditResult] = field(default_factory=dict)
    split_delta: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0, 0)))
    n_splits: int = 0
    alpha: float | str = "auto"
    confidence_level: float = 0.95
    n_samples: int | None = 0
    outcome_labels: tuple[Hashable, ...] = ()
    warnings: tuple[AuditWarning, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    statement: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        rows = {model: self.worst(model) for model in self.models}
        sizes = {m: own.difference if own.by_difference else own.ratio for m, own in rows.items()}
        worst = ", ".join(f"{model!r}: {size:.3g}" for model, size in sizes.items())
        name = "differences" if any(own.by_difference for own in rows.values()) else "ratios"
        return f"ComparisonResult({self.n_samples} rows; worst {name} {worst})"

    def _repr_html_(self) -> str:
        mark = mark_of([own.delta for own in as_printed(self, MIN_CELL).rows])
        return html.render_fragment(tell_page(self, MIN_CELL, mark))

    def row(self, model: Hashable, search: SearchKey) -> ModelSearch:
        """Give one model in one search."""
        self._check_model(model)
        return self._in_search((one for one in self.rows if one.model == model), search)

    def worst(self, model: Hashable) -> ModelSearch:
        """Give a model's worst case: what the audit of it alone names as such.

        Where nothing could be measured it is the first search, with the reason.
        """
        self._check_model(model)
        own = [one for one in self.rows if one.model == model]
        audit = self.audits.get(model)
        case = None if audit is None else audit.worst_case
        found = (one for one in own if case is not None and one.search == case.key)
        return next(found, own[0])

    def transfer(self, subgroup_of: Hashable, model: Hashable, search: SearchKey) -> Transfer:
        """Give one model's outcomes inside the worst subgroup of another."""
        self._check_model(subgroup_of)
        self._check_model(model)
        models = (subgroup_of, model)
        found = (one for one in self.transfers if (one.subgroup_of, one.model) == models)
        return self._in_search(found, search)

    def _in_search(self, found: Iterable[_Found], search: SearchKey) -> _Found:
        for one in found:
            if one.search == search:
                return one
        raise InputError(f"search: {search!r} was not made; those made are {self.searches!r}.")

    def transfer_matrix(
        self, search: SearchKey | None = None, *, split: bool = False
    ) -> pd.DataFrame:
        """Ratio, or difference of means, of every model's outcomes inside every model's worst subgroup.

        Parameters
        ----------
        search : SearchKey or None, default=None
            None: each row in the search that is that model's worst case.
        split : bool, default=False
            Means over the held-out rows of the splits, in the place of the cross-fitted ratio.

        Returns
        -------
        matrix : DataFrame of shape (n_models, n_models)
            Row: whose subgroup. Column: whose outcomes. A repair that moves harm has a large ratio
            on the diagonal where the baseline's column has a small one.
        """
        values = np.full((len(self.models), len(self.models)), np.nan)
        for i, owner in enumerate(self.models):
            asked = self.worst(owner).search if search is None else search
            for j, model in enumerate(self.models):
                one = self.transfer(owner, model, asked)
                ratios = (one.ratio, one.split_ratio_mean)
                differences = (one.gap, one.split_difference_mean)
                values[i, j] = (differences if one.by_difference else ratios)[split]
        names = pd.Index(list(self.models), dtype=object, tupleize_cols=False)
        return pd.DataFrame(
            values, index=names.rename("worst subgroup of"), columns=names.rename("outcomes of")
        )

    to_frame = tables.row_frame
    transfer_frame = tables.transfer_frame
    difference_frame = tables.difference_frame
    alternative_frame = tables.alternative_frame

    def to_dict(self, *, rows: bool = False, min_cell: int | None = None) -> dict[str, Any]:
        """Give everything in plain Python types, ready for strict JSON.

        Conventions as for an audit. ``audits`` is a list with one audit per model that could be
        audited, with what is told row by row if ``rows`` are asked for; ``split_delta`` nested lists
        (split, search, model whose subgroup it is, model measured); null for what is withheld.
        """
        if min_cell is not None:
            return in_print(as_printed(self, min_cell).to_dict(), min_cell, rows=rows)
        plain = {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "models": [plain_label(model) for model in self.models],
            "baseline": plain_label(self.baseline),
            "n_samples": self.n_samples,
            "n_splits": self.n_splits,
            "alpha": plain_value(self.alpha),
            "confidence_level": plain_float(self.confidence_level),
            "outcome_labels": [plain_label(label) for label in self.outcome_labels],
            "searches": plain_value(self.searches),
            "rows": plain_value(self.rows),
            "worst": [self.rows.index(self.worst(model)) for model in self.models],
            "transfers": plain_value(self.transfers),
            "differences": plain_value(self.differences),
            "audits": [
                {"model": plain_label(model), "audit": to_plain(audit, rows=rows)}
                for model, audit in self.audits.items()
            ],
            "split_delta": plain_value(self.split_delta),
        }
        if self.alternatives:
            plain["alternatives"] = [_told(own) for own in self.alternatives]
        if self.statement:
            plain["statement"] = plain_value(self.statement)
        return plain | plain_origin(self.warnings, self.provenance)

    def cases(self, min_cell: int = 1) -> Sequence[Case]:
        """Every search of every model's own audit, as gates look at it."""
        return cases_of_models(self.audits, min_cell)

    def _properties(self, min_cell: int) -> Mapping[str, Any]:
        return properties_of(as_printed(self, min_cell))

    _summed = tell_text

    _page = tell_page

    def _check_model(self, model: Hashable) -> None:
        if model not in self.models:
            listed = ", ".join(map(repr, self.models))
            raise InputError(f"model: {model!r} is not among those compared: {listed}.")


def _told(one: Alternative) -> dict[str, Any]:
    """An alternative in plain types, with what is shown of it."""
    shown = {name: getattr(one, name) for name in ("within_tolerance", "less_unequal", "finding")}
    return {**plain_value(one), **shown}
