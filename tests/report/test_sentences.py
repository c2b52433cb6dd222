"""How numbers and verdicts are said."""

from __future__ import annotations

import math

from mdfa_fairness_plugin.report.figures import points, points_text, ratio_text
from mdfa_fairness_plugin.report.sentences import deviations, p_text


def test_ratio_and_p_never_round_to_something_else():
    assert ratio_text(1.004) == "1.004"
    assert ratio_text(1.0) == "1.00"
    assert ratio_text(0.0) == "0.00"
    assert ratio_text(0.96) == "0.96"
    assert p_text(0.0) == "p < 0.001"
    assert p_text(1.0) == "p = 1"
    assert p_text(math.nan) == "p unknown"


def test_points_and_deviations_are_short_and_never_rounded_to_nothing():
    assert [points(x) for x in (0.6134, 0.0841, -0.1249, 0.00321)] == ["61", "8.4", "-12", "0.32"]
    assert points(math.nan) == points_text(math.nan, (0.1, 0.2)) == ""
    assert points_text(-0.12, (-0.2, 0.0)) == "-12 percentage points (-20 to 0)"
    assert points_text(0.12, (math.nan, math.nan)) == "12 percentage points"
    told = [deviations(x) for x in (4.26, math.inf, 0.0, -math.inf, math.nan)]
    assert told == ["4.3", "over 38", "", "", ""]
