"""A card for one person."""

from __future__ import annotations

import html.parser
import json
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning
from mdfa_fairness_plugin.person.card import GROUP, OTHERS, UNKNOWN

HOSTILE = '<script>alert("x")</script>\x1b[31m\n\u202eevil & "co" \'s' + "y" * 300


def people(n=3000, seed=0, names=("age", "town"), labels=("f", "m"), column="sex"):
    """Women below 40 in town A are refused twice as often as men there; elsewhere all alike."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    town = rng.choice(["A", "B"], n)
    sex = rng.choice(labels, n)
    bad = (age < 40) & (town == "A") & (sex == labels[0])
    refused = rng.random(n) < np.where(bad, 0.75, 0.3)
    X = pd.DataFrame({names[0]: age.astype(float), names[1]: town})
    y = pd.Series(np.where(refused, "refused", "granted"), name="decision")
    return X, y, pd.Series(sex, name=column)


def fitted(X, y, s, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MDFAWarning)
        return mdfa.MDFAuditor(random_state=0, **options).fit(X, y, sensitive_features=s)


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def auditor(data):
    return fitted(*data)


def flat(text):
    return re.sub(r"\s+", " ", text)


def test_a_person_where_the_violation_was_planted_is_inside_and_knows_how_others_fared(auditor):
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
    assert "This is a violation, more than chance explains" in text
    assert str(card) == card.summary()


def test_a_person_far_from_it_is_outside(auditor):
    card = auditor.explain_row({"age": 70, "town": "B"}, sensitive="f", outcome="refused")
    assert card.inside is False
    assert card.meets_rule is False
    assert "IS THIS PERSON IN THE SUBGROUP? No." in flat(card.summary())
    # The violation is told all the same, as that of a place they are not in.
    assert (card.violation.group, card.violation.outcome) == ("f", "refused")
    assert card.violation.verdict == "violation"


def test_new_people_are_judged_as_predict_does(auditor):
    X = people(20, seed=9)[0] + pd.Series({"age": 0.25, "town": ""})
    cards = [auditor.explain_row(X.iloc[i]) for i in range(20)]
    np.testing.assert_array_equal([card.inside for card in cards], auditor.predict(X))
    np.testing.assert_allclose([card.score for card in cards], auditor.decision_function(X))
    assert all(card.row is None for card in cards)


def test_an_audited_person_is_judged_by_the_model_that_had_not_seen_them(data, auditor):
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


def test_the_only_such_person_in_the_data_is_recognised():
    X, y, s = people(800)
    X["age"] += np.linspace(0, 0.5, len(X))  # nobody has the same
    auditor = fitted(X, y, s)
    card = auditor.explain_row(X.iloc[7], sensitive=s[7], outcome=y[7])
    by_row = auditor.explain_row(None, row=7)
    assert card.row == 7
    assert card.to_json() == by_row.to_json()


def test_nobody_is_their_own_comparator():
    X, y, s = people(800)
    X["age"] += np.linspace(0, 0.5, len(X))
    auditor = fitted(X, y, s)
    for row in range(10):
        card = auditor.explain_row(None, row=row, show_records=True)
        for side in card.nearest:
            assert (side.records["distance"] > 0).all()


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


def test_small_counts_of_others_are_not_shown_and_records_only_on_request(auditor):
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
    assert "Counts of the nearest people are not shown: some of them are below 2000." in text
    assert "Counts in the subgroup are not shown" in text
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


def test_nobody_near_enough_is_said():
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


def test_people_the_audit_left_out_are_told_so():
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


def test_searches_without_a_finding_keep_no_model_but_still_answer(auditor):
    none = next(v for v in auditor.result_.violations if v.verdict != "violation")
    card = auditor.explain_row([33.5, "A"], sensitive=none.group, outcome=none.outcome)
    assert card.violation is none
    assert card.inside is None
    assert card.n_models == 0
    assert "Not known: this search found no violation" in flat(card.summary())


def test_several_sensitive_columns_need_a_mapping():
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


def test_a_reference_group_is_named():
    X, y, s = people(800)
    auditor = fitted(X, y, s, reference_group="m")
    card = auditor.explain_row([25, "A"], sensitive="m", outcome="refused")
    assert card.side == OTHERS
    assert card.others_name == "sex = m"


def test_repeated_rows_are_one_person():
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


@pytest.mark.parametrize("solver", ["level_set", "iterative"])
def test_every_solver_has_cards(solver):
    X, y, s = people(600)
    auditor = fitted(X, y, s, solver=solver, learner="tree", n_splits=3)
    card = auditor.explain_row([25, "A"])
    assert card.inside == auditor.predict(pd.DataFrame({"age": [25.0], "town": ["A"]}))[0]
    assert card.n_models == 3


def test_nothing_compared_is_an_error_that_says_so(data):
    X, y, s = data
    s = s.where(np.arange(len(s)) >= 5, "x")
    auditor = fitted(X, y, s, groups=["x"])
    with pytest.raises(InputError, match="no group could be compared"):
        auditor.explain_row([25, "A"])


def test_cards_survive_pickling_and_cloning(data, auditor):
    copy = pickle.loads(pickle.dumps(auditor))
    before = auditor.explain_row(None, row=3)
    assert copy.explain_row(None, row=3).to_json() == before.to_json()
    assert pickle.loads(pickle.dumps(before)).to_html() == before.to_html()
    # Rows and scores weigh little beside the models that were kept anyway.
    audited = auditor._audited
    kept = len(pickle.dumps((audited.X, audited.display, audited.y, audited.source_row)))
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


class _Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text, self.attributes = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text.append(data)


def parsed(text):
    page = _Page()
    page.feed(text)
    return page


def test_page_is_self_contained_and_says_what_the_text_says(auditor, tmp_path):
    card = auditor.explain_row([25, "A"], sensitive="f", outcome="refused")
    path = tmp_path / "card.html"
    text = card.to_html(path)
    assert path.read_text(encoding="utf-8") == text
    assert text == card.to_html()
    page = parsed(text)
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not any(name in ("src", "href") or name.startswith("on") for name, _ in page.attributes)
    assert "url(" not in text
    assert "@import" not in text
    assert ("lang", "en") in page.attributes
    assert "prefers-color-scheme: dark" in text
    assert page.tags.count("h1") == 1
    shown = flat(" ".join(page.text))
    for paragraph in ("All 5 models of the audit put this person inside.", "How certain this is"):
        assert paragraph in shown


def test_hostile_names_show_as_text():
    X, y, s = people(900, names=(HOSTILE, "town"), labels=(HOSTILE, "<b>m</b>"), column=HOSTILE)
    y = y.replace({"refused": HOSTILE, "granted": "</td><script>"})
    auditor = fitted(X, y, s)
    card = auditor.explain_row(X.iloc[3], sensitive=s[3], outcome=y[3], show_records=True)
    text = card.summary()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(line.isprintable() for line in text.splitlines())
    assert max(map(len, text.splitlines())) < 400
    page = parsed(card.to_html())
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert "<script>" in "".join(page.text)
    json.loads(card.to_json())


# -- the person's sensitive value, however it is written


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


def test_labels_that_were_not_audited_are_known_all_the_same():
    X, y, s = people(900, labels=("f", "m", "x"))
    auditor = fitted(X, y, s, groups=["f"], n_splits=2)
    assert auditor.explain_row([25, "A"], sensitive="x").side == OTHERS
    with pytest.raises(InputError, match="labels of 'sex' are 'f', 'm', 'x'"):
        auditor.explain_row([25, "A"], sensitive="martian")


def test_with_several_columns_a_label_of_none_is_told_apart_from_one_of_two():
    X, y, s = people(700)
    two = pd.DataFrame({"sex": s, "race": np.where(np.arange(len(s)) % 3 == 0, "a", "b")})
    auditor = fitted(X, y, two, n_splits=2, outcomes=["refused"])
    with pytest.raises(InputError, match=r"'martian' was given; the labels audited are 'sex': 'f'"):
        auditor.explain_row([25, "A"], sensitive="martian")
    with pytest.raises(InputError, match="labels of 'race' are 'a', 'b'"):
        auditor.explain_row([25, "A"], sensitive={"sex": "f", "race": "f"})
    assert auditor.explain_row([25, "A"], sensitive=np.nan).side == UNKNOWN


def test_missing_values_that_are_a_group_of_their_own_are_found():
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
