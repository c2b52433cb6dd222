"""Codes that look like numbers, and numbers that look like codes."""

from __future__ import annotations

import pandas as pd
import pytest

from mdfa_fairness_plugin.cli.questions import restricted
from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.cli.table import read_table


def test_leading_zeros_are_kept_as_text(tmp_path):
    """Postal codes are labels; counts, also with gaps, and decimals stay numbers."""
    path = tmp_path / "codes.csv"
    path.write_text("zip,count,share,flag\n02139,3,0.5,0\n10001,,0.25,1\n,12,00.5,0\n")
    frame = read_table(Request(file=path)).frame
    assert frame["zip"].tolist()[:2] == ["02139", "10001"]
    assert pd.isna(frame["zip"].iloc[2])
    assert pd.api.types.is_numeric_dtype(frame["count"])
    assert pd.api.types.is_numeric_dtype(frame["share"])
    assert frame["flag"].tolist() == [0, 1, 0]


ROLES = ("--outcome", "y", "--sensitive", "sex")


def written(tmp_path, values, separator=","):
    """A file with a column x of these texts."""
    lines = [
        f"{value}{separator}{'ab'[i % 2]}{separator}{i % 3 % 2}" for i, value in enumerate(values)
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([separator.join(("x", "sex", "y")), *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("values", "options", "read"),
    [
        (["1.234", "950", "2.500"], ["--decimal", "."], [1.234, 950, 2.5]),
        (["1.234", "950", "2.500"], ["--decimal", ","], [1234, 950, 2500]),
        (["1.234", "950", "2.500"], ["--thousands", "."], [1234, 950, 2500]),
        (["1,5", "2,25", "3"], ["--decimal", ","], [1.5, 2.25, 3]),
        (["0.125", "0.250", "1.500"], [], [0.125, 0.25, 1.5]),  # no thousands begin with 0
        (["03/04/2005", "05/06/2007"], ["--date-format", "%d/%m/%Y"], ["2005-04-03", "2007-06-05"]),
        (["03/04/2005", "05/06/2007"], ["--date-format", "%m/%d/%Y"], ["2005-03-04", "2007-05-06"]),
    ],
)
def test_quantities_are_read_as_the_options_say(values, options, read, tmp_path, mdfa, fake_audit):
    path = written(tmp_path, values * 10, ";")
    assert mdfa("audit", path, *ROLES, "--separator", ";", *options).exit_code == 0
    found = fake_audit.call["X"]["x"]
    expected = pd.to_datetime(pd.Series(read)) if isinstance(read[0], str) else pd.Series(read)
    assert (found.iloc[: len(read)] == expected).all()


def test_any_blanks_may_separate_cells(tmp_path, mdfa, fake_audit):
    path = written(tmp_path, [7, 8] * 10, "  ")
    assert mdfa("audit", path, *ROLES, "--separator", r"\s+").exit_code == 0
    assert fake_audit.call["X"]["x"].tolist() == [7, 8] * 10


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (
            ["1.234", "950", "2.500"],
            ["column 'x'", "2.5 or 2500", "--decimal '.' or --decimal ','"],
        ),
        (["03/04/2005", "05/06/2007"], ["2007-05-06 or 2007-06-05", "--date-format '%d/%m/%Y'"]),
        (
            [*(f"{i}.5" for i in range(60)), *["?"] * 40, *["k. A."] * 40],
            ["800 of its 1,400 values", "--na-values", "--categorical"],
        ),
    ],
)
def test_what_is_unclear_is_asked_about_by_its_option(values, parts, tmp_path, mdfa):
    result = mdfa("audit", written(tmp_path, values * 10), *ROLES)
    assert result.exit_code == 2
    assert all(part in result.stderr for part in parts), result.stderr
    assert not any(word in result.stderr for word in ("to_quantities", "astype", "None"))


def test_codes_can_be_called_labels(tmp_path, mdfa, fake_audit):
    path = written(tmp_path, ["1.234", "1.235", "2.000"] * 10)
    assert mdfa("audit", path, *ROLES, "--categorical", "x").exit_code == 0
    assert fake_audit.call["X"]["x"].cat.categories.tolist() == ["1.234", "1.235", "2.000"]


def test_texts_that_are_no_quantity_are_named(tmp_path, mdfa, fake_audit):
    path = written(tmp_path, [*(f"{i}.5" for i in range(60)), *["unknown"] * 30])
    result = mdfa("audit", path, *ROLES, "--decimal", ".")
    assert "Read as missing: 'unknown' of 'x' (30 rows)" in result.stderr
    assert fake_audit.call["X"]["x"].isna().sum() == 30


def test_numbers_that_differ_in_every_row_are_no_row_names(tmp_path, mdfa, fake_audit):
    result = mdfa(
        "audit", written(tmp_path, [f"{i},5" for i in range(60)], ";"), *ROLES, "--separator", ";"
    )
    assert "another value in every row" not in result.stderr


def test_rows_are_chosen_by_text_as_by_numbers(tmp_path):
    path = written(tmp_path, ["1.234", "950", "2.500"] * 10)
    request = Request(file=path, decimal=",", where="x >= 1234", quiet=True)
    assert len(restricted(read_table(request), request).frame) == 20


@pytest.fixture
def ages(tmp_path):
    """A file with an age from 18 to 59 in each row."""
    path = tmp_path / "ages.csv"
    rows = [f"{i % 42 + 18},{'ab'[i % 2]},{i % 3 % 2},{i % 7}" for i in range(420)]
    path.write_text("\n".join(["age,sex,y,x", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("bins", "groups"),
    [
        ("age=25,45", ["25 to 44", "45 or more", "under 25"]),
        ("age=q2", ["39 or more", "under 39"]),
    ],
)
def test_groups_of_numbers_are_made_as_asked(bins, groups, ages, mdfa, fake_audit):
    asked = ["--outcome", "y", "--sensitive", "age,sex", "--reference", groups[0]]
    result = mdfa("audit", ages, *asked[:4], "--bins", bins)
    assert result.exit_code == 0
    assert sorted(fake_audit.call["sensitive_features"]["age"].unique()) == groups
    fake_audit.calls.clear()
    assert (
        mdfa("audit", ages, *asked[:2], "--sensitive", "age", *asked[4:], "--bins", bins).exit_code
        == 0
    )
    assert fake_audit.call["reference_group"] == groups[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], ["--bins age=28,39,49 or --bins age=q4", "--categorical"]),
        (["--bins", "age=old"], ["--bins: 'age=old' was given", "age=q4"]),
        (["--bins", "age=25,18"], ["--bins: ascending numbers"]),
        (["--bins", "sex=q2"], ["'sex' is not among the columns of --sensitive"]),
        (["--bins", "edad=q2"], ["no column 'edad'"]),
    ],
)
def test_ages_are_asked_to_be_grouped(options, said, ages, mdfa):
    result = mdfa("audit", ages, "--outcome", "y", "--sensitive", "age", *options)
    assert result.exit_code == 2
    assert all(words in result.stderr for words in said), result.stderr
    assert "to_groups" not in result.stderr
