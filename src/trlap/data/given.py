"""Files that a user names: one line where such a file cannot be read, before any work is done."""

import stat
from pathlib import Path

from trlap.errors import TrlapError


def given_file(name: str | Path, said: str) -> Path:
    """The file, where it is an ordinary one that is not empty and can be opened.

    `said` is what a message begins with: the key and its value, or the path.
    """
    try:
        path = Path(name).expanduser()
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise TrlapError(f"{said}: it is a folder, not a file")
        # reading a pipe or a device twice gives other bytes, or waits for ever
        if not stat.S_ISREG(status.st_mode):
            raise TrlapError(f"{said}: it is no ordinary file; copy what it gives into one")
        if status.st_size == 0:
            raise TrlapError(f"{said}: the file is empty")
        with path.open("rb"):
            return path
    except FileNotFoundError:
        what = "a link to a file that is not there" if Path(name).is_symlink() else "no such file"
        raise TrlapError(f"{said}: {what}") from None
    except OSError as error:
        raise TrlapError(f"{said}: cannot be read ({error.strerror})") from None
    # a NUL in it, or the home of nobody
    except (ValueError, RuntimeError):
        raise TrlapError(f"{said}: no such file") from None


def is_folder(path: Path) -> bool:
    """Also where a folder above it may not be entered: then it is none for us."""
    try:
        return path.is_dir()
    except OSError:
        return False
