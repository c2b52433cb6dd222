"""Repairs of what the classifier is fitted to: its features and the weights of its rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from mdfa_fairness_plugin._optional import import_optional
from mdfa_fairness_plugin.aif360.toolkit import part, quiet
from mdfa_fairness_plugin.data.columns import listing
from mdfa_fairness_plugin.exceptions import InputError, RepairWarning, WarningLog
from mdfa_fairness_plugin.repairs.classifier import LogisticClassifier, is_number
from mdfa_fairness_plugin.repairs.report import (
    AS_CATEGORIES,
    REPAIRED,
    STILL_TELLS,
    Quantity,
    describe_columns,
    gap_by_chance,
    largest_gap,
    mean_gap,
)
from mdfa_fairness_plugin.repairs.toolkits import (
    SENSITIVE,
    aif360_dataset,
    drawn,
    fairlearn,
    group_lists,
)

# The general repairer takes time by the square of a column's values.
_MOST_VALUES = 200


class DisparateImpactClassifier(LogisticClassifier):
    """Logistic classifier on features from which the group cannot be told, ``DI-LC``.

    Feldman et al. (2015) give each feature the same distribution in both groups. Numbers are moved by
    AIF360's ``DisparateImpactRemover``, which keeps their order within each group. Text, and whatever
    has two values, is repaired by the general repairer of BlackBoxAuditing, on which AIF360's rests: a
    category keeps the smaller of its two shares, and rows drawn at random get another. The
    classifier does not see the sensitive value: columns that repeat it are left out.

    Needs AIF360 and BlackBoxAuditing. Rows are repaired among those of the same call of ``predict``,
    each column for itself. The remover matches the numbers that occur, not how often they do: where
    the same ones occur in both groups, as ages do, it leaves the groups apart. Such numbers are
    repaired as categories, if there are at most 200, where that leaves them less apart in the rows of
    the fit. A ``RepairWarning`` names the columns that still tell the groups apart, and ``report_``
    says how each was repaired, and what is left. Time grows with the square of the rows where there are
    categories: seconds for 100,000, minutes for a million.
    """

    _needs_sensitive = True
    _needs_sensitive_to_predict = True
    _needs_two_groups = True
    _method = "DisparateImpactRemover of AIF360, categories by BlackBoxAuditing's general repairer"

    def __init__(self, estimator=None, random_state=None, repair_level=1.0):
        super().__init__(estimator, random_state)
        self.repair_level = repair_level

    def _seen(self, frame: pd.DataFrame, sides: Any) -> list[Hashable]:
        if not 0 <= self.repair_level <= 1:
            raise InputError(f"repair_level: from 0 to 1 is needed, {self.repair_level!r} found.")
        seen = [name for name in frame if not _repeats(frame[name], sides)]
        if not seen:
            raise InputError("X: every column only repeats the sensitive value; pass others.")
        self._numbers = [one for one in seen if is_number(frame[one]) and frame[one].nunique() > 2]
        self._as_categories = self._better_as_categories(frame, sides)
        self._numbers = [name for name in self._numbers if name not in self._as_categories]
        return seen

    def _better_as_categories(self, frame: pd.DataFrame, sides: Any) -> list[Hashable]:
        """Numbers that the remover leaves apart between the groups, and the general repairer less."""
        numbers = frame[self._numbers].to_numpy(dtype=float)
        left = {}
        for name, before, after in zip(
            self._numbers, numbers.T, self._moved(numbers, sides).T, strict=True
        ):
            asked = (1 - float(self.repair_level)) * largest_gap(before, sides)
            few, gap = frame[name].nunique() <= _MOST_VALUES, largest_gap(after, sides)
            if few and gap > max(asked, gap_by_chance(sides)):
                left[name] = gap
        redrawn = self._redrawn(frame[list(left)], numbers, sides)
        return [name for name in left if largest_gap(redrawn[name].to_numpy(), sides) < left[name]]

    def _treated(self, frame: pd.DataFrame, sides: Any) -> pd.DataFrame:
        if len(np.unique(sides)) < 2:
            raise InputError(
                "sensitive_features: rows are repaired among those predicted together, and these "
                "are of one group only; predict rows of both groups at once."
            )
        numbers = frame[self._numbers].to_numpy(dtype=float)
        others = frame.drop(columns=self._numbers)
        moved = pd.DataFrame(self._moved(numbers, sides), frame.index, self._numbers)
        return moved.join(self._redrawn(others, numbers, sides))[frame.columns]

    def _moved(self, Z: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Numbers by AIF360's remover."""
        preprocessing = part("algorithms.preprocessing")  # AIF360 itself comes first.
        self._general_repairer()
        dataset = aif360_dataset(Z, np.zeros(len(Z), dtype=np.intp), sides)
        with drawn(self._seed), quiet():  # It draws for the sensitive column, which is thrown away.
            remover = preprocessing.DisparateImpactRemover(
                repair_level=float(self.repair_level), sensitive_attribute=SENSITIVE
            )
            repaired = remover.fit_transform(dataset)
        kept = [i for i, name in enumerate(repaired.feature_names) if name != SENSITIVE]
        return np.asarray(repaired.features, dtype=float)[:, kept]

    def _redrawn(self, frame: pd.DataFrame, numbers: np.ndarray, sides: np.ndarray) -> pd.DataFrame:
        """Categories by the general repairer; who gets another does not depend on the rows' order."""
        if not frame.shape[1]:
            return frame
        spelled = [np.array([repr(value) for value in frame[name]], object) for name in frame]
        read = [np.unique(one, return_index=True, return_inverse=True) for one in spelled]
        codes = np.column_stack([sides, *(inverse for _, _, inverse in read)])
        order = np.lexsort([*codes.T, *numbers.T])
        rows = [[str(code) for code in row] for row in codes[order].tolist()]
        with drawn(self._seed), quiet():
            # As in an audit, the first column tells the groups apart and stays as it is.
            repairer = self._general_repairer()(rows, 0, float(self.repair_level), True)
            repaired = repairer.repair(rows)
        places = np.empty_like(codes)
        places[order] = np.array(repaired, dtype=np.intp)
        columns = zip(frame, read, places.T[1:], strict=True)
        taken = {name: frame[name].take(first[own]) for name, (_, first, _), own in columns}
        return pd.DataFrame({name: own.set_axis(frame.index) for name, own in taken.items()})

    @staticmethod
    def _general_repairer() -> Any:
        with quiet():
            return import_optional(
                "BlackBoxAuditing.repairers.GeneralRepairer",
                extra="repairs",
                feature="DI-LC: AIF360's DisparateImpactRemover",
            ).Repairer

    def _told(self, before: np.ndarray, after: np.ndarray, sides: Any) -> list[dict[str, Any]]:
        level = float(self.repair_level)
        rows = describe_columns(self._encoder, (before, after), sides, level, largest_gap)
        for row in rows:
            if row["treatment"] == REPAIRED and row["column"] in self._as_categories:
                row["treatment"] = AS_CATEGORIES
        alone = [self._names[row["column"]] for row in rows if row["treatment"] == STILL_TELLS]
        if alone:
            WarningLog().warn(
                RepairWarning,
                f"X: after DI-LC the groups can still be told apart by {listing(alone)}. Leave such "
                "columns out, or join values that are rare; report_ has each column's gap between the "
                "groups.",
            )
        return rows


class DecorrelatedClassifier(LogisticClassifier):
    """Logistic classifier on features uncorrelated with the group, by ``CorrelationRemover``.

    ``Decorrelated-LC``. Group means are alike afterwards; a classifier that is not linear may still
    tell the groups apart.
    """

    _needs_sensitive = True
    _needs_sensitive_to_predict = True
    _method = "CorrelationRemover of Fairlearn"

    def __init__(self, estimator=None, random_state=None, alpha=1.0):
        super().__init__(estimator, random_state)
        self.alpha = alpha

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha: from 0 to 1 is needed, {self.alpha!r} found.")
        n_groups = len(self._groups)
        # One indicator fewer than there are groups: the last follows from the others.
        self._remover = fairlearn("preprocessing").CorrelationRemover(
            sensitive_feature_ids=list(range(n_groups - 1)), alpha=float(self.alpha)
        )
        self._remover.fit(self._with_indicators(Z, sides))
        return super()._fit(self._cleaned(Z, sides), codes, sides)

    def _predict(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._model.predict(self._cleaned(Z, sides))

    def _cleaned(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        return self._remover.transform(self._with_indicators(Z, sides))

    def _with_indicators(self, Z: np.ndarray, sides: Any) -> np.ndarray:
        indicators = sides[:, np.newaxis] == np.arange(1, len(self._groups))
        return np.column_stack([indicators.astype(float), Z])

    def _told(self, before: np.ndarray, after: np.ndarray, sides: Any) -> list[dict[str, Any]]:
        tables = before, self._cleaned(before, sides)
        return describe_columns(self._encoder, tables, sides, float(self.alpha), mean_gap)


class ReweighingClassifier(LogisticClassifier):
    """Logistic classifier fitted with AIF360's ``Reweighing`` (Kamiran and Calders 2012).

    ``Reweighing-LC``. Rows are weighted so that label and sensitive value are independent.
    """

    _needs_sensitive = True
    _needs_two_groups = True
    _method = "Reweighing of AIF360"

    def _fit(self, Z: np.ndarray, codes: np.ndarray, sides: Any) -> Iterator[Quantity]:
        preprocessing = part("algorithms.preprocessing")
        dataset = aif360_dataset(np.empty((len(Z), 0)), codes, sides)
        with quiet():
            weighted = preprocessing.Reweighing(**group_lists()).fit_transform(dataset)
        weights = weighted.instance_weights
        self._model = self._base().fit(Z, codes, sample_weight=weights)
        for side, group in enumerate(self._groups):
            for code, label in enumerate(self._outcomes):
                cell = weights[(sides == side) & (codes == code)]
                yield "weight of a row", group, label, float(cell[0]) if len(cell) else np.nan


def _repeats(column: pd.Series, sides: np.ndarray) -> bool:
    """Whether a column has one value in each group and another in the other."""
    low, high = (column[sides == side].unique() for side in (0, 1))
    return len(low) == len(high) == 1 and low[0] != high[0]
