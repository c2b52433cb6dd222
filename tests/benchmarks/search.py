"""How well the default audit finds planted regions: the tables behind the figures in README.md here.

Run from the repository root, for example::

    python tests/benchmarks/search.py regions --seeds 20
    python tests/benchmarks/search.py all --seeds 20

Each table prints the mean over seeds. Regions are fitted on 70 % of the rows (of ``wide`` and ``noisy``
on n of them) and judged by ``predict`` on the other 30 %. The noise floor is the error of delta when
the true region is known, with oracle weights, on the same rows.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import expit
from sklearn.utils import Bunch

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.datasets import (
    load_adult,
    load_arrests,
    load_compas,
    load_crimes,
    load_german,
    make_shape,
    make_synthetic,
)
from mdfa_fairness_plugin.exceptions import MDFAWarning

AUDITED = 0.7  # of the rows; the others judge


def overlap(a, b):
    """Intersection over union."""
    return float((a & b).sum() / max((a | b).sum(), 1))


def oracle_delta(data, rows):
    """Log ratio inside the true region with oracle weights."""
    inside = rows & data.region
    group = np.asarray(data.sensitive_features)[inside] == 1
    y = np.asarray(data.y)[inside] == 1
    e = data.propensity[inside]
    weight = np.where(group, (1 - e) / e, 1.0)
    rates = [np.average(y[side], weights=weight[side]) for side in (group, ~group)]
    with np.errstate(divide="ignore"):
        return float(min(np.log(rates[0]) - np.log(rates[1]), 20.0))


def planted(result):
    """The search the violation was planted in: S = 1, outcome 1."""
    return next(v for v in result.violations if v.group == 1 and v.outcome == 1)


def one_fit(make, seed, truth, **arguments):
    """Overlap of ``predict`` and of the planted search, error of delta, noise floor, seconds."""
    warnings.simplefilter("ignore", MDFAWarning)
    data = make(seed)
    n = len(data.y)
    train = np.arange(n) < int(AUDITED * n)
    auditor = mdfa.MDFAuditor(random_state=seed, **arguments)
    start = time.perf_counter()
    auditor.fit(data.X[train], data.y[train], sensitive_features=data.sensitive_features[train])
    seconds = time.perf_counter() - start
    v = planted(auditor.result_)
    region = np.asarray(data.region)
    return (
        overlap(auditor.predict(data.X[~train]), region[~train]),
        overlap(v.membership, region[train]),
        v.delta - truth,
        abs(v.delta - truth),
        abs(oracle_delta(data, train) - truth),
        seconds,
    )


def table(title, cases, args, seeds=None):
    seeds = args.seeds if seeds is None else seeds
    print(f"\n{title}, {seeds} seeds")
    print(
        f"{'case':<34}{'IoU':>7}{'(sd)':>7}{'held out':>10}{'bias':>8}{'|error|':>9}{'floor':>8}"
        f"{'ratio':>7}{'sec':>7}"
    )
    for name, make, truth, extra in cases:
        options = {"n_repeats": args.repeats} | extra
        runs = Parallel(n_jobs=args.jobs)(
            delayed(one_fit)(make, seed, truth, **options) for seed in range(seeds)
        )
        iou, held, bias, error, floor, seconds = np.mean(runs, axis=0)
        spread = np.std(runs, axis=0)[0]
        print(
            f"{name:<34}{iou:>7.3f}{spread:>7.3f}{held:>10.3f}{bias:>8.3f}{error:>9.3f}{floor:>8.3f}"
            f"{error / max(floor, 1e-9):>7.2f}{seconds:>7.2f}",
            flush=True,
        )


def half_disc(n, delta, noise=0):
    return lambda seed: make_synthetic(
        n_samples=n, delta=delta, imbalance=0.2, n_noise_features=noise, random_state=5_000 + seed
    )


def regions(args):
    for n in args.sizes:
        cases = [
            (f"n = {n}, delta = {delta}", half_disc(n, delta), delta, {})
            for delta in (0.5, 1.0, 1.5, 2.0, 3.0)
        ]
        seeds = args.seeds if n < 20_000 else max(args.seeds // 4, 2)
        table("Half disc, mu = 0.2", cases, args, seeds)


def noise(args):
    cases = [
        (f"4 noise features, delta = {delta}", half_disc(5000, delta, 4), delta, {})
        for delta in (0.5, 1.5, 3.0)
    ]
    table("Noise features, n = 5000", cases, args)


def wide(args):
    """Among many features that do nothing."""
    cases = [
        (f"n = {n}, delta = {delta}", half_disc(round(n / AUDITED), delta, 24), delta, {})
        for n in args.sizes
        for delta in (0.5, 1.5)
    ]
    table("24 noise features", cases, args)


def noisy(args):
    """A rate of a quarter, .45 for the group where one feature is low and another is not."""
    cases = [
        (
            f"n = {n}, {d} features",
            noisy_decisions(round(n / AUDITED), d),
            float(np.log(0.45 / 0.25)),
            {},
        )
        for d in (3, 16)
        for n in args.sizes
    ]
    table("Noisy decisions", cases, args)


def noisy_decisions(n, d):
    def make(seed):
        rng = np.random.default_rng(30_000 + seed)
        x = rng.normal(size=(n, d))
        e, region = expit(x[:, 0]), (x[:, 0] < 0.3) & (x[:, 1] > 0)
        s = rng.random(n) < e
        y = rng.random(n) < np.where(region & s, 0.45, 0.25)
        return Bunch(
            X=pd.DataFrame(x).add_prefix("x"),
            y=pd.Series(y.astype(int)),
            sensitive_features=pd.Series(s.astype(int)),
            propensity=e,
            region=region,
        )

    return make


def splits(args):
    """One answer, whatever the seed: real data audited with many."""
    for name, load in (("arrests", load_arrests), ("COMPAS", load_compas)):
        data = load()
        worst = Parallel(n_jobs=args.jobs)(
            delayed(_worst_case)(data, seed, args.repeats) for seed in range(args.seeds)
        )
        alike = [
            overlap(one.membership, other.membership)
            for one, other in itertools.combinations(worst, 2)
        ]
        ratios, shared = [one.ratio for one in worst], [v.spread.shared for v in worst if v.spread]
        first = [one.rule.partition(" and ")[0] for one in worst]
        print(
            f"{name}, {args.seeds} seeds: ratio {min(ratios):.2f} to {max(ratios):.2f}, sd of the log "
            f"{np.std(np.log(ratios), ddof=1):.3f}, overlap {np.mean(alike):.3f} (least "
            f"{min(alike):.3f}), found by all repeats {np.mean(shared or np.nan):.2f}; "
            f"{pd.Series([one.verdict for one in worst]).value_counts().to_dict()}; "
            f"{pd.Series(first).value_counts().to_dict()}",
            flush=True,
        )


def _worst_case(data, seed, n_repeats):
    warnings.simplefilter("ignore", MDFAWarning)
    return mdfa.audit(
        data.X,
        data.y,
        sensitive_features=data.sensitive_features,
        random_state=seed,
        n_repeats=n_repeats,
    ).worst_case


def shapes(args):
    cases = []
    for shape in ("boxes", "band", "level", "xor"):

        def make(seed, shape=shape):
            return make_shape(
                shape, n_samples=5000, delta=1.5, imbalance=0.2, random_state=5_000 + seed
            )

        cases.append((shape, make, 1.5, {}))
    table("Other shapes, n = 5000, delta = 1.5", cases, args)


def quarter(args):
    def make(seed):
        return make_shape("quarter", n_samples=20_000, imbalance=0.2, random_state=5_000 + seed)

    cases = [
        (f"quarter, alpha = {alpha}", make, float(np.log(3)), {"alpha": alpha})
        for alpha in (0.01, 0.05)
    ]
    table("Ratio, not difference, n = 20000", cases, args, max(args.seeds // 2, 2))


def everybody(args):
    """The subgroup's lower limit is never below everybody's."""
    print("\nLower limit of the worst case minus everybody's (smallest over searches and seeds)")
    for name, load in (
        ("COMPAS", load_compas),
        ("Adult", load_adult),
        ("German", load_german),
        ("Crimes", load_crimes),
    ):
        data = load()
        gaps = []
        for seed in range(max(args.seeds // 2, 2)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MDFAWarning)
                result = mdfa.audit(
                    data.X, data.y, sensitive_features=data.sensitive_features, random_state=seed
                )
            gaps += [v.interval[0] - v.population.lower for v in result.violations if v.measured]
        print(f"{name:<10}{min(gaps):>8.3f} over {len(gaps)} searches", flush=True)


def true_gamma(data_rates, weights, s, region):
    """Strength of the true region in the weighted population, from the known rates."""
    p1, p0 = data_rates
    share = [weights[(s == side) & region].sum() / weights[s == side].sum() for side in (1, -1)]
    return np.mean(share) * (p1[region].mean() - p0[region].mean()) / 4.0


def gamma(args):
    """Figure 1c: error of gamma against imbalance."""
    print(f"\n|gamma-hat - gamma|, n = 5000, delta = 1, balance = {args.balance}")
    for mu in (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3):
        runs = Parallel(n_jobs=args.jobs)(
            delayed(_gamma_error)(mu, seed, args.balance) for seed in range(args.seeds)
        )
        bias = np.mean(runs)
        print(
            f"mu = {mu:>5}: mean |error| {np.mean(np.abs(runs)):.4f}, bias {bias:+.4f}", flush=True
        )


def _gamma_error(mu, seed, method):
    warnings.simplefilter("ignore", MDFAWarning)
    big = make_synthetic(n_samples=200_000, delta=1.0, imbalance=mu, random_state=99)
    s = np.asarray(big.sensitive_features)
    e = big.propensity
    weights = {
        "overlap": np.where(s == 1, 1 - e, e),
        "none": np.ones(len(s)),
    }.get(method, np.where(s == 1, (1 - e) / e, 1.0))
    truth = true_gamma(big.rates, weights, s, np.asarray(big.region))
    data = make_synthetic(n_samples=5000, delta=1.0, imbalance=mu, random_state=5_000 + seed)
    result = mdfa.audit(
        data.X,
        data.y,
        sensitive_features=data.sensitive_features,
        balance=method,
        random_state=seed,
    )
    return planted(result).gamma - truth


def detectable(args):
    """Plants of the stated ratio, in rows where there is nothing else to find."""
    print(f"\nPlants of the detectable ratio, {args.seeds} each")
    cases = {
        f"{name}, n = {n}": make
        for n in args.sizes
        for name, make in (("half disc", half_disc(n, 0.0)), ("noise", six_features(n)))
    }
    for name, make in cases.items():
        warnings.simplefilter("ignore", MDFAWarning)
        data = make(0)
        result = mdfa.audit(data.X, data.y, sensitive_features=data.sensitive_features)
        power = result.power(None, args.seeds, violation=planted(result), n_jobs=args.jobs)
        print(f"{name}: ratio {power.ratio:.2f}\n{power.to_frame().round(2)}", flush=True)


def six_features(n):
    """An outcome of three in ten, and groups by the sum of two of six features."""

    def make(seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 6))
        return Bunch(
            X=pd.DataFrame(x).add_prefix("x"),
            y=(rng.random(n) < 0.3).astype(int),
            sensitive_features=(rng.random(n) < expit(0.2 * x[:, :2].sum(axis=1) ** 2)).astype(int),
        )

    return make


def solvers(args):
    """Algorithm 1 and its one-fit equivalent: agreement along the path, and time.

    Iterate ``t`` is compared with the level set of ratio ``1 + xi t / 2`` among the rows that have the
    outcome: where nobody has it the ratio is not defined, and either may go either way.
    """
    warnings.simplefilter("ignore", MDFAWarning)
    xi = 0.5
    for n in args.sizes:
        data = make_synthetic(n_samples=n, delta=1.5, imbalance=0.2, random_state=5_000)
        fitted, seconds = {}, {}
        for solver in ("level_set", "iterative"):
            fitted[solver] = mdfa.MDFAuditor(
                solver=solver,
                learner=args.learner,
                evaluation="holdout",
                random_state=0,
                outcomes=[1],
                groups=[1],
                xi=xi,
            )
            start = time.perf_counter()
            fitted[solver].fit(data.X, data.y, sensitive_features=data.sensitive_features)
            seconds[solver] = time.perf_counter() - start
        has_outcome = np.asarray(data.y) == 1
        scores = fitted["level_set"].decision_function(data.X)
        features = np.ascontiguousarray(data.X)
        iterates = fitted["iterative"]._judge.region.runs[0][1]
        for t in range(0, len(iterates), 2):
            inside = (iterates[t].predict(features) > 0) & has_outcome
            level = (scores > np.log(1 + xi * t / 2)) & has_outcome
            print(f"n = {n}, ratio > {1 + xi * t / 2:.1f}: IoU {overlap(inside, level):.2f}")
        ratio = seconds["iterative"] / seconds["level_set"]
        print(f"n = {n}: {len(iterates)} iterates at xi = {xi}, time ratio {ratio:.0f}", flush=True)


def speed(args):
    """A full default audit against a plain T-learner, alternating in one run."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    data = make_synthetic(n_samples=5000, delta=1.5, imbalance=0.2, random_state=5_000)
    X, y, s = data.X.to_numpy(), np.asarray(data.y), np.asarray(data.sensitive_features)
    warnings.simplefilter("ignore", MDFAWarning)
    ratios = []
    for seed in range(max(args.seeds // 4, 3)):
        start = time.perf_counter()
        for side in (1, -1):
            HistGradientBoostingClassifier(random_state=seed).fit(X[s == side], y[s == side])
        middle = time.perf_counter()
        mdfa.audit(data.X, data.y, sensitive_features=data.sensitive_features, random_state=seed)
        end = time.perf_counter()
        ratios.append((end - middle) / (middle - start))
        print(
            f"T-learner {middle - start:.2f} s, audit {end - middle:.2f} s: ratio {ratios[-1]:.1f}"
        )
    print(f"median ratio {np.median(ratios):.1f}")


TABLES = {
    "regions": regions,
    "noise": noise,
    "wide": wide,
    "noisy": noisy,
    "splits": splits,
    "shapes": shapes,
    "quarter": quarter,
    "everybody": everybody,
    "gamma": gamma,
    "detectable": detectable,
    "solvers": solvers,
    "speed": speed,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=[*TABLES, "all"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 50_000])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--repeats",
        type=lambda n: n if n == "auto" else int(n),
        default="auto",
        help="of cross-fitting",
    )
    parser.add_argument("--balance", default="mmd_network")
    parser.add_argument("--learner", default="gradient_boosting")
    args = parser.parse_args()
    for name in TABLES if args.table == "all" else [args.table]:
        TABLES[name](args)


if __name__ == "__main__":
    main()
