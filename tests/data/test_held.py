"""What people are compared at equal values of, and what of it is only held in part."""

from __future__ import annotations

import html
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa

FAST = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}


@pytest.fixture(scope="module")
def auditor():
    """Columns of every kind that cannot be held equal, and some that can."""
    rng = np.random.default_rng(0)
    n = 800
    sex = pd.Series(rng.choice(["f", "m"], n), name="sex")
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 75, n),
            "town": rng.choice(["A", "B", "C"], n),
            "branch": np.where(np.arange(n) < 80, [f"b{i}" for i in range(n)], "main"),
            "job": np.where(np.arange(n) < 4, "judge", "clerk"),
            "kind": np.where(np.arange(n) < 3, "odd", rng.choice(["x", "y"], n)),
            "income": [
                "k. A." if i < 40 else "weigert" if i < 45 else f"{i}, {i % 9}".replace(" ", "")
                for i in range(n)
            ],
            "person": [f"id{i}" for i in range(n)],
            "title": np.where(sex == "f", "Ms", "Mr"),
            "planet": "Earth",
        }
    )
    y = pd.Series(rng.choice(["no", "yes"], n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mdfa.MDFAuditor(**FAST).fit(X, y, sensitive_features=sex)


@pytest.fixture(scope="module")
def result(auditor):
    return auditor.result_


def plain(text):
    """Text without marks and line breaks."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>|\\", "", text)))


SAID = (
    "'branch': 80 of 81 levels count as one (10 % of rows)",
    "'kind': rare levels count as ",
    "'income': texts that are no quantity are missing (5.6 % of rows)",
    "left out in all rows: 'title' (repeats the sensitive feature 'sex')",
    "'job' (constant but for a few rows), 'person' (all levels rare)",
)


@pytest.mark.parametrize(
    "told",
    [
        lambda result: result.summary(),
        lambda result: result.to_html(min_cell=1),
        lambda result: result.to_model_card(min_cell=1),
    ],
)
def test_what_is_not_held_equal_is_said_next_to_what_is(result, told):
    text = plain(told(result))
    line = text[text.index("At equal values of:") :]
    beside = line.index("Not held equal, or only in part:")
    assert beside < 90
    line = line[beside : line.index("Earth") if "Earth" in line else beside + 700]
    for words in SAID:
        assert words in line
    assert not any(name in line for name in ("'age'", "'town'", "'planet'"))
    assert "NotHeldEqual" not in text


def test_small_counts_are_withheld_there_too(result):
    text = plain(result.to_html(min_cell=100))
    assert "'branch': a withheld number of levels count as one (a withheld number of rows)" in text


def test_a_card_says_it_too(auditor):
    card = auditor.explain_row(None, row=3, min_cell=1)
    for told in (card.summary(), card.to_html(), str(card.to_dict()["not_held_equal"])):
        assert "Not held equal, or only in part:" in plain(told)
        assert "80 of 81 levels count as one (10 % of rows)" in plain(told)
    withheld = auditor.explain_row(None, row=3, min_cell=100).summary()
    assert "'branch': a withheld number of levels count as one" in plain(withheld)


def test_it_is_in_the_json(result):
    notes = [one for one in result.to_dict()["warnings"] if one["category"] == "NotHeldEqual"]
    assert len(notes) == 4


def test_nothing_is_said_where_all_is_held_equal():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 75, 300), "town": rng.choice(["A", "B"], 300)})
    sex, y = rng.choice(["f", "m"], (2, 300))
    assert "Not held equal" not in mdfa.audit(X, y, sensitive_features=sex, **FAST).summary()
