"""How well the MMD network balances beside entropy balancing, how long it takes, and on which device.

    python tests/benchmarks/network.py                   # 5,000 and 50,000 rows
    python tests/benchmarks/network.py --device cuda     # the same on a GPU

Imbalance is the MMD as a share of that of equal weights, on the rows fitted to and on as many new ones;
the error of gamma is that of the half disc's certificate (Section 4.1) on the rows fitted to. "Bounded"
is entropy balancing whose weights keep to ten times their average, as the paper's do.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from scipy.special import expit

from mdfa_fairness_plugin.balance import EntropyBalancing, MMDNetwork
from mdfa_fairness_plugin.balance.mmd import diagnose_mmd
from mdfa_fairness_plugin.datasets import make_synthetic

BOUND = 10.0
MUS = (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3)


class Bounded(EntropyBalancing):
    """Weights of the form B / (1 + (B - 1) exp(-a - b . f(x))): the same aim, each at most B."""

    def _learn(self, X, positive, base, label):
        super()._learn(X, positive, base, label)
        F = self._features(X)
        self._target = F[~positive].mean(axis=0)
        gap = self._gap(X[positive])
        ridge = np.full(gap.shape[1], 100.0 / min(positive.sum(), (~positive).sum()))
        ridge[-1] = 0.0

        def dual(coefficients):
            score = gap @ coefficients
            value = (
                BOUND * np.logaddexp(0.0, score - math.log(BOUND - 1.0)).mean() - coefficients[-1]
            )
            slope = self._of(score) @ gap / len(gap)
            slope[-1] -= 1.0
            return value + ridge @ coefficients**2 / 2.0, slope + ridge * coefficients

        self._within = self._minimise(dual, gap.shape[1], 1_000, ftol=1e-12, gtol=1e-7, maxcor=30)
        return self._relative(X[positive])

    def _relative(self, X):
        return self._of(self._gap(X) @ self._within)

    def _gap(self, X):
        return np.column_stack([self._features(X) - self._target, np.ones(len(X))])

    def _of(self, score):
        return BOUND * expit(score - math.log(BOUND - 1.0))


def left(X, s, balancer):
    before, after = diagnose_mmd(X, s, [np.ones(len(s)), balancer.weights(X, s)])[0]
    return after / before


def gamma_error(data, rows, balancer):
    """Half the difference of both sides' shares with the outcome in the half disc, less its truth."""
    X, s = data.X.to_numpy()[rows], data.sensitive_features.to_numpy()[rows]
    region, y = data.region[rows], data.y.to_numpy()[rows] == 1
    w = balancer.weights(X, s)
    share = [w[(s == side) & region & y].sum() / w[s == side].sum() / 2 for side in (1, -1)]
    # The features of S = -1, of whom a share exp(-delta) has the outcome there.
    target = np.average(data.region, weights=1.0 - data.propensity)
    return abs((share[0] - share[1]) / 2 - target * (1.0 - math.exp(-data.delta)) / 4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device")
    args = parser.parse_args()
    for n in args.sizes:
        for mu in MUS:
            found = {}
            for seed in range(args.seeds):
                data = make_synthetic(2 * n, 1.0, mu, random_state=seed)
                X, s = data.X.to_numpy(), data.sensitive_features.to_numpy()
                for name, balancer in (
                    ("entropy", EntropyBalancing(random_state=0)),
                    ("bounded", Bounded(random_state=0)),
                    ("network", MMDNetwork(random_state=0, device=args.device)),
                ):
                    start, cpu = time.perf_counter(), time.process_time()
                    balancer.fit(X[:n], s[:n])
                    seconds = (time.perf_counter() - start, time.process_time() - cpu)
                    rows = slice(0, n)
                    row = (left(X[rows], s[rows], balancer), left(X[n:], s[n:], balancer))
                    found.setdefault(name, []).append(
                        (*row, gamma_error(data, rows, balancer), *seconds)
                    )
            for name, values in found.items():
                own, new, error, wall, cpu = np.mean(values, axis=0)
                print(
                    f"n = {n}, mu = {mu:+.1f}, {name}: imbalance left {own:.4f}, of new rows "
                    f"{new:.3f}; error of gamma {error:.4f}; {wall:.1f} s ({cpu:.1f} s of CPU)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
