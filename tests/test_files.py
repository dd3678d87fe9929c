"""Content keys, strict JSON, atomic writes."""

import errno
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from trlap.errors import TrlapError
from trlap.files import (
    atomic,
    content,
    digest,
    file_sha256,
    is_sealed,
    jsonable,
    make_folder,
    unlink_sealed,
    writable,
    write_json,
    write_sealed,
)


def test_digest_depends_on_content_and_not_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [1.5, "x"]}) == digest({"b": [1.5, "x"], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    # strict JSON has no infinity
    assert digest(math.inf) == digest("inf")


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


def test_a_model_counts_by_its_files_and_a_name_by_itself(tmp_path: Path) -> None:
    for name, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(weights)
    a, b, c = (content(str(tmp_path / name)) for name in "abc")
    assert a == b != c
    assert content("roberta-large") == "roberta-large"
    assert content(None) is None


@dataclass(frozen=True)
class Point:
    x: float
    name: str | None = None


@dataclass(frozen=True)
class Line:
    points: list[Point]
    length: np.float64


def test_dataclasses_are_objects_with_their_fields_in_order(tmp_path: Path) -> None:
    line = Line([Point(math.inf), Point(0.5, "end")], np.float64(2.5))
    plain = {"points": [{"x": "inf", "name": None}, {"x": 0.5, "name": "end"}], "length": 2.5}
    assert json.dumps(jsonable(line)) == json.dumps(plain)
    assert digest(line) == digest(plain)
    write_json(tmp_path / "line.json", {"line": line})
    assert json.loads((tmp_path / "line.json").read_text()) == {"line": plain}
    with pytest.raises(ValueError, match="NaN"):
        jsonable(Point(math.nan))


@pytest.mark.parametrize("module", ["trlap.files", "trlap.config.schema", "trlap.data.corpus"])
def test_what_every_command_imports_imports_nothing_heavy(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        "heavy = {'torch', 'datasets', 'pandas', 'transformers', 'pyarrow', 'scipy', 'lightning'}\n"
        "print(*sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_sealed_file_is_known_and_a_damaged_one_too(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    assert not is_sealed(path)
    write_sealed(path, b"first")
    write_sealed(path, b"second")
    assert is_sealed(path)
    for damage in (b"", b"secon", b"secone", b"third"):
        path.write_bytes(damage)
        assert not is_sealed(path), damage
    # whatever was there before the last write counts too, since a kill may come between digest and file
    path.write_bytes(b"first")
    assert is_sealed(path)
    (tmp_path / "last.ckpt.sha256").write_bytes(b"\xff\x00")
    assert not is_sealed(path)
    unlink_sealed(path)
    assert list(tmp_path.iterdir()) == []


def test_digests_of_kills_in_a_row_never_lose_the_file(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    write_sealed(path, b"first")
    for attempt in (b"second", b"third", b"fourth"):

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Path, "write_bytes", killed)
            write_sealed(path, attempt)
        assert path.read_bytes() == b"first" and is_sealed(path)


def test_content_is_on_the_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    real_sync, real_replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        calls.append("sync " + Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real_sync(descriptor)

    def replace(path: Path, target: Path) -> Path:
        calls.append(f"rename to {target.name}")
        return real_replace(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    write_json(tmp_path / "x.json", 1)
    assert [call.partition(".x.json.")[0] for call in calls] == [
        "sync ",
        "rename to x.json",
        f"sync {tmp_path.name}",
    ]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.ENAMETOOLONG, "too long"),
        (errno.EFBIG, "larger than the system allows"),
        (errno.EIO, "error"),
    ],
)
def test_a_write_that_fails_is_one_line(tmp_path: Path, number: int, said: str) -> None:
    with pytest.raises(TrlapError, match=said), writable(tmp_path):
        raise OSError(number, "as the system says it")


def test_a_missing_file_of_ours_is_a_defect(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), writable(tmp_path):
        (tmp_path / "missing").read_text()
    with pytest.raises(TrlapError, match="no such folder"), writable(Path("/proc/nothing")):
        Path("/proc/nothing").mkdir()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    make_folder(str(tmp_path / "new" / "folder"), "outputs")
    assert (tmp_path / "new" / "folder").is_dir()
    (tmp_path / "file").touch()
    for name, message in {
        "/proc/x": "cannot write to outputs=/proc/x: No such file or directory",
        "/dev/null/x": "cannot write to outputs=/dev/null/x: Not a directory",
        str(tmp_path / "file"): "a file of that name is in the way",
        str(tmp_path / ("x" * 300)): "File name too long",
        f"{tmp_path}/nul\0": "cannot have a NUL",
    }.items():
        with pytest.raises(TrlapError) as raised:
            make_folder(name, "outputs")
        assert message in str(raised.value)
        assert len(str(raised.value)) < 250


def test_a_file_that_cannot_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of a folder, too."""
    (tmp_path / "weights").write_text("x")

    def denied(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", denied)
    for ask in (lambda: file_sha256(tmp_path / "weights"), lambda: content(str(tmp_path))):
        with pytest.raises(TrlapError, match=r"weights: cannot be read \(Permission denied\)"):
            ask()
