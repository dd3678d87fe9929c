"""The user's output: as a whole or not at all, and nothing of a dead run stays."""

import errno
import fcntl
import os
import threading
from pathlib import Path

import pytest

from trlap.errors import TrlapError
from trlap.files import umask
from trlap.privatize import output


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with output.opened(target) as stream:
        stream.write(b"private")
        stream.flush()
        (hidden,) = tmp_path.iterdir()
        assert hidden.name.startswith(".out.txt.") and hidden.stat().st_mode & 0o777 == 0o600
    assert target.read_bytes() == b"private" and names(tmp_path) == ["out.txt"]
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask()


@pytest.mark.parametrize("error", [TrlapError, RuntimeError, KeyboardInterrupt, SystemExit])
def test_after_an_error_the_old_file_stays(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(error), output.opened(target, force=True) as stream:
        stream.write(b"private")
        raise error
    assert target.read_text() == "old" and names(tmp_path) == ["out.txt"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o640)
    with output.opened(target, force=True) as stream:
        stream.write(b"new")
    assert target.stat().st_mode & 0o777 == 0o640 and target.read_text() == "new"


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with pytest.raises(TrlapError, match="it exists by now"), output.opened(target):
        target.write_text("another run's")
    assert target.read_text() == "another run's" and names(tmp_path) == ["out.txt"]


def test_what_a_dead_run_left_is_removed_and_a_living_one_is_not(tmp_path: Path) -> None:
    dead = tmp_path / ".out.txt.0123abcd.partial"
    others = [".out.txt.partial", ".out.txt.0123abcd.txt", ".other.txt.0123abcd.partial", "out.txt"]
    for name in [dead.name, *others]:
        (tmp_path / name).touch()
    with output.opened(tmp_path / "out.txt", force=True) as first:
        assert not dead.exists()
        living = set(names(tmp_path)) - set(others)
        with output.opened(tmp_path / "out.txt", force=True) as second:
            second.write(b"second")
            assert living <= set(names(tmp_path))
        first.write(b"first")
    assert (tmp_path / "out.txt").read_bytes() == b"first"
    assert names(tmp_path) == sorted(others)


def test_a_new_file_that_was_taken_for_a_leftover_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run may look at a file between its creation and its lock."""
    target, calls, flock = tmp_path / "out.txt", [], fcntl.flock

    def late(handle: int, how: int) -> None:
        calls.append(handle)
        if len(calls) == 1:
            next(tmp_path.iterdir()).unlink()
        if len(calls) == 2:
            raise BlockingIOError
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with output.opened(target) as stream:
        stream.write(b"private")
    assert len(calls) == 3 and target.read_bytes() == b"private" and names(tmp_path) == ["out.txt"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "out.txt")
    place = output.check_place(str(tmp_path / "link.txt"), force=False)
    with output.opened(place) as stream:
        stream.write(b"private")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "out.txt").read_bytes() == b"private"
    with pytest.raises(TrlapError, match="it exists"):
        output.check_place(str(tmp_path / "link.txt"), force=False)


def test_places(tmp_path: Path) -> None:
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert output.check_place(name, force=False) is None
    assert output.check_place("/dev/null", force=False) == Path("/dev/null")
    (tmp_path / "loop").symlink_to("loop")
    for name, message in (
        (str(tmp_path), "it is a folder"),
        (f"{tmp_path}/no/out.txt", "there is no folder"),
        (f"{tmp_path}/loop", "no place to write to"),
        (f"{tmp_path}/a\0b", "no place to write to"),
        (f"{tmp_path}/{'a' * 300}", "no place to write to"),
    ):
        with pytest.raises(TrlapError, match=message):
            output.check_place(name, force=True)


def test_a_device_is_written_to_and_stays_one() -> None:
    before = Path("/dev/full").stat()
    with (
        pytest.raises(TrlapError, match="cannot write to /dev/full: the disk is full"),
        output.opened(Path("/dev/full"), force=True) as stream,
    ):
        stream.write(b"private")
    assert Path("/dev/full").is_char_device() and Path("/dev/full").stat().st_ino == before.st_ino


def test_a_pipe_by_its_name(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    place = output.check_place(str(pipe), force=False)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with output.opened(place) as stream:
        stream.write(b"private")
    reader.join()
    assert got == [b"private"] and pipe.is_fifo()


def test_a_reader_who_leaves_ends_the_command_without_a_word(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as end, output.opened(tmp_path / "out.txt"):
        raise BrokenPipeError
    assert end.value.code == 141 and names(tmp_path) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_fails_is_one_line(tmp_path: Path, code: int) -> None:
    with (
        pytest.raises(TrlapError, match="cannot write to .*out.txt: ") as error,
        output.opened(tmp_path / "out.txt"),
    ):
        raise OSError(code, os.strerror(code))
    assert error.value.__suppress_context__ and names(tmp_path) == []
