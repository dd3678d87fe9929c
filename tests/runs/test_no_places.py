"""What a run leaves behind names no place, host or user; only the names of files."""

import json
import os
import platform
from dataclasses import replace
from pathlib import Path

import pytest
import warm
from conftest import ROOT, TINY
from hydra import compose, initialize_config_dir

from trlap.config.door import Config, config_from
from trlap.config.epsilon import quote
from trlap.config.places import hidden, last_name, without_places
from trlap.config.schema import Run as RunKeys
from trlap.report.build import build
from trlap.report.results import read
from trlap.runs.cell import Cell

HOME, USER = "alice-home", "alice-user"
KEYS = (
    *TINY,
    "mechanism=krr",
    "epsilon=5",
    "dataset=text",
    "dataset.label=label",
    "model.epochs=1",
    "classifier.seeds=[1]",
    "classifier.epochs=1",
    "audit.samples=200",
    "audit.tokens=20",
    "audit.words=5",
    "audit.draws=10",
)


def files_of(home: Path, outputs: Path) -> list[str]:
    """A user's own text, vocabulary and vectors, in a folder with a blank in its name."""
    folder = home / "her files"
    folder.mkdir(parents=True)
    rows = [f"{word} soup is {word},{label}" for label, word in enumerate(["bad", "good"])] * 30
    (folder / "mine.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    (folder / "words.txt").write_text("bad\ngood\nsoup\nis\n")
    numbers = " ".join(["0.5"] * 16)
    (folder / "vectors.txt").write_text(f"bad {numbers}\ngood -{numbers}\n")
    return [
        f"dataset.path='{folder}/mine.csv'",
        f"dataset.vocabulary='{folder}/words.txt'",
        f"embedding.path='{folder}/vectors.txt'",
        f"outputs='{outputs}'",
    ]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Config]:
    """A run of somebody with a name, with W&B offline."""
    home = tmp_path_factory.mktemp("home") / HOME
    outputs = home / "outputs"
    keys = [*KEYS, *files_of(home, outputs), "threads=1"]
    environment = {**os.environ, "HOME": str(home), "USER": USER, "LOGNAME": USER}
    environment |= {"HOSTNAME": "alice-host"}
    ran = warm.run([str(ROOT / "run.py"), *keys], home, environment)
    assert ran.returncode == 0, ran.stderr
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return home, config_from(compose("config", quote(keys)))


def test_no_file_of_a_run_and_of_its_report_names_a_place(done: tuple[Path, Config]) -> None:
    home, config = done
    cell = Cell(config)
    assert cell.finished()
    build([home / "outputs"], home / "outputs" / "report", ROOT / "results" / "published")
    found = [path for path in cell.folder.rglob("*") if path.is_file()]
    assert {"config.yaml", "status.json", "result.json", "run.log", "audit.json"} <= {
        path.name for path in found
    }
    assert [path for path in found if path.suffix == ".wandb"]
    found += [path for path in (home / "outputs" / "report").rglob("*") if path.is_file()]
    # a short name of a host stands in other words too
    host = platform.node() if len(platform.node()) > 5 else f'"{platform.node()}"'
    names = [HOME, USER, "her files", "alice-host", host, str(ROOT), str(Path.home())]
    for path in found:
        content = path.read_bytes()
        assert [name for name in names if name.encode() in content] == [], path


def test_what_was_run_can_still_be_told(done: tuple[Path, Config]) -> None:
    _, config = done
    result = Cell(config).result()
    command = result.provenance.command or ""
    assert "dataset.path=" in command and "mine.csv" in command and "words.txt" in command
    kept = result.provenance.config
    assert (kept["dataset"]["path"], kept["embedding"]["path"]) == ("mine.csv", "vectors.txt")
    assert (kept["dataset"]["vocabulary"], kept["outputs"]) == ("words.txt", "outputs")


def test_content_counts_and_not_the_place(done: tuple[Path, Config], tmp_path: Path) -> None:
    """The same files elsewhere are the same run, and others are another one."""
    _, config = done
    moved = files_of(tmp_path / "elsewhere", tmp_path)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        composed = compose("config", quote([*KEYS, *moved]))
    assert Cell(config_from(composed)).name == Cell(config).name
    (tmp_path / "elsewhere" / "her files" / "words.txt").write_text("soup\nis\nbad\ngood\nnew\n")
    assert Cell(config_from(composed)).name != Cell(config).name


def test_a_failure_is_recorded_without_places(done: tuple[Path, Config], tmp_path: Path) -> None:
    _, config = done
    cell = Cell(replace(config, outputs=str(tmp_path / "alice" / "o")))
    (tmp_path / "alice").mkdir()
    for error in (
        ValueError(f"cannot read {config.dataset.path}"),
        OSError(2, "gone", "/data/bob/x"),
    ):
        cell.folder.mkdir(parents=True, exist_ok=True)
        with pytest.raises(type(error)), cell.recorded():
            raise error
        status = (cell.folder / "status.json").read_text()
        assert cell.status().status == "failed" and "test_no_places.py" in status
        for name in (HOME, "her files", "bob", str(ROOT), "site-packages", str(tmp_path)):
            assert name not in status


TEXTS = [
    ("/data/bob/x.csv: no such file", "x.csv: no such file"),
    ("dataset.path=/data/bob/x.csv", "dataset.path=x.csv"),
    ("'~/a/b.txt' and \"../c/d.txt\"", "'b.txt' and \"d.txt\""),
    ("see https://host/a/b and distilbert/base", "see https://host/a/b and distilbert/base"),
    (f'File "{ROOT}/tests/runs/x.py", line 3', 'File "tests/runs/x.py", line 3'),
    ("1/2 of 3/4, and/or", "1/2 of 3/4, and/or"),
]


@pytest.mark.parametrize(("text", "told"), TEXTS)
def test_texts_lose_their_places(text: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trlap.config.places._roots", lambda: [f"{ROOT}/"])
    assert hidden(text) == told


def test_a_known_place_with_a_blank_is_hidden_as_a_whole() -> None:
    place = "/data/bob smith/my data/x.csv"
    assert hidden(f"{place}: empty", [place]) == "x.csv: empty"


NAMED = [
    ("/data/bob/x.csv", "place", "x.csv"),
    ("x.csv", "place", "x.csv"),
    ("data/bob/x/", "place", "x"),
    ("distilbert/distilbert-base", "model", "distilbert/distilbert-base"),
    ("minilm", "model", "minilm"),
    ("/data/bob/model", "model", "model"),
    ("~/models/mine", "model", "mine"),
    ("a/b/c", "model", "c"),
]


@pytest.mark.parametrize(("value", "kind", "name"), NAMED)
def test_last_names(value: str, kind: str, name: str) -> None:
    assert last_name(value, kind) == name


def test_every_key_that_takes_a_place_is_declared_as_one() -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        composed = config_from(compose("config", ["outputs=/data/bob/o"])).composed
    given = composed | {"outputs": "/data/bob/o"}
    given["dataset"] = composed["dataset"] | {"path": "/data/bob/d", "vocabulary": "/data/bob/v"}
    given["embedding"] = composed["embedding"] | {"path": "/data/bob/e"}
    given["audit"] = composed["audit"] | {"masked_lm": "/data/bob/m"}
    bertscore = composed["metrics"]["bertscore"] | {"model": "/data/bob/b"}
    given["metrics"] = composed["metrics"] | {"bertscore": bertscore}
    assert "bob" not in json.dumps(without_places(given, RunKeys), default=str)
    assert "bob" not in json.dumps(composed, default=str)


def test_rows_of_a_study_have_no_places(done: tuple[Path, Config]) -> None:
    home, _ = done
    (result,) = read([home / "outputs"])
    assert result.provenance.config["dataset"]["path"] == "mine.csv"
