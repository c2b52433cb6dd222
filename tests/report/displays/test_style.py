"""How long names are shortened."""

from __future__ import annotations

from mdfa_fairness_plugin.report.displays.style import short, short_names


def test_names_that_differ_still_do_when_shortened():
    names = [f"measurement number {i} of the long questionnaire" for i in range(3)]
    shown = short_names(names, 22)
    assert len(set(shown)) == 3
    assert max(map(len, shown)) <= 22
    assert short("あ" * 40, 20) != short("あ" * 3, 20)
    assert len(short("あ" * 40, 20)) <= 11
