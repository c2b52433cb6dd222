"""``python -m mdfa_fairness_plugin.cli``: the same as ``mdfa``."""

from mdfa_fairness_plugin.cli import main

main(prog_name="mdfa")
