"""Ladders of models that were told what they missed, beside those of models that were not."""

import pytest

from mdfa_fairness_plugin.comparison.bench import _as_long

PLAIN = ("least", "better", "half", "best")
TOLD = (*PLAIN, "told half", "told")


@pytest.mark.parametrize(
    ("ladder", "n", "expected"),
    [
        (("given",), 4, ("given",) * 4),
        (PLAIN, 4, PLAIN),
        (PLAIN, 6, (*PLAIN, "half", "best")),
        (TOLD, 4, ("least", "better", "told half", "told")),
        (TOLD, 6, TOLD),
    ],
)
def test_every_rung_stands_beside_one_of_its_quality(ladder, n, expected):
    assert _as_long(ladder, n) == expected
