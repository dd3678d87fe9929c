"""Parts of scripts/bench.py: sampling, projection, whole mechanisms against each other and the peers."""

import statistics
from collections.abc import Iterator
from functools import partial

import torch
from bench_data import DIMENSION, WORDS, corpus, end_to_end, generator, space, vectors
from bench_measure import DEVICE, NO_PEERS, TURNS, Peers, Row, ratio, seconds
from torch import Tensor

from trlap.data.vocabulary import build_vocabulary
from trlap.mechanisms.gaussian import Gaussian
from trlap.mechanisms.trlap import TruncatedLaplace


def sampling() -> Iterator[Row]:
    rows = 10_000_000 // DIMENSION
    trlap = TruncatedLaplace(space=space(), epsilon=0.1)
    gaussian = Gaussian(space=space(), epsilon=0.1)
    value = ratio(lambda: trlap.noise(rows, generator()), lambda: gaussian.noise(rows, generator()))
    yield Row(
        "truncated Laplace sampling, 10⁷ draws, against our Gaussian", value, "× its time", "≤ 1.5"
    )

    value = ratio(
        lambda: by_rejection(trlap, 1024 * 20), lambda: trlap.noise(1024 * 20, generator())
    )
    yield Row(
        "truncated Laplace sampling, 1024 × 20 × 300, against acceptance–rejection",
        value,
        "× faster",
        "≥ 5",
    )


def by_rejection(trlap: TruncatedLaplace, rows: int) -> Tensor:
    """The paper's: Laplace proposals, 10⁶ at a time, until enough lie in [−A, A]."""
    accepted: list[Tensor] = []
    count, needed = 0, rows * DIMENSION
    law = torch.distributions.Laplace(0.0, 1 / trlap.law.alpha)
    while count < needed:
        proposed = law.sample((1_000_000,)).to(DEVICE)
        accepted.append(proposed[proposed.abs() <= trlap.law.bound])
        count += len(accepted[-1])
    return torch.cat(accepted)[:needed].view(rows, DIMENSION)


def projection() -> Iterator[Row]:
    gaussian = Gaussian(space=space(), epsilon=1.0)
    points = gaussian.perturb(torch.arange(4096), generator())
    square = torch.randn(4096, 4096, device=DEVICE)
    public = space()
    flops = 2 * len(points) * DIMENSION * WORDS
    ours = partial(public.nearest, points)
    speed = ratio(lambda: square @ square, ours)
    yield Row(
        "projection, 10,000 words, 300-d, exact: share of the matrix product at measured peak",
        100 * speed * flops / (2 * 4096**3),
        "%",
        "≥ 70",
    )
    titles = {"faiss": "faiss-cpu IndexFlatL2", "sklearn": "scikit-learn brute force"}
    with Peers(points=points.cpu().numpy(), vectors=public.targets.cpu().numpy()) as peer:
        for name, title in titles.items():
            if peer is None:
                yield Row(f"projection against {name}", None, "× faster", "≥ 1", note=NO_PEERS)
                continue
            times = [(peer(name), seconds(ours)) for _ in range(TURNS + 1)]
            value = statistics.median(a / b for a, b in times[1:])
            yield Row(f"projection, 4,096 points, against {title}", value, "× faster", "≥ 1")


def mldp() -> Iterator[Row]:
    """Tokens a second against mldp-text with its default settings, which takes a word at a time."""
    texts, name = corpus(20_000)
    vocabulary = build_vocabulary(texts, WORDS)
    tokens, _ = vocabulary.encode(texts)
    goals = {"cmp": 100, "vickrey": 100, "mahalanobis": 500, "tem": 500}
    with Peers(vectors=vectors(WORDS)[: len(vocabulary.words)], tokens=tokens) as peer:
        for kind, goal in goals.items():
            title = f"privatising 20,000 {name} tokens with {kind}, against mldp-text 0.1.2"
            if peer is None:
                yield Row(title, None, "× its tokens a second", f"≥ {goal}", note=NO_PEERS)
                continue
            ours = end_to_end(texts, vocabulary, kind, epsilon=10.0)
            seconds(ours)
            # theirs is seconds a token
            shares = [
                peer("mldp", mechanism=kind) / (seconds(ours) / len(tokens)) for _ in range(TURNS)
            ]
            yield Row(title, statistics.median(shares), "× its tokens a second", f"≥ {goal}")


def response() -> Iterator[Row]:
    texts, _ = corpus(100_000)
    vocabulary = build_vocabulary(texts, WORDS)
    gaussian = end_to_end(texts, vocabulary, "gaussian", epsilon=5.0)
    for name in ("krr", "srr", "crr"):
        ours = end_to_end(texts, vocabulary, name, epsilon=5.0)
        title = f"{name} from text to text, against our gaussian"
        yield Row(title, ratio(gaussian, ours), "× its tokens a second", "≥ 5")
