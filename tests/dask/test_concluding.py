"""What sums and the sample they were judged by say together."""

from __future__ import annotations

import numpy as np
import pytest

from mdfa_fairness_plugin.dask import concluding
from mdfa_fairness_plugin.dask.concluding import LEARNED_FROM, jackknife_variance
from mdfa_fairness_plugin.describe import held_out_rule
from mdfa_fairness_plugin.exceptions import FeatureWarning, InputError, MissingSensitiveWarning

pytest.importorskip("dask.dataframe")


def test_jackknife_variance_of_a_mean_is_that_of_the_mean():
    """Leaving out each of n values, it gives their variance over n, as in any textbook."""
    x = np.array([1.0, 4.0, 2.0, 7.0, 5.0])
    without = np.array([np.delete(x, i).mean() for i in range(5)])
    assert jackknife_variance(without) == pytest.approx(x.var(ddof=1) / 5)
    assert jackknife_variance(np.array([1.0, np.nan])) == 0.0


def test_jackknife_variance_of_repeats_is_that_of_one_on_average():
    """Repeats part the same sample in other ways, so more of them are no more variance."""
    one, other = np.array([1.0, 4.0, 2.0]), np.array([3.0, 3.5, 7.0])
    assert jackknife_variance(np.tile(one, 4), 4) == pytest.approx(jackknife_variance(one))
    mean = (jackknife_variance(one) + jackknife_variance(other)) / 2
    assert jackknife_variance(np.concatenate([one, other]), 2) == pytest.approx(mean)
    assert jackknife_variance(one, 3) == 0.0


def test_repeats_are_judged_by_all_of_their_models(frame, run, result, monkeypatch):
    """The same verdict; errors are those of the rows and of one sample, however often it is parted."""
    asked = set()

    def recorded(values, n_repeats):
        asked.add((len(values), n_repeats))
        return jackknife_variance(values, n_repeats)

    monkeypatch.setattr(concluding, "jackknife_variance", recorded)
    twice = run(frame, n_repeats=2)
    assert twice.provenance["parameters"]["n_repeats"] == 2
    assert asked == {(2 * 3, 2)}
    for v, w in zip(result.violations, twice.violations, strict=True):
        assert v.spread is w.spread is None
        assert v.verdict == w.verdict
        widths = [np.ptp(own.population.interval) for own in (v, w)]
        assert 0.7 < widths[1] / widths[0] < 1.3


def test_rows_learned_from_are_not_measured(frame, n_learned, result):
    assert result.excluded[LEARNED_FROM] == n_learned
    assert result.n_samples == len(frame)
    outside = next((n for why, n in result.excluded.items() if "no comparable" in why), 0)
    for violation in result.violations:
        assert violation.population.n_rows == len(frame) - n_learned - outside
        assert violation.counts.to_numpy().sum() == violation.n_rows
        assert len(violation.membership) == len(violation.held_out) == 0


@pytest.mark.slow
def test_a_statistic_of_nothing_is_not_too_wide(made, run):
    """Where nothing is planted p-values are not too small: all rows measured were never seen."""
    p_values = []
    for seed in range(8):
        nothing = made(2_500, seed=seed, delta=0.0)
        rng = np.random.default_rng(100 + seed)
        nothing["denied"] = rng.choice(["yes", "no"], len(nothing))
        found = run(nothing, max_learning_rows=400, random_state=seed, n_splits=2)
        p_values += [
            (v.p_value, v.population.p_value, v.searched.p_value) for v in found.violations
        ]
    p_values = np.array(p_values)
    assert ((p_values < 0.01).sum(axis=0) <= 3).all()  # of 32, pairs of which mirror each other
    reported, *planned = p_values.mean(axis=0)
    assert min(planned) > 0.25
    assert max(planned) < 0.75
    assert min(planned) < reported  # which allows for the choice


def test_the_profile_counts_the_rows_measured(result):
    worst = result.worst_case
    assert worst.profile.iloc[0, 2:4].sum() == worst.n_rows
    assert worst.profile.iloc[0, :2].sum() == worst.population.n_rows


def test_where_no_rule_fits_the_best_one_is_measured_for_itself(frame, run, result, monkeypatch):
    """As what is printed as the rule where less is asked of its fit."""
    monkeypatch.setattr(held_out_rule, "MIN_FIDELITY", 1.0)
    found = run(frame)
    named = [v for v in result.violations if v.rule != "everybody"]
    for own, plain in zip(found.violations, result.violations, strict=True):
        if plain in named:
            best, rule = own.rule_subgroup, plain.rule_subgroup
            assert (own.rule, best.rule, own.delta) == ("", plain.rule, plain.delta)
            assert (best.delta, best.interval, own.rule_rows) == (
                rule.delta, rule.interval, rule.n_rows,
            )  # fmt: skip
    assert named


def test_missing_sensitive_values_are_counted(frame, run, at_the_end):
    with pytest.warns(MissingSensitiveWarning, match="600 rows have no value in 'race'"):
        found = run(at_the_end(frame, "race", None, 600))
    assert found.excluded["missing sensitive value (race)"] == 600
    worst = next(v for v in found.violations if (v.group, v.outcome) == ("black", "yes"))
    assert 0 < worst.n_missing < 600
    assert worst.missing_bounds[0] < worst.delta < worst.missing_bounds[1]
    with pytest.raises(InputError, match="600 rows have no value in 'race'"):
        run(at_the_end(frame, "race", None, 600), missing="raise")


def test_levels_unseen_in_the_sample_are_told(frame, run):
    # The row with the largest key of the last of six partitions is in no sample.
    row = 5_000 + int(np.argmax(np.random.default_rng([0, 5]).random(1_000)))
    changed = frame.copy()
    changed.loc[row, "town"] = "Z"
    with pytest.warns(FeatureWarning, match=r"do not have: 'town' \(1 rows\)"):
        found = run(changed)
    assert any("'town' (1 rows)" in warning.message for warning in found.warnings)
