"""A result as a CycloneDX document: the model card of a bill of materials, which machines read."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

from scipy.special import ndtri

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import clean, label_text, named
from mdfa_fairness_plugin.measure.intervals import wilson_limits
from mdfa_fairness_plugin.records import (
    NONE_LARGER,
    VIOLATION,
    AuditRecord,
    GroupCounts,
    Measured,
    Violation,
)
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import Document
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.findings import CLOSING, finding, told_verdict
from mdfa_fairness_plugin.report.groups import groups_blocks, highest_rates
from mdfa_fairness_plugin.report.plain import few_digits
from mdfa_fairness_plugin.report.rates import Effect, alike_in, gets
from mdfa_fairness_plugin.report.reading import entries
from mdfa_fairness_plugin.report.redaction import cells_sentence, redact
from mdfa_fairness_plugin.report.statement import NOT_STATED
from mdfa_fairness_plugin.report.story import tell

_VERSION: Final = "1.6"
_EQUAL: Final = " at equal features"
_NO_ENDS: Final = (math.nan, math.nan)
# What is stated and has no field of its own, of the data and of the audit.
_OF_DATA: Final = ("data_from", "data_to", "data_kind", "sensitive_source")
_OF_AUDIT: Final = ("relationship", "audit_date", "threshold", "threshold_date", "notice")


def to_cyclonedx(result: AuditRecord, min_cell: int) -> dict[str, Any]:
    """A bill of materials whose one component is the model that was audited.

    Fields are those of the published schema (https://cyclonedx.org/docs/1.6/json/). Nothing in it
    depends on when it is written: there is no serial number, and the time is the one stated.
    """
    redaction = redact(result, min_cell)
    own = redaction.result
    stated = {key: clean(text) for key, text in own.statement.items() if clean(text)}
    audited = {
        "type": "machine-learning-model",
        "name": stated.get("system", "audited model"),
        **_given(version=stated.get("version")),
        "modelCard": {
            "modelParameters": {"datasets": [_dataset(own, stated)]},
            "quantitativeAnalysis": {
                "performanceMetrics": [_written(one, min_cell) for one in _metrics(own)]
            },
            "considerations": _considerations(own, stated, cells_sentence(redaction, "document")),
            "properties": _properties(own, stated),
        },
    }
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{_VERSION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": _VERSION,
        "version": 1,
        "metadata": _metadata(own, stated),
        "components": [audited],
    }


def _metadata(result: AuditRecord, stated: Mapping[str, str]) -> dict[str, Any]:
    """What made the document, who answers for it, and the date that was stated."""
    day, signed = _day(stated), stated.get("signed_by", "").split("; ")
    version = entries(result.provenance, "versions").get("mdfa_fairness_plugin")
    tool = {"type": "application", "name": "mdfa-fairness-plugin"}
    return {
        "tools": {"components": [tool | _given(version=version and str(version))]},
        **_given(
            timestamp=day and f"{day}T00:00:00Z",
            manufacturer=_given(name=stated.get("auditor")),
            authors=[{"name": name} for name in signed if name],
        ),
    }


def _given(**told: Any) -> dict[str, Any]:
    """What is there of these."""
    return {name: value for name, value in told.items() if value}


def _day(stated: Mapping[str, str]) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(stated.get("audit_date", ""))
    except ValueError:
        return None


def _dataset(result: AuditRecord, stated: Mapping[str, str]) -> dict[str, Any]:
    """The rows that were audited."""
    scope = _lines(tell(result), "scope")
    rows = () if result.n_samples is None else (f"{result.n_samples:,} rows.",)
    own = [{"name": key, "value": stated[key]} for key in _OF_DATA if key in stated]
    return {
        "type": "dataset",
        **_given(name=stated.get("data_source")),
        "description": " ".join((*rows, *scope)),
        "sensitiveData": [label_text(name) for name in result.sensitive_names],
        **_given(contents=own and {"properties": own}),
    }


def _considerations(result: AuditRecord, stated: Mapping[str, str], cells: str) -> dict[str, Any]:
    """What the model is for, what the audit could not see, and whom it may treat unequally."""
    told = tell(result)
    limits = [line for key in ("leaks", "unseen", "warnings") for line in _lines(told, key)]
    if any(own.withheld for own in result.groups):
        limits.append(groups_blocks(result)[1].lines[-1])
    return {
        **_given(useCases=[stated["purpose"]] if "purpose" in stated else []),
        "technicalLimitations": [*limits, cells, CLOSING],
        "fairnessAssessments": _assessments(result),
    }


def _lines(document: Document, key: str) -> tuple[str, ...]:
    """Lines of a section's first block."""
    return tuple(getattr(document[key].blocks[0], "lines", ()))


def _properties(result: AuditRecord, stated: Mapping[str, str]) -> list[dict[str, str]]:
    """What is stated or known of the audit and has no field of its own."""
    told = {key: stated[key] for key in _OF_AUDIT if key in stated}
    if _day(stated):
        del told["audit_date"]
    told["confidence_level"] = f"{result.confidence_level:g}"
    if given := result.provenance.get("input_hash"):
        told["input_hash"] = clean(given)
    told |= {
        f"sha256 of {clean(one.name)}": one.sha256 for one in result.provenance.get("files", ())
    }
    return [{"name": f"mdfa:{key}", "value": text} for key, text in told.items()]


# -- numbers


def _metrics(result: AuditRecord) -> Iterator[dict[str, Any]]:
    """Rates of every group, then ratios at equal features, of everybody and of each subgroup."""
    labels, good = result.outcome_labels, result.favorable_label
    for place, label in enumerate(labels):
        highest = highest_rates(result.groups, place) if label == good else {}
        for own in (own for own in result.groups if own.known):
            who, rate = named(own.sensitive_feature, own.group), own.rates[place]
            kind = f"rate of {_outcome(result, label)}"
            yield from _metric(kind, who, rate, _ends(result, own, place))
            if most := highest.get(own.sensitive_feature, 0.0):
                kind = "impact ratio, to the group with the highest rate"
                yield from _metric(kind, who, rate / most)
    if not labels and (effect := effect_of(next(iter(result.violations), None))).of == "means":
        for own in (own for own in result.groups if own.known):
            who = named(own.sensitive_feature, own.group)
            yield from _metric(f"mean {effect.unit}of {_name(result)}", who, own.rates[0])
    harmed = {_whom(search) for search in result.violations if search.harm}
    for search in result.violations:
        who = f"{named(search.sensitive_feature, search.group)} against {say.others_of(search)}"
        effect = effect_of(search)
        of = f"rates of {_outcome(result, search.outcome)}{_EQUAL}"
        if effect.of != "rates":
            of = (
                f"{effect.of} {effect.unit}of {_name(result)}, {label_text(search.outcome)}{_EQUAL}"
            )
        everybody, inside = f"{who}, everybody compared", f"{who}, the subgroup found"
        if search.rule:
            inside = f"{who}, where {clean(search.rule)}"
        if search.rule == EVERYBODY:
            inside = everybody
        else:
            yield from _measured(effect, of, everybody, search.population)
        yield from _measured(effect, of, inside, search)
        if effect.beside and (search.harm or _whom(search) not in harmed):
            kind = f"impact ratio{_EQUAL}"
            yield from _metric(kind, inside, search.impact_ratio, search.impact_interval)
        yield from _metric(
            f"p of {of}, adjusted over all searches", inside, search.p_value_adjusted
        )


def _whom(search: Violation) -> tuple[Hashable, ...]:
    return search.sensitive_feature, search.group, search.reference


def _ends(result: AuditRecord, own: GroupCounts, place: int) -> tuple[float, float]:
    """Wilson's interval of a group's rate, where every row is one person's and counts alike."""
    counts = [one for one in own.counts if one is not None]
    if len(counts) < len(own.counts) or result.provenance.get("n_clusters") is not None:
        return _NO_ENDS
    n, rate = sum(counts), own.rates[place]
    if n == 0 or not math.isclose(counts[place] / n, rate, abs_tol=1e-9):  # weighted
        return _NO_ENDS
    low, high = wilson_limits(rate, n, ndtri(0.5 + result.confidence_level / 2.0))
    return float(low), float(high)


def _measured(effect: Effect, of: str, where: str, found: Measured) -> Iterator[dict[str, Any]]:
    """Ratio and difference in a set of rows."""
    if effect.name == "ratio" or effect.beside:
        yield from _metric(f"ratio of {of}", where, found.ratio, found.ratio_interval)
    ends = found.difference_interval
    yield from _metric(f"difference of {of}", where, found.difference, ends)


def _metric(
    kind: str, where: str, value: float, ends: tuple[float, float] = _NO_ENDS
) -> Iterator[dict[str, Any]]:
    """One metric, as far as its numbers are known and may be printed; nothing without any."""
    bounds = {
        name: end
        for name, end in zip(("lowerBound", "upperBound"), ends, strict=True)
        if not math.isnan(end)
    }
    told = {"value": value} if not math.isnan(value) else {}
    if told or bounds:
        interval = {"confidenceInterval": bounds} if bounds else {}
        yield {"type": kind, "slice": where, **told, **interval}


def _written(told: Any, min_cell: int) -> Any:
    """Numbers of a metric as text, in as many digits as a page has where counts are withheld."""
    if isinstance(told, dict):
        return {key: _written(own, min_cell) for key, own in told.items()}
    if isinstance(told, float):
        return f"{told if min_cell <= 1 else few_digits(told):.6g}"
    return told


def _name(result: AuditRecord) -> str:
    return clean(result.outcome_name) or "the outcome"


def _outcome(result: AuditRecord, label: Any) -> str:
    return f"{f'{clean(result.outcome_name)} = ' if result.outcome_name else ''}{label_text(label)}"


# -- groups at risk


def _assessments(result: AuditRecord) -> list[dict[str, str]]:
    """Findings by group: harm, or advantage where an outcome is said to be favourable."""
    searches: dict[str, list[Violation]] = {}
    for own in result.violations:
        searches.setdefault(named(own.sensitive_feature, own.group), []).append(own)
    return [
        {
            "groupAtRisk": who,
            **_told("benefits", [own for own in found if own.harm is False]),
            **_told("harms", [own for own in found if own.harm is not False]),
            "mitigationStrategy": NOT_STATED,
        }
        for who, found in searches.items()
    ]


def _told(key: str, searches: list[Violation]) -> dict[str, str]:
    unsaid = key == "harms" and any(own.harm is None for own in searches)
    end = ["Which outcome is favourable is not stated."] if unsaid else []
    return {key: " ".join([*map(_finding, searches), *end])} if searches else {}


def _finding(search: Violation) -> str:
    """What one search found."""
    found = finding(search)
    if search.verdict == VIOLATION:
        p = search.p_value_adjusted
        of_chance = "" if math.isnan(p) else f" ({say.p_text(p)})"
        return f"{say.case_sentence(search)} Finding: {found}{of_chance}."
    why = "" if search.verdict == NONE_LARGER else clean(search.reason).rstrip(". ")
    found = told_verdict(search) if search.verdict == NONE_LARGER else found
    more = f" ({why})" if why else ""
    often = " more often" if search.outcome_type == "binary" else ""
    asked = f"{say.capital(say.group_of(search))} {gets(search)}{often}"
    return f"{asked} than {say.others_of(search)}{alike_in(search)}: {found}{more}."
