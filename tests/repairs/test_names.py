"""Every repair by its name: one interface, the same answers again, and what is wrong is named."""

from __future__ import annotations

import pickle
import random
import sys

import numpy as np
import pytest
from sklearn.base import clone

from mdfa_fairness_plugin.exceptions import InputError, OptionalDependencyError
from mdfa_fairness_plugin.repairs import REPAIRS, make_repair

# The last of those that differ in their constraint alone.
ONE_OF_A_KIND = sorted({kind: name for name, (kind, _) in REPAIRS.items()}.values())


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_the_same_again_from_a_pickle_and_from_other_containers(name, people):
    """Polars in the place of pandas and numbers in the place of text give the same answers."""
    pl = pytest.importorskip("polars")
    model, first = people.fitted(name), people.answers(name)
    state = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    again = pickle.loads(pickle.dumps(model)).predict(people.X, sensitive_features=people.s)
    np.testing.assert_array_equal(again == ">50K", first)
    frame = pl.DataFrame({column: people.X[column].tolist() for column in people.X})
    other = clone(model).fit(frame, people.high.astype(int), sensitive_features=people.sides)
    numbers = other.predict(frame, sensitive_features=people.sides)
    assert numbers.dtype.kind == "i"
    np.testing.assert_array_equal(numbers == 1, first)
    assert (first == people.high).mean() > 0.6
    # What others draw from the generators that the toolkits share with them is not touched.
    assert random.getstate() == state[0]
    np.testing.assert_array_equal(np.random.get_state()[1], state[1])  # noqa: NPY002


def test_none_is_a_seed_too(people):
    answers = [
        make_repair("EqOdds-LC", random_state=seed)
        .fit(people.X, people.y, sensitive_features=people.s)
        .predict(people.X, sensitive_features=people.s)
        for seed in (None, 0, 1)
        if pytest.importorskip("aif360")
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert (answers[0] != answers[2]).any()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LC", "No repair"),
        ("DI-LC", "'sex': left out"),
        ("Reweighing-LC", "weight of a row of 'Female', '>50K'"),
        ("Decorrelated-LC", "'hours': repaired, 100 % of its cells moved"),
        ("Red-LC", "demographic_parity: largest difference of a group's rate"),
        ("Grid-LC", "classifiers tried: 20"),
        ("Threshold-LC", "'>50K' is answered above the score of 'Female'"),
        ("Reject-LC", "margin around it"),
        ("EqOdds-LC", "share of answers changed of 'Male'"),
        ("CalOdds-LC", "base rate of 'Female'"),
    ],
)
def test_every_repair_says_what_it_changed(name, words, people):
    assert words in people.fitted(name).report_.summary()


@pytest.mark.parametrize(
    ("name", "hidden", "said"),
    [
        ("DI-LC", "BlackBoxAuditing", "BlackBoxAuditing.*repairs"),
        ("DI-LC", "aif360", "aif360"),
        ("Reweighing-LC", "aif360", "aif360"),
        ("EqOdds-LC", "aif360", "aif360"),
        ("Red-LC", "fairlearn", "fairlearn"),
        ("Threshold-LC", "fairlearn", "fairlearn"),
        ("Decorrelated-LC", "fairlearn", "fairlearn"),
    ],
)
def test_an_absent_toolkit_is_named(name, hidden, said, people, monkeypatch):
    if hidden == "BlackBoxAuditing":
        pytest.importorskip("aif360")
    for module in [m for m in sys.modules if m.partition(".")[0] == hidden]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, hidden, None)
    with pytest.raises(OptionalDependencyError, match=said):
        people.made(name).fit(people.X, people.y, sensitive_features=people.s)


def test_a_name_that_is_none_is_answered_with_those_there_are():
    with pytest.raises(InputError, match=r"name: one of 'LC'.*'Reed-LC' found.*'Red-LC'\?"):
        make_repair("Reed-LC")
