"""Features in a table: why they are used, as stated, and what they tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from mdfa_fairness_plugin.describe.wording import clean, label_text, percent
from mdfa_fairness_plugin.records import AuditedFeature, AuditRecord, Violation
from mdfa_fairness_plugin.report import document as doc
from mdfa_fairness_plugin.report.copies import printed
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.profile_cells import ProfiledFeatures
from mdfa_fairness_plugin.report.rates import Effect
from mdfa_fairness_plugin.report.reading import place_of, shown_case
from mdfa_fairness_plugin.report.sentences import group_of, others_of

# Besides those of which something was stated.
_MOST_UNSTATED: Final = 40
_NOT_STATED: Final = "not stated"


def features_section(result: AuditRecord) -> doc.Section:
    """Every feature, those first of which something was stated; nothing if that was not asked for."""
    case = shown_case(result)
    place = place_of(result, case)
    features = sorted(result.features, key=lambda own: not (own.reason or own.protected))
    n_stated = sum(bool(own.reason or own.protected) for own in features)
    n_more = len(features[n_stated:]) - _MOST_UNSTATED
    features = features[: n_stated + _MOST_UNSTATED]
    effect = effect_of(case)
    ratios = any(not math.isnan(_effect_without(own, place, effect)) for own in features)
    header = ["Feature", "Reason stated", "Protected trait", "Tells the group"]
    header += [f"{effect.name.capitalize()} without it"] if ratios else []
    rows = []
    for own in features:
        cells: list[doc.Value] = [label_text(own.feature), clean(own.reason) or _NOT_STATED]
        cells += ["measures one" if own.protected else "", _tells(own, place)]
        cells += [_without(own, place, effect)] if ratios else []
        rows.append(tuple(cells))
    table = doc.Table(
        header=tuple(header),
        rows=tuple(rows),
        caption="Reasons, as stated by those who answer for the audit",
        n_text=3,
        more=f"and {n_more} more, of which nothing was stated" if n_more > 0 else "",
        media=doc.HTML,
    )
    told = effect if ratios else None
    lines = doc.Bullets(tuple(_line(own, place, told) for own in features), media=doc.PLAIN)
    note = doc.Paragraphs((_note(case, told),) if rows else (), "note")
    return doc.Section("features", "Reasons for features", (table, lines, note))


def _line(own: AuditedFeature, place: int | None, effect: Effect | None) -> str:
    """One feature as text."""
    parts = [clean(own.reason) or _NOT_STATED]
    parts += ["measures a protected trait, as stated"] if own.protected else []
    if tells := doc.shown(_tells(own, place)):
        parts.append(f"tells the group: {tells}")
    without = doc.shown(_without(own, place, effect)) if effect is not None else ""
    parts += [f"{effect.name} without it: {without}"] if effect is not None and without else []
    return f"{label_text(own.feature)}: {'; '.join(parts)}."


def _tells(own: AuditedFeature, place: int | None) -> doc.Value:
    share = math.nan if place is None else own.tells[place]
    if math.isnan(share):
        return None if "tells" in own.withheld else ""
    return percent(share)


def _effect_without(own: AuditedFeature, place: int | None, effect: Effect) -> float:
    """Effect of a search without a feature; NaN if it is not known."""
    told = getattr(own, f"{effect.name}_without")
    return math.nan if place is None or not told else told[place]


def _without(own: AuditedFeature, place: int | None, effect: Effect) -> doc.Value:
    value = _effect_without(own, place, effect)
    if math.isnan(value):
        return None if f"{effect.name}_without" in own.withheld else ""
    return effect.text(value)


def _note(case: Violation | None, effect: Effect | None) -> str:
    """How to read the table."""
    lines = []
    if case is not None:
        lines.append(
            f"Tells the group: how often the feature alone tells {group_of(case)} from "
            f"{others_of(case)}, both counting alike and everybody told by the rest; 50 % is a guess."
        )
    if effect is not None:
        name = effect.name.capitalize()
        lines.append(
            f"{name} without it: in the same subgroup, if people are not held equal in it."
        )
    lines.append("Whether a reason justifies the use of a feature is for others to judge.")
    return " ".join(lines)


def printable_features(
    given: AuditRecord, case: Violation | None, violations: tuple[Violation, ...]
) -> tuple[tuple[AuditedFeature, ...], int]:
    """Features as they may be printed beside these copies of searches, and how many numbers are lost.

    Of the ``case`` told first they say what they tell, unless its profile withholds of them; searches
    that have their ratio have it without them too.
    """
    place = place_of(given, case)
    if case is None or place is None:
        return tuple(_printed(own, None, violations) for own in given.features), 0
    profiled = ProfiledFeatures(given, case.profile, violations[place].profile)
    copies, n_lost = [], 0
    for own in given.features:
        may_tell = profiled.may_tell_of_whole(own.feature)
        copies.append(_printed(own, place if may_tell else None, violations))
        effect = effect_of(case)
        pairs = [
            (own.tells[place], copies[-1].tells[place]),
            tuple(_effect_without(one, place, effect) for one in (own, copies[-1])),
        ]
        n_lost += sum(math.isnan(after) and not math.isnan(before) for before, after in pairs)
    return tuple(copies), n_lost


def _printed(
    own: AuditedFeature, place: int | None, violations: Sequence[Violation]
) -> AuditedFeature:
    known = zip(violations, own.ratio_without, strict=True)
    told = zip(violations, own.difference_without, strict=False)
    return printed(
        AuditedFeature,
        own,
        tells=tuple(share if i == place else math.nan for i, share in enumerate(own.tells)),
        ratio_without=tuple(math.nan if math.isnan(one.delta) else r for one, r in known),
        difference_without=tuple(math.nan if math.isnan(one.difference) else d for one, d in told),
    )


def names_section(result: AuditRecord) -> doc.Section:
    """Names that are too long to be whole elsewhere."""
    every = dict.fromkeys((*result.sensitive_names, *result.feature_names))
    full = tuple(name for own in every if (name := label_text(own, None)) != label_text(own))
    return doc.Section("names", "Long names in full", (doc.Bullets(full),), doc.HTML, folded=True)
