"""Plants in an audit's own rows: their regions and rates, and how often they are found."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.replicate.plants import (
    SHAPES,
    PlantedPower,
    _field,
    _planted,
    _ranks,
    _region,
)


@pytest.fixture(scope="module")
def field(nothing):
    return _field(nothing.source, 0, 3.0, 0.04)


def test_plants_have_the_mass_and_the_rates_asked_for(nothing, field):
    """Ten plants of each shape: mass by the audit's weights, outcomes moved to three times as often.

    What is expected of a plant is its rates by the audit's own model; bounds are four standard errors.
    """
    problem, v = nothing.source.problem, nothing.violations[0]
    assert field.mass == 0.04
    np.testing.assert_allclose(field.rates[0], 3 * field.rates[1])
    assert field.rates[0].max() <= 1
    s = next(c for c in problem.contrasts if c.group == v.group).s[field.rows]
    outcome = problem.outcome_labels.index(v.outcome)
    rng = np.random.default_rng(0)
    for i in range(20):
        mass, inside = _region(problem, field, SHAPES[i % 2], rng)
        assert mass == pytest.approx(field.mass, abs=0.002)
        assert field.masses[inside].sum() == pytest.approx(mass)
        changed = _planted(problem, field, inside, rng)
        same = np.ones(problem.n_rows, dtype=bool)
        same[field.rows[inside]] = False
        np.testing.assert_array_equal(changed.y[same], problem.y[same])
        for side, rates in zip((1, -1), field.rates, strict=True):
            own = inside & (s == side)
            expected = rates[own]
            seen = changed.y[field.rows[own]] == outcome
            error = math.sqrt((expected * (1 - expected)).sum() + 0.05 * len(expected))
            assert abs(seen.sum() - expected.sum()) < 4 * error + 1


def test_regions_are_of_two_features(nothing, field):
    """A half-space lies on one side of a line in ranks, a box between two values of each feature."""
    problem, rng = nothing.source.problem, np.random.default_rng(1)
    X = problem.display.iloc[field.rows].to_numpy(dtype=float)
    _, box = _region(problem, field, "box", rng)
    between = ((X[box].min(axis=0) <= X) & (X[box].max(axis=0) >= X)).all(axis=1)
    assert between.sum() == box.sum()


def test_values_of_categories_are_put_in_some_order():
    ranks = _ranks(pd.Series(["b", "a", None, "b"]), np.random.default_rng(0))
    assert ranks[2] == 0.25
    assert ranks[0] == ranks[3]
    assert len(np.unique(ranks)) == 3


def test_large_plants_are_found_the_same_each_time(planted):
    """Whatever was found in the data at hand: sensitive values are redrawn first."""
    large = planted.power(40.0, n_draws=2)
    assert large.search == ("group", planted.worst_case.group, planted.worst_case.outcome)
    assert large.mass == planted.worst_case.detectable_mass
    assert large.found.all()
    assert large.as_subgroup.sum() >= 1
    assert large.shapes == ("box", "half-space")
    again = planted.power(40.0, n_draws=1)
    assert (again.found[0], again.overlap[0]) == (large.found[0], large.overlap[0])


def test_rates_and_errors_counted_by_hand():
    power = PlantedPower(
        search=("sex", "f", 1),
        ratio=2.0,
        mass=0.03,
        shapes=("box", "half-space", "box"),
        masses=np.array([0.03, 0.032, 0.031]),
        found=np.array([True, False, True]),
        as_subgroup=np.array([True, False, False]),
        overlap=np.array([0.5, np.nan, 0.3]),
    )
    assert (power.n_draws, power.rate) == (3, pytest.approx(2 / 3))
    assert power.error == pytest.approx(math.sqrt(4 / 7 * 3 / 7 / 7))
    frame = power.to_frame().set_index("shape")
    assert frame.index.tolist() == ["box", "half-space", "all"]
    assert frame["found"].tolist() == pytest.approx([1, 0, 2 / 3])
    assert frame["as_subgroup"].tolist() == pytest.approx([0.5, 0, 1 / 3])
    assert frame.loc["box", "overlap"] == pytest.approx(0.4)
    assert math.isnan(frame.loc["half-space", "overlap"])
    assert repr(power) == "PlantedPower(ratio=2, mass=0.03, 3 draws, found=0.67 +- 0.19)"
    text = power.summary()
    assert "a ratio of 2 was planted 3 times" in text
    assert "In a box (2): 100 % found" in text
    assert "Of all (3): 67 % found (standard error 19 %), 33 % as a subgroup" in text


@pytest.mark.parametrize("ratio", [1.0, math.inf, "2", True])
def test_what_is_no_ratio_is_refused(nothing, ratio):
    with pytest.raises(InputError, match="ratio: a finite number above 1 expected"):
        nothing.power(ratio, 1)


def test_searches_of_other_audits_are_refused(nothing, planted):
    with pytest.raises(InputError, match="violation: one of the result's"):
        nothing.power(2.0, 1, violation=planted.worst_case)
    with pytest.raises(InputError, match="does not hold its data"):
        mdfa.AuditResult().power(2.0)
