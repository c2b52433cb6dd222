"""Numbers, dates, times and durations that are written as text."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.written import (
    Marks,
    Unclear,
    Writing,
    find_writing,
    refusal,
    unread,
)
from mdfa_fairness_plugin.exceptions import InputError

NUMBERS = [1234.5, 0.25, 87.0, 1_234_567.0, 12.0, -3_400.75]


def found(texts, **said):
    """What a column of texts is read as, and its labels."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    labels = read_labels(array, "x")
    marks = Marks.checked(*(said.get(name) for name in ("decimal", "thousands", "date_format")))
    return find_writing(labels, marks), labels


def read(texts, **said):
    """Quantities of a column of texts that is clear."""
    writing, labels = found(texts, **said)
    assert isinstance(writing, Writing)
    return writing.array(labels, writing.read(labels))


def english(value):
    return f"{value:,.2f}"


def german(value):
    return english(value).translate(str.maketrans(",.", ".,"))


@pytest.mark.parametrize(
    "write",
    [
        str,
        english,
        german,
        lambda v: f"{v:.2f}",
        lambda v: f"{v:.2f}".replace(".", ","),
        lambda v: english(v).replace(",", " "),
        lambda v: english(v).replace(",", "\u202f").replace(".", ","),
        lambda v: english(v).replace(",", "’"),
        lambda v: f"$ {english(v)}",
        lambda v: f"{german(v)} €",
        lambda v: f"{german(v)}\u00a0EUR",
        lambda v: f"{v:.2f} %",
        lambda v: english(v).replace("-", "−"),
        lambda v: f"({english(-v)})" if v < 0 else english(v),
        lambda v: f"  {v!r} ",
        lambda v: f"{v:e}",
    ],
)
def test_numbers_written_in_any_clear_way(write):
    assert read([write(v) for v in NUMBERS]).tolist() == pytest.approx(NUMBERS, rel=1e-6)


@pytest.mark.parametrize(
    ("texts", "said", "numbers"),
    [
        (["1.234", "950"], {"decimal": "."}, [1.234, 950]),
        (["1.234", "950"], {"decimal": ","}, [1234, 950]),
        (["1,234", "12,000"], {"thousands": ","}, [1234, 12000]),
        (["1,234", "12,000"], {"decimal": ","}, [1.234, 12]),
        (["12.5", "1.234"], {"decimal": ","}, [12.5, 1.234]),  # it cannot be a decimal comma
        (["1,23,456", "2,345"], {}, [123456, 2345]),  # as in India
    ],
)
def test_what_is_said_settles_it(texts, said, numbers):
    assert read(texts, **said).tolist() == numbers


@pytest.mark.parametrize(
    ("texts", "meanings"),
    [
        (["1.234", "950"], "'1.234' is 1.234 or 1234"),
        (["1,234", "12,000", "7"], "'12,000' is 12 or 12000"),
        (["03/04/2005", "05/06/2007"], "'05/06/2007' is 2007-05-06 or 2007-06-05"),
        (["25/06/07", "26/06/07"], "is 1907-06-26 or 2007-06-26"),
        (["Dec-15", "Jan-16"], "is 1916-01-01 or 2016-01-01"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked_about(texts, meanings):
    unclear, _ = found(texts * 20)
    assert isinstance(unclear, Unclear)
    message = str(refusal("X: column 'x'", unclear))
    assert meanings in message
    assert "to_quantities(X, ...)" in message
    assert "astype('category')" in message


def test_one_text_decides_only_where_no_other_reading_reaches_nearly_all():
    """A thousand numbers of three decimals and one of two: a slip, or what settles it."""
    numbers = [f"{i}.{j:03d}" for i in range(1, 21) for j in range(100, 150)]
    assert isinstance(found([*numbers, "1.5"])[0], Unclear)
    assert isinstance(found([*numbers, *(f"{i}.5" for i in range(400))])[0], Writing)


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["2005-04-03", "2005/04/03", "2005.4.3", "2005-04-03T12:00"], ["2005-04-03"] * 4),
        (["03.04.2005", "5. 6. 2007"], ["2005-04-03", "2007-06-05"]),
        (["03/04/2005", "25/06/2007"], ["2005-04-03", "2007-06-25"]),
        (["03/04/2005", "06/25/2007"], ["2005-03-04", "2007-06-25"]),
        (
            ["3 Mar 2005", "March 4, 2005", "05-Mar-2005"],
            ["2005-03-03", "2005-03-04", "2005-03-05"],
        ),
        (["2005-04", "06/2007", "Dec-2015"], ["2005-04-01", "2007-06-01", "2015-12-01"]),
        (["2005-04-03T01:00+02:00", "2005-04-03T23:00:00Z"], ["2005-04-02", "2005-04-03"]),
    ],
)
def test_dates_and_months(texts, dates):
    values = read(texts)
    assert values.dtype == "M8[us]"
    assert values.astype("M8[D]").astype(str).tolist() == dates


def test_a_format_that_is_said_goes_first():
    values = read(["03/04/05", "05/06/07"], date_format="%d/%m/%y")
    assert values.astype("M8[D]").astype(str).tolist() == ["2005-04-03", "2007-06-05"]
    assert read(["2005-04-03", "2007-06-05"], date_format="%d/%m/%y").dtype == "M8[us]"


def test_times_of_day_and_durations():
    assert read(["08:15", "8:15:30 pm", "00:00"]).tolist() == [
        datetime.time(8, 15),
        datetime.time(20, 15, 30),
        datetime.time(0),
    ]
    values = read(["390 days", "1 days 12:00:00", "-1 days +12:00:00", "P1DT12H", "PT30M"])
    days = values / np.timedelta64(1, "D")
    assert days.tolist() == pytest.approx([390, 1.5, -0.5, 1.5, 1 / 48])


@pytest.mark.parametrize(
    "texts",
    [
        ["02139", "10001"],  # postal codes
        ["A12", "B13"],
        ["1.2.3", "1.2.4"],
        ["192.168.1.1", "10.0.0.1"],
        ["20-30", "30-40"],
        ["12345678901234567890", "12345678901234567891"],  # beyond what a double tells apart
        ["25:00", "26:00"],
        ["2005-13-01", "2005-14-01"],
        ["yes", "no"],
        ["€ 5.50", "$ 7.50"],
        ["3", "4", "many"],  # each text can be a level
        [1, "1"],
        ["P", "T"],
    ],
)
def test_labels_stay_labels(texts):
    assert found(texts * 20)[0] is None


def test_the_most_frequent_other_text_and_a_few_are_missing():
    numbers = [f"{i},5" for i in range(1000)]
    texts = [*numbers, *["k. A."] * 600, *["?"] * 9]
    writing, labels = found(texts)
    values = writing.array(labels, writing.read(labels))
    assert values[:1000].tolist() == [i + 0.5 for i in range(1000)]
    assert np.isnan(values[1000:]).all()
    assert unread(labels, writing.read(labels)) == {"k. A.": 600, "?": 9}


def test_too_many_other_texts_are_refused():
    texts = [*(f"{i},5" for i in range(1000)), *["k. A."] * 600, *["weigert sich"] * 100]
    unclear, _ = found(texts)
    message = str(refusal("X: column 'x'", unclear))
    assert "700 of its 1,700 values are none, 'k. A.' for instance" in message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ((";", None, None), "decimal: '.' or ','"),
        ((None, "x", None), "thousands: one of"),
        ((",", ",", None), "thousands: ',' is the decimal mark too"),
        ((None, None, "dmy"), "date_format: 'dmy' has no parts"),
    ],
)
def test_marks_that_mean_nothing_are_refused(said, message):
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        Marks.checked(*said)


def test_new_texts_are_read_as_the_column_was():
    writing, _ = found(["1.234,5", "2,5"])
    assert writing.value("1.234") == 1234
    assert writing.value("7") == 7
    assert math.isnan(writing.value("unknown"))
