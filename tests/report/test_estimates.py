"""What is said of other estimates, and of what a ratio owes to the models."""

from __future__ import annotations

import math
import re

import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.describe.conditions import EVERYBODY
from mdfa_fairness_plugin.records import ModelDependence, Spread, Subgroup, Violation
from mdfa_fairness_plugin.report.document import HTML, TEXT
from mdfa_fairness_plugin.report.estimates import moved_section, spread_sentence
from mdfa_fairness_plugin.report.story import tell

ESTIMATES = {
    "doubly_robust": math.log(1.8),
    "hajek": math.log(2.4),
    "raw": math.log(2.2),
    "unweighted": math.log(3),
}


def found(**fields):
    """Refused 1.8 times as often, between 1.4 and 2.3; 2.4 by weighted counts only."""
    return Violation(
        **{
            "sensitive_feature": "race",
            "group": "Black",
            "outcome": "no",
            "verdict": "violation",
            "delta": math.log(1.8),
            "interval": (math.log(1.4), math.log(2.3)),
            "n_rows": 1234,
            "rates": (0.142, 0.079),
            "p_value_adjusted": 0.002,
            "detectable_delta": math.log(1.07),
            "rule": "age at most 24",
            "estimates": ESTIMATES,
            **fields,
        }
    )


def moved(*ratios, allowance=0.0, **fields):
    losses = [0.6 - 0.05 * i for i in range(len(ratios))]
    return ModelDependence(
        ratios=ratios,
        propensity_losses=losses,
        outcome_losses=losses,
        shares=(1.0,) * len(losses),
        allowance=allowance,
        **fields,
    )


def told(violation, balance="overlap", **parameters):
    """The summary on one line."""
    provenance = {"balance": balance, "parameters": parameters}
    result = AuditResult(violations=(violation,), n_samples=6172, provenance=provenance)
    return re.sub(r"\s+", " ", result.summary())


@pytest.mark.parametrize(
    ("balance", "estimator", "start", "whose"),
    [
        ("overlap", "doubly_robust", "at the same features", "for which either side is likely."),
        ("entropy", "doubly_robust", "at the same features", "that everyone else have there"),
        ("given", "doubly_robust", "at the same features", "as the weights given count them."),
        ("overlap", "hajek", "weighted to equal features", None),
        ("none", "doubly_robust", "with features left as they are", None),
    ],
)
def test_rates_say_what_was_made_equal_and_whose_they_are(balance, estimator, start, whose):
    text = told(found(), balance, estimator=estimator)
    assert f"{start}, 14 % of those with race = Black and 8 % of everyone else get this" in text
    assert (whose or "These are rates") in text or whose is None
    assert ("These are rates" in text) == (whose is not None)


def test_other_estimates_stand_beside_and_a_disagreement_is_said():
    text = told(found())
    assert (
        "The ratio by other estimates: 2.4 by weighted counts only (Hajek); 2.2 by Algorithm 1's "
        "line 4. Weighted counts only are beyond the interval:"
    ) in text
    inside = told(found(estimates=ESTIMATES | {"hajek": math.log(2)}))
    assert "2.0 by weighted counts only (Hajek)" in inside
    assert "beyond the interval" not in inside
    plain = told(found(delta=ESTIMATES["hajek"]), estimator="hajek")
    assert "1.8 at the same features; 2.2 by Algorithm 1's line 4." in plain
    assert "beyond the interval" not in plain
    assert "other estimates" not in told(found(estimates={}))


def test_what_fell_with_better_models_is_told_with_its_table():
    falling = found(depends_on_models=moved(2.5, 2.1, 1.8, allowance=math.log(1.2)))
    text = told(falling)
    assert "The ratio fell from 2.5 to 1.8 as the models of the features got better." in text
    assert "p and the finding allow for a fall by another factor of 1.2." in text
    table = text[text.index("HOW THE RATIO MOVED") :]
    assert "least 0.600 0.600 2.5 better 0.550 0.550 2.1 best 0.500 0.500 1.8" in table
    result = AuditResult(violations=(falling,))
    assert "How the ratio moved as the models got better" in result.to_html()
    assert "How the ratio moved as the models got better" in result.to_model_card(min_cell=1)
    assert 'name="model_allowance" value="0.18' in result.to_junit()
    assert result.to_frame()["model_allowance"][0] == pytest.approx(math.log(1.2))


def test_what_stayed_is_in_the_page_alone():
    still = found(depends_on_models=moved(1.7, 1.8))
    assert "HOW THE RATIO MOVED" not in told(still)
    assert "The ratio fell" not in told(still)
    section = moved_section(still)
    assert section.media == HTML
    assert section.blocks[1].lines == (
        "It did not fall by more than chance explains, so nothing is allowed for.",
    )


@pytest.mark.parametrize("depends", [None, moved(), moved(1.8)])
def test_nothing_is_told_of_models_that_were_not_compared(depends):
    assert not list(tell(AuditResult(violations=(found(),)))["models"].blocks)
    assert moved_section(found(depends_on_models=depends)).blocks == ()
    assert moved_section(None).blocks == ()


def test_withheld_ratios_are_said_to_be():
    hidden = moved(math.nan, math.nan, allowance=math.nan, withheld={"ratios", "allowance"})
    section = moved_section(found(depends_on_models=hidden))
    assert [row[-1] for row in section.blocks[0].rows] == [None, None]
    assert "withheld" in section.blocks[1].lines[0]
    assert TEXT not in section.media


START = "Other splits of the same rows"


@pytest.mark.parametrize(
    ("ratios", "shared", "sentence"),
    [
        ((2.1, 1.8, 1.93), 0.79, "give 1.8 to 2.1; 79 % of the subgroup is found by all of them."),
        ((1.81, 1.84), 1.0, "give 1.81 to 1.84; 100 % of the subgroup is found by all of them."),
        ((1.8, math.inf), 0.5, "give 1.8 and more, up to an infinite ratio; 50 % of the subgroup "),
        ((math.inf, math.inf), 0.5, "all give an infinite ratio; 50 % of the subgroup "),
        (
            (1.8, math.nan, 2.1),
            0.0,
            "give 1.8 to 2.1; 0 % of the subgroup is found by all of them.",
        ),
        ((1.8, 2.1), math.nan, "give 1.8 to 2.1."),
    ],
)
def test_what_other_splits_find_is_told(ratios, shared, sentence):
    told = spread_sentence(found(spread=Spread(ratios=ratios, shared=shared)))
    assert told.startswith(f"{START} {sentence}")


def test_where_everybody_is_reported_nobody_asks_who_is_found():
    """Unless other splits find a part of them, of whom their ratios are then."""
    alike = Spread(ratios=(1.8, 1.8), shared=1.0)
    assert spread_sentence(found(rule=EVERYBODY, spread=alike)) == (
        f"{START} find no smaller subgroup to report either."
    )
    for shared in (0.4, math.nan):
        parts = Spread(ratios=(1.8, 2.6), shared=shared)
        assert spread_sentence(found(rule=EVERYBODY, spread=parts)) == (
            f"{START} give 1.8 to 2.6, each for the rows that it finds, which are not always all."
        )


def test_where_other_splits_report_everybody_that_is_told():
    """Everybody holds all of these people, so that all of them are found."""
    whole = Subgroup(delta=math.log(1.4), n_rows=900)
    ratios = (whole.ratio, whole.ratio)
    told = spread_sentence(found(population=whole, spread=Spread(ratios=ratios, shared=1.0)))
    assert told == f"{START} report everybody instead, with a ratio of 1.4."
    told = spread_sentence(found(population=whole, spread=Spread(ratios=(1.9, 1.4), shared=1.0)))
    assert told.startswith(f"{START} give 1.4 to 1.9;")


@pytest.mark.parametrize("spread", [None, Spread(), Spread(ratios=(math.nan,) * 2, shared=0.5)])
def test_nothing_is_told_of_splits_that_were_not_made_or_have_no_ratio(spread):
    assert spread_sentence(found(spread=spread)) == ""
    assert START not in told(found(spread=spread))


def test_every_report_and_table_has_what_other_splits_find():
    spread = Spread(ratios=(2.1, 1.75), shared=0.79)
    closest = {"verdict": "insufficient_evidence", "interval": (-0.1, 1.2)}
    for fields in ({}, {"rule": EVERYBODY}, closest):
        case = found(spread=spread, **fields)
        result = AuditResult(violations=(case,))
        assert spread_sentence(case) in told(case)
        for page in (result.to_html(min_cell=1), result.to_model_card(min_cell=1)):
            assert spread_sentence(case) in re.sub(r"\s+", " ", page)
    # Before other people are spoken of.
    case = found(spread=spread, rule_subgroup=Subgroup(delta=0.3, n_rows=9))
    text = told(case)
    assert text.index(START) < min(text.index("The rule is"), text.index("For all who meet"))
    (row,) = result.to_frame().to_dict("records")
    assert (row["spread_low"], row["spread_high"], row["spread_shared"]) == (1.75, 2.1, 0.79)
    assert 'name="spread_low" value="1.75"' in result.to_junit()
    (alone,) = AuditResult(violations=(found(),)).to_frame().to_dict("records")
    assert all(math.isnan(alone[f"spread_{end}"]) for end in ("low", "high", "shared"))


def test_an_audit_that_is_repeated_tells_of_it_and_how_to_make_it_again():
    data = mdfa.datasets.make_synthetic(400, delta=1.5, random_state=0)
    quick = {"learner": "tree", "n_splits": 2, "n_repeats": 2, "random_state": 0}
    result = mdfa.audit(data.X, data.y, sensitive_features=data.sensitive_features, **quick)
    worst = result.worst_case
    assert len(worst.spread.ratios) == 2
    assert 0 <= worst.spread.shared <= 1
    assert spread_sentence(worst).startswith(START)
    assert spread_sentence(worst) in re.sub(r"\s+", " ", result.summary(min_cell=1))
    page = result.to_html(min_cell=1)
    assert spread_sentence(worst) in page.replace("\u00a0", " ")
    assert "n_repeats=2," in page


def test_ratios_that_are_beyond_chance_and_small_say_so():
    """What would have been found counts as a violation, so it is larger."""
    small = found(
        verdict="none_larger_than_detectable",
        delta=math.log(1.03),
        interval=(math.log(1.01), math.log(1.05)),
        reason="the ratio is beyond chance but below 1.05 (min_ratio)",
    )
    text = told(small)
    assert "Nothing was found unequal beyond chance in 1 search; a ratio of 1.07 in a" in text
    assert (
        "That is not called unequal: the ratio is beyond chance but below 1.05 (min_ratio)." in text
    )
    assert "cannot be told from chance" not in text
    assert "below min_ratio" in text
    assert "beyond chance but below 1.05" in AuditResult(violations=(small,)).to_junit()


def test_a_verdict_that_rests_on_the_models_names_its_search():
    resting = found(
        verdict="insufficient_evidence",
        reason="the ratio falls from 2.50 to 1.80 as the models of the features get better",
        depends_on_models=moved(2.5, 1.8, allowance=0.3, decisive=True),
    )
    text = told(resting)
    assert 'Undetermined for race = Black, outcome "no": the ratio falls from 2.50' in text
    assert "The evidence is not enough to go by: the ratio falls from 2.50 to 1.80" in text
    assert "The ratio fell" not in text
    assert "The interval's lower end, p and the finding allow for a fall by another" in text
