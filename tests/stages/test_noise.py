"""Noise that is nobody else's: no two runs share it unless all that counts is the same."""

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from conftest import Run
from numpy.typing import NDArray

from trlap.config.door import Config
from trlap.embeddings.space import Space
from trlap.mechanisms.registry import make, make_released
from trlap.privatize.privatizer import Privatizer
from trlap.randomness import block_generator
from trlap.stages.noise import noise_identity

WORDS = ["<unk>", *(f"w{n}" for n in range(60))]
TEXTS = ["w1 w2 w3", "w4 w5"]
Configure = Callable[..., Config]


def space(seed: int = 0, words: Sequence[str] = WORDS, clip: float | None = 1.0) -> Space:
    vectors = np.random.default_rng(seed).standard_normal((len(words), 16)).astype(np.float32)
    return Space(words, vectors, np.full(len(words), 1 / len(words)), clip=clip)


def identity(config: Config, texts: Sequence[str] = TEXTS, place: Space | None = None) -> str:
    mechanism = make("none", place or space(), float("inf"))
    return noise_identity(config, mechanism, texts)


def test_whatever_counts_gives_noise_of_its_own(config: Configure) -> None:
    gaussian = ("mechanism=gaussian", "epsilon=1")
    usual = config(*gaussian)
    others = {
        "epsilon": identity(config("mechanism=gaussian", "epsilon=2")),
        "mechanism": identity(config("mechanism=laplace", "epsilon=1")),
        "own key": identity(config("mechanism=crr", "epsilon=1")),
        "other own key": identity(config("mechanism=crr", "epsilon=1", "mechanism.K=7")),
        "delta": identity(config(*gaussian, "delta=1e-5")),
        "clip": identity(config(*gaussian, "clip=2")),
        "projection": identity(config(*gaussian, "projection=original")),
        "calibration": identity(config(*gaussian, "calibration=exact")),
        "oov": identity(config(*gaussian, "oov=keep")),
        "protocol": identity(config(*gaussian, "protocol=release", "clip=1")),
        "text": identity(usual, ["w1 w2 w3", "w4 w6"]),
        "cut of the text": identity(usual, ["w1 w2", "w3 w4 w5"]),
        "vectors": identity(usual, place=space(1)),
        "words": identity(usual, place=space(0, [*WORDS[:-1], "other"])),
        "fewer words": identity(usual, place=space(0, WORDS[:-1])),
    }
    every = [identity(usual), *others.values()]
    assert len(set(every)) == len(every)
    # what cannot matter does not
    assert identity(config(*gaussian, "model.epochs=3", "threads=1")) == identity(usual)
    assert identity(config(*gaussian, "dataset.limit.test=7")) == identity(usual)

    # and noise of different identities has nothing in common
    device = torch.device("cpu")
    draws = [
        torch.randn(20_000, generator=block_generator(42, f"{one}/test", 0, device))
        for one in every
    ]
    for first, second in combinations(draws, 2):
        # of independent ones: 0 with a deviation of 0.007
        assert abs(torch.corrcoef(torch.stack([first, second]))[0, 1]) < 0.04


def test_what_the_rewriter_reads_under_release_differs_between_epsilons(config: Configure) -> None:
    one, two = (config("protocol=release", "mechanism=gaussian", f"epsilon={e}") for e in (1, 2))
    noise = []
    for each in (one, two):
        mechanism = make_released("gaussian", space(clip=None), each.epsilon, clip=0.005)
        key = f"{noise_identity(each, mechanism, TEXTS)}/rewrite/train/0"
        noise.append(mechanism.noise(1000, block_generator(42, key, 0, torch.device("cpu"))))
    assert abs(np.corrcoef(noise[0].flatten(), noise[1].flatten())[0, 1]) < 0.04


def kept(run: Run, tmp_path: Path, text: str, *overrides: str) -> NDArray[np.bool_]:
    """Which positions of the training split stay as they are, in the order of the file."""
    path = tmp_path / "text.txt"
    path.write_text(text)
    keys = ("dataset=text", f"dataset.path={path}", "embedding=random", "embedding.dimension=16")
    done = run(*keys, "dataset.vocabulary=train", "stages=[privatize]", *overrides)
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.rpartition("results")[2].strip())
    rows = [json.loads(line) for line in (folder / "private.jsonl").read_text().splitlines()]
    pairs = [
        (old, new)
        for row in rows
        if row["split"] == "train"
        for old, new in zip(row["original"].split(), row["private"].split(), strict=True)
    ]
    return np.array([old == new for old, new in pairs])


def test_words_are_kept_at_other_places_in_another_text(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    words = np.array([f"w{n}" for n in range(20)])
    first = "\n".join(" ".join(rng.choice(words, 10)) for _ in range(500))
    second = "\n".join(" ".join(rng.choice(words, 10)) for _ in range(500))
    texts = [
        kept(run, tmp_path, first, "mechanism=krr", "epsilon=3"),
        kept(run, tmp_path, second, "mechanism=krr", "epsilon=3"),
        kept(run, tmp_path, first, "mechanism=krr", "epsilon=3.1"),
    ]
    assert all(0.3 < places.mean() < 0.8 for places in texts)
    for one, two in combinations(texts, 2):
        size = min(len(one), len(two))
        # of independent ones: 0 with a deviation of 0.016
        assert abs(np.corrcoef(one[:size], two[:size])[0, 1]) < 0.08


def test_a_privatizer_with_a_seed_has_other_noise_for_other_settings_and_other_texts() -> None:
    rng = np.random.default_rng(1)
    words = np.array(["the", "and", "to", "of", "is", "in", "it", "you", "that"])
    texts = [[" ".join(rng.choice(words, 10)) for _ in range(300)] for _ in range(2)]

    def kept(epsilon: float, text: list[str]) -> NDArray[np.bool_]:
        privatizer = Privatizer(
            "krr", epsilon, vectors="random", vocabulary_size=200, seed=1, reproducible=True
        )
        private = privatizer.privatize(text)
        assert private == Privatizer(
            "krr", epsilon, vectors="random", vocabulary_size=200, seed=1, reproducible=True
        ).privatize(text)
        pairs = zip(" ".join(text).split(), " ".join(private).split(), strict=True)
        return np.array([old == new for old, new in pairs])

    masks = [kept(5, texts[0]), kept(5, texts[1]), kept(5.2, texts[0])]
    assert all(0.2 < mask.mean() < 0.8 for mask in masks)
    for one, two in combinations(masks, 2):
        # of independent ones: 0 with a deviation of 0.018
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.09
