"""Who was found, how much they have, and who could not be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mdfa_fairness_plugin.data.problem import AuditProblem
from mdfa_fairness_plugin.describe.cells import values_counted
from mdfa_fairness_plugin.describe.conditions import MOSTLY, Rule
from mdfa_fairness_plugin.describe.held_out_rule import HeldOutRule, describe_held_out
from mdfa_fairness_plugin.describe.profile import (
    OUTCOME,
    VALUES,
    ProfiledSubgroup,
    profile_subgroups,
    side_labels,
)
from mdfa_fairness_plugin.describe.rules import describe_rule
from mdfa_fairness_plugin.records import Silence, Subgroup
from mdfa_fairness_plugin.search.ground import Ground
from mdfa_fairness_plugin.search.search import Search

# Fewer rows than this are counted but not described by a rule.
_FEWEST_DESCRIBED = 10


def profiles_of(searches: list[Search], problem: AuditProblem) -> list[pd.DataFrame]:
    """Profiles of the subgroups of these searches, made together."""
    return profile_subgroups(
        problem.display,
        (_profiled(search, problem) for search in searches),
        displays=problem.encoder.displays_,
        sample_weight=problem.sample_weight,
        amount=None if problem.amount is None else problem.amount.told,
        amount_name=problem.words.outcome_name,
    )


def _profiled(search: Search, problem: AuditProblem) -> ProfiledSubgroup:
    """The subgroup of one search and, as S, whom it was compared with.

    Rows that were not compared, or not judged by a model of other rows, take no part.
    """
    key, data, n_rows = search.key, search.data, problem.n_rows
    return ProfiledSubgroup(
        s=search.working(np.where(data.held_out, data.s, 0).astype(np.int8), n_rows),
        membership=search.working(search.solved.member.astype(np.int8), n_rows),
        group=key.group,
        reference=key.reference,
        outcome=problem.has(key.outcome),
        outcome_name=f"{OUTCOME}{key.outcome}",
        of_amount=problem.is_amount(key.outcome),
    )


def rule_of(search: Search, inside: np.ndarray, problem: AuditProblem) -> HeldOutRule:
    """Rule of the subgroup of one search, or of another set of the rows measured."""
    held = search.data.held_out
    rows = search.rows[held]
    return describe_held_out(
        inside,
        problem.display,
        search.data.folds[held],
        told=next((own.searched for own in search.held_alone), None),
        rows=rows,
        displays=problem.encoder.displays_,
        sample_weight=problem.sample_weight[rows],
    )


def part_described(
    figures: dict[str, Any], search: Search, problem: AuditProblem
) -> dict[str, Any]:
    """Figures of one search, with who is in the part of everybody that is told beside them."""
    figures = figures | problem.words.impact(search.key.outcome, figures)
    del figures["otherwise"]
    figures["amounts"] = amounts_of(search, problem)
    if search.rule is not None:
        figures["rule_rows"] = search.rule.told.n_printed
        if problem.probability is not None:  # copies are no people
            figures["rule_rows"] = figures["rule_subgroup"].n_rows
        figures["rule_conditions"] = search.rule.told.rule.alternatives
    best = None if search.rule is None else search.rule.instead
    if best is not None:
        own, rule = figures["rule_subgroup"], best.rule
        # Worth telling only of as many as a subgroup holds, and if it says more than chance.
        told = not own.mass < figures["alpha"] and rule.fidelity > 0.5
        named = replace(own, rule=rule.text, rule_fidelity=rule.fidelity)
        scale = {name: getattr(own, name) for name in ("measure", "outcome_sd", "per")}
        figures["rule_subgroup"] = named if told else Subgroup(label=own.label, **scale)
    for name, inside in (("core", search.held_core), ("searched", search.held_searched)):
        if figures[name].beside and not inside.all():
            rule = rule_of(search, inside, problem).rule
            if rule.recall >= MOSTLY:
                own = replace(figures[name], rule=rule.text, rule_fidelity=rule.fidelity)
                figures = figures | {name: own}
            return figures
    return figures


def silences_of(searches: list[Search], problem: AuditProblem) -> tuple[Silence, ...]:
    """Who could not be compared, once for every group compared."""
    told: list[Silence] = []
    rule, described = Rule(), None
    for search in searches:
        key, ground = search.key, search.side.ground
        outside = ground.outside
        if len(outside) == 0 or any(
            (one.sensitive_feature, one.group) == (key.sensitive_feature, key.group) for one in told
        ):
            continue
        if described is not ground:  # both directions leave out the same rows
            rule, described = _rule_outside(ground, problem), ground
        _, s, _ = search.side.overlap()
        group = ground.compared.rows[~ground.support.mask & (s > 0)]
        told.append(
            Silence(
                sensitive_feature=key.sensitive_feature,
                group=key.group,
                reference=key.reference,
                n_rows=len(np.unique(problem.source_row[outside])),
                n_group=len(np.unique(problem.source_row[group])),
                share=ground.support.share_outside,
                rule=rule.text,
                rule_fidelity=rule.fidelity,
                rule_precision=rule.precision,
                rule_recall=rule.recall,
            )
        )
    return tuple(told)


def _rule_outside(ground: Ground, problem: AuditProblem) -> Rule:
    """Describe rows without a comparable row; an empty rule if there are too few."""
    if len(ground.outside) < _FEWEST_DESCRIBED:
        return Rule()
    compared = ground.compared.rows
    rule, _ = describe_rule(
        np.isin(compared, ground.outside),
        problem.display,
        rows=compared,
        displays=problem.encoder.displays_,
        sample_weight=problem.sample_weight[compared],
    )
    return rule


EVERYBODY: Final = "everybody"
INSIDE: Final = "inside"
OUTSIDE: Final = "outside"
ROWS: Final = "rows"
# Share of people who have at most as much, by column.
QUANTILES: Final = {"q10": 0.1, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q90": 0.9}


def amounts_of(search: Search, problem: AuditProblem) -> pd.DataFrame:
    """Rows measured and their quantiles, by part and sensitive value; empty of yes and no.

    With what is counted of its values among everybody, inside and outside, of either side.
    """
    key, held = search.key, search.data.held_out
    if problem.amount is None or not problem.is_amount(key.outcome):
        return pd.DataFrame()
    rows, inside, s = search.rows[held], search.held_member, search.s[held]
    values, weight = problem.amount.told[rows], problem.sample_weight[rows]
    found, counted = {}, []
    for part, member in ((EVERYBODY, inside | True), (INSIDE, inside), (OUTSIDE, ~inside)):
        for side, label in zip((1, -1), side_labels(key.group, key.reference), strict=True):
            own = member & (s == side)
            counted.append(values_counted(values[own]))
            if own.any() and part != EVERYBODY:
                found[part, label] = [int(own.sum()), *_quantiles(values[own], weight[own])]
    frame = pd.DataFrame.from_dict(found, orient="index", columns=[ROWS, *QUANTILES])
    frame = frame.set_axis(pd.MultiIndex.from_tuples(list(found)), axis=0)
    frame.attrs[VALUES] = {ROWS: tuple(counted)}
    return frame


def _quantiles(values: np.ndarray, weight: np.ndarray) -> list[float]:
    """Smallest values that so many people do not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    # Sums of weights that come to a share may miss it by a rounding error.
    at = np.searchsorted(reached, np.array([*QUANTILES.values()]) * reached[-1] * (1 - 1e-12))
    return values[order][np.minimum(at, len(values) - 1)].tolist()
