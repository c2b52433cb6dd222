"""How numbers and verdicts are said."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.describe.decimals import decimals, ratios_text
from mdfa_fairness_plugin.records import Subgroup
from mdfa_fairness_plugin.report.effects import effect_by, effect_cell, interval_cell
from mdfa_fairness_plugin.report.figures import (
    frequency,
    percentage,
    points,
    points_text,
    rates_text,
    ratio_text,
)
from mdfa_fairness_plugin.report.findings import FINDINGS
from mdfa_fairness_plugin.report.legends import one_sided
from mdfa_fairness_plugin.report.rates import RATES
from mdfa_fairness_plugin.report.sentences import (
    by_rule,
    case_sentence,
    deviations,
    p_text,
    searched_sentence,
)
from mdfa_fairness_plugin.report.story import tell

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-\d+)?")
EFFECTS = {
    "rates": RATES,
    "means": effect_by("ratio", "amount"),
    "amounts": effect_by("difference", "amount"),
    "ranks": effect_by("difference", "rank"),
    "steps": effect_by("difference", "steps"),
}


def drawn(kind, rng):
    """An estimate with its interval, of all sizes and often next to no difference."""
    size, half = 10.0 ** rng.uniform(-3, 1.5), 10.0 ** rng.uniform(-4, 0.5)
    centre = rng.choice([0.0, size, -size, half])
    ends = (centre - half * rng.uniform(0, 1.2), centre + half * rng.uniform(0, 1.2))
    if kind in ("rates", "means"):
        return {"delta": centre, "interval": ends}
    scale = {"amounts": 10.0 ** rng.integers(-2, 6), "ranks": 0.02, "steps": 0.3}[kind]
    told = {"difference": scale * centre, "difference_interval": (scale * ends[0], scale * ends[1])}
    return {"measure": "difference", "outcome_sd": scale, **told}


@pytest.mark.parametrize("kind", EFFECTS)
def test_an_interval_has_the_decimals_of_its_estimate_holds_it_and_is_never_read_as_none(kind):
    effect, rng = EFFECTS[kind], np.random.default_rng(0)
    for _ in range(400):
        found = Subgroup(label="any", n_rows=9, **drawn(kind, rng))
        for told in (
            effect.spanned(found),
            f"{effect_cell(found, effect)} ({interval_cell(found, effect)})",
        ):
            texts = NUMBER.findall(told)
            assert len(texts) == 3, told
            assert len(set(map(decimals, texts))) == 1, told
            value, low, high = (float(text.replace(",", "")) for text in texts)
            assert low <= value <= high, told
            exact = (effect.value(found), *effect.ends(found))
            by = 100.0 if kind == "ranks" else 1.0
            for text, true in zip((value, low, high), exact, strict=True):
                # On the side of no difference that it is on, if it is an end, and as near as its
                # decimals say.
                side = (true > effect.none + 1e-9) - (true < effect.none - 1e-9)
                said = (text > effect.none) - (text < effect.none)
                assert said == side or (said == 0 and min(exact) < true < max(exact)), told
                step = 10.0 ** -decimals(texts[0])
                near = 0.006 * by * max(map(abs, exact)) if kind == "amounts" else 0.0
                assert abs(text - by * true) <= max(1.01 * step, near), told


def test_numbers_that_stand_together_look_different_if_they_are():
    for low, high in itertools.combinations(np.linspace(0.2, 3.0, 40), 2):
        first, second = ratios_text((low, high))
        assert first != second
        assert decimals(first) == decimals(second)
    assert ratios_text((1.12, 1.3)) == ["1.12", "1.30"]
    assert ratios_text((1.0, 1.04)) == ["1.00", "1.04"]
    assert ratios_text((1.13, 1.01, 1.3)) == ["1.13", "1.01", "1.30"]
    assert ratios_text((1.4, math.inf, math.nan)) == ["1.4", "inf", ""]
    # An estimate does not look like an end of its interval; next to none it may look like none.
    assert ratios_text((1.24, 1.16, 1.33)) == ["1.24", "1.16", "1.33"]
    assert ratios_text((1.0003, 0.966, 1.0408)) == ["1.00", "0.97", "1.04"]


def test_rates_lead_to_the_ratio_as_it_is_printed():
    """Whoever divides the two numbers finds the ratio."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        other = 10.0 ** rng.uniform(-2.5, -0.4)
        own = min(other * math.exp(rng.normal(0, 0.7)), 1.0)
        ratio = ratio_text(own / other)
        for write, read in ((frequency, r"([\d,]+) of ([\d,]+)"), (percentage, r"(\S+) %")):
            texts = rates_text((own, other), ratio, write)
            parts = [re.fullmatch(read, text).groups() for text in texts]
            assert len({p[1:] for p in parts}) == 1
            first, second = (float(p[0].replace(",", "")) for p in parts)
            # Up to one in the last place where even thousandths of a percent are too coarse.
            assert abs(first / second - float(ratio)) < 1.51 * 10.0 ** -decimals(ratio)
    assert rates_text((0.24, 0.12), "2.0", frequency) == ["24 of 100", "12 of 100"]
    # So many of 10,000 would be more than there are rows; of rare outcomes it may have to be.
    close = (0.6164, 0.6107), "1.01", frequency, "1"
    assert rates_text(*close)[0] == "6,164 of 10,000"
    assert rates_text(*close, most=2) == ["616 of 1,000", "611 of 1,000"]
    assert rates_text((0.0123, 0.01), "1.23", frequency, most=2)[0] == "123 of 10,000"
    # Whoever subtracts them finds the difference; one that is not made of them asks for nothing.
    assert rates_text((0.1262, 0.0808), "1.6", percentage, "4.5") == ["12.6 %", "8.1 %"]
    assert rates_text((0.1262, 0.0808), "1.6", percentage, "9.9") == ["13 %", "8 %"]
    assert rates_text((0.0, 0.123), "", percentage, "-12") == ["0 %", "12 %"]


def test_ratio_and_p_never_round_to_something_else():
    assert ratio_text(1.004) == "1.004"
    assert ratio_text(1.0) == "1.00"
    assert ratio_text(0.0) == "0.00"
    assert ratio_text(0.96) == "0.96"
    assert p_text(0.0) == "p < 0.001"
    assert p_text(1.0) == "p = 1"
    assert p_text(math.nan) == "p unknown"


def test_points_and_deviations_are_short_and_never_rounded_to_nothing():
    assert [points(x) for x in (0.6134, 0.0841, -0.1249, 0.00321)] == ["61", "8.4", "-12", "0.32"]
    assert points(math.nan) == points_text(math.nan, (0.1, 0.2)) == ""
    assert points_text(-0.12, (-0.2, 0.0)) == "-12 percentage points (-20 to 0)"
    assert points_text(0.106, (0.072, 0.141)) == "10.6 percentage points (7.2 to 14.1)"
    assert points_text(0.12, (math.nan, math.nan)) == "12 percentage points"
    told = [deviations(x) for x in (4.26, math.inf, 0.0, -math.inf, math.nan)]
    assert told == ["4.3", "over 38", "", "", ""]


# -- sentences against the numbers they speak of


def numbers_of(text):
    """Numbers of a sentence, in its order."""
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


@pytest.fixture(scope="module")
def told():
    """An audit, its search told first and its page as one line of text."""
    data = mdfa.datasets.make_synthetic(600, delta=1.5, random_state=1)
    quick = {"learner": "tree", "n_splits": 2, "n_repeats": 2, "random_state": 0}
    result = mdfa.audit(data.X, data.y, sensitive_features=data.sensitive_features, **quick)
    return result, result.worst_case, " ".join(result.summary(min_cell=1).split())


def test_a_headline_is_of_the_rows_it_names_by_the_results_own_numbers(told):
    result, case, text = told
    own = case.rule_subgroup
    assert by_rule(case) is own
    plain = result.to_dict()["violations"][result.violations.index(case)]
    rule = plain["rule_subgroup"]
    sentence = case_sentence(case)
    assert sentence in text
    size, _, rest = sentence.removeprefix(f"Where {case.rule} (").partition(" rows")
    assert float(size.replace(",", "")) == plain["rule_rows"]
    low, high = map(math.exp, rule["interval"])
    found = re.search(r"(\S+) times as often .* \((\S+) to (\S+), with", rest)
    times, least, most = map(float, found.groups())
    assert (times, least, most) == pytest.approx((math.exp(rule["delta"]), low, high), rel=0.05)
    first, of, second, same = numbers_of(rest)[-4:]
    assert of == same
    assert (first / of, second / of) == pytest.approx(rule["rates"], abs=0.01)
    assert round(first / second, 1) == pytest.approx(times, abs=0.11)
    # Then the set that was searched for, with its own.
    searched = searched_sentence(case)
    assert f"({case.n_rows:,d} rows)" in searched
    assert numbers_of(searched)[1] == pytest.approx(case.ratio, rel=0.05)
    assert text.index(sentence) < text.index(searched) < text.index("Finding:")


def test_counts_lead_to_the_ratio_of_the_subgroup(told):
    _, case, text = told
    hits, n = case.counts[case.outcome], case.counts.sum(axis=1)
    (a, b), (k, m) = hits, n
    raw = ratio_text(a / k / (b / m))
    for said in (f"{a} of {k} (", f"{b} of {m} (", f"get this outcome: {raw} times as often."):
        assert said in text
    assert f"{RATES.told(case)[0]} times as often, a difference of" in text


def test_what_weights_left_unequal_is_said_beside_the_features(told):
    result, case, text = told
    assert "Weights left unequal" not in text
    key = (case.sensitive_feature, case.group)
    far = {key: {"smd_after": {"x1": -0.21, "x2": 0.099}}}
    text = " ".join(replace(result, balance=far).summary(min_cell=1).split())
    assert (
        "At equal values of: x1, x2. Weights left unequal, in standard deviations: x1 by 0.21 (more "
        "than 0.1); the models of the outcome correct for that as far as they can."
    ) in text


def test_a_high_p_beside_an_interval_below_one_is_explained(told):
    result, case, text = told
    turned = [v for v in result.violations if v.ratio_interval[1] < 1 and v.p_value_adjusted > 0.5]
    assert bool(turned) == ("p is one-sided" in text)
    below = replace(case, interval=(-0.4, -0.1), delta=-0.2, p_value_adjusted=1.0)
    assert "near 1 where it is surely the other way round" in one_sided((below,))
    assert one_sided((case,)) == ""


def test_every_word_of_a_finding_is_in_the_glossary(told):
    (words,) = tell(told[0])["words"].blocks
    begun = {line.partition(":")[0] for line in words.lines}
    assert {word.capitalize() for word in FINDINGS.values()} < begun
    assert {"80 % power", "Ratio", "Row", "Subgroup", "Rule", "Mass", "p"} < begun
