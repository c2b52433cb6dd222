"""Repetitions of audits of a number and of an order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.replicate import plants, without
from mdfa_fairness_plugin.replicate.null import chances_of, without_leak
from mdfa_fairness_plugin.replicate.repeats import prepared

KEPT = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "random_state": 0}
ORDER = ["low", "mid", "high"]


@pytest.fixture(scope="module")
def people():
    data = mdfa.datasets.make_synthetic(400, delta=1.0, imbalance=0.3, random_state=0)
    rng = np.random.default_rng(0)
    less = (np.asarray(data.sensitive_features) == 1) & data.region
    y = 100.0 + 20.0 * data.X.iloc[:, 0] + rng.normal(0, 10, 400) - 12.0 * less
    return data.X, np.maximum(y, 1.0), data.sensitive_features


def audited(people, unit=1.0, **params):
    X, y, s = people
    own = {"outcome_type": "numeric", **KEPT, **params}
    return mdfa.audit(X, unit * y, sensitive_features=s, **own)


@pytest.fixture(scope="module")
def difference(people):
    return audited(people)


@pytest.fixture(scope="module")
def ratio(people):
    return audited(people, measure="ratio")


@pytest.fixture(scope="module")
def ordered(people):
    X, y, s = people
    labels = pd.cut(y, [-np.inf, 90, 110, np.inf], labels=ORDER).astype(str)
    return mdfa.audit(X, labels, sensitive_features=s, ordered=ORDER, **KEPT)


@pytest.mark.parametrize("which", ["difference", "ratio", "ordered"])
def test_without_no_feature_it_is_what_the_audit_reports(which, request):
    result = request.getfixturevalue(which)
    problem, settings = result.source.problem, result.source.settings
    settings = prepared(problem, settings)[1]
    rows = without._measured(problem, settings, without._regions_of(result, problem))
    for own in result.violations:
        found = without._effect(*rows[own.key], settings)
        assert found.delta == pytest.approx(own.effect, abs=1e-9)


def test_features_explain_differences_in_units(difference, people):
    told = difference.explained()
    frame = told.to_frame()
    assert frame["ratio"].isna().all()
    assert "difference 3" in told.summary()
    np.testing.assert_allclose(
        frame["change"], frame["difference_without"] - frame["difference"], atol=1e-9
    )
    # Less for one group is more for the other.
    np.testing.assert_allclose(told.difference[:2], -told.difference[2:], atol=1e-9)
    other = audited(people, 1000.0).explained()
    np.testing.assert_allclose(other.difference_without, 1000.0 * told.difference_without)
    np.testing.assert_allclose(other.errors, 1000.0 * told.errors)


def test_redrawn_audits_are_in_units_of_the_outcome(difference, people):
    null = difference.null_distribution(2)
    other = audited(people, 1000.0).null_distribution(2)
    np.testing.assert_allclose(other.draws, 1000.0 * null.draws)
    np.testing.assert_array_equal(other.statistics, null.statistics)
    assert null.observed.tolist() == [own.difference for own in difference.violations]
    assert set(null.to_frame()["measure"]) == {"difference"}
    plain = audited(people, estimator="unweighted")
    told = [own.estimates["unweighted"] for own in plain.violations]
    assert plain.null_distribution(1).observed.tolist() == told
    assert "ratio" not in null.summary()


def test_everybody_asked_for_is_everybody_found(difference, ordered):
    for result in (difference, ordered):
        asked = result.measure(np.ones(400, dtype=bool))
        for answer, own in zip(asked, result.violations, strict=True):
            assert answer.effect == pytest.approx(own.population.effect)
            assert answer.effect_interval == pytest.approx(own.population.effect_interval)
            assert answer.counts.to_numpy().sum() == answer.n_rows
        whole = {own.key.group: own.effect for own in asked if own.outcome == asked[0].outcome}
        for pair in result.group_pairs():
            if pair.outcome == asked[0].outcome:
                assert pair.effect == pytest.approx(whole[pair.group])


@pytest.mark.parametrize("which", ["difference", "ratio", "ordered"])
def test_what_is_planted_is_there(which, request):
    """Inside a plant both means, or the shares beyond a cut, are as far apart as was asked."""
    result = request.getfixturevalue(which)
    source, size = result.source, 12.0 if which == "difference" else 2.5
    place = next(i for i, own in enumerate(result.violations) if own.outcome in ("less", "low"))
    field = plants._field(source, place, size, 0.3)
    rng = np.random.default_rng(0)
    before = without_leak(source.problem, chances_of(source, 0), rng)
    _, inside = plants._region(before, field, "box", rng)
    after = plants._planted(before, field, inside, rng)
    key, rows = field.key, field.rows[inside]
    s = next(own.s for own in before.contrasts if own.group == key.group)[rows]
    was, now = (own.value(key.outcome)[rows] for own in (before, after))
    if which == "difference":
        moved = (now - was) * before.amount.unit
        np.testing.assert_allclose(moved, np.where(s > 0, 6.0, -6.0))
    elif which == "ratio":
        factor = (now / was)[s < 0].mean() / (now / was)[s > 0].mean()
        assert factor == pytest.approx(size)
    else:
        expected = [
            own[inside][s == side].mean() for own, side in zip(field.rates, (1, -1), strict=True)
        ]
        assert [now[s == side].mean() for side in (1, -1)] == pytest.approx(expected, abs=0.15)
        ranks = dict(zip(after.y.tolist(), after.amount.values.tolist(), strict=True))
        assert len(ranks) == 3  # every label has its rank still
    untouched = np.setdiff1d(np.arange(400), rows)
    np.testing.assert_array_equal(
        after.value(key.outcome)[untouched], before.value(key.outcome)[untouched]
    )


def test_power_says_what_it_planted(difference, ordered):
    found = difference.power(difference=30.0, n_draws=2)
    assert found.difference == 30.0
    assert np.isnan(found.ratio)
    assert "a difference of 30 was planted" in " ".join(found.summary().split())
    with pytest.raises(InputError, match="ratio: this search compares by the difference"):
        difference.power(2.0, n_draws=1)
    with pytest.raises(InputError, match="difference: a finite number above 0"):
        difference.power(difference=-1.0, n_draws=1)
    ranked = mdfa.Violation(group=1, outcome="less", measure="difference", outcome_scale="rank")
    with pytest.raises(InputError, match=r"difference: ranks are shares of rows, .* 5 found"):
        plants._size(ranked, difference.source.problem, None, 5.0)
    rank = next(own for own in ordered.violations if own.outcome == "lower rank")
    with pytest.raises(InputError, match="Pass one of a cut"):
        ordered.power(n_draws=1, violation=rank)


def test_halves_and_lists_of_people(difference, people):
    _, y, _ = people
    halves = difference.stability(2)
    assert np.isfinite(halves.jaccard).any()
    worst = difference.worst_case
    pairs = difference.pairs(violation=worst)
    amounts = pairs["outcome"].to_numpy(dtype=float)
    np.testing.assert_allclose(amounts, y[pairs.index])
    group, others = amounts[::2], amounts[1::2]
    assert group.max() < others.min() if worst.outcome == "less" else group.min() > others.max()
    assert len(difference.members(violation=worst)) == 400


def test_what_counts_people_with_an_outcome_is_refused(difference, ordered, people):
    y = people[1]
    for result in (difference, ordered):
        with pytest.raises(InputError, match="sweep: each cut is an audit of yes and no"):
            result.sweep(y, [100.0])
    with pytest.raises(InputError, match="Pass the numbers as scores"):
        difference.group_table()
    table = difference.group_table(scores=y)
    above = y > np.median(y)
    assert table["n_favourable"].sum() == above.sum()
