"""What can be asked of a result beyond what it says: the audit repeated, and rows somebody names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mdfa_fairness_plugin.person.pairs import pairs
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.replicate import (
    Explained,
    NullDistribution,
    PlantedPower,
    Stability,
    Sweep,
    control_feature,
    explained,
    group_pairs,
    group_table,
    measure_asked,
    members,
    null_distribution,
    power,
    stability,
    sweep,
)
from mdfa_fairness_plugin.report.asked import Answers


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Questions(AuditRecord):
    """A result that answers; what takes the data needs the result that an audit returned."""

    n_samples: int = 0  # a result itself withholds nothing

    def as_control_feature(
        self, name: str = "mdfa_subgroup", *, violation: Violation | None = None, index: Any = None
    ) -> pd.Series:
        """Tell who is inside the worst-treated subgroup, as a control feature of Fairlearn.

        Parameters
        ----------
        name : str, default="mdfa_subgroup"
        violation : Violation or None, default=None
            Search whose subgroup is meant; None: that of ``worst_harm`` if a favourable outcome was
            said, else of ``worst_case``.
        index : array-like of shape (n_samples,) or None, default=None
            Index of the Series; None: that of the data audited. Positions where they had none, and
            where the result was read from a file.

        Returns
        -------
        feature : Series of str of shape (n_samples,)
            "inside" or "outside", by a model that has not seen the row; "not comparable" without
            anybody alike on the other side, and everywhere if nothing could be measured; after a
            70/30 split "not held out" for rows the search learned from, which would flatter it. Rows
            on neither side (no known sensitive value, no weight, a third group) are told by their
            features.

        Examples
        --------
        >>> from mdfa_fairness_plugin import AuditResult, Violation
        >>> violation = Violation(group="f", outcome=1, membership=[True, False])
        >>> AuditResult(violations=(violation,), n_samples=2).as_control_feature(
        ...     violation=violation
        ... ).tolist()
        ['inside', 'outside']
        """
        return control_feature(self, name, violation, index)

    def null_distribution(
        self,
        n_draws: int = 199,
        *,
        n_jobs: int | None = None,
        random_state: int | None = None,
        progress: bool = False,
    ) -> NullDistribution:
        """Repeat the whole audit with sensitive values redrawn given the features.

        Says where the observed violations fall among what the same search finds where there is
        nothing to find. See :func:`mdfa_fairness_plugin.replicate.null_distribution`.

        Parameters
        ----------
        n_draws : int, default=199
        n_jobs, random_state, progress
            Draws at a time; seed, None for the audit's own; whether to show a progress bar.

        Returns
        -------
        null : NullDistribution
        """
        return null_distribution(
            self, n_draws, n_jobs=n_jobs, random_state=random_state, progress=progress
        )

    def stability(
        self,
        n_repeats: int = 20,
        *,
        n_jobs: int | None = None,
        random_state: int | None = None,
        progress: bool = False,
    ) -> Stability:
        """Repeat the audit on half samples and compare the people it finds.

        See :func:`mdfa_fairness_plugin.replicate.stability`.

        Parameters
        ----------
        n_repeats : int, default=20
        n_jobs, random_state, progress
            Repeats at a time; seed, None for the audit's own; whether to show a progress bar.

        Returns
        -------
        stability : Stability
        """
        return stability(
            self, n_repeats, n_jobs=n_jobs, random_state=random_state, progress=progress
        )

    def measure(
        self, where: Any, *, extra: Any = None, violation: Violation | None = None
    ) -> Answers:
        """Measure rows that somebody names: whether a group among them is treated worse.

        See :func:`mdfa_fairness_plugin.replicate.measure_asked`. What was thought of after looking at
        these rows is not confirmed by them.

        Parameters
        ----------
        where : str, array-like of bool, callable, or several of these
            Such as ``"age < 25 and priors >= 3"``; several are one family.
        extra : table of shape (n_samples, n_columns), optional
            Columns beside the audited features that may be named.
        violation : Violation or None, default=None
            Search whose group and outcome are meant; None: those of every search.

        Returns
        -------
        answers : tuple of AskedSubgroup
            One per question and search, with ``to_frame()`` and ``summary()``.
        """
        return Answers(measure_asked(self, where, extra=extra, violation=violation))

    def group_pairs(self) -> Answers:
        """Measure every group beside every other one, among all rows of the two, without a search.

        See :func:`mdfa_fairness_plugin.replicate.group_pairs`.

        Returns
        -------
        answers : tuple of AskedSubgroup
            One per ordered pair and outcome, with ``to_frame()`` and ``summary()``.
        """
        return Answers(group_pairs(self))

    def group_table(
        self,
        reference: Any = "highest",
        *,
        exclude_below: float | None = None,
        exclude_reason: str | None = None,
        scores: Any = None,
    ) -> pd.DataFrame:
        """Give every group's favourable outcomes beside those of a reference, without a search.

        Counts, rates, impact ratios, differences in points, also at equal features, tests, shortfall
        and flips: see :func:`mdfa_fairness_plugin.replicate.group_table`. Nothing passes or fails.

        Parameters
        ----------
        reference : {"highest", "others"}, value or dict, default="highest"
            The group with the highest rate, all others, or a sensitive value, one per feature.
        exclude_below : float or None, default=None
            Groups with a smaller share of the rows are not compared; their count and rate stay.
        exclude_reason : str or None, default=None
            Why.
        scores : array-like of float of shape (n_samples,) or None, default=None
            The favourable outcome is a score above the median of all rows.

        Returns
        -------
        table : DataFrame
            A row per group, then per combination of sensitive features, then without a known value.
        """
        return group_table(
            self,
            reference,
            exclude_below=exclude_below,
            exclude_reason=exclude_reason,
            scores=scores,
        )

    def sweep(
        self,
        scores: Any,
        thresholds: Sequence[float],
        *,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Sweep:
        """Audit the outcome "a score of at least this" at every threshold, each from scratch.

        See :func:`mdfa_fairness_plugin.replicate.sweep`. No verdict is given on the cut that looks
        best.

        Parameters
        ----------
        scores : array-like of float of shape (n_samples,)
        thresholds : sequence of float
        n_jobs, progress
            Thresholds at a time; whether to show a progress bar.

        Returns
        -------
        sweep : Sweep
        """
        return sweep(self, scores, thresholds, n_jobs=n_jobs, progress=progress)

    def explained(self, *, n_jobs: int | None = None, progress: bool = False) -> Explained:
        """Measure the subgroups again with each feature left out in turn: what it explains.

        Says which features carry the difference between the rates as observed and at equal features.
        See :func:`mdfa_fairness_plugin.replicate.explained`.

        Parameters
        ----------
        n_jobs, progress
            Features at a time; whether to show a progress bar.

        Returns
        -------
        explained : Explained
        """
        return explained(self, n_jobs=n_jobs, progress=progress)

    def power(
        self,
        ratio: float | None = None,
        n_draws: int = 40,
        *,
        difference: float | None = None,
        violation: Violation | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        progress: bool = False,
    ) -> PlantedPower:
        """Plant a violation into the audit's own rows and count how often it is found.

        In random boxes and half-spaces of two features, of the ``detectable_mass``. See
        :func:`mdfa_fairness_plugin.replicate.power`.

        Parameters
        ----------
        ratio : float or None, default=None
            Ratio of the rates; None: the ``detectable_ratio`` that the search states.
        n_draws : int, default=40
        difference : float or None, default=None
            Where means are compared by their difference, that; None: the ``detectable_difference``.
        violation : Violation or None, default=None
            Search that has to find it; None: that of the worst case.
        n_jobs, random_state, progress
            Draws at a time; seed, None for the audit's own; whether to show a progress bar.

        Returns
        -------
        power : PlantedPower
        """
        return power(
            self,
            ratio,
            n_draws,
            difference=difference,
            violation=violation,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
        )

    def members(self, *, violation: Violation | None = None) -> pd.DataFrame:
        """Tell who they are, as rows.

        Parameters
        ----------
        violation : Violation or None, default=None
            Search meant; None: every one that could be made.

        Returns
        -------
        members : DataFrame
            One row per audited row and search, with the index of the audited data (positions if they
            had none). ``inside``: in the subgroup, by models that had not seen the row. ``score``:
            how unequally it seems to be treated, larger is worse; NaN where not compared. ``side``:
            "group", "others" or "neither" (another value, or none that is known). ``comparable``:
            has rows like it on the other side, so that the search speaks of it. ``held_out``: among
            the rows that the figures are of.

        Raises
        ------
        InputError
            If the result does not hold its rows, as that of a distributed audit.
        """
        return members(self, violation)

    def pairs(self, n: int = 50, *, violation: Violation | None = None) -> pd.DataFrame:
        """Put people of the group who fared badly beside others most like them who did not.

        For a review of files: see :func:`mdfa_fairness_plugin.person.pairs.pairs`. Unlike outcomes of
        two similar people can be chance.

        Parameters
        ----------
        n : int, default=50
            Pairs at most, the most alike first.
        violation : Violation or None, default=None
            Search whose subgroup, group and outcome are meant; None: the worst case.

        Returns
        -------
        pairs : DataFrame
            Two rows per pair: distance, side, sensitive value, outcome and every feature.
        """
        return pairs(self, n, violation)
