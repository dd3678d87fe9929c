"""Who computed a stage: versions, device, threads, commit and time, kept in the stage's own folder."""

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trlap.files import read_json, write_json
from trlap.runs import records
from trlap.runs.result import StageProvenance

if TYPE_CHECKING:
    from trlap.models.base import Machine

FILE = "provenance.json"
PACKAGES = (
    "trlap",
    "torch",
    "numpy",
    "datasets",
    "tokenizers",
    "rouge-score",
    "sacrebleu",
    "bert-score",
)
Value = TypeVar("Value")


def this_machine(device: str, threads: int) -> "Machine":
    """Where this process computes; torch is told how many threads it may use."""
    import torch

    from trlap.device import pick_device
    from trlap.models.base import Machine

    machine = Machine(pick_device(device), threads or os.cpu_count() or 1)
    torch.set_num_threads(machine.threads)
    return machine


def write(folder: Path, machine: "Machine", started: float) -> None:
    """Of a stage that this process has just computed."""
    now = datetime.now(UTC).timestamp()
    record = StageProvenance(
        versions=_versions(),
        device=machine.device,
        threads=machine.threads,
        machine=platform.machine(),
        git=_git_commit(),
        started=datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        seconds=round(now - started, 3),
    )
    write_json(folder / FILE, records.to_json(record))


def read(folder: Path) -> StageProvenance | None:
    path = folder / FILE
    return records.from_json(StageProvenance, read_json(path)) if path.exists() else None


def versions(stages: Iterable[StageProvenance]) -> dict[str, str]:
    """Of every package; where stages were computed with different ones, all of them."""
    seen: dict[str, list[str]] = {}
    for stage in stages:
        for package, number in stage.versions.items():
            numbers = seen.setdefault(package, [])
            if number not in numbers:
                numbers.append(number)
    return {package: " and ".join(numbers) for package, numbers in seen.items()}


def agreed(values: Iterable[Value]) -> Value | None:
    """The value that all have; null where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


@lru_cache
def _versions() -> dict[str, str]:
    installed = {package: version(package) for package in PACKAGES}
    return installed | {"python": platform.python_version()}


@lru_cache
def _git_commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--verify", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
