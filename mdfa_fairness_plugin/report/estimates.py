"""What a ratio owes to models and to folds, and what other estimates of it say."""

from __future__ import annotations

import math
from typing import Any, Final

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import percent
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.report.document import EVERYWHERE, HTML, Paragraphs, Section, Table, Value
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.figures import told_apart
from mdfa_fairness_plugin.report.means import OfMeans
from mdfa_fairness_plugin.report.reading import entries
from mdfa_fairness_plugin.report.sentences import group_of, others_of
from mdfa_fairness_plugin.settings import Settings

_ADJUSTED: Final = "doubly_robust"
# Estimates that stand beside the one reported, in words.
_WORDS: Final = {
    _ADJUSTED: "at the same features",
    "hajek": "by weighted {counts} only (Hajek)",
    "raw": "by Algorithm 1's line 4",
}


def settings_of(result: AuditRecord) -> Settings:
    """What decides how an estimate is said, as far as it is recorded."""
    parameters = entries(result.provenance, "parameters")
    known = {name: parameters[name] for name in ("estimator", "min_ratio") if name in parameters}
    return Settings(**known, balance=result.provenance.get("balance", Settings().balance))


def rates_sentences(case: Violation, settings: Settings) -> tuple[str, ...]:
    """Rates behind the ratio, whose they are, and what other estimates say; nothing if unknown."""
    own, other = case.rates
    if math.isnan(own) or math.isnan(other):
        return ()
    start = "At the same features" if settings.adjusts else "Weighted to equal features"
    if not settings.balances:
        start = "With features left as they are"
    effect = effect_of(case)
    if isinstance(effect, OfMeans):
        text = f"{start}, {effect.both(case, group_of(case), others_of(case))} in the subgroup."
    else:
        text = (
            f"{start}, {percent(own)} of {group_of(case)} and {percent(other)} of {others_of(case)} "
            "get this outcome in the subgroup."
        )
    if settings.adjusts:
        text = f"{text} {_population(case, settings.balance, effect.of)}"
    beside = _beside(case, settings)
    return (text, beside) if beside else (text,)


def _population(case: Violation, balance: Any, rates: str) -> str:
    """Whose features are the same."""
    if balance in ("auto", "overlap"):
        return (
            f"These are {rates} of the people of the subgroup, weighted so that both sides have the "
            "same features: those count for whom either side is likely."
        )
    if balance == "given":
        return f"These are {rates} of the people of the subgroup as the weights given count them."
    return f"These are {rates} at the features that {others_of(case)} have in the subgroup."


def _beside(case: Violation, settings: Settings) -> str:
    """The other estimates, and whether plain weighted counts are beyond the interval."""
    reported, effect = settings.estimator, effect_of(case)
    words = {name: text for name, text in _WORDS.items() if name not in (reported, effect.unused)}
    others = {
        name: value
        for name, value in case.estimates.items()
        if name in words and not math.isnan(value)
    }
    if not others:
        return ""
    listed = "; ".join(
        f"{effect.cell(effect.from_scale(others[name]))} {text.format(counts=effect.counts)}"
        for name, text in words.items()
        if name in others
    )
    text = f"The {effect.name} by other estimates: {listed}."
    low, high = case.effect_interval
    plain = others.get("hajek", math.nan)
    if settings.adjusts and (plain < low or plain > high):
        text += (
            f" Weighted {effect.counts} only are beyond the interval: they keep what the weights leave "
            f"unequal in the features inside the subgroup, which the {effect.name} reported takes out."
        )
    return text


def moved_sentence(case: Violation) -> str:
    """What was allowed for because the ratio fell as the models got better; empty if nothing was."""
    depends = case.depends_on_models
    if depends is None or not depends.allowance > 0:
        return ""
    effect = effect_of(case)
    by_rung = effect.every(depends)
    first, last = effect.rungs((max(by_rung), by_rung[-1]))
    fell = (
        f"The {effect.name} fell from {first} to {last} as the models of the features got better. "
    )
    return (
        f"{'' if depends.decisive else fell}The interval's lower end, p and the finding allow for a "
        f"fall by another {effect.fall(depends.allowance, case)}."
    )


def spread_sentence(case: Violation) -> str:
    """What every other split into folds finds by itself; empty without repeats or if it is withheld."""
    spread = case.spread
    if spread is None or math.isnan(spread.ends[0]):
        return ""
    everybody = case.rule == EVERYBODY
    if everybody and spread.shared == 1:
        return "Other splits of the same rows find no smaller subgroup to report either."
    effect = effect_of(case)
    low, high = map(effect.plain, spread.ends)
    whole, every = effect.value(case.population), effect.every(spread)
    if not everybody and all(math.isclose(own, whole) for own in every):
        return (
            f"Other splits of the same rows report everybody instead, with a {effect.name} of "
            f"{effect.text(spread.ends[0])}."
        )
    if math.isinf(spread.ends[0]):
        found = "Other splits of the same rows all give an infinite ratio"
    elif math.isinf(spread.ends[1]):
        found = f"Other splits of the same rows give {low} and more, up to an infinite ratio"
    elif low == high:
        found = f"Other splits of the same rows all {effect.give(low, spread.ends[0], case)}"
    else:
        said = effect.give(f"{low} to {high}", spread.ends[1], case)
        found = f"Other splits of the same rows {said}"
    if everybody:
        return f"{found}, each for the people that it finds, who are not always everybody."
    if math.isnan(spread.shared):
        return f"{found}."
    return f"{found}; {percent(spread.shared)} of these people are found by all."


def moved_section(case: Violation | None) -> Section:
    """How the ratio moved as the models got better."""
    depends = None if case is None else case.depends_on_models
    if case is None or depends is None or len(depends.shares) < 2:
        return Section("models", "", ())
    effect = effect_of(case)
    hidden = bool(depends.withheld & {"ratios", "differences"})
    last = len(depends.shares) - 1
    names = [
        "best"
        if i == last
        else f"best, of {share:.0%} of the rows"
        if share < 1
        else "least"
        if i == 0
        else "better"
        for i, share in enumerate(depends.shares)
    ]
    losses = (told_apart(own) for own in (depends.propensity_losses, depends.outcome_losses))
    by_rung = effect.rungs(effect.every(depends))
    cells: list[Value] = [None if hidden else text for text in by_rung]
    table = Table(
        header=("Models", effect.losses, f"{effect.loss}, outcome", effect.name.capitalize()),
        rows=tuple(zip(names, *losses, cells, strict=True)),
        caption="The same subgroup by ever better models of the features",
        titled=HTML,
    )
    if hidden:
        note = "What was allowed for is withheld."
    elif depends.allowance > 0:
        note = ""  # told with the ratio
    else:
        note = "It did not fall by more than chance explains, so nothing is allowed for."
    return Section(
        "models",
        f"How the {effect.name} moved as the models got better",
        (table, Paragraphs((note,) if note else (), "note")),
        HTML if note else EVERYWHERE,
    )
