"""The tutorial: executed as it is committed, saying what its outputs say, and runnable anywhere."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
import sandbox
from conftest import ROOT
from nbclient import NotebookClient
from nbformat import NotebookNode

TUTORIAL = ROOT / "docs" / "tutorial.ipynb"
# A cell whose output is the same at every execution has this tag.
STABLE = "stable"
# What the prose says, and the output that has to say so too.
STATED = {
    "its exact δ is 0.987": r"trlap +0\.1 +10\^-181 +0\.987",
    "the table says `inf`": r"trlap.* inf +False",
    "`crr` claims ε = 5 with δ = 0, and that is exactly so": r"crr +5\.0 +0 +0 .* 5\.0 +True",
    "`crr` keeps 28 % of the words": r"crr +5\.0 +5\.00 +0\.282 +True",
    "`krr` 9 %": r"krr +5\.0 +5\.00 +0\.087 +True",
    "has an exact ε of 5.63 where it keeps 0.1 %": r"cmp +10\.0 +5\.63 +0\.001 +True",
    "an exact ε of 1.51 even where it is asked for 10": r"gaussian +10\.0 +1\.51 +0\.00\d +True",
    "`trlap` keeps nothing either": r"trlap +10\.0 +inf +0\.00\d +False",
    "**5** keeps one word in six here": r"5 +16% +60\.0%",
    "**8** keeps more than half of the words": r"8 +59% +96\.8%",
    "keep most words: 77 % and 89 %": r"10 +77% .*\n.* 12 +89% ",
}


def notebook() -> NotebookNode:
    return nbformat.read(TUTORIAL, as_version=4)


def code_cells(node: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in node.cells if cell.cell_type == "code"]


def printed(cell: NotebookNode) -> str:
    """What a reader sees below a cell, pictures apart."""
    parts = [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    ]
    return "\n".join(parts)


def stable(node: NotebookNode) -> dict[str, str]:
    return {
        cell.source: printed(cell)
        for cell in code_cells(node)
        if STABLE in cell.metadata.get("tags", [])
    }


def test_every_cell_has_its_output() -> None:
    node = notebook()
    nbformat.validate(node)
    cells = code_cells(node)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert cell.outputs, cell.source
        for output in cell.outputs:
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", cell.source
    assert any("image/png" in each.get("data", {}) for cell in cells for each in cell.outputs)


def test_no_output_names_a_place() -> None:
    for cell in code_cells(notebook()):
        text = printed(cell)
        assert not re.search(r"(?<![\w.])/(?:[\w.-]+/)+\w|[A-Z]:\\", text), text
        assert "Warning" not in text and "Traceback" not in text


def test_the_text_says_what_the_outputs_say() -> None:
    node = notebook()
    prose = "\n".join(cell.source for cell in node.cells if cell.cell_type == "markdown")
    outputs = "\n".join(stable(node).values())
    for statement, pattern in STATED.items():
        assert statement in prose, statement
        assert re.search(pattern, outputs), f"{statement}: no output says so"


@pytest.mark.slow
def test_it_runs_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own that looks like the project, started in docs/ as editors do."""
    project = sandbox.make(tmp_path / "trlap")
    shutil.copy(TUTORIAL, project / "docs")
    for name, value in sandbox.environment(project).items():
        monkeypatch.setenv(name, value)
    executed = notebook()
    for cell in code_cells(executed):
        cell.outputs = []
    place = {"metadata": {"path": str(project / "docs")}}
    NotebookClient(executed, timeout=600, kernel_name="python3", resources=place).execute()
    assert stable(executed) == stable(notebook())
    assert (project / "outputs" / "tutorial" / "private-12.csv").is_file()
