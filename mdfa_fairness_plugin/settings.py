"""Arguments that are checked alike everywhere."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mdfa_fairness_plugin.exceptions import InputError


def draw_seed(random_state: Any) -> int:
    """Seed of the whole audit: the integer given, or one drawn from what was given."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state: a non-negative seed expected, {random_state} found.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InputError(
        "random_state: an integer, a numpy Generator, a RandomState or None expected, "
        f"{type(random_state).__name__} found."
    )


def check_share(name: str, value: Any) -> None:
    """Refuse what is no number strictly between 0 and 1."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0.0 < float(value) < 1.0:
        raise InputError(f"{name}: a number between 0 and 1 expected, {value!r} found.")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number of at least ``least``."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{name}: a whole number of at least {least} expected, {value!r} found.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse what is none of the choices."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name}: one of {listed} expected, {value!r} found.")
