"""Old findings on new rows: the rules that an audit told, measured without a search."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.arguments import checked_settings, problem_of
from mdfa_fairness_plugin.comparison.changes import named_search, notes_on, notes_section
from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.conditions import EVERYBODY, Condition, Rule
from mdfa_fairness_plugin.describe.profile import feature_kinds
from mdfa_fairness_plugin.describe.wording import clean, count, label_text
from mdfa_fairness_plugin.exceptions import InputError, OverlapError, WarningLog
from mdfa_fairness_plugin.provenance import provenance_of
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    VIOLATION,
    AskedSubgroup,
    Violation,
    harmful,
    ranked,
)
from mdfa_fairness_plugin.replicate.asked import Question, answers_to
from mdfa_fairness_plugin.replicate.repeats import prepared
from mdfa_fairness_plugin.report.asked import Answers, asked_section
from mdfa_fairness_plugin.report.document import Bullets, Document, Paragraphs, Section
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.junit import Case, cases_of, properties_of
from mdfa_fairness_plugin.report.plain import in_print, plain_value
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.reported import Reported
from mdfa_fairness_plugin.report.stored import stored_part
from mdfa_fairness_plugin.report.story import warnings_section
from mdfa_fairness_plugin.results import AuditResult, asked_of
from mdfa_fairness_plugin.settings import draw_seed

_FORMAT: Final = "mdfa-measured-again"
_NOTE: Final = (
    "The rules were there before these rows were looked at, and nothing was searched for here, so "
    "nothing is taken off for a search. p is adjusted over the rules measured. Confirmed is what is a "
    "violation on the new rows too; what is not confirmed may still hold: see its interval."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredAgain(Reported):
    """Old findings on new rows.

    Parameters
    ----------
    old : AuditResult
    places : tuple of int
        Which of its ``violations`` were measured again.
    result : AuditResult
        Of the new rows, without searches: ``asked`` has an answer for each finding.
    notes : tuple of str
        Whether the same persons may stand in both, and what makes the two not comparable.
    """

    old: AuditResult
    places: tuple[int, ...]
    result: AuditResult
    notes: tuple[str, ...]

    @property
    def answers(self) -> tuple[AskedSubgroup, ...]:
        """One per finding."""
        return self.result.asked

    @property
    def confirmed(self) -> tuple[bool, ...]:
        """Whether each finding, or without one the worst case, is a violation on the new rows."""
        return tuple(own.verdict == VIOLATION for own in self.answers)

    def to_frame(self) -> pd.DataFrame:
        """Give one row per finding; ``asked`` is its rule."""
        return Answers(self.answers).to_frame().assign(confirmed=list(self.confirmed))

    def to_dict(self, *, min_cell: int | None = None) -> dict[str, Any]:
        """Give the answers and notes in plain Python types, ready for strict JSON."""
        answers = redact(self.result, 1 if min_cell is None else min_cell).result.asked
        plain = {"format": _FORMAT, "answers": plain_value(answers)}
        plain |= {"confirmed": [*self.confirmed], "notes": [*self.notes]}
        return plain if min_cell is None else in_print(plain, min_cell, rows=False)

    def cases(self, min_cell: int = 1) -> Sequence[Case]:
        """The answers, as gates look at them, with what may be printed of them."""
        return cases_of(self.result, min_cell=min_cell)

    def _properties(self, min_cell: int) -> Mapping[str, Any]:
        return properties_of(redact(self.result, min_cell).result)

    def _page(self, min_cell: int) -> Document:
        old, new = (redact(own, min_cell).result for own in (self.old, self.result))
        answers, found = new.asked, [old.violations[place] for place in self.places]
        before = tuple(map(_finding, found, answers))
        n = sum(self.confirmed)
        headline = f"{n} of {count(len(answers), 'finding')} confirmed on the new rows."
        if any(own.verdict != VIOLATION for own in found):  # then it is the worst case
            now = "unequal" if n else "not found unequal"
            headline = f"Nothing was found before; the worst case then is {now} on the new rows."
        asked = asked_section(answers, _NOTE)
        return Document(
            "Old findings on new rows",
            (
                Section("headline", "", (Paragraphs((headline,), "headline"),)),
                Section("findings", "What was found before", (Bullets(before),)),
                Section(asked.key, "What holds", asked.blocks),
                notes_section(self.notes),
                warnings_section(new.warnings),
            ),
        )


def _finding(old: Violation, answer: AskedSubgroup) -> str:
    """One finding, and whether it is confirmed."""
    effect = effect_of(old)
    own = old.rule_subgroup
    found = own if own.measured and old.rule != EVERYBODY else old
    withheld = not found.measured and effect.fields[0] in found.withheld
    size = "withheld" if withheld else effect.spanned(found)
    who = f"{label_text(old.sensitive_feature)} = {label_text(old.group)}"
    told = {VIOLATION: "confirmed", INSUFFICIENT: "not enough evidence"}
    fails = "not confirmed"
    if old.verdict != VIOLATION:  # the worst case
        told[VIOLATION], fails = "unequal beyond chance now", "not found unequal"
    return (
        f'{clean(answer.label, 400)}, {who}, outcome "{label_text(old.outcome)}": '
        f"{effect.name} {size} before; "
        f"{told.get(answer.verdict, fails)}."
    )


def measure_again(
    old: AuditResult,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    clusters: Any = None,
    exposure: Any = None,
    name: str | os.PathLike[str] = "old",
    **params: Any,
) -> MeasuredAgain:
    """Measure the rules of an audit's violations on new rows, without a search.

    Parameters
    ----------
    old : AuditResult
        Also one read back from its JSON. Without a violation its worst case is measured.
    X, y, sensitive_features, sample_weight, clusters, exposure
        The new rows, as for ``audit``.
    name : str or path-like, default="old"
        File that ``old`` was read from, for errors.
    **params
        Of ``MDFAuditor``, those of the old audit.

    Returns
    -------
    measured : MeasuredAgain

    Raises
    ------
    InputError
        If nothing was found, a rule names what the new rows lack, or these are the old ones.
    OverlapError
        If no group shares enough ground with the others to be compared.
    """
    found = findings_of(old)
    asked, log = checked_settings(**params), WarningLog()
    asked = asked.reseeded(draw_seed(asked.random_state))
    rows = {"clusters": clusters, "exposure": exposure}
    problem = problem_of(X, y, sensitive_features, sample_weight, asked, log, **rows)
    if problem.input_hash == old.provenance.get("input_hash"):
        raise InputError(
            "X: these are the rows that the findings are from (their hashes are equal), which cannot "
            "confirm them; new rows are needed."
        )
    ready = prepared(problem, asked)
    if ready is None:
        raise OverlapError("X: no group shares enough ground with the others to be compared.")
    searches, settings = ready
    by_name = {named_search(search.key): search for search in searches}
    questions, file = [], os.fspath(name)
    for own in found:
        key = named_search(own.key)
        if key not in by_name:
            who = f"{own.sensitive_feature} = {label_text(own.group)}"
            raise InputError(
                f"X: the new rows have no search of {who} with outcome {label_text(own.outcome)!r}, "
                "which the old audit found."
            )
        rule = own.rule or own.rule_subgroup.rule
        questions.append(Question(rule, rule, by_name[key], _inside(own, rule, problem, file)))
    result = AuditResult(
        asked=answers_to(questions, problem, settings),
        warnings=log.records,
        provenance=provenance_of(
            asked,
            solver=settings.solver,
            balance=settings.balance,
            input_hash=problem.input_hash,
            n_samples=problem.n_samples,
            n_working_rows=problem.n_rows,
            n_clusters=problem.n_clusters,
            weight_type=problem.weight_type,
            **{name: old.provenance[name] for name in ("where",) if name in old.provenance},
        ),
        sensitive_names=old.sensitive_names,
        **asked_of(problem, asked),
    )
    places = tuple(old.violations.index(own) for own in found)
    return MeasuredAgain(old=old, places=places, result=result, notes=notes_on(old, result))


def findings_of(old: AuditResult) -> tuple[Violation, ...]:
    """Violations with a rule, or else the worst case; advantage is none."""
    told = [own for own in harmful(ranked(old.violations)) if own.rule or own.rule_subgroup.rule]
    found = [own for own in told if own.verdict == VIOLATION]
    found = found or [own for own in told if own is old.worst_case]
    if not found:
        raise InputError(
            "old: the audit found nobody whom a rule describes, so that there is nothing to measure "
            "again."
        )
    return tuple(found)


def _inside(own: Violation, rule: str, problem: AuditProblem, name: str) -> np.ndarray:
    """Rows of new data that meet the rule, bool (n_rows,)."""
    if not own.rule_conditions:
        if rule != EVERYBODY:
            raise InputError(f"{name}: the conditions of the rule {rule!r} are missing.")
        return np.ones(problem.n_rows, dtype=bool)
    shown, kinds = problem.display, feature_kinds(problem.display, problem.encoder.displays_)
    places = {label_text(column): place for place, column in enumerate(shown.columns)}

    def moved(given: Any) -> Condition:
        """A condition of the old rows as one of the new ones."""
        own = given
        if not isinstance(given, Condition):
            known = Condition.__dataclass_fields__
            own = stored_part(name, Condition, given, "rule_conditions", known)
        place = places.get(own.name)
        if place is None:
            raise InputError(
                f"X: the rule {rule!r} names {own.name!r}, which is no audited feature of the new "
                f"rows; those are {', '.join(places)}."
            )
        if kinds[place] != own.kind:
            raise InputError(
                f"X: the rule {rule!r} asks of {own.name!r} as {own.kind}; in the new rows it is "
                f"{kinds[place]}."
            )
        return replace(own, column=place)

    parts = tuple(tuple(map(moved, part)) for part in own.rule_conditions)
    return Rule(text=rule, alternatives=parts).applies(shown)
