"""What is printed of counts that add up, on small tables worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.report.cells import Hidden, grid


@pytest.mark.parametrize("few", range(11))
def test_what_makes_up_for_a_count_of_a_few_is_told_roughly(few):
    """Of 95 rows less half of 11, and of all: it is the same whatever the count is."""
    inside = np.array([few, 95 - few])
    sides = np.array([inside, np.array([90, 300]) - inside])
    hidden = Hidden.of(sides, 11)
    assert hidden == Hidden(part=0, outcome=0, other=1)
    assert hidden.told(sides, 11) == ({0: None, 1: 90}, {})


def test_few_outside_are_protected_likewise():
    """They are what everybody have more than those inside."""
    sides = np.array([[86, 205], [4, 95]])
    hidden = Hidden.of(sides, 11)
    assert hidden == Hidden(part=1, outcome=0, other=1)
    assert hidden.told(sides, 11) == ({0: 90, 1: 210}, {})


def test_everybody_of_a_side_are_those_inside():
    sides = np.array([[4, 95], [0, 0]])
    told = {0: None, 1: 90}
    assert Hidden.of(sides, 11).told(sides, 11) == (told, told)


@pytest.mark.parametrize(
    "sides",
    [
        [[4, 8], [40, 60]],  # both are few
        [[4, 12], [40, 60]],  # ten of 16 would leave six
        [[4, 95], [14, 60]],  # ten of 18 would leave eight
        [[4, 95], [40, 5]],
        [[40, 60], [40, 60]],
    ],
)
def test_nothing_makes_up_for_it_where_others_may_be_few_as_well(sides):
    assert Hidden.of(np.array(sides), 11) is None


def test_what_counts_are_rounded_to_is_about_the_smallest_told():
    assert [grid(n) for n in (2, 3, 5, 11, 25, 30)] == [1, 2, 5, 10, 50, 50]
