"""Codes that come as numbers are found by what they tell; amounts are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.codes import warn_of_codes
from mdfa_fairness_plugin.data.columns import read_labels
from mdfa_fairness_plugin.data.encoding import FeatureEncoder
from mdfa_fairness_plugin.exceptions import FeatureWarning, WarningLog


@pytest.mark.parametrize(
    ("effect", "group_too", "warns"),
    [
        (lambda code, drawn: drawn[code], True, True),
        (lambda code, drawn: drawn[code], False, False),
        (lambda code, drawn: np.sin(code / 15) + (code > 90), True, False),
        (lambda code, drawn: 0 * code, True, False),
    ],
)
def test_numbers_are_codes_where_neighbours_have_nothing_in_common(effect, group_too, warns):
    """Two hundred values of ten rows each; a smooth or broken line of them is an amount."""
    rng = np.random.default_rng(1)
    code = rng.integers(200, size=2000)
    tells = effect(code, rng.normal(size=200))
    y = rng.random(2000) < 1 / (1 + np.exp(-tells))
    s = rng.random(2000) < 1 / (1 + np.exp(-tells * group_too))
    X = pd.DataFrame({"zip": 10_000 + 37 * code, "age": rng.integers(18, 80, 2000)})
    encoder, log = FeatureEncoder().fit(X), WarningLog()
    answers = [read_labels(own, "y") for own in (y, s)]
    if warns:
        with pytest.warns(FeatureWarning, match=r"equal numbers in 'zip' go with the outcome"):
            warn_of_codes(encoder.transform(X), encoder, answers[0], answers[1:], log)
    else:
        warn_of_codes(encoder.transform(X), encoder, answers[0], answers[1:], log)
    told = {"FeatureWarning", "NotHeldEqual"} if warns else set()
    assert {one.category for one in log.records} == told
