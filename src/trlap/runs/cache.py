"""Folders of the cache: named after all that they depend on, built once, checked whenever they are used."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trlap.files import digest, say, sync, sync_all, umask, writable, write_json
from trlap.runs import manifest
from trlap.runs.lock import Lock

# of a folder that is being built
BUILDING = ".building"


def cached(
    root: Path,
    stage: str,
    key: Any,
    build: Callable[[Path], None],
    redo: bool = False,
    version: int = 1,
) -> Path:
    """The folder `<stage>-<digest of key>`, built once and found as it was written.

    The folder is built under another name and renamed when all of it is on the disk, so neither a killed
    build nor a power cut leaves anything that looks finished. A lock makes the others wait that want the
    same folder. One that is not what its manifest says is named in one line and built anew.
    """
    folder = root / f"{stage}-{digest(key)}"
    if not redo and _usable(folder, stage, version):
        return folder
    with writable(root), Lock(root / f".{folder.name}.lock").hold():
        if not redo and _usable(folder, stage, version, tell=True):
            return folder
        # nobody else builds it, so these were left by processes that were killed
        for left in root.glob(f".{folder.name}.*{BUILDING}"):
            shutil.rmtree(left, ignore_errors=True)
        temporary = Path(tempfile.mkdtemp(dir=root, prefix=f".{folder.name}.", suffix=BUILDING))
        try:
            build(temporary)
            write_json(temporary / "key.json", key)
            manifest.write(temporary, stage, version)
            temporary.chmod(0o777 & ~umask())
            sync_all(temporary)
            _replace(folder, temporary)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _usable(folder: Path, stage: str, version: int, tell: bool = False) -> bool:
    if not folder.is_dir():
        return False
    fault = manifest.fault(folder, stage, version)
    if fault and tell:
        say(f"{folder.name} in the cache cannot be used ({fault}); it is built anew")
    return fault is None


def _replace(folder: Path, new: Path) -> None:
    """The old folder stays until the new one is complete, and goes by one renaming."""
    old = new.with_name(f".{folder.name}.old{BUILDING}")
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    sync(folder.parent)
    if old.is_dir():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.unlink(missing_ok=True)
