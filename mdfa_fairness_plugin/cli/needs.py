"""What options need to have an effect: without it they are refused. Nothing here is slow to import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click
from click.core import ParameterSource

from mdfa_fairness_plugin.cli.console import CommandError
from mdfa_fairness_plugin.cli.request import BYLINE, Request

# Fields of the request, what they need, and what is said of the option without it.
_NEEDS: Final[tuple[tuple[tuple[str, ...], Callable[[Request], Any], str], ...]] = (
    (
        ("truth",),
        lambda asked: asked.event or asked.outcomes,
        "true labels are for --event, as in --event false_negative. To keep them from the features, "
        "pass --drop {0.truth}.",
    ),
    (
        ("favorable",),
        lambda asked: asked.event != "absolute_error",
        "a small error is good for people whatever is predicted; leave it out.",
    ),
    (
        ("outcome_label",),
        lambda asked: asked.event != "error",
        "an error is one whatever was answered; leave it out, or audit one kind, as in --event "
        "false_negative.",
    ),
    (
        (
            "event", "truth", "null_draws", "n_repeats", "explained", "where", "measure", "members",
            "group_pairs", "group_table", "pairs", "na_values", "decimal", "thousands", "date_format",
            "categorical", "bins", "sensitive_probabilities",
        ),
        lambda asked: not asked.is_spread_out,
        "the rows have to be in memory for this, so it cannot be used with several files or a "
        "scheduler.",
    ),
    (
        ("scheduler",),
        lambda asked: asked.is_parquet or not asked.file.suffix,
        "a cluster reads Parquet files, and {0.file} is none; convert it, or leave --scheduler out.",
    ),
    (
        ("separator", "encoding"),
        lambda asked: not asked.is_parquet,
        "it says how a CSV is written, and {0.file} is Parquet; leave it out.",
    ),
    (
        ("device",),
        lambda asked: asked.has_network,
        "only the MMD network computes there; ask for one with --balance mmd_network, --learner "
        "network_features or --representation phi, or leave it out.",
    ),
    (
        ("n_jobs",),
        lambda asked: asked.again or not asked.files,
        "only --again computes anything; pass it as well, or leave this out.",
    ),
    (
        ("null_draws", "n_repeats", "explained", "group_pairs"),
        lambda asked: not asked.quiet,
        "what it finds is printed, which --quiet keeps back; leave one of them out.",
    ),
    (
        BYLINE,
        lambda asked: asked.report or asked.html_file,
        "it stands on the page, which was not asked for; name its file with --report (of a card, "
        "--html), or leave it out.",
    ),
    (
        ("withhold",),
        lambda asked: asked.json_file,
        "it is about --json, which was not given; what is printed, --report and --junit leave out "
        "counts below --min-cell {0.min_cell} without it.",
    ),
    (
        ("allow_rows",),
        lambda asked: asked.pairs,
        "it lets --pairs write rows of single people, which was not given; leave it out.",
    ),
    (
        ("pairs",),
        lambda asked: asked.allow_rows or asked.min_cell == 1,
        "it writes rows of single people, and --min-cell {0.min_cell} keeps back fewer people than "
        "that; pass --allow-rows as well if whoever gets the file may see them.",
    ),
    (
        ("group_table",),
        lambda asked: not (asked.is_numeric or asked.ordered),
        "it counts who gets the favourable outcome; numbers and orders are none, so audit a cut of "
        "them, as in --outcome 'wage >= 5' --favorable-label 'wage >= 5'.",
    ),
    (
        ("group_table",),
        lambda asked: asked.favorable_label is not None,
        "it tells who gets the favourable outcome; name that with --favorable-label.",
    ),
)  # fmt: skip


def refuse_idle(asked: Request) -> None:
    """Refuse options that were given and would do nothing."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            for fields, has_effect, why in _NEEDS:
                if name in fields and not has_effect(asked):
                    raise CommandError(f"{option.opts[-1]}: {why.format(asked)}")
