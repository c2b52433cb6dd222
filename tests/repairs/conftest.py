"""People whose incomes the repairs are to make more equal, and the repairs fitted to them once."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.repairs import REPAIRS, make_repair

FROM_AIF360 = ("Reweighing-LC", "Reject-LC", "EqOdds-LC", "CalOdds-LC")
NEEDS = {
    name: ("aif360",) if name in FROM_AIF360 else () if name == "LC" else ("fairlearn",)
    for name in REPAIRS
} | {"DI-LC": ("aif360", "BlackBoxAuditing")}
# A coarser search than for users.
QUICK = {
    "Reject-LC": {"num_class_thresh": 25, "num_ROC_margin": 10},
    "Grid-LC": {"grid_size": 20},
}


class People:
    """Women work fewer hours and earn less at equal hours, as in Adult."""

    def __init__(self):
        rng = np.random.default_rng(3)
        n = 2000
        sex = np.where(rng.random(n) < 0.4, "Female", "Male")
        man = sex == "Male"
        hours = rng.normal(36 + 6 * man, 9)
        study = rng.integers(6, 17, n)
        job = rng.choice(["trade", "office"], n)
        job = np.where(rng.random(n) < 0.5 - 0.2 * man, "care", job)
        score = 0.08 * (hours - 38) + 0.35 * (study - 11) + 0.9 * man - 0.8
        self.X = pd.DataFrame({"hours": hours, "study": study, "job": job, "sex": sex})
        self.high = score + rng.logistic(size=n) > 0
        self.y = np.where(self.high, ">50K", "<=50K")
        self.s = pd.Series(sex, name="sex")
        self.sides = man.astype(np.intp)

    @functools.cache  # noqa: B019 - there is one for all tests
    def fitted(self, name):
        """A repair, fitted once for all tests, which leave it as it is."""
        for module in NEEDS[name]:
            pytest.importorskip(module)
        return self.made(name).fit(self.X, self.y, sensitive_features=self.s)

    @functools.cache  # noqa: B019
    def answers(self, name):
        """Its answers to the same people, whether they are ">50K"."""
        return self.fitted(name).predict(self.X, sensitive_features=self.s) == ">50K"

    def made(self, name, **options):
        """A repair, not fitted."""
        return make_repair(name, **({"random_state": 7} | QUICK.get(name, {}) | options))

    def rates(self, answers, among=True):
        """Share of yes by group, women first, among some."""
        return [answers[(self.sides == side) & among].mean() for side in (0, 1)]

    def gap(self, answers, among=True):
        """Difference of those shares."""
        women, men = self.rates(answers, among)
        return men - women


@pytest.fixture(scope="session")
def people():
    return People()


@pytest.fixture
def quantity():
    """Value of a report's quantity whose name contains some words."""

    def find(model, words, group=None, label=None):
        table = model.report_.quantities
        rows = table[table["quantity"].str.contains(words)]
        for column, wanted in (("group", group), ("label", label)):
            rows = rows[rows[column] == wanted] if wanted is not None else rows
        (value,) = rows["value"]
        return value

    return find
