"""Blocks of rows are measured as rows in memory are, and their sums add up."""

from __future__ import annotations

import dataclasses
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
from mdfa_fairness_plugin.measure.conclude import conclude
from mdfa_fairness_plugin.measure.measured import Measured, Widening
from mdfa_fairness_plugin.measure.sums import REGION, SEARCHED, SETS, MeasuredRows, SearchSums
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
    sums = [search.tally.counts, search.leak_by_model[..., 1], search.rates_by_model]
    for own in sums_of.sets:
        sums.append(np.array([own.leak.squares, own.leak.fourths]))
        for part in (own.rates, own.leftover, *own.rungs):
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
        for a, b in zip(one.search.sets, other.search.sets, strict=True):
            assert a.leak.total == pytest.approx(b.leak.total, abs=1e-10)
        residual = one.leak_by_model[..., 0], other.leak_by_model[..., 0]
        np.testing.assert_allclose(*residual, atol=1e-10)


def in_memory(frame, panel, judge):
    """Sums that an audit in memory makes of the rows judged, and who is in each set."""
    X = panel.encoder.transform(frame[["x1", "x2", "town"]])
    y = (frame["denied"] == "yes").to_numpy().astype(int)
    race = (frame["race"] == "white").to_numpy().astype(int)
    e = judge.propensity.predict(X)
    comparable = (e > judge.limits[0]) & (e < judge.limits[1])
    X, s = X[comparable], np.where(race == judge.group, 1, -1)[comparable]

    def overlap(model, outcome_model):
        e, m = model.predict(X), outcome_model.predict(X)
        e, m = 1 - e if judge.flip_s else e, 1 - m if judge.flip_y else m
        return e, np.where(s > 0, 1 - e, e), m

    score = judge.region.scores(Asked(X))
    covered = judge.rule.applies(panel.encoder.display_frame(frame[["x1", "x2", "town"]]))[
        comparable
    ]
    region = judge.region
    cuts = (-np.inf, region.threshold, region.core_threshold, None, judge.proposed)
    members = tuple(covered if cut is None else score >= cut for cut in cuts)
    e, w, m = overlap(judge.propensity, judge.outcome_model)
    lesser = list(zip(judge.propensity.lesser, judge.outcome_model.lesser, strict=True))
    rows = MeasuredRows(
        s=s,
        value=judge.valued.values(y, None)[comparable],
        y=y[comparable],
        n_outcomes=2,
        base=np.ones(len(s)),
        weights=w,
        propensity=e,
        outcome=m,
        lesser=tuple(overlap(*pair)[1:] for pair in lesser),
        shares=tuple(min(own.share for own in pair) for pair in lesser),
    )
    return rows, members, SearchSums.of(rows, members, missing=np.zeros((2, 2)), n_missing=0)


def concluded(search, sums, settings, whole):
    """Figures of a search with these sums, as if the region had been named beforehand."""
    one = Measured(
        key=search.key,
        alpha=search.data.alpha,
        sums=sums,
        widening=Widening(tests=(1.0,) * len(SETS), sets=(1.0,) * len(SETS)),
        hypothesis=search.hypothesis,
        ladder=search.ladder,
        everybody=whole,
    )
    return conclude([one], settings, ("no", "yes"))[0]


@pytest.mark.parametrize("estimator", ["doubly_robust", "hajek"])
@pytest.mark.parametrize("whole", [False, True], ids=["a part", "everybody"])
def test_figures_of_a_region_are_those_in_memory(frame, fitted, estimator, whole):
    """All sums of all sets, and all that is concluded of them, from rows and models in memory.

    Also where everybody is reported in the place of the region that was proposed.
    """
    learned, panel, _, _ = fitted
    panel = everything(panel)
    if whole:
        cuts = {"threshold": -np.inf, "core_threshold": -np.inf}
        judges = [replace(one, region=replace(one.region, **cuts)) for one in panel.judges]
        panel = replace(panel, judges=tuple(judges))
    measured = measure_block(frame, 0, panel)
    settings = replace(learned.settings, estimator=estimator)
    for judge, block, search in zip(panel.judges, measured.searches, learned.searches, strict=True):
        rows, members, expected = in_memory(frame, panel, judge)
        assert [rung.share for rung in expected.region.rungs] == [1.0, 1.0, 0.5]
        for own, other in zip(block.search.sets, expected.sets, strict=True):
            np.testing.assert_array_equal(own.counts, other.counts)
            assert own.hit_clusters == other.hit_clusters
            pairs = zip(
                (own.rates, own.leftover, *own.rungs),
                (other.rates, other.leftover, *other.rungs),
                strict=True,
            )
            for a, b in pairs:
                for name, value in vars(a).items():
                    np.testing.assert_allclose(value, getattr(b, name), rtol=1e-9)
            assert own.leak.statistic() == pytest.approx(other.leak.statistic(), rel=1e-7, abs=1e-9)
        tally = block.tally.counts
        predicted = [(rows.weights * rows.outcome)[rows.s == side].sum() for side in (1, -1)]
        np.testing.assert_allclose(tally[5].sum(axis=-1), predicted, rtol=1e-10)
        found, known = (concluded(search, one, settings, whole) for one in (block.search, expected))
        assert_same(found, known)
        assert found["searched"].n_rows == members[SEARCHED].sum()
        everybody = whole or bool(np.isneginf(judge.region.threshold))
        assert (found["n_rows"] > found["searched"].n_rows) == everybody
        assert found["n_rows"] == members[REGION].sum()
        assert found["share"] == pytest.approx(members[REGION].mean(), rel=1e-12)


def assert_same(found, known):
    """Two figures, or records of figures, but for rounding."""
    if isinstance(known, pd.DataFrame):
        pd.testing.assert_frame_equal(found, known)
    elif dataclasses.is_dataclass(known):
        for one in dataclasses.fields(known):
            assert_same(getattr(found, one.name), getattr(known, one.name))
    elif isinstance(known, dict):
        assert found.keys() == known.keys()
        for name, value in known.items():
            assert_same(found[name], value)
    elif isinstance(known, str | frozenset) or known is None:
        assert found == known
    else:
        np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-9)


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
