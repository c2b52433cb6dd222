"""How numbers and verdicts are said."""

from __future__ import annotations

import math

from mdfa_fairness_plugin.report.sentences import p_text, ratio_text


def test_ratio_and_p_never_round_to_something_else():
    assert ratio_text(1.004) == "1.004"
    assert ratio_text(1.0) == "1.00"
    assert ratio_text(0.0) == "0.00"
    assert ratio_text(0.96) == "0.96"
    assert p_text(0.0) == "p < 0.001"
    assert p_text(1.0) == "p = 1"
    assert p_text(math.nan) == "p unknown"
