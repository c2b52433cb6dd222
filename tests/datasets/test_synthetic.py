"""The planted truth must be in the data: counted, not assumed."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.datasets import make_numeric, make_shape, make_synthetic
from mdfa_fairness_plugin.exceptions import InputError

SHAPES = ["half_disc", "boxes", "band", "level", "xor", "quarter"]
N_LARGE = 200_000


def log_ratio(data, rows):
    """Log ratio of the groups' outcome rates among the rows, and its standard error."""
    y, s = data.y.to_numpy()[rows], data.sensitive_features.to_numpy()[rows]
    rates = [y[s == group].mean() for group in (1, -1)]
    sizes = [(s == group).sum() for group in (1, -1)]
    error = math.sqrt(sum((1 - p) / (p * n) for p, n in zip(rates, sizes, strict=True)))
    return math.log(rates[0] / rates[1]), error


@pytest.mark.parametrize("design", ["quadratic", "mean_shift"])
@pytest.mark.parametrize("delta", [0.5, 1.0, 3.0])
def test_planted_delta_is_recovered_from_counts_in_the_region(design, delta):
    """Rates are constant within the region, so plain counts there are an unbiased oracle."""
    data = make_synthetic(N_LARGE, delta, design=design, random_state=1)
    found, error = log_ratio(data, data.region)
    assert abs(found - delta) < 4 * error
    assert error < 0.05


def test_everyone_is_treated_alike_outside_the_half_disc():
    """Outside, the outcome is a function of the features alone: both groups' rates are 0 or 1."""
    data = make_synthetic(20_000, 2.0, random_state=3)
    p1, p0 = data.rates
    outside = ~data.region
    np.testing.assert_array_equal(p1[outside], p0[outside])
    assert set(np.unique(p1)) == {0.0, 1.0}
    np.testing.assert_array_equal(data.y.to_numpy()[outside], p1[outside])


def test_region_is_the_half_of_the_disc_below_the_line():
    """The label's line is x1 + x2 = 0, which the fitted classifier follows closely."""
    data = make_synthetic(50_000, random_state=0)
    x1, x2 = data.X["x1"], data.X["x2"]
    half_disc = (x1**2 + x2**2 <= 1) & (x1 + x2 < 0)
    assert (data.region == half_disc).mean() > 0.995
    # Half of Pr[x1^2 + x2^2 <= 1] = 1 - exp(-1/2) for two standard normals.
    assert data.region.mean() == pytest.approx((1 - math.exp(-0.5)) / 2, abs=0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_its_delta_in_its_region(shape):
    data = make_shape(shape, N_LARGE, random_state=2)
    found, error = log_ratio(data, data.region)
    assert abs(found - data.delta) < 4 * error
    assert error < 0.06
    p1, p0 = data.rates
    ratio = p1[data.region] / p0[data.region]
    np.testing.assert_allclose(np.log(ratio), data.delta, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_rates_are_the_outcome_probabilities(shape):
    """Squared standardised residuals of a correct probability sum to about n."""
    data = make_shape(shape, N_LARGE, delta=0.7, random_state=4)
    p1, p0 = data.rates
    p = np.where(data.sensitive_features == 1, p1, p0)
    y = data.y.to_numpy()
    certain = (p == 0) | (p == 1)
    np.testing.assert_array_equal(y[certain], p[certain])
    z = (y - p)[~certain] / np.sqrt((p * (1 - p))[~certain])
    assert abs(z.sum()) < 4 * math.sqrt(len(z))


@pytest.mark.parametrize("noise", ["gaussian", "lognormal", "heteroscedastic", "deterministic"])
@pytest.mark.parametrize("design", ["quadratic", "mean_shift"])
def test_planted_difference_is_recovered_by_weighted_means_in_the_region(design, noise):
    """Weighted by the inverse propensity both groups have the same features: a plain oracle."""
    data = make_numeric(N_LARGE, 0.5, 0.3, design, noise, random_state=1)
    y, s = data.y.to_numpy(), data.sensitive_features.to_numpy()
    w = np.where(s == 1, 1 / data.propensity, 1 / (1 - data.propensity))
    found = {}
    for name, rows in (("inside", data.region), ("outside", ~data.region)):
        means, errors = [], []
        for group in (-1, 1):
            own = rows & (s == group)
            means.append(np.average(y[own], weights=w[own]))
            errors.append((w[own] * (y[own] - means[-1])).std() / w[own].mean() / own.sum() ** 0.5)
        found[name] = (means[0] - means[1], math.hypot(*errors))
    assert abs(found["inside"][0] - 0.5) < 4 * found["inside"][1] < 0.05
    assert abs(found["outside"][0]) < 4 * found["outside"][1]
    m1, m0 = data.means
    expected = np.where(s == 1, m1, m0)
    assert (y - expected).mean() == pytest.approx(0.0, abs=0.02)
    chance = 0.0 if noise == "deterministic" else math.sqrt(0.5)
    # The fourth moment of a lognormal number is far from what 200,000 draws show.
    assert (y - expected).std() == pytest.approx(chance, rel=0.15 if noise == "lognormal" else 0.05)
    assert noise == "gaussian" or noise == "heteroscedastic" or y.min() >= 0


def test_amounts_without_a_difference_are_fair_and_noise_features_change_nothing():
    fair, more = (make_numeric(300, 0.0, n_noise_features=n, random_state=5) for n in (0, 2))
    np.testing.assert_array_equal(*fair.means)
    pd.testing.assert_frame_equal(more.X[["x1", "x2"]], fair.X)
    pd.testing.assert_series_equal(more.y, fair.y)
    assert list(more.X) == ["x1", "x2", "noise1", "noise2"]
    with pytest.raises(InputError, match="noise must be one of 'gaussian'"):
        make_numeric(300, noise="cauchy")


def test_shapes_lie_where_they_should():
    boxes = make_shape("boxes", 5_000, random_state=0)
    inside = boxes.X[boxes.region]
    assert (inside["x1"] * inside["x2"] < 0).all()
    assert inside["x1"].between(-0.3, 0.3).sum() == 0

    band = make_shape("band", 5_000, random_state=0)
    np.testing.assert_array_equal(band.region, (band.X["x1"] - band.X["x2"]).abs() <= 0.4)

    level = make_shape("level", 5_000, random_state=0)
    assert set(level.X["area"][level.region]) == {"centre"}
    assert "centre" not in set(level.X["area"][~level.region])

    quarter = make_shape("quarter", 5_000, random_state=0)
    p1, p0 = quarter.rates
    np.testing.assert_allclose(p1[quarter.region], 0.09)
    np.testing.assert_allclose(p0[quarter.region], 0.03)
    np.testing.assert_allclose(p1[~quarter.region], 0.36)
    np.testing.assert_allclose(p0[~quarter.region], 0.30)


def test_neither_feature_of_the_xor_tells_anything_alone():
    data = make_shape("xor", N_LARGE, delta=1.5, random_state=5)
    np.testing.assert_array_equal(data.region, data.X["b1"] != data.X["b2"])
    for feature in ("b1", "b2"):
        halves = [log_ratio(data, data.X[feature].to_numpy() == value)[0] for value in (0, 1)]
        assert halves[0] == pytest.approx(halves[1], abs=0.05)


@pytest.mark.parametrize("design", ["quadratic", "mean_shift"])
@pytest.mark.parametrize("imbalance", [0.0, 0.2, 0.6])
def test_propensity_is_calibrated(design, imbalance):
    """In each tenth of the propensity, as many S = +1 as it says."""
    data = make_synthetic(N_LARGE, imbalance=imbalance, design=design, random_state=6)
    is_plus = (data.sensitive_features == 1).to_numpy()
    for rows in np.array_split(np.argsort(data.propensity, kind="stable"), 10):
        p = data.propensity[rows]
        z = (is_plus[rows] - p).sum() / math.sqrt((p * (1 - p)).sum())
        assert abs(z) < 4.5


def test_no_imbalance_means_a_coin_flip():
    data = make_synthetic(1_000, imbalance=0.0, random_state=0)
    np.testing.assert_allclose(data.propensity, 0.5)


def test_mean_shift_moves_the_first_feature_against_the_group():
    data = make_synthetic(N_LARGE, imbalance=0.3, design="mean_shift", random_state=7)
    means = data.X.groupby(data.sensitive_features).mean()
    assert means.loc[1, "x1"] == pytest.approx(-0.3, abs=0.02)
    assert means.loc[-1, "x1"] == pytest.approx(0.3, abs=0.02)
    assert means["x2"].abs().max() < 0.02


def test_delta_zero_plants_nothing():
    data = make_synthetic(5_000, delta=0.0, random_state=8)
    np.testing.assert_array_equal(*data.rates)
    np.testing.assert_array_equal(data.y, data.rates[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_same_seed_same_data(shape):
    first, again = (make_shape(shape, 500, random_state=9) for _ in range(2))
    other = make_shape(shape, 500, random_state=10)
    pd.testing.assert_frame_equal(first.X, again.X)
    pd.testing.assert_series_equal(first.y, again.y)
    pd.testing.assert_series_equal(first.sensitive_features, again.sensitive_features)
    assert not first.X.equals(other.X)


def test_seeds_may_be_generators():
    generator = make_synthetic(300, random_state=np.random.default_rng(5))
    integer = make_synthetic(300, random_state=5)
    pd.testing.assert_frame_equal(generator.X, integer.X)
    old, again = (make_synthetic(300, random_state=np.random.RandomState(5)) for _ in range(2))
    pd.testing.assert_frame_equal(old.X, again.X)


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make_synthetic(300)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_noise_features_change_nothing_else():
    plain = make_synthetic(400, random_state=11)
    noisy = make_synthetic(400, n_noise_features=3, random_state=11)
    assert list(noisy.X) == ["x1", "x2", "noise1", "noise2", "noise3"]
    pd.testing.assert_frame_equal(noisy.X[["x1", "x2"]], plain.X)
    pd.testing.assert_series_equal(noisy.y, plain.y)


def test_shapes_of_the_fields():
    data = make_synthetic(250, random_state=0)
    assert data.X.shape == (250, 2)
    assert set(data.y) == {0, 1}
    assert set(data.sensitive_features) == {-1, 1}
    assert data.region.dtype == bool
    assert data.region.shape == data.propensity.shape == (250,)
    assert data.delta == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number"),
        ({"n_samples": 10.5}, "n_samples must be a whole number"),
        ({"n_samples": math.inf}, "n_samples must be a whole number"),
        ({"n_samples": "many"}, "n_samples must be a whole number"),
        ({"n_samples": 1}, "n_samples: with 1 rows every label"),
        ({"delta": -1.0}, "delta must be a finite number of at least 0"),
        ({"delta": math.inf}, "delta must be a finite number"),
        ({"delta": "large"}, "delta must be a finite number of at least 0; found 'large'"),
        ({"imbalance": math.nan}, "imbalance must be a finite number"),
        ({"design": "cubic"}, "design must be one of 'quadratic', 'mean_shift'; found 'cubic'"),
        ({"n_noise_features": -1}, "n_noise_features"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        make_synthetic(**arguments)


def test_a_delta_that_needs_a_rate_above_one_is_refused():
    with pytest.raises(InputError, match=r"delta can be at most 1\.609"):
        make_shape("boxes", 100, delta=2.0)
    with pytest.raises(InputError, match="shape must be one of"):
        make_shape("disc")


def test_many_seeds_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(20):
            make_synthetic(60, random_state=seed)
