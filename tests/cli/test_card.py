"""``mdfa card``: a card for one row of a file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "weight": 1,
        }
    )
    refused = rng.random(n) < np.where((frame.age < 40) & (frame.sex == "f"), 0.8, 0.3)
    frame["approved"] = np.where(refused, "no", "yes")
    path = tmp_path_factory.mktemp("card") / "loans.csv"
    frame.to_csv(path, index=False)
    return path


def arguments(path, *more):
    return ("card", path, "--outcome", "approved", "--sensitive", "sex", *more)


def test_card_is_printed_and_written(loans, tmp_path, mdfa):
    page, numbers = tmp_path / "card.html", tmp_path / "card.json"
    result = mdfa(*arguments(loans, "--row", 3, "--html", page, "--json", numbers))
    assert result.exit_code == 0
    assert result.stdout.startswith("WHERE THIS PERSON STANDS")
    assert "Row 3 of the audited data" in " ".join(result.stdout.split())
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    told = json.loads(numbers.read_text(encoding="utf-8"))
    frame = pd.read_csv(loans)
    assert told["row"] == 3
    assert told["received"] == frame.approved[3]
    assert told["features"]["age"] == str(frame.age[3])
    assert f"written: {page}" in result.stderr


def test_json_takes_the_place_of_the_text_and_options_reach_the_audit(loans, mdfa):
    more = ("--row", 3, "--json", "-", "--weight", "weight", "--outcome-label", "no")
    result = mdfa(*arguments(loans, *more, "--show-records", "--comparators", 4))
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["search"]["outcome"] == "no"
    assert "weight" not in told["features"]
    assert [side["n"] for side in told["nearest"]] == [4, 4]
    assert len(told["nearest"][0]["records"]["values"]) == 4


def test_records_are_printed_only_on_request(loans, mdfa):
    plain = mdfa(*arguments(loans, "--row", 3)).stdout
    asked = mdfa(*arguments(loans, "--row", 3, "--show-records")).stdout
    assert "The nearest of sex" not in plain
    assert "The nearest of sex" in asked


def test_the_smallest_count_shown_can_be_chosen(loans, mdfa):
    hidden = mdfa(*arguments(loans, "--row", 3, "--min-cell", 300)).stdout
    shown = mdfa(*arguments(loans, "--row", 3, "--min-cell", 1)).stdout
    assert "are withheld: they would tell of fewer than 300 rows" in " ".join(hidden.split())
    assert "not shown" not in shown


def test_quiet_prints_nothing(loans, mdfa):
    result = mdfa(*arguments(loans, "--row", 3, "--quiet"))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--row", 400), "--row: 400 was given, but the last row of loans.csv is 399"),
        (("--row", -1), "--row"),
        ((), "--row"),
        (("--row", 3, "--html", "no/such/folder/card.html"), "--html: the folder"),
        (("--row", 3, "--drop", "age,weight"), "no column is left"),
    ],
)
def test_wrong_use_is_one_message_and_status_two(loans, mdfa, more, message):
    result = mdfa(*arguments(loans, *more))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_the_input_is_not_overwritten(loans, mdfa):
    result = mdfa(*arguments(loans, "--row", 3, "--json", loans))
    assert result.exit_code == 2
    assert "is the input" in result.stderr
