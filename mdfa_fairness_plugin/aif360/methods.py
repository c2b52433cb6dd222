"""The audit as methods of AIF360's metric classes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mdfa_fairness_plugin.aif360.groups import (
    NEITHER,
    PRIVILEGED,
    UNPRIVILEGED,
    ByRow,
    Features,
    Groups,
    Protected,
    mask_of,
)
from mdfa_fairness_plugin.aif360.question import Answer, Question, figure_of, is_table
from mdfa_fairness_plugin.aif360.reading import audited_features, has_numbers, predicted_numbers
from mdfa_fairness_plugin.exceptions import InputError, nan_if_constant
from mdfa_fairness_plugin.records import Harm
from mdfa_fairness_plugin.results import AuditResult
from mdfa_fairness_plugin.settings import Settings, refuse_unknown

if TYPE_CHECKING:
    from aif360.datasets import StructuredDataset

SUBGROUP = "worst_case_subgroup"


def _adopt(cls: type) -> None:
    """Give the class AIF360's metrics as they were before it made them remember.

    AIF360 keys its memory by object, so after a dataset's labels change the old answer comes back.
    """
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        home = getattr(method, "__globals__", {}).get("__name__", "")
        if not name.startswith("_") and home.startswith("aif360.metrics."):
            remembers = home == "aif360.metrics.metric" and hasattr(method, "__wrapped__")
            setattr(cls, name, _refusing_numbers(method.__wrapped__ if remembers else method))


def _refusing_numbers(metric: Callable[..., Any]) -> Callable[..., Any]:
    """A metric of AIF360 that says so where it asks numbers for their favorable label."""

    @functools.wraps(metric)
    def told(self: AuditMethods, *arguments: Any, **named: Any) -> Any:
        try:
            return metric(self, *arguments, **named)
        except (AttributeError, InputError) as error:
            if not has_numbers(self.dataset):
                raise
            raise InputError(
                f"{metric.__name__}: it compares favorable labels, and those of a "
                f"{type(self.dataset).__name__} are numbers. Use worst_case_difference(), or audit "
                "labels made of them by a threshold."
            ) from error

    return told


class AuditMethods:
    """What both metric classes add to AIF360's; they say whose labels are audited."""

    dataset: StructuredDataset
    unprivileged_groups: Groups
    privileged_groups: Groups
    _audited = "dataset"  # the one whose labels are audited
    event = "selection"
    _features_from: str | None = None  # the one people are compared by; None: `dataset`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _adopt(cls)

    def _keep(
        self,
        audit_features: Features,
        include_protected: Protected,
        clusters: ByRow,
        exposure: ByRow,
        auditor: dict[str, Any],
    ) -> None:
        refuse_unknown(type(self).__name__, auditor, Settings.names(), first="its own and ")
        if "favorable_label" in auditor:
            raise InputError(
                "favorable_label: the dataset says it itself. Set its favorable_label and "
                "unfavorable_label."
            )
        by_row = {"clusters": clusters, "exposure": exposure}
        self._asked: dict[str, Any] = {"by_row": by_row, "auditor": auditor}
        self._asked |= {"audit_features": audit_features, "include_protected": include_protected}
        self._last: tuple[str, Answer] | None = None

    def _question(self) -> Question:
        """Audit to be made of the data as they are now."""
        return Question(
            dataset=self.dataset,
            labelled=self._labelled(),
            argument=f"{self._audited}.labels",
            featured=getattr(self, self._features_from or "dataset"),
            event=self.event,
            unprivileged=self.unprivileged_groups,
            privileged=self.privileged_groups,
            **self._asked,
        )

    def _labelled(self) -> StructuredDataset:
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
            ``"unfavorable"``, or as the event and its opposite. Without group lists each value of
            each protected attribute is a group. ``excluded`` counts the rows in neither list, and
            those that the event's rate is not about. Kept until the data change.
        """
        return self._state().result

    def worst_case(self, privileged: bool | None = None) -> Harm | None:
        """Who gets the favorable outcome less often, and how much, where that is worst.

        Parameters
        ----------
        privileged : bool or None, default=None
            Only harm to the privileged (True) or to the unprivileged (False); None: to whoever is
            harmed most.

        Returns
        -------
        harm : Harm or None
            Who (``group``) gets which ``outcome`` less often than whom (``reference``), the ``ratio``
            and its ``interval``, the ``verdict``, and the search behind it (``violation``); None if
            nothing was measured.
        """
        side = None
        if privileged is not None:
            side = PRIVILEGED if privileged else UNPRIVILEGED
            if getattr(self, f"{side}_groups") is None:
                raise InputError(
                    f"privileged: the metric was not given {side}_groups, so there is no telling how "
                    f"the {side} are harmed. Pass the list, or leave privileged out."
                )
        return self._state().harm(side)

    def worst_case_violation(self, privileged: bool | None = None) -> float:
        """Log of ``worst_case_ratio``; ``privileged`` is as in ``worst_case``.

        Returns
        -------
        delta : float
            About 0 or less where nobody is harmed, larger is worse. NaN if nothing was measured, and
            with a warning if all labels are alike.
        """
        return self._figure("worst_case_violation", privileged)

    def worst_case_ratio(self, privileged: bool | None = None) -> float:
        """How many times more often the others get the favorable outcome than the group harmed most.

        In the region of the features where that is worst, at equal features, measured on rows the
        search has not seen. Its inverse is the disparate impact there. ``privileged`` is as in
        ``worst_case``.

        Returns
        -------
        ratio : float
            About 1 or less where nobody is harmed; sampling noise alone raises it without any
            violation, so see ``worst_case`` for the interval and the verdict. NaN as
            ``worst_case_violation``.
        """
        return self._figure("worst_case_ratio", privileged)

    def unfairness_certificate(self, privileged: bool | None = None) -> float:
        r"""Strength ``gamma`` of the certificate of ``worst_case`` (Section 3.1 of the paper).

        Returns
        -------
        gamma : float
            :math:`Pr_w[Y=y, x \in G] (Pr_w[S=s | Y=y, x \in G] - 1/2)`, at most 1/4, of the outcome
            ``y`` and the group ``s`` that were searched for (``worst_case().violation``). NaN as
            ``worst_case_violation``; numbers have none and are refused.
        """
        return self._figure("unfairness_certificate", privileged)

    def worst_case_difference(self, privileged: bool | None = None) -> float:
        """By how much less of a number the group harmed most gets than the others (or more of it).

        ``privileged`` is as in ``worst_case``.

        Returns
        -------
        difference : float
            In units of the number; of labels the difference of the rates of the favorable one. Above
            0 is harm. NaN as ``worst_case_violation``.
        """
        return self._figure("worst_case_difference", privileged)

    def _figure(self, metric: str, privileged: bool | None) -> float:
        return nan_if_constant(lambda: figure_of(self.worst_case(privileged), metric))

    def coverage(self) -> dict[str, int]:
        """Rows in each list and in neither: ``"unprivileged"``, ``"privileged"``, ``"neither"``."""
        low = mask_of(self.dataset, self.unprivileged_groups)
        high = mask_of(self.dataset, self.privileged_groups)
        n_low, n_high, n_neither = (int(one.sum()) for one in (low, high, ~low & ~high))
        return {UNPRIVILEGED: n_low, PRIVILEGED: n_high, NEITHER: n_neither}

    def worst_case_subgroup(
        self, dataset: StructuredDataset | None = None, *, privileged: bool | None = None
    ) -> StructuredDataset:
        """Rows of the region of ``worst_case``, as a dataset.

        Parameters
        ----------
        dataset : StructuredDataset or None, default=None
            Dataset to take the rows from: that with the audited labels by default; another with
            the same rows, such as the one with the true labels; or new rows.
        privileged
            As in ``worst_case``.

        Returns
        -------
        subgroup : BinaryLabelDataset
            Both sides of the comparison; empty if nothing was measured. Weights, scores and
            metadata are kept.
        """
        source = self._labelled() if dataset is None else dataset
        inside = self._membership(source, privileged)
        subgroup = source.subset(np.flatnonzero(inside))
        subgroup.metadata.update(
            transformer=f"{type(self).__name__}.worst_case_subgroup",
            params={"privileged": privileged},
        )
        return subgroup

    def annotate(
        self,
        dataset: StructuredDataset | None = None,
        *,
        privileged: bool | None = None,
        name: str = SUBGROUP,
    ) -> StructuredDataset:
        """Copy a dataset with membership in that region as one more protected attribute.

        Any metric or algorithm of AIF360 can then be run on the subgroup; ``subgroup_groups`` gives
        its group lists.

        Parameters
        ----------
        dataset : StructuredDataset or None, default=None
            As in ``worst_case_subgroup``. New rows are judged by the models of the audit.
        privileged
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
        inside = self._membership(source, privileged).astype(float)[:, np.newaxis]
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
            params={"privileged": privileged, "name": name},
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

    def _membership(self, dataset: StructuredDataset, privileged: bool | None) -> np.ndarray:
        """Rows of a dataset in the region of the worst case: out of fold if they were audited."""
        state = self._state()
        worst = self.worst_case(privileged)
        n = len(dataset.features)
        if worst is None:
            return np.zeros(n, dtype=bool)
        member = worst.violation.membership
        if dataset is self._labelled() or dataset is self.dataset:
            return member
        if is_table(self._asked["audit_features"]):
            if n == len(member):
                return member
            raise InputError(
                f"dataset: it has {n:,} rows and audit_features {len(member):,}. New rows can be "
                "judged only if audit_features names features of the dataset."
            )
        X, score = audited_features(dataset, audit_features=list(state.X.columns)), None
        same = X.equals(state.X)
        if state.score is not None:
            score = predicted_numbers(dataset, "dataset.labels")
            same &= np.array_equal(score, state.score)
        return member if same else state.judge(X, worst, score)
