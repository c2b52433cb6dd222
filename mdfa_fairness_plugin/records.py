"""What is found: immutable records of every search, and of one audit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.fields import (
    Column,
    Record,
    columns_of,
    figures,
    frame,
    number,
    pair,
    rows,
    said,
    several,
    text,
    whole,
)

VIOLATION: Final = "violation"
NONE_LARGER: Final = "none_larger_than_detectable"
INSUFFICIENT: Final = "insufficient_evidence"
# Reason in ``AuditResult.excluded`` of rows outside common support.
NO_COMPARABLE_ROW: Final = "no comparable row"
VERDICTS: Final = (VIOLATION, NONE_LARGER, INSUFFICIENT)


def ratio_of(delta: float) -> float:
    """Rate ratio ``exp(delta)``; infinite where a float cannot hold it."""
    try:
        return math.exp(delta)
    except OverflowError:
        return math.inf


def _asked(alpha: Any) -> float | str:
    return alpha if isinstance(alpha, str) else float(alpha)


_NO_VALUES: Final = partial(np.empty, 0, np.float64)
_NO_COUNTS: Final = partial(np.empty, 0, np.intp)


@dataclass(frozen=True, kw_only=True)
class SearchKey:
    """Names a search everywhere: where ``group`` gets ``outcome`` more often than others alike.

    Parameters
    ----------
    sensitive_feature : str
    group : hashable
    reference : hashable or None
        Value compared with; None for everybody else.
    outcome : hashable
    """

    sensitive_feature: str
    group: Hashable
    reference: Hashable | None
    outcome: Hashable


@dataclass(frozen=True, kw_only=True, eq=False)
class WorstCasePath:
    """What the search saw as the region grew (Algorithm 1, every iteration at once).

    Position ``i`` is one candidate region; ``threshold`` falls along the path, so regions grow.

    Parameters
    ----------
    delta : ndarray of shape (n_steps,)
        Held-out log ratio of outcome rates in the region.
    mass : ndarray of shape (n_steps,)
        Weighted ``Pr[Y = y, x in G]``.
    n_rows : ndarray of shape (n_steps,)
        Rows in the region.
    threshold : ndarray of shape (n_steps,)
        Score above which a row belongs to the region.
    interval_low, interval_high : ndarray of shape (n_steps,)
        Ends of the interval on ``delta``.
    """

    delta: np.ndarray = field(default_factory=_NO_VALUES)
    mass: np.ndarray = field(default_factory=_NO_VALUES)
    n_rows: np.ndarray = field(default_factory=_NO_COUNTS)
    threshold: np.ndarray = field(default_factory=_NO_VALUES)
    interval_low: np.ndarray = field(default_factory=_NO_VALUES)
    interval_high: np.ndarray = field(default_factory=_NO_VALUES)

    def __len__(self) -> int:
        return len(self.delta)

    def __repr__(self) -> str:
        return f"WorstCasePath({len(self)} steps)"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per step, largest threshold first."""
        n = len(self)
        columns = {}
        for name in ("threshold", "delta", "interval_low", "interval_high", "mass", "n_rows"):
            values = np.asarray(getattr(self, name))
            columns[name] = values if len(values) == n else np.full(n, np.nan)
        return pd.DataFrame(columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelDependence(Record):
    """What one ratio owes to the models of the features: the same people, ever better models.

    Parameters
    ----------
    ratios : tuple of float
        Ratio in the subgroup by the models of each rung, the best last; half a row is added to each
        outcome and side, so that all are finite.
    propensity_losses, outcome_losses : tuple of float
        Log-loss of each rung's ``Pr[S = s | x]`` and ``Pr[Y = y | x]`` on rows not fitted to, in nats
        a row, over all rows compared.
    allowance : float
        What the log ratio has fallen from its largest to the best rung's. The interval's lower end,
        the p-value and the verdict allow for as much again.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    ratios: tuple[float, ...] = several("cells")
    propensity_losses: tuple[float, ...] = several("always")
    outcome_losses: tuple[float, ...] = several("always")
    allowance: float = number("cells")

    def to_frame(self) -> pd.DataFrame:
        """Give one row per rung, the least first."""
        return pd.DataFrame(
            {
                "ratio": self.ratios,
                "propensity_loss": self.propensity_losses,
                "outcome_loss": self.outcome_losses,
            }
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured(Record):
    """How unequally a set of rows is treated; see ``Subgroup``."""

    delta: float = number("cells", Column("delta", 15, 2), Column("ratio", 6, 15, ratio_of))
    interval: tuple[float, float] = pair(
        "cells",
        Column("delta_low", 16, 13, itemgetter(0)),
        Column("delta_high", 17, 14, itemgetter(1)),
        Column("ratio_low", 7, 16, lambda ends: ratio_of(ends[0])),
        Column("ratio_high", 8, 17, lambda ends: ratio_of(ends[1])),
    )
    gamma: float = number("cells", Column("gamma", 20, 4))
    mass: float = number("cells", Column("mass", 22, 5))
    n_rows: int | None = whole("rule", Column("n_rows", 11, 6, dtype=int))
    rates: tuple[float, float] = pair(
        "cells",
        Column("rate_group", 13, of=itemgetter(0)),
        Column("rate_reference", 14, of=itemgetter(1)),
    )
    counts: pd.DataFrame = frame("rule")

    @property
    def ratio(self) -> float:
        """Outcome-rate ratio, ``exp(delta)``; the paper's ``DT_G``."""
        return ratio_of(self.delta)

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval on the ratio."""
        return ratio_of(self.interval[0]), ratio_of(self.interval[1])

    @property
    def lower(self) -> float:
        """Lower end of the interval on ``delta``."""
        return self.interval[0]

    @property
    def measured(self) -> bool:
        """Whether ``delta`` is known (it may be infinite)."""
        return not math.isnan(self.delta)

    def _figures(self) -> str:
        low, high = self.ratio_interval
        return f"ratio={self.ratio:.3g} [{low:.3g}, {high:.3g}], n_rows={self.n_rows}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Subgroup(Measured):
    """A set of rows and how unequally it is treated, on held-out rows.

    Parameters
    ----------
    label : str
        What the set is: ``"everybody"``, ``"core"``, ``"rule"``...
    delta : float
        Log ratio of weighted outcome rates; ``inf`` if only the group has the outcome, NaN if
        it was not measured.
    interval : tuple of float
        Ends of the interval on ``delta``.
    gamma : float
        Certificate strength by the definition (Section 3.1).
    mass : float
        Weighted ``Pr[Y = y, x in G]``.
    n_rows : int
        Rows in the set.
    rates : tuple of float
        Weighted rate of the outcome for the group, and for those it is compared with.
    counts : DataFrame of shape (2, n_outcomes)
        Rows by sensitive value and outcome.
    p_value : float
        Of everybody, and of the region that the search proposed, before one of the two is chosen;
        NaN for other sets.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    label: str = text("always")
    p_value: float = number("always")

    def __repr__(self) -> str:
        return f"Subgroup({self.label!r}, {self._figures()})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Violation(Measured):
    """Most unequally treated subgroup one search found, measured on held-out rows.

    A search is one-sided: it asks where rows with the sensitive value ``group`` get ``outcome``
    *more* often than comparable others. Worst means the worst found in the auditor class.

    Parameters
    ----------
    sensitive_feature : str
        Column the group is a value of.
    group : hashable
        Sensitive value audited, as the user gave it.
    reference : hashable or None
        Value compared with; None for everybody else.
    outcome : hashable
        Outcome audited, as the user gave it.
    verdict : {"violation", "none_larger_than_detectable", "insufficient_evidence"}
        What can be said; none of the three is a clean bill of health.
    reason : str
        Why there is not enough evidence; empty otherwise.
    delta : float
        Log ratio of weighted outcome rates in the subgroup; ``inf`` if no comparable other
        has the outcome, NaN if it could not be measured.
    interval : tuple of float
        Ends of the interval on ``delta``, valid after the search.
    confidence_level : float
        Level of ``interval``.
    gamma, gamma_lemma : float
        Certificate strength by the definition, and by Lemma 1's form (a check).
    mass : float
        Weighted ``Pr[Y = y, x in G]``, the paper's alpha.
    alpha : float
        Smallest mass this search looked at; NaN if it could not be made.
    n_rows : int
        Rows in the subgroup.
    share : float
        ``n_rows`` over the rows compared.
    rates : tuple of float
        Weighted rate of the outcome in the subgroup: the group's, the others'.
    counts : DataFrame of shape (2, n_outcomes)
        Rows in the subgroup by sensitive value and outcome.
    statistic : float
        Leak of the sensitive value by the outcome inside the subgroup (generalised covariance
        measure), in standard errors.
    p_value, p_value_adjusted : float
        Valid after the search; adjusted over the searches of the audit (Holm).
    detectable_delta : float
        Smallest delta this search would have found with 80 % power.
    membership : ndarray of shape (n_samples,)
        Whether each row is in the subgroup, judged by a model that has not seen it.
    held_out : ndarray of shape (n_samples,)
        Rows the numbers above were measured on.
    profile : DataFrame
        Audited features in the subgroup and in the population, by sensitive value
        (Tables 2 and 4).
    rule : str
        Who is in the subgroup, in words; empty if no short rule describes it.
    rule_fidelity : float
        Agreement of rule and membership, the mean of the shares agreed on inside and outside
        the subgroup: 1 is perfect, 1/2 no better than chance. This and the next two are measured
        on rows the rule was not learned from.
    rule_precision, rule_recall : float
        Share of the rule's rows in the subgroup; share of the subgroup's rows in the rule.
    path : WorstCasePath
        What the search saw as the region grew.
    estimates : dict of str to float
        ``delta`` by every estimator: ``"doubly_robust"``, ``"hajek"``, ``"raw"``,
        ``"unweighted"``.
    gamma_interval, mass_interval : tuple of float
        Ends of the intervals on ``gamma`` and ``mass``.
    n_missing : int
        Rows in the subgroup whose sensitive value is unknown.
    missing_bounds : tuple of float
        Smallest and largest ``delta`` over all ways to fill in those values; NaN if none is
        unknown.
    e_value, e_value_limit : float
        How strongly, as a risk ratio, an unrecorded feature would have to be tied to both the
        sensitive value and the outcome to explain away ``ratio``, and to move the lower end of
        its interval to 1 (VanderWeele and Ding 2017). 1 where nothing needs explaining.
    propensity : ndarray of shape (n_samples,)
        ``Pr[S = group | x]``, by a model that has not seen the row; NaN where a row is on neither
        side of the comparison.
    side : ndarray of shape (n_samples,)
        1 for rows of the group, -1 for those it is compared with, 0 for all others.
    left_out : ndarray of shape (n_samples,)
        Rows of either side without a comparable row on the other.
    population : Subgroup
        Everybody compared, measured in the same way.
    core : Subgroup
        The most unequally treated part, smaller than the subgroup.
    rule_subgroup : Subgroup
        The rule taken by itself: rows that meet it, whether they are in the subgroup or not. Each
        fold is judged by a version of the rule made without any outcome of that fold, so that its
        interval is valid after the search, as the subgroup's is; not measured without a rule.
    searched : Subgroup
        What the search proposed before it was held beside everybody: the subgroup itself, or what
        everybody stands in the place of.
    depends_on_models : ModelDependence or None
        How the ratio moved while the models of the features got better; None if both are the
        user's own.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    sensitive_feature: str = field(
        default="sensitive_feature",
        metadata=said("always", Column("sensitive_feature", 1, dtype=object), json="label"),
    )
    group: Hashable = field(metadata=said("always", Column("group", 2, dtype=object), json="label"))
    reference: Hashable | None = field(
        default=None, metadata=said("always", Column("reference", 3, dtype=object), json="label")
    )
    outcome: Hashable = field(
        metadata=said("always", Column("outcome", 4, dtype=object), json="label")
    )
    verdict: str = text("always", Column("verdict", 5, 1, dtype=object), default=INSUFFICIENT)
    reason: str = text("rule", Column("reason", 26, 20, dtype=object))
    alpha: float = number("rule", Column("alpha", 27, 21))
    confidence_level: float = number("always", default=0.95)
    gamma_lemma: float = number("cells", Column("gamma_lemma", 21))
    share: float = number("rule", Column("share", 12, 7))
    statistic: float = number("always")
    p_value: float = number("always", Column("p_value", 23))
    p_value_adjusted: float = number("always", Column("p_value_adjusted", 10, 3))
    detectable_delta: float = number("always", Column("detectable_delta", 19, 8))
    membership: np.ndarray = rows(bool, "bits")
    held_out: np.ndarray = rows(bool, "bits")
    profile: pd.DataFrame = frame("rule")
    rule: str = text("always", Column("rule", 24, 19, dtype=object))
    rule_fidelity: float = number("always", Column("rule_fidelity", 25))
    rule_precision: float = number("rule", Column("rule_precision", case=9))
    rule_recall: float = number("rule", Column("rule_recall", case=10))
    path: WorstCasePath = field(default_factory=WorstCasePath, metadata=said("rule"))
    estimates: dict[str, float] = field(default_factory=dict, metadata=said("never"))
    gamma_interval: tuple[float, float] = pair("cells")
    mass_interval: tuple[float, float] = pair("cells")
    n_missing: int | None = whole("rule")
    missing_bounds: tuple[float, float] = pair("rule")
    e_value: float = number("cells", Column("e_value", case=11))
    e_value_limit: float = number("always", Column("e_value_limit", case=12))
    propensity: np.ndarray = rows(np.float64)
    side: np.ndarray = rows(np.int8)
    left_out: np.ndarray = rows(bool)
    population: Subgroup = field(
        default_factory=partial(Subgroup, label="everybody"),
        metadata=said(
            "rule",
            Column("ratio_everybody", 9, 18, attrgetter("ratio")),
            Column("delta_everybody", 18, of=attrgetter("delta")),
        ),
    )
    core: Subgroup = field(default_factory=partial(Subgroup, label="core"), metadata=said("rule"))
    rule_subgroup: Subgroup = field(
        default_factory=partial(Subgroup, label="rule"), metadata=said("rule")
    )
    searched: Subgroup = field(
        default_factory=partial(Subgroup, label="searched"), metadata=said("rule")
    )
    depends_on_models: ModelDependence | None = field(default=None, metadata=said("rule"))

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict: {self.verdict!r} is not one of {', '.join(VERDICTS)}.")
        super().__post_init__()

    @property
    def key(self) -> SearchKey:
        """Which search it is."""
        return SearchKey(
            sensitive_feature=self.sensitive_feature,
            group=self.group,
            reference=self.reference,
            outcome=self.outcome,
        )

    def __repr__(self) -> str:
        return (
            f"Violation({self.sensitive_feature}={self.group!r}, outcome={self.outcome!r}, "
            f"{self.verdict}, {self._figures()})"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Silence(Record):
    """Where an audit cannot speak: rows with no comparable row on the other side.

    Parameters
    ----------
    sensitive_feature : str
    group : hashable
        Value compared with the others, or with ``reference``.
    reference : hashable or None
    n_rows : int
        Rows left out.
    n_group : int
        Of these, rows of the group itself.
    share : float
        ``n_rows`` over the rows that were to be compared.
    rule : str
        Who they are, in words; empty if no short rule describes them.
    rule_fidelity, rule_precision, rule_recall : float
        Agreement of the rule with the rows left out, as for a subgroup's rule.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    sensitive_feature: str = field(metadata=said("always"))
    group: Hashable = field(metadata=said("always"))
    reference: Hashable | None = field(default=None, metadata=said("always"))
    n_rows: int | None = whole("rule")
    n_group: int | None = whole("rule")
    share: float = number("rule")
    rule: str = text("rule")
    rule_fidelity: float = number("rule")
    rule_precision: float = number("rule")
    rule_recall: float = number("rule")


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditRecord(Record):
    """Everything one audit found, and what it could not see: what reports read (``AuditResult``)."""

    violations: tuple[Violation, ...] = several("rule")
    balance: Mapping[tuple[str, Hashable], Any] = field(default_factory=dict, metadata=said("rule"))
    excluded: Mapping[str, int | None] = field(default_factory=dict, metadata=said("rule"))
    silence: tuple[Silence, ...] = several("rule")
    warnings: tuple[AuditWarning, ...] = several("rule")
    provenance: Mapping[str, Any] = field(default_factory=dict, metadata=said("rule"))
    alpha: float | str = field(default="auto", metadata=said("always", settle=_asked))
    confidence_level: float = number("always", default=0.95)
    n_samples: int | None = whole("rule")
    outcome_labels: tuple[Hashable, ...] = several("always")
    sensitive_names: tuple[str, ...] = several("always")
    feature_names: tuple[str, ...] = several("always")
    source: Any = field(default=None, metadata=said("never", json="no"))

    @property
    def worst_case(self) -> Violation | None:
        """Worst violation by its lower confidence bound, or None if nothing was measured.

        Searches whose verdict is ``"violation"`` come before all others, so look at its
        ``verdict`` before calling it a violation.
        """
        best: Violation | None = None
        for candidate in self.violations:
            if math.isfinite(candidate.lower) and (best is None or _rank(candidate) > _rank(best)):
                best = candidate
        return best

    def __repr__(self) -> str:
        n = len(self.violations)
        head = f"AuditResult({n} search{'' if n == 1 else 'es'}, {self.n_samples} rows; worst: "
        return f"{head}{self.worst_case!r})"

    def to_frame(self) -> pd.DataFrame:
        """Give one row per search, scalar columns only.

        Returns
        -------
        DataFrame of shape (n_searches, n_columns)
            Columns and types are the same for every audit.
        """
        found = [figures(violation, "table") for violation in self.violations]
        columns = {}
        for _, column in columns_of(Violation, "table"):
            values: np.ndarray = np.empty(len(found), dtype=column.dtype)
            for row, named in enumerate(found):
                values[row] = named[column.name]
            columns[column.name] = pd.Series(values, dtype=column.dtype)
        return pd.DataFrame(columns)


def _rank(violation: Violation) -> tuple[bool, float]:
    return violation.verdict == VIOLATION, violation.lower
