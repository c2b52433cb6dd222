"""How well a fitted audit predicts differences in rows it has not seen (``MDFAuditor.score``)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mdfa_fairness_plugin.data.amounts import read_numbers
from mdfa_fairness_plugin.data.columns import as_list, find_label, listing, read_labels
from mdfa_fairness_plugin.data.containers import Table, read_table, read_vector
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.data.pairing import Pairing, check_length
from mdfa_fairness_plugin.data.weights import WeightSums, weight_numbers
from mdfa_fairness_plugin.exceptions import InputError, WarningLog
from mdfa_fairness_plugin.numerics.rows import Asked
from mdfa_fairness_plugin.pipeline import AuditSource
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.search.orthogonal import OrthogonalRegion
from mdfa_fairness_plugin.search.search import Search
from mdfa_fairness_plugin.search.solver import Region


@dataclass(frozen=True, kw_only=True, eq=False)
class NewRows:
    """Features, outcomes and groups of rows an audit has not seen, in the order of the features."""

    X: Table
    y: Table
    sensitive: Table
    weight: np.ndarray

    @classmethod
    def read(cls, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Self:
        """Pair the rows."""
        if sensitive_features is None:
            raise InputError(
                "sensitive_features: None was given; pass the column whose groups were compared."
            )
        table = read_table(X, "X")
        given = [
            read_vector(y, "y"),
            read_table(sensitive_features, "sensitive_features", column_name="sensitive_feature"),
        ]
        if sample_weight is not None:
            given.append(read_vector(sample_weight, "sample_weight"))
        pairing = Pairing(WarningLog())
        pairing.lead(table, *given)
        for one in given:
            check_length(one, table.n_rows, "X")
        outcomes, sensitive, *weighed = map(pairing.align, given)
        weight = weight_numbers(weighed[0].array(0)) if weighed else np.ones(table.n_rows)
        WeightSums.of(weight).weight_type("sampling", weight)  # refuses what a fit does
        return cls(X=pairing.align(table), y=outcomes, sensitive=sensitive, weight=weight)

    def sides(self, name: str, group: Hashable, others: Sequence[Hashable]) -> np.ndarray:
        """+1 in the rows of the group, -1 in those of the others, 0 elsewhere."""
        names = [str(one) for one in self.sensitive.names]
        if len(names) > 1 and name not in names:
            raise InputError(
                f"sensitive_features: {name!r} was compared, and is not among {listing(names)}."
            )
        place = names.index(name) if len(names) > 1 else 0
        labels = read_labels(self.sensitive.array(place), f"sensitive_features: column {name!r}")
        of_label = [
            1
            if find_label(value, [group]) is not None
            else -(find_label(value, others) is not None)
            for value in labels.values
        ]
        return np.array([*of_label, 0])[labels.codes]

    def value(self, search: Search, source: AuditSource) -> np.ndarray:
        """What the search sees of each row: 1 or 0, or how much of a number; NaN if it has none."""
        problem, asked = source.problem, source.settings
        outcome = search.key.outcome
        if problem.outcome_type == "numeric":
            if asked.robust is not None:
                raise InputError(
                    f"robust: {asked.robust!r} compares numbers by their place among those of the fit, "
                    "which new rows have none in. Score an auditor without it."
                )
            return read_numbers(self.y.array(0), "y", "exclude") / search.data.of.unit
        labels, known = read_labels(self.y.array(0), "y"), problem.outcome_labels
        new = [value for value in labels.values if find_label(value, known) is None]
        if new:
            raise InputError(
                f"y: {listing(new)} was not among the outcomes of the fit: {listing(known)}."
            )
        if outcome in problem.cuts:
            codes = problem.cuts[outcome].codes
            of_label = [float(find_label(v, known) in codes) for v in labels.values]
        elif problem.is_amount(outcome):
            order = as_list(asked.ordered)
            of_label = [(find_label(v, order) or 0) / search.data.of.unit for v in labels.values]
        else:
            of_label = [float(find_label(v, [outcome]) is not None) for v in labels.values]
        return np.array([*of_label, math.nan])[labels.codes]


def score_of(
    result: AuditResult,
    region: Region | None,
    searches: Sequence[Search] | None,
    encoder: FeatureEncoder,
    rows: NewRows,
) -> float:
    """Negative mean loss of the residual regression on new rows; see ``MDFAuditor.score``."""
    if result.source is not None and result.source.problem.quantity is not None:
        raise InputError(
            "score: errors are measured of groups, and this audit is of a sensitive quantity."
        )
    asked = encoder.rows(rows.X)
    worst = result.worst_case
    if worst is None or region is None:
        return math.nan
    if not isinstance(region, OrthogonalRegion):
        raise InputError(
            "solver: this audit fitted no residual regression to score. Use solver='orthogonal', with "
            "a learner that is a regressor."
        )
    if searches is None or not _one_contrast([one for one in searches if one.made]):
        raise InputError(
            "score: errors of several comparisons have no common measure. Compare one pair of groups "
            "(groups=[...] with one of them, reference_group) and one outcome or two, in memory."
        )
    known = [own.group for own in result.groups if own.sensitive_feature == worst.sensitive_feature]
    others = [value for value in known if value != worst.group and value is not None]
    if worst.reference is not None:
        others = [worst.reference]
    s = rows.sides(worst.sensitive_feature, worst.group, others)
    search = searches[result.violations.index(worst)]
    value = rows.value(search, result.source)
    compared = np.flatnonzero((s != 0) & ~np.isnan(value) & (rows.weight > 0))
    if not len(compared):
        raise InputError("X: no row has an outcome and a group that was compared, and a weight.")
    losses = region.losses(Asked(asked.take(compared)), s[compared], value[compared])
    return -float(np.average(losses, weights=rows.weight[compared])) * search.data.of.unit**2


def _one_contrast(searches: Sequence[Search]) -> bool:
    """Whether all compare the same two sides by an outcome or its complement, or more and less."""
    first = searches[0]
    value = first.data.value
    complement = ~value if value.dtype == bool else -value
    return all(
        np.array_equal(one.rows, first.rows)
        and (np.array_equal(one.s, first.s) or np.array_equal(one.s, -first.s))
        and (np.array_equal(one.data.value, value) or np.array_equal(one.data.value, complement))
        for one in searches
    )
