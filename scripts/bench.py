"""python scripts/bench.py [PART ...]    speed against peers and against the machine's own limits

Every figure is a ratio of two things that took turns in one run (the median over the turns of the ratio
within a turn), so that a noisy machine cancels out. Writes bench.json and bench.md into outputs/bench/.
"""

import argparse
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from trlap.data import demo
from trlap.data.tokens import Vocabulary, build_vocabulary, tokenize_batch
from trlap.device import pick_device
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_table, frequent_words
from trlap.mechanisms import base as mechanisms
from trlap.privatize.blocks import block_generator, privatize_texts
from trlap.runs.cache import write_json, write_text

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"
TURNS = 5
WORDS, DIMENSION = 10_000, 300
DEVICE = pick_device("auto")
Job = Callable[[], Any]


@dataclass
class Row:
    name: str
    value: float | None
    unit: str
    goal: str | None = None  # "≥ 5", "≤ 1.5"; None: only reported
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


# ------------------------------------------------------------------------------------- what is measured


@cache
def table(words: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Real vectors of the most frequent words; more dimensions repeat them, which costs as much."""
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cfg = compose("config").embedding
    names = [word for word, _ in zip(frequent_words(), range(words), strict=False)]
    vectors = build_table(cfg, ["<unk>", *names[: words - 1]]).vectors
    return np.ascontiguousarray(np.tile(vectors, math.ceil(dimension / DIMENSION))[:, :dimension])


@cache
def space(words: int = WORDS, dimension: int = DIMENSION) -> Space:
    vectors = table(words, dimension)
    names = [f"w{i}" for i in range(words)]
    prior = 1 / np.arange(1.0, words + 1)
    return Space(names, vectors, prior / prior.sum(), device=DEVICE)


make: Callable[..., Any] = mechanisms.make


def generator() -> torch.Generator:
    return torch.Generator(DEVICE).manual_seed(1)


def corpus(tokens: int) -> tuple[list[str], str]:
    """Tokenised sentences: Yelp's where it is at hand, else the demo's, as often as it takes."""
    folder = os.environ.get("TRLAP_DATA")
    if folder and (Path(folder) / "yelp" / "train.tsv").exists():
        lines = (Path(folder) / "yelp" / "train.tsv").read_text().splitlines()[1:]
        texts, name = [line.split("\t")[0] for line in lines], "yelp"
    else:
        rows = [str(row["text"]) for row in demo.generate()["train"]]
        texts, name = [" ".join(words) for words in tokenize_batch(rows)], "demo"
    chosen: list[str] = []
    while tokens > 0:
        for text in texts:
            chosen.append(text)
            tokens -= text.count(" ") + 1
            if tokens <= 0:
                break
    return chosen, name


def sampling() -> Iterator[Row]:
    rows = 10_000_000 // DIMENSION
    trlap, gaussian = make("trlap", space(), 0.1), make("gaussian", space(), 0.1)
    value = ratio(lambda: trlap.noise(rows, generator()), lambda: gaussian.noise(rows, generator()))
    yield Row(
        "truncated Laplace sampling, 10⁷ draws, against our Gaussian", value, "× its time", "≤ 1.5"
    )

    def rejection(count: int = 1024 * 20) -> Tensor:
        """The paper's: Laplace proposals, 10⁶ at a time, until enough lie in [−A, A]."""
        found, kept, need = [], 0, count * DIMENSION
        law = torch.distributions.Laplace(0.0, 1 / trlap.alpha)
        while kept < need:
            drawn = law.sample((1_000_000,)).to(DEVICE)
            found.append(drawn[drawn.abs() <= trlap.A])
            kept += len(found[-1])
        return torch.cat(found)[:need].view(count, DIMENSION)

    value = ratio(rejection, lambda: trlap.noise(1024 * 20, generator()))
    yield Row(
        "truncated Laplace sampling, 1024 × 20 × 300, against acceptance–rejection",
        value,
        "× faster",
        "≥ 5",
    )


def projection() -> Iterator[Row]:
    points = make("gaussian", space(), 1.0).perturb(torch.arange(4096), generator())
    square = torch.randn(4096, 4096, device=DEVICE)
    found = space()
    flops = 2 * len(points) * DIMENSION * WORDS
    ours = partial(found.nearest, points)
    speed = ratio(lambda: square @ square, ours)
    yield Row(
        "projection, 10,000 words, 300-d, exact: share of the matrix product at measured peak",
        100 * speed * flops / (2 * 4096**3),
        "%",
        "≥ 70",
    )
    with peers(points=points.cpu().numpy(), vectors=found.targets.cpu().numpy()) as peer:
        for name in ("faiss", "sklearn"):
            if peer is None:
                yield Row(f"projection against {name}", None, "× faster", "≥ 1", note=NO_PEERS)
                continue
            times = [(peer(name), seconds(ours)) for _ in range(TURNS + 1)]
            value = statistics.median(a / b for a, b in times[1:])
            title = {"faiss": "faiss-cpu IndexFlatL2", "sklearn": "scikit-learn brute force"}[name]
            yield Row(f"projection, 4,096 points, against {title}", value, "× faster", "≥ 1")


REST = 0.3  # seconds: threads of a process that has worked spin for a while, and would take a core
NO_PEERS = "the peers are not installed: make peers"


class peers:
    """The peers' process, in their own environment: `peer(job)` does a job there and says how long it took."""

    def __init__(self, **arrays: Any) -> None:
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

        def peer(job: str, **keys: Any) -> float:
            assert self.process and self.process.stdin and self.process.stdout
            time.sleep(REST)
            self.process.stdin.write(json.dumps({"job": job, **keys}) + "\n")
            self.process.stdin.flush()
            took = float(self.process.stdout.readline())
            time.sleep(REST)
            return took

        return peer

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.stdin:
            self.process.stdin.close()
            self.process.wait()
            self.folder.cleanup()


def end_to_end(texts: list[str], vocabulary: Vocabulary, name: str, **keys: Any) -> Job:
    """From text to text."""
    vectors = table(WORDS)[: len(vocabulary.words)]
    found = make(name, Space(vocabulary.words, vectors, vocabulary.prior, device=DEVICE), **keys)
    device = torch.device(DEVICE)
    return lambda: privatize_texts(
        found, vocabulary, texts, lambda block: block_generator(1, "bench", block, device)
    )


def mldp() -> Iterator[Row]:
    """Tokens a second against mldp-text with its default settings, which takes a word at a time."""
    texts, name = corpus(20_000)
    vocabulary = build_vocabulary(texts, WORDS)
    vectors = table(WORDS)[: len(vocabulary.words)]
    tokens, _ = vocabulary.encode(texts)
    goals = {"cmp": 100, "vickrey": 100, "mahalanobis": 500, "tem": 500}
    with peers(vectors=vectors, tokens=tokens) as peer:
        for kind, goal in goals.items():
            title = f"privatising 20,000 {name} tokens with {kind}, against mldp-text 0.1.2"
            if peer is None:
                yield Row(title, None, "× its tokens a second", f"≥ {goal}", note=NO_PEERS)
                continue
            ours = end_to_end(texts, vocabulary, kind, epsilon=10.0)
            seconds(ours)
            shares = []
            for _ in range(TURNS):  # theirs is seconds a token
                shares.append(peer("mldp", mechanism=kind) / (seconds(ours) / len(tokens)))
            yield Row(title, statistics.median(shares), "× its tokens a second", f"≥ {goal}")


def response() -> Iterator[Row]:
    texts, _ = corpus(100_000)
    vocabulary = build_vocabulary(texts, WORDS)
    gaussian = end_to_end(texts, vocabulary, "gaussian", epsilon=5.0)
    for name in ("krr", "srr", "crr"):
        ours = end_to_end(texts, vocabulary, name, epsilon=5.0)
        title = f"{name} from text to text, against our gaussian"
        yield Row(title, ratio(gaussian, ours), "× its tokens a second", "≥ 5")


def training() -> Iterator[Row]:
    """An epoch of the auto-encoder at the paper's width, on as many sentences as the paper has of Yelp.

    Every third batch is timed, from short to long: a sample of sentences would make smaller batches.
    """
    texts, name = corpus(82_000)
    vocabulary = build_vocabulary(corpus(600_000)[0], WORDS)
    words = len(vocabulary.words)
    place = Space(vocabulary.words, table(WORDS)[:words], vocabulary.prior, None, device=DEVICE)
    plain = auto_encoder(texts, vocabulary, place, "none")
    noisy = auto_encoder(texts, vocabulary, place, "trlap")
    lengths = plain.source.lengths.cpu()
    order = lengths.argsort(stable=True)
    of_one_length = [
        batch
        for rows in order.split(lengths.bincount()[lengths.unique()].tolist())
        for batch in rows.split(plain.cfg.batch)
    ]
    of_neighbours = sorted(
        (rows for _, rows in plain.batches("train")), key=lambda b: lengths[b[0]]
    )
    released, mine = of_one_length[1::3], of_neighbours[1::3]
    tokens = [int(lengths[torch.cat(batches)].sum()) for batches in (released, mine)]
    kind, wide = factors(), torch.float32
    steps = epoch(plain, mine, kind)
    theirs = partial(with_torch_s_own, partial(run, epoch(plain, released, wide, fused=False)))
    ours, ours_wide = partial(run, steps), partial(run, epoch(plain, mine, wide))
    # multiply-adds a token: encoder, decoder, softmax; forwards once, backwards twice
    d, h = DIMENSION, 512
    products = 3 * (2 * 4 * h * (d + h) + 4 * h * (d + h) + h * (words + 1))
    square = torch.randn(2048, 2048, device=DEVICE, dtype=kind)

    def peak() -> None:
        for _ in range(8):
            square @ square

    jobs: list[Job] = [theirs, ours, peak, ours_wide]
    turns = [[seconds(job) for job in jobs] for _ in range(TURNS + 1)][1:]
    bound = tokens[1] * products / (8 * 2048**3)  # in units of `peak`
    own = statistics.median(100 * bound * turn[2] / turn[1] for turn in turns)
    rates = [
        statistics.median(turn[0] / turn[i] for turn in turns) * tokens[1] / tokens[0]
        for i in (1, 3)
    ]
    yield Row(
        f"auto-encoder epoch, hidden 512, {words:,} words, {name}, against batches of one length",
        rates[0],
        "× its tokens a second",
        "≥ 2",
        note=f"ours multiplies in {str(kind).removeprefix('torch.')}, the released code in float32",
    )
    yield Row("the same, both in float32", rates[1], "× its tokens a second")
    yield Row("the same: share of the time of its matrix products", own, "%", "≥ 50")
    with_noise = epoch(noisy, mine, kind)
    turns = []
    for _ in range(TURNS):  # taking turns at every batch: 3 % are less than a machine's moods
        pairs = [(seconds(a), seconds(b)) for a, b in zip(with_noise, steps, strict=True)]
        turns.append(list(map(sum, zip(*pairs, strict=True))))
    value = statistics.median(a / b for a, b in turns)
    yield Row("an epoch with trlap (release) against none", value, "× its time", "≤ 1.03")


def with_torch_s_own(job: Job) -> None:
    """Dropout and cross-entropy as the released code has them: all scores of a batch at once."""

    def full(rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(rows, weight, bias), targets, reduction="sum")

    with patch.multiple("trlap.models.autoencoder", cross_entropy=full, dropout=F.dropout):
        job()


def auto_encoder(texts: list[str], vocabulary: Vocabulary, place: Space, name: str) -> Any:
    from hydra import compose, initialize_config_dir

    from trlap.mechanisms._released import Released
    from trlap.models.autoencoder import AutoEncoder
    from trlap.models.packing import Sentences
    from trlap.models.training import Training

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cfg = compose("config", ["model=bilstm"]).model
    words = len(vocabulary.words)
    torch.manual_seed(0)
    model = AutoEncoder(
        place.vectors.cpu(),
        torch.full((words + 1,), 1 / (words + 1)),
        **{key: cfg[key] for key in ("hidden", "code", "layers", "dropout", "tied")},
        sampled=True,
    )
    read = Sentences(texts, vocabulary)
    noise = Released(space=place, epsilon=0.1, clip=0.005, released=name)
    splits = {"train": range(len(texts))}
    return Training(model, read, read, splits, cfg, 0, noise).to(DEVICE).train()


def factors() -> torch.dtype:
    """What model.trainer.precision=auto multiplies in."""
    from trlap.models.training import precision

    names = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16, "32-true": torch.float32}
    return names[precision("auto", DEVICE)]


def epoch(training: Any, batches: list[Tensor], kind: torch.dtype, fused: bool = True) -> list[Job]:
    """A step of training for each batch; products have factors of that kind."""
    optimizer = torch.optim.Adam(training.parameters(), lr=1e-4, fused=fused, foreach=False)
    mixed = partial(torch.autocast, DEVICE.partition(":")[0], kind, kind != torch.float32)

    def step(number: int, batch: Tensor) -> None:
        rows = batch.to(DEVICE)
        with training.drawn("train", 0, number) as source, mixed():
            loss, _ = training.loss(rows, training.code(rows, source))
        (loss / len(rows)).backward()
        torch.nn.utils.clip_grad_norm_(training.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()

    return [partial(step, number, batch) for number, batch in enumerate(batches)]


def run(steps: list[Job]) -> None:
    for step in steps:
        step()


def alone(job: Callable[..., Any], *arguments: Any) -> Any:
    """In a process of its own: its peak memory is that of the job."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(job, *arguments).result()


def peak_memory() -> float:
    """Of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts the process that started this one too
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def audited(words: int) -> tuple[float, float]:
    """Time and memory on top of the exact audit of trlap, for all vectors and for the words in use."""
    from trlap.audit import exact

    found, before = make("trlap", space(words), 0.1), peak_memory()
    took = seconds(lambda: (exact.guarantee(found), exact.vector_vocabulary(found, 0)))
    return took, peak_memory() - before


def audit() -> Iterator[Row]:
    sizes = (1000, 3000, 10_000, 30_000)
    taken = [alone(audited, words) for words in sizes]
    for words, (took, memory) in zip(sizes, taken, strict=True):
        yield Row(f"exact audit, {words:,} words", took, "s", note=f"{memory:.0f} MiB on top")
    # of the three larger: below, memory is that of libraries
    value = exponent(sizes[1:], [max(1.0, memory) for _, memory in taken[1:]])
    yield Row("exact audit: exponent of its memory in the vocabulary", value, "", "≤ 1.1")


def start() -> Iterator[Row]:
    """What a user waits for before anything happens."""
    helped = [sys.executable, str(ROOT / "run.py"), "--help"]
    plain = [sys.executable, "-c", "import torch"]
    quiet = partial(subprocess.run, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
    value = ratio(lambda: quiet(helped), lambda: quiet(plain))
    yield Row("python run.py --help, against `import torch`", value, "× its time", "≤ 0.6")
    with tempfile.TemporaryDirectory() as outputs:
        common = [sys.executable, str(ROOT / "run.py"), "-m", f"outputs={outputs}", "mechanism=krr"]
        common += ["stages=[privatize]", "metrics.bertscore.model=null", "metrics.bootstrap=0"]
        common += [f"dataset.limit.{split}=50" for split in ("train", "validation", "test")]
        few, many = (
            [*common, "epsilon=1,2"],
            [*common, f"epsilon={','.join(map(str, range(1, 23)))}"],
        )
        quiet(many)  # now all are done
        waits = [seconds(lambda: quiet(many)) - seconds(lambda: quiet(few)) for _ in range(TURNS)]
        yield Row("a finished cell in a sweep", statistics.median(waits) / 20, "s", "≤ 0.5")


def memory() -> Iterator[Row]:
    texts, _ = corpus(200_000)
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for lines in (10_000, 1_000_000):
            source, target = Path(folder) / f"{lines}.txt", Path(folder) / "private.txt"
            repeats = -(-lines // len(texts))
            source.write_text("\n".join((texts * repeats)[:lines]) + "\n")
            code = (
                "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            )
            command = [sys.executable, "-c", code, sys.executable]
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


def drawn(tokens: int, words: int, dimension: int) -> tuple[float, float]:
    """Time of privatising with gaussian, and memory of that and of the vectors."""
    before = peak_memory()
    vectors = np.random.default_rng(0).standard_normal((words, dimension), np.float32)
    names = [f"w{i}" for i in range(words)]
    found = make("gaussian", Space(names, vectors, np.full(words, 1 / words), device=DEVICE), 1.0)
    ids = torch.arange(tokens) % words

    def job() -> None:
        for block, part in enumerate(ids.split(1024)):
            found.draw(part, block_generator(1, "bench", block, torch.device(DEVICE)))

    took = statistics.median(seconds(job) for _ in range(1 if tokens > 100_000 else 3))
    return took, peak_memory() - before


def growth() -> Iterator[Row]:
    for name, sizes, cell in (
        ("tokens", (10_000, 100_000, 1_000_000), lambda n: (n, 3000, 100)),
        ("vocabulary", (1000, 3000, 10_000, 30_000), lambda n: (20_000, n, DIMENSION)),
        ("dimension", (100, 300, 900, 1700), lambda n: (20_000, 3000, n)),
    ):
        taken = [alone(drawn, *cell(size)) for size in sizes]
        for size, (took, memory) in zip(sizes, taken, strict=True):
            yield Row(f"gaussian, {name} {size:,}", took, "s", note=f"{memory:.0f} MiB on top")
        for what, values in zip(("time", "memory"), zip(*taken, strict=True), strict=True):
            yield Row(f"gaussian: exponent of {what} in {name}", exponent(sizes, values), "")


def exponent(sizes: Any, values: Any) -> float:
    """The slope of log value over log size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


PARTS = (sampling, projection, mldp, response, training, audit, start, memory, growth)


def markdown(rows: list[Row]) -> str:
    lines = ["| what | measured | goal | met |", "|---|---:|---|---|"]
    for row in rows:
        value = "–" if row.value is None else f"{row.value:.3g} {row.unit}"
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        note = f" ({row.note})" if row.note else ""
        lines.append(f"| {row.name}{note} | {value} | {row.goal or ''} | {met} |")
    return "\n".join([*lines, "", machine(), ""])


def machine() -> str:
    """What this ran on."""
    info = Path("/proc/cpuinfo")
    names = (
        [line for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    kind = names[0].split(": ")[1] if names else platform.processor() or platform.machine()
    device = torch.cuda.get_device_name() if DEVICE.startswith("cuda") else DEVICE
    used = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    return (
        f"{kind}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, device {device}; "
        f"{platform.system()}, Python {platform.python_version()}, {used}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = {part.__name__: part for part in PARTS}
    parser.add_argument("parts", nargs="*", choices=[*names, []], default=[])
    parser.add_argument("--to", type=Path, default=Path("outputs/bench"))
    options = parser.parse_args()
    rows = []
    for name in options.parts or names:
        for row in names[name]():
            rows.append(row)
            print(markdown([row]).splitlines()[2], flush=True)
    write_json(options.to / "bench.json", [asdict(row) for row in rows])
    write_text(options.to / "bench.md", markdown(rows))
    missed = [row for row in rows if row.met is False]
    print(f"\n{len(rows)} rows in {options.to}/bench.md; goals missed: {len(missed)}")


if __name__ == "__main__":
    main()
