"""What a command line asks of some rows and, by ``mdfa measure`` and its like, of others, too.

Nothing here is slow to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from click import FloatRange, IntRange

from mdfa_fairness_plugin.cli.kinds import (
    Finite,
    ShareOr,
    choice,
    option,
    setting,
    several,
    switch,
    unless_probable,
)

# As the registries of these stages, which are slow to import.
BALANCES: Final = (
    "auto", "mmd_network", "kernel_matching", "entropy", "propensity", "overlap", "none",
)  # fmt: skip
SOLVERS: Final = ("auto", "orthogonal", "level_set", "iterative")
LEARNERS: Final = (
    "auto", "random_forest", "gradient_boosting", "svm_rbf", "svm_linear", "logistic", "tree",
    "network_features",
)  # fmt: skip
ESTIMATORS: Final = ("doubly_robust", "hajek", "raw", "unweighted")
# As mdfa_fairness_plugin.data.events.EVENTS and those of numbers, likewise.
EVENTS: Final = (
    "selection", "error", "false_positive", "false_negative", "true_positive", "score", "residual",
    "absolute_error", "overprediction", "calibration",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of some rows, and of other ones, too, by ``mdfa measure`` and its like."""

    # What is audited.
    outcome: str = option(
        "COL",
        "What the classifier answered: a column, or a condition such as 'score >= 7', whose columns "
        "are then no features.",
        default="",
        required=True,
    )
    sensitive: tuple[str, ...] = several(
        "COL[,COL]",
        "Sensitive features, such as race or sex. Each is audited.",
        callback=unless_probable,
    )
    truth: str | None = option("COL", "True labels, for accuracy and error rates.", called="--true")
    event: str | None = choice(
        EVENTS,
        "Audit this in the place of the outcome, by --true: answers of one kind (--outcome-label, or "
        "1 of 0 and 1) that are wrong, that are missing, or any error; of predictions that are numbers "
        "the score itself, the residual (true minus predicted), the absolute error, whether it is too "
        "high, or calibration: what is true at the same score.",
        setting=None,
    )
    features: tuple[str, ...] = several(
        "COL,...", "Features that make people alike. Default: every column not named otherwise."
    )
    drop: tuple[str, ...] = several(
        "COL,...", "Columns to leave out of the features, such as row numbers or true labels."
    )
    outcome_label: tuple[str, ...] = several(
        "VALUE", "Outcome to audit; may be repeated. Default: both of two."
    )
    favorable_label: str | None = option(
        "VALUE",
        "The good outcome. Getting another one more often is then harm, which the first lines of the "
        "report, the worst case and --fail-above are about.",
    )
    outcome_name: str | None = setting(
        "TEXT", "What sentences call the outcome. Default: its column."
    )
    outcome_names: tuple[str, ...] = several(
        "LABEL=NAME,...", "What sentences call each outcome, such as '1=refused,0=approved'."
    )
    group_names: tuple[str, ...] = several(
        "VALUE=NAME,...", "What sentences call groups, such as 'f=women,m=men'."
    )
    reference: tuple[str, ...] = several(
        "VALUE|COL=VALUE",
        "Compare with this sensitive value only; with several --sensitive columns COL=VALUE. "
        "Default: with everybody else.",
    )
    weight: str | None = option("COL", "Column of sample weights.")
    weight_type: str | None = choice(
        ["sampling", "frequency"],
        "What weights say: how many people a row stands for (default), or how many equal rows were "
        "seen.",
    )
    cluster: str | None = option(
        "COL",
        "Column of ids of persons (households, firms) who have several rows: the rows of one are one "
        "piece of evidence.",
    )
    decision_input: tuple[str, ...] = several(
        "COL[,COL]",
        "Features the decision was made from, such as a score with a cut-off: not refused or warned "
        "of where they tell the outcome.",
    )
    exposure: str | None = option(
        "COL",
        "Column of how long or how often each row could have been counted: a numeric outcome of "
        "counts is compared per unit of it.",
    )
    where: str | None = option(
        "EXPR", "Audit only the rows where this holds, such as 'age < 25 and city == \"Oslo\"'."
    )
    measure: tuple[str, ...] = several(
        "EXPR",
        "Also measure the rows where this holds, such as 'age < 25 and priors >= 3', with no search. "
        "May be repeated. It may name any column but the outcome.",
    )
    # Outcomes beyond yes and no.
    outcome_type: str | None = choice(
        ["auto", "binary", "multiclass", "numeric"],
        "What the outcome is: labels (default, two or up to 20, each against all others), or numeric, "
        "such as an amount, of which --sensitive groups get less or more.",
    )
    ordered: tuple[str, ...] = several(
        "LOW,...,HIGH",
        "The outcome's labels from the lowest to the highest: each cut between two of them is "
        "audited, and the mean rank.",
    )
    compare_by: str | None = choice(
        ["auto", "difference", "ratio"],
        "Compare means of a numeric outcome by their difference, in its units (default), or by their "
        "ratio (default with --exposure).",
        setting="measure",
    )
    favorable: str | None = choice(
        ["high", "low"],
        "Whether more of a numeric outcome, or a higher label of --ordered, is good: as "
        "--favorable-label says of labels.",
    )
    robust: float | str | None = setting(
        "rank|SHARE",
        "Compare ranks of a numeric outcome (from 0 to 1), or means after this share of the rows at "
        "either end is moved in, so that a few huge values decide nothing.",
        ShareOr(0.5, "rank"),
    )
    min_difference: float | None = setting(
        "D",
        "Smaller differences, in units of the outcome, are no violation however small p is. Default: "
        "a twentieth of its standard deviation.",
        Finite(),
    )
    # Groups that are quantities, or known by probability.
    sensitive_probabilities: tuple[str, ...] = several(
        "COL,...",
        "Where groups are not recorded: columns of the probability of each, adding up to 1 in every "
        "row. --sensitive is then the column of known groups, if some are.",
        is_eager=True,
    )
    sensitive_type: str | None = choice(
        ["auto", "numeric"],
        "numeric: the --sensitive column is a quantity, such as an age, compared as it is: where the "
        "outcome rises or falls most with it.",
    )
    per: float | None = setting(
        "UNITS",
        "How much more of a numeric --sensitive column slopes are told for, such as 10 years. "
        "Default: 1.",
        Finite(min_open=True),
    )
    # How the file is read.
    separator: str | None = option("CHAR", "Separates the cells of a CSV. Default: comma.")
    encoding: str = option(
        "", "Encoding of a CSV. Default: UTF-8.", default="utf-8-sig", show_default=False
    )
    na_values: tuple[str, ...] = several(
        "TEXT", "Text that means missing, beside the empty cell; may be repeated."
    )
    decimal: str | None = option(
        "CHAR", "Decimal mark of numbers: . or , . Asked for where 1.234 may be two numbers."
    )
    thousands: str | None = option("CHAR", "Mark between thousands: , . ' _ or a blank.")
    date_format: str | None = option(
        "FORMAT",
        "How dates are written, such as %d/%m/%Y. Asked for where 03/04/2005 may be two days.",
    )
    categorical: tuple[str, ...] = several(
        "COL[,COL]", "Columns of labels, such as codes, although they look like numbers or dates."
    )
    bins: tuple[str, ...] = several(
        "COL=18,25,45|COL=q4",
        "Make groups of a sensitive column of numbers: at these cuts, each the first of its group, or "
        "so many of about equal size; may be repeated.",
    )
    # How it is audited.
    alpha: float | str | None = setting(
        "A",
        "Smallest share of all, in the subgroup and with the outcome, worth reporting. Default: "
        "auto, a tenth of those who have the outcome, at most 0.05.",
        ShareOr(1, "auto"),
    )
    missing: str | None = choice(
        ["exclude", "category", "raise"],
        "Rows with a missing sensitive value: leave out (default), a group of their own, refuse.",
    )
    drop_missing_outcomes: bool = switch(
        "Leave out rows without an outcome, counted. Default: refuse them."
    )
    merge_spellings: bool = switch(
        "Take labels for one that differ only in capital letters, blanks at the ends or a dot at the "
        "end, such as Male, male and 'male '. Default: warn of them.",
        setting="",
    )
    intersections: bool = switch(
        "Also audit each combination of the --sensitive columns' values.", setting=""
    )
    balance: str | None = choice(BALANCES, "How the groups are made comparable.")
    solver: str | None = choice(SOLVERS, "How the subgroup is searched for.")
    learner: str | None = choice(LEARNERS, "Models that the subgroup is searched with.")
    representation: str | None = choice(
        ["raw", "phi"],
        "What these models see: the features (default), or the last layer of an MMD network, as "
        "in the paper. Needs torch, and --solver level_set or iterative.",
    )
    complexity: str | None = choice(
        ["fixed", "cross_validated"],
        "Whether cross-validation chooses how large a tree or how strong a penalty these models "
        "have, with --solver level_set or iterative. Default: fixed.",
    )
    device: str | None = setting(
        "NAME", "Where the MMD network computes: cpu or cuda. Needs torch."
    )
    estimator: str | None = choice(
        ESTIMATORS,
        "Estimate of the ratio: rates at the same features (doubly_robust, default), weighted counts "
        "only (hajek), Algorithm 1's (raw), or as observed (unweighted).",
    )
    min_ratio: float | None = setting(
        "R", "Smaller ratios are no violation however small p is. Default: 1.05.", Finite(1)
    )
    repeats: int | None = setting(
        "N",
        "Repeat the models' cross-fitting N times, each with other folds, and average, so that the "
        "answer depends less on the seed. Default: by the number of rows, 3 times up to 16,666 of "
        "them, twice up to 25,000 and once beyond.",
        IntRange(min=1),
        name="n_repeats",
    )
    confidence_level: float | None = setting(
        "LEVEL",
        "Level of the intervals, such as 0.95.",
        FloatRange(0, 1, min_open=True, max_open=True),
        called="--confidence",
    )
    seed: int = setting("", "Same seed, same answer.", int, name="random_state", default=0)
    scheduler: str | None = option(
        "ADDRESS",
        "Compute on the Dask cluster whose scheduler is here, such as tcp://10.0.0.1:8786. Default, "
        "for several files: this machine's processors.",
    )
