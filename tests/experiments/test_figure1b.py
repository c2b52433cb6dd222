"""Figure 1b on a few small data sets: what is drawn, and what must hold."""

from __future__ import annotations

from mdfa_fairness_plugin.experiments import figure1b, reproduce


def test_figure1b(check, monkeypatch):
    """The forest's level sets follow Algorithm 1 up to noise, and both climb."""
    monkeypatch.setattr(figure1b, "N_ROWS", 1500)
    monkeypatch.setattr(figure1b, "N_STEPS", 12)
    made = check(reproduce("figure1b", n_splits=2))
    assert (
        made.find("|delta of Algorithm 1 - delta of the level set|", "same forest, same t").ours
        < 0.35
    )
    delta, mass = made.panels
    for curve in delta.curves:
        assert curve.y[-1] > curve.y[0]
    for curve in mass.curves:
        assert curve.y[-1] < curve.y[0]
