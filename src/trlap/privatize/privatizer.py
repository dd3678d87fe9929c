"""Private text for text, on a vocabulary that never saw it.

from trlap import Privatizer
Privatizer(mechanism="crr", epsilon=5).privatize(["Meet me at 11:30 in the café."])
"""

import secrets
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from trlap.config.schema import Embedding, check_range
from trlap.data import tokens
from trlap.device import pick_device
from trlap.embeddings import assets
from trlap.embeddings import vectors as embedding
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import base as mechanism
from trlap.privatize.blocks import block_generator, privatize_texts, seeded
from trlap.runs.cache import cached, file_sha256

BATCH = 2048  # texts at once


class Privatizer:
    """A mechanism on a public vocabulary. Every word of every call gets fresh noise.

    vocabulary      "public": the most frequent GloVe words with punctuation, clitics and numerals; or a
                    file with one word a line. Prior, neighbours, centres and covariance come from it
                    and from the word vectors, never from the texts.
    vectors         "glove840b", "random", a file, or an `Embedding` config.
    oov             "unk": an unknown word is <unk>, a word like any other, and is privatised;
                    "keep": it passes through unprotected.
    seed            None: seeds come from the operating system and are kept nowhere. Whoever has the seed
                    has the text, so one of your own needs reproducible=True, which says that the output
                    is not to be published.
    Other keywords are the mechanism's own keys, as in conf/mechanism/.
    """

    def __init__(
        self,
        mechanism: str = "crr",
        epsilon: float = 5.0,
        *,
        delta: float | str = 1e-6,
        clip: float = 1.0,
        projection: str = "clipped",
        calibration: str = "exact",
        vectors: str | Embedding = "glove840b",
        vocabulary: str = "public",
        vocabulary_size: int = 10_000,
        oov: str = "unk",
        device: str = "auto",
        seed: int | None = None,
        reproducible: bool = False,
        **keys: Any,
    ) -> None:
        if seed is not None and not reproducible:
            raise TrlapError(
                "seed: whoever has the seed has the text; add reproducible=true if the output is "
                "not to be published"
            )
        check_range("epsilon", epsilon, {"within": "(0, inf]"})
        check_range("clip", clip, {"within": "(0, inf)"})
        check_range("projection", projection, {"choices": ("clipped", "original")})
        check_range("calibration", calibration, {"choices": ("published", "exact")})
        check_range("oov", oov, {"choices": ("unk", "keep")})
        if delta != "paper":
            check_range("delta", delta, {"within": "(0, 1)"})
        self.vocabulary, table = _public(_embedding(vectors), vocabulary, vocabulary_size)
        space = Space(
            self.vocabulary.words,
            table.vectors,
            self.vocabulary.prior,
            clip=clip,
            projection=projection,
            device=pick_device(device),
            cache=assets.cache_root(),
        )
        name = "none" if epsilon == float("inf") else mechanism
        common = {"delta": delta, "clip": clip, "calibration": calibration}
        self.mechanism = _make(name, space, epsilon, **common, **keys)
        self.oov = oov
        self.lengths: Counter[int] = Counter()  # words of a text: how many texts
        self.unknown = self.leaked = 0  # tokens
        self._seed, self._blocks = seed, 0

    @property
    def tokens(self) -> int:
        """Privatised so far."""
        return sum(words * texts for words, texts in self.lengths.items())

    def privatize(self, texts: Iterable[str]) -> list[str]:
        """A private text for each text: lower-case tokens joined by one space, as many as there were.

        Privatising a text twice spends its budget twice.
        """
        private: list[str] = []
        texts = iter(texts)
        while batch := list(islice(texts, BATCH)):
            tokenised = [" ".join(words) for words in tokens.tokenize_batch(batch)]
            done = privatize_texts(
                self.mechanism, self.vocabulary, tokenised, self._generator, self.oov
            )
            self.lengths.update(text.count(" ") + 1 if text else 0 for text in tokenised)
            self.unknown += done.unknown
            self.leaked += done.leaked
            private += done.texts
        return private

    def _generator(self, block: int) -> torch.Generator:
        device = self.mechanism.space.device
        if self._seed is None:
            return seeded(secrets.token_bytes(64), device)
        self._blocks += 1  # over all calls, so that no two blocks share their randomness
        return block_generator(self._seed, "privatizer", self._blocks, device)


_make = mechanism.make  # the parameter `mechanism` above is what a user types


def _embedding(vectors: str | Embedding) -> Embedding:
    if isinstance(vectors, str):
        if vectors in assets.ASSETS:
            return Embedding(name=vectors, source="asset", id=vectors)
        if vectors == "random":
            return Embedding(name="random", source="random")
        return Embedding(name=Path(vectors).stem, source="asset", path=vectors)
    return vectors


def _public(cfg: Embedding, source: str, size: int) -> tuple[tokens.Vocabulary, embedding.Table]:
    """A public vocabulary and its vectors, made once and kept in the cache."""

    def build(to: Path) -> None:
        if source == "public":
            words = tokens.public_vocabulary(embedding.frequent_words(), size)
        else:
            words = tokens.vocabulary_from_file(source, size)
        words.save(to)
        embedding.build_table(cfg, words.words).save(to)

    file = (
        None
        if source == "public"
        else file_sha256(Path(source))
        if Path(source).is_file()
        else source
    )
    key = {"vocabulary": file, "size": size, "embedding": embedding.fingerprint(cfg)}
    at = cached(assets.cache_root(), "public", key, build)
    return tokens.Vocabulary.read(at), embedding.Table.read(at)
