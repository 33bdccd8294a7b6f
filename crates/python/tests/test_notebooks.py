"""Notebooks run from beginning to end; their figures go where PELOTON_FIGURES says, to be looked at."""

import base64
import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path):
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    notebook = jupytext.read(path)
    # What it writes, it writes there.
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where).execute()
    pictures = [
        output.data["image/png"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert pictures, "a notebook without figures"
    folder = os.environ.get("PELOTON_FIGURES")
    if folder:
        for number, picture in enumerate(pictures):
            (Path(folder) / f"{path.stem}-{number}.png").write_bytes(base64.b64decode(picture))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 5
