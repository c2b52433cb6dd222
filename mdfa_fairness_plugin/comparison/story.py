"""A comparison of models as a document."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from mdfa_fairness_plugin.comparison.alternatives_story import alternatives_section
from mdfa_fairness_plugin.comparison.records import (
    ACCURACY,
    FALSE_POSITIVE,
    MEAN_ERROR,
    SELECTION,
    TRUE_POSITIVE,
    WORST_CASE,
    ModelSearch,
    RateRatio,
    Transfer,
)
from mdfa_fairness_plugin.comparison.records import EVERYBODY as AT_EQUAL_FEATURES
from mdfa_fairness_plugin.comparison.sizes import (
    both,
    cell,
    effect_in,
    effect_of_row,
    everybody_cell,
    headline,
    search_of,
    signed_difference,
    who,
    worst_cell,
)
from mdfa_fairness_plugin.comparison.withholding import as_printed
from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.describe.decimals import amounts, ratios_text
from mdfa_fairness_plugin.describe.wording import clean, count, label_text, percent
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.intervals import farther
from mdfa_fairness_plugin.records import INSUFFICIENT, NONE_LARGER, VIOLATION
from mdfa_fairness_plugin.report import sentences as say
from mdfa_fairness_plugin.report.displays.comparison import ComparisonDisplay
from mdfa_fairness_plugin.report.document import (
    HTML,
    PLAIN,
    Bullets,
    Document,
    Paragraphs,
    Picture,
    Section,
    Table,
    Value,
)
from mdfa_fairness_plugin.report.findings import CLOSING, FINDINGS, told_verdict
from mdfa_fairness_plugin.report.key_numbers import leaks_section
from mdfa_fairness_plugin.report.means import Difference
from mdfa_fairness_plugin.report.pictures import pictured
from mdfa_fairness_plugin.report.reading import held_in_part
from mdfa_fairness_plugin.report.statement import files_sentences, statement_section
from mdfa_fairness_plugin.report.story import warnings_section

if TYPE_CHECKING:
    from mdfa_fairness_plugin.comparison.result import ComparisonResult


def tell(result: ComparisonResult, min_cell: int = 1, picture: Picture | None = None) -> Document:
    """Put a comparison as it may be printed into words; of a page also its picture."""
    cases = tuple(_case(result, result.worst(model)) for model in result.models)
    title = f"Comparison of {count(len(result.models), 'model')}"
    if result.n_samples is not None:
        title += f" on {count(result.n_samples, 'row')}"
    return Document(
        title,
        (
            leaks_section(result.warnings),
            headline(result),
            Section("scope", "", (Paragraphs(_scope(result), "scope"),)),
            Section("models", "", (_models(result), *((picture,) if picture else ()))),
            Section("cases", "Each model's worst subgroup", (Bullets(cases),)),
            _transfers(result),
            _differences(result),
            alternatives_section(result),
            Section("reading", "How to read this", (Bullets(_reading(result, min_cell)),)),
            warnings_section(result.warnings),
            statement_section(result.statement),
            Section("made", "How it was made", (Paragraphs(_made(result), "made"),)),
        ),
    )


def tell_page(result: ComparisonResult, min_cell: int, mark: str = "") -> Document:
    """The page as it may be printed, with its picture, whose parts' names end in ``mark``."""
    printed = as_printed(result, min_cell)
    return tell(printed, min_cell, _picture(printed, mark))


def tell_text(result: ComparisonResult, min_cell: int) -> Document:
    """The summary as it may be printed."""
    return tell(as_printed(result, min_cell), min_cell)


def _picture(result: ComparisonResult, mark: str) -> Picture | None:
    """Every model's ratios; None if none was measured."""
    try:
        display = ComparisonDisplay.from_result(result)
    except InputError:
        return None
    return pictured(display, f"models{mark}", "Aggregate ratio and worst subgroup of each model")


def _scope(result: ComparisonResult) -> tuple[str, ...]:
    audit = next(iter(result.audits.values()), None)
    lines = []
    if audit is not None:
        features = ", ".join(label_text(name, 30) for name in audit.feature_names[:12])
        more = len(audit.feature_names) - 12
        features += f" and {more} more" if more > 0 else ""
        lines.append(f"People are alike if they agree in: {features}.")
        lines += held_in_part(audit.warnings)
        if people := say.clusters_sentence(audit.provenance):
            lines.append(people)
    sensitive = ", ".join(dict.fromkeys(label_text(s.sensitive_feature) for s in result.searches))
    outcomes = ", ".join(dict.fromkeys(label_text(s.outcome) for s in result.searches))
    lines.append(f"Compared: {sensitive}. Outcomes audited: {outcomes}.")
    return tuple(lines)


def _shown(row: ModelSearch, name: str, text: str) -> Value:
    """Text of a figure of a model's search; None if that figure is withheld."""
    return None if name in row.withheld else text


def _models(result: ComparisonResult) -> Table:
    """Each model in its worst case."""
    truth = any(not math.isnan(r.accuracy) or "accuracy" in r.withheld for r in result.rows)
    numbers = any(not math.isnan(row.mean_absolute_error) for row in result.rows)
    gamma = any(not math.isnan(row.gamma) or "gamma" in row.withheld for row in result.rows)
    labels = bool(result.outcome_labels)

    def told(row: ModelSearch) -> dict[str, Value]:
        effect = effect_of_row(result, row)
        cells: dict[str, Value] = {"Model": label_text(row.model, 24)}
        cells |= {"Worst case of": who(row.search, 16), "Finding": FINDINGS[row.verdict]}
        if truth:
            cells["Accuracy"] = _shown(row, "accuracy", _share(row.accuracy))
        if numbers:
            cells |= {"R2": _share(row.r2), "Mean error": _number(row.mean_absolute_error)}
        cells["DI" if labels else "Overall"] = _shown(row, "selection", _overall(row.selection))
        if truth:
            cells["TPR ratio"] = _shown(row, "true_positive", _overall(row.true_positive))
            cells["FPR ratio"] = _shown(row, "false_positive", _overall(row.false_positive))
        cells["Everybody"] = everybody_cell(row, effect)
        cells["Worst subgroup"] = worst_cell(row, effect, row.effect_interval)
        if result.n_splits:
            cells["Over splits"] = _over_splits(row)
        if gamma:
            cells["gamma"] = _shown(row, "gamma", _share(row.gamma))
        return cells

    told_of = [told(result.worst(model)) for model in result.models]
    rows = tuple(tuple(cells.values()) for cells in told_of)
    caption = "Each model in its worst case"
    return Table(header=tuple(told_of[0]), rows=rows, caption=caption, titled=HTML, n_text=3)


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _number(value: float) -> str:
    return "" if math.isnan(value) else amounts((value,))[0]


def _overall(found: RateRatio) -> str:
    return _number(found.difference) if found.by_difference else ratios_text((found.ratio,))[0]


def _over_splits(row: ModelSearch) -> Value:
    mean, sd, name = row.split_ratio_mean, row.split_ratio_sd, "split_ratio_mean"
    if row.by_difference:
        mean, sd, name = row.split_difference_mean, row.split_difference_sd, "split_difference_mean"
    if math.isnan(mean):
        return _shown(row, name, "")
    texts = amounts((mean, sd)) if row.by_difference else [f"{mean:.2f}", f"{sd:.2f}"]
    return _shown(row, name, texts[0] + ("" if math.isnan(sd) else f" (sd {texts[1]})"))


def _case(result: ComparisonResult, row: ModelSearch) -> str:
    model, search = label_text(row.model), search_of(result, row)
    model += " (baseline)" if row.model == result.baseline and len(result.models) > 1 else ""
    known, few = not math.isnan(row.effect), "it would tell of too few rows"
    lost = row.withheld & {"delta", "difference"}
    if row.verdict == NONE_LARGER and not known and lost:
        name = effect_of_row(result, row).name
        return f"{model}: {FINDINGS[NONE_LARGER]}. The {name} measured is withheld: {few}."
    if row.verdict == INSUFFICIENT or not (known or lost):
        return f"{model}: {FINDINGS[INSUFFICIENT]}; {clean(row.reason, 200) or 'nothing was measured'}."
    told = say.case_sentence(search)
    if far := say.deviations(row.standard_deviations):
        told += f" The finding is {far} standard deviations beyond chance, the search allowed for."
    if row.verdict == NONE_LARGER:
        start = f"Closest to being {FINDINGS[VIOLATION]}, by its lower limit:"
        return f"{model}: {told_verdict(search)}. {start} {told}"
    overall = ""
    if not row.selection.by_difference and (ratio := _overall(row.selection)):
        name = "the DI" if result.outcome_labels else "overall"
        overall = f" Among everybody the ratio is {ratio} with features not looked at ({name})"
        equal = everybody_cell(row, effect_of_row(result, row))
        overall += f", {equal} at equal features (Everybody)." if equal else "."
    least = not known and math.isfinite(row.effect_interval[0])
    withheld = f" The size itself is withheld: {few}." if least else ""
    beside = say.beside_sentence(search) if search.rule == EVERYBODY else ""
    more = " ".join(filter(None, (say.searched_sentence(search), beside)))
    return f"{model}: {told}{withheld} Finding: {FINDINGS[VIOLATION]}.{overall} {more}".rstrip()


def _transfers(result: ComparisonResult) -> Section:
    size = "Difference" if result.worst(result.baseline).by_difference else "Ratio"
    ratio = f"{size} of each model's outcomes (columns) in the worst subgroup of each"
    blocks = (
        Paragraphs((f"{ratio} (rows).",), media=HTML),
        Paragraphs((f"{ratio}.",), media=PLAIN),
        _transfer_table(result),
        Bullets((*_estimators(result), *_moved(result))),
    )
    return Section("transfers", "Does a repair move the harm?", blocks)


def _transfer_table(result: ComparisonResult) -> Table:
    header = ("Worst subgroup of", "Search", *(label_text(m, 20) for m in result.models))
    rows = []
    for owner in result.models:
        search = result.worst(owner).search
        cells = []
        for model in result.models:
            one = result.transfer(owner, model, search)
            effect, hidden = effect_in(result, search, one.measure), {"delta", "gap"} & one.withheld
            cells.append(cell(effect, one.effect, one.effect_interval, withheld=bool(hidden)))
        rows.append((label_text(owner, 24), who(search, 16), *cells))
    caption = "Ratios in each worst subgroup"
    return Table(header=header, rows=tuple(rows), caption=caption, titled=HTML, n_text=2)


def _estimators(result: ComparisonResult) -> tuple[str, ...]:
    """Why the same model in the same rows may have two numbers, if it may."""
    own, others = (
        {t.estimator for t in result.transfers if (t.subgroup_of == t.model) == same}
        for same in (True, False)
    )
    if not others - own:
        return ()
    return (
        "A model's own worst subgroup is told as by its audit (estimator "
        f"{', '.join(sorted(own))}); those of other models, and what changes there, by weighted rates "
        f"(estimator {', '.join(sorted(others))}): of the same rows both may differ a little.",
    )


def _moved(result: ComparisonResult) -> tuple[str, ...]:
    """What each repair did to its own worst subgroup and to the baseline's."""
    lines = []
    base, before = label_text(result.baseline), result.worst(result.baseline)
    for model in result.models:
        if model == result.baseline:
            continue
        name, own = label_text(model), result.worst(model)
        there = result.transfer(model, result.baseline, own.search)
        effect = effect_of_row(result, own)
        if _is_known(own, there):
            how, turned, apart = _told(own, there)
            end = f"{name} and {base} are not told apart there."
            if apart:
                end = f"they differ, and which of {name} and {base} is more unequal is not sure."
            if turned:
                size = f" and {how} unequally" if how else ""
                end = f"{name} treats these rows the other way round{size}."
            elif how:
                end = f"{name} treats these rows {how} unequally than {base} does."
            first, second = both(effect, own.effect, there.effect)
            change = cell(effect, there.difference, there.difference_interval)
            change = f"a change of {change}" if own.by_difference else f"{_times(change)} as large"
            lines.append(
                f"{_place(own, name)} the {effect.name} is {first} under {name} and {second} under "
                f"{base}, {change}: {end}"
            )
        here = result.transfer(result.baseline, model, before.search)
        if _is_known(before, here):
            how, turned, apart = _told(before, here)
            way = "now the other way round, and " if turned else ""
            unsure = "neither surely more nor less unequal than" if apart else "not told from"
            now = {"more": "less unequal than", "less": "more unequal than"}.get(how, unsure)
            effect = effect_of_row(result, before)
            first, second = both(effect, before.effect, here.effect)
            lines.append(
                f"{_place(before, base)} the {effect.name} goes from {first} to {second} under {name}: "
                f"{way}{now} before."
            )
    return tuple(lines)


def _times(text: Value) -> str:
    """A ratio with its interval, said as a factor: 1.5 times (1.2 to 1.9)."""
    value, space, span = str(text).partition(" ")
    return f"{value} times{space}{span}"


def _is_known(row: ModelSearch, elsewhere: Transfer) -> bool:
    """Whether a violation can be followed under another model."""
    found = row.verdict == VIOLATION and not math.isnan(row.effect)
    return found and math.isfinite(elsewhere.difference)


def _told(own: ModelSearch, elsewhere: Transfer) -> tuple[str, bool, bool]:
    """Whether a violation is surely "more" or "less" than elsewhere, is turned there, or is another."""
    low, high = elsewhere.difference_interval
    if elsewhere.effect < 0:  # sizes are compared, of which there is no paired interval
        ends = elsewhere.effect_interval
        turned = ends[1] < 0
        return farther(own.effect_interval, ends), turned, turned or low > 0 or high < 0
    how = "more" if low > 0 else "less" if high < 0 else ""
    return how, False, bool(how)


def _place(row: ModelSearch, name: str) -> str:
    """Where a model's worst case lies."""
    if row.rule == EVERYBODY:
        return f"Among everybody, the worst case of {name},"
    return f"In the worst subgroup of {name}"


_QUANTITIES: Final = (
    (WORST_CASE, "Worst in this search"),
    (AT_EQUAL_FEATURES, "Everybody"),
    (SELECTION, "DI"),
    (TRUE_POSITIVE, "TPR ratio"),
    (FALSE_POSITIVE, "FPR ratio"),
)


def _differences(result: ComparisonResult) -> Section:
    """Times the baseline's ratios, in the search that is the baseline's worst case."""
    title = f"Against {label_text(result.baseline)}"
    if len(result.models) < 2:
        return Section("differences", title, ())
    search = result.worst(result.baseline).search
    there = [one for one in result.differences if one.search in (None, search)]
    found = {(one.model, one.quantity): one for one in there}
    labels = bool(result.outcome_labels)
    last, header = ACCURACY, "Accuracy, difference"
    if not labels:
        last, header = MEAN_ERROR, "Mean error, difference"
    of_last = [one for (_, quantity), one in found.items() if quantity == last]
    truth = any(one.withheld or not math.isnan(one.difference) for one in of_last)
    shown = [
        (quantity, name if labels or quantity != SELECTION else "Overall")
        for quantity, name in _QUANTITIES
        if (truth and labels) or quantity not in (TRUE_POSITIVE, FALSE_POSITIVE)
    ]
    rows = []
    for model in result.models:
        if model == result.baseline:
            continue
        own = [found[model, quantity] for quantity, _ in shown]
        signed = not labels or own[0].by_difference
        cells = []
        for one in own:
            effect, hidden = effect_in(result, search, one.measure), bool(one.withheld)
            size = cell(effect, one.difference, one.interval, signed=signed, withheld=hidden)
            cells.append(size)
        if truth:
            one = found[model, last]
            if labels:
                told = signed_difference(one.difference, one.interval)
                cells.append(None if one.withheld else told)
            else:
                cells.append(cell(Difference(), one.difference, one.interval, signed=True))
        rows.append((label_text(model, 24), *cells))
    of = {one.measure for one in found.values() if one.search is not None}
    start = (
        "Difference, less the baseline's" if of == {"difference"} else "Ratio, times the baseline's"
    )
    headers = (start, *(name for _, name in shown), *((header,) if truth else ()))
    more = (
        f"All in one search, {who(search)}, which is the baseline's worst case; another search may be "
        "the worst of another model (see the first table). Paired over the same rows."
    )
    table = Table(header=headers, rows=tuple(rows), caption=title, titled=HTML, more=more)
    return Section("differences", title, (table,))


_AGGREGATE: Final = (
    "A repair that looks equal in the aggregate columns may still have a large worst subgroup. "
    f"Nothing found is no evidence of equal treatment. {CLOSING}"
)


def _reading(result: ComparisonResult, min_cell: int) -> tuple[str, ...]:
    level = percent(result.confidence_level)
    text = (
        "DI: ratio of the outcome's rates over everybody, features not looked at; TPR and FPR ratio: "
        "the same among those whose true label it is, and among the others. Everybody: over everybody "
        "compared, at equal audited features. Worst subgroup: the ratio in the most unequally treated "
        f"subgroup found, on rows the search had not seen, with {level} intervals that allow for the "
        "search."
    )
    if not result.outcome_labels:
        size = "Ratio" if {row.measure for row in result.rows} == {"ratio"} else "Difference"
        text = (
            f"{size} of the means of both sides. Overall: of everybody, features not looked at. "
            "Everybody: at equal audited features. Worst subgroup: in the most unequally treated "
            f"subgroup found, on rows the search had not seen, with {level} intervals that allow for "
            "the search. Mean error: how far a model is from the true number on average, in units of "
            "the outcome."
        )
    lines = [text, _AGGREGATE]
    if result.n_splits:
        size = "difference" if {row.measure for row in result.rows} == {"difference"} else "ratio"
        infinite = sum(result.worst(model).n_splits_infinite for model in result.models)
        text = (
            f"Over splits: mean and standard deviation of the worst subgroup's {size} over "
            f"{count(result.n_splits, 'split')} of 70 % to search and 30 % to measure. Splits share "
            "rows: the deviation is not the uncertainty of the mean."
        )
        if infinite:
            text += (
                f" {count(infinite, 'split')} with an infinite ratio (nobody else in the subgroup had "
                "the outcome) left out."
            )
        lines.append(text)
    if min_cell > 1:
        lines.append(f"Counts below {min_cell} are not printed, nor what is made from one.")
    return tuple(lines)


def _made(result: ComparisonResult) -> tuple[str, ...]:
    seed = result.provenance.get("seed")
    audit = next(iter(result.audits.values()), None)
    version = ""
    if audit is not None:
        own = audit.provenance.get("versions", {}).get("mdfa_fairness_plugin", "")
        version = f", mdfa_fairness_plugin {clean(own, 20)}"
    return (
        say.alpha_sentence(result.alpha),
        f"{count(result.n_splits, 'split')}, the same for every model; seed {seed}{version}.",
        *files_sentences(result.provenance),
    )
