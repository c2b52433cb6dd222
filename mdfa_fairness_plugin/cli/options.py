"""The options of the commands. Nothing here is slow to import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from click import Choice, FloatRange, IntRange, argument, option

from mdfa_fairness_plugin.cli.beyond import BEYOND, UNLIKE_GROUPS, exposure
from mdfa_fairness_plugin.cli.kinds import Finite, ShareOr, unless_probable
from mdfa_fairness_plugin.cli.models import MODELS
from mdfa_fairness_plugin.cli.request import are_parts
from mdfa_fairness_plugin.cli.writing import OUTPUT

Option = Callable[[Any], Any]

ESTIMATORS = ("doubly_robust", "hajek", "raw", "unweighted")
# As mdfa_fairness_plugin.data.events.EVENTS and those of numbers, likewise.
EVENTS = (
    "selection", "error", "false_positive", "false_negative", "true_positive", "score", "residual",
    "absolute_error", "overprediction", "calibration",
)  # fmt: skip
# As mdfa_fairness_plugin.experiments.EXPERIMENTS, likewise.
EXPERIMENTS = (
    "table1", "table2", "table3", "table4", "figure1a", "figure1b", "figure1c", "figure1d",
)  # fmt: skip


def with_options(*options: Option) -> Option:
    """Give a command these options, in this order."""

    def decorate(command: Any) -> Any:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


def _existing_or_parts(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    if not (value.exists() or are_parts(value)):
        raise click.BadParameter(f"File {str(value)!r} does not exist.")
    return value


def _all_existing(
    ctx: click.Context, param: click.Parameter, values: tuple[Path, ...]
) -> tuple[Path, ...]:
    return tuple(_existing_or_parts(ctx, param, value) for value in values)


_OUTPUT_OR_STDOUT: Final = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
_JSON: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_SHARE: Final = FloatRange(0, 1, min_open=True, max_open=True)


def quiet_option(shown: str) -> Option:
    """``--quiet``, with what it keeps to itself."""
    return option("-q", "--quiet", is_flag=True, help=shown)


def json_option(text: str) -> Option:
    """``--json``, with what stdout has where it is not asked for."""
    return option(
        "--json",
        "json_file",
        type=_OUTPUT_OR_STDOUT,
        metavar="FILE.json",
        help=f"Write every number to this file; - for stdout, in the place of the {text}.",
    )


one_file = argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
from_file = option(
    "--from",
    "from_file",
    required=True,
    type=_JSON,
    metavar="audit.json",
    help="What mdfa audit --json wrote of the old rows: whose rules are measured, and how.",
)
old_and_new = with_options(
    argument("file", metavar="OLD.json", type=_JSON),
    argument("new_file", metavar="NEW.json", type=_JSON),
)
audit_and_files = with_options(
    argument("from_file", metavar="AUDIT.json", type=_JSON),
    argument(
        "files",
        metavar="FILE...",
        nargs=-1,
        required=True,
        type=click.Path(path_type=Path),
        callback=_all_existing,
    ),
)
again = option(
    "--again",
    is_flag=True,
    help="Also make the audit again, of the first FILE, with the settings and the seed it says, and "
    "compare every value.",
)
any_files = argument("file", type=click.Path(path_type=Path), callback=_existing_or_parts)

outcome = option(
    "--outcome",
    required=True,
    metavar="COL",
    help="What the classifier answered: a column, or a condition such as 'score >= 7', whose columns "
    "are then no features.",
)
outcomes = option(
    "--outcomes",
    required=True,
    multiple=True,
    metavar="COL,...",
    help="Columns of outcomes, one per model.",
)
truth = option("--true", "truth", metavar="COL", help="True labels, for accuracy and error rates.")
event = option(
    "--event",
    type=Choice(EVENTS),
    help="Audit this in the place of the outcome, by --true: answers of one kind (--outcome-label, or "
    "1 of 0 and 1) that are wrong, that are missing, or any error; of predictions that are numbers "
    "the score itself, the residual (true minus predicted), the absolute error, whether it is too "
    "high, or calibration: what is true at the same score.",
)
group = option(
    "--group", multiple=True, metavar="VALUE", help="Sensitive value to audit; may be repeated."
)
sensitive = option(
    "--sensitive",
    callback=unless_probable,
    multiple=True,
    metavar="COL[,COL]",
    help="Sensitive features, such as race or sex. Each is audited.",
)
features = option(
    "--features",
    multiple=True,
    metavar="COL,...",
    help="Features that make people alike. Default: every column not named otherwise.",
)
drop = option(
    "--drop",
    multiple=True,
    metavar="COL,...",
    help="Columns to leave out of the features, such as row numbers or true labels.",
)
outcome_label = option(
    "--outcome-label",
    multiple=True,
    metavar="VALUE",
    help="Outcome to audit; may be repeated. Default: both of two.",
)
favorable_label = option(
    "--favorable-label",
    metavar="VALUE",
    help="The good outcome. Getting another one more often is then harm, which the first lines of the "
    "report, the worst case and --fail-above are about.",
)
outcome_name = option(
    "--outcome-name",
    metavar="TEXT",
    help="What sentences call the outcome. Default: its column.",
)
outcome_names = option(
    "--outcome-names",
    multiple=True,
    metavar="LABEL=NAME,...",
    help="What sentences call each outcome, such as '1=refused,0=approved'.",
)
group_names = option(
    "--group-names",
    multiple=True,
    metavar="VALUE=NAME,...",
    help="What sentences call groups, such as 'f=women,m=men'.",
)
reference = option(
    "--reference",
    multiple=True,
    metavar="VALUE|COL=VALUE",
    help="Compare with this sensitive value only; with several --sensitive columns COL=VALUE. "
    "Default: with everybody else.",
)
weight = option("--weight", metavar="COL", help="Column of sample weights.")
weight_type = option(
    "--weight-type",
    type=Choice(["sampling", "frequency"]),
    help="What weights say: how many people a row stands for (default), or how many equal rows were "
    "seen.",
)
cluster = option(
    "--cluster",
    metavar="COL",
    help="Column of ids of persons (households, firms) who have several rows: the rows of one are one "
    "piece of evidence.",
)
decision_input = option(
    "--decision-input",
    multiple=True,
    metavar="COL[,COL]",
    help="Features the decision was made from, such as a score with a cut-off: not refused or warned "
    "of where they tell the outcome.",
)
row = option(
    "--row",
    required=True,
    type=IntRange(0),
    metavar="N",
    help="Row of the person in FILE: 0 is the first below the header.",
)

alpha = option(
    "--alpha",
    type=ShareOr(1, "auto"),
    metavar="A",
    help="Smallest share of all, in the subgroup and with the outcome, worth reporting. Default: "
    "auto, a tenth of those who have the outcome, at most 0.05.",
)
missing = option(
    "--missing",
    type=Choice(["exclude", "category", "raise"]),
    help="Rows with a missing sensitive value: leave out (default), a group of their own, refuse.",
)
drop_missing_outcomes = option(
    "--drop-missing-outcomes",
    is_flag=True,
    help="Leave out rows without an outcome, counted. Default: refuse them.",
)
merge_spellings = option(
    "--merge-spellings",
    is_flag=True,
    help="Take labels for one that differ only in capital letters, blanks at the ends or a dot at the "
    "end, such as Male, male and 'male '. Default: warn of them.",
)
intersections = option(
    "--intersections",
    is_flag=True,
    help="Also audit each combination of the --sensitive columns' values.",
)
estimator = option(
    "--estimator",
    type=Choice(ESTIMATORS),
    help="Estimate of the ratio: rates at the same features (doubly_robust, default), weighted counts "
    "only (hajek), Algorithm 1's (raw), or as observed (unweighted).",
)
min_ratio = option(
    "--min-ratio",
    type=Finite(1),
    metavar="R",
    help="Smaller ratios are no violation however small p is. Default: 1.05.",
)
repeats = option(
    "--repeats",
    type=IntRange(min=1),
    metavar="N",
    help="Repeat the models' cross-fitting N times, each with other folds, and average, so that the "
    "answer depends less on the seed. Default: by the number of rows, 3 times up to 16,666 of them, "
    "twice up to 25,000 and once beyond.",
)
confidence = option(
    "--confidence",
    "confidence_level",
    type=_SHARE,
    metavar="LEVEL",
    help="Level of the intervals, such as 0.95.",
)
seed = option("--seed", type=int, default=0, help="Same seed, same answer.")
seed_from_zero = option("--seed", type=IntRange(min=0), default=0, help="Same seed, same answer.")
jobs = option("--jobs", "n_jobs", type=int, metavar="N", help="Processors to use; -1 for all.")
baseline = option(
    "--baseline", metavar="COL", help="Model to compare the others with. Default: the first."
)
repeated_splits = option(
    "--splits",
    type=IntRange(0),
    default=100,
    metavar="N",
    help="Repeated 70/30 splits; 0 for none.",
)
train_test_splits = option(
    "--splits",
    type=IntRange(min=2),
    default=100,
    help="Train/test splits. The slow parts, and the figures, use a stated share of them.",
)
comparators = option(
    "--comparators",
    "n_comparators",
    type=IntRange(1),
    default=5,
    metavar="K",
    help="Nearest people of each side to count; more if counts would be too small to show.",
)
null_draws = option(
    "--null-draws",
    type=IntRange(min=1),
    metavar="N",
    help="Repeat the whole audit N times with sensitive values redrawn given the features, and say "
    "where the violations found fall among these. Takes N times as long; 199 is a good number.",
)
stability = option(
    "--stability",
    "n_repeats",
    type=IntRange(min=1),
    metavar="N",
    help="Repeat the audit on N half samples, and say whether they find the same rows.",
)
explained = option(
    "--explained",
    is_flag=True,
    help="Measure the subgroups again with each feature left out in turn, and say which features carry "
    "the difference between the ratio as observed and at equal features.",
)
where = option(
    "--where",
    metavar="EXPR",
    help="Audit only the rows where this holds, such as 'age < 25 and city == \"Oslo\"'.",
)
measure = option(
    "--measure",
    multiple=True,
    metavar="EXPR",
    help="Also measure the rows where this holds, such as 'age < 25 and priors >= 3', with no search. "
    "May be repeated. It may name any column but the outcome.",
)
group_pairs = option(
    "--group-pairs",
    is_flag=True,
    help="Also measure every group beside every other one, among everybody of the two.",
)
scheduler = option(
    "--scheduler",
    metavar="ADDRESS",
    help="Compute on the Dask cluster whose scheduler is here, such as tcp://10.0.0.1:8786. Default, "
    "for several files: this machine's processors.",
)
experiment = argument("name", type=Choice([*EXPERIMENTS, "all"]), metavar="NAME")
numeric = option(
    "--numeric",
    is_flag=True,
    help="Audit an outcome that is a number: hourly wages of 3,010 men in the USA in 1976.",
)
reading = option(
    "--reading",
    type=Choice(("paper", "ours", "both")),
    default="both",
    show_default=True,
    help="The system as published, this package's methods, or both side by side.",
)
quick = option(
    "--quick",
    is_flag=True,
    help="Leave out what takes seconds per split: the MMD network, Algorithm 1 with a support vector "
    "machine, equalized odds in Table 3, and most points of Figures 1a and 1d.",
)

data_home = option(
    "--data-home",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of COMPAS, Adult, German credit and Crimes. Default: MDFA_DATA_HOME. The figures "
    "need none.",
)

report = option(
    "--report", type=OUTPUT, metavar="FILE.html", help="Write the whole report to this page."
)
html = option(
    "--html", "html_file", type=OUTPUT, metavar="FILE.html", help="Write the card to this page."
)
BYLINE = (
    option("--title", metavar="TEXT", help="Heading of the page."),
    option("--source", metavar="TEXT", help="Where the data come from, below the heading."),
    option("--author", metavar="TEXT", help="Who answers for the page."),
    option("--date", metavar="TEXT", help="Date of the page."),
)
statement = option(
    "--statement",
    type=_JSON,
    metavar="FILE.toml",
    help="Print what those who answer for the audit state of it, in this file: system, version, "
    "purpose, data_source, data_from, data_to, data_kind, sensitive_source, auditor, relationship, "
    "audit_date, threshold, threshold_date, signed_by, notice.",
)
metric = option(
    "--metric",
    type=Choice(["accuracy", "auc", "r2", "neg_mean_absolute_error"]),
    help="Say by this metric of --true whether each model is less unequal than the baseline, within "
    "--tolerance; auc needs --scores, and the last two are of numbers.",
)
scores = option(
    "--scores",
    multiple=True,
    metavar="COL,...",
    help="Columns of the models' scores, in the order of --outcomes: higher where the larger of both "
    "outcomes is likelier.",
)
tolerance = option(
    "--tolerance",
    type=Finite(),
    metavar="T",
    help="How much less than the baseline's the metric of an alternative may be.",
)
plot = option(
    "--plot",
    type=OUTPUT,
    metavar="FILE.png",
    help="Draw each model's worst case beside its aggregate ratio (.png, .svg or .pdf).",
)
out = option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write NAME.csv, NAME_runs.csv, NAME.json and, for a figure, NAME.png to this folder.",
)
fail_above = option(
    "--fail-above",
    type=Finite(),
    metavar="LIMIT",
    help="Exit with status 1 if a violation's lower confidence bound is above this: of delta, the log "
    "ratio of outcome rates or means (0.22 is a ratio of 1.25), or, of a numeric outcome compared by "
    "its difference, of that, in its units. With --ordered it is delta of each cut.",
)
min_cell = option(
    "--min-cell",
    type=IntRange(min=1),
    default=11,
    metavar="N",
    help="Counts of people below this are left out of reports, of what is printed here and of --junit, "
    "with what would give them away; 1 keeps all.",
)
show_records = option(
    "--show-records",
    is_flag=True,
    help="Print the records of the nearest people, and counts however small.",
)

# What commands share, in the order in which their help has it.
COLUMNS = (
    sensitive,
    features,
    drop,
    decision_input,
    outcome_label,
    reference,
    weight,
    weight_type,
    cluster,
    drop_missing_outcomes,
    merge_spellings,
)
RUNNING = (confidence, seed, jobs)
AUDIT = (
    outcome,
    outcome_name,
    outcome_names,
    group_names,
    favorable_label,
    *BEYOND,
    exposure,
    *UNLIKE_GROUPS,
    *COLUMNS,
    alpha,
    missing,
    intersections,
    *MODELS,
    estimator,
    min_ratio,
    repeats,
    *RUNNING,
    statement,
)
