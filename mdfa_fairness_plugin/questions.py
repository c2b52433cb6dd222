"""What can be asked of a result beyond what it says: the audit repeated, and rows somebody names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mdfa_fairness_plugin import replicate
from mdfa_fairness_plugin.person import pairs as alike
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.report.asked import Answers


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Questions(AuditRecord):
    """A result that answers; what takes the data needs the result that an audit returned."""

    n_samples: int = 0  # a result itself withholds nothing

    as_control_feature = replicate.control_feature
    explained = replicate.explained
    group_table = replicate.group_table
    members = replicate.members
    null_distribution = replicate.null_distribution
    pairs = alike.pairs
    power = replicate.power
    stability = replicate.stability
    sweep = replicate.sweep

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
        return Answers(replicate.measure_asked(self, where, extra=extra, violation=violation))

    def group_pairs(self) -> Answers:
        """Measure every group beside every other one, among all rows of the two, without a search.

        See :func:`mdfa_fairness_plugin.replicate.group_pairs`.

        Returns
        -------
        answers : tuple of AskedSubgroup
            One per ordered pair and outcome, with ``to_frame()`` and ``summary()``.
        """
        return Answers(replicate.group_pairs(self))
