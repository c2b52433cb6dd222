"""Metrics in Fairlearn's form, beside its own tools and models."""

from __future__ import annotations

import doctest
import functools
import importlib
import math
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import fairlearn as plugin
from mdfa_fairness_plugin.exceptions import (
    InputError,
    NothingToAuditError,
    NothingToAuditWarning,
    OptionalDependencyError,
    SmallGroupWarning,
)
from mdfa_fairness_plugin.fairlearn import (
    audit_predictions,
    draw_predictions,
    predictions_hash,
    unfairness_certificate,
    worst_case,
    worst_case_ratio,
    worst_case_violation,
)

metrics = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

N = 600
# Half a second an audit instead of some: what is tested is the plumbing.
QUICK = {"learner": "tree", "n_splits": 2, "n_repeats": 1}


@pytest.mark.parametrize("needed", ["sensitive_features", "audit_features"])
@pytest.mark.parametrize(
    "function",
    [
        worst_case_violation,
        worst_case_ratio,
        unfairness_certificate,
        worst_case,
        audit_predictions,
    ],
)
def test_a_forgotten_argument_is_missed_by_the_function_called(function, needed):
    """Python's own error for the metric that names its arguments; the others say the same."""
    arguments = {"sensitive_features": [0, 1], "audit_features": [[0], [1]]}
    del arguments[needed]
    message = rf"^{function.__name__}\(\) missing .*required keyword-only argument: '{needed}'$"
    with pytest.raises(TypeError, match=message):
        function(None, [0, 1], **arguments)


def test_what_was_planted_is_found():
    """At 2,000 rows the planted delta of 1.5 is found within what sampling leaves open."""
    data = mdfa.datasets.make_synthetic(2000, delta=1.5, imbalance=0.0, random_state=0)
    arguments = {
        "sensitive_features": data.sensitive_features,
        "audit_features": data.X,
        "groups": [1],
        **QUICK,
    }
    found = worst_case(None, data.y, **arguments)
    assert found.delta == pytest.approx(1.5, abs=0.4)
    assert (found.verdict, found.group, found.reference) == ("violation", -1, 1)
    inside, member = data.region, found.violation.membership
    overlap = (inside & member).sum() / (inside | member).sum()
    assert overlap > 0.35


def test_metrics_are_figures_of_the_worst_case(case, audited):
    harm = audited.worst_harm
    assert worst_case_violation(None, case.y_pred, **case.arguments) == harm.delta > 0.5
    assert worst_case_ratio(None, case.y_pred, **case.arguments) == pytest.approx(harm.ratio)
    assert unfairness_certificate(None, case.y_pred, **case.arguments) == harm.gamma


def test_demographic_parity_ratio_is_everybodys(case):
    result = audit_predictions(None, case.y_pred, balance="none", groups=[-1], **case.arguments)
    (selected,) = (own for own in result.violations if own.outcome == 1)
    everybody = selected.held_out
    theirs = metrics.demographic_parity_ratio(
        case.y_true[everybody], case.y_pred[everybody], sensitive_features=case.s[everybody]
    )
    assert everybody.mean() > 0.97
    assert selected.population.ratio == pytest.approx(theirs, abs=1e-12)


def test_any_container_gives_the_same_number(case, audited):
    arguments = QUICK
    y_true, y_pred = case.y_true, case.y_pred
    expected = audited.worst_harm.delta
    for as_given, table in (
        (list, lambda X: X.to_numpy().tolist()),
        (np.asarray, np.asarray),
        (lambda one: pd.DataFrame({"column": one}), lambda X: X),
        (lambda one: {"column": one.tolist()}, lambda X: X.to_dict("list")),
        (lambda one: pl.Series("column", one.to_numpy()), pl.from_pandas),
    ):
        found = worst_case_violation(
            as_given(y_true),
            as_given(y_pred),
            sensitive_features=as_given(case.s),
            audit_features=table(case.X),
            random_state=None,  # the same seed again
            **arguments,
        )
        assert found == expected


def test_arguments_that_cannot_be_used(case):
    def audit(y_true=case.y_true, y_pred=case.y_pred, **changes):
        return worst_case_violation(y_true, y_pred, **(case.arguments | changes))

    with pytest.raises(InputError, match=r"event: one of 'selection', .* 'accuracy' found"):
        audit(event="accuracy")
    with pytest.raises(InputError, match=r"y_true: None was given; event='error' needs true"):
        audit(y_true=None, event="error")
    with pytest.raises(InputError, match=r"y_true: it has no label in common with y_pred"):
        audit(y_true=case.y_true.map({0: "no", 1: "yes"}), event="error")
    with pytest.raises(InputError, match=r"only one label of two in common with y_pred: -1, 1 ag"):
        audit(y_true=case.y_true.map({0: -1, 1: 1}), event="error")
    with pytest.raises(InputError, match=r"y_true: scores were given"):
        audit(y_true=case.y_true + 0.5, event="error")
    with pytest.raises(InputError, match=r"fairlearn: unknown argument\(s\) alhpa; those known"):
        audit(alhpa=0.1)
    with pytest.raises(InputError, match=r"audit_features: column names must differ"):
        audit(audit_features=pd.concat([case.X, case.X], axis=1))
    with pytest.raises(InputError, match=r"^audit_features: it has no columns"):
        audit(audit_features=case.X[[]])
    with pytest.raises(InputError, match=r"sensitive_features: nothing to compare"):
        audit(sensitive_features=np.ones(N))
    with pytest.raises(InputError, match=r"rows: position 600 was given"):
        audit(rows=np.arange(N) + 1)
    with pytest.raises(InputError, match=r"rows: whole-number positions"):
        audit(rows=np.full(N, 0.5))


def test_a_constant_or_perfect_predictor_is_nan_with_a_warning(case):
    """And whoever wants the whole audit is told that there is none."""
    for changes, message in (
        (
            {"y_pred": case.y_pred * 0},
            r"^y_pred: every one of the 600 predictions is 0: nothing to ",
        ),
        (
            {"y_true": case.y_pred, "event": "error"},
            r"^y_pred: every one of the 600 rows .*'correct'",
        ),
        (
            {"y_true": case.y_true * 0, "event": "true_positive"},
            r"^y_true: no row has a true label 1",
        ),
    ):
        given = {"y_true": case.y_true, "y_pred": case.y_pred} | changes | case.arguments
        for metric in (worst_case_violation, worst_case_ratio, unfairness_certificate):
            with pytest.warns(NothingToAuditWarning, match=message):
                assert math.isnan(metric(**given))
        for audit in (audit_predictions, worst_case):
            with pytest.raises(NothingToAuditError, match=message):
                audit(**given)


def test_reordered_indexes_are_paired_by_label(case):
    expected = worst_case_violation(case.y_true, case.y_pred, event="error", **case.arguments)
    order = np.random.default_rng(3).permutation(N)
    found = worst_case_violation(
        case.y_true.iloc[order],
        case.y_pred.iloc[::-1],
        event="error",
        sensitive_features=case.s.iloc[np.roll(order, 9)],
        audit_features=case.X,
        **QUICK,
    )
    assert found == expected
    result = audit_predictions(None, case.y_pred.iloc[::-1], **case.arguments)
    assert [one.category for one in result.warnings] == ["AlignedIndex"]


def test_a_group_absent_from_a_split(case):
    s = pd.Series(pd.Categorical(case.s.astype(str), categories=["-1", "1", "7"]), name="group")
    with pytest.warns(SmallGroupWarning, match="'7'"):
        result = audit_predictions(
            None, case.y_pred, sensitive_features=s, audit_features=case.X, **QUICK
        )
    absent = next(one for one in result.violations if one.group == "7")
    assert (absent.n_rows, absent.verdict) == (0, "insufficient_evidence")
    assert result.worst_harm.group in ("-1", "1")


def test_no_group_large_enough_is_nan_and_not_zero(case):
    with pytest.warns(SmallGroupWarning):
        found = worst_case_violation(None, case.y_pred, min_group_size=N, **case.arguments)
    assert math.isnan(found)


def test_plot_model_comparison(case, audited):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    metric = functools.partial(worst_case_violation, audit_features=case.X, **QUICK)
    predictions = {"planted": case.y_pred.to_numpy(), "by lot": case.y_true.to_numpy()}
    nobody = {"nobody": np.zeros(N, dtype=int)}
    with pytest.warns(NothingToAuditWarning):
        metrics.plot_model_comparison(
            x_axis_metric=accuracy_score,
            y_axis_metric=metric,
            axis_labels=("accuracy", "worst case violation"),
            y_true=case.y_true,
            y_preds=predictions | nobody,
            sensitive_features=case.s,
            ax=ax,
        )
    *drawn, constant = ax.collections[0].get_offsets()
    drawn = np.array(drawn)
    assert not np.isfinite(np.ma.filled(constant, np.nan)[1])
    assert drawn[:, 0].tolist() == [accuracy_score(case.y_true, p) for p in predictions.values()]
    assert drawn[0, 1] == audited.worst_harm.delta > drawn[1, 1]
    plt.close(figure)


class Given(ClassifierMixin, BaseEstimator):
    """Predicts what a column says, or always the same."""

    def __init__(self, always=None):
        self.always = always

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X["decision"].to_numpy() if self.always is None else np.full(len(X), self.always)


def test_scorer_with_metadata_routing(case):
    import sklearn

    X = case.X.assign(decision=case.y_pred)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(
            worst_case_violation, greater_is_better=False, min_group_size=10, **QUICK
        )
        scorer.set_score_request(sensitive_features="sex", audit_features=True)
        scores = cross_val_score(
            Given(),
            X,
            case.y_true,
            scoring=scorer,
            cv=[(np.arange(N), np.arange(N)[:300]), (np.arange(N), np.arange(N)[300:])],
            params={"sex": case.s, "audit_features": case.X},
            error_score="raise",
        )
    for score, part in zip(scores, (slice(0, 300), slice(300, N)), strict=True):
        expected = worst_case_violation(
            None,
            case.y_pred[part],
            sensitive_features=case.s[part],
            audit_features=case.X[part],
            min_group_size=10,
            **QUICK,
        )
        assert score == -expected


def test_a_grid_with_a_constant_candidate_is_searched(case, audited):
    """It is told to be NaN, and the others are told apart."""
    import sklearn

    with (
        sklearn.config_context(enable_metadata_routing=True),
        warnings.catch_warnings(record=True) as w,
    ):
        warnings.simplefilter("always")
        scorer = make_scorer(worst_case_violation, greater_is_better=False, **QUICK)
        scorer.set_score_request(sensitive_features=True, audit_features=True)
        search = GridSearchCV(
            Given(),
            {"always": [1, None]},
            scoring=scorer,
            cv=[(np.arange(N), np.arange(N))],
            refit=False,
            error_score="raise",
        )
        search.fit(
            case.X.assign(decision=case.y_pred),
            case.y_true,
            sensitive_features=case.s,
            audit_features=case.X,
        )
    constant, planted = search.cv_results_["mean_test_score"]
    assert math.isnan(constant)
    assert planted == -audited.worst_harm.delta
    assert search.cv_results_["rank_test_score"].tolist() == [2, 1]
    assert NothingToAuditWarning in {one.category for one in w}


def test_metric_frame_and_derived_metric_by_row_positions(case):
    def by_group(y_true, y_pred, rows):
        return worst_case_violation(y_true, y_pred, rows=rows, **case.arguments)

    rows = np.arange(N)
    theirs = metrics.MetricFrame(
        metrics=by_group,
        y_true=case.y_true,
        y_pred=case.y_pred,
        sensitive_features=case.region,
        sample_params={"rows": rows},
    )
    part = case.region == "north"
    assert theirs.by_group["north"] == worst_case_violation(
        None,
        case.y_pred[part],
        sensitive_features=case.s[part],
        audit_features=case.X[part],
        **QUICK,
    )
    derived = metrics.make_derived_metric(
        metric=by_group, transform="difference", sample_param_names=["rows"]
    )
    found = derived(case.y_true, case.y_pred, sensitive_features=case.region, rows=rows)
    assert found == pytest.approx(theirs.by_group.max() - theirs.by_group.min(), abs=1e-12)


@pytest.fixture(scope="module")
def lending():
    """Decisions to learn, on which a model picks up a bias."""
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], N)
    X = pd.DataFrame({"income": rng.normal(size=N) + 0.8 * (sex == "m"), "age": rng.normal(size=N)})
    y = (X["income"] + rng.normal(scale=0.5, size=N) > 0.4).astype(int)
    return X, y, pd.Series(sex, name="sex")


def quiet(call):
    """Fairlearn's reductions use what pandas will drop."""
    with warnings.catch_warnings():
        if hasattr(pd.errors, "Pandas4Warning"):
            warnings.simplefilter("ignore", pd.errors.Pandas4Warning)
        return call()


@pytest.mark.parametrize(
    "kind", ["ExponentiatedGradient", "GridSearch", "ThresholdOptimizer", "CorrelationRemover"]
)
def test_mitigated_models_are_audited(lending, kind):
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.preprocessing import CorrelationRemover
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch

    X, y, sex = lending
    model, extra, table = LogisticRegression(), {}, X
    if kind == "ExponentiatedGradient":
        model = ExponentiatedGradient(model, DemographicParity(), max_iter=5)
        quiet(lambda: model.fit(X, y, sensitive_features=sex))
    elif kind == "GridSearch":
        model = GridSearch(model, DemographicParity(), grid_size=5)
        quiet(lambda: model.fit(X, y, sensitive_features=sex))
    elif kind == "ThresholdOptimizer":
        model = ThresholdOptimizer(estimator=model, predict_method="predict_proba")
        model.fit(X, y, sensitive_features=sex)
        extra = {"sensitive_features": sex}
    else:
        table = X.assign(male=(sex == "m").astype(float))
        model = make_pipeline(CorrelationRemover(sensitive_feature_ids=["male"]), model)
        model.fit(table, y)
    y_pred = draw_predictions(model, table, random_state=3, **extra)
    np.testing.assert_array_equal(y_pred, draw_predictions(model, table, random_state=3, **extra))
    result = audit_predictions(
        y, y_pred, sensitive_features=sex, audit_features=X[["age"]], **QUICK
    )
    assert result.provenance["predictions_hash"] == predictions_hash(y_pred)
    everybody = {one.group: one.population.rates[0] for one in result.violations}
    assert set(everybody) == {"f", "m"}
    assert math.isfinite(result.worst_case.delta)


class Lottery(ClassifierMixin, BaseEstimator):
    """Decides by lot, as Fairlearn's randomised predictors do."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X, random_state=None):
        rng = np.random.default_rng(random_state)
        return (rng.random(len(X)) < np.where(X["x1"] > 0, 0.7, 0.3)).astype(int)


def test_repeats_of_a_randomised_predictor(case):
    model = Lottery().fit(case.X, case.y_pred)
    draws = draw_predictions(model, case.X, n_repeats=2, random_state=5)
    assert draws.shape == (N, 2)
    assert len({predictions_hash(draws[:, k]) for k in range(2)}) == 2
    np.testing.assert_array_equal(draws[:, 0], model.predict(case.X, random_state=5))
    np.testing.assert_array_equal(draws[:, 0], draw_predictions(model, case.X, random_state=5))
    piped = make_pipeline(Lottery()).fit(case.X, case.y_pred)
    np.testing.assert_array_equal(
        draws, draw_predictions(piped, case.X, n_repeats=2, random_state=5)
    )
    deltas, gammas = [], []
    for k in range(2):
        worst = worst_case(None, draws[:, k], **case.arguments)
        deltas.append(worst.delta)
        gammas.append(worst.gamma)
    found = worst_case_violation(None, draws, **case.arguments)
    assert found == pytest.approx(np.mean(deltas), abs=1e-12)
    assert unfairness_certificate(None, draws, **case.arguments) == pytest.approx(np.mean(gammas))
    with pytest.raises(InputError, match=r"y_pred: 2 columns were given; one label per row"):
        audit_predictions(None, draws, **case.arguments)
    with pytest.raises(InputError, match="n_repeats: a whole number of at least 1"):
        draw_predictions(model, case.X, n_repeats=0)


def test_seeds_of_draws_are_those_of_audits(case):
    model = Lottery().fit(case.X, case.y_pred)
    first = draw_predictions(model, case.X)
    np.testing.assert_array_equal(draw_predictions(model, case.X, random_state=None), first)
    drawn = draw_predictions(model, case.X, random_state=np.random.default_rng(0))
    assert not np.array_equal(drawn, first)
    with pytest.raises(InputError, match="random_state: a non-negative seed"):
        draw_predictions(model, case.X, random_state=-1)


def test_hash_is_of_content_in_the_order_given(case):
    digest = predictions_hash(case.y_pred)
    assert digest == predictions_hash(case.y_pred.tolist())
    assert digest == predictions_hash(case.y_pred.astype(float).to_numpy())
    assert digest == predictions_hash(pl.Series(case.y_pred.to_numpy()))
    reversed_ = case.y_pred.iloc[::-1]
    assert digest != predictions_hash(reversed_)
    result = audit_predictions(None, reversed_, **case.arguments)
    assert result.provenance["predictions_hash"] == predictions_hash(reversed_)
    assert (result.provenance["event"], result.provenance["pos_label"]) == ("selection", 1)


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


def test_fairlearn_and_aif360_are_imported_only_when_needed():
    done = run_python(
        "import sys, mdfa_fairness_plugin, mdfa_fairness_plugin.fairlearn as plugin\n"
        "plugin.worst_case_violation\n"
        "print([name for name in ('fairlearn', 'aif360') if name in sys.modules])\n"
        "from mdfa_fairness_plugin.fairlearn import MDFAMetricFrame\n"
        "print([name for name in ('fairlearn', 'aif360') if name in sys.modules])\n"
    )
    assert done.stdout.split("\n")[:2] == ["[]", "['fairlearn']"], done.stderr


def test_metrics_work_without_fairlearn(case, monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn", None)
    monkeypatch.setitem(sys.modules, "fairlearn.metrics", None)
    monkeypatch.delitem(sys.modules, "mdfa_fairness_plugin.fairlearn.frame", raising=False)
    assert worst_case_violation(None, case.y_pred, **case.arguments) > 0.5
    with pytest.raises(OptionalDependencyError, match=r"mdfa-fairness-plugin\[fairlearn\]"):
        plugin.MDFAMetricFrame  # noqa: B018


@pytest.mark.repeats
@pytest.mark.parametrize("name", ["metrics", "frame"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"mdfa_fairness_plugin.fairlearn.{name}")
    outcome = doctest.testmod(module)
    assert outcome.attempted > 5
    assert outcome.failed == 0


# -- several rows of one person


def test_metrics_pair_people_by_index_and_by_row(case):
    people = pd.Series(np.arange(N) // 2)
    order = np.random.default_rng(7).permutation(N)
    delta = worst_case_violation(None, case.y_pred, clusters=people, **case.arguments)
    assert delta == worst_case_violation(
        None, case.y_pred, clusters=people.iloc[order], **case.arguments
    )
    rows = np.flatnonzero(case.region == "north")
    part = worst_case_violation(
        None,
        case.y_pred.to_numpy()[rows],
        rows=rows,
        clusters=people.to_numpy()[rows],
        **case.arguments,
    )
    alone = {"sensitive_features": case.s.iloc[rows], "audit_features": case.X.iloc[rows]}
    assert part == worst_case_violation(
        None, case.y_pred.iloc[rows], clusters=people.iloc[rows], **(case.arguments | alone)
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], "clusters: 2 rows were given, but audit_features has 600"),
        ([1] * N, "clusters: all rows are of one cluster"),
        ([None, *range(1, N)], "clusters: 1 of 600 rows have no value"),
    ],
)
def test_bad_clusters_are_named(case, given, message):
    with pytest.raises(InputError, match=message):
        worst_case_violation(None, case.y_pred, clusters=given, **case.arguments)


def test_own_probabilities_reach_the_audit(case):
    """All rows have theirs, also where the event is about some of them."""
    m = np.full(len(case.X), 0.5)
    own = {"propensity": m, "outcome_probability": m}
    for event in ("selection", "false_positive"):
        told = worst_case_violation(
            case.y_true, case.y_pred, **case.arguments, event=event, pos_label=1, **own
        )
        assert np.isfinite(told)
    with pytest.raises(InputError, match=r"^outcome_probability: 10 rows were given"):
        worst_case_violation(None, case.y_pred, **case.arguments, outcome_probability=m[:10])
