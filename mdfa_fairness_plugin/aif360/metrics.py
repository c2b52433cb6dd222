"""AIF360's metric classes with the audit among their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdfa_fairness_plugin.aif360.groups import ByRow, Features, Groups, Protected, check_lists
from mdfa_fairness_plugin.aif360.methods import AuditMethods
from mdfa_fairness_plugin.aif360.reading import (
    check_same_features,
    check_same_people,
    compared_without_features,
    has_numbers,
)
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.data.events import check_event
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.settings import is_choice, shown

if TYPE_CHECKING:
    from aif360.datasets import StructuredDataset
    from aif360.metrics import BinaryLabelDatasetMetric, ClassificationMetric, DatasetMetric
else:
    DatasetMetric = part("metrics").DatasetMetric
    BinaryLabelDatasetMetric = part("metrics").BinaryLabelDatasetMetric
    ClassificationMetric = part("metrics").ClassificationMetric


def _lists(
    dataset: StructuredDataset, unprivileged_groups: Groups, privileged_groups: Groups
) -> dict[str, Groups]:
    """Group lists as AIF360's classes take them; of what is no dataset AIF360 says what is wrong."""
    if hasattr(dataset, "protected_attribute_names"):
        check_lists(dataset, unprivileged_groups, privileged_groups)
    return {"unprivileged_groups": unprivileged_groups, "privileged_groups": privileged_groups}


class MDFADatasetMetric(AuditMethods, BinaryLabelDatasetMetric):
    """Metrics of a dataset's own labels, the worst-case violation among them.

    Every metric of AIF360's ``BinaryLabelDatasetMetric`` is there too, without its memory of
    earlier answers: all follow the dataset's labels.

    Parameters
    ----------
    dataset : BinaryLabelDataset or RegressionDataset
        Its labels are audited, as numbers if they are some (which a ``RegressionDataset`` scales to
        shares of their range, 0 to 1; ``favorable="low"`` if less is good), and of AIF360's own
        metrics those are there that need no favorable label. Its features, without the protected
        attributes, say who is alike.
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
    exposure : str, array-like of shape (n,) or None, default=None
        What counts are divided by, likewise, as in ``MDFAuditor.fit``; the values for a
        ``RegressionDataset``, which scales features, and shifts counts of which the least is not 0: set
        its ``labels`` to the counts then.
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
    ... )
    >>> metric.worst_case().verdict
    'violation'
    """

    def __init__(
        self,
        dataset: StructuredDataset,
        unprivileged_groups: Groups = None,
        privileged_groups: Groups = None,
        *,
        audit_features: Features = None,
        include_protected: Protected = False,
        clusters: ByRow = None,
        exposure: ByRow = None,
        **auditor: Any,
    ) -> None:
        lists = _lists(dataset, unprivileged_groups, privileged_groups)
        if has_numbers(dataset):
            self.event = "score"
            DatasetMetric.__init__(self, dataset, **lists)
        else:
            super().__init__(dataset, **lists)
        self._keep(audit_features, include_protected, clusters, exposure, auditor)


class MDFAClassificationMetric(AuditMethods, ClassificationMetric):
    """Metrics of a classifier's labels, the worst-case violation among them.

    Every metric of AIF360's ``ClassificationMetric`` is there too, without its memory of earlier
    answers: all follow both datasets' labels.

    Parameters
    ----------
    dataset : BinaryLabelDataset or RegressionDataset
        With the true labels and the instance weights.
    classified_dataset : BinaryLabelDataset or RegressionDataset
        Its labels are audited, or its scores.
    unprivileged_groups, privileged_groups : list of dict or None, default=None
        As in ``MDFADatasetMetric``.
    event : str, default="selection"
        What is compared. "selection": the labels, whatever the true ones. The others are rates of
        AIF360: of false positives among rows whose true label is unfavorable, of false negatives or
        true positives among those whose true label is favorable, of wrong labels among all. The
        favorable outcome is to be given the favorable label, wrongly ("false_positive") or rightly
        ("true_positive"), and with "error" the right one ("correct"). Rows that the rate is not
        about are not compared, and counted. Of a ``RegressionDataset`` the predicted "score",
        "residual" (true minus predicted), "absolute_error", "overprediction" or "calibration", as in
        ``mdfa_fairness_plugin.fairlearn``, on the dataset's scale, with ``favorable="high"`` (default)
        or ``"low"``; of the ``scores`` of a ``BinaryLabelDataset`` "score", or "calibration": the true
        labels of people at the same score.
    features_from : {"dataset", "classified_dataset"} or None, default=None
        Whose features say who is alike. Needed only where the two differ, as after
        ``DisparateImpactRemover`` or ``LFR``, which AIF360's class refuses.
    audit_features, include_protected, clusters, exposure, **auditor
        As in ``MDFADatasetMetric``.

    Raises
    ------
    InputError
        If the lists overlap, name no protected attribute, or an argument is unknown.
    """

    _audited = "classified_dataset"

    def __init__(
        self,
        dataset: StructuredDataset,
        classified_dataset: StructuredDataset,
        unprivileged_groups: Groups = None,
        privileged_groups: Groups = None,
        *,
        event: str = "selection",
        features_from: str | None = None,
        audit_features: Features = None,
        include_protected: Protected = False,
        clusters: ByRow = None,
        exposure: ByRow = None,
        **auditor: Any,
    ) -> None:
        check_event(event)
        if not is_choice(features_from, (None, "dataset", "classified_dataset")):
            raise InputError(
                "features_from: 'dataset', 'classified_dataset' or None expected, "
                f"{shown(features_from)} found."
            )
        lists = _lists(dataset, unprivileged_groups, privileged_groups)
        if features_from is None:
            check_same_features(dataset, classified_dataset)
        with compared_without_features(dataset, classified_dataset):
            if has_numbers(dataset) and has_numbers(classified_dataset):
                DatasetMetric.__init__(self, dataset, **lists)
                self.classified_dataset = classified_dataset
                check_same_people(dataset, classified_dataset)
            else:
                super().__init__(dataset, classified_dataset, **lists)
        self.event = event
        self._features_from = features_from
        self._keep(audit_features, include_protected, clusters, exposure, auditor)
