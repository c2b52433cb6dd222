"""What every result says of itself in the same ways: plain text, a page, JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from mdfa_fairness_plugin.report import html, text
from mdfa_fairness_plugin.report.document import Document
from mdfa_fairness_plugin.report.junit import Case, junit_of
from mdfa_fairness_plugin.report.notebooks import MIN_CELL
from mdfa_fairness_plugin.report.plain import as_json, written
from mdfa_fairness_plugin.report.statement import published


class Reported:
    """A result that gives its document without small counts; all else follows."""

    def _repr_html_(self) -> str:
        return html.render_fragment(self._page(MIN_CELL))

    def _page(self, min_cell: int) -> Document:
        raise NotImplementedError

    def cases(self, min_cell: int = 1) -> Sequence[Case]:
        """What gates look at, with what may be printed of it."""
        raise NotImplementedError

    def _properties(self, min_cell: int) -> Mapping[str, Any]:
        """What else JUnit XML holds."""
        return {}

    def to_dict(self, *, min_cell: int | None = None) -> dict[str, Any]:
        """Give everything in plain Python types, ready for strict JSON."""
        raise NotImplementedError

    def to_json(
        self, path: str | os.PathLike[str] | None = None, *, min_cell: int | None = None
    ) -> str:
        """Give strict JSON, also as a file if there is a ``path``.

        With ``min_cell`` it withholds what ``to_html`` does; None keeps all.
        """
        return written(as_json(self.to_dict(min_cell=min_cell)), path)

    def to_junit(
        self,
        path: str | os.PathLike[str] | None = None,
        fail_above: float | None = None,
        *,
        min_cell: int = 11,
    ) -> str:
        """Give JUnit XML for continuous integration: one test case per search, of every model compared.

        Of two audits there is one per change, of old findings on new rows one per finding.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.
        fail_above : float or None, default=None
            A case fails if its lower confidence limit of delta (of numbers compared by it, of the
            difference in units of the outcome) is above this, as the gate of ``mdfa audit
            --fail-above`` has it; None: none fails. Cases without enough evidence are skipped, with
            the reason.
        min_cell : int, default=11
            As in ``to_html``; the gate looks at what is withheld too.

        Returns
        -------
        str
        """
        return written(junit_of(self.cases(min_cell), self._properties(min_cell), fail_above), path)

    def summary(self, *, min_cell: int = 11) -> str:
        """Tell what was found in a page of plain text.

        Counts of people below ``min_cell`` are withheld, as in ``to_html``; 1 tells every count.
        """
        return text.render(self._summed(min_cell))

    def _summed(self, min_cell: int) -> Document:
        """What a summary tells; the page, unless it says otherwise."""
        return self._page(min_cell)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        min_cell: int = 11,
        title: str | None = None,
        source: str | None = None,
        author: str | None = None,
        date: Any = None,
    ) -> str:
        """Give one self-contained page: no scripts, nothing fetched.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.
        min_cell : int, default=11
            Counts of people below this are not printed, nor anything from which one could be
            worked out, so that nobody can be recognised; 1 prints every count. Verdicts are told
            whatever they rest on.
        title, source, author, date : str or None, default=None
            What the page is published as: its heading, where the data come from, who answers for it
            and since when; by default what ``statement`` says of the last three.

        Returns
        -------
        str

        Raises
        ------
        InputError
            If ``min_cell`` is no whole number of at least 1.
        """
        told = {"title": title, "source": source, "author": author, "date": date}
        return self._published(self._page(min_cell), path, **told)

    def _published(self, page: Document, path: str | os.PathLike[str] | None, **told: Any) -> str:
        """A page with its byline; by default what was stated."""
        stated = getattr(self, "statement", None)
        return written(html.render_page(published(page, stated, **told)), path)


class ReportedByRow(Reported):
    """A result of which something is known of every row."""

    def to_dict(self, *, rows: bool = False, min_cell: int | None = None) -> dict[str, Any]:
        """Give everything in plain Python types, ready for strict JSON."""
        raise NotImplementedError

    def to_json(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        rows: bool = False,
        min_cell: int | None = None,
    ) -> str:
        """Give strict JSON, the same bytes for the same result.

        Parameters
        ----------
        path : str or path-like, optional
            File to write as well.
        rows : bool, default=False
            Also what is told row by row, as in ``to_dict``: a character per row and search.
        min_cell : int or None, default=None
            Withhold what ``to_html`` does, as in ``to_dict``; ``from_json`` reads no such file.

        Returns
        -------
        str
        """
        return written(as_json(self.to_dict(rows=rows, min_cell=min_cell)), path)
