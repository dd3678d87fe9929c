"""Two processes never work on one thing: a lock file that says who holds it.

The owner is known by host, pid and the start time of its process. A lock is stale when that process is
gone from this host, or when another host or container has not touched it for five minutes: its owner does so
every half minute. A lock appears by a hard link, which is atomic on local disks and on NFS.

`filelock.SoftFileLease` is not used: it takes over by exchanging two names, which NFS refuses, so a dead
owner's lock would stay there for ever; and it expires a living but stopped owner of this very host.
"""

import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import psutil

from trlap.files import say_once

# All in seconds: how often an owner touches its lock, after which silence another host takes it over,
# and how often somebody who waits looks again.
HEARTBEAT = 30.0
STALE = 300.0
POLL = 0.5


class Busy(Exception):
    """Another process holds the lock."""


@dataclass(frozen=True)
class Owner:
    """Who holds a lock. `lock` is a name that no other holding has, also not a later one of this process."""

    host: str
    pid: int
    started: float
    lock: str
    # whose numbers of processes these are: containers of one host name may each have their own
    processes: str = ""

    @classmethod
    def current(cls, lock: str) -> Self:
        """This process."""
        started = psutil.Process().create_time()
        return cls(platform.node(), os.getpid(), started, lock, _processes())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """ValueError, KeyError or TypeError where the text names no process."""
        fields = json.loads(text)
        host, pid, started = str(fields["host"]), int(fields["pid"]), float(fields["started"])
        if pid <= 0:
            raise ValueError("no process has that number")
        return cls(host, pid, started, str(fields["lock"]), str(fields.get("processes", "")))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def alive(self, silence: float) -> bool:
        """Whether it still runs. Of another host or container only the seconds since its last sign of life
        tell.
        """
        if (self.host, self.processes) != (platform.node(), _processes()):
            return silence < STALE
        try:
            process = psutil.Process(self.pid)
            # A process of this pid that started at another time is a later one.
            same_process = abs(process.create_time() - self.started) < 1
            return same_process and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True


def _processes() -> str:
    """Names what the numbers of processes are of, on Linux; elsewhere a host has but one such thing."""
    with suppress(OSError):
        return Path("/proc/self/ns/pid").readlink().name
    return ""


class Lock:
    """The lock that the file `path` stands for, held by at most one process of all hosts that see it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._holding: Owner | None = None
        self._released = threading.Event()

    def owner(self, now: float | None = None) -> Owner | None:
        """The living process that holds it, this one included."""
        with suppress(FileNotFoundError):
            owner, touched = self._read(), self.path.stat().st_mtime
            if owner is not None and owner.alive((now or time.time()) - touched):
                return owner
        return None

    def acquire(self) -> bool:
        """Take it if no living process has it. A hard link appears whole, and for one process only."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # named before it is made, so that a signal at any moment leaves nothing
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        self._holding = Owner.current(lock=temporary.name)
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(self._holding.to_json())
                file.flush()
                os.fsync(file.fileno())
            # By the clock that stamps the lock, which may be a file server's.
            now = temporary.stat().st_mtime
            for _ in range(2):
                with suppress(FileExistsError):
                    os.link(temporary, self.path)
                    self._released.clear()
                    self._tidy(now)
                    threading.Thread(target=self._beat, daemon=True).start()
                    return True
                if self.owner(now) is not None:
                    return False
                self._remove_stale(now)
            return False
        finally:
            temporary.unlink(missing_ok=True)

    def release(self) -> None:
        """Give it back. A lock that somebody else has taken over meanwhile stays theirs."""
        self._released.set()
        with suppress(FileNotFoundError):
            if self._read() == self._holding:
                self.path.unlink()

    @contextmanager
    def hold(
        self, wait: bool = True, announce: Callable[[Owner], None] | None = None
    ) -> Iterator[None]:
        """Hold it inside a `with` block, waiting for it first; without `wait` a held lock is `Busy`.

        `announce` hears once of the process that is waited for.
        """
        while not self.acquire():
            owner = self.owner()
            if owner is not None and not wait:
                raise Busy
            if owner is not None and announce is not None:
                announce(owner)
                announce = None
            time.sleep(POLL)
        try:
            yield
        finally:
            self.release()

    def _read(self) -> Owner | None:
        """Who the file says; nobody where it says nothing, for a lock appears with all its content."""
        try:
            return Owner.from_json(self.path.read_text(encoding="utf-8"))
        except (ValueError, KeyError, TypeError):
            say_once(f"the lock {self.path.name} names no process; it is taken to be free")
            return None

    def _tidy(self, now: float) -> None:
        """Take away what processes left that were killed while they took it."""
        for left in self.path.parent.glob(f".{self.path.name}.*"):
            with suppress(OSError):
                silence = now - left.stat().st_mtime
                try:
                    alive = Owner.from_json(left.read_text(encoding="utf-8")).alive(silence)
                except (ValueError, KeyError, TypeError):
                    # somebody may be about to write it
                    alive = silence < STALE
                if not alive:
                    left.unlink()

    def _beat(self) -> None:
        """Touch the lock every half minute, so that other hosts see that its owner lives."""
        while not self._released.wait(HEARTBEAT):
            with suppress(OSError):
                if self._read() == self._holding:
                    os.utime(self.path)

    def _remove_stale(self, now: float) -> None:
        """One process at a time, or a slow one would remove the lock of whoever was faster."""
        guard = self.path.with_name(f"{self.path.name}.stale")
        try:
            os.close(os.open(guard, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            with suppress(FileNotFoundError):
                # A guard this old was left by a process that was killed right here.
                if abs(now - guard.stat().st_mtime) > STALE:
                    guard.unlink()
            return
        try:
            if self.owner(now) is None:
                self.path.unlink(missing_ok=True)
        finally:
            guard.unlink(missing_ok=True)
