"""An audit as a document: a function for each section."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mdfa_fairness_plugin.data.held import NOT_HELD_EQUAL
from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import (
    clean,
    count,
    is_missing,
    label_text,
    named,
    percent,
    plain_label,
)
from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NO_COMPARABLE_ROW,
    VIOLATION,
    AuditRecord,
    Measured,
    Violation,
    harmful,
    ranked,
)
from mdfa_fairness_plugin.report import estimates, legends, tables
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.asked import asked_section
from mdfa_fairness_plugin.report.document import (
    EVERYWHERE,
    HTML,
    MARKDOWN,
    PAGE,
    PLAIN,
    TEXT,
    Beside,
    Block,
    Bullets,
    Code,
    Document,
    Paragraphs,
    Picture,
    Section,
)
from mdfa_fairness_plugin.report.effects import effect_of, effects_of
from mdfa_fairness_plugin.report.features import features_section, names_section
from mdfa_fairness_plugin.report.findings import CLOSING, FINDINGS, short_verdict
from mdfa_fairness_plugin.report.groups import groups_blocks
from mdfa_fairness_plugin.report.key_numbers import (
    key_numbers,
    leaks_section,
    nothing_found,
    what_now,
)
from mdfa_fairness_plugin.report.opened import opened
from mdfa_fairness_plugin.report.pictures import pictures
from mdfa_fairness_plugin.report.rates import BOUNDED
from mdfa_fairness_plugin.report.reading import comparison, entries, held_in_part, shown_case
from mdfa_fairness_plugin.report.redaction import cells_sentence, redact
from mdfa_fairness_plugin.report.rerun import rerun_code
from mdfa_fairness_plugin.report.statement import files_sentences, statement_section
from mdfa_fairness_plugin.report.unknown import missing_sentence, probability_sentence

_MOST_ALSO: Final = 4
_MOST_LISTED: Final = 12
_SEEN_SO: Final = "which is others' harm seen from the other side"
_EVERYBODY: Final = "For everybody compared"
_FAR: Final = "SD: standard deviations beyond chance, after allowing for the search."


def tell(
    result: AuditRecord,
    *,
    drawn: Mapping[str, Picture] | None = None,
    cells: str = "",
    code: str = "",
) -> Document:
    """Put a result into words; pictures, what was said of small cells, and what made it if given."""
    drawn, n, case = drawn or {}, result.n_samples, shown_case(result)
    found = case if case is not None and case.verdict == VIOLATION else None
    return Document(
        "Audit" if n is None else f"Audit of {count(n, 'row')}",
        (
            leaks_section(result.warnings),
            _scope(result, HTML | {TEXT}),
            *_first(result, found),
            Section("rates", "", _drawn(drawn, "rates", "region"), HTML, place="beside"),
            key_numbers(case),
            what_now(case),
            _scope(result, frozenset({MARKDOWN})),
            _found(result, case, cells),
            estimates.moved_section(case),
            _counts(found),
            _people(result, case),
            _also(result, found),
            asked_section(result.asked),
            _searches(result, drawn),
            _path(drawn),
            _profile(case, drawn),
            features_section(result),
            _unseen(result, case),
            _balance(result, drawn),
            warnings_section(result.warnings),
            statement_section(result.statement),
            _made(result, cells, code),
            names_section(result),
            legends.words_section(result.violations),
        ),
        part_title="Fairness audit",
    )


def tell_page(result: AuditRecord, min_cell: int, command: str | None = None) -> Document:
    """The page as it may be printed, with pictures; ``command`` in the place of Python code."""
    redaction = redact(result, min_cell)
    return tell(
        redaction.result,
        drawn=pictures(result, redaction),
        cells=cells_sentence(redaction),
        code=clean(command or result.provenance.get("command") or "") or rerun_code(result),
    )


def tell_part(result: AuditRecord, min_cell: int, where: str = "card") -> Document:
    """The section of a model card, or the summary, as it may be printed."""
    redaction = redact(result, min_cell)
    said = min_cell > 1 and (where == "card" or redaction.n_withheld > 0)
    return tell(redaction.result, cells=cells_sentence(redaction, where) if said else "")


def _scope(result: AuditRecord, media: frozenset[str]) -> Section:
    of = f" of {label_text(result.outcome_name)}" if result.outcome_name else ""
    unequal = any(v.as_observed for v in result.violations)
    parts: Sequence[tuple[str, tuple[Any, ...]]] = (
        (f"Outcomes{of}", result.outcome_labels),
        ("Compared by", result.sensitive_names),
        ("By features left unequal" if unequal else "At equal values of", result.feature_names),
    )
    lines = [f"{title}: {_listed(names)}." for title, names in parts if names]
    if number := legends.number_sentence(result):
        lines.insert(0 if not result.outcome_labels else 1, number)
    if result.favorable_label is not None:
        lines[0] += f" Favourable: {label_text(result.favorable_label)}."
    lines += held_in_part(result.warnings)
    lines += _given(estimates.unequal_sentence(result, estimates.settings_of(result)))
    if where := result.provenance.get("where"):
        lines.insert(0, f"Only rows where {clean(where, 400)}.")
    if people := say.clusters_sentence(result.provenance):
        lines.insert(0, people)
    return Section("scope", "", (Paragraphs(tuple(lines), "scope"),), media)


def _listed(names: Sequence[Any]) -> str:
    shown = [label_text(name) for name in names[:_MOST_LISTED]]
    if len(names) > _MOST_LISTED:
        shown.append(f"and {len(names) - _MOST_LISTED} more")
    return ", ".join(shown)


# -- the case told first


def _first(result: AuditRecord, case: Violation | None) -> tuple[Section, Section]:
    """The headline and the finding."""
    more: tuple[str, ...] = ()
    if case is None:
        headline, verdict = nothing_found(result)
    else:
        headline = say.case_sentence(case)
        more = _given(say.searched_sentence(case), estimates.spread_sentence(case))
        if say.by_rule(case) is None:  # what is of the same rows comes first
            more = more[::-1]
        over = ", adjusted over all searches" if len(result.violations) > 1 else ""
        lost = " (p withheld)" if "p_value_adjusted" in case.withheld else ""
        known = not math.isnan(case.p_value_adjusted)
        p = f" ({say.p_text(case.p_value_adjusted)}{over})" if known else lost
        seen = f", {_SEEN_SO}" if case.harm is False else ""
        verdict = f"Finding: {short_verdict(case)}{seen}{p}."
        verdict = " ".join(_given(verdict, say.evidence_sentence(case) if known else ""))
    blocks = Paragraphs((headline,), "headline"), Paragraphs(_given(" ".join(more)))
    told = Paragraphs((verdict,), "unfound" if case is None else "found")
    return (
        Section("headline", "", blocks, place="first"),
        Section("verdict", "", (told,), place="first"),
    )


def _found(result: AuditRecord, case: Violation | None, cells: str) -> Section:
    lines: tuple[str, ...] = ()
    if case is not None:
        lines = _details(case, result) if case.verdict == VIOLATION else _closest(case)
    return Section(
        "found",
        "What was found",
        (Paragraphs(lines), Paragraphs(_given(cells), "note", media=frozenset({PAGE, TEXT}))),
        titled=frozenset({MARKDOWN}),
    )


def _given(*lines: str) -> tuple[str, ...]:
    return tuple(filter(None, lines))


def _details(case: Violation, result: AuditRecord) -> tuple[str, ...]:
    rates = estimates.rates_sentences(case, estimates.settings_of(result))
    beyond = (
        estimates.moved_sentence(case),
        say.paper_terms(case),
        say.impact_sentence(case),
        say.unrecorded_sentence(case),
    )
    core = ""
    if case.core.measured and case.core.n_rows not in (0, case.n_rows):
        start = f"In its worst part found ({say.rows_in_brackets(case.core.n_rows)})"
        core = say.subgroup_sentence(start, case.core, case)
    beside = _beside(case)
    if case.rule == EVERYBODY:
        core = "" if beside else core
        return _given(say.everybody_sentence(case), beside, *rates, core, *beyond)
    return _given(say.rule_sentence(case), *rates, beside, core, *beyond)


def _closest(case: Violation) -> tuple[str, ...]:
    """What came closest to a violation."""
    if not case.measured:
        return ()
    why = clean(case.reason, 200).rstrip(". ")
    if case.verdict == INSUFFICIENT:
        chance = f"The evidence is not enough to go by{': ' if why else ''}{why}."
    elif why:
        chance = f"That is not called unequal: {why}."
    else:
        chance = f"This cannot be told from chance ({say.p_of(case)})."
        chance = " ".join(_given(chance, say.evidence_sentence(case)))
    start = f"Closest to being {FINDINGS[VIOLATION]}, by its lower limit:"
    first = f"{start} {say.case_sentence(case)} {chance}"
    searched = say.searched_sentence(case)
    return _given(
        first,
        searched,
        estimates.spread_sentence(case),
        _beside(case),
        estimates.moved_sentence(case),
    )


def _beside(case: Violation) -> str:
    """Everybody beside a subgroup; beside everybody, a part that is a violation of its own."""
    if case.rule == EVERYBODY:
        return say.beside_sentence(case)
    return say.subgroup_sentence(_EVERYBODY, case.population, case)


def _counts(case: Violation | None) -> Section:
    blocks = () if case is None else (tables.frame_table(case.counts, _counted(case)),)
    return Section("counts", "", blocks, PLAIN)


def _counted(case: Violation, every: str = "") -> str:
    """What counts are of."""
    expected = " expected" if effect_of(case) is BOUNDED else ""
    if every:
        return f"{every} compared{expected and f',{expected}'}"
    return f"Rows{expected} {'compared' if case.rule == EVERYBODY else 'in the subgroup'}"


def _people(result: AuditRecord, case: Violation | None) -> Section:
    """Rows by sensitive value and outcome: in the subgroup told first, of everybody, of every group."""
    sets: list[tuple[Measured, str]] = [] if case is None else [(case, _counted(case))]
    if case is not None and case.rule != EVERYBODY:
        sets.append((case.population, _counted(case, "All rows")))
    by_outcome = ", by outcome" if result.outcome_labels else ""
    beside = (tables.frame_table(own.counts, f"{title}{by_outcome}") for own, title in sets)
    blocks = (Beside(tuple(filter(None, beside))), *groups_blocks(result))
    return Section("people", "How many rows", blocks, HTML)


# -- the other searches


def _also(result: AuditRecord, case: Violation | None) -> Section:
    every = [v for v in ranked(result.violations) if v.verdict == VIOLATION and v is not case]
    found = [v for v in every if v in harmful(result.violations)]
    lines = [
        " ".join(
            _given(
                say.case_sentence(v),
                say.searched_sentence(v),
                _beside(v),
                f"({say.p_of(v)}.)",
                say.evidence_sentence(v),
            )
        )
        for v in found[:_MOST_ALSO]
    ]
    if len(found) > _MOST_ALSO:
        lines.append(f"{len(found) - _MOST_ALSO} more are listed below.")
    # What is a group's advantage is others' harm, and no second violation.
    best = next((v for v in every if v not in found), None)
    if best is not None:
        lines.append(f"Advantage, {_SEEN_SO}: {say.case_sentence(best)}")
    return Section("also", "Also found", (Bullets(tuple(lines)),))


def _searches(result: AuditRecord, drawn: Mapping[str, Picture]) -> Section:
    if not result.violations:
        return Section("searches", "", ())
    told = (
        f"{legends.effects_legend(result.violations)}. Everybody: the same for everybody compared. "
    )
    beside, p = legends.beside_legend(result.violations), legends.one_sided(result.violations)
    blocks = (
        Paragraphs((f"{told}{beside}{p}{_FAR}",), media=HTML),
        *_drawn(drawn, "searches", "searches_difference"),
        replace(tables.searches_table(result, wide=True), media=HTML),
        *opened(result),
        replace(tables.searches_table(result), media=PLAIN),
        Paragraphs((f"{told}{p}".rstrip(),), "note", media=PLAIN),
    )
    return Section("searches", "All searches", blocks)


def _drawn(drawn: Mapping[str, Picture], *keys: str) -> tuple[Block, ...]:
    return tuple(drawn[key] for key in keys if key in drawn)


def _path(drawn: Mapping[str, Picture]) -> Section:
    text = (
        "The search grows its subgroup from those treated most unequally outwards. Towards the left "
        "fewer rows are in it, and less is certain."
    )
    blocks = (Paragraphs((text,)), drawn["path"]) if "path" in drawn else ()
    return Section("path", "From the worst subgroup to everybody", blocks, HTML, folded=True)


def _profile(case: Violation | None, drawn: Mapping[str, Picture]) -> Section:
    everybody = case is not None and case.rule == EVERYBODY
    title = "Those compared" if everybody else "The subgroup beside the population"
    table = None if case is None else tables.profile_table(case.profile, everybody=everybody)
    blocks = (*_drawn(drawn, "amounts", "profile"), table) if table else ()
    return Section("profile", title, blocks, HTML)


# -- what could not be seen


def _unseen(result: AuditRecord, case: Violation | None) -> Section:
    lines = [
        f"{say.capital(say.rows_text(n))} left out: {clean(reason, 200)}."
        for reason, n in result.excluded.items()
        if n != 0 and not reason.startswith(NO_COMPARABLE_ROW)
    ]
    for violation in result.violations:
        if violation.verdict == INSUFFICIENT:
            who = named(violation.sensitive_feature, violation.group)
            depends = violation.depends_on_models
            if depends is not None and depends.decisive:
                who = f'{who}, outcome "{label_text(violation.outcome)}"'
            why = clean(violation.reason, 200).rstrip(". ") or "no reason recorded"
            lines.append(f"Undetermined for {who}: {why}.")
    if case is not None:
        lines += [missing_sentence(case), probability_sentence(case)]
    lines += [say.silence_sentence(result, entry) for entry in result.silence]
    mapped = {(entry.sensitive_feature, entry.group) for entry in result.silence}
    for key, value in result.balance.items():
        if comparison(key) not in mapped:
            sides = [k for k in result.balance if comparison(k)[0] == comparison(key)[0]]
            lines.append(say.outside_support(key, value, both_sides=len(sides) == 2))
    lines += [
        legends.quantity_sentence(case),
        say.alpha_sentence(result.alpha, result.violations),
        "Rows are compared at equal values of the audited features only. A feature that is not "
        "among them may explain a difference, or hide one.",
    ]
    # Two sides of one comparison leave out the same rows.
    once = _given(*dict.fromkeys(lines))
    return Section("unseen", "What this audit could not see", (Bullets(once),))


def _balance(result: AuditRecord, drawn: Mapping[str, Picture]) -> Section:
    table = tables.balance_table(result)
    blocks = (*_drawn(drawn, "love", "overlap"), table) if table else ()
    return Section("balance", "How alike the groups were made", blocks, HTML, folded=True)


def warnings_section(warnings: Sequence[AuditWarning]) -> Section:
    """What the user was warned of."""
    told = [w for w in warnings if w.category != NOT_HELD_EQUAL]  # that is said beside the features
    lines = tuple(f"{clean(w.message)} [{clean(w.category, 40)}]" for w in told)
    return Section("warnings", "Warnings", (Bullets(lines),))


def _made(result: AuditRecord, cells: str, code: str) -> Section:
    provenance = result.provenance
    version = entries(provenance, "versions").get("mdfa_fairness_plugin")
    seed = provenance.get("seed")
    setting = (
        f"alpha = {say.alpha_text(result.alpha)}; intervals at {percent(result.confidence_level)}; "
        f"mdfa-fairness-plugin {clean(version, 40) if version else '(version not recorded)'}; "
        f"seed {'not set' if is_missing(seed) else clean(plain_label(seed), 40)}."
    )
    given = provenance.get("input_hash")
    names = sorted({f"{effect.name}s" for effect in effects_of(result.violations)}, reverse=True)
    effects = " and ".join(names)
    reading = (
        f"{say.capital(effects)} are measured on rows the models that found the subgroup had not seen. "
        f"Intervals, p and findings allow for the search and for how far {effects} moved as the models "
        "of the features got better. p also allows for the choice between the subgroup found and "
        "everybody, and is adjusted over all searches; two that find the same in the same rows count "
        "once. An audit reports what it found and what it could not see: finding nothing is no "
        "evidence of equal treatment. "
        f"{CLOSING}"
    )
    on_page, in_card = frozenset({PAGE}), frozenset({MARKDOWN})
    files = files_sentences(provenance)
    lines = _given(setting, f"Input: {clean(given, 80)}." if given else "", *files, reading)
    blocks = (
        Paragraphs(lines, "made", media=EVERYWHERE - in_card),
        Paragraphs((*lines, *_given(cells)), "made", media=in_card),
        replace(tables.provenance_table(result), media=on_page),
        Paragraphs(_given(code and "To make it again:"), media=on_page),
        Code(code, media=on_page),
    )
    return Section("made", "How it was made", blocks, folded=True)
