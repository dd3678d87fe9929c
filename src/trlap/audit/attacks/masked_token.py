"""Masked-token inference: a masked language model guesses a word from the private words around it.

Yue et al. 2021, here among the vocabulary's words that are one token to the model. Success counts all sampled
words; `guessable` says how many are one token to the model. `original` is the same attack with the true words
around the mask: what the context alone gives away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.audit.attacks._statistics import success
from trlap.audit.attacks.base import Attack, Scene
from trlap.audit.records import MaskedToken
from trlap.errors import TrlapError
from trlap.mechanisms.base import Mechanism
from trlap.randomness import block_generator

Words = NDArray[np.int64]

# words of context on either side of a masked one
WINDOW = 48
BATCH = 16


class MaskedTokenInference(Attack):
    """With the model in the folder `audit.masked_lm`."""

    name = "masked_token"
    knows = "the private words around the one in question, and a language model"

    def reason(self, scene: Scene) -> str | None:
        if scene.config.masked_lm is None:
            return "audit.masked_lm is null"
        return None if len(scene.tokens) else "the test split has no words"

    def run(self, scene: Scene) -> MaskedToken:
        config = scene.config
        assert config.masked_lm is not None
        return masked_token(
            scene.mechanism,
            scene.tokens,
            scene.lengths,
            config.masked_lm,
            config.tokens,
            config.confidence,
            scene.seed,
        )


def masked_token(
    mechanism: Mechanism,
    tokens: NDArray[np.int32],
    lengths: Sequence[int],
    path: str,
    count: int,
    confidence: float,
    seed: int,
) -> MaskedToken:
    """On `count` places of the test split."""
    guesser = Guesser.read(path, mechanism.space.words)
    places = np.random.default_rng([seed, 8]).integers(
        min(len(tokens), int(sum(lengths))), size=count
    )
    truth = tokens[places].astype(np.int64)
    private, original = _masked(mechanism, tokens, lengths, places, guesser.mask, seed)
    with_private = success(int((guesser.guess(private) == truth).sum()), count, confidence)
    with_original = success(int((guesser.guess(original) == truth).sum()), count, confidence)
    return MaskedToken(
        success=with_private.success,
        interval=with_private.interval,
        trials=with_private.trials,
        original=with_original,
        guessable=float(np.isin(truth, guesser.candidates).mean()),
    )


def _masked(
    mechanism: Mechanism,
    tokens: NDArray[np.int32],
    lengths: Sequence[int],
    places: Words,
    mask: str,
    seed: int,
) -> tuple[list[str], list[str]]:
    """Each place masked, with private and with original words around it, of its own document."""
    device, spelling = mechanism.space.device, mechanism.space.words
    ends = np.cumsum(lengths)
    private: list[str] = []
    original: list[str] = []
    for number, place in enumerate(places.tolist()):
        document = int(np.searchsorted(ends, place, side="right"))
        begin = max(int(ends[document]) - int(lengths[document]), place - WINDOW)
        words = tokens[begin : min(int(ends[document]), place + WINDOW + 1)].astype(np.int64)
        generator = block_generator(seed, "audit/contextual", number, device)
        drawn = mechanism.draw(torch.from_numpy(words).to(device), generator).cpu().numpy()
        for texts, shown in ((private, drawn), (original, words)):
            spelt = [spelling[i] for i in shown]
            spelt[place - begin] = mask
            texts.append(" ".join(spelt))
    return private, original


@dataclass(frozen=True)
class Guesser:
    """A masked language model that may name the words of a vocabulary which are one token to it."""

    model: Any
    tokenizer: Any
    candidates: Words
    # of the candidates among the model's tokens
    columns: torch.Tensor

    @classmethod
    def read(cls, path: str, words: Sequence[str]) -> "Guesser":
        model, tokenizer = _masked_model(path)
        known = tokenizer.get_vocab()
        columns = {i: known[word] for i, word in enumerate(words) if word in known}
        if not columns or tokenizer.mask_token is None:
            raise TrlapError(
                f"audit.masked_lm={path}: it has no mask or none of the vocabulary's words"
            )
        return cls(model, tokenizer, np.array(list(columns)), torch.tensor(list(columns.values())))

    @property
    def mask(self) -> str:
        return str(self.tokenizer.mask_token)

    def guess(self, texts: list[str]) -> Words:
        """The likeliest word of every masked place; −1 where the model does not see the place."""
        model, tokenizer = self.model, self.tokenizer
        best = []
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(
                texts[start : start + BATCH],
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=min(tokenizer.model_max_length, model.config.max_position_embeddings),
            )
            with torch.inference_mode():
                logits = model(**batch).logits
            for row, shown in zip(logits, batch["input_ids"], strict=True):
                masks = (shown == tokenizer.mask_token_id).nonzero()
                # a mask beyond the model's length is a miss
                likeliest = int(row[masks[0, 0], self.columns].argmax()) if len(masks) else None
                best.append(-1 if likeliest is None else int(self.candidates[likeliest]))
        return np.array(best)


def _masked_model(path: str) -> tuple[Any, Any]:
    """From a local folder alone; no code and no pickle from it is run."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        model = AutoModelForMaskedLM.from_pretrained(
            path, local_files_only=True, use_safetensors=True
        )
    except (OSError, ValueError) as error:
        raise TrlapError(
            f"audit.masked_lm={path}: no masked language model could be read from there; "
            "give a folder with config.json, model.safetensors and a tokenizer"
        ) from error
    return model.eval(), tokenizer
