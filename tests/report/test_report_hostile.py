"""Texts of strangers on the page: whatever a run says stays text, and leads nowhere."""

import json
import os
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_helpers import PATTERN, PUBLISHED, with_config, write_runs

from trlap.report.build import build
from trlap.report.render.page import _script
from trlap.report.results import collect, read
from trlap.runs.result import Example, RunResult, Scores, to_json, write

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "--><img src=x onerror=alert(1)>",
    "\"><svg onload='alert(1)'>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "]]>&lt;&amp;\u2028\u2029\x00",
    "../../etc",
    "| a | `b` | \\",
)


class Page(HTMLParser):
    """Tags, links and scripts of a page, as a browser takes them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += data


def parsed(folder: Path) -> Page:
    page = Page()
    page.feed((folder / "index.html").read_text(encoding="utf-8"))
    return page


def hostile(result: RunResult, text: str) -> RunResult:
    """The same run with that text wherever a file can hold one."""
    result = replace(
        result,
        name=text,
        embedding=text,
        metrics=replace(result.metrics, values=result.metrics.values | {text: 1.0}),
        private_metrics=Scores(values={text: 0.5}),
        details=replace(result.details, examples=[Example(text, text, text)]),
        provenance=replace(result.provenance, command=f"python run.py {text}"),
    )
    stages = [*result.provenance.config["stages"], text]
    return with_config(result, oov=text, stages=stages, projection=text, delta=text)


def test_texts_of_runs_stay_texts(tmp_path: Path) -> None:
    plain, bad = tmp_path / "plain", tmp_path / "bad"
    runs = [run for run in PATTERN for _ in HOSTILE][: len(HOSTILE)]
    write_runs(runs, plain)
    write_runs([hostile(run, text) for run, text in zip(runs, HOSTILE, strict=True)], bad)
    # rows have the names that their file says
    rows = [json.dumps(to_json(hostile(PATTERN[1], text)), default=str) for text in HOSTILE]
    (bad / "rows.jsonl").write_text("\n".join(rows).replace("Infinity", '"inf"'), encoding="utf-8")
    honest_rows = [json.dumps(to_json(replace(PATTERN[1], name=f"row-{n}"))) for n in range(3)]
    (plain / "rows.jsonl").write_text("\n".join(honest_rows), encoding="utf-8")
    for place in (plain, bad):
        build([place], place / "report", PUBLISHED)
    honest, page = parsed(plain / "report"), parsed(bad / "report")

    # no element and no attribute that honest runs do not have
    assert set(page.tags) <= set(honest.tags) | {"mark", "dl", "dt", "dd"}
    assert len(page.scripts) == len(honest.scripts) == 3
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = [value or "" for name, value in page.attributes if name in ("href", "src")]
    assert all(link.startswith(("#", "data:")) or "/" not in link for link in links), links
    shown = json.loads(page.scripts[0])
    # and all that was said is there, as it was said
    said = {run["examples"][0]["original"] for run in shown}
    assert said == set(HOSTILE)
    names = {run["name"] for run in shown}
    assert set(HOSTILE) <= names
    folders = {run["folder"] for run in shown}
    assert all(
        folder is None or (bad / "report" / folder).resolve().parent == bad for folder in folders
    )
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
    assert written == {"plain", "bad"}
    assert "<script" not in (bad / "report" / "report.md").read_text().replace("\\<script", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_json_in_a_page_has_no_sign_of_markup_and_reads_back(text: str) -> None:
    script = _script({"text": text, text: [text]})
    assert not set(script) & set("<>&\u2028\u2029")
    assert json.loads(script) == {"text": text, text: [text]}


def test_a_name_from_a_file_makes_no_link_and_no_file_outside(tmp_path: Path) -> None:
    names = ("../x", "..", "", ".", "/etc", "a/../../x", "report/../..", "~")
    outputs = tmp_path / "outputs"
    (tmp_path / "x").mkdir()
    outputs.mkdir()
    rows = [json.dumps(to_json(replace(PATTERN[1], name=name))) for name in names]
    (outputs / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    before = {path for path in tmp_path.rglob("*") if outputs not in path.parents}
    build([outputs], outputs / "report", PUBLISHED)
    assert collect(read([outputs]), outputs / "collected.jsonl") == len(names)
    shown = json.loads(parsed(outputs / "report").scripts[0])
    assert {run["name"]: run["folder"] for run in shown} == dict.fromkeys(names)
    assert {path for path in tmp_path.rglob("*") if outputs not in path.parents} == before


def test_a_run_beside_the_report_is_linked(tmp_path: Path) -> None:
    name = "yelp-glove840b-trlap-eps1e+06-0123abcd"
    write(replace(PATTERN[1], name=name), tmp_path / name / "result.json")
    build([tmp_path], tmp_path / "report", PUBLISHED)
    (run,) = json.loads(parsed(tmp_path / "report").scripts[0])
    assert run["folder"] == f"../{name}/"


@pytest.mark.parametrize("key", ["name", "protocol", "dataset", "mechanism", "status"])
def test_a_result_whose_words_are_none_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    row = to_json(PATTERN[1]) | {key: 5}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert list(read([tmp_path])) == []
    assert f"{key}: not text" in capsys.readouterr().err


def test_a_result_that_is_none_or_not_as_it_was_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good"
    write(replace(PATTERN[1], name="good"), good / "result.json")
    status = {"status": "ok", "result": "0" * 64}
    for name, content in {"bytes": b"\xff", "deep": b"[" * 200_000, "list": b"[]"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_bytes(content)
    (tmp_path / "folder" / "result.json").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "result.json")
    (tmp_path / "edited").mkdir()
    (tmp_path / "edited" / "result.json").write_bytes((good / "result.json").read_bytes())
    (tmp_path / "edited" / "status.json").write_text(json.dumps(status))
    assert [run.name for run in read([tmp_path])] == ["good"]
    said = capsys.readouterr().err
    assert said.count("left out") == 6 and "not as the run wrote it" in said
