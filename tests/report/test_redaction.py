"""Small counts, and everything they could be worked out from."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import warnings

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.balance import BalanceDiagnostics
from mdfa_fairness_plugin.describe.profile import ProfiledSubgroup, profile_subgroups
from mdfa_fairness_plugin.describe.subgroups import QUANTILES
from mdfa_fairness_plugin.exceptions import AuditWarning, Count, InputError, Message
from mdfa_fairness_plugin.measure.intervals import log_ratio_interval
from mdfa_fairness_plugin.person.comparators import in_subgroup
from mdfa_fairness_plugin.records import (
    AskedSubgroup,
    AuditRecord,
    GroupCounts,
    ModelDependence,
    Silence,
    Spread,
    Subgroup,
    Violation,
    WorstCasePath,
)
from mdfa_fairness_plugin.report import groups as grouped
from mdfa_fairness_plugin.report.copies import Guard, least, printed
from mdfa_fairness_plugin.report.plain import as_json, to_plain
from mdfa_fairness_plugin.report.redaction import redact
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA, load_schema
from mdfa_fairness_plugin.report.story import tell
from mdfa_fairness_plugin.report.text import render

MIN_CELL = 11
SIDES, OUTCOMES = ["Black", "everyone else"], ["no", "yes"]


def profile_subgroup(display, s, membership, **named):
    """Table of one subgroup."""
    subgroup = ProfiledSubgroup(s=s, membership=membership, **named)
    return profile_subgroups(display, [subgroup])[0]


def table(cells):
    return pd.DataFrame(np.asarray(cells, dtype=int), index=SIDES, columns=OUTCOMES)


def subgroup(cells, **fields):
    return Subgroup(
        **{
            "label": "everybody",
            "delta": 0.3,
            "interval": (0.1, 0.5),
            "mass": 0.2,
            "n_rows": int(np.sum(cells)),
            "rates": (0.3, 0.2),
            "counts": table(cells),
            **fields,
        }
    )


def profile_of(inside, everybody, kind):
    """Table of a subgroup with these rows, of one feature."""
    s = np.repeat([1, 1, -1, -1], everybody.ravel())
    y = np.repeat([True, False, True, False], everybody.ravel())
    sizes = zip(everybody.ravel(), inside.ravel(), strict=True)
    member = np.concatenate([np.arange(n) < k for n, k in sizes])
    features = pd.DataFrame({"kind": np.full(len(s), kind, dtype=object)})
    return profile_subgroup(
        features, s, member, group="Black", outcome=y, outcome_name="outcome no"
    )


def audit(inside, everybody, *, excluded=(), **fields):
    """An audit of one search with these rows by sensitive value and outcome."""
    inside, everybody = np.asarray(inside), np.asarray(everybody)
    kind = np.where(np.arange(everybody.sum()) % 3 == 0, "a", "b").astype(object)
    kind[:3] = "rare"
    violation = Violation(
        **{
            "sensitive_feature": "race",
            "group": "Black",
            "outcome": "no",
            "verdict": "violation",
            "delta": 0.7,
            "interval": (0.4, 1.0),
            "n_rows": int(inside.sum()),
            "share": inside.sum() / everybody.sum(),
            "rates": (0.4, 0.2),
            "mass": 0.1,
            "gamma": 0.02,
            "counts": table(inside),
            "population": subgroup(everybody),
            "p_value_adjusted": 0.001,
            "profile": profile_of(inside, everybody, kind),
            "rule": "age at most 24",
            "rule_precision": 0.9,
            "rule_recall": 0.95,
            **fields,
        }
    )
    left = dict(excluded)
    return AuditResult(
        violations=(violation,),
        excluded=left,
        n_samples=int(everybody.sum()) + sum(left.values()),
        outcome_labels=tuple(OUTCOMES),
        sensitive_names=("race",),
        feature_names=("kind",),
    )


def others_of(inside, outside):
    """Each count of a few in turn as any such number, and what may make up for it.

    That is the other outcome of the same side, in this part or in both; the most of all in the same
    part; or the same cell of the other part.
    """
    tables = np.array([inside, outside])
    few = (tables < MIN_CELL) & (tables.sum(axis=2, keepdims=True) > 0)
    for place in map(tuple, np.argwhere(few)):
        part, side, outcome = place
        most = np.unravel_index(np.argmax(tables[part]), (2, 2))
        moves = np.zeros((4, 2, 2, 2), dtype=int)
        moves[(slice(None), *place)] = 1
        moves[:2, part, side, 1 - outcome] = -1
        moves[1, 1 - part, side] -= moves[1, part, side]
        moves[2, part][most] -= 1
        moves[3, 1 - part, side, outcome] = -1
        for n in range(MIN_CELL):
            for world in tables + (n - tables[place]) * moves:
                if (world >= 0).all():
                    yield place, n, world


@pytest.mark.parametrize("seed", range(12))
def test_no_small_count_can_be_worked_out(seed):
    """All that is printed is the same whichever of eleven numbers it is, all others as they are."""
    rng = np.random.default_rng(seed)
    inside, outside = rng.choice([0, 3, 15, 60, 90, 400], size=(2, 2, 2)) + np.array([0, 12])
    left = {"missing sensitive value (race)": int(rng.choice([4, 30]))}
    if rng.random() < 0.5:
        left["no comparable row (race=Black)"] = int(rng.choice([2, 50]))

    def told(inside, outside, left):
        profile = profile_of(inside, inside + outside, "a")
        own = {name: figures(inside)[name] for name in ("delta", "interval", "rates")}
        own["depends_on_models"] = _MOVED
        own["population"] = subgroup(inside + outside, **figures(inside + outside))
        result = audit(inside, inside + outside, excluded=left, profile=profile, **own)
        return as_json(to_plain(redact(result, MIN_CELL).result))

    seen, found = told(inside, outside, left), {}
    for place, n, tables in others_of(inside, outside):
        if n not in found.setdefault(place, set()) and told(*tables, left) == seen:
            found[place].add(n)
    for why, m in left.items():
        if m < MIN_CELL:
            others = {n: told(inside, outside, left | {why: n}) for n in range(1, MIN_CELL)}
            found[why] = {n for n, other in others.items() if other == seen}
    assert found
    assert min(map(len, found.values())) >= 5


def test_nothing_small_nothing_withheld():
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]])
    found = redact(result, 11)
    shown = found.result.violations[0]
    assert shown.counts.to_numpy().tolist() == [[40, 60], [30, 90]]
    assert (shown.n_rows, shown.ratio, shown.rates) == (220, math.exp(0.7), (0.4, 0.2))
    assert found.result.n_samples == 630
    assert found.n_withheld == int(np.isnan(shown.profile.to_numpy(dtype=float)).sum()) - 1
    assert redact(result, 1).result is result


def test_what_is_made_of_small_counts_keeps_only_its_cautious_end():
    """Of 5 of 95 all that is told is what 10 of 95 would give."""

    def limits(few):
        return tuple(map(float, log_ratio_interval([0.4, few / 95], [100, 95], 0.95)))

    result = audit(
        [[40, 60], [5, 90]],
        [[80, 160], [90, 300]],
        delta=math.log(0.4 * 95 / 5),
        interval=limits(5),
        rates=(0.4, 5 / 95),
    )
    shown = redact(result, 11).result.violations[0]
    assert math.isnan(shown.ratio)
    assert 2 < math.exp(limits(10)[0]) < 3 < math.exp(limits(5)[0])
    assert math.exp(shown.interval[0]) == pytest.approx(2)  # the next step below
    hidden = (shown.interval[1], shown.mass, shown.gamma, *shown.rates, shown.p_value_adjusted)
    assert all(map(math.isnan, hidden))
    text = " ".join(result.to_html().split())
    assert "at least 2.0 times as often" in text
    assert "7.6 times" not in text
    assert shown.counts.to_numpy().tolist() == [[40, 60], [None, 90]]
    assert ">about 90<" in text


@pytest.mark.parametrize("fewest", [5, 12])
def test_what_the_models_did_to_a_ratio_of_few_is_not_told(fewest):
    """Nor is the size of the region searched where it is the reported one's."""
    cells = [[40, 60], [fewest, 90]]
    told = Message("the ratio falls from ", Count(fewest, unit="", said="2.34"), " to 2")
    depends = ModelDependence(
        ratios=(2.34, 2.0),
        propensity_losses=(0.6, 0.5),
        outcome_losses=(0.5, 0.4),
        shares=(1.0,) * 2,
        allowance=0.15,
    )
    result = audit(
        cells,
        [[80, 160], [90, 300]],
        reason=told,
        depends_on_models=depends,
        searched=subgroup(cells, label="searched", p_value=0.01),
    )
    result = dataclasses.replace(result, warnings=(AuditWarning("ModelDependenceWarning", told),))
    shown = redact(result, 11).result.violations[0]
    few = fewest < 11
    kept = shown.depends_on_models
    # A loss is the entropy of how many have the outcome, where no feature tells it.
    figures = (*kept.ratios, *kept.outcome_losses, *kept.propensity_losses)
    assert list(map(math.isnan, figures)) == [few] * 6
    losses = {"outcome_losses", "propensity_losses"}
    assert kept.withheld == ({"ratios", "allowance"} | losses if few else set())
    assert math.isnan(shown.searched.delta) == math.isnan(shown.searched.mass) == few
    assert shown.searched.n_rows == shown.n_rows
    assert math.isnan(shown.searched.p_value) == few
    for text in (result.to_html(), result.to_model_card()):
        assert ("2.34" not in text) == few
    assert shown.reason == ("the ratio falls from withheld to 2" if few else told)


@pytest.mark.parametrize(
    ("fewest", "ratios", "shared", "withheld"),
    [
        (5, (1.75, 2.1), 0.8, {"ratios", "shared"}),  # a small cell
        (30, (1.75, math.inf), 0.8, {"ratios", "shared"}),  # an empty cell in another split
        (30, (1.75, 2.1), 1 - 4 / 220, {"shared"}),  # four people are not found by all
        (30, (1.75, 2.1), 4 / 220, {"shared"}),  # four people are
        (30, (1.75, 2.1), 1.0, set()),
        (30, (1.75, 2.1), 0.8, set()),
    ],
)
def test_what_other_splits_find_does_not_tell_of_a_few(fewest, ratios, shared, withheld):
    cells = [[40, 60], [fewest, 120 - fewest]]
    spread = Spread(ratios=ratios, shared=shared)
    result = audit(cells, [[80, 160], [90, 300]], spread=spread)
    found = redact(result, 11)
    kept = found.result.violations[0].spread
    assert kept.withheld == withheld
    assert kept.ratios == ratios or all(map(math.isnan, kept.ratios))
    assert math.isnan(kept.shared) == ("shared" in withheld)
    without = dataclasses.replace(result.violations[0], spread=None)
    alone = redact(dataclasses.replace(result, violations=(without,)), 11)
    assert found.n_withheld - alone.n_withheld == {2: 3, 1: 1, 0: 0}[len(withheld)]
    for page in (result.to_html(), result.to_model_card()):
        text = " ".join(page.split())
        assert ("Other splits of the same rows give 1.8 to 2.1" in text) == (
            "ratios" not in withheld
        )
        assert ("is found by all" in text) == ("shared" not in withheld)


@pytest.mark.parametrize("n_left_out", [5, 50])
def test_how_many_everybody_are_does_not_tell_how_few_were_left_out(n_left_out):
    """Where no counts are known, their size and that of the input do."""
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]], excluded={"dates": n_left_out})
    (found,) = result.violations
    bare = dataclasses.replace(found, counts=pd.DataFrame(), profile=pd.DataFrame())
    result = dataclasses.replace(result, violations=(bare,))
    few = n_left_out < 11
    shown = redact(result, 11).result
    assert (shown.violations[0].population.n_rows is None) == few
    assert ("630" not in result.to_model_card()) == few


def test_infinite_ratio_does_not_tell_an_empty_cell():
    """Nobody else has the outcome: a few having it must read the same."""
    pages = []
    for k in (0, 4):
        cells, whole = [[40, 60], [k, 90 - k]], [[80, 160], [60, 300]]
        own = {name: figures(cells)[name] for name in ("delta", "interval", "rates")}
        beside = {"population": subgroup(whole, **figures(whole)), "depends_on_models": _MOVED}
        pages.append(audit(cells, whole, profile=pd.DataFrame(), **own, **beside))
    first, second = (" ".join(page.to_html().split()) for page in pages)
    for text in (first, second):
        assert "never do here" not in text
        assert "infinite" not in text
    body = [re.sub(r".*<main>", "", text) for text in (first, second)]
    assert body[0] == body[1]


def test_total_goes_where_it_would_give_the_rows_left_out_away():
    result = audit(
        [[40, 60], [30, 90]],
        [[80, 160], [90, 300]],
        excluded={"missing sensitive value (race)": 4},
    )
    page = " ".join(result.to_html().split())
    assert "634" not in page
    assert "Audit of about 640 rows" in page
    assert "Some rows (number withheld) left out: missing sensitive value (race)." in page
    assert result.to_dict()["n_samples"] == 634


@pytest.mark.parametrize(
    ("n_clusters", "excluded", "told"),
    [
        (500, {}, True),
        (625, {}, False),  # five rows are a second one of somebody
        (9, {}, False),
        (500, {"missing sensitive value (race)": 4}, False),
    ],
)
def test_people_are_told_as_other_counts_are(n_clusters, excluded, told):
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]], excluded=excluded)
    provenance = {"n_working_rows": 630, "n_clusters": n_clusters}
    page = " ".join(dataclasses.replace(result, provenance=provenance).to_html().split())
    assert (f"630 rows of {n_clusters} people (clusters)" in page) is told
    assert "(clusters)" not in page or told


def test_subgroup_of_almost_everybody_does_not_tell_who_is_outside():
    inside = np.array([[80, 160], [90, 296]])
    result = audit(inside, inside + np.array([[0, 0], [0, 4]]))
    printed = redact(result, 11).result.violations[0]
    assert printed.n_rows is None
    assert math.isnan(printed.share)


def test_other_searches_are_held_to_the_same():
    """Their rows, and those outside them, can be counted from the table of searches."""
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]])
    few = Violation(
        sensitive_feature="race",
        group="White",
        outcome="no",
        n_rows=625,
        population=Subgroup(n_rows=630),
    )
    both = AuditResult(violations=(*result.violations, few), n_samples=630)
    assert redact(both, 11).result.violations[1].n_rows is None
    assert redact(both, 5).result.violations[1].n_rows == 625


def test_levels_of_a_feature_hide_behind_each_other():
    """Three rows of a rare level: the shares of the others must not add up to all but these."""
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]])
    given = result.violations[0].profile
    kept = redact(result, 11).result.violations[0].profile
    column = kept.columns[0]
    shares = kept.loc["kind", column]
    assert given.loc[("kind", "rare", "share"), column] == pytest.approx(3 / 240)
    assert shares[("rare", "share")] is None
    assert shares.isna().sum() == 2
    hidden = given.loc["kind", column][shares.isna()]
    assert (hidden * 240).sum() >= 11


def test_means_of_a_few_people_are_not_printed():
    s = np.repeat([1, -1], [50, 200])
    member = np.zeros(250, dtype=bool)
    member[:4] = True
    member[60:200] = True
    profile = profile_subgroup(
        pd.DataFrame({"age": np.arange(250.0)}), s, member, group="Black", outcome=s > 0
    )
    result = audit([[2, 2], [70, 70]], [[25, 25], [100, 100]], profile=profile)
    kept = redact(result, 11).result.violations[0].profile
    own = kept.xs("subgroup", axis=1, level=0)
    assert own["Black"].isna().all()
    assert kept.loc[("age", "", "mean"), ("population", "Black")] == 24.5
    mean = ("age", "", "mean")
    assert own["everyone else"].loc[mean] == profile.loc[mean, ("subgroup", "everyone else")]


def test_path_keeps_only_regions_far_enough_apart():
    n = 40
    rows = np.arange(5, 5 + 15 * n, 15)
    path = WorstCasePath(
        delta=np.linspace(2, 0.3, n),
        mass=rows / 630 * 0.4,
        n_rows=rows,
        threshold=np.linspace(1, -1, n),
        interval_low=np.linspace(1, 0.1, n),
        interval_high=np.linspace(3, 0.5, n),
    )
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]], path=path)
    kept = redact(result, 11).result.violations[0].path
    cases = kept.mass * 630
    assert 3 < len(kept) < n
    assert np.diff(np.sort(cases)).min() >= 22 - 1e-9
    assert cases.min() >= 22
    assert len(kept.n_rows) == 0


def test_messages_lose_small_counts_but_not_their_sense():
    reason = Message(Count(7, said="only 7 rows"), " have it")
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]], reason=reason)
    left_out = Message(
        "race: ", Count(3, of=630, said="3 of 630 rows (0.5%)"), " have no comparable row"
    )
    warned = AuditResult(
        violations=result.violations,
        n_samples=630,
        warnings=(
            AuditWarning("A", left_out),
            AuditWarning("B", Message("5 folds; ", Count(1240), " are compared")),
        ),
    )
    printed = redact(warned, 11).result
    first, second = (w.message for w in printed.warnings)
    assert first == "race: a withheld number of rows have no comparable row"
    assert second == "5 folds; 1,240 rows are compared"
    assert printed.violations[0].reason == "a withheld number of rows have it"


@pytest.mark.parametrize(
    ("everybody", "asked", "told"),
    [
        ([[80, 160], [90, 300]], "auto", True),
        ([[7, 233], [90, 300]], "auto", False),
        ([[7, 233], [90, 300]], 0.03, True),
    ],
)
def test_a_tenth_of_those_who_have_the_outcome_does_not_count_a_few(everybody, asked, told):
    """Ten times the share, times everybody, are those of both sides who have the outcome."""
    inside = np.minimum(everybody, [[40, 60], [30, 90]])
    own = 0.03 if asked == 0.03 else sum(row[0] for row in everybody) / np.sum(everybody) / 10
    given = audit(inside, everybody, alpha=own, detectable_mass=own)
    result = dataclasses.replace(given, alpha=asked)
    redaction = redact(result, 11)
    (kept,) = redaction.result.violations
    assert math.isnan(kept.alpha) != told
    assert math.isnan(kept.detectable_mass) != told
    assert ("alpha" in kept.withheld) != told
    assert redaction.result.alpha == asked
    assert ("searched from a tenth of those" in " ".join(result.to_html().split())) != told


def test_silence_of_a_few_loses_its_rule():
    result = AuditResult(
        silence=(
            Silence(sensitive_feature="race", group="a", n_rows=6, rule="age above 90"),
            Silence(sensitive_feature="race", group="b", n_rows=60, n_group=55, rule="x is 1"),
        )
    )
    few, many = redact(result, 11).result.silence
    assert (few.n_rows, few.rule) == (None, "")
    assert (many.n_rows, many.n_group, many.rule) == (60, None, "x is 1")


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "11", True, None])
def test_smallest_count_must_be_a_whole_number(wrong):
    with pytest.raises(InputError, match="min_cell: a whole number of at least 1 expected"):
        audit([[40, 60], [30, 90]], [[80, 160], [90, 300]]).to_html(min_cell=wrong)


def test_page_says_what_was_withheld():
    small = audit([[40, 60], [5, 90]], [[80, 160], [90, 300]])
    page = " ".join(small.to_html().split())
    told = re.search(r"Counts below 11 are not printed, .*: (\d+) numbers are withheld", page)
    assert told
    assert int(told.group(1)) == redact(small, 11).n_withheld
    assert ">withheld<" in page
    assert not re.search(r"<td[^>]*>5</td>", page)
    every = " ".join(small.to_html(min_cell=1).split())
    assert "Every count is printed, however small." in every
    assert re.search(r"<td[^>]*>5</td>", every)


def test_no_number_on_the_page_is_a_small_count():
    """Planted counts that appear nowhere else."""
    result = audit([[409, 613], [7, 907]], [[811, 1601], [15, 3001]])
    page = re.sub(r"<svg.*?</svg>", "", result.to_html(), flags=re.DOTALL)
    cells = re.findall(r"<td[^>]*>([\d,]+)</td>", page)
    numbers = {int(cell.replace(",", "")) for cell in cells}
    assert not {7, 8} & numbers
    assert {409, 613} <= numbers
    # The row of the small cell is known in no more than one of its parts.
    assert not {914, 907} <= numbers


# -- counts in other forms: differences, means, messages


@pytest.fixture(scope="module")
def rare():
    """A real audit of features that few people have: a boolean, a level, numbers with few values."""
    rng = np.random.default_rng(0)
    n = 1500
    sex = np.where(np.arange(n) % 2 == 0, "f", "m")
    few = np.zeros(n, dtype=bool)
    few[[*range(0, 60, 2), *range(1, 9, 2)]] = True  # thirty women, four men
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "flag": few,
            "five": np.where(few, 5.0, 0.0),
            "visits": np.where(few, rng.integers(1, 50, n), 0).astype(float),
            "coin": rng.integers(0, 3, n).astype(float),
            "kind": np.where(few, "rare", np.where(rng.random(n) < 0.5, "a", "b")),
        }
    )
    X.loc[[10, 11], "age"] = np.nan
    y = rng.random(n) < np.where((sex == "f") & (X["age"].fillna(40) > 40), 0.7, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mdfa.audit(X, y, sensitive_features=pd.Series(sex, name="sex"), random_state=0)


def test_differences_do_not_give_the_share_of_a_rare_level(rare):
    """That of an indicator is a function of its two shares: only those of printed lines stay."""
    before = next(iter(rare.balance.values())).to_dict()["smd_before"]
    assert {"flag", "five", "visits", "age"} <= set(before)
    found = redact(rare, 11)
    for value in found.result.balance.values():
        for which in ("smd_before", "smd_after"):
            kept = set(value[which])
            assert {"age", "coin"} <= kept
            assert not [k for k in kept if k.startswith(("flag", "five", "visits", "kind"))]
            assert "age is missing" not in kept
    page = rare.to_html()
    love = page[page.index("How alike the groups were made") :]
    for name in ("flag", "five", "visits", "kind"):
        assert not re.search(rf">{name}(=\w+)?<", love)
    assert found.n_withheld >= 2 * 6


def test_mean_and_deviation_do_not_count_a_rare_value(rare):
    """Of {0, 5} the mean is five times the share; of counts that are nearly all 0 about as much."""
    shown = redact(rare, 11).result.worst_case
    lines = shown.profile
    men = [c for c in lines.columns if c[1] == "m"]
    for name in ("five", "visits"):
        for statistic in ("mean", "sd"):
            assert lines.loc[(name, "", statistic), men].isna().all()
            assert not rare.worst_case.profile.loc[(name, "", statistic), men].isna().any()
        assert lines.loc[(name, "", "mean"), lines.columns[-1]] is None
    for name in ("age", "coin"):
        assert not lines.loc[(name, "", "mean")].isna().any()
    every = redact(rare, 1).result.worst_case.profile
    assert not every.loc[("five", "", "mean"), men].isna().any()


@pytest.mark.parametrize(
    ("values", "printed"),
    [
        (np.repeat([0.0, 5.0], [97, 3]), False),
        (np.repeat([0.0, 5.0], [60, 40]), True),
        (np.repeat([0.0, 1.0, 2.0, 3.0], [50, 30, 15, 5]), False),
        (np.concatenate([np.zeros(92), np.arange(1.0, 9.0)]), False),
        (np.full(100, 7.0), False),
        (np.arange(100.0), True),
    ],
)
def test_which_numbers_keep_their_mean(values, printed):
    """Both sides have the same hundred values, and the subgroup is everybody."""
    x = np.concatenate([values, values])
    s = np.repeat([1, -1], 100)
    profile = profile_subgroup(
        pd.DataFrame({"x": x}), s, np.ones(200, dtype=bool), group="Black", outcome=s > 0
    )
    result = audit([[50, 50], [50, 50]], [[50, 50], [50, 50]], profile=profile)
    kept = redact(result, 11).result.violations[0].profile
    row = kept.loc[("x", "", "mean"), [("population", "Black"), ("population", "everyone else")]]
    assert row.notna().all() == printed
    assert row.isna().all() != printed


def test_numbers_whose_values_nobody_counted_keep_no_mean():
    s = np.repeat([1, -1], 100)
    frame = pd.DataFrame({"x": np.arange(200.0)})
    profile = profile_subgroup(frame, s, np.ones(200, dtype=bool), group="Black", outcome=s > 0)
    profile.attrs.clear()
    result = audit([[50, 50], [50, 50]], [[50, 50], [50, 50]], profile=profile)
    kept = redact(result, 11).result.violations[0].profile
    assert kept.loc[("x", "", "mean")].isna().all()


@pytest.mark.parametrize(
    ("parts", "printed"),
    [
        (
            ("median: 'x1' (", Count(1200, unit=""), "), 'x2' (", Count(2, unit=""), ")."),
            "'x1' (1,200), 'x2' (withheld).",
        ),
        (
            ("pooled: ", Count(2, of=5, unit="levels"), " of 't' (", Count(7), ")."),
            "pooled: a withheld number of levels of 't' (a withheld number of rows).",
        ),
        (
            ("column 'x' has ", Count(3, unit="infinite value(s)")),
            "has a withheld number of infinite value(s)",
        ),
        (
            ("pooled: ", Count(40, of=50, unit="levels"), " of 't' (", Count(70), ")."),
            "40 of 50 levels of 't' (70 rows).",
        ),
        (("not in the subgroup: ", Count(4, unit="people")), "a withheld number of people"),
        (("all but few: ", Count(630, of=634)), "all but few: a withheld number of rows"),
        (("5 folds (seed 3)",), "5 folds (seed 3)"),
    ],
)
def test_messages_lose_small_counts_in_every_form(parts, printed):
    text = Message(*parts)
    result = AuditResult(warnings=(AuditWarning("A", text),))
    assert printed in redact(result, 11).result.warnings[0].message
    assert redact(result, 1).result.warnings[0].message == text


def test_messages_of_a_real_audit_hold_no_small_count(rare):
    missing = [w for w in rare.warnings if w.category == "MissingFeatureValues"]
    assert "'age' (2)" in missing[0].message
    for text in (rare.to_html(), rare.to_model_card()):
        assert "(2)" not in text
        assert "MissingFeatureValues" in text


def test_model_card_withholds_what_the_page_does():
    result = audit([[40, 60], [5, 90]], [[80, 160], [90, 300]], excluded={"no label (race)": 4})
    card = result.to_model_card()
    assert "withheld" in card
    assert "Counts below 11 are not printed" in card
    cells = {
        c.strip() for line in card.splitlines() if line.startswith("|") for c in line.split("|")
    }
    assert "5" not in cells
    assert "634" not in card
    every = result.to_model_card(min_cell=1)
    assert re.search(r"\| 5 \|", every)
    with pytest.raises(InputError, match="min_cell"):
        result.to_model_card(min_cell=0)


# -- what a copy may hold


@pytest.mark.parametrize("kind", [Violation, Subgroup, Silence, AuditRecord, BalanceDiagnostics])
def test_every_field_says_whether_it_may_be_printed(kind):
    marks = {one.name: one.metadata["printable"] for one in dataclasses.fields(kind)}
    assert set(marks.values()) <= {"always", "cells", "rule", "never"}
    for name in ("membership", "propensity", "side", "left_out", "held_out", "source"):
        assert marks.get(name, "never") == "never"


def test_a_field_that_says_nothing_is_not_printed():
    """Whoever adds a figure and forgets to mark it shows it nowhere."""

    @dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
    class More(Subgroup):
        born: int = 0
        named: str = dataclasses.field(default="", metadata={"printable": "never"})

    given = More(born=1970, named="Ada", delta=0.5, n_rows=20)
    copy = printed(More, given, delta=given.delta)
    assert (copy.named, copy.delta, copy.n_rows, copy.born) == ("", 0.5, None, None)
    assert copy.withheld == {"n_rows"}
    with pytest.raises(ValueError, match="allowed: born may not be printed"):
        printed(More, given, born=given.born)


def test_rows_and_sources_are_in_no_copy(rare):
    copy = redact(rare, 11).result
    assert rare.source is not None
    assert copy.source is None
    for v in copy.violations:
        assert not any(map(len, (v.membership, v.held_out, v.propensity, v.side, v.left_out)))
        assert set(v.estimates) in (set(), {"doubly_robust", "hajek", "raw"})


@pytest.mark.parametrize(
    ("fewest", "unweighted", "left"),
    [(12, 0.6, {"doubly_robust", "hajek", "raw"}), (12, 0.72, set()), (5, 0.6, set())],
)
def test_no_ratio_of_the_counts_themselves_is_in_a_copy(fewest, unweighted, left):
    """Nor any other where weights are all alike, or a cell is small."""
    given = {"doubly_robust": 0.7, "hajek": 0.72, "raw": 0.8, "unweighted": unweighted}
    result = audit([[40, 60], [fewest, 90]], [[80, 160], [90, 300]], estimates=given)
    assert set(redact(result, 11).result.violations[0].estimates) == left


def test_copies_name_what_they_withhold():
    result = audit([[40, 60], [5, 90]], [[80, 160], [90, 300]])
    shown = redact(result, 11).result.violations[0]
    assert {"delta", "interval", "rates", "mass", "gamma"} <= shown.withheld
    assert "reason" not in shown.withheld
    assert not redact(result, 1).result.violations[0].withheld


@pytest.mark.parametrize("cells", [[[40, 60], [5, 90]], [[40, 60], [0, 90]]])
def test_withheld_is_a_word_and_never_a_blank_or_a_negative_number(cells):
    """Neither in the table of searches, nor where even the cautious end of the interval is open."""
    result = audit(cells, [[80, 160], [60, 300]], interval=(-math.inf, math.inf))
    page, card = result.to_html(), result.to_model_card(min_cell=11)
    assert re.search(r"<td>withheld</td>\s*<td>withheld</td>", page)
    assert "race = Black, no: withheld; unequal beyond chance" in page
    assert "| withheld | withheld |" in card
    for text in (page, card):
        assert "is withheld, as it would tell of too few rows" in text
        assert "could not be measured" not in text
        assert not re.search(
            r"(?<![\w.,%-])-1\b(?! *%)", re.sub(r"<svg.*?</svg>", "", text, flags=re.S)
        )


def test_rows_of_a_group_too_few_to_be_compared_are_withheld_and_not_nought():
    few = Message(Count(6), " have race='Asian'; at least 30 are needed")
    entry = Violation(
        sensitive_feature="race",
        group="Asian",
        outcome="no",
        reason=few,
        verdict="insufficient_evidence",
    )
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]])
    page = AuditResult(violations=(*result.violations, entry), n_samples=636).to_html()
    row = re.findall(
        "<td>([^<]*)</td>", page.partition("race = Asian</th>")[2].partition("</tr>")[0]
    )
    assert row[0] == "not measured"
    assert "withheld" in row
    assert "0" not in row
    assert "race = Asian, no: not measured; undetermined" in page


def test_a_rule_that_is_withheld_is_not_said_to_be_missing():
    entry = Silence(sensitive_feature="race", group="a", n_rows=6, rule="age above 90", share=0.01)
    result = audit([[40, 60], [30, 90]], [[80, 160], [90, 300]])
    page = AuditResult(violations=result.violations, silence=(entry,), n_samples=636).to_html()
    assert "Some rows (number withheld) compared for race = a: no comparable row" in page
    assert "They are found where" not in page
    assert "age above 90" not in page


# -- an attacker who reads every number that is printed, and searches for the counts behind them

FALL = 0.05  # what is allowed for the models
_MOVED = ModelDependence(
    ratios=(2.6, 2.1),
    propensity_losses=(0.6, 0.5),
    outcome_losses=(0.5, 0.4),
    shares=(0.5, 1.0),
    allowance=FALL,
)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def figures(cells, weights=1.0):
    """Everything an audit says of a table, by formulas that anybody can look up."""
    n = np.asarray(cells, dtype=float)
    rates = (n * weights)[:, 0] / (n * weights).sum(axis=1)
    delta = math.log(rates[0] / rates[1]) if rates[1] > 0 and rates[0] > 0 else math.inf
    low, high = log_ratio_interval(rates, n.sum(axis=1), 0.95, 1.1)
    apart = math.sqrt(sum(r * (1 - r) / m for r, m in zip(rates, n.sum(axis=1), strict=True)))
    difference = rates[0] - rates[1]
    p_value = 2 * float(norm.sf(abs(difference) / max(apart, 1e-9)))
    mass = (n * weights)[:, 0].sum() / (n * weights).sum()
    return {
        "delta": delta,
        "interval": (float(low) - FALL, float(high)),
        "rates": tuple(rates),
        "difference": difference,
        "difference_interval": (difference - 1.96 * apart, difference + 1.96 * apart),
        "mass": mass,
        "gamma": mass * (1 / (1 + math.exp(-min(delta, 50.0))) - 0.5),
        "p_value": p_value,
    }


def world(inside, outside, weights=1.0, core=None):
    """An audit of two searches, with sets, path, splits and estimates made of these counts alone."""
    inside, outside = np.asarray(inside), np.asarray(outside)
    everybody = inside + outside
    own = figures(inside, weights)
    whole = subgroup(everybody, **figures(everybody, weights))
    core = np.minimum(inside, inside // 2 if core is None else core)
    good = (1 - own["rates"][0]) / max(1 - own["rates"][1], 1e-9)
    steps = [figures(t, weights) for t in (inside, everybody)]
    result = audit(
        inside,
        everybody,
        profile=profile_of(inside, everybody, "a"),
        **own,
        p_value_adjusted=min(1.0, 2 * own["p_value"]),
        statistic=-float(norm.ppf(min(max(own["p_value"], 1e-300), 1 - 1e-9))),
        e_value=math.exp(min(own["delta"], 50)),
        e_value_limit=math.exp(min(own["interval"][0], 50)),
        impact_ratio=good,
        impact_interval=(good / 1.3, good * 1.3),
        estimates={"doubly_robust": own["delta"], "hajek": own["delta"] + 0.1},
        detectable_delta=2.8 * math.sqrt((1 / everybody.clip(1)).sum()),
        population=whole,
        core=subgroup(core, label="core", **figures(core, weights)),
        searched=subgroup(inside, label="searched", **own),
        rule_subgroup=subgroup(inside, label="rule", **own),
        depends_on_models=_MOVED,
        spread=Spread(ratios=(math.exp(own["delta"]), math.exp(own["delta"]) * 1.1), shared=0.8),
        path=WorstCasePath(
            delta=np.array([step["delta"] for step in steps]),
            mass=np.array([step["mass"] for step in steps]),
            n_rows=np.array([inside.sum(), everybody.sum()]),
            threshold=np.array([1.0, 0.0]),
            interval_low=np.array([step["interval"][0] for step in steps]),
            interval_high=np.array([step["interval"][1] for step in steps]),
        ),
    )
    # The same people told from the other side: the others get the other outcome more often.
    mirrored = []
    for cells, rule in ((everybody, "everybody"), (inside, "age at most 24")):
        cells = cells[::-1, ::-1]
        mirrored.append(
            Violation(
                sensitive_feature="race",
                group="everyone else",
                outcome="yes",
                verdict="none_larger_than_detectable",
                n_rows=int(cells.sum()),
                share=cells.sum() / everybody.sum(),
                counts=table(cells),
                population=Subgroup(
                    label="everybody",
                    n_rows=int(everybody.sum()),
                    counts=table(everybody[::-1, ::-1]),
                    **figures(everybody[::-1, ::-1], weights),
                ),
                rule=rule,
                rule_rows=int(cells.sum()),
                **figures(cells, weights),
            )
        )
    return type(result)(
        **{
            name: getattr(result, name)
            for name in ("n_samples", "outcome_labels", "sensitive_names", "feature_names")
        },
        violations=(*result.violations, *mirrored),
    )


def numbers_of(result):
    """Every number that is printed of a result: page, card and test cases are made of the same copy."""
    copy = redact(result, MIN_CELL).result
    return [_NUMBER.findall(t) for t in (render(tell(copy)), as_json(to_plain(copy)))]


def consistent(inside, outside, weights=1.0):
    """How many values of each count of a few go with the very numbers that are printed."""
    core, found = np.where(np.asarray(inside) < MIN_CELL, 0, 20), {}
    seen = numbers_of(world(inside, outside, weights, core))
    for place, n, tables in others_of(inside, outside):
        values = found.setdefault(place, set())
        if n not in values and numbers_of(world(*tables, weights, core)) == seen:
            values.add(n)
    return {place: len(values) for place, values in found.items()}


_OPEN = [[40, 100], [85, 210]]
_WEIGHTS = np.array([[1.5, 0.7], [0.9, 1.2]])


@pytest.mark.parametrize(
    ("inside", "outside", "weights"),
    [
        ([[40, 60], [5, 90]], _OPEN, 1.0),
        ([[40, 60], [5, 90]], _OPEN, _WEIGHTS),
        ([[40, 60], [0, 90]], _OPEN, _WEIGHTS),  # nobody else has the outcome
        ([[40, 60], [30, 4]], _OPEN, 1.0),
        ([[40, 60], [30, 90]], [[40, 3], [60, 210]], 1.0),  # few are left outside
        ([[400, 600], [5, 900]], [[400, 1000], [850, 2100]], _WEIGHTS),
    ],
)
def test_every_small_number_goes_with_all_that_is_printed(inside, outside, weights):
    """Whoever knows every formula, and the weights, cannot tell any number below eleven apart."""
    found = consistent(inside, outside, weights)
    assert set(found.values()) == {MIN_CELL}


def test_verdicts_seldom_tell_fewer_than_five_numbers_apart():
    """The attacker knows all but the one count, and how a verdict is made: 1 in 50 tables at most."""
    rng, left = np.random.default_rng(0), []

    def verdict(cells):
        own = figures(cells)
        if own["p_value"] < 0.05 and own["interval"][0] > 0:
            return "violation"
        return "none" if own["interval"][1] < 1.2 else "unsure"

    for _ in range(200):
        cells = rng.integers([[MIN_CELL] * 2, [0, 21]], [200, 200], size=(2, 2))
        few, told = int(rng.integers(MIN_CELL)), []
        for n in range(MIN_CELL):
            told.append(verdict([cells[0], [n, cells[1].sum() - n]]))
        left.append(told.count(told[few]))
    assert np.mean(np.array(left) < 5) < 0.02


@pytest.mark.parametrize("weights", [1.0, _WEIGHTS])
def test_lower_limits_are_the_same_around_the_edge_of_every_step(weights):
    """All tables of which a side has a few: those whose limits are next to a step as well."""
    rng, steps = np.random.default_rng(0), set()
    for _ in range(25):
        cells = rng.integers([[MIN_CELL] * 2, [0, 21]], 400, size=(2, 2))
        everybody, told = cells + 400, set()
        for few in range(MIN_CELL):
            cells[1] = few, cells[1].sum() - few
            case = Violation(
                sensitive_feature="race",
                group="Black",
                outcome="no",
                counts=table(cells),
                population=subgroup(everybody, **figures(everybody, weights)),
                depends_on_models=_MOVED,
                **figures(cells, weights),
            )
            told.add(str(least(case, MIN_CELL)))
        assert len(told) == 1
        steps |= told
    assert len(steps) >= 4


def test_the_attacker_of_these_tests_finds_a_cell_where_estimates_are_printed(monkeypatch):
    """Counts alone are withheld, as it used to be: limits and ratios leave one value of each."""
    monkeypatch.setattr(Guard, "closed", lambda *_: False)
    assert set(consistent([[40, 60], [5, 90]], _OPEN).values()) == {1}


def of_groups(first=0, references=None, **cells):
    """Every group of every column against the others or a reference, by counts alone.

    Of combinations of two columns, with those of each alone; ``None`` has no value. ``first`` is the
    place of the search told first.
    """
    columns = {"sex": {name: np.array(own) for name, own in cells.items()}}
    searches, balance, groups = [], {}, []
    if "all" in cells:
        columns = {"sex": {}, "race": {}, "sex & race": cells["all"]}
        for both, own in cells["all"].items():
            for name, part in zip(columns, both, strict=False):
                columns[name][part] = np.array(own) + columns[name].get(part, 0)
    for column, own in columns.items():
        known = {k: np.array(v) for k, v in own.items() if k is not None and None not in list(k)}
        total, reference = sum(known.values()), (references or {}).get(column)
        for name, counts in known.items():
            told = {"sensitive_feature": column, "group": name, "counts": tuple(counts)}
            groups.append(GroupCounts(**told, rates=tuple(counts / counts.sum())))
            if name == reference:
                continue
            both = np.array([counts, total - counts if reference is None else known[reference]])
            for place in (0, 1):
                order = [place, 1 - place]
                sides = table(both[:, order]).set_axis([OUTCOMES[i] for i in order], axis=1)
                whole = {"n_rows": int(both.sum()), "counts": sides, **figures(both[:, order])}
                searches.append(
                    Violation(
                        sensitive_feature=column,
                        group=name,
                        reference=reference,
                        outcome=OUTCOMES[place],
                        harm=place == 0,
                        verdict="none_larger_than_detectable",
                        rule="everybody",
                        population=Subgroup(label="everybody", **whole),
                        **whole,
                    )
                )
            rows = both.sum(axis=1).astype(float).tolist()
            balance[column, name] = {"effective_sample_size": rows}
        lost = tuple(sum((np.array(v) for k, v in own.items() if k not in known), np.zeros(2, int)))
        groups.append(GroupCounts(sensitive_feature=column, known=False, counts=lost, rates=lost))
    searches[first] = dataclasses.replace(searches[first], verdict="violation")
    return AuditResult(
        violations=tuple(searches),
        balance=balance,
        groups=tuple(groups),
        n_samples=int(sum(map(sum, cells.get("all", cells).values()))),
        outcome_labels=tuple(OUTCOMES),
        sensitive_names=tuple(columns),
    )


@pytest.mark.parametrize("few", [6, 40])
def test_who_meets_a_rule_is_not_counted_by_two_groups_that_do(few):
    """Of those aged at most 24 a and b leave the few of c, whose own search is of all ages."""
    result = of_groups(a=[300, 400], b=[200, 500], c=[100, 150])
    inside = {"a": [60, 40], "b": [50, 90], "c": [few, 20]}
    total = np.sum([*inside.values()], axis=0)
    found = []
    for own in result.violations:
        both = np.array([inside[own.group], total - inside[own.group]])
        counts = table(both).reindex(columns=own.counts.columns)
        part = Subgroup(label="rule", n_rows=int(total.sum()), counts=counts, **figures(counts))
        of_all = {} if own.group == "c" else {"rule": "age <= 24", "rule_subgroup": part}
        found.append(dataclasses.replace(own, **of_all))
    copy = redact(dataclasses.replace(result, violations=tuple(found)), MIN_CELL).result
    told = {own.group for own in copy.violations if own.rule_subgroup.measured}
    assert told == ({"a"} if few < MIN_CELL else {"a", "b"})
    # So are the answers on one question, of c itself, too.
    asked = []
    for own in result.violations:
        both = np.array([inside[own.group], total - inside[own.group]])
        counts = table(both).reindex(columns=own.counts.columns)
        said = {"label": "age <= 24", "n_rows": int(total.sum()), "counts": counts}
        asked.append(AskedSubgroup(**vars(own.key), **said, **figures(counts)))
    copy = redact(dataclasses.replace(result, asked=tuple(asked)), MIN_CELL).result
    told = {own.group for own in copy.asked if own.measured}
    assert told == ({"a"} if few < MIN_CELL else {"a", "b", "c"})


_CROSSED = {
    ("f", "a"): (90, 210),
    ("f", "b"): (5, 95),
    ("m", "a"): (150, 150),
    ("m", "b"): (60, 140),
}


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("first", [0, 4])
def test_no_combination_is_what_other_columns_leave(monkeypatch, first, closed):
    """Five of f & b: f less f & a, and b less m & b, would tell it."""
    if not closed:
        monkeypatch.setattr(grouped, "closed_groups", lambda *_, **__: frozenset())
    told = set()
    for few in (0, 5, 10):
        more = [few - 5, 5 - few]
        signs = {("f", "a"): -1, ("f", "b"): 1, ("m", "a"): 1, ("m", "b"): -1}
        world = {k: np.array(v) + signs[k] * np.array(more) for k, v in _CROSSED.items()}
        copy = redact(of_groups(first=first, all=world), MIN_CELL).result
        told.add(as_json(to_plain(copy)))
    assert (len(told) == 1) == closed
    open_ones = {own.group for own in copy.violations if own.measured}
    assert not closed or {"f", "m", "a", "b"} <= open_ones


@pytest.mark.parametrize("references", [None, {"race": "a"}])
def test_no_group_is_what_another_column_leaves_of_everybody(references):
    """Race is told by others only where the few of c, or those without a race, stay any few."""
    told = set()
    for few in (1, 4, 8):
        cells = {
            ("f", "a"): (90, 210),
            ("f", "b"): (80 - few, 95 + few),
            ("f", "c"): (few, 40 - few),
        }
        cells |= {("m", "a"): (150, 150), ("m", "b"): (60, 140)}
        result = of_groups(references=references, all=cells)
        copy = redact(result, MIN_CELL).result
        alone = [own for own in copy.violations if own.sensitive_feature != "sex & race"]
        told.add(as_json(to_plain(dataclasses.replace(copy, violations=tuple(alone)))))
        assert {own.group for own in alone if own.measured} == {"f", "m"} | (
            {"a"} - {*(references or {}).values()}
        )
    assert len(told) == 1


@pytest.mark.parametrize("closed", [True, False])
def test_groups_beside_the_first_do_not_leave_a_few(monkeypatch, closed):
    """Page, JSON, model card and cards of people together; rates and effective rows are of counts."""
    if not closed:
        monkeypatch.setattr(grouped, "closed_groups", lambda *_, **__: frozenset())

    def told(few):
        result = of_groups(f=[19, 103], m=[19 - few, 212 + few], d=[few, 47 - few])
        copy = redact(result, MIN_CELL).result
        people = [str(in_subgroup(own, i, "")) for own in copy.violations for i in (0, 1)]
        return [result.to_html(), result.to_json(min_cell=11), result.to_cyclonedx(), *people]

    seen = told(5)
    assert ">103<" in seen[0]
    assert "n_outcome=19" in seen[3]
    assert [told(few) == seen for few in (0, 4, 10)] == [closed] * 3


def test_what_stands_beside_rounded_counts_is_no_finer_than_they_are():
    """Of rates two digits, effective rows and people in tens, on the model card three digits."""
    result = of_groups(f=[190, 1030], m=[137, 2173], d=[53, 420])
    first, second = redact(result, MIN_CELL).result.violations[:3:2]
    assert first.rates == (190 / 1220, 190 / 2783)
    assert second.rates == second.population.rates == (0.059, 0.14)
    side = in_subgroup(second, 0, "m")
    assert (f"{side.n}", f"{side.n_outcome}") == ("about 2310", "about 140")
    page = " ".join(re.sub("<[^>]+>", " ", result.to_html()).split())
    assert "6 of 100 against 14 of 100" in page
    assert "1,220 / 2,783" in page
    assert "about 2,310 / about 1,690" in page
    digits = re.findall(r'"value": "0\.0*(\d+)"', result.to_cyclonedx())
    assert max(map(len, digits)) == 3
    assert max(map(len, re.findall(r'"value": "0\.0*(\d+)"', result.to_cyclonedx(min_cell=1)))) == 6


def test_lower_limits_of_whole_audits_do_not_count_a_few():
    """Of nought to ten others who were refused: limits of real audits move otherwise than of counts."""
    n, told = 800, set()
    s = pd.Series(["a"] * 364 + ["b"] * 436)
    given = {"propensity": np.full(n, 0.455), "outcome_probability": np.full(n, 0.12)}
    for few in (0, 1, 2, 10):
        y = np.zeros(n, dtype=int)
        y[:94] = y[364 : 364 + few] = 1
        result = mdfa.audit(
            pd.DataFrame({"age": np.tile([1.0, 2.0], n // 2)}), y, sensitive_features=s, groups=["a"],
            outcomes=[1], learner="tree", n_splits=2, n_repeats=1, **given,
        )  # fmt: skip
        told.add(redact(result, 11).result.violations[0].interval[0])
    assert np.exp(list(told)) == pytest.approx([5.0])


@pytest.mark.parametrize("few", [5, 40])
def test_what_would_have_been_found_in_a_subgroup_of_few_is_withheld(few):
    """It is made of the errors of the cells, whose smallest count for most."""
    result = audit([[40, 60], [few, 90]], [[80, 160], [90, 300]], detectable_delta=1.3, delta=0.8)
    assert math.isnan(redact(result, 11).result.violations[0].detectable_delta) == (few < 11)


def test_pages_test_cases_and_cards_are_the_same_for_other_counts():
    """Every byte, coordinates of pictures and what is read aloud of them as well."""
    core, told = np.array([[20, 30], [2, 45]]), set()
    for n in (3, 5, 8):
        result = world([[40, 60], [n, 95 - n]], [[40, 100], [90 - n, 205 + n]], core=core)
        texts = (result.to_html(), result.to_junit(), result.to_model_card(), result.summary())
        told.add((*texts, result.to_json(min_cell=MIN_CELL)))
    assert len(told) == 1
    page = told.pop()[0]
    assert "at least 1.5 times as often" in page
    assert ">withheld<" in page


def test_json_that_withholds_fits_the_schema_and_is_not_read_back(tmp_path):
    result = world([[40, 60], [5, 90]], _OPEN)
    told = json.loads(result.to_json(tmp_path / "told.json", min_cell=MIN_CELL))
    jsonschema.Draft202012Validator(load_schema(AUDIT_SCHEMA)).validate(told)
    assert told["min_cell"] == MIN_CELL
    assert told["violations"][0]["counts"]["values"] == [[40, 60], [None, 90]]
    assert told["violations"][0]["interval"][1] is None
    figures = re.findall(r"\d+\.\d+(?:e-?\d+)?", json.dumps(told["violations"]))
    assert max(len(text.partition("e")[0].replace(".", "").lstrip("0")) for text in figures) <= 4
    assert "min_cell" not in result.to_dict()
    with pytest.raises(InputError, match=r"counts below 11 were withheld .*without min_cell"):
        type(result).from_json(tmp_path / "told.json")
    with pytest.raises(InputError, match="rows: True was given with min_cell"):
        result.to_json(rows=True, min_cell=MIN_CELL)


def test_a_gate_looks_at_what_is_withheld_and_does_not_print_it():
    result = world([[40, 60], [5, 90]], _OPEN)
    low = result.violations[0].interval[0]
    told = result.to_junit(fail_above=low - 0.01)
    assert 'message="lower confidence limit of delta' in told
    assert f"{low:.3f}" not in told
    assert f"{low:.3f}" in result.to_junit(fail_above=low - 0.01, min_cell=1)


def test_numbers_that_few_have_leave_no_mean():
    """Three of a group have another wage than all others: its mean counts them."""
    wages = {
        "outcome_type": "numeric",
        "outcome_scale": "amount",
        "measure": "difference",
        "outcome_sd": 2.0,
        "outcome": "less",
    }
    sizes = pd.DataFrame([[100], [120]], index=SIDES, columns=["rows"])
    own = {"counts": sizes, "n_rows": 220, "rates": (1.2, 2.0), "difference": 0.8}
    case = Violation(
        sensitive_feature="race",
        group="Black",
        difference_interval=(0.3, 1.3),
        population=Subgroup(measure="difference", outcome_sd=2.0, **own),
        **own,
        **wages,
    )
    for counted, told in (((2, 3, 3), False), ((90, 99, 1), True)):
        groups = GroupCounts(
            sensitive_feature="race", group="Black", counts=(100,), rates=(1.2,), counted=counted
        )
        result = AuditResult(violations=(case,), groups=(groups,), n_samples=220)
        copy = redact(result, MIN_CELL).result.violations[0]
        assert math.isnan(copy.difference) != told
        assert math.isnan(copy.population.rates[0]) != told


def test_means_in_a_subgroup_do_not_count_who_got_anything():
    """Three to nine of a side have 100 and all others nothing: all that is printed is the same."""

    def told(few, rest=60):
        means = (100 * few / 80, 50.0)
        counted = ((2, 200, 200), (2, 100, 100), (2, few, few), (2, 40, 40), (2, rest, rest))
        amounts = pd.DataFrame(80.0, index=SIDES, columns=["rows", *QUANTILES])
        amounts.attrs["values"] = {"rows": (*counted, (2, 60, 60))}
        sizes = pd.DataFrame([[80], [80]], index=SIDES, columns=["rows"])
        own = {"counts": sizes, "n_rows": 160, "rates": means, "difference": 50 - means[0]}
        number = {"measure": "difference", "outcome_sd": 50.0}
        case = Violation(
            sensitive_feature="race",
            group="Black",
            outcome="less",
            outcome_scale="amount",
            difference_interval=(10.0, 49.0),
            amounts=amounts,
            core=Subgroup(**number, **own),
            population=Subgroup(
                counts=sizes + 200, n_rows=560, rates=(40.0, 50.0), difference=10.0, **number
            ),
            **number,
            **own,
        )
        return as_json(to_plain(redact(AuditResult(violations=(case,)), MIN_CELL).result))

    assert len({told(few) for few in range(3, 10)}) == 1
    assert len({told(few, rest=30) for few in (20, 30)}) == 2


def test_three_parts_do_not_give_away_the_smallest():
    """85 and 306 of 400 leave nine; by themselves each is far from the others and from all."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": np.r_[np.full(85, 20), np.full(306, 40), np.full(9, 70)]})
    group = np.where(rng.random(400) < 0.4, "x", "y")
    y = rng.random(400) < np.where(group == "x", 0.35, 0.1)
    result = mdfa.audit(X, y, sensitive_features=group, learner="tree", n_splits=2, n_repeats=1)
    parts = ("age < 30", "age >= 30 and age < 69", "age >= 69")
    asked = [own for part in parts for own in result.measure(part)]
    printed = redact(dataclasses.replace(result, asked=tuple(asked)), 11).result.asked
    assert {own.n_rows for own in printed} == {None}
    apart = [own for own in asked if own.label != parts[2]]
    printed = redact(dataclasses.replace(result, asked=tuple(apart)), 11).result.asked
    assert {own.n_rows for own in printed} == {None}


def test_the_deviation_of_a_number_that_few_have_is_withheld():
    """sd ** 2 = p (1 - p) gives three of 400 back."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400)})
    group, y = rng.choice(["x", "y"], 400), np.zeros(400)
    y[:3] = 1.0
    numbers = {"outcome_type": "numeric", "learner": "tree", "n_splits": 2, "n_repeats": 1}
    result = mdfa.audit(X, y, sensitive_features=group, **numbers)
    told = [own for own in redact(result, 11).result.violations if own.outcome_scale]
    assert told
    assert all(math.isnan(own.outcome_sd) for own in told)
    assert "outcome_sd" not in result.to_json(min_cell=11)
    assert "outcome_sd" in result.to_json()
