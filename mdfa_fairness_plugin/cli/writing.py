"""The options that name what is written beside reports. Nothing here is slow to import."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
from click import option

OUTPUT: Final = click.Path(dir_okay=False, path_type=Path)

junit = option(
    "--junit",
    "junit_file",
    type=OUTPUT,
    metavar="FILE.xml",
    help="Write one test case per search to this file, as continuous integration reads them: failed "
    "where the gate of --fail-above trips, skipped where there is not enough evidence.",
)
cyclonedx = option(
    "--cyclonedx",
    type=OUTPUT,
    metavar="FILE.json",
    help="Write the audited model with its model card to this file, as bills of materials hold it "
    "(CycloneDX 1.6): metrics by group and subgroup, findings, what --statement states.",
)
members = option(
    "--members",
    type=OUTPUT,
    metavar="FILE.csv",
    help="Write who is inside to this file (.csv or .parquet), a line per row and search.",
)
group_table = option(
    "--group-table",
    type=OUTPUT,
    metavar="FILE.csv",
    help="Write every group's favourable outcomes (--favorable-label) to this file: counts, rates, "
    "impact ratios to the group with the highest rate, also at equal features, tests. No count is "
    "withheld.",
)
pairs = option(
    "--pairs",
    type=OUTPUT,
    metavar="FILE.csv",
    help="Write people of the worst subgroup who fared badly beside the most alike who did not to this "
    "file, 50 pairs with every feature, for a review of files. Needs --allow-rows.",
)
allow_rows = option(
    "--allow-rows",
    is_flag=True,
    help="Let --pairs write rows of single people, which --min-cell otherwise keeps back.",
)
table_file = option(
    "--csv",
    "csv",
    type=OUTPUT,
    metavar="FILE.csv",
    help="Write a line per model to this file: its worst case beside its aggregate ratios, and with "
    "--metric what is shown of it. No count is withheld.",
)
withhold = option(
    "--withhold",
    is_flag=True,
    help="Let --json, too, leave out what --min-cell does; no command reads such a file back.",
)
