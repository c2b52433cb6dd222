"""The same search on halves of the rows."""

from __future__ import annotations

import numpy as np

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.replicate import halves


def test_halves_of_a_plain_violation_find_the_same_people(planted):
    stable = planted.stability(4)
    worst = planted.violations.index(planted.worst_case)
    assert stable.jaccard.shape == (4, 4)
    assert stable.jaccard[:, worst].min() > 2 * stable.chance[worst]
    assert set(stable.features.index) == {"x1", "x2"}
    assert stable.features.iloc[:, worst].max() == 1.0
    inside = planted.worst_case.membership
    frequency = stable.frequency[worst]
    assert np.nanmean(frequency[inside]) > np.nanmean(frequency[~inside]) + 0.3
    assert "by chance" in stable.summary()


def test_halves_share_no_person(quick, monkeypatch):
    """And who has several rows has them all in one half."""
    data = mdfa.datasets.make_synthetic(n_samples=600, delta=1.5, random_state=2)
    people = np.random.default_rng(0).integers(0, 250, 600)
    result = mdfa.audit(
        data.X, data.y, sensitive_features=data.sensitive_features, clusters=people, **quick
    )
    seen = []
    rerun = halves.rerun

    def spy(problem, settings, ask):
        seen.append(problem)
        return rerun(problem, settings, ask)

    monkeypatch.setattr(halves, "rerun", spy)
    stable = result.stability(2, n_jobs=1)
    first, second = (set(people[half.source_row]) for half in seen)
    assert not first & second
    assert first | second == set(people)
    for half in seen:
        whose = people[half.source_row]
        np.testing.assert_array_equal(
            half.cluster[:, np.newaxis] == half.cluster, whose[:, np.newaxis] == whose
        )
    assert np.isfinite(stable.jaccard).any()
