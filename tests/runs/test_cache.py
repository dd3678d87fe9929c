import json
import math
from pathlib import Path

import numpy as np
import pytest

from trlap.errors import TrlapError
from trlap.runs.cache import atomic, cached, content, digest, jsonable, write_json


def test_digest_depends_on_content_and_not_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [1.5, "x"]}) == digest({"b": [1.5, "x"], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest(math.inf) == digest("inf")  # strict JSON has no infinity


def test_json_is_strict(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": math.inf, "b": [-math.inf, np.float32(0.5)]})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": "inf", "b": ["-inf", 0.5]}
    with pytest.raises(ValueError, match="NaN"):
        jsonable({"a": [math.nan]})


def test_atomic_write_leaves_the_old_file_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


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
    folder = cached(tmp_path, "stage", 1, lambda to: (to / "x").write_text("old") and None)

    def fail(to: Path) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cached(tmp_path, "stage", 1, fail, redo=True)
    assert (folder / "x").read_text() == "old"


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrlapError, match="cannot write to .*not a folder|in the way"):
        cached(tmp_path / "file", "stage", 1, lambda to: None)


def test_a_model_counts_by_its_files_and_a_name_by_itself(tmp_path: Path) -> None:
    for name, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(weights)
    a, b, c = (content(str(tmp_path / name)) for name in "abc")
    assert a == b != c
    assert content("roberta-large") == "roberta-large"
    assert content(None) is None
