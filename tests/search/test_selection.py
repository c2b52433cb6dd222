"""Which region is kept among those proposed: worked cases, and what never happens."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mdfa_fairness_plugin.measure.estimates import measure
from mdfa_fairness_plugin.measure.intervals import delta_interval
from mdfa_fairness_plugin.search.level_sets import Sweep
from mdfa_fairness_plugin.search.selection import (
    FEWEST_ROWS,
    Family,
    Judged,
    Proposals,
    Scoring,
    at_least_everybody,
    choose,
    cross_selected,
    plateau_thresholds,
    select_region,
)


def propose(scores, thresholds, name="score"):
    return Family(
        name=name, scores=np.asarray(scores, dtype=float), thresholds=np.array(thresholds)
    )


def in_cells(x, order, thresholds=None):
    """A score that puts the cells in this order, cut between all of them."""
    rank = np.empty(len(order))
    rank[list(order)] = np.arange(len(order), 0, -1)
    return propose(rank[x], rank - 0.5 if thresholds is None else thresholds)


def lower_limit(data, member):
    held = data.held_out
    rates = measure(data.positive[held], data.s[held], data.weights[held], member[held])
    return delta_interval(rates, data.confidence_level)[0]


def test_the_cell_with_the_violation_is_kept(cells):
    """.8 against .2 in cell 2, alike elsewhere; the order of the cells is known."""
    data, x = cells([(0.5, 0.5), (0.3, 0.3), (0.8, 0.2), (0.6, 0.6)], n_folds=4)
    kept = select_region(Proposals(data, [in_cells(x, [2, 0, 1, 3])]))
    assert set(x[kept.member]) == {2}
    assert kept.family == "score"
    assert kept.threshold == 3.5
    assert kept.core_threshold >= kept.threshold


def test_two_cells_with_the_same_violation_are_kept_together(cells):
    """Any part of a region has the same delta, and a part is not the whole."""
    data, x = cells([(0.6, 0.2), (0.6, 0.2), (0.5, 0.5), (0.4, 0.4)], n_folds=3)
    kept = select_region(Proposals(data, [in_cells(x, [0, 1, 2, 3])]))
    assert set(x[kept.member]) == {0, 1}


def test_a_worse_part_takes_in_what_is_as_plain_a_violation(cells):
    """.95 against .15 and .6 against .2 are both beyond a ratio of three; .6 against .5 is not.

    The first cell alone is vouched for by far the most, so no near tie makes it grow.
    """
    data, x = cells([(0.95, 0.15), (0.6, 0.2), (0.6, 0.5), (0.4, 0.4)], n_folds=16)
    kept = select_region(Proposals(data, [in_cells(x, range(4))]))
    assert set(x[kept.member]) == {0, 1}


def test_ground_without_a_violation_is_no_part_of_it_where_cuts_are_scores(cells):
    """A set holds the rows at its threshold, so a cut at a score adds that score's cell."""
    data, x = cells([(0.8, 0.2), (0.4, 0.4), (0.3, 0.3), (0.3, 0.3)], n_folds=4)
    kept = select_region(Proposals(data, [in_cells(x, range(4), thresholds=[4.0, 3.0, 2.0])]))
    assert kept.threshold == 4.0
    assert set(x[kept.member]) == {0}


def test_ground_where_nobody_has_the_outcome_is_no_part_of_it(cells):
    """Cell 1 adds rows but neither outcomes nor a difference."""
    data, x = cells([(0.6, 0.2), (0.0, 0.0), (0.5, 0.5)], n_folds=3)
    kept = select_region(Proposals(data, [in_cells(x, [0, 1, 2])]))
    assert set(x[kept.member]) == {0}


def test_the_better_score_wins(cells):
    data, x = cells([(0.7, 0.2), (0.5, 0.5), (0.5, 0.5)], n_folds=3)
    bad = in_cells(x, [1, 2, 0])
    good = propose(in_cells(x, [0, 1, 2]).scores, [2.5], name="good")
    for families in ([bad, good], [good, bad]):
        kept = select_region(Proposals(data, families))
        assert kept.family == "good"
        assert set(x[kept.member]) == {0}


def test_of_two_regions_of_one_size_the_one_better_vouched_for_is_kept(cells):
    """Cells 0 and 1 have the same rows and the same mass; .55 against .15 is the larger ratio."""
    data, x = cells([(0.5, 0.2), (0.55, 0.15), (0.4, 0.4), (0.4, 0.4)], n_folds=3)
    one, two = (in_cells(x, order, thresholds=[3.5]) for order in ([0, 1, 2, 3], [1, 0, 2, 3]))
    for families in ([one, two], [two, one]):
        assert set(x[select_region(Proposals(data, families)).member]) == {1}


def test_a_violation_of_everybody_is_everybodys(cells):
    data, x = cells([(0.6, 0.2)] * 4)
    kept = select_region(Proposals(data, [in_cells(x, [0, 1, 2, 3])]))
    assert kept.member.all()


def test_without_proposals_everybody_is_the_region(cells):
    data, x = cells([(0.6, 0.2), (0.5, 0.5)])
    kept = select_region(Proposals(data, [propose(x, [])]))
    assert kept.threshold == -np.inf
    assert kept.member.all()
    assert len(kept.path.delta) > 0


def test_small_proposals_grow_to_the_mass_and_rows_asked_for(cells):
    """Ten cells of mass 1/20 each; half the mass takes ten, however few are proposed."""
    rates = [(0.9, 0.1)] + [(0.5, 0.5)] * 9
    for alpha, fewest in ((0.01, 1), (0.15, 3), (0.35, 7)):
        data, x = cells(rates, n_folds=3, alpha=alpha)
        kept = select_region(Proposals(data, [in_cells(x, range(10), thresholds=[9.5])]))
        if np.isfinite(kept.threshold):
            rates_in = measure(data.positive, data.s, data.weights, kept.member)
            assert rates_in.mass >= alpha - 1e-12
            assert len(set(x[kept.member])) >= fewest
            assert 0 in x[kept.member]


def test_regions_of_a_few_rows_are_never_kept(make_search):
    """Three perfect rows are luck: a region holds ten rows of either side."""
    n = 400
    s = np.tile([1, -1], n // 2)
    positive = np.random.default_rng(0).random(n) < 0.5
    positive[:6] = s[:6] > 0
    data = make_search(np.zeros(n), s, positive, alpha=0.001)
    kept = select_region(Proposals(data, [propose(-np.arange(n), [-5.0, -2.0])]))
    member = kept.member
    assert min((member & (s > 0)).sum(), (member & (s < 0)).sum()) >= FEWEST_ROWS


def lucky_rows(rng, rates, n=800):
    """Rates of (group, others) by rank of a score, the first of 16 perfect by luck: 8 against 8."""
    s = np.tile([1, -1], n // 2)
    p1, p0 = np.array(rates).T
    block = np.arange(n) * len(rates) // n
    positive = rng.random(n) < np.where(s > 0, p1[block], p0[block])
    positive[:16] = s[:16] > 0
    return s, positive, -np.arange(n, dtype=float)


def test_no_core_is_of_a_few_rows_or_beyond_its_region(make_search):
    """Eight of either side are perfect by luck; the core holds ten of either, inside the region."""
    s, positive, score = lucky_rows(np.random.default_rng(1), [(0.5, 0.3), (0.3, 0.4)])
    data = make_search(np.zeros(800), s, positive)
    kept = select_region(Proposals(data, [propose(score, [-399.5])]))
    assert kept.threshold == -399.5
    core = kept.scores >= kept.core_threshold
    assert min((core & (s > 0)).sum(), (core & (s < 0)).sum()) >= FEWEST_ROWS
    assert kept.core_threshold >= kept.threshold


def test_everybody_is_ranked_by_the_score_with_the_best_sets_of_enough_rows(make_search):
    """Perfect luck among the first sixteen of one score is no match for a half in the other."""
    s, positive, lucky = lucky_rows(np.random.default_rng(2), [(0.5, 0.5), (0.5, 0.3)])
    positive[16:32] = s[16:32] < 0  # the luck is made up for at once
    data = make_search(np.zeros(800), s, positive)
    honest = np.where(lucky < -399.5, 1.0, 0.0) + 1e-6 * lucky[::-1]
    honest[:32] = -1.0
    families = [propose(lucky, [], name="lucky"), propose(honest, [], name="honest")]
    few = Sweep.of(data, lucky).at([-15.0])
    most = Sweep.of(data, honest).at(np.unique(honest)[::-1])
    assert few.low[0] > most.low[most.fewest >= FEWEST_ROWS].max()
    for given in (families, families[::-1]):
        kept = select_region(Proposals(data, given))
        assert kept.threshold == -np.inf
        assert kept.family == "honest"


@pytest.mark.parametrize("seed", range(12))
def test_a_region_is_never_vouched_for_less_than_everybody(make_search, seed):
    """In the end everybody stands beside it, so the lower limit of the one kept is at least theirs.

    What was proposed before that is told too: it is the one kept, or gave way.
    """
    rng = np.random.default_rng(seed)
    n = 300
    s = rng.choice([-1, 1], n)
    violation = rng.choice([0.0, 0.15, 0.3])
    positive = rng.random(n) < np.where(s > 0, 0.3 + violation, 0.3)
    data = make_search(np.zeros(n), s, positive)
    families = [
        propose(rng.normal(size=n), rng.normal(size=4), name=f"noise {k}") for k in range(6)
    ]
    selection, judged, searched, _ = choose(data, lambda _: families, lambda _: None)
    everybody = np.ones(n, dtype=bool)
    assert lower_limit(data, judged.member) >= lower_limit(data, everybody) - 1e-9
    assert judged.member.all() or judged.member is searched
    if judged.member.all():
        assert selection.member.all()
        assert lower_limit(data, searched) <= lower_limit(data, everybody) + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_everybody_is_no_candidate_where_something_smaller_is(make_search, seed):
    """Coins: the region proposed is a part of the rows, chosen among parts alone."""
    rng = np.random.default_rng(seed)
    s, positive = rng.choice([-1, 1], 300), rng.random(300) < 0.4
    data = make_search(np.zeros(300), s, positive, alpha=0.01)
    scores = rng.normal(size=300)
    kept = select_region(Proposals(data, [propose(scores, [0.0, 0.5, 1.0])]))
    assert kept.threshold in (0.0, 0.5, 1.0)
    best = max(lower_limit(data, scores >= cut) for cut in (0.0, 0.5, 1.0))
    # Of those that nearly tie the largest, and so not always the best.
    assert lower_limit(data, kept.member) >= best - 1.0


def test_only_held_out_rows_decide(cells):
    """Outcomes of rows that are not held out have no say."""
    data, x = cells([(0.7, 0.2), (0.5, 0.5), (0.5, 0.5)], n_folds=4)
    held = data.folds < 2
    one = type(data)(**{**vars(data), "held_out": held})
    two = type(data)(**{**vars(one), "value": np.where(held, data.positive, data.s < 0)})
    family = in_cells(x, [0, 1, 2])
    assert (
        select_region(Proposals(one, [family])).threshold
        == select_region(Proposals(two, [family])).threshold
    )


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
@pytest.mark.parametrize(
    "rates",
    [
        [(0.0, 0.5), (0.0, 0.5), (0.0, 0.5)],
        [(0.5, 0.0), (0.5, 0.0), (0.5, 0.0)],
        [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)],
        [(0.0, 0.5), (0.5, 0.0), (0.0, 0.0)],
        [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0)],
        [(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)],
    ],
)
def test_rates_of_zero_and_one_are_no_obstacle(cells, rates, order):
    """Infinite and undefined deltas among the candidates raise neither errors nor warnings."""
    data, x = cells(rates)
    kept = select_region(Proposals(data, [in_cells(x, order)]))
    assert kept.member.any()
    truth = [p1 / p0 if p0 else math.inf if p1 else 0.0 for p1, p0 in rates]
    if max(truth) == math.inf and min(truth) < math.inf and order[0] == int(np.argmax(truth)):
        assert set(x[kept.member]) == {int(np.argmax(truth))}


def test_scores_made_of_what_held_out_rows_rule_out_propose_nothing(cells):
    """By losses in pairs: .1 more in every row is plain, .1 on average among much else is not."""
    data, x = cells([(0.5, 0.5), (0.3, 0.3), (0.8, 0.2), (0.6, 0.6)], n_folds=4)
    rng = np.random.default_rng(0)
    loss = rng.normal(size=len(x))
    right = in_cells(x, [2, 0, 1, 3])
    wrong = propose(-np.abs(x - 0.5), [-1.0], name="wrong")

    def kept(more, clusters=None):
        families = [replace(right, losses=loss + more), replace(wrong, losses=loss)]
        proposals = Proposals(replace(data, cluster=clusters), families)
        return select_region(proposals).family

    assert kept(0.1) == "wrong"
    assert kept(0.1 + 3.0 * rng.permutation(loss)) == kept(0.0) == kept(-0.1) == "score"
    # What is plain of so many rows is not of two persons.
    uneven = np.where(np.arange(len(x)) % 2, 0.5, -0.3)
    assert kept(uneven) == "wrong"
    assert kept(uneven, np.arange(len(x)) % 2) == "score"


@pytest.mark.parametrize("own", range(4))
def test_rows_have_no_say_in_the_region_they_are_judged_by(make_search, own):
    """Outcomes of one fold changed at will leave what its rows are told, and move others."""
    rng = np.random.default_rng(3)
    n = 800
    s, score = rng.choice([-1, 1], n), rng.normal(size=n)
    positive = rng.random(n) < np.where((score > 0.5) & (s > 0), 0.8, 0.3)
    data = make_search(np.zeros(n), s, positive, n_folds=4)
    families = [propose(score, [-1.0, 0.0, 0.5, 1.0]), propose(rng.normal(size=n), [0.0, 1.0])]
    # Losses nearly tie: whether the first is ruled out depends on which rows are asked.
    losses = rng.normal(size=(2, n)) + np.array([[0.1], [0.0]])
    families = [replace(one, losses=own) for one, own in zip(families, losses, strict=True)]
    judged = cross_selected(Proposals(data, families))
    assert 0 < judged.core.sum() <= judged.member.sum() < n
    rows = data.folds == own
    changed = replace(data, value=np.where(rows, (score < -0.5) == (s > 0), positive))
    moved = [
        replace(one, losses=np.where(rows, 9.0 * k, one.losses)) for k, one in enumerate(families)
    ]
    again = cross_selected(Proposals(changed, moved))
    np.testing.assert_array_equal(judged.member[rows], again.member[rows])
    np.testing.assert_array_equal(judged.core[rows], again.core[rows])
    assert not np.array_equal(judged.member[~rows], again.member[~rows])


def repeated(make_search, n=800, n_repeats=3):
    """Scores of several repeats, each with folds of its own, and the search they are averaged for."""
    rng = np.random.default_rng(6)
    s, x = rng.choice([-1, 1], n), rng.normal(size=n)
    positive = rng.random(n) < np.where((x > 0.5) & (s > 0), 0.8, 0.3)
    folds = [rng.permutation(n) % 4 for _ in range(n_repeats)]
    data = make_search(np.zeros(n), s, positive, folds=folds[0])
    alone = [x + 0.3 * rng.normal(size=n) for _ in folds]
    return replace(data, other_folds=tuple(folds[1:])), np.array(alone)


def proposed(scores):
    return lambda rows: [propose(scores[rows], [0.0, 0.5, 1.0])]


def test_members_are_those_of_most_ways_to_part_the_rows(make_search):
    """Each row by choices it had no say in; the region of new rows is that of the average."""
    data, alone = repeated(make_search)
    average = alone.mean(axis=0)
    scored = [Scoring(proposed(own), lambda _: None) for own in alone]
    found = choose(data, proposed(average), lambda _: None, scored)
    parted = [replace(data, folds=folds) for folds in (data.folds, *data.other_folds)]
    votes = np.sum(
        [cross_selected(Proposals(own, proposed(average)(slice(None)))).member for own in parted],
        axis=0,
    )
    assert set(votes) > {0, 3}
    np.testing.assert_array_equal(found.judged.member, votes >= 2)
    np.testing.assert_array_equal(found.selection.scores, average)
    assert found.searched is found.judged.member
    # Every repeat alone finds what it would have found without the others.
    assert len(found.alone) == 3
    for own, scores, told in zip(parted, alone, found.alone, strict=True):
        once = choose(replace(own, other_folds=()), proposed(scores), lambda _: None)
        np.testing.assert_array_equal(once.judged.member, told.member)
        np.testing.assert_array_equal(once.searched, told.searched)


def test_of_one_repeat_there_is_nothing_alone(make_search):
    data, alone = repeated(make_search)
    found = choose(data, proposed(alone[0]), lambda _: None)
    once = choose(replace(data, other_folds=()), proposed(alone[0]), lambda _: None)
    np.testing.assert_array_equal(found.judged.member, once.judged.member)
    assert found.alone == once.alone == ()


def test_where_some_rows_decide_for_all_every_repeat_is_told_alone_too(make_search):
    """Rows no model saw are judged by the choice of those that decide, in every repeat by its own."""
    data, alone = repeated(make_search)
    held_back = np.arange(800) % 2 == 0
    folds = [np.where(held_back, -1, own) for own in (data.folds, *data.other_folds)]
    data = replace(data, folds=folds[0], other_folds=tuple(folds[1:]))
    average = alone.mean(axis=0)
    scored = [Scoring(proposed(own), lambda _, own=own: own) for own in alone]
    found = choose(data, proposed(average), lambda _: average, scored)
    assert len(found.alone) == 3
    for n, (scores, told) in enumerate(zip(alone, found.alone, strict=True)):
        once = choose(
            replace(data, folds=folds[n], other_folds=()),
            proposed(scores),
            lambda _, own=scores: own,
        )
        np.testing.assert_array_equal(once.judged.member, told.member)
        np.testing.assert_array_equal(once.searched, told.searched)
        threshold = once.selection.threshold
        np.testing.assert_array_equal(told.member[held_back], (scores >= threshold)[held_back])


@pytest.mark.parametrize("side", [1, -1])
def test_where_the_other_parts_hold_one_side_only_they_have_no_say(make_search, side):
    """All of one side are in the first fold: nobody else can tell who of it is inside."""
    rng = np.random.default_rng(5)
    n = 400
    s, score = rng.choice([-1, 1], n), rng.normal(size=n)
    positive = rng.random(n) < np.where((score > 0) & (s > 0), 0.8, 0.3)
    folds = np.where(s == side, 0, np.arange(n) % 3)
    data = make_search(np.zeros(n), s, positive, folds=folds)
    judged = cross_selected(Proposals(data, [propose(score, [-1.0, 0.0, 0.5])]))
    assert judged.member[folds == 0].all()
    assert judged.core[folds == 0].all()
    assert not judged.member[folds > 0].all()


def test_one_held_out_part_is_judged_in_five(make_search):
    """After a 70/30 split no held-out row has a say in its own region either."""
    rng = np.random.default_rng(4)
    n = 1000
    s, score = rng.choice([-1, 1], n), rng.normal(size=n)
    positive = rng.random(n) < np.where((score > 0.5) & (s > 0), 0.8, 0.3)
    data = make_search(np.zeros(n), s, positive)
    held = np.arange(n) % 3 == 0
    data = replace(data, held_out=held, folds=np.where(held, -1, 0))
    families = [propose(score, [0.0, 0.5, 1.0])]
    judged = cross_selected(Proposals(data, families))
    assert not judged.member[~held].any()
    alone = np.flatnonzero(judged.member)[0]
    flipped = positive.copy()
    flipped[alone] = not flipped[alone]
    assert cross_selected(Proposals(replace(data, value=flipped), families)).member[alone]


def test_the_five_parts_are_even_in_sides_and_outcomes(make_search):
    """Also where sides and outcomes alternate in step with the number of parts."""
    n = 400
    s, positive = np.tile([1, 1, 1, -1, 1], n // 5), np.arange(n) // 5 % 2 == 0
    held = np.arange(n) >= 100
    data = make_search(np.zeros(n), s, positive, folds=np.where(held, -1, 0), held_out=held)
    proposals = Proposals(data, [propose(np.arange(n), [])])
    assert proposals.n_parts == 5
    assert (proposals.part[~held] == -1).all()
    for side in (1, -1):
        for hit in (False, True):
            rows = held & (s == side) & (positive == hit)
            sizes = np.bincount(proposals.part[rows], minlength=5)
            assert sizes.max() - sizes.min() <= 1


def test_limits_of_what_was_searched_for_are_wider_than_everybodys(make_search):
    """Of 400 coins 300 agree with S; a half of them is known as well as the spread says."""
    s = np.tile([1, -1], 200)
    positive = np.where(np.arange(400) % 8 < 6, s > 0, s < 0)
    data = replace(make_search(np.zeros(400), s, positive), spread=1.2)
    everybody, half = np.ones(400, bool), np.arange(400) < 200
    for member, spread in ((everybody, 1.0), (half, 1.2)):
        rates = measure(positive, s, np.ones(400), member)
        assert data.limit(member) == delta_interval(rates, 0.95, spread)[0]


def test_a_region_less_sure_than_everybody_gives_way(make_search):
    """Everybody at 60 against 20 of 100; the region proposed shows nothing."""
    s = np.repeat([1, 1, -1, -1], [60, 40, 20, 80])
    positive = np.repeat([True, False, True, False], [60, 40, 20, 80])
    data = make_search(np.zeros(200), s, positive)
    everybody = np.ones(200, dtype=bool)
    few = np.isin(np.arange(200), [0, 1, 60, 61, 62, 100, 101, 120])
    kept = at_least_everybody(data, Judged(member=few, core=few))
    assert kept.member.all()
    assert kept.core.all()
    better = (s > 0) & positive | (s < 0) & ~positive | (np.arange(200) == 100)
    assert at_least_everybody(data, Judged(member=better, core=better)).member is better
    assert at_least_everybody(data, Judged(member=everybody, core=better)).core is better
    assert at_least_everybody(data, Judged(member=better, core=few)).core is better


def test_core_is_inside_and_at_least_as_well_vouched_for(cells):
    """A gradient: the whole right side is a violation, its far end the worst of it."""
    data, x = cells([(0.9, 0.15), (0.75, 0.25), (0.6, 0.4), (0.5, 0.5), (0.4, 0.4)], n_folds=4)
    kept = select_region(Proposals(data, [in_cells(x, range(5))]))
    core = kept.scores >= kept.core_threshold
    assert (kept.member | ~core).all()
    assert lower_limit(data, core) >= lower_limit(data, kept.member) - 1e-9


def test_path_grows_from_the_smallest_region_and_ends_with_everybody(cells):
    data, x = cells([(0.9, 0.1), (0.75, 0.25), (0.6, 0.4), (0.5, 0.5)])
    path = select_region(Proposals(data, [in_cells(x, range(4))])).path
    assert (np.diff(path.threshold) < 0).all()
    assert (np.diff(path.n_rows) >= 0).all()
    assert set(path.n_rows) == {80, 160, 240, 320}
    assert path.n_rows[-1] == len(x)


def test_plateau_cut_is_half_way_up_the_top_twentieth(make_search):
    s = np.tile([1, -1], 100)
    sweep = Sweep.of(make_search(np.zeros(200), s, s > 0), np.where(np.arange(200) < 30, 0.8, 0.1))
    assert plateau_thresholds(sweep, 0.05).tolist() == [pytest.approx(0.4)]
    # Regions of less than a tenth have a top of their own where alpha admits them.
    small = Sweep.of(make_search(np.zeros(200), s, s > 0), np.where(np.arange(200) < 4, 0.8, 0.1))
    assert plateau_thresholds(small, 0.05).tolist() == [pytest.approx(0.05)]
    assert plateau_thresholds(small, 0.01).tolist() == [pytest.approx(0.05), pytest.approx(0.4)]


def test_a_few_lucky_rows_of_a_large_region_are_no_region_of_their_own(make_search):
    """A quarter at .5 with four luckier rows: these count where they stand more than twice as high."""
    s = np.tile([1, -1], 100)
    scores = np.where(np.arange(200) < 50, 0.5, 0.1)
    for highest, cuts in ((0.9, [0.25]), (1.1, [0.25, 0.55])):
        scores[:4] = highest
        sweep = Sweep.of(make_search(np.zeros(200), s, s > 0), scores)
        assert plateau_thresholds(sweep, 0.02).tolist() == pytest.approx(cuts)


def test_without_a_top_there_is_no_plateau(make_search):
    sweep = Sweep.of(
        make_search(np.zeros(4), [1, -1, 1, -1], [1, 0, 1, 0]), np.array([0.0, -1, -2, 0])
    )
    assert plateau_thresholds(sweep, 0.05).tolist() == []


def test_old_and_new_rows_are_told_the_same_where_everybody_is_the_region(make_search):
    """Nothing to find: whatever the cut of the score, everybody is inside, now and later.

    Also where a cut was chosen, and its region gave way to everybody once it was measured.
    """
    given_way = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        s, positive = rng.choice([-1, 1], 400), rng.random(400) < 0.4
        data = make_search(np.zeros(400), s, positive, n_folds=4)
        scores = rng.normal(size=400)
        families = [propose(scores, [0.0, 1.0])]
        selection, judged, *_ = choose(data, lambda _, given=families: given, lambda _: None)
        everybody = bool(judged.member.all())
        assert everybody == np.isneginf(selection.threshold)
        assert everybody == bool(selection.member.all())
        given_way += everybody and np.isfinite(select_region(Proposals(data, families)).threshold)
    assert given_way > 1
