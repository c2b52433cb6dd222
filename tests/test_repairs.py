"""Each repair lowers what it is meant to lower; the toolkits' own numbers are the oracle."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import StandardScaler

from mdfa_fairness_plugin.exceptions import InputError, OptionalDependencyError
from mdfa_fairness_plugin.repairs import (
    REPAIRS,
    DecorrelatedClassifier,
    DisparateImpactClassifier,
    LogisticClassifier,
    ReductionClassifier,
    ReweighingClassifier,
    ThresholdClassifier,
    make_repair,
)

NEEDS = {
    "LC": (),
    "DI-LC": ("aif360", "BlackBoxAuditing"),
    "Red-LC": ("fairlearn",),
    "Red-LC (equalized odds)": ("fairlearn",),
    "Reweighing-LC": ("aif360",),
    "Threshold-LC": ("fairlearn",),
    "Decorrelated-LC": ("fairlearn",),
}


@pytest.fixture(scope="module")
def people():
    """Incomes in which women work fewer hours and earn less at equal hours, as in Adult."""
    rng = np.random.default_rng(3)
    n = 3000
    sex = np.where(rng.random(n) < 0.4, "Female", "Male")
    man = sex == "Male"
    hours = np.round(rng.normal(36 + 6 * man, 9))
    study = rng.integers(6, 17, n)
    job = np.where(rng.random(n) < 0.3 + 0.3 * man, "trade", "office")
    score = 0.08 * (hours - 38) + 0.35 * (study - 11) + 0.9 * man - 0.8 + rng.logistic(size=n)
    X = pd.DataFrame({"hours": hours, "study": study, "job": job, "sex": sex})
    return X, np.where(score > 0, ">50K", "<=50K"), pd.Series(sex, name="sex")


def fitted(name, people, **options):
    for module in NEEDS[name]:
        pytest.importorskip(module)
    X, y, s = people
    return make_repair(name, **options).fit(X, y, sensitive_features=s)


def gap(outcome, s, among=True):
    """Difference of the rates of ">50K" between the two groups."""
    rates = [np.mean((outcome == ">50K")[(s == g) & among]) for g in ("Male", "Female")]
    return rates[0] - rates[1]


def test_every_name_has_its_needs_stated():
    assert set(NEEDS) == set(REPAIRS)


def test_the_plain_classifier_is_scikit_learns(people):
    X, y, _ = people
    own = fitted("LC", people).predict(X)
    Z = pd.get_dummies(X, columns=["job", "sex"], dtype=float)
    Z[["hours", "study"]] = StandardScaler().fit_transform(Z[["hours", "study"]])
    assert (own == LogisticRegression(max_iter=1000).fit(Z, y).predict(Z)).mean() > 0.999


@pytest.mark.parametrize("name", ["DI-LC", "Red-LC", "Threshold-LC", "Decorrelated-LC"])
def test_repairs_of_disparate_impact_lower_the_gap_in_rates(name, people):
    X, _, s = people
    before = gap(fitted("LC", people).predict(X), s)
    after = gap(fitted(name, people, random_state=0).predict(X, sensitive_features=s), s)
    assert before > 0.25
    assert abs(after) < {"DI-LC": 0.3, "Decorrelated-LC": 0.3}.get(name, 0.1) * before


def test_reweighing_lowers_the_gap_by_less(people):
    X, y, s = people
    X = X.drop(columns="sex")
    before = make_repair("LC").fit(X, y).predict(X)
    pytest.importorskip("aif360")
    after = ReweighingClassifier().fit(X, y, sensitive_features=s).predict(X)
    assert 0 <= gap(after, s) < 0.8 * gap(before, s)


@pytest.mark.parametrize(("true", "limit"), [(">50K", 0.05), ("<=50K", 0.05)])
def test_equalized_odds_equalises_both_error_rates(true, limit, people):
    X, y, s = people
    among = y == true
    before = gap(fitted("LC", people).predict(X), s, among)
    after = gap(fitted("Red-LC (equalized odds)", people, random_state=0).predict(X), s, among)
    assert abs(before) > 2 * limit
    assert abs(after) < limit


def test_reweighing_makes_label_and_group_independent(people):
    """Oracle: AIF360's own metric on the weights its class gives."""
    pytest.importorskip("aif360")
    from aif360.metrics import BinaryLabelDatasetMetric

    from mdfa_fairness_plugin.aif360.toolkit import part
    from mdfa_fairness_plugin.repairs import _aif360_dataset

    X, y, s = people
    dataset = _aif360_dataset(
        X[["hours"]].to_numpy(float),
        (y == ">50K").astype(np.intp),
        (s == "Male").to_numpy().astype(np.intp),
    )
    groups = [{"sensitive": 0}], [{"sensitive": 1}]
    weighted = part("algorithms.preprocessing").Reweighing(*groups).fit_transform(dataset)
    assert BinaryLabelDatasetMetric(weighted, *groups).mean_difference() == pytest.approx(
        0, abs=1e-9
    )

    class Recorder(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            Recorder.weights = sample_weight
            return super().fit(X, y, sample_weight=sample_weight)

    ReweighingClassifier(Recorder()).fit(X, y, sensitive_features=s)
    np.testing.assert_allclose(Recorder.weights, weighted.instance_weights)


def test_reduction_answers_as_fairlearns_class_does(people):
    pytest.importorskip("fairlearn")
    from fairlearn.metrics import demographic_parity_difference

    X, y, s = people
    model = fitted("Red-LC", people, random_state=7)
    outcome = model.predict(X)
    Z = np.asarray(model._encoder.transform(model_frame(X)), dtype=float)
    theirs = model._model.predict(Z, random_state=7)
    np.testing.assert_array_equal(outcome == ">50K", theirs == 1)
    assert demographic_parity_difference(y, outcome == ">50K", sensitive_features=s) < 0.05


def model_frame(X):
    return X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)


def test_correlation_remover_leaves_no_correlation(people):
    pytest.importorskip("fairlearn")
    X, y, s = people
    model = DecorrelatedClassifier().fit(X, y, sensitive_features=s)
    Z = np.asarray(model._encoder.transform(model_frame(X)), dtype=float)
    sides = (s == "Male").to_numpy().astype(np.intp)
    cleaned = model._remover.transform(model._with_indicators(Z, sides))
    # The one-hot columns of sex itself are constant once the group is taken out.
    moving = cleaned[:, cleaned.std(axis=0) > 1e-6]
    assert np.abs(np.corrcoef(moving.T, sides)[-1, :-1]).max() < 1e-6


def test_disparate_impact_remover_equalises_the_numbers(people):
    pytest.importorskip("aif360")
    pytest.importorskip("BlackBoxAuditing")
    X, _, s = people
    sides = (s == "Male").to_numpy().astype(np.intp)
    # Values without ties, which the remover would keep together.
    Z = X[["hours"]].to_numpy(float) + np.random.default_rng(0).random((len(X), 1))
    off, full = (
        DisparateImpactClassifier(repair_level=level)._repaired(Z, sides) for level in (0.0, 1.0)
    )
    np.testing.assert_allclose(off, Z)
    assert abs(Z[sides == 1].mean() - Z[sides == 0].mean()) > 5
    assert abs(full[sides == 1].mean() - full[sides == 0].mean()) < 0.5
    for side in (0, 1):  # order within each group is kept
        rows = sides == side
        assert (np.diff(full[rows][np.argsort(Z[rows, 0], kind="stable"), 0]) >= 0).all()


@pytest.mark.parametrize("name", sorted(REPAIRS))
def test_clones_pickles_and_repeats(name, people):
    X, y, s = people
    model = fitted(name, people, random_state=1)
    again = pickle.loads(pickle.dumps(model))
    other = clone(model).fit(X, y, sensitive_features=s)
    first = model.predict(X, sensitive_features=s)
    for one in (model, again, other):
        np.testing.assert_array_equal(one.predict(X, sensitive_features=s), first)
    assert set(first) <= {">50K", "<=50K"}
    assert accuracy_score(y, first) > 0.6
    assert model.score(X.assign(), y) > 0.6 if not model._needs_sensitive_to_predict else True


@pytest.mark.parametrize("name", sorted(REPAIRS))
def test_labels_and_container_do_not_matter(name, people):
    """Numbers in the place of text, polars in the place of pandas: the same answers."""
    pl = pytest.importorskip("polars")
    X, y, s = people
    text = fitted(name, people, random_state=1).predict(X, sensitive_features=s)
    frame = pl.DataFrame({c: X[c].tolist() for c in X})
    codes = (y == ">50K").astype(int)
    model = make_repair(name, random_state=1).fit(
        frame, codes, sensitive_features=(s == "Male").to_numpy()
    )
    numbers = model.predict(frame, sensitive_features=(s == "Male").to_numpy())
    assert numbers.dtype.kind == "i"
    np.testing.assert_array_equal(numbers == 1, text == ">50K")


def test_what_is_wrong_is_named(people):
    X, y, s = people
    with pytest.raises(InputError, match=r"name: one of 'LC'.*'Red'"):
        make_repair("Red")
    with pytest.raises(InputError, match="y: two labels are needed, 3 found"):
        LogisticClassifier().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(
        InputError, match="sensitive_features: ReductionClassifier needs them to fit"
    ):
        ReductionClassifier().fit(X, y)
    with pytest.raises(InputError, match=r"sensitive_features: two values are needed .* 3 found"):
        ReweighingClassifier().fit(X, y, sensitive_features=np.arange(len(y)) % 3)
    with pytest.raises(InputError, match="y: 10 rows were given, but X has 3,000"):
        LogisticClassifier().fit(X, y[:10])
    pytest.importorskip("fairlearn")
    with pytest.raises(InputError, match=r"constraint: one of .*'parity'"):
        ReductionClassifier(constraint="parity").fit(X, y, sensitive_features=s)
    model = ThresholdClassifier().fit(X, y, sensitive_features=s)
    with pytest.raises(InputError, match="needs them to predict"):
        model.predict(X)
    with pytest.raises(InputError, match="'other' was not among the values"):
        model.predict(X, sensitive_features=np.repeat(["Male", "other"], 1500))


def test_rows_of_one_group_cannot_be_repaired_among_themselves(people):
    X, _, s = people
    model = fitted("DI-LC", people)
    with pytest.raises(InputError, match="one group only"):
        model.predict(X[s == "Male"], sensitive_features=s[s == "Male"])


@pytest.mark.parametrize(
    ("name", "hidden", "said"),
    [
        ("DI-LC", "BlackBoxAuditing", "BlackBoxAuditing.*repairs"),
        ("DI-LC", "aif360", "aif360"),
        ("Reweighing-LC", "aif360", "aif360"),
        ("Red-LC", "fairlearn", "fairlearn"),
        ("Threshold-LC", "fairlearn", "fairlearn"),
        ("Decorrelated-LC", "fairlearn", "fairlearn"),
    ],
)
def test_an_absent_toolkit_is_named(name, hidden, said, people, monkeypatch):
    if hidden == "BlackBoxAuditing":
        pytest.importorskip("aif360")
    for module in [m for m in sys.modules if m.partition(".")[0] == hidden]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, hidden, None)
    X, y, s = people
    with pytest.raises(OptionalDependencyError, match=said):
        make_repair(name).fit(X, y, sensitive_features=s)
