"""Names and numbers in words."""

from __future__ import annotations

import datetime as dt
import enum
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.describe.wording import (
    clean,
    count,
    label_text,
    number,
    percent,
    plain_float,
    plain_label,
    rounded,
)


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "hostile",
    [
        "a\x1b[31mb",
        "a\nb",
        "a\r\nb",
        "a\x00b",
        "a\u202eb",
        "a\u2028b",
        "a\x9bb",
        "a\ud800b",
        "\x7f",
    ],
)
def test_control_characters_are_neutralised(hostile):
    """Neither a terminal nor a page may be steered by a column name."""
    shown = clean(hostile)
    assert shown.isprintable()
    assert "\x1b" not in shown
    shown.encode("utf-8")


def test_long_names_keep_both_ends():
    shown = clean("beginning" + "x" * 500 + "end", 40)
    assert len(shown) == 40
    assert shown.startswith("beginning")
    assert shown.endswith("end")


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("Black", "Black"),
        ("Zoë Ωmega", "Zoë Ωmega"),
        (1, "1"),
        (np.int64(1), "1"),
        (1.0, "1"),
        (np.True_, "True"),
        (None, "(missing)"),
        (np.nan, "(missing)"),
        (pd.NA, "(missing)"),
        (pd.NaT, "(missing)"),
        (("F", 1), "F & 1"),
        ("", "''"),
        (" >50K", "' >50K'"),
        (pd.Timestamp("2020-01-31"), "2020-01-31"),
        (np.datetime64("2020-01-31"), "2020-01-31"),
        (dt.date(2020, 1, 31), "2020-01-31"),
        (pd.Interval(18, 25), "(18, 25]"),
        (Decimal("0.10"), "0.10"),
        (b"abc", "abc"),
    ],
)
def test_labels_of_any_type_are_readable(label, shown):
    assert label_text(label) == shown


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        (np.int8(-1), -1),
        (np.bool_(False), False),
        (np.str_("x"), "x"),
        (np.float32(0.5), 0.5),
        (float("inf"), "inf"),
        (np.nan, None),
        ((1, "a", np.int64(2)), [1, "a", 2]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (pd.Timestamp("2020-01-31 12:00"), "2020-01-31T12:00:00"),
        (pd.Timedelta(days=1), "1 days 00:00:00"),
        (Colour.RED, "Colour.RED"),
        ("a\ud800", "a?"),
    ],
)
def test_labels_of_any_type_survive_as_json(label, plain):
    assert plain_label(label) == plain
    assert type(plain_label(label)) is type(plain)
    assert json.loads(json.dumps(plain_label(label), allow_nan=False)) == plain


def test_floats_that_json_lacks():
    assert plain_float(None) is None
    assert plain_float(np.nan) is None
    assert plain_float(np.inf) == "inf"
    assert plain_float(-np.inf) == "-inf"
    assert plain_float(np.float64(0.1)) == 0.1


@pytest.mark.parametrize("value", [0.1, 25.0, -3.0, 1e-7, 123456.789, 2004.0, 1e20])
def test_number_loses_nothing(value):
    """A rule prints the very cut point it uses."""
    assert float(number(value).replace(",", "")) == value


def test_readable_forms():
    assert number(50_000.0) == "50,000"
    assert number(2004.0) == "2004"
    assert rounded(0.0) == "0"
    assert rounded(-12.345) == "-12.3"
    assert rounded(float("nan")) == "unknown"
    assert count(0, "row") == "0 rows"
    assert percent(0.0) == "0 %"
    assert percent(1.0) == "100 %"
    assert percent(0.99999) == "over 99.9 %"
    assert percent(float("nan")) == "an unknown share"
