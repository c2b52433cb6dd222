"""Blocks of rows are measured as rows in memory are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.exceptions import OverlapWarning

dd = pytest.importorskip("dask.dataframe")


@pytest.mark.parametrize(("common", "left"), [(0.5, 0.5), (0.2, 0.7)])
def test_rows_without_comparable_rows_are_left_out_wherever_they_are(common, left):
    """Beyond a quantile of x everybody is of group p: they are left out, seen by a model or not.

    Below it half, or a fifth, are of p, which makes it the more frequent group or the rarer.
    """
    rng = np.random.default_rng(1)
    n = 3000
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(size=n),
            "group": np.where((x > np.quantile(x, left)) | (rng.random(n) < common), "p", "q"),
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
        assert v.population.n_rows == pytest.approx(left * 2000, rel=0.1)
