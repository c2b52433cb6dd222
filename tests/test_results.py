"""What an audit returns."""

from __future__ import annotations

import math
import pickle
from inspect import getdoc, isfunction, signature

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.records import Spread, Subgroup, Violation, WorstCasePath, ranked
from mdfa_fairness_plugin.report.reading import shown_case
from mdfa_fairness_plugin.results import AuditResult


def violation(**fields):
    """A search with only what a test is about."""
    return Violation(**{"group": "a", "outcome": 1, **fields})


def test_ratio_is_the_exponential_of_delta():
    """A ratio of three, with its interval."""
    v = violation(delta=math.log(3), interval=(math.log(2), math.log(5)))
    assert v.ratio == pytest.approx(3)
    assert v.ratio_interval == pytest.approx((2, 5))
    assert v.lower == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("delta", "ratio"), [(math.inf, math.inf), (-math.inf, 0.0), (1e4, math.inf)]
)
def test_infinite_delta_has_a_ratio(delta, ratio):
    assert violation(delta=delta).ratio == ratio
    assert Subgroup(delta=delta).ratio == ratio


def test_ends_of_a_spread_are_of_the_ratios_that_are_known():
    assert Spread(ratios=(2.0, math.nan, math.inf, 1.5), shared=0.8).ends == (1.5, math.inf)
    assert all(map(math.isnan, Spread(ratios=(math.nan,), shared=0.0).ends))


def test_what_was_not_measured_is_nan_and_never_none():
    v = violation(delta=None, interval=None, rates=(None, None), p_value=None, mass=np.nan)
    assert math.isnan(v.delta)
    assert math.isnan(v.ratio)
    assert all(map(math.isnan, (*v.interval, *v.rates, v.p_value, v.mass)))
    assert not v.measured
    assert violation(delta=math.inf).measured


def test_fields_have_the_same_types_whatever_was_given():
    v = violation(
        delta=np.float32(0.5), n_rows=np.int64(3), interval=np.array([0.0, 1.0]), membership=[1, 0]
    )
    assert type(v.delta) is float
    assert type(v.n_rows) is int
    assert v.interval == (0.0, 1.0)
    assert v.membership.dtype == bool
    assert v.held_out.shape == (0,)
    assert isinstance(v.population, Subgroup)
    assert isinstance(v.core, Subgroup)
    assert len(v.path) == 0
    assert v.profile.empty


def test_labels_stay_as_the_user_gave_them():
    group = ("Black", np.int64(3))
    v = violation(group=group, outcome=True)
    assert v.group is group
    assert v.outcome is True


def test_an_unknown_verdict_is_refused():
    with pytest.raises(ValueError, match="verdict: 'fine' is not one of violation"):
        violation(verdict="fine")


def test_results_cannot_be_changed():
    with pytest.raises(AttributeError):
        violation().delta = 1.0


def test_worst_case_is_the_highest_lower_bound_not_the_highest_delta():
    sure = violation(delta=0.5, interval=(0.4, 0.6))
    wild = violation(delta=3.0, interval=(-1.0, 7.0))
    assert AuditResult(violations=(wild, sure)).worst_case is sure


def test_worst_case_prefers_a_violation_to_a_search_that_found_none():
    found = violation(verdict="violation", delta=0.3, interval=(0.1, 0.5))
    none = violation(verdict="none_larger_than_detectable", delta=0.6, interval=(0.2, 1.0))
    assert AuditResult(violations=(none, found)).worst_case is found
    assert AuditResult(violations=(found, none)).worst_case is found


def test_worst_case_may_be_unbounded_above_but_not_unmeasured():
    infinite = violation(delta=math.inf, interval=(0.8, math.inf))
    unmeasured = violation()
    endless = violation(delta=1.0, interval=(-math.inf, math.inf))
    assert AuditResult(violations=(unmeasured, endless, infinite)).worst_case is infinite
    assert AuditResult(violations=(unmeasured, endless)).worst_case is None
    assert AuditResult().worst_case is None


def test_searches_are_ranked_by_what_holds_up_however_they_are_listed():
    """Found first, then above 1, then around it, by lower limits; unbounded and unknown ones last."""
    found, seen = {"verdict": "violation"}, {"verdict": "none_larger_than_detectable"}
    searches = [
        violation(**found, delta=math.inf, interval=(0.8, math.inf)),
        violation(**found, delta=2.0, interval=(0.1, 3.0)),
        violation(**found),  # its limits are not known
        violation(delta=3.0, interval=(0.9, math.inf), reason="only 6 rows have the outcome"),
        violation(**seen, delta=0.2, interval=(0.1, 0.3)),
        violation(delta=2.5, interval=(-0.1, 5.0), reason="the interval includes 1"),
        violation(**seen, delta=0.1, interval=(-0.2, 0.4)),
        violation(delta=math.inf, interval=(-math.inf, math.inf)),
        violation(),
    ]
    rng = np.random.default_rng(0)
    for order in (range(len(searches)), *(rng.permutation(len(searches)) for _ in range(50))):
        listed = AuditResult(violations=tuple(searches[place] for place in order))
        assert [searches.index(one) for one in ranked(listed.violations)] == list(range(9))
        assert listed.worst_case is shown_case(listed) is searches[0]
    assert shown_case(AuditResult(violations=tuple(searches[2:]))) is searches[2]
    assert shown_case(AuditResult(violations=tuple(searches[7:]))) is None


def test_no_interval_around_one_stands_above_one_that_excludes_it():
    rng = np.random.default_rng(1)
    low = rng.normal(0.0, 0.2, 60)
    verdicts = rng.choice(["none_larger_than_detectable", "insufficient_evidence"], 60)
    drawn = [
        violation(verdict=str(one), delta=at + 0.5, interval=(at, at + wide))
        for one, at, wide in zip(verdicts, low, rng.exponential(2.0, 60), strict=True)
    ]
    above = [one.lower > 0 for one in ranked(drawn)]
    assert above == sorted(above, reverse=True)
    assert 10 < sum(above) < 50


def harm_search(group, outcome, impact, interval, verdict="violation", **fields):
    """A search of an audit in which outcome 1 is the good one."""
    told = {"harm": outcome != 1, "impact_ratio": impact, "impact_interval": interval}
    return violation(group=group, outcome=outcome, verdict=verdict, **told, **fields)


def worst_harm(*violations):
    return AuditResult(violations=violations, favorable_label=1).worst_harm


def test_harm_is_one_quantity_whichever_outcome_was_searched_for():
    """Others 60 of 100, the group 40: 1.5 times as often, a disparate impact of two thirds."""
    loses = harm_search("a", 0, 0.4 / 0.6, (0.5, 0.8))
    gains = harm_search("b", 1, 0.6 / 0.4, (1.25, 2.0))
    for search in (loses, gains):
        other = harm_search("b" if search is loses else "a", 1, math.nan, (math.nan,) * 2)
        harm = worst_harm(search, other)
        assert (harm.group, harm.reference, harm.outcome) == ("a", "b", 1)
        assert harm.ratio == pytest.approx(1.5)
        assert harm.delta == pytest.approx(math.log(1.5))
        assert harm.interval == pytest.approx((1.25, 2.0))
        assert harm.disparate_impact == pytest.approx(2 / 3)
        assert (harm.direction, harm.verdict) == ("less often", "violation")


def test_worst_harm_is_ranked_by_the_quantity_it_tells():
    """Refusals may differ seven times where acceptances hardly do: those do not head the page."""
    refusals = harm_search("a", 0, 1 / 1.03, (1 / 1.06, 1 / 0.99))
    acceptances = harm_search("b", 1, 1.24, (1.1, 1.4))
    chance = harm_search("b", 0, 1 / 3, (1 / 9, 0.9), verdict="insufficient_evidence")
    assert worst_harm(refusals, chance, acceptances).violation is acceptances
    assert worst_harm(refusals, chance).violation is chance


def test_what_one_of_three_groups_gets_oftener_harms_nobody_in_particular():
    advantage = harm_search("c", 1, 2.0, (1.8, 2.2))
    loses = [harm_search(name, 0, 0.8, (0.7, 0.9)) for name in ("a", "b")]
    assert worst_harm(advantage, *loses).group == "a"
    assert worst_harm(advantage, harm_search("a", 1, math.nan, (math.nan,) * 2)).group == "a"
    alone = worst_harm(
        advantage, *(harm_search(name, 1, math.nan, (math.nan,) * 2) for name in ("a", "b"))
    )
    assert (alone.group, alone.reference) == (None, "c")


def test_no_harm_without_a_favourable_outcome():
    assert AuditResult(violations=(violation(),)).worst_harm is None
    never = harm_search("a", 0, 0.0, (0.0, 0.5))
    assert worst_harm(never).ratio == math.inf
    assert worst_harm(harm_search("b", 1, 0.0, (0.0, 0.4))).delta == -math.inf


def test_ties_go_by_the_name_of_the_column_and_then_as_searches_are_made():
    tied = {"delta": 0.5, "interval": (0.4, 0.6)}
    one, two = violation(sensitive_feature="age", **tied), violation(**tied)
    three = violation(group="b", **tied)
    for listed in ((one, two, three), (two, one, three), (two, three, one)):
        assert ranked(listed) == [one, two, three]
        assert AuditResult(violations=listed).worst_case is one


def test_frame_has_one_row_per_search_and_the_same_columns_for_every_audit():
    searches = (
        violation(group=("a", 1), delta=math.log(2), interval=(0.0, math.inf), n_rows=7),
        violation(group=2.5, outcome="yes", population=Subgroup(delta=0.0)),
    )
    frame = AuditResult(violations=searches).to_frame()
    empty = AuditResult().to_frame()
    assert len(frame) == 2
    assert len(empty) == 0
    pd.testing.assert_series_equal(frame.dtypes, empty.dtypes)
    assert frame["group"].tolist() == [("a", 1), 2.5]
    assert frame["ratio"][0] == pytest.approx(2)
    assert frame["ratio_high"][0] == math.inf
    assert frame["ratio_everybody"][1] == 1.0
    assert frame["n_rows"].tolist() == [7, 0]


def test_path_gives_a_frame_even_when_intervals_were_not_computed():
    path = WorstCasePath(delta=np.array([2.0, 1.0]), mass=np.array([0.1, 0.2]))
    frame = path.to_frame()
    assert frame["delta"].tolist() == [2.0, 1.0]
    assert frame["interval_low"].isna().all()
    assert WorstCasePath().to_frame().empty


def test_repr_is_short_and_has_no_arrays():
    v = violation(delta=1.0, interval=(0.5, 1.5), membership=np.ones(10_000, dtype=bool))
    result = AuditResult(violations=(v,), n_samples=10_000)
    assert len(repr(v)) < 200
    assert len(repr(result)) < 300
    assert "1 search, 10000 rows" in repr(result)
    assert repr(AuditResult()) == "AuditResult(0 searches, 0 rows; worst: None)"


def test_results_can_be_pickled():
    v = violation(delta=1.0, interval=(0.5, 1.5), membership=[True, False])
    result = AuditResult(
        violations=(v,), warnings=(AuditWarning("W", "m"),), balance={("s", "a"): {"mmd": 1.0}}
    )
    copy = pickle.loads(pickle.dumps(result))
    assert copy.to_json(rows=True) == result.to_json(rows=True)
    assert copy.worst_case.membership.tolist() == [True, False]


@pytest.mark.parametrize("method", ["to_json", "to_html"])
def test_files_hold_what_is_returned(tmp_path, method):
    result = AuditResult(violations=(violation(group="Zoë"),), n_samples=3)
    path = tmp_path / "report"
    text = getattr(result, method)(path)
    assert path.read_bytes() == text.encode("utf-8")
    assert getattr(result, method)() == text


@pytest.mark.parametrize(
    "name",
    [name for name, own in vars(AuditResult).items() if isfunction(own) and name[0] != "_"],
)
def test_methods_are_shown_without_their_result(name):
    """As ``help`` and the API reference have them, also those that are functions of a result."""
    method, bound = getattr(AuditResult, name), getattr(AuditResult(), name)
    assert next(iter(signature(method).parameters)) == "self"
    assert (method.__name__, method.__qualname__) == (name, f"AuditResult.{name}")
    assert "\nresult : AuditResult" not in getdoc(method).partition("Returns")[0]
    assert list(signature(bound).parameters) == list(signature(method).parameters)[1:]
