"""What a comparison says: true to its numbers, safe with hostile text, strict as JSON."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.comparison import (
    ComparisonResult,
    Difference,
    ModelSearch,
    RateRatio,
    Transfer,
)
from mdfa_fairness_plugin.comparison.story import tell
from mdfa_fairness_plugin.comparison.withholding import as_printed
from mdfa_fairness_plugin.exceptions import AuditWarning, Count, InputError, Message
from mdfa_fairness_plugin.measure.intervals import log_ratio_interval
from mdfa_fairness_plugin.records import VIOLATION, SearchKey, Subgroup, Violation

NASTY = "<script>alert(1)</script>\x1b[2J\n& {{ 7*7 }}"


def result_of(there_low, there_high=1.5, *, name="repaired", group="f", there=0.1):
    """A repaired model whose worst subgroup the baseline treats alike, or not."""
    search = SearchKey(sensitive_feature="sex", group=group, reference=None, outcome=1)

    def audit(delta):
        case = Violation(
            sensitive_feature="sex",
            group=group,
            outcome=1,
            verdict=VIOLATION,
            delta=delta,
            interval=(delta - 0.2, delta + 0.2),
        )
        return AuditResult(violations=(case,), feature_names=("age",))

    deltas = {"plain": np.log(2), name: np.log(3)}
    rows = tuple(
        ModelSearch(
            model=model,
            search=search,
            verdict=VIOLATION,
            delta=delta,
            interval=(delta - 0.2, delta + 0.2),
            selection=RateRatio(rates=(0.5, 0.4), interval=(0.1, 0.3)),
            rule=f"age at most 30 and {group}",
            n_rows=123,
        )
        for model, delta in deltas.items()
    )
    transfers = tuple(
        Transfer(
            subgroup_of=owner,
            model=model,
            search=search,
            delta=deltas[owner] if owner == model else there,
            interval=(there - 0.1, there + 0.1),
            difference=0.0 if owner == model else 0.9,
            difference_interval=(0.0, 0.0) if owner == model else (there_low, there_high),
        )
        for owner in deltas
        for model in deltas
    )
    return ComparisonResult(
        models=tuple(deltas),
        baseline="plain",
        searches=(search,),
        rows=rows,
        transfers=transfers,
        differences=tuple(
            Difference(model=name, baseline="plain", quantity=quantity, search=search)
            for quantity in ("worst case", "everybody", "selection rate")
        ),
        audits={model: audit(delta) for model, delta in deltas.items()},
        n_samples=1000,
    )


def told(result, key):
    """Lines of a section's last block."""
    return tell(result)[key].blocks[-1].lines


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.3, 1.5, "repaired treats these rows more unequally than plain does"),
        (-0.3, 1.5, "repaired and plain are not told apart there"),
        (-1.5, -0.3, "repaired treats these rows less unequally than plain does"),
    ],
)
def test_harm_is_said_to_be_moved_only_where_the_interval_says_so(low, high, said):
    moved, _ = told(result_of(low, high), "transfers")
    assert moved.startswith(
        "In the worst subgroup of repaired the ratio is 3.00 under repaired and"
    )
    assert moved.endswith(f": {said}.")


def test_the_baselines_subgroup_is_followed():
    _, kept = told(result_of(0.3), "transfers")
    assert kept == (
        "In the worst subgroup of plain the ratio goes from 2.00 to 1.11 under repaired: less "
        "unequal than before."
    )


@pytest.mark.parametrize(
    ("there", "end", "kept"),
    [
        (-2.0, "the other way round and less unequally", "and more unequal than"),
        (-1.1, "the other way round", "and more unequal than"),
        (
            -0.7,
            "the other way round and more unequally",
            "and neither surely more nor less unequal",
        ),
        (-0.2, "the other way round and more unequally", "and less unequal than"),
    ],
)
def test_what_turns_round_is_compared_by_its_size(there, end, kept):
    """Of log 3 and log 2, both give or take .2, and what is measured elsewhere, give or take .1."""
    told_there, told_here = told(result_of(0.3, there=there), "transfers")
    assert told_there.endswith(f"repaired treats these rows {end}.")
    assert f"now the other way round, {kept}" in told_here
    unsure = told(result_of(0.3, there=-0.05), "transfers")
    assert unsure[1].endswith("under repaired: less unequal than before.")


def test_what_surely_changed_is_not_said_to_be_as_before():
    """The paired difference is sure, which of the sizes is larger is not."""
    there = told(wide_of(0.3), "transfers")
    assert there[0].endswith(
        ": they differ, and which of repaired and plain is more unequal is not sure."
    )
    assert there[1].endswith("under repaired: neither surely more nor less unequal than before.")
    there = told(wide_of(-0.3), "transfers")
    assert there[0].endswith(": repaired and plain are not told apart there.")
    assert there[1].endswith("under repaired: not told from before.")


def wide_of(there_low):
    """Of log 3 and log 2, and -.1 elsewhere, give or take 2."""
    made = result_of(there_low, there=-0.1)
    wide = [replace(own, interval=(-2.1, 1.9)) for own in made.transfers]
    return replace(made, transfers=tuple(wide))


def test_cases_state_aggregate_and_worst_ratio():
    (first, second) = told(result_of(0.3), "cases")
    assert first.startswith(
        "plain (baseline): Mostly where age at most 30 and f (123 rows), those with sex = f get the "
        'outcome "1" 2.0 times as often as everyone else with equal audited features (1.6 to 2.4, with '
    )
    assert "Among everybody the ratio is 1.2 with features not looked at" in first
    assert "3.0 times as often as everyone else" in second


def test_a_statement_is_printed_as_given_with_its_blanks():
    """Every report has it, and every model's own audit."""
    result = replace(result_of(0.3), statement={"auditor": NASTY})
    page = result.to_html()
    assert "Auditor</th>" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "Purpose: not stated" in result.summary()
    assert json.loads(result.to_json())["statement"] == {"auditor": NASTY}
    assert "statement" not in json.loads(result_of(0.3).to_json())


def test_nothing_found_is_not_called_fair():
    data = mdfa.datasets.make_synthetic(n_samples=400, delta=0.0, random_state=0)
    result = mdfa.compare(
        data.X,
        {"one": data.y},
        sensitive_features=data.sensitive_features,
        n_splits=0,
        learner="tree",
        n_folds=2,
        random_state=0,
        statement={"auditor": "A. Name"},
    )
    assert result.statement == result.audits["one"].statement == {"auditor": "A. Name"}
    text = result.summary()
    assert "no evidence of equal treatment" in text
    for word in (" fair ", "pass", "unbiased"):
        assert word not in text.lower()
    assert not tell(result)["differences"].blocks


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)


@pytest.fixture(scope="module")
def hostile():
    return result_of(0.3, name=NASTY, group=NASTY)


def test_text_from_data_is_neutralised_in_the_terminal(hostile):
    text = hostile.summary()
    assert "\x1b" not in text
    assert "{{ 7*7 }}" in text


def test_text_from_data_is_escaped_on_the_page(hostile, tmp_path):
    for page in (hostile.to_html(tmp_path / "page.html"), hostile._repr_html_()):
        tags = Tags()
        tags.feed(page)
        assert "script" not in tags.found
        assert "&lt;script&gt;" in page
        assert ">49<" not in page
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_names_written_from_right_to_left_do_not_turn_their_neighbours():
    assert "<bdi>שלום עולם</bdi>" in result_of(0.3, group="שלום עולם").to_html(min_cell=1)


def test_page_fetches_nothing_and_repeats_to_the_byte(compared_small):
    page = compared_small.to_html()
    assert page == compared_small.to_html()
    for word in ("http:", "https:", "<script", "src="):
        assert word not in page.replace("http://www.w3.org", "")
    assert "<svg" in page


@pytest.fixture(scope="module")
def compared_small():
    data = mdfa.datasets.make_synthetic(n_samples=500, delta=1.5, random_state=0)
    flat = np.where(data.X.iloc[:, 0] > 0, 1, 0)
    return mdfa.compare(
        data.X,
        pd.DataFrame({"found": data.y, "one feature": flat}),
        sensitive_features=data.sensitive_features,
        decision_inputs=["x1"],
        y_true=data.y,
        n_splits=1,
        n_folds=2,
        learner="tree",
        random_state=0,
    )


def test_json_is_strict_and_complete(compared_small, tmp_path):
    text = compared_small.to_json(tmp_path / "result.json")
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == text

    def refuse(name):
        raise AssertionError(name)

    plain = json.loads(text, parse_constant=refuse)
    assert plain["format"] == "mdfa-comparison-result"
    assert plain["models"] == ["found", "one feature"]
    assert len(plain["rows"]) == 2 * len(plain["searches"])
    assert [plain["rows"][i]["model"] for i in plain["worst"]] == plain["models"]
    assert plain["rows"][0]["search"]["sensitive_feature"] == "group"
    assert np.shape(plain["split_delta"]) == compared_small.split_delta.shape
    assert [one["model"] for one in plain["audits"]] == ["found", "one feature"]
    assert "timings" not in plain["provenance"]
    assert plain == compared_small.to_dict()


def test_summary_has_every_model_and_fits_the_page(compared_small):
    text = compared_small.summary()
    for line in ("DOES A REPAIR MOVE THE HARM?", "AGAINST FOUND", "Over splits", "Accuracy"):
        assert line in text
    prose = [line for line in text.splitlines() if line.startswith("- ")]
    assert max(map(len, prose)) <= 88


# -- small counts


def _counted(n_rows, counts, *, warnings=()):
    """One model whose worst subgroup has these rows by sensitive value and outcome."""
    search = SearchKey(sensitive_feature="sex", group="f", reference=None, outcome=1)
    table = pd.DataFrame(counts, index=["f", "everyone else"], columns=[1, 0])
    case = Violation(
        sensitive_feature="sex",
        group="f",
        outcome=1,
        verdict=VIOLATION,
        delta=0.9,
        interval=(0.5, 1.3),
        n_rows=n_rows,
        counts=table,
    )
    row = ModelSearch(
        model="A",
        search=search,
        verdict=VIOLATION,
        delta=0.9,
        interval=(0.5, 1.3),
        rule="age at most 30",
        n_rows=n_rows,
        selection=RateRatio(rates=(0.5, 0.4), interval=(0.1, 0.3)),
    )
    own = Transfer(subgroup_of="A", model="A", search=search, delta=0.9, interval=(0.5, 1.3))
    return ComparisonResult(
        models=("A",),
        baseline="A",
        searches=(search,),
        rows=(row,),
        transfers=(own,),
        audits={"A": AuditResult(violations=(case,), n_samples=900)},
        n_samples=900,
        warnings=warnings,
    )


def test_page_prints_no_small_count():
    counts = (Count(2, unit=""), "), 'x1' (", Count(40, unit=""), ").")
    note = AuditWarning("MissingFeatureValues", Message("X: missing values: 'x2' (", *counts))
    result = _counted(9, [[3, 2], [2, 2]], warnings=(note,))
    page = " ".join(result.to_html().split())
    assert "9 rows" not in page
    assert "(2)" not in page
    assert "(40)" in page
    assert "2.5" not in page  # exp(0.9), made of cells of two and three
    assert "with equal audited features is withheld" in page
    assert "Counts below 11 are not printed" in page
    every = " ".join(result.to_html(min_cell=1).split())
    assert "9 rows" in every
    assert "(2)" in every
    assert "2.5" in every
    assert "at least" not in every


def test_page_keeps_what_is_large_enough():
    result = _counted(200, [[60, 40], [30, 70]])
    page = " ".join(result.to_html().split())
    assert "200 rows" in page
    assert (
        "2.5 times as often as everyone else with equal audited features (1.6 to 3.7, with" in page
    )


@pytest.mark.parametrize("wrong", [0, 2.5, True])
def test_smallest_count_of_a_comparison_must_be_a_whole_number(wrong):
    with pytest.raises(InputError, match="min_cell"):
        _counted(200, [[60, 40], [30, 70]]).to_html(min_cell=wrong)


def _of_counts(few):
    """Two models; in the worst subgroup of the first so few of 95 others have the outcome."""
    search = SearchKey(sensitive_feature="sex", group="f", reference=None, outcome=1)
    sides, everybody = ["f", "everyone else"], [[80, 160], [90, 300]]
    cells = {"A": [[40, 60], [few, 95 - few]], "B": [[30, 70], [20, 75]]}

    def effect(own):
        n = np.array(own)
        low, high = log_ratio_interval(n[:, 0] / n.sum(axis=1), n.sum(axis=1), 0.95)
        rates = tuple(n[:, 0] / n.sum(axis=1))
        delta = float(np.log(rates[0] / rates[1]))
        return {"delta": delta, "interval": (float(low), float(high))}, rates

    def counted(own):
        return pd.DataFrame(own, index=sides, columns=[1, 0])

    audits, rows, transfers = {}, [], []
    own = {model: effect(table)[0] for model, table in cells.items()}
    whole = Subgroup(counts=counted(everybody), n_rows=630, **effect(everybody)[0])
    named = {"sensitive_feature": "sex", "group": "f", "outcome": 1, "verdict": VIOLATION}
    for model, table in cells.items():
        found = own[model] | {"n_rows": 195}
        case = Violation(**named, **found, counts=counted(table), population=whole)
        audits[model] = AuditResult(violations=(case,), n_samples=630, outcome_labels=(1, 0))
        row = {"model": model, "search": search, "verdict": VIOLATION, "accuracy": 1 - few / 630}
        overall = RateRatio(rates=effect(everybody)[1], n_rows=630, fewest=80)
        splits = {
            "split_ratio_mean": np.exp(found["delta"]),
            "n_splits_infinite": few * (model == "A"),
        }
        rows.append(ModelSearch(**row, **found, selection=overall, **splits))
    for owner, model in itertools.product(cells, cells):
        there, rates = effect(cells[model])
        apart = own[owner]["delta"] - there["delta"]
        least = int(np.min([cells[model], np.subtract(everybody, cells[model])]))
        told = {"difference": apart, "difference_interval": (apart - 0.1, apart + 0.1)}
        transfers.append(
            Transfer(subgroup_of=owner, model=model, search=search, rates=rates, fewest=least)
        )
        transfers[-1] = replace(transfers[-1], **there, **told)
    apart = own["B"]["delta"] - own["A"]["delta"]
    more = {"search": search, "difference": apart, "interval": (apart - 0.1, apart + 0.1)}
    rest = ("everybody", "selection rate", "true positive rate", "false positive rate")
    differences = [Difference(model="B", baseline="A", quantity=q, search=search) for q in rest]
    for quantity, where in (("worst case", more), ("accuracy", more | {"search": None})):
        differences.append(Difference(model="B", baseline="A", quantity=quantity, **where))
    return ComparisonResult(
        models=("A", "B"),
        baseline="A",
        searches=(search,),
        rows=tuple(rows),
        transfers=tuple(transfers),
        differences=tuple(differences),
        audits=audits,
        n_samples=630,
        outcome_labels=(1, 0),
    )


def test_no_number_of_a_comparison_tells_a_few_apart():
    """One to ten of the others have the outcome, or are judged wrongly: what is told is the same."""
    told = set()
    for few in (1, 4, 5, 6, 10):
        result = _of_counts(few)
        texts = result.to_html(), result.to_json(min_cell=11), result.to_junit()
        told.add((*texts, result.summary()))
    assert len(told) == 1
    page = " ".join(told.pop()[0].split())
    assert "at least 2.0 times as often" in page
    assert re.search(r">1\.\d+ \(\d", page)  # of the other model nothing is withheld
    every = {_of_counts(few).to_json() for few in (4, 5)}
    assert len(every) == 2


def test_what_is_not_told_of_everybody_is_not_told_in_another_models_subgroup():
    """Another model's subgroup may be everybody, whom less those told it would tell a few of."""
    result = _of_counts(20)
    (case,), search = result.audits["A"].violations, result.searches[0]
    few = pd.DataFrame([[80, 160], [5, 385]], index=case.counts.index, columns=[1, 0])
    closed = replace(case, population=replace(case.population, counts=few), counts=few)
    audits = result.audits | {"A": replace(result.audits["A"], violations=(closed,))}
    for given, lost in ((result, False), (replace(result, audits=audits), True)):
        printed = as_printed(given, 11)
        assert math.isnan(printed.transfer("B", "A", search).delta) == lost
        assert printed.transfer("B", "B", search).delta > 0


def test_one_number_has_one_name_and_one_spelling():
    """What a table says of a model's worst subgroup its sentence says, as the result has it."""
    result = result_of(0.3)
    table, sentences = tell(result)["models"].blocks[0], told(result, "cases")
    place = table.header.index("Worst subgroup")
    for row, sentence, own in zip(table.rows, sentences, result.to_dict()["rows"], strict=True):
        value, _, span = row[place].partition(" ")
        assert f"{value} times as often as" in sentence
        assert f"{span.removesuffix(')')}, with 95 % confidence)" in sentence
        assert float(value) == round(np.exp(own["delta"]), 1)
    against = tell(result)["differences"].blocks[0]
    assert "Worst subgroup" not in against.header
    assert "Worst in this search" in against.header
    assert "another search may be the worst of another model" in against.more
