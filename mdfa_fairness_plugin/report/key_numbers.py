"""The numbers of a page that are read first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import clean, count
from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NONE_LARGER,
    VIOLATION,
    AuditRecord,
    Violation,
    harmful,
)
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import HTML, Numbers, Paragraphs, Section, Value
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.findings import FINDINGS, coarser_mass
from mdfa_fairness_plugin.report.legends import largest_detectable
from mdfa_fairness_plugin.report.rates import BOUNDED
from mdfa_fairness_plugin.report.reading import leaks

_NOW: Final = {
    VIOLATION: "What now: ask for the reasons of this difference, and whether the features that people "
    "are held equal in are good reasons themselves. Then measure the same kind of people where this "
    "audit has not looked, with mdfa measure.",
    NONE_LARGER: "What now: nothing follows for smaller differences, nor for features that were not "
    "audited. mdfa.rows_needed says how many rows would show a smaller one.",
    INSUFFICIENT: "What now: gather more rows, or audit fewer groups and coarser features. "
    "mdfa.rows_needed says how many rows would show a difference.",
}
_NOW_BOUNDED: Final = (
    "What now: learn the groups of some of these people, drawn at random; more rows whose groups are "
    "known by probability alone leave the ratio as open."
)
_NOT_EQUAL: Final = "This is not a finding of equal treatment."


def leaks_section(warnings: Sequence[AuditWarning]) -> Section:
    """What is read before anything else."""
    return Section("leaks", "", (Paragraphs(leaks(warnings), "strong"),), place="above")


def key_numbers(case: Violation | None) -> Section:
    """Size and evidence of the case told first."""
    pairs: list[tuple[str, Value]] = []
    if case is not None:
        effect = effect_of(case)
        title, beside = effect.titles
        by_rule = say.by_rule(case)
        own = by_rule or case  # whom the headline is about
        if own.measured:
            whole = math.isinf(own.effect)
            pairs.append((title, "infinite" if whole else effect.spanned(own)))
        elif not math.isnan(own.lower):
            pairs.append((title, f"at least {effect.text(effect.ends(own)[0])}"))
        elif effect.fields[0] in own.withheld:
            pairs.append((title, None))
        if size := effect.beside_span(own):
            pairs.append((beside, size))
        if by_rule is not None:
            pairs.append(("Rows that meet the rule", say.rule_size(case)))
            if case.measured:
                pairs.append(("In the subgroup itself", effect.spanned(case)))
        everybody, part = case.population, case.beside
        if case.rule != EVERYBODY and math.isfinite(everybody.effect):
            pairs.append(("For everybody", effect.spanned(everybody)))
        if part is not None and math.isfinite(part.effect):
            pairs.append(("In a part of them", effect.spanned(part)))
        if say.p_cell(case) != "":
            pairs.append(("p, all searches", say.p_cell(case)))
        if far := say.deviations(case.standard_deviations):
            pairs.append(("Standard deviations", far))
        if case.n_rows != 0:
            where = "compared" if case.rule == EVERYBODY else "in the subgroup"
            pairs.append((f"Rows {where}", case.n_rows))
    return Section("numbers", "", (Numbers(tuple(pairs)),), HTML, place="first")


def what_now(case: Violation | None) -> Section:
    """What a reader can do with the finding."""
    verdict = INSUFFICIENT if case is None else case.verdict
    text = _NOW[verdict]
    if effect_of(case) is BOUNDED:  # which ``mdfa measure`` refuses
        text = text.replace(", with mdfa measure", "") if verdict == VIOLATION else _NOW_BOUNDED
    return Section("now", "", (Paragraphs((text,), "now"),), HTML, place="first")


def nothing_found(result: AuditRecord) -> tuple[str, str]:
    """Headline and verdict where no search found a violation."""
    searches = harmful(result.violations)
    if not searches:
        return "Nothing was audited: there was no group to compare.", "No finding."
    blind = [v for v in searches if v.verdict == INSUFFICIENT]
    seeing = [v for v in searches if v.verdict == NONE_LARGER]
    if not seeing:
        reasons = dict.fromkeys(clean(v.reason, 200).rstrip(". ") for v in blind if v.reason)
        why = f" ({'; '.join(list(reasons)[:3])})" if reasons else ""
        which = "the one search" if len(blind) == 1 else f"none of the {len(blind):,d} searches"
        can = "cannot" if len(blind) == 1 else "can"
        headline = (
            f"Undetermined: {which} of this audit {can} tell whether any group is treated "
            f"unequally{why}."
        )
        return headline, f"Finding: {FINDINGS[INSUFFICIENT]}. {_NOT_EQUAL}"
    known = [v for v in seeing if math.isfinite(effect_of(v).detectable(v))]
    harm = " for harm" if len(searches) < len(result.violations) else ""
    where = f"in {count(len(seeing), 'search', 'searches')}{harm}"
    headline, extra = f"Nothing was found unequal beyond chance {where}", []
    if known:
        mass = max(coarser_mass(v) for v in seeing)
        small = "as small as searched for"
        if mass:
            having = " and have the outcome" if effect_of(known[0]).of == "rates" else ""
            small = f"so large that {say.share_text(mass)} of all are in it{having}"
        each = "in each of them " if len(known) > 1 else ""
        headline += (
            f"; {each}a {largest_detectable(known)} in a subgroup {small} would have been found with "
            "80 % probability; smaller ones, and smaller subgroups, cannot be ruled out."
        )
    else:
        headline += "; how large a disparity would have been found is not known."
    if known and len(known) < len(seeing):
        unknown = len(seeing) - len(known)
        extra.append(f"For {unknown} of them, what would have been found is not known.")
    if blind:
        n = count(len(blind), "other search", "other searches")
        extra.append(f"For {n} there is not enough evidence to say anything.")
    extra.append(_NOT_EQUAL)
    return headline, f"Finding: {FINDINGS[NONE_LARGER]}. {' '.join(extra)}"
