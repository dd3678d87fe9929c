"""A cell: one configuration, its name, its folder and its state on disk.

Nothing here imports a heavy library, so a finished cell is found and shown at once.
"""

import os
import re
import shlex
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from trlap import progress, stages
from trlap.config import schema
from trlap.config.door import Config
from trlap.config.epsilon import unquoted
from trlap.config.places import hidden
from trlap.errors import TrlapError, tell
from trlap.files import (
    file_sha256,
    read_json,
    remove_partial,
    say_once,
    writable,
    write_json,
    write_text,
)
from trlap.runs import records, result, signals
from trlap.runs.listening import Listener, Step
from trlap.runs.lock import Lock, Owner
from trlap.runs.logs import logged
from trlap.runs.records import absent
from trlap.runs.result import RunResult
from trlap.stages.base import Identity

DIGITS = 8  # of the hash, in a folder's name
RESULT = "result.json"
# what is not part of what was found: it says how the run goes, or grows with every attempt
RECORDS = ("status.json", "run.log", "lock")


@dataclass(frozen=True)
class Status:
    """status.json: `stage` is the one under way, `stages` the folders of those that are done."""

    status: str = ""  # running | ok | failed | interrupted; empty: nobody has worked on it
    hash: str = ""
    pid: int = 0
    started: float = 0.0
    stages: dict[str, str] = field(default_factory=dict)
    stage: str | None = None
    error: str | None = absent()
    seconds: float | None = absent()
    # of a finished run: its files and their lengths, and the digest of result.json
    files: dict[str, int] | None = absent()
    result: str | None = absent()

    @property
    def reason(self) -> str:
        """The last line of what went wrong."""
        return (self.error or "").strip().split("\n")[-1]


class Cell(Listener):
    """Its folder is named after what a person looks for, and by the hash of all that changes its result."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.state = Status()

    @cached_property
    def identity(self) -> Identity:
        return Identity(self.config)

    @property
    def hash(self) -> str:
        return self.identity.hash

    @cached_property
    def name(self) -> str:
        config = self.config
        names = [config.dataset.name, config.embedding.name, config.mechanism.name]
        return "-".join([*names, f"eps{config.epsilon:g}", self.hash[:DIGITS]])

    @property
    def outputs(self) -> Path:
        return Path(self.config.outputs)

    @property
    def folder(self) -> Path:
        return self.outputs / self.name

    @property
    def lock(self) -> Lock:
        return Lock(self.folder / "lock")

    def status(self) -> Status:
        """status.json of whoever worked on it last; empty if nobody did."""
        status = read_status(self.folder)
        return status if status.hash == self.hash else Status()

    def finished(self) -> bool:
        """A run is finished whose files are all there, as long as they were, with the result it had.

        Whatever its status says: one with a file missing or cut is done again, from what the cache has.
        """
        status = self.status()
        if status.status != "ok":
            return False
        if fault := self._fault(status):
            say_once(f"{self.name} is not finished any more ({fault}); it is done again")
            return False
        return True

    def _fault(self, status: Status) -> str | None:
        """How the folder differs from what status.json says of it."""
        if status.files is None or RESULT not in status.files:
            return "its files were not recorded"
        for name, length in status.files.items():
            path = self.folder / name
            if not path.is_file():
                return f"{name} is missing"
            if path.stat().st_size != length:
                return f"{name} has {path.stat().st_size:,} bytes and not {length:,}"
        if file_sha256(self.folder / RESULT) != status.result:
            return f"{RESULT} is not as it was written"
        return None

    def result(self) -> RunResult:
        return result.read(self.folder / RESULT)

    @contextmanager
    def alone(self, wait: bool) -> Iterator[None]:
        """Nobody else works on it meanwhile; without `wait` raises Busy if somebody does."""

        def tell(owner: Owner) -> None:
            who = f"process {owner.pid} on {owner.host}"
            print(f"{self.name}: {who} works on it; waiting for it", file=sys.stderr)

        with ExitStack() as stack:
            with writable(self.outputs):
                stack.enter_context(self.lock.hold(wait, tell))
            yield

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Keep status.json true: running, then ok, or failed with its traceback, or interrupted."""
        started = time.time()
        remove_partial(self.folder)
        write_text(
            self.folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(self.config.composed))
        )
        self.state = Status()
        self.note(status="running", hash=self.hash, pid=os.getpid(), started=started)
        with logged(self.folder / "run.log"):
            try:
                yield
                signals.check()
            except BaseException as error:
                reason = str(error) if isinstance(error, TrlapError) else traceback.format_exc()
                reason = hidden(reason, self.config.places.values())
                # what is no Exception is Ctrl-C, a signal, or a cluster that takes the machine away
                stopped = signals.received() or not isinstance(error, Exception)
                state = "interrupted" if stopped else "failed"
                # a full disk must not hide what went wrong
                with suppress(TrlapError):
                    self.note(status=state, error=reason, seconds=time.time() - started)
                # a sweep says it of all its cells
                if stopped and not progress.quiet:
                    tell("interrupted; the same command goes on from what is done")
                signals.check()
                raise
            self.note(
                status="ok",
                stage=None,
                seconds=time.time() - started,
                files=self._files(),
                result=file_sha256(self.folder / RESULT),
            )

    def _files(self) -> dict[str, int]:
        return {
            path.name: path.stat().st_size
            for path in sorted(self.folder.iterdir())
            if path.is_file() and path.name not in RECORDS and not path.name.startswith(".")
        }

    def note(self, **news: Any) -> None:
        """Put it into status.json."""
        self.state = replace(self.state, **news)
        write_json(self.folder / "status.json", records.to_json(self.state))

    def interrupt(self) -> None:
        """Its process was ended from outside and could not say so itself."""
        self.state = self.status()
        if self.state.status == "running" and self.lock.owner() is None:
            self.note(status="interrupted", error="its process was ended")

    def stage_begins(self, step: Step) -> None:
        signals.check()
        self.note(stage=step.stage)

    def stage_done(self, step: Step, folder: str) -> None:
        signals.check()
        self.note(stages=self.state.stages | {step.stage: folder})


def read_status(folder: Path) -> Status:
    """Of whoever worked there last; one that cannot be read says nothing."""
    path = folder / "status.json"
    try:
        return records.from_json(Status, read_json(path))
    except (FileNotFoundError, NotADirectoryError):
        return Status()
    except (TrlapError, ValueError):
        say_once(f"{folder.name}: status.json cannot be read; it is taken to be absent")
        return Status()


def command(config: Config) -> str | None:
    """The line that makes this cell, without the keys that do not change it; None outside Hydra.

    It has the names of files, not their places: it is to be given where they are.
    """
    if not HydraConfig.initialized():
        return None
    silent = silent_keys()
    overrides = HydraConfig.get().overrides.task
    kept = [o for o in overrides if re.split(r"[.=]", o.lstrip("+~"))[0] not in silent]
    named = [unquoted(_named(override, config)) for override in kept]
    return " ".join(["python run.py", *map(shlex.quote, named)])


def _named(override: str, config: Config) -> str:
    """With the name of a place, as the saved config has it, however it was quoted."""
    key = override.lstrip("+").partition("=")[0]
    if key not in config.places:
        return hidden(override, config.places.values())
    value: Any = config.composed
    for part in key.split("."):
        value = value[part]
    return f"{key}={value}"


def silent_keys() -> set[str]:
    """Keys that no stage depends on: they change no result."""
    return {item.name for item in fields(schema.Run)} - stages.DEPENDED - {"stages"}
