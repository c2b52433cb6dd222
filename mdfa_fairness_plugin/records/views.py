"""How notebooks show a record: reports, which records know nothing of, say it here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_VIEWS: Final[dict[type, Callable[[Any], str]]] = {}


def shown_by(kind: type, view: Callable[[Any], str]) -> None:
    """Let notebooks show records of a kind, and of kinds derived from it, by a function to HTML."""
    _VIEWS[kind] = view


class Viewed:
    """A record that notebooks show as HTML once reports are there, and as text before."""

    def _repr_html_(self) -> str | None:
        views = (_VIEWS.get(kind) for kind in type(self).__mro__)
        view = next(filter(None, views), None)
        return None if view is None else view(self)
