"""AIF360's explainers, for the audit's methods and for those inherited."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdfa_fairness_plugin.aif360.groups import FAVORABLE, OTHERS, UNFAVORABLE, describe
from mdfa_fairness_plugin.aif360.methods import AuditMethods
from mdfa_fairness_plugin.aif360.metrics import BinaryLabelDatasetMetric
from mdfa_fairness_plugin.aif360.question import EVENT_NAMES, figure_of
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.describe.decimals import amounts, ratios_text
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError, NothingToAuditError
from mdfa_fairness_plugin.records import INSUFFICIENT, NONE_LARGER, VIOLATION, Harm
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.findings import FINDINGS

if TYPE_CHECKING:
    from aif360.explainers import MetricJSONExplainer, MetricTextExplainer
    from aif360.metrics import Metric
else:
    MetricTextExplainer = part("explainers").MetricTextExplainer
    MetricJSONExplainer = part("explainers").MetricJSONExplainer


@dataclass(frozen=True, kw_only=True)
class _Figure:
    """One figure of the worst case, and what is said of it."""

    name: str  # of the method
    title: str
    meaning: str
    description: str
    ideal: str
    of_numbers: str = ""  # what it means of numbers, if that is another


_RATES = (
    "probability of the favorable outcome for the others / probability for the group harmed most, at "
    "equal features, in the region where that is largest"
)
_COMPUTED = f"{_RATES}, on rows the search has not seen. The disparate impact there is its inverse."
_NOISE = "so see the interval and the finding."
_MEANS = (
    "mean of the number for those who get more of it / mean for the others, above 1 where the group "
    "harmed most is worse off, at equal features, in the region where that is largest"
)
_VIOLATION = _Figure(
    name="worst_case_violation",
    title="Worst-Case Violation",
    meaning=f"log of {_RATES}",
    of_numbers=f"log of {_MEANS}",
    description=f"Computed as the log of {_COMPUTED}",
    ideal=f"The value without any violation is 0; sampling noise alone makes it positive, {_NOISE}",
)
_RATIO = _Figure(
    name="worst_case_ratio",
    title="Worst-Case Ratio",
    meaning=_RATES,
    of_numbers=_MEANS,
    description=f"Computed as {_COMPUTED}",
    ideal=f"The value without any violation is 1; sampling noise alone raises it, {_NOISE}",
)
_DIFFERENCE = _Figure(
    name="worst_case_difference",
    title="Worst-Case Difference",
    meaning=(
        "rate of the favorable outcome for the others - rate for the group harmed most, at equal "
        "features, in the region where that is worst"
    ),
    of_numbers=(
        "by how much less of the number the group harmed most gets than the others, or more where "
        "less is good, at equal features, in the region where that is worst"
    ),
    description=(
        "Computed as the difference of both sides' rates, or means of a number, on rows the search "
        "has not seen, above 0 where the group is worse off."
    ),
    ideal=f"The value without any violation is 0; sampling noise alone makes it positive, {_NOISE}",
)
_CERTIFICATE = _Figure(
    name="unfairness_certificate",
    title="Unfairness Certificate",
    meaning=(
        "strength gamma, at most 1/4: how many get the outcome searched for in the region, times how "
        "unequally it is shared there"
    ),
    description=(
        "Computed as Pr[Y=y, x in G] (Pr[S=s | Y=y, x in G] - 1/2) on weighted data, G the region, "
        "s the group and y the outcome searched for."
    ),
    ideal="A certificate is evidence of a violation; a small one is no evidence of its absence.",
)
_SUBGROUP = _Figure(
    name="worst_case_subgroup",
    title="Worst-Case Subgroup",
    meaning="who is treated most unequally",
    description="The region of the features where the others get the favorable outcome most often.",
    ideal="There is no ideal subgroup.",
)
_SLOPE = (
    "how much less often, or less of a number, goes with so much more or less of the sensitive "
    "quantity, at equal features, in the region where that is worst"
)
# Of whom an event is a rate; of all people if it is not named.
_AMONG = {
    "false_positive": f", among those whose true label is {UNFAVORABLE}",
    "false_negative": f", among those whose true label is {FAVORABLE}",
    "true_positive": f", among those whose true label is {FAVORABLE}",
}


class MDFATextExplainer(MetricTextExplainer):
    """Explains metrics in a sentence each.

    Parameters
    ----------
    metric : Metric
        Of AIF360, or ``MDFADatasetMetric`` or ``MDFAClassificationMetric`` for the methods added
        here.
    """

    def audit(self) -> str:
        """Tell everything that was found, in a page of text."""
        metric = self._audited()
        result = metric.audit()
        of_numbers = any(own.by_difference for own in result.violations)
        first = self.worst_case_difference() if of_numbers else self.worst_case_ratio()
        page = [f"{first}.", result.summary()]
        if metric.unprivileged_groups is not None or metric.privileged_groups is not None:
            low = describe(metric.unprivileged_groups, metric.dataset)
            high = describe(metric.privileged_groups, metric.dataset)
            page.insert(0, f"Unprivileged: {low}. Privileged: {high}.")
        return "\n\n".join(page)

    def worst_case_violation(self, privileged: bool | None = None) -> str:
        """Explain ``worst_case_violation``."""
        return self._explain(_VIOLATION, privileged)

    def worst_case_ratio(self, privileged: bool | None = None) -> str:
        """Explain ``worst_case_ratio``."""
        return self._explain(_RATIO, privileged)

    def worst_case_difference(self, privileged: bool | None = None) -> str:
        """Explain ``worst_case_difference``."""
        return self._explain(_DIFFERENCE, privileged)

    def unfairness_certificate(self, privileged: bool | None = None) -> str:
        """Explain ``unfairness_certificate``."""
        return self._explain(_CERTIFICATE, privileged)

    def worst_case_subgroup(self, privileged: bool | None = None) -> str:
        """Explain who is in ``worst_case_subgroup``."""
        return self._explain(_SUBGROUP, privileged)

    def coverage(self) -> str:
        """Explain ``coverage``."""
        counts = self._audited().coverage()
        return (
            f"Rows covered by the group lists: {counts['unprivileged']} unprivileged, "
            f"{counts['privileged']} privileged, {counts['neither']} in neither list (not compared)"
        )

    def _explain(self, figure: _Figure, privileged: bool | None) -> str:
        return self._sentence(figure, *self._found(privileged))

    def _found(self, privileged: bool | None) -> tuple[Harm | None, str]:
        """Give the worst case; without one, why there is none."""
        try:
            worst = self._audited().worst_case(privileged)
        except NothingToAuditError as error:
            return None, str(error)
        return worst, "nothing could be measured"

    def _sentence(self, figure: _Figure, worst: Harm | None, why: str) -> str:
        search = None if worst is None else worst.violation
        of_number = search is not None and search.outcome_type == "numeric"
        meaning = (of_number and figure.of_numbers) or figure.meaning
        if figure is _DIFFERENCE and search is not None and not math.isnan(search.per):
            meaning = _SLOPE
        name = f"{figure.title.capitalize()} ({meaning})"
        if worst is None or search is None:
            return f"{name}: not measured ({why})"
        if figure is _SUBGROUP:
            return (
                f"{name}: {search.rule or 'no short rule describes it'} "
                f"({search.n_rows} rows, {100 * search.share:.1f} % of those compared)"
            )
        try:
            return f"{name}: {figure_of(worst, figure.name):.4g} ({self._evidence(worst)})"
        except InputError as error:
            return f"{name}: not defined ({error})"

    def _evidence(self, worst: Harm) -> str:
        """Tell where a number comes from, and how sure it is."""
        search = worst.violation
        if not math.isnan(search.per):
            told = effect_of(search).sentence(search, say.group_of(search), "others")
            return f"{told.removesuffix('.')}; {self._finding(worst)}"
        level = f"{100 * search.confidence_level:.0f} %"
        if worst.violation.outcome_type == "numeric":
            size, low, high = amounts((worst.difference, *worst.difference_interval))
            what = self._audited().audit().outcome_name or "the outcome"
            return (
                f"{self._people(worst.group, worst) or 'everybody else'} get {size} "
                f"{worst.direction} {what} than {self._people(worst.reference, worst) or 'all others'} "
                f"on average, {level} interval {low} to {high}; {self._finding(worst)}"
            )
        ratio, low, high = ratios_text((worst.ratio, *worst.interval))
        who = self._people(worst.reference, worst) or "all others"
        return (
            f"{who} {_gets(worst.outcome)} {ratio} times as often as "
            f"{self._people(worst.group, worst) or 'everybody else'}"
            f"{_AMONG.get(self._audited().event, '')}, {level} "
            f"interval {low} to {high}; {self._finding(worst)}"
        )

    def _finding(self, worst: Harm) -> str:
        search, low = worst.violation, worst.interval[0] - 1.0
        if search.outcome_type == "numeric" or search.by_difference:
            low = worst.difference_interval[0]
        if search.verdict == INSUFFICIENT:
            return f"undetermined: {search.reason}"
        if search.verdict != VIOLATION:
            size = f"a ratio of {ratios_text((search.detectable_ratio,))[0]}"
            if search.by_difference:
                size = f"a {effect_of(search).larger(search.detectable_difference)}"
            return (
                f"{FINDINGS[NONE_LARGER]}; searching for who {_gets(search.outcome)}, {size} in a mass "
                f"of {search.detectable_mass:.3g} would have been found with 80 % probability"
            )
        sure = f"{FINDINGS[VIOLATION]}, p = {search.p_value_adjusted:.2g} over all searches"
        if low > 0:
            return sure
        own = self._people(search.group, worst) or "all others"
        (ratio,) = ratios_text((search.ratio,))
        return (
            f"this may be chance, but {own} {_gets(search.outcome)} {ratio} times as often: {sure}"
        )

    def _people(self, value: Hashable, worst: Harm) -> str:
        """Name one side of a comparison, and who that is; empty for all who are not the other."""
        if value is None or value == OTHERS:
            return ""
        groups = getattr(self.metric, f"{value}_groups", None) if isinstance(value, str) else None
        if groups is not None:
            return f"{value} ({describe(groups, self.metric.dataset)})"
        return f"{worst.sensitive_feature}={value}"

    def _audited(self) -> AuditMethods:
        if not isinstance(self.metric, AuditMethods):
            raise InputTypeError(
                f"metric: {type(self.metric).__name__} has no audit to explain. Give the explainer "
                "an MDFADatasetMetric or an MDFAClassificationMetric."
            )
        return self.metric


class MDFAJSONExplainer(MetricJSONExplainer, MDFATextExplainer):
    """Explains metrics in JSON.

    Each answer of the methods added here is strict JSON: numbers that are not finite are null, with
    the message telling them.

    Parameters
    ----------
    metric : Metric
        As for ``MDFATextExplainer``.
    """

    def audit(self) -> str:
        """Give the whole result, as ``AuditResult.to_json``."""
        return str(self._audited().audit().to_json())

    def coverage(self) -> str:
        """Explain ``coverage``."""
        told: dict[str, Any] = {"metric": "Coverage", "message": super().coverage()}
        told |= self._audited().coverage()
        told["description"] = "Rows by the group list that covers them."
        return _strict(told | {"ideal": "Every row is in one of the lists."})

    def disparate_impact(self) -> str:
        """Explain ``disparate_impact``."""
        return str(MetricJSONExplainer(self._plain_metric()).disparate_impact())

    def statistical_parity_difference(self) -> str:
        """Explain ``statistical_parity_difference``."""
        return str(MetricJSONExplainer(self._plain_metric()).statistical_parity_difference())

    def _explain(self, figure: _Figure, privileged: bool | None) -> str:
        worst, why = self._found(privileged)
        return _strict(
            {"metric": figure.title, "message": self._sentence(figure, worst, why)}
            | {"event": self._audited().event}
            | ({} if worst is None else _numbers_of(worst))
            | {"description": figure.description, "ideal": figure.ideal}
        )

    def _plain_metric(self) -> Metric:
        """The metric, of AIF360's own class: it takes every subclass for one of predictions."""
        metric = self.metric
        if not isinstance(metric, BinaryLabelDatasetMetric) or hasattr(metric, "selection_rate"):
            return metric
        lists = metric.unprivileged_groups, metric.privileged_groups
        return BinaryLabelDatasetMetric(metric.dataset, *lists)


def _gets(outcome: Hashable) -> str:
    """What people with an outcome do."""
    named = EVENT_NAMES.get(str(outcome))
    if outcome in ("less", "more"):
        return f"get {outcome}"
    return f"are {named}" if named else f"get the {outcome} outcome"


def _numbers_of(worst: Harm) -> dict[str, Any]:
    search = worst.violation
    return {
        "sensitiveFeature": worst.sensitive_feature,
        "group": worst.group,
        "reference": worst.reference,
        "outcome": worst.outcome,
        "direction": worst.direction,
        "verdict": worst.verdict,
        "reason": search.reason,
        "delta": worst.delta,
        "ratio": worst.ratio,
        "interval": list(worst.interval),
        "difference": worst.difference,
        "differenceInterval": list(worst.difference_interval),
        "confidenceLevel": search.confidence_level,
        "disparateImpact": worst.disparate_impact,
        "gamma": worst.gamma,
        "numInstances": search.n_rows,
        "share": search.share,
        "rateGroup": worst.rates[0],
        "rateReference": worst.rates[1],
        "searchedGroup": search.group,
        "searchedOutcome": search.outcome,
        "searchedRatio": search.ratio,
        "mass": search.mass,
        "pValueAdjusted": search.p_value_adjusted,
        "detectableRatio": search.detectable_ratio,
        "detectableDifference": search.detectable_difference,
        "detectableMass": search.detectable_mass,
        "rule": search.rule,
        "ruleFidelity": search.rule_fidelity,
    }


def _strict(response: Mapping[str, Any]) -> str:
    return json.dumps({name: _finite(value) for name, value in response.items()}, allow_nan=False)


def _finite(value: object) -> object:
    """Put None in the place of numbers JSON has no word for."""
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)
