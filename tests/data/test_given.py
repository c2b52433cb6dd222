"""Probabilities given row by row: of whom they speak, which rows they are of, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError

N = 90


@pytest.fixture(scope="module")
def rows():
    """Features, two outcomes, two sexes, three regions, and a probability of its own for each row."""
    rng = np.random.default_rng(0)
    return {
        "X": pd.DataFrame({"x": rng.normal(size=N)}),
        "y": np.where(rng.random(N) < 0.5, "no", "yes"),
        "sex": np.arange(N) % 2,
        "region": np.array(["e", "n", "s"])[np.arange(N) % 3],
        "p": rng.uniform(0.1, 0.4, N),
        "q": rng.uniform(0.1, 0.4, N),
    }


def problem(rows, sensitive="sex", **options):
    S = (
        rows[sensitive]
        if isinstance(sensitive, str)
        else pd.DataFrame({k: rows[k] for k in sensitive})
    )
    return build_problem(rows["X"], rows["y"], S, **({"min_group_size": 10} | options))


def of_group(made, group, reference=None):
    own = next(c for c in made.contrasts if (c.group, c.reference) == (group, reference))
    return made.given_propensity(own)


def test_an_array_is_of_the_second_label_as_columns_of_predict_proba_are(rows):
    made = problem(rows, outcome_probability=rows["p"], propensity=rows["q"])
    p, q = rows["p"][made.source_row], rows["q"][made.source_row]
    np.testing.assert_array_equal(made.given_outcome("yes"), p)
    np.testing.assert_array_equal(made.given_outcome("no"), 1 - p)
    np.testing.assert_array_equal(of_group(made, 1), q)
    np.testing.assert_array_equal(of_group(made, 0), 1 - q)


def test_the_second_label_is_the_larger_even_where_the_user_ordered_them_otherwise(rows):
    y = pd.Categorical(rows["y"], categories=["yes", "no"], ordered=True)
    made = problem(rows | {"y": y}, outcome_probability=rows["p"])
    np.testing.assert_array_equal(made.given_outcome("yes"), rows["p"][made.source_row])


@pytest.mark.parametrize("form", ["mapping", "columns", "named columns", "list", "both"])
def test_forms_say_the_same(rows, form):
    p = rows["p"]
    given = {
        "mapping": {"no": 1 - p},
        "both": {"no": 1 - p, "yes": p},
        "columns": np.column_stack([1 - p, p]),
        "named columns": pd.DataFrame({"yes": p, "no": 1 - p}),
        "list": list(p),
    }[form]
    made = problem(rows, outcome_probability=given)
    np.testing.assert_allclose(made.given_outcome("yes"), p[made.source_row])
    np.testing.assert_allclose(made.given_outcome("no"), 1 - p[made.source_row])


def test_of_several_columns_each_has_its_own(rows):
    rest = 1 - rows["p"] - rows["q"]
    given = {"sex": rows["q"], "region": {"e": rows["p"], "n": rows["q"], "s": rest}}
    made = problem(rows, ("sex", "region"), propensity=given)
    own = {(c.sensitive_feature, c.group): made.given_propensity(c) for c in made.contrasts}
    np.testing.assert_array_equal(own["sex", 1], rows["q"][made.source_row])
    np.testing.assert_array_equal(own["region", "e"], rows["p"][made.source_row])
    np.testing.assert_array_equal(own["region", "s"], rest[made.source_row])


def test_with_a_reference_it_is_the_share_among_the_two(rows):
    given = {"e": rows["p"], "n": rows["q"]}
    made = problem(rows, "region", propensity=given, groups=["e"], reference_group="n")
    expected = (rows["p"] / (rows["p"] + rows["q"]))[made.source_row]
    np.testing.assert_allclose(of_group(made, "e", "n"), expected)


def test_a_reference_that_is_zero_needs_its_probabilities_too(rows):
    three = np.arange(N) % 3
    with pytest.raises(
        InputError, match=r"^propensity: none are given for 0, .*'sensitive_feature'"
    ):
        problem(rows | {"sex": three}, propensity={1: rows["p"]}, groups=[1], reference_group=0)


def test_rows_are_paired_by_index_as_those_of_weights_are(rows):
    turned = pd.Series(rows["p"]).sample(frac=1.0, random_state=1)
    made = problem(rows, outcome_probability=turned)
    np.testing.assert_array_equal(made.given_outcome("yes"), rows["p"][made.source_row])
    by_place = problem(rows | {"X": rows["X"].to_numpy()}, outcome_probability=turned)
    np.testing.assert_array_equal(
        by_place.given_outcome("yes"), turned.to_numpy()[by_place.source_row]
    )


def test_counted_copies_have_the_probability_of_their_row(rows):
    counts = np.arange(N) % 3
    made = problem(
        rows, outcome_probability=rows["p"], sample_weight=counts, weight_type="frequency"
    )
    assert made.n_rows == counts.sum()
    np.testing.assert_array_equal(made.given_outcome("yes"), rows["p"][made.source_row])


def test_rows_that_are_not_compared_may_hold_anything(rows):
    """Without weight, or without the value that is to be told."""
    p, q = rows["p"].copy(), rows["q"].copy()
    sex = rows["sex"].astype(float)
    p[0], sex[1], q[1] = np.nan, np.nan, np.nan
    weight = np.r_[0.0, np.ones(N - 1)]
    with pytest.warns(UserWarning, match="no value"):
        made = problem(
            rows | {"sex": sex}, outcome_probability=p, propensity=q, sample_weight=weight
        )
    assert np.isfinite(made.given_outcome("yes")).all()


@pytest.mark.parametrize("argument", ["propensity", "outcome_probability"])
@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.1, np.nan, np.inf])
def test_what_is_no_probability_is_refused_by_name_and_place(rows, argument, value):
    p = rows["p"].copy()
    p[[7, 9]] = value
    message = (
        rf"^{argument}: numbers strictly between 0 and 1 .* 2 of 90 rows .* {value:g} of .* row 7\."
    )
    with pytest.raises(InputError, match=message):
        problem(rows, **{argument: p})


@pytest.mark.parametrize("argument", ["propensity", "outcome_probability"])
def test_another_length_is_refused(rows, argument):
    with pytest.raises(InputError, match=f"^{argument}: 50 rows were given, but X has 90"):
        problem(rows, **{argument: rows["p"][:50]})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maybe": "p"}, "'maybe' is not among the outcomes: 'no', 'yes'"),
        ({"no": "p", "yes": "p"}, "add up to .* not to one"),
        (np.ones((N, 3)) / 3, r"3 column\(s\) .* for the 2 outcomes"),
        (["a"] * N, "probabilities expected, labels"),
    ],
)
def test_what_does_not_speak_of_the_outcomes_is_refused(rows, given, message):
    if isinstance(given, dict):
        given = {key: rows[one] for key, one in given.items()}
    with pytest.raises(InputError, match=f"^outcome_probability: .*{message}"):
        problem(rows, outcome_probability=given)


@pytest.mark.parametrize("given", ["x", 0.5, True])
def test_a_single_value_is_refused(rows, given):
    with pytest.raises(InputTypeError, match=r"^propensity: .* rows are needed"):
        problem(rows, propensity=given)


def test_ambiguous_propensities_are_refused_with_what_to_pass(rows):
    p, both = rows["p"], ("sex", "region")
    with pytest.raises(
        InputError, match=r"^propensity: several .* as in \{'sex': p, 'region': q\}"
    ):
        problem(rows, both, propensity=p)
    with pytest.raises(
        InputError, match=r"^propensity: 1 column.* 3 values of .* \{'e': p, \.\.\.\}"
    ):
        problem(rows, "region", propensity=p)
    with pytest.raises(InputError, match=r"^propensity\['region'\]: 1 column"):
        problem(rows, both, propensity={"sex": p, "region": p})
    with pytest.raises(InputError, match=r"^propensity: none are given for 'region'"):
        problem(rows, both, propensity={"sex": p})
    with pytest.raises(InputError, match=r"^propensity: none are given for 'n', 's', .*audited"):
        problem(rows, "region", propensity={"e": p})
    assert problem(rows, "region", propensity={"e": p}, groups=["e"]).given.propensity


def test_of_three_outcomes_those_audited_are_needed(rows):
    y = np.array(["a", "b", "c"])[np.arange(N) // 2 % 3]
    given = {"a": rows["p"], "b": rows["q"]}
    made = problem(rows | {"y": y}, outcomes=["a", "b"], outcome_probability=given)
    np.testing.assert_array_equal(made.given_outcome("b"), rows["q"][made.source_row])
    with pytest.raises(InputError, match=r"^outcome_probability: none are given for 'c'"):
        problem(rows | {"y": y}, outcomes=["a", "c"], outcome_probability=given)
