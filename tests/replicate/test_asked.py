"""Rows that somebody names: measured as what the search finds, without anything for a search."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.sums import MeasuredRows
from mdfa_fairness_plugin.records import NOT_CONFIRMED, SearchKey
from mdfa_fairness_plugin.replicate.asked import counted
from mdfa_fairness_plugin.report.asked import Answers
from mdfa_fairness_plugin.report.schema import load_schema
from mdfa_fairness_plugin.settings import Settings

CITIES, SIZES = ["Oslo", "Bergen", "Moss", "Voss", "Ski"], ["s", "m", "l"]


@pytest.fixture(scope="module")
def people():
    """Refused more often by group p where young; a rare city, gaps, an index of its own."""
    rng = np.random.default_rng(1)
    n = 1200
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(30, 8, n)),
            "city": rng.choice(CITIES, n, p=[0.5, 0.48, 0.01, 0.005, 0.005]),
            "size": pd.Categorical(rng.choice(SIZES, n), categories=SIZES, ordered=True),
            "since": np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("m8[D]"),
            "fixed": 1,
        },
        index=[f"row {i}" for i in rng.permutation(n)],
    )  # fmt: skip
    s = pd.Series(rng.choice(["p", "q"], n), X.index, name="group")
    rate = 0.3 + 0.3 * ((s == "p") & (X["age"] < 40))
    y = pd.Series((rng.random(n) < rate).astype(int), X.index, name="refused")
    return X, y, s


@pytest.fixture(scope="module")
def result(people, quick):
    X, y, s = people
    told = np.where(X["age"] < 40, 0.45, 0.3)
    return mdfa.audit(
        X,
        y,
        sensitive_features=s,
        propensity=np.full(len(X), 0.5),
        outcome_probability=told,
        **quick,
    )


@pytest.fixture(scope="module")
def worst(result):
    return next(v for v in result.violations if (v.group, v.outcome) == ("p", 1))


def test_what_the_audit_measured_is_measured_alike(planted):
    """Everybody to the last digit; the subgroup with the same estimate and nothing for the search."""
    worst = planted.worst_case
    whole, own = planted.measure({"all": "x1 < 99", "found": worst.membership}, violation=worst)
    for name in ("delta", "interval", "gamma", "mass", "n_rows", "rates", "p_value"):
        assert getattr(whole, name) == pytest.approx(getattr(worst.population, name), abs=1e-12)
    assert own.delta == pytest.approx(worst.delta, abs=1e-12)
    assert (own.n_rows, own.share) == (worst.n_rows, worst.share)
    assert own.depends_on_models.ratios == pytest.approx(worst.depends_on_models.ratios)
    assert worst.interval[0] <= own.interval[0] < own.delta <= own.interval[1] <= worst.interval[1]
    assert own.p_value <= worst.p_value
    pd.testing.assert_frame_equal(own.counts, worst.counts)


def test_the_group_treated_worse_is_told(result, worst):
    (young,) = result.measure("age < 40", violation=worst)
    (old,) = result.measure("age >= 40", violation=worst)
    assert (young.verdict, old.verdict) == ("violation", "none_larger_than_detectable")
    assert young.interval[0] < np.log(2) < young.interval[1]
    assert old.interval[0] < 0 < old.interval[1]
    assert 1 < young.detectable_ratio < 2


def test_features_are_those_that_were_given(result, people, worst):
    """Levels that are pooled, gaps, orders and dates too; expressions, masks and functions agree."""
    X = people[0]
    asked = {
        "age < 40 and income > 25": (X["age"] < 40) & (X["income"] > 25),
        "income is missing": X["income"].isna(),
        "city == 'Moss'": X["city"] == "Moss",
        "city in ('Ski', 'Oslo')": X["city"].isin(["Ski", "Oslo"]),
        "size >= 'm'": X["size"] >= "m",
        "since >= '2021-01-01'": X["since"] >= "2021-01-01",
    }
    answers = result.measure(list(asked), violation=worst)
    for answer, (text, mask) in zip(answers, asked.items(), strict=True):
        assert answer.label == text
        np.testing.assert_array_equal(answer.membership, mask)
    mask = asked["age < 40 and income > 25"]
    shuffled = mask.sample(frac=1, random_state=0)
    same = result.measure(
        [mask.to_numpy(), shuffled, lambda own: (own["age"] < 40) & (own["income"] > 25)],
        violation=worst,
    )
    assert [own.delta for own in same] == [answers[0].delta] * 3


def test_other_columns_may_be_named_but_never_the_outcome(result, people):
    X, y, _ = people
    extra = pd.DataFrame(
        {"office": np.arange(len(X)) % 3, "told": np.where(y == 1, "a", "b")}, X.index
    )
    (answer, *_) = result.measure("office == 1 and age < 40", extra=extra[::-1])
    np.testing.assert_array_equal(answer.membership, (extra["office"] == 1) & (X["age"] < 40))
    for where, more in (
        ("refused == 1", None),
        ("refused == 1 and age < 40", extra.assign(refused=y)),
        ("told == 'a' and age < 40", extra),
        (y == 1, None),
        (y.to_numpy() == 0, None),
        (lambda own: own["told"] == "a", extra),
    ):
        with pytest.raises(InputError, match=r"^where: .*outcome"):
            result.measure(where, extra=more)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("office == 1", "no column 'office'"),
        ("fixed == 1", "not audited .*constant.*extra="),
        ("age.__class__", "no column"),
        (np.ones(7, bool), "7 rows were given"),
        (np.full(1200, 0.5), "mask of true and false"),
        ([], "nothing is asked"),
        ({}, "nothing is asked"),
        (lambda own: [True], "1 values for the 1,200 rows"),
    ],
)
def test_what_cannot_be_asked_is_refused(result, where, says):
    with pytest.raises(InputError, match=f"where: .*{says}"):
        result.measure(where)


def test_what_is_asked_at_once_is_one_family(result, worst):
    """Adjusted over the questions; one and its mirror count once."""
    alone = result.measure("age < 40")
    assert len(alone) == 4
    first = next(own for own in alone if own.key == worst.key)
    # (p, refused) and (q, not refused) are one hypothesis, and so are the other two.
    assert first.p_value_adjusted == pytest.approx(2 * first.p_value)
    three = result.measure(["age < 40", "income > 25", "size == 's'"], violation=worst)
    assert three[0].p_value == first.p_value
    assert three[0].p_value_adjusted == pytest.approx(3 * first.p_value)


def test_nobody_on_one_side_is_not_enough_evidence(result, people):
    group = people[2]
    for answer in result.measure(["age > 90", group == "p"]):
        assert answer.verdict == "insufficient_evidence"
        assert "one of the two sides" in answer.reason


def test_answers_stand_in_every_report_with_what_they_do_not_confirm(result):
    answers = result.measure(["age < 40", "city == 'Moss'"])
    told = dataclasses.replace(result, asked=answers)
    texts = [
        answers.summary(),
        told.summary(),
        told.to_html(min_cell=1),
        told.to_model_card(min_cell=1),
    ]
    for text in texts:
        flat = " ".join(text.replace("&lt;", "<").replace("\\", "").split())
        assert "here age < 40" in flat
        assert "not confirmed by them" in flat
    assert "age &lt; 40: group = p compared" in told.to_junit()
    data = json.loads(told.to_json())
    jsonschema.validate(data, load_schema(data["schema"]))
    assert [own["label"] for own in data["asked"]] == ["age < 40"] * 4 + ["city == 'Moss'"] * 4
    assert "asked" not in result.to_dict()
    assert NOT_CONFIRMED not in result.summary()
    frame = answers.to_frame()
    assert frame["asked"].tolist() == [own.label for own in answers]
    assert frame["ratio"].tolist() == [own.ratio for own in answers]


def test_tables_of_answers_are_of_harm_and_no_wider_than_a_page(result):
    """A table for each question and outcome, unless one of the outcomes is the good one."""
    answers = result.measure(["age < 40", "age >= 40 and city != 'Moss' or income > 99"])
    harm = {answers[0].outcome: True}
    text = Answers(
        dataclasses.replace(own, harm=harm.get(own.outcome, False)) for own in answers
    ).summary()
    for told, n_tables in ((answers.summary(), 4), (text, 2)):
        lines = told.splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith("Who ")]
        assert len(starts) == n_tables
        assert max(len(line) for i in starts for line in lines[i : i + 4]) <= 88
    assert f'income > 99, outcome "{answers[0].outcome}":' in text


def test_few_people_are_not_printed(result):
    """City Moss has about twelve people; neither their number nor a ratio of a small cell is shown."""
    (first, *_) = result.measure(["city == 'Moss'", "age < 40"])
    assert 0 < first.n_rows < 30
    assert (first.counts.to_numpy() < 11).any()
    told = dataclasses.replace(result, asked=(first,))
    page = told.to_html(min_cell=11)
    section = page[page.index("What was asked") : page.index("All searches")]
    assert "withheld" in section
    assert f"{first.ratio:.1f} times" not in section
    assert f"{first.n_rows} rows" not in told.to_html(min_cell=first.n_rows + 1)


def test_it_is_said_what_would_have_been_found():
    """Of a ratio of the size stated about eight in ten are called a violation."""
    rng = np.random.default_rng(0)
    n, settings = 800, Settings(balance="overlap")
    s, member = np.where(np.arange(n) % 2, 1, -1), np.arange(n) < 400
    key = SearchKey(sensitive_feature="s", group=1, reference=None, outcome=1)

    def answer(ratio):
        rate = np.where(s == 1, 0.6 * ratio / (1 + ratio), 0.6 / (1 + ratio))
        positive = rng.random(n) < np.where(member, rate, 0.3)
        ones = np.ones(n)
        rows = MeasuredRows(
            s=s, value=positive, y=positive.astype(int), n_outcomes=2, base=ones,
            weights=ones, propensity=ones / 2, outcome=0.3 * ones,
        )  # fmt: skip
        (told,) = conclude([counted(key, rows, member, "one")], settings, (0, 1))
        return told

    ratio = np.exp(np.mean([answer(1.0)["detectable_delta"] for _ in range(5)]))
    found = np.mean([answer(ratio)["verdict"] == "violation" for _ in range(80)])
    assert 0.68 <= found <= 0.92
    # And where there is nothing hardly any: one in forty, by an interval of two sides.
    assert np.mean([answer(1.0)["verdict"] == "violation" for _ in range(80)]) <= 0.07


def test_every_pair_of_groups_is_what_a_reference_group_says_of_everybody():
    rng = np.random.default_rng(3)
    n = 600
    X = pd.DataFrame({"a": rng.normal(size=n)})
    s = np.array(["p", "q", "r"])[np.arange(n) % 3]
    y = (rng.random(n) < np.where(s == "p", 0.6, 0.3)).astype(int)
    some = {"sensitive_features": s, "learner": "tree", "n_splits": 2, "n_repeats": 1}
    pairs = mdfa.audit(X, y, **some).group_pairs()
    assert len(pairs) == 12
    assert len({own.key for own in pairs}) == 12
    found = {own.key: own for own in pairs}
    alone = mdfa.audit(X, y, reference_group="q", **some)
    for own in alone.violations:
        pair, whole = found[own.key], own.population
        # Folds are drawn for the values compared, so that models differ a little.
        assert pair.delta == pytest.approx(whole.delta, abs=0.05)
        assert pair.n_rows == pytest.approx(whole.n_rows, abs=5)
    worse = next(own for own in pairs if (own.group, own.reference, own.outcome) == ("p", "r", 1))
    assert worse.verdict == "violation"
    # Six ordered pairs of two outcomes are six hypotheses: each pair and its mirror are one.
    assert worse.p_value_adjusted <= 6 * worse.p_value + 1e-12
    assert "group" not in pairs.summary().split("\n")[0]
    assert "\np (vs r)" in pairs.summary()
