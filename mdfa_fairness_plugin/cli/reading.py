"""The options that say how a file is read. Nothing here is slow to import."""

from __future__ import annotations

from click import option

separator = option(
    "--separator", metavar="CHAR", help="Separates the cells of a CSV. Default: comma."
)
encoding = option(
    "--encoding", default="utf-8-sig", show_default=False, help="Encoding of a CSV. Default: UTF-8."
)
na_values = option(
    "--na-values",
    multiple=True,
    metavar="TEXT",
    help="Text that means missing, beside the empty cell; may be repeated.",
)
decimal = option(
    "--decimal",
    metavar="CHAR",
    help="Decimal mark of numbers: . or , . Asked for where 1.234 may be two numbers.",
)
thousands = option(
    "--thousands", metavar="CHAR", help="Mark between thousands: , . ' _ or a blank."
)
date_format = option(
    "--date-format",
    metavar="FORMAT",
    help="How dates are written, such as %d/%m/%Y. Asked for where 03/04/2005 may be two days.",
)
categorical = option(
    "--categorical",
    multiple=True,
    metavar="COL[,COL]",
    help="Columns of labels, such as codes, although they look like numbers or dates.",
)
bins = option(
    "--bins",
    multiple=True,
    metavar="COL=18,25,45|COL=q4",
    help="Make groups of a sensitive column of numbers: at these cuts, each the first of its group, or "
    "so many of about equal size; may be repeated.",
)

# In the order in which help has them.
READING = (separator, encoding, na_values, decimal, thousands, date_format, categorical, bins)
