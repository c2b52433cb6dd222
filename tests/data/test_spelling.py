"""Labels that differ in spelling alone: warned of, and merged to what clean columns give."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.data.spelling import (
    asked_as,
    commonest_spellings,
    told_apart_by,
)
from mdfa_fairness_plugin.exceptions import InputError, MissingSensitiveWarning, SpellingWarning

N_ROWS = 240
WORDS = {
    "capital letters": str.upper,
    "blanks at the ends": lambda text: f"\u00a0{text} ",
    "a dot at the end": lambda text: text + ".",
}


def respelled(values, change, share=3):
    """Every third value in another spelling."""
    return pd.Series(
        [change(v) if i % share == 0 else v for i, v in enumerate(values)], name=values.name
    )


@pytest.fixture
def clean(sample):
    X, y, sex = sample()
    X["town"] = X["town"].str.lower()
    return X, pd.Series(np.where(y == 1, "grant", "deny"), name="y"), sex


@pytest.mark.parametrize("what", WORDS)
@pytest.mark.parametrize("where", ["X", "y", "sensitive_features"])
def test_twins_are_warned_of_by_name_and_merged_to_the_clean_columns(where, what, clean):
    X, y, sex = clean
    given = {"X": X, "y": y, "sensitive_features": sex}
    given[where] = (
        X.assign(town=respelled(X.town, WORDS[what]))
        if where == "X"
        else respelled(given[where], WORDS[what])
    )
    two = {"outcomes": ["deny"]}
    with pytest.warns(SpellingWarning, match=f"{where}: .*{what}.*merge_spellings=True") as caught:
        apart = build_problem(**given, **two)
    first = {"X": "a", "y": "deny", "sensitive_features": "f"}[where]
    told = str(next(one for one in caught if one.category is SpellingWarning).message)
    assert repr(first) in told
    assert repr(WORDS[what](first)) in told
    assert [one.category for one in apart.warnings].count("SpellingWarning") == 1
    merged, expected = build_problem(**given, **two, merge_spellings=True), build_problem(X, y, sex)
    np.testing.assert_array_equal(merged.X, expected.X)
    np.testing.assert_array_equal(merged.y, expected.y)
    assert merged.outcome_labels == expected.outcome_labels
    assert merged.feature_names == expected.feature_names
    for one, other in zip(merged.contrasts, expected.contrasts, strict=True):
        assert one.group == other.group
        np.testing.assert_array_equal(one.s, other.s)
    assert merged.input_hash == expected.input_hash
    assert any(one.category == "MergedSpellings" for one in merged.warnings)


def test_unicode_forms_are_one_word_everywhere_and_said(clean):
    X, y, sex = clean
    nfc, nfd = "f\u00e9minin", unicodedata.normalize("NFD", "f\u00e9minin")
    one = sex.map({"f": nfc, "m": "masculin"})
    both = one.where(np.arange(N_ROWS) % 2 == 0, sex.map({"f": nfd, "m": "masculin"}))
    column = unicodedata.normalize("NFD", "pr\u00e9nom")
    with pytest.warns(SpellingWarning, match="two Unicode forms"):
        problem = build_problem(X.rename(columns={"town": column}), y, both, groups=[nfd])
    expected = build_problem(X, y, one, groups=nfc)
    assert [c.group for c in problem.contrasts] == [nfc]
    np.testing.assert_array_equal(problem.contrasts[0].s, expected.contrasts[0].s)
    assert problem.display.columns.tolist() == ["age", "pr\u00e9nom"]


def test_a_dot_at_the_end_is_named_where_outcomes_are_too_many(clean):
    X, y, sex = clean
    adult = y.map({"grant": ">50K", "deny": "<=50K"})
    test_file = np.arange(N_ROWS) % 3 == 0
    with pytest.raises(
        InputError, match=r"a dot at the end: '<=50K' and '<=50K\.'.*merge_spellings"
    ):
        build_problem(X, adult.where(~test_file, adult + "."), sex)


def test_new_rows_and_choices_follow_the_merged_spelling(clean):
    X, y, sex = clean
    problem = build_problem(
        X,
        respelled(y, str.upper),
        respelled(sex, str.upper),
        outcomes="Deny.",
        groups=("F",),
        merge_spellings=True,
    )
    assert problem.outcomes == ("deny",)
    assert [c.group for c in problem.contrasts] == ["f"]
    new = X.assign(town=" A")
    assert problem.encoder.unseen(new) == {}
    np.testing.assert_array_equal(
        problem.encoder.transform(new), problem.encoder.transform(X.assign(town="a"))
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["A", "B", 1, None, ""], ("", "")),
        (["No", "no.", "yes"], ("a dot at the end and capital letters", "'No' and 'no.'")),
        (["A ", "a"], ("blanks at the ends and capital letters", "'A ' and 'a'")),
        ([".", "", ".."], ("", "")),
        (["1", 1, "1."], ("a dot at the end", "'1' and '1.'")),
    ],
)
def test_what_spellings_differ_in(values, told):
    assert told_apart_by(values) == told


def test_the_commonest_spelling_is_kept_the_first_of_equals():
    assert commonest_spellings(["F", "f", "f "], [1, 5, 3]) == {"F": "f", "f ": "f"}
    assert commonest_spellings(["F", "f", "f."], [2, 2, 9]) == {"f": "F", "f.": "F"}
    assert asked_as({"sex": ["F", ("m", 1)]}, ["f", "M"]) == {"sex": ["f", ("M", 1)]}


def test_rows_without_an_outcome_are_left_out_and_counted(clean):
    X, y, sex = clean
    absent = np.arange(N_ROWS) % 8 == 0
    weight = np.where(np.arange(N_ROWS) % 16 == 0, 0.0, np.arange(N_ROWS) % 5 + 1.0)
    with pytest.raises(
        InputError, match=r"y: 30 of 240 outcomes are missing\. Pass missing_outcome"
    ):
        build_problem(X, y.mask(absent), sex)
    problem = build_problem(X, y.mask(absent), sex, missing_outcome="exclude", sample_weight=weight)
    assert problem.excluded == {"zero weight": 15, "missing outcome": 15}
    assert problem.n_samples == N_ROWS
    expected = build_problem(X[~absent], y[~absent], sex[~absent], sample_weight=weight[~absent])
    np.testing.assert_array_equal(problem.X, expected.X)
    np.testing.assert_array_equal(problem.y, expected.y)
    np.testing.assert_allclose(problem.sample_weight, expected.sample_weight, rtol=1e-14)
    np.testing.assert_array_equal(problem.source_row, np.flatnonzero(~absent)[expected.source_row])


def test_nobody_with_an_outcome_is_refused(clean):
    X, y, sex = clean
    with pytest.raises(InputError, match="240 of 240 outcomes are missing"):
        build_problem(X, y.mask(y == y), sex, missing_outcome="exclude")


def test_counted_rows_without_an_outcome_are_counted_once(clean):
    X, y, sex = clean
    with pytest.warns(MissingSensitiveWarning, match="1 row"):
        problem = build_problem(
            X,
            y.mask(y.index < 3),
            sex.mask(sex.index == 5),
            missing_outcome="exclude",
            sample_weight=np.full(N_ROWS, 2),
            weight_type="frequency",
        )
    assert problem.excluded == {"missing outcome": 3, "missing sensitive value (sex)": 1}
    assert problem.n_rows == 2 * (N_ROWS - 3)
