"""False alarms, power and coverage of the default audit over many data sets.

Run from the repository root, for example::

    python tests/benchmarks/false_alarms.py nulls --runs 200 --jobs 2
    python tests/benchmarks/false_alarms.py power --runs 200
    python tests/benchmarks/false_alarms.py coverage --runs 200 --case "n = 1000"
    python tests/benchmarks/false_alarms.py evidence --runs 60 --jobs 2
    python tests/benchmarks/false_alarms.py evidence_power --runs 200
    python tests/benchmarks/false_alarms.py rare --runs 60

On data without a violation it prints the share of audits that report one in any search, the share of
searches with a p-value below .05, the spread of the test statistic in regions that were searched for
and elsewhere, and how often an interval excludes zero. Coverage is of the found subgroup's own
delta, from the known rates of its rows. COMPAS and Adult (under ``MDFA_DATA_HOME``) lend their features
and sensitive values; outcomes are redrawn from a model that does not see the sensitive value.

"evidence" are coin flips given as rows that are no people: with whole-number weights, copied, several
rows a person with ``clusters``. A line fails if as many false alarms have a probability below .001
where one audit in twenty has one. "evidence_power" sets weights and clusters beside as many people of
one row each; "rare" are rare outcomes, without and with three times the rate in a quarter of x.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom, norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.datasets import load_adult, load_compas, make_synthetic
from mdfa_fairness_plugin.exceptions import MDFAWarning
from mdfa_fairness_plugin.measure.tests import SEARCH_SPREAD


class Population:
    """Rows with known outcome rates: features, sides, rates of both sides, propensity."""

    def __init__(self, X, s, rates, propensity, y, region=None, **given):
        self.X, self.s, self.rates, self.propensity, self.y = X, s, rates, propensity, y
        self.region = region  # where a violation is planted
        self.given = given  # more arguments of the audit: weights, clusters

    def truth(self, violation):
        """Delta of a found subgroup at its members' features."""
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
    X, s, rate, e, _ = _real("compas")
    rng = np.random.default_rng(70_000 + seed)
    planted = (X["age_cat"] == "Less than 25").to_numpy()
    # Both rates around the model's, their ratio as asked.
    low = np.where(planted, np.minimum(2.0 * rate / (1.0 + ratio), 1.0 / ratio), rate)
    high = np.where(planted, ratio * low, rate)
    return _drawn(rng, X, s, (high, low), e)


def adult(seed, *, n=4000):
    X, s, rate, e, _ = _real("adult")
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


@functools.lru_cache
def _real(name):
    """Features, side, outcome rate and propensity given the features alone, and the outcome."""
    if name == "compas":
        data = load_compas(data_home=os.environ.get("MDFA_DATA_HOME"))
        s = (data.sensitive_features["race"] == "African-American").to_numpy()
    else:
        data = load_adult(data_home=os.environ.get("MDFA_DATA_HOME"))
        s = (data.sensitive_features["sex"] == "Male").to_numpy()
    coded = pd.DataFrame(
        {
            c: v if pd.api.types.is_numeric_dtype(v) else pd.factorize(v)[0]
            for c, v in data.X.items()
        }
    )
    model = HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=100, random_state=0)
    y = np.asarray(data.y)
    rate, e = (
        cross_val_predict(model, coded, target, cv=5, method="predict_proba")[:, 1]
        for target in (y, s)
    )
    return data.X, s, rate, e, y


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
    for n, delta in ((1000, 0.5), (5000, 1.0))
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
TABLES = {
    "nulls": NULLS,
    "power": POWER,
    "coverage": COVERAGE,
    "evidence": EVIDENCE,
    "evidence_power": EVIDENCE_POWER,
    "rare": RARE,
}


def one_run(make, seed, options):
    """One line per search of one audit."""
    warnings.simplefilter("ignore", MDFAWarning)
    population = make(seed)
    result = mdfa.audit(
        population.X,
        population.y,
        sensitive_features=population.s,
        random_state=seed,
        **population.given,
        **options,
    )
    warned = any(one.category == "RepeatedRowsWarning" for one in result.warnings)
    lines = []
    for v in result.violations:
        if not v.measured:
            continue
        truth = population.truth(v)
        searched = v.share < 1
        inside, overlap = v.membership, np.nan
        if population.region is not None:
            both = (inside & population.region).sum()
            overlap = both / max((inside | population.region).sum(), 1)
        spread = SEARCH_SPREAD if searched else 1.0
        lines.append(
            {
                "seed": seed,
                "group": v.group,
                "outcome": v.outcome,
                "violation": v.verdict == "violation",
                "p": v.p_value,
                "z": norm.isf(v.p_value) * spread,
                "searched": searched,
                "delta": v.delta,
                "truth": truth,
                "low": v.interval[0],
                "high": v.interval[1],
                "core_low": v.core.interval[0],
                "overlap": overlap,
                "warned": warned,
            }
        )
    return pd.DataFrame(lines)


def describe_nulls(lines, runs):
    z = lines["z"].replace([np.inf, -np.inf], np.nan)
    alarms = lines.groupby("seed")["violation"].any().sum() / runs
    above = lines.groupby("seed")["low"].max().gt(0).sum() / runs
    return (
        f"alarms {alarms:.3f} | p < .05 {lines['p'].lt(0.05).mean():.3f} | searched "
        f"{lines['searched'].mean():.2f}: z {z[lines['searched']].mean():+.2f} sd "
        f"{z[lines['searched']].std():.2f}; everybody: z {z[~lines['searched']].mean():+.2f} sd "
        f"{z[~lines['searched']].std():.2f} | interval above 0: search "
        f"{lines['low'].gt(0).mean():.3f}, audit {above:.3f} | covered {_covered(lines).mean():.3f}"
    )


def describe_power(lines, runs):
    return f"found {lines.groupby('seed')['violation'].any().sum() / runs:.3f}"


def describe_evidence(lines, runs):
    """Audits with a false alarm, and the chance of as many if one in twenty has one."""
    alarms = int(lines.groupby("seed")["violation"].any().sum())
    chance = binom.sf(alarms - 1, runs, 0.05)
    return (
        f"alarms {alarms} of {runs}, chance of as many {chance:.3f}"
        f"{' FAILS' if chance < 0.001 else ''} | p < .05 {lines['p'].lt(0.05).mean():.3f} | z sd "
        f"{lines['z'].replace([np.inf, -np.inf], np.nan).std():.2f} | warned of copies "
        f"{lines.groupby('seed')['warned'].any().sum()}"
    )


def describe_rare(lines, runs):
    planted = lines[lines["group"].eq(1) & lines["outcome"].eq(1)]
    return (
        f"{describe_evidence(lines, runs)} | planted search: found "
        f"{planted['violation'].sum()}, overlap {planted['overlap'].mean():.2f}, of those found "
        f"{planted.loc[planted['violation'], 'overlap'].mean():.2f}"
    )


def describe_coverage(lines, runs):
    covered = _covered(lines)
    planted = lines["group"].eq(1) & lines["outcome"].eq(1)
    inside = lines[planted]
    error = (inside["delta"] - inside["truth"]).replace([np.inf, -np.inf], np.nan)
    return (
        f"planted search {covered[planted].mean():.3f} (too high "
        f"{inside['low'].gt(inside['truth']).mean():.3f}, too low "
        f"{inside['high'].lt(inside['truth']).mean():.3f}), all searches {covered.mean():.3f}; mean "
        f"error {error.mean():+.3f}, its spread {error.std():.3f}, mean width "
        f"{(inside['high'] - inside['low']).replace(np.inf, np.nan).mean():.3f}"
    )


def _covered(lines):
    return lines["low"].le(lines["truth"]) & lines["truth"].le(lines["high"])


DESCRIBE = {
    "nulls": describe_nulls,
    "power": describe_power,
    "coverage": describe_coverage,
    "evidence": describe_evidence,
    "evidence_power": describe_power,
    "rare": describe_rare,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=list(TABLES))
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", default="", help="part of the case's name")
    parser.add_argument("--evaluation", default="cross_fit")
    parser.add_argument("--out", help="folder for one CSV of all searches per case")
    args = parser.parse_args()
    options = {"evaluation": args.evaluation}
    for name, make in TABLES[args.table].items():
        if args.case not in name:
            continue
        started = time.perf_counter()
        lines = pd.concat(
            Parallel(n_jobs=args.jobs)(
                delayed(one_run)(make, seed, options) for seed in range(args.runs)
            ),
            ignore_index=True,
        )
        if args.out:
            os.makedirs(args.out, exist_ok=True)
            file = "".join(c if c.isalnum() else "_" for c in f"{args.table} {name}")
            lines.to_csv(os.path.join(args.out, f"{file}.csv"), index=False)
        seconds = (time.perf_counter() - started) / args.runs
        text = DESCRIBE[args.table](lines, args.runs)
        print(f"{name:<30}{text}; {args.runs} runs, {seconds:.2f} s each", flush=True)


if __name__ == "__main__":
    main()
