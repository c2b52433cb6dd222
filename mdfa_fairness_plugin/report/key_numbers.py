"""The numbers of a page that are read first."""

from __future__ import annotations

import math

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import PAGE, Numbers, Section, Value
from mdfa_fairness_plugin.report.reading import shown_case


def key_numbers(result: AuditRecord) -> Section:
    """Size and evidence of the case told first."""
    case = shown_case(result)
    pairs: list[tuple[str, Value]] = []
    if case is not None:
        ratio = _with_span(case.ratio, case.ratio_interval)
        if case.measured:
            pairs.append(("Rate ratio", "infinite" if math.isinf(case.ratio) else ratio))
        elif not math.isnan(case.lower):
            pairs.append(("Rate ratio", f"at least {say.ratio_text(case.ratio_interval[0])}"))
        if size := say.points_text(case.difference, case.difference_interval):
            pairs.append(("Difference of rates", size))
        everybody, part = case.population, case.beside
        if case.rule != EVERYBODY and math.isfinite(everybody.delta):
            ratio = _with_span(everybody.ratio, everybody.ratio_interval)
            pairs.append(("For everybody", ratio))
        if part is not None and math.isfinite(part.delta):
            pairs.append(("In a part of them", _with_span(part.ratio, part.ratio_interval)))
        if not math.isnan(case.p_value_adjusted):
            pairs.append(("p, all searches", say.p_number(case.p_value_adjusted)))
        if far := say.deviations(case.standard_deviations):
            pairs.append(("Standard deviations", far))
        if case.n_rows != 0:
            pairs.append(("Rows in it", case.n_rows))
    return Section("numbers", "", (Numbers(tuple(pairs)),), frozenset({PAGE}))


def _with_span(ratio: float, interval: tuple[float, float]) -> str:
    if any(map(math.isnan, interval)):
        return say.ratio_text(ratio)
    return (
        f"{say.ratio_text(ratio)} ({say.ratio_text(interval[0])} to {say.ratio_text(interval[1])})"
    )
