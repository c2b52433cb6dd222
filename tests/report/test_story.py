"""An audit as a document, read in plain text."""

from __future__ import annotations

import html
import json
import math
import re
import sys
from dataclasses import replace

import pandas as pd
import pytest

from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.exceptions import AuditWarning
from mdfa_fairness_plugin.records import Subgroup, Violation
from mdfa_fairness_plugin.report.sentences import share_text
from mdfa_fairness_plugin.report.story import tell

COUNTS = pd.DataFrame([[40, 10], [15, 30]], index=["Black", "everyone else"], columns=["no", "yes"])


def refused(**fields):
    """Refused 1.8 times as often, between 1.4 and 2.3; 1.2 for everybody."""
    return Violation(
        **{
            "sensitive_feature": "race",
            "group": "Black",
            "outcome": "no",
            "verdict": "violation",
            "delta": math.log(1.8),
            "interval": (math.log(1.4), math.log(2.3)),
            "gamma": 0.011,
            "mass": 0.06,
            "n_rows": 1234,
            "share": 0.2,
            "rates": (0.142, 0.079),
            "counts": COUNTS,
            "p_value": 0.0005,
            "p_value_adjusted": 0.002,
            "detectable_delta": 0.3,
            "rule": "age at most 24",
            "rule_fidelity": 0.93,
            "rule_precision": 0.9,
            "rule_recall": 0.95,
            "membership": [True, False, True, True],
            "held_out": [True] * 4,
            "population": Subgroup(label="everybody", delta=math.log(1.2), interval=(0.05, 0.3)),
            **fields,
        }
    )


def granted(**fields):
    """A search that found nothing larger than 1.3 times."""
    return refused(
        **{
            "outcome": "yes",
            "verdict": "none_larger_than_detectable",
            "delta": math.log(1.05),
            "interval": (math.log(0.9), math.log(1.2)),
            "p_value_adjusted": 0.4,
            "detectable_delta": math.log(1.3),
            "rule": "everybody",
            **fields,
        }
    )


def blind(**fields):
    """A search without enough evidence."""
    return Violation(
        sensitive_feature="race",
        group="Other",
        outcome="no",
        **{"reason": "only 12 rows have race='Other'; at least 30 are needed", **fields},
    )


def audit(*violations, **fields):
    return AuditResult(violations=violations, **{"n_samples": 6172, **fields})


def flat(text):
    """Text without line breaks."""
    return re.sub(r"\s+", " ", text)


def lines(section):
    """Sentences of a section's first block."""
    return section.blocks[0].lines


def searches(result):
    """Rows of the table of all searches, as text has it."""
    return [block.rows for block in tell(result)["searches"].blocks if hasattr(block, "rows")][-1]


def test_an_advantage_is_told_first_where_no_harm_was_found():
    """Nothing else on the first screen says that nothing was found."""
    good = refused(outcome="yes", harm=False)
    result = audit(granted(outcome="no", harm=True), good)
    text = flat(result.summary(min_cell=1))
    assert (
        '95 % of it where age at most 24, those with race = Black get the outcome "yes" 1.8' in text
    )
    assert (
        "Finding: advantage beyond chance, which is others' harm seen from the other side (p"
        in text
    )
    assert "Nothing was found unequal" not in text + flat(result.to_html())
    assert (
        tell(audit(refused(harm=True), good))["verdict"]
        .blocks[0]
        .lines[0]
        .startswith("Finding: unequal beyond chance (p")
    )


def test_headline_says_who_how_many_how_much_of_what_and_against_whom():
    text = flat(audit(refused(), granted()).summary(min_cell=1))
    assert (
        "In one subgroup (1,234 rows, 20 % of those compared), 95 % of it where age at most 24, those "
        'with race = Black get the outcome "no" 1.8 times as often as everyone else with equal audited '
        "features (1.4 to 2.3, with 95 % confidence): 14 of 100 against 8 of 100."
    ) in text
    assert "Finding: unequal beyond chance (p = 0.002, adjusted over all" in text
    assert "For everybody compared the ratio is 1.20 (1.05 to 1.35)." in text
    # From counts to the ratio: 40 of 50 over 15 of 45, and 14.2 % over 7.9 %.
    assert (
        "In the subgroup, 40 of 50 (80 %) of those with race = Black and 15 of 45 (33 %) of everyone "
        "else get this outcome: 2.4 times as often. That is as the rows are; at the same features it "
        "is 14 % and 8 %: 1.8 times as often."
    ) in text


def test_rows_of_the_same_people_are_said_to_be():
    of_people = {"provenance": {"n_working_rows": 12_000, "n_clusters": 4_012}}
    result = audit(refused(), **of_people)
    said = "12,000 rows of 4,012 people (clusters); counts are of rows."
    assert said in flat(result.summary())
    assert said in flat(result.to_model_card())
    assert said in flat(result.to_html())
    assert 'name="n_clusters" value="4012"' in result.to_junit()
    plain = audit(refused(), provenance={"n_working_rows": 12_000, "n_clusters": None})
    for text in (plain.summary(), plain.to_model_card(), plain.to_html(), plain.to_junit()):
        assert "cluster" not in text


def test_both_outcomes_are_told():
    """Being refused and being granted are two searches, both listed."""
    text = audit(refused(), granted()).summary(min_cell=1)
    table = text[text.index("ALL SEARCHES") :]
    assert re.search(r"race = Black +no +1\.8 +1\.4 to 2\.3 .* unequal beyond chance", table)
    assert re.search(r"race = Black +yes +1\.05 +0\.90 to 1\.20 .* 1\.3  not found unequal", table)


def test_the_rule_has_a_ratio_of_its_own():
    rule = Subgroup(
        label="rule", delta=math.log(1.6), interval=(math.log(1.3), math.log(2)), n_rows=1500
    )
    told = (
        'Where age at most 24 (1,500 rows), those with race = Black get the outcome "no" 1.6 times as '
        "often as everyone else with equal audited features (1.3 to 2.0, with 95 % confidence). In "
        "the subgroup itself, which the search marked row by row (1,234 rows), the ratio is 1.8 (1.4 "
        "to 2.3)."
    )
    case = refused(rule_subgroup=rule)
    assert told in flat(audit(case).summary(min_cell=1))
    versions = flat(audit(replace(case, rule_rows=1620)).summary(min_cell=1))
    assert told.replace("1,500", "1,620") in versions
    assert (
        "The rule's own ratio is measured on 1,500 rows, each told by a version of the rule made "
        "without its outcome; as printed it holds for 1,620."
    ) in versions
    few = flat(audit(replace(case, rule_rows=1506)).to_html())
    assert "(about 1,510 rows" in few
    assert "1,506" not in few
    # Whether the rule is told does not hang on what is withheld: here it holds for 260 of 1,500 rows.
    case_of_few = replace(case, rule_rows=260, n_rows=255)
    assert "Where age at most 24 (" not in flat(audit(case_of_few).to_html())
    # Where it holds for far fewer rows than its versions do, or is itself not beyond chance, what is
    # said is of the subgroup.
    chance = replace(rule, interval=(-0.1, 1.0))
    for own in (replace(case, rule_rows=900), replace(case, rule_subgroup=chance)):
        text = flat(audit(own).summary(min_cell=1))
        assert "In one subgroup (1,234 rows, 20 % of those compared), 95 % of it where age" in text
        assert "in the subgroup or not (1,500 rows), the ratio is 1.6" in text
    badly = flat(audit(replace(case, rule_rows=900, rule_recall=0.3)).summary(min_cell=1))
    assert "In one subgroup that no short rule describes well (1,234 rows" in badly
    for own in (refused(), refused(rule="everybody", rule_subgroup=rule)):
        assert "the ratio is 1.6" not in flat(audit(own).summary(min_cell=1))


def test_further_violations_are_told_beside_the_worst():
    other = refused(group="Asian", interval=(0.1, 0.9), outcome="yes")
    text = flat(audit(other, refused()).summary(min_cell=1))
    assert text.index("race = Black") < text.index("ALSO FOUND") < text.index("race = Asian")


def test_reference_is_named():
    text = flat(audit(refused(reference="White")).summary(min_cell=1))
    assert "as often as those with race = White with equal audited features" in text


def test_nothing_found_is_told_with_the_size_that_would_have_been_seen():
    text = flat(audit(granted(), granted(detectable_delta=math.log(1.5))).summary(min_cell=1))
    assert (
        "Nothing was found unequal beyond chance in 2 searches; in each of them a ratio of 1.5 in "
        "a subgroup as small as searched for would have been found with 80 % probability; smaller "
        "ones, and smaller subgroups, cannot be ruled out."
    ) in text
    assert "Closest to being unequal beyond chance, by its lower limit:" in text
    assert "This is not a finding of equal treatment." in text
    both = audit(granted(harm=True), granted(harm=False)).summary(min_cell=1)
    assert "beyond chance in 1 search for harm;" in flat(both)


def test_masses_too_small_for_any_ratio_are_named():
    own = audit(granted(alpha=0.03, detectable_mass=0.06), granted(alpha=0.05))
    text = flat(own.summary(min_cell=1))
    assert (
        "a ratio of 1.3 in a subgroup so large that 1 in 17 of all are in it and have the" in text
    )
    assert "1.3 in a mass of 0.06 not found unequal" in text


@pytest.mark.parametrize("unknown", [math.nan, math.inf, None])
def test_nothing_found_without_a_known_detectable_size(unknown):
    text = flat(audit(granted(detectable_delta=unknown)).summary())
    assert "how large a disparity would have been found is not known." in text
    assert "nan" not in text


def test_not_enough_evidence_gives_its_reason():
    text = flat(audit(blind()).summary())
    assert "Undetermined: the one search of this audit cannot tell" in text
    assert text.count("only 12 rows have race='Other'") == 2
    both = flat(audit(granted(), blind()).summary())
    assert "For 1 other search there is not enough evidence to say anything." in both


def test_no_searches_at_all():
    assert "Nothing was audited" in AuditResult().summary()


def test_outcome_that_nobody_else_has_is_told_in_words():
    case = refused(delta=math.inf, interval=(math.log(3), math.inf))
    text = flat(audit(case).summary(min_cell=1))
    assert "everyone else with equal audited features never do here, so that no ratio" in text
    assert "no ratio can be given (at least 3.0, with 95 % confidence)" in text
    assert "infinity times" not in text


def test_outcome_that_the_group_never_has_is_told_in_words():
    text = flat(audit(granted(delta=-math.inf, interval=(-5.0, 0.1), rule="")).summary(min_cell=1))
    assert 'never get the outcome "yes" here' in text


def test_a_violation_without_lower_bound_is_still_told_first():
    case = refused(interval=(-math.inf, math.inf))
    result = audit(granted(), case)
    assert lines(tell(result)["headline"])[0].startswith("In one subgroup (1,234 rows")


@pytest.mark.parametrize(
    "case",
    [
        Violation(group="a", outcome=1, verdict="violation"),
        Violation(group="a", outcome=1, verdict="none_larger_than_detectable"),
        Violation(group="a", outcome=1),
        refused(population=Subgroup(), core=Subgroup(delta=math.inf, n_rows=10)),
        refused(population=Subgroup(delta=math.inf), rates=None, rule="", share=None),
        refused(p_value_adjusted=None, interval=None, rule_recall=None),
        refused(delta=800.0, interval=(700.0, 900.0), detectable_delta=900.0),
        granted(delta=800.0, interval=(700.0, 900.0), detectable_delta=900.0),
    ],
)
def test_partial_results_are_told_without_nan(case):
    result = audit(case)
    text = result.summary()
    assert not re.search(r"\bnan\b|\bNone\b", text)
    json.loads(result.to_json())
    assert result.to_html().count("</html>") == 1


def test_what_could_not_be_seen_is_listed():
    result = audit(
        refused(),
        blind(),
        excluded={"missing sensitive value (race)": 12, "zero weight": 0},
        balance={("race", "Black"): {"n_outside_support": 40, "share_outside_support": 0.02}},
        warnings=(AuditWarning("OverlapWarning", "race: 40 rows have no counterpart"),),
        alpha=0.03,
    )
    text = flat(result.summary())
    unseen = text[text.index("WHAT THIS AUDIT COULD NOT SEE") :]
    assert "12 rows left out: missing sensitive value (race)." in unseen
    assert "zero weight" not in unseen
    assert "40 rows (2 % by weight) compared for race = Black: no comparable row" in unseen
    assert "Undetermined for race = Other" in unseen
    assert (
        "Subgroups are searched from 1 in 33 on: of all that is compared, by weight, so much is in the "
        "subgroup and has the outcome (alpha = 0.03). Smaller ones may be treated worse."
    ) in unseen
    assert "race: 40 rows have no counterpart [OverlapWarning]" in unseen


def test_a_tenth_of_those_who_have_the_outcome_is_told():
    """.0083 and .05 of all; where nothing was searched for, or that is withheld, in words alone."""
    text = flat(audit(refused(alpha=0.0083), granted(alpha=0.05), blind()).summary())
    assert (
        'from 1 in 120 (outcome "no") and 1 in 20 (outcome "yes") on: of all that is compared, by '
        "weight, so much is in the subgroup and has the outcome (alpha = auto, a tenth of those who "
        "have it or 1 in 20 of all)."
    ) in text
    assert "alpha = auto; intervals at" in text
    # Rows left out differ between the comparisons of several groups, and so do their rates.
    text = flat(audit(refused(alpha=0.0083), refused(alpha=0.0095), granted(alpha=0.05)).summary())
    assert 'from 1 in 120 to 1 in 110 (outcome "no") and' in text
    text = flat(audit(refused(alpha=0.05), granted(alpha=0.05)).summary())
    assert "Subgroups are searched from 1 in 20 on: of all" in text
    text = flat(audit(blind()).summary())
    assert (
        "Subgroups are searched from a tenth of those who have the outcome on, or 1 in 20 of all "
        "compared if that is fewer (alpha = auto)."
    ) in text


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.3, "30 %"),
        (0.1, "1 in 10"),
        (0.0171, "1 in 58"),
        (1 / 1234, "1 in 1,200"),
    ],
)
def test_shares_of_all_that_is_compared(share, said):
    assert share_text(share) == said


def test_seed_and_version_are_told():
    provenance = {"versions": {"mdfa_fairness_plugin": "0.1.0"}, "seed": 7}
    text = audit(refused(), provenance=provenance).summary()
    assert "mdfa-fairness-plugin 0.1.0; seed 7." in text
    assert "seed not set" in flat(audit(refused()).summary())


@pytest.mark.parametrize(
    "result",
    [AuditResult(), audit(refused(), granted(), blind()), audit(granted()), audit(blind())],
)
def test_no_clean_bill_of_health_and_no_legal_verdict(result):
    """A finding of nothing is never called a success."""
    for text in (result.summary(), result.to_html()):
        assert not re.search(
            r"\b(fair|fairly|pass|passes|passed|unfair|legal(ly)? (compliant|violation)|illegal"
            r"|compliant|bias-free|nan)\b",
            text,
            re.IGNORECASE,
        )


def test_text_drawn_from_data_cannot_steer_a_terminal_or_fill_the_page():
    hostile = "x\x1b[2J\x07\nVERDICT: all is well\u202e" + "y" * 5000
    result = audit(
        refused(sensitive_feature=hostile, group=hostile, outcome=hostile, rule=hostile),
        blind(reason=hostile),
        excluded={hostile: 3},
        warnings=(AuditWarning(hostile, hostile[:60]),),
        outcome_labels=(hostile,),
        feature_names=(hostile,) * 50,
        provenance={
            "seed": hostile,
            "versions": {"mdfa_fairness_plugin": hostile},
            "input_hash": hostile,
        },
        balance={(hostile, hostile): {"n_outside_support": 3, "share_outside_support": 0.1}},
    )
    text = result.summary()
    assert all(line.isprintable() for line in text.split("\n"))
    assert not re.search(r"^VERDICT: all is well", text, re.MULTILINE)
    assert len(text) < 9000
    assert max(map(len, text.split("\n"))) < 200


def test_lines_fit_a_page_and_long_tables_are_cut():
    result = audit(*(refused(group=f"g{i}") for i in range(60)))
    text = result.summary()
    assert text.count("\n") < 90
    assert "and 44 more searches" in text
    assert "55 more are listed below." in text


def test_columns_line_up_with_wide_characters():
    text = audit(refused(group="東京"), granted(group="Oslo")).summary(min_cell=1)
    rows = [line for line in text.split("\n") if line.startswith("race = ")]
    assert rows[0].index(" no ") + 2 == rows[1].index(" yes ")


def test_an_interval_below_one_is_said_to_be_less_often():
    """The verdict beside "0.73 (0.65 to 0.84)" must fit it."""
    fewer = granted(
        delta=math.log(0.73),
        interval=(math.log(0.65), math.log(0.84)),
        detectable_delta=math.log(1.9),
    )
    about = granted(interval=(math.log(0.9), math.log(1.2)), detectable_delta=math.log(1.9))
    verdicts = [row[-1] for row in searches(audit(fewer, about))]
    assert sorted(verdicts) == ["less often; not found unequal", "not found unequal"]
    unknown = granted(interval=(-0.4, -0.1), detectable_delta=math.nan)
    assert searches(audit(unknown))[0][-1] == "less often; not found unequal"


def test_the_search_told_without_a_violation_is_the_one_it_is_ranked_by():
    """Not always the largest ratio: a wide interval may hold that one."""
    large = granted(group="wide", delta=math.log(3), interval=(math.log(0.5), math.log(9)))
    sure = granted(group="sure", delta=math.log(1.1), interval=(math.log(0.95), math.log(1.3)))
    details = lines(tell(audit(large, sure))["found"])
    assert details[0].startswith("Closest to being unequal beyond chance, by its lower limit: ")
    assert "race = sure" in details[0]
    assert "argest difference" not in audit(large, sure).summary(min_cell=1)


def test_a_column_without_a_name_is_quoted_everywhere():
    nameless = audit(
        refused(sensitive_feature="", n_missing=40),
        granted(sensitive_feature="", verdict="insufficient_evidence", reason="few"),
        sensitive_names=("",),
        feature_names=("",),
    )
    text = flat(nameless.summary(min_cell=1))
    assert "those with '' = Black" in text
    assert "no known ''" in text
    assert "Compared by: ''" in text
    assert not re.search(r"(with|for|by)  ?= ", text)


# -- leaks come first


LEAK = AuditWarning(
    "LeakWarning", "'points' decides the outcome alone. If it is an input, drop it."
)


@pytest.mark.parametrize(
    "first",
    [
        lambda result: result.summary(min_cell=1),
        lambda result: result.to_model_card(),
        lambda result: re.sub(r"<[^>]+>", " ", result.to_html().split("<body")[1]),
        lambda result: re.sub(r"<style.*?</style>|<[^>]+>", " ", result._repr_html_(), flags=re.S),
    ],
)
def test_a_leak_is_told_before_anything_else(first):
    result = AuditResult(violations=(refused(),), warnings=(LEAK,))
    text = " ".join(html.unescape(first(result)).split())
    assert 0 <= text.find("'points' decides the outcome alone.") < text.find("In one subgroup")


def test_a_leak_is_in_the_test_cases_too():
    text = AuditResult(violations=(refused(),), warnings=(LEAK,)).to_junit()
    (told,) = re.findall(r'name="leaks" value="([^"]*)"', text)
    assert told.startswith("'points' decides the outcome alone.")
    assert 'name="leaks"' not in AuditResult(violations=(refused(),)).to_junit()


def everybody(**fields):
    """A search that tells of everybody: 1.8 times, at least 1.4."""
    whole = Subgroup(label="everybody", delta=math.log(1.8), interval=(0.336, 0.833), n_rows=1234)
    return refused(**{"rule": "everybody", "population": whole, "share": 1.0, **fields})


def part(label, **fields):
    """Part of everybody: 3 times, at least 1.2."""
    fields = {"delta": math.log(3), "interval": (math.log(1.2), 2.0), "n_rows": 300, **fields}
    return Subgroup(label=label, **fields)


def test_a_part_with_evidence_of_its_own_is_told_beside_everybody():
    box = part("searched", beside=True, rule="age at most 30", rule_fidelity=0.9)
    result = audit(everybody(searched=box, core=part("core", n_rows=1234)))
    told = (
        "A part of them is unequal beyond chance by itself. Mostly where age at most 30 (300 rows, 24 "
        "% of those compared), the ratio is 3.0 (1.2 to 7.4). Whether these are treated more unequally "
        "than everybody is not certain."
    )
    assert lines(tell(result)["found"])[:2] == (
        "This is about everybody compared (1,234 rows).",
        told,
    )
    assert [row[:2] for row in searches(result)] == [
        ("race = Black, everybody", "no"),
        ("a part of them", "no"),
    ]
    assert searches(result)[1][2:] == ("3.0", "1.2 to 7.4", "", 300, "", "", "")
    assert "In a part of them" in result.to_html(min_cell=1)
    blind = replace(result.violations[0], verdict="insufficient_evidence", reason="it falls")
    unfound = " ".join(audit(blind).summary(min_cell=1).split())
    assert "Of a part of them: Mostly where age at most 30" in unfound
    assert "unequal beyond chance by itself" not in unfound
    # Also of a search that is not told first.
    other = audit(refused(group="Asian", interval=(0.7, 0.9)), result.violations[0])
    assert told in flat(other.summary(min_cell=1))
    assert "In its worst part" not in flat(result.summary(min_cell=1))


def test_of_two_parts_the_one_surely_above_everybody_is_told():
    core = part("core", beside=True, interval=(math.log(2), 2.0))
    text = flat(
        audit(everybody(core=core, searched=part("searched", beside=True))).summary(min_cell=1)
    )
    assert "In one subgroup (300 rows, 24 % of those compared), the ratio is 3.0 (2.0" in text
    assert "is not certain" not in text


def test_what_is_not_sure_of_a_part_is_not_denied():
    """Its estimate may be higher: everybody are told as their lower limit is."""
    text = flat(audit(everybody(searched=part("searched"), alpha=0.05)).summary(min_cell=1))
    assert (
        "This is about everybody compared (1,234 rows). Smaller subgroups were looked for, as long as "
        "1 in 20 of all compared is in it and has the outcome: none was found whose ratio is higher "
        "beyond doubt, by the lower end of its interval."
    ) in text
    surer = flat(audit(everybody(core=part("core", interval=(0.4, 2.0)))).summary(min_cell=1))
    assert (
        "This is about everybody compared (1,234 rows). Among everybody compared, 40 of 50" in surer
    )
    assert "In its worst part found (300 rows) the ratio is 3.0" in surer


def test_one_row_says_what_everybodys_ratio_is():
    whole = Subgroup(label="everybody", delta=math.log(1.2), interval=(0.05, 0.3), n_rows=6000)
    result = audit(granted(), refused(population=whole))
    rows = searches(result)
    assert [row[0] for row in rows] == ["race = Black", "everybody", "race = Black"]
    assert rows[1] == ("everybody", "no", "1.20", "1.05 to 1.35", "", 6000, "", "", "")
    assert len(result.to_frame()) == 2
    for text in (result.to_model_card(min_cell=1), result.to_html(min_cell=1)):
        assert text.count("1.05 to 1.35") >= 2


def test_size_and_evidence_are_told_in_the_words_of_auditors():
    """Three standard deviations after allowing for the search: an adjusted p of .00135."""
    told = {"difference": 0.213, "difference_interval": (0.094, 0.31), "statistic": 9.71}
    case = refused(p_value_adjusted=0.0013498980316301, **told)
    result = audit(case, granted())
    said = (
        "1.8 times as often, a difference of 21.3 percentage points (9.4 to 31.0).",
        "That is 3.0 standard deviations after allowing for the search (9.7 without).",
    )
    page = flat(html.unescape(result.to_html(min_cell=1)))
    for text in (flat(result.summary(min_cell=1)), flat(result.to_model_card(min_cell=1)), page):
        assert all(one in text for one in said)
    assert "Difference of rates" in page
    assert "SD: standard deviations beyond chance" in page
    frame = result.to_frame().iloc[0]
    assert frame[["difference", "difference_low", "difference_high"]].tolist() == [
        0.213,
        0.094,
        0.31,
    ]
    assert frame["standard_deviations"] == pytest.approx(3.0)
    assert json.loads(result.to_json())["violations"][0]["standard_deviations"] == pytest.approx(
        3.0
    )
    # Where there is no evidence nothing is said, and no page tells of a difference of few people.
    none = flat(audit(refused(p_value_adjusted=0.7, **told)).summary(min_cell=1))
    assert "standard deviations" not in none
    few = audit(replace(case, counts=pd.DataFrame([[40, 3], [15, 30]], index=["Black", "others"])))
    assert "21 percentage" not in flat(few.to_html())
    assert "21" not in flat(few.to_model_card())


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        ((0.3322, 0.2909), "33 of 100 against 29 of 100"),  # 4 of 100 and 4.1 points
        ((0.2635, 0.1575), "264 of 1,000 against 158 of 1,000"),  # 26 / 16 is 1.6, not 1.7
        ((0.3349, 0.2751), "335 of 1,000 against 275 of 1,000"),  # 33 - 28 is 5, not 6
    ],
)
def test_frequencies_of_the_headline_lead_to_its_ratio_and_points(rates, told):
    case = refused(rates=rates, delta=math.log(rates[0] / rates[1]))
    assert told in flat(audit(case).to_html(min_cell=1))


def test_a_long_name_is_once_in_full():
    name = "how often somebody was stopped by the police within the last twelve months"
    result = AuditResult(violations=(refused(),), feature_names=("age", name), n_samples=9)
    page = flat(result.to_html(min_cell=1))
    assert page.count(name) == 1
    assert "Long names in full" in page
    assert "Long names in full" not in audit(refused()).to_html(min_cell=1)


def test_smaller_subgroups_are_shares_of_all_compared_that_have_the_outcome():
    text = flat(audit(everybody(alpha=0.01)).summary(min_cell=1))
    assert (
        "Smaller subgroups were looked for, as long as 1 in 100 of all compared is in it and has the "
        "outcome: none was found"
    ) in text


@pytest.mark.parametrize(("where", "told"), [("to_html", True), ("summary", False)])
def test_pictures_are_only_where_there_are_some(where, told):
    few = refused(counts=COUNTS - 10, n_rows=55, rates=(0.9, 0.2))
    text = flat(getattr(audit(few), where)())
    assert "withheld on this" in text
    assert ("sentences and pictures" in text) == told


def test_numbers_stay_with_their_units():
    page = audit(refused()).to_html(min_cell=1)
    assert "95\u00a0% confidence" in page
    assert not re.search(r"\d %", re.sub(r"<(style|pre|svg).*?</\1>", "", page, flags=re.S))
    lines = audit(refused()).summary(min_cell=1).splitlines()
    assert not [line for line in lines if line.lstrip("- ").startswith("% ")]
    assert max(map(len, lines)) >= 70


def calls_of(result):
    """How many functions are called for a page."""
    n = 0

    def count(frame, event, arg):
        nonlocal n
        n += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        result.to_html(min_cell=1)
    finally:
        sys.setprofile(before)
    return n


def of_size(n_features, n_searches):
    """A page of so many features and searches."""
    names = tuple(f"x{i}" for i in range(n_features))
    index = pd.MultiIndex.from_tuples(
        [("rows", "", "count"), ("rows", "", "share"), *((name, "", "mean") for name in names)],
        names=["feature", "level", "statistic"],
    )
    parts = [("population", "Black"), ("population", "others"), ("subgroup", "Black")]
    columns = pd.MultiIndex.from_tuples([*parts, ("subgroup", "others"), ("difference", "")])
    profile = pd.DataFrame(1.5, index=index, columns=columns)
    found = (refused(outcome=f"no {i}", profile=profile) for i in range(n_searches))
    balance = {
        ("race", "Black"): {when: dict.fromkeys(names, 0.1) for when in ("smd_before", "smd_after")}
    }
    return AuditResult(violations=tuple(found), feature_names=names, balance=balance, n_samples=99)


def test_a_page_takes_time_in_proportion_to_features_and_searches():
    """Four times as many features, or searches, take at most about four times as many calls."""
    few, features, searched = (calls_of(of_size(*size)) for size in ((50, 1), (200, 1), (50, 4)))
    assert features <= 4.2 * few
    assert searched <= 4.2 * few
