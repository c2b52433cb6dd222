"""What audits cost as rows and features grow, beside other ways to look at the same data.

Run from the repository root::

    python tests/benchmarks/scaling.py rows                       # 1e3 to 1e6 rows of 10 features
    python tests/benchmarks/scaling.py rows --sizes 1e7 --methods audit
    python tests/benchmarks/scaling.py features                   # 2, 20 and 100 at 1e4 rows
    python tests/benchmarks/scaling.py groups                     # 2 to 60 groups at 5e3 rows
    python tests/benchmarks/scaling.py throughput                 # of the second pass, per core
    python tests/benchmarks/scaling.py dask --rows 2e7            # generated Parquet, in a cluster

Every line is a process of its own, so that memory is that of one fit: the largest resident set less
that before the fit. CPU seconds count children and do not depend on what else the machine does;
wall-clock seconds do. The exponent is the slope of CPU seconds, or memory, against the
size, both as logarithms, over the sizes of at least 1e4 rows.

Methods: ``audit`` is ``MDFAuditor`` with its defaults, which learns from at most 50,000 rows and
measures all; ``everything`` learns from all; ``iterative`` is Algorithm 1 (trees, and xi = 1, which
takes a tenth of the default's iterations); ``t_learner`` is two ``HistGradientBoostingClassifier``, one
for each sensitive value, and their predictions for all rows: the least that any estimate of a
difference of rates costs, without a region, a balance or a test; ``bias_scan`` is AIF360's, on quarters
of each feature, in one direction.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd

METHODS = ("audit", "everything", "iterative", "t_learner", "bias_scan")
# Sizes beyond which a method takes longer than anybody waits: CPU minutes grow past ten.
LARGEST = {"everything": 200_000, "iterative": 50_000, "bias_scan": 1_000_000}


def made(n_rows, n_features, seed=0):
    """Planted data of the paper's Section 4.1 with noise features."""
    from mdfa_fairness_plugin.datasets import make_synthetic

    return make_synthetic(
        n_samples=n_rows, delta=1.5, n_noise_features=n_features - 2, random_state=seed
    )


# -- one method


def audited(data, **arguments):
    import mdfa_fairness_plugin as mdfa

    return mdfa.audit(
        data.X, data.y, sensitive_features=data.sensitive_features, random_state=0, **arguments
    )


def fit_audit(data, **arguments):
    found = audited(data, **arguments).violations
    return next(v for v in found if v.group == 1 and v.outcome == 1).membership


def fit_t_learner(data):
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    group = np.asarray(data.sensitive_features) > 0
    rates = []
    for side in (group, ~group):
        model = HistGradientBoostingClassifier(random_state=0).fit(X[side], y[side])
        rates.append(model.predict_proba(X)[:, 1])
    difference = rates[0] - rates[1]
    return difference >= 0.5 * np.quantile(difference, 0.95)


def fit_bias_scan(data):
    from aif360.detectors import bias_scan

    X = pd.DataFrame(
        {name: pd.qcut(data.X[name], 4, labels=["q1", "q2", "q3", "q4"]) for name in data.X}
    ).astype(str)
    group = np.where(np.asarray(data.sensitive_features) > 0, "a", "b")
    subset, _ = bias_scan(
        data=X.assign(group=group),
        observations=pd.Series(np.asarray(data.y)).gt(0).astype(int),
        favorable_value=1,
        overpredicted=False,
        penalty=1.0,
        num_iters=10,
    )
    inside = np.ones(len(X), dtype=bool)
    for name, values in subset.items():
        if name != "group":
            inside &= X[name].isin(values).to_numpy()
    return inside


FIT = {
    "audit": fit_audit,
    "everything": lambda data: fit_audit(data, max_learning_rows=None),
    "iterative": lambda data: fit_audit(data, solver="iterative", learner="tree", xi=1.0),
    "t_learner": fit_t_learner,
    "bias_scan": fit_bias_scan,
}


def one_process(method, n_rows, n_features):
    """Cost of one fit, in this process."""
    warnings.simplefilter("ignore")
    data = made(n_rows, n_features)
    FIT[method](made(300, n_features))  # imports and first calls are not what is measured
    before, wall = usage(), time.perf_counter()
    inside = FIT[method](data)
    after = usage()
    region = np.asarray(data.region)
    return {
        "method": method,
        "rows": n_rows,
        "features": n_features,
        "cpu": after["cpu"] - before["cpu"],
        "wall": time.perf_counter() - wall,
        "memory": after["peak"] - before["now"],
        "overlap": float((inside & region).sum() / max((inside | region).sum(), 1)),
    }


def usage():
    """CPU seconds of this process and its children, resident MiB now and at most so far."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[1]) * resource.getpagesize() / 2**20
    return {
        "cpu": sum(one.ru_utime + one.ru_stime for one in (own, children)),
        "now": now,
        "peak": own.ru_maxrss / 1024,
    }


def in_a_process(*arguments):
    """Run this file again and read the line it prints."""
    done = subprocess.run(
        [sys.executable, __file__, "one", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (
            None if done.returncode < 0 else sys.exit(done.stderr)
        )  # killed for memory: no number
    return json.loads(done.stdout.strip().splitlines()[-1])


# -- tables


def table(sizes, features, methods, by):
    lines = []
    print(
        f"{'method':<12}{'rows':>10}{'features':>10}{'CPU s':>9}{'wall s':>9}{'MiB':>9}{'overlap':>9}"
    )
    for method in methods:
        for n_rows in sizes:
            for n_features in features:
                if n_rows > LARGEST.get(method, np.inf):
                    continue
                line = in_a_process(method, n_rows, n_features)
                if line is None:
                    print(f"{method:<12}{n_rows:>10,}{n_features:>10}  out of memory", flush=True)
                    continue
                lines.append(line)
                print(
                    f"{method:<12}{n_rows:>10,}{n_features:>10}{line['cpu']:>9.1f}{line['wall']:>9.1f}"
                    f"{line['memory']:>9.0f}{line['overlap']:>9.2f}",
                    flush=True,
                )
    for method in methods:
        own = [x for x in lines if x["method"] == method and (by == "features" or x["rows"] >= 1e4)]
        if len(own) > 1:
            size = np.log([line[by] for line in own])
            cost = {
                name: np.polyfit(size, np.log([max(line[name], 1e-3) for line in own]), 1)[0]
                for name in ("cpu", "memory")
            }
            print(
                f"{method}: CPU grows with {by}^{cost['cpu']:.2f}, memory with "
                f"{by}^{cost['memory']:.2f}"
            )


def groups(n_rows, several):
    """CPU seconds of an audit with as many groups, each against the rest, in one process."""
    warnings.simplefilter("ignore")
    data, first = made(n_rows, 10), None
    side = np.asarray(data.sensitive_features) > 0
    fit_audit(made(300, 2))
    for n_groups in several:
        half = n_groups // 2
        own = np.random.default_rng(0).integers(0, half, n_rows) + np.where(side, 0, half)
        data.sensitive_features = np.char.add("group ", own.astype(str)) if n_groups > 2 else side
        before = usage()["cpu"]
        audited(data)
        cost = usage()["cpu"] - before
        first = first or cost
        print(f"{n_groups:>4} groups {cost:>9.1f} CPU s, {cost / first:.1f} times", flush=True)


def throughput(n_rows, n_features, n_learned):
    """CPU seconds per million rows of either pass, in one process."""
    warnings.simplefilter("ignore")
    from threadpoolctl import threadpool_limits

    from mdfa_fairness_plugin.arguments import checked_settings
    from mdfa_fairness_plugin.dask.learning import learn, panel_of
    from mdfa_fairness_plugin.dask.measuring import measure_block
    from mdfa_fairness_plugin.dask.survey import Columns, draw_sample, survey_block
    from mdfa_fairness_plugin.exceptions import WarningLog

    data = made(n_rows, n_features)
    frame = data.X.assign(y=np.asarray(data.y), s=np.asarray(data.sensitive_features))
    columns = Columns(outcome="y", sensitive=("s",), features=tuple(data.X.columns))
    settings = checked_settings(max_learning_rows=n_learned, random_state=0)
    with threadpool_limits(1):
        survey = survey_block(frame, 0, columns, n_learned, 0)
        # Long enough for rows that cannot be in the sample to be dropped on the way.
        long = pd.concat([frame] * max(600_000 // n_rows, 1), ignore_index=True)
        started = time.process_time()
        survey_block(long, 0, columns, n_learned, 0)
        first = (time.process_time() - started) * n_rows / len(long)
        del long
        sample = draw_sample(survey, n_learned)
        started = time.process_time()
        learned, _ = learn(sample, survey, settings, columns, "none", {}, WarningLog())
        panel = panel_of(learned, survey, columns, sample, "none")
        learning = time.process_time() - started
        panel.cut.clear()
        started = time.process_time()
        measure_block(frame, 0, panel)
        second = time.process_time() - started
    millions = n_rows / 1e6
    print(
        f"{n_features} features, {n_learned:,} rows learned from, {len(panel.judges)} searches: "
        f"learning {learning:.1f} CPU s; per million rows, first pass {first / millions:.1f} and "
        f"second {second / millions:.1f} CPU s; peak {usage()['peak']:.0f} MiB"
    )


# -- in a cluster


def write_parquet(folder, n_rows, n_features, n_files):
    """Planted data, file by file."""
    for i in range(n_files):
        data = made(n_rows // n_files, n_features, seed=i)
        frame = data.X.astype(np.float32).assign(
            y=np.asarray(data.y, dtype=np.int8),
            s=np.asarray(data.sensitive_features, dtype=np.int8),
        )
        frame.to_parquet(os.path.join(folder, f"part-{i:04}.parquet"), row_group_size=250_000)


def on_worker():
    """Peak memory and CPU seconds of a worker, from inside."""
    own = usage()
    return {"peak": own["peak"], "cpu": own["cpu"]}


def in_a_cluster(n_rows, n_features, n_workers, memory_limit):
    import distributed

    from mdfa_fairness_plugin.dask import audit_dask

    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp(prefix="scaling-")
    try:
        started = time.perf_counter()
        write_parquet(folder, n_rows, n_features, max(n_rows // 500_000, 1))
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
        print(
            f"{n_rows:,} rows x {n_features} features, {size / 2**30:.2f} GiB of Parquet, written in "
            f"{(time.perf_counter() - started) / 60:.1f} min",
            flush=True,
        )
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=None,
        )
        with cluster, distributed.Client(cluster) as client:
            started, before = time.perf_counter(), usage()["cpu"]
            result = audit_dask(folder, outcome="y", sensitive="s", client=client, random_state=0)
            minutes = (time.perf_counter() - started) / 60
            workers = client.run(on_worker)
        planted = next(v for v in result.violations if v.group == 1 and v.outcome == 1)
        print(
            f"{minutes:.1f} min; workers' CPU {sum(w['cpu'] for w in workers.values()) / 60:.1f} min, "
            f"peak {max(w['peak'] for w in workers.values()):.0f} MiB each; this process' CPU "
            f"{(usage()['cpu'] - before) / 60:.1f} min"
        )
        print(planted, planted.gamma_interval, f"statistic {planted.statistic:.1f}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sizes_of(text):
    return [int(float(one)) for one in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = parser.add_subparsers(dest="table", required=True)
    rows = tables.add_parser("rows")
    rows.add_argument("--sizes", type=sizes_of, default=sizes_of("1e3,1e4,1e5,1e6"))
    rows.add_argument("--features", type=sizes_of, default=[10])
    features = tables.add_parser("features")
    features.add_argument("--sizes", type=sizes_of, default=sizes_of("1e4"))
    features.add_argument("--features", type=sizes_of, default=[2, 20, 100])
    for one in (rows, features):
        one.add_argument("--methods", type=lambda text: text.split(","), default=METHODS)
    many = tables.add_parser("groups")
    many.add_argument("--rows", type=lambda text: int(float(text)), default=5_000)
    many.add_argument("--groups", type=sizes_of, default=sizes_of("2,6,12,20,60"))
    speed = tables.add_parser("throughput")
    speed.add_argument("--rows", type=lambda text: int(float(text)), default=200_000)
    speed.add_argument("--features", type=sizes_of, default=[10, 50])
    speed.add_argument("--learned", type=lambda text: int(float(text)), default=50_000)
    cluster = tables.add_parser("dask")
    cluster.add_argument("--rows", type=lambda text: int(float(text)), default=20_000_000)
    cluster.add_argument("--features", type=int, default=10)
    cluster.add_argument("--workers", type=int, default=os.cpu_count())
    cluster.add_argument("--memory-limit", default="2GiB")
    one = tables.add_parser("one")
    one.add_argument("method", choices=METHODS)
    one.add_argument("rows", type=int)
    one.add_argument("features", type=int)
    args = parser.parse_args()
    if args.table == "one":
        print(json.dumps(one_process(args.method, args.rows, args.features)))
    elif args.table == "groups":
        groups(args.rows, args.groups)
    elif args.table == "throughput":
        for n_features in args.features:
            throughput(args.rows, n_features, args.learned)
    elif args.table == "dask":
        in_a_cluster(args.rows, args.features, args.workers, args.memory_limit)
    else:
        table(args.sizes, args.features, args.methods, args.table)


if __name__ == "__main__":
    main()
