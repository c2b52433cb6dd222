"""What a command line asks for, as its options fill it. Nothing here is slow to import."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

STDOUT: Final = Path("-")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command line asks for; what its command has no option for stays as it is here."""

    # What is audited.
    file: Path = Path()
    new_file: Path = Path()
    from_file: Path = Path()
    files: tuple[Path, ...] = ()
    again: bool = False
    outcome: str = ""
    decided_by: tuple[str, ...] = ()  # columns of a condition that is the outcome
    outcomes: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    truth: str | None = None
    event: str | None = None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    outcome_label: tuple[str, ...] = ()
    favorable_label: str | None = None
    outcome_name: str | None = None
    outcome_names: tuple[str, ...] = ()
    event_names: Mapping[Hashable, str] | None = None  # of the outcome that an event is
    group_names: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    weight: str | None = None
    weight_type: str | None = None
    cluster: str | None = None
    decision_input: tuple[str, ...] = ()
    exposure: str | None = None
    outcome_type: str | None = None
    ordered: tuple[str, ...] = ()
    favorable: str | None = None
    row: int = 0
    # How its file is read.
    separator: str | None = None
    encoding: str = "utf-8-sig"
    na_values: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    categorical: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    data_home: Path | None = None
    # How it is audited.
    alpha: float | str | None = None
    missing: str | None = None
    drop_missing_outcomes: bool = False
    merge_spellings: bool = False
    balance: str | None = None
    solver: str | None = None
    learner: str | None = None
    device: str | None = None
    intersections: bool = False
    estimator: str | None = None
    min_ratio: float | None = None
    compare_by: str | None = None
    min_difference: float | None = None
    robust: float | str | None = None
    sensitive_probabilities: tuple[str, ...] = ()
    sensitive_type: str | None = None
    per: float | None = None
    repeats: int | None = None
    confidence_level: float | None = None
    baseline: str | None = None
    metric: str | None = None
    scores: tuple[str, ...] = ()
    tolerance: float | None = None
    splits: int = 100
    n_comparators: int = 5
    null_draws: int | None = None
    n_repeats: int | None = None
    where: str | None = None
    statement: Path | None = None
    measure: tuple[str, ...] = ()
    explained: bool = False
    group_pairs: bool = False
    name: str = "all"
    quick: bool = False
    reading: str = "both"
    numeric: bool = False
    seed: int = 0
    n_jobs: int | None = None
    scheduler: str | None = None
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
        return given(
            alpha=self.alpha,
            missing=self.missing,
            missing_outcome="exclude" if self.drop_missing_outcomes else None,
            merge_spellings=self.merge_spellings or None,
            weight_type=self.weight_type,
            balance=self.balance,
            solver=self.solver,
            learner=self.learner,
            device=self.device,
            intersections=self.intersections or None,
            estimator=self.estimator,
            min_ratio=self.min_ratio,
            outcome_type=self.outcome_type,
            favorable=self.favorable,
            measure=self.compare_by,
            min_difference=self.min_difference,
            robust=self.robust,
            sensitive_type=self.sensitive_type,
            per=self.per,
            n_repeats=self.repeats,
            confidence_level=self.confidence_level,
            n_jobs=self.n_jobs,
            random_state=self.seed,
            outcome_name=self.outcome_name,
        )

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
    def is_spread_out(self) -> bool:
        """Whether the rows are audited where they lie."""
        return self.scheduler is not None or are_parts(self.file)


# What a result of ``mdfa audit`` keeps of its request, by which other rows are asked the same.
RECORDED: Final = frozenset(
    {
        "alpha", "balance", "bins", "categorical", "cluster", "compare_by", "confidence_level",
        "date_format", "decimal", "decision_input", "device", "drop", "drop_missing_outcomes",
        "encoding", "estimator", "event", "exposure", "favorable", "favorable_label", "features",
        "group_names", "intersections", "learner", "measure", "merge_spellings", "min_difference",
        "min_ratio", "missing", "na_values", "ordered", "outcome", "outcome_label", "outcome_name",
        "outcome_names", "outcome_type", "per", "reference", "repeats", "robust", "scheduler", "seed",
        "sensitive", "sensitive_probabilities", "sensitive_type", "separator", "solver", "thousands",
        "truth", "weight", "weight_type", "where",
    }
)  # fmt: skip


def given(**values: Any) -> dict[str, Any]:
    """Leave out what is None."""
    return {name: value for name, value in values.items() if value is not None}


def are_parts(file: Path) -> bool:
    """Whether a name stands for several files: a folder, or a pattern that is no file's name."""
    return file.is_dir() or (not file.exists() and any(mark in str(file) for mark in "*?["))
