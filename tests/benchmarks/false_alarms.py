"""False alarms, power and coverage of the default audit over many data sets.

Run from the repository root, for example::

    python tests/benchmarks/false_alarms.py nulls --runs 200
    python tests/benchmarks/false_alarms.py power --runs 100
    python tests/benchmarks/false_alarms.py coverage --runs 100

On data without a violation it prints the share of audits that report one in any search, the spread
of the test statistic, and how often an interval lies above zero. Coverage is of the found subgroup's
own delta, from the known rates of its rows.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.exceptions import MDFAWarning
from mdfa_fairness_plugin.inference.tests import SEARCH_SPREAD


def paper(mu, n=2000):
    def make(seed):
        data = make_synthetic(n_samples=n, delta=0.0, imbalance=mu, random_state=70_000 + seed)
        return data.X, data.y, data.sensitive_features

    return make


def noisy_outcome(mu, n=2000):
    """Outcome noise that depends on x alone."""

    def make(seed):
        rng = np.random.default_rng(80_000 + seed)
        X = rng.normal(size=(n, 2))
        s = rng.random(n) < 1 / (1 + np.exp(-mu * X.sum(axis=1) ** 2))
        y = rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1] ** 2 / 2))
        return X, y.astype(int), s.astype(int)

    return make


def pure_noise(seed, n=2000):
    rng = np.random.default_rng(90_000 + seed)
    return rng.normal(size=(n, 6)), rng.integers(0, 2, n), rng.integers(0, 2, n)


def one_null(make, seed):
    warnings.simplefilter("ignore", MDFAWarning)
    X, y, s = make(seed)
    result = mdfa.audit(X, y, sensitive_features=s, random_state=seed)
    p = np.array([v.p_value for v in result.violations])
    return (
        any(v.verdict == "violation" for v in result.violations),
        any(v.interval[0] > 0 for v in result.violations if v.measured),
        norm.isf(p) * SEARCH_SPREAD,
    )


def nulls(args):
    cases = {
        "paper, mu = +0.2": paper(0.2),
        "paper, mu = -0.3": paper(-0.3),
        "noise by x, mu = +0.3": noisy_outcome(0.3),
        "noise by x, mu = -0.3": noisy_outcome(-0.3),
        "six noise features": pure_noise,
    }
    print(f"{'case':<26}{'violations':>12}{'interval > 0':>14}{'mean z':>9}{'sd z':>7}   runs")
    for name, make in cases.items():
        if args.case and args.case not in name:
            continue
        runs = Parallel(n_jobs=args.jobs)(delayed(one_null)(make, i) for i in range(args.runs))
        z = np.concatenate([run[2] for run in runs])
        z = z[np.isfinite(z)]
        print(
            f"{name:<26}{np.mean([r[0] for r in runs]):>12.3f}"
            f"{np.mean([r[1] for r in runs]):>14.3f}{z.mean():>9.2f}{z.std():>7.2f}   {args.runs}",
            flush=True,
        )


def one_planted(n, delta, seed):
    """Whether a violation was reported, and whether each interval covers the subgroup's delta."""
    warnings.simplefilter("ignore", MDFAWarning)
    data = make_synthetic(n_samples=n, delta=delta, imbalance=0.2, random_state=60_000 + seed)
    result = mdfa.audit(
        data.X, data.y, sensitive_features=data.sensitive_features, random_state=seed
    )
    p1, p0 = data.rates
    covered = []
    for v in result.violations:
        rates = (p1, p0) if v.group == 1 else (p0, p1)
        if v.outcome == 0:
            rates = tuple(1 - rate for rate in rates)
        e = data.propensity
        overlap = (e * (1 - e))[v.membership]
        with np.errstate(divide="ignore"):
            truth = np.log(np.average(rates[0][v.membership], weights=overlap)) - np.log(
                np.average(rates[1][v.membership], weights=overlap)
            )
        covered.append(bool(v.interval[0] <= truth <= v.interval[1]))
    found = any(v.verdict == "violation" for v in result.violations)
    planted = next(i for i, v in enumerate(result.violations) if (v.group, v.outcome) == (1, 1))
    return found, covered[planted], np.mean(covered)


def power(args):
    for n, delta in ((1000, 0.5), (5000, 1.0)):
        runs = Parallel(n_jobs=args.jobs)(
            delayed(one_planted)(n, delta, seed) for seed in range(args.runs)
        )
        print(f"n = {n}, delta = {delta}: found {np.mean([r[0] for r in runs]):.3f}", flush=True)


def coverage(args):
    for n in (1000, 5000):
        for delta in (0.0, 0.5, 1.5, 3.0):
            runs = Parallel(n_jobs=args.jobs)(
                delayed(one_planted)(n, delta, seed) for seed in range(args.runs)
            )
            print(
                f"n = {n}, delta = {delta}: planted search {np.mean([r[1] for r in runs]):.3f}, all "
                f"searches {np.mean([r[2] for r in runs]):.3f}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=["nulls", "power", "coverage"])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", default="")
    args = parser.parse_args()
    {"nulls": nulls, "power": power, "coverage": coverage}[args.table](args)


if __name__ == "__main__":
    main()
