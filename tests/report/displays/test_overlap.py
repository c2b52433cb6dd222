"""Bins of the propensity, none of them small."""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.report.displays.overlap import joined


def test_bins_are_joined_until_none_is_small():
    edges = np.linspace(0, 1, 6)
    parts = np.array([[5, 3, 20, 0, 1], [0, 12, 30, 40, 2]])
    ends, counts = joined(edges, parts, 10)
    assert counts.sum(axis=1).tolist() == parts.sum(axis=1).tolist()
    assert not ((counts > 0) & (counts < 10)).any()
    assert (ends[0], ends[-1]) == (0, 1)
