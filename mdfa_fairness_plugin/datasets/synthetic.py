"""Data whose worst violation is planted, so that an audit's answer can be checked."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Bunch

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.settings import is_choice, is_number, shown

Design = Literal["quadratic", "mean_shift"]
Noise = Literal["gaussian", "lognormal", "heteroscedastic", "deterministic"]
Shape = Literal["half_disc", "boxes", "band", "level", "xor", "quarter"]
Seed = int | np.random.Generator | np.random.RandomState | None

# The paper writes e ~ N(0, 0.2) without saying variance or standard deviation; this is the latter,
# as in numpy. It moves only the labels the classifier is fitted to, and those near its line.
_LABEL_NOISE = 0.2

# Outcome rates (group -1, group +1) of the shape "quarter". In the quarter the outcome is rare and
# the ratio is large; elsewhere the difference is the same and the ratio small.
_QUARTER_RATE = 0.03
_ELSEWHERE_RATES = (0.30, 0.36)

_BASE_RATE = 0.2
# Amounts average 3 and differ by features and by chance alike, both together by about 1, so that a
# difference is in standard deviations; they are never negative unless the noise is normal.
_AVERAGE, _NOISE = 3.0, math.sqrt(0.5)
_STEPS = 4
_LEVELS = np.array(["north", "south", "east", "west", "centre"], dtype=object)


def make_synthetic(
    n_samples: int = 5000,
    delta: float = 1.0,
    imbalance: float = 0.2,
    design: Design = "quadratic",
    n_noise_features: int = 0,
    random_state: Seed = None,
) -> Bunch:
    r"""Audit data with a violation of known size in a known half disc (Section 4.1).

    A logistic regression ``f`` says yes above a line through the origin. Its answers are then
    altered inside the disc :math:`x_1^2 + x_2^2 \leq 1`: every no becomes a yes for ``S = +1``, and
    for ``S = -1`` only with probability :math:`1 - \nu`. On the half disc where ``f`` said no, the
    group ``S = +1`` therefore gets the positive outcome

    .. math:: \delta = -\ln(1 - \nu)

    more often on the log scale; everywhere else both groups are treated alike.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of rows.
    delta : float, default=1.0
        Violation planted in the half disc, at least 0. With 0 the classifier is fair.
    imbalance : float, default=0.2
        The paper's :math:`\mu`: how strongly the features give ``S`` away. With 0 they do not.
    design : {"quadratic", "mean_shift"}, default="quadratic"
        How the features depend on ``S``. ``"quadratic"``: standard normal features and
        :math:`\Pr[S = 1 | x] = 1 / (1 + e^{-\mu (x_1 + x_2)^2})`. ``"mean_shift"``: both groups
        equally large and :math:`x_1 \sim N(-\mu S, 1)`.
    n_noise_features : int, default=0
        Further standard normal features (``noise1``, ``noise2``, ...) that mean nothing.
    random_state : int, Generator, RandomState or None, default=None
        Same seed, same data. The noise features are drawn last: their number changes nothing else.

    Returns
    -------
    data : Bunch
        ``X`` : DataFrame of shape (n_samples, 2 + n_noise_features)
            Columns ``x1``, ``x2``, then the noise features.
        ``y`` : Series of shape (n_samples,)
            Altered outcome, 1 or 0. In the half disc ``S = +1`` gets 1 more often.
        ``sensitive_features`` : Series of shape (n_samples,)
            ``S``, 1 or -1, named ``group``.
        ``region`` : bool ndarray of shape (n_samples,)
            Rows of the half disc: inside the disc, and ``f`` said no before the alteration.
        ``propensity`` : ndarray of shape (n_samples,)
            :math:`\Pr[S = 1 | x]`.
        ``delta`` : float
            The violation planted.
        ``rates`` : tuple of two ndarrays of shape (n_samples,)
            ``(p1, p0)``, the probability of outcome 1 at each row's features for ``S = +1`` and for
            ``S = -1``.
        ``DESCR`` : str
            What it is.

    Notes
    -----
    The paper prints :math:`(x_1 - x_2)^2` above and :math:`(x_1 + x_2)^2` below the fraction of the
    propensity, which then exceeds one; both are read as :math:`(x_1 + x_2)^2`. Its labels are the
    sign of :math:`(x_1 + x_2 + e)^3` with :math:`e \sim N(0, 0.2)`, read as a standard deviation.

    Examples
    --------
    >>> from mdfa_fairness_plugin.datasets import make_synthetic
    >>> data = make_synthetic(n_samples=20000, delta=1.0, random_state=0)
    >>> inside = data.y[data.region].groupby(data.sensitive_features[data.region]).mean()
    >>> float(round(inside[1] / inside[-1], 1))
    2.7
    """
    delta = _check_number("delta", delta, minimum=0.0)
    n_noise_features = _check_count("n_noise_features", n_noise_features, minimum=0)
    rng, x, s, propensity = _draw_people(n_samples, imbalance, design, random_state)

    labels = np.sign((x.sum(axis=1) + rng.normal(0.0, _LABEL_NOISE, len(x))) ** 3)
    if len(np.unique(labels)) < 2:
        raise InputError(
            f"n_samples: with {len(x)} rows every label came out the same, so the audited "
            "classifier cannot be fitted. Ask for more rows or for another random_state."
        )
    says_yes = LogisticRegression().fit(x, labels).predict(x) > 0
    region = ~says_yes & ((x**2).sum(axis=1) <= 1.0)
    p1 = (says_yes | region).astype(float)
    p0 = np.where(region, math.exp(-delta), p1)
    y = _draw_outcome(rng, s, p1, p0)
    return Bunch(
        X=_with_noise_features(rng, x, n_noise_features),
        y=y,
        sensitive_features=s,
        region=region,
        propensity=propensity,
        delta=delta,
        rates=(p1, p0),
        DESCR=(
            f"Synthetic data of Section 4.1 ({design} design, imbalance {imbalance:g}): group +1 "
            f"gets outcome 1 exp({delta:g}) times as often as group -1 on a half disc and equally "
            "often elsewhere."
        ),
    )


def make_numeric(
    n_samples: int = 5000,
    difference: float = 0.5,
    imbalance: float = 0.2,
    design: Design = "quadratic",
    noise: Noise = "gaussian",
    n_noise_features: int = 0,
    random_state: Seed = None,
) -> Bunch:
    r"""Audit data whose outcome is a number, with a known difference in a known half disc.

    Everybody gets :math:`3 + \sin(x_1 + x_2)` on average at their features, but for ``S = +1`` on the
    half disc :math:`x_1^2 + x_2^2 \leq 1, x_1 + x_2 < 0`, who get ``difference`` less.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of rows.
    difference : float, default=0.5
        By how much less ``S = +1`` gets in the half disc, at least 0; in standard deviations of the
        outcome, which is about 1.
    imbalance, design
        As for :func:`make_synthetic`.
    noise : {"gaussian", "lognormal", "heteroscedastic", "deterministic"}, default="gaussian"
        What chance adds, 0 on average, with a standard deviation of :math:`\sqrt{.5}`:

        - ``"gaussian"``: normal.
        - ``"lognormal"``: few get far more than all others (a skewness of 6).
        - ``"heteroscedastic"``: normal, with a standard deviation that grows threefold with
          :math:`x_1`, and is half as large again for ``S = +1``.
        - ``"deterministic"``: nothing. The outcome is a rule of the features with steps, as a tree
          has: their average, rounded to quarters.
    n_noise_features, random_state
        As for :func:`make_synthetic`.

    Returns
    -------
    data : Bunch
        ``X``, ``sensitive_features``, ``region``, ``propensity``, ``DESCR``
            As of :func:`make_synthetic`.
        ``y`` : Series of shape (n_samples,)
            ``amount``. In the half disc ``S = +1`` gets less; never negative unless the noise is
            normal, for differences up to 1.4.
        ``difference`` : float
            The one planted.
        ``means`` : tuple of two ndarrays of shape (n_samples,)
            ``(m1, m0)``, the average at each row's features for ``S = +1`` and for ``S = -1``.

    Examples
    --------
    >>> from mdfa_fairness_plugin.datasets import make_numeric
    >>> data = make_numeric(n_samples=20000, difference=0.5, imbalance=0.0, random_state=0)
    >>> inside = data.y[data.region].groupby(data.sensitive_features[data.region]).mean()
    >>> float(round(inside[-1] - inside[1], 1))
    0.5
    """
    difference = _check_number("difference", difference, minimum=0.0)
    _check_choice("noise", noise, Noise)
    n_noise_features = _check_count("n_noise_features", n_noise_features, minimum=0)
    rng, x, s, propensity = _draw_people(n_samples, imbalance, design, random_state)

    total = x.sum(axis=1)
    region = (total < 0) & ((x**2).sum(axis=1) <= 1.0)
    m0 = _AVERAGE + np.sin(total)
    if noise == "deterministic":
        m0 = np.round(m0 * _STEPS) / _STEPS
    m1 = np.where(region, m0 - difference, m0)
    by_chance = _draw_noise(rng, x, s, noise)
    return Bunch(
        X=_with_noise_features(rng, x, n_noise_features),
        y=pd.Series(np.where(s == 1, m1, m0) + by_chance, name="amount"),
        sensitive_features=s,
        region=region,
        propensity=propensity,
        difference=difference,
        means=(m1, m0),
        DESCR=(
            f"Synthetic amounts ({design} design, imbalance {imbalance:g}, {noise} noise): group +1 "
            f"gets {difference:g} less than group -1 on a half disc, and equally much elsewhere."
        ),
    )


def make_shape(
    shape: Shape,
    n_samples: int = 5000,
    delta: float | None = None,
    imbalance: float = 0.2,
    random_state: Seed = None,
) -> Bunch:
    r"""Audit data with a violation planted in a region of another shape.

    Meant for benchmarks of searches: regions in two parts, oblique, on a level of a categorical
    feature, without any main effect, or where the outcome is rare. Except for ``"half_disc"`` and
    ``"quarter"`` the outcome rate is 0.2 for everyone but group +1 inside the region, where it is
    :math:`0.2 e^\delta`.

    Parameters
    ----------
    shape : {"half_disc", "boxes", "band", "level", "xor", "quarter"}
        - ``"half_disc"``: :func:`make_synthetic`.
        - ``"boxes"``: two separate boxes of ``x1`` and ``x2`` (about 0.2 of the rows).
        - ``"band"``: a diagonal band, ``abs(x1 - x2) <= 0.4`` (about 0.2 of the rows).
        - ``"level"``: level ``"centre"`` of the categorical feature ``area`` (0.2 of the rows).
        - ``"xor"``: exactly one of the boolean features ``b1`` and ``b2`` (half of the rows);
          neither alone tells anything.
        - ``"quarter"``: ``x1 > 0`` and ``x2 > 0``, where the outcome is rare: by default a rate of
          .03 against .09, while elsewhere .30 stands against .36. The difference is the same
          everywhere, the ratio is not.
    n_samples : int, default=5000
        Number of rows.
    delta : float or None, default=None
        Violation planted, at least 0 and small enough for a rate of at most one. None stands for
        1, and for ln 3 in ``"quarter"``.
    imbalance, random_state
        As for :func:`make_synthetic` (quadratic design).

    Returns
    -------
    data : Bunch
        With the fields of :func:`make_synthetic`. ``X`` has ``x1`` and ``x2`` in every shape, then
        the features named above.
    """
    _check_choice("shape", shape, Shape)
    if delta is None:
        delta = math.log(3.0) if shape == "quarter" else 1.0
    if shape == "half_disc":
        return make_synthetic(n_samples, delta, imbalance, random_state=random_state)

    delta = _check_number("delta", delta, minimum=0.0)
    base_rate = _QUARTER_RATE if shape == "quarter" else _BASE_RATE
    if base_rate * math.exp(delta) > 1.0:
        raise InputError(
            f"delta: {delta:g} asks for a rate of {base_rate} * exp({delta:g}) = "
            f"{base_rate * math.exp(delta):.3g}, above one. For shape={shape!r} delta can be at "
            f"most {-math.log(base_rate):.4g}."
        )
    rng, x, s, propensity = _draw_people(n_samples, imbalance, "quadratic", random_state)

    X = pd.DataFrame(x, columns=["x1", "x2"])
    x1, x2 = x.T
    p0 = np.full(len(x), base_rate)
    if shape == "boxes":
        upper_left = (x1 >= -1.5) & (x1 <= -0.3) & (x2 >= 0.2) & (x2 <= 1.4)
        lower_right = (x1 >= 0.3) & (x1 <= 1.5) & (x2 >= -1.4) & (x2 <= -0.2)
        region = upper_left | lower_right
    elif shape == "band":
        region = np.abs(x1 - x2) <= 0.4
    elif shape == "level":
        X["area"] = rng.choice(_LEVELS, size=len(x))
        region = (X["area"] == "centre").to_numpy(dtype=bool)
    elif shape == "xor":
        b1, b2 = rng.random((2, len(x))) < 0.5
        X["b1"], X["b2"] = b1, b2
        region = b1 ^ b2
    else:
        region = (x1 > 0) & (x2 > 0)
        p0[~region] = _ELSEWHERE_RATES[0]
    p1 = np.where(region, p0 * math.exp(delta), p0)
    if shape == "quarter":
        p1[~region] = _ELSEWHERE_RATES[1]
    return Bunch(
        X=X,
        y=_draw_outcome(rng, s, p1, p0),
        sensitive_features=s,
        region=region,
        propensity=propensity,
        delta=delta,
        rates=(p1, p0),
        DESCR=(
            f"Synthetic data with a violation of delta = {delta:g} planted in a region of shape "
            f"{shape!r} (imbalance {imbalance:g})."
        ),
    )


def _draw_people(
    n_samples: int, imbalance: float, design: Design, random_state: Seed
) -> tuple[np.random.Generator, np.ndarray, pd.Series, np.ndarray]:
    """Generator, ``x`` (n, 2), ``S`` and the propensity of ``S = +1`` (both (n,))."""
    n_samples = _check_count("n_samples", n_samples, minimum=1)
    imbalance = _check_number("imbalance", imbalance)
    _check_choice("design", design, Design)
    if isinstance(random_state, np.random.RandomState):
        random_state = np.random.default_rng(random_state.randint(2**31, size=4))
    rng = np.random.default_rng(random_state)
    x = rng.standard_normal((n_samples, 2))
    if design == "quadratic":
        propensity = expit(imbalance * x.sum(axis=1) ** 2)
        s = np.where(rng.random(n_samples) < propensity, 1, -1)
    else:
        s = np.where(rng.random(n_samples) < 0.5, 1, -1)
        x[:, 0] -= imbalance * s
        # Bayes' rule for two normal densities of variance 1 with means -mu and mu.
        propensity = expit(-2.0 * imbalance * x[:, 0])
    return rng, x, pd.Series(s, name="group", dtype=np.int64), propensity


def _draw_noise(rng: np.random.Generator, x: np.ndarray, s: pd.Series, noise: Noise) -> np.ndarray:
    """What chance adds to an amount: 0 on average at all features."""
    drawn = rng.standard_normal(len(s))
    if noise == "lognormal":
        drawn = (np.exp(drawn) - math.exp(0.5)) / math.sqrt(math.e * (math.e - 1.0))
    elif noise == "heteroscedastic":
        # From .38 to 1.13, which squares to 1 on average over x1 and sides of equal size.
        drawn *= 0.377 * (1.0 + 2.0 * ndtr(x[:, 0])) * np.where(s == 1, 1.5, 1.0)
    return _NOISE * drawn if noise != "deterministic" else np.zeros(len(s))


def _with_noise_features(rng: np.random.Generator, x: np.ndarray, n: int) -> pd.DataFrame:
    """``x1``, ``x2`` and ``n`` features that mean nothing."""
    X = pd.DataFrame(x, columns=["x1", "x2"])
    return X.assign(**{f"noise{j + 1}": rng.standard_normal(len(x)) for j in range(n)})


def _draw_outcome(
    rng: np.random.Generator, s: pd.Series, p1: np.ndarray, p0: np.ndarray
) -> pd.Series:
    """Outcome 1 with probability ``p1`` where ``s = +1`` and ``p0`` where ``s = -1``."""
    happens = rng.random(len(s)) < np.where(s == 1, p1, p0)
    return pd.Series(happens.astype(np.int64), name="outcome")


def _check_count(name: str, value: int, minimum: int) -> int:
    # The remainder of what is not finite is NaN.
    if not is_number(value) or value % 1 != 0 or value < minimum:
        raise InputError(f"{name} must be a whole number of at least {minimum}; found {value!r}.")
    return int(value)


def _check_number(name: str, value: float, minimum: float = -math.inf) -> float:
    if not is_number(value) or not math.isfinite(value) or value < minimum:
        bound = "" if minimum == -math.inf else f" of at least {minimum:g}"
        raise InputError(f"{name} must be a finite number{bound}; found {value!r}.")
    return float(value)


def _check_choice(name: str, value: str, choices: object) -> None:
    if not is_choice(value, get_args(choices)):
        listed = ", ".join(repr(choice) for choice in get_args(choices))
        raise InputError(f"{name} must be one of {listed}; found {shown(value)}.")
