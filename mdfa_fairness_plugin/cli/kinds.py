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


def unless_probable(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Ask for the option where no groups are known by probability."""
    if not value and not ctx.params.get("sensitive_probabilities"):
        raise click.MissingParameter(ctx=ctx, param=param)
    return value


def refuse_nan(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse what is no number."""
    # Nothing is above NaN, so such a gate would never trip.
    if value is not None and math.isnan(value):
        raise click.BadParameter("must be a number")
    return value
