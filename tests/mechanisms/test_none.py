import math

import torch
from vector_helpers import space_of

from trlap.mechanisms import registry


def test_words_stay_as_they_are() -> None:
    found = registry.make("none", space_of(3), math.inf)
    words = torch.tensor([4, 0, 2, 2])
    assert torch.equal(found.draw(words, torch.Generator()), words)


def test_it_claims_and_keeps_nothing() -> None:
    found = registry.make("none", space_of(3), math.inf)
    assert found.claimed().notion == "none"
    assert found.log_delta(100.0) == 0.0
    assert found.epsilon_at(-1.0) == math.inf
