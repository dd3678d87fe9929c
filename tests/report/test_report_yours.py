"""The reader's own runs among the study's: marked, nowhere lost, and never overwritten."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import warm
from report_helpers import LEARNED, PATTERN, PUBLISHED, ROOT, learned, write_runs

from trlap import load_results
from trlap.report.build import build
from trlap.report.results import collect, read, yours
from trlap.runs.result import write

OWN = "demo-glove840b-crr-eps7-0123abcd"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of runs with one in it, and a study of collected rows."""
    home = tmp_path_factory.mktemp("home")
    own = replace(learned("crr", 0.37, 0.7), name=OWN, dataset="demo")
    write(own, home / "outputs" / OWN / "result.json")
    collect(read([write_runs(PATTERN + LEARNED, home / "runs")]), home / "study" / "study.jsonl")
    return home / "outputs", home / "study"


def test_what_was_read_from_a_runs_folder_is_the_readers(places: tuple[Path, Path]) -> None:
    frame = load_results(*places)
    assert list(frame[yours(frame)].name) == [OWN]
    # where there is nothing else to tell it from, nothing is marked
    assert not yours(load_results(places[0])).any() and not yours(load_results(places[1])).any()


def test_the_readers_runs_are_marked_on_the_page_and_in_the_frontier(
    places: tuple[Path, Path],
) -> None:
    folder = places[0] / "report"
    build(list(places), folder, PUBLISHED)
    page = (folder / "index.html").read_text(encoding="utf-8")
    text = page.split('<script id="data" type="application/json">')[1].split("</script>")[0]
    assert [run["name"] for run in json.loads(text) if run["whose"] == "yours"] == [OWN]
    assert 'id="own"' in page and "1 of them" in page
    # its sentence at its own ε, which is none of those that are offered
    assert 'data-epsilon="0.37"' in page
    assert "(yours)" in (folder / "report.md").read_text(encoding="utf-8")
    frontier = (folder / "frontier.svg").read_text(encoding="utf-8")
    assert ">yours: crr, demo, ε = 0.37</text>" in frontier
    build([places[1]], folder.with_name("again"), PUBLISHED)
    assert 'id="own"' not in (folder.with_name("again") / "index.html").read_text(encoding="utf-8")


def run(script: str, *options: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.run([str(ROOT / "scripts" / script), *options], cwd)


def test_a_report_on_named_places_has_a_folder_of_its_own(
    places: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "outputs" / "report").mkdir(parents=True)
    mine = tmp_path / "outputs" / "report" / "index.html"
    mine.write_text("of my own runs", encoding="utf-8")
    done = run("report.py", str(places[1]), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "outputs/report-study/index.html" in done.stdout
    assert (tmp_path / "outputs" / "report-study" / "index.html").is_file()
    assert mine.read_text(encoding="utf-8") == "of my own runs"


def test_a_folder_that_holds_something_else_is_left_alone(
    places: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("mine", encoding="utf-8")
    done = run("report.py", str(places[1]), "--to", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ") and "name another folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("script", ["report.py", "figure_claim.py"])
def test_help_prints_usage_and_does_nothing_else(script: str, tmp_path: Path) -> None:
    before = (ROOT / "docs" / "claim.svg").stat().st_mtime_ns
    done = run(script, "--help", cwd=tmp_path)
    assert done.returncode == 0 and f"python scripts/{script}" in done.stdout
    assert not list(tmp_path.iterdir())
    assert (ROOT / "docs" / "claim.svg").stat().st_mtime_ns == before
