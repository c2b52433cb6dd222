"""Audits of outcomes that are numbers: the tables behind the figures in README.md here.

Run from the repository root, for example::

    python tests/benchmarks/numeric.py plants --seeds 20
    python tests/benchmarks/numeric.py alarms --seeds 60
    python tests/benchmarks/numeric.py coverage --seeds 100
    python tests/benchmarks/numeric.py agreement --seeds 5
    python tests/benchmarks/numeric.py rivals --seeds 10
    python tests/benchmarks/numeric.py limits --seeds 40 --sizes 1000
    python tests/benchmarks/numeric.py cost
    python tests/benchmarks/numeric.py proxies --seeds 20 --sizes 20000 --known 0 1000
    python tests/benchmarks/numeric.py slopes --seeds 60 --sizes 1000

``plants`` audits n rows with a difference planted in the half disc of ``make_synthetic``: overlap of
the planted search's members with it, bias and absolute error of its difference in standard deviations
of the noise, and the error where the half disc is known. ``alarms`` has nothing to find, and
counts audits with a violation; ``coverage`` counts intervals that hold the truth in the set they are
of. ``rivals`` needs econml; beside the reported set stands the part searched, which gives way to
everybody where these are surer. ``limits`` knows all but the region: what overlap is left to a forest,
its leaves and cut chosen by the truth, and to whoever knows that it is a half disc, its centre unknown
or known.
``slopes`` has a sensitive quantity: false alarms without a slope, and overlap, bias and coverage where
the outcome falls with it in the half disc; the last column covers with all that features tell known.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import time
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import pipeline
from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.exceptions import MDFAWarning

SD = 1.0  # of the noise


def noise_of(kind, n, rng, X=None, s=None):
    """Noise of mean 0 and standard deviation 1 (of heteroscedastic noise on average)."""
    if kind == "lognormal":
        sigma = 1.0
        raw = rng.lognormal(0.0, sigma, n)
        return (raw - math.exp(sigma**2 / 2)) / math.sqrt(
            (math.exp(sigma**2) - 1) * math.exp(sigma**2)
        )
    if kind == "heteroscedastic":
        scale = np.exp(0.5 * X[:, 0] + 0.5 * (s > 0))
        return rng.standard_normal(n) * scale / math.sqrt(np.mean(scale**2))
    return rng.standard_normal(n)


def planted(n, seed, difference, kind):
    """Half disc in which the group gets less by so many standard deviations of the noise."""
    data = make_synthetic(n_samples=n, delta=0.0, random_state=seed)
    rng = np.random.default_rng(10_000 + seed)
    X = data.X.to_numpy()
    s = np.asarray(data.sensitive_features)
    region = np.asarray(data.region)
    y = 10.0 + X[:, 0] + 0.5 * X[:, 1] ** 2 + noise_of(kind, n, rng, X, s)
    y = y - difference * SD * (region & (s == 1))
    return data, y, s, region


def overlap(a, b):
    """Intersection over union."""
    return float((a & b).sum() / max((a | b).sum(), 1))


def one_plant(n, seed, difference, kind, options):
    """Overlap, error of the difference, and that of the known half disc."""
    warnings.simplefilter("ignore", MDFAWarning)
    data, y, s, region = planted(n, seed, difference, kind)
    result = mdfa.audit(
        data.X, y, sensitive_features=s, outcome_type="numeric", random_state=seed, **options
    )
    v = next(v for v in result.violations if v.group == 1 and v.outcome == "less")
    (known,) = result.measure(region, violation=v)
    return (
        overlap(v.membership, region),
        v.difference - difference,
        abs(v.difference - difference),
        abs(known.difference - difference),
        v.verdict == "violation",
        v.population.n_rows == v.n_rows,
    )


def plants(args, pool):
    """The table of planted differences."""
    print("noise            n  diff  overlap   bias  error  known  found  everybody")
    for kind in args.kinds or ("gaussian", "lognormal"):
        for n in args.sizes:
            for difference in args.differences:
                rows = pool(
                    delayed(one_plant)(n, seed, difference, kind, args.options)
                    for seed in range(args.seeds)
                )
                o, b, e, k, f, a = np.mean(rows, axis=0)
                print(
                    f"{kind:15s} {n:5d} {difference:4.1f}   {o:6.3f} {b:6.3f} {e:6.3f} {k:6.3f}"
                    f"  {f:5.2f}  {a:5.2f}",
                    flush=True,
                )


def nothing(kind, n, seed):
    """Data without a difference at equal features."""
    rng = np.random.default_rng(seed)
    clusters = None
    X = rng.standard_normal((n, 4))
    e = 1 / (1 + np.exp(-(0.8 * X[:, 0] + 0.5 * X[:, 1] * X[:, 2])))
    s = np.where(rng.random(n) < e, 1, -1)
    mean = X[:, 0] + 0.5 * X[:, 1] ** 2 + np.abs(X[:, 2])
    if kind == "trees":
        from sklearn.tree import DecisionTreeRegressor

        target = mean + rng.standard_normal(n)
        y = DecisionTreeRegressor(max_depth=6, random_state=seed).fit(X, target).predict(X)
        # A black box that was made of other rows.
        fresh = rng.standard_normal((n, 4))
        e = 1 / (1 + np.exp(-(0.8 * fresh[:, 0] + 0.5 * fresh[:, 1] * fresh[:, 2])))
        s = np.where(rng.random(n) < e, 1, -1)
        y = DecisionTreeRegressor(max_depth=6, random_state=seed).fit(X, target).predict(fresh)
        X = fresh
    elif kind == "clusters":
        n_people = n // 4
        who = rng.integers(n_people, size=n)
        own = rng.standard_normal(n_people)
        s = np.where(rng.random(n_people) < 0.5, 1, -1)[who]
        y = mean + own[who] + 0.7 * rng.standard_normal(n)
        clusters = who
    else:
        y = mean + noise_of(kind, n, rng, X, s)
    return pd.DataFrame(X, columns=list("abcd")), y, s, clusters


def one_null(kind, n, seed, options):
    """Whether anything is called a violation, and how large."""
    warnings.simplefilter("ignore", MDFAWarning)
    X, y, s, clusters = nothing(kind, n, seed)
    result = mdfa.audit(
        X,
        y,
        sensitive_features=s,
        clusters=clusters,
        outcome_type="numeric",
        random_state=seed,
        **options,
    )
    p = min(v.p_value_adjusted for v in result.violations)
    return any(v.verdict == "violation" for v in result.violations), p < 0.05


def alarms(args, pool):
    """The table of false alarms."""
    print("noise            n   audits  violations  p < .05")
    for kind in args.kinds or ("gaussian", "lognormal", "heteroscedastic", "trees", "clusters"):
        for n in args.sizes:
            rows = pool(
                delayed(one_null)(kind, n, seed, args.options) for seed in range(args.seeds)
            )
            found, small = np.sum(rows, axis=0)
            print(f"{kind:15s} {n:5d}   {len(rows):4d}   {found:6d}     {small:6d}", flush=True)


def known_slope(y, beyond, expected):
    """Ends of least squares with robust errors, all that features tell being known; above 0 is less."""
    slope = beyond @ (expected - y) / (beyond @ beyond)
    left = beyond * (expected - y - slope * beyond)
    far = 1.959964 * math.sqrt(left @ left) / (beyond @ beyond)
    return slope - far, slope + far


def one_cover(n, seed, difference, kind, options):
    """Whether intervals of the planted search hold the truth in its own set."""
    warnings.simplefilter("ignore", MDFAWarning)
    data, y, s, region = planted(n, seed, difference, kind)
    result = mdfa.audit(
        data.X, y, sensitive_features=s, outcome_type="numeric", random_state=seed, **options
    )
    hold = []
    for v in result.violations:
        if v.group != 1:
            continue
        for part in (v, v.population):
            rows = v.membership if part is v else np.ones(len(y), dtype=bool)
            e = np.asarray(data.propensity)
            weight = rows * e * (1 - e)
            truth = difference * np.average(region, weights=weight)
            truth = truth if v.outcome == "less" else -truth
            low, high = part.difference_interval
            hold.append(low <= truth <= high)
    X, e = data.X.to_numpy(), np.asarray(data.propensity)
    mean = 10.0 + X[:, 0] + 0.5 * X[:, 1] ** 2 - difference * e * region
    low, high = known_slope(y, (s == 1) - e, mean)
    truth = difference * np.average(region, weights=e * (1 - e))
    return [*hold, low <= truth <= high]


def coverage(args, pool):
    """The table of coverage."""
    print(
        "noise            n  diff   planted: region  everybody   other: region  everybody   all told"
    )
    for kind in args.kinds or ("gaussian", "lognormal"):
        for n in args.sizes:
            for difference in args.differences:
                rows = pool(
                    delayed(one_cover)(n, seed, difference, kind, args.options)
                    for seed in range(args.seeds)
                )
                print(f"{kind:15s} {n:5d} {difference:4.1f}  ", np.mean(rows, axis=0), flush=True)


def one_agreement(n, seed):
    """Overlap and both ratios of a yes/no audit and of the numeric one of 0 and 1."""
    warnings.simplefilter("ignore", MDFAWarning)
    data = make_synthetic(n_samples=n, delta=1.0, random_state=seed)
    given = {"sensitive_features": data.sensitive_features, "random_state": seed}
    yes_no = mdfa.audit(data.X, data.y, **given)
    numeric = mdfa.audit(data.X, data.y, outcome_type="numeric", measure="ratio", **given)
    a = next(v for v in yes_no.violations if v.group == 1 and v.outcome == 1)
    b = next(v for v in numeric.violations if v.group == 1 and v.outcome == "more")
    return overlap(a.membership, b.membership), a.ratio, b.ratio


def agreement(args, pool):
    """The table of agreement with yes/no audits."""
    print("   n  overlap  ratio yes/no  ratio numeric")
    for n in args.sizes:
        rows = pool(delayed(one_agreement)(n, seed) for seed in range(args.seeds))
        print(f"{n:5d}   {np.mean(rows, axis=0).round(3)}", flush=True)


@contextlib.contextmanager
def searches_kept():
    """What each search found before it was held beside everybody: its key and whom."""
    kept, solve = [], pipeline.solve

    def kept_too(problem, *how, **options):
        found = solve(problem, *how, **options)
        for search in found:
            whom = np.zeros(problem.n_rows, dtype=bool)
            whom[problem.source_row[search.rows]] = search.solved.searched
            kept.append((search.key, whom))
        return found

    pipeline.solve = kept_too
    try:
        yield kept
    finally:
        pipeline.solve = solve


def one_rival(n, seed, difference, kind):
    """Overlap of ours, of what it held beside everybody, of a causal forest's and of two models'."""
    from econml.dml import CausalForestDML
    from sklearn.ensemble import RandomForestRegressor

    warnings.simplefilter("ignore")
    data, y, s, region = planted(n, seed, difference, kind)
    X, of_group = data.X.to_numpy(), (s == 1).astype(int)
    with searches_kept() as kept:
        result = mdfa.audit(
            data.X, y, sensitive_features=s, outcome_type="numeric", random_state=seed
        )
    v = next(v for v in result.violations if v.group == 1 and v.outcome == "less")
    searched = next(own for key, own in kept if key.group == 1 and key.outcome == "less")
    forest = CausalForestDML(discrete_treatment=True, random_state=seed, n_jobs=1)
    effect = -forest.fit(y, of_group, X=X).effect(X)
    halves = np.arange(n) % 2
    two = np.empty(n)
    for half in (0, 1):
        own, other = halves == half, halves != half
        told = []
        for side in (1, 0):
            rows = other & (of_group == side)
            model = RandomForestRegressor(min_samples_leaf=10, random_state=seed).fit(
                X[rows], y[rows]
            )
            told.append(model.predict(X[own]))
        two[own] = told[1] - told[0]

    def of_same_cut(effects):
        """Half way up the effects' top, as our regions are cut."""
        return effects >= 0.5 * np.quantile(effects, 0.95)

    return (
        overlap(v.membership, region),
        overlap(searched, region),
        overlap(of_same_cut(effect), region),
        overlap(of_same_cut(two), region),
    )


def rivals(args, pool):
    """The table of other learners of unequal differences."""
    print("noise            n  diff   ours  part searched  causal forest  two models")
    for kind in args.kinds or ("gaussian", "lognormal"):
        for n in args.sizes:
            for difference in args.differences:
                rows = pool(
                    delayed(one_rival)(n, seed, difference, kind) for seed in range(args.seeds)
                )
                print(
                    f"{kind:15s} {n:5d} {difference:4.1f} ",
                    np.mean(rows, axis=0).round(3),
                    flush=True,
                )


def half_discs(X, rng, spread, size=20_000):
    """Rows by half discs of any radius and direction, about centres so far from the middle."""
    angle, radius = rng.uniform(0, 2 * np.pi, size), rng.uniform(0.4, 2.0, size)
    centre = spread * rng.standard_normal((size, 2))
    ahead = np.stack([np.cos(angle), np.sin(angle)])
    far = [((X - own) ** 2).sum(axis=1) for own in centre]
    side = X @ ahead < (centre.T * ahead).sum(axis=0)
    discs = (np.array(far) <= radius[:, None] ** 2) & side.T
    return discs[(discs.mean(axis=1) >= 0.05) & (discs.mean(axis=1) <= 0.6)]


def expected(discs, fewer, of_group):
    """Rows as likely as not in the region, of half discs and differences equally likely before."""
    told, rows = discs @ (of_group * fewer), discs @ of_group
    differences = np.linspace(0.1, 1.2, 23)
    logs = differences * told[:, None] - differences**2 * rows[:, None] / 2
    likely = np.logaddexp.reduce(logs, axis=1)
    likely = np.exp(likely - likely.max())
    return likely / likely.sum() @ discs >= 0.5


def one_limit(n, seed, difference):
    """Overlap of a forest at its best and of half discs, models, noise and weights being known."""
    from sklearn.ensemble import RandomForestRegressor

    data, y, s, region = planted(n, seed, difference, "gaussian")
    X, e, of_group = data.X.to_numpy(), np.asarray(data.propensity), (s == 1).astype(float)
    fewer = 10.0 + X[:, 0] + 0.5 * X[:, 1] ** 2 - y
    beyond = of_group - e
    best = 0.0
    for leaf in (10, 20, 40, 80):
        forest = RandomForestRegressor(
            300,
            min_samples_leaf=leaf,
            max_features=1,
            max_samples=0.5,
            oob_score=True,
            random_state=0,
        )
        forest.fit(X, (fewer - difference * e * region) / beyond, sample_weight=beyond**2)
        effect = forest.oob_prediction_
        cuts = (effect >= np.quantile(effect, 1 - share) for share in np.linspace(0.05, 0.6, 56))
        best = max(best, *(overlap(cut, region) for cut in cuts))
    found = [expected(half_discs(X, np.random.default_rng(seed), spread), fewer, of_group)
             for spread in (0.6, 0.0)]  # fmt: skip
    return best, *(overlap(own, region) for own in found)


def limits(args, pool):
    """The table of what is left to find where all but the region is known; normal noise."""
    print("   n  diff  forest  half disc, any centre  its centre known")
    for n in args.sizes:
        for difference in args.differences:
            rows = pool(delayed(one_limit)(n, seed, difference) for seed in range(args.seeds))
            print(f"{n:5d}  {difference:4.1f} ", np.mean(rows, axis=0).round(3), flush=True)


def cost(args, pool):
    """CPU seconds of numeric audits and of yes/no audits of the same table."""
    print("   n  columns  yes/no  numeric  ratio")
    warnings.simplefilter("ignore", MDFAWarning)
    for n in args.sizes:
        for n_noise in (0, 8):
            data = make_synthetic(n, delta=0.5, n_noise_features=n_noise, random_state=0)
            y = data.X.iloc[:, 0] + np.random.default_rng(0).standard_normal(n)
            given = {"sensitive_features": data.sensitive_features, "random_state": 0}
            seconds = []
            for outcome, options in ((data.y, {}), (y, {"outcome_type": "numeric"})):
                started = time.process_time()
                mdfa.audit(data.X, outcome, **given, **options)
                seconds.append(time.process_time() - started)
            one, two = seconds
            print(
                f"{n:5d}  {n_noise + 2:5d}   {one:6.1f}  {two:6.1f}   {two / one:5.2f}", flush=True
            )


# How far apart signals are, and the area under their curve.
PROXIES = ((0.954, 0.75), (2.326, 0.95))


def known_by_probability(n, seed, apart, ratio):
    """Groups told by a normal signal so far apart; the ratio holds where a is above 0."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, n), "b": rng.uniform(-1, 1, n)})
    s = rng.random(n) < 0.4
    signal = rng.standard_normal(n) + apart * s
    p = 1 / (1 + np.exp(-(apart * signal - apart**2 / 2 + math.log(0.4 / 0.6))))
    rate = np.where((X["a"] > 0) & s, 0.2 * ratio, 0.2)
    y = (rng.random(n) < rate).astype(int)
    return X, y, rate, s, p


def one_proxy(n, seed, apart, ratio, n_known, options):
    """What ``proxies`` prints, of the subgroup found for "w" but for the first and the fourth."""
    warnings.simplefilter("ignore", MDFAWarning)
    X, y, rate, s, p = known_by_probability(n, seed, apart, ratio)
    told = pd.DataFrame({"w": p, "m": 1 - p})
    known = np.random.default_rng(99 + seed).permutation(n) < n_known
    result = mdfa.audit(
        X, y, sensitive_features=np.where(known, np.where(s, "w", "m"), None) if n_known else None,
        sensitive_probabilities=told, outcomes=[1], random_state=seed, **options,
    )  # fmt: skip
    v = next(v for v in result.violations if v.group == "w")

    def off(part, interval, inside):
        truth = math.log(rate[inside & s].mean() / rate[inside & ~s].mean())
        return part.delta - truth, interval[0] <= truth <= interval[1]

    bias, own = off(v, v.interval, v.membership)
    return (
        any(v.verdict == "violation" for v in result.violations),
        off(v, v.probability_interval, v.membership)[1],
        own,
        off(v.population, v.population.interval, np.ones(n, dtype=bool))[1],
        v.n_known > 0,
        bias,
        v.ratio,
        np.ptp(v.probability_bounds),
        np.ptp(v.interval),
        v.rows_to_know,
    )


def proxies(args, pool):
    """The table of groups known by probability."""
    print("    n  known   AUC  ratio  violations, bounds hold, interval, of everybody, corrected,")
    print("                           bias, ratio, bounds open, interval open, rows to know")
    for n, n_known in itertools.product(args.sizes, args.known):
        for (apart, area), ratio in itertools.product(PROXIES, (1.0, 3.0)):
            rows = pool(
                delayed(one_proxy)(n, seed, apart, ratio, n_known, args.options)
                for seed in range(args.seeds)
            )
            means = " ".join(f"{own:.3g}" for own in np.mean(rows, axis=0))
            print(f"{n:5d}  {n_known:5d}  {area:4.2f}  {ratio:4.1f}   {means}", flush=True)


OF_RATES = 0.3  # of the slope asked for, where rates fall


def of_quantity(kind, n, seed, slope):
    """A quantity that goes with the features, and an outcome that falls with it in the half disc.

    Besides, what the quantity is beyond what features tell, and what they tell of the outcome.
    """
    data = make_synthetic(n_samples=n, delta=0.0, random_state=seed)
    rng = np.random.default_rng(20_000 + seed)
    X, region = data.X.to_numpy(), np.asarray(data.region)
    scale = np.ones(n)
    beyond = rng.standard_normal(n)
    if kind == "heteroscedastic":
        scale = np.exp(0.8 * X[:, 1])
    elif kind == "skewed":
        beyond = noise_of("lognormal", n, rng)
    beyond = beyond * scale
    quantity = 40.0 + 10.0 * (0.7 * X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + beyond)
    mean = X[:, 0] + 0.5 * X[:, 1] ** 2
    if kind in ("yes/no", "rare"):
        rate = (0.08 if kind == "rare" else 0.5) * np.exp(0.3 * np.clip(X[:, 0], -2, 2))
        y = (rng.random(n) < np.clip(rate - OF_RATES * slope * region * beyond, 0.0, 1.0)).astype(
            int
        )
        return data.X, y, quantity, region, scale, (beyond, np.clip(rate, 0.0, 1.0))
    noise = noise_of("lognormal" if kind == "lognormal" else "gaussian", n, rng)
    y = mean + noise - slope * region * beyond
    return data.X, y, quantity, region, scale, (beyond, mean)


def one_slope(kind, n, seed, slope, options):
    """Whether anything is called a violation; overlap, and what is said of slopes that are known."""
    warnings.simplefilter("ignore", MDFAWarning)
    X, y, quantity, region, scale, all_known = of_quantity(kind, n, seed, slope)
    labels = kind in ("yes/no", "rare")
    result = mdfa.audit(
        X,
        y,
        sensitive_features=quantity,
        sensitive_type="numeric",
        per=10,
        outcome_type="auto" if labels else "numeric",
        random_state=seed,
        **options,
    )
    v = next(v for v in result.violations if v.group == "more" and v.outcome in (0, "less"))
    known = v
    if slope:  # its models are fitted once more
        (known,) = result.measure(region, violation=v)
    size = OF_RATES * slope if labels else slope

    def hold(interval, inside):
        truth = size * np.average(region, weights=inside * scale**2)
        return interval[0] <= truth <= interval[1]

    return (
        any(own.verdict == "violation" for own in result.violations),
        min(own.p_value_adjusted for own in result.violations) < 0.05,
        overlap(v.membership, region),
        known.difference - size if slope else math.nan,
        hold(known.difference_interval, region) if slope else math.nan,
        hold(v.difference_interval, v.membership),
        hold(v.population.difference_interval, np.ones(n)),
        hold(known_slope(y, *all_known), np.ones(n)),
    )


def slopes(args, pool):
    """The table of a sensitive quantity: slopes of none, and those asked for."""
    print(
        "kind                n  slope  violations  p < .05  overlap   bias  known  found  everybody"
        "  all told"
    )
    kinds = ("normal", "heteroscedastic", "skewed", "lognormal", "yes/no", "rare")
    for kind in args.kinds or kinds:
        for n in args.sizes:
            for slope in (0.0, *(args.differences if kind != "rare" else ())):
                rows = pool(
                    delayed(one_slope)(kind, n, seed, slope, args.options)
                    for seed in range(args.seeds)
                )
                found = "  ".join(f"{own:6.3f}" for own in np.mean(rows, axis=0))
                print(f"{kind:15s} {n:5d}  {slope:5.2f}  {found}", flush=True)


TABLES = {
    "slopes": slopes,
    "proxies": proxies,
    "plants": plants,
    "alarms": alarms,
    "coverage": coverage,
    "agreement": agreement,
    "rivals": rivals,
    "limits": limits,
    "cost": cost,
}


def main():
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--differences", type=float, nargs="*", default=[0.5])
    parser.add_argument("--known", type=int, nargs="+", default=[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--robust")
    parser.add_argument("--repeats", type=int)
    args = parser.parse_args()
    robust = args.robust if args.robust in (None, "rank") else float(args.robust)
    given = {"robust": robust, "n_repeats": args.repeats}
    args.options = {name: own for name, own in given.items() if own is not None}
    TABLES[args.table](args, Parallel(n_jobs=args.jobs))


if __name__ == "__main__":
    main()
