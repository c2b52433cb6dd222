"""What a command line asks for, as its options fill it. Nothing here is slow to import."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

STDOUT: Final = Path("-")
PARQUET_SUFFIXES: Final = (".parquet", ".pq", ".parq")


def _asked(default: Any) -> Any:
    """What other rows are asked, too, by ``mdfa measure`` and its like."""
    return field(default=default, metadata={"recorded": True})


def _setting(name: str = "", *, default: Any = None, recorded: bool = True) -> Any:
    """A setting of the audit, by default of the field's own name."""
    kept = {"recorded": True} if recorded else {}
    return field(default=default, metadata={"setting": name, **kept})


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command line asks for; what its command has no option for stays as it is here."""

    # What is audited.
    file: Path = Path()
    new_file: Path = Path()
    from_file: Path = Path()
    files: tuple[Path, ...] = ()
    again: bool = False
    outcome: str = _asked("")
    decided_by: tuple[str, ...] = ()  # columns of a condition that is the outcome
    outcomes: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = _asked(())
    truth: str | None = _asked(None)
    event: str | None = _asked(None)
    features: tuple[str, ...] = _asked(())
    drop: tuple[str, ...] = _asked(())
    outcome_label: tuple[str, ...] = _asked(())
    favorable_label: str | None = _asked(None)
    outcome_name: str | None = _setting()
    outcome_names: tuple[str, ...] = _asked(())
    event_names: Mapping[Hashable, str] | None = None  # of the outcome that an event is
    group_names: tuple[str, ...] = _asked(())
    group: tuple[str, ...] = ()
    reference: tuple[str, ...] = _asked(())
    weight: str | None = _asked(None)
    weight_type: str | None = _setting()
    cluster: str | None = _asked(None)
    decision_input: tuple[str, ...] = _asked(())
    exposure: str | None = _asked(None)
    outcome_type: str | None = _setting()
    ordered: tuple[str, ...] = _asked(())
    favorable: str | None = _setting()
    row: int = 0
    # How its file is read.
    separator: str | None = _asked(None)
    encoding: str = _asked("utf-8-sig")
    na_values: tuple[str, ...] = _asked(())
    decimal: str | None = _asked(None)
    thousands: str | None = _asked(None)
    date_format: str | None = _asked(None)
    categorical: tuple[str, ...] = _asked(())
    bins: tuple[str, ...] = _asked(())
    data_home: Path | None = None
    # How it is audited.
    alpha: float | str | None = _setting()
    missing: str | None = _setting()
    drop_missing_outcomes: bool = _asked(False)
    merge_spellings: bool = _setting(default=False)
    balance: str | None = _setting()
    solver: str | None = _setting()
    learner: str | None = _setting()
    representation: str | None = _setting()
    complexity: str | None = _setting()
    device: str | None = _setting()
    intersections: bool = _setting(default=False)
    estimator: str | None = _setting()
    min_ratio: float | None = _setting()
    compare_by: str | None = _setting("measure")
    min_difference: float | None = _setting()
    robust: float | str | None = _setting()
    sensitive_probabilities: tuple[str, ...] = _asked(())
    sensitive_type: str | None = _setting()
    per: float | None = _setting()
    repeats: int | None = _setting("n_repeats")
    confidence_level: float | None = _setting()
    baseline: str | None = None
    metric: str | None = None
    scores: tuple[str, ...] = ()
    tolerance: float | None = None
    splits: int = 100
    n_comparators: int = 5
    null_draws: int | None = None
    n_repeats: int | None = None
    where: str | None = _asked(None)
    statement: Path | None = None
    measure: tuple[str, ...] = _asked(())
    explained: bool = False
    group_pairs: bool = False
    name: str = "all"
    quick: bool = False
    reading: str = "both"
    numeric: bool = False
    seed: int = _setting("random_state", default=0)
    n_jobs: int | None = _setting(recorded=False)
    scheduler: str | None = _asked(None)
    # What is said, and where it is written.
    report: Path | None = None
    html_file: Path | None = None
    json_file: Path | None = None
    junit_file: Path | None = None
    cyclonedx: Path | None = None
    members: Path | None = None
    group_table: Path | None = None
    pairs: Path | None = None
    allow_rows: bool = False
    csv: Path | None = None
    plot: Path | None = None
    out: Path | None = None
    min_cell: int = 11
    withhold: bool = False
    show_records: bool = False
    title: str | None = None
    source: str | None = None
    author: str | None = None
    date: str | None = None
    fail_above: float | None = None
    quiet: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of an audit that were given."""
        told = {
            own.metadata["setting"] or own.name: getattr(self, own.name) for own in _with("setting")
        }
        # Of a switch only that it is on.
        told = {name: None if value is False else value for name, value in told.items()}
        return given(**told, missing_outcome="exclude" if self.drop_missing_outcomes else None)

    @property
    def writing(self) -> dict[str, str]:
        """How numbers and dates are said to be written."""
        return given(decimal=self.decimal, thousands=self.thousands, date_format=self.date_format)

    @property
    def is_numeric(self) -> bool:
        """Whether outcomes are numbers."""
        return self.outcome_type == "numeric"

    @property
    def recorded(self) -> dict[str, Any]:
        """What asks the same of other rows, as far as it was given."""
        default = Request()
        asked = {name: getattr(self, name) for name in RECORDED}
        return {name: own for name, own in asked.items() if own != getattr(default, name)}

    @property
    def byline(self) -> dict[str, Any]:
        """What pages are published as."""
        return given(title=self.title, source=self.source, author=self.author, date=self.date)

    @property
    def outputs(self) -> dict[str, Path]:
        """Files to write by the option that names them."""
        pages = {"--report": self.report, "--html": self.html_file, "--cyclonedx": self.cyclonedx}
        files = {"--json": self.json_file, "--junit": self.junit_file, "--plot": self.plot}
        tables = {"--members": self.members, "--group-table": self.group_table}
        return given(**pages, **files, **tables, **{"--pairs": self.pairs, "--csv": self.csv})

    @property
    def is_parquet(self) -> bool:
        """Whether the table is Parquet, as its name says."""
        return are_parts(self.file) or self.file.suffix.lower() in PARQUET_SUFFIXES

    @property
    def has_network(self) -> bool:
        """Whether an MMD network learns."""
        learns = self.balance == "mmd_network" or self.learner == "network_features"
        return learns or self.representation == "phi"

    @property
    def is_spread_out(self) -> bool:
        """Whether the rows are audited where they lie."""
        return self.scheduler is not None or are_parts(self.file)


def _with(metadata: str) -> list[Field[Any]]:
    """Fields that say this of themselves."""
    return [own for own in fields(Request) if metadata in own.metadata]


# What a result of ``mdfa audit`` keeps of its request, by which other rows are asked the same.
RECORDED: Final = frozenset(own.name for own in _with("recorded"))
# Options by the arguments of an audit that they are.
CALLED: Final = {
    own.metadata.get("setting") or own.name: f"--{own.name.replace('_', '-')}"
    for own in (*_with("recorded"), *_with("setting"))
}


def given(**values: Any) -> dict[str, Any]:
    """Leave out what is None."""
    return {name: value for name, value in values.items() if value is not None}


def are_parts(file: Path) -> bool:
    """Whether a name stands for several files: a folder, or a pattern that is no file's name."""
    return file.is_dir() or (not file.exists() and any(mark in str(file) for mark in "*?["))
