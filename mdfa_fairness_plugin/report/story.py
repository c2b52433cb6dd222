"""What an audit has to say, in words: the one account that text and page both give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import (
    clean,
    count,
    is_missing,
    label_text,
    named,
    number,
    percent,
    plain_label,
    rounded,
)
from mdfa_fairness_plugin.records import (
    INSUFFICIENT,
    NO_COMPARABLE_ROW,
    NONE_LARGER,
    VIOLATION,
    AuditRecord,
    Silence,
    Subgroup,
    Violation,
    ratio_of,
)

_MAX_TABLE_ROWS: Final = 16
_MAX_ALSO: Final = 4
_MAX_LISTED: Final = 12


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table of text, first column to the left, the others as given.

    Parameters
    ----------
    header : tuple of str
    rows : tuple of tuple of str
    n_text : int
        Leading columns of text; those after hold numbers, set to the right.
    more : str
        What was left out, if anything.
    text_last : bool
        Whether the last column is text again.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_text: int = 1
    more: str = ""
    text_last: bool = False


@dataclass(frozen=True, kw_only=True)
class Story:
    """What an audit has to say, in the order text and page say it.

    All text is cleaned of control characters, but not escaped for HTML.
    """

    title: str
    scope: tuple[str, ...]
    headline: str
    verdict: str
    details: tuple[str, ...]
    also: tuple[str, ...]
    searches: Table
    counts: Table | None
    unseen: tuple[str, ...]
    warnings: tuple[str, ...]
    made: tuple[str, ...]


def tell(result: AuditRecord) -> Story:
    """Put a result into words.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    Story
    """
    shown = shown_case(result)
    found = shown is not None and shown.verdict == VIOLATION
    if shown is not None and found:
        headline = _case_sentence(shown, with_rule=True)
        verdict = _verdict_sentence(result, shown)
        details = _details(shown)
    else:
        headline, verdict = _nothing_found(result)
        details = _largest_measured(result, shown)
    unrecorded = "" if shown is None or not found else unrecorded_sentence(shown)
    if shown is not None and found:
        details = (*details, *filter(None, (four_fifths_sentence(shown), unrecorded)))
    return Story(
        title="Audit" if result.n_samples < 0 else f"Audit of {count(result.n_samples, 'row')}",
        scope=_scope(result),
        headline=headline,
        verdict=verdict,
        details=details,
        also=_also_found(result, shown) if found else (),
        searches=_searches(result),
        counts=frame_table(shown.counts) if shown is not None and found else None,
        unseen=_unseen(result),
        warnings=tuple(f"{clean(w.message)} [{clean(w.category, 40)}]" for w in result.warnings),
        made=_made(result),
    )


def ratio_text(ratio: float) -> str:
    """Write a ratio to one decimal, more where it is close to 1 or to 0.

    Examples
    --------
    >>> [ratio_text(r) for r in (1.83, 1.04, 0.5, 0.031, 12.4, 2345.0)]
    ['1.8', '1.04', '0.50', '0.031', '12', '2,345']
    """
    if math.isnan(ratio):
        return "unknown"
    if math.isinf(ratio):
        return "infinitely many"
    if ratio >= 10:
        return f"{ratio:,.0f}"
    if 0 < abs(ratio - 1) < 0.005:
        return f"{ratio:.3f}"
    if ratio >= 1.15:
        return f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 0.1 or ratio == 0 else rounded(ratio, 2)


def _between(low: float, high: float) -> str:
    """Write an interval on the ratio; empty if it is unknown."""
    if math.isnan(low) and math.isnan(high):
        return ""
    if math.isnan(high) or math.isinf(high):
        return f"at least {ratio_text(low)} times"
    if math.isnan(low):
        return f"at most {ratio_text(high)} times"
    return f"between {ratio_text(low)} and {ratio_text(high)} times"


def told_apart(values: Sequence[float]) -> list[str]:
    """Write numbers to be compared, with digits enough to see the difference.

    Examples
    --------
    >>> told_apart([1998.97, 1999.51]), told_apart([21.34, 23.8]), told_apart([52_300.0, 61_000.0])
    (['1999.0', '1999.5'], ['21.3', '23.8'], ['52,300', '61,000'])
    """
    known = [value for value in values if math.isfinite(value)]
    spread = max(known) - min(known) if known else 0.0
    size = max(map(abs, known), default=0.0)
    if spread == 0 or size >= 10_000 or size < 1e-4:
        return [rounded(value) for value in values]
    # Never fewer than three digits in all.
    places = max(-math.floor(math.log10(spread)), 2 - math.floor(math.log10(size)), 0)
    if places > 6:
        return [rounded(value) for value in values]
    return [f"{v:.{places}f}" if math.isfinite(v) else number(v) for v in values]


def p_text(p_value: float) -> str:
    """Write a p-value.

    Examples
    --------
    >>> p_text(0.0004), p_text(0.0123), p_text(0.5)
    ('p < 0.001', 'p = 0.012', 'p = 0.5')
    """
    if math.isnan(p_value):
        return "p unknown"
    return "p < 0.001" if p_value < 0.001 else f"p = {rounded(p_value, 2)}"


def shown_case(result: AuditRecord) -> Violation | None:
    """Search told first: the worst case, or a violation whose interval is unbounded below."""
    worst = result.worst_case
    if worst is not None and worst.verdict == VIOLATION:
        return worst
    return next((v for v in result.violations if v.verdict == VIOLATION), worst)


def _group(violation: Violation) -> str:
    return f"those with {named(violation.sensitive_feature, violation.group)}"


def _others(violation: Violation) -> str:
    if violation.reference is None:
        return "everyone else"
    return f"those with {named(violation.sensitive_feature, violation.reference)}"


def _outcome(violation: Violation) -> str:
    return f'the outcome "{label_text(violation.outcome)}"'


def _case_sentence(violation: Violation, *, with_rule: bool) -> str:
    """Who gets which outcome how much more often than whom."""
    rule = clean(violation.rule, 400)
    if with_rule and rule and rule != EVERYBODY:
        # The subgroup is what was measured; the rule only describes it.
        where = "Where" if violation.rule_fidelity > 0.995 else "Mostly where"
        start = f"{where} {rule} ({_size(violation)}), {_group(violation)}"
    elif with_rule and not rule:
        start = f"In one subgroup ({_size(violation)}), {_group(violation)}"
    else:
        start = _capital(_group(violation))
    outcome, others = _outcome(violation), _others(violation)
    span = _between(*violation.ratio_interval)
    confidence = f"with {percent(violation.confidence_level)} confidence"
    if violation.delta == math.inf:
        text = (
            f"{start} get {outcome} and {others} with equal audited features never do here, so "
            "that no ratio can be given"
        )
    elif violation.delta == -math.inf:
        text = (
            f"{start} never get {outcome} here, while some of {others} with equal audited "
            "features do"
        )
    elif not violation.measured and math.isfinite(violation.lower):
        # The estimate itself is withheld: it would tell of too few people.
        return (
            f"{start} get {outcome} at least {ratio_text(violation.ratio_interval[0])} times as "
            f"often as {others} with equal audited features, {confidence}."
        )
    elif not violation.measured:
        return (
            f"{start}: how much more often they get {outcome} than {others} with equal audited "
            "features could not be measured."
        )
    else:
        text = (
            f"{start} get {outcome} {ratio_text(violation.ratio)} times as often as {others} "
            "with equal audited features"
        )
    return f"{text}: {span}, {confidence}." if span else f"{text}."


def _size(violation: Violation) -> str:
    size = _in_brackets(violation.n_rows)
    if math.isnan(violation.share):
        return size
    return f"{size}, {percent(violation.share)} of those compared"


def _rows(n: int) -> str:
    """How many rows; a negative number stands for one that is not shown."""
    return count(n, "row") if n >= 0 else "some rows (number withheld)"


def _in_brackets(n: int) -> str:
    return count(n, "row") if n >= 0 else "number of rows withheld"


def _verdict_sentence(result: AuditRecord, violation: Violation) -> str:
    if math.isnan(violation.p_value_adjusted):
        return "Verdict: a violation, more than chance explains."
    n = len(result.violations)
    p = f"{p_text(violation.p_value_adjusted)}, adjusted for {count(n, 'search', 'searches')}"
    return f"Verdict: a violation, more than chance explains ({p})."


def _details(violation: Violation) -> tuple[str, ...]:
    details = []
    group, others = _group(violation), _others(violation)
    everybody = violation.rule == EVERYBODY
    if everybody:
        size = _in_brackets(violation.n_rows)
        details.append(f"No smaller subgroup was worse; this is about everybody compared ({size}).")
    else:
        details.append(_rule_sentence(violation))
        rule = violation.rule_subgroup
        if violation.rule and rule.measured:
            size = _in_brackets(rule.n_rows)
            start = f"For all who meet the rule, in the subgroup or not ({size}),"
            details.append(_subgroup_sentence(start, rule))
    own, other = violation.rates
    if not (math.isnan(own) or math.isnan(other)):
        details.append(
            f"Weighted to equal features, {percent(own)} of {group} and {percent(other)} of "
            f"{others} get this outcome in the subgroup."
        )
    if not everybody:
        details.append(_subgroup_sentence("For everybody compared", violation.population))
    if violation.core.measured and violation.core.n_rows not in (0, violation.n_rows):
        core = f"In its worst part found ({_in_brackets(violation.core.n_rows)})"
        details.append(_subgroup_sentence(core, violation.core))
    details.append(_paper_terms(violation))
    return tuple(filter(None, details))


def unrecorded_sentence(violation: Violation) -> str:
    """How strong an unrecorded feature would have to be to explain the difference; or nothing.

    Parameters
    ----------
    violation : Violation
        With its E-values (VanderWeele and Ding 2017).

    Returns
    -------
    str
        Empty if no E-value is known, or nothing needs explaining.
    """
    whole, limit = violation.e_value, violation.e_value_limit
    strength = limit if math.isnan(whole) else whole
    if math.isnan(strength) or strength <= 1:
        return ""
    size = "infinitely many" if math.isinf(strength) else ratio_text(strength)
    text = (
        "Could something that was not recorded explain this? Only a feature that is at least "
        f"{size} times as common among {_group(violation)} as among {_others(violation)} who are "
        f"otherwise alike, and that makes the outcome at least {size} times as likely, could "
    )
    if math.isnan(whole):
        return f"{text}bring the difference down to what chance explains."
    text += "explain all of it"
    if math.isnan(limit):
        return f"{text}."
    if limit <= 1:
        return f"{text}; as chance alone might explain it too, a weaker one may be enough."
    return f"{text}; {ratio_text(limit)} times would do to leave no more than chance explains."


def _missing_sentence(violation: Violation) -> str:
    """What the rows without a sensitive value could change; or nothing."""
    if violation.n_missing == 0:
        return ""
    feature = label_text(violation.sensitive_feature)
    size = _capital(_rows(violation.n_missing))
    text = f"{size} in the subgroup told of first have no known {feature}"
    low, high = violation.missing_bounds
    if math.isnan(low) or math.isnan(high):
        return f"{text} and are in none of its numbers."
    return (
        f"{text}. Whatever it is, the ratio would lie between {ratio_text(ratio_of(low))} and "
        f"{ratio_text(ratio_of(high))}."
    )


def four_fifths_sentence(violation: Violation) -> str:
    """Write the smaller rate over the larger, beside the four fifths of the rule of thumb.

    Parameters
    ----------
    violation : Violation

    Returns
    -------
    str
        Numbers only, never a judgement; empty if nothing was measured.
    """
    low, high = violation.ratio_interval
    if not violation.measured and math.isnan(low):
        return ""
    if not violation.measured:
        value, span = f"at most {_inverse(low)}", ""
    else:
        value = _inverse(violation.ratio)
        known = not (math.isnan(low) or math.isnan(high))
        span = f" (between {_inverse(high)} and {_inverse(low)})" if known else ""
    return (
        f"Divided the other way round, {_others(violation)} get it {value}{span} times as often; the "
        "four-fifths rule of thumb, meant for favourable outcomes, looks at whether such a number is "
        "below 0.8. That is no legal judgement."
    )


def _inverse(ratio: float) -> str:
    return ratio_text(math.inf if ratio == 0 else 1 / ratio)


def _rule_sentence(violation: Violation) -> str:
    if not violation.rule:
        return (
            "No short rule describes this subgroup; its rows are marked in the membership of the "
            "result."
        )
    precision, recall = violation.rule_precision, violation.rule_recall
    if not (math.isnan(precision) or math.isnan(recall)):
        return (
            "The rule above is a short description of the subgroup: on rows it was not learned "
            f"from, {percent(recall)} of the subgroup meets it, and {percent(precision)} of those "
            "who meet it are in the subgroup."
        )
    if not math.isnan(violation.rule_fidelity):
        return (
            "The rule above is a short description of the subgroup; they agree to "
            f"{percent(violation.rule_fidelity)}."
        )
    return "The rule above is a short description of the subgroup."


def _subgroup_sentence(start: str, subgroup: Subgroup) -> str:
    if not subgroup.measured and math.isfinite(subgroup.lower):
        return f"{start} the ratio is at least {ratio_text(subgroup.ratio_interval[0])}."
    if not subgroup.measured:
        return f"{start} the ratio is not known."
    if subgroup.delta == math.inf:
        text = f"{start} nobody else gets this outcome, so that no ratio can be given"
    else:
        text = f"{start} the ratio is {ratio_text(subgroup.ratio)}"
    span = _between(*subgroup.ratio_interval)
    return f"{text} ({span.removesuffix(' times')})." if span else f"{text}."


def _paper_terms(violation: Violation) -> str:
    terms = {
        "delta": violation.delta,
        "gamma": violation.gamma,
        "mass": violation.mass,
    }
    listed = ", ".join(
        f"{name} = {rounded(value)}" for name, value in terms.items() if not math.isnan(value)
    )
    return f"In the method's terms: {listed}." if listed else ""


def _nothing_found(result: AuditRecord) -> tuple[str, str]:
    """Headline and verdict where no search found a violation."""
    searches = result.violations
    if not searches:
        return "Nothing was audited: there was no group to compare.", "Verdict: none."
    blind = [v for v in searches if v.verdict == INSUFFICIENT]
    seeing = [v for v in searches if v.verdict == NONE_LARGER]
    if not seeing:
        reasons = dict.fromkeys(clean(v.reason, 200).rstrip(". ") for v in blind if v.reason)
        why = f" ({'; '.join(list(reasons)[:3])})" if reasons else ""
        which = "the one search" if len(blind) == 1 else f"none of the {len(blind):,d} searches"
        can = "cannot" if len(blind) == 1 else "can"
        headline = (
            f"Not enough evidence: {which} of this audit {can} tell whether any group is treated "
            f"unequally{why}."
        )
        return headline, "Verdict: not enough evidence. This is not a finding of equal treatment."
    known = [v.detectable_delta for v in seeing if math.isfinite(v.detectable_delta)]
    if known:
        size = f"larger than {ratio_text(math.exp(min(max(known), 700)))} times as often"
        limit = "smaller ones cannot be ruled out"
    else:
        size = "that this audit could tell from chance"
        limit = "how large a one it would have seen is not known, and none can be ruled out"
    where = f"in {count(len(seeing), 'search', 'searches')}"
    headline = f"No violation {size} was found {where}; {limit}."
    extra = []
    if known and len(known) < len(seeing):
        extra.append(
            f"For {len(seeing) - len(known)} of them, how small a violation would have been "
            "seen is not known."
        )
    if blind:
        n = count(len(blind), "other search", "other searches")
        extra.append(f"For {n} there is not enough evidence to say anything.")
    extra.append("This is not a finding of equal treatment.")
    return headline, f"Verdict: none found above that size. {' '.join(extra)}"


def _largest_measured(result: AuditRecord, shown: Violation | None) -> tuple[str, ...]:
    if shown is None or not shown.measured:
        return ()
    case = _case_sentence(shown, with_rule=True)
    if shown.verdict == INSUFFICIENT:
        why = clean(shown.reason, 200).rstrip(". ")
        chance = f"The evidence is not enough to go by{': ' if why else ''}{why}."
    else:
        chance = f"This cannot be told from chance ({p_text(shown.p_value_adjusted)}, adjusted)."
    details = [f"Closest to a violation, by its lower limit: {case} {chance}"]
    if shown.rule != EVERYBODY:
        details.append(_subgroup_sentence("For everybody compared", shown.population))
    return tuple(details)


def _also_found(result: AuditRecord, shown: Violation | None) -> tuple[str, ...]:
    others = [v for v in ranked(result.violations) if v.verdict == VIOLATION and v is not shown]
    sentences = [
        f"{_case_sentence(v, with_rule=True)} "
        f"{_subgroup_sentence('For everybody compared', v.population)} "
        f"({p_text(v.p_value_adjusted)}, adjusted.)"
        for v in others[:_MAX_ALSO]
    ]
    if len(others) > _MAX_ALSO:
        sentences.append(f"{len(others) - _MAX_ALSO} more violations are listed below.")
    return tuple(sentences)


def ranked(violations: Iterable[Violation]) -> list[Violation]:
    """Violations first, then those with enough evidence; in each the highest lower bound first."""
    order = {VIOLATION: 0, NONE_LARGER: 1, INSUFFICIENT: 2}

    def key(violation: Violation) -> tuple[int, bool, float]:
        unknown = math.isnan(violation.lower)
        return order[violation.verdict], unknown, 0.0 if unknown else -violation.lower

    return sorted(violations, key=key)


def _searches(result: AuditRecord) -> Table:
    rows = []
    listed = ranked(result.violations)
    for violation in listed[:_MAX_TABLE_ROWS]:
        who = named(violation.sensitive_feature, violation.group, 24)
        if violation.reference is not None:
            who = f"{who} (vs {label_text(violation.reference, 16)})"
        low, high = violation.ratio_interval
        p = violation.p_value_adjusted
        rows.append(
            (
                who,
                label_text(violation.outcome, 16),
                _cell(violation.ratio),
                _cell_between(low, high),
                _cell(violation.population.ratio),
                f"{violation.n_rows:,d}" if violation.n_rows >= 0 else "withheld",
                "" if math.isnan(p) else p_text(p).removeprefix("p ").removeprefix("= "),
                _short_verdict(violation),
            )
        )
    n_more = len(listed) - len(rows)
    return Table(
        header=("Who", "Outcome", "Ratio", "Between", "All", "Rows", "p", "Verdict"),
        rows=tuple(rows),
        n_text=2,
        more=f"and {count(n_more, 'more search', 'more searches')}" if n_more else "",
        text_last=True,
    )


def _cell(ratio: float) -> str:
    if math.isnan(ratio):
        return ""
    return "inf" if math.isinf(ratio) else ratio_text(ratio)


def _cell_between(low: float, high: float) -> str:
    if math.isnan(low):
        return ""
    return f"at least {_cell(low)}" if math.isnan(high) else f"{_cell(low)} to {_cell(high)}"


def _short_verdict(violation: Violation) -> str:
    if violation.verdict == VIOLATION:
        return "violation"
    if violation.verdict == INSUFFICIENT:
        return "not enough evidence"
    # Everything the interval holds is less often than others: no sign of a violation this way.
    less = "less often; " if violation.ratio_interval[1] < 1 else ""
    if math.isfinite(violation.detectable_delta):
        size = ratio_text(math.exp(min(violation.detectable_delta, 700)))
        return f"{less}none above {size}"
    return f"{less}none told from chance"


def _scope(result: AuditRecord) -> tuple[str, ...]:
    lines = []
    parts: Sequence[tuple[str, tuple[Any, ...]]] = (
        ("Outcomes", result.outcome_labels),
        ("Compared by", result.sensitive_names),
        ("At equal values of", result.feature_names),
    )
    for title, names in parts:
        if names:
            lines.append(f"{title}: {_listed(names)}.")
    return tuple(lines)


def _listed(names: Sequence[Any]) -> str:
    shown = [label_text(name) for name in names[:_MAX_LISTED]]
    if len(names) > _MAX_LISTED:
        shown.append(f"and {len(names) - _MAX_LISTED} more")
    return ", ".join(shown)


def _unseen(result: AuditRecord) -> tuple[str, ...]:
    lines = [
        f"{_capital(_rows(int(n)))} left out: {clean(reason, 200)}."
        for reason, n in result.excluded.items()
        if n and not reason.startswith(NO_COMPARABLE_ROW)
    ]
    said: set[tuple[str, str]] = set()
    for violation in result.violations:
        if violation.verdict == INSUFFICIENT:
            who = named(violation.sensitive_feature, violation.group)
            why = clean(violation.reason, 200).rstrip(". ") or "no reason recorded"
            if (who, why) not in said:
                said.add((who, why))
                lines.append(f"Not enough evidence for {who}: {why}.")
    shown = shown_case(result)
    lines.extend(filter(None, [_missing_sentence(shown)] if shown is not None else []))
    told: dict[str, None] = {}
    mapped = {(entry.sensitive_feature, entry.group) for entry in result.silence}
    told.update(dict.fromkeys(_silence_sentence(result, entry) for entry in result.silence))
    for key, value in result.balance.items():
        if comparison(key) in mapped:
            continue
        sides = [other for other in result.balance if comparison(other)[0] == comparison(key)[0]]
        told.update(dict.fromkeys(_outside_support(key, value, both_sides=len(sides) == 2)))
    lines.extend(told)
    lines.append(
        f"Subgroups are searched only where at least {percent(result.alpha)} of the rows "
        f"compared, weighted, are in them with the outcome (alpha = {rounded(result.alpha)}); "
        "smaller ones may be treated worse."
    )
    lines.append(
        "Rows are compared at equal values of the audited features only. A feature that is not "
        "among them may explain a difference, or hide one."
    )
    return tuple(lines)


def _silence_sentence(result: AuditRecord, entry: Silence) -> str:
    """Who could not be compared."""
    both = sum(e.sensitive_feature == entry.sensitive_feature for e in result.silence) == 2
    who = f"by {label_text(entry.sensitive_feature)}"
    if not both:
        who = f"for {named(entry.sensitive_feature, entry.group)}"
    share = "" if math.isnan(entry.share) else f" ({percent(entry.share)})"
    text = (
        f"{_capital(_rows(entry.n_rows))}{share} compared {who}: no comparable row on the other "
        "side, so nothing can be said about them."
    )
    if not entry.rule:
        return text
    text = f"{text} They are found where {clean(entry.rule, 300)}"
    precision, recall = entry.rule_precision, entry.rule_recall
    if math.isnan(precision) or math.isnan(recall):
        return f"{text}."
    return f"{text} ({percent(recall)} of them are, and {percent(precision)} of those there are)."


def _outside_support(key: Any, value: Any, *, both_sides: bool) -> list[str]:
    found = diagnostics(value)
    n, share = _known(found.get("n_outside_support")), _known(found.get("share_outside_support"))
    if n:
        size = _capital(_rows(int(n))) + (f" ({percent(share)})" if share else "")
    elif share:
        size = f"{percent(share)} of the rows"
    else:
        return []
    feature, group = comparison(key)
    who = f"by {label_text(feature)}" if both_sides else f"for {named(feature, group)}"
    return [
        f"{size} compared {who}: no comparable row on the other side, so nothing can be said about "
        "them."
    ]


def diagnostics(value: Any) -> dict[str, Any]:
    """Give the diagnostics of one balance as a dictionary, empty if there are none."""
    found = value.to_dict() if hasattr(value, "to_dict") else value
    return dict(found) if isinstance(found, Mapping) else {}


def comparison(key: Any) -> tuple[Any, Any]:
    """Sensitive feature and group of a key of ``AuditResult.balance``."""
    return key if isinstance(key, tuple) and len(key) == 2 else ("group", key)


def _known(value: Any) -> float | None:
    """Give a finite number, or None."""
    if isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value):
        return float(value)
    return None


def _made(result: AuditRecord) -> tuple[str, ...]:
    provenance = result.provenance
    versions = provenance.get("versions")
    version = provenance.get("version")
    if version is None and isinstance(versions, Mapping):
        version = next(
            (v for k, v in versions.items() if str(k).replace("-", "_") == "mdfa_fairness_plugin"),
            None,
        )
    parameters = provenance.get("parameters")
    seed = provenance.get("seed")
    if seed is None and isinstance(parameters, Mapping):
        seed = parameters.get("random_state")
    lines = [
        f"alpha = {rounded(result.alpha)}; intervals at {percent(result.confidence_level)}; "
        f"mdfa-fairness-plugin {clean(version, 40) if version else '(version not recorded)'}; "
        f"seed {'not set' if is_missing(seed) else clean(plain_label(seed), 40)}."
    ]
    if provenance.get("input_hash"):
        lines.append(f"Input: {clean(provenance['input_hash'], 80)}.")
    lines.append(
        "Ratios are measured on rows the models that found the subgroup had not seen; p allows for "
        "the search and is adjusted over all searches. An audit reports what it found and what it "
        "could not see: finding nothing is no evidence of equal treatment, and a ratio is no "
        "legal judgement."
    )
    return tuple(lines)


def frame_table(frame: pd.DataFrame) -> Table | None:
    """Put a DataFrame into text; None if it is empty."""
    if frame.empty:
        return None
    return Table(
        header=("", *(label_text(label) for label in frame.columns)),
        rows=tuple(
            (label_text(label), *(_number_cell(cell) for cell in row))
            for label, row in zip(frame.index, frame.to_numpy(dtype=object), strict=True)
        ),
    )


def _number_cell(cell: Any) -> str:
    if is_missing(cell):
        return ""
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        return f"{int(cell):,d}"
    if isinstance(cell, float | np.floating):
        return rounded(float(cell))
    return label_text(cell)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
