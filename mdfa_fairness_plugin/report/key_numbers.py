"""The numbers of a page that are read first."""

from __future__ import annotations

import math

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.records import AuditRecord
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.document import PAGE, Numbers, Section, Value
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.reading import shown_case


def key_numbers(result: AuditRecord) -> Section:
    """Size and evidence of the case told first."""
    case = shown_case(result)
    pairs: list[tuple[str, Value]] = []
    if case is not None:
        effect = effect_of(case)
        title, beside = effect.titles
        if case.measured:
            whole = math.isinf(case.effect)
            pairs.append((title, "infinite" if whole else effect.spanned(case)))
        elif not math.isnan(case.lower):
            pairs.append((title, f"at least {effect.text(effect.ends(case)[0])}"))
        if size := effect.beside_span(case):
            pairs.append((beside, size))
        everybody, part = case.population, case.beside
        if case.rule != EVERYBODY and math.isfinite(everybody.effect):
            pairs.append(("For everybody", effect.spanned(everybody)))
        if part is not None and math.isfinite(part.effect):
            pairs.append(("In a part of them", effect.spanned(part)))
        if not math.isnan(case.p_value_adjusted):
            pairs.append(("p, all searches", say.p_number(case.p_value_adjusted)))
        if far := say.deviations(case.standard_deviations):
            pairs.append(("Standard deviations", far))
        if case.n_rows != 0:
            pairs.append(("Rows in the subgroup", case.n_rows))
    return Section("numbers", "", (Numbers(tuple(pairs)),), frozenset({PAGE}))
