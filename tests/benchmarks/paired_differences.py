"""How often intervals on the difference of two models' worst cases cover the truth.

    python tests/benchmarks/paired_differences.py --runs 200 --splits 10

Two models of the same people: A treats the group unequally where x1 > 0, B as much where x2 > 0 (case
"moved"), or half as much in A's own region, making the same errors as A elsewhere ("eased"), or
neither treats anybody unequally ("equal"). For every run the true difference inside the two subgroups
found is known from the rates. Two intervals are compared: that of ``compare`` (sums of squared
differences of influences, cross-fitted), and the mean over repeated splits with the variance of Nadeau
and Bengio (2003), ``(1 / J + 3 / 7) s^2``. The second is judged by the mean over all runs.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import pandas as pd
from scipy.stats import t as student

import mdfa_fairness_plugin as mdfa


def draw(case, n, seed):
    """Features, group, and both models' rates and outcomes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 3)), columns=["x1", "x2", "x3"])
    first = rng.random(n) < 0.5
    sign = np.where(first, 1, -1)
    height = {"moved": (0.2, 0.2), "eased": (0.2, 0.1), "equal": (0.0, 0.0)}[case]
    where = "x2" if case == "moved" else "x1"
    rates = {
        "A": 0.5 + height[0] * sign * (X["x1"] > 0).to_numpy(),
        "B": 0.5 + height[1] * sign * (X[where] > 0).to_numpy(),
    }
    chance = rng.random(n)
    # The same luck for both models ("eased") or for half of the people: their answers go together.
    shared = 1.0 if case == "eased" else 0.5
    own = np.where(rng.random(n) < shared, chance, rng.random(n))
    outcomes = {"A": (chance < rates["A"]).astype(int), "B": (own < rates["B"]).astype(int)}
    return X, np.where(first, "a", "b"), rates, outcomes


def true_delta(rate, group, member):
    """Log ratio of the true rates of those in the subgroup."""
    means = [rate[member & (group == side)].mean() for side in ("a", "b")]
    return math.log(means[0] / means[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--cases", nargs="+", default=["moved", "eased", "equal"])
    arguments = parser.parse_args()
    for case in arguments.cases:
        covered, width, unpaired, estimates, splits = [], [], [], [], []
        for seed in range(arguments.first, arguments.first + arguments.runs):
            X, group, rates, outcomes = draw(case, arguments.rows, seed)
            result = mdfa.compare(
                X,
                outcomes,
                sensitive_features=group,
                groups=["a"],
                outcomes=[1],
                n_splits=arguments.splits,
                random_state=seed,
            )
            found = next(d for d in result.differences if d.quantity == "worst case")
            deltas = {}
            for model, audit in result.audits.items():
                member = audit.violations[0].membership
                deltas[model] = true_delta(rates[model], group, member)
            truth = deltas["B"] - deltas["A"]
            low, high = found.interval
            if math.isnan(low):
                continue
            covered.append(low <= truth <= high)
            width.append(high - low)
            rows = [result.row(model, result.searches[0]) for model in ("A", "B")]
            unpaired.append(math.hypot(*(r.interval[1] - r.interval[0] for r in rows)))
            estimates.append(found.difference - truth)
            own = result.split_delta[:, 0, [0, 1], [0, 1]]
            splits.append(own[:, 1] - own[:, 0])
        n = len(covered)
        print(
            f"{case}: {n} runs; covers {np.mean(covered):.3f} "
            f"(+- {math.sqrt(0.05 * 0.95 / n) * 1.96:.3f}), mean width {np.mean(width):.2f} "
            f"(unpaired {np.mean(unpaired):.2f}), error {np.mean(estimates):+.3f} "
            f"(sd {np.std(estimates):.3f})"
        )
        if arguments.splits:
            values = np.array(splits)
            values = values[np.isfinite(values).all(axis=1)]
            n_splits = values.shape[1]
            mean, sd = values.mean(axis=1), values.std(axis=1, ddof=1)
            quantile = student.ppf(0.975, n_splits - 1)
            for name, factor in (("as if independent", 0.0), ("Nadeau and Bengio", 3 / 7)):
                half = quantile * sd * math.sqrt(1 / n_splits + factor)
                hit = np.abs(mean - mean.mean()) <= half
                print(
                    f"  splits, {name}: covers {hit.mean():.3f}, mean width {2 * half.mean():.2f}"
                )


if __name__ == "__main__":
    main()
