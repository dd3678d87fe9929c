"""How often a private word begins with the same letter as the word that was there."""

import numpy as np
import torch

from trlap.audit.attacks.base import Attack, Rate, Scene, success
from trlap.randomness import block_generator


class Initials(Attack):
    name = "initials"
    knows = "nothing but the private words"

    def run(self, scene: Scene) -> Rate:
        space, config = scene.mechanism.space, scene.config
        chosen = np.random.default_rng([scene.seed, 99]).integers(
            len(scene.tokens), size=config.tokens
        )
        words = torch.from_numpy(scene.tokens[chosen].astype(np.int64)).to(space.device)
        generator = block_generator(scene.seed, "audit/initials", 0, space.device)
        private = scene.mechanism.draw(words, generator)
        pairs = zip(words.tolist(), private.tolist(), strict=True)
        same = sum(space.words[old][:1] == space.words[new][:1] for old, new in pairs)
        return success(same, config.tokens, config.confidence)
