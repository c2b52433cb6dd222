"""Blocks of rows are measured as rows in memory are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.exceptions import OverlapWarning

dd = pytest.importorskip("dask.dataframe")


def test_rows_without_comparable_rows_are_left_out_wherever_they_are():
    """Beyond x = 0 everybody is of one group: that half is left out, seen by a model or not."""
    rng = np.random.default_rng(1)
    n = 3000
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(size=n),
            "group": np.where((x > 0) | (rng.random(n) < 0.5), "p", "q"),
            "denied": np.where(rng.random(n) < 0.4, "yes", "no"),
        }
    )
    with pytest.warns(OverlapWarning, match="no comparable row"):
        result = audit_dask(
            dd.from_pandas(frame, npartitions=2),
            outcome="denied",
            sensitive=["group"],
            learner="tree",
            n_splits=2,
            max_learning_rows=1000,
            random_state=0,
        )
    for v in result.violations:
        assert v.population.n_rows == pytest.approx(0.5 * 2000, rel=0.1)
