"""What an audit returns: its records and, on top of them, ways to print, store and repeat them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, cleandoc, signature
from types import FunctionType
from typing import Any, TypeVar

from mdfa_fairness_plugin import replicate
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.recorded import features_of, groups_of
from mdfa_fairness_plugin.exceptions import WarningLog
from mdfa_fairness_plugin.fields import said
from mdfa_fairness_plugin.learn.cells import Cells
from mdfa_fairness_plugin.person import pairs as alike
from mdfa_fairness_plugin.pipeline import Audit, AuditSource, audit_provenance, excluded_counts
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.records.audits import by_reason
from mdfa_fairness_plugin.replicate import without
from mdfa_fairness_plugin.report import markdown
from mdfa_fairness_plugin.report.asked import Answers
from mdfa_fairness_plugin.report.cyclonedx import to_cyclonedx
from mdfa_fairness_plugin.report.document import Document
from mdfa_fairness_plugin.report.junit import Case, cases_of, properties_of
from mdfa_fairness_plugin.report.notebooks import fragment_of
from mdfa_fairness_plugin.report.plain import as_json, in_print, to_plain, written
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.reported import ReportedByRow
from mdfa_fairness_plugin.report.stored import stored_fields
from mdfa_fairness_plugin.report.story import tell_page, tell_part
from mdfa_fairness_plugin.settings import Settings

_F = TypeVar("_F")


def _method(function: _F, name: str = "") -> _F:
    """A function of a result as a method, which help shows with no parameter for the result."""
    f: Any = function
    name = name or f.__name__
    own: Any = FunctionType(f.__code__, f.__globals__, name, f.__defaults__, f.__closure__)
    own.__qualname__, own.__kwdefaults__ = f"AuditResult.{name}", f.__kwdefaults__
    own.__annotations__, own.__module__ = f.__annotations__, __name__
    own.__doc__ = re.sub(r"\nresult : .*(\n    .*)*", "", cleandoc(f.__doc__), count=1)
    told = signature(f)
    itself = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    own.__signature__ = told.replace(parameters=[itself, *[*told.parameters.values()][1:]])
    return own  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AuditResult(AuditRecord, ReportedByRow):
    """Everything one audit found, and what it could not see.

    Parameters
    ----------
    violations : tuple of Violation
        One per (group, outcome) search, found or not.
    balance : dict of tuple to object
        Diagnostics keyed by ``(sensitive_feature, group)``, each with ``to_dict()``: maximum
        mean discrepancy before and after, standardised mean differences, effective sample
        size, share outside common support.
    excluded : dict of str to int
        Rows left out, by reason.
    silence : tuple of Silence
        Who could not be compared, one entry per group whose comparison left rows out.
    warnings : tuple of AuditWarning
        What the user was warned of.
    provenance : dict
        Versions (``"versions"``), ``"seed"``, ``"parameters"``, ``"input_hash"``, row counts.
        A ``"timings"`` entry is kept out of reports, so that these stay identical.
    alpha : float or "auto"
        Smallest mass worth reporting, as asked for; what came of it is each violation's ``alpha``.
    confidence_level : float
        Level of the intervals.
    n_samples : int
        Rows the user gave.
    outcome_labels : tuple
        Every outcome label found.
    outcome_name : str
        What the outcome is called; empty if it has no name.
    favorable_label : label or None
        The good outcome, if it was said.
    sensitive_names : tuple of str
        Sensitive columns audited.
    feature_names : tuple of str
        Audited features.
    features : tuple of AuditedFeature
        What was stated of each (``feature_reasons`` of ``MDFAuditor``), how well it tells the groups,
        and the ratio without it (:meth:`with_explained`); empty if neither was asked for.
    statement : dict of str to str
        What those who answer for the audit stated of it (``statement`` of ``MDFAuditor``).
    source : AuditSource or None
        What ``null_distribution``, ``power``, ``stability`` and ``explained`` repeat; None if the
        result was not made by an audit in this process.
    """

    # Nothing is withheld from the result itself.
    excluded: Mapping[str, int] = field(
        default_factory=dict, metadata=said("rule", settle=by_reason)
    )
    n_samples: int = 0

    # What takes the data needs the result that an audit returned.
    as_control_feature = _method(replicate.control_feature, "as_control_feature")
    explained = _method(replicate.explained)
    group_table = _method(replicate.group_table)
    members = _method(replicate.members)
    null_distribution = _method(replicate.null_distribution)
    pairs = _method(alike.pairs)
    power = _method(replicate.power)
    stability = _method(replicate.stability)
    sweep = _method(replicate.sweep)
    with_explained = _method(without.with_explained)
    _repr_html_ = fragment_of

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

    def to_dict(self, *, rows: bool = False, min_cell: int | None = None) -> dict[str, Any]:
        """Give everything in plain Python types, ready for strict JSON.

        See :func:`mdfa_fairness_plugin.report.plain.to_plain` for the conventions.

        Parameters
        ----------
        rows : bool, default=False
            Also tell of every row whether it is in each subgroup (``membership``), whether the
            numbers were measured on it (``held_out``) and whether it has no comparable row
            (``left_out``).
        min_cell : int or None, default=None
            Withhold what ``to_html`` does of counts below this: null stands for it. None keeps all.

        Returns
        -------
        dict
        """
        if min_cell is None:
            return to_plain(self, rows=rows)
        return in_print(to_plain(redact(self, min_cell).result), min_cell, rows=rows)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> AuditResult:
        """Read back what ``to_json`` wrote.

        Reports, tables and ``to_json`` say what they said of the result itself; only the pictures of
        who is inside and of the propensities are missing from the page. What needs the data
        (``measure``, ``members``, ``null_distribution`` and their like) is refused; so is what needs
        the rows, unless they were written (``to_json(rows=True)``).

        Parameters
        ----------
        path : str or path-like
            A file of ``to_json`` or ``mdfa audit --json``.

        Returns
        -------
        result : AuditResult
            Labels as JSON has them: dates and the like are text.

        Raises
        ------
        InputError
            Naming the file and what is wrong with it.
        """
        return AuditResult(**stored_fields(path))

    def to_model_card(
        self, path: str | os.PathLike[str] | None = None, *, min_cell: int = 11
    ) -> str:
        """Give a section of a model card in Markdown.

        Parameters
        ----------
        path, min_cell
            As in ``to_html``.

        Returns
        -------
        str
        """
        return written(markdown.render(tell_part(self, min_cell)), path)

    def to_cyclonedx(
        self, path: str | os.PathLike[str] | None = None, *, min_cell: int = 11
    ) -> str:
        """Give a CycloneDX 1.6 bill of materials in JSON: the audited model with its model card.

        Rates by group, and ratios at equal features of everybody and of each subgroup with their
        intervals (``performanceMetrics``); what was found of each group (``fairnessAssessments``);
        and of ``statement`` what the format has a place for. The same bytes for the same result.

        Parameters
        ----------
        path, min_cell
            As in ``to_html``.

        Returns
        -------
        str
        """
        return written(as_json(to_cyclonedx(self, min_cell)), path)

    def cases(self, min_cell: int = 1) -> Sequence[Case]:
        """Every search and answer, as gates look at it, with what may be printed of it."""
        return cases_of(self, min_cell=min_cell)

    def _properties(self, min_cell: int) -> Mapping[str, Any]:
        return properties_of(redact(self, min_cell).result)

    def _summed(self, min_cell: int) -> Document:
        return tell_part(self, min_cell, "summary")

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        min_cell: int = 11,
        command: str | None = None,
        title: str | None = None,
        source: str | None = None,
        author: str | None = None,
        date: Any = None,
    ) -> str:
        """Give one self-contained page: no scripts, nothing fetched.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.
        min_cell : int, default=11
            Counts of people below this are not printed, nor anything from which one could be
            worked out, so that nobody can be recognised; the page says how many numbers that
            concerns. Verdicts are told whatever they rest on. 1 prints every count; ``to_dict`` and
            ``to_json`` hold them all by default.
        command : str, optional
            What made the result, shown as the way to make it again; by default Python code.
        title, source, author, date : str or None, default=None
            What the page is published as: its heading, where the data come from, who answers for it
            and since when; by default what ``statement`` says of the last three.

        Returns
        -------
        str

        Raises
        ------
        InputError
            If ``min_cell`` is no whole number of at least 1.
        """
        told = {"title": title, "source": source, "author": author, "date": date}
        return self._published(tell_page(self, min_cell, command), path, **told)


def result_of(audit: Audit, log: WarningLog, seconds: float) -> AuditResult:
    """An audit as a result, with what it takes to repeat it."""
    problem, settings = audit.problem, audit.settings
    return AuditResult(
        violations=audit.violations,
        balance=audit.balance,
        excluded=excluded_counts(audit),
        silence=audit.silence,
        groups=groups_of(problem),
        features=features_of(problem, audit.violations) if problem.reasons else (),
        warnings=log.records,
        provenance=audit_provenance(audit, seconds),
        statement=settings.statement or {},
        sensitive_names=tuple(dict.fromkeys(c.sensitive_feature for c in problem.contrasts)),
        **asked_of(problem, audit.asked, audit.cells),
    )


def asked_of(
    problem: AuditProblem, asked: Settings, cells: tuple[Cells, ...] = ()
) -> dict[str, Any]:
    """What a result says of its rows and of what was asked of them, whatever was found."""
    return {
        "alpha": asked.alpha,
        "confidence_level": float(asked.confidence_level),
        "n_samples": problem.n_samples,
        "outcome_labels": problem.outcome_labels,
        "outcome_name": problem.words.outcome_name,
        "favorable_label": problem.words.favorable,
        "feature_names": tuple(display.name for display in problem.encoder.displays_),
        "source": AuditSource(problem=problem, settings=asked, cells=cells),
    }
