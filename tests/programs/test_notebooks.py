"""The notebooks of examples/notebooks run from their first cell to their last, and are kept without outputs."""

from __future__ import annotations

import importlib.util
import json

import pytest
from places import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_five_without_outputs():
    assert len(NOTEBOOKS) == 5
    for path in NOTEBOOKS:
        cells = [one for one in json.loads(path.read_text())["cells"] if one["cell_type"] == "code"]
        assert all(one["outputs"] == [] and one["execution_count"] is None for one in cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path, tmp_path):
    if importlib.util.find_spec("nbclient") is None or importlib.util.find_spec("ipykernel") is None:
        pytest.skip("nbclient and ipykernel come with the docs extra")
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
