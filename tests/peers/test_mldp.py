"""mldp-text 0.1.2 as an oracle: the same law where it is right, another where it is not.

It runs in an environment of its own (`make peers`): it pins numpy < 2.
"""

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from scipy import stats

from trlap.embeddings.space import Space
from trlap.mechanisms import registry

PYTHON = ROOT / ".venv-peers" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="the peers are not installed: `make peers`"),
]
LEVEL = 1e-4  # a correct sampler fails a test for one seed in 10,000; the seeds are fixed
SIZE, DIMENSION, DRAWS = 12, 6, 6000
VECTORS = np.random.default_rng(4).normal(size=(SIZE, DIMENSION)).astype(np.float32)
SPACE = Space([f"w{i}" for i in range(SIZE)], VECTORS, np.full(SIZE, 1 / SIZE), clip=None)


def theirs(name: str, epsilon: float, word: int, draws: int = DRAWS) -> np.ndarray:
    task = {"mechanism": name, "epsilon": epsilon, "word": str(word), "draws": draws, "seed": word}
    task["vectors"] = VECTORS.tolist()
    done = subprocess.run(
        [str(PYTHON), str(Path(__file__).with_name("mldp_worker.py"))],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(done.stdout.splitlines()[-1]))


def ours(name: str, epsilon: float, word: int) -> np.ndarray:
    found = registry.make(name, SPACE, epsilon)
    drawn = found.draw(torch.full((10 * DRAWS,), word), torch.Generator().manual_seed(word))
    return np.bincount(drawn.numpy(), minlength=SIZE)


def p_value(a: np.ndarray, b: np.ndarray) -> float:
    table = np.stack([a, b])[:, a + b > 0]
    return float(stats.chi2_contingency(table).pvalue)


@pytest.mark.parametrize("word", [0, 5])
@pytest.mark.parametrize(
    ("peer", "name"), [("MultivariateCalibrated", "cmp"), ("Mahalanobis", "mahalanobis")]
)
def test_the_same_law(peer: str, name: str, word: int) -> None:
    assert p_value(theirs(peer, 4.0, word), ours(name, 4.0, word)) > LEVEL


def test_its_vickrey_drops_the_input_word() -> None:
    """Then the choice depends on the word and not on the noisy vector alone: no post-processing."""
    counts = theirs("VickreyMechanism", 20.0, 0)
    assert counts[0] == 0 or counts[0] / DRAWS < 0.05
    assert ours("vickrey", 20.0, 0)[0] / (10 * DRAWS) > 0.4


def test_its_tem_scores_the_rest_wrongly() -> None:
    """⊥ scores ln(V / |L_w|) where the mechanism has ln |W ∖ L_w|, so the rest is drawn too seldom."""
    epsilon, draws, word = 6.0, 200_000, 1
    gamma = round(2 / epsilon * math.log(0.999 * SIZE / 0.001), 1)  # as it chooses it
    inside = np.linalg.norm(VECTORS - VECTORS[word], axis=1) <= gamma
    assert 4 <= inside.sum() <= 8, "the two differ most where half the words lie outside"
    found = registry.make("tem", SPACE, epsilon, gamma=gamma).channel()
    assert found is not None
    exact = found.log_probabilities(torch.tensor([word])).exp().numpy()[0][~inside].sum()
    rest = theirs("TEM", epsilon, word, draws)[~inside].sum()
    assert stats.binomtest(int(rest), draws, exact).pvalue < 1e-9
    assert rest / draws < exact / 2
