"""What a command line asks for, each option a field. Nothing here is slow to import."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import Field, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import click
from click import IntRange

from mdfa_fairness_plugin.cli.asked import Asked
from mdfa_fairness_plugin.cli.kinds import (
    JSON,
    OUTPUT,
    OUTPUT_OR_STDOUT,
    Finite,
    called,
    choice,
    option,
    setting,
    several,
    switch,
)

STDOUT: Final = Path("-")
PARQUET_SUFFIXES: Final = (".parquet", ".pq", ".parq")
# Fields that name files to write, in the order in which these are.
OUTPUTS: Final = (
    "report", "html_file", "cyclonedx", "json_file", "junit_file", "plot", "members",
    "group_table", "pairs", "csv",
)  # fmt: skip
# Fields that say what pages are published as.
BYLINE: Final = ("title", "source", "author", "date")
# Fields that say how one file is written, whatever is asked of it.
WRITTEN: Final = ("separator", "encoding", "na_values", "decimal", "thousands", "date_format")


@dataclass(frozen=True, kw_only=True)
class Written:
    """What is said, and where it is written."""

    report: Path | None = option("FILE.html", "Write the whole report to this page.", OUTPUT)
    html_file: Path | None = option(
        "FILE.html", "Write the card to this page.", OUTPUT, called="--html"
    )
    json_file: Path | None = option(
        "FILE.json",
        "Write every number to this file; - for stdout, in the place of the summary.",
        OUTPUT_OR_STDOUT,
        called="--json",
    )
    junit_file: Path | None = option(
        "FILE.xml",
        "Write one test case per search to this file, as continuous integration reads them: failed "
        "where the gate of --fail-above trips, skipped where there is not enough evidence.",
        OUTPUT,
        called="--junit",
    )
    cyclonedx: Path | None = option(
        "FILE.json",
        "Write the audited model with its model card to this file, as bills of materials hold it "
        "(CycloneDX 1.6): metrics by group and subgroup, findings, what --statement states.",
        OUTPUT,
    )
    members: Path | None = option(
        "FILE.csv",
        "Write who is inside to this file (.csv or .parquet), a line per row and search.",
        OUTPUT,
    )
    group_table: Path | None = option(
        "FILE.csv",
        "Write every group's favourable outcomes (--favorable-label) to this file: counts, rates, "
        "impact ratios to the group with the highest rate, also at equal features, tests. No count is "
        "withheld.",
        OUTPUT,
    )
    pairs: Path | None = option(
        "FILE.csv",
        "Write people of the worst subgroup who fared badly beside the most alike who did not to this "
        "file, 50 pairs with every feature, for a review of files. Needs --allow-rows.",
        OUTPUT,
    )
    allow_rows: bool = switch(
        "Let --pairs write rows of single people, which --min-cell otherwise keeps back."
    )
    csv: Path | None = option(
        "FILE.csv",
        "Write a line per model to this file: its worst case beside its aggregate ratios, and with "
        "--metric what is shown of it. No count is withheld.",
        OUTPUT,
    )
    plot: Path | None = option(
        "FILE.png",
        "Draw each model's worst case beside its aggregate ratio (.png, .svg or .pdf).",
        OUTPUT,
    )
    out: Path | None = option(
        "DIR",
        "Write NAME.csv, NAME_runs.csv, NAME.json and, for a figure, NAME.png to this folder.",
        click.Path(file_okay=False, path_type=Path),
    )
    min_cell: int = option(
        "N",
        "Counts of people below this are left out of reports, of what is printed here and of --junit, "
        "with what would give them away; 1 keeps all.",
        IntRange(min=1),
        default=11,
    )
    withhold: bool = switch(
        "Let --json, too, leave out what --min-cell does; no command reads such a file back."
    )
    show_records: bool = switch(
        "Print the records of the nearest people, and counts however small."
    )
    title: str | None = option("TEXT", "Heading of the page.")
    source: str | None = option("TEXT", "Where the data come from, below the heading.")
    author: str | None = option("TEXT", "Who answers for the page.")
    date: str | None = option("TEXT", "Date of the page.")
    fail_above: float | None = option(
        "LIMIT",
        "Exit with status 1 if a violation's lower confidence bound is above this: of delta, the log "
        "ratio of outcome rates or means (0.22 is a ratio of 1.25), or, of a numeric outcome compared "
        "by its difference, of that, in its units. With --ordered it is delta of each cut.",
        Finite(),
    )
    quiet: bool = switch("Print nothing but errors and a tripped gate.", called="-q --quiet")

    @property
    def byline(self) -> dict[str, Any]:
        """What pages are published as."""
        return given(**{name: getattr(self, name) for name in BYLINE})

    @property
    def outputs(self) -> dict[str, Path]:
        """Files to write by the option that names them."""
        return given(**{OPTIONS[name]: getattr(self, name) for name in OUTPUTS})


@dataclass(frozen=True, kw_only=True)
class Request(Asked, Written):
    """What a command line asks for; what its command has no option for stays as it is here."""

    file: Path = Path()
    new_file: Path = Path()
    from_file: Path = option(
        "audit.json",
        "What mdfa audit --json wrote of the old rows: whose rules are measured, and how.",
        JSON,
        called="--from",
        default=Path(),
        required=True,
    )
    files: tuple[Path, ...] = ()
    again: bool = switch(
        "Also make the audit again, of the first FILE, with the settings and the seed it says, and "
        "compare every value."
    )
    decided_by: tuple[str, ...] = ()  # columns of a condition that is the outcome
    event_names: Mapping[Hashable, str] | None = None  # of the outcome that an event is
    outcomes: tuple[str, ...] = several(
        "COL,...", "Columns of outcomes, one per model.", required=True
    )
    group: tuple[str, ...] = several("VALUE", "Sensitive value to audit; may be repeated.")
    row: int = option(
        "N",
        "Row of the person in FILE: 0 is the first below the header.",
        IntRange(0),
        default=0,
        required=True,
    )
    data_home: Path | None = option(
        "DIR",
        "Folder of COMPAS, Adult, German credit and Crimes. Default: MDFA_DATA_HOME. The figures "
        "need none.",
        click.Path(exists=True, file_okay=False, path_type=Path),
    )
    baseline: str | None = option("COL", "Model to compare the others with. Default: the first.")
    metric: str | None = choice(
        ["accuracy", "auc", "r2", "neg_mean_absolute_error"],
        "Say by this metric of --true whether each model is less unequal than the baseline, within "
        "--tolerance; auc needs --scores, and the last two are of numbers.",
        setting=None,
    )
    scores: tuple[str, ...] = several(
        "COL,...",
        "Columns of the models' scores, in the order of --outcomes: higher where the larger of both "
        "outcomes is likelier.",
    )
    tolerance: float | None = option(
        "T", "How much less than the baseline's the metric of an alternative may be.", Finite()
    )
    splits: int = option("N", "Repeated 70/30 splits; 0 for none.", IntRange(0), default=100)
    n_comparators: int = option(
        "K",
        "Nearest people of each side to count; more if counts would be too small to show.",
        IntRange(1),
        called="--comparators",
        default=5,
    )
    null_draws: int | None = option(
        "N",
        "Repeat the whole audit N times with sensitive values redrawn given the features, and say "
        "where the violations found fall among these. Takes N times as long; 199 is a good number.",
        IntRange(min=1),
    )
    n_repeats: int | None = option(
        "N",
        "Repeat the audit on N half samples, and say whether they find the same rows.",
        IntRange(min=1),
        called="--stability",
    )
    statement: Path | None = option(
        "FILE.toml",
        "Print what those who answer for the audit state of it, in this file: system, version, "
        "purpose, data_source, data_from, data_to, data_kind, sensitive_source, auditor, relationship, "
        "audit_date, threshold, threshold_date, signed_by, notice.",
        JSON,
    )
    explained: bool = switch(
        "Measure the subgroups again with each feature left out in turn, and say which features carry "
        "the difference between the ratio as observed and at equal features."
    )
    group_pairs: bool = switch(
        "Also measure every group beside every other one, among everybody of the two."
    )
    name: str = "all"
    quick: bool = switch(
        "Leave out what takes seconds per split: the MMD network, Algorithm 1 with a support vector "
        "machine, equalized odds in Table 3, and most points of Figures 1a and 1d."
    )
    reading: str = choice(
        ("paper", "ours", "both"),
        "The system as published, this package's methods, or both side by side.",
        default="both",
        show_default=True,
        setting=None,
    )
    numeric: bool = switch(
        "Audit an outcome that is a number: hourly wages of 3,010 men in the USA in 1976."
    )
    n_jobs: int | None = setting("N", "Processors to use; -1 for all.", int, called="--jobs")

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of an audit that were given."""
        told = {own.metadata["setting"] or own.name: getattr(self, own.name) for own in _SETTINGS}
        # Of a switch only that it is on.
        told = {name: None if value is False else value for name, value in told.items()}
        return given(**told, missing_outcome="exclude" if self.drop_missing_outcomes else None)

    def decided(self, outcome: str, columns: Iterable[Hashable], **more: Any) -> Request:
        """What is asked of an outcome that is made of columns, which are then no features."""
        names = tuple(map(str, columns))
        more |= {"decided_by": (*self.decided_by, *names), "drop": (*self.drop, *names)}
        return replace(self, outcome=outcome, **more)

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
        asked = {own.name: getattr(self, own.name) for own in fields(Asked)}
        return {name: own for name, own in asked.items() if own != getattr(Asked, name)}

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


# What is typed for fields that are options.
OPTIONS: Final = {own.name: called(own) for own in fields(Request) if "option" in own.metadata}
_SETTINGS: Final[list[Field[Any]]] = [own for own in fields(Request) if "setting" in own.metadata]
# What a result of ``mdfa audit`` keeps of its request, by which other rows are asked the same.
RECORDED: Final = frozenset(own.name for own in fields(Asked))
# Options by the arguments of an audit that they are.
CALLED: Final = {
    own.metadata.get("setting") or own.name: OPTIONS[own.name]
    for own in (*fields(Asked), *_SETTINGS)
}


def given(**values: Any) -> dict[str, Any]:
    """Leave out what is None."""
    return {name: value for name, value in values.items() if value is not None}


def are_parts(file: Path) -> bool:
    """Whether a name stands for several files: a folder, or a pattern that is no file's name."""
    return file.is_dir() or (not file.exists() and any(mark in str(file) for mark in "*?["))
