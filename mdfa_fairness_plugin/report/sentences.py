"""How numbers, intervals, rules and verdicts of a search are said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mdfa_fairness_plugin.describe.conditions import EVERYBODY, MOSTLY
from mdfa_fairness_plugin.describe.decimals import ratios_text, short
from mdfa_fairness_plugin.describe.wording import clean, count, label_text, named, percent, rounded
from mdfa_fairness_plugin.measure.intervals import PLAINEST
from mdfa_fairness_plugin.records import (
    VIOLATION,
    AuditRecord,
    Judged,
    Measured,
    SearchKey,
    Silence,
    Subgroup,
    Violation,
)
from mdfa_fairness_plugin.records.searches import RANK, STEPS, Keyed
from mdfa_fairness_plugin.report.effects import effect_of, is_number
from mdfa_fairness_plugin.report.figures import ends, in_brackets, ratio_text
from mdfa_fairness_plugin.report.means import Phrase, RatioOfMeans
from mdfa_fairness_plugin.report.rates import BOUNDED
from mdfa_fairness_plugin.report.reading import comparison, diagnostics

# From which share on rows that meet a rule and those that meet its versions are told of together.
_SAME_RULE: Final = 0.8

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


def p_of(search: Any) -> str:
    """The same of a search, adjusted over all."""
    hidden = "p_value_adjusted" in search.withheld
    return "p withheld" if hidden else f"{p_text(search.p_value_adjusted)}, adjusted"


def p_cell(search: Any) -> str | None:
    """The same under a heading that says ``p``: empty if it is unknown, None if it is withheld."""
    if "p_value_adjusted" in search.withheld:
        return None
    p = search.p_value_adjusted
    return "" if math.isnan(p) else p_text(p).removeprefix("p ").removeprefix("= ")


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
    told = without and effect_of(search) is not BOUNDED  # the statistic is of the estimate
    beside = f" ({without} without)" if told else ""
    return f"That is {after} standard deviations after allowing for the search{beside}."


# -- the smallest subgroups


def alpha_text(alpha: float | str) -> str:
    """What was asked of the smallest mass: a number, or "auto"."""
    return alpha if isinstance(alpha, str) else rounded(alpha)


def share_text(share: float) -> str:
    """A share of all that is compared: 1 in 60, or 25 %."""
    if not 0 < share <= 0.1:
        return percent(share)
    one_in = 1 / share
    return f"1 in {round(one_in, 1 - math.floor(math.log10(one_in))):,.0f}"


def alpha_sentence(alpha: float | str, searches: Sequence[Violation] = ()) -> str:
    """From which size on subgroups were searched."""
    end = "Smaller ones may be treated worse."
    by_outcome: dict[str, list[float]] = {}
    for search in searches:
        if not math.isnan(search.alpha):
            by_outcome.setdefault(label_text(search.outcome), []).append(search.alpha)
    sizes = {
        outcome: " to ".join(dict.fromkeys(map(share_text, (min(own), max(own)))))
        for outcome, own in by_outcome.items()
    }
    if isinstance(alpha, str) and not sizes:
        return (
            "Subgroups are searched from a tenth of those who have the outcome on, or 1 in 20 of all "
            f"compared if that is fewer (alpha = {alpha}). {end}"
        )
    why = ", a tenth of those who have it or 1 in 20 of all"
    if not isinstance(alpha, str):
        sizes, why = {"": share_text(alpha)}, ""
    if len(set(sizes.values())) == 1:
        sizes = {"": next(iter(sizes.values()))}
    said = [f'{size} (outcome "{name}")' if name else size for name, size in sizes.items()]
    *others, last = said
    listed = f"{', '.join(others)} and {last}" if others else last
    of_numbers = set(map(is_number, searches))
    if of_numbers == {True}:
        having, why = "", ""
    else:
        having = " and has the outcome"
        having += " (whatever it is, where ranks are compared)" if True in of_numbers else ""
    return (
        f"Subgroups are searched from {listed} on: of all that is compared, by weight, so much is in "
        f"the subgroup{having} (alpha = {alpha_text(alpha)}{why}). {end}"
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


def by_rule(found: Judged) -> Subgroup | None:
    """Rows that meet the rule of a search, if what is said where it holds is said of them.

    None where the rule's own effect is not known or, of a finding, not beyond chance, or where the
    versions of the rule that it was measured by hold for far fewer rows or far more.
    """
    if not isinstance(found, Violation) or found.rule in ("", EVERYBODY):
        return None
    own, effect = found.rule_subgroup, effect_of(found)
    low, sizes = effect.ends(own)[0], (found.rule_rows, own.n_rows)
    known = own.measured or math.isfinite(low)
    if not known or (found.verdict == VIOLATION and not low > effect.none):
        return None
    told = [n for n in sizes if n]
    return own if min(told, default=1) >= _SAME_RULE * max(told, default=1) else None


def rule_size(found: Violation) -> str | None:
    """How many rows meet the rule; None if that is withheld."""
    n = found.rule_rows if found.rule_rows != 0 else found.rule_subgroup.n_rows
    return None if n is None else f"{n:,d}"


def case_sentence(found: Judged) -> str:
    """Who gets which outcome how much more often than whom, and where: all of the same rows.

    Of a search those that meet its rule; where these cannot be spoken of, those that it found.
    """
    own = by_rule(found)
    if own is None or not isinstance(found, Violation):
        start = _where(found, found.share)
    else:
        n, whole = found.rule_rows or own.n_rows, found.population.n_rows
        share = f", {percent(n / whole)} of those compared" if n and whole else ""
        size = rule_size(found)
        size = f"{size} rows" if size else rows_in_brackets(None)
        start = f"Where {clean(found.rule, 400)} ({size}{share}), "
    who = capital(f"{start}{group_of(found)}")
    return effect_of(found).sentence(found, who, others_of(found), own)


def searched_sentence(search: Violation) -> str:
    """What the search itself found, beside the rule that it was told by; empty if that was told."""
    own, effect = search.rule_subgroup, effect_of(search)
    if by_rule(search) is not None:
        size = rows_in_brackets(search.n_rows)
        start = f"In the subgroup itself, which the search marked row by row ({size}),"
        return subgroup_sentence(start, search, search)
    if search.rule in ("", EVERYBODY) or not (own.measured or math.isfinite(effect.ends(own)[0])):
        return ""
    as_printed = search.rule_rows in (0, own.n_rows)
    rule = "the rule" if as_printed else "the rule as made without their outcome"
    start = f"For all who meet {rule}, in the subgroup or not ({rows_in_brackets(own.n_rows)}),"
    return subgroup_sentence(start, own, search)


def _size(n: int | None, share: float) -> str:
    """How many rows, and what share of those compared if that is known."""
    size = rows_in_brackets(n)
    return size if math.isnan(share) else f"{size}, {percent(share)} of those compared"


def _where(found: Any, share: float) -> str:
    """Beginning of a sentence about a subgroup, a share of those compared; empty if all of them."""
    rule, size = clean(found.rule, 400), _size(found.n_rows, share)
    if rule == EVERYBODY:
        return ""
    if not rule:
        fitting = " that no short rule describes" if isinstance(found, Violation) else ""
        return f"In one subgroup{fitting} ({size}), "
    # The subgroup is what was measured; the rule only describes it.
    if found.rule_fidelity > 0.995:
        return f"Where {rule} ({size}), "
    meet = getattr(found, "rule_recall", math.nan)
    if math.isnan(meet):
        return f"Mostly where {rule} ({size}), "
    if meet < MOSTLY:
        return f"In one subgroup that no short rule describes well ({size}), "
    return f"In one subgroup ({size}), {percent(meet)} of it where {rule}, "


def everybody_sentence(violation: Violation) -> str:
    """That the search tells of everybody, and whether a part of them is as surely treated unequally."""
    text = f"This is about everybody compared ({rows_in_brackets(violation.n_rows)})"
    parts, whole = (violation.core, violation.searched), violation.population
    if violation.beside is not None or any(part.lower > whole.lower for part in parts):
        return f"{text}."
    least, having = "", "" if is_number(violation) else " and has the outcome"
    if not math.isnan(violation.alpha):
        least = f", as long as {share_text(violation.alpha)} of all compared is in it{having}"
    return (
        f"{text}. Smaller subgroups were looked for{least}: none was found whose "
        f"{effect_of(violation).name} is higher beyond doubt, by the lower end of its interval."
    )


def beside_sentence(violation: Violation) -> str:
    """The part that is told beside everybody; empty if there is none."""
    part, whole = violation.beside, violation.population
    if part is None:
        return ""
    share = part.n_rows / whole.n_rows if part.n_rows and whole.n_rows else math.nan
    start = _where(part, share)
    part_text = subgroup_sentence(start.rstrip(), part, violation)
    if violation.verdict != VIOLATION:  # a finding is the search's, by one rule
        return f"Of a part of them: {part_text}"
    text = f"A part of them is unequal beyond chance by itself. {part_text}"
    if not part.effect_interval[0] <= whole.effect:
        return text
    return f"{text} Whether these are treated more unequally than everybody is not certain."


def subgroup_sentence(start: str, subgroup: Measured, search: Keyed) -> str:
    """The effect in a set of rows of a search."""
    effect = effect_of(search)
    value, low, high = effect.told(subgroup)
    if not value:
        known = "withheld" if effect.fields[0] in subgroup.withheld else "not known"
        known = f"at least {effect.with_unit(low, effect.ends(subgroup)[0])}" if low else known
        return f"{start} the {effect.name} is {known}."
    if value == "inf":
        text = f"{start} nobody else gets {effect.it}, so that no ratio can be given"
        return f"{text} ({span})." if (span := ends(low, high)) else f"{text}."
    return f"{start} the {effect.name} is {effect.spanned(subgroup)}."


def versions_sentence(violation: Violation) -> str:
    """By which rule each row was told where all who meet it are measured; empty if by the printed."""
    own, n_printed = violation.rule_subgroup, violation.rule_rows
    if n_printed in (0, own.n_rows):
        return ""
    held = "" if n_printed is None else f"; as printed it holds for {n_printed:,d}"
    return (
        f"The rule's own {effect_of(violation).name} is measured on {rows_text(own.n_rows)}, each "
        f"told by a version of the rule made without its outcome{held}."
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
            f"of the same rows ({rows_in_brackets(best.n_rows)}),"
        )
        told = f"{none} of the result. {subgroup_sentence(start, best, violation)}"
        return f"{told} {versions_sentence(violation)}".rstrip()
    text, versions = "The rule is a short description of the subgroup", ""
    if by_rule(violation) is None and violation.rule_recall < MOSTLY:  # told nowhere else
        text = f"The best that a short rule can say is where {clean(violation.rule, 400)}"
    if violation.rule_subgroup.measured:
        versions = f" {versions_sentence(violation)}".rstrip()
    precision, recall = violation.rule_precision, violation.rule_recall
    if not (math.isnan(precision) or math.isnan(recall)):
        text += (
            f": on rows it was not learned from, {percent(recall)} of the subgroup meets it, and "
            f"{percent(precision)} of those who meet it are in the subgroup"
        )
    elif not math.isnan(violation.rule_fidelity):
        text += f"; they agree to {percent(violation.rule_fidelity)}"
    return f"{text}.{versions}"


def paper_terms(violation: Violation) -> str:
    """delta, gamma and mass, as far as they are known."""
    effect, mass, of_number = effect_of(violation), violation.mass, is_number(violation)
    if of_number and math.isnan(effect.value(violation)):
        return ""
    if of_number and violation.by_difference:
        size = violation.difference / violation.outcome_sd
        told = [f"{effect.name} = {rounded(size)} standard deviations"]
    else:
        terms = {"delta": violation.delta, "gamma": violation.gamma}  # numbers have no gamma
        told = [f"{k} = {rounded(v)}" for k, v in terms.items() if not math.isnan(v)]
    if not math.isnan(mass):
        of_all = " of all that is compared, by weight" if of_number else ""
        told.append(f"mass = {rounded(mass)}{of_all}")
    how = " if nothing is left open" if effect is BOUNDED and not violation.n_known else ""
    return f"In the method's terms{how}: {', '.join(told)}." if told else ""


def unrecorded_sentence(violation: Violation) -> str:
    """How strong a feature not recorded must be to explain it (VanderWeele and Ding 2017)."""
    whole = violation.e_value if math.isfinite(violation.e_value) else math.nan
    limit = violation.e_value_limit
    strength = limit if math.isnan(whole) else whole
    if not 1 < strength < math.inf or violation.as_observed:
        return ""
    size, makes, how = ratio_text(strength), "the outcome {} times as likely", ""
    if violation.by_difference:
        low = "high" if Phrase.of(violation).taken else "low"
        makes = f"a {low} outcome {{}} times as likely"
        how = " The difference, in standard deviations, is made a ratio by Chinn's conversion."
    elif is_number(violation):
        makes = "the outcome {} times as large (or as small)"
    effect = effect_of(violation).name
    there = "" if violation.rule == EVERYBODY else " in the subgroup"
    explain = f"explain all of the {effect}{there}"
    if math.isnan(whole):
        explain = f"bring the {effect}{there} down to what chance explains"
    text = (
        f"Could something that was not recorded explain this? A feature {size} times as common among "
        f"{group_of(violation)} as among {others_of(violation)} who are otherwise alike, and that "
        f"makes {makes.format(size)}, could {explain}; if both numbers are smaller it could not. If "
        f"one is larger the other may be smaller: {_example(strength)}."
    )
    if math.isnan(whole) or math.isnan(limit):
        return f"{text}{how}"
    if limit <= 1:
        return f"{text} As chance alone might explain it too, a weaker one may be enough.{how}"
    enough = f"To leave no more than chance explains, {ratio_text(limit)} for both is enough."
    return f"{text} {enough}{how}"


def _example(strength: float) -> str:
    """Two associations, one of them twice an E-value, that explain as much as the E-value twice."""
    ratio = strength**2 / (2.0 * strength - 1.0)  # that the E-value is of
    one = 2.0 * strength
    other = ratio * (one - 1.0) / (one - ratio)  # from ratio = one * other / (one + other - 1)
    first, second = (f"{math.ceil(10.0 * own - 1e-9) / 10.0:,.1f}" for own in (one, other))
    return f"{first} and {second} are enough, too"


def impact_sentence(violation: Violation) -> str:
    """The favourable rates, one over the other; empty if they are not known, or none is favourable."""
    impact, interval = violation.impact_ratio, violation.impact_interval
    if math.isnan(impact) or (effect_of(violation) is BOUNDED and not violation.n_known):
        return ""
    if violation.outcome_scale in (RANK, STEPS):
        return ""  # a rank is no amount
    there = "" if violation.rule == EVERYBODY else " in the subgroup"
    values = (impact, *interval)
    if is_number(violation):
        size, *span = short(RatioOfMeans().alike(values))
        times, phrase = in_brackets(f"{size} times", *span), Phrase.of(violation)
        as_much = f"as {phrase.many or 'much'} {phrase.what}"
        who = f"{capital(group_of(violation))} get {times} {as_much}"
        return f"{who} as {others_of(violation)}{there} on average."
    size, *span = ratios_text(values)
    times = in_brackets(f"{size} times", *span)
    far = "above 1.25, one over 0.8" if impact > 1 else "below 0.8"
    return (
        f"The favourable outcome goes to {group_of(violation)} {times} as often as "
        f"to {others_of(violation)}{there}. The four-fifths rule of thumb looks at whether such a "
        f"number is {far}; that is no legal judgement."
    )


def silence_sentence(result: AuditRecord, entry: Silence) -> str:
    """Who could not be compared."""
    sides = [own for own in result.silence if own.sensitive_feature == entry.sensitive_feature]
    both = len(sides) == 2
    key = (entry.sensitive_feature, entry.group)
    wholes = [
        v.population.n_rows for v in result.violations if (v.sensitive_feature, v.group) == key
    ]
    whole, n = next(iter(wholes), None), entry.n_rows
    # Of the rows: the record's own share is of their weights.
    told = [percent(n / (n + whole))] if n and whole and "share" not in entry.withheld else []
    told += [
        f"{own.n_group:,d} with {named(own.sensitive_feature, own.group)}"
        for own in (sides if both else [entry])
        if own.n_group
    ]
    size = " ".join(filter(None, (capital(rows_text(n)), f"({'; '.join(told)})" if told else "")))
    text = _without_counterpart(size, entry.sensitive_feature, entry.group, both_sides=both)
    if not entry.rule:
        return text
    text = f"{text} They are found where {clean(entry.rule, 300)}"
    precision, recall = entry.rule_precision, entry.rule_recall
    if math.isnan(precision) or math.isnan(recall):
        return f"{text}."
    return (
        f"{text}: {percent(recall)} of them meet that, and {percent(precision)} of those who meet it "
        "are left out."
    )


def outside_support(key: Any, value: Any, *, both_sides: bool) -> str:
    """How many could not be compared, from the balance of a comparison; empty if that is unknown."""
    found = diagnostics(value)
    n, share = found.get("n_outside_support", 0), _known(found.get("share_outside_support"))
    if n is None or _known(n):
        size = capital(rows_text(n)) + (f" ({percent(share)} by weight)" if share else "")
    elif share:
        size = f"{percent(share)} of the rows, by weight,"
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
