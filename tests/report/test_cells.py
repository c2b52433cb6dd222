"""Which sums may be printed, on small tables worked by hand."""

from __future__ import annotations

import numpy as np

from mdfa_fairness_plugin.report.cells import EXACT, ROUNDED, WITHHELD, Sums, grid, keep_safe


def test_only_as_much_is_withheld_as_needed():
    """One small cell in a table with its total: one other cell is rounded, the total may stay."""
    atoms = np.array([3.0, 40.0, 50.0, 60.0])
    printed = np.vstack([np.eye(4), np.ones(4)]).astype(bool)
    keep = keep_safe(atoms, printed, np.eye(4)[:1].astype(bool), 11)
    assert keep.tolist() == [WITHHELD, ROUNDED, EXACT, EXACT, EXACT]


def test_two_small_cells_do_not_hide_each_other():
    """Their sum of 7 is known to be 7, so that neither can be above 7: a third has to go."""
    atoms = np.array([3.0, 4.0, 50.0, 60.0])
    printed = np.vstack([np.eye(4), np.ones(4)]).astype(bool)
    keep = keep_safe(atoms, printed, np.eye(4)[:2].astype(bool), 11)
    assert keep.tolist() == [WITHHELD, WITHHELD, ROUNDED, EXACT, EXACT]


def test_sums_are_known_by_name():
    """A small cell, its neighbour and their total: of the last two only one may be printed."""
    sums = Sums(11)
    sums.atom("few", 3, printed=True)
    sums.atom("many", 40, printed=True)
    sums.printed("all", ["few", "many"])
    kept = sums.solve()
    assert kept["few"] == WITHHELD
    assert sorted([kept["many"], kept["all"]]) == [ROUNDED, EXACT]


def test_what_counts_are_rounded_to_is_at_least_twice_the_smallest_told():
    assert [grid(n) for n in (2, 3, 5, 11, 25, 30)] == [5, 10, 10, 50, 50, 100]


def test_an_empty_cell_is_protected_where_it_tells():
    """Of a zero that says nothing the number may be printed."""
    kept = []
    for telling in (False, True):
        sums = Sums(11)
        sums.atom("none", 0, printed=True, zero=telling)
        sums.atom("many", 40, printed=True)
        kept.append(sums.solve())
    assert kept == [{"none": EXACT, "many": EXACT}, {"none": WITHHELD, "many": EXACT}]
