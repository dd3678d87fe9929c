"""Where private text goes: a file that appears as a whole or not at all, a device, or standard output.

The file is written under a hidden name beside its place, readable by its owner alone, and locked while a
process writes it. The kernel takes the lock away when that process dies, so that the next run to the same
place knows what a dead run left there, and removes it.
"""

import fcntl
import glob
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from trlap.errors import TrlapError
from trlap.files import REASONS, sync, umask

# what a shell says of a command that SIGPIPE ended
BROKEN_PIPE = 141
STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def check_place(name: str, force: bool) -> Path | None:
    """Where to write, with links followed; None is standard output. Raises before any work starts."""
    if name in STANDARD_OUTPUT:
        return None
    target, reason = Path(name), ""
    try:
        target = target.resolve()
        mode = target.stat().st_mode if target.exists() else 0
    except (OSError, RuntimeError, ValueError):
        reason = "this is no place to write to"
    if reason:
        raise TrlapError(f"output={name}: {reason}")
    if stat.S_ISDIR(mode):
        raise TrlapError(f"output={name}: it is a folder; name a file in it")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise TrlapError(f"output={name}: it is no file; name one")
    if not target.parent.is_dir():
        raise TrlapError(f"output={name}: there is no folder {Path(name).parent}")
    if stat.S_ISREG(mode) and not force:
        raise TrlapError(f"output={name}: it exists; choose another name, or add force=true")
    return target


@contextmanager
def opened(target: Path | None, force: bool = False) -> Iterator[BinaryIO]:
    """Write to what `check_place` gave. Only if the block succeeds does a file of that name appear.

    A pipe or a device is written to as it is, and so is standard output: what was written before an error
    stays written. Whoever reads may stop reading, which ends the process with exit code 141 and no word.
    """
    try:
        with _stream(target, force) as stream:
            yield stream
    except BrokenPipeError:
        raise SystemExit(BROKEN_PIPE) from None
    except OSError as error:
        reason = REASONS.get(error.errno or 0) or error.strerror or "it cannot be written"
        raise TrlapError(f"cannot write to {target or 'standard output'}: {reason}") from None


@contextmanager
def _stream(target: Path | None, force: bool) -> Iterator[BinaryIO]:
    if target is None:
        with _standard_output() as stream:
            yield stream
    elif target.exists() and not target.is_file():
        # neither made nor cut short: a pipe or a device is no file of ours
        with os.fdopen(os.open(target, os.O_WRONLY), "wb") as stream:
            yield stream
    else:
        with _file(target, force) as stream:
            yield stream


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    """Bytes to standard output, whatever encoding the terminal has."""
    if sys.stdout is None:
        raise TrlapError("output=-: standard output is closed")
    sys.stdout.flush()
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError:
        # Python writes what is left once more when it ends, and would complain then.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        raise


@contextmanager
def _file(target: Path, force: bool) -> Iterator[BinaryIO]:
    remove_leftovers(target)
    handle, temporary = _locked_file(target)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(handle, _mode(target))
            os.fsync(handle)
            # while the lock is held
            _publish(temporary, target, force)
    finally:
        temporary.unlink(missing_ok=True)


def _locked_file(target: Path) -> tuple[int, Path]:
    """A new hidden file beside `target` that only we can read, and its lock."""
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        looked_at = False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            looked_at = True
        except OSError:
            # a network file system without locks: then no leftover is ever removed
            return handle, temporary
        # Who looked at it before it was locked takes it for a leftover.
        if not looked_at and os.fstat(handle).st_nlink:
            return handle, temporary
        os.close(handle)
        temporary.unlink(missing_ok=True)


def remove_leftovers(target: Path) -> None:
    """Remove what runs to the same place left that were killed. A file that is locked is alive."""
    pattern = f".{glob.escape(target.name)}.{'[0-9a-f]' * 8}.partial"
    for path in target.parent.glob(pattern):
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(handle)


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, else those of new files."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o666 & ~umask()


def _publish(temporary: Path, target: Path, force: bool) -> None:
    """Give the file its name. Without `force`, one that appeared meanwhile is not replaced."""
    taken = False
    if force:
        temporary.replace(target)
    else:
        try:
            os.link(temporary, target)
        except FileExistsError:
            taken = True
        except OSError:
            # a file system without hard links
            taken = target.exists()
            if not taken:
                temporary.replace(target)
    if taken:
        raise TrlapError(
            f"output={target}: it exists by now; choose another name, or add force=true"
        )
    sync(target.parent)
