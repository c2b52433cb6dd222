"""What a ratio owes to models and to folds, and what other estimates of it say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.wording import label_text, percent
from mdfa_fairness_plugin.measure.sums import before_told
from mdfa_fairness_plugin.records import AuditRecord, Violation
from mdfa_fairness_plugin.report import figures
from mdfa_fairness_plugin.report.document import EVERYWHERE, HTML, Paragraphs, Section, Table, Value
from mdfa_fairness_plugin.report.effects import effect_of
from mdfa_fairness_plugin.report.means import OfMeans
from mdfa_fairness_plugin.report.rates import BOUNDED
from mdfa_fairness_plugin.report.reading import comparison, diagnostics, entries, shown_case
from mdfa_fairness_plugin.report.sentences import group_of, others_of
from mdfa_fairness_plugin.settings import Settings

_UNEQUAL: Final = 0.1  # a difference of means, as usual (Austin 2009)
_MOST_UNEQUAL: Final = 3
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


def unequal_sentence(result: AuditRecord, settings: Settings) -> str:
    """What weighting left unequal for the case told first, beside what is said to be equal."""
    case = shown_case(result)
    found = {comparison(key): diagnostics(value) for key, value in result.balance.items()}
    own = found.get((case.sensitive_feature, case.group), {}) if case is not None else {}
    after = own.get("smd_after")
    after = after if isinstance(after, Mapping) else {}
    far = {k: abs(x) for k, x in after.items() if isinstance(x, int | float) and abs(x) > _UNEQUAL}
    if not far:
        return ""
    worst = sorted(far, key=lambda name: -far[name])[:_MOST_UNEQUAL]
    listed = ", ".join(f"{label_text(name)} by {far[name]:.2f}" for name in worst)
    more = f" and {len(far) - len(worst)} more" if len(far) > len(worst) else ""
    end = (
        "the models of the outcome correct for that as far as they can" if settings.adjusts else ""
    )
    return (
        f"Weights left unequal, in standard deviations: {listed}{more} (more than {_UNEQUAL:g})"
        f"{f'; {end}' if end else ''}."
    )


def rates_sentences(case: Violation, settings: Settings) -> tuple[str, ...]:
    """How counts lead to the ratio, whose rates are behind it, and what other estimates say."""
    own, other = case.rates
    if math.isnan(own) or math.isnan(other):
        return ()
    start = "at the same features"
    if not settings.adjusts:
        start = "weighted to equal features"
    if case.as_observed or not settings.balances:
        start = "with features left as they are"
    effect = effect_of(case)
    where = "Among everybody compared" if case.rule == EVERYBODY else "In the subgroup"
    if effect is BOUNDED:
        return _given_expected(case, where)
    if isinstance(effect, OfMeans):
        means = effect.both(case, group_of(case), others_of(case))
        text = f"{where}, {start}, {means}{_from_plain_means(case, start)}."
    else:
        text = f"{where}, {_bridge(case, start)}."
    if settings.adjusts:
        text = f"{text} {_population(case, settings.balance, effect.of)}"
    return tuple(filter(None, (text, _beside(case, settings))))


def _given_expected(case: Violation, where: str) -> tuple[str, ...]:
    """What counts are expected by the probabilities of the groups."""
    if case.n_known or not (plain := _plain_counts(case)):
        return ()
    own, other = (f"about {hits:,d} of {n:,d}" for hits, n in plain)
    return (
        f"{where}, {own} of {group_of(case)} and {other} of {others_of(case)} are expected to get this "
        "outcome by the probabilities, features as they are.",
    )


def _from_plain_means(case: Violation, start: str) -> str:
    """From means as they are to the effect, which is of means at equal features."""
    effect, plain = effect_of(case), case.estimates.get("unweighted", math.nan)
    if not math.isfinite(plain) or case.as_observed:
        return ""
    value, raw = effect.value(case), effect.from_scale(plain)
    own = effect.with_unit(effect.told(case)[0], value)  # as the headline has it
    told = effect.with_unit(effect.alike((value, *effect.ends(case), raw))[-1], raw)
    return f". As the rows are, the {effect.name} is {told}{effect.each}; {start} it is {own}"


def _bridge(case: Violation, start: str) -> str:
    """From counts as they are to the rates behind the ratio, and both quotients."""
    ratio, _, _ = effect_of(case).told(case)
    size = figures.points_text(case.difference, case.difference_interval)
    first, second = figures.rates_text(
        case.rates, ratio, figures.percentage, size.partition(" ")[0]
    )
    both = f"{first} of {group_of(case)} and {second} of {others_of(case)} get this outcome"
    size = f", a difference of {size}" if size else ""
    quotient = f": {ratio} times as often{size}" if ratio not in ("", "inf") else size
    plain = () if case.as_observed else _plain_counts(case)
    if not plain:
        return f"{start}, {both}{quotient}"
    (hits, n), (other_hits, m) = plain
    raw = figures.ratio_text(hits / n / (other_hits / m)) if other_hits else ""
    shares = figures.rates_text((hits / n, other_hits / m), raw, figures.percentage)
    told = f": {raw} times as often" if raw else ""
    return (
        f"{hits:,d} of {n:,d} ({shares[0]}) of {group_of(case)} and {other_hits:,d} of {m:,d} "
        f"({shares[1]}) of {others_of(case)} get this outcome{told}. That is as the rows are; {start} "
        f"it is {first} and {second}{quotient}"
    )


def _plain_counts(case: Violation) -> tuple[tuple[int, int], ...]:
    """Rows with the outcome and all rows, of both sides; empty if some are unknown or withheld."""
    counts = case.counts
    if len(counts) != 2 or case.outcome not in counts.columns or counts.isna().to_numpy().any():
        return ()
    hits, whole = counts[case.outcome], counts.sum(axis=1)
    pairs = tuple((int(a), int(n)) for a, n in zip(hits, whole, strict=True))
    return pairs if all(n for _, n in pairs) else ()


def _population(case: Violation, balance: Any, rates: str) -> str:
    """Whose features are the same."""
    if balance in ("auto", "overlap"):
        return (
            f"These are {rates} of these rows, weighted so that both sides have the same features: "
            "those count for which either side is likely."
        )
    if balance == "given":
        return f"These are {rates} of these rows as the weights given count them."
    return f"These are {rates} at the features that {others_of(case)} have there."


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
    told = {name: text for name, text in words.items() if name in others}
    # As exact as the one reported with its interval.
    stated = (*case.effect_interval, *(others[name] for name in told))
    values = effect.alike([effect.value(case), *map(effect.from_scale, stated)])[3:]
    listed = "; ".join(
        f"{effect.in_cell(value)} {text.format(counts=effect.counts)}"
        for value, text in zip(values, told.values(), strict=True)
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
    by_rung = effect.by_rung(case)
    told = effect.alike(by_rung)
    first, last, fell = told[by_rung.index(max(by_rung))], told[-1], ""
    if first != last and not (depends.decisive or case.as_observed):
        moved = f"The {effect.name} fell from {first} to {last}"
        fell = f"{moved} as the models of the features got better. "
    no_models = " (for models of the features, though nothing here is equalised by any)"
    return (
        f"{fell}The interval's lower end, p and the finding allow for a fall by another "
        f"{effect.fall(depends.allowance, case)}{no_models if case.as_observed else ''}."
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
    low, high = effect.alike(spread.ends)
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
        return f"{found}, each for the rows that it finds, which are not always all."
    if math.isnan(spread.shared):
        return f"{found}."
    return f"{found}; {percent(spread.shared)} of the subgroup is found by all of them."


def moved_section(case: Violation | None) -> Section:
    """How the ratio moved as the models got better."""
    depends = None if case is None else case.depends_on_models
    if case is None or depends is None or len(depends.shares) < 2 or case.as_observed:
        return Section("models", "", ())
    effect = effect_of(case)
    hidden = bool(depends.withheld & {"ratios", "differences"})
    last = len(depends.shares) - 1
    untold = before_told(depends.shares)
    names = []
    for i, share in enumerate(depends.shares):
        best = i in (last, untold) or share < 1
        kind = ["best" if best else "least" if i in (0, untold + 1) else "better"]
        if i > untold >= 0:
            kind = ["told what they missed"] if best else [*kind, "told what they missed"]
        part = (f"of {100 * share:.0f} % of the rows",) if 0 < share < 1 else ()
        names.append(", ".join((*kind, *part)))
    losses: tuple[Sequence[Value], ...] = ((None,) * len(names),) * 2
    if "outcome_losses" not in depends.withheld:
        losses = tuple(map(figures.told_apart, (depends.propensity_losses, depends.outcome_losses)))
    by_rung = effect.every(depends) if hidden else effect.by_rung(case)
    cells: list[Value] = [None if hidden else text for text in effect.alike(by_rung)]
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
        folded=True,
    )
