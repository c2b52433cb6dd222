"""What a metric asks of an audit, and the answer in AIF360's words."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.aif360.groups import (
    FAVORABLE,
    NEITHER,
    PRIVILEGED,
    UNFAVORABLE,
    UNPRIVILEGED,
    Groups,
    Protected,
    check_lists,
    describe,
    mask_of,
    sensitive_column,
)
from mdfa_fairness_plugin.aif360.reading import (
    audited_features,
    cluster_ids,
    fingerprint,
    outcomes,
    weights,
)
from mdfa_fairness_plugin.auditor import MDFAuditor
from mdfa_fairness_plugin.data.given import OUTCOME, PROPENSITY
from mdfa_fairness_plugin.exceptions import (
    Count,
    InputError,
    Message,
    MissingSensitiveWarning,
    WarningLog,
)
from mdfa_fairness_plugin.records import Subgroup, Violation
from mdfa_fairness_plugin.results import AuditResult

_IN_NEITHER = "in neither unprivileged_groups nor privileged_groups"


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """One audit and what it was made of."""

    auditor: MDFAuditor
    result: AuditResult
    X: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """One audit to be made."""

    dataset: Any  # says who is in which group, and has the weights
    labelled: Any  # its labels are audited
    argument: str  # name of those labels
    featured: Any  # its features say who is alike
    unprivileged: Groups
    privileged: Groups
    audit_features: Any
    include_protected: Protected
    clusters: Any
    auditor: Mapping[str, Any]

    def key(self) -> str:
        """Digest of all that the answer depends on."""
        return fingerprint(
            self.labelled.labels,
            self.labelled.favorable_label,
            self.labelled.unfavorable_label,
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
            pd.Series(cluster_ids(self.dataset, self.clusters), dtype=object).astype(str),
            *(one for pair in sorted(self.auditor.items()) for one in pair),
        )

    def answer(self) -> Answer:
        """Make the audit."""
        log = WarningLog()
        lists = self.unprivileged, self.privileged
        check_lists(self.dataset, *lists)
        y = outcomes(self.labelled, self.argument)
        sensitive = sensitive_column(self.dataset, *lists)
        self._check_covered()
        parameters = self._parameters()
        absent = np.zeros(len(y), dtype=bool)
        if None not in lists:
            if parameters.get("missing", "exclude") == "category":
                sensitive = sensitive.fillna(NEITHER)
            absent = sensitive.iloc[:, 0].isna().to_numpy()
        n_neither = int((absent & (np.asarray(self.dataset.instance_weights) > 0)).sum())
        X = self.audit_features
        if not is_table(X):
            X = audited_features(
                self.featured,
                audit_features=self.audit_features,
                include_protected=self.include_protected,
                clusters=self.clusters,
                log=log,
            )
        if n_neither:
            self._tell_of_uncovered(n_neither, log)
            parameters["missing"] = "exclude"
        auditor = MDFAuditor(**parameters)
        with warnings.catch_warnings():
            if n_neither:  # Said above, in AIF360's words.
                warnings.filterwarnings("ignore", category=MissingSensitiveWarning)
            auditor.fit(
                X,
                y,
                sensitive_features=sensitive,
                sample_weight=weights(self.dataset),
                clusters=cluster_ids(self.dataset, self.clusters),
            )
        result = self._in_own_words(auditor.result_, n_neither, log)
        sides = sensitive.iloc[:, 0].dropna().unique().tolist()
        if lists != (None, None) and len(sides) == 2:
            other = dict(zip(sides, reversed(sides), strict=True))
            violations = tuple(_against(one, other[one.group]) for one in result.violations)
            result = replace(result, violations=violations)
        return Answer(auditor=auditor, result=result, X=X)

    def outcome_name(self, outcome: Any, argument: str = "outcomes") -> str:
        """Name of an outcome given by name or by label."""
        favorable, unfavorable = self.labelled.favorable_label, self.labelled.unfavorable_label
        names = {FAVORABLE: favorable, UNFAVORABLE: unfavorable}
        for name, label in names.items():
            if outcome == (name if isinstance(outcome, str) else label):
                return name
        raise InputError(
            f"{argument}: {outcome!r} is not among the outcomes 'favorable' (label {favorable:g}) "
            f"and 'unfavorable' (label {unfavorable:g})."
        )

    def _parameters(self) -> dict[str, Any]:
        """Auditor's arguments, with label values as outcomes' names."""
        # The dataset says which label is good, and an audit of it is about harm.
        parameters = {"favorable_label": FAVORABLE, **self.auditor}
        if parameters["favorable_label"] is not None:
            good = self.outcome_name(parameters["favorable_label"], "favorable_label")
            parameters["favorable_label"] = good
        asked = parameters.get("outcomes")
        if asked is not None:
            listed = [asked] if isinstance(asked, str) or np.ndim(asked) == 0 else list(asked)
            parameters["outcomes"] = [self.outcome_name(one) for one in listed]
        lists = {UNPRIVILEGED: self.unprivileged, PRIVILEGED: self.privileged}
        groups = [name for name, own in lists.items() if own is not None]
        for name, labels in ((OUTCOME, [FAVORABLE, UNFAVORABLE]), (PROPENSITY, groups)):
            given = parameters.get(name)
            if given is None or hasattr(given, "fit"):
                continue
            if labels and not isinstance(given, Mapping):
                raise InputError(
                    f"{name}: an array without a name was given. Say whose probabilities these are, "
                    f"as in {{{labels[0]!r}: p}}."
                )
            if name == OUTCOME:
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
        message = Message(
            "unprivileged_groups, privileged_groups: ",
            Count(n_neither, of=n),
            f" are in neither ({describe(self.unprivileged)}; {describe(self.privileged)}) and are "
            "not compared.",
        )
        if self.auditor.get("missing") == "raise":
            raise InputError(f"{message} Name them in one of the lists, or pass missing='exclude'.")
        advice = " Pass missing='category' to audit them too."
        log.warn(MissingSensitiveWarning, message, advice)

    def _in_own_words(self, result: AuditResult, n_neither: int, log: WarningLog) -> AuditResult:
        """Let the audit's result speak of lists rather than of missing values."""
        excluded, said = dict(result.excluded), result.warnings
        if n_neither:
            excluded = {_IN_NEITHER: n_neither} | {
                reason: count
                for reason, count in excluded.items()
                if not reason.startswith("missing sensitive value")
            }
            said = tuple(one for one in said if one.category != MissingSensitiveWarning.__name__)
        own = {
            "unprivileged_groups": describe(self.unprivileged, self.dataset),
            "privileged_groups": describe(self.privileged, self.dataset),
            "favorable_label": float(self.labelled.favorable_label),
            "unfavorable_label": float(self.labelled.unfavorable_label),
        }
        return replace(
            result,
            excluded=excluded,
            warnings=(*log.records, *said),
            provenance=dict(result.provenance) | {"aif360": own},
        )


def is_table(value: Any) -> bool:
    """Whether ``audit_features`` is data rather than names."""
    if value is None or isinstance(value, str):
        return False
    return getattr(value, "ndim", None) == 2 or hasattr(value, "columns")


def _content(audit_features: Any) -> tuple[Any, ...]:
    """What tells one value of ``audit_features`` from another."""
    if not is_table(audit_features):
        return (audit_features,)
    if hasattr(audit_features, "tocsr"):
        matrix = audit_features.tocsr()
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
