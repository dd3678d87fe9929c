"""Algorithm 1 over a corpus: blocks, generators, memory."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from conftest import ROOT

from trlap.data.vocabulary import Vocabulary
from trlap.embeddings.space import Space
from trlap.mechanisms.registry import MECHANISMS, find, make
from trlap.privatize.blocks import BLOCK, privatize, privatize_texts
from trlap.randomness import block_generator

WORDS = ["<unk>", *(f"w{i}" for i in range(199))]


def space(device: str = "cpu") -> Space:
    vectors = np.random.default_rng(0).normal(size=(200, 12)).astype(np.float32)
    return Space(WORDS, vectors, np.full(200, 1 / 200), device=device)


def generator(block: int, device: str = "cpu") -> torch.Generator:
    return block_generator(7, "test", block, torch.device(device))


def later(first: int, block: int) -> torch.Generator:
    """The generators of a text whose first block has that number."""
    return generator(first + block)


TEXT = np.random.default_rng(1).integers(0, 200, 3 * BLOCK + 100).astype(np.int32)
NOISY = [name for name in MECHANISMS.ours if find(name).private]


@pytest.mark.parametrize("name", NOISY)
def test_a_block_does_not_depend_on_what_else_is_privatised(name: str) -> None:
    """So neither the batch size nor the number of workers matters."""
    mechanism = make(name, space(), 5.0)
    whole = privatize(mechanism, TEXT, generator)
    again = privatize(make(name, space(), 5.0), TEXT, generator)
    assert np.array_equal(whole, again)
    # in any order, each for itself
    for block in (2, 0, 3):
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        alone = privatize(mechanism, TEXT[part], partial(later, block))
        assert np.array_equal(alone, whole[part])
    assert not np.array_equal(whole, privatize(mechanism, TEXT, partial(later, 10)))


@pytest.mark.parametrize("name", NOISY)
def test_threads_do_not_matter(name: str) -> None:
    threads = torch.get_num_threads()
    mechanism = make(name, space(), 5.0)
    try:
        results = []
        for count in (1, 2):
            torch.set_num_threads(count)
            results.append(privatize(mechanism, TEXT[:500], generator))
    finally:
        torch.set_num_threads(threads)
    assert np.array_equal(results[0], results[1])


@pytest.mark.parametrize("name", NOISY)
def test_a_gpu_gives_the_same_law(name: str) -> None:
    """Other random numbers, so the comparison is of frequencies (chi-square at 1e-4)."""
    if not torch.cuda.is_available():
        pytest.skip("this machine has no CUDA device")
    from scipy import stats

    words = np.full(20 * BLOCK, 3, np.int32)
    counts = []
    for device in ("cpu", "cuda"):
        mechanism = make(name, space(device), 20.0)
        drawn = privatize(mechanism, words, partial(generator, device=device))
        counts.append(np.bincount(drawn, minlength=200))
    table = np.stack(counts)
    table = table[:, table.sum(0) >= 10]
    assert table.shape[1] < 2 or stats.chi2_contingency(table).pvalue > 1e-4


def test_every_position_is_privatised_and_lengths_stay() -> None:
    vocabulary = Vocabulary(WORDS, np.full(200, 1 / 200), public=True)
    mechanism = make("krr", space(), 0.01)
    texts = ["w1 w2 strange w3", "", "strange"]
    done = privatize_texts(mechanism, vocabulary, texts, generator)
    assert [len(text.split()) for text in done.texts] == [4, 0, 1]
    assert (done.tokens, done.unknown, done.leaked) == (5, 2, 0)
    assert "strange" not in " ".join(done.texts)
    kept = privatize_texts(mechanism, vocabulary, texts, generator, oov="keep")
    assert kept.leaked == 2
    assert kept.texts[2] == "strange"


MEMORY = """
import resource, numpy as np
from trlap.embeddings.space import Space
from trlap.mechanisms.registry import make
from trlap.privatize.blocks import privatize
from trlap.randomness import block_generator
rng = np.random.default_rng(0)
vectors = rng.normal(size=(30000, 300)).astype(np.float32)
space = Space([str(i) for i in range(30000)], vectors, np.full(30000, 1 / 30000))
mechanism = make("NAME", space, 10.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
words = rng.integers(0, 30000, 4096).astype(np.int32)
privatize(mechanism, words, lambda b: block_generator(0, "", b, space.device))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "vickrey", "tem"])
def test_memory_stays_under_512_mib_beyond_the_embedding(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY.replace("NAME", name)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert float(done.stdout) < 512, done.stderr
