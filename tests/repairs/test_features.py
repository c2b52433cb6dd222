"""Features that do not tell the group, and weights that make it independent of the label."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from mdfa_fairness_plugin.exceptions import InputError, RepairWarning
from mdfa_fairness_plugin.repairs import (
    DecorrelatedClassifier,
    DisparateImpactClassifier,
    ReweighingClassifier,
)
from mdfa_fairness_plugin.repairs.toolkits import aif360_dataset, group_lists


@pytest.fixture
def treated(people):
    """What the classifier is given for the features of a table."""
    pytest.importorskip("aif360")
    pytest.importorskip("BlackBoxAuditing")

    def treat(frame, sides=people.sides, **options):
        frame = frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)
        model = DisparateImpactClassifier(**options)
        return model._treated(frame[model._seen(frame, sides)], sides)

    return treat


@pytest.mark.parametrize(
    ("name", "limit"), [("DI-LC", 0.25), ("Decorrelated-LC", 0.3), ("Reweighing-LC", 0.7)]
)
def test_the_gap_in_rates_gets_smaller(name, limit, people):
    before = people.gap(people.answers("LC"))
    assert before > 0.25
    assert abs(people.gap(people.answers(name))) < limit * before


def test_numbers_get_one_distribution_and_keep_their_order_within_each_group(people, treated):
    Z, sides = people.X["hours"].to_numpy(), people.sides
    off, full = (treated(people.X[["hours"]], repair_level=one)["x0"] for one in (0.0, 1.0))
    np.testing.assert_allclose(off, Z)
    means = [[column[sides == side].mean() for side in (0, 1)] for column in (Z, full)]
    assert np.ptp(means[0]) > 5
    assert np.ptp(means[1]) < 0.5
    for side in (0, 1):
        rows = sides == side
        assert (np.diff(full[rows].to_numpy()[np.argsort(Z[rows], kind="stable")]) >= 0).all()


def test_categories_get_one_distribution_by_the_fewest_moves(treated):
    """Shares .6, .3, .1 and .2, .3, .5 have .2, .3, .1 in common: .4 of each side are drawn anew.

    They are drawn by those shares, so that both sides end near 1/3, 1/2 and 1/6.
    """
    counts = np.array([[1200, 600, 200], [400, 600, 1000]])
    job = np.concatenate([np.repeat(["a", "b", "c"], row) for row in counts])
    sides = np.repeat([0, 1], 2000)
    after = treated(pd.DataFrame({"job": job}), sides)["x0"].to_numpy()
    shares = pd.crosstab(after, sides, normalize="columns").to_numpy()
    # Four standard deviations of 800 draws among 2,000.
    assert (
        np.abs(shares - np.array([[1 / 3], [1 / 2], [1 / 6]])).max() < 4 * 0.5 * np.sqrt(800) / 2000
    )
    kept = pd.crosstab(job[after == job], sides[after == job]).to_numpy().T
    assert (kept >= 2000 * np.array([0.2, 0.3, 0.1]) - 1).all()
    # Half a repair keeps what both have in common with where each side was.
    half = treated(pd.DataFrame({"job": job}), sides, repair_level=0.5)["x0"].to_numpy()
    moved = [(one != job).mean() for one in (half, after)]
    assert 0.1 < moved[0] < 0.25 < moved[1] < 0.4


def test_neither_order_of_rows_nor_other_columns_decide_who_gets_another_category(people, treated):
    rows = np.random.default_rng(0).permutation(len(people.X))
    straight = treated(people.X[["hours", "job"]])
    shuffled = treated(people.X[["hours", "job"]].iloc[rows], people.sides[rows])
    pd.testing.assert_frame_equal(shuffled, straight.loc[shuffled.index])


def test_what_has_two_values_or_misses_some_is_a_category(treated):
    """Yes and no and 0 and 1 are moved too, as the remover of numbers cannot."""
    rng = np.random.default_rng(0)
    sides = np.repeat([0, 1], 1000)
    yes = rng.random(2000) < 0.2 + 0.6 * sides
    text = pd.Series(np.where(yes, "x", None), dtype=object)
    frame = pd.DataFrame({"a": yes, "b": yes.astype(int), "c": text, "d": ["one"] * 2000})
    after = treated(frame, sides)
    assert after["x0"].dtype == bool
    assert set(after["x1"]) == {0, 1}
    for column in (after["x0"], after["x1"], after["x2"].isna()):
        assert abs(column[sides == 0].mean() - column[sides == 1].mean()) < 0.08
    assert (after["x3"] == "one").all()


@pytest.fixture
def aged(people):
    """Ages of both groups are the same ones, more often high in one: the remover leaves them."""
    pytest.importorskip("aif360")
    pytest.importorskip("BlackBoxAuditing")
    age = np.random.default_rng(0).binomial(8, 0.4 + 0.2 * people.sides)
    return people.X.assign(age=np.clip(age, 1, 7))


def test_numbers_that_occur_in_both_groups_are_repaired_as_categories(people, aged):
    model = DisparateImpactClassifier().fit(aged, people.y, sensitive_features=people.s)
    table = model.report_.columns.set_index("column")
    assert table["treatment"].to_dict() == {
        "hours": "repaired", "study": "alike already", "job": "repaired", "sex": "left out",
        "age": "repaired as categories",
    }  # fmt: skip
    for column in ("hours", "age"):
        assert table.loc[column, "gap_after"] < 0.05 < 0.2 < table.loc[column, "gap_before"]


@pytest.mark.parametrize(("level", "done"), [(0.5, "repaired"), (0, "not repaired")])
def test_a_level_below_one_is_told_and_takes_no_longer(people, level, done, monkeypatch):
    """A measurement is never redrawn as thousands of categories, which would take minutes."""
    pytest.importorskip("BlackBoxAuditing")
    redrawn = DisparateImpactClassifier._redrawn

    def few(self, frame, *given):
        assert "x0" not in frame  # hours
        return redrawn(self, frame, *given)

    monkeypatch.setattr(DisparateImpactClassifier, "_redrawn", few)
    model = DisparateImpactClassifier(repair_level=level)
    table = model.fit(people.X, people.y, sensitive_features=people.s).report_.columns
    hours = table.set_index("column").loc["hours"]
    assert hours["treatment"] == done
    assert hours["gap_after"] == pytest.approx((1 - level) * hours["gap_before"], abs=0.05)


def test_columns_that_still_tell_are_named(people, aged, monkeypatch):
    """Nothing else helps where the general repairer leaves a column as it is, too."""
    monkeypatch.setattr(DisparateImpactClassifier, "_redrawn", lambda _, frame, *given: frame)
    with pytest.warns(
        RepairWarning, match=r"the groups can still be told apart by 'age', 'job'\. L"
    ):
        model = DisparateImpactClassifier().fit(aged, people.y, sensitive_features=people.s)
    table = model.report_.columns.set_index("column")
    assert table.loc["age", "treatment"] == "still tells"
    assert table.loc["age", "share_moved"] == 0


def test_what_cannot_be_repaired_is_refused(people):
    X, y, s = people.X, people.y, people.s
    with pytest.raises(InputError, match="repair_level: from 0 to 1 is needed, 2 found"):
        DisparateImpactClassifier(repair_level=2).fit(X, y, sensitive_features=s)
    with pytest.raises(InputError, match="every column only repeats"):
        DisparateImpactClassifier().fit(X[["sex"]], y, sensitive_features=s)
    model, men = people.fitted("DI-LC"), (s == "Male").to_numpy()
    with pytest.raises(InputError, match="one group only"):
        model.predict(X[men], sensitive_features=s[men])
    holes = X.assign(hours=X["hours"].where(X.index > 2))
    with pytest.raises(InputError, match="X: 3 of 2,000 rows miss a number"):
        DisparateImpactClassifier().fit(holes, y, sensitive_features=s)
    with pytest.raises(InputError, match="alpha: from 0 to 1 is needed, -1 found"):
        DecorrelatedClassifier(alpha=-1).fit(X, y, sensitive_features=s)


def test_correlation_remover_leaves_no_correlation(people):
    model = people.fitted("Decorrelated-LC")
    frame = people.X.set_axis([f"x{i}" for i in range(people.X.shape[1])], axis=1)
    cleaned = model._cleaned(model._encoded(frame), people.sides)
    # The one-hot columns of sex itself are constant once the group is taken out.
    moving = cleaned[:, cleaned.std(axis=0) > 1e-6]
    assert np.abs(np.corrcoef(moving.T, people.sides)[-1, :-1]).max() < 1e-6
    table = model.report_.columns.set_index("column")
    assert table.loc["sex", "gap_before"] == 1
    assert table["gap_after"].max() < 1e-6


def test_reweighing_makes_label_and_group_independent(people):
    """Oracle: AIF360's own metric on the weights its class gives."""
    pytest.importorskip("aif360")
    from aif360.metrics import BinaryLabelDatasetMetric

    class Recorder(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            Recorder.weights = sample_weight
            return super().fit(X, y, sample_weight=sample_weight)

    model = ReweighingClassifier(Recorder()).fit(people.X, people.y, sensitive_features=people.s)
    weighted = aif360_dataset(people.X[["hours"]].to_numpy(), people.high, people.sides)
    weighted.instance_weights = Recorder.weights
    assert BinaryLabelDatasetMetric(weighted, **group_lists()).mean_difference() == pytest.approx(
        0, abs=1e-9
    )
    told = model.report_.quantities.set_index(["group", "label"])["value"]
    women = Recorder.weights[(people.sides == 0) & people.high]
    np.testing.assert_allclose(women, told["Female", ">50K"])
