"""Pictures of a result: the numbers they hold, and whether they can be read."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.describe.profile import ProfiledSubgroup, profile_subgroups
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.records import Subgroup, Violation, WorstCasePath
from mdfa_fairness_plugin.replicate import Explained
from mdfa_fairness_plugin.report.displays import (
    ExplainedDisplay,
    LoveDisplay,
    NullDistributionDisplay,
    OverlapDisplay,
    ProfileDisplay,
    RatesDisplay,
    RegionMapDisplay,
    SearchesDisplay,
    WorstCasePathDisplay,
)

matplotlib.use("Agg")

HOSTILE = [
    "<script>alert('x')</script>\"><img src=x>",
    "$\\frac{1}{0}$ costs $",
    "line one\nline two\ttab",
    "x" * 300,
    "\u202eevil",
    "a$b^{c",
]
N = 400


def profile_subgroup(display, s, membership, **named):
    """Table of one subgroup."""
    subgroup = ProfiledSubgroup(s=s, membership=membership, **named)
    return profile_subgroups(display, [subgroup])[0]


def example(name="race", group="Black", outcome="no", features=("age", "kind")):
    """A violation among the young, with everything that is drawn."""
    rng = np.random.default_rng(0)
    side = np.where(rng.random(N) < 0.4, 1, -1).astype(np.int8)
    age = rng.integers(18, 80, N).astype(float)
    X = pd.DataFrame({features[0]: age, features[1]: rng.choice(["a", "b"], N)})
    X["noise"] = rng.normal(size=N)
    member = age < 40
    left_out = np.arange(N) < 12
    held = ~left_out
    profile = profile_subgroup(
        X[held], side[held], member[held], group=group, outcome=rng.random(held.sum()) < 0.3
    )
    mass = np.linspace(0.01, 0.2, 20)
    delta = np.linspace(1.6, 0.3, 20)
    violation = Violation(
        sensitive_feature=name,
        group=group,
        outcome=outcome,
        verdict="violation",
        delta=0.9,
        interval=(0.5, 1.3),
        mass=0.1,
        n_rows=int(member.sum()),
        p_value_adjusted=0.001,
        membership=member,
        held_out=held,
        propensity=np.clip(rng.beta(2 + side, 3, N), 0.01, 0.99),
        side=side,
        left_out=left_out,
        profile=profile,
        path=WorstCasePath(
            delta=delta,
            mass=mass,
            n_rows=np.arange(20, 420, 20),
            threshold=-mass,
            interval_low=delta - 0.05 / mass,
            interval_high=delta + 0.05 / mass,
        ),
        population=Subgroup(delta=0.3, interval=(0.1, 0.5), mass=0.2, n_rows=N),
    )
    other = Violation(
        sensitive_feature=name,
        group="White",
        outcome="yes",
        verdict="none_larger_than_detectable",
        delta=math.inf,
        interval=(-0.2, math.inf),
        population=Subgroup(delta=-0.1),
    )
    blind = Violation(sensitive_feature=name, group="Other", outcome="no")
    names = [*(f"{features[1]}={level}" for level in "ab"), features[0], "noise"]
    result = AuditResult(
        violations=(other, blind, violation),
        balance={
            (name, group): {
                "smd_before": dict(zip(names, (0.4, -0.4, -0.2, 0.05), strict=True)),
                "smd_after": dict(zip(names, (0.02, -0.02, 0.01, 0.0), strict=True)),
            }
        },
        n_samples=N,
    )
    return result, violation, X


def explained_example(
    searches=(("race", "Black", "no"),), features=("age", "kind", "noise"), **fields
):
    """Three features left out: one explains much, one little, and without one a rate is zero."""
    values = {
        "delta": np.array([0.9]),
        "without": np.array([[1.2], [0.95], [math.inf]]),
        "unweighted": np.array([1.4]),
        "errors": np.array([[0.05], [0.04], [math.nan]]),
        "worst": 0,
        "confidence_level": 0.95,
    }
    return Explained(searches=searches, features=features, **(values | fields))


def everything(**fields):
    result, violation, X = example(**fields)
    null = SimpleNamespace(
        searches=((violation.sensitive_feature, violation.group, violation.outcome),),
        measures=("ratio",),
        observed=np.array([0.9]),
        draws=np.append(np.random.default_rng(1).normal(0.2, 0.1, 199), np.inf)[:, None],
        p_values=np.array([0.005]),
    )
    return {
        "path": WorstCasePathDisplay.from_violation(violation),
        "love": LoveDisplay.from_result(result),
        "profile": ProfileDisplay.from_violation(violation),
        "region": RegionMapDisplay.from_violation(violation, X),
        "overlap": OverlapDisplay.from_violation(violation),
        "null": NullDistributionDisplay.from_null(null),
        "searches": SearchesDisplay.from_result(result),
        "explained": ExplainedDisplay.from_explained(
            explained_example(null.searches, (*X.columns[:2], "noise"))
        ),
    }


NAMES = ["path", "love", "profile", "region", "overlap", "null", "searches", "explained"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def overlapping(figure):
    """Pairs of visible texts that cover each other."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = []
    for text in figure.findobj(matplotlib.text.Text):
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent(renderer)
            if box.width and figure.bbox.overlaps(box):
                boxes.append((text.get_text(), box))
    return [
        (a, b)
        for (a, one), (b, two) in itertools.combinations(boxes, 2)
        if one.shrunk(0.94, 0.8).overlaps(two.shrunk(0.94, 0.8)) and a != b
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("style", ["light", "dark"])
def test_plot_gives_itself_back_with_nothing_on_top_of_each_other(name, style):
    display = everything()[name]
    assert display.plot(style=style) is display
    assert display.ax_.figure is display.figure_
    assert overlapping(display.figure_) == []


@pytest.mark.parametrize("name", NAMES)
def test_plot_draws_on_the_axes_it_is_given(name):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = everything()[name].plot(axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert not axes[0].has_data()


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_the_data_is_text(text):
    """No formula is read into a name, and none is too long for a line."""
    for display in everything(
        name=text, group=text, outcome=text, features=(text, text + "2")
    ).values():
        display.plot()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            display.figure_.canvas.draw()
        for drawn in display.figure_.findobj(matplotlib.text.Text):
            lines = drawn.get_text().split("\n")
            assert max(map(len, lines)) <= 100
            if "frac" in drawn.get_text() or "b^" in drawn.get_text():
                assert not drawn.get_parse_math()
        display.alt_text.encode("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_a_sentence_stand_for_the_picture(name):
    display = everything()[name]
    frame = display.to_frame()
    assert len(frame) > 0
    assert display.alt_text.endswith(".")
    assert "nan" not in display.alt_text


def test_style_is_checked():
    with pytest.raises(InputError, match="style: 'light' or 'dark' expected, 'pink' found"):
        everything()["path"].plot(style="pink")


def test_path_holds_what_the_search_saw():
    display = everything()["path"]
    assert display.kept == (0.1, 0.9, 0.5, 1.3)
    assert display.everybody == (0.2, 0.3, 0.1, 0.5)
    assert display.to_frame()["ratio"].iloc[0] == pytest.approx(math.exp(1.6))
    display.plot(scale="delta")
    assert display.ax_.get_yscale() == "linear"
    with pytest.raises(InputError, match="scale"):
        display.plot(scale="log")


def test_love_plot_drops_the_mirror_of_a_level_and_sorts():
    display = everything()["love"]
    assert display.names == ("kind=a", "age", "noise")
    assert display.before.tolist() == [0.4, -0.2, 0.05]
    assert display.label == "race = Black against everyone else"
    result, *_ = example()
    short_one = LoveDisplay.from_result(result, max_features=1)
    assert short_one.n_omitted == 2
    with pytest.raises(InputError, match=r"comparison_key: one of .* expected, 'race' found"):
        LoveDisplay.from_result(result, "race")


def test_profile_puts_what_sets_the_subgroup_apart_first():
    display = everything()["profile"]
    assert display.features[0] == "age"
    assert display.difference[0] < -1
    _, violation, X = example()
    held = violation.held_out
    inside = violation.membership[held]
    assert display.subgroup[0] == pytest.approx(X["age"][held][inside].mean())
    assert display.population[0] == pytest.approx(X["age"][held].mean())
    # Of two levels, one says it all; the outcome is no feature.
    assert display.features.count("kind") == 1
    assert not any("outcome" in name for name in display.features)


def test_map_finds_the_features_that_tell_who_is_inside():
    display = everything()["region"]
    assert display.features[0] == "age"
    _, violation, X = example()
    assert display.n_rows.sum() == violation.held_out.sum()
    left = display.edges[0][:-1] < 35
    assert np.nanmin(display.share[:, left]) == 1
    few = RegionMapDisplay.from_violation(
        violation, X, ["age", "kind"], min_rows=11, in_quarters=True
    )
    assert not ((few.n_rows < 11) & ~np.isnan(few.share)).any()
    # A page tells nothing finer, and no number of people.
    assert set(few.to_frame().columns) == {"age", "kind ", "share_inside"}
    assert set(few.to_frame()["share_inside"]) <= {0, 0.25, 0.5, 0.75, 1}
    one = RegionMapDisplay.from_violation(violation, X, ["age"])
    assert one.share.shape[0] == 1
    assert one.height < few.height
    strip = one.plot().ax_
    assert (strip.get_ylabel(), strip.get_yticklabels()) == ("", [])
    with pytest.raises(InputError, match="no column 'sex' in X"):
        RegionMapDisplay.from_violation(violation, X, ["age", "sex"])
    with pytest.raises(InputError, match="400 rows of the audit expected, 10 found"):
        RegionMapDisplay.from_violation(violation, X.head(10))


def test_overlap_counts_every_row_once():
    display = everything()["overlap"]
    _, violation, _ = example()
    assert display.group.sum() == (violation.side == 1).sum()
    assert display.others.sum() == (violation.side == -1).sum()
    assert (display.group_left_out + display.others_left_out).sum() == 12
    without = OverlapDisplay.from_violation(violation, left_out=False)
    assert without.group.sum() + without.others.sum() == N - 12


def test_searches_are_ranked_and_what_was_not_measured_left_out():
    display = everything()["searches"]
    assert display.verdicts == ("violation", "none_larger_than_detectable")
    assert display.n_omitted == 1
    assert display.ratio[0] == pytest.approx(math.exp(0.9))


def test_an_advantage_is_drawn_and_counted_as_no_violation():
    result, violation, _ = example()
    good = replace(violation, outcome="yes", harm=False)
    both = replace(result, violations=(replace(violation, harm=True), good))
    display = SearchesDisplay.from_result(both)
    assert sorted(display.verdicts) == ["advantage", "violation"]
    assert "2 searches with intervals; 1 unequal beyond chance, 1 advantage." in display.alt_text
    fewer = SearchesDisplay.from_result(both, max_searches=1).alt_text
    assert (
        "1 search with intervals, 1 more not drawn; of those drawn, 1 unequal beyond chance."
        in fewer
    )
    assert "advantage" not in SearchesDisplay.from_result(result).alt_text


def test_null_takes_the_search_with_the_smallest_p():
    null = SimpleNamespace(
        measures=("ratio",) * 2,
        searches=(("a", 1, 0), ("a", 2, 0)),
        observed=np.array([0.1, 0.5]),
        draws=np.array([[0.1, 0.2], [0.3, np.nan]]),
        p_values=np.array([0.5, 0.01]),
    )
    display = NullDistributionDisplay.from_null(null)
    assert display.observed == 0.5
    assert display.draws.tolist() == [0.2]
    with pytest.raises(InputError, match="search: a position below 2 expected"):
        NullDistributionDisplay.from_null(null, 5)


def test_explained_shows_what_moves_the_worst_case_first():
    display = everything()["explained"]
    assert display.features == ("noise", "age", "kind")
    assert (display.equal, display.unweighted) == (math.exp(0.9), math.exp(1.4))
    # Three features at 95 %: 2.394 standard errors of the difference.
    assert display.ratio_low[1] == pytest.approx(math.exp(1.2 - 2.394 * 0.05), rel=1e-4)
    assert display.alt_text.count("Without") == 3
    with pytest.raises(InputError, match="search: a position below 1 expected, 1 found"):
        ExplainedDisplay.from_explained(explained_example(), 1)
    one = ExplainedDisplay.from_explained(explained_example(), max_features=1)
    assert (one.features, one.n_omitted) == (("noise",), 2)
    one.plot()
    assert "2 features that move it less not drawn" in one.ax_.get_xlabel()


@pytest.mark.parametrize(
    "make",
    [
        lambda: WorstCasePathDisplay.from_violation(Violation(group=1, outcome=0)),
        lambda: ProfileDisplay.from_violation(Violation(group=1, outcome=0)),
        lambda: OverlapDisplay.from_violation(Violation(group=1, outcome=0)),
        lambda: LoveDisplay.from_result(AuditResult()),
        lambda: SearchesDisplay.from_result(AuditResult()),
        lambda: ExplainedDisplay.from_explained(explained_example(worst=None)),
        lambda: ExplainedDisplay.from_explained(explained_example(delta=np.array([math.nan]))),
    ],
)
def test_where_nothing_was_measured_there_is_nothing_to_draw(make):
    with pytest.raises(InputError, match="so there is nothing to draw"):
        make()


def test_rates_are_drawn_as_exactly_as_they_are_printed():
    """A bar can be measured: 26.5 % over 15.5 % are 1.7, as the ratio is printed, and are drawn so."""
    rates = {"rates": (0.26498, 0.1551), "delta": math.log(0.26498 / 0.1551)}
    violation = replace(example()[1], **rates)
    shown = RatesDisplay.from_violation(violation)
    shown.plot()
    assert [bar.get_width() for bar in shown.ax_.patches] == pytest.approx([0.265, 0.155])
    assert "26.5 % of race = Black and 15.5 % of everyone else" in shown.alt_text
    assert shown.to_frame()["side"].tolist() == ["race = Black", "everyone else"]
    with pytest.raises(InputError, match="rates are not known"):
        RatesDisplay.from_violation(replace(violation, rates=(math.nan, 0.2)))
