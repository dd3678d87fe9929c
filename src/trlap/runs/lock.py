"""Two processes never work on one thing: a lock file that says who holds it.

The owner is known by host, pid and the start time of its process. A lock is stale when that process is
gone from this host, or when another host has not touched it for five minutes: its owner does so every
half minute.
"""

import json
import os
import platform
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

HEARTBEAT = 30.0  # seconds
STALE = 300.0
POLL = 0.5


class Busy(Exception):
    """Another process holds the lock."""


class Lock:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._mine = ""
        self._released = threading.Event()

    def owner(self, now: float | None = None) -> dict[str, Any] | None:
        """The living process that holds it, this one included."""
        with suppress(FileNotFoundError):
            text, touched = self._read(), self.path.stat().st_mtime
            owner: dict[str, Any] = json.loads(text)
            return owner if _alive(owner, (now or time.time()) - touched) else None
        return None

    def acquire(self) -> bool:
        """Take it if no living process has it. A hard link appears whole, and for one process only."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        temporary = Path(name)
        self._mine = json.dumps(_this_process() | {"lock": temporary.name})
        try:
            with os.fdopen(handle, "w") as file:
                file.write(self._mine)
            now = temporary.stat().st_mtime  # by the clock that stamps the lock, wherever it stands
            for _ in range(2):
                with suppress(FileExistsError):
                    os.link(temporary, self.path)
                    self._released.clear()
                    threading.Thread(target=self._beat, daemon=True).start()
                    return True
                if self.owner(now) is not None:
                    return False
                self._remove_stale(now)
            return False
        finally:
            temporary.unlink(missing_ok=True)

    def release(self) -> None:
        self._released.set()
        with suppress(FileNotFoundError):
            if self._read() == self._mine:
                self.path.unlink()

    @contextmanager
    def hold(
        self, wait: bool = True, told: Callable[[dict[str, Any]], None] | None = None
    ) -> Iterator[None]:
        """`told` hears once of the process that is waited for; without `wait` it is `Busy`."""
        while not self.acquire():
            owner = self.owner()
            if owner is not None and not wait:
                raise Busy
            if owner is not None and told is not None:
                told(owner)
                told = None
            time.sleep(POLL)
        try:
            yield
        finally:
            self.release()

    def _read(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT):
            with suppress(OSError):
                if self._read() == self._mine:
                    os.utime(self.path)

    def _remove_stale(self, now: float) -> None:
        """One process at a time, or a slow one would remove the lock of whoever was faster."""
        guard = self.path.with_name(f"{self.path.name}.stale")
        try:
            os.close(os.open(guard, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            with suppress(FileNotFoundError):
                if now - guard.stat().st_mtime > STALE:  # left by a process that was killed here
                    guard.unlink()
            return
        try:
            if self.owner(now) is None:
                self.path.unlink(missing_ok=True)
        finally:
            guard.unlink(missing_ok=True)


def _this_process() -> dict[str, Any]:
    started = psutil.Process().create_time()
    return {"host": platform.node(), "pid": os.getpid(), "started": started}


def _alive(owner: dict[str, Any], silence: float) -> bool:
    if owner["host"] != platform.node():
        return silence < STALE
    try:
        process = psutil.Process(owner["pid"])
        same = (
            abs(process.create_time() - owner["started"]) < 1
        )  # else its pid was given away again
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
