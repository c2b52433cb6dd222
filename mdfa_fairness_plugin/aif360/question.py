"""What a metric asks of an audit, and the answer in AIF360's words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.aif360.groups import (
    FAVORABLE,
    NEITHER,
    PRIVILEGED,
    UNFAVORABLE,
    UNPRIVILEGED,
    ByRow,
    Features,
    Groups,
    Protected,
    check_lists,
    describe,
    mask_of,
    sensitive_column,
)
from mdfa_fairness_plugin.aif360.reading import (
    audited_features,
    fingerprint,
    has_numbers,
    label_names,
    outcomes,
    predicted_numbers,
    values_by_row,
    weights,
)
from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.data.containers import read_table
from mdfa_fairness_plugin.data.events import (
    EVENTS,
    NUMBER_EVENTS,
    NUMBER_NAMES,
    SCORE,
    NumberOccurrence,
    Occurrence,
    favorable_event,
    happening,
    occurrence,
)
from mdfa_fairness_plugin.data.given import OUTCOME, PROPENSITY
from mdfa_fairness_plugin.exceptions import (
    Count,
    InputError,
    Message,
    MissingSensitiveWarning,
    WarningLog,
    renaming,
)
from mdfa_fairness_plugin.records import Harm, Subgroup, Violation
from mdfa_fairness_plugin.results import AuditResult

if TYPE_CHECKING:
    from aif360.datasets import StructuredDataset

# Figures of the worst case by the metric that gives them.
FIGURES: Final[Mapping[str, str]] = {
    "worst_case_violation": "delta",
    "worst_case_ratio": "ratio",
    "worst_case_difference": "difference",
    "unfairness_certificate": "gamma",
}
_IN_NEITHER = "in neither unprivileged_groups nor privileged_groups"
# What people are whose labels or scores are compared with the true ones.
EVENT_NAMES: Final[Mapping[str, str]] = {
    "false_positive": f"wrongly given the {FAVORABLE} label",
    "true_negative": f"rightly given the {UNFAVORABLE} label",
    "false_negative": f"wrongly given the {UNFAVORABLE} label",
    "true_positive": f"rightly given the {FAVORABLE} label",
    "error": "given the wrong label",
    "correct": "given the right label",
    "overprediction": "predicted too high",
    "not overpredicted": "not predicted too high",
    "positive": f"in truth {FAVORABLE} at the same score",
    "negative": f"in truth {UNFAVORABLE} at the same score",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """One audit and what it was made of."""

    auditor: MDFAuditor
    result: AuditResult
    X: Any
    score: np.ndarray | None = None  # at which people are compared, too

    def harm(self, side: str | None = None) -> Harm | None:
        """Worst harm found, or the worst to one side."""
        if side is None:
            return self.result.worst_harm
        each = (replace(self.result, violations=(v,)).worst_harm for v in self.result.violations)
        own = tuple(one.violation for one in each if one is not None and one.group == side)
        return replace(self.result, violations=own).worst_harm

    def judge(self, X: pd.DataFrame, harm: Harm, score: np.ndarray | None) -> np.ndarray:
        """New rows in the region of a harm."""
        if score is not None:
            X = X.assign(**{SCORE: score})
        searches = zip(self.result.violations, self.auditor.result_.violations, strict=True)
        (search,) = (own for told, own in searches if told is harm.violation)
        with renaming({"violation": "privileged"}):
            return self.auditor.predict(X, violation=search)


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """One audit to be made."""

    dataset: StructuredDataset  # says who is in which group, and has weights and true labels
    labelled: StructuredDataset  # its labels are audited
    argument: str  # name of those labels
    featured: StructuredDataset  # its features say who is alike
    event: str
    unprivileged: Groups
    privileged: Groups
    audit_features: Features
    include_protected: Protected
    by_row: Mapping[str, ByRow]
    auditor: Mapping[str, Any]

    def key(self) -> str:
        """Digest of all that the answer depends on."""
        return fingerprint(
            self.labelled.labels,
            self.labelled.scores if self.event in NUMBER_EVENTS else None,
            self._labels(),
            self.event,
            None if self.event == "selection" else self.dataset.labels,
            self.featured.features,
            self.featured.feature_names,
            self.dataset.protected_attributes,
            self.dataset.protected_attribute_names,
            self.dataset.metadata.get("protected_attribute_maps"),
            self.dataset.instance_weights,
            self.unprivileged,
            self.privileged,
            *_content(self.audit_features),
            self.include_protected,
            *(pd.Series(own, dtype=object).astype(str) for own in self._by_row().values()),
            *(one for pair in sorted(self.auditor.items()) for one in pair),
        )

    def answer(self) -> Answer:
        """Make the audit."""
        log = WarningLog()
        lists = self.unprivileged, self.privileged
        check_lists(self.dataset, *lists)
        found = self._found()
        sensitive = sensitive_column(self.dataset, *lists)
        self._check_covered()
        parameters = self._parameters(found)
        weight = found.weights(weights(self.dataset))
        absent = np.zeros(len(sensitive), dtype=bool)
        if None not in lists:
            if parameters.get("missing", "exclude") == "category":
                sensitive = sensitive.fillna(NEITHER)
            absent = sensitive.iloc[:, 0].isna().to_numpy()
        n_neither = int(absent.sum() if weight is None else (absent & (weight > 0)).sum())
        X: Any = self.audit_features
        if not is_table(X):
            how: Any = {"audit_features": X, "include_protected": self.include_protected}
            X = audited_features(self.featured, **how, by_row=self.by_row, log=log)
        if n_neither:
            self._tell_of_uncovered(n_neither, log)
            parameters["missing"] = "exclude"
        auditor = MDFAuditor(**parameters)
        score = found.score if isinstance(found, NumberOccurrence) else None
        with warnings.catch_warnings():
            if n_neither:  # Said above, in AIF360's words.
                warnings.filterwarnings("ignore", category=MissingSensitiveWarning)
            features = X if score is None else found.features(read_table(X, "audit_features"))
            rows = {"sensitive_features": sensitive, "sample_weight": weight, **self._by_row()}
            auditor.fit(features, found.outcome, **rows)
        result = self._in_own_words(auditor.result_, found, n_neither, log)
        sides = sensitive.iloc[:, 0].dropna().unique().tolist()
        if lists != (None, None) and len(sides) == 2:
            other = dict(zip(sides, reversed(sides), strict=True))
            violations = tuple(_against(one, other[one.group]) for one in result.violations)
            result = replace(result, violations=violations)
        return Answer(auditor=auditor, result=result, X=X, score=score)

    def _found(self) -> Occurrence:
        """Event audited in each row."""
        event, settings = self.event, dict(self.auditor)
        of_numbers, labelled_by = has_numbers(self.labelled), type(self.labelled).__name__
        if of_numbers and event in EVENTS:
            raise InputError(
                f"event: {event!r} compares labels, and those of a {labelled_by} are numbers. Use "
                f"{listing(NUMBER_EVENTS)}."
            )
        if event in NUMBER_EVENTS:
            if not of_numbers and event not in ("score", "calibration"):
                raise InputError(
                    f"event: {event!r} compares true with predicted numbers, and {labelled_by} has "
                    "labels. Use a RegressionDataset; of scores 'score' or 'calibration'."
                )
            numbers, truth = predicted_numbers(self.labelled, self.argument), None
            if event != "score":
                true = np.asarray(self.dataset.labels, dtype=float).ravel()
                truth = true if of_numbers else label_names(self.dataset, "dataset.labels")
            if of_numbers and event == "calibration":
                settings = {"outcome_type": "numeric"} | settings
            with renaming({"y_true": "dataset.labels", "y_pred": self.argument}):
                return happening(truth, numbers, event, settings, FAVORABLE)
        if event == "selection":
            return occurrence(None, outcomes(self.labelled, self.argument), event, FAVORABLE)
        truth = label_names(self.dataset, "dataset.labels")
        with renaming({"y_true": "dataset.labels", "y_pred": self.argument}):
            return occurrence(truth, label_names(self.labelled, self.argument), event, FAVORABLE)

    def outcome_name(self, outcome: Hashable, argument: str = "outcomes") -> str:
        """Name of an outcome given by name or, unless it is an event, by label."""
        if self.event != "selection":
            known = outcomes_of(self.event)
            if outcome in known:
                return str(outcome)
            raise InputError(f"{argument}: {outcome!r} is not among the outcomes {listing(known)}.")
        favorable, unfavorable = self.labelled.favorable_label, self.labelled.unfavorable_label
        names = {FAVORABLE: favorable, UNFAVORABLE: unfavorable}
        for name, label in names.items():
            if outcome == (name if isinstance(outcome, str) else label):
                return name
        raise InputError(
            f"{argument}: {outcome!r} is not among the outcomes 'favorable' (label {favorable:g}) "
            f"and 'unfavorable' (label {unfavorable:g})."
        )

    def _by_row(self) -> dict[str, np.ndarray | None]:
        """Clusters and exposure of each row."""
        return {name: values_by_row(self.dataset, own, name) for name, own in self.by_row.items()}

    def _labels(self) -> dict[str, float]:
        """Labels that are favorable and unfavorable; of numbers none."""
        names = (f"{own}_label" for own in (FAVORABLE, UNFAVORABLE))
        found = {name: getattr(self.labelled, name, None) for name in names}
        return {name: float(label) for name, label in found.items() if label is not None}

    def _parameters(self, found: Occurrence) -> dict[str, Any]:
        """Auditor's arguments, with label values as outcomes' names."""
        truth, own = np.asarray(self.dataset.labels), {}
        scaled = " on a scale of 0 to 1" if (truth.min(), truth.max()) == (0, 1) else ""
        if has_numbers(self.labelled) and self.event in NUMBER_NAMES:
            name = NUMBER_NAMES[self.event]
            name = self.labelled.label_names[0] if self.event == "score" else name
            own = {"outcome_name": f"{name}{scaled}"}
        usual = own if self.event in NUMBER_EVENTS else asked_of(self.event)
        parameters = usual | dict(self.auditor)
        if self.event in NUMBER_EVENTS:
            parameters = found.arguments(parameters)
        asked = parameters.get("outcomes")
        if asked is not None and found.outcome.dtype == object:
            listed = [asked] if isinstance(asked, str) or np.ndim(asked) == 0 else list(asked)
            parameters["outcomes"] = [self.outcome_name(one) for one in listed]
        lists = {UNPRIVILEGED: self.unprivileged, PRIVILEGED: self.privileged}
        groups = [name for name, own in lists.items() if own is not None]
        outcomes = outcomes_of(self.event) if found.outcome.dtype == object else ()
        for name, labels in ((OUTCOME, outcomes), (PROPENSITY, groups)):
            given = parameters.get(name)
            if given is None or hasattr(given, "fit"):
                continue
            if labels and not isinstance(given, Mapping):
                raise InputError(
                    f"{name}: an array without a name was given. Say whose probabilities these are, "
                    f"as in {{{labels[0]!r}: p}}."
                )
            if name == OUTCOME and labels:
                given = {self.outcome_name(key, name): one for key, one in given.items()}
            parameters[name] = given
        return parameters

    def _check_covered(self) -> None:
        lists = {"unprivileged_groups": self.unprivileged, "privileged_groups": self.privileged}
        for name, groups in lists.items():
            if groups is None or mask_of(self.dataset, groups).any():
                continue
            found = {
                attribute: np.unique(self.dataset.protected_attributes[:, place]).tolist()[:10]
                for place, attribute in enumerate(self.dataset.protected_attribute_names)
            }
            raise InputError(
                f"{name}: no row is in {describe(groups)}, so there is nobody to compare. Values "
                f"found: {found}."
            )

    def _tell_of_uncovered(self, n_neither: int, log: WarningLog) -> None:
        n = len(self.dataset.protected_attributes)
        lists = f"{describe(self.unprivileged)}; {describe(self.privileged)}"
        said = f" are in neither ({lists}) and are not compared."
        message = Message("unprivileged_groups, privileged_groups: ", Count(n_neither, of=n), said)
        if self.auditor.get("missing") == "raise":
            raise InputError(f"{message} Name them in one of the lists, or pass missing='exclude'.")
        advice = " Pass missing='category' to audit them too."
        log.warn(MissingSensitiveWarning, message, advice)

    def _in_own_words(
        self, result: AuditResult, found: Occurrence, n_neither: int, log: WarningLog
    ) -> AuditResult:
        """Let the audit's result speak of lists and events rather than of what is missing."""
        excluded, said = found.excluded(result.excluded), result.warnings
        if n_neither:
            others = {
                why: n for why, n in excluded.items() if not why.startswith("missing sensitive")
            }
            excluded = {_IN_NEITHER: n_neither} | others
            said = tuple(one for one in said if one.category != MissingSensitiveWarning.__name__)
        own: dict[str, Any] = {
            "event": self.event,
            "unprivileged_groups": describe(self.unprivileged, self.dataset),
            "privileged_groups": describe(self.privileged, self.dataset),
        }
        provenance = dict(result.provenance) | {"aif360": own | self._labels()}
        said = (*log.records, *said)
        return replace(result, excluded=excluded, warnings=said, provenance=provenance)


def outcomes_of(event: str) -> tuple[str, str]:
    """Outcomes of an event, the favorable one first."""
    if event == "selection":
        return FAVORABLE, UNFAVORABLE
    if event in NUMBER_EVENTS:
        return ("negative", "positive") if event == "calibration" else (event, "not overpredicted")
    good, both = favorable_event(event), (event, EVENTS[event].opposite)
    return good, both[1] if good == event else event


def asked_of(event: str) -> dict[str, Any]:
    """Arguments of an audit of an event: which outcome is good, and what both are called."""
    outcomes = outcomes_of(event)
    named = {one: EVENT_NAMES[one] for one in outcomes if one in EVENT_NAMES}
    return {"favorable_label": outcomes[0]} | ({"outcome_names": named} if named else {})


def figure_of(worst: Harm | None, metric: str) -> float:
    """A metric's figure of the worst case; NaN if nothing was measured."""
    return math.nan if worst is None else worst.figure(FIGURES[metric], metric)


def is_table(value: object) -> bool:
    """Whether ``audit_features`` is data rather than names."""
    if value is None or isinstance(value, str):
        return False
    return getattr(value, "ndim", None) == 2 or hasattr(value, "columns")


def _content(audit_features: Features) -> tuple[object, ...]:
    """What tells one value of ``audit_features`` from another."""
    if not is_table(audit_features):
        return (audit_features,)
    to_rows = getattr(audit_features, "tocsr", None)
    if to_rows is not None:
        matrix = to_rows()
        return matrix.shape, matrix.data, matrix.indices, matrix.indptr
    names = [str(name) for name in getattr(audit_features, "columns", ())]
    return names, pd.DataFrame(np.asarray(audit_features, dtype=object)).astype(str)


def _against(violation: Violation, reference: str) -> Violation:
    """Call the reference by name rather than everyone else."""
    named = {"everyone else": reference}

    def renamed(subgroup: Subgroup) -> Subgroup:
        return replace(subgroup, counts=subgroup.counts.rename(index=named))

    profile = violation.profile
    if profile.columns.nlevels > 1:
        profile = profile.rename(columns=named, level=1)
    return replace(
        violation,
        reference=reference,
        counts=violation.counts.rename(index=named),
        population=renamed(violation.population),
        core=renamed(violation.core),
        rule_subgroup=renamed(violation.rule_subgroup),
        profile=profile,
    )
