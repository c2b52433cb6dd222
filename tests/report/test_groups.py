"""Every group on the page, as far as it may be printed."""

import html
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin import AuditResult
from mdfa_fairness_plugin.records import AuditRecord, GroupCounts
from mdfa_fairness_plugin.report.groups import groups_blocks
from mdfa_fairness_plugin.report.redaction import redact


def groups(*told, feature="race", unknown=(0, 0)):
    """Groups by their refused and hired, and those without a value."""
    every = [(name, True, counts) for name, counts in told] + [(None, False, unknown)]
    n = sum(sum(counts) for *_, counts in every)
    return tuple(
        GroupCounts(
            sensitive_feature=feature,
            group=name,
            known=known,
            counts=counts,
            rates=[k / max(sum(counts), 1) for k in counts],
            share=sum(counts) / n,
        )
        for name, known, counts in every
    )


def record(*own, favorable="yes"):
    n = sum(k for one in own for k in one.counts)
    return AuditRecord(
        groups=own, outcome_labels=("no", "yes"), favorable_label=favorable, n_samples=n
    )


def rows(result):
    return groups_blocks(result)[0].rows


def test_every_group_has_its_rate_and_impact_ratio():
    told = record(*groups(("a", (60, 40)), ("b", (140, 60)), unknown=(20, 30)))
    table, note = groups_blocks(told)
    assert table.header == ("Who", "Rows", "Share", "yes", "Rate", "Impact ratio")
    assert table.rows == (
        ("race = a", 100, "29 %", 40, "40 %", "1.000"),
        ("race = b", 200, "57 %", 60, "30 %", "0.750"),
        ("race not known", 50, "14 %", 30, "60 %", ""),
    )
    assert note.lines == ("Impact ratio: rate over that of the group with the highest.",)
    many = tuple(replace(own, counts=own.counts * 2, rates=own.rates * 2) for own in told.groups)
    many = replace(told, groups=many, favorable_label=None, outcome_labels=("a", "b", "c", "d"))
    assert groups_blocks(many)[1].lines[0].startswith("Of other outcomes (d) result.group_table()")
    plain = groups_blocks(replace(told, favorable_label=None))[0]
    assert plain.header == ("Who", "Rows", "Share", "no", "Rate", "yes", "Rate")


def withheld(told, min_cell=11):
    return [own.group for own in redact(told, min_cell).result.groups if own.withheld]


def test_a_small_count_is_withheld_with_what_would_give_it_away():
    """Alone it would be what the others leave; with the smallest beside it either may be it."""
    told = record(*groups(("a", (60, 40)), ("b", (140, 60)), ("c", (30, 5))))
    assert withheld(told) == ["a", "c"]
    assert withheld(told, min_cell=5) == []
    # Nobody hired tells it of everybody there.
    assert withheld(record(*groups(("a", (60, 40)), ("b", (140, 60)), ("c", (30, 0))))) == [
        "a",
        "c",
    ]
    # Too few hired in both together.
    few = record(*groups(("a", (60, 40)), ("b", (20, 4)), ("c", (30, 5))))
    assert withheld(few) == ["a", "b", "c"]
    table, note = groups_blocks(redact(told, 11).result)
    assert table.rows[0] == ("race = a", None, None, None, None, None)
    assert table.rows[1][:5] == ("race = b", 200, "60 %", 60, "30 %")
    assert "obliged to see them finds them in result.group_table()" in note.lines[-1]
    table, note = groups_blocks(redact(few, 11).result)
    assert not table
    assert note.lines[0].startswith("Counts of every group are withheld here")


def test_of_combinations_those_are_withheld_that_would_give_a_few_away():
    parts = groups(("a", (60, 40)), ("b", (140, 60)))
    sex = groups(("f", (100, 50)), ("m", (100, 50)), feature="sex")
    cells = {("a", "f"): (30, 20), ("a", "m"): (30, 20), ("b", "f"): (70, 30), ("b", "m"): (70, 30)}
    joint = groups(*cells.items(), feature="race & sex")
    assert withheld(record(*parts, *sex, *joint)) == []
    few = cells | {("a", "f"): (5, 20), ("b", "f"): (95, 30)}
    small = groups(*few.items(), feature="race & sex")
    # Of a and b alone, and f and m, none leaves what another does.
    assert withheld(record(*parts, *sex, *small)) == [*cells]
    # Three of a whose sex is not known are what the combinations leave of a.
    parts = groups(("a", (63, 40)), ("b", (140, 60)))
    sex = groups(("f", (100, 50)), ("m", (100, 50)), feature="sex", unknown=(3, 0))
    apart = groups(*cells.items(), feature="race & sex", unknown=(3, 0))
    assert withheld(record(*parts, *sex, *apart)) == ["f", "m", None, *cells, None]


@pytest.fixture(scope="module")
def audited():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({"a": rng.normal(size=n)})
    s = pd.Series(rng.choice(["p", "q"], n), name="s")
    y = (rng.random(n) < np.where(s == "p", 0.3, 0.6)).astype(int)
    own = {"propensity": np.full(n, 0.5), "outcome_probability": np.full(n, 0.5)}
    some = {"learner": "tree", "n_splits": 2, "n_repeats": 1, "favorable_label": 1}
    return mdfa.audit(X, y, sensitive_features=s, **own, **some), s, y


def test_groups_of_an_audit_are_counted_printed_and_read_back(audited, tmp_path):
    result, s, y = audited
    for own in result.groups[:2]:
        inside = s == own.group
        assert own.counts == tuple(np.bincount(y[inside]))
        assert own.rates[1] == pytest.approx(y[inside].mean())
    assert (result.groups[2].known, result.groups[2].counts) == (False, (0, 0))
    page = html.unescape(result.to_html())
    assert "Every group, compared or not" in page
    table = result.group_table()
    told = dict(zip(table["category"], table["impact_ratio"], strict=True))
    assert f"{told['p']:.3f}" in page
    path = tmp_path / "told.json"
    result.to_json(path)
    again = AuditResult.from_json(path)
    assert [own.counts for own in again.groups] == [own.counts for own in result.groups]
    assert again.violations[0].difference == result.violations[0].difference


def test_others_less_the_groups_printed_are_not_those_withheld(audited):
    """Ten of r are too few to audit, but are among everyone else, whom p is compared with."""
    result, *_ = audited
    p, q, unknown = result.groups
    small = replace(q, group="r", counts=(8, 2))
    fewer = replace(q, counts=(q.counts[0] - 8, q.counts[1] - 2))
    told = redact(replace(result, groups=(p, fewer, small, unknown)), 11).result.groups
    assert [own.group for own in told if own.withheld] == ["q", "r"]


def test_a_few_who_were_not_compared_are_not_what_groups_leave(audited):
    """Of p three more than were compared: the table would tell of them."""
    result, *_ = audited
    more = [
        replace(own, counts=(own.counts[0] + 3, own.counts[1])) if own.group == "p" else own
        for own in result.groups
    ]
    changed = replace(result, groups=tuple(more), n_samples=result.n_samples + 3)
    assert all(own.withheld for own in redact(changed, 11).result.groups)
    assert not any(own.withheld for own in redact(result, 11).result.groups)
