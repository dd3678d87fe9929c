"""`scripts/privatize.py mechanism=drr`: a user's own text, answered with public texts of a file."""

import csv
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import warm
from conftest import ROOT
from hydra import compose, initialize_config_dir
from pyarrow import parquet

from trlap.config.door import privatize_from
from trlap.config.epsilon import quote
from trlap.errors import TrlapError
from trlap.privatize import command
from trlap.privatize.privatizer import Privatizer

SCRIPT = ROOT / "scripts" / "privatize.py"
WORDS = ("mechanism=drr", "mechanism.encoder=words", "vocabulary_size=300", "threads=1")
PUBLIC = [
    "The train was late.",
    "Profits rose again!",
    "A fine phone, and cheap",
    "The soup was cold.",
]
PRIVATE = ["Our waiter was rude", "", "my phone broke", "stocks fell"]


def script(*overrides: str) -> tuple[int, str]:
    done = warm.run_bytes([str(SCRIPT), *overrides], ROOT, b"")
    return done.returncode, done.stderr.decode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Private and public texts, in files of several kinds."""
    (tmp_path / "mine.txt").write_text("\n".join(PRIVATE) + "\n")
    (tmp_path / "public.txt").write_text("\n".join(PUBLIC) + "\n")
    for name, texts in (("mine", PRIVATE), ("public", PUBLIC)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["id", name], *([i, text] for i, text in enumerate(texts))])
    lines = [json.dumps({"text": text}) for text in PUBLIC]
    (tmp_path / "public.jsonl").write_text("\n".join(lines) + "\n")
    parquet.write_table(pa.table({"text": PUBLIC}), tmp_path / "public.parquet")
    (tmp_path / "bare.tsv").write_text("".join(f"{i}\t{text}\n" for i, text in enumerate(PUBLIC)))
    (tmp_path / "empty.txt").touch()
    (tmp_path / "link.txt").symlink_to("mine.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_text_of_a_file_has_a_public_one(folder: Path) -> None:
    target = folder / "private.csv"
    code, said = script(
        f"input={folder}/mine.csv",
        f"output={target}",
        "column=mine",
        f"public={folder}/public.jsonl",
        "public.column=text",
        *WORDS,
    )
    # one of two ways to say it, with the other's key
    assert (
        code == 2 and said.count("\n") == 1 and f"write public.path={folder}/public.jsonl" in said
    )
    code, said = script(
        f"input={folder}/mine.csv",
        f"output={target}",
        "column=mine",
        f"public.path={folder}/public.jsonl",
        "public.column=text",
        "epsilon=2",
        *WORDS,
    )
    assert code == 0, said
    with target.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", "mine"] and [row[0] for row in rows] == ["0", "1", "2", "3"]
    assert {row[1] for row in rows} <= set(PUBLIC)
    assert "4 texts" in said and "claimed 2-DP per document" in said and "7.4-fold" in said
    assert "0 of 4 texts are word for word among the public ones" in said
    for text in ("waiter", "Profits", "stocks"):
        assert text not in said


@pytest.fixture
def asked() -> Callable[..., Any]:
    """What the command does before it streams, without a process of its own: the public texts it read."""
    spec = importlib.util.spec_from_file_location("privatize_script_of_texts", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)

    def ask(*overrides: str) -> Any:
        command.checked(overrides, ROOT / "conf")
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            config = privatize_from(compose("privatize", quote(overrides)))
        files = module.check_files(config)
        own = {key: value for key, value in config.mechanism.items() if key != "name"}
        public = module.public_texts(config, own, files)
        if public is not None:
            Privatizer("drr", config.epsilon, public=public, vocabulary_size=300, **own)
        return public

    return ask


@pytest.mark.parametrize(
    "given",
    [
        ("input=mine.txt", "public=public.txt"),
        ("input=mine.txt", "public.path=public.txt"),
        ("input=mine.txt", "public=public.jsonl"),
        ("input=mine.txt", "public=public.parquet"),
        ("input=mine.txt", "public.path=public.csv", "public.column=public"),
        ("input=mine.csv", "column=mine", "public.path=public.parquet", "public.column=text"),
        ("input=mine.csv", "header=false", "column=2", "public=bare.tsv"),
        ("input=mine.csv", "header=false", "column=2", "public=public.txt"),
        (
            "input=mine.csv",
            "header=false",
            "column=2",
            "public.path=public.csv",
            "public.column=public",
        ),
    ],
)
def test_public_texts_of_every_format(
    folder: Path, asked: Callable[..., Any], given: tuple[str, ...]
) -> None:
    assert asked(*given, "output=-", *WORDS, "epsilon=2").texts == PUBLIC


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_an_empty_text_of_a_table_with_one_column_is_answered(folder: Path, kind: str) -> None:
    """There is no other way to write it than a blank row, which would tell that it was empty."""
    (folder / f"one.{kind}").write_text("mine\nhello there\n\nbye now\n\n")
    target = folder / f"private.{kind}"
    code, said = script(
        f"input={folder}/one.{kind}",
        f"output={target}",
        "column=mine",
        f"public={folder}/public.txt",
        *WORDS,
    )
    assert code == 0 and "4 texts" in said, said
    header, *rows = target.read_text().splitlines()
    assert header == "mine" and len(rows) == 4 and all(rows)


def test_words_of_a_text(folder: Path) -> None:
    keys = ("unit=document", "words=2", "pick=rarest", "vocabulary_size=300", "embedding=random")
    code, said = script(
        f"input={folder}/mine.txt", f"output={folder}/out.txt", "mechanism=krr", *keys
    )
    assert code == 0, said
    lines = (folder / "out.txt").read_text().splitlines()
    assert [len(line.split()) for line in lines] == [2, 2, 2, 2]
    assert "claimed 5-DP per document" in said and "4 texts, 8 answers" in said


MINE = ("input=mine.txt", "output=-", *WORDS, "epsilon=2")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ((), "name a file of them, as in public=public.txt"),
        (("public=null",), "name a file of them, as in public=public.txt"),
        (("public=nowhere.txt",), "public=nowhere.txt: no such file"),
        (("public=empty.txt",), "public=empty.txt: the file is empty"),
        (("public=.",), "public=.: it is a folder, not a file"),
        (("public=[a.txt]",), "public=[a.txt]: give one file of public texts"),
        (("public=public.doc",), "public=public.doc: no such file"),
        (("public=public.txt", "mechanism.K=5"), "and 4 different ones are given; give more by"),
        (("public=public.txt", "mechanism.K=1"), "must be auto or a whole number from 2 on"),
        (("public=public.csv",), "public.csv: no column 'text'; it has id, public; set public.column="),
        (("public.path=public.jsonl", "public.column=body"), "it has text; set public.column="),
        (("public.path=public.csv", "public.column=2", "header=false"), "is for .csv and .tsv"),
        (("public=mine.txt",), "public=mine.txt: that is the input"),
        (("public=link.txt",), "public=link.txt: that is the input"),
        (("public=public.txt", "output=public.txt", "force=true"), "those are the public texts"),
        (("public.share=0.3",), "public.share=0.3: it is for run.py"),
        (("+public.paht=x",), "no such key: public.paht; did you mean public.path?"),
        (("public=public.txt", "epsilon=inf"), "has no answer without noise; give a number"),
        (("public=public.txt", "unit=word"), "answers for whole documents; leave unit out"),
        (("public=public.txt", "words=3"), "picks no words"),
        (("public=public.txt", "mechanism.encoder=bert"), "must be one of minilm, words"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line(
    folder: Path, asked: Callable[..., Any], overrides: tuple[str, ...], message: str
) -> None:
    with pytest.raises(TrlapError) as error:
        asked(*MINE, *overrides)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("public=public.txt",), "it is for mechanism=drr"),
        (("public.path=public.txt",), "it is for mechanism=drr"),
        (("unit=document", "oov=keep"), "use oov=unk"),
        (("words=2",), "words=2: it is for unit=document"),
    ],
)
def test_what_makes_no_sense_of_words(
    folder: Path, asked: Callable[..., Any], overrides: tuple[str, ...], message: str
) -> None:
    with pytest.raises(TrlapError) as error:
        asked("input=mine.txt", "output=-", "mechanism=crr", *overrides)
    assert message in str(error.value)


def test_such_a_line_on_the_screen(folder: Path) -> None:
    code, said = script(f"input={folder}/mine.txt", "output=-", "mechanism=drr")
    assert code == 2 and said.count("\n") == 1 and "as in public=public.txt" in said


@pytest.mark.parametrize("content", [b"fine\n\xff\n", b"a\0b\n"])
def test_a_damaged_public_file_is_one_line(
    folder: Path, asked: Callable[..., Any], content: bytes
) -> None:
    (folder / "public.txt").write_bytes(content)
    with pytest.raises(TrlapError, match=r"public\.txt, line \d: "):
        asked(*MINE, "public=public.txt")
