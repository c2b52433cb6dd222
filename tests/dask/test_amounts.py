"""Numbers, orders, classes and counts of rows elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.arguments import checked_settings
from mdfa_fairness_plugin.dask.amounts import AmountSums, Scale
from mdfa_fairness_plugin.dask.groups import by_cluster, tally_by_cluster
from mdfa_fairness_plugin.dask.learning import learn, panel_of
from mdfa_fairness_plugin.dask.measuring import add_measurements, measure_block
from mdfa_fairness_plugin.dask.survey import Columns, draw_sample, survey_block
from mdfa_fairness_plugin.data.amounts import amount_of
from mdfa_fairness_plugin.exceptions import InputError, NothingToAuditError, WarningLog
from mdfa_fairness_plugin.measure.sums import EVERYBODY, REGION, MeasuredRows, SearchSums
from mdfa_fairness_plugin.numerics.rows import Asked

dd = pytest.importorskip("dask.dataframe")

ORDER = ["low", "mid", "high"]
N = 2_400


@pytest.fixture(scope="module")
def paid(made):
    """Planted data with an amount, 12 less for one group in a region, its grade, and who it is of."""
    frame = made(N)
    rng = np.random.default_rng(1)
    less = (frame["race"] == "black") & (frame["x1"] < 0)
    pay = 100.0 + 20.0 * frame["x1"] + rng.normal(0, 10, N) - 12.0 * less
    frame["paid"] = np.maximum(pay, 0.5)
    frame["grade"] = pd.cut(frame["paid"], [-np.inf, 90, 110, np.inf], labels=ORDER).astype(str)
    frame["years"] = rng.uniform(0.5, 2.0, N)
    return frame.drop(columns="denied")


QUESTIONS = {
    "difference": {"outcome": "paid", "outcome_type": "numeric"},
    "ratio": {"outcome": "paid", "outcome_type": "numeric", "measure": "ratio"},
    "rank": {"outcome": "paid", "outcome_type": "numeric", "robust": "rank"},
    "per year": {"outcome": "paid", "outcome_type": "numeric", "exposure": "years"},
    "order": {"outcome": "grade", "ordered": ORDER},
    "classes": {"outcome": "grade", "outcome_type": "multiclass"},
}
SOME = {"features": ["x1", "x2", "town"], "n_splits": 2, "n_repeats": 1}


@pytest.mark.parametrize("name", ["per year", "classes"])
def test_few_rows_are_audited_as_in_memory(paid, run, quick, name):
    asked, frame = dict(QUESTIONS[name]), paid.head(500)
    result = run(frame, 3, **SOME, **asked)
    y, exposure = frame[asked.pop("outcome")], asked.pop("exposure", None)
    kept = {name: own for name, own in quick.items() if name != "max_learning_rows"}
    alone = mdfa.audit(
        frame[SOME["features"]],
        y,
        sensitive_features=frame["race"],
        exposure=None if exposure is None else frame[exposure],
        **kept | {"n_splits": 2, "n_repeats": 1} | asked,
    )
    for own, other in zip(result.violations, alone.violations, strict=True):
        assert (own.outcome, own.verdict, own.rule) == (other.outcome, other.verdict, other.rule)
        assert own.effect == pytest.approx(other.effect)
        assert own.effect_interval == pytest.approx(other.effect_interval)


@pytest.fixture(scope="module", params=[name for name in QUESTIONS if name != "rank"])
def fitted(request, paid, quick):
    """What measures other rows by a sample of 600, and what was asked."""
    asked = dict(QUESTIONS[request.param])
    columns = Columns(
        outcome=asked.pop("outcome"),
        sensitive=("race",),
        features=tuple(SOME["features"]),
        exposure=asked.pop("exposure", None),
        numeric=asked.get("outcome_type") == "numeric",
    )
    settings = checked_settings(**quick | {"max_learning_rows": 600, "n_splits": 2} | asked)
    survey = survey_block(paid, 0, columns, 600, 0)
    sample = draw_sample(survey, 600)
    learned, _ = learn(sample, survey, settings, columns, "none", {}, WarningLog())
    panel = panel_of(learned, survey, columns, sample, "none")
    panel.cut.clear()  # no row is taken for one that was learned from
    return learned, panel, request.param


def expected(paid, panel, judge, unit, name):
    """Sums of the rows judged, each with its own outcome, worked out from the frame."""
    X = panel.encoder.transform(paid[SOME["features"]])
    race = (paid["race"] == "white").to_numpy().astype(int)
    e = judge.propensity.predict(X)
    there = (e > judge.limits[0]) & (e < judge.limits[1])
    exposure = paid["years"].to_numpy() if name == "per year" else np.ones(N)
    grade = paid["grade"].map(ORDER.index).to_numpy()
    wanted = judge.name
    amounts = grade / unit if name == "order" else paid["paid"] / exposure / unit
    if wanted in ("more", "higher rank"):
        value = amounts
    elif wanted in ("less", "lower rank"):
        value = -amounts
    else:
        beyond = {"mid or higher": grade > 0, "below high": grade < 2}
        value = beyond.get(wanted, grade == (ORDER.index(wanted) if wanted in ORDER else -1))
    s = np.where(race == judge.group, 1, -1)
    m = judge.outcome_model.predict(X)
    means = wanted in ("more", "less", "higher rank", "lower rank")
    m = (0.0 if means else 1.0) - m if judge.flip_y else m
    own_e = 1 - e if judge.flip_s else e
    base = exposure / exposure.mean()
    rows = MeasuredRows(
        s=s[there],
        value=np.asarray(value)[there],
        kind=judge.valued.kind,
        y=np.zeros(there.sum(), dtype=int),
        n_outcomes=1,
        base=base[there],
        weights=(base * np.where(s > 0, 1 - own_e, own_e))[there],
        propensity=own_e[there],
        outcome=m[there],
    )
    inside = judge.region.scores(Asked(X))[there] >= judge.region.threshold
    return rows, (np.ones(there.sum(), dtype=bool), inside)


def test_sums_of_blocks_are_those_of_the_rows(paid, fitted):
    """Whatever is asked, from the values of the frame itself; in any partition."""
    learned, panel, name = fitted
    whole = measure_block(paid, 0, panel)
    parts = add_measurements([measure_block(paid.iloc[i::3], i, panel) for i in range(3)])
    numbers = learned.problem.amount
    unit = 1.0 if numbers is None else numbers.unit
    if panel.columns.numeric:
        weight = paid["years"] if name == "per year" else None
        told = paid["paid"] / (1.0 if weight is None else weight)
        centre = np.average(told, weights=weight)
        assert unit == pytest.approx(np.sqrt(np.average((told - centre) ** 2, weights=weight)))
    searches = [own for own in learned.searches if own.made]
    for search, judge, one, two in zip(
        searches, panel.judges, whole.searches, parts.searches, strict=True
    ):
        object.__setattr__(judge, "name", search.key.outcome)
        rows, members = expected(paid, panel, judge, unit, name)
        for place in (EVERYBODY, REGION):
            known = SearchSums.of(rows, [members[place]] * 5, missing=np.zeros((2, 2)), n_missing=0)
            for block in (one, two):
                own, other = block.search.sets[place], known.sets[place]
                assert type(own.rates) is judge.valued.kind
                for part in ("rates", "leftover"):
                    for field, value in vars(getattr(other, part)).items():
                        np.testing.assert_allclose(
                            getattr(getattr(own, part), field), value, rtol=1e-8, atol=1e-8
                        )
                assert own.leak.statistic() == pytest.approx(other.leak.statistic(), abs=1e-6)
                assert own.n_rows == members[place].sum()
        assert one.search.n_missing == 0


def test_ranks_are_places_among_the_rows_learned_from():
    rng = np.random.default_rng(0)
    numbers = rng.lognormal(size=300).round(1)  # with ties
    for robust in ("rank", 0.05, None):
        settings = checked_settings(outcome_type="numeric", robust=robust)
        amount = amount_of(numbers, np.ones(300), settings, per=False)
        scale = Scale.of(numbers, amount, settings)
        np.testing.assert_allclose(scale.values(numbers), amount.values, rtol=1e-12)
    ranks = Scale.of(
        numbers,
        amount_of(
            numbers,
            np.ones(300),
            checked_settings(outcome_type="numeric", robust="rank"),
            per=False,
        ),
        checked_settings(outcome_type="numeric", robust="rank"),
    )
    assert ranks.values(np.array([-1.0, 1e9])) * ranks.unit == pytest.approx([0.0, 1.0])


def test_what_is_known_of_numbers_adds_up():
    rng = np.random.default_rng(0)
    numbers, weight = 1e6 + rng.normal(size=500), rng.uniform(0.5, 2, 500)
    exposure = rng.uniform(0.1, 3, 500)
    parts = [AmountSums.of(numbers[i::7], weight[i::7], exposure[i::7]) for i in range(7)]
    added = sum(parts, start=AmountSums())
    whole = AmountSums.of(numbers, weight, exposure)
    own = weight * exposure
    centre = np.average(numbers, weights=own)
    sd = np.sqrt(np.average((numbers - centre) ** 2, weights=own))
    assert added.unit == pytest.approx(sd, rel=1e-9)
    assert whole.unit == pytest.approx(sd, rel=1e-9)
    assert added.mean_exposure == pytest.approx(np.average(exposure, weights=weight))
    assert (added.n_rows, added.least, added.most) == (500, numbers.min(), numbers.max())


@pytest.mark.parametrize("name", ["difference", "ratio"])
def test_errors_of_people_with_several_rows_go_by_person(paid, quick, name):
    """Every row twice, as one person's, is as one row: sums by group give that in any partition."""
    twice = pd.concat([paid, paid], ignore_index=True)
    twice["who"] = np.tile(np.arange(N) % 500, 2)
    asked = {name: own for name, own in QUESTIONS[name].items() if name != "outcome"}
    columns = Columns(
        outcome="paid", sensitive=("race",), features=("x1", "x2"), cluster="who", numeric=True
    )
    settings = checked_settings(**quick | {"max_learning_rows": 600, "n_splits": 2} | asked)
    survey = survey_block(twice, 0, columns, 600, 0)
    sample = draw_sample(survey, 600)
    learned, _ = learn(sample, survey, settings, columns, "none", {}, WarningLog())
    panel = panel_of(learned, survey, columns, sample, "none")
    one = measure_block(twice, 0, panel)
    two = add_measurements([measure_block(twice.iloc[i::4], i, panel) for i in range(4)])
    for a, b in zip(one.searches, two.searches, strict=True):
        own, other = (by_cluster(x.search, x.groups, panel.grouping) for x in (a, b))
        assert own.everybody.hit_clusters == panel.grouping.n_measured
        np.testing.assert_allclose(own.everybody.rates.clustered, other.everybody.rates.clustered)
        assert (own.everybody.leftover.second > a.search.everybody.leftover.second).all()
        tally = tally_by_cluster(a.tally, a.search, own).counts
        summed = tally[-3:].sum(axis=-1)  # of everybody: those of clusters
        np.testing.assert_allclose(summed[0], own.everybody.rates.clustered[0], rtol=1e-6)
        np.testing.assert_allclose(summed[1], own.everybody.leftover.second, rtol=1e-6)


def changed(frame, column, value, row=-1):
    frame = frame.copy()
    frame[column] = frame[column].astype(object if isinstance(value, str) else float)
    frame.iloc[row, frame.columns.get_loc(column)] = value
    return frame


@pytest.mark.parametrize(
    ("spoil", "asked", "error", "message"),
    [
        (("paid", "much"), {}, InputError, "y: outcome_type='numeric' needs numbers"),
        (("paid", np.inf), {}, InputError, "y: 1 of 2,400 outcomes are infinite"),
        (
            ("paid", -1.0),
            {"measure": "ratio"},
            InputError,
            "measure: 'ratio' compares means, and 1",
        ),
        (("paid", -1.0), {"exposure": "years"}, InputError, "exposure: counts are divided by it"),
        (("years", 0.0), {"exposure": "years"}, InputError, "exposure: 1 of 2,400 values are no"),
        (
            ("years", np.nan),
            {"exposure": "years"},
            InputError,
            "exposure: 1 of 2,400 values are no",
        ),
        (("paid", np.nan), {}, InputError, "y: 1 of 2,400 outcomes are missing"),
        (None, {"exposure": "years", "outcome_type": "auto"}, InputError, "exposure: it divides"),
    ],
)
def test_numbers_that_cannot_be_audited_are_refused_wherever_they_lie(
    paid, run, spoil, asked, error, message
):
    frame = paid if spoil is None else changed(paid, *spoil)
    kept = {"outcome": "paid", "outcome_type": "numeric", "max_learning_rows": 200} | asked
    with pytest.raises(error, match=message):
        run(frame, 3, **SOME, **kept)


def test_numbers_that_are_all_the_same_are_refused(paid, run):
    with pytest.raises(NothingToAuditError, match="every one of the 2,400 outcomes is 7"):
        run(paid.assign(paid=7.0), 3, outcome="paid", outcome_type="numeric", **SOME)


def test_a_planted_difference_is_found_among_all_rows(paid, run):
    result = run(paid, 4, max_learning_rows=600, **SOME, **QUESTIONS["difference"])
    worst = result.worst_case
    assert (worst.outcome, worst.verdict) == ("less", "violation") or worst.outcome == "more"
    assert worst.population.difference == pytest.approx(6.0, abs=2.0)
    assert worst.outcome_sd == pytest.approx(paid["paid"].std(ddof=0))
    assert result.excluded["learned from, not measured"] == 600
    own = run(
        paid.assign(paid=1000.0 * paid["paid"]),
        4,
        max_learning_rows=600,
        **SOME,
        **QUESTIONS["difference"],
    ).worst_case
    assert own.difference == pytest.approx(1000.0 * worst.difference, rel=1e-6)
    assert own.difference_interval == pytest.approx(
        [1000.0 * end for end in worst.difference_interval], rel=1e-6
    )
    assert result.summary()
