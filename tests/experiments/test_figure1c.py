"""Figure 1c on a few small data sets: what is drawn, and what must hold."""

from __future__ import annotations

from mdfa_fairness_plugin.experiments import figure1c, reproduce


def test_figure1c(check, monkeypatch):
    """Published importance weights are the inverse of the right ones, and far off."""
    monkeypatch.setattr(figure1c, "N_ROWS", 1500)
    made = check(reproduce("figure1c", n_splits=8, quick=True))

    def worst(weighting):
        return max(
            abs(one.ours)
            for one in made.comparisons
            if one.reading == f"{weighting}; {figure1c.LEMMA}"
        )

    assert worst(figure1c.INVERTED) > 2.0 * worst(figure1c.ORACLE)
    assert worst(figure1c.UNIFORM) > worst(figure1c.ENTROPY)
    assert made.find("bias of gamma at mu = +0.3", "entropy; definition").why
    assert len(made.panels) == 2
