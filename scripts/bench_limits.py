"""Parts of scripts/bench.py: what a user waits for, and how time and memory grow with sizes."""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from bench_data import DIMENSION, corpus, space
from bench_measure import DEVICE, ROOT, TURNS, Row, alone, exponent, peak_memory, ratio, seconds

from trlap.embeddings.space import Space
from trlap.mechanisms.registry import make
from trlap.randomness import block_generator

# runs the command behind it and prints that process's peak memory, in KiB
MEASURED = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
    "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def audit() -> Iterator[Row]:
    sizes = (1000, 3000, 10_000, 30_000)
    taken = [alone(audited, words) for words in sizes]
    for words, (took, memory) in zip(sizes, taken, strict=True):
        yield Row(f"exact audit, {words:,} words", took, "s", note=f"{memory:.0f} MiB on top")
    # of the three larger: below, memory is that of libraries
    value = exponent(sizes[1:], [max(1.0, memory) for _, memory in taken[1:]])
    yield Row("exact audit: exponent of its memory in the vocabulary", value, "", "≤ 1.1")


def audited(words: int) -> tuple[float, float]:
    """Time and memory on top of the exact audit of trlap, for all vectors and for the words in use."""
    from trlap.audit.guarantee import guarantee
    from trlap.audit.vocabulary import vocabulary

    mechanism, before = make("trlap", space(words), 0.1), peak_memory()
    took = seconds(lambda: (guarantee(mechanism), vocabulary(mechanism, None, 0)))
    return took, peak_memory() - before


def start() -> Iterator[Row]:
    """What a user waits for before anything happens."""
    script = [sys.executable, str(ROOT / "run.py")]
    plain = [sys.executable, "-c", "import torch"]
    quiet = partial(subprocess.run, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
    value = ratio(lambda: quiet([*script, "--help"]), lambda: quiet(plain))
    yield Row("python run.py --help, against `import torch`", value, "× its time", "≤ 0.6")
    with tempfile.TemporaryDirectory() as outputs:
        common = [*script, "-m", f"outputs={outputs}", "mechanism=krr"]
        common += ["stages=[privatize]", "metrics.bertscore.model=null", "metrics.bootstrap=0"]
        common += [f"dataset.limit.{split}=50" for split in ("train", "validation", "test")]
        few = [*common, "epsilon=1,2"]
        many = [*common, f"epsilon={','.join(map(str, range(1, 23)))}"]
        # now all are done
        quiet(many)
        waits = [seconds(lambda: quiet(many)) - seconds(lambda: quiet(few)) for _ in range(TURNS)]
        yield Row("a finished cell in a sweep", statistics.median(waits) / 20, "s", "≤ 0.5")


def memory() -> Iterator[Row]:
    texts, _ = corpus(200_000)
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for lines in (10_000, 1_000_000):
            source, target = Path(folder) / f"{lines}.txt", Path(folder) / "private.txt"
            repeats = -(-lines // len(texts))
            source.write_text("\n".join((texts * repeats)[:lines]) + "\n")
            command = [sys.executable, "-c", MEASURED, sys.executable]
            command += [str(ROOT / "scripts" / "privatize.py"), f"input={source}"]
            command += [f"output={target}", "mechanism=krr", "force=true"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peaks.append(int(done.stdout))
    yield Row(
        "peak memory, 1,000,000 lines through scripts/privatize.py, against 10,000",
        peaks[1] / peaks[0],
        "× as much",
        "≤ 1.2",
        note=f"{peaks[1] / 1024:.0f} MiB",
    )


def growth() -> Iterator[Row]:
    """In tokens, in words of the vocabulary, in dimensions: the others stay as they are."""
    several: tuple[tuple[str, tuple[int, ...], Callable[[int], tuple[int, int, int]]], ...] = (
        ("tokens", (10_000, 100_000, 1_000_000), lambda n: (n, 3000, 100)),
        ("vocabulary", (1000, 3000, 10_000, 30_000), lambda n: (20_000, n, DIMENSION)),
        ("dimension", (100, 300, 900, 1700), lambda n: (20_000, 3000, n)),
    )
    for name, sizes, of_size in several:
        taken = []
        for size in sizes:
            tokens, words, dimension = of_size(size)
            taken.append(alone(drawn, tokens, words, dimension))
        for size, (took, memory) in zip(sizes, taken, strict=True):
            yield Row(f"gaussian, {name} {size:,}", took, "s", note=f"{memory:.0f} MiB on top")
        for what, values in zip(("time", "memory"), zip(*taken, strict=True), strict=True):
            yield Row(f"gaussian: exponent of {what} in {name}", exponent(sizes, values), "")


def drawn(tokens: int, words: int, dimension: int) -> tuple[float, float]:
    """Time of privatising with gaussian, and memory of that and of the vectors."""
    before = peak_memory()
    vectors = np.random.default_rng(0).standard_normal((words, dimension), np.float32)
    names = [f"w{i}" for i in range(words)]
    prior = np.full(words, 1 / words)
    mechanism = make("gaussian", Space(names, vectors, prior, device=DEVICE), 1.0)
    ids = torch.arange(tokens) % words

    def job() -> None:
        for block, part in enumerate(ids.split(1024)):
            mechanism.draw(part, block_generator(1, "bench", block, torch.device(DEVICE)))

    took = statistics.median(seconds(job) for _ in range(1 if tokens > 100_000 else 3))
    return took, peak_memory() - before
