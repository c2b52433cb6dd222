"""The command ``mdfa``: one module per subcommand, over the public API.

Nothing here imports pandas or scikit-learn before a command runs, so that ``mdfa --help`` answers
at once.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

import click

from mdfa_fairness_plugin import __version__
from mdfa_fairness_plugin.cli.commands import COMMANDS
from mdfa_fairness_plugin.cli.console import USAGE_ERROR, complain, in_options
from mdfa_fairness_plugin.exceptions import MDFAError, visible

__all__ = ["main"]

# What a shell reports for a program stopped by Ctrl-C; click's own 1 would read as a tripped gate.
_INTERRUPTED = 130


# What the loader of libraries says where there is no memory for one.
_NO_ROOM = "failed to map segment"


class _Group(click.Group):
    """Command group that answers every failure with one line and a status of its own."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)
        except MemoryError:  # Not even enough to say so.
            sys.exit(USAGE_ERROR)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = visible(error.message)  # type: ignore[misc]
            raise
        except click.exceptions.Exit:
            raise
        except (KeyboardInterrupt, click.Abort):
            complain("Interrupted.")
            ctx.exit(_INTERRUPTED)
        except Exception as error:  # A bug must not look like a tripped gate (status 1).
            if ctx.params.get("debug"):
                traceback.print_exception(error, file=sys.stderr)
            if isinstance(error, MDFAError):
                complain(f"Error: {in_options(error)}")
            elif isinstance(error, MemoryError) or _NO_ROOM in str(error):
                complain(
                    f"Error: out of memory{f' ({error})' if str(error) else ''}. Name fewer columns in "
                    "--features, or audit a folder of Parquet files, which are read in parts."
                )
            else:
                complain(
                    f"Error: unexpected {type(error).__name__}: {error}\n"
                    "Please report this with the output of: mdfa --debug ..."
                )
            ctx.exit(USAGE_ERROR)


@click.group(
    cls=_Group,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="mdfa")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Find the subgroup that a classifier treats most unequally.

    Exit status: 0 done, 1 the gate of --fail-above tripped or mdfa verify found a difference, 2 usage
    or input error.
    """
