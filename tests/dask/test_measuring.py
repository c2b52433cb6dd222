"""Blocks of rows are measured as rows in memory are, and their sums add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.arguments import checked_settings
from mdfa_fairness_plugin.dask import audit_dask
from mdfa_fairness_plugin.dask.learning import learn, panel_of
from mdfa_fairness_plugin.dask.measuring import add_measurements, measure_block
from mdfa_fairness_plugin.dask.survey import Columns, draw_sample, survey_block
from mdfa_fairness_plugin.exceptions import OverlapWarning, WarningLog
from mdfa_fairness_plugin.measure.conclude import Measured, Widening, conclude
from mdfa_fairness_plugin.measure.estimates import (
    estimates_of,
    lemma_strength,
    measure,
    measure_leftover,
    robust_sums,
)
from mdfa_fairness_plugin.measure.leak import leak_statistic
from mdfa_fairness_plugin.measure.sums import CORE, EVERYBODY, REGION, RULE
from mdfa_fairness_plugin.numerics.rows import Asked

dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def fitted(frame, quick, n_learned):
    """A region fitted to a sample, and what measures other rows by it; nothing is left out."""
    columns = Columns(outcome="denied", sensitive=("race",), features=("x1", "x2", "town"))
    settings = checked_settings(**quick)
    survey = survey_block(frame, 0, columns, n_learned, 0)
    sample = draw_sample(survey, n_learned)
    learned, _ = learn(sample, survey, settings, columns, "none", {}, WarningLog())
    panel = panel_of(learned, survey, columns, sample, "none")
    return learned, panel, survey, sample


def everything(panel):
    """The panel with no row taken for one that was learned from."""
    panel.cut.clear()
    return panel


def as_arrays(search):
    """Counts, which must be exact, and sums, which rounding may touch."""
    sums_of = search.search
    exact = [own.counts for own in sums_of.sets] + [search.outside[:, 0], sums_of.n_missing]
    exact.append(search.tally.counts[0])
    sums = [search.tally.counts, sums_of.robust, search.leak_by_model, search.rates_by_model]
    sums += [np.array([sums_of.leak.squares, sums_of.leak.fourths])]
    for own in sums_of.sets:
        for part in (own.rates, own.leftover):
            sums += [np.asarray(value) for value in vars(part).values()]
    return exact, sums


@pytest.mark.parametrize("sizes", [(6000,), (1, 5999), (1000,) * 6, (250,) * 24])
def test_any_partition_gives_the_same_sums(frame, fitted, sizes):
    """Counts to the last row, sums to rounding, whatever blocks the rows come in."""
    panel = everything(fitted[1])
    whole = measure_block(frame, 0, panel)
    ends = np.cumsum(sizes)
    blocks = [frame.iloc[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    parts = add_measurements([measure_block(block, i, panel) for i, block in enumerate(blocks)])
    assert parts.n_rows == whole.n_rows == len(frame)
    assert len(parts.searches) == 4
    for one, other in zip(parts.searches, whole.searches, strict=True):
        for a, b in zip(as_arrays(one)[0], as_arrays(other)[0], strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(as_arrays(one)[1], as_arrays(other)[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max(initial=0))
        # R sums to about nothing, so its rounding is that of its terms.
        assert one.search.leak.total == pytest.approx(other.search.leak.total, abs=1e-10)


def test_figures_of_a_region_are_those_of_plain_numpy(frame, fitted):
    """Every estimate of a fitted region, computed anew from rows in memory."""
    learned, panel, _, _ = fitted
    panel = everything(panel)
    measured = measure_block(frame, 0, panel)
    settings, labels = replace(learned.settings, estimator="hajek"), learned.problem.outcome_labels
    X = panel.encoder.transform(frame[["x1", "x2", "town"]])
    y = (frame["denied"] == "yes").to_numpy().astype(int)
    race = (frame["race"] == "white").to_numpy().astype(int)
    for judge, block, search in zip(panel.judges, measured.searches, learned.searches, strict=True):
        sums = block.search
        e = judge.propensity.predict(X)
        comparable = (e > judge.limits[0]) & (e < judge.limits[1])
        e, m = e[comparable], judge.outcome_model.predict(X)[comparable]
        e = 1 - e if judge.flip_s else e
        m = 1 - m if judge.flip_y else m
        s = np.where(race == judge.group, 1, -1)[comparable]
        positive = (y == judge.outcome)[comparable]
        w = np.where(s > 0, 1 - e, e)  # overlap weights
        score = judge.region.scores(Asked(X))[comparable]
        member, base = score >= judge.region.threshold, np.ones(len(s))
        sets = {
            EVERYBODY: np.ones(len(s), dtype=bool),
            REGION: member,
            CORE: score >= judge.region.core_threshold,
        }
        if judge.rule.alternatives:
            shown = panel.encoder.display_frame(frame[["x1", "x2", "town"]])
            sets[RULE] = judge.rule.applies(shown)[comparable]
        for place, own in sets.items():
            rates, left = measure(positive, s, w, own), measure_leftover(positive, s, w, m, own)
            assert sums.sets[place].rates.delta == pytest.approx(
                rates.delta, rel=1e-10, nan_ok=True
            )
            assert sums.sets[place].rates.mass == pytest.approx(rates.mass, rel=1e-12, nan_ok=True)
            np.testing.assert_allclose(sums.sets[place].leftover.second, left.second, rtol=1e-12)
            assert sums.sets[place].counts.sum() == own.sum()
        plain = Widening(test=1.0, planned=1.0, sets=(1.0,) * 4)
        one = Measured(key=search.key, alpha=search.data.alpha, sums=sums, widening=plain)
        given = conclude([one], settings, labels)[0]
        assert given["statistic"] == pytest.approx(
            leak_statistic(positive, s, e, m, base, member), rel=1e-9
        )
        inside = measure(positive, s, w, member)
        robust = robust_sums(positive, s, base, member, e, m)
        expected = estimates_of(inside, measure(positive, s, base, member), robust)
        assert given["estimates"] == pytest.approx(expected, rel=1e-9)
        lemma = lemma_strength(measure(positive, s, w), inside)
        assert given["gamma_lemma"] == pytest.approx(lemma)
        assert given["n_rows"] == member.sum()
        assert given["share"] == pytest.approx(member.mean(), rel=1e-12)


def test_counts_of_rows_weigh_as_the_rows_themselves(frame, fitted):
    """Measured with a weight of n, or n times."""
    panel = everything(fitted[1])
    rng = np.random.default_rng(0)
    copies = rng.integers(1, 4, len(frame))
    repeated = measure_block(frame.loc[frame.index.repeat(copies)], 0, panel)
    weighted = replace(panel, columns=replace(panel.columns, weight="n"), weight_type="frequency")
    counted = measure_block(frame.assign(n=copies), 0, weighted)
    for one, other in zip(counted.searches, repeated.searches, strict=True):
        for a, b in zip(as_arrays(one)[0], as_arrays(other)[0], strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(as_arrays(one)[1], as_arrays(other)[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * np.abs(b).max(initial=0))


@pytest.mark.parametrize(("common", "left"), [(0.5, 0.5), (0.2, 0.7)])
def test_rows_without_comparable_rows_are_left_out_wherever_they_are(common, left):
    """Beyond a quantile of x everybody is of group p: they are left out, seen by a model or not.

    Below it half, or a fifth, are of p, which makes it the more frequent group or the rarer.
    """
    rng = np.random.default_rng(1)
    n = 3000
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(size=n),
            "group": np.where((x > np.quantile(x, left)) | (rng.random(n) < common), "p", "q"),
            "denied": np.where(rng.random(n) < 0.4, "yes", "no"),
        }
    )
    with pytest.warns(OverlapWarning, match="no comparable row"):
        result = audit_dask(
            dd.from_pandas(frame, npartitions=2),
            outcome="denied",
            sensitive=["group"],
            learner="tree",
            n_splits=2,
            max_learning_rows=1000,
            random_state=0,
        )
    for v in result.violations:
        assert v.population.n_rows == pytest.approx(left * 2000, rel=0.1)
