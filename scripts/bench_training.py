"""Part of scripts/bench.py: an epoch of the auto-encoder, against the released code's batches and limits."""

import statistics
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch
from bench_data import DIMENSION, WORDS, config, corpus, vectors
from bench_measure import DEVICE, TURNS, Job, Row, seconds
from torch import Tensor
from torch.nn import functional as F

from trlap.data.vocabulary import Vocabulary, build_vocabulary
from trlap.embeddings.space import Space
from trlap.mechanisms.registry import make_released

if TYPE_CHECKING:
    from trlap.models.training import Training

Batches = list[Tensor]
# of the square matrices whose product is the machine's measured peak, and how many products a turn takes
SIDE, PRODUCTS = 2048, 8


def training() -> Iterator[Row]:
    """An epoch of the auto-encoder at the paper's width, on as many sentences as the paper has of Yelp.

    Every third batch is timed, from short to long: a sample of sentences would make smaller batches.
    """
    texts, name = corpus(82_000)
    vocabulary = build_vocabulary(corpus(600_000)[0], WORDS)
    words = len(vocabulary.words)
    space = Space(vocabulary.words, vectors(WORDS)[:words], vocabulary.prior, None, device=DEVICE)
    plain = auto_encoder(texts, vocabulary, space, "none")
    noisy = auto_encoder(texts, vocabulary, space, "trlap")
    released, ours = of_one_length(plain)[1::3], of_neighbours(plain)[1::3]
    kind = factors()
    steps = epoch(plain, ours, kind)
    rates, share = speeds(plain, released, ours, steps, kind, words)
    yield Row(
        f"auto-encoder epoch, hidden 512, {words:,} words, {name}, against batches of one length",
        rates[0],
        "× its tokens a second",
        "≥ 2",
        note=f"ours multiplies in {str(kind).removeprefix('torch.')}, the released code in float32",
    )
    yield Row("the same, both in float32", rates[1], "× its tokens a second")
    yield Row("the same: share of the time of its matrix products", share, "%", "≥ 50")
    value = cost_of_noise(epoch(noisy, ours, kind), steps)
    yield Row("an epoch with trlap (release) against none", value, "× its time", "≤ 1.03")


def of_one_length(training: "Training") -> Batches:
    """Batches as the released code makes them, from short to long."""
    lengths = training.source.lengths.cpu()
    order = lengths.argsort(stable=True)
    groups = order.split(lengths.bincount()[lengths.unique()].tolist())
    return [batch for group in groups for batch in group.split(training.keys.batch)]


def of_neighbours(training: "Training") -> Batches:
    """Our batches, from short to long."""
    lengths = training.source.lengths.cpu()
    batches = [rows for _, rows in training.batches("train")]
    return sorted(batches, key=lambda batch: lengths[batch[0]])


def speeds(
    plain: "Training",
    released: Batches,
    ours: Batches,
    steps: list[Job],
    kind: torch.dtype,
    words: int,
) -> tuple[list[float], float]:
    """How many times the released code's tokens a second we reach, with factors of that kind and in float32;
    and which share of our time, in percent, the matrix products alone would take at the measured peak.
    """
    wide = torch.float32
    lengths = plain.source.lengths.cpu()
    released_tokens, our_tokens = (
        int(lengths[torch.cat(batches)].sum()) for batches in (released, ours)
    )
    square = torch.randn(SIDE, SIDE, device=DEVICE, dtype=kind)

    def peak() -> None:
        for _ in range(PRODUCTS):
            square @ square

    jobs: list[Job] = [
        partial(with_torch_s_own, partial(run, epoch(plain, released, wide, fused=False))),
        partial(run, steps),
        peak,
        partial(run, epoch(plain, ours, wide)),
    ]
    turns = [[seconds(job) for job in jobs] for _ in range(TURNS + 1)][1:]
    # multiply-adds a token: encoder, decoder, softmax; forwards once, backwards twice
    d, h = DIMENSION, 512
    products = 3 * (2 * 4 * h * (d + h) + 4 * h * (d + h) + h * (words + 1))
    # in units of `peak`
    bound = our_tokens * products / (PRODUCTS * SIDE**3)
    share = statistics.median(100 * bound * turn[2] / turn[1] for turn in turns)
    rates = [
        statistics.median(turn[0] / turn[i] for turn in turns) * our_tokens / released_tokens
        for i in (1, 3)
    ]
    return rates, share


def cost_of_noise(with_noise: list[Job], without: list[Job]) -> float:
    """Taking turns at every batch: 3 % are less than a machine's moods."""
    shares = []
    for _ in range(TURNS):
        pairs = [(seconds(a), seconds(b)) for a, b in zip(with_noise, without, strict=True)]
        shares.append(sum(a for a, _ in pairs) / sum(b for _, b in pairs))
    return statistics.median(shares)


def with_torch_s_own(job: Job) -> None:
    """Dropout and cross-entropy as the released code has them: all scores of a batch at once."""

    def full(rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(rows, weight, bias), targets, reduction="sum")

    with patch.multiple("trlap.models.autoencoder", cross_entropy=full, dropout=F.dropout):
        job()


def auto_encoder(texts: list[str], vocabulary: Vocabulary, space: Space, name: str) -> "Training":
    """Ready to train on these texts with the released noise of that name."""
    # Lightning, which takes seconds to import
    from trlap.models.autoencoder import AutoEncoder
    from trlap.models.packing import Sentences
    from trlap.models.rewriters.bilstm import AutoEncoderKeys
    from trlap.models.training import Training

    keys = config("model=bilstm").model.keys
    assert isinstance(keys, AutoEncoderKeys)
    words = len(vocabulary.words)
    torch.manual_seed(0)
    model = AutoEncoder(
        space.vectors.cpu(),
        torch.full((words + 1,), 1 / (words + 1)),
        hidden=keys.hidden,
        code=keys.code,
        layers=keys.layers,
        dropout=keys.dropout,
        tied=keys.tied,
        sampled=True,
    )
    sentences = Sentences(texts, vocabulary)
    noise = make_released(name, space, epsilon=0.1, clip=0.005)
    splits = {"train": range(len(texts))}
    return Training(model, sentences, sentences, splits, keys, 0, noise).to(DEVICE).train()


def factors() -> torch.dtype:
    """What model.trainer.precision=auto multiplies in."""
    from trlap.models.training import precision

    names = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16, "32-true": torch.float32}
    return names[precision("auto", DEVICE)]


def epoch(
    training: "Training", batches: Batches, kind: torch.dtype, fused: bool = True
) -> list[Job]:
    """A step of training for each batch; products have factors of that kind."""
    optimizer = torch.optim.Adam(training.parameters(), lr=1e-4, fused=fused, foreach=False)
    mixed = partial(torch.autocast, DEVICE.partition(":")[0], kind, kind != torch.float32)

    def step(number: int, batch: Tensor) -> None:
        rows = batch.to(DEVICE)
        with training.drawn("train", 0, number) as source, mixed():
            loss, _ = training.loss(rows, training.code(rows, source).drawn())
        (loss / len(rows)).backward()
        torch.nn.utils.clip_grad_norm_(training.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()

    return [partial(step, number, batch) for number, batch in enumerate(batches)]


def run(steps: list[Job]) -> None:
    for step in steps:
        step()
