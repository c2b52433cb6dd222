"""The options for outcomes beyond yes and no. Nothing here is slow to import."""

from __future__ import annotations

from click import Choice, option

from mdfa_fairness_plugin.cli.kinds import Finite, ShareOr

outcome_type = option(
    "--outcome-type",
    type=Choice(["auto", "binary", "multiclass", "numeric"]),
    help="What the outcome is: labels (default, two or up to 20, each against all others), or numeric, "
    "such as an amount, of which --sensitive groups get less or more.",
)
ordered = option(
    "--ordered",
    multiple=True,
    metavar="LOW,...,HIGH",
    help="The outcome's labels from the lowest to the highest: each cut between two of them is "
    "audited, and the mean rank.",
)
compare_by = option(
    "--compare-by",
    type=Choice(["auto", "difference", "ratio"]),
    help="Compare means of a numeric outcome by their difference, in its units (default), or by their "
    "ratio (default with --exposure).",
)
favorable = option(
    "--favorable",
    type=Choice(["high", "low"]),
    help="Whether more of a numeric outcome, or a higher label of --ordered, is good: as "
    "--favorable-label says of labels.",
)
robust = option(
    "--robust",
    type=ShareOr(0.5, "rank"),
    metavar="rank|SHARE",
    help="Compare ranks of a numeric outcome (from 0 to 1), or means after this share of the rows at "
    "either end is moved in, so that a few huge values decide nothing.",
)
min_difference = option(
    "--min-difference",
    type=Finite(),
    metavar="D",
    help="Smaller differences, in units of the outcome, are no violation however small p is. Default: "
    "a twentieth of its standard deviation.",
)
sensitive_type = option(
    "--sensitive-type",
    type=Choice(["auto", "numeric"]),
    help="numeric: the --sensitive column is a quantity, such as an age, compared as it is: where the "
    "outcome rises or falls most with it.",
)
per = option(
    "--per",
    type=Finite(min_open=True),
    metavar="UNITS",
    help="How much more of a numeric --sensitive column slopes are told for, such as 10 years. "
    "Default: 1.",
)
sensitive_probabilities = option(
    "--sensitive-probabilities",
    multiple=True,
    is_eager=True,
    metavar="COL,...",
    help="Where groups are not recorded: columns of the probability of each, adding up to 1 in every "
    "row. --sensitive is then the column of known groups, if some are.",
)
exposure = option(
    "--exposure",
    metavar="COL",
    help="Column of how long or how often each row could have been counted: a numeric outcome of "
    "counts is compared per unit of it.",
)

# In the order in which help has them.
UNLIKE_GROUPS = (sensitive_probabilities, sensitive_type, per)
BEYOND = (outcome_type, ordered, compare_by, favorable, robust, min_difference)
