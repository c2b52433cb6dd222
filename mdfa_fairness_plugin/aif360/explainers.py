"""AIF360's explainers, for the audit's methods and for those inherited."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mdfa_fairness_plugin.aif360.groups import OTHERS, describe
from mdfa_fairness_plugin.aif360.metrics import BinaryLabelDatasetMetric, _AuditMethods
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.exceptions import InputTypeError
from mdfa_fairness_plugin.records import INSUFFICIENT, VIOLATION, Violation

MetricTextExplainer: Any = part("explainers").MetricTextExplainer
MetricJSONExplainer: Any = part("explainers").MetricJSONExplainer


@dataclass(frozen=True, kw_only=True)
class _Figure:
    """One figure of a violation, and what is said of it."""

    title: str
    field: str  # of a Violation
    meaning: str
    description: str
    ideal: str


_RATES = "ratio of an outcome's rates at equal features, in the subgroup treated most unequally"
_COMPUTED = (
    "ratio of the outcome's rates for the group and for those it is compared with, at the "
    "same features, in the subgroup where it is largest, on rows the search has not seen."
)
_NOISE = "so see the interval and the finding."
_VIOLATION = _Figure(
    title="Worst-Case Violation",
    field="delta",
    meaning=f"log {_RATES}",
    description=f"Computed as the log {_COMPUTED}",
    ideal=f"The value without any violation is 0; sampling noise alone makes it positive, {_NOISE}",
)
_RATIO = _Figure(
    title="Worst-Case Ratio",
    field="ratio",
    meaning=_RATES,
    description=f"Computed as the {_COMPUTED}",
    ideal=f"The value without any violation is 1; sampling noise alone raises it, {_NOISE}",
)
_CERTIFICATE = _Figure(
    title="Unfairness Certificate",
    field="gamma",
    meaning=(
        "strength gamma, at most 1/4: how many get the outcome in the subgroup, times how "
        "unequally it is shared there"
    ),
    description=(
        "Computed as Pr[Y=y, x in G] (Pr[S=s | Y=y, x in G] - 1/2) on weighted data, G the "
        "subgroup, s the group and y the outcome."
    ),
    ideal="A certificate is evidence of a violation; a small one is no evidence of its absence.",
)
_SUBGROUP = _Figure(
    title="Worst-Case Subgroup",
    field="rule",
    meaning="who is treated most unequally",
    description="The largest region of the features whose violation is of the worst kind found.",
    ideal="There is no ideal subgroup.",
)


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
        head = ""
        if metric.unprivileged_groups is not None or metric.privileged_groups is not None:
            low = describe(metric.unprivileged_groups, metric.dataset)
            high = describe(metric.privileged_groups, metric.dataset)
            head = f"Unprivileged: {low}. Privileged: {high}.\n\n"
        return head + str(metric.audit().summary())

    def worst_case_violation(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``worst_case_violation``."""
        return self._explain(_VIOLATION, privileged, outcome)

    def worst_case_ratio(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``worst_case_ratio``."""
        return self._explain(_RATIO, privileged, outcome)

    def unfairness_certificate(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``unfairness_certificate``."""
        return self._explain(_CERTIFICATE, privileged, outcome)

    def worst_case_subgroup(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain who is in ``worst_case_subgroup``."""
        return self._explain(_SUBGROUP, privileged, outcome)

    def coverage(self) -> str:
        """Explain ``coverage``."""
        counts = self._audited().coverage()
        return (
            f"Rows covered by the group lists: {counts['unprivileged']} unprivileged, "
            f"{counts['privileged']} privileged, {counts['neither']} in neither list (not compared)"
        )

    def _explain(self, figure: _Figure, privileged: bool | None, outcome: Any) -> str:
        return self._sentence(figure, self._audited().worst_case(privileged, outcome))

    def _sentence(self, figure: _Figure, worst: Violation | None) -> str:
        name = figure.title.capitalize()
        if figure is _SUBGROUP:
            if worst is None:
                return f"{name}: nothing could be measured."
            return (
                f"{name} ({figure.meaning}): {worst.rule or 'no short rule describes it'} "
                f"({worst.n_rows} rows, {worst.share:.1%} of those compared)"
            )
        if worst is None:
            return f"{name} ({figure.meaning}): not measured"
        value = f"{getattr(worst, figure.field):.4g}"
        return f"{name} ({figure.meaning}): {value} ({self._evidence(worst)})"

    def _evidence(self, worst: Violation) -> str:
        """Tell where a number comes from, and how sure it is."""
        low, high = worst.ratio_interval
        verdict = {
            VIOLATION: f"a disparity beyond chance, p = {worst.p_value_adjusted:.2g} over all searches",
            INSUFFICIENT: f"undetermined: {worst.reason}",
        }.get(
            worst.verdict,
            "not detected at this size; one larger than a ratio of "
            f"{worst.detectable_ratio:.3g} in a mass of {worst.detectable_mass:.3g} would have been "
            "found",
        )
        return (
            f"{self._people(worst.group, worst)} get the {worst.outcome} outcome "
            f"{worst.ratio:.3g} times as often as {self._people(worst.reference, worst)}, "
            f"{worst.confidence_level:.0%} interval {low:.3g} to {high:.3g}; {verdict}"
        )

    def _people(self, value: Any, worst: Violation) -> str:
        """Name one side of a comparison, and who that is."""
        if value is None:
            return "everybody else"
        groups = getattr(self.metric, f"{value}_groups", None) if isinstance(value, str) else None
        if groups is not None:
            return f"{value} ({describe(groups, self.metric.dataset)})"
        return str(value) if value == OTHERS else f"{worst.sensitive_feature}={value}"

    def _audited(self) -> Any:
        if not isinstance(self.metric, _AuditMethods):
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
        return _strict(
            {
                "metric": "Coverage",
                "message": super().coverage(),
                **self._audited().coverage(),
                "description": "Rows by the group list that covers them.",
                "ideal": "Every row is in one of the lists.",
            }
        )

    def disparate_impact(self) -> str:
        """Explain ``disparate_impact``."""
        return str(MetricJSONExplainer(self._plain_metric()).disparate_impact())

    def statistical_parity_difference(self) -> str:
        """Explain ``statistical_parity_difference``."""
        return str(MetricJSONExplainer(self._plain_metric()).statistical_parity_difference())

    def _explain(self, figure: _Figure, privileged: bool | None, outcome: Any) -> str:
        worst = self._audited().worst_case(privileged, outcome)
        return _strict(
            {"metric": figure.title, "message": self._sentence(figure, worst)}
            | ({} if worst is None else _numbers_of(worst))
            | {"description": figure.description, "ideal": figure.ideal}
        )

    def _plain_metric(self) -> Any:
        """The metric, of AIF360's own class: it takes every subclass for one of predictions."""
        metric = self.metric
        if not isinstance(metric, BinaryLabelDatasetMetric) or hasattr(metric, "selection_rate"):
            return metric
        return BinaryLabelDatasetMetric(
            metric.dataset,
            unprivileged_groups=metric.unprivileged_groups,
            privileged_groups=metric.privileged_groups,
        )


def _numbers_of(worst: Violation) -> dict[str, Any]:
    low, high = worst.interval
    return {
        "sensitiveFeature": worst.sensitive_feature,
        "group": worst.group,
        "outcome": worst.outcome,
        "verdict": worst.verdict,
        "reason": worst.reason,
        "delta": worst.delta,
        "ratio": worst.ratio,
        "interval": [low, high],
        "confidenceLevel": worst.confidence_level,
        "gamma": worst.gamma,
        "mass": worst.mass,
        "numInstances": worst.n_rows,
        "share": worst.share,
        "rateGroup": worst.rates[0],
        "rateReference": worst.rates[1],
        "pValueAdjusted": worst.p_value_adjusted,
        "detectableDelta": worst.detectable_delta,
        "detectableRatio": worst.detectable_ratio,
        "detectableMass": worst.detectable_mass,
        "rule": worst.rule,
        "ruleFidelity": worst.rule_fidelity,
    }


def _strict(response: Mapping[str, Any]) -> str:
    return json.dumps({name: _finite(value) for name, value in response.items()}, allow_nan=False)


def _finite(value: Any) -> Any:
    """Put None in the place of numbers JSON has no word for."""
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)
