"""Intervals of rules taken as subgroups of their own, over many data sets.

Run from the repository root, for example::

    python tests/benchmarks/rules.py --runs 100

On data without a violation it prints how often a search's interval lies above zero, for the subgroup
and for its rule, over all searches and over those that gave a rule; where a violation was planted,
how often the rule's interval covers the ratio of the known rates of the rows the rule covers.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import MDFAWarning


def noise(seed, n, d):
    rng = np.random.default_rng(90_000 + seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n), rng.integers(0, 2, n)


def noise_by_x(seed, n, mu=0.3):
    """Outcome and group both depend on x, and not on each other."""
    rng = np.random.default_rng(80_000 + seed)
    X = rng.normal(size=(n, 2))
    s = rng.random(n) < 1 / (1 + np.exp(-mu * X.sum(axis=1) ** 2))
    y = rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1] ** 2 / 2))
    return X, y.astype(int), s.astype(int)


def nulls(name, make, runs):
    found = []
    for seed in range(runs):
        X, y, s = make(seed)
        for v in mdfa.audit(X, y, sensitive_features=s, random_state=seed).violations:
            has_rule = v.rule not in ("", "everybody") and v.rule_subgroup.measured
            found.append((has_rule, v.interval[0] > 0, v.rule_subgroup.interval[0] > 0))
    table = np.array(found)
    ruled = table[table[:, 0]]
    print(
        f"{name:<22} searches {len(table)}: subgroup above zero {table[:, 1].mean():.3f}, rule "
        f"{table[:, 2].mean():.3f}; with a rule {len(ruled)}: {ruled[:, 1].mean():.3f}, "
        f"{ruled[:, 2].mean():.3f}",
        flush=True,
    )


def planted(runs, n, ratio=2.0):
    """A box or a disc where the group has the outcome twice as often; x says nothing of S."""
    for shape in ("box", "disc"):
        covered, ruled, deltas = 0, 0, []
        for seed in range(runs):
            rng = np.random.default_rng(70_000 + seed)
            X = rng.uniform(-1, 1, size=(n, 2))
            inside = (X < 0.3).all(axis=1) if shape == "box" else (X**2).sum(axis=1) < 0.6
            s = rng.integers(0, 2, n)
            rate = np.where(inside & (s == 1), 0.3 * ratio, 0.3)
            y = (rng.random(n) < rate).astype(int)
            auditor = mdfa.MDFAuditor(groups=[1], outcomes=[1], random_state=seed)
            auditor.fit(X, y, sensitive_features=s)
            (v,) = auditor.result_.violations
            if v.rule in ("", "everybody"):
                continue
            ruled += 1
            # The printed rule; those of the folds differ a little, which the interval has to bear.
            meets = auditor._searches[0].rule.applies(_frame(X))
            truth = np.log(np.where(inside[meets], 0.3 * ratio, 0.3).mean() / 0.3)
            covered += v.rule_subgroup.interval[0] <= truth <= v.rule_subgroup.interval[1]
            deltas.append(v.rule_subgroup.delta - truth)
        print(
            f"planted {shape:<14} rules {ruled} of {runs}: interval covers {covered / ruled:.3f}, "
            f"mean error {np.mean(deltas):+.3f}",
            flush=True,
        )


def _frame(X):
    import pandas as pd

    return pd.DataFrame(X, columns=["x0", "x1"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rows", type=int, default=2000)
    args = parser.parse_args()
    warnings.simplefilter("ignore", MDFAWarning)
    planted(args.runs, args.rows)
    nulls("six noise features", lambda seed: noise(seed, args.rows, 6), args.runs)
    nulls("noise by x", lambda seed: noise_by_x(seed, args.rows), args.runs)


if __name__ == "__main__":
    main()
