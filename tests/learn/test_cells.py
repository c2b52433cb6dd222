"""Cells in which models miss the same: found where they do, and nowhere else."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.data.display import ToldFeature
from mdfa_fairness_plugin.learn.cells import Crossed, Cut, Neighbourhoods, Sorter, _Sums
from mdfa_fairness_plugin.numerics.rows import RowView

AT_MOST = 0.05


def sorter(X):
    """Of numbers, a feature a column."""
    features = [ToldFeature(f"x{i}", (i,), ()) for i in range(X.shape[1])]
    return Sorter(features, RowView(X))


def found(X, R, Q):
    return [cells.names for cells in sorter(X).missed(R, Q, AT_MOST)]


def test_the_sum_is_of_all_pairs_of_rows_of_a_cell():
    rng = np.random.default_rng(0)
    X, R, Q = rng.integers(0, 2, (40, 2)).astype(float), *rng.normal(size=(2, 40))
    cells = Crossed((Cut.by("a", 0, np.array([0.5])), Cut.by("b", 1, np.array([0.5]))))
    [sums] = [own for own, [(_, told)] in sorter(X)._sums(R, Q) if isinstance(told, Crossed)]
    code = cells.codes(X)
    same = [X[:, [i]] == X[:, i] for i in (0, 1)]
    from_each = np.eye(40) - sum(one / one.sum(axis=0) for one in same) + 1 / 40
    margins = [np.array([R[X[:, i] == v].mean() for v in X[:, i]]) for i in (0, 1)]
    beyond = R - margins[0] - margins[1] + R.mean()
    for place, cell in enumerate(np.unique(code)):
        own = code == cell
        assert sums.totals[0][0, place] == pytest.approx(beyond[own].sum())
        assert sums.product[0, place] == pytest.approx((R * Q)[own].sum())
        assert sums.own[0, place] == pytest.approx(from_each[own].sum(axis=0) ** 2 @ (R * Q))
        i, j = np.nonzero(~np.eye(own.sum(), dtype=bool))
        a, b = R[own], Q[own]
        variance = ((a[i] * b[j]) ** 2 + a[i] * b[i] * a[j] * b[j]).sum()
        r2, q2, p, p2 = (
            own[0, place] for own in (*sums.squares, sums.product, sums.product_squares)
        )
        assert r2 * q2 + p**2 - 2 * p2 == pytest.approx(variance)


def told_of_pairs(features, X, R, Q):
    """Chance and sums by what the cells are of."""
    told = {}
    for sums, kinds in Sorter(features, RowView(X))._sums(R, Q):
        each = [sums.n, *sums.totals, *sums.squares, *sums.fourths, *sums[4:]]
        for i, (_, kind) in enumerate(kinds):
            if isinstance(kind, Crossed) and len(kind.cuts) == 2:
                own = [one[i] for one in each]
                told[kind.names, kind.key] = np.append(np.ravel(own), sums.p_values(1.0)[i])
    return told


def test_many_pairs_at_once_have_the_chances_of_each():
    """Of bits, whole numbers, levels and numbers, whose cells are not as many; both miss two pairs."""
    rng = np.random.default_rng(5)
    X = np.column_stack(
        [
            rng.integers(0, [2, 2, 5, 9], (900, 4)),
            rng.normal(size=(900, 3)),
            np.eye(4)[:, :3][rng.integers(4, size=900)],
        ]
    )
    features = [ToldFeature(f"x{i}", (i,), ()) for i in range(7)] + [
        ToldFeature("k", (7, 8, 9), ())
    ]
    both = 0.6 * np.sign(X[:, 0] - 0.5) * np.sign(X[:, 4]) + 0.6 * (X[:, 2] > 2) * (X[:, 7] - 0.25)
    R, Q = rng.normal(size=(2, 900)) + both
    at_once, one_by_one = told_of_pairs(features, X, R, Q), {}
    for pair in itertools.combinations(features, 2):
        one_by_one |= told_of_pairs(pair, X, R, Q)
    assert at_once.keys() == one_by_one.keys()
    assert len(at_once) > 40
    assert 0 < min(own[-1] for own in at_once.values()) < 1e-6
    for key, own in at_once.items():
        np.testing.assert_allclose(one_by_one[key], own, rtol=1e-9, atol=1e-9, err_msg=str(key))


@pytest.mark.parametrize("missed", [0.0, 1.0])
@pytest.mark.parametrize("n_cells", [2, 9, 60])
def test_chance_is_never_less_than_it_is(n_cells, missed):
    """Of two leftovers in cells of five one is chance; bounds are four standard errors of the draws."""
    rng = np.random.default_rng(n_cells)
    X = np.repeat(np.arange(n_cells), 5)[:, np.newaxis] * 1.0
    code, n = X[:, 0].astype(int), np.full(n_cells, 5.0)
    told, effect = [], rng.normal(size=n_cells)
    for _ in range(1_000):
        R, Q = rng.normal(size=(2, len(X)))
        R, Q = R + missed * effect[code], Q + 0.5 * R  # unfairness is no miss
        each = (R, Q, R**2, Q**2, R**4, Q**4, R * Q, (R * Q) ** 2)
        sums = np.array([n, *(np.bincount(code, own, n_cells) for own in each)])
        told += _Sums.of(sums[:, np.newaxis]).p_values(1.0).tolist()
    told = np.array(told)
    assert (told < 0.05).mean() < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 1_000)
    assert (told < 0.005).mean() < 0.005 + 4 * math.sqrt(0.005 * 0.995 / 1_000)


def test_chances_are_known_where_both_leave_the_same():
    """Of twins one is of the group, and gets the outcome."""
    code, R = np.repeat(np.arange(200), 2), np.tile([0.5, -0.5], 200)
    each = (R, R, R**2, R**2, R**4, R**4, R * R, R**4)
    sums = np.array([np.bincount(code, own) for own in (None, *each)], dtype=float)
    [p_value] = _Sums.of(sums[:, np.newaxis]).p_values(1.0)
    assert 0 < p_value < 1e-3


def both_miss(X, seen, size=0.25, seed=0):
    """What is left of S and of Y where models miss ``seen``, -1 or 1."""
    rng = np.random.default_rng(seed)
    return [(rng.random(len(X)) < 0.5 + size * seen) - 0.5 for _ in range(2)]


def test_a_product_among_many_features_is_found_and_alone():
    X = np.random.default_rng(1).normal(size=(2_000, 30))
    R, Q = both_miss(X, np.sign(X[:, 3] * X[:, 20]))
    assert found(X, R, Q) == [("x3", "x20")]
    assert found(X, -R, Q) == [("x3", "x20")]
    assert found(np.exp(X), R, Q) == [("x3", "x20")]
    order = np.random.default_rng(2).permutation(len(X))
    assert found(X[order], R[order], Q[order]) == [("x3", "x20")]


def test_of_more_pairs_than_are_looked_at_a_product_is_found(monkeypatch):
    monkeypatch.setattr("mdfa_fairness_plugin.learn.cells._MOST_PAIRS", 40)
    monkeypatch.setattr("mdfa_fairness_plugin.learn.cells._ROWS", 600)
    test_a_product_among_many_features_is_found_and_alone()


def test_what_one_model_misses_alone_is_nothing():
    X = np.random.default_rng(1).normal(size=(2_000, 5))
    R, _ = both_miss(X, np.sign(X[:, 0] * X[:, 1]))
    _, Q = both_miss(X, np.zeros(len(X)))
    assert found(X, R, Q) == found(X, Q, R) == []


def test_an_outcome_that_is_the_group_is_nothing():
    """Half of these were something while rows told of themselves by what is beyond each feature."""
    rng, n_found = np.random.default_rng(1), 0
    for _ in range(40):
        X, R = rng.normal(size=(600, 5)), (rng.random(600) < 0.3) - 0.3
        n_found += bool(found(X, R, R))
    assert n_found < 40 * AT_MOST + 4 * math.sqrt(40 * AT_MOST * (1 - AT_MOST))


def test_misses_of_either_sign_are_found():
    """S goes with a product of bins, Y with that in every other bin and against it in the others."""
    X = np.random.default_rng(1).integers(0, 4, (4_000, 2)).astype(float)
    seen = np.where((X[:, 0] + X[:, 1]) % 2, 1.0, -1.0)
    R, _ = both_miss(X, seen)
    _, Q = both_miss(X, seen * np.where(X[:, 0] % 4 < 2, 1.0, -1.0))
    assert abs(np.mean(seen * np.where(X[:, 0] % 4 < 2, 1.0, -1.0) * seen)) < 0.1
    assert found(X, R, Q) == [("x0", "x1")]


def test_values_one_by_one_and_neighbours_are_found():
    rng = np.random.default_rng(1)
    code = rng.integers(0, 200, 2_000).astype(float)
    seen = rng.choice([-1.0, 1.0], 200)[code.astype(int)]
    [cells] = sorter(code[:, np.newaxis]).missed(*both_miss(code, seen), AT_MOST)
    assert isinstance(cells, Crossed)
    assert cells.size == len(np.unique(code))
    heap = np.append(code, np.full(400, 77.0))  # of those of whom it is not known, say
    seen = np.append(seen, np.zeros(400))
    assert found(heap[:, np.newaxis], *both_miss(heap, seen)) == [("x0",)]
    bits = rng.integers(0, 2, (4_000, 5)).astype(float)
    odd = np.where(bits[:, :3].sum(axis=1) % 2, 1.0, -1.0)
    [cells] = sorter(bits).missed(*both_miss(bits, odd), AT_MOST)
    assert isinstance(cells, Neighbourhoods)


def test_new_rows_are_in_a_cell():
    X = np.random.default_rng(1).normal(size=(500, 3))
    for cells in (
        Crossed((Cut.by("a", 0, np.array([-1.0, 0.0, 1.0])), Cut.by("b", 1, np.array([0.0])))),
        Neighbourhoods.of(X, ("a", "b", "c")),
    ):
        codes = cells.codes(np.vstack([X, 100 * X]))
        assert codes.min() >= 0
        assert codes.max() < cells.size
        np.testing.assert_array_equal(cells.codes(X), codes[:500])


def test_levels_are_parts_and_rows_of_none_are_one():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert Cut("job", (0, 1), None, 3).codes(X).tolist() == [1, 2, 0]


def by_code(n=1_200, n_codes=240, seed=0):
    """What goes with group and outcome alike is known of each code, and in no order of them."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, n_codes, n)
    effect = 1.5 * rng.normal(size=n_codes)[code]
    X = pd.DataFrame({"code": 10_000 + 37 * code, "age": rng.integers(18, 80, n)})
    y, s = (rng.random((2, n)) < expit(effect)).astype(int)
    return X, y, s


HOW = {"learner": "tree", "n_splits": 2, "n_repeats": 1}


@pytest.mark.filterwarnings("ignore:.*as the models of the features get better")
def test_an_audit_tells_its_models_and_says_so():
    """A ratio of 1.8 at p = 3e-16, before they were told."""
    X, y, s = by_code()
    result = mdfa.audit(X, y, sensitive_features=s, **HOW)
    [note] = [one for one in result.warnings if one.category == "ToldToModels"]
    assert "each value of 'code'" in str(note.message)
    assert all(one.verdict != "violation" for one in result.violations)
    card = result.to_model_card()
    for rung in ("least", "best", "least, told what they missed", "told what they missed"):
        assert card.count(f"| {rung} |") == 1
    again = mdfa.audit(X[::-1][["age", "code"]], y[::-1], sensitive_features=s[::-1], **HOW)
    assert again.worst_case.ratio == pytest.approx(result.worst_case.ratio, rel=1e-9)


def test_a_disparity_beside_what_models_are_told_stays():
    X, y, s = by_code()
    y = np.where((s == 1) & (np.random.default_rng(3).random(len(y)) < 0.7), 0, y)
    result = mdfa.audit(X, y, sensitive_features=s, outcomes=[0], **HOW)
    assert "ToldToModels" in {one.category for one in result.warnings}
    assert result.worst_case.group == 1
    assert result.worst_case.verdict == "violation"


def test_models_of_the_users_own_are_told_nothing():
    X, y, s = by_code()
    given = dict.fromkeys(("propensity", "outcome_probability"), np.full(len(y), 0.5))
    result = mdfa.audit(X, y, sensitive_features=s, **given, **HOW)
    assert "ToldToModels" not in {one.category for one in result.warnings}
