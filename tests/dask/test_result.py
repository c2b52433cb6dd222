"""What the result of rows elsewhere can say without holding them."""

from __future__ import annotations

import json

import jsonschema
import pandas as pd
import pytest

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.report.schema import AUDIT_SCHEMA, load_schema

dd = pytest.importorskip("dask.dataframe")


def test_the_result_can_be_reported(n_learned, result):
    text = result.summary()
    assert "learned from, not measured" in text
    assert "<html" in result.to_html()
    figures = json.loads(result.to_json())
    assert figures["provenance"]["n_learned_rows"] == n_learned
    jsonschema.validate(figures, load_schema(AUDIT_SCHEMA))
    assert result.to_model_card()
    assert result.to_junit()
    assert list(result.to_frame()["n_rows"]) == [v.n_rows for v in result.violations]


def test_rows_are_mapped_onto_the_subgroup(frame, result):
    """By the frame it came from, by a partition, and by the auditor, to the same people."""
    ddf = dd.from_pandas(frame, npartitions=3, sort=False)
    inside = result.membership(ddf).compute(scheduler="synchronous")
    assert inside.dtype == bool
    assert 0 < inside.mean() < 1
    pd.testing.assert_series_equal(inside, result.membership(frame))
    predicted = result.auditor.predict(frame[["x1", "x2", "town"]])
    left_out = sum(n for why, n in result.excluded.items() if "no comparable" in why)
    assert (predicted != inside).sum() <= left_out
    assert result.auditor.result_ is result
    other = next(v for v in result.violations if v is not result.worst_case)
    assert (result.membership(frame, violation=other) != inside).any()


def test_what_needs_rows_says_that_there_are_none(result):
    with pytest.raises(InputError, match=r"membership\(ddf\)"):
        result.as_control_feature()
    with pytest.raises(InputError, match="does not hold its data"):
        result.null_distribution()
    with pytest.raises(InputError, match="keeps no rows"):
        result.auditor.explain_row([0.0, 0.0, "A"])
