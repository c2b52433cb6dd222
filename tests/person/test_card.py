"""A card for one person."""

from __future__ import annotations

import datetime
import json
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.person import story
from mdfa_fairness_plugin.person.comparators import Comparators
from mdfa_fairness_plugin.person.find import GROUP, OTHERS
from mdfa_fairness_plugin.person.story import newcombe


def test_a_person_where_the_violation_was_planted_is_inside_and_knows_how_others_fared(
    auditor, flat
):
    card = auditor.explain_row({"age": 25, "town": "A"}, sensitive="f", outcome="refused")
    assert card.inside is True
    assert card.side == GROUP
    assert card.has_outcome is True
    assert card.score >= card.threshold
    assert card.n_models == card.n_models_inside == 5
    assert card.meets_rule is True
    women, men = card.nearest
    # Three in four against three in ten.
    assert women.rate == pytest.approx(0.75, abs=0.15)
    assert men.rate == pytest.approx(0.3, abs=0.15)
    assert min(women.n, men.n) >= 25
    text = flat(card.summary())
    assert "IS THIS PERSON IN THE SUBGROUP? Yes." in text
    assert "All 5 models of the audit put this person inside." in text
    assert "Finding: unequal beyond chance" in text
    gained = replace(card, told=replace(card.told, harm=False))
    assert "Finding: advantage beyond chance" in flat(gained.summary())
    assert str(card) == card.summary()


def test_a_person_far_from_it_is_outside(auditor, flat):
    card = auditor.explain_row({"age": 70, "town": "B"}, sensitive="f", outcome="refused")
    assert card.inside is False
    assert card.meets_rule is False
    assert "IS THIS PERSON IN THE SUBGROUP? No." in flat(card.summary())
    # The violation is told all the same, as that of a place they are not in.
    assert (card.violation.group, card.violation.outcome) == ("f", "refused")
    assert card.violation.verdict == "violation"


def test_new_people_are_judged_as_predict_does(auditor, people):
    X = people(20, seed=9)[0] + pd.Series({"age": 0.25, "town": ""})
    cards = [auditor.explain_row(X.iloc[i]) for i in range(20)]
    np.testing.assert_array_equal([card.inside for card in cards], auditor.predict(X))
    np.testing.assert_allclose([card.score for card in cards], auditor.decision_function(X))
    assert all(card.row is None for card in cards)


def test_an_audited_person_is_judged_by_the_model_that_had_not_seen_them(data, auditor, flat):
    X, y, s = data
    for row in range(30):
        card = auditor.explain_row(None, row=row)
        assert card.row == row
        assert card.inside == card.violation.membership[row]
        assert card.side == (GROUP if s[row] == card.violation.group else OTHERS)
        assert card.received == y[row]
        assert card.features == (
            ("age", str(int(X.age[row]))),
            ("town", X.town[row]),
        )
    assert "judged by a model that had not seen this person" in flat(card.summary())


def test_of_a_split_only_rows_held_out_were_not_seen(data, fitted, flat):
    auditor = fitted(*data, learner="tree", n_repeats=1, evaluation="holdout")
    held_out = auditor.result_.worst_case.held_out
    for row in (int(held_out.argmin()), int(held_out.argmax())):
        text = flat(auditor.explain_row(None, row=row).summary())
        if "Membership was judged" in text:  # not where everybody is the subgroup
            assert ("a model that had not seen this person" in text) == held_out[row]
            assert ("a model that had learned from this person" in text) != held_out[row]


@pytest.mark.parametrize(
    ("side", "held_out", "seen"), [(1, False, True), (-1, True, False), (0, False, False)]
)
def test_who_judged_a_row(side, held_out, seen):
    """Rows of neither side are judged by models of others, held out or not."""
    own = SimpleNamespace(side=np.array([side]), held_out=np.array([held_out]))
    told = story._judged_by(own, 0)
    assert ("a model that had learned from this person" in told) == seen
    assert ("a model that had not seen this person" in told) != seen


def test_nobody_is_their_own_comparator(people, fitted):
    X, y, s = people(800)
    X["age"] += np.linspace(0, 0.5, len(X))
    auditor = fitted(X, y, s)
    for row in range(10):
        card = auditor.explain_row(None, row=row, show_records=True)
        for side in card.nearest:
            assert (side.records["distance"] > 0).all()


def test_small_counts_of_others_are_not_shown_and_records_only_on_request(auditor, flat):
    card = auditor.explain_row([25, "A"], sensitive="f", outcome="refused")
    for side in (*card.nearest, *card.subgroup):
        assert side.records.empty
        assert side.n_outcome >= 11
        assert side.n - side.n_outcome >= 11
    few = auditor.explain_row([25, "A"], sensitive="f", outcome="refused", min_cell=2000)
    for side in (*few.nearest, *few.subgroup):
        assert side.suppressed
        assert side.n is side.n_outcome is None
        assert np.isnan(side.rate)
    text = flat(few.summary())
    assert (
        "Counts of the nearest people are withheld: they would tell of fewer than 2000 rows."
        in text
    )
    assert "Counts in the subgroup are withheld" in text
    open_card = auditor.explain_row([25, "A"], sensitive="f", show_records=True, n_comparators=3)
    assert [side.n for side in open_card.nearest] == [3, 3]
    assert [len(side.records) for side in open_card.nearest] == [3, 3]
    assert "THE NEAREST OF SEX = F:" in flat(open_card.summary()).upper()


def test_comparators_are_the_nearest_of_each_side(data, auditor):
    X, _, s = data
    card = auditor.explain_row([25, "A"], sensitive="f", show_records=True, n_comparators=8)
    women, men = (side.records for side in card.nearest)
    for records, sex in ((women, "f"), (men, "m")):
        assert (records["town"] == "A").all()
        farthest = (records["age"] - 25).abs().max()
        nearer = (s == sex) & (X.town == "A") & ((X.age - 25).abs() < farthest)
        assert nearer.sum() <= 8


def test_nobody_near_enough_is_said(fitted, flat):
    """All men live elsewhere and are old; the young woman has nobody to be compared with."""
    rng = np.random.default_rng(0)
    n = 1200
    s = np.repeat(["f", "m"], n // 2)
    X = rng.normal(size=(n, 2))
    X[s == "m", 0] += 1.5
    y = (rng.random(n) < np.where(s == "f", 0.6, 0.4)).astype(int)
    auditor = fitted(X, y, s)
    card = auditor.explain_row([-9.0, 0.0], sensitive="f", show_records=True)
    assert card.nearest[1].n == 0
    assert "Nobody of everyone else is near enough to be compared." in flat(card.summary())


@pytest.mark.parametrize(
    ("who", "unseen"),
    [([33.5, "Z"], ("town",)), ([250.0, "A"], ("age",)), ([250.0, "Z"], ("town", "age"))],
)
def test_of_somebody_unlike_anyone_audited_models_say_nothing(auditor, flat, who, unseen):
    card = auditor.explain_row(who, sensitive="f", outcome="refused")
    assert card.unseen == unseen
    text = flat(card.summary())
    named = f"nobody audited has such a value of {', '.join(unseen)}"
    assert f"This audit cannot speak about this person: {named}." in text
    assert "models of the audit put this person" not in text
    assert json.loads(card.to_json())["unseen"] == [*unseen]


def test_somebody_far_from_everybody_is_told_so(people, fitted, flat):
    """Features whose values are all there, but not together."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=900)
    X = np.column_stack([x, x + rng.normal(size=900) / 50])
    s = np.where(np.arange(900) % 2 == 0, "f", "m")
    y = (rng.random(900) < np.where((s == "f") & (x > 0), 0.8, 0.2)).astype(int)
    often = {"learner": "tree", "n_splits": 2, "n_repeats": 1}
    auditor = fitted(X, y, s, **often)
    far = auditor.explain_row([-2.0, 2.0], sensitive="f")
    near = auditor.explain_row([1.0, 1.0], sensitive="f")
    assert (far.alike, far.unseen, near.alike) == (False, (), True)
    assert "nobody audited is like them in the audited features" in flat(far.summary())
    assert "cannot speak" not in near.summary()


def test_a_card_gives_no_ratio_of_a_few(fitted, flat):
    """Of the others three in the subgroup have the outcome: the exact ratio would count them."""
    n = 800
    s = np.repeat(["f", "m"], n // 2)
    often = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "outcomes": [1]}
    often |= {"propensity": np.full(n, 0.5), "outcome_probability": np.full(n, 0.15)}
    every = {}
    for few in (10, 6, 3):
        y = np.concatenate([np.arange(n // 2) < 120, np.arange(n // 2) < few]).astype(int)
        auditor = fitted(pd.DataFrame({"x": np.tile([0.0, 1.0], n // 2)}), y, s, **often)
        card = auditor.explain_row([0.0], sensitive="f", outcome=1)
        every[few] = {k: v for k, v in json.loads(card.to_json()).items() if "score" not in k}
    assert every[10] == every[6] == every[3]
    told = every[3]["search"]
    assert told["ratio"] is None
    assert told["interval"][1] is None
    assert told["p_value_adjusted"] is None
    assert "times as often as" in flat(card.summary())
    assert "at least" in flat(card.summary())
    every = json.loads(auditor.explain_row([0.0], sensitive="f", outcome=1, min_cell=1).to_json())
    assert every["search"]["ratio"] > 20


def test_people_the_audit_left_out_are_told_so(fitted, flat):
    rng = np.random.default_rng(0)
    n = 2000
    s = np.repeat(["f", "m"], n // 2)
    x = rng.uniform(0, 1, n) + (s == "m") * 0.5
    y = (rng.random(n) < np.where((s == "f"), 0.7, 0.3)).astype(int)
    auditor = fitted(x.reshape(-1, 1), y, s)
    left_out = np.flatnonzero(auditor.result_.worst_case.left_out)
    assert len(left_out)
    card = auditor.explain_row(None, row=int(left_out[0]))
    assert not card.comparable
    assert "This audit cannot speak about this person" in flat(card.summary())


def test_searches_without_a_finding_keep_no_model_but_still_answer(auditor, flat):
    none = next(v for v in auditor.result_.violations if v.verdict != "violation")
    card = auditor.explain_row([33.5, "A"], sensitive=none.group, outcome=none.outcome)
    assert card.violation is none
    assert card.inside is None
    assert card.n_models == 0
    assert "Not known: this search found nothing unequal" in flat(card.summary())
    turned = {"delta": -0.3, "interval": (-0.5, -0.1), "p_value_adjusted": 1.0}
    text = flat(replace(card, told=replace(card.told, **turned)).summary())
    assert "Finding: less often; not found unequal (p = 1, adjusted, one-sided)." in text
    assert "Nothing was found unequal beyond chance here; that is no finding of equal" in text


@pytest.mark.parametrize("solver", ["level_set", "iterative"])
def test_every_solver_has_cards(solver, people, fitted):
    X, y, s = people(600)
    auditor = fitted(X, y, s, solver=solver, learner="tree", n_splits=3)
    card = auditor.explain_row([25, "A"])
    assert card.inside == auditor.predict(pd.DataFrame({"age": [25.0], "town": ["A"]}))[0]
    assert card.n_models == 3


def test_cards_survive_pickling_and_cloning(data, auditor):
    copy = pickle.loads(pickle.dumps(auditor))
    before = auditor.explain_row(None, row=3)
    assert copy.explain_row(None, row=3).to_json() == before.to_json()
    assert pickle.loads(pickle.dumps(before)).to_html() == before.to_html()
    # Rows and scores weigh little beside the models that were kept anyway.
    problem = auditor.result_.source.problem
    kept = len(pickle.dumps((problem.X, problem.display, problem.y, problem.source_row)))
    assert kept < 0.1 * len(pickle.dumps(auditor))


def test_cards_cannot_be_changed(auditor):
    with pytest.raises(AttributeError):
        auditor.explain_row([25, "A"]).inside = False


def test_json_is_strict_and_keeps_others_out(auditor, tmp_path):
    card = auditor.explain_row([25, "A"], sensitive="f", outcome="refused")
    path = tmp_path / "card.json"
    text = card.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    told = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert told == card.to_dict()
    assert told["format"] == "mdfa-contestation-card"
    assert told["inside"] is True
    assert told["features"] == {"age": "25", "town": "A"}
    assert "membership" not in text
    assert told["search"]["verdict"] == "violation"


# -- several rows of one person


@pytest.fixture(scope="module")
def visits(people, fitted):
    """600 people with two visits each, a year apart: audited rows, whose they are, the auditor."""
    X, y, s = people(600)
    later = X.assign(age=X["age"] + 1)
    X = pd.concat([X, later], ignore_index=True)
    y = pd.concat([y, people(600, seed=5)[1]], ignore_index=True)
    s = pd.concat([s, s], ignore_index=True)
    ids = np.tile(np.arange(600), 2)
    options = {"clusters": ids, "learner": "tree", "n_splits": 2}
    return X, y, ids, fitted(X, y, s, **options)


def test_no_row_of_theirs_is_a_comparator_and_everybody_counts_once(visits):
    X, _, ids, auditor = visits
    for row in range(0, 1200, 171):
        card = auditor.explain_row(None, row=row, show_records=True, n_comparators=30)
        for side in card.nearest:
            shown = side.records[["age", "town"]]
            whose = [
                set(ids[(X["age"] == age) & (X["town"] == town)]) for age, town in shown.to_numpy()
            ]
            assert len(whose) == side.n
            # Ages and towns are shared; where they are not, nobody comes twice and not this person.
            known = [one.copy().pop() for one in whose if len(one) == 1]
            assert len(known) == len(set(known))
            assert ids[row] not in known


def test_counts_of_the_subgroup_are_those_of_the_page(visits):
    """Of rows, also where people have several."""
    _, y, _, auditor = visits
    card = auditor.explain_row(None, row=0, show_records=True)
    violation = card.violation
    inside = violation.membership & violation.held_out
    for side, value in zip(card.subgroup, (1, -1), strict=True):
        rows = inside & (violation.side == value)
        assert side.n == rows.sum()
        assert side.n_outcome == (rows & (y == violation.outcome).to_numpy()).sum()


def test_a_person_of_equal_rows_is_found(people, fitted):
    """Both rows with these features, side and outcome are theirs."""
    X, y, s = people(400)
    X = X.assign(age=np.arange(400.0))
    twice = [pd.concat([one, one], ignore_index=True) for one in (X, y, s)]
    ids = np.tile(np.arange(400), 2)
    auditor = fitted(*twice, clusters=ids, learner="tree", n_splits=2)
    card = auditor.explain_row(X.iloc[7], sensitive=s[7], outcome=y[7], show_records=True)
    assert card.row == 7
    for side in card.nearest:
        assert 7 not in side.records["age"].tolist()


def test_durations_and_times_have_their_unit(people, fitted):
    """Also those of other people, where they are shown."""
    X, y, sex = people(600)
    at = [datetime.time(int(age) % 24, 30) for age in X["age"]]
    X = X.assign(age=pd.to_timedelta(X["age"] * 10, unit="D"), at=at)
    auditor = fitted(X, y, sex, learner="tree", n_splits=2, n_repeats=1)
    card = auditor.explain_row(None, row=0, show_records=True, min_cell=1, n_comparators=3)
    features = dict(card.features)
    assert features["age"] == f"{X['age'][0].days} days"
    assert features["at"] == at[0].strftime("%H:%M")
    records = card.nearest[0].records
    assert records["age"].str.fullmatch(r"\d+ days").all()
    assert records["at"].str.fullmatch(r"\d\d:30").all()


def test_the_nearest_of_both_sides_differ_by_what_their_rates_and_newcombes_interval_say():
    """56 of 70 against 48 of 80: .2, from .0524 to .3339 (Newcombe 1998, Table II, method 10)."""
    sides = [
        Comparators(label=label, n=n, n_outcome=k, rate=k / n)
        for label, n, k in (("f", 70, 56), ("others", 80, 48))
    ]
    assert newcombe(*sides) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_a_column_that_nothing_is_known_for_is_left_out(data, fitted, flat):
    """Estimates of counts alone have no rates at the same features."""
    often = {"learner": "tree", "n_splits": 2, "n_repeats": 1}
    raw = fitted(*data, solver="level_set", estimator="raw", **often)
    usual = fitted(*data, **often)
    for auditor, told in ((raw, False), (usual, True)):
        card = auditor.explain_row({"age": 25, "town": "A"}, sensitive="f", outcome="refused")
        header = story._rates(card, card.subgroup, "In the subgroup", "Rate, same features").header
        assert ("Rate, same features" in header) == told
        assert ("Rate, same features" in flat(card.summary())) == told
        assert ("Rate, same features" in card.to_html()) == told
        assert "In the subgroup" in card.summary()


def test_a_value_nobody_audited_has_is_told_as_it_is(people, fitted, flat):
    """Of labels with an order and without, pooled ones among them."""
    X, y, s = people(1200)
    rare = np.array(["r1", "r2", "r3", "r4"])[np.arange(len(X)) % 4]
    X["town"] = np.where(np.arange(len(X)) % 40 < 2, rare, X["town"])
    grades = ["low", "mid", "high"]
    X["grade"] = pd.Categorical(np.resize(grades, len(X)), grades, ordered=True)
    often = {"learner": "tree", "n_splits": 2, "n_repeats": 1}
    auditor = fitted(X, y, s, **often)
    who = {"age": 25.0, "town": "Atlantis", "grade": "top"}
    card = auditor.explain_row(who, sensitive="f", outcome="refused")
    assert card.features == (("age", "25"), ("town", "Atlantis"), ("grade", "top"))
    assert set(card.unseen) == {"town", "grade"}
    text = flat(card.summary())
    assert "age 25, town Atlantis, grade top." in text
    assert "nobody audited has such a value of town, grade" in text
    assert "(other levels)" not in text.split("IS THIS PERSON")[0]
    known = auditor.explain_row(who | {"town": "A", "grade": "mid"})
    assert known.unseen == ()
    assert known.features[1:] == (("town", "A"), ("grade", "mid"))
