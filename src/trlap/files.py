"""Files: what stands for a content, strict JSON, writes that succeed as a whole or not at all."""

import errno
import hashlib
import io
import json
import logging
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.errors import TrlapError, tell

if TYPE_CHECKING:
    from numpy.typing import NDArray

# of a file that is being written; what a killed process leaves is known by it
PARTIAL = ".partial-file"
logger = logging.getLogger(__name__)


def digest(value: Any, length: int = 16) -> str:
    """The first hex digits of the SHA-256 of a value's canonical JSON."""
    text = json.dumps(jsonable(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex digits. A file of the same size and time is read once."""
    try:
        status = path.stat()
        return _file_sha256(path.absolute(), status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise TrlapError(f"{path}: cannot be read ({error.strerror})") from None


# The cells of a sweep all ask for the same files.
@lru_cache
def _file_sha256(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content(name: str | None, length: int = 16) -> str | None:
    """What stands for a model in a key: its files where the name is a folder, else the name."""
    if name is None or not Path(name).is_dir():
        return name
    paths = sorted(path for path in Path(name).rglob("*") if path.is_file())
    files = [(path.relative_to(name).as_posix(), file_sha256(path)) for path in paths]
    return digest(files, length)


def jsonable(value: Any) -> Any:
    """Strict JSON: infinities become the strings "inf" and "-inf"; NaN is an error of ours.

    A dataclass becomes an object with its fields as keys, in their order.
    """
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    # `dataclasses.asdict` would copy every leaf first
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: jsonable(getattr(value, item.name)) for item in fields(value)}
    # a NumPy or torch scalar
    if hasattr(value, "item"):
        return jsonable(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            raise ValueError("NaN in a result")
        return "inf" if value > 0 else "-inf"
    return value


def json_text(value: Any) -> str:
    """Whatever `jsonable` takes, indented."""
    return json.dumps(jsonable(value), indent=2, ensure_ascii=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Written as a whole."""
    write_text(path, json_text(value))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_array(path: Path, values: "NDArray[Any]") -> None:
    """An .npy file. NumPy itself would not say why a write to a file failed."""
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    path.write_bytes(buffer.getbuffer())


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place only if the block succeeds.

    Its content is on the disk before its name is, so that a power cut leaves the old file or the new one.
    """
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        # named before it is made, so that a signal at any moment leaves nothing
        temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}{PARTIAL}")
        try:
            temporary.touch(0o600, exist_ok=False)
            yield temporary
            temporary.chmod(0o666 & ~umask())
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def write_sealed(path: Path, content: "bytes | memoryview") -> None:
    """A file that can be told from a damaged one: `<name>.sha256` beside it has its digest.

    The digest of the file that is replaced stays there until the next write, so that whenever the process
    is killed, the file is one that is listed.
    """
    before = [file_sha256(path)] if is_sealed(path) else []
    digests = [*before, hashlib.sha256(content).hexdigest()]
    write_text(_seal(path), "\n".join(digests) + "\n")
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def is_sealed(path: Path) -> bool:
    """Whether a file is as `write_sealed` wrote it."""
    return path.is_file() and file_sha256(path) in _sealed(path)


def unlink_sealed(path: Path) -> None:
    path.unlink(missing_ok=True)
    _seal(path).unlink(missing_ok=True)


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sealed(path: Path) -> list[str]:
    seal = _seal(path)
    return seal.read_text("utf-8", errors="replace").split() if seal.is_file() else []


def remove_partial(folder: Path) -> None:
    """What killed processes left of files that they were writing. Only for whom the folder is alone."""
    for path in folder.glob(f".*{PARTIAL}"):
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # some network file systems cannot do it for folders
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> None:
    """`sync` for everything in a folder, and for the folder."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            sync(path)
    sync(folder)


# Why a file cannot be written, where that is not a defect of ours.
REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file would grow larger than the system allows",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOTDIR: "it is not a folder",
    errno.EEXIST: "a file of that name is in the way",
    errno.EISDIR: "a folder of that name is in the way",
    errno.ENOENT: "there can be no such folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EIO: "the disk reports an error",
    errno.ELOOP: "its links lead in a circle",
}


# Those of them that no choice of a folder explains.
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Say in one line why a folder cannot be written."""
    try:
        yield
    except OSError as error:
        # who copies a file to a full disk is told the name of the one that is read
        elsewhere = (
            error.filename is not None
            and not str(error.filename).startswith(str(folder))
            and error.errno not in DISK
        )
        # a file that is missing in a folder that is there is a defect of ours
        defect = error.errno == errno.ENOENT and folder.is_dir()
        if error.errno not in REASONS or elsewhere or defect:
            raise
        raise TrlapError(f"cannot write to {folder}: {REASONS[error.errno]}") from error


def make_folder(name: str, key: str) -> None:
    """Make a folder that a user names, or say in one line why there can be none of that name."""
    try:
        Path(name).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise TrlapError(
            f"cannot write to {key}={name}: a file of that name is in the way"
        ) from None
    except OSError as error:
        short = name if len(name) < 200 else f"{name[:60]}…"
        raise TrlapError(f"cannot write to {key}={short}: {error.strerror}") from None
    # a NUL in it
    except ValueError:
        raise TrlapError(
            f"cannot write to {key}: a folder's name cannot have a NUL in it"
        ) from None


def umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def say(line: str) -> None:
    """On standard error and in the log: something on disk was not as it should be, and is mended."""
    logger.warning("%s", line)
    tell(f"note: {line}")


@lru_cache
def say_once(line: str) -> None:
    """The same, of what is looked at again and again."""
    say(line)
