"""Who a card is about, and which search."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning
from mdfa_fairness_plugin.person.find import GROUP, OTHERS, UNKNOWN


def test_the_only_such_person_in_the_data_is_recognised(people, fitted):
    X, y, s = people(800)
    X["age"] += np.linspace(0, 0.5, len(X))  # nobody has the same
    auditor = fitted(X, y, s)
    card = auditor.explain_row(X.iloc[7], sensitive=s[7], outcome=y[7])
    by_row = auditor.explain_row(None, row=7)
    assert card.row == 7
    assert card.to_json() == by_row.to_json()


def test_people_in_levels_that_are_pooled_are_not_the_same_person(people, fitted):
    X, y, s = people(800)
    X["age"] = X["age"].gt(50) * 20.0
    X.loc[:79, "town"] = [f"village {i}" for i in range(80)]
    auditor = fitted(X, y, s)
    assert auditor.explain_row(X.iloc[7], sensitive=s[7], outcome=y[7]).row == 7
    unknown = X.iloc[7].replace("village 7", "elsewhere")
    assert auditor.explain_row(unknown, sensitive=s[7], outcome=y[7]).row is None
    with pytest.raises(InputError, match="differs from row 8"):
        auditor.explain_row(X.iloc[8].replace("village 8", "village 9"), row=8)


@pytest.mark.parametrize(
    ("sensitive", "outcome", "side"),
    [("f", "refused", GROUP), ("m", "granted", GROUP), (None, None, UNKNOWN)],
)
def test_the_search_is_the_one_for_the_persons_group_and_outcome(auditor, sensitive, outcome, side):
    card = auditor.explain_row([30, "A"], sensitive=sensitive, outcome=outcome)
    assert card.side == side
    if sensitive in ("f", "m"):
        assert (card.violation.group, card.violation.outcome) == (sensitive, outcome)
    if sensitive is None:
        assert card.violation is auditor.result_.worst_case


@pytest.mark.parametrize(
    "x",
    [
        pd.Series({"age": 30.0, "town": "A"}),
        pd.Series({"town": "A", "other": "?", "age": 30}),
        {"age": 30, "town": "A"},
        {"age": [30], "town": ["A"]},
        pd.DataFrame({"age": [30.0], "town": ["A"]}),
        [30, "A"],
        (30, "A"),
        np.array([30, "A"], dtype=object),
        np.array([[30, "A"]], dtype=object),
    ],
)
def test_a_person_may_be_given_in_many_ways(auditor, x):
    expected = auditor.explain_row({"age": 30.0, "town": "A"}).to_dict()
    assert auditor.explain_row(x).to_dict() == expected


def test_missing_and_unseen_values_are_taken(auditor):
    for value in (None, np.nan, pd.NA):
        card = auditor.explain_row({"age": value, "town": "Z"})
        assert card.features[0] == ("age", "(missing)")
        assert card.inside is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": None}, "x: None was given"),
        ({"x": 3}, "x: one person's features expected"),
        ({"x": "age"}, "x: one person's features expected"),
        ({"x": [1, "A", 3]}, "x: 3 values were given, but 2 features"),
        ({"x": pd.DataFrame({"age": [1, 2], "town": ["A", "B"]})}, "x: 2 rows were given"),
        ({"x": {"age": [1, 2], "town": "A"}}, "x: 2 values were given for 'age'"),
        ({"x": {"age": 1}}, "X: 1 column"),
        ({"x": [1, "A"], "outcome": "maybe"}, "outcome: 'maybe' is not among those audited"),
        ({"x": [1, "A"], "sensitive": {"race": "b"}}, "sensitive: 'race' was not audited"),
        ({"x": [1, "A"], "n_comparators": 0}, "n_comparators: a whole number of at least 1"),
        ({"x": [1, "A"], "min_cell": -1}, "min_cell: a whole number of at least 0"),
        ({"x": None, "row": 3000}, "row: 3000 was given, but the audited data end at row 2999"),
        ({"x": None, "row": -1}, "row: a whole number of at least 0"),
        ({"x": [17, "B"], "row": 0}, "x: it differs from row 0"),
    ],
)
def test_what_cannot_be_explained_is_said(auditor, arguments, message):
    x = arguments.pop("x")
    with pytest.raises(InputError, match=re.escape(message)):
        auditor.explain_row(x, **arguments)


def test_several_sensitive_columns_need_a_mapping(people, fitted):
    X, y, s = people(700)
    rng = np.random.default_rng(1)
    two = pd.DataFrame({"sex": s, "race": rng.choice(["f", "b"], len(s))})
    auditor = fitted(X, y, two, intersections=True, n_splits=2, outcomes=["refused"])
    with pytest.raises(InputError, match=r"sensitive: which of .* is 'f'\? Pass a mapping"):
        auditor.explain_row([25, "A"], sensitive="f")
    assert auditor.explain_row([25, "A"], sensitive="m").violation.sensitive_feature == "sex"
    card = auditor.explain_row([25, "A"], sensitive={"sex": "f", "race": "b"}, outcome="refused")
    assert card.side == GROUP
    assert card.violation.group in ("f", "b", ("f", "b"))
    assert card.violation.outcome == "refused"


def test_a_reference_group_is_named(people, fitted):
    X, y, s = people(800)
    auditor = fitted(X, y, s, reference_group="m")
    card = auditor.explain_row([25, "A"], sensitive="m", outcome="refused")
    assert card.side == OTHERS
    assert card.others_name == "sex = m"


def test_repeated_rows_are_one_person(people):
    X, y, s = people(800)
    weight = np.where(np.arange(800) % 3 == 0, 2, 1)
    weight[5] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MDFAWarning)
        auditor = mdfa.MDFAuditor(random_state=0).fit(
            X, y, sensitive_features=s, sample_weight=weight
        )
    card = auditor.explain_row(None, row=3)
    assert card.inside == card.violation.membership[3]
    with pytest.raises(InputError, match="row 5 has no weight"):
        auditor.explain_row(None, row=5)
    assert auditor.explain_row(X.iloc[5], row=5).row == 5


def test_nothing_compared_is_an_error_that_says_so(data, fitted):
    X, y, s = data
    s = s.where(np.arange(len(s)) >= 5, "x")
    auditor = fitted(X, y, s, groups=["x"])
    with pytest.raises(InputError, match="no group could be compared"):
        auditor.explain_row([25, "A"])


@pytest.mark.parametrize(
    "sensitive",
    [
        "f",
        ["f"],
        np.array(["f"]),
        {"sex": "f"},
        {"sex": ["f"]},
        {"sex": np.array(["f"])},
        pd.Series(["f"], index=[17]),
        pd.Series(["f"], index=["sex"]),
        pd.DataFrame({"sex": ["f"]}),
    ],
    ids=repr,
)
def test_one_value_is_that_value_in_any_container(auditor, sensitive):
    card = auditor.explain_row([25, "A"], sensitive=sensitive, outcome="refused")
    assert (card.side, card.violation.group) == (GROUP, "f")


@pytest.mark.parametrize(
    "sensitive", [None, np.nan, pd.NA, [None], {"sex": None}, {"sex": [np.nan]}, {}], ids=repr
)
def test_a_missing_value_is_unknown_and_not_one_of_the_others(auditor, sensitive):
    card = auditor.explain_row([25, "A"], sensitive=sensitive, outcome="refused")
    assert card.side == UNKNOWN


@pytest.mark.parametrize("sensitive", ["martian", ["martian"], {"sex": "martian"}, 1, ("f", "m")])
def test_a_label_never_seen_is_refused(auditor, sensitive):
    with pytest.raises(InputError, match=r"sensitive: .* was given, but the labels of 'sex' are"):
        auditor.explain_row([25, "A"], sensitive=sensitive)


@pytest.mark.parametrize("sensitive", [["f", "m"], {"sex": ["f", "m"]}, np.array([]), {"sex": []}])
def test_several_values_are_refused(auditor, sensitive):
    with pytest.raises(InputError, match=r"sensitive.*: [02] values were given"):
        auditor.explain_row([25, "A"], sensitive=sensitive)


def test_labels_that_were_not_audited_are_known_all_the_same(people, fitted):
    X, y, s = people(900, labels=("f", "m", "x"))
    auditor = fitted(X, y, s, groups=["f"], n_splits=2)
    assert auditor.explain_row([25, "A"], sensitive="x").side == OTHERS
    with pytest.raises(InputError, match="labels of 'sex' are 'f', 'm', 'x'"):
        auditor.explain_row([25, "A"], sensitive="martian")


def test_with_several_columns_a_label_of_none_is_told_apart_from_one_of_two(people, fitted):
    X, y, s = people(700)
    two = pd.DataFrame({"sex": s, "race": np.where(np.arange(len(s)) % 3 == 0, "a", "b")})
    auditor = fitted(X, y, two, n_splits=2, outcomes=["refused"])
    with pytest.raises(InputError, match=r"'martian' was given; the labels audited are 'sex': 'f'"):
        auditor.explain_row([25, "A"], sensitive="martian")
    with pytest.raises(InputError, match="labels of 'race' are 'a', 'b'"):
        auditor.explain_row([25, "A"], sensitive={"sex": "f", "race": "f"})
    assert auditor.explain_row([25, "A"], sensitive=np.nan).side == UNKNOWN


def test_missing_values_that_are_a_group_of_their_own_are_found(people, fitted):
    X, y, s = people(900)
    s = s.where(np.arange(900) % 3 != 0)
    auditor = fitted(X, y, s, missing="category", n_splits=2)
    card = auditor.explain_row([25, "A"], sensitive=np.nan, outcome="refused")
    assert (card.side, card.violation.group) == (GROUP, "(missing)")
    assert auditor.explain_row([25, "A"], outcome="refused").side == UNKNOWN


def test_a_row_and_what_contradicts_it_are_refused(data, auditor):
    _, y, s = data
    other_sex = "m" if s[3] == "f" else "f"
    other_outcome = "granted" if y[3] == "refused" else "refused"
    with pytest.raises(InputError, match=rf"sensitive: '{other_sex}' was given, but row 3 .* has"):
        auditor.explain_row(None, row=3, sensitive=other_sex)
    with pytest.raises(
        InputError, match=rf"outcome: '{other_outcome}' was given, but row 3 .* has"
    ):
        auditor.explain_row(None, row=3, outcome=other_outcome)
    same = auditor.explain_row(None, row=3, sensitive=s[3], outcome=y[3])
    assert same.to_dict() == auditor.explain_row(None, row=3).to_dict()
    assert auditor.explain_row(None, row=3, sensitive=np.nan).side == same.side
