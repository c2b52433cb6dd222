"""What every repetition keeps: seeds, orders, given weights, checks of its arguments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import InputError, MDFAWarning


def test_same_seed_same_draws_for_any_number_of_jobs(nothing):
    one = nothing.null_distribution(4, n_jobs=1)
    two = nothing.null_distribution(4, n_jobs=2)
    np.testing.assert_array_equal(one.draws, two.draws)
    other = nothing.null_distribution(4, random_state=9)
    assert not np.array_equal(one.draws, other.draws)
    first = nothing.stability(2, n_jobs=1)
    second = nothing.stability(2, n_jobs=2)
    np.testing.assert_array_equal(first.jaccard, second.jaccard)
    left_out = [nothing.explained(n_jobs=n).to_frame() for n in (1, 2)]
    pd.testing.assert_frame_equal(*left_out)


@pytest.mark.parametrize("method", ["null_distribution", "stability"])
@pytest.mark.parametrize("number", [0, -3, 2.5, True, "many"])
def test_numbers_of_repeats_are_checked(planted, method, number):
    with pytest.raises(InputError, match="whole number of at least 1"):
        getattr(planted, method)(number)


@pytest.mark.parametrize("method", ["null_distribution", "stability", "explained"])
def test_results_without_their_data_say_so(planted, method):
    with pytest.raises(InputError, match="does not hold its data"):
        getattr(replace(planted, source=None), method)()


def test_given_weights_follow_their_rows(quick):
    """An array of balancing weights is cut to the half of the rows that is audited."""
    data = mdfa.datasets.make_synthetic(n_samples=600, delta=1.5, random_state=2)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 600)
    result = mdfa.audit(
        data.X, data.y, sensitive_features=data.sensitive_features, balance=weights, **quick
    )
    assert np.isfinite(result.stability(2).jaccard).any()
    assert np.isfinite(result.null_distribution(2).draws).all()


def test_order_of_rows_and_names_of_labels_are_no_matter(shuffled):
    one, two, columns, order = shuffled
    first, second = one.null_distribution(3), two.null_distribution(3)
    np.testing.assert_array_equal(first.draws, second.draws[:, columns])
    halves, others = one.stability(2), two.stability(2)
    np.testing.assert_array_equal(halves.jaccard, others.jaccard[:, columns])
    np.testing.assert_array_equal(halves.frequency[:, order], others.frequency[columns])


def test_searches_that_could_not_be_made_are_not_repeated(quick):
    rng = np.random.default_rng(6)
    s = rng.choice(["p", "q"], 300).astype(object)
    s[:10] = "rare"
    with pytest.warns(MDFAWarning, match="rare"):
        result = mdfa.audit(
            rng.normal(size=(300, 2)), rng.integers(0, 2, 300), sensitive_features=s, **quick
        )
    stable, null = result.stability(2), result.null_distribution(2)
    rare = [v.group == "rare" for v in result.violations]
    assert np.isnan(stable.jaccard[:, rare]).all()
    assert np.isfinite(stable.jaccard[:, np.logical_not(rare)]).all()
    assert np.isnan(null.p_values[rare]).all()
    assert stable.summary().count("could not be repeated") == 2


@pytest.mark.parametrize(
    "options", [{"random_state": -1}, {"random_state": 0.5}, {"n_jobs": 0}, {"n_jobs": "two"}]
)
def test_other_arguments_are_checked(nothing, options):
    with pytest.raises(InputError, match=next(iter(options))):
        nothing.null_distribution(2, **options)
