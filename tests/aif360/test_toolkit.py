"""Importing: lazily, quietly, and without what is not there."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("aif360", reason="AIF360 is not installed")


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )


def test_importing_is_lazy_and_quiet():
    """AIF360 comes with the first name that needs it, and says nothing on the way."""
    done = run(
        """
        import logging, sys, warnings

        import mdfa_fairness_plugin
        import mdfa_fairness_plugin.aif360
        from mdfa_fairness_plugin.aif360 import mdfa_scan

        assert "aif360" not in sys.modules
        before = list(logging.getLogger().handlers), list(warnings.filters)
        from mdfa_fairness_plugin.aif360 import MDFADatasetMetric, MDFAJSONExplainer

        assert "aif360.metrics" in sys.modules
        assert (list(logging.getLogger().handlers), list(warnings.filters)) == before
        assert logging.getLogger().filters == [] and logging.getLogger().level == logging.WARNING
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


BLOCK = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{package}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def test_works_without_fairlearn():
    """AIF360's own reductions are missing then; the audit is not."""
    done = run(
        BLOCK.format(package="fairlearn")
        + textwrap.dedent(
            """
            import numpy as np, pandas as pd
            from mdfa_fairness_plugin.aif360 import MDFADatasetMetric
            from aif360.datasets import BinaryLabelDataset

            rng = np.random.default_rng(0)
            sex, x = rng.integers(0, 2, size=(2, 400))
            y = rng.random(400) < np.where(sex == x, 0.8, 0.2)
            dataset = BinaryLabelDataset(
                df=pd.DataFrame({"sex": sex, "x": x, "y": y}),
                label_names=["y"],
                protected_attribute_names=["sex"],
            )
            metric = MDFADatasetMetric(
                dataset, [{"sex": 0}], [{"sex": 1}], random_state=0, n_splits=2, learner="tree"
            )
            print(metric.audit().worst_case.verdict)
            """
        )
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "violation\n", "")


def test_without_aif360_the_message_says_how_to_install_it():
    done = run(
        BLOCK.format(package="aif360")
        + textwrap.dedent(
            """
            import mdfa_fairness_plugin.aif360 as plugin

            try:
                plugin.MDFADatasetMetric
            except ImportError as error:
                print(type(error).__name__, error)
            """
        )
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("OptionalDependencyError")
    assert "pip install 'mdfa-fairness-plugin[aif360]'" in done.stdout


def test_an_unknown_name_is_an_attribute_error():
    import mdfa_fairness_plugin.aif360 as plugin

    with pytest.raises(AttributeError, match="has no attribute 'metric'"):
        _ = plugin.metric
    assert "mdfa_scan" in dir(plugin)


def test_other_messages_on_the_root_logger_are_let_through(caplog):
    """Only what AIF360's own files log is held back."""
    from mdfa_fairness_plugin.aif360.toolkit import quiet

    root = logging.getLogger()
    file = str(Path(importlib.util.find_spec("aif360").origin).parent / "metrics" / "ot_metric.py")
    theirs = logging.LogRecord("root", logging.WARNING, file, 8, "noise", (), None)
    with quiet(), caplog.at_level(logging.WARNING):
        root.warning("somebody else's news")
        root.handle(theirs)
    assert caplog.messages == ["somebody else's news"]
