"""A result as test cases, the form in which continuous integration reads and shows them."""

from __future__ import annotations

import math
import numbers
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mdfa_fairness_plugin.data.amounts import HIGHER, LOWER
from mdfa_fairness_plugin.describe.wording import clean, for_xml, label_text, named, plain_float
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.fields import figures
from mdfa_fairness_plugin.records import INSUFFICIENT, VIOLATION, AskedSubgroup, AuditRecord, Judged
from mdfa_fairness_plugin.report.findings import FINDINGS, finding
from mdfa_fairness_plugin.report.plain import few_digits
from mdfa_fairness_plugin.report.reading import entries, leaks
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.sentences import case_sentence

_SUITE: Final = "mdfa"
DELTA: Final = "delta"
DIFFERENCE: Final = "the difference, in units of the outcome,"


def of_ranks(search: Any) -> bool:
    """Whether it is the mean rank of ordered outcomes, beside whose cuts it has another unit."""
    return getattr(search, "by_difference", False) and search.outcome in (LOWER, HIGHER)


def limited(search: Any) -> tuple[str, float]:
    """What a gate limits in a search, and its lower confidence limit; of ranks none."""
    if of_ranks(search):
        return DELTA, math.nan
    what = DIFFERENCE if getattr(search, "by_difference", False) else DELTA
    return what, float(getattr(search, "effect_interval", search.interval)[0])


def told_limit(search: Any) -> str:
    """The same in words."""
    what, low = limited(search)
    if math.isnan(low):
        return what
    return f"{what} {low:.3f}" if what == DELTA else f"{what} {low:.4g}"


def trips(search: Any, fail_above: float) -> bool:
    """Whether a search for harm is surely above the gate: its lower confidence limit is."""
    return getattr(search, "harm", None) is not False and limited(search)[1] > fail_above


class Case(NamedTuple):
    """A search, an answer or a change, as gates and test cases take it."""

    about: str  # what sets it apart beside its search
    search: Any
    tell: Callable[[Any], str]
    printed: Any = None  # the search as it may be printed; by default as it is


def cases_of(result: AuditRecord, about: str = "", min_cell: int = 1) -> tuple[Case, ...]:
    """Searches and answers of an audit, ``about`` what if it is one of several."""
    searches: list[Judged] = [*result.violations, *result.asked]
    copy = result if min_cell == 1 else redact(result, min_cell).result
    return tuple(
        Case(f"where {own.label}" if isinstance(own, AskedSubgroup) else about, own, _told, told)
        for own, told in zip(searches, (*copy.violations, *copy.asked), strict=True)
    )


def cases_of_models(audits: Mapping[Any, AuditRecord], min_cell: int = 1) -> tuple[Case, ...]:
    """The cases of the audits of several models."""
    told = ((f"model {label_text(model)}", audit) for model, audit in audits.items())
    return tuple(case for about, audit in told for case in cases_of(audit, about, min_cell))


def junit_of(
    cases: Sequence[Case], properties: Mapping[str, Any], fail_above: float | None = None
) -> str:
    """JUnit XML, failed where a case trips, skipped where it saw too little."""
    if fail_above is not None:
        real = isinstance(fail_above, numbers.Real) and not isinstance(fail_above, bool)
        if not real or math.isnan(float(fail_above)):
            raise InputError(f"fail_above: a number or None expected, {fail_above!r} found.")
    searches = [case.search for case in cases]
    failed = [fail_above is not None and trips(v, fail_above) for v in searches]
    skipped = [
        v.verdict == INSUFFICIENT and not fails for v, fails in zip(searches, failed, strict=True)
    ]
    counts = {
        "tests": str(len(searches)),
        "failures": str(sum(failed)),
        "errors": "0",
        "skipped": str(sum(skipped)),
    }
    root = ET.Element("testsuites", {"name": _SUITE, **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _SUITE, **counts})
    _add_properties(suite, {**properties, "fail_above": fail_above})
    taken: dict[tuple[str, str], int] = {}
    for own, fails, skips in zip(cases, failed, skipped, strict=True):
        violation = own.search if own.printed is None else own.printed
        case = ET.SubElement(suite, "testcase", _name(own, taken))
        told = figures(violation, "case")
        if getattr(violation, "left_open", False):  # bounds are all that is known
            told |= dict.fromkeys(("delta", "ratio", "difference"), math.nan)
        _add_properties(case, told)
        if fails:
            assert fail_above is not None
            message = (
                f"lower confidence limit of {told_limit(violation)} is above {float(fail_above):g}"
            )
            kind = FINDINGS.get(violation.verdict, FINDINGS[VIOLATION])
            failure = ET.SubElement(case, "failure", {"message": message, "type": kind})
            failure.text = _text(own.tell(violation), 2000)
        elif skips:
            reason = _text(violation.reason or "no reason recorded", 500)
            ET.SubElement(case, "skipped", {"message": f"{FINDINGS[INSUFFICIENT]}: {reason}"})
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _name(case: Case, taken: dict[tuple[str, str], int]) -> dict[str, str]:
    """Class and name of a test case, unlike all others."""
    violation = case.search
    group = f"{_SUITE}.{_text(violation.sensitive_feature, 80).replace('.', '_')}"
    reference = violation.reference
    against = "everyone else" if reference is None else _text(label_text(reference), 80)
    who = _text(named(violation.sensitive_feature, violation.group), 200)
    name = f'{who} compared with {against}, outcome "{_text(label_text(violation.outcome), 80)}"'
    if case.about:
        name = f"{_text(case.about, 206)}: {name}"
    taken[group, name] = taken.get((group, name), 0) + 1
    n = taken[group, name]
    return {"classname": group, "name": name if n == 1 else f"{name} ({n})"}


def _told(violation: Judged) -> str:
    return f"{case_sentence(violation)} Finding: {finding(violation)}."


def properties_of(result: Any) -> dict[str, Any]:
    """What a suite says of the audit or comparison that it is of."""
    return {
        "version": entries(result.provenance, "versions").get("mdfa_fairness_plugin"),
        "seed": result.provenance.get("seed"),
        "input_hash": result.provenance.get("input_hash"),
        "n_samples": result.n_samples,
        "n_clusters": result.provenance.get("n_clusters"),
        "alpha": result.alpha,
        "confidence_level": result.confidence_level,
        "fail_above": None,  # its place
        "leaks": " ".join(leaks(result.warnings)),
    }


def _add_properties(parent: ET.Element, values: Mapping[str, Any]) -> None:
    """Properties of what is known."""
    properties = ET.SubElement(parent, "properties")
    for name, value in values.items():
        shown = plain_float(few_digits(value)) if isinstance(value, float) else value
        if shown not in (None, "", "-inf"):
            ET.SubElement(properties, "property", {"name": name, "value": _text(shown, 500)})


def _text(value: object, limit: int) -> str:
    """Write text on one line, of characters that XML has."""
    return for_xml(clean(value, limit))
