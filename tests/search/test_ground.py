"""What the searches of one comparison share, whichever side is asked about."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.search.ground import orientation, rarer


def test_rarer_side_is_plus_one_however_labels_are_called():
    s = np.array([1, 1, 1, 0, -1])
    assert orientation(s) == -1
    assert orientation(-s) == 1


def test_a_tie_goes_to_the_first_row_compared():
    """So both labelings of the same rows are turned to the same orientation."""
    s = np.array([0, -1, 1, 1, -1])
    assert orientation(s) == -1
    assert orientation(-s) == 1
    np.testing.assert_array_equal(orientation(s) * s, orientation(-s) * -s)


@pytest.mark.parametrize(
    ("positive", "turned"),
    [([1, 0, 0], False), ([0, 1, 1], True), ([1, 0, 0, 1], False), ([0, 1, 1, 0], True)],
)
def test_models_are_fitted_to_the_rarer_outcome_or_that_of_the_first_row(positive, turned):
    positive = np.array(positive, dtype=bool)
    np.testing.assert_array_equal(rarer(positive), ~positive if turned else positive)
    np.testing.assert_array_equal(rarer(~positive), rarer(positive))
