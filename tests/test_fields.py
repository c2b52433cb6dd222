"""A field says once what becomes of it: tables, test cases, JSON and copies for printing follow."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import pytest

from mdfa_fairness_plugin.fields import Column, columns_of, figures, known, number, pair, whole
from mdfa_fairness_plugin.records import Silence, Subgroup, Violation
from mdfa_fairness_plugin.report.copies import printed
from mdfa_fairness_plugin.report.plain import plain_value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class More(Violation):
    """A violation with three figures more."""

    odds: float = number("cells", Column("odds", table=100, case=100))
    span: tuple[float, float] = pair("rule", Column("span_low", 101, of=lambda ends: ends[0]))
    n_homes: int | None = whole("rule", Column("n_homes", case=101, dtype=int))


def more(**values):
    return More(**{"group": "a", "outcome": 1, **values})


def test_a_new_figure_is_where_its_field_says():
    found = more(odds=2, span=(None, 3), n_homes=4.0)
    assert (found.odds, found.n_homes) == (2.0, 4)
    assert math.isnan(found.span[0])
    assert list(figures(found, "table"))[-2:] == ["odds", "span_low"]
    assert list(figures(found, "case"))[-2:] == ["odds", "n_homes"]
    plain = plain_value(found)
    assert (plain["odds"], plain["span"], plain["n_homes"]) == (2.0, [None, 3.0], 4)
    assert not {"withheld", "propensity"} & set(plain)


def test_copies_for_printing_take_it_as_it_says():
    found = more(odds=2.0, span=(1.0, 3.0), n_homes=4)
    copy = printed(More, found, odds=found.odds)
    assert (copy.odds, copy.n_homes) == (2.0, None)
    assert all(map(math.isnan, copy.span))
    assert copy.withheld == {"span", "n_homes", "n_rows", "n_missing", "rule_rows"}


@pytest.mark.parametrize("where", ["table", "case"])
def test_no_two_columns_share_a_name_or_a_place(where):
    columns = [column for _, column in columns_of(Violation, where)]
    for values in ([c.name for c in columns], [getattr(c, where) for c in columns]):
        assert len(set(values)) == len(values)


def test_a_withheld_count_is_not_taken_for_a_number():
    assert known(3) == 3
    with pytest.raises(ValueError, match="a count that is not withheld expected"):
        known(Subgroup(n_rows=None).n_rows)
    counts = {one.name for one in fields(Subgroup) if type(one.default) is int}
    assert counts == {"n_rows", "n_known"}  # the second of which is rounded


def test_a_record_shows_what_was_found_not_what_was_withheld():
    assert repr(Silence(sensitive_feature="sex", group="a")).startswith(
        "Silence(sensitive_feature='sex', group='a', reference=None, n_rows=0, "
    )
