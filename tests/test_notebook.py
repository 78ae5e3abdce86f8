"""examples/quickstart.ipynb is run cell by cell, with the tests' policy in the place of the real one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from documented import ROOT

NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"


def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_the_notebook_runs_to_its_curve(tmp_path: Path, tiny_weights: Path) -> None:
    """With random weights, which tell whether all cells run; what they learn decides nothing here."""
    found = notebook()
    (given,) = (cell for cell in found.cells if "parameters" in cell.metadata.get("tags", ()))
    given.source = (
        f"policy, prompt_style, max_new_tokens = {str(tiny_weights)!r}, 'short', 8\n"
        "steps, problems_per_step, samples_per_problem, learning_rate = 2, 1, 2, 1e-4"
    )
    client = NotebookClient(found, timeout=None, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = "".join(output.get("text", "") for output in found.cells[-2].outputs)
    assert re.findall(r"^ *(\d+) +[-+][\d.]+", shown, re.M) == ["1", "2"]


def test_the_notebook_is_kept_without_outputs_of_anybodys_machine() -> None:
    found = notebook()
    nbformat.validate(found)
    cells = [cell for cell in found.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
