"""Copies of a person are told from people who are equal by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mdfa_fairness_plugin.data.copies import find_copies
from mdfa_fairness_plugin.data.problem import build_problem
from mdfa_fairness_plugin.exceptions import FeatureWarning, RepeatedRowsWarning


def fine(rng, n_rows):
    """Age, number of events, an amount to the cent, outcome, group."""
    return [
        rng.integers(18, 80, n_rows),
        rng.poisson(3, n_rows),
        rng.normal(3e4, 8e3, n_rows).round(2),
        (rng.random(n_rows) < 0.3).astype(int),
        rng.integers(0, 2, n_rows),
    ]


def coarse(rng, n_rows, n_columns=6):
    """Independent columns of 2 to 5 levels."""
    return [
        rng.choice(n_levels, n_rows, p=rng.dirichlet(np.full(n_levels, 3.0)))
        for n_levels in rng.integers(2, 6, n_columns)
    ]


def types(rng, n_rows, n_columns=10, n_types=6):
    """Columns of 2 to 8 levels that depend on what type somebody is of."""
    kind = rng.integers(0, n_types, n_rows)
    out = []
    for n_levels in rng.integers(2, 9, n_columns):
        chances = rng.dirichlet(np.full(n_levels, 0.5), size=n_types)[kind].cumsum(axis=1)
        out.append((chances < rng.random(n_rows)[:, None]).sum(axis=1))
    return out


def one_hot(columns):
    return [1 * (column == level) for column in columns for level in np.unique(column)]


def totals(rng, n_rows):
    """Three counts, and their sums and differences."""
    a, b, c = (rng.poisson(mean, n_rows) for mean in (6, 4, 5))
    return [a, b, a + b, c, a + b + c, a - b]


def no_record(rng, n_rows):
    """Six amounts, all zero for those who have no record; a coarse age."""
    has = rng.random(n_rows) < 0.4
    amounts = [np.where(has, rng.lognormal(5, 2, n_rows).round(2), 0) for _ in range(6)]
    return [*amounts, rng.integers(18, 80, n_rows)]


def imputed(rng, n_rows):
    """Five measurements, all at their means for those who have none."""
    X = rng.normal(size=(n_rows, 5))
    X[rng.random(n_rows) < 0.2] = X.mean(axis=0)
    return [*X.T, rng.integers(0, 2, n_rows)]


def dense_and_sparse(rng, n_rows):
    """Three in five have small counts, the others measurements."""
    dense = rng.random(n_rows) < 0.6
    return [
        np.where(dense, rng.integers(0, 3, n_rows), rng.normal(size=n_rows).round(3))
        for _ in range(4)
    ]


def to_the_thousand(rng, n_rows):
    columns = fine(rng, n_rows)
    return [*columns[:2], columns[2].round(-3), *columns[3:]]


def take(columns, rows):
    return [column[rows] for column in columns]


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("n_rows", [700, 2_000])
def test_doubled_rows_are_all_found(rng, n_rows, share):
    n_again = round(n_rows * share)
    again = np.resize(rng.permutation(n_rows), n_again)
    who = np.concatenate([np.arange(n_rows), again])
    copies = find_copies(take(fine(rng, n_rows), who))
    assert copies.n_repeats == n_again
    assert copies.share == pytest.approx(n_again / len(who))
    np.testing.assert_array_equal(pd.factorize(copies.unit)[0], pd.factorize(who)[0])


def test_bootstrap_sample_is_found(rng):
    who = rng.integers(0, 1_000, 1_000)
    copies = find_copies(take(fine(rng, 1_000), who))
    np.testing.assert_array_equal(pd.factorize(copies.unit)[0], pd.factorize(who)[0])


def test_two_equal_rows_are_enough_where_columns_are_fine(rng):
    copies = find_copies(take(fine(rng, 500), np.append(np.arange(500), 7)))
    assert copies.example == (7, 500)
    assert copies.n_repeats == 1
    assert len(np.unique(copies.unit)) == 500


NATURAL = {
    "fine": fine,
    "coarse": coarse,
    "many coarse": lambda rng, n: coarse(rng, n, 10),
    "types": types,
    "one-hot": lambda rng, n: one_hot(types(rng, n, 6)),
    "totals": totals,
    "no record": no_record,
    "imputed": imputed,
    "dense and sparse": dense_and_sparse,
    "to the thousand": to_the_thousand,
}


@pytest.mark.parametrize("name", NATURAL)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_said_where_nobody_was_copied(name, seed):
    columns = NATURAL[name](np.random.default_rng(seed), 2_000)
    assert find_copies(columns) is None


@pytest.mark.slow
def test_coarse_columns_never_warn():
    """Sixty sets of six columns of 2 to 5 levels, beside outcome and group."""
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        columns = [*coarse(rng, 5_000), *take(coarse(rng, 5_000, 2), slice(None))]
        assert find_copies(columns) is None


@pytest.mark.parametrize("name", ["no record", "imputed", "dense and sparse"])
def test_copies_are_found_beside_people_who_are_equal_by_chance(name):
    """Those with measurements can be told, those without are left alone."""
    rng = np.random.default_rng(11)
    columns = NATURAL[name](rng, 2_000)
    held = pd.Series(columns[0]).map(pd.Series(columns[0]).value_counts())
    measured = np.flatnonzero(held == 1)[:200]
    copies = find_copies(take(columns, np.append(np.arange(2_000), measured)))
    assert (copies.unit[2_000:] == copies.unit[measured]).all()
    assert copies.n_repeats <= 210


@pytest.mark.parametrize("seed", range(3))
def test_copies_are_exact_repeats(seed):
    rng = np.random.default_rng([3, seed])
    for make in NATURAL.values():
        columns = take(make(rng, 800), rng.integers(0, 800, 1_200))
        copies = find_copies(columns)
        if copies is None:
            continue
        rows = pd.DataFrame(dict(enumerate(columns)))
        assert (rows.groupby(copies.unit).nunique() == 1).all(axis=None)
        one, other = copies.example
        assert copies.unit[one] == copies.unit[other]
        n_units = len(np.unique(copies.unit))
        assert n_units == len(rows) - copies.n_repeats
        np.testing.assert_array_equal(np.unique(copies.unit), np.arange(n_units))
        assert copies.n_repeats <= rows.duplicated().sum()


@pytest.mark.parametrize("name", ["fine", "types", "one-hot", "totals", "dense and sparse"])
def test_order_and_names_do_not_matter(name):
    rng = np.random.default_rng(5)
    who = np.concatenate([np.arange(1_000), rng.choice(1_000, 300, replace=False)])
    columns = take(NATURAL[name](rng, 1_000), who)
    expected = find_copies(columns)
    rows = rng.permutation(len(who))
    renamed = [
        rng.permutation(len(codes := np.unique(column)))[np.searchsorted(codes, column)]
        for column in columns
    ]
    for changed, order in (
        (columns[::-1], slice(None)),
        (take(columns, rows), rows),
        (renamed, slice(None)),
        ([np.log1p(np.abs(column)) + np.sign(column) for column in columns], slice(None)),
    ):
        found = find_copies(changed)
        if expected is None:
            assert found is None
        else:
            assert found.n_repeats == expected.n_repeats
            np.testing.assert_array_equal(
                pd.factorize(found.unit)[0], pd.factorize(expected.unit[order])[0]
            )


def test_missing_values_equal_themselves(rng):
    columns = fine(rng, 400)
    columns[2][:60] = np.nan
    columns.append(np.where(np.arange(400) % 9 < 4, np.nan, rng.normal(size=400)))
    copies = find_copies(take(columns, np.append(np.arange(400), np.arange(150))))
    own = copies.unit[400:550] == copies.unit[:150]
    assert own[60:].all()  # all with an amount; of those without it, those with the other number
    assert own[:60].mean() > 0.3
    zeros = [np.array([0.0, -0.0, 1.0]), np.array([2.5, 2.5, 3.5])]
    assert find_copies(zeros) is None  # two of three: too few to tell


@pytest.mark.parametrize("n_rows", [0, 1, 2, 3])
def test_hardly_any_rows(n_rows):
    assert find_copies([np.zeros(n_rows), np.arange(n_rows) // 2]) is None
    assert find_copies([np.zeros(n_rows)]) is None


def test_columns_that_say_the_same_count_once(rng):
    """However often a coarse table is said again, in other words, it stays coarse."""
    a, b, c = rng.integers(0, 12, (3, 1_500))
    again = [a, b, c, 11 - a, a * a, np.char.add("v", b.astype(str)), c % 4, a // 5, (a + b) // 3]
    columns = [pd.factorize(column)[0] for column in again]
    assert pd.DataFrame(dict(enumerate(columns))).duplicated().any()
    assert find_copies(columns) is None


def data_with(rng, n_again):
    n_rows = 600 + n_again
    who = np.resize(np.arange(600), n_rows)
    age, priors, income, y, s = take(fine(rng, 600), who)
    town = np.array(["north", "south", "west"])[age % 3]
    X = pd.DataFrame({"age": age, "priors": priors, "income": income, "town": town})
    return X, y, pd.Series(np.where(s, "f", "m"), name="sex"), who


def test_copies_are_one_piece_of_evidence(rng):
    X, y, sex, who = data_with(rng, 150)
    with pytest.warns(RepeatedRowsWarning, match=r"150 of 750 rows .*row 600 .*row 0\b.*clusters="):
        problem = build_problem(X, y, sex)
    expected = pd.factorize(who[problem.source_row])[0]
    np.testing.assert_array_equal(problem.cluster, expected)
    np.testing.assert_array_equal(problem.unit, expected)
    with pytest.warns(RepeatedRowsWarning):
        sampled = build_problem(X, y, sex, sample_weight=rng.random(750) + 0.5)
    assert len(np.unique(sampled.cluster)) == 600


def test_a_person_asked_again_is_the_same_whatever_the_answer(rng):
    """Else the rows of one person lie in several folds, and coin flips become violations."""
    X, y, sex, who = data_with(rng, 1200)
    answers = np.where(rng.random(len(y)) < 0.1, 1 - y, y)
    with pytest.warns(RepeatedRowsWarning, match=r"1,200 of 1,800 rows"):
        problem = build_problem(X, answers, sex)
    assert len(np.unique(problem.cluster)) == 600
    np.testing.assert_array_equal(problem.cluster, pd.factorize(who[problem.source_row])[0])


def test_copies_with_ids_of_their_own_share_a_fold(rng):
    X, y, sex, who = data_with(rng, 150)
    problem = build_problem(X, y, sex, clusters=np.arange(750))
    counted = build_problem(X, y, sex, weight_type="frequency")
    assert problem.cluster is None
    np.testing.assert_array_equal(problem.unit, counted.unit)
    np.testing.assert_array_equal(problem.unit, pd.factorize(who[problem.source_row])[0])


def test_who_says_whose_rows_they_are_is_believed(rng):
    X, y, sex, who = data_with(rng, 150)
    assert build_problem(X, y, sex, clusters=np.arange(750)).cluster is None
    assert len(np.unique(build_problem(X, y, sex, clusters=who).cluster)) == 600
    assert build_problem(X, y, sex, weight_type="frequency").cluster is None
    counts = np.full(750, 2)
    assert build_problem(X, y, sex, sample_weight=counts, weight_type="frequency").cluster is None


def test_sparse_features(rng):
    X, y, sex, _ = data_with(rng, 60)
    numbers = X[["age", "priors", "income"]].to_numpy()
    numbers[:, 1] *= rng.random(1) < 2  # as they are
    with pytest.warns(RepeatedRowsWarning, match="60 of 660 rows"):
        problem = build_problem(sparse.csr_array(numbers), y, sex)
    assert len(np.unique(problem.unit)) == 600


def test_a_row_id_does_not_hide_copies(rng):
    """Text that is every row's own is no feature, and says nothing of who is who."""
    n = 400
    X = pd.DataFrame({"age": rng.integers(18, 80, n), "income": rng.normal(3e4, 8e3, n)})
    rows = np.tile(np.arange(n), 2)
    X = X.iloc[rows].assign(id=[f"case {i}" for i in range(2 * n)]).reset_index(drop=True)
    y, s = rng.integers(0, 2, n)[rows], rng.integers(0, 2, n)[rows]
    with pytest.warns(RepeatedRowsWarning), pytest.warns(FeatureWarning):
        problem = build_problem(X, y, s)
    assert problem.cluster.max() == n - 1
