"""Results equal those frozen: numbers to 1e-9, pages to the byte.

After a deliberate change run ``python tests/golden/make.py`` and look at what it says has changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import make

# Networks take some seconds each.
CASES = [
    pytest.param(name, marks=[pytest.mark.slow] if case.needs == "torch" else [])
    for name, case in make.CASES.items()
]


@pytest.mark.repeats  # as users call it
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_frozen(name):
    reason = make.unlike_frozen(name)
    if reason:
        pytest.skip(reason)
    lines = make.run(name)
    assert not lines, "\n".join(lines[: make.MOST_LINES])


def test_every_frozen_file_is_of_a_case():
    known = {path.name.split(".")[0] for path in make.FROZEN.iterdir()}
    assert known == set(make.CASES)


@pytest.mark.parametrize(
    ("frozen", "now", "n_lines"),
    [
        ({"delta": 0.5}, {"delta": 0.5 + 1e-11}, 0),
        ({"delta": 0.5}, {"delta": 0.5 + 1e-6}, 1),
        ({"delta": float("nan")}, {"delta": float("nan")}, 0),
        ({"n": 1}, {"n": 1.0}, 1),
        ({"n": 1}, {"n": True}, 1),
        ({"rule": "x1 > 0"}, {"rule": "x1 > 1"}, 1),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, 1),
        ({"a": 1}, {"b": 1}, 2),
    ],
)
def test_what_counts_as_a_difference(frozen, now, n_lines):
    assert len(list(make.differences(frozen, now))) == n_lines


@pytest.mark.parametrize(
    ("now", "n_lines"),
    [
        ('<a x="0.12345678901234" /><b>1.50</b>\n', 0),
        ('<a x="0.12345678901299" /><b>1.50</b>\n', 0),
        ('<a x="0.12345778901234" /><b>1.50</b>\n', 6),
        ('<a x="0.12345678901234" /><b>1.51</b>\n', 6),
        ('<a x="0.12345678901234" /><b>1.50</b>', 1),
    ],
)
def test_pages_differ_by_a_byte(now, n_lines):
    frozen = '<a x="0.12345678901234" /><b>1.50</b>\n'
    assert len(make.page_differences("page", frozen, now)) == n_lines
