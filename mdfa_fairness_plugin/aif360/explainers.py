"""AIF360's explainers, for the audit's methods and for those inherited."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from mdfa_fairness_plugin.aif360.groups import OTHERS, describe
from mdfa_fairness_plugin.aif360.metrics import BinaryLabelDatasetMetric, _AuditMethods
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.exceptions import InputTypeError
from mdfa_fairness_plugin.records import INSUFFICIENT, VIOLATION, Violation

MetricTextExplainer: Any = part("explainers").MetricTextExplainer
MetricJSONExplainer: Any = part("explainers").MetricJSONExplainer


class MDFATextExplainer(MetricTextExplainer):
    """Explains metrics in a sentence each.

    Parameters
    ----------
    metric : Metric
        Of AIF360, or ``MDFADatasetMetric`` or ``MDFAClassificationMetric`` for the methods added
        here.

    Notes
    -----
    AIF360 0.6.1 misspells its ``false_omission_rate_difference``, and has no explanation of base
    and selection rates; both are there.
    """

    # -- the audit ----------------------------------------------------------------------------

    def audit(self) -> str:
        """Tell everything that was found, in a page of text."""
        metric = self._audited()
        lists = [
            f"Unprivileged: {describe(metric.unprivileged_groups, metric.dataset)}.",
            f"Privileged: {describe(metric.privileged_groups, metric.dataset)}.",
        ]
        has_lists = metric.unprivileged_groups is not None or metric.privileged_groups is not None
        head = " ".join(lists) + "\n\n" if has_lists else ""
        return head + str(metric.audit().summary())

    def worst_case_violation(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``worst_case_violation``."""
        worst = self._audited().worst_case(privileged, outcome)
        value = "not measured" if worst is None else f"{worst.delta:.4g}"
        return (
            "Worst-case violation (log ratio of an outcome's rates at equal features, in the "
            f"subgroup treated most unequally): {value}{self._evidence(worst)}"
        )

    def worst_case_ratio(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``worst_case_ratio``."""
        worst = self._audited().worst_case(privileged, outcome)
        value = "not measured" if worst is None else f"{worst.ratio:.4g}"
        return (
            "Worst-case ratio (ratio of an outcome's rates at equal features, in the subgroup "
            f"treated most unequally): {value}{self._evidence(worst)}"
        )

    def unfairness_certificate(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``unfairness_certificate``."""
        worst = self._audited().worst_case(privileged, outcome)
        value = "not measured" if worst is None else f"{worst.gamma:.4g}"
        return (
            "Unfairness certificate (strength gamma, at most 1/4: how many get the outcome in the "
            f"subgroup, times how unequally it is shared there): {value}{self._evidence(worst)}"
        )

    def worst_case_subgroup(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain who is in ``worst_case_subgroup``."""
        worst = self._audited().worst_case(privileged, outcome)
        if worst is None:
            return "Worst-case subgroup: nothing could be measured."
        rule = worst.rule or "no short rule describes it"
        return (
            f"Worst-case subgroup (who is treated most unequally): {rule} "
            f"({worst.n_rows} rows, {worst.share:.1%} of those compared)"
        )

    def coverage(self) -> str:
        """Explain ``coverage``."""
        counts = self._audited().coverage()
        return (
            f"Rows covered by the group lists: {counts['unprivileged']} unprivileged, "
            f"{counts['privileged']} privileged, {counts['neither']} in neither list (not compared)"
        )

    def _evidence(self, worst: Violation | None) -> str:
        """Tell where a number comes from, and how sure it is."""
        if worst is None:
            return ""
        low, high = worst.ratio_interval
        verdict = {
            VIOLATION: f"a violation, p = {worst.p_value_adjusted:.2g} over all searches",
            INSUFFICIENT: f"not enough evidence: {worst.reason}",
        }.get(
            worst.verdict,
            "no violation shown; one larger than a ratio of "
            f"{_exp(worst.detectable_delta):.3g} would have been found",
        )
        return (
            f" ({self._people(worst.group, worst)} get the {worst.outcome} outcome "
            f"{worst.ratio:.3g} times as often as {self._people(worst.reference, worst)}, "
            f"{worst.confidence_level:.0%} interval {low:.3g} to {high:.3g}; {verdict})"
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

    # -- what AIF360 leaves out ---------------------------------------------------------------

    def base_rate(self, privileged: bool | None = None) -> str:
        """Explain ``base_rate``."""
        return (
            f"Base rate{_of(privileged)} (share with the favorable label): "
            f"{self.metric.base_rate(privileged=privileged)}"
        )

    def selection_rate(self, privileged: bool | None = None) -> str:
        """Explain ``selection_rate``."""
        return (
            f"Selection rate{_of(privileged)} (share predicted to have the favorable label): "
            f"{self.metric.selection_rate(privileged=privileged)}"
        )

    def false_omission_rate_difference(self) -> str:
        """Explain ``false_omission_rate_difference``."""
        return (
            "False omission rate difference (false omission rate on unprivileged instances - false "
            "omission rate on privileged instances): "
            f"{self.metric.false_omission_rate_difference()}"
        )

    def falses_omission_rate_difference(self) -> str:
        """Explain ``false_omission_rate_difference``, by the name AIF360 has for it."""
        return MDFATextExplainer.false_omission_rate_difference(self)


class MDFAJSONExplainer(MetricJSONExplainer, MDFATextExplainer):
    """Explains metrics in JSON.

    Each answer of the methods added here is strict JSON: numbers that are not finite are null, with
    the message telling them.

    Parameters
    ----------
    metric : Metric
        As for ``MDFATextExplainer``.
    """

    # -- the audit ----------------------------------------------------------------------------

    def audit(self) -> str:
        """Give the whole result, as ``AuditResult.to_json``."""
        return str(self._audited().audit().to_json())

    def worst_case_violation(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``worst_case_violation``."""
        return self._worst(
            "Worst-Case Violation",
            MDFATextExplainer.worst_case_violation(self, privileged, outcome),
            "Computed as the log ratio of the outcome's rates for the group and for those it is "
            "compared with, weighted to equal features, in the subgroup where it is largest, on "
            "rows the search has not seen.",
            "The value without any violation is 0; sampling noise alone makes it positive, so see "
            "the interval and the verdict.",
            privileged,
            outcome,
        )

    def worst_case_ratio(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``worst_case_ratio``."""
        return self._worst(
            "Worst-Case Ratio",
            MDFATextExplainer.worst_case_ratio(self, privileged, outcome),
            "Computed as the ratio of the outcome's rates for the group and for those it is "
            "compared with, weighted to equal features, in the subgroup where it is largest, on "
            "rows the search has not seen.",
            "The value without any violation is 1; sampling noise alone raises it, so see the "
            "interval and the verdict.",
            privileged,
            outcome,
        )

    def unfairness_certificate(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain ``unfairness_certificate``."""
        return self._worst(
            "Unfairness Certificate",
            MDFATextExplainer.unfairness_certificate(self, privileged, outcome),
            "Computed as Pr[Y=y, x in G] (Pr[S=s | Y=y, x in G] - 1/2) on weighted data, G the "
            "subgroup, s the group and y the outcome.",
            "A certificate is evidence of a violation; a small one is no evidence of its absence.",
            privileged,
            outcome,
        )

    def worst_case_subgroup(self, privileged: bool | None = None, outcome: Any = None) -> str:
        """Explain who is in ``worst_case_subgroup``."""
        return self._worst(
            "Worst-Case Subgroup",
            MDFATextExplainer.worst_case_subgroup(self, privileged, outcome),
            "The largest region of the features whose violation is of the worst kind found.",
            "There is no ideal subgroup.",
            privileged,
            outcome,
        )

    def coverage(self) -> str:
        """Explain ``coverage``."""
        return _strict(
            {
                "metric": "Coverage",
                "message": MDFATextExplainer.coverage(self),
                **self._audited().coverage(),
                "description": "Rows by the group list that covers them.",
                "ideal": "Every row is in one of the lists.",
            }
        )

    def _worst(
        self,
        title: str,
        message: str,
        description: str,
        ideal: str,
        privileged: bool | None,
        outcome: Any,
    ) -> str:
        metric = self._audited()
        worst = metric.worst_case(privileged, outcome)
        found = {} if worst is None else _numbers_of(worst)
        return _strict(
            {"metric": title, "message": message}
            | found
            | {"description": description, "ideal": ideal}
        )

    # -- what AIF360 leaves out, or looks up by the exact class -------------------------------

    def base_rate(self, privileged: bool | None = None) -> str:
        """Explain ``base_rate``."""
        return _strict(
            {
                "metric": "Base Rate",
                "message": MDFATextExplainer.base_rate(self, privileged),
                "numPositives": self.metric.num_positives(privileged=privileged),
                "numInstances": self.metric.num_instances(privileged=privileged),
                "description": "Computed as the share of instances with the favorable label.",
                "ideal": "Equal for both groups.",
            }
        )

    def selection_rate(self, privileged: bool | None = None) -> str:
        """Explain ``selection_rate``."""
        return _strict(
            {
                "metric": "Selection Rate",
                "message": MDFATextExplainer.selection_rate(self, privileged),
                "numPositivePredictions": self.metric.num_pred_positives(privileged=privileged),
                "numInstances": self.metric.num_instances(privileged=privileged),
                "description": "Computed as the share of instances predicted favorable.",
                "ideal": "Equal for both groups.",
            }
        )

    def false_omission_rate_difference(self) -> str:
        """Explain ``false_omission_rate_difference``."""
        return _strict(
            {
                "metric": "False Omission Rate Difference",
                "message": MDFATextExplainer.false_omission_rate_difference(self),
                "description": "Computed as the difference of the false omission rate (false "
                "negatives / predicted negatives) between unprivileged and privileged groups.",
                "ideal": "The ideal value of this metric is 0.0",
            }
        )

    def falses_omission_rate_difference(self) -> str:
        """Explain ``false_omission_rate_difference``, by the name AIF360 has for it."""
        return self.false_omission_rate_difference()

    def disparate_impact(self) -> str:
        """Explain ``disparate_impact``."""
        explainer = self._of_exact_class()
        own = explainer is self
        return str(super().disparate_impact() if own else explainer.disparate_impact())

    def statistical_parity_difference(self) -> str:
        """Explain ``statistical_parity_difference``."""
        explainer = self._of_exact_class()
        own = explainer is self
        return str(
            super().statistical_parity_difference()
            if own
            else explainer.statistical_parity_difference()
        )

    def _of_exact_class(self) -> Any:
        """Itself, or AIF360's explainer of the same metric of AIF360's own class.

        It takes every subclass of its metric of labels for one of predictions.
        """
        metric = self.metric
        if not isinstance(metric, BinaryLabelDatasetMetric) or hasattr(metric, "selection_rate"):
            return self
        return MetricJSONExplainer(
            BinaryLabelDatasetMetric(
                metric.dataset,
                unprivileged_groups=metric.unprivileged_groups,
                privileged_groups=metric.privileged_groups,
            )
        )


def _of(privileged: bool | None) -> str:
    if privileged is None:
        return ""
    return f" on {'privileged' if privileged else 'unprivileged'} instances"


def _exp(delta: float) -> float:
    return math.exp(delta) if delta < 700 else math.inf


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
