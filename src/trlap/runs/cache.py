"""Folders of the cache: named after all that they depend on, built once."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trlap.files import digest, umask, writable, write_json
from trlap.runs.lock import Lock


def cached(
    root: Path, stage: str, key: Any, build: Callable[[Path], None], redo: bool = False
) -> Path:
    """The folder `<stage>-<digest of key>`, built once. Its existence means that it is complete.

    The folder is built under another name and renamed, so a killed build leaves nothing that looks
    finished. A lock makes the others wait that want the same folder.
    """
    folder = root / f"{stage}-{digest(key)}"
    if folder.is_dir() and not redo:
        return folder
    with writable(root), Lock(root / f".{folder.name}.lock").hold():
        if folder.is_dir() and not redo:
            return folder
        temporary = Path(tempfile.mkdtemp(dir=root, prefix=f".{folder.name}."))
        try:
            build(temporary)
            write_json(temporary / "key.json", key)
            temporary.chmod(0o777 & ~umask())
            # the old folder stays until the new one is complete
            if redo and folder.is_dir():
                shutil.rmtree(folder)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder
