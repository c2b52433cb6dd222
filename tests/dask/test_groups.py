"""Clusters whose rows lie in several blocks give the sums of clusters in memory."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
from functools import reduce

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.dask.groups import (
    MOST_GROUPS,
    Grouping,
    GroupSums,
    by_cluster,
    cluster_keys,
    content_ids,
    tally_by_cluster,
)
from mdfa_fairness_plugin.exceptions import InputError, InputTypeError
from mdfa_fairness_plugin.measure.sums import EVERYBODY, REGION, MeasuredRows, SearchSums
from mdfa_fairness_plugin.search.level_sets import Tally

N_ROWS = 9_000


def people_of(n_people, seed=0, rare=False):
    """Measured rows of people, one to many each, alike in what they have; sets; and whose each is."""
    rng = np.random.default_rng(seed)
    who = np.concatenate([np.arange(n_people), rng.integers(n_people, size=N_ROWS - n_people)])
    rng.shuffle(who)
    level = rng.normal(size=n_people)[who]
    e = 1 / (1 + np.exp(-0.5 * level))
    m = np.full(N_ROWS, 0.01 if rare else 0.3)
    own = rng.random(n_people)[who]
    positive = np.where(rng.random(N_ROWS) < 0.8, own, rng.random(N_ROWS)) < m
    base = rng.uniform(0.5, 2.0, N_ROWS)
    s = np.where(rng.random(n_people)[who] < e, 1, -1)
    s = np.where(rng.random(N_ROWS) < 0.05, -s, s)  # some people are on both sides
    rows = {
        "s": s,
        "value": positive,
        "y": positive.astype(int),
        "n_outcomes": 2,
        "base": base,
        "weights": base * np.where(s > 0, 1 - e, e),
        "propensity": e,
        "outcome": m,
        "lesser": tuple((base * rng.uniform(0.5, 1.0, N_ROWS), m * share) for share in (0.5, 0.9)),
    }
    everybody = np.ones(N_ROWS, dtype=bool)
    inside = level > (1.5 if rare else 0)
    sets = (everybody, inside, level > 1, rng.random(N_ROWS) < 0.2, level > -1)
    return rows, sets, who


def in_memory(rows, members, who):
    """What an audit in memory sums up."""
    own = MeasuredRows(**rows, cluster=who)
    return SearchSums.of(own, members, missing=np.zeros((2, 2)), n_missing=0)


def in_blocks(rows, members, who, blocks, seed=0):
    """The same of several blocks, which know ids only."""
    key = cluster_keys(pd.Series(who), seed)
    grouping = Grouping.of(np.empty(0), np.unique(key)[: MOST_GROUPS + 1])
    sums, groups = [], []
    for block in blocks:
        some = {
            name: value[block] if isinstance(value, np.ndarray) else value
            for name, value in rows.items()
        }
        some["lesser"] = tuple((w[block], m[block]) for w, m in rows["lesser"])
        own, sets = MeasuredRows(**some), tuple(member[block] for member in members)
        part = SearchSums.of(own, sets, missing=np.zeros((2, 2)), n_missing=0)
        sums.append(part.shortened())
        groups.append(GroupSums.of(own, sets, grouping.group(key[block]), grouping.n_groups))
    total = reduce(operator.add, sums)
    return total, by_cluster(total, reduce(operator.add, groups), grouping)


CUTS = {
    "at once": [np.arange(N_ROWS)],
    "scattered": np.array_split(np.arange(N_ROWS), 13),
    "a few": np.array_split(np.arange(N_ROWS), [1, 4_000]),
}


@pytest.mark.parametrize("rare", [False, True], ids=["common", "rare"])
@pytest.mark.parametrize("cut", CUTS)
def test_few_clusters_are_summed_as_in_memory(cut, rare):
    """Whatever blocks their rows lie in; with a rare outcome the same terms are redrawn."""
    made = people_of(1_500, rare=rare)
    expected, (_, found) = in_memory(*made), in_blocks(*made, CUTS[cut])
    for one, other in zip(found.sets, expected.sets, strict=True):
        np.testing.assert_allclose(one.rates.clustered, other.rates.clustered, rtol=1e-10)
        np.testing.assert_allclose(one.rates.effective_sizes, other.rates.effective_sizes)
        for name, value in vars(one.leftover).items():
            known = getattr(other.leftover, name)
            np.testing.assert_allclose(value, known, rtol=1e-9, atol=1e-12 * N_ROWS)
        for rung, known in zip(one.rungs, other.rungs, strict=True):
            for name, value in vars(rung).items():
                np.testing.assert_allclose(value, getattr(known, name), rtol=1e-9)
        np.testing.assert_array_equal(one.counts, other.counts)
        assert one.hit_clusters == other.hit_clusters
        assert one.leak.total == pytest.approx(other.leak.total, abs=1e-9)
        assert one.leak.squares == pytest.approx(other.leak.squares, rel=1e-10)
        assert one.leak.fourths == pytest.approx(other.leak.fourths, rel=1e-10)
        assert one.leak.statistic() == pytest.approx(other.leak.statistic(), abs=1e-9)
    for one, other in zip(found.plain, expected.plain, strict=True):
        np.testing.assert_allclose(one.clustered, other.clustered, rtol=1e-10)
    leak = expected.region.leak
    plain = leak.total / np.sqrt(leak.squares)
    assert (leak.statistic() != pytest.approx(plain)) == rare  # redrawn, or not


def test_rows_of_one_person_side_by_side_or_scattered():
    rows, members, who = people_of(1_500)
    order = np.argsort(who, kind="stable")
    blocks = np.array_split(order, np.searchsorted(who[order], [200, 201, 900]))
    _, whole = in_blocks(rows, members, who, blocks)
    _, scattered = in_blocks(rows, members, who, CUTS["scattered"])
    assert whole.region.leak.statistic() == pytest.approx(
        scattered.region.leak.statistic(), abs=1e-9
    )
    np.testing.assert_allclose(
        whole.region.rates.clustered, scattered.region.rates.clustered, rtol=1e-10
    )


def test_many_clusters_are_pooled_without_bias():
    """Averaged over ways to pool, sums of squares are those over clusters; terms are no more."""
    made = people_of(4_500)
    expected = in_memory(*made)
    found = [in_blocks(*made, CUTS["scattered"], seed)[1] for seed in range(30)]
    # A variance from 2,048 groups is off by 3.1 %, the mean of thirty by .6 %; four times that.
    close = {"rtol": 4 * np.sqrt(2 / MOST_GROUPS / 30)}
    for place in (EVERYBODY, REGION):
        own = [one.sets[place] for one in found]
        mean = np.mean([one.rates.clustered for one in own], axis=0)
        np.testing.assert_allclose(mean, expected.sets[place].rates.clustered, **close)
        mean = np.mean([one.leftover.second for one in own], axis=0)
        np.testing.assert_allclose(mean, expected.sets[place].leftover.second, **close)
        mean = np.mean([[rung.left for rung in one.rungs] for one in own], axis=0)
        known = [rung.left for rung in expected.sets[place].rungs]
        np.testing.assert_allclose(mean, known, **close)
        assert all(one.hit_clusters <= expected.sets[place].hit_clusters for one in own)
        leak, squares = expected.sets[place].leak, np.array([one.leak.squares for one in own])
        np.testing.assert_allclose(squares.mean(), leak.squares, **close)
        assert squares.std() / leak.squares < 2 * np.sqrt(2 / MOST_GROUPS)
        assert np.mean([one.leak.fourths for one in own]) > leak.fourths


def test_everybodys_errors_end_the_path():
    """The set of all rows has errors by cluster; those above a cut are larger than by row."""
    rows, members, who = people_of(1_500)
    by_row, found = in_blocks(rows, members, who, CUTS["at once"])
    nobody = np.zeros(N_ROWS, dtype=np.intp)
    index = np.random.default_rng(0).integers(5, size=N_ROWS)
    tally = Tally.of(index, 5, rows["s"], rows["value"], rows["weights"], nobody, 1).total()
    counts = tally_by_cluster(tally, by_row, found).counts
    by_rows = tally.counts[list(tally.which)]
    np.testing.assert_array_equal(counts[:-3], by_rows[:-3])
    np.testing.assert_allclose(counts[-3:].sum(axis=-1), found.everybody.rates.clustered)
    assert (counts[-3:] > by_rows[-3:]).all()


@pytest.mark.parametrize(
    "given",
    [
        np.array([7, 12, 7]),
        np.array([7.0, 12.0, 7.0]),
        np.array(["7", "12", "7"]),
        pd.array([7, 12, 7], dtype="Int32"),
        pd.Categorical(["7", "12", "7"]),
        np.array([7, "12", 7.0], dtype=object),
    ],
    ids=lambda given: type(given).__name__ + str(given.dtype),
)
def test_an_id_has_one_key_however_it_is_held(given):
    expected = cluster_keys(pd.Series([12, 7]), 3)
    np.testing.assert_array_equal(cluster_keys(pd.Series(given), 3), expected[[1, 0, 1]])


def test_keys_are_spread_evenly_and_depend_on_the_seed():
    ids = pd.Series(np.arange(20_000))
    key, other = cluster_keys(ids, 0), cluster_keys(ids, 1)
    group = Grouping(learned=np.empty(0), known=None).group(key)
    for one in (key * MOST_GROUPS, other * MOST_GROUPS, group):
        counts = np.bincount(one.astype(int), minlength=MOST_GROUPS)
        chi_square = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
        assert abs(chi_square - MOST_GROUPS) < 5 * np.sqrt(2 * MOST_GROUPS)
    for one in (other, group):
        assert abs(np.corrcoef(key, one)[0, 1]) < 4 / np.sqrt(len(ids))
    assert np.isnan(cluster_keys(pd.Series([None, "a"]), 0)).tolist() == [True, False]
    with pytest.raises(InputTypeError, match="clusters holds values that cannot be labels"):
        cluster_keys(pd.Series([[1], [2]]), 0)


def test_keys_are_the_same_in_every_process():
    code = (
        "import pandas as pd; from mdfa_fairness_plugin.dask.groups import cluster_keys; "
        "print(cluster_keys(pd.Series(['ann', 'bob', 5]), 11).tolist())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7"},
    )
    assert there.stdout.strip() == str(cluster_keys(pd.Series(["ann", "bob", 5]), 11).tolist())


def test_ids_that_appear_later_are_refused():
    grouping = Grouping(learned=np.empty(0), known=np.array([0.25, 0.5]))
    np.testing.assert_array_equal(grouping.group(np.array([0.5, 0.25])), [1, 0])
    for key in (0.3, 0.9, np.nan):
        with pytest.raises(InputError, match="clusters: ids appeared"):
            grouping.group(np.array([0.5, key]))


def test_content_is_the_same_however_parts_hold_it():
    """Numbers of any type, zeros of either sign, missing values; text is not what it is missing."""
    frame = pd.DataFrame(
        {"n": [0.0, np.nan, 1, 1], "b": [True, False, True, True], "t": ["u", None, "nan", ""]}
    )
    parts = (
        {"n": pd.array([-0.0, None, 1, 1], dtype="Float64"), "b": frame["b"].astype("boolean")},
        {"n": pd.array([0, None, 1, 1], dtype="Int8"), "b": frame["b"].astype(object)},
        {"n": frame["n"].astype("float32"), "t": pd.Categorical(frame["t"])},
        {"t": frame["t"].astype(object)},
    )
    ids = content_ids(frame)
    assert ids.nunique() == len(frame)
    for part in parts:
        np.testing.assert_array_equal(content_ids(frame.assign(**part)), ids)
    np.testing.assert_array_equal(content_ids(frame.iloc[[2, 0]]), ids[[2, 0]])
    swapped = pd.DataFrame({"one": [1, 2], "other": [2, 1]})
    assert content_ids(swapped).nunique() == 2
