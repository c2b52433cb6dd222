"""The published formulas of gamma on a table worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.experiments.formulas import draw_train, published_formulas
from mdfa_fairness_plugin.measure.estimates import lemma_strength, measure


@pytest.fixture
def table():
    """Two groups of 40; 30 of S = +1 and 10 of S = -1 get the outcome; G is everybody."""
    s = np.repeat([1, 1, -1, -1], [30, 10, 10, 30])
    positive = np.repeat([True, False, True, False], [30, 10, 10, 30])
    return positive, s, np.ones(80), np.ones(80, dtype=bool)


def test_formulas_of_a_balanced_table(table):
    """Ratio 3: per unit of mass 3/4 - 1/2; the mass is 1/2; c = 1 is right where S = Y, for 60."""
    found = published_formulas(*table)
    assert found["ratio x mass"] == pytest.approx(0.25 * 0.5)
    assert found["ratio x accuracy"] == pytest.approx(0.25 * 0.75)
    assert found["Lemma 1, raw weights"] == pytest.approx((0.75 - 1 + 0.75) / 4)
    # Where everything is balanced the definition, Lemma 1 and the first formula are one.
    assert measure(*table).gamma == pytest.approx(found["ratio x mass"])
    assert lemma_strength(measure(*table[:3]), measure(*table)) == pytest.approx(
        found["ratio x mass"]
    )


def test_only_the_raw_form_depends_on_the_groups_sizes(table):
    """Doubling the weights of one group leaves Lemma 1 as it is, but not its raw form."""
    positive, s, _, member = table
    doubled = np.where(s > 0, 2.0, 1.0)
    everybody, inside = (measure(positive, s, doubled, rows) for rows in (None, member))
    assert lemma_strength(everybody, inside) == pytest.approx(0.125)
    raw = published_formulas(positive, s, doubled, member)["Lemma 1, raw weights"]
    # S = Y for 2 x 30 + 30 of a weight of 120.
    assert raw == pytest.approx((2 * 90 / 120 - 1) / 4)


def test_seventy_of_a_hundred_rows_are_learned_from():
    train = draw_train(1000, 5)
    assert train.sum() == 700
    assert not np.array_equal(train, draw_train(1000, 6))
