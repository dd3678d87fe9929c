"""Files: what stands for a content, strict JSON, writes that succeed as a whole or not at all."""

import errno
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from trlap.errors import TrlapError


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


def content(name: str | None) -> str | None:
    """What stands for a model in a key: its files where the name is a folder, else the name."""
    if name is None or not Path(name).is_dir():
        return name
    paths = sorted(path for path in Path(name).rglob("*") if path.is_file())
    return digest([(path.relative_to(name).as_posix(), file_sha256(path)) for path in paths])


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


def write_json(path: Path, value: Any) -> None:
    """Whatever `jsonable` takes, indented, written as a whole."""
    write_text(path, json.dumps(jsonable(value), indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place only if the block succeeds."""
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            # mkstemp gives 0600
            temporary.chmod(0o666 & ~umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Say in one line why a folder cannot be written."""
    try:
        yield
    except OSError as error:
        reasons = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EROFS: "the file system is read-only",
            errno.EACCES: "permission denied",
            errno.EPERM: "permission denied",
            errno.ENOTDIR: "it is not a folder",
            errno.EEXIST: "a file of that name is in the way",
        }
        elsewhere = error.filename is not None and not str(error.filename).startswith(str(folder))
        if error.errno not in reasons or elsewhere:
            raise
        raise TrlapError(f"cannot write to {folder}: {reasons[error.errno]}") from error


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
