"""Kinds of values that options take. Nothing here is slow to import."""

from __future__ import annotations

import math
from typing import Any

import click
from click import FloatRange


class ShareOr(FloatRange):
    """A share, or a word."""

    def __init__(self, most: float, word: str) -> None:
        super().__init__(0, most, min_open=True, max_open=True)
        self.word = word

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read the word, or a number."""
        return value if value == self.word else super().convert(value, param, ctx)


class Finite(FloatRange):
    """A number from ``least`` on."""

    def __init__(self, least: float = 0, *, min_open: bool = False) -> None:
        super().__init__(least, math.inf, min_open=min_open, max_open=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Refuse what is no number: nothing is above NaN, so such a gate would never trip."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("must be a number", param, ctx)
        return number


def unless_probable(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Ask for the option where no groups are known by probability."""
    if not value and not ctx.params.get("sensitive_probabilities"):
        raise click.MissingParameter(ctx=ctx, param=param)
    return value
