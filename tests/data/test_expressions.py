"""Conditions on rows: what they mean, and that nothing but them is read."""

from __future__ import annotations

import datetime
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdfa_fairness_plugin.data.containers import read_table
from mdfa_fairness_plugin.data.expressions import MOST_CHARACTERS, parse
from mdfa_fairness_plugin.data.questions import columns_of
from mdfa_fairness_plugin.exceptions import InputError

DATES = ["2020-01-01", "2021-06-30", "NaT", "2022-03-01T12", "2023", "2024"]
PEOPLE = pd.DataFrame(
    {
        "age": [17.0, 18.0, 24.0, 25.0, np.nan, 60.0],
        "priors": [0, 3, 5, 2, 4, 0],
        "capital gain": [0, 1, 2, 3, 4, 5],
        "capital-gain": [5, 4, 3, 2, 1, 0],
        "city": ["Oslo", "Bergen", None, "Oslo", "O'Hare", "Bergen"],
        "size": pd.Categorical(list("smlsml"), categories=["s", "m", "l"], ordered=True),
        "employed": [True, False, True, False, True, True],
        "since": np.array(DATES, "M8[ns]"),
        "zip": ["01", "10", "02", "1", "03", "x"],
        "not": [1, 2, 3, 4, 5, 6],
        "__class__": [1, 1, 1, 0, 0, 0],
    }
)  # fmt: skip


def inside(text, frame=PEOPLE):
    return parse(text).told(columns_of(read_table(frame, "X"))).holds.astype(int).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("age < 25", [1, 1, 1, 0, 0, 0]),
        ("age >= 25", [0, 0, 0, 1, 0, 1]),
        ("not age < 25", [0, 0, 0, 1, 0, 1]),
        ("25 > age", [1, 1, 1, 0, 0, 0]),
        ("18 <= age < 25", [0, 1, 1, 0, 0, 0]),
        ("age is missing", [0, 0, 0, 0, 1, 0]),
        ("age is not missing", [1, 1, 1, 1, 0, 1]),
        ("age < 25 and priors >= 3", [0, 1, 1, 0, 0, 0]),
        ("age < 25 or priors >= 3", [1, 1, 1, 0, 1, 0]),
        ("age < 25 & priors >= 3 | city == 'Oslo'", [1, 1, 1, 1, 0, 0]),
        ("age < 25 AND (priors == 0 OR priors = 5)", [1, 0, 1, 0, 0, 0]),
        ("priors in (0, 5)", [1, 0, 1, 0, 0, 1]),
        ("priors not in [0,5]", [0, 1, 0, 1, 1, 0]),
        ("`capital gain` > 2", [0, 0, 0, 1, 1, 1]),
        ("capital-gain > 2", [1, 1, 1, 0, 0, 0]),
        ("capital-gain < `capital gain`", [0, 0, 0, 1, 1, 1]),
        ('city == "Oslo"', [1, 0, 0, 1, 0, 0]),
        ("city != 'Oslo'", [0, 1, 0, 0, 1, 1]),
        ('city == "O\'Hare"', [0, 0, 0, 0, 1, 0]),
        ("city in ('Oslo', 'Bergen')", [1, 1, 0, 1, 0, 1]),
        ("city is missing", [0, 0, 1, 0, 0, 0]),
        ("size <= 'm'", [1, 1, 0, 1, 1, 0]),
        ("employed", [1, 0, 1, 0, 1, 1]),
        ("not employed and age > 20", [0, 0, 0, 1, 0, 0]),
        ("employed == false", [0, 1, 0, 1, 0, 0]),
        ('since >= "2022-03-01"', [0, 0, 0, 1, 1, 1]),
        ('since < "2021-06"', [1, 0, 0, 0, 0, 0]),
        ("zip == '01'", [1, 0, 0, 0, 0, 0]),
        ("`not` > 3", [0, 0, 0, 1, 1, 1]),
        ("__class__ == 1", [1, 1, 1, 0, 0, 0]),
        ("age ≤ 18 or age ≠ age", [1, 1, 0, 0, 0, 0]),
        ("capital-gain<-5 or capital-gain > 4.5e0", [1, 0, 0, 0, 0, 0]),
    ],
)
def test_rows_are_those_the_words_say(text, rows):
    assert inside(text) == rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("agee < 25", r"no column 'agee'\. Did you mean 'age'"),
        ("age", "not one of true and false"),
        ("age < 'young'", "holds numbers, not 'young'"),
        ("age < 1,000", "nothing between thousands"),
        ("age < 1.000.000", "cannot be read"),
        ("city > 'Oslo'", "in no order"),
        ("city == 'Osla'", "Did you mean 'Oslo'"),
        ("city < 3", "holds text, not numbers"),
        ("since > '01/02/2020'", "holds dates"),
        ("since > 3", "holds dates"),
        ("since > '2020-13-45'", "holds dates"),
        ("city = 'Oslo", "second quotation mark"),
        ("(age < 25", "ends too early"),
        ("age < 25)", "cannot stand at character 9"),
        ("1 < 2", "names no column"),
        ("age < 25 and", "ends too early"),
        ("capital gain > 2", "cannot stand at character 9"),
        ("age is 25", "only 'missing'"),
        ("age in 25", "brackets"),
        ("age in (city)", "quotation marks"),
        ("age + 1 < 25", "cannot be read"),
        # What would be code.
        ("__import__('os').system('true')", "cannot be read|called"),
        ("age.__class__ == 1", "no column 'age.__class__'"),
        ("__builtins__", "no column '__builtins__'"),
        ("len(city) > 3", "'len' is called or indexed"),
        ("age(1)", "'age' is called or indexed"),
        ("city[0] == 'O'", "'city' is called or indexed"),
        ("age < 25; priors", "cannot be read"),
        ("lambda: 1", "cannot be read"),
        ("@age > 3", "cannot be read"),
        ("f'{age}' == 'x'", "cannot stand|no column"),
        ("age < 25 if employed", "cannot stand"),
        ("(" * 10_000, "10,000 characters"),
        ("age < 1 " + "or age < 1 " * 1_000, "characters"),
        ("(" * 200 + "age < 1" + ")" * 200, "nested more than 50 deep"),
        ("not " * 500 + "employed", "nested more than 50 deep"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_what_to_do(text, says):
    with pytest.raises(InputError, match=f"^where: .*({says})"):
        inside(text)


def test_refusals_are_short_however_long_the_expression():
    with pytest.raises(InputError) as refused:
        parse("x" * 10_000)
    assert len(str(refused.value)) < 500
    assert MOST_CHARACTERS < 10_000
    started = time.process_time()
    parse(" or ".join(["age < 25"] * 300))
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("score >= 7", "score < 7"),
        ("G3>=10", "G3 < 10"),
        ("a = 1", "a != 1"),
        ("`my <=score` < 3", "not (`my <=score` < 3)"),
        ("7 <= score", "not (7 <= score)"),
        ("a < 1 and b < 2", "not (a < 1 and b < 2)"),
        ("employed", "not (employed)"),
    ],
)
def test_the_opposite_in_words(text, opposite):
    assert parse(text).sides[1] == opposite
    parse(opposite)
    assert parse(parse(text).sides[0]).node == parse(text).node


def test_names_are_told():
    assert parse("a < 1 and not (b in (1, 2) or `c d` is missing) and a != e").names == (
        "a", "b", "c d", "e",
    )  # fmt: skip


# -- properties

NUMBERS = st.integers(-3, 3)
SIGNS = st.sampled_from(["<", "<=", "==", "!=", ">", ">="])


def leaves():
    compared = st.tuples(st.sampled_from(["a", "b"]), SIGNS, NUMBERS).map(
        lambda parts: (
            f"{parts[0]} {parts[1]} {parts[2]}",
            f"row['{parts[0]}'] {parts[1]} {parts[2]}",
        )
    )
    member = st.tuples(st.sampled_from(["a", "b"]), st.lists(NUMBERS, min_size=1, max_size=3)).map(
        lambda parts: (
            f"{parts[0]} in ({', '.join(map(str, parts[1]))})",
            f"row['{parts[0]}'] in {parts[1]}",
        )
    )
    return compared | member


def joined(parts):
    two = st.tuples(parts, st.sampled_from(["and", "or"]), parts).map(
        lambda own: tuple(f"({own[0][i]}) {own[1]} ({own[2][i]})" for i in range(2))
    )
    return two | parts.map(lambda own: (f"not ({own[0]})", f"not ({own[1]})"))


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(leaves(), joined, max_leaves=6), st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1)
)
def test_without_gaps_rows_are_pythons(pair, rows):
    """What Python makes of the same condition, row by row."""
    text, code = pair
    frame = pd.DataFrame(rows, columns=["a", "b"])
    wanted = [bool(eval(code, {}, {"row": row})) for row in frame.to_dict("records")]
    assert inside(text, frame) == [int(one) for one in wanted]


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(leaves(), joined, max_leaves=5), st.lists(st.booleans(), min_size=4, max_size=8)
)
def test_a_condition_and_its_opposite_share_no_row(pair, gaps):
    """And together they are all rows whose missing values do not decide."""
    frame = pd.DataFrame({"a": np.arange(len(gaps)) % 4 - 1.0, "b": 1.0})
    frame.loc[gaps, "a"] = np.nan
    told = parse(pair[0]).told(columns_of(read_table(frame, "X")))
    assert not (told.holds & told.fails).any()
    assert (told.holds | told.fails)[~np.array(gaps)].all()
    opposite = parse(parse(pair[0]).sides[1]).told(columns_of(read_table(frame, "X")))
    np.testing.assert_array_equal(opposite.holds, told.fails)


def assert_about_where(error):
    assert error.argument == "where"
    assert len(str(error)) < 600


@settings(max_examples=300, deadline=None)
@given(
    st.text("ab19.,()[]<>=!&|'\"`_ -", max_size=40)
    | st.text(max_size=60)
    | st.lists(st.sampled_from(["a", "b", "and", "(", ")", "not", "in", "<", "1", "'x'", ","])).map(
        " ".join
    )
)
def test_whatever_is_written_is_read_or_refused(text):
    """No other error, whatever the characters."""
    try:
        told = inside(text, pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    except InputError as error:
        assert_about_where(error)
        return
    assert len(told) == 2


def test_times_and_text_are_asked_about_as_quantities():
    frame = pd.DataFrame(
        {"at": [datetime.time(8), datetime.time(9, 30)], "income": ["1.234,50", "2,00"]}
    )
    assert inside('at <= "08:15"', frame) == [1, 0]
    assert inside("income > 1000", frame) == [1, 0]
    with pytest.raises(InputError, match='write one as "08:15"'):
        inside("at <= 8", frame)
