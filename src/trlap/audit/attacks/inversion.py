"""Inversion without context: how often an attacker reads the original word. Success counts words of the
test split as they occur.

- most common: always the prior's likeliest word, without a look at the output;
- nearest: the word nearest to the noisy vector; for a word mechanism the private word itself;
- Bayes: argmax_w prior_w · f(output | w), the best that is possible without context, from the noisy vector
  (with and without the support test) or, exactly, from the private word of a word mechanism;
- one known word (the authors' release): the noise is read off a known word of the batch, then nearest.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.audit.attacks._statistics import success
from trlap.audit.attacks.base import Attack, Scene
from trlap.audit.channel import Matrix
from trlap.audit.records import Rate
from trlap.mechanisms.base import Mechanism
from trlap.randomness import block_generator

Words = NDArray[np.int64]


class Inversion(Attack):
    """The attackers that a mechanism knows of, by their names."""

    name = "inversion"
    knows = "the vocabulary, its vectors, the mechanism, its parameters and the unigram prior"
    # its rates are what other attacks are compared with, so they stand beside them
    section = "attacks"

    def run(self, scene: Scene) -> Mapping[str, Rate | str]:
        if not len(scene.tokens):
            return {"reason": "the test split has no words"}
        if scene.matrix is not None:
            return exact_rates(scene.mechanism, scene.matrix, scene.tokens)
        config = scene.config
        return sampled_rates(
            scene.mechanism, scene.tokens, config.tokens, config.confidence, scene.seed
        )


def exact_rates(mechanism: Mechanism, matrix: Matrix, tokens: NDArray[np.int32]) -> dict[str, Rate]:
    """From the word-to-word matrix and all words of the test split: nothing is sampled."""
    prior = mechanism.space.prior
    frequency = np.bincount(tokens, minlength=len(prior)) / len(tokens)
    rates = {
        "most_common": frequency[prior.argmax()],
        "nearest": frequency @ matrix.stays,
        "bayes": frequency[matrix.guesses] @ matrix.likelihoods,
    }
    return {name: Rate(float(x), (float(x), float(x)), None) for name, x in rates.items()}


def sampled_rates(
    mechanism: Mechanism, tokens: NDArray[np.int32], count: int, confidence: float, seed: int
) -> dict[str, Rate]:
    """On `count` words drawn from the test split, privatised together."""
    space = mechanism.space
    rng = np.random.default_rng([seed, 6])
    truth: Words = tokens[rng.integers(len(tokens), size=count)].astype(np.int64)
    words = torch.from_numpy(truth).to(space.device)
    generator = block_generator(seed, "audit/inversion", 0, space.device)
    guesses = {"most_common": np.full(count, space.prior.argmax())}
    for attacker, guessed in mechanism.guesses(words, generator, space.prior).items():
        guesses[attacker] = guessed.cpu().numpy()
    return {
        attacker: success(int((guessed == truth).sum()), count, confidence)
        for attacker, guessed in guesses.items()
    }
