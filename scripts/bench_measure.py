"""How scripts/bench.py measures: turns, ratios, exponents, memory, and the process of the peers."""

import json
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.device import pick_device

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"
NO_PEERS = "the peers are not installed: make peers"
TURNS = 5
# seconds: threads of a process that has worked spin for a while, and would take a core
REST = 0.3
DEVICE = pick_device("auto")

Job = Callable[[], Any]
Answer = TypeVar("Answer")


@dataclass
class Row:
    """One figure. `goal` is such as "≥ 5" or "≤ 1.5"; None: it is only reported."""

    name: str
    value: float | None
    unit: str
    goal: str | None = None
    met: bool | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.goal and self.value is not None:
            sign, bound = self.goal.split()
            self.met = self.value >= float(bound) if sign == "≥" else self.value <= float(bound)


def seconds(job: Job) -> float:
    start = time.perf_counter()
    job()
    if DEVICE.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start


def ratio(slow: Job, fast: Job, turns: int = TURNS) -> float:
    """How many times `fast` fits into `slow`; both warm, taking turns."""
    times = [(seconds(slow), seconds(fast)) for _ in range(turns + 1)][1:]
    return statistics.median(a / b for a, b in times)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log value over log size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def alone(job: Callable[..., Answer], *arguments: Any) -> Answer:
    """In a process of its own: its peak memory is that of the job."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(job, *arguments).result()


def peak_memory() -> float:
    """Of this process so far, in MiB."""
    status = Path("/proc/self/status")
    # getrusage counts the process that started this one too
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Peers:
    """The peers' process, in their own environment: `peer(job)` does a job there and says how long it took."""

    def __init__(self, **arrays: NDArray[Any]) -> None:
        self.arrays = arrays

    def __enter__(self) -> Callable[..., float] | None:
        self.process = None
        if not PEERS.exists():
            return None
        self.folder = tempfile.TemporaryDirectory()
        for name, array in self.arrays.items():
            np.save(Path(self.folder.name) / f"{name}.npy", array)
        self.process = subprocess.Popen(
            [str(PEERS), str(ROOT / "scripts" / "bench_peers.py"), self.folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self.peer

    def peer(self, job: str, **keys: str) -> float:
        """The seconds of one job."""
        assert self.process and self.process.stdin and self.process.stdout
        time.sleep(REST)
        self.process.stdin.write(json.dumps({"job": job, **keys}) + "\n")
        self.process.stdin.flush()
        took = float(self.process.stdout.readline())
        time.sleep(REST)
        return took

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.stdin:
            self.process.stdin.close()
            self.process.wait()
            self.folder.cleanup()
