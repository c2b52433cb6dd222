"""What a repair says that it changed, against tables counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.repairs.classifier import _make_encoder
from mdfa_fairness_plugin.repairs.report import (
    describe_columns,
    largest_gap,
    make_report,
    mean_gap,
)

SIDES = np.repeat([0, 1], [4, 4])


def test_gaps_counted_by_hand():
    """Up to 2: three of four against one of four. Means 1.75 and 3."""
    column = np.array([1.0, 2, 2, 2, 2, 3, 3, 4])
    column[3] = 2.0
    assert largest_gap(column, SIDES) == pytest.approx(0.75)
    assert mean_gap(column, SIDES) == pytest.approx(3 - 1.75)
    assert largest_gap(column[::-1], SIDES) == pytest.approx(0.75)


def test_columns_are_told_with_all_their_encoded_ones():
    """Half of the people are given the other job; pay, which tells the group, is left as it is."""
    n = 200
    sides = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "x0": np.where(sides == 1, "trade", "care"),
            "x1": sides * 10.0 + np.arange(n) % 7,
            "x2": np.arange(n) // 2 % 5,
        }
    )
    encoder = _make_encoder(frame).fit(frame)
    after = frame.assign(x0=np.where(np.arange(n) < n // 2, "trade", "care"))
    tables = tuple(encoder.transform(one) for one in (frame, after))
    found = {
        row["column"]: row for row in describe_columns(encoder, tables, sides, 1.0, largest_gap)
    }
    assert found["x0"]["treatment"] == "repaired"
    assert found["x0"]["share_moved"] == 0.5
    assert (found["x0"]["gap_before"], found["x0"]["gap_after"]) == (1.0, 0.0)
    assert np.isnan(found["x0"]["mean_shift"])
    assert found["x1"]["treatment"] == "still tells"
    assert found["x1"]["mean_shift"] == 0
    assert found["x2"]["treatment"] == "alike already"
    names = {"x0": "job", "x1": "pay", "x2": "age", "x3": "sex"}
    report = make_report(
        "M", [{"column": "x3", "treatment": "left out"}, *found.values()], [], names
    )
    assert report.columns["column"].tolist() == ["job", "pay", "age", "sex"]
    assert report.summary().splitlines() == [
        "M",
        "  'job': repaired, 50 % of its cells moved; the groups differ by up to 1.000 before and "
        "0.000 after.",
        "  'pay': still tells, 0 % of its cells moved; the groups differ by up to 1.000 before and "
        "1.000 after.",
        "  'age': alike already, 0 % of its cells moved; the groups differ by up to 0.000 before and "
        "0.000 after.",
        "  'sex': left out.",
    ]


def test_quantities_have_their_columns_whatever_they_hold():
    empty = make_report("M", [], [], {})
    full = make_report("M", [], [("weight", "f", 1, 0.5), ("bound", None, None, 2)], {})
    assert list(empty.quantities) == list(full.quantities)
    assert empty.quantities.dtypes.equals(full.quantities.dtypes)
    assert full.summary() == "M\n  weight of 'f', 1: 0.5\n  bound: 2"
