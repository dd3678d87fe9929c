"""The whole report: its files, what a changed number does to them, and the study's committed figures."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from report_helpers import (
    LEARNED,
    PATTERN,
    PUBLISHED,
    ROOT,
    STABLE,
    WITHIN,
    decoded,
    learned,
    rewritten,
    write_runs,
)

from trlap.mechanisms.registry import MECHANISMS
from trlap.metrics.registry import METRICS
from trlap.report.build import build
from trlap.report.looks import appearance, in_order
from trlap.report.results import collect, read
from trlap.runs.result import RunResult, Scores


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all made-up runs, beside them."""
    outputs = write_runs(PATTERN + LEARNED, tmp_path_factory.mktemp("runs") / "outputs")
    build([outputs], outputs / "report", PUBLISHED)
    return outputs / "report"


def verdicts(folder: Path) -> dict[tuple[str, str], str]:
    rows = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    return {(row["claim"], row["protocol"]): row["verdict"] for row in rows}


def test_the_report_of_collected_rows_is_that_of_the_runs(report: Path, tmp_path: Path) -> None:
    collect(read([report.parent]), tmp_path / "rows" / "study.jsonl")
    build([tmp_path / "rows"], tmp_path / "again", PUBLISHED)
    names = sorted(path.name for path in report.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "again").iterdir())
    for name in names:
        # the page links to the folders of runs
        if name != "index.html":
            assert (report / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_a_changed_number_changes_table_figure_and_claim(report: Path, tmp_path: Path) -> None:
    stable = [learned("trlap", e, 0.795, exact=float("inf")) for e in (0.01, 0.1, 1.0)]
    changed = [PATTERN[0], rewritten("trlap", 0.05, 60.0), *PATTERN[2:]]
    changed += [LEARNED[0], *stable, *LEARNED[4:]]
    after = tmp_path / "after"
    build([write_runs(changed, tmp_path / "runs")], after, PUBLISHED)
    tables = ["tables.csv", "tables.tex", "report.md", "downstream.csv", "frontier.csv"]
    figures = ["figure2.svg", "figure4.svg", "frontier.svg"]
    for name in [*tables, *figures, "claims.json", "index.html"]:
        assert (report / name).read_bytes() != (after / name).read_bytes(), name
    assert (report / "debias.svg").read_bytes() == (after / "debias.svg").read_bytes()
    text = (report / "report.md").read_text(encoding="utf-8")
    assert "| **67.50** |" in text
    assert "missing" in text
    # a word, not a tag
    assert r"\</b>" in text
    assert [verdicts(folder)[WITHIN, "release"] for folder in (report, after)] == [
        "confirmed",
        "refuted",
    ]
    assert [verdicts(folder)[STABLE, "paper"] for folder in (report, after)] == [
        "refuted",
        "confirmed",
    ]


def shapes(folder: Path, name: str) -> tuple[str, list[float]]:
    """A figure without the names of its parts, which are made from all digits: its text, its numbers."""
    text = re.sub(r'id="\w+"|#\w+', "", (folder / f"{name}.svg").read_text(encoding="utf-8"))
    number = r"-?\d+\.?\d*(?:e-?\d+)?"
    return re.sub(number, "0", text), [float(found) for found in re.findall(number, text)]


def colours(folder: Path, name: str) -> set[str]:
    return set(re.findall(r"stroke: (#\w{6})", (folder / f"{name}.svg").read_text("utf-8")))


def test_the_rows_of_the_study_fill_every_figure_and_decide_every_claim(tmp_path: Path) -> None:
    """Nothing but what is committed; figures and numbers of the documents come from these rows."""
    rows = build([ROOT / "results"], tmp_path, PUBLISHED)
    assert len(rows) == sum(1 for _ in (ROOT / "results" / "study.jsonl").open())
    committed = ROOT / "results" / "figures"
    names = {path.stem for path in tmp_path.glob("*.svg")}
    assert names == {path.stem for path in committed.glob("*.svg")}
    for name in names:
        drawn, kept = shapes(tmp_path, name), shapes(committed, name)
        assert drawn[0] == kept[0], f"results/figures/{name}.svg is not of these rows"
        assert drawn[1] == pytest.approx(kept[1], abs=0.01), name
        assert colours(tmp_path, name) == colours(committed, name), name
        assert name.endswith("-dark") or (tmp_path / f"{name}.png").stat().st_size > 0
    found = verdicts(tmp_path)
    assert found[STABLE, "paper"] == "refuted"
    # Figure 4 is no matter of the tables' code
    not_run = {protocol for (_, protocol), verdict in found.items() if verdict == "not yet run"}
    assert not_run <= {"tables"}


def of_strangers() -> list[RunResult]:
    """Cells of two mechanisms and a metric that no package here has."""
    cells = [
        *(learned("stranger", epsilon, 0.7) for epsilon in (1.0, 5.0)),
        *(learned("foreigner", epsilon, 0.6) for epsilon in (1.0, 5.0)),
        decoded("stranger", 5.0, 0.75, "posterior"),
        rewritten("stranger", 0.05, 44.0, "paper"),
    ]
    return [
        replace(
            cell,
            metrics=replace(cell.metrics, values=cell.metrics.values | {"warmth": 0.625}),
            private_metrics=replace(
                cell.private_metrics, values=cell.private_metrics.values | {"warmth": 0.375}
            ),
        )
        for cell in cells
    ]


def test_mechanisms_and_metrics_that_nobody_has_registered_are_shown(tmp_path: Path) -> None:
    """Somebody else's results: the package that made them is not installed here."""
    assert "stranger" not in MECHANISMS and "warmth" not in METRICS
    outputs = write_runs([*PATTERN, *LEARNED, *of_strangers()], tmp_path / "outputs")
    frame = build([outputs], tmp_path / "report", PUBLISHED)
    known = frame[frame.mechanism == "stranger"]
    assert set(known.warmth) == {0.625} and set(known.private_warmth) == {0.375}
    assert frame[frame.mechanism == "trlap"].warmth.isna().all()

    ours = {name: appearance(name) for name in MECHANISMS.names}
    looks = {**ours, **{name: appearance(name) for name in ("stranger", "foreigner")}}
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(looks)
    assert looks["stranger"].label == "stranger"
    for name in ("frontier", "figure4", "debias"):
        assert looks["stranger"].colour in colours(tmp_path / "report", name), name
    # beside their lines, and in the order of a legend, which comes last
    names = [f">{name}</text>" for name in ("crr", "foreigner", "stranger")]
    svg = (tmp_path / "report" / "frontier.svg").read_text(encoding="utf-8")
    assert all(name in svg for name in names)
    svg = (tmp_path / "report" / "figure4.svg").read_text(encoding="utf-8")
    places = [svg.rindex(name) for name in names]
    assert places == sorted(places)
    assert in_order(["stranger", "crr", "none", "foreigner"]) == [
        "none",
        "crr",
        "foreigner",
        "stranger",
    ]
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert '"key": "private_warmth", "title": "warmth, private"' in page
    assert '"key": "warmth", "title": "warmth"' in page and '"warmth": 0.625' in page


def test_a_run_without_metrics_or_examples_is_no_obstacle(tmp_path: Path) -> None:
    """stages=[audit]: nothing but a guarantee."""
    bare = rewritten("trlap", 0.05, 0.0, "paper")
    details = replace(bare.details, examples=[], privatize={}, rewrite=None)
    bare = replace(bare, metrics=Scores(), private_metrics=Scores(), details=details)
    frame = build([write_runs([bare], tmp_path / "outputs")], tmp_path / "report", PUBLISHED)
    assert frame.private_n_w.isna().all() and frame.epsilon_1e6.notna().all()
    assert "| yelp | 19, 3610/3310, 909/912 | –, 95, 20 |" in (
        tmp_path / "report" / "report.md"
    ).read_text(encoding="utf-8")
    assert not list((tmp_path / "report").glob("*.svg"))


def test_with_nothing_to_show_it_says_what_to_run(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "report.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "python run.py -m experiment=high_privacy" in done.stderr


def test_latex_compiles_or_at_least_balances(report: Path, tmp_path: Path) -> None:
    body = (report / "tables.tex").read_text(encoding="utf-8")
    assert body.count(r"\begin{") == body.count(r"\end{")
    assert body.count("{") == body.count("}")
    widths = {line.count(" & ") for line in body.splitlines() if line.startswith(("Loss", "N"))}
    # thirteen numbers after the label
    assert widths == {13}
    assert body.isascii() or not set(body) & set("εδ±∞≤≥–⁻⁶")
    engine = shutil.which("pdflatex") or shutil.which("tectonic")
    if engine is None:
        return
    head = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
    (tmp_path / "all.tex").write_text(head + body + r"\end{document}", encoding="utf-8")
    options = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in engine else []
    command = [engine, *options, "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
