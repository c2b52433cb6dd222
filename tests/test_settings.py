"""Arguments of an audit: their defaults, their checks, and the seeds drawn from one."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields, replace
from typing import Literal, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest

import mdfa_fairness_plugin as mdfa
from mdfa_fairness_plugin.aif360 import load_compas, mdfa_scan
from mdfa_fairness_plugin.arguments import checked_settings
from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.experiments import reproduce
from mdfa_fairness_plugin.fairlearn import worst_case_violation
from mdfa_fairness_plugin.repairs import make_repair
from mdfa_fairness_plugin.report.displays import SearchesDisplay, style
from mdfa_fairness_plugin.report.schema import load_schema
from mdfa_fairness_plugin.settings import STAGES, Settings, alpha_for, draw_seed, refuse_unknown


def test_the_auditor_has_the_defaults_of_the_settings():
    settings = Settings()
    signature = inspect.signature(mdfa.MDFAuditor.__init__).parameters
    defaults = {name: p.default for name, p in signature.items() if name != "self"}
    assert defaults == {name: getattr(settings, name) for name in Settings.names()}
    assert set(defaults) == {field.name for field in fields(Settings)} - {"seed", "own_seeds"}


def test_the_defaults_pass_their_own_checks():
    checked = Settings.checked()
    assert {name: getattr(checked, name) for name in Settings.names()} == {
        name: getattr(Settings(), name) for name in Settings.names()
    }


def test_unknown_arguments_are_listed_with_those_known():
    with pytest.raises(InputError) as caught:
        refuse_unknown(
            "audit", {"size": 1, "alpha": 0.1, "colour": 2}, ["xi", "alpha"], first="X, "
        )
    assert str(caught.value) == (
        "audit: unknown argument(s) colour, size; those known are X, alpha, xi."
    )
    refuse_unknown("audit", {"alpha": 0.1}, ["alpha"])


@pytest.mark.parametrize(
    ("alpha", "rate", "expected"),
    [
        ("auto", 0.5, 0.05),
        ("auto", 0.9, 0.05),
        ("auto", 0.08, 0.008),
        (0.05, 0.08, 0.05),
        (0.2, 0.5, 0.2),
    ],
)
def test_the_smallest_mass_is_a_tenth_of_those_who_have_the_outcome(alpha, rate, expected):
    assert alpha_for(Settings.checked(alpha=alpha), rate) == pytest.approx(expected)


def test_every_stage_has_a_seed_of_its_own():
    """They differ, repeat, and another seed changes them all."""
    seeds = Settings(seed=7).seeds
    assert set(seeds) == set(STAGES)
    assert len(set(seeds.values())) == len(STAGES)
    assert all(0 <= seed < 2**31 for seed in seeds.values())
    assert Settings(seed=7, alpha=0.2).seeds == seeds
    other = Settings(seed=7).reseeded(8)
    assert other.seed == 8
    assert all(other.seeds[stage] != seeds[stage] for stage in STAGES)


def test_given_seeds_are_used():
    own = dict.fromkeys(STAGES, 3)
    assert Settings(own_seeds=own).seeds == own


def test_a_seed_is_drawn_from_what_was_given():
    assert draw_seed(5) == draw_seed(np.int64(5)) == 5
    for make in (np.random.default_rng, np.random.RandomState):
        one, two = make(0), make(0)
        assert draw_seed(one) == draw_seed(two) != draw_seed(one)
    assert draw_seed(None) == 0


@pytest.mark.parametrize("balance", ["auto", "overlap", "entropy"])
def test_names_of_methods_balance(balance):
    assert Settings(balance=balance).balances


def test_rates_are_adjusted_unless_nothing_is_balanced_or_another_estimate_is_asked_for():
    assert not Settings(balance="none").balances
    assert not Settings(balance="none").adjusts
    assert not Settings(estimator="hajek").adjusts
    assert Settings(balance=np.ones(3)).balances


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [(1, 3), (16_666, 3), (16_667, 2), (25_000, 2), (25_001, 1), (9**9, 1)],
)
@pytest.mark.repeats
def test_repeats_hang_on_the_number_of_rows_alone(n_rows, expected):
    """All together learn from 50,000 rows at most."""
    assert Settings(solver="orthogonal").repeats_for(n_rows) == expected
    assert Settings(solver="orthogonal", seed=3, n_splits=2).repeats_for(n_rows) == expected


@pytest.mark.parametrize("own", [{"evaluation": "holdout"}, {"solver": "level_set"}])
@pytest.mark.repeats
def test_nothing_is_repeated_where_nothing_is_cross_fitted_unless_asked_for(own):
    settings = Settings(**({"solver": "orthogonal"} | own))
    assert settings.repeats_for(500) == 1
    assert replace(settings, n_repeats=3).repeats_for(500) == 3


@pytest.mark.parametrize("value", [0, -1, True, 2.5, "many", None])
def test_number_of_repeats_is_checked(value):
    with pytest.raises(InputError, match=r"^n_repeats: 'auto' or a whole number of at least 1 exp"):
        Settings.checked(n_repeats=value)


def test_repeats_have_seeds_of_their_own_and_the_first_is_that_of_an_audit_without():
    settings = Settings(seed=7)
    for stage, seed in settings.seeds.items():
        three = settings.repeated_seeds(stage, 3)
        assert settings.repeated_seeds(stage, 1) == (seed,)
        assert three[0] == seed
        assert settings.repeated_seeds(stage, 5)[:3] == three
        assert all(0 <= own < 2**31 for own in three)
    drawn = [own for stage in STAGES for own in settings.repeated_seeds(stage, 5)]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("ratio", [0.99, math.inf, math.nan, "1.2", None, True])
def test_smallest_ratio_is_a_number_of_at_least_one(ratio):
    with pytest.raises(InputError, match=r"^min_ratio: 'auto' or a number of at least 1 expected"):
        Settings.checked(min_ratio=ratio)


def test_smallest_ratio_is_a_twentieth_unless_one_is_asked_for():
    assert Settings().least_ratio == 1.05
    assert Settings.checked(min_ratio=np.float64(1.2)).least_ratio == 1.2


def test_parameters_are_those_that_decide_what_is_found():
    of_no_consequence = {"feature_reasons", "n_jobs", "statement", "verbose"}
    assert set(Settings.names()) - set(Settings().parameters) == of_no_consequence


@pytest.mark.parametrize(
    ("option", "value"),
    [("missing", "drop"), ("weight_type", "none"), ("min_group_size", 0), ("min_group_size", 2.5)],
)
def test_options_are_checked(option, value):
    """Before any data are looked at."""
    with pytest.raises(InputError, match=f"^{option}: .* expected, {value!r} found"):
        Settings.checked(**{option: value})


SEVERAL = (
    np.array(["auto", "rank"]), np.array(["auto"]), np.array("auto"), np.arange(3), ["auto"],
    pd.Series(["auto", "rank"]), pd.DataFrame({"a": [1, 2]}), {},
)  # fmt: skip
CHOICES = [
    *(name for name, kind in get_type_hints(Settings).items() if get_origin(kind) is Literal),
    "solver", "weight_type", "merge_spellings", "intersections", "favorable", "robust",
]  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_several_values_are_no_choice(name):
    """Whatever holds them, in the words of any other value; in one line."""
    for given in SEVERAL:
        with pytest.raises(InputError, match=f"^{name}: .* expected, .* found.$"):
            checked_settings(**{name: given})


X, Y, S = np.arange(80.0).reshape(40, 2), np.arange(40) % 2, np.arange(40) // 2 % 2
PEOPLE = {"sensitive_features": S, "audit_features": X}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: mdfa.datasets.make_synthetic(50, design=x), "design"),
        (lambda x: mdfa.datasets.make_numeric(50, noise=x), "noise"),
        (lambda x: mdfa.datasets.make_shape(x, 50), "shape"),
        (lambda x: mdfa.datasets.load_adult(subset=x), "subset"),
        (lambda x: load_compas(outcome=x), "outcome"),
        (lambda x: make_repair(x), "name"),
        (lambda x: reproduce(x), "name"),
        (lambda x: reproduce("figure1a", reading=x), "reading"),
        (lambda x: mdfa.to_quantities({"a": ["1"]}, decimal=x), "decimal"),
        (lambda x: mdfa.to_quantities({"a": ["1"]}, thousands=x), "thousands"),
        (lambda x: mdfa.compare(X, {"m": Y}, sensitive_features=S, y_true=Y, metric=x), "metric"),
        (lambda x: worst_case_violation(Y, Y, event=x, **PEOPLE), "event"),
        (lambda x: mdfa_scan(pd.DataFrame(X), pd.Series(Y), event=x), "event"),
        (lambda x: load_schema(x), "name"),
        (lambda x: style.begin(None, x, (1, 1)), "style"),
        (lambda x: SearchesDisplay.from_result(None, measure=x), "measure"),
    ],
)
def test_several_values_are_no_choice_anywhere(call, name):
    for given in SEVERAL:
        with pytest.raises(ValueError, match=f"^{name}\\b[^\n]*$"):
            call(given)
