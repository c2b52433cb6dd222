"""AIF360's metric classes with the audit among their methods."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mdfa_fairness_plugin.aif360.groups import (
    NEITHER,
    PRIVILEGED,
    UNPRIVILEGED,
    Groups,
    Protected,
    check_lists,
    mask_of,
)
from mdfa_fairness_plugin.aif360.question import Answer, Question, is_table
from mdfa_fairness_plugin.aif360.reading import (
    audited_features,
    check_same_features,
    compared_without_features,
)
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import Violation
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.settings import Settings, refuse_unknown

BinaryLabelDatasetMetric: Any = part("metrics").BinaryLabelDatasetMetric
ClassificationMetric: Any = part("metrics").ClassificationMetric

SUBGROUP = "worst_case_subgroup"


def _undo_memoising(cls: type) -> None:
    """Give the class AIF360's metrics as they were before it made them remember.

    AIF360 keys its memory by object, so after a dataset's labels change the old answer comes back.
    """
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        home = getattr(method, "__globals__", {}).get("__name__")
        if home == "aif360.metrics.metric" and hasattr(method, "__wrapped__"):
            setattr(cls, name, method.__wrapped__)


class _AuditMethods:
    """What both metric classes add to AIF360's; they say whose labels are audited."""

    dataset: Any
    unprivileged_groups: Groups
    privileged_groups: Groups
    _audited = "dataset"  # the one whose labels are audited
    _features_from: str | None = None  # the one people are compared by; None: `dataset`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _undo_memoising(cls)

    def _keep(
        self,
        audit_features: Any,
        include_protected: Protected,
        clusters: Any,
        auditor: dict[str, Any],
    ) -> None:
        refuse_unknown(type(self).__name__, auditor, Settings.names(), first="its own and ")
        self._audit_features = audit_features
        self._include_protected = include_protected
        self._clusters = clusters
        self._auditor = auditor
        self._last: tuple[str, Answer] | None = None

    def _question(self) -> Question:
        """Audit to be made of the data as they are now."""
        return Question(
            dataset=self.dataset,
            labelled=self._labelled(),
            argument=f"{self._audited}.labels",
            featured=getattr(self, self._features_from or "dataset"),
            unprivileged=self.unprivileged_groups,
            privileged=self.privileged_groups,
            audit_features=self._audit_features,
            include_protected=self._include_protected,
            clusters=self._clusters,
            auditor=self._auditor,
        )

    def _labelled(self) -> Any:
        """Dataset whose labels are audited."""
        return getattr(self, self._audited)

    def _state(self) -> Answer:
        """Audit of the data as they are now; made anew only if they have changed."""
        question = self._question()
        key = question.key()
        if self._last is None or self._last[0] != key:
            self._last = key, question.answer()
        return self._last[1]

    def audit(self) -> AuditResult:
        """Audit the labels as they are now.

        Returns
        -------
        result : AuditResult
            Groups are called ``"unprivileged"`` and ``"privileged"``, outcomes ``"favorable"`` and
            ``"unfavorable"``. Without group lists each value of each protected attribute is a
            group. ``excluded`` counts the rows in neither list. Kept until the data change.
        """
        return self._state().result

    def worst_case(self, privileged: bool | None = None, outcome: Any = None) -> Violation | None:
        """Worst violation found, or None if nothing was measured.

        Parameters
        ----------
        privileged : bool or None, default=None
            Only the searches for what the privileged (True) or the unprivileged (False) get more
            often; None: both.
        outcome : {"favorable", "unfavorable"}, label or None, default=None
            Only the searches for this outcome; None: both.

        Returns
        -------
        violation : Violation or None
            Its ``verdict`` says whether it is one.
        """
        result = self._state().result
        found = result.violations
        if privileged is not None:
            side = PRIVILEGED if privileged else UNPRIVILEGED
            if getattr(self, f"{side}_groups") is None:
                raise InputError(
                    f"privileged: the metric was not given {side}_groups, so there are no searches "
                    f"for what the {side} get more often. Pass the list, or leave privileged out."
                )
            found = tuple(one for one in found if one.group == side)
        if outcome is not None:
            name = self._question().outcome_name(outcome)
            found = tuple(one for one in found if one.outcome == name)
        return replace(result, violations=found).worst_case

    def worst_case_violation(self, privileged: bool | None = None, outcome: Any = None) -> float:
        """Log ratio ``delta`` of the outcome's rates in the worst subgroup found.

        Parameters
        ----------
        privileged, outcome
            As in ``worst_case``.

        Returns
        -------
        delta : float
            Measured on rows the search has not seen, at equal features; NaN if nothing was
            measured. Sampling noise makes it positive without any violation: see ``audit`` for the
            interval and the verdict.
        """
        worst = self.worst_case(privileged, outcome)
        return math.nan if worst is None else worst.delta

    def worst_case_ratio(self, privileged: bool | None = None, outcome: Any = None) -> float:
        """Ratio ``exp(delta)`` of the outcome's rates in the worst subgroup found.

        Parameters
        ----------
        privileged, outcome
            As in ``worst_case``.

        Returns
        -------
        ratio : float
        """
        worst = self.worst_case(privileged, outcome)
        return math.nan if worst is None else worst.ratio

    def unfairness_certificate(self, privileged: bool | None = None, outcome: Any = None) -> float:
        r"""Strength ``gamma`` of the worst violation's certificate (Section 3.1 of the paper).

        Parameters
        ----------
        privileged, outcome
            As in ``worst_case``.

        Returns
        -------
        gamma : float
            :math:`Pr_w[Y=y, x \in G] (Pr_w[S=s | Y=y, x \in G] - 1/2)`, at most 1/4.
        """
        worst = self.worst_case(privileged, outcome)
        return math.nan if worst is None else worst.gamma

    def worst_case_subgroup(
        self, dataset: Any = None, *, privileged: bool | None = None, outcome: Any = None
    ) -> Any:
        """Rows of the worst subgroup found, as a dataset.

        Parameters
        ----------
        dataset : StructuredDataset or None, default=None
            Dataset to take the rows from: that with the audited labels by default; another with
            the same rows, such as the one with the true labels; or new rows.
        privileged, outcome
            As in ``worst_case``.

        Returns
        -------
        subgroup : BinaryLabelDataset
            Both sides of the comparison; empty if nothing was measured. Weights, scores and
            metadata are kept.
        """
        source = self._labelled() if dataset is None else dataset
        inside = self._membership(source, privileged, outcome)
        subgroup = source.subset(np.flatnonzero(inside))
        subgroup.metadata.update(
            transformer=f"{type(self).__name__}.worst_case_subgroup",
            params={"privileged": privileged, "outcome": outcome},
        )
        return subgroup

    def annotate(
        self,
        dataset: Any = None,
        *,
        privileged: bool | None = None,
        outcome: Any = None,
        name: str = SUBGROUP,
    ) -> Any:
        """Copy a dataset with membership as one more protected attribute.

        Any metric or algorithm of AIF360 can then be run on the subgroup; ``subgroup_groups`` gives
        its group lists.

        Parameters
        ----------
        dataset : StructuredDataset or None, default=None
            As in ``worst_case_subgroup``. New rows are judged by the models of the audit.
        privileged, outcome
            As in ``worst_case``.
        name : str, default="worst_case_subgroup"
            Name of the attribute: 1 inside, 0 outside. Inside counts as unprivileged.

        Returns
        -------
        annotated : BinaryLabelDataset
        """
        source = self._labelled() if dataset is None else dataset
        if name in source.feature_names:
            raise InputError(
                f"name: the dataset has a feature {name!r} already. Pass another name, or the "
                "dataset as it was before it was annotated."
            )
        inside = self._membership(source, privileged, outcome).astype(float)[:, np.newaxis]
        new = source.copy()
        new.features = np.hstack([source.features, inside])
        new.feature_names = [*source.feature_names, name]
        new.protected_attributes = np.hstack([source.protected_attributes, inside])
        new.protected_attribute_names = [*source.protected_attribute_names, name]
        yes, no = np.array([1.0]), np.array([0.0])
        new.unprivileged_protected_attributes = [*source.unprivileged_protected_attributes, yes]
        new.privileged_protected_attributes = [*source.privileged_protected_attributes, no]
        maps = source.metadata.get("protected_attribute_maps")
        if isinstance(maps, Sequence) and len(maps) == len(source.protected_attribute_names):
            new.metadata["protected_attribute_maps"] = [*maps, {1.0: "inside", 0.0: "outside"}]
        new.metadata.update(
            transformer=f"{type(self).__name__}.annotate",
            params={"privileged": privileged, "outcome": outcome, "name": name},
        )
        return new

    def subgroup_groups(
        self, inside: bool = True, name: str = SUBGROUP
    ) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
        """Group lists that confine a comparison to the subgroup of an annotated dataset.

        Parameters
        ----------
        inside : bool, default=True
            Compare inside the subgroup, or outside.
        name : str, default="worst_case_subgroup"
            As given to ``annotate``.

        Returns
        -------
        unprivileged_groups, privileged_groups : list of dict
        """
        if self.unprivileged_groups is None or self.privileged_groups is None:
            raise InputError(
                "subgroup_groups: the metric needs both unprivileged_groups and privileged_groups "
                "to say whom to compare inside the subgroup."
            )
        mark = {name: float(inside)}
        return (
            [{**group, **mark} for group in self.unprivileged_groups],
            [{**group, **mark} for group in self.privileged_groups],
        )

    def _membership(self, dataset: Any, privileged: bool | None, outcome: Any) -> np.ndarray:
        """Rows of a dataset in the worst subgroup: out of fold if they were audited."""
        state = self._state()
        worst = self.worst_case(privileged, outcome)
        n = len(dataset.features)
        if worst is None:
            return np.zeros(n, dtype=bool)
        if dataset is self._labelled() or dataset is self.dataset:
            return worst.membership
        if is_table(self._audit_features):
            if n == len(worst.membership):
                return worst.membership
            raise InputError(
                f"dataset: it has {n:,} rows and audit_features {len(worst.membership):,}. New "
                "rows can be judged only if audit_features names features of the dataset."
            )
        X = audited_features(dataset, audit_features=list(state.X.columns))
        if X.equals(state.X):
            return worst.membership
        if worst is not state.result.worst_case:
            raise InputError(
                "dataset: it does not hold the audited rows, and new rows can be judged only for "
                "the worst violation of all. Leave privileged and outcome out, or audit with "
                "groups and outcomes that single this search out."
            )
        return state.auditor.predict(X)

    def coverage(self) -> dict[str, int]:
        """Rows in each list and in neither.

        Returns
        -------
        counts : dict of str to int
            Keys ``"unprivileged"``, ``"privileged"`` and ``"neither"``.
        """
        low = mask_of(self.dataset, self.unprivileged_groups)
        high = mask_of(self.dataset, self.privileged_groups)
        n_low, n_high, n_neither = (int(one.sum()) for one in (low, high, ~low & ~high))
        return {UNPRIVILEGED: n_low, PRIVILEGED: n_high, NEITHER: n_neither}


class MDFADatasetMetric(_AuditMethods, BinaryLabelDatasetMetric):
    """Metrics of a dataset's own labels, the worst-case violation among them.

    Every metric of AIF360's ``BinaryLabelDatasetMetric`` is there too, without its memory of
    earlier answers: all follow the dataset's labels.

    Parameters
    ----------
    dataset : BinaryLabelDataset
        Its labels are audited. Its features, without the protected attributes, say who is alike.
    unprivileged_groups, privileged_groups : list of dict or None, default=None
        As in AIF360. Rows in neither are not compared, and counted; with one list only, the others
        are everybody else; without lists, each value of each protected attribute is audited.
    audit_features : list of str, table of shape (n, n_features) or None, default=None
        Features to compare people by, or a table with a row for each of the dataset's. A category
        stands for its one-hot columns. None: all that are not protected.
    include_protected : bool or list of str, default=False
        Protected attributes to compare people by as well, such as another one than the audited.
    clusters : str, array-like of shape (n,) or None, default=None
        Whose row each is, as in ``MDFAuditor.fit``: the feature that holds the ids, by which people
        are then not compared, or the ids, such as ``dataset.instance_names``.
    **auditor
        Arguments of ``MDFAuditor``. Instance weights say how many people a row stands for, unless
        ``weight_type="frequency"``. ``outcomes`` may be given by name or by label;
        ``missing="category"`` audits the rows in neither list as a third group.

    Raises
    ------
    InputError
        If the lists overlap, name no protected attribute, or an argument is unknown.

    See Also
    --------
    MDFAClassificationMetric : Audits a classifier's labels.

    Examples
    --------
    >>> import pandas as pd
    >>> import mdfa_fairness_plugin as mdfa
    >>> from mdfa_fairness_plugin.aif360 import MDFADatasetMetric
    >>> from aif360.datasets import BinaryLabelDataset
    >>> data = mdfa.datasets.make_synthetic(n_samples=1000, delta=1.5, random_state=0)
    >>> frame = data.X.assign(group=data.sensitive_features, outcome=data.y)
    >>> dataset = BinaryLabelDataset(
    ...     df=frame, label_names=["outcome"], protected_attribute_names=["group"]
    ... )
    >>> metric = MDFADatasetMetric(
    ...     dataset,
    ...     unprivileged_groups=[{"group": -1}],
    ...     privileged_groups=[{"group": 1}],
    ...     random_state=0,
    ... )
    >>> metric.audit().worst_case.verdict
    'violation'
    """

    def __init__(
        self,
        dataset: Any,
        unprivileged_groups: Groups = None,
        privileged_groups: Groups = None,
        *,
        audit_features: Any = None,
        include_protected: Protected = False,
        clusters: Any = None,
        **auditor: Any,
    ) -> None:
        if hasattr(dataset, "protected_attribute_names"):
            check_lists(dataset, unprivileged_groups, privileged_groups)
        super().__init__(
            dataset, unprivileged_groups=unprivileged_groups, privileged_groups=privileged_groups
        )
        self._keep(audit_features, include_protected, clusters, auditor)


class MDFAClassificationMetric(_AuditMethods, ClassificationMetric):
    """Metrics of a classifier's labels, the worst-case violation among them.

    Every metric of AIF360's ``ClassificationMetric`` is there too, without its memory of earlier
    answers: all follow both datasets' labels.

    Parameters
    ----------
    dataset : BinaryLabelDataset
        With the true labels, which the audit does not look at, and the instance weights.
    classified_dataset : BinaryLabelDataset
        Its labels are audited.
    unprivileged_groups, privileged_groups : list of dict or None, default=None
        As in ``MDFADatasetMetric``.
    features_from : {"dataset", "classified_dataset"} or None, default=None
        Whose features say who is alike. Needed only where the two differ, as after
        ``DisparateImpactRemover`` or ``LFR``, which AIF360's class refuses.
    audit_features, include_protected, clusters, **auditor
        As in ``MDFADatasetMetric``.

    Raises
    ------
    InputError
        If the lists overlap, name no protected attribute, or an argument is unknown.
    """

    _audited = "classified_dataset"

    def __init__(
        self,
        dataset: Any,
        classified_dataset: Any,
        unprivileged_groups: Groups = None,
        privileged_groups: Groups = None,
        *,
        features_from: str | None = None,
        audit_features: Any = None,
        include_protected: Protected = False,
        clusters: Any = None,
        **auditor: Any,
    ) -> None:
        if features_from not in (None, "dataset", "classified_dataset"):
            raise InputError(
                "features_from: 'dataset', 'classified_dataset' or None expected, "
                f"{features_from!r} found."
            )
        if hasattr(dataset, "protected_attribute_names"):
            check_lists(dataset, unprivileged_groups, privileged_groups)
        if features_from is None:
            check_same_features(dataset, classified_dataset)
        with compared_without_features(dataset, classified_dataset):
            super().__init__(
                dataset,
                classified_dataset,
                unprivileged_groups=unprivileged_groups,
                privileged_groups=privileged_groups,
            )
        self._features_from = features_from
        self._keep(audit_features, include_protected, clusters, auditor)
