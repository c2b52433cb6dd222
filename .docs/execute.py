#!/usr/bin/env python3
"""Run notebooks from top to bottom and keep their outputs, pictures with few colours.

    python .docs/execute.py notebooks/guide.ipynb [...]

Needs the extra ``test``.
"""

from __future__ import annotations

import base64
import io
import os
import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbclient
import nbformat
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
# By coverage thin lines keep their colours, which a median cut gives to larger areas.
COLOURS = 128


def main(paths: list[str]) -> None:
    """Execute each notebook in an empty folder, with this clone's package."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    for path in map(Path, paths):
        notebook = nbformat.read(path, as_version=4)
        with TemporaryDirectory() as folder:
            where = {"metadata": {"path": folder}}
            nbclient.NotebookClient(notebook, kernel_name="python3", resources=where).execute()
        for cell in notebook.cells:
            for data in (output.get("data", {}) for output in cell.get("outputs", ())):
                if "image/png" in data:
                    data["image/png"] = in_few_colours(data["image/png"])
            cell.metadata.pop("execution", None)
        notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
        nbformat.write(notebook, path)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{path}: {path.stat().st_size:,} bytes; {seconds.ru_utime:.0f} s of CPU so far")


def in_few_colours(png: str) -> str:
    """The same picture as a smaller file."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    small = io.BytesIO()
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


if __name__ == "__main__":
    main(sys.argv[1:])
