"""A short rule for a subgroup."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe import cells
from mdfa_fairness_plugin.describe.held_out_rule import describe_held_out
from mdfa_fairness_plugin.describe.profile import ProfiledSubgroup, profile_subgroups
from mdfa_fairness_plugin.describe.rules import describe_rule
from mdfa_fairness_plugin.exceptions import InputError


def people(n=3000, seed=0):
    """A display frame with every kind of column."""
    rng = np.random.default_rng(seed)
    days = pd.to_timedelta(rng.integers(0, 3000, n), unit="D")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.lognormal(10, 0.5, n),
            "colour": rng.choice(["red", "green", "dark blue", "black", "(missing)"], n),
            "works": (rng.random(n) < 0.7).astype(float),
            "arrived": pd.Timestamp("2001-01-01") + days,
            "score": rng.normal(size=n),
        }
    )


PEOPLE = people()
PEOPLE.loc[::7, "income"] = np.nan
KINDS = [
    SimpleNamespace(kind=kind, encoded_columns=(place,))
    for place, kind in enumerate(
        ("numeric", "numeric", "categorical", "boolean", "datetime", "numeric")
    )
]

PLANTED = {
    "age at most 24": PEOPLE.age < 25,
    "age at least 66": PEOPLE.age > 65,
    "age from 30 to 45 and colour is 'dark blue' or red": PEOPLE.age.between(30, 45)
    & PEOPLE.colour.isin(["red", "dark blue"]),
    "colour is not green": PEOPLE.colour != "green",
    "colour is missing": PEOPLE.colour == "(missing)",
    "works is no": PEOPLE.works == 0,
    "income is missing": PEOPLE.income.isna(),
    "income is recorded and works is yes": PEOPLE.income.notna() & (PEOPLE.works == 1),
    "income at most 20,000 (or missing)": ~(PEOPLE.income > 20_000),
    "score above 0.5": PEOPLE.score > 0.5,
    "score between -0.5 and 1": (PEOPLE.score > -0.5) & (PEOPLE.score <= 1),
}


@pytest.mark.parametrize("text", PLANTED)
def test_planted_rules_are_named(text):
    """Cut points need not be the planted ones to the last digit; the rows nearly must."""
    rule = describe_rule(PLANTED[text].to_numpy(), PEOPLE, displays=KINDS)[0]
    assert rule.text == text
    assert rule.fidelity > 0.99


def test_planted_union_is_found():
    planted = ((PEOPLE.age < 25) & (PEOPLE.colour == "red")) | (
        (PEOPLE.score > 1) & (PEOPLE.works == 1)
    )
    rule = describe_rule(planted.to_numpy(), PEOPLE, displays=KINDS)[0]
    assert len(rule.alternatives) == 2
    assert rule.n_conditions == 4
    assert rule.fidelity > 0.98
    assert ", or (" in rule.text


def test_exclusive_or_needs_two_alternatives():
    """No single feature says anything about the subgroup."""
    planted = (PEOPLE.score > 0) ^ (PEOPLE.works == 1)
    rule = describe_rule(planted.to_numpy(), PEOPLE, displays=KINDS)[0]
    assert len(rule.alternatives) == 2
    assert rule.fidelity > 0.98


def test_numbers_too_large_for_their_neighbours_are_named():
    """Beyond 2**53 the next whole number is no float: one less is the same number."""
    inside = np.arange(300) % 3 == 0
    rule, covered = describe_rule(inside, pd.DataFrame({"id": np.where(inside, 2**62, 5)}))
    assert rule.text == "id is 4.611686018427388e+18"
    assert (covered == inside).all()


def test_dates_are_cut_at_days():
    rule = describe_rule((PEOPLE.arrived > "2004-03-05").to_numpy(), PEOPLE)[0]
    assert rule.text.startswith("arrived after 2004-0")
    assert rule.fidelity > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_noise_around_a_rule_adds_no_conditions(seed):
    rng = np.random.default_rng(seed)
    display = people(seed=seed)
    inside = rng.random(3000) < np.where((display.age < 36) & (display.score > 0.5), 0.9, 0.05)
    rule = describe_rule(inside, display, displays=KINDS)[0]
    assert {c.name for c in rule.alternatives[0]} == {"age", "score"}
    assert rule.n_conditions == 2


@pytest.mark.parametrize("seed", range(4))
def test_random_rows_have_no_rule(seed):
    inside = np.random.default_rng(seed).random(3000) < 0.2
    rule = describe_rule(inside, PEOPLE, displays=KINDS)[0]
    assert rule.text == ""
    assert math.isnan(rule.fidelity)
    assert not rule.applies(PEOPLE).any()


@pytest.mark.parametrize("seed", range(4))
def test_fit_is_what_the_printed_rule_gives(seed):
    """The measures are those of the rounded rule on all rows, by their definitions."""
    rng = np.random.default_rng(seed)
    display = people(seed=seed)
    inside = (display.score + rng.normal(size=3000) > 1).to_numpy()
    rule = describe_rule(inside, display, displays=KINDS)[0]
    covered = rule.applies(display)
    assert rule.precision == pytest.approx(inside[covered].mean())
    assert rule.recall == pytest.approx(covered[inside].mean())
    assert rule.fidelity == pytest.approx((covered[inside].mean() + (~covered[~inside]).mean()) / 2)
    assert rule.n_conditions <= 4


def test_everybody_and_nobody():
    everybody = describe_rule(np.ones(3000, dtype=bool), PEOPLE)[0]
    assert everybody.text == "everybody"
    assert everybody.fidelity == everybody.precision == everybody.recall == 1.0
    assert everybody.applies(PEOPLE).all()
    nobody = describe_rule(np.zeros(3000, dtype=bool), PEOPLE)[0]
    assert nobody.text == "nobody"
    assert not nobody.applies(PEOPLE).any()


def test_inputs_that_leave_nothing_to_say():
    assert describe_rule(np.zeros(0, dtype=bool), PEOPLE.iloc[:0])[0].text == ""
    assert describe_rule(np.array([True, False]), pd.DataFrame(index=range(2)))[0].text == ""
    constant = pd.DataFrame({"x": [1.0, 1.0], "y": [np.nan, np.nan], "z": ["a", "a"]})
    assert describe_rule(np.array([True, False]), constant)[0].text == ""


def test_row_order_and_column_names_do_not_change_who_is_named():
    inside = ((PEOPLE.age < 30) & (PEOPLE.colour == "red")).to_numpy()
    order = np.random.default_rng(0).permutation(3000)
    one = describe_rule(inside, PEOPLE, displays=KINDS)[0]
    two = describe_rule(inside[order], PEOPLE.iloc[order], displays=KINDS)[0]
    assert one == two


def test_weights_count_as_repeated_rows():
    weight = np.random.default_rng(0).integers(1, 4, size=3000)
    inside = (PEOPLE.score > 0.4).to_numpy() ^ (np.arange(3000) % 17 == 0)
    weighted = describe_rule(inside, PEOPLE, displays=KINDS, sample_weight=weight)[0]
    rows = np.repeat(np.arange(3000), weight)
    repeated = describe_rule(inside[rows], PEOPLE.iloc[rows], displays=KINDS)[0]
    assert weighted.text == repeated.text
    assert weighted.fidelity == pytest.approx(repeated.fidelity)


def test_sampled_search_gives_the_same_rule_every_time_and_measures_all_rows():
    display = people(60_000)
    inside = ((display.age < 25) & (display.score > 0.5)).to_numpy()
    rule = describe_rule(inside, display, displays=KINDS, max_rows=5_000)[0]
    again = describe_rule(inside, display, displays=KINDS, max_rows=5_000)[0]
    assert rule == again
    assert rule.fidelity > 0.97


def test_a_small_subgroup_in_many_rows_is_still_described():
    """Forty in 50,000; plain agreement would prefer 'nobody'."""
    display = people(50_000)
    inside = ((display.age == 18) & (display.score > 1.5)).to_numpy()
    rule = describe_rule(inside, display, displays=KINDS)[0]
    assert rule.precision > 0.9
    assert rule.recall > 0.9


def test_rule_applies_to_new_rows_with_unseen_levels():
    inside = (PEOPLE.colour != "green").to_numpy()
    rule = describe_rule(inside, PEOPLE, displays=KINDS)[0]
    new = PEOPLE.iloc[:3].copy()
    new["colour"] = ["violet", "green", "red"]
    assert rule.applies(new).tolist() == [True, False, True]


def test_one_condition_is_enough_if_only_one_is_allowed():
    inside = ((PEOPLE.age < 40) & (PEOPLE.works == 1)).to_numpy()
    rule = describe_rule(inside, PEOPLE, displays=KINDS, max_conditions=1)[0]
    assert rule.text == "age at most 39"


def test_many_features_and_levels_take_no_more_work_each_than_few(steps_of, peak_of):
    """Steps follow the features, not the rows; memory is that of six copies at most."""

    def describing(n_rows, n_features):
        rng = np.random.default_rng(0)
        display = pd.concat(
            [
                pd.DataFrame(rng.normal(size=(n_rows, n_features))).add_prefix("z"),
                pd.DataFrame(rng.integers(0, 50, (n_rows, 3)).astype(str)).add_prefix("c"),
            ],
            axis=1,
        )
        inside = ((display.z7 > 0) & display.c1.isin(["3", "4"])).to_numpy()

        def work():
            assert describe_rule(inside, display)[0].text == "z7 above 0 and c1 is 3 or 4"

        return work

    describing(1000, 10)()
    usual = steps_of(describing(1000, 20))
    assert steps_of(describing(1000, 80)) < 4.5 * usual
    assert steps_of(describing(4000, 20)) < 1.3 * usual
    assert peak_of(describing(5000, 80)) < 5000 * 80 * 8 * 6


@pytest.mark.parametrize("text", PLANTED)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_a_frame_have_the_rule_of_a_frame_of_these_rows(text, weighted):
    rng = np.random.default_rng(5)
    inside = PLANTED[text].to_numpy() ^ (rng.random(3000) < 0.05)
    rows = rng.permutation(3000)[:2000]
    weights = rng.lognormal(size=2000) if weighted else None
    arguments = {"displays": KINDS, "sample_weight": weights, "max_rows": 900}
    taken = describe_rule(inside[rows], PEOPLE.iloc[rows], **arguments)[0]
    passed, covered = describe_rule(inside[rows], PEOPLE, rows=rows, **arguments)
    assert taken == passed
    np.testing.assert_array_equal(covered, taken.applies(PEOPLE.iloc[rows]))
    np.testing.assert_array_equal(covered, taken.applies(PEOPLE, rows))


@pytest.mark.parametrize("text", PLANTED)
def test_a_rule_covers_the_same_rows_in_blocks(text, monkeypatch):
    rule = describe_rule(PLANTED[text].to_numpy(), PEOPLE, displays=KINDS)[0]
    whole, some = rule.applies(PEOPLE), rule.applies(PEOPLE, np.arange(2500, 100, -1))
    monkeypatch.setattr(cells, "_BLOCK", 70)
    np.testing.assert_array_equal(rule.applies(PEOPLE), whole)
    np.testing.assert_array_equal(rule.applies(PEOPLE, np.arange(2500, 100, -1)), some)
    np.testing.assert_array_equal(some, whole[2500:100:-1])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("displays", [KINDS, None])
def test_infinite_numbers_are_refused_whatever_describes_them(value, displays):
    """As in an audit, by the column: they have no mean, and no interval ends there."""
    display, inside = PEOPLE.copy(), np.arange(len(PEOPLE)) % 3 == 0
    display.loc[5, "score"] = value
    described = ProfiledSubgroup(
        s=np.where(inside, 1, -1), membership=inside, group="f", reference=None
    )
    for describe in (
        lambda: describe_rule(inside, display, displays=displays),
        lambda: describe_held_out(inside, display, np.arange(len(inside)) % 5, displays=displays),
        lambda: profile_subgroups(display, [described], displays=displays),
    ):
        with pytest.raises(InputError, match=r"^display: column 'score' has 1 infinite value"):
            describe()
