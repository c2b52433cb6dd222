"""What is found: immutable records of every search, and of one audit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import AuditWarning

VIOLATION: Final = "violation"
NONE_LARGER: Final = "none_larger_than_detectable"
INSUFFICIENT: Final = "insufficient_evidence"
# Reason in ``AuditResult.excluded`` of rows outside common support.
NO_COMPARABLE_ROW: Final = "no comparable row"
VERDICTS: Final = (VIOLATION, NONE_LARGER, INSUFFICIENT)

_UNKNOWN_PAIR: Final = (math.nan, math.nan)

_VIOLATION_FLOATS: Final = (
    "delta",
    "confidence_level",
    "gamma",
    "gamma_lemma",
    "mass",
    "share",
    "statistic",
    "p_value",
    "p_value_adjusted",
    "detectable_delta",
    "rule_fidelity",
    "rule_precision",
    "rule_recall",
    "e_value",
    "e_value_limit",
)

_VIOLATION_PAIRS: Final = (
    "interval",
    "rates",
    "gamma_interval",
    "mass_interval",
    "missing_bounds",
)

_VIOLATION_ARRAYS: Final = (
    ("membership", bool),
    ("held_out", bool),
    ("propensity", np.float64),
    ("side", np.int8),
    ("left_out", bool),
)

# Columns of AuditResult.to_frame: (name, dtype). Labels stay objects, whatever the user's type.
_FRAME_COLUMNS: Final = (
    ("sensitive_feature", object),
    ("group", object),
    ("reference", object),
    ("outcome", object),
    ("verdict", object),
    ("ratio", float),
    ("ratio_low", float),
    ("ratio_high", float),
    ("ratio_everybody", float),
    ("p_value_adjusted", float),
    ("n_rows", int),
    ("share", float),
    ("rate_group", float),
    ("rate_reference", float),
    ("delta", float),
    ("delta_low", float),
    ("delta_high", float),
    ("delta_everybody", float),
    ("detectable_delta", float),
    ("gamma", float),
    ("gamma_lemma", float),
    ("mass", float),
    ("p_value", float),
    ("rule", object),
    ("rule_fidelity", float),
    ("reason", object),
)


def ratio_of(delta: float) -> float:
    """Rate ratio ``exp(delta)``; infinite where a float cannot hold it."""
    try:
        return math.exp(delta)
    except OverflowError:
        return math.inf


def _settle(record: Subgroup | Violation, floats: tuple[str, ...], pairs: tuple[str, ...]) -> None:
    """Give fields their declared types: None becomes NaN, numpy scalars plain numbers."""
    for name in floats:
        object.__setattr__(record, name, _float(getattr(record, name)))
    for name in pairs:
        pair = getattr(record, name)
        low, high = _UNKNOWN_PAIR if pair is None else pair
        object.__setattr__(record, name, (_float(low), _float(high)))
    object.__setattr__(record, "n_rows", int(record.n_rows))


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def _no_values() -> np.ndarray:
    return np.empty(0, dtype=np.float64)


def _no_rows() -> np.ndarray:
    return np.empty(0, dtype=bool)


def _no_sides() -> np.ndarray:
    return np.empty(0, dtype=np.int8)


def _no_counts() -> np.ndarray:
    return np.empty(0, dtype=np.intp)


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

    delta: np.ndarray = field(default_factory=_no_values)
    mass: np.ndarray = field(default_factory=_no_values)
    n_rows: np.ndarray = field(default_factory=_no_counts)
    threshold: np.ndarray = field(default_factory=_no_values)
    interval_low: np.ndarray = field(default_factory=_no_values)
    interval_high: np.ndarray = field(default_factory=_no_values)

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
class Subgroup:
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
    """

    label: str = ""
    delta: float = math.nan
    interval: tuple[float, float] = _UNKNOWN_PAIR
    gamma: float = math.nan
    mass: float = math.nan
    n_rows: int = 0
    rates: tuple[float, float] = _UNKNOWN_PAIR
    counts: pd.DataFrame = field(default_factory=pd.DataFrame)

    def __post_init__(self) -> None:
        _settle(self, ("delta", "gamma", "mass"), ("interval", "rates"))

    @property
    def ratio(self) -> float:
        """Outcome-rate ratio, ``exp(delta)``."""
        return ratio_of(self.delta)

    @property
    def lower(self) -> float:
        """Lower end of the interval on ``delta``."""
        return self.interval[0]

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval on the ratio."""
        return ratio_of(self.interval[0]), ratio_of(self.interval[1])

    @property
    def measured(self) -> bool:
        """Whether ``delta`` is known (it may be infinite)."""
        return not math.isnan(self.delta)

    def __repr__(self) -> str:
        low, high = self.ratio_interval
        return (
            f"Subgroup({self.label!r}, ratio={self.ratio:.3g} [{low:.3g}, {high:.3g}], "
            f"n_rows={self.n_rows})"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Violation:
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
        ``delta`` by other estimators: ``"hajek"``, ``"raw"``, ``"unweighted"``,
        ``"doubly_robust"``.
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
    """

    sensitive_feature: str = "sensitive_feature"
    group: Hashable
    reference: Hashable | None = None
    outcome: Hashable
    verdict: str = INSUFFICIENT
    reason: str = ""
    delta: float = math.nan
    interval: tuple[float, float] = _UNKNOWN_PAIR
    confidence_level: float = 0.95
    gamma: float = math.nan
    gamma_lemma: float = math.nan
    mass: float = math.nan
    n_rows: int = 0
    share: float = math.nan
    rates: tuple[float, float] = _UNKNOWN_PAIR
    counts: pd.DataFrame = field(default_factory=pd.DataFrame)
    statistic: float = math.nan
    p_value: float = math.nan
    p_value_adjusted: float = math.nan
    detectable_delta: float = math.nan
    membership: np.ndarray = field(default_factory=_no_rows)
    held_out: np.ndarray = field(default_factory=_no_rows)
    profile: pd.DataFrame = field(default_factory=pd.DataFrame)
    rule: str = ""
    rule_fidelity: float = math.nan
    rule_precision: float = math.nan
    rule_recall: float = math.nan
    path: WorstCasePath = field(default_factory=WorstCasePath)
    estimates: dict[str, float] = field(default_factory=dict)
    gamma_interval: tuple[float, float] = _UNKNOWN_PAIR
    mass_interval: tuple[float, float] = _UNKNOWN_PAIR
    n_missing: int = 0
    missing_bounds: tuple[float, float] = _UNKNOWN_PAIR
    e_value: float = math.nan
    e_value_limit: float = math.nan
    propensity: np.ndarray = field(default_factory=_no_values)
    side: np.ndarray = field(default_factory=_no_sides)
    left_out: np.ndarray = field(default_factory=_no_rows)
    population: Subgroup = field(default_factory=lambda: Subgroup(label="everybody"))
    core: Subgroup = field(default_factory=lambda: Subgroup(label="core"))
    rule_subgroup: Subgroup = field(default_factory=lambda: Subgroup(label="rule"))

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict: {self.verdict!r} is not one of {', '.join(VERDICTS)}.")
        _settle(self, _VIOLATION_FLOATS, _VIOLATION_PAIRS)
        for name, dtype in _VIOLATION_ARRAYS:
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=dtype))

    @property
    def key(self) -> SearchKey:
        """Which search it is."""
        return SearchKey(
            sensitive_feature=self.sensitive_feature,
            group=self.group,
            reference=self.reference,
            outcome=self.outcome,
        )

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

    def __repr__(self) -> str:
        low, high = self.ratio_interval
        return (
            f"Violation({self.sensitive_feature}={self.group!r}, outcome={self.outcome!r}, "
            f"{self.verdict}, ratio={self.ratio:.3g} [{low:.3g}, {high:.3g}], "
            f"n_rows={self.n_rows})"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Silence:
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
    """

    sensitive_feature: str
    group: Hashable
    reference: Hashable | None = None
    n_rows: int = 0
    n_group: int = 0
    share: float = math.nan
    rule: str = ""
    rule_fidelity: float = math.nan
    rule_precision: float = math.nan
    rule_recall: float = math.nan


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditRecord:
    """Everything one audit found, and what it could not see: what reports read.

    Parameters
    ----------
    violations : tuple of Violation
        One per (group, outcome) search, found or not.
    balance : dict of tuple to object
        Diagnostics keyed by ``(sensitive_feature, group)``, each with ``to_dict()``: maximum
        mean discrepancy before and after, standardised mean differences, effective sample
        size, share outside common support.
    excluded : dict of str to int
        Rows left out, by reason.
    silence : tuple of Silence
        Who could not be compared, one entry per group whose comparison left rows out.
    warnings : tuple of AuditWarning
        What the user was warned of.
    provenance : dict
        Versions (``"versions"``), ``"seed"``, ``"parameters"``, ``"input_hash"``, row counts.
        A ``"timings"`` entry is kept out of reports, so that these stay identical.
    alpha : float
        Smallest mass worth reporting.
    confidence_level : float
        Level of the intervals.
    n_samples : int
        Rows the user gave.
    outcome_labels : tuple
        Every outcome label found.
    sensitive_names : tuple of str
        Sensitive columns audited.
    feature_names : tuple of str
        Audited features.
    source : AuditSource or None
        What ``null_distribution`` and ``stability`` repeat; None if the result was not made by an
        audit in this process.
    """

    violations: tuple[Violation, ...] = ()
    balance: Mapping[tuple[str, Hashable], Any] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    silence: tuple[Silence, ...] = ()
    warnings: tuple[AuditWarning, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    alpha: float = 0.05
    confidence_level: float = 0.95
    n_samples: int = 0
    outcome_labels: tuple[Hashable, ...] = ()
    sensitive_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    source: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in (
            "violations",
            "silence",
            "warnings",
            "outcome_labels",
            "sensitive_names",
            "feature_names",
        ):
            object.__setattr__(self, name, tuple(getattr(self, name)))

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
        records = [_scalars(violation) for violation in self.violations]
        columns = {}
        for position, (name, dtype) in enumerate(_FRAME_COLUMNS):
            values: np.ndarray = np.empty(len(records), dtype=dtype)
            for row, record in enumerate(records):
                values[row] = record[position]
            columns[name] = pd.Series(values, dtype=dtype)
        return pd.DataFrame(columns)


def _rank(violation: Violation) -> tuple[bool, float]:
    return violation.verdict == VIOLATION, violation.lower


def _scalars(violation: Violation) -> tuple[Any, ...]:
    """Values of one search in the order of ``_FRAME_COLUMNS``."""
    low, high = violation.ratio_interval
    computed = {
        "ratio_low": low,
        "ratio_high": high,
        "ratio_everybody": violation.population.ratio,
        "rate_group": violation.rates[0],
        "rate_reference": violation.rates[1],
        "delta_low": violation.interval[0],
        "delta_high": violation.interval[1],
        "delta_everybody": violation.population.delta,
    }
    return tuple(
        computed[name] if name in computed else getattr(violation, name)
        for name, _ in _FRAME_COLUMNS
    )
