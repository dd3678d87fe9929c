"""A folder of the cache that is not as it was written is named in one line and built anew."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from trlap.files import digest
from trlap.runs import manifest
from trlap.runs.cache import cached

KEY = {"size": 3}
LINES = "".join(f'{{"n": {n}}}\n' for n in range(100))
Damage = Callable[[Path], object]


def build(folder: Path) -> None:
    (folder / "rows.jsonl").write_text(LINES)
    (folder / "deep").mkdir()
    (folder / "deep" / "vectors.npy").write_bytes(bytes(range(256)))


def flip(path: Path, place: int) -> None:
    """One bit is another."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def edit(path: Path, **news: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | news))


def emptied(path: Path) -> None:
    """An empty folder stands there."""
    path.unlink() if path.is_file() else shutil.rmtree(path)
    path.mkdir()


DAMAGES: dict[str, tuple[Damage, str]] = {
    "lines removed at the end": (
        lambda folder: (folder / "rows.jsonl").write_text(LINES[:-40]),
        "rows.jsonl has 950 bytes and not 990",
    ),
    "a file emptied": (
        lambda folder: (folder / "rows.jsonl").write_text(""),
        "rows.jsonl has 0 bytes",
    ),
    "a word swapped for one as long": (
        lambda folder: (folder / "rows.jsonl").write_text(LINES.replace("42", "24")),
        "rows.jsonl is not as it was written",
    ),
    "the first bit": (
        lambda folder: flip(folder / "deep" / "vectors.npy", 0),
        "deep/vectors.npy is not as it was written",
    ),
    "the last bit": (
        lambda folder: flip(folder / "deep" / "vectors.npy", -1),
        "deep/vectors.npy is not as it was written",
    ),
    "a file missing": (lambda folder: (folder / "rows.jsonl").unlink(), "rows.jsonl is missing"),
    "a folder for a file": (
        lambda folder: emptied(folder / "rows.jsonl"),
        "rows.jsonl is missing",
    ),
    "the folder emptied": (lambda folder: emptied(folder), "manifest.json is missing"),
    "a file more": (lambda folder: (folder / "x.npy").write_text(""), "x.npy does not belong"),
    "no manifest": (lambda folder: (folder / manifest.FILE).unlink(), "manifest.json is missing"),
    "an empty manifest": (
        lambda folder: (folder / manifest.FILE).write_text(""),
        "manifest.json cannot be read",
    ),
    "a list for a manifest": (
        lambda folder: (folder / manifest.FILE).write_text("[]"),
        "manifest.json cannot be read",
    ),
    "a manifest that is not text": (
        lambda folder: (folder / manifest.FILE).write_bytes(b"\xff\x00"),
        "manifest.json cannot be read",
    ),
    "a manifest with a line more": (
        lambda folder: (folder / manifest.FILE).write_text(
            (folder / manifest.FILE).read_text() + "\n"
        ),
        "manifest.json is not as it was written",
    ),
    "files of a wrong kind": (
        lambda folder: edit(folder / manifest.FILE, files=[1]),
        "manifest.json cannot be read",
    ),
    "a length that is text": (
        lambda folder: edit(
            folder / manifest.FILE, files={"rows.jsonl": {"length": "x", "sha256": "y"}}
        ),
        "manifest.json cannot be read",
    ),
    "another version": (
        lambda folder: edit(folder / manifest.FILE, version=6),
        "version 6 of stage, not version 7",
    ),
    "another stage": (
        lambda folder: edit(folder / manifest.FILE, stage="other"),
        "version 7 of other",
    ),
}


@pytest.mark.parametrize(("damage", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_what_was_damaged_is_said_and_built_anew(
    damage: Damage, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "cache"
    root.mkdir()
    folder = cached(root, "stage", KEY, build, version=7)
    whole = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert cached(root, "stage", KEY, build, version=7) == folder
    assert capsys.readouterr().err == ""

    damage(folder)
    assert cached(root, "stage", KEY, build, version=7) == folder
    (said,) = capsys.readouterr().err.splitlines()
    assert reason in said and folder.name in said and said.endswith("it is built anew")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == whole
    # neither the old folder nor a lock is left
    assert [path.name for path in root.iterdir()] == [folder.name]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / f"stage-{digest(KEY)}").write_text("in the way")
    assert (cached(tmp_path, "stage", KEY, build) / "rows.jsonl").read_text() == LINES
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / f".stage-{digest(KEY)}.abc.building"
    left.mkdir()
    (left / "half").write_text("x")
    other = tmp_path / ".stage-0123456789abcdef.abc.building"
    other.mkdir()
    cached(tmp_path, "stage", KEY, build)
    assert not left.exists()
    # another process may be at work there
    assert other.exists()


def test_hidden_files_of_a_file_manager_do_no_harm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cached(tmp_path, "stage", KEY, build)
    (folder / ".DS_Store").write_text("x")
    assert cached(tmp_path, "stage", KEY, build) == folder
    assert capsys.readouterr().err == ""
