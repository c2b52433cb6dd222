"""Populations with known outcome rates, by name: what ``false_alarms.py`` and the slow tests audit.

COMPAS, Adult and German credit are read from ``MDFA_DATA_HOME``.
"""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mdfa_fairness_plugin.datasets import (
    load_adult,
    load_arrests,
    load_compas,
    load_german,
    make_synthetic,
)


class Real(NamedTuple):
    """A real data set: its loader, the group audited, rows of a sample, whether files are needed."""

    load: object
    feature: str
    group: str
    n: int
    in_home: bool


class Population:
    """Rows with known outcome rates: features, sides, rates of both sides, propensity."""

    def __init__(self, X, s, rates, propensity, y, region=None, **given):
        self.X, self.s, self.rates, self.propensity, self.y = X, s, rates, propensity, y
        self.region = region  # where a violation is planted
        self.given = given  # more arguments of the audit: weights, clusters

    def truth(self, violation):
        """Delta of a found subgroup at its members' features."""
        if self.rates[0] is self.rates[1]:
            return 0.0
        rates = self.rates if violation.group == 1 else self.rates[::-1]
        if violation.outcome == 0:
            rates = tuple(1 - rate for rate in rates)
        inside = violation.membership & violation.held_out
        overlap = (self.propensity * (1 - self.propensity))[inside]
        with np.errstate(divide="ignore"):
            group, others = (np.log(np.average(rate[inside], weights=overlap)) for rate in rates)
        return group - others


def paper(seed, *, delta, mu, n):
    data = make_synthetic(n_samples=n, delta=delta, imbalance=mu, random_state=60_000 + seed)
    return Population(
        data.X, data.sensitive_features.to_numpy(), data.rates, data.propensity, data.y
    )


def noise_by_x(seed, *, mu, n=2000):
    """Outcome noise that depends on x alone."""
    rng = np.random.default_rng(80_000 + seed)
    X = rng.normal(size=(n, 2))
    e = 1 / (1 + np.exp(-mu * X.sum(axis=1) ** 2))
    rate = 1 / (1 + np.exp(-X[:, 0] - X[:, 1] ** 2 / 2))
    return _drawn(rng, X, rng.random(n) < e, (rate, rate), e)


def pure_noise(seed, *, n=2000, d=6):
    rng = np.random.default_rng(90_000 + seed)
    half = np.full(n, 0.5)
    return _drawn(rng, rng.normal(size=(n, d)), rng.random(n) < 0.5, (half, half), half)


def compas(seed, *, ratio=1.0):
    """COMPAS, African-American or not; people under 25 get a planted ratio of rates."""
    X, s, _ = _real("COMPAS")
    rate, e = _chances("COMPAS")
    rng = np.random.default_rng(70_000 + seed)
    planted = (X["age_cat"] == "Less than 25").to_numpy()
    # Both rates around the model's, their ratio as asked.
    low = np.where(planted, np.minimum(2.0 * rate / (1.0 + ratio), 1.0 / ratio), rate)
    high = np.where(planted, ratio * low, rate)
    return _drawn(rng, X, s, (high, low), e)


def adult(seed, *, n=4000):
    X, s, _ = _real("Adult")
    rate, e = _chances("Adult")
    rng = np.random.default_rng(75_000 + seed)
    rows = rng.choice(len(X), n, replace=False)
    rate = rate[rows]
    return _drawn(rng, X.iloc[rows].reset_index(drop=True), s[rows], (rate, rate), e[rows])


def coins(seed, *, n, **changed):
    """Coin flips at equal features, three columns of which one is continuous."""
    rng = np.random.default_rng(100_000 + seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "priors": rng.poisson(3, n),
            "income": rng.normal(3e4, 8e3, n).round(2),
        }
    )
    y, s = (rng.random(n) < 0.3).astype(int), rng.integers(0, 2, n)
    return _flat(X, s, y, rng=rng, **changed)


def _flat(X, s, y, *, rng, change=None):
    """Rows without any difference, some of them changed into others that are no more people."""
    rows, given = (np.arange(len(s)), {}) if change is None else change(rng, X, y, s)
    if "y" in given:
        X, y = given.pop("X"), given.pop("y")
    else:
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    half = np.full(len(rows), 0.5)
    return Population(X, s[rows], (half * 0.6, half * 0.6), half, y, **given)


def weights_between(low, high):
    return lambda rng, X, y, s: (
        np.arange(len(y)),
        {"sample_weight": rng.integers(low, high + 1, len(y))},
    )


def doubled(share):
    """This share of the rows once more each; above 1 all of them several times."""

    def change(rng, X, y, s):
        n = len(y)
        again = rng.choice(n, round(n * (share - int(share))), replace=False)
        return np.concatenate([np.tile(np.arange(n), 1 + int(share)), again]), {}

    return change


def bootstrap(rng, X, y, s):
    return rng.integers(0, len(y), len(y)), {}


def persons(n_rows):
    """Everybody several times: features nearly equal, nine answers in ten the same."""

    def change(rng, X, y, s):
        who = np.repeat(np.arange(len(y)), n_rows)
        X = X.iloc[who].reset_index(drop=True)
        X["income"] = (X["income"] + rng.normal(0, 200, len(X))).round(2)
        y = np.where(rng.random(len(who)) < 0.9, y[who], rng.permutation(y)[who])
        return who, {"X": X, "y": y, "clusters": who}

    return change


def discrete(seed, *, n=5000, ratio=1.0):
    """Six columns of two to five levels, where equal rows are ordinary; maybe a ratio in one level."""
    rng = np.random.default_rng(110_000 + seed)
    X = pd.DataFrame({f"c{k}": rng.integers(0, m, n) for k, m in enumerate((2, 3, 4, 5, 3, 2))})
    low = 0.2 + 0.2 * X["c2"].to_numpy() / 3
    high = np.where(X["c3"] == 1, ratio * low, low)
    return _drawn(rng, X, rng.random(n) < 0.5, (high, low), np.full(n, 0.5))


def paper_again(seed, *, delta, n, how):
    """The paper's data with weights of 1 to 3, or two rows a person."""
    one = paper(seed, delta=delta, mu=0.2, n=n)
    rng = np.random.default_rng(120_000 + seed)
    if how == "weights":
        one.given = {"sample_weight": rng.integers(1, 4, n)}
        return one
    who = np.repeat(np.arange(n), 2)
    rates = tuple(rate[who] for rate in one.rates)
    y = np.asarray(one.y)[who]
    X = one.X.iloc[who].reset_index(drop=True)
    return Population(X, one.s[who], rates, one.propensity[who], y, clusters=who)


def rare(seed, *, rate, n, ratio=1.0):
    """A rare outcome; in a quarter of x the group gets it ``ratio`` times as often."""
    rng = np.random.default_rng(130_000 + seed)
    X = rng.normal(size=(n, 3))
    region = (X[:, 0] > 0) & (X[:, 1] > 0)
    e = 1 / (1 + np.exp(-0.5 * X[:, 0]))
    low = rate * np.exp(0.3 * X[:, 2] - 0.045)
    population = _drawn(rng, X, rng.random(n) < e, (np.where(region, ratio, 1) * low, low), e)
    population.region = region
    return population


def _drawn(rng, X, s, rates, e):
    y = (rng.random(len(s)) < np.where(s, *rates)).astype(int)
    return Population(X, s.astype(int), rates, e, y)


REAL = {
    "COMPAS": Real(load_compas, "race", "African-American", 6500, True),
    "Adult": Real(load_adult, "sex", "Male", 44_000, True),
    "German": Real(load_german, "sex", "female", 900, True),
    "arrests": Real(load_arrests, "colour", "Black", 4700, False),
}


@functools.lru_cache
def _real(name):
    """Features, side and outcome."""
    real = REAL[name]
    home = {"data_home": os.environ.get("MDFA_DATA_HOME")} if real.in_home else {}
    data = real.load(**home)
    s = pd.DataFrame(data.sensitive_features)[real.feature].eq(real.group).to_numpy()
    return data.X, s, pd.factorize(data.y, sort=True)[0]


@functools.lru_cache
def _chances(name):
    """Outcome rate and propensity given the features alone."""
    X, s, y = _real(name)
    coded = pd.DataFrame(
        {c: v if pd.api.types.is_numeric_dtype(v) else pd.factorize(v)[0] for c, v in X.items()}
    )
    model = HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=100, random_state=0)
    return [
        cross_val_predict(model, coded, target, cv=5, method="predict_proba")[:, 1]
        for target in (y, s)
    ]


# -- black boxes that are rules or rates of the features; at equal features the side does nothing


def bits(seed, *, n):
    """The box is `any` of six of 31 bits; the side depends on its answer and on other bits."""
    rng = np.random.default_rng(140_000 + seed)
    B, v = rng.random((n, 31)) < 0.2, rng.normal(size=n)
    y = B[:, :6].any(axis=1)
    sign = np.where(B[:, 10:13].sum(axis=1) == 1, 1, -1)
    e = expit(0.5 * y * sign + 0.8 * v * np.where(B[:, 13], 1, -1))
    X = pd.DataFrame(B.astype(int)).add_prefix("b").assign(v=v)
    return _drawn(rng, X, rng.random(n) < e, (y, y), e)


def trees(seed, *, n, n_trees=12):
    """The box is a vote of shallow trees of five numbers; the side depends on its score."""
    rng = np.random.default_rng(145_000 + seed)
    X, score = rng.normal(size=(n, 5)), 0
    for t in range(n_trees):
        Z, noise = rng.normal(size=(300, 5)), rng.normal(size=300)
        a, b, c = Z[:, rng.integers(5, size=3)].T
        tree = DecisionTreeClassifier(max_depth=3, random_state=t)
        score = score + tree.fit(Z, a + b * c + noise > 0).predict(X)
    score = (score - score.mean()) / score.std()
    e, y = expit(1.2 * score), score > 0
    return _drawn(rng, X, rng.random(n) < e, (y, y), e)


def signs(seed, *, n):
    """The sign of a product of three numbers moves both side and outcome."""
    rng = np.random.default_rng(150_000 + seed)
    X = rng.normal(size=(n, 4))
    rate = expit(1.2 * np.sign(X[:, :3].prod(axis=1)))
    return _drawn(rng, X, rng.random(n) < rate, (rate, rate), rate)


def step(seed, *, n):
    """Side and outcome jump together at the edges of quadrants."""
    rng = np.random.default_rng(155_000 + seed)
    X = rng.normal(size=(n, 3))
    jump = (X[:, 0] > 0.3) ^ (X[:, 1] > 0.2)
    rate, e = np.where(jump, 0.8, 0.2), np.where(jump, 0.9, 0.1)
    return _drawn(rng, X, rng.random(n) < e, (rate, rate), e)


def levels(seed, *, n, n_levels):
    """Many branches, each with its own outcome rate and share of the group; age does nothing."""
    rng = np.random.default_rng(160_000 + seed)
    outcome = rng.normal(size=n_levels)
    side = 0.7 * outcome + 0.6 * rng.normal(size=n_levels)
    branch = rng.integers(n_levels, size=n)
    X = pd.DataFrame({"branch": [f"b{k:03d}" for k in branch], "age": rng.integers(18, 80, n)})
    rate, e = expit(outcome[branch]), expit(side[branch])
    return _drawn(rng, X, rng.random(n) < e, (rate, rate), e)


def box(seed, *, data, rule, n):
    """Rows of real people with their real groups, and a rule of their features as outcome.

    Another sample and another rule every time, which a tenth to six tenths of the people meet.
    """
    X, s, outcome = _real(data)
    rng = np.random.default_rng(165_000 + seed)
    answers = np.zeros(len(X), bool)
    while not 0.1 < answers.mean() < 0.6:
        answers = rule(rng, X, outcome)
    rows = rng.choice(len(X), n, replace=False)
    y = answers[rows]
    unknown = np.full(n, np.nan)
    return _drawn(rng, X.iloc[rows].reset_index(drop=True), s[rows], (y, y), unknown)


def _cut(rng, column):
    """A number at or above, or below, somebody's; a category at somebody's."""
    value = column.iloc[rng.integers(len(column))]
    if not pd.api.types.is_numeric_dtype(column):
        return column.eq(value).to_numpy()
    return (column.ge(value) if rng.random() < 0.5 else column.lt(value)).to_numpy()


def cuts(n_columns, join, numbers=False):
    def rule(rng, X, outcome):
        among = X.select_dtypes("number") if numbers else X
        chosen = rng.choice(among.shape[1], n_columns, replace=False)
        return join.reduce([_cut(rng, among.iloc[:, k]) for k in chosen])

    return rule


def fitted(model):
    """A model of the real outcome, fitted without the group to half of the rows, at a threshold."""

    def rule(rng, X, outcome):
        coded = pd.get_dummies(X, dtype=float)
        half = rng.choice(len(X), min(len(X) // 2, 5000), replace=False)
        one = clone(model)
        if "random_state" in one.get_params():
            one.set_params(random_state=int(rng.integers(1000)))
        score = one.fit(coded.iloc[half], outcome[half]).predict_proba(coded)[:, 1]
        return score >= np.quantile(score, 1 - rng.uniform(0.15, 0.5))

    return rule


def planted(seed, *, make, ratio):
    """Another population with a violation on top, in a half-space of two numbers.

    It holds about a quarter of the rows and, as no audit looks at less than a tenth of those with
    the outcome, 15 % of them; those not of the group lose the outcome there.
    """
    one = make(seed)
    rng = np.random.default_rng(170_000 + seed)
    ranks = pd.DataFrame(one.X).select_dtypes("number").rank(pct=True).to_numpy()

    def half_space():
        pair = rng.choice(ranks.shape[1], min(2, ranks.shape[1]), replace=False)
        along = ranks[:, pair] @ rng.choice([-1, 1], len(pair))
        return along >= np.quantile(along, 0.75)

    def off(region):
        return abs(region.mean() - 0.25) if region[one.y == 1].mean() > 0.15 else 1.0

    one.region = min((half_space() for _ in range(20)), key=off)
    kept = np.where(one.region, 1 / ratio, 1.0)
    one.y = one.y * ((one.s == 1) | (rng.random(len(one.y)) < kept))
    one.rates = (one.rates[0], one.rates[1] * kept)
    return one


NULLS = {
    "paper, mu = +0.2": functools.partial(paper, delta=0.0, mu=0.2, n=2000),
    "paper, mu = -0.2": functools.partial(paper, delta=0.0, mu=-0.2, n=2000),
    "paper, mu = +0.3": functools.partial(paper, delta=0.0, mu=0.3, n=2000),
    "paper, mu = -0.3": functools.partial(paper, delta=0.0, mu=-0.3, n=2000),
    "noise by x, mu = +0.3": functools.partial(noise_by_x, mu=0.3),
    "noise by x, mu = -0.3": functools.partial(noise_by_x, mu=-0.3),
    "six noise features": pure_noise,
    "six noise features, 600 rows": functools.partial(pure_noise, n=600),
    "sixty noise features": functools.partial(pure_noise, d=60),
    # From 10,000 rows on the trees of two folds are shared.
    "six noise features, 12,000 rows": functools.partial(pure_noise, n=12_000),
    "noise by x, mu = +0.3, 12,000 rows": functools.partial(noise_by_x, mu=0.3, n=12_000),
    "COMPAS, outcomes redrawn": compas,
    "Adult, outcomes redrawn": adult,
}
POWER = {
    f"n = {n}, delta = {delta}": functools.partial(paper, delta=delta, mu=0.2, n=n)
    for n, delta in ((1000, 0.3), (1000, 0.5), (5000, 1.0))
}
COVERAGE = {
    f"n = {n}, delta = {delta}": functools.partial(paper, delta=delta, mu=0.2, n=n)
    for n in (1000, 5000, 12_000)
    for delta in (0.0, 0.5, 1.5, 3.0)
} | {"COMPAS, planted ratio 2": functools.partial(compas, ratio=2.0)}
_CHANGES = {
    "weights 1 to 5": weights_between(1, 5),
    "weights 20 to 199": weights_between(20, 199),
    "weights all 3": weights_between(3, 3),
    **{f"{share:.0%} doubled": doubled(share) for share in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)},
    "bootstrap sample": bootstrap,
    "three rows a person": persons(3),
}
EVIDENCE = {
    f"coins, {name}, n = {n}": functools.partial(coins, n=n, change=change)
    for name, change in _CHANGES.items()
    for n in (700, 2000)
} | {"six discrete columns": discrete}
EVIDENCE_POWER = {
    f"n = {n}, delta = {delta}, {name}": functools.partial(make, delta=delta, n=n, **more)
    for n, delta in ((500, 0.3), (1000, 0.2))
    for name, make, more in (
        ("one row a person", paper, {"mu": 0.2}),
        ("weights 1 to 3", paper_again, {"how": "weights"}),
        ("two rows a person", paper_again, {"how": "rows"}),
    )
} | {"six discrete columns, ratio 1.6": functools.partial(discrete, ratio=1.6)}
# Rows with weights of 1, 2 and 3 know as much as six sevenths of them of equal weight.
EVIDENCE_POWER |= {
    f"n = {n}, delta = {delta}, as many as weights 1 to 3 are worth": functools.partial(
        paper, delta=delta, mu=0.2, n=round(n * 6 / 7)
    )
    for n, delta in ((500, 0.3), (1000, 0.2))
}
RARE = {
    f"rate {rate}, n = {n}, ratio {ratio}": functools.partial(rare, rate=rate, n=n, ratio=ratio)
    for rate in (0.02, 0.08)
    for n in (5000, 20_000)
    for ratio in (1.0, 3.0)
}
DESIGNS = {
    "bits": bits,
    "trees": trees,
    "signs": signs,
    "step": step,
    **{f"{m} levels": functools.partial(levels, n_levels=m) for m in (50, 120, 200)},
    "coins": coins,
}
RULES = {
    "any of four": cuts(4, np.logical_or),
    "two at once": cuts(2, np.logical_and),
    "one threshold": cuts(1, np.logical_or, numbers=True),
    "two thresholds": cuts(2, np.logical_and, numbers=True),
    "tree of depth 3": fitted(DecisionTreeClassifier(max_depth=3)),
    "tree of depth 6": fitted(DecisionTreeClassifier(max_depth=6)),
    "forest": fitted(RandomForestClassifier(min_samples_leaf=5)),
    "logistic": fitted(make_pipeline(StandardScaler(), LogisticRegression())),
    "boosting": fitted(HistGradientBoostingClassifier()),
}


def boxes(sizes):
    """Every design and every rule on real data, at these sizes or as many rows as there are."""
    made = {
        f"{name}, n = {n}": functools.partial(make, n=n)
        for name, make in DESIGNS.items()
        for n in sizes
    }
    return made | {
        f"{data}, {name}, n = {n}": functools.partial(box, data=data, rule=rule, n=n)
        for data, real in REAL.items()
        for name, rule in RULES.items()
        for n in sorted({min(n, real.n) for n in sizes})
    }


BOXES = boxes((2000, 12_000))
PLANTS = {
    f"{name}, ratio {ratio}": functools.partial(planted, make=make, ratio=ratio)
    for name, make in boxes((3000, 8000)).items()
    for ratio in (1.65, 3)
}
P_VALUES = {
    f"{name}, n = {n}": functools.partial(make, n=n, **more)
    for n in (500, 1000, 2000)
    for name, make, more in (
        *((f"paper, mu = {mu}", paper, {"delta": 0.0, "mu": mu}) for mu in (-0.3, 0.0, 0.2)),
        *((f"noise by x, mu = {mu}", noise_by_x, {"mu": mu}) for mu in (-0.3, 0.3)),
        ("six noise features", pure_noise, {}),
    )
}
TABLES = {
    "nulls": NULLS,
    "power": POWER,
    "coverage": COVERAGE,
    "evidence": EVIDENCE,
    "evidence_power": EVIDENCE_POWER,
    "rare": RARE,
    "boxes": BOXES,
    "plants": PLANTS,
    "p_values": P_VALUES,
}
