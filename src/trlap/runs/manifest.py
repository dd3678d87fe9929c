"""What a folder of the cache was when it was written: every file's length and digest, the stage, its version.

A folder that is not as its manifest says was cut by a full disk or a failing one, or edited by hand. Nobody
uses it: it is built anew. A manifest shows accidents and edits of single files. It does not show that
somebody changed a file and the manifest to match; whoever can write to the cache can do that.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from trlap.errors import TrlapError
from trlap.files import file_sha256, json_text, write_json
from trlap.runs import records

FILE = "manifest.json"


@dataclass(frozen=True)
class FileRecord:
    length: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """`files` has the paths of all files of the folder but its own, with slashes."""

    stage: str
    version: int
    files: dict[str, FileRecord]


def write(folder: Path, stage: str, version: int) -> None:
    """The last file of a folder that is complete."""
    files = {
        name: FileRecord(path.stat().st_size, file_sha256(path))
        for name, path in _files(folder).items()
    }
    write_json(folder / FILE, records.to_json(Manifest(stage, version, files)))


def fault(folder: Path, stage: str, version: int) -> str | None:
    """Why the folder cannot be used; None: it is as it was written."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
        manifest = records.from_json(Manifest, json.loads(text))
    except FileNotFoundError:
        return f"{FILE} is missing"
    except (OSError, TrlapError, ValueError):
        return f"{FILE} cannot be read"
    if (manifest.stage, manifest.version) != (stage, version):
        return f"it is version {manifest.version} of {manifest.stage}, not version {version}"
    if text != json_text(records.to_json(manifest)):
        return f"{FILE} is not as it was written"
    try:
        return _difference(folder, manifest)
    except (OSError, TrlapError):
        # somebody else replaces it at this moment, or it may not be read
        return "a file cannot be read"


def _difference(folder: Path, manifest: Manifest) -> str | None:
    files = _files(folder)
    if strange := sorted(files.keys() - manifest.files.keys()):
        return f"{strange[0]} does not belong there"
    for name, record in manifest.files.items():
        if name not in files:
            return f"{name} is missing"
        length = files[name].stat().st_size
        if length != record.length:
            return f"{name} has {length:,} bytes and not {record.length:,}"
        if file_sha256(files[name]) != record.sha256:
            return f"{name} is not as it was written"
    return None


def _files(folder: Path) -> dict[str, Path]:
    """Without hidden ones: file managers and network file systems leave some."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != FILE and not path.name.startswith(".")
    }
