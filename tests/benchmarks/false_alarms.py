"""False alarms, power and coverage of the default audit over many data sets.

Run from the repository root, for example::

    python tests/benchmarks/false_alarms.py nulls --runs 200 --jobs 2
    python tests/benchmarks/false_alarms.py power --runs 200
    python tests/benchmarks/false_alarms.py coverage --runs 200 --case "n = 1000"
    python tests/benchmarks/false_alarms.py evidence --runs 60 --jobs 2
    python tests/benchmarks/false_alarms.py evidence_power --runs 200
    python tests/benchmarks/false_alarms.py rare --runs 60
    python tests/benchmarks/false_alarms.py boxes --runs 60 --case "COMPAS, tree"
    python tests/benchmarks/false_alarms.py plants --runs 60 --case "ratio 3"
    python tests/benchmarks/false_alarms.py p_values --runs 250

On data without a violation it prints the share of audits that report one in any search, the share of
searches with a p-value below .05, the spread of the test statistic in regions that were searched for
and elsewhere, and how often an interval excludes zero. Coverage is of the found subgroup's own
delta, from the known rates of its rows. COMPAS and Adult (under ``MDFA_DATA_HOME``) lend their features
and sensitive values; outcomes are redrawn from a model that does not see the sensitive value.

"evidence" are coin flips given as rows that are no people: with whole-number weights, copied, several
rows a person with ``clusters``. A line fails if as many false alarms have a probability below .001
where one audit in twenty has one. "evidence_power" sets weights and clusters beside as many people of
one row each; "rare" are rare outcomes, without and with three times the rate in a quarter of x.

"boxes" are black boxes whose answer is a rule (or rate) of the audited features, some of real people
and their groups: nothing to find. "plants" are the same with a violation on top. "p_values" says
how often p-values are small where there is nothing to find: everybody's, the region's before one of the
two is chosen, and the reported one. The last line is of all lines of a table together.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from populations import TABLES
from scipy.stats import binom

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.exceptions import MDFAWarning


def p_of_everybody(v):
    return v.population.p_value


def p_of_region(v):
    return v.searched.p_value


def rests_on_models(v):
    """Whether there is not enough evidence because the ratio falls as the models get better."""
    known = getattr(v, "depends_on_models", None) is not None
    return known and v.verdict == "insufficient_evidence" and "models" in v.reason


def one_run(make, seed, options):
    """One line per search of one audit."""
    warnings.simplefilter("ignore", MDFAWarning)
    population = make(seed)
    started = time.process_time()
    result = mdfa.audit(
        population.X,
        population.y,
        sensitive_features=population.s,
        random_state=seed,
        **population.given,
        **options,
    )
    cpu = time.process_time() - started
    warned = any(one.category == "RepeatedRowsWarning" for one in result.warnings)
    lines = []
    for v in result.violations:
        if not v.measured:
            continue
        inside, overlap = v.membership, np.nan
        if population.region is not None:
            both = (inside & population.region).sum()
            overlap = both / max((inside | population.region).sum(), 1)
        lines.append(
            {
                "seed": seed,
                "group": v.group,
                "outcome": v.outcome,
                "violation": v.verdict == "violation",
                "p": v.p_value,
                "p_everybody": p_of_everybody(v),
                "p_region": p_of_region(v),
                "z": v.statistic,
                "searched": v.share < 1,
                "worst": v is result.worst_case,
                "rests": rests_on_models(v),
                "delta": v.delta,
                "truth": population.truth(v),
                "low": v.interval[0],
                "high": v.interval[1],
                "core_low": v.core.interval[0],
                "rule_low": v.rule_subgroup.interval[0],
                "overlap": overlap,
                "warned": warned,
                "cpu": cpu,
            }
        )
    return pd.DataFrame(lines)


def describe_nulls(lines, runs):
    z = lines["z"].replace([np.inf, -np.inf], np.nan)
    above = lines.groupby("seed")["low"].max().gt(0).sum() / runs
    return (
        f"{_alarms(lines, runs)} | p < .05 {lines['p'].lt(0.05).mean():.3f} | searched "
        f"{lines['searched'].mean():.2f}: z {z[lines['searched']].mean():+.2f} sd "
        f"{z[lines['searched']].std():.2f}; everybody: z {z[~lines['searched']].mean():+.2f} sd "
        f"{z[~lines['searched']].std():.2f} | interval above 0: search "
        f"{lines['low'].gt(0).mean():.3f}, audit {above:.3f} | covered {_covered(lines).mean():.3f}"
    )


def describe_power(lines, runs):
    return f"found {_audits(lines, 'violation') / runs:.3f}"


def describe_evidence(lines, runs):
    return (
        f"{_alarms(lines, runs)} | p < .05 {lines['p'].lt(0.05).mean():.3f} | z sd "
        f"{lines['z'].replace([np.inf, -np.inf], np.nan).std():.2f} | warned of copies "
        f"{_audits(lines, 'warned')}"
    )


def describe_boxes(lines, runs):
    worst = lines[lines["worst"]]
    ratio, covered = np.exp(worst["delta"]), worst["low"].le(0) & worst["high"].ge(0)
    return (
        f"{_alarms(lines, runs)} | worst search: ratio median {ratio.median():.3f} largest "
        f"{ratio.max():.3f}, covers 1 {covered.mean():.3f} | rests on the models: "
        f"{lines['rests'].sum()} of {len(lines)} searches"
    )


def describe_plants(lines, runs):
    planted = lines[lines["group"].eq(1) & lines["outcome"].eq(1)]
    silent = ~lines.groupby("seed")["violation"].any() & lines.groupby("seed")["rests"].any()
    return (
        f"{describe_power(lines, runs)} | rests on the models {silent.sum() / runs:.3f} | "
        f"planted search: {_overlap(planted)}"
    )


def describe_p_values(lines, runs):
    kinds = {"everybody": "p_everybody", "region": "p_region", "reported": "p"}
    parts = []
    for name, column in kinds.items():
        p = lines[column].dropna()
        below = " ".join(f"< {at} {p.lt(at).mean():.4f}" for at in (0.05, 0.01))
        parts.append(f"{name} {below} (of {len(p)})")
    return " | ".join(parts)


def describe_rare(lines, runs):
    planted = lines[lines["group"].eq(1) & lines["outcome"].eq(1)]
    return f"{describe_evidence(lines, runs)} | planted search: {_overlap(planted)}"


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


def _audits(lines, column):
    return int(lines.groupby("seed")[column].any().sum())


def _alarms(lines, runs):
    """Audits with a false alarm, and the chance of as many if one in twenty has one."""
    alarms = _audits(lines, "violation")
    chance = binom.sf(alarms - 1, runs, 0.05)
    fails = " FAILS" if chance < 0.001 else ""
    return f"alarms {alarms} of {runs}, chance of as many {chance:.3f}{fails}"


def _overlap(planted):
    found = planted["violation"]
    return (
        f"found {found.sum()}, overlap {planted['overlap'].mean():.2f}, of those found "
        f"{planted.loc[found, 'overlap'].mean():.2f}"
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
    "boxes": describe_boxes,
    "plants": describe_plants,
    "p_values": describe_p_values,
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
    tables = []
    for name, make in TABLES[args.table].items():
        if args.case not in name:
            continue
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
        show(args.table, name, lines, args.runs)
        tables.append(lines.assign(seed=[f"{name}, {seed}" for seed in lines["seed"]]))
    if len(tables) > 1:
        show(args.table, "all", pd.concat(tables, ignore_index=True), args.runs * len(tables))


def show(table, name, lines, runs):
    text, seconds = DESCRIBE[table](lines, runs), lines.groupby("seed")["cpu"].first().mean()
    print(f"{name:<46}{text}; {runs} runs, {seconds:.2f} CPU s each", flush=True)


if __name__ == "__main__":
    main()
