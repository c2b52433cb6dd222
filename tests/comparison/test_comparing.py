"""Comparisons: the planted truth is found, and nothing depends on what should not matter."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.comparison import splits
from mdfa_fairness_plugin.comparison.records import ACCURACY, EVERYBODY, WORST_CASE
from mdfa_fairness_plugin.exceptions import (
    InputError,
    InputTypeError,
    LeakWarning,
    MissingSensitiveWarning,
    ModelDependenceWarning,
    NothingToAuditError,
    RepeatedRowsWarning,
)
from mdfa_fairness_plugin.records import INSUFFICIENT, NONE_LARGER, VIOLATION, SearchKey
from mdfa_fairness_plugin.search.prepare import folds_of

HARMED = SearchKey(sensitive_feature="group", group="a", reference=None, outcome=1)


def run(planted, models=None, **options):
    """Compare with the quickest of searches."""
    settings = {
        "sensitive_features": planted.group,
        "groups": ["a"],
        "outcomes": [1],
        "n_splits": 2,
        "n_folds": 2,
        "learner": "tree",
        "random_state": 0,
    }
    given = planted.outcomes if models is None else models
    return mdfa.compare(**({"X": planted.X, "outcomes_by_model": given} | settings | options))


def by_model(result, frame):
    """A frame's values by model, and by search where there are several."""
    keys = ["model", "sensitive_feature", "group", "outcome"]
    return frame.set_index(keys).sort_index()


# -- the planted truth


def test_equal_in_the_aggregate_unequal_in_the_worst_subgroup(compared):
    for name in ("A", "B"):
        row = compared.worst(name)
        assert row.selection.ratio == pytest.approx(1, abs=0.12)
        assert row.verdict == VIOLATION
        assert row.ratio_interval[0] > 1.5
        assert row.ratio_interval[0] < 0.7 / 0.3 < row.ratio_interval[1]
        assert row.split_ratio_mean == pytest.approx(0.7 / 0.3, rel=0.35)
        assert row.n_splits_measured == 3
    assert compared.worst("C").verdict == NONE_LARGER


def test_the_rule_names_the_feature_the_violation_was_planted_along(compared):
    assert compared.worst("A").rule.startswith("x1")
    assert compared.worst("B").rule.startswith("x2")


@pytest.mark.parametrize("split", [False, True])
def test_transfer_shows_that_the_harm_lies_elsewhere(compared, split):
    """In A's subgroup B is about equal, and the other way round; C is equal in both."""
    matrix = compared.transfer_matrix(HARMED, split=split)
    for owner in ("A", "B"):
        assert matrix.loc[owner, owner] > 1.8
        for other in {"A", "B", "C"} - {owner}:
            assert matrix.loc[owner, other] == pytest.approx(1, abs=0.3)


def test_transfer_differences_tell_the_two_apart(compared):
    there = compared.transfer("B", "A", HARMED)
    assert there.difference_interval[0] > 0.3
    assert there.difference == pytest.approx(math.log(0.7 / 0.3), abs=0.35)
    own = compared.transfer("B", "B", HARMED)
    assert (own.difference, own.difference_interval) == (0.0, (0.0, 0.0))
    assert own.delta == pytest.approx(compared.row("B", HARMED).delta)


def test_paired_differences_against_the_baseline(compared):
    found = {
        d.model: d
        for d in compared.differences
        if d.quantity == "worst case" and d.search == HARMED
    }
    assert found["B"].interval[0] < 0 < found["B"].interval[1]
    assert found["C"].interval[1] < 0
    assert found["C"].difference == pytest.approx(
        compared.row("C", HARMED).delta - compared.row("A", HARMED).delta
    )
    assert "A" not in found


def test_each_audit_is_what_audit_gives_alone(planted, compared):
    alone = mdfa.audit(
        planted.X,
        planted.outcomes["B"],
        sensitive_features=planted.group,
        groups=["a"],
        random_state=0,
    )
    assert compared.audits["B"].to_json(rows=True) == alone.to_json(rows=True)


def test_aggregate_rates_are_counted(planted, compared):
    """Oracle: pandas' group means."""
    table = pd.DataFrame({"y": planted.outcomes["A"], "g": planted.group, "t": planted.truth})
    row = compared.row("A", HARMED)
    for rates, rows in (
        (row.selection, table),
        (row.true_positive, table[table.t == 1]),
        (row.false_positive, table[table.t == 0]),
    ):
        means = rows.groupby("g")["y"].mean()
        assert rates.rates == pytest.approx((means["a"], means["b"]))
        assert rates.ratio == pytest.approx(means["a"] / means["b"])
        assert rates.n_rows == len(rows)
        assert rates.ratio_interval[0] < rates.ratio < rates.ratio_interval[1]
    assert row.accuracy == pytest.approx((table.y == table.t).mean())


def test_accuracy_difference_by_hand(planted, compared):
    """Sum over discordant rows (McNemar), in the delta method's form."""
    right = {name: planted.outcomes[name] == planted.truth for name in "AB"}
    difference = right["B"].astype(float) - right["A"]
    found = next(d for d in compared.differences if d.quantity == "accuracy" and d.model == "B")
    assert found.difference == pytest.approx(difference.mean())
    half = 1.959964 * difference.std() / math.sqrt(len(difference))
    assert found.interval == pytest.approx((difference.mean() - half, difference.mean() + half))


# -- what should not matter


def test_order_of_models_does_not_matter(few):
    forward = run(few, baseline="A", y_true=few.truth)
    names = list(few.outcomes)[::-1]
    backward = run(
        few,
        {name: few.outcomes[name] for name in names},
        baseline="A",
        y_true=few.truth,
    )
    assert backward.models == tuple(names)
    pd.testing.assert_frame_equal(
        by_model(forward, forward.to_frame(every_search=True)),
        by_model(backward, backward.to_frame(every_search=True)),
    )
    key = ["subgroup_of", "model", "outcome"]
    pd.testing.assert_frame_equal(
        forward.transfer_frame().sort_values(key, ignore_index=True),
        backward.transfer_frame().sort_values(key, ignore_index=True),
    )
    key = ["model", "quantity"]
    pd.testing.assert_frame_equal(
        forward.difference_frame().sort_values(key, ignore_index=True),
        backward.difference_frame().sort_values(key, ignore_index=True),
    )


def test_labels_and_names_do_not_matter(few):
    plain = run(few)
    words = np.array(["zebra", "apple"])
    renamed = run(
        few,
        {f"model {name}": words[y] for name, y in few.outcomes.items()},
        outcomes=["apple"],
        groups=["Y"],
        sensitive_features=few.group.map({"a": "Y", "b": "X"}),
    )
    np.testing.assert_array_equal(plain.split_delta, renamed.split_delta)
    for one, other in zip(plain.rows, renamed.rows, strict=True):
        assert one.delta == other.delta
        assert one.interval == other.interval


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_number_of_jobs_does_not_matter(few, n_jobs):
    assert run(few).to_json(rows=True) == run(few, n_jobs=n_jobs).to_json(rows=True)


def test_more_splits_begin_with_the_same_ones(few):
    few, many = run(few, n_splits=1), run(few, n_splits=2)
    np.testing.assert_array_equal(few.split_delta[0], many.split_delta[0])


def test_order_of_rows_does_not_matter_to_the_splits(few):
    turn = np.random.default_rng(5).permutation(len(few.X))
    turned = mdfa.compare(
        few.X.iloc[turn].reset_index(drop=True),
        {name: y[turn] for name, y in few.outcomes.items()},
        sensitive_features=few.group.iloc[turn].reset_index(drop=True),
        groups=["a"],
        outcomes=[1],
        n_splits=2,
        n_folds=2,
        learner="tree",
        random_state=0,
    )
    np.testing.assert_allclose(turned.split_delta, run(few).split_delta, rtol=1e-9)


def test_a_copy_of_a_model_is_no_different(few):
    twins = run(few, {"one": few.outcomes["A"], "two": few.outcomes["A"]}, n_splits=1)
    for difference in twins.differences:
        if difference.quantity != "accuracy" and "positive" not in difference.quantity:
            assert (difference.difference, difference.interval) == (0.0, (0.0, 0.0))
    assert twins.split_delta[0, 0, 0, 0] == twins.split_delta[0, 0, 1, 0]


def test_counted_rows_act_like_repeated_rows(few):
    counts = np.random.default_rng(2).integers(1, 3, len(few.X))
    pick = np.repeat(np.arange(len(counts)), counts)
    weighted = run(few, sample_weight=counts, weight_type="frequency", n_splits=1)
    repeated = mdfa.compare(
        few.X.iloc[pick].reset_index(drop=True),
        {name: y[pick] for name, y in few.outcomes.items()},
        sensitive_features=few.group.iloc[pick].reset_index(drop=True),
        groups=["a"],
        outcomes=[1],
        n_splits=1,
        n_folds=2,
        learner="tree",
        weight_type="frequency",
        random_state=0,
    )
    for one, other in zip(weighted.differences, repeated.differences, strict=True):
        assert one.difference == pytest.approx(other.difference, nan_ok=True)
        assert one.interval == pytest.approx(other.interval, nan_ok=True)


# -- forms of input


def test_frames_series_and_fitted_models(few):
    """Rows are paired by index, and a model's own features may be others than the audited ones."""
    model = LogisticRegression().fit(few.X[["x1", "x3"]], few.truth)
    answers = model.predict(few.X[["x1", "x3"]])
    expected = run(few, {"A": few.outcomes["A"], "model": answers}, n_splits=0)
    turned = pd.Series(few.outcomes["A"]).sample(frac=1, random_state=1)
    for given, extra in (
        ({"A": turned, "model": model}, {"model_features": few.X[["x1", "x3"]]}),
        ({"A": turned, "model": model}, {"model_features": {"model": few.X[["x1", "x3"]]}}),
        (pd.DataFrame({"A": turned, "model": answers}), {}),
    ):
        result = run(few, given, n_splits=0, **extra)
        pd.testing.assert_frame_equal(result.to_frame(), expected.to_frame())


def test_models_that_ask_for_more_are_given_it(few):
    class Asking:
        def predict(self, X, *, sensitive_features, random_state=None):
            self.seen = sensitive_features, random_state
            return few.outcomes["B"]

    asking = Asking()
    run(few, {"A": few.outcomes["A"], "asking": asking}, n_splits=0, random_state=11)
    assert asking.seen[0] is few.group
    assert asking.seen[1] == 11


def test_a_model_that_answers_everybody_alike_gets_a_row_with_the_reason(few):
    given = {"A": few.outcomes["A"], "all": np.ones(len(few.X), dtype=int)}
    result = run(few, given, y_true=few.truth, n_splits=1)
    row = result.worst("all")
    assert row.verdict == INSUFFICIENT
    assert row.reason == "every one of the 500 outcomes is 1"
    assert row.selection.ratio == 1
    assert row.accuracy == pytest.approx(few.truth.mean())
    assert math.isnan(row.delta)
    assert row.n_splits_measured == 0
    assert "all" not in result.audits
    assert result.transfer("A", "all", HARMED).ratio == pytest.approx(1)
    assert "undetermined" in result.summary()
    result.to_json(), result.to_html(), repr(result)


def test_a_baseline_that_answers_everybody_alike_leaves_differences_open(few):
    given = {"all": np.ones(len(few.X), dtype=int), "A": few.outcomes["A"]}
    result = run(few, given, n_splits=0)
    found = {d.quantity: d for d in result.differences}
    assert math.isnan(found["worst case"].difference)
    # Everybody gets 1 from it, so its own ratio is 1, without any doubt.
    assert found["selection rate"].difference == pytest.approx(
        math.log(result.worst("A").selection.ratio)
    )
    assert "AGAINST ALL" in result.summary()


def test_a_learner_of_ones_own_is_used(few):
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    result = run(few, {"A": few.outcomes["A"]}, learner=tree, n_splits=1)
    assert result.audits["A"].provenance["parameters"]["learner"] == repr(tree)
    assert result.provenance["parameters"]["learner"] == repr(tree)
    assert np.isfinite(result.split_delta).all()


def test_unknown_true_labels_are_left_out(few):
    truth = pd.Series(few.truth, dtype="Int64")
    truth[:50] = pd.NA
    result = run(few, y_true=truth, n_splits=0)
    right = (few.outcomes["A"] == few.truth)[50:]
    assert result.worst("A").accuracy == pytest.approx(right.mean())


def test_several_groups_and_columns(few):
    sensitive = pd.DataFrame({"group": few.group, "odd": np.arange(500) % 2})
    result = run(few, {"A": few.outcomes["A"]}, sensitive_features=sensitive, groups=None)
    assert [(s.sensitive_feature, s.group) for s in result.searches] == [
        ("group", "a"),
        ("group", "b"),
        ("odd", 0),
        ("odd", 1),
    ]
    assert result.worst("A").search.sensitive_feature == "group"
    assert len(result.to_frame(every_search=True)) == 4
    assert len(result.to_frame()) == 1
    assert result.differences == ()


def test_warnings_are_given_once_and_kept(few):
    missing = few.group.copy()
    missing[:20] = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(few, sensitive_features=missing, n_splits=0)
    assert [w.category for w in caught] == [MissingSensitiveWarning]
    assert caught[0].filename == __file__
    assert [w.category for w in result.warnings] == ["MissingSensitiveWarning"]


def test_progress_is_told_if_asked_for(few, capsys, caplog):
    caplog.set_level("INFO", logger="mdfa_fairness_plugin")
    run(few, {"A": few.outcomes["A"]}, progress=True, verbose=1)
    assert "2/2" in capsys.readouterr().err
    assert "split 2 of 2" in caplog.messages
    seen = []
    run(few, {"A": few.outcomes["A"]}, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    run(few, {"A": few.outcomes["A"]}, n_splits=1)
    assert capsys.readouterr().err == ""


def test_shared_work_changes_nothing(few):
    """Models searched together find what each finds alone."""
    together = run(few, n_splits=1)
    for place, name in enumerate(few.outcomes):
        # A second model fixes the order of rows, which hangs on all answers.
        alone = run(few, n_splits=1, baseline=name)
        np.testing.assert_array_equal(
            alone.split_delta[:, :, place], together.split_delta[:, :, place]
        )


@pytest.fixture
def folds_seen(monkeypatch):
    """Folds of every split, with what they were drawn from."""
    seen = []

    def spy(learning, strata, n_splits, rng, unit):
        seen.append((folds_of(learning, strata, n_splits, rng, unit), strata, unit))
        return seen[-1][0]

    monkeypatch.setattr(splits, "folds_of", spy)
    return seen


def test_splits_hold_out_three_tenths_of_each_group(few, folds_seen):
    run(few, {"A": few.outcomes["A"]})
    for folds, group, _ in folds_seen:
        for own in np.unique(group):
            assert (folds[group == own] < 0).mean() == pytest.approx(0.3, abs=0.005)
        assert set(np.unique(folds)) == {-1, 0, 1}
    assert not np.array_equal(folds_seen[0][0], folds_seen[1][0])


# -- errors


@pytest.mark.parametrize(
    ("outcomes", "kind", "said"),
    [
        ({}, InputError, "outcomes_by_model: it is empty"),
        ([0, 1], InputTypeError, "outcomes_by_model: a mapping .* list found"),
        ({"short": [0, 1]}, InputError, r"outcomes_by_model\['short'\]: 2 rows .* X has 500"),
        ({"flat": np.zeros(500)}, NothingToAuditError, "every model answers everybody alike"),
        ({"score": np.linspace(0, 1, 500)}, InputError, r"\['score'\]: scores were given"),
        ({"gap": [0, 1, None, 1] * 125}, InputError, r"\['gap'\]: 125 of 500 .* missing"),
        (
            {"n": [0, 1] * 250, "t": ["no", "yes"] * 250},
            InputError,
            r"4 different outcomes .*\['n'\]: 0, 1; .*\['t'\]: 'no', 'yes'",
        ),
        (
            {"low": ["no", "yes"] * 250, "up": ["NO", "YES"] * 250},
            InputError,
            "capital letters: 'NO' and 'no', 'YES' and 'yes'. Pass merge_spellings=True",
        ),
    ],
)
def test_what_is_wrong_with_a_model_is_named(outcomes, kind, said, few):
    with pytest.raises(kind, match=said):
        mdfa.compare(few.X, outcomes, sensitive_features=few.group, n_splits=0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"baseline": "D"}, "baseline: 'D' is not among the models: 'A', 'B', 'C'"),
        ({"n_splits": -1}, "n_splits: a whole number of at least 0"),
        ({"n_folds": 1}, "n_folds: a whole number of at least 2"),
        ({"evaluation": "holdout"}, "evaluation: it cannot be given"),
        ({"alfa": 0.1}, "unknown argument.*alfa"),
        ({"alpha": 2}, "alpha: 'auto' or a number between 0 and 1"),
        ({"outcomes": [7]}, "outcomes: 7 was given; the models' outcomes are 0, 1"),
        ({"y_true": ["no", "yes"] * 250}, "y_true: its labels 'no', 'yes' are not those"),
        ({"y_true": [0, 1]}, "y_true: 2 rows were given"),
        ({"sensitive_features": None}, "sensitive_features: None was given"),
    ],
)
def test_what_is_wrong_with_an_argument_is_named(options, said, few):
    with pytest.raises(InputError, match=said):
        run(few, **options)


def test_a_model_that_fails_is_named_and_the_way_out(few):
    model = LogisticRegression().fit(few.X[["x1"]].to_numpy(), few.truth)
    with pytest.raises(InputError, match=r"\['m'\]: its predict failed.*model_features"):
        run(few, {"m": model})
    with pytest.raises(InputError, match="model_features: it has no table for the model 'm'"):
        run(few, {"m": model}, model_features={"other": few.X})


# -- a model in its own worst subgroup is what its audit says


@pytest.mark.parametrize(
    "options",
    [{}, {"estimator": "hajek"}, {"estimator": "raw"}, {"balance": "entropy"}, {"balance": "none"}],
)
def test_the_diagonal_of_the_transfer_is_the_audit(few, options):
    result = run(few, n_splits=0, **options)
    measured, default = 0, "hajek" if options.get("balance") == "none" else "doubly_robust"
    estimator = options.get("estimator", default)
    for model in result.models:
        for search in result.searches:
            own, row = result.transfer(model, model, search), result.row(model, search)
            np.testing.assert_array_equal(own.delta, row.delta)
            np.testing.assert_array_equal(own.interval, row.interval)
            assert own.estimator == estimator
            measured += math.isfinite(own.delta)
            case = next(v for v in result.audits[model].violations if v.outcome == search.outcome)
            np.testing.assert_array_equal(own.rates, case.rates)
    assert measured == len(result.models)
    others = [t for t in result.transfers if t.subgroup_of != t.model]
    assert {t.estimator for t in others} == {"hajek" if estimator == "raw" else estimator}
    said = "those of other models, and what changes there" in " ".join(result.summary().split())
    assert said == (estimator == "raw")


def test_a_copy_of_a_model_is_measured_in_its_subgroup_as_the_model_itself(few):
    """Rates at the same features, intervals and all, and no difference of either quantity."""
    answers = few.outcomes["A"]
    result = run(few, {"A": answers, "copy": answers, "B": few.outcomes["B"]}, n_splits=2)
    for search in result.searches:
        own, other = (result.transfer("A", one, search) for one in ("A", "copy"))
        for name in ("delta", "interval", "rates", "estimator", "split_ratio_mean", "split_rates"):
            np.testing.assert_array_equal(getattr(own, name), getattr(other, name))
        assert other.difference == 0.0
        assert other.difference_interval == (0.0, 0.0)
        rows = {model: result.row(model, search) for model in result.models}
        for found in result.differences:
            if found.search == search and found.quantity == "everybody":
                a, b = (rows[one].everybody_delta for one in (found.model, found.baseline))
                assert found.difference == pytest.approx(a - b)
                assert (found.interval == (0.0, 0.0)) == (found.model == "copy")


# -- answers among the features


def _notes(result):
    return [w.message for w in result.warnings if w.category == "AnswersAmongFeatures"]


@pytest.mark.parametrize("kind", [int, float, bool])
def test_a_feature_that_repeats_a_model_is_noted(few, kind):
    rng = np.random.default_rng(0)
    n = len(few.X)
    almost = np.where(rng.random(n) < 0.08, 1 - few.outcomes["B"], few.outcomes["B"])
    X = few.X.assign(other=almost.astype(kind))
    result = mdfa.compare(
        X,
        {"A": few.outcomes["A"], "B": few.outcomes["B"]},
        sensitive_features=few.group,
        groups=["a"],
        outcomes=[1],
        n_splits=0,
        n_folds=2,
        learner="tree",
        random_state=0,
    )
    (note,) = _notes(result)
    assert "column 'other'" in note
    assert "model 'B' on 9" in note
    assert "AnswersAmongFeatures" in result.summary()


def test_other_features_are_not_noted(few):
    """A coin, other labels, and two rare things that agree where both are absent."""
    rng = np.random.default_rng(0)
    n = len(few.X)
    rare = np.where(rng.random(n) < 0.04, 1, 0)
    X = few.X.assign(
        coin=rng.integers(0, 2, n),
        words=np.where(few.outcomes["A"] == 1, "yes", "no"),  # as if A decided by it
        rare=np.where(rng.random(n) < 0.04, 1, 0),
    )
    result = mdfa.compare(
        X,
        {"A": few.outcomes["A"], "rare": rare},
        sensitive_features=few.group,
        decision_inputs="words",
        groups=["a"],
        outcomes=[1],
        n_splits=0,
        n_folds=2,
        learner="tree",
        random_state=0,
    )
    assert _notes(result) == []


# -- rows of one person


def twice(planted):
    """Every row twice, the copies apart, and whose row each is."""
    order = np.random.default_rng(3).permutation(2 * len(planted.X)) % len(planted.X)
    models = {name: codes[order] for name, codes in planted.outcomes.items()}
    return SimpleNamespace(
        X=planted.X.iloc[order].reset_index(drop=True),
        group=planted.group.iloc[order].reset_index(drop=True),
        outcomes=models,
        truth=planted.truth[order],
        people=order,
    )


def test_doubled_people_are_no_more_evidence(few):
    """What the features have no part in is the same to rounding, all else about."""
    double = twice(few)
    once = run(few, y_true=few.truth)
    again = run(double, y_true=double.truth, clusters=double.people)
    for own, other in zip(once.rows, again.rows, strict=True):
        for name in ("selection", "true_positive", "false_positive"):
            assert getattr(other, name).interval == pytest.approx(getattr(own, name).interval)
        assert other.accuracy == pytest.approx(own.accuracy)
    for own, other in zip(once.differences, again.differences, strict=True):
        if own.quantity == EVERYBODY:
            # Other folds move what models tell; twice the evidence would be .71 of the width.
            assert np.ptp(other.interval) == pytest.approx(np.ptp(own.interval), rel=0.1)
        elif own.quantity == WORST_CASE:
            continue  # of other people, as other folds find others
        else:
            assert other.difference == pytest.approx(own.difference)
            assert other.interval == pytest.approx(own.interval)
    with pytest.warns(RepeatedRowsWarning):
        found = run(double, y_true=double.truth)
    for own, other in zip(again.differences, found.differences, strict=True):
        assert other.interval == pytest.approx(own.interval, nan_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelDependenceWarning)  # copies tell
        naive = run(
            double,
            y_true=double.truth,
            clusters=np.arange(len(double.X)),
            decision_inputs=list(double.X),
        )
    own, other = (
        next(one for one in result.differences if one.quantity == ACCURACY)
        for result in (once, naive)
    )
    assert np.ptp(other.interval) == pytest.approx(np.ptp(own.interval) / math.sqrt(2))


def test_rows_of_a_person_share_a_side_of_every_split(few, folds_seen):
    double = twice(few)
    run(double, clusters=double.people)
    assert len(folds_seen) == 2
    for folds, _, unit in folds_seen:
        n_folds = pd.Series(folds).groupby(unit).nunique()
        assert (n_folds == 1).all()
        assert len(n_folds) == len(few.X)


def test_a_comparison_with_clusters_holds_the_audits_with_clusters(few):
    people = np.arange(len(few.X)) // 2
    result = run(few, clusters=people)
    alone = mdfa.audit(
        few.X,
        few.outcomes["A"],
        sensitive_features=few.group,
        clusters=people,
        groups=["a"],
        outcomes=[1],
        n_splits=2,
        learner="tree",
        random_state=result.provenance["seed"],
    )
    assert "500 rows of 250 people (clusters)" in " ".join(result.summary().split())
    assert result.provenance["n_clusters"] == 250
    row = result.row("A", HARMED)
    assert (row.delta, row.interval) == (alone.worst_case.delta, alone.worst_case.interval)
    own = result.transfer("A", "A", HARMED)
    assert (own.delta, own.interval) == (row.delta, row.interval)
    assert own.difference_interval == (0.0, 0.0)


def test_clusters_follow_their_index_in_every_model(few):
    people = pd.Series(np.arange(len(few.X)) // 2)
    result = run(few, y_true=few.truth, clusters=people)
    order = np.random.default_rng(1).permutation(len(few.X))
    shuffled = run(few, y_true=few.truth, clusters=people.iloc[order])
    np.testing.assert_array_equal(shuffled.split_delta, result.split_delta)
    for own, other in zip(result.differences, shuffled.differences, strict=True):
        assert other.interval == pytest.approx(own.interval)


def test_clusters_with_an_index_lead(few):
    """As weights do: models' answers with an index follow that of the clusters."""
    rng = np.random.default_rng(2)
    order = rng.permutation(len(few.X))
    people = pd.Series(np.arange(len(few.X)) // 2)
    answers = {name: pd.Series(codes).iloc[order] for name, codes in few.outcomes.items()}
    arrays = SimpleNamespace(X=few.X.to_numpy(), group=few.group.to_numpy())
    plain = run(arrays, few.outcomes, clusters=people.to_numpy(), n_splits=0)
    led = run(arrays, answers, clusters=people, n_splits=0)
    for own, other in zip(plain.rows, led.rows, strict=True):
        assert own.selection.rates == other.selection.rates


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (range(499), r"clusters: 499 rows were given, but X has 500"),
        ([None, *range(499)], r"clusters: 1 of 500 rows have no value"),
        ([1] * 500, r"clusters: all rows are of one cluster"),
    ],
)
def test_bad_clusters_are_named(few, given, message):
    with pytest.raises(InputError, match=message):
        run(few, clusters=given)


# -- features that tell an outcome


def test_each_models_own_outcome_is_told(few):
    """One model's answers as a feature: an input of the decision for none but that model."""
    rng = np.random.default_rng(0)
    A, n = few.outcomes["A"], len(few.X)
    score = few.X.assign(score=50 * (A == 1) + rng.uniform(0, 50, n))
    with pytest.warns(LeakWarning) as caught:
        result = run(few, X=score, n_splits=0)
    assert [str(w.message) for w in caught] == [
        "'score' decides the outcome of 'A' alone. If it is an input of the decision, nothing can be "
        "left to find; if it is its result, drop it."
    ]
    assert "'score' decides the outcome of 'A' alone." in " ".join(result.summary().split())[:200]
    assert "LeakWarning" not in [w.category for w in result.audits["B"].warnings]
    named = run(few, X=score, n_splits=0, decision_inputs="score")
    assert "DecisionInputs" in [w.category for w in named.audits["A"].warnings]


def test_a_feature_that_repeats_a_models_outcome_is_refused(few):
    words = few.X.assign(words=np.where(few.outcomes["B"] == 1, "yes", "no"))
    with pytest.raises(InputError, match=r"X: 'words' repeat.* the outcome of 'B', in the same"):
        run(few, X=words)
    with pytest.raises(InputError, match="decision_inputs: 'word' is no feature"):
        run(few, X=words, decision_inputs=["word"])


def test_every_model_has_probabilities_of_its_own(planted):
    """An audit of one model alone says the same; splits take them too."""
    X, s = planted.X, planted.group
    models = {name: planted.outcomes[name] for name in ("A", "C")}
    m = np.full(len(X), 0.5)
    quick = {"learner": "tree", "propensity": m}
    compared = mdfa.compare(
        X,
        models,
        sensitive_features=s,
        outcome_probability={"A": m, "C": {0: m}},
        n_splits=2,
        n_folds=2,
        **quick,
    )
    alone = mdfa.audit(
        X, models["A"], sensitive_features=s, outcome_probability=m, n_splits=2, **quick
    )
    for v, w in zip(compared.audits["A"].violations, alone.violations, strict=True):
        assert v.statistic == w.statistic
    assert np.isfinite(compared.split_delta[:, 0, 0, 0]).all()


@pytest.mark.parametrize("given", [np.full(1600, 0.5), {"A": np.full(1600, 0.5)}])
def test_probabilities_of_one_model_only_are_refused(planted, given):
    models = {name: planted.outcomes[name] for name in ("A", "C")}
    with pytest.raises(
        mdfa.exceptions.InputError, match=r"^outcome_probability: every model.*'A', 'C'"
    ):
        mdfa.compare(planted.X, models, sensitive_features=planted.group, outcome_probability=given)


@pytest.mark.parametrize("other", [[1, 2], [-1, 1], ["0", "1"]])
def test_models_coded_differently_are_refused_even_where_an_outcome_is_named(few, other):
    """Only models that have more outcomes than two may have some that others never give."""
    outcomes = {"A": few.outcomes["A"], "B": np.array(other)[few.outcomes["B"]]}
    with pytest.raises(InputError, match=r"different outcomes were found.*Recode them alike"):
        mdfa.compare(few.X, outcomes, sensitive_features=few.group, outcomes=[1], n_splits=0)


def test_spellings_and_missing_outcomes_of_models_as_if_there_were_none(few):
    absent = np.arange(500) % 10 == 0
    words = {name: pd.Series(np.array(["no", "yes"])[y]) for name, y in few.outcomes.items()}
    dirty = words | {
        "A": words["A"].mask(absent),
        "B": words["B"].where(np.arange(500) % 3 > 0, words["B"] + "."),
    }
    how = {"groups": ["a"], "n_splits": 1, "n_folds": 2, "learner": "tree", "random_state": 0}
    found = mdfa.compare(
        few.X, dirty, sensitive_features=few.group, merge_spellings=True, missing_outcome="exclude",
        outcomes=["Yes"], **how,
    )  # fmt: skip
    clean = mdfa.compare(
        few.X[~absent],
        {name: y[~absent] for name, y in words.items()},
        sensitive_features=few.group[~absent],
        outcomes=["yes"],
        **how,
    )
    pd.testing.assert_frame_equal(found.to_frame(), clean.to_frame())
    assert found.outcome_labels == ("no", "yes")
    assert found.audits["A"].excluded["missing outcome"] == 50
    assert any(one.category == "MergedSpellings" for one in found.warnings)
