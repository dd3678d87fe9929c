from pathlib import Path

import pytest

from trlap.errors import TrlapError
from trlap.runs.cache import cached


def test_cached_builds_once_and_leaves_nothing_of_a_failed_build(tmp_path: Path) -> None:
    calls = []

    def build(folder: Path) -> None:
        calls.append(1)
        (folder / "x").write_text("half")
        if len(calls) == 1:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        cached(tmp_path, "stage", 1, build)
    assert list(tmp_path.iterdir()) == []
    folder = cached(tmp_path, "stage", 1, build)
    assert cached(tmp_path, "stage", 1, build) == folder
    assert len(calls) == 2
    cached(tmp_path, "stage", 1, build, redo=True)
    assert len(calls) == 3
    assert cached(tmp_path, "stage", 2, build) != folder


def test_a_failed_redo_keeps_what_was_there(tmp_path: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "x").write_text("old")

    def fail(folder: Path) -> None:
        raise RuntimeError

    folder = cached(tmp_path, "stage", 1, build)

    with pytest.raises(RuntimeError):
        cached(tmp_path, "stage", 1, fail, redo=True)
    assert (folder / "x").read_text() == "old"


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrlapError, match="cannot write to .*not a folder|in the way"):
        cached(tmp_path / "file", "stage", 1, lambda folder: None)
