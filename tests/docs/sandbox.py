"""A folder that looks like the project to whoever types commands in it, with files and corpora made up."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import warm
import yaml
from conftest import ROOT
from documented import Command

from trlap.data import demo

# Enough for every stage to have work, and for none to take more than a second or two.
SMALL_RUN = (
    "dataset.limit.train=60",
    "dataset.limit.validation=20",
    "dataset.limit.test=20",
    "model.epochs=1",
    "classifier.seeds=[42]",
    "metrics.bootstrap=10",
    "metrics.bertscore.model=null",
    "audit.samples=200",
    "audit.tokens=20",
    "audit.words=5",
    "audit.draws=5",
    "threads=1",
    "wandb.mode=disabled",
)
# of classifiers that learn in epochs; drr brings one that does not
EPOCHS = "classifier.epochs=1"
SMALL_FILE = ("vocabulary_size=300", "threads=1", "force=true")


def small_run(arguments: Sequence[str]) -> list[str]:
    """The same run, made small."""
    closed = {"mechanism=drr", "classifier=ridge", "classifier=clusters"}
    epochs = [] if closed & set(arguments) else [EPOCHS]
    return [*arguments, *SMALL_RUN, *epochs]


CORPORA = ("yelp", "yahoo", "sst2", "sst2_sentence", "agnews")
ROWS = 12


def make(folder: Path) -> Path:
    """The project's scripts and settings by links; outputs and results of its own."""
    folder.mkdir(parents=True)
    for name in ("run.py", "conf", "src", "Makefile", "README.md"):
        (folder / name).symlink_to(ROOT / name)
    # Scripts find each other, and the settings, from where they stand.
    (folder / "scripts").symlink_to(ROOT / "scripts")
    (folder / "docs").mkdir()
    (folder / "outputs").mkdir()
    (folder / "results").mkdir()
    rows = (ROOT / "results" / "study.jsonl").read_text(encoding="utf-8").splitlines()[:ROWS]
    (folder / "results" / "study.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "results" / "published").symlink_to(ROOT / "results" / "published")
    # a model of the reader's own, as far as a plan looks at it
    model = folder / "path" / "to" / "model"
    model.mkdir(parents=True)
    (model / "config.json").write_text('{"model_type": "bert"}')
    for name in CORPORA:
        make_corpus(folder / "corpora" / name)
    return folder


def make_corpus(folder: Path) -> None:
    """Sentences of the demo in the layout of $TRLAP_DATA, with the columns that the dataset's YAML names."""
    settings = yaml.safe_load((ROOT / "conf" / "dataset" / f"{folder.name}.yaml").read_text())
    text = settings.get("text", "text")
    label = settings.get("label")
    classes = len(settings.get("label_names") or [0, 1])
    folder.mkdir(parents=True)
    sentences = demo.generate()
    for split in ("train", "test"):
        lines = ["\t".join([text, label] if label else [text])]
        for number, row in enumerate(sentences[split][:400]):
            lines.append("\t".join([str(row["text"]), *([str(number % classes)] if label else [])]))
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_files(folder: Path, command: Command) -> None:
    """The file of texts that a command reads, in the format and with the columns that it expects."""
    settings = dict(word.partition("=")[::2] for word in command.overrides if "=" in word)
    columns = re.findall(r"\w+", settings.get("column", "text"))
    header = columns if settings.get("header") != "false" else []
    piped = re.match(r"(?:cat|head|tail) (\S+) \|", command.text)
    name = piped.group(1) if piped else settings.get("input", "-")
    text = "The soup was cold."
    if name.endswith(".jsonl"):
        content = json.dumps(dict.fromkeys(columns, text)) + "\n"
    elif name.endswith((".csv", ".tsv")):
        # A column that is counted has others before it.
        width = max(int(column) for column in columns) if not header else 0
        rows = [["id", *header]] if header else []
        rows += [["1", *([text] * (len(header) or width - 1))]]
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t" if name.endswith(".tsv") else ",").writerows(rows)
        make_public(folder, settings)
        return
    else:
        content = f"{text}\nWe liked it.\n"
    if name != "-":
        (folder / name).write_text(content, encoding="utf-8")
    make_public(folder, settings)


def make_public(folder: Path, settings: dict[str, str]) -> None:
    """The file of public texts that a command answers with."""
    name = settings.get("public") or settings.get("public.path")
    if name is None:
        return
    texts = [
        f"The {thing} was {how}." for thing in ("train", "phone") for how in ("late", "fine", "old")
    ]
    if name.endswith(".csv"):
        column = settings.get("public.column", settings.get("column", "text"))
        texts = [column, *texts]
    (folder / name).write_text("\n".join(texts) + "\n", encoding="utf-8")


def environment(project: Path) -> dict[str, str]:
    """As after `source .venv/bin/activate` and `export TRLAP_DATA=…`."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": programs, "TRLAP_DATA": str(project / "corpora")}


def call_all(project: Path, calls: list[list[str]]) -> list[tuple[int, str]]:
    """Exit code and output of each script with its arguments."""
    done = [warm.run(call, project, environment(project)) for call in calls]
    return [(each.returncode, each.stdout + each.stderr) for each in done]


def shell(project: Path, line: str) -> subprocess.CompletedProcess[str]:
    """The line as a shell reads it."""
    command = ["bash", "-o", "pipefail", "-c", line]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=project, env=environment(project)
    )
