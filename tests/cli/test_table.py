"""Codes that look like numbers."""

from __future__ import annotations

import pandas as pd

from mdfa_fairness_plugin.cli.options import Request
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
