"""What options are: fields of the request, and kinds of values. Nothing here is slow to import."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import Field, field
from pathlib import Path
from typing import Any, Final

import click
from click import FloatRange

OUTPUT: Final = click.Path(dir_okay=False, path_type=Path)
OUTPUT_OR_STDOUT: Final = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
JSON: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


class ShareOr(FloatRange):
    """A share, or a word."""

    def __init__(self, most: float, word: str) -> None:
        super().__init__(0, most, min_open=True, max_open=True)
        self.word = word

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read the word, or a number; NaN is none."""
        if value == self.word:
            return value
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = math.nan
        if math.isnan(number):
            allowed = f"{self.word!r} or a number above 0 and below {self.max:g}"
            self.fail(f"{allowed} expected, {value!r} found.", param, ctx)
        return number


class Finite(FloatRange):
    """A number from ``least`` on."""

    name = "number"

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


def option(
    value: str,
    shown: str,
    kind: Any = None,
    *,
    called: str = "",
    default: Any = None,
    setting: str | None = None,
    **more: Any,
) -> Any:
    """A field that is an option: what its value is called in help, and its help.

    ``called`` is the option where it is not called as the field is, ``setting`` the setting of an audit
    that it is, empty for one of the field's own name; more is as click has it.
    """
    more |= {"help": shown, "type": kind, "metavar": value or None}
    if not (default is None or default is False or default == () or more.get("required")):
        more["default"] = default
    told = {} if setting is None else {"setting": setting}
    return field(default=default, metadata={"option": more, "called": called, **told})


def several(value: str, shown: str, **more: Any) -> Any:
    """An option that may be repeated."""
    return option(value, shown, default=(), multiple=True, **more)


def setting(value: str, shown: str, kind: Any = None, *, name: str = "", **more: Any) -> Any:
    """An option that is a setting of the audit, by default of the field's own name."""
    return option(value, shown, kind, setting=name, **more)


def choice(names: Sequence[str], shown: str, *, setting: str | None = "", **more: Any) -> Any:
    """An option of named values, by default a setting of the audit, of the field's own name."""
    return option("", shown, click.Choice(names), setting=setting, **more)


def switch(shown: str, **more: Any) -> Any:
    """An option without a value."""
    return option("", shown, default=False, is_flag=True, **more)


def option_of(own: Field[Any], shown: str | None = None) -> click.Option:
    """The option of a field, if asked for with other help."""
    more = own.metadata["option"] | ({} if shown is None else {"help": shown})
    return click.Option([*called(own).split(), own.name], **more)


def called(own: Field[Any]) -> str:
    """What is typed for the option of a field."""
    return own.metadata["called"] or f"--{own.name.replace('_', '-')}"
