"""A card as a document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import (
    UNITS,
    clean,
    is_missing,
    label_text,
    number,
    percent,
    quantity,
    rounded,
)
from mdfa_fairness_plugin.measure.intervals import wilson_limits
from mdfa_fairness_plugin.person.comparators import Comparators
from mdfa_fairness_plugin.person.find import GROUP, OTHERS, UNKNOWN
from mdfa_fairness_plugin.records import NONE_LARGER, VIOLATION, Violation
from mdfa_fairness_plugin.records.searches import RANK
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import HTML, Document, Paragraphs, Section, Table
from mdfa_fairness_plugin.report.effects import effect_of, is_number
from mdfa_fairness_plugin.report.figures import in_brackets, points_text
from mdfa_fairness_plugin.report.findings import CLOSING, FINDINGS, finding
from mdfa_fairness_plugin.report.legends import quantity_sentence
from mdfa_fairness_plugin.report.means import Difference, OfMeans, Phrase, Slope
from mdfa_fairness_plugin.report.statement import statement_section
from mdfa_fairness_plugin.report.tables import frame_table

if TYPE_CHECKING:
    from mdfa_fairness_plugin.person.card import ContestationCard

_MAX_FEATURES: Final = 40
_MOST_UNSEEN: Final = 5
_NOW: Final = (
    "What now: ask for the reasons of this decision, and whether what is recorded of this person is "
    "right. How comparable people fared is told below."
)
_UNSAID: Final = (
    "Unlike outcomes of two similar people can be chance: look at the rates, not at single cases. "
    "People are compared at equal values of the audited features; one that was not audited may "
    "explain a difference, or hide one.",
    "Being in the subgroup does not show that this decision was wrong, and being outside does not "
    "show that it was right.",
    CLOSING,
)


def value_text(value: Any, kind: str = "numeric") -> str:
    """Write one feature's value, with its unit; years keep their usual form."""
    if (kind == "time" or kind in UNITS) and not is_missing(value):
        return quantity(float(value), kind)
    if isinstance(value, float | np.floating) and not math.isnan(value):
        whole = float(value) == math.floor(value)
        return number(float(value)) if whole else rounded(float(value), 5)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return label_text(value)


def as_read(records: pd.DataFrame, features: Sequence[Any]) -> pd.DataFrame:
    """Records whose times and durations are texts, with their units."""
    units = [one for one in features if one.kind == "time" or one.kind in UNITS]
    texts = {u.name: [value_text(x, u.kind) for x in records[u.name]] for u in units}
    return records.assign(**texts)


def tell(card: ContestationCard) -> Document:
    """Put a card into words."""
    return Document(
        "Where this person stands",
        (
            Section("person", "", (Paragraphs((_person(card),), "person"),)),
            Section("now", "", (Paragraphs((_NOW,), "now"),), HTML),
            Section("standing", "Is this person in the subgroup?", (Paragraphs(_standing(card)),)),
            Section(
                "finding",
                "What the audit found there",
                (
                    Paragraphs(_finding(card)),
                    _rates(card, card.subgroup, "In the subgroup", "Rate, same features"),
                ),
            ),
            Section(
                "comparable",
                "How comparable people fared",
                (
                    Paragraphs(_comparison(card)),
                    _rates(card, card.nearest, "The nearest people", "Rate"),
                    *map(_records, card.nearest),
                ),
            ),
            Section("certainty", "How certain this is", (Paragraphs(_certainty(card)),)),
            statement_section(card.statement),
            Section("unsaid", "What this card does not say", (Paragraphs(_unsaid(card)),)),
        ),
        look="card",
    )


def _unsaid(card: ContestationCard) -> tuple[str, ...]:
    first, *others = _UNSAID
    return first.replace("rates", effect_of(card.told).of, 1), *others


def _person(card: ContestationCard) -> str:
    effect = effect_of(card.told)
    who = {
        GROUP: f"of the group {card.group_name}",
        OTHERS: f"compared with {card.group_name}",
        UNKNOWN: "sensitive value not known",
    }[card.side]
    if isinstance(effect, Slope) and card.side != UNKNOWN:
        who = f"one of {card.group_name if card.side == GROUP else card.others_name}"
    got = "outcome not known" if card.received is None else f'outcome "{label_text(card.received)}"'
    if isinstance(effect, OfMeans) and isinstance(card.received, float):
        ranks = effect.scale == RANK
        size = effect.average(card.received) if ranks else value_text(card.received)
        got = f"{Phrase.of(card.told).what or 'outcome'} {'above ' if ranks else ''}{size}"
    shown = [f"{clean(name, 40)} {value}" for name, value in card.features[:_MAX_FEATURES]]
    if len(card.features) > _MAX_FEATURES:
        shown.append(f"and {len(card.features) - _MAX_FEATURES} more features")
    where = "" if card.row is None else f" Row {card.row:,d} of the audited data, counted from 0."
    return f"Person: {who}; {got}; {', '.join(shown)}.{where}"


def _standing(card: ContestationCard) -> tuple[str, ...]:
    if not card.comparable:
        return (
            "This audit cannot speak about this person: nobody on the other side is like them in "
            "the audited features, so they were left out of the comparison.",
        )
    if unlike := _unlike(card):
        return (
            f"This audit cannot speak about this person: {unlike}. What its models say of them is a "
            "guess.",
        )
    if card.inside is None:
        return (
            "Not known: this search found nothing unequal beyond chance, and its model was not kept.",
            *_rule_lines(card),
        )
    if card.threshold == -math.inf:
        return (f"Yes: {say.everybody_sentence(card.told).replace('This is about', 'it is', 1)}",)
    answer, scored = "Yes." if card.inside else "No.", not math.isnan(card.score)
    if scored:
        answer += (
            f" Their score is {rounded(card.score)} (higher than {percent(card.score_rank)} of "
            f"those compared); the subgroup begins at {rounded(card.threshold)}."
        )
    lines = [answer]
    if card.row is not None:
        lines.append(_judged_by(card.violation, card.row))
    if scored and card.inside != (card.score >= card.threshold):
        lines.append(
            "This is a border case: the part of the data that judged this person draws the border "
            "on their other side."
        )
    return (*lines, *_rule_lines(card))


def _judged_by(violation: Violation, row: int) -> str:
    """Whether the model that judged an audited row had learned from it."""
    if violation.side[row] == 0 or violation.held_out[row]:
        return "Membership was judged by a model that had not seen this person."
    return (
        "Membership was judged by a model that had learned from this person, too: of a 70/30 split "
        "only rows held out are judged by one that had not."
    )


def _unlike(card: ContestationCard) -> str:
    """That nobody audited is like the person, and in what; empty if somebody is."""
    if card.unseen:
        names = ", ".join(clean(name, 40) for name in card.unseen[:_MOST_UNSEEN])
        more = len(card.unseen) - _MOST_UNSEEN
        names += f" and {more} more" if more > 0 else ""
        return f"nobody audited has such a value of {names}"
    return "" if card.alike else "nobody audited is like them in the audited features"


def _rule_lines(card: ContestationCard) -> tuple[str, ...]:
    if card.meets_rule is None or card.told.rule in ("", EVERYBODY):
        return ()
    verb = "meet" if card.meets_rule else "do not meet"
    return (
        f"They {verb} the rule that describes the subgroup in short: {clean(card.told.rule, 400)}.",
    )


def _finding(card: ContestationCard) -> tuple[str, ...]:
    v = card.told
    lost = bool({"delta", "difference"} & v.withheld)
    if not v.measured and not lost:
        return (f"Nothing could be measured: {clean(v.reason, 200) or 'no reason recorded'}.",)
    start = f"In the subgroup, {say.group_of(v)}"
    if v.rule == EVERYBODY:
        start = say.capital(say.group_of(v))
    told = effect_of(v).sentence(v, start, say.others_of(v))
    size = points_text(v.difference, v.difference_interval)
    size = f" The difference of the rates is {size}." if size and not is_number(v) else ""
    turned = effect_of(v).turned(v) if v.verdict == NONE_LARGER else ""
    p = f"{say.p_of(v)}{', one-sided' if turned else ''}"
    p = f" ({p})" if lost or not math.isnan(v.p_value_adjusted) else ""
    found = f"Finding: {turned}{finding(v)}{p}. {say.evidence_sentence(v)}".rstrip()
    lines = [f"{told}{size}", found]
    if what := quantity_sentence(v):
        lines.insert(1, what)
    if card.has_outcome is False:
        lines.append(
            f'The person got another outcome, "{label_text(card.received)}": this search is about '
            f'"{card.outcome_name}".'
        )
    if any(side.suppressed for side in card.subgroup):
        lines.append(_hidden(card, "Counts in the subgroup"))
    return tuple(lines)


def _comparison(card: ContestationCard) -> tuple[str, ...]:
    where = "in the subgroup and its surroundings" if card.inside else "among all those compared"
    lines = [
        f"The people most like this one {where}, by all audited features alike, and not farther "
        "away than half the usual distance between two people.",
        *card.not_held_equal,
    ]
    if any(side.suppressed for side in card.nearest):
        lines.append(_hidden(card, "Counts of the nearest people"))
    for side in card.nearest:
        if side.n == 0:
            lines.append(f"Nobody of {side.label} is near enough to be compared.")
    return tuple(lines)


def _hidden(card: ContestationCard, what: str) -> str:
    return f"{what} are withheld: they would tell of fewer than {card.min_cell} rows."


def _certainty(card: ContestationCard) -> tuple[str, ...]:
    v = card.told
    lines = []
    if unlike := _unlike(card):
        lines.append(f"Whether this holds for them is not known: {unlike}.")
    elif card.n_models and card.threshold != -math.inf:
        n = card.n_models_inside
        agree = n if card.inside else card.n_models - n
        where = "inside" if card.inside else "outside"
        if card.n_models == 1:
            lines.append("One model draws the border, so nothing can be said about its stability.")
        elif agree == card.n_models:
            every = "Both" if card.n_models == 2 else f"All {card.n_models}"
            lines.append(f"{every} models of the audit put this person {where}.")
        else:
            lines.append(
                f"{agree} of the {card.n_models} models of the audit put this person {where}: near "
                "the border, so membership is not certain."
            )
    effect = effect_of(v)
    low = effect.ends(v)[0]
    if v.verdict == VIOLATION and low > effect.none:
        least = effect.text(low)
        lines.append(
            f"The {effect.name} in the subgroup is at least {least} at this confidence. It is a "
            "statement about the whole subgroup, not about each person in it."
        )
    elif v.verdict != VIOLATION:
        lines.append(
            f"Nothing was found {FINDINGS[VIOLATION]} here; that is no finding of equal treatment."
        )
    if difference := _difference(card):
        lines.append(difference)
    return tuple(lines)


def _difference(card: ContestationCard) -> str:
    """How far the nearest of both sides are apart, and how far chance alone may have moved that."""
    effect = effect_of(card.told)
    own, others = card.nearest if len(card.nearest) == 2 else (None, None)
    if own is None or others is None or not (own.n and others.n):
        return ""
    if math.isnan(own.rate) or math.isnan(others.rate):
        return ""
    if isinstance(effect, Slope):
        return (
            "So few rows are a rough guide, and how much more or less the nearest have differs: the "
            "slope is measured in the whole subgroup."
        )
    if isinstance(effect, OfMeans):
        gap = own.rate - others.rate
        far = 1.96 * card.told.outcome_sd * math.sqrt(1.0 / own.n + 1.0 / others.n)
        size, *span = Difference(scale=effect.scale).alike((gap, gap - far, gap + far))
        size = in_brackets(Difference(scale=effect.scale).with_unit(size, gap), span[0], span[1])
        what = "means"
    else:
        size, what = points_text(own.rate - others.rate, newcombe(own, others)), "rates"
    return (
        f"So few rows are a rough guide: the {what} of the nearest {own.n:,d} of {own.label} and "
        f"{others.n:,d} of {others.label} differ by {size}; in brackets is what 95 % confidence leaves "
        "open."
    )


def newcombe(own: Comparators, others: Comparators) -> tuple[float, float]:
    """Ends of the interval on a difference of rates of few people (Newcombe 1998, method 10)."""
    p, q = own.rate, others.rate
    low, high = (wilson_limits(rate, n, 1.959964) for rate, n in ((p, own.n), (q, others.n)))
    down, up = math.hypot(p - low[0], high[1] - q), math.hypot(low[1] - p, q - high[0])
    return p - q - down, p - q + up


def _rates(card: ContestationCard, sides: Sequence[Comparators], caption: str, rate: str) -> Table:
    """Outcomes of both sides; empty if nobody was counted."""
    counted = any(side.n for side in sides)
    rated = not all(math.isnan(side.rate) for side in sides)  # plain counts have no such rate
    effect = effect_of(card.told)
    of_means = isinstance(effect, OfMeans) and bool(card.told.outcome_scale)
    write = effect.average if isinstance(effect, OfMeans) and of_means else percent
    rows = tuple(
        (
            side.label,
            side.n,
            *(() if of_means else ("" if side.n == 0 else side.n_outcome,)),
            *(("" if math.isnan(side.rate) else write(side.rate),) if rated else ()),
        )
        for side in sides
        if counted
    )
    outcome = () if of_means else (f'Outcome "{card.outcome_name}"',)
    rate = rate.replace("Rate", "Mean") if of_means else rate
    header = ("Who", "Rows", *outcome, *((rate,) if rated else ()))
    return Table(header=header, rows=rows, caption=caption)


def _records(side: Comparators) -> Table:
    shown = side.records.astype(object).map(value_text)
    shown.index = pd.Index(range(1, len(shown) + 1))
    return frame_table(shown, f"The nearest of {side.label}")
