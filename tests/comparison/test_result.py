"""What a comparison gives back: tables of fixed form, and clear errors."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.comparison import (
    ComparisonResult,
    Difference,
    ModelSearch,
    RateRatio,
    Transfer,
)
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import SearchKey

SEARCH = SearchKey(sensitive_feature="sex", group="f", reference=None, outcome=1)
EMPTY = ComparisonResult(
    models=("A",), baseline="A", searches=(SEARCH,), rows=(ModelSearch(model="A", search=SEARCH),)
)


@pytest.mark.parametrize(
    ("rates", "ratio"),
    [((0.6, 0.3), 2.0), ((0.2, 0.0), math.inf), ((0.0, 0.0), math.nan), ((0.0, 0.4), 0.0)],
)
def test_ratio_of_rates(rates, ratio):
    assert RateRatio(rates=rates).ratio == pytest.approx(ratio, nan_ok=True)


def test_records_cannot_be_changed(compared):
    for record in (compared, compared.rows[0], compared.transfers[0], compared.differences[0]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.model = "other"


@pytest.mark.parametrize("table", ["to_frame", "transfer_frame", "difference_frame"])
def test_columns_and_types_do_not_depend_on_the_data(compared, table):
    full, empty = getattr(compared, table)(), getattr(EMPTY, table)()
    assert list(full.columns) == list(empty.columns)
    assert list(full.dtypes) == list(empty.dtypes)


def test_one_row_per_model_or_per_search(compared):
    assert compared.to_frame()["model"].tolist() == ["A", "B", "C"]
    every = compared.to_frame(every_search=True)
    assert len(every) == len(compared.searches) * 3 == 6
    assert set(every["outcome"]) == {0, 1}
    assert len(compared.transfer_frame()) == 2 * 3 * 3
    # Two models against one, five quantities in two searches, and the accuracy.
    assert len(compared.difference_frame()) == 2 * (5 * 2 + 1)


def test_frame_repeats_the_records(compared):
    frame = compared.to_frame().set_index("model")
    row = compared.worst("A")
    assert frame.loc["A", "ratio"] == row.ratio
    assert frame.loc["A", "ratio_low"] == row.ratio_interval[0]
    assert frame.loc["A", "selection_ratio"] == row.selection.ratio
    assert frame.loc["A", "ratio_split_mean"] == row.split_ratio_mean
    assert frame.loc["A", "outcome"] == row.search.outcome


def test_split_moments_are_those_of_the_kept_splits(compared):
    place = compared.searches.index(compared.worst("B").search)
    ratios = np.exp(compared.split_delta[:, place, 1, 1])
    row = compared.worst("B")
    assert row.split_ratio_mean == pytest.approx(ratios.mean())
    assert row.split_ratio_sd == pytest.approx(ratios.std(ddof=1))


def test_matrix_by_worst_case_and_by_search(compared):
    own = compared.transfer_matrix()
    assert list(own.index) == list(own.columns) == ["A", "B", "C"]
    for name in ("A", "B", "C"):
        row = compared.worst(name)
        assert own.loc[name, name] == pytest.approx(row.ratio)
        asked = compared.transfer_matrix(row.search)
        pd.testing.assert_series_equal(asked.loc[name], own.loc[name])


def test_worst_case_of_a_model_that_was_not_audited_is_its_first_search():
    assert EMPTY.worst("A").search == SEARCH
    assert math.isnan(EMPTY.worst("A").ratio)


def test_unknown_models_and_searches_are_named(compared):
    with pytest.raises(InputError, match="model: 'D' is not among those compared: 'A', 'B', 'C'"):
        compared.worst("D")
    with pytest.raises(InputError, match="model: 'D'"):
        compared.transfer("A", "D", SEARCH)
    with pytest.raises(InputError, match=r"search: .*'sex'.* was not made"):
        compared.row("A", SEARCH)
    with pytest.raises(InputError, match="was not made"):
        compared.transfer("A", "B", SEARCH)


def test_repr_is_short(compared):
    assert repr(compared).startswith("ComparisonResult(1600 rows; worst ratios 'A': 2.")
    assert Transfer(subgroup_of="A", model="B", search=SEARCH).rates != ()
    assert math.isnan(
        Difference(model="B", baseline="A", quantity="accuracy", search=None).difference
    )
