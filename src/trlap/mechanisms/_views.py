"""How an attacker looks at a mechanism: where a draw is seen, and how it is scored for two inputs.

Scores
- noisy vector: the exact log-likelihood ratio of the two words. For truncated noise it is infinite where a
  coordinate lies outside the other word's support: the event "infinite" is the support test. Under the
  other word that event is impossible, not merely rare;
- noisy vector whose density is not known: its inner product with x_w − x_w';
- projected word of a vector mechanism: the inner product of the word's vector with x_w − x_w';
- word mechanism: the exact log-likelihood ratio ln Q(y|w)/Q(y|w').
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from trlap.embeddings.space import Space
from trlap.mechanisms._channel import Channel, Floats, losses
from trlap.mechanisms._geometry import Geometry

# how much each draw looks like the first of two inputs rather than the second
Score = Callable[[Tensor], Floats]


@dataclass(frozen=True)
class View:
    """What is seen of a mechanism at one point of release. Inputs go by number: words by their index.

    draw      (input, count, generator): so many draws of that input
    score     (first input, second input): the score of a draw for these two
    bounded   an infinite score is impossible under the other input
    most      so many draws at most, where one is dear
    """

    point: str  # vector | word
    draw: Callable[[int, int, Generator], Tensor]
    score: Callable[[int, int], Score]
    bounded: bool = False
    most: int | None = None


@dataclass(frozen=True)
class Pair:
    """Two words by index, and why they were chosen."""

    first: int
    second: int
    why: str


def vector_view(
    space: Space, perturb: Callable[[Tensor, Generator], Tensor], noise: Geometry | None
) -> View:
    """The noisy vector of a word, each with noise of its own."""
    draw = of_words(perturb, space.device)
    if noise is None:
        return View("vector", draw, lambda first, second: along(space, first, second))
    points = noise.points
    return View(
        "vector",
        draw,
        lambda first, second: likelihood_ratio(noise, points[first], points[second]),
        bounded=noise.bounded,
    )


def centres_view(
    noise: Geometry, centres: tuple[Tensor, Tensor], draw: Callable[[int, Generator], Tensor]
) -> View:
    """Noisy vectors of two centres, which need not be words: inputs 0 and 1."""
    return View(
        "vector",
        lambda side, count, generator: centres[side] + draw(count, generator),
        lambda first, second: likelihood_ratio(noise, centres[first], centres[second]),
        bounded=noise.bounded,
    )


def word_view(
    space: Space, draw: Callable[[Tensor, Generator], Tensor], channel: Channel | None = None
) -> View:
    """The private word, by its exact likelihoods where they are known."""
    drawn = of_words(draw, space.device)
    if channel is None:
        return View("word", drawn, lambda first, second: inner_product(space, first, second))
    device = space.device
    return View("word", drawn, lambda first, second: word_ratio(channel, first, second, device))


def of_words(
    draw: Callable[[Tensor, Generator], Tensor], device: torch.device
) -> Callable[[int, int, Generator], Tensor]:
    """Many draws of one word in one call."""
    return lambda word, count, generator: draw(torch.full((count,), word, device=device), generator)


def likelihood_ratio(noise: Geometry, first: Tensor, second: Tensor) -> Score:
    """Of two centres, exactly: infinite outside the other's support."""
    points = torch.stack([first, second])
    pair = Geometry(points, noise.norm, noise.rate, noise.whiten, bound=noise.bound)

    def score(noisy: Tensor) -> Floats:
        both = pair.log_likelihood(noisy, support=False)
        ratio: Floats = (both[:, 0] - both[:, 1]).cpu().numpy()
        if noise.bounded:
            first_out, second_out = pair.outside(noisy).cpu().numpy().T
            ratio[second_out] = math.inf
            ratio[first_out] = -math.inf
        return ratio

    return score


def along(space: Space, first: int, second: int) -> Score:
    """Noisy vectors by their inner product with x_w − x_w'."""
    vectors = space.vectors.cpu().double()
    s = vectors[first] - vectors[second]
    return lambda noisy: (noisy.cpu().double() @ s).numpy()


def inner_product(space: Space, first: int, second: int) -> Score:
    """Words by the inner product of their vectors with x_w − x_w'."""
    products = along(space, first, second)(space.vectors)
    return lambda words: products[words.cpu().numpy()]


def word_ratio(channel: Channel, first: int, second: int, device: torch.device) -> Score:
    """Words by ln Q(y|w)/Q(y|w')."""
    words = torch.tensor([first, second], device=device)
    p, q = channel.log_probabilities(words).cpu().double().numpy()
    ratio = losses(p, q)
    return lambda private: ratio[private.cpu().numpy()]
