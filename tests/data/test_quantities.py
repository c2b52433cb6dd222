"""Columns of text that hold quantities, in tables of any kind."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.exceptions import InputError, ParsedTextWarning

FAST = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}


def german(values):
    return [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in values]


@pytest.fixture(scope="module")
def incomes():
    """Income alone decides, and women earn less: at equal income nobody is treated worse."""
    rng = np.random.default_rng(0)
    sex = pd.Series(rng.choice(["f", "m"], 600), name="sex")
    income = (rng.lognormal(7.5, 0.5, 600) * np.where(sex == "f", 0.7, 1)).round(2)
    paid = rng.random(600) < 1 / (1 + np.exp(-(np.log(income) - 7.3) * 3))
    X = pd.DataFrame({"income": income, "age": rng.integers(18, 75, 600)})
    return X, pd.Series(np.where(paid, "yes", "no")), sex


@pytest.fixture(scope="module")
def expected(incomes):
    X, y, sex = incomes
    return mdfa.audit(X, y, sensitive_features=sex, **FAST)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict])
def test_an_audit_of_text_is_that_of_the_numbers(incomes, expected, frame):
    """Equal people are found equal however their income is written, and a warning says so."""
    X, y, sex = incomes
    text = {"income": german(X["income"]), "age": X["age"].tolist()}
    with pytest.warns(ParsedTextWarning, match=r"'income' \(numbers, '.*' is .*\)") as caught:
        result = mdfa.audit(frame(text), y, sensitive_features=sex, **FAST)
    assert str(caught[0].message) in [warning.message for warning in result.warnings]
    assert str(caught[0].message).split(":")[0] in " ".join(result.summary().split())
    pd.testing.assert_frame_equal(result.to_frame(), expected.to_frame())
    assert result.provenance["input_hash"] == expected.provenance["input_hash"]


def test_what_is_unclear_is_refused_and_the_helper_settles_it(incomes):
    _, y, sex = incomes
    X = pd.DataFrame({"income": [f"{i % 9 + 1}.{i % 900 + 100}" for i in range(len(y))]})
    with pytest.raises(InputError, match="X: column 'income' holds numbers as text"):
        mdfa.audit(X, y, sensitive_features=sex, **FAST)
    assert mdfa.to_quantities(X, decimal=",")["income"].tolist()[:2] == [1100, 2101]
    assert mdfa.to_quantities(X, decimal=".")["income"].tolist()[:2] == [1.1, 2.101]


def test_the_helper_keeps_what_is_no_text():
    X = pd.DataFrame(
        {
            "income": ["1,5", None, "k. A.", *(f"{i},5" for i in range(40))],
            "code": pd.Categorical(["1", "2", "3"] + ["4"] * 40),
            "day": pd.Timestamp("2020-01-01"),
            "at": ["08:15"] * 43,
        },
        index=range(5, 48),
    )
    with pytest.warns(ParsedTextWarning, match=r"Read as missing: 'k. A.' of 'income' \(1 rows\)"):
        read = mdfa.to_quantities(X)
    assert read.index.equals(X.index)
    assert read["income"].iloc[0] == 1.5
    assert read["income"].isna().sum() == 2
    assert read["at"].iloc[0] == datetime.time(8, 15)
    pd.testing.assert_frame_equal(read[["code", "day"]], X[["code", "day"]])
    assert mdfa.to_quantities(X, columns="at")["income"].equals(X["income"])
    with pytest.raises(InputError, match="columns: 'age' not found"):
        mdfa.to_quantities(X, columns=["age"])


def test_new_rows_are_read_as_those_fitted_to(incomes):
    X, _, _ = incomes
    text = X.assign(income=german(X["income"]))
    with pytest.warns(ParsedTextWarning):
        encoder = FeatureEncoder().fit(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(encoder.transform(text), encoder.transform(X))
        one = pd.DataFrame({"age": [30], "income": ["1.234"]})
        assert encoder.transform(one).tolist() == [[1234, 30]]
        unknown = one.assign(income="unknown")
        assert encoder.transform(unknown)[0, 0] == np.median(X["income"])
    assert encoder.unseen(unknown) == {"income": 1}


def test_declared_labels_are_not_read():
    X = pd.DataFrame({"grade": pd.Categorical(["1", "2", "3", "4"] * 20), "a": range(80)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FeatureEncoder().fit(X).displays_[0].kind == "categorical"
        assert FeatureEncoder().fit(pl.DataFrame(X)).displays_[0].kind == "categorical"


DAYS = pd.to_timedelta(np.arange(1, 61), unit="D")
UNITS = [
    (pd.to_timedelta(np.arange(1, 61) * 10, unit="D"), "days", 600.0),
    ([datetime.timedelta(days=int(d)) for d in range(1, 61)], "days", 60.0),
    (pd.to_timedelta(np.arange(1, 61), unit="h"), "hours", 60.0),
    (pd.to_timedelta(np.arange(1, 61), unit="s"), "seconds", 60.0),
    (pl.Series([datetime.timedelta(minutes=m) for m in range(1, 61)]), "minutes", 60.0),
    (pd.Series(DAYS).astype("duration[ms][pyarrow]"), "days", 60.0),
    ([f"{d} days" for d in range(1, 61)], "days", 60.0),
    ([datetime.time(h, m) for h in range(20) for m in (0, 15, 30)], "time", 19.5),
    (pl.Series([datetime.time(h, m) for h in range(20) for m in (0, 15, 30)]), "time", 19.5),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::mdfa_fairness_plugin.exceptions.ParsedTextWarning")
@pytest.mark.parametrize(("values", "kind", "last"), UNITS)
def test_durations_and_times_are_shown_in_a_unit(values, kind, last):
    encoder = FeatureEncoder().fit({"x": values})
    assert encoder.displays_[0].kind == kind
    assert encoder.display_frame({"x": values})["x"].iloc[-1] == last
