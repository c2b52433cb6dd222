"""The metric classes: AIF360's metrics as they are, and the audit beside them."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.aif360 import (
    MDFAClassificationMetric,
    MDFADatasetMetric,
)
from mdfa_fairness_plugin.aif360.reading import audited_features, fingerprint
from mdfa_fairness_plugin.aif360.toolkit import part
from mdfa_fairness_plugin.exceptions import (
    InputError,
    LeakWarning,
    NothingToAuditError,
    NothingToAuditWarning,
)

BinaryLabelDatasetMetric = part("metrics").BinaryLabelDatasetMetric
ClassificationMetric = part("metrics").ClassificationMetric

WOMEN, MEN = [{"sex": 0}], [{"sex": 1}]
INHERITED = [
    name
    for name in dir(ClassificationMetric)
    if not name.startswith("_")
    and callable(getattr(ClassificationMetric, name))
    and name not in ("difference", "ratio", "rich_subgroup")
]


def classified(dataset, seed=1):
    """Copy of a dataset with other labels, one in five changed, and scores."""
    rng = np.random.default_rng(seed)
    copy = dataset.copy()
    change = rng.random(dataset.labels.shape) < 0.2
    total = dataset.favorable_label + dataset.unfavorable_label
    copy.labels = np.where(change, total - dataset.labels, dataset.labels)
    copy.scores = rng.random(dataset.labels.shape)
    return copy


def table(result):
    """What the searches say, without text: labels first, numbers after."""
    return result.to_frame().drop(columns=["reason"])


def search(result, group, outcome):
    """One search of an audit."""
    return next(v for v in result.violations if (v.group, v.outcome) == (group, outcome))


# ---------------------------------------------------------------------------------------------
# AIF360's own numbers


def test_every_inherited_metric_still_works(xor, lists):
    """Each of AIF360's metrics gives what its own class gives."""
    predictions = classified(xor)
    theirs = ClassificationMetric(xor, predictions, **lists)
    ours = MDFAClassificationMetric(xor, predictions, **lists)
    assert len(INHERITED) > 60
    for name in INHERITED:
        expected, found = getattr(theirs, name)(), getattr(ours, name)()
        np.testing.assert_equal(found, expected, err_msg=name)


def test_rich_subgroup_still_works(xor, lists):
    theirs = BinaryLabelDatasetMetric(xor, **lists)
    ours = MDFADatasetMetric(xor, **lists)
    predictions = tuple(classified(xor).labels.ravel())
    assert ours.rich_subgroup(predictions) == theirs.rich_subgroup(predictions)


def test_without_lists_the_groups_are_the_protected_values(xor, quick):
    """The values as the metadata calls them."""
    metric = MDFADatasetMetric(xor, **quick)
    assert {one.group for one in metric.audit().violations} == {"Female", "Male"}
    assert metric.worst_case().group in ("Female", "Male")
    with pytest.raises(InputError, match="was not given privileged_groups"):
        metric.worst_case_violation(privileged=True)


# ---------------------------------------------------------------------------------------------
# The audit


def test_a_planted_xor_is_found_in_both_cells(xor, xor_metric):
    """Of either sex those whose x is not theirs get the favorable outcome .3 against .7 times."""
    x = xor.features[:, xor.feature_names.index("x")]
    sides = {True: "privileged", False: "unprivileged"}
    for privileged, group in sides.items():
        worst = xor_metric.worst_case(privileged=privileged)
        assert (worst.group, worst.reference) == (group, sides[not privileged])
        assert (worst.outcome, worst.direction, worst.verdict) == (
            "favorable",
            "less often",
            "violation",
        )
        assert worst.interval[0] < 0.7 / 0.3 < worst.interval[1]
        assert worst.rates == pytest.approx((0.3, 0.7), abs=0.1)
        assert np.mean(worst.violation.membership == (x != privileged)) > 0.9
    assert abs(math.log(xor_metric.disparate_impact())) < 0.2


def test_the_scalars_are_those_of_the_worst_case(xor_metric):
    worst = xor_metric.worst_case()
    assert worst.violation is xor_metric.audit().worst_harm.violation
    assert xor_metric.worst_case_violation() == worst.delta == math.log(worst.ratio)
    assert xor_metric.worst_case_ratio() == worst.ratio == 1 / worst.disparate_impact
    assert xor_metric.unfairness_certificate() == worst.violation.gamma
    by_side = [xor_metric.worst_case_ratio(privileged=side) for side in (True, False)]
    assert worst.ratio in by_side
    assert worst.group == ("unprivileged", "privileged")[by_side.index(worst.ratio) == 0]


def test_one_disparity_everywhere_is_the_inverse_of_disparate_impact(dataset_of, quick):
    """Whether the favorable outcome is rare or frequent; where the unfavorable one says more."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": np.arange(900) % 2, "x": rng.integers(0, 2, 900)})
    own = {"propensity": {"privileged": np.full(900, 0.5)}}
    for low, high in ((0.1, 0.2), (0.8, 0.95)):
        rate = np.where(frame["sex"] == 0, low, high)
        dataset = dataset_of(frame.assign(y=(rng.random(900) < rate).astype(int)))
        own["outcome_probability"] = {"favorable": np.full(900, (low + high) / 2)}
        metric = MDFADatasetMetric(dataset, WOMEN, MEN, **own, **quick)
        worst = metric.worst_case()
        assert (worst.group, worst.violation.rule) == ("unprivileged", "everybody")
        assert worst.ratio == pytest.approx(1 / metric.disparate_impact(), rel=0.02)
        assert metric.worst_case_ratio(privileged=True) < 1.5


def test_the_favorable_label_is_the_datasets(xor, lists):
    with pytest.raises(InputError, match="favorable_label: the dataset says it itself"):
        MDFADatasetMetric(xor, **lists, favorable_label=0)


def test_metrics_of_labels_that_are_all_alike_are_not_numbers(xor, lists, quick):
    """As those of models that are tried may be; the audit itself has nothing to say."""
    constant = xor.copy()
    constant.labels = np.ones_like(xor.labels)
    metric = MDFAClassificationMetric(xor, constant, **lists, **quick)
    for name in ("worst_case_violation", "worst_case_ratio", "unfairness_certificate"):
        with pytest.warns(NothingToAuditWarning, match="all 1,000 rows have the favorable label"):
            assert math.isnan(getattr(metric, name)())
    with pytest.raises(NothingToAuditError):
        metric.audit()


# ---------------------------------------------------------------------------------------------
# How labels are written


@pytest.mark.parametrize("codes", [(1.0, 2.0), (-1.0, 1.0), (1.0, -1.0), (0.0, 1.0)])
def test_the_coding_of_labels_is_no_matter(xor_frame, dataset_of, xor_metric, lists, quick, codes):
    dataset = dataset_of(xor_frame(), *codes)
    metric = MDFADatasetMetric(dataset, **lists, **quick)
    pd.testing.assert_frame_equal(table(metric.audit()), table(xor_metric.audit()))
    assert dataset.scores.min() >= 0  # AIF360 keeps them apart from the labels


def test_swapping_the_favorable_label_swaps_the_outcomes_names_and_nothing_else(
    xor, xor_metric, lists, quick
):
    swapped = xor.copy()
    swapped.favorable_label, swapped.unfavorable_label = 0.0, 1.0
    found = table(MDFADatasetMetric(swapped, **lists, **quick).audit())
    names = {"favorable": "unfavorable", "unfavorable": "favorable"}
    expected = table(xor_metric.audit()).assign(
        outcome=lambda frame: frame["outcome"].map(names).astype(object)
    )
    keys = ["group", "outcome"]
    found, expected = (one.sort_values(keys, ignore_index=True) for one in (found, expected))
    # Which of the outcomes is good, and so what harm is, is swapped too.
    assert (found["harm"] != expected["harm"]).all()
    assert found["harm"].tolist() == (found["outcome"] == "unfavorable").tolist()
    good = ["harm", "impact_ratio", "impact_low", "impact_high"]
    pd.testing.assert_frame_equal(found.drop(columns=good), expected.drop(columns=good))


def test_instance_weights_that_count_equal_repeated_rows(xor_frame, dataset_of, lists, quick):
    frame = xor_frame(n=400)
    copies = np.random.default_rng(0).integers(1, 4, size=400)
    weighted = dataset_of(frame.assign(w=copies), instance_weights_name="w")
    repeated = dataset_of(frame.loc[np.repeat(frame.index, copies)].reset_index(drop=True))
    ours = MDFADatasetMetric(weighted, **lists, **quick, weight_type="frequency")
    theirs = MDFADatasetMetric(repeated, **lists, **quick)
    pd.testing.assert_frame_equal(table(ours.audit()), table(theirs.audit()))
    assert ours.disparate_impact() == pytest.approx(theirs.disparate_impact(), abs=1e-12)
    membership = theirs.audit().worst_case.membership
    firsts = np.cumsum(copies) - copies
    assert np.mean(ours.audit().worst_case.membership == membership[firsts]) > 0.95


def test_instance_weights_are_no_evidence(xor_frame, dataset_of, lists, quick):
    """Unless they count: three times every weight changes nothing."""
    frame = xor_frame(n=400)
    plain, heavy = (dataset_of(frame.assign(w=w), instance_weights_name="w") for w in (1, 3))
    ours, theirs = (MDFADatasetMetric(one, **lists, **quick).audit() for one in (plain, heavy))
    pd.testing.assert_frame_equal(table(ours), table(theirs))


# ---------------------------------------------------------------------------------------------
# Several rows of one person


@pytest.fixture(scope="module")
def people(xor):
    return np.random.default_rng(4).integers(0, 400, size=len(xor.labels))


@pytest.fixture(scope="module")
def by_person(xor, people, lists, quick):
    return MDFADatasetMetric(xor, clusters=people, **lists, **quick)


def test_clusters_are_those_of_the_audit(xor, xor_metric, by_person, people, quick):
    women = np.where(xor.protected_attributes[:, 0] == 0, "unprivileged", "privileged")
    expected = mdfa.audit(
        audited_features(xor),
        np.where(xor.labels[:, 0] == 1, "favorable", "unfavorable"),
        sensitive_features=pd.Series(women, name="group"),
        clusters=people,
        favorable_label="favorable",
        **quick,
    )
    keys = ["group", "outcome"]
    told, found = (
        table(one).drop(columns=["sensitive_feature", "reference"]).sort_values(keys)
        for one in (expected, by_person.audit())
    )
    pd.testing.assert_frame_equal(told, found)
    assert not table(xor_metric.audit()).equals(table(by_person.audit()))


def test_clusters_may_be_a_feature_which_is_then_no_feature(
    xor_frame, dataset_of, by_person, people, lists, quick
):
    dataset = dataset_of(xor_frame().assign(person=people))
    named = MDFADatasetMetric(dataset, clusters="person", **lists, **quick)
    assert "person" not in named.audit().feature_names
    pd.testing.assert_frame_equal(table(named.audit()), table(by_person.audit()))


def test_answers_follow_the_clusters(xor, by_person, people, lists, quick):
    """Other ids of the same people change nothing, other people do; pandas' index is no matter."""
    ids = np.array([f"p{one}" for one in people], dtype=object)
    metric = MDFADatasetMetric(xor, clusters=ids, **lists, **quick)
    pd.testing.assert_frame_equal(table(metric.audit()), table(by_person.audit()))
    ids[:] = np.roll(ids, 1)
    assert not table(metric.audit()).equals(table(by_person.audit()))
    series = pd.Series(people, index=xor.instance_names)
    indexed = MDFAClassificationMetric(xor, xor, clusters=series, **lists, **quick)
    pd.testing.assert_frame_equal(table(indexed.audit()), table(by_person.audit()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"clusters": "person"},
            "clusters: 'person' is no feature of the dataset. Name one of 'sex'",
        ),
        ({"clusters": "x", "audit_features": ["x"]}, "clusters: 'x' says whose row each is, so"),
        ({"clusters": [1, 2]}, "clusters: 2 rows were given, but dataset has 1,000"),
        ({"clusters": [1] * 1000}, "clusters: all rows are of one cluster"),
        ({"clusters": [None, *range(999)]}, "clusters: 1 of 1,000 rows have no value"),
    ],
)
def test_wrong_clusters_are_named(xor, lists, change, message):
    with pytest.raises(InputError, match=message):
        MDFADatasetMetric(xor, **lists, **change).audit()


def test_unbiased_data_with_favorable_label_0_raise_nothing(dataset_of, lists, quick):
    """Where ``bias_scan`` flips the observations alone, and scores everybody about 1,600."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, size=(2000, 3)), columns=["sex", "x", "z"])
    frame["y"] = (rng.random(2000) < 0.2).astype(int)
    dataset = dataset_of(frame, 1.0, 0.0)
    dataset.favorable_label, dataset.unfavorable_label = 0.0, 1.0
    result = MDFADatasetMetric(dataset, **lists, **quick).audit()
    assert {one.verdict for one in result.violations} == {"none_larger_than_detectable"}

    state = np.random.get_state()  # noqa: NPY002
    with np.errstate(all="ignore"):
        _, score = part("detectors").bias_scan(
            frame[["sex", "x", "z"]], frame["y"], favorable_value=0, overpredicted=False
        )
    np.random.set_state(state)  # noqa: NPY002
    assert score > 1000


# ---------------------------------------------------------------------------------------------
# No stale answers


def test_answers_follow_the_labels(xor_frame, dataset_of, lists, quick):
    """AIF360 remembers the disparate impact of labels that are no longer there."""
    dataset = dataset_of(xor_frame(n=400))
    theirs = BinaryLabelDatasetMetric(dataset, **lists)
    ours = MDFADatasetMetric(dataset, **lists, **quick)
    before = theirs.disparate_impact(), ours.disparate_impact(), ours.audit()
    assert ours.audit() is before[2]
    sex = dataset.protected_attributes
    dataset.labels = np.where(
        np.random.default_rng(1).random(sex.shape) < 0.3 + 0.4 * sex, 1.0, 0.0
    )
    fresh = BinaryLabelDatasetMetric(dataset, **lists)
    assert theirs.disparate_impact() == before[0] != fresh.disparate_impact()
    assert ours.disparate_impact() == fresh.disparate_impact()
    favored = search(ours.audit(), "privileged", "favorable")
    assert favored.population.delta == pytest.approx(-math.log(fresh.disparate_impact()), abs=0.15)
    dataset.labels[0] = 1.0 - dataset.labels[0]  # also in place
    assert ours.audit() is not before[2]
    assert ours.num_positives() == dataset.labels.sum()


def test_answers_follow_the_classified_labels_and_the_weights(xor, lists, quick):
    predictions = classified(xor)
    metric = MDFAClassificationMetric(xor, predictions, **lists, **quick)
    first = metric.audit()
    predictions.scores = 1 - predictions.scores
    assert metric.audit() is first  # scores are not audited
    predictions.labels = xor.labels.copy()
    second = metric.audit()
    assert second is not first
    metric.privileged_groups, metric.unprivileged_groups = WOMEN, MEN
    swapped = metric.audit()
    assert swapped.violations[0].delta == pytest.approx(second.violations[2].delta, abs=1e-9)


# ---------------------------------------------------------------------------------------------
# Datasets out


def test_the_subgroup_is_a_dataset_with_everything_in_place(xor, xor_metric, lists):
    worst = xor_metric.worst_case().violation
    subgroup = xor_metric.worst_case_subgroup()
    assert isinstance(subgroup, part("datasets").BinaryLabelDataset)
    inside = np.flatnonzero(worst.membership)
    assert subgroup.instance_names == [xor.instance_names[row] for row in inside]
    np.testing.assert_array_equal(subgroup.labels, xor.labels[inside])
    np.testing.assert_array_equal(subgroup.scores, xor.scores[inside])
    maps = subgroup.metadata["protected_attribute_maps"]
    assert maps == xor.metadata["protected_attribute_maps"]
    assert subgroup.metadata["transformer"] == "MDFADatasetMetric.worst_case_subgroup"
    subgroup.validate_dataset()
    theirs = BinaryLabelDatasetMetric(subgroup, **lists)
    assert abs(math.log(theirs.disparate_impact())) > 0.5


def test_an_annotated_dataset_takes_any_metric_of_aif360(xor, xor_metric):
    """Inside the annotated subgroup AIF360 finds what it finds in the subgroup alone."""
    before = xor.copy(deepcopy=True)
    annotated = xor_metric.annotate()
    annotated.validate_dataset()
    assert xor == before
    assert "worst_case_subgroup" not in xor.feature_names
    frame, attributes = annotated.convert_to_dataframe()
    assert attributes["protected_attribute_names"] == ["sex", "worst_case_subgroup"]
    member = xor_metric.worst_case().violation.membership
    np.testing.assert_array_equal(frame["worst_case_subgroup"], member)
    alone = BinaryLabelDatasetMetric(xor_metric.worst_case_subgroup(), WOMEN, MEN)
    inside = BinaryLabelDatasetMetric(annotated, *xor_metric.subgroup_groups())
    assert inside.disparate_impact() == alone.disparate_impact()
    outside = BinaryLabelDatasetMetric(annotated, *xor_metric.subgroup_groups(inside=False))
    assert outside.num_instances(privileged=True) + inside.num_instances(privileged=True) == (
        xor_metric.num_instances(privileged=True)
    )
    maps = annotated.metadata["protected_attribute_maps"]
    assert maps == [{0.0: "Female", 1.0: "Male"}, {1.0: "inside", 0.0: "outside"}]
    with pytest.raises(InputError, match="has a feature 'worst_case_subgroup' already"):
        xor_metric.annotate(annotated)
    again = xor_metric.annotate(annotated, name="again")
    np.testing.assert_array_equal(again.features[:, -1], member)


def test_annotating_lets_aif360_mitigate_inside_the_subgroup(xor_metric):
    """Reweighing by the lists of the subgroup levels its rates, as AIF360 measures them."""
    annotated = xor_metric.annotate()
    low, high = xor_metric.subgroup_groups()
    reweighing = part("algorithms.preprocessing").Reweighing(low, high)
    levelled = reweighing.fit_transform(annotated)
    metric = BinaryLabelDatasetMetric(levelled, low, high)
    assert metric.statistical_parity_difference() == pytest.approx(0, abs=1e-12)


def test_new_rows_are_judged_by_the_models_of_the_audit(xor_frame, dataset_of, xor_metric):
    new = dataset_of(xor_frame(n=300, seed=9))
    x = new.features[:, new.feature_names.index("x")]
    for privileged in (True, False, None):  # also of a search that is not the audit's worst case
        inside = xor_metric.annotate(new, privileged=privileged).features[:, -1]
        known = xor_metric.worst_case_subgroup(privileged=privileged)
        cell = known.features[:, new.feature_names.index("x")].mean() > 0.5
        assert np.mean(inside == (x == cell)) > 0.9
        assert (
            len(xor_metric.worst_case_subgroup(new, privileged=privileged).labels) == inside.sum()
        )


def test_subgroup_lists_need_both_lists(xor):
    with pytest.raises(InputError, match="needs both"):
        MDFADatasetMetric(xor, unprivileged_groups=WOMEN).subgroup_groups()


def test_the_true_labels_of_the_subgroup(xor, lists, quick):
    """Rows can be taken from the dataset with the true labels, too."""
    metric = MDFAClassificationMetric(xor, classified(xor), **lists, **quick)
    ours, true = metric.worst_case_subgroup(), metric.worst_case_subgroup(xor)
    assert ours.instance_names == true.instance_names
    assert ClassificationMetric(true, ours, **lists).accuracy() == pytest.approx(0.8, abs=0.1)


def test_several_favorable_labels(xor_frame, dataset_of, xor_metric, lists, quick):
    """AIF360's metric reads a multiclass dataset as favorable or not; so does the audit."""
    frame = xor_frame()
    odd = np.random.default_rng(0).integers(0, 2, len(frame))
    multiclass = part("datasets.multiclass_label_dataset")
    dataset = multiclass.MulticlassLabelDataset(
        favorable_label=[1.0, 3.0],
        unfavorable_label=[0.0, 2.0],
        df=frame.assign(y=frame["y"] + 2 * odd),
        label_names=["y"],
        protected_attribute_names=["sex"],
    )
    metric = MDFADatasetMetric(dataset, **lists, **quick)
    pd.testing.assert_frame_equal(table(metric.audit()), table(xor_metric.audit()))
    np.testing.assert_array_equal(
        metric.annotate(dataset).features[:, -1], xor_metric.worst_case().violation.membership
    )


def test_a_metric_can_be_pickled_and_subclassed(xor_metric, xor, lists, quick):
    """And a subclass's own methods are not memoised either."""
    copy = pickle.loads(pickle.dumps(xor_metric))
    assert copy.worst_case_violation() == xor_metric.worst_case_violation()

    class Mine(MDFADatasetMetric):
        calls = 0

        def double(self):
            self.calls += 1
            return 2 * self.base_rate()

    mine = Mine(xor, **lists, **quick)
    assert mine.double() == mine.double() == 2 * xor_metric.base_rate()
    assert mine.calls == 2


# ---------------------------------------------------------------------------------------------
# Two datasets


def test_datasets_of_different_features_need_a_choice(xor, lists, quick):
    """A repaired dataset, which AIF360's own class refuses."""
    repaired = classified(xor)
    repaired.features = xor.features.copy()
    repaired.features[:, xor.feature_names.index("x")] = 0.0
    with pytest.raises(ValueError, match="expected to differ only"):
        ClassificationMetric(xor, repaired, **lists)
    with pytest.raises(InputError, match="features_from='dataset'"):
        MDFAClassificationMetric(xor, repaired, **lists)
    original, after = (
        MDFAClassificationMetric(xor, repaired, **lists, **quick, features_from=source).audit()
        for source in ("dataset", "classified_dataset")
    )
    assert original.feature_names == ("x", "town")
    assert after.feature_names == ("town",)
    assert original.worst_case.delta > after.worst_case.delta


def test_comparing_datasets_leaves_no_trace(xor_frame, dataset_of, lists):
    """AIF360's comparison makes copies ignore labels and scores ever after."""
    one = dataset_of(xor_frame(n=50))
    other = one.copy()
    MDFAClassificationMetric(one, other, **lists)
    assert one.ignore_fields == other.ignore_fields == {"metadata", "ignore_fields"}
    other.labels = 1 - one.labels
    assert one != other


def test_datasets_of_other_rows_are_refused_as_aif360_does(xor, lists):
    with pytest.raises(ValueError, match="expected to differ only"):
        MDFAClassificationMetric(xor, xor.subset(range(10)), **lists, features_from="dataset")
    turned = xor.subset(range(len(xor.features))[::-1])
    with pytest.raises(InputError, match="are in another order"):
        MDFAClassificationMetric(xor, turned, **lists)


def test_a_feature_that_tells_the_label_is_refused_or_warned_of(
    xor_frame, dataset_of, lists, quick
):
    frame = xor_frame()
    again = dataset_of(frame.assign(again=2 - frame["y"]))
    with pytest.raises(InputError, match=r"'again' repeat.*decision_inputs"):
        MDFADatasetMetric(again, **lists, **quick).worst_case_violation()
    metric = MDFADatasetMetric(again, **lists, **quick, decision_inputs=["again"])
    assert "DecisionInputs" in [w.category for w in metric.audit().warnings]
    score = dataset_of(frame.assign(score=2 * frame["y"] + np.linspace(0, 1, len(frame))))
    with pytest.warns(LeakWarning, match="'score' decides the outcome alone"):
        MDFADatasetMetric(score, **lists, **quick).worst_case_violation()


def test_own_probabilities_are_called_by_the_names_of_groups_and_outcomes(xor, lists, quick):
    """By the names of either outcome or its label; other arrays are another question."""
    rng = np.random.default_rng(0)
    e, m = rng.uniform(0.4, 0.6, (2, len(xor.labels)))
    metrics = [
        MDFADatasetMetric(
            xor, **lists, **quick, propensity={group: p}, outcome_probability={outcome: q}
        )
        for group, p, outcome, q in (
            ("unprivileged", e, "favorable", m),
            ("privileged", 1 - e, xor.unfavorable_label, 1 - m),
        )
    ]
    one, two = (metric.audit().violations for metric in metrics)
    assert [v.statistic for v in one] == pytest.approx([v.statistic for v in two])
    for name, given, example in (
        ("propensity", e, "unprivileged"),
        ("outcome_probability", m, "favorable"),
    ):
        with pytest.raises(InputError, match=rf"^{name}: .*\{{'{example}': p\}}"):
            MDFADatasetMetric(xor, **lists, **quick, **{name: given}).audit()


def test_probabilities_that_differ_in_the_middle_are_not_taken_for_the_same():
    """They are part of what an answer is remembered by."""
    m = np.full(5_000, 0.5)
    other = m.copy()
    other[2_500] = 0.4
    assert fingerprint({"favorable": m}) != fingerprint({"favorable": other})
    assert fingerprint({"favorable": m}) == fingerprint({"favorable": m.copy()})
