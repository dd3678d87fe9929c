"""What the released mechanisms share: they act on a batch of tokens, and nothing is guaranteed."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Generator, Tensor

from trlap.errors import TrlapError
from trlap.mechanisms._channel import Floats
from trlap.mechanisms._views import Pair, View, along, inner_product
from trlap.mechanisms.base import VectorMechanism


@dataclass(kw_only=True)
class ReleasedMechanism(VectorMechanism):
    """A released mechanism on the unclipped vectors of `space`. C only sets the scale of its noise."""

    shares_noise = True
    all_pairs = (
        "one noise vector a batch: whoever knows one other word of it has the noise, so δ = 1"
    )
    # whether all tokens of a batch get the same noise vector
    one_noise_vector: ClassVar[bool] = True
    # What an attacker needs: words that it knows in a batch, and batches, each of which gives one draw.
    # Where the noise is shared, one known word is enough.
    known_words: ClassVar[int] = 1
    batches: ClassVar[int] = 1000

    def __post_init__(self) -> None:
        # of other scales the formulas leave float32; what is drawn says so for all of them
        drawn = self.noise(2, Generator(self.space.device).manual_seed(0))
        if not bool(drawn.norm(dim=1).isfinite().all()):
            raise TrlapError(
                f"epsilon={self.epsilon:g}: with clip={self.clip:g}, noise is too long for float32; "
                "raise epsilon"
            )

    @abstractmethod
    def perturb_vectors(self, batch: Tensor, generator: Generator) -> Tensor:
        """The noisy vectors of a batch of tokens, one a row."""

    def perturb(self, words: Tensor, generator: Generator) -> Tensor:
        return self.perturb_vectors(self.space.vectors[words], generator)

    def noise(self, count: int, generator: Generator) -> Tensor:
        """What becomes of a batch of zeros."""
        zeros = torch.zeros((count, self.dimension), device=generator.device)
        return self.perturb_vectors(zeros, generator)

    def log_delta(self, epsilon: float, difference: Floats | None = None) -> float:
        """ln δ = 0: in the worst case all other words of the batch are known, and with them the noise."""
        return 0.0

    def epsilon_at(self, log_delta: float, difference: Floats | None = None) -> float:
        return math.inf

    def notes(self, epochs: int | None) -> list[str]:
        shared = (
            "the release adds one noise vector to all words of a batch: whoever knows one of them "
            "subtracts its vector, has the noise, and reads the others"
        )
        redrawn = f"the noise of a sentence is drawn anew {epochs} times: every draw is counted"
        return [
            *([shared] if self.one_noise_vector else []),
            *([self.unknown] if self.unknown else []),
            *([redrawn] if epochs else []),
            *super().notes(epochs),
        ]

    def views(self, seed: int) -> list[View]:
        """A word in batches whose other words, drawn from the prior, are known."""
        rng = np.random.default_rng([seed, 5])
        prior = self.space.prior / self.space.prior.sum()
        context = torch.from_numpy(rng.choice(len(prior), size=self.known_words, p=prior))
        context = context.to(self.space.device)

        def vector(word: int, count: int, generator: Generator) -> Tensor:
            return self._in_batches(word, context, self.one_noise_vector, count, generator)

        def projected(word: int, count: int, generator: Generator) -> Tensor:
            return self.space.nearest(self._in_batches(word, context, False, count, generator))

        space, most = self.space, self.batches
        return [
            View("vector", vector, lambda first, second: along(space, first, second), most=most),
            View(
                "word",
                projected,
                lambda first, second: inner_product(space, first, second),
                most=most,
            ),
        ]

    def _in_batches(
        self, word: int, context: Tensor, clear: bool, count: int, generator: Generator
    ) -> Tensor:
        """Its noisy vector in so many batches. `clear`: the noise is read off the first known word."""
        batch = torch.cat([torch.tensor([word], device=context.device), context])
        known = self.space.vectors[context[0]]
        batches = (self.perturb(batch, generator) for _ in range(count))
        return torch.stack(
            [noisy[0] - noisy[1] + known if clear else noisy[0] for noisy in batches]
        )

    def telling_pairs(self) -> list[Pair]:
        """Of shared noise, every pair tells."""
        return []

    def guesses(self, words: Tensor, generator: Generator, prior: Floats) -> dict[str, Tensor]:
        return {"nearest": self.space.nearest(self.perturb(words, generator))}


@dataclass(kw_only=True)
class OneNoiseVector(ReleasedMechanism):
    """`noise` is that of the mechanism; one draw of it is added to all tokens of a batch."""

    @property
    def scale(self) -> float:
        """The Laplace scale 2C√d/ε, which the authors take for more than Laplace noise."""
        return 2 * self.clip * math.sqrt(self.dimension) / self.epsilon

    @abstractmethod
    def noise(self, count: int, generator: Generator) -> Tensor: ...

    def perturb_vectors(self, batch: Tensor, generator: Generator) -> Tensor:
        return batch + self.noise(1, generator)

    def guesses(self, words: Tensor, generator: Generator, prior: Floats) -> dict[str, Tensor]:
        """The nearest word; and the same for who knows the first word, and with it the noise."""
        noisy = self.perturb(words, generator)
        cleared = noisy - noisy[0] + self.space.vectors[words[0]]
        return {
            "nearest": self.space.nearest(noisy),
            "one_known_word": self.space.nearest(cleared),
        }
