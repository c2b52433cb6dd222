"""How numbers, intervals, rules and verdicts of a search are said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import (
    clean,
    count,
    label_text,
    named,
    percent,
    rounded,
)
from mdfa_fairness_plugin.measure.intervals import PLAINEST
from mdfa_fairness_plugin.records import (
    AskedSubgroup,
    AuditRecord,
    SearchKey,
    Silence,
    Subgroup,
    Violation,
)
from mdfa_fairness_plugin.records.searches import RANK, STEPS, Keyed
from mdfa_fairness_plugin.report.effects import effect_of, is_number
from mdfa_fairness_plugin.report.figures import between, ratio_text, times_text
from mdfa_fairness_plugin.report.means import Phrase
from mdfa_fairness_plugin.report.reading import comparison, diagnostics

# -- numbers


def clusters_sentence(provenance: Mapping[str, Any]) -> str:
    """Say how many people the rows are of; empty if each is another's or it may not be told."""
    n_clusters = provenance.get("n_clusters")
    if n_clusters is None:
        return ""
    people = count(n_clusters, "person (cluster)", "people (clusters)")
    rows = capital(rows_text(provenance.get("n_working_rows")))
    return f"{rows} of {people}; counts are of rows."


def p_text(p_value: float) -> str:
    """Write a p-value: ``p = 0.012`` or ``p < 0.001``."""
    if math.isnan(p_value):
        return "p unknown"
    return "p < 0.001" if p_value < 0.001 else f"p = {rounded(p_value, 2)}"


def p_number(p_value: float) -> str:
    """The same under a heading that says ``p``: ``0.012`` or ``< 0.001``; empty if unknown."""
    return "" if math.isnan(p_value) else p_text(p_value).removeprefix("p ").removeprefix("= ")


def rows_text(n: int | None) -> str:
    """How many rows, in a sentence; None if that is withheld."""
    return "some rows (number withheld)" if n is None else count(n, "row")


def rows_in_brackets(n: int | None) -> str:
    """The same where brackets are already there."""
    return "number of rows withheld" if n is None else count(n, "row")


def capital(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


# -- in the words of auditors


def deviations(number: float) -> str:
    """How many standard deviations beyond chance; empty where they are not."""
    if not number > 0:
        return ""
    return f"{number:.1f}" if math.isfinite(number) else f"over {PLAINEST:.0f}"


def evidence_sentence(search: Violation) -> str:
    """How far beyond chance a search is; empty if it is not."""
    after, without = deviations(search.standard_deviations), deviations(search.statistic)
    if not after:
        return ""
    beside = f" ({without} without)" if without else ""
    return f"That is {after} standard deviations after allowing for the search{beside}."


# -- the smallest subgroups


def alpha_text(alpha: float | str) -> str:
    """What was asked of the smallest mass: a number, or "auto"."""
    return alpha if isinstance(alpha, str) else rounded(alpha)


def people_text(share: float) -> str:
    """A share of people: 1 in 60 people, or 25 % of the people."""
    if not 0 < share <= 0.1:
        return f"{percent(share)} of the people"
    one_in = 1 / share
    return f"1 in {round(one_in, 1 - math.floor(math.log10(one_in))):,.0f} people"


def alpha_sentence(alpha: float | str, searches: Sequence[Violation] = ()) -> str:
    """From which size on subgroups were searched, in people."""
    end = "Smaller ones may be treated worse."
    by_outcome: dict[str, list[float]] = {}
    for search in searches:
        if not math.isnan(search.alpha):
            by_outcome.setdefault(label_text(search.outcome), []).append(search.alpha)
    sizes = {
        outcome: " to ".join(dict.fromkeys(map(people_text, (min(own), max(own)))))
        for outcome, own in by_outcome.items()
    }
    if isinstance(alpha, str) and not sizes:
        return (
            "Subgroups are searched from a tenth of those who have the outcome on, or 1 in 20 of all "
            f"people compared if that is fewer (alpha = {alpha}). {end}"
        )
    why = ", a tenth of those who have it or 1 in 20 of all"
    if not isinstance(alpha, str):
        sizes, why = {"": people_text(alpha)}, ""
    if len(set(sizes.values())) == 1:
        sizes = {"": next(iter(sizes.values()))}
    said = [f'{size} (outcome "{name}")' if name else size for name, size in sizes.items()]
    *others, last = said
    listed = f"{', '.join(others)} and {last}" if others else last
    of_numbers = set(map(is_number, searches))
    if of_numbers == {True}:
        having, why = "", ""
    else:
        having = " and have the outcome"
        having += " (whatever it is, where ranks are compared)" if True in of_numbers else ""
    return (
        f"Subgroups are searched from {listed} on: of all people compared, weighted, so "
        f"many are in the subgroup{having} (alpha = {alpha_text(alpha)}{why}). {end}"
    )


# -- a search


def group_of(search: SearchKey | Keyed) -> str:
    """Who is audited, of a violation or of what names a search."""
    if said := getattr(search, "group_text", ""):
        return clean(said, 80)
    return f"those with {named(search.sensitive_feature, search.group)}"


def others_of(search: SearchKey | Keyed) -> str:
    """Whom they are compared with."""
    if search.reference is None:
        return "everyone else"
    if said := getattr(search, "reference_text", ""):
        return clean(said, 80)
    return f"those with {named(search.sensitive_feature, search.reference)}"


def case_sentence(violation: Violation | AskedSubgroup) -> str:
    """Who gets which outcome how much more often than whom, and where."""
    start = f"{_where(violation, violation.share)}{group_of(violation)}"
    return effect_of(violation).sentence(violation, capital(start), others_of(violation))


def _where(found: Violation | Subgroup, share: float) -> str:
    """Beginning of a sentence about a subgroup, a share of those compared; empty if all of them."""
    rule = clean(found.rule, 400)
    if rule == EVERYBODY:
        return ""
    size = rows_in_brackets(found.n_rows)
    if not math.isnan(share):
        size = f"{size}, {percent(share)} of those compared"
    if not rule:
        return f"In one subgroup ({size}), "
    # The subgroup is what was measured; the rule only describes it.
    where = "Where" if found.rule_fidelity > 0.995 else "Mostly where"
    return f"{where} {rule} ({size}), "


def everybody_sentence(violation: Violation) -> str:
    """That the search tells of everybody, and whether a part of them is as surely treated unequally."""
    text = f"This is about everybody compared ({rows_in_brackets(violation.n_rows)})"
    parts, whole = (violation.core, violation.searched), violation.population
    if violation.beside is not None or any(part.lower > whole.lower for part in parts):
        return f"{text}."
    return f"{text}: no smaller subgroup was found with a higher lower limit."


def beside_sentence(violation: Violation) -> str:
    """The part that is told beside everybody; empty if there is none."""
    part, whole = violation.beside, violation.population
    if part is None:
        return ""
    share = part.n_rows / whole.n_rows if part.n_rows and whole.n_rows else math.nan
    start = _where(part, share)
    part_text = subgroup_sentence(start.rstrip(), part, violation)
    text = f"A part of them has a disparity beyond chance of its own. {part_text}"
    if not part.effect_interval[0] <= whole.effect:
        return text
    return f"{text} Whether these are treated more unequally than everybody is not certain."


def subgroup_sentence(start: str, subgroup: Subgroup, search: Keyed) -> str:
    """The effect in a set of rows of a search."""
    effect = effect_of(search)
    value, ends = effect.value(subgroup), effect.ends(subgroup)
    if math.isnan(value) and math.isfinite(subgroup.lower):
        return f"{start} the {effect.name} is at least {effect.text(ends[0])}."
    if math.isnan(value):
        known = "withheld" if effect.fields[0] in subgroup.withheld else "not known"
        return f"{start} the {effect.name} is {known}."
    if value == math.inf:
        text = f"{start} nobody else gets {effect.it}, so that no ratio can be given"
    else:
        text = f"{start} the {effect.name} is {effect.text(value)}"
    span = effect.between(*ends)
    return f"{text} ({span})." if span else f"{text}."


def ruled_sentence(start: str, violation: Violation) -> str:
    """The ratio of all who meet the rule, and which rule each was told by."""
    own, n_printed = violation.rule_subgroup, violation.rule_rows
    if n_printed in (0, own.n_rows):
        start = f"{start.removesuffix(',')} ({rows_in_brackets(own.n_rows)}),"
        return subgroup_sentence(start, own, violation)
    held = "" if n_printed is None else f" The rule as printed holds for {n_printed:,d}."
    told = subgroup_sentence(start, own, violation)
    return (
        f"{told} Measured on {rows_text(own.n_rows)}: each part of them was "
        f"told by a version of the rule made without its outcomes.{held}"
    )


def rule_sentence(violation: Violation) -> str:
    """How well the rule describes the subgroup."""
    if not violation.rule:
        none = "No short rule describes this subgroup; its rows are marked in the membership"
        best = violation.rule_subgroup
        if not best.rule:
            return f"{none} of the result."
        start = (
            f"Where {clean(best.rule, 400)}, which is the best that a short rule can say, though not "
            "of the same people,"
        )
        return f"{none} of the result. {ruled_sentence(start, violation)}"
    text = "The rule above is a short description of the subgroup"
    precision, recall = violation.rule_precision, violation.rule_recall
    if not (math.isnan(precision) or math.isnan(recall)):
        return (
            f"{text}: on rows it was not learned from, {percent(recall)} of the subgroup meets it, "
            f"and {percent(precision)} of those who meet it are in the subgroup."
        )
    if not math.isnan(violation.rule_fidelity):
        return f"{text}; they agree to {percent(violation.rule_fidelity)}."
    return f"{text}."


def paper_terms(violation: Violation) -> str:
    """delta, gamma and mass, as far as they are known."""
    effect, mass = effect_of(violation), violation.mass
    if not is_number(violation):
        terms = {"delta": violation.delta, "gamma": violation.gamma, "mass": mass}
        told = [f"{k} = {rounded(v)}" for k, v in terms.items() if not math.isnan(v)]
    else:
        size = violation.difference / violation.outcome_sd
        told = [
            f"{effect.name} = {rounded(size)} standard deviations"
            if violation.by_difference
            else f"delta = {rounded(violation.delta)}"
        ]
        told += [] if math.isnan(mass) else [f"mass = {rounded(mass)} of the people"]
        told = [] if math.isnan(effect.value(violation)) else told
    return f"In the method's terms: {', '.join(told)}." if told else ""


def unrecorded_sentence(violation: Violation) -> str:
    """How strong a feature not recorded must be to explain it (VanderWeele and Ding 2017)."""
    whole, limit = violation.e_value, violation.e_value_limit
    strength = limit if math.isnan(whole) else whole
    if math.isnan(strength) or strength <= 1:
        return ""
    size, how = ratio_text(strength), ""
    makes = f"makes the outcome at least {size} times as likely"
    if violation.by_difference:
        low = "high" if Phrase.of(violation).taken else "low"
        makes = f"makes a {low} outcome at least {size} times as likely"
        how = " The difference, in standard deviations, is made a ratio by Chinn's conversion."
    elif is_number(violation):
        makes = f"makes the outcome at least {size} times as large or as small"
    text = (
        "Could something that was not recorded explain this? Only a feature that is at least "
        f"{size} times as common among {group_of(violation)} as among {others_of(violation)} who "
        f"are otherwise alike, and that {makes}, could "
    )
    if math.isnan(whole):
        return f"{text}bring the difference down to what chance explains.{how}"
    text += "explain all of it"
    if math.isnan(limit):
        return f"{text}.{how}"
    if limit <= 1:
        return f"{text}; as chance alone might explain it too, a weaker one may be enough.{how}"
    return f"{text}; {ratio_text(limit)} times would do to leave no more than chance explains.{how}"


def impact_sentence(violation: Violation) -> str:
    """The favourable rates, one over the other; empty if no outcome is said to be favourable."""
    impact = violation.impact_ratio
    if math.isnan(impact):
        return ""
    if violation.outcome_scale in (RANK, STEPS):
        return ""  # a rank is no amount
    if is_number(violation):
        what, span = (
            Phrase.of(violation).what,
            between(*violation.impact_interval, write=times_text),
        )
        return (
            f"On average {group_of(violation)} get {times_text(impact)} times as much {what} as "
            f"{others_of(violation)}{f' ({span})' if span else ''}."
        )
    span = between(*violation.impact_interval)
    beside = f" ({span})" if span else ""
    return (
        f"The favourable outcome goes to {group_of(violation)} {ratio_text(impact)} times as often as "
        f"to {others_of(violation)}{beside}. The four-fifths rule of thumb looks "
        "at whether such a number is below 0.8; that is no legal judgement."
    )


def silence_sentence(result: AuditRecord, entry: Silence) -> str:
    """Who could not be compared."""
    both = sum(e.sensitive_feature == entry.sensitive_feature for e in result.silence) == 2
    share = "" if math.isnan(entry.share) else f" ({percent(entry.share)})"
    size = f"{capital(rows_text(entry.n_rows))}{share}"
    text = _without_counterpart(size, entry.sensitive_feature, entry.group, both_sides=both)
    if not entry.rule:
        return text
    text = f"{text} They are found where {clean(entry.rule, 300)}"
    precision, recall = entry.rule_precision, entry.rule_recall
    if math.isnan(precision) or math.isnan(recall):
        return f"{text}."
    return f"{text} ({percent(recall)} of them are, and {percent(precision)} of those there are)."


def outside_support(key: Any, value: Any, *, both_sides: bool) -> str:
    """How many could not be compared, from the balance of a comparison; empty if that is unknown."""
    found = diagnostics(value)
    n, share = found.get("n_outside_support", 0), _known(found.get("share_outside_support"))
    if n is None or _known(n):
        size = capital(rows_text(n)) + (f" ({percent(share)})" if share else "")
    elif share:
        size = f"{percent(share)} of the rows"
    else:
        return ""
    return _without_counterpart(size, *comparison(key), both_sides=both_sides)


def _without_counterpart(size: str, feature: Any, group: Any, *, both_sides: bool) -> str:
    who = f"by {label_text(feature)}" if both_sides else f"for {named(feature, group)}"
    return (
        f"{size} compared {who}: no comparable row on the other side, so nothing can be said about "
        "them."
    )


def _known(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value):
        return float(value)
    return None
