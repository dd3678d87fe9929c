"""Plausible deniability (Feyisetan et al. 2020), by vocabulary words, each counting once.

N_w = Pr[M(w) = w], and S_w, the effective support, here the number of different words in so many draws of
M(w): mean and worst decile. The worst decile of N_w is its 90 % quantile (often unchanged), that of S_w its
10 % quantile (few alternatives). Where the channel is known N_w is exact over the whole vocabulary, and S_w
is the exact expectation Σ_y 1 − (1 − Q(y|w))^n over the sampled words.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.audit.attacks.base import BLOCK, Attack, Scene
from trlap.audit.channel import Matrix
from trlap.audit.records import Deniability, Spread
from trlap.mechanisms.base import Mechanism
from trlap.randomness import block_generator

Words = NDArray[np.int64]
Floats = NDArray[np.float64]


class PlausibleDeniability(Attack):
    """No attacker, but what a word's author can say: it might have been another."""

    name = "deniability"
    knows = "the words themselves: it counts what becomes of them"
    section = "deniability"

    def confidence(self, scene: Scene) -> float | None:
        return None

    def run(self, scene: Scene) -> Deniability:
        config = scene.config
        return deniability(scene.mechanism, scene.matrix, config.words, config.draws, scene.seed)


def deniability(
    mechanism: Mechanism, matrix: Matrix | None, words: int, draws: int, seed: int
) -> Deniability:
    """Over so many words of the vocabulary, with so many draws of each."""
    rng = np.random.default_rng([seed, 7])
    size = len(mechanism.space)
    chosen = rng.choice(size, size=min(words, size), replace=False)
    channel = mechanism.channel()
    if matrix is not None and channel is not None:
        rows = channel.log_probabilities(torch.from_numpy(chosen).to(mechanism.space.device))
        with np.errstate(divide="ignore"):
            missed = np.exp(draws * np.log1p(-np.exp(rows.cpu().numpy()).clip(max=1)))
        stays, support = matrix.stays, (1 - missed).sum(1)
    else:
        stays, support = _sampled(mechanism, chosen, draws, seed)
    return Deniability(
        words=len(chosen),
        draws=draws,
        sampled=matrix is None,
        N_w=Spread(float(stays.mean()), float(np.quantile(stays, 0.9))),
        S_w=Spread(float(support.mean()), float(np.quantile(support, 0.1))),
    )


def _sampled(mechanism: Mechanism, chosen: Words, draws: int, seed: int) -> tuple[Floats, Words]:
    """How often each word stays, and how many different words come."""
    device = mechanism.space.device
    words = torch.from_numpy(chosen).to(device)
    # where words of one call share noise, every draw is a call of its own
    together = 1 if mechanism.shares_noise else max(1, BLOCK // len(words))
    outputs = []
    for block, start in enumerate(range(0, draws, together)):
        times = min(together, draws - start)
        generator = block_generator(seed, "audit/deniability", block, device)
        drawn = mechanism.draw(words.repeat(times), generator)
        outputs.append(drawn.view(times, -1).cpu().numpy())
    private = np.concatenate(outputs)
    stays = (private == chosen).mean(0)
    ordered = np.sort(private, axis=0)
    return stays, 1 + (ordered[1:] != ordered[:-1]).sum(0)
