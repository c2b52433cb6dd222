"""Records of one search: its name, its verdict and what it found."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.exceptions import visible
from mdfa_fairness_plugin.fields import (
    Column,
    frame,
    label,
    number,
    pair,
    rows,
    said,
    several,
    text,
    told_pair,
    whole,
)
from mdfa_fairness_plugin.records.effects import Tested, deviations_of, ratio_of
from mdfa_fairness_plugin.records.sets import (
    Measured,
    ModelDependence,
    Spread,
    Subgroup,
    WorstCasePath,
)
from mdfa_fairness_plugin.records.views import Viewed

VIOLATION: Final = "violation"
NONE_LARGER: Final = "none_larger_than_detectable"
INSUFFICIENT: Final = "insufficient_evidence"
VERDICTS: Final = (VIOLATION, NONE_LARGER, INSUFFICIENT)
# What a number is counted in: its own units, the share of people below, or steps of an order.
AMOUNT, RANK, STEPS = "amount", "rank", "steps"


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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Keyed:
    """A record of one search, or of the same comparison without one."""

    sensitive_feature: str = label("sensitive_feature", 1, default="sensitive_feature")
    group: Hashable = label("group", 2, default=None)
    reference: Hashable | None = label("reference", 3, default=None)
    outcome: Hashable = label("outcome", 4, default=None)
    outcome_text: str = text("always")
    group_text: str = text("always")
    reference_text: str = text("always")
    outcome_scale: str = field(default="", metadata=said("always", json="told"))

    @property
    def key(self) -> SearchKey:
        """Who is compared with whom, by which outcome."""
        return SearchKey(
            sensitive_feature=self.sensitive_feature,
            group=self.group,
            reference=self.reference,
            outcome=self.outcome,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Judged(Keyed, Tested, Measured):
    """What a search and the answer to a question say alike: their verdict, and what it rests on."""

    verdict: str = text("always", Column("verdict", 5, 1, dtype=object), default=INSUFFICIENT)
    reason: str = text("rule", Column("reason", 26, 20, dtype=object))
    p_value_adjusted: float = number(
        "cells",
        Column("p_value_adjusted", 10, 3),
        Column("standard_deviations", 43, 37, deviations_of),
    )
    share: float = number("rule", Column("share", 12, 7))
    confidence_level: float = number("always", default=0.95)
    membership: np.ndarray = rows(bool, "bits")
    as_observed: bool = field(default=False, metadata=said("always", settle=bool, json="told"))
    harm: bool | None = field(
        default=None, metadata=said("always", Column("harm", 34, 28, dtype=object))
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Violation(Judged, Viewed):
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
    outcome_type : {"binary", "numeric"}
        Whether people have ``outcome`` or not, or get more or less of it.
    measure : {"ratio", "difference"}
        What verdict, p-value and gates are about: ``delta``, or the difference of means.
    outcome_sd, per : float
        As for ``Subgroup``.
    verdict : {"violation", "none_larger_than_detectable", "insufficient_evidence"}
        What can be said; none of the three is a clean bill of health. None larger than would have
        been found is said only where the interval holds none.
    reason : str
        Why there is not enough evidence, or why a ratio beyond chance is no violation; empty
        otherwise.
    delta : float
        Log ratio of the outcome's rates in the subgroup, by default at the same features (see
        ``estimator`` of ``MDFAuditor``); ``inf`` if no comparable other has the outcome, NaN if it
        could not be measured. Of a number that is never negative that of the means, of the others' to
        the group's where less was searched for; NaN of numbers that may be negative.
    interval : tuple of float
        Ends of the interval on ``delta``, valid after the search; they hold what the ratio may still
        move as models get better (see ``depends_on_models``).
    confidence_level : float
        Level of ``interval``.
    gamma, gamma_lemma : float
        Certificate strength by the definition, and by Lemma 1's form (a check).
    mass : float
        Weighted ``Pr[Y = y, x in G]``, the paper's alpha; of numbers, for which ``gamma`` is NaN, the
        weighted share of the people.
    alpha : float
        Smallest mass this search looked at; NaN if it could not be made.
    n_rows : int
        Rows in the subgroup.
    share : float
        ``n_rows`` over the rows compared.
    rates : tuple of float
        Rates of the outcome in the subgroup behind ``delta``: the group's, the others'. By default
        both are of the subgroup's people weighted towards where either side is likely.
    difference : float
        The first of ``rates`` minus the second; times 100 in percentage points. Of means in units of
        the outcome, by how much more the group gets or, searched for less, by how much less.
    difference_interval : tuple of float
        Ends of the interval on ``difference``, valid after the search as ``interval`` is.
    counts : DataFrame of shape (2, n_outcomes)
        Rows in the subgroup by sensitive value and outcome.
    statistic : float
        Leak of the sensitive value by the outcome inside the subgroup (generalised covariance
        measure), in standard errors.
    p_value, p_value_adjusted : float
        Valid after the search, and after the choice between what it proposed and everybody; with
        repeats of cross-fitting, of the mean statistic of what each proposes alone. Adjusted over the
        searches of the audit (Holm), where two that find one leak in the same people count once.
    detectable_delta : float
        Logarithm of ``detectable_ratio``.
    detectable_difference : float
        Likewise of numbers compared by their difference, in units of the outcome; else NaN.
    detectable_mass : float
        Mass of the subgroup that ``detectable_ratio`` is of: ``alpha`` or, where not even a
        thousandfold ratio would have been found in one as small, twice that, and so on.
    membership : ndarray of shape (n_samples,)
        Whether each row is in the subgroup, judged by a model that has not seen it.
    held_out : ndarray of shape (n_samples,)
        Rows the numbers above were measured on.
    profile : DataFrame
        Audited features in the subgroup and in the population, by sensitive value
        (Tables 2 and 4).
    amounts : DataFrame
        Of an outcome that is a number, rows, mean and quantiles inside the subgroup and outside it, by
        sensitive value, as people have it: sampling weights count, features are not made equal.
    rule : str
        Who is in the subgroup, in words; empty if no short rule describes it.
    rule_conditions : tuple of tuple
        Of the rule, or of the best there is where no short rule fits (``rule_subgroup``): alternatives
        of conditions, all of which hold; empty for everybody. New rows are asked by them.
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
        ``"unweighted"``. A copy for printing lacks the last.
    gamma_interval, mass_interval : tuple of float
        Ends of the intervals on ``gamma`` and ``mass``.
    n_missing : int
        Rows in the subgroup whose sensitive value is unknown.
    missing_bounds : tuple of float
        Smallest and largest ``delta`` over all ways to fill in those values; NaN if none is
        unknown.
    probability_bounds, probability_interval : tuple of float
        Smallest and largest ``delta`` over all ways in which outcome and group may go together where
        groups are known by probability (Kallus, Mao and Zhou 2022), and the limits of both; else NaN.
        All intervals hold these then, and p-values are of the smallest, unless ``n_known``.
    n_known : int
        Rows of known group that correct what probabilities say of this set: estimate, interval and
        p-value are corrected ones. 0 where none do, or where bounds leave less open.
    rows_to_know : int
        More people whose groups would have to be known for an interval as narrow as these bounds.
    e_value, e_value_limit : float
        How strongly, as a risk ratio, an unrecorded feature would have to be tied to both the
        sensitive value and the outcome to explain away ``ratio``, and to move the lower end of
        its interval to 1 (VanderWeele and Ding 2017). 1 where nothing needs explaining.
    propensity : ndarray of shape (n_samples,)
        ``Pr[S = group | x]``, by a model that has not seen the row; NaN where a row is on neither
        side of the comparison.
    side : ndarray of shape (n_samples,)
        1 for rows of the group, -1 for those it is compared with, 0 for all others.
    score : ndarray of float32 of shape (n_samples,)
        How unequally each row compared seems to be treated, by models that have not seen it; larger
        is worse, on a scale of the search's own. NaN elsewhere.
    left_out : ndarray of shape (n_samples,)
        Rows of either side without a comparable row on the other; of rows on neither, those like
        nobody compared.
    population : Subgroup
        Everybody compared, measured in the same way.
    core : Subgroup
        The most unequally treated part, smaller than the subgroup.
    rule_subgroup : Subgroup
        The rule taken by itself: rows that meet it, whether they are in the subgroup or not. Each
        fold is judged by a version of the rule made without any outcome of that fold, so that its
        interval is valid after the search, as the subgroup's is; not measured without a rule.
    rule_rows : int
        Rows among those measured that meet the rule as printed; ``rule_subgroup.n_rows`` meet the
        versions of it, and are told by the same rule only where no fold was judged by its own.
    searched : Subgroup
        What the search proposed before it was held beside everybody: the subgroup itself, or what
        everybody stands in the place of.
    outcome_text, group_text, reference_text : str
        How sentences say who gets what: "are refused (approved = 0)", "women"; empty: by the labels.
    outcome_scale : {"", "amount", "rank", "steps"}
        What means and differences of a number are in: units of the outcome, shares of the people ranked
        below, or steps from one outcome of an order to the next; empty for yes and no.
    as_observed : bool
        Whether effects are as observed, features left unequal (``estimator="unweighted"`` or
        ``balance="none"``); p-values are of what is left at equal features all the same.
    harm : bool or None
        Whether the outcome is not the favourable one, so that getting it more often is harm and not
        advantage; None if no outcome is said to be favourable.
    impact_ratio : float
        Favourable rate of the group over that of those it is compared with, in the subgroup; below 1
        is harm. NaN if no outcome is said to be favourable, or there are more than two.
    impact_interval : tuple of float
        Ends of the interval on ``impact_ratio``, valid after the search as ``interval`` is.
    depends_on_models : ModelDependence or None
        How the ratio moved while the models of the features got better; None if both are the
        user's own.
    spread : Spread or None
        What each repeat of cross-fitting with other folds finds alone; None without repeats.
    withheld : frozenset of str
        Fields that a copy for printing does not hold; empty otherwise.
    """

    group: Hashable = label("group", 2)
    outcome: Hashable = label("outcome", 4)
    alpha: float = number("rule", Column("alpha", 27, 21))
    gamma_lemma: float = number("cells", Column("gamma_lemma", 21))
    statistic: float = number("cells")
    p_value: float = number("cells", Column("p_value", 23))
    detectable_delta: float = number(
        "rule", Column("detectable_delta", 19, 8), Column("detectable_ratio", 29, 23, ratio_of)
    )
    detectable_difference: float = field(
        default=math.nan, metadata=said("rule", settle=float, json="told")
    )
    detectable_mass: float = number("rule", Column("detectable_mass", 30, 24))
    outcome_type: str = field(default="binary", metadata=said("always", json="told"))
    held_out: np.ndarray = rows(bool, "bits")
    profile: pd.DataFrame = frame("rule")
    amounts: pd.DataFrame = frame("rule", json="told")
    rule: str = text("always", Column("rule", 24, 19, dtype=object))
    rule_conditions: tuple[tuple[Any, ...], ...] = several("always")
    rule_fidelity: float = number("always", Column("rule_fidelity", 25))
    rule_precision: float = number("rule", Column("rule_precision", case=9))
    rule_recall: float = number("rule", Column("rule_recall", case=10))
    path: WorstCasePath = field(default_factory=WorstCasePath, metadata=said("rule"))
    estimates: dict[str, float] = field(default_factory=dict, metadata=said("cells"))
    gamma_interval: tuple[float, float] = pair("cells")
    mass_interval: tuple[float, float] = pair("cells")
    n_missing: int | None = whole("rule")
    missing_bounds: tuple[float, float] = pair("rule")
    probability_interval: tuple[float, float] = told_pair()
    rows_to_know: int = field(default=0, metadata=said("always", settle=int, json="told"))
    e_value: float = number("cells", Column("e_value", case=11))
    e_value_limit: float = number("cells", Column("e_value_limit", case=12))
    propensity: np.ndarray = rows(np.float64)
    side: np.ndarray = rows(np.int8)
    score: np.ndarray = rows(np.float32)
    left_out: np.ndarray = rows(bool, "bits")
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
    rule_rows: int | None = whole("rule")
    searched: Subgroup = field(
        default_factory=partial(Subgroup, label="searched"), metadata=said("rule")
    )
    depends_on_models: ModelDependence | None = field(
        default=None,
        metadata=said(
            "rule",
            Column(
                "model_allowance", 28, 22, lambda own: math.nan if own is None else own.allowance
            ),
        ),
    )
    spread: Spread | None = field(
        default=None,
        metadata=said(
            "rule",
            Column("spread_low", 31, 25, lambda own: math.nan if own is None else own.ends[0]),
            Column("spread_high", 32, 26, lambda own: math.nan if own is None else own.ends[1]),
            Column("spread_shared", 33, 27, lambda own: math.nan if own is None else own.shared),
        ),
    )
    impact_ratio: float = number("cells", Column("impact_ratio", 35, 29))
    impact_interval: tuple[float, float] = pair(
        "cells",
        Column("impact_low", 36, 30, itemgetter(0)),
        Column("impact_high", 37, 31, itemgetter(1)),
    )

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict: {self.verdict!r} is not one of {', '.join(VERDICTS)}.")
        super().__post_init__()

    @property
    def beside(self) -> Subgroup | None:
        """Part of everybody to tell beside them, the more certain one; None if there is none."""
        return next((part for part in (self.core, self.searched) if part.beside), None)

    def __repr__(self) -> str:
        return (
            f"Violation({visible(self.sensitive_feature)}={self.group!r}, outcome={self.outcome!r}, "
            f"{self.verdict}, {self._figures()})"
        )


def without_rows(search: Violation) -> Violation:
    """A search without what is told row by row."""
    names = ("membership", "held_out", "left_out", "propensity", "score", "side")
    none: dict[str, Any] = dict.fromkeys(names, ())
    return replace(search, **none)
