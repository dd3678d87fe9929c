"""CMP's noise, then the nearest or the second nearest word.

    z = CLIPEmb(w) + noise ∝ e^{−ε‖·‖₂},   u₁, u₂ the two words nearest to z
    Pr[u₁] = (1 − t)‖u₂ − z‖ / (t‖u₁ − z‖ + (1 − t)‖u₂ − z‖),   else u₂

Xu, Aggarwal, Feyisetan & Teissier, "On a utilitarian approach to privacy preserving text
generation", PrivateNLP 2021. t = 0 is CMP, t = 1 always takes the second; the authors tune t by
experiment, 0.5 is the middle. With little noise the nearest word is the input itself, and the
second hides it.

**Guarantee**: metric DP, ε·‖x − x'‖₂ as for CMP. The choice depends on the noisy vector and a coin
alone, so it is post-processing. A variant that leaves the input word out of the candidates looks
at the input again: its supports differ from word to word, and no ε bounds that.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from trlap.config.ranges import within
from trlap.errors import TrlapError
from trlap.mechanisms._look import Look
from trlap.mechanisms.cmp import MultivariatePerturbation


@dataclass(kw_only=True)
class Vickrey(MultivariatePerturbation):
    """The second nearest word hides the nearest, as the second price hides the first in an auction."""

    name = "vickrey"
    look = Look("#7f7f7f", "<", ":", 7)

    t: float = within("[0, 1]", 0.5)

    def __post_init__(self) -> None:
        if len(self.space) < 2:
            raise TrlapError("mechanism=vickrey: needs a vocabulary of two words or more")
        super().__post_init__()

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        both, distances = self.space.nearest_two(self.perturb(words, generator))
        first, second = self.t * distances[:, 0], (1 - self.t) * distances[:, 1]
        coin = torch.rand(len(words), generator=generator, device=generator.device)
        nearest = coin * (first + second) < second
        return torch.where(nearest, both[:, 0], both[:, 1])
