"""The table of groups, as audits that are signed report them."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import demographic_parity_ratio
from scipy.stats import binomtest, chi2_contingency, fisher_exact
from sklearn.linear_model import LogisticRegression

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.words import Words
from mdfa_fairness_plugin.exceptions import InputError, MissingSensitiveWarning, SmallGroupWarning
from mdfa_fairness_plugin.replicate.groups import flips, standard_deviations

MODEL = LogisticRegression()
SIMPLE = {
    "learner": "tree",
    "n_splits": 2,
    "n_repeats": 1,
    "propensity": MODEL,
    "outcome_probability": MODEL,
}

# The example of the rules of New York City on Local Law 144 (6 RCNY 5-301 (b)): applicants, selected,
# selection rate and impact ratio as printed. Its tables by sex and, but for Hispanics, by race add up
# from these.
INTERSECTIONS = {
    ("Male", "Hispanic"): (205, 90, "43.9%", "0.841"),
    ("Female", "Hispanic"): (190, 82, "43.2%", "0.827"),
    ("Male", "White"): (412, 215, "52.2%", "1.000"),
    ("Male", "Black"): (226, 95, "42.0%", "0.806"),
    ("Male", "Pacific"): (87, 37, "42.5%", "0.815"),
    ("Male", "Asian"): (321, 167, "52.0%", "0.997"),
    ("Male", "Native"): (24, 11, "45.8%", "0.878"),
    ("Male", "Two or more"): (115, 52, "45.2%", "0.866"),
    ("Female", "White"): (385, 197, "51.2%", "0.981"),
    ("Female", "Black"): (164, 75, "45.7%", "0.876"),
    ("Female", "Pacific"): (32, 15, "46.9%", "0.898"),
    ("Female", "Asian"): (295, 135, "45.8%", "0.877"),
    ("Female", "Native"): (17, 7, "41.2%", "0.789"),
    ("Female", "Two or more"): (98, 44, "44.9%", "0.860"),
}
SEXES = {"Male": (1390, 667, "48%", "1.000"), "Female": (1181, 555, "47%", "0.979")}
RACES = {
    "White": (797, 412, "52%", "1.00"),
    "Black": (390, 170, "44%", "0.84"),
    "Pacific": (119, 52, "44%", "0.85"),
    "Asian": (616, 302, "49%", "0.95"),
    "Native": (41, 18, "44%", "0.85"),
    "Two or more": (213, 96, "45%", "0.87"),
}
N_UNKNOWN = 250


@pytest.fixture(scope="module")
def hired():
    """The example as rows, with applicants whose sex is not known."""
    told = [(own, n, k) for own, (n, k, *_) in INTERSECTIONS.items()]
    told.append(((None, None), N_UNKNOWN, 120))
    people = [group for group, n, _ in told for _ in range(n)]
    y = np.concatenate([np.repeat(["yes", "no"], [k, n - k]) for _, n, k in told])
    X = pd.DataFrame({"years": np.random.default_rng(0).normal(size=len(y))})
    with pytest.warns(MissingSensitiveWarning):
        return mdfa.audit(
            X,
            y,
            sensitive_features=pd.DataFrame(people, columns=["sex", "race"]),
            favorable_label="yes",
            groups={"sex": "Male", "race": "White"},
            outcomes=["yes"],
            **SIMPLE,
        )


@pytest.fixture(scope="module")
def loans():
    """Rates .3, .4 and .5 of 100, 120 and 6 rows; men and women alike."""
    told = [("p", 100, 30), ("q", 120, 48), ("r", 6, 3)]
    y = np.concatenate([np.repeat([1, 0], [k, n - k]) for _, n, k in told])
    race = pd.Series(np.repeat([own for own, *_ in told], [n for _, n, _ in told]), name="race")
    X = pd.DataFrame({"a": np.random.default_rng(0).normal(size=len(y))})
    return X, y, race


@pytest.fixture(scope="module")
def audited(loans):
    X, y, race = loans
    with pytest.warns(SmallGroupWarning):
        return mdfa.audit(X, y, sensitive_features=race, favorable_label=1, **SIMPLE)


def of(table, feature="race"):
    own = table[(table["sensitive_feature"] == feature) & (table["category"] != "Unknown")]
    return own.set_index("category")


def test_a_published_table_is_reproduced_to_its_last_digit(hired):
    table = hired.group_table()
    for told, feature in ((INTERSECTIONS, "sex & race"), (SEXES, "sex"), (RACES, "race")):
        own = of(table, feature)
        assert set(own.index) - {"Hispanic"} == set(told)
        for group, (n, selected, rate, impact) in told.items():
            row = own.loc[[group]].iloc[0]
            assert (row["n"], row["n_favourable"]) == (n, selected)
            assert f"{row['impact_ratio']:.{len(impact) - 2}f}" == impact
            assert f"{row['rate']:.{max(len(rate) - 4, 0)}%}" == rate
    unknown = table[table["category"] == "Unknown"].set_index("sensitive_feature")["n"]
    assert unknown.to_dict() == dict.fromkeys(("sex", "race", "sex & race"), N_UNKNOWN)
    assert table["category"].tolist()[-3:] == ["Unknown"] * 3
    # Shares are of all rows, so that with those who are not known they add up.
    assert table.groupby("sensitive_feature")["share"].sum().tolist() == pytest.approx([1.0] * 3)


def test_a_group_is_worked_by_hand(loans, audited):
    """30 of 100 beside 48 of 120: .75, ten points less, 5.45 people short of the common rate."""
    row = of(audited.group_table("q")).loc["p"]
    assert (row["reference"], row["n"], row["n_favourable"]) == ("q", 100, 30)
    assert row["impact_ratio"] == pytest.approx(0.75)
    assert row["difference_points"] == pytest.approx(-10.0)
    assert row["shortfall"] == pytest.approx(100 * 78 / 220 - 30)
    counts = [[30, 70], [48, 72]]
    assert row["p_fisher_unadjusted"] == pytest.approx(fisher_exact(counts).pvalue)
    squared = chi2_contingency(counts, correction=False).statistic
    assert row["standard_deviations_unadjusted"] == pytest.approx(-math.sqrt(squared))
    # Newcombe's interval of the difference, and that of the ratio by Zou and Donner, both of Wilson.
    (low, high), (low_q, high_q) = (
        binomtest(k, n).proportion_ci(method="wilson") for k, n in ((30, 100), (48, 120))
    )
    assert row["difference_points_low"] == pytest.approx(
        100 * (-0.1 - math.hypot(0.3 - low, high_q - 0.4))
    )
    assert row["difference_points_high"] == pytest.approx(
        100 * (-0.1 + math.hypot(high - 0.3, 0.4 - low_q))
    )
    down = math.hypot(math.log(0.3 / low), math.log(high_q / 0.4))
    assert row["impact_ratio_low"] == pytest.approx(0.75 * math.exp(-down))
    assert row["impact_ratio_low"] < 0.75 < row["impact_ratio_high"]
    others = of(audited.group_table("others")).loc["p"]
    assert others["impact_ratio"] == pytest.approx(0.3 / (51 / 126))


def test_rates_are_those_of_other_toolkits(loans, audited):
    X, y, race = loans
    table = of(audited.group_table({"race": "q"}))
    two = race != "r"
    parity = demographic_parity_ratio(y[two], y[two], sensitive_features=race[two])
    assert table.loc["p", "impact_ratio"] == pytest.approx(parity)
    datasets = pytest.importorskip("aif360.datasets")
    metrics = pytest.importorskip("aif360.metrics")
    frame = X.assign(y=y, race=(race == "q").astype(int))[two]
    sides = {"unprivileged_groups": [{"race": 0}], "privileged_groups": [{"race": 1}]}
    data = datasets.BinaryLabelDataset(
        df=frame, label_names=["y"], protected_attribute_names=["race"]
    )
    metric = metrics.BinaryLabelDatasetMetric(data, **sides)
    assert table.loc["p", "impact_ratio"] == pytest.approx(metric.disparate_impact())
    assert table.loc["p", "difference_points"] == pytest.approx(
        100 * metric.statistical_parity_difference()
    )


def test_at_equal_features_it_is_what_pairs_and_everybody_say(audited):
    pair = next(
        own
        for own in audited.group_pairs()
        if (own.group, own.reference, own.outcome) == ("p", "q", 1)
    )
    row = of(audited.group_table("q")).loc["p"]
    name = "impact_ratio_equal_features"
    assert row[[name, f"{name}_low", f"{name}_high"]].tolist() == pytest.approx(
        [pair.ratio, *pair.ratio_interval]
    )
    name = "difference_points_equal_features"
    assert row[[name, f"{name}_low", f"{name}_high"]].tolist() == pytest.approx(
        [100 * own for own in (pair.difference, *pair.difference_interval)]
    )
    whole = next(v for v in audited.violations if (v.group, v.outcome) == ("p", 1)).population
    own = of(audited.group_table("others"))
    assert own.loc["p", "impact_ratio_equal_features"] == pytest.approx(whole.ratio)
    assert own.loc["r", "not_compared_reason"].startswith("only 6 rows")
    assert math.isnan(own.loc["r", "impact_ratio_equal_features"])


def test_small_groups_keep_their_count_and_rate(audited):
    whole = audited.group_table()
    assert of(whole)["reference"].tolist() == ["r", "r", None]
    table = audited.group_table(exclude_below=0.03, exclude_reason="six people")
    own = of(table).loc["r"]
    assert own[["n", "n_favourable", "rate"]].tolist() == [6, 3, 0.5]
    assert own["excluded_reason"] == "six people"
    assert own.drop(["n", "n_favourable", "rate", "share"]).map(pd.isna).sum() == 18
    # Who is left out is nobody's reference.
    assert of(table)["reference"].tolist() == ["q", None, None]
    assert list(whole.columns) == list(table.columns)
    assert (whole.dtypes == table.dtypes).all()


@pytest.mark.parametrize(
    ("hits", "sizes"),
    [
        ((30, 48), (100, 120)),
        ((3, 40), (20, 60)),
        ((50, 10), (60, 60)),
        ((1, 1), (2, 3)),
        ((9, 9), (30, 30)),
    ],
)
def test_flips_are_the_fewest_of_all(hits, sizes):
    """Every number of the group's outcomes is tried."""

    def found(k):
        return fisher_exact([[k, sizes[0] - k], [hits[1], sizes[1] - hits[1]]]).pvalue < 0.05

    other = [abs(k - hits[0]) for k in range(sizes[0] + 1) if found(k) != found(hits[0])]
    assert flips(hits, sizes, 0.05) == min(other, default=None)


def test_scores_are_cut_at_the_median_of_all(audited, loans):
    """The rules' example of scores: 92 men and 76 women, 54.3 % and 44.7 % above the median, .82."""
    sex = np.repeat(["Male", "Female"], [92, 76])
    above = np.concatenate([np.repeat([1, 0], [k, n - k]) for n, k in ((92, 50), (76, 34))])
    rng = np.random.default_rng(1)
    score = above + rng.random(len(above))
    X = pd.DataFrame({"a": rng.normal(size=len(above))})
    result = mdfa.audit(X, rng.integers(0, 2, len(above)), sensitive_features=sex, **SIMPLE)
    table = of(result.group_table(scores=score), "sensitive_feature")
    assert table["n_favourable"].to_dict() == {"Female": 34, "Male": 50}
    assert [f"{own:.1%}" for own in table["rate"]] == ["44.7%", "54.3%"]
    assert f"{table.loc['Female', 'impact_ratio']:.2f}" == "0.82"
    men, women = score[:92], score[92:]
    gap = (women.mean() - men.mean()) / math.sqrt((women.var() + men.var()) / 2)
    assert table.loc["Female", "score_difference_standardised"] == pytest.approx(gap)
    assert of(audited.group_table())["score_difference_standardised"].isna().all()
    with pytest.raises(InputError, match="scores: no score is above their median of 1"):
        result.group_table(scores=np.ones(len(above)))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"reference": "z"}, r"reference: 'z' is not among the sensitive values found in 'race'"),
        ({"reference": {"sex": "p"}}, "reference: 'sex' is not a sensitive feature"),
        ({"reference": "r", "exclude_below": 0.1}, "reference: 'r' is left out by exclude_below"),
        ({"exclude_below": 0.9}, "exclude_below: every group of 'race' is below 0.9 of the rows"),
        ({"exclude_below": 2}, "exclude_below: a share between 0 and 1 expected, 2 found"),
        ({"exclude_reason": "few"}, "exclude_reason: it is of groups left out"),
        ({"exclude_below": 0.1, "exclude_reason": 3}, "exclude_reason: a text expected, 3 found"),
        ({"scores": [1.0]}, "scores"),
    ],
)
def test_what_cannot_be_told_is_refused(audited, asked, said):
    with pytest.raises(InputError, match=said):
        audited.group_table(**asked)


def test_the_favourable_outcome_has_to_be_known(audited):
    source = replace(audited.source, problem=replace(audited.source.problem, words=Words()))
    with pytest.raises(InputError, match="favorable_label: a table of groups needs"):
        replace(audited, source=source).group_table()
    problem = replace(audited.source.problem, cuts={"below B": None})
    with pytest.raises(InputError, match=r"group_table: .* an order has several"):
        replace(audited, source=replace(source, problem=problem)).group_table()


def test_an_outcome_of_all_has_no_deviation():
    assert math.isnan(standard_deviations((5, 7), (5, 7)))
