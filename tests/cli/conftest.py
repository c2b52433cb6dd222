"""A fast stand-in for the audit, and a way to run commands."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import mdfa_fairness_plugin
from mdfa_fairness_plugin.cli import main
from mdfa_fairness_plugin.report.junit import cases_of


@dataclass
class FakeAudit:
    """Takes the place of ``mdfa_fairness_plugin.audit`` and remembers what it was asked."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    searches: list[tuple[str, float]] = field(default_factory=lambda: [("violation", 0.4)])
    warns: list[Warning] = field(default_factory=list)
    raises: BaseException | None = None
    text: str = "The summary."
    pages: list[dict[str, Any]] = field(default_factory=list)
    groups: Any = None
    paired: Any = None

    def __call__(self, X: Any, y: Any, *, sensitive_features: Any, **parameters: Any) -> Any:
        self.calls.append({"X": X, "y": y, "sensitive_features": sensitive_features, **parameters})
        for warning in self.warns:
            warnings.warn(warning, stacklevel=2)
        if self.raises is not None:
            raise self.raises
        violations = tuple(
            SimpleNamespace(
                sensitive_feature="race", group="a", outcome=1, verdict=verdict, interval=(low, 2.0)
            )
            for verdict, low in self.searches
        )
        told = {
            "violations": violations,
            "asked": (),
            "cases": lambda min_cell: cases_of(SimpleNamespace(violations=violations, asked=())),
            "provenance": {},
            "worst_case": violations[0] if violations else None,
            "summary": lambda min_cell: self.text,
            "to_html": self._to_html,
            "group_table": lambda: self.groups,
            "pairs": lambda: self.paired,
            "to_json": self._to_json,
            "to_junit": lambda path, fail_above, min_cell: Path(path).write_text(
                f"<gate>{fail_above}</gate>"
            ),
        }
        return make_dataclass("Result", told)(**told)

    def _to_html(self, path: Any, **options: Any) -> None:
        self.pages.append(options)
        Path(path).write_text("<html>")

    def _to_json(self, path: Any = None) -> str:
        if path is not None:
            Path(path).write_text("{}\n")
        return "{}\n"

    @property
    def call(self) -> dict[str, Any]:
        """The only call there was."""
        (call,) = self.calls
        return call


@pytest.fixture
def fake_audit(monkeypatch: pytest.MonkeyPatch) -> FakeAudit:
    fake = FakeAudit()
    monkeypatch.setattr(mdfa_fairness_plugin, "audit", fake, raising=False)
    return fake


@pytest.fixture
def mdfa():
    """Run the command with these arguments, keeping stdout and stderr apart."""
    try:
        runner = CliRunner(mix_stderr=False)  # click before 8.2
    except TypeError:
        runner = CliRunner()

    def run(*arguments: object) -> Result:
        return runner.invoke(main, [str(argument) for argument in arguments])

    return run
