"""Private text for text, on a vocabulary that never saw it.

from trlap import Privatizer
Privatizer(mechanism="crr", epsilon=5).privatize(["Meet me at 11:30 in the café."])
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from trlap.config import schema
from trlap.config.ranges import check_range, limits_of
from trlap.data.tokenizer import tokenize_batch
from trlap.data.vocabulary import Vocabulary, public_vocabulary, vocabulary_from_file
from trlap.device import pick_device
from trlap.embeddings import assets
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import Embedding, build_embedding, fingerprint, frequent_words
from trlap.errors import TrlapError
from trlap.files import file_sha256
from trlap.mechanisms import registry
from trlap.privatize.blocks import NoiseIdentity, privatize_texts
from trlap.privatize.lines import has_surrogate
from trlap.randomness import block_generator, seeded
from trlap.runs.cache import cached
from trlap.runs.result import Guarantee

# texts at once
BATCH = 2048


class Privatizer:
    """A mechanism on a public vocabulary. Every word of every call gets fresh noise.

    vocabulary      "public": the most frequent GloVe words with punctuation, clitics and numerals; or a
                    file with one word a line. Prior, neighbours, centres and covariance come from it
                    and from the word vectors, never from the texts.
    vectors         "glove840b", "random", a file, or an `Embedding` config.
    oov             "unk": an unknown word is <unk>, a word like any other, and is privatised;
                    "keep": it passes through unprotected, and no promise holds (see `guarantee`).
    seed            None: seeds come from the operating system and are kept nowhere. Whoever has the seed
                    has the text, so one of your own needs reproducible=True, which says that the output
                    is not to be published. The same calls with the same texts then give the same words.
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
        vectors: str | schema.Embedding = "glove840b",
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
        _check("epsilon", epsilon)
        _check("clip", clip)
        _check("projection", projection)
        _check("calibration", calibration)
        _check("oov", oov)
        _check("delta", delta)
        self.vocabulary, embedding = _public(_embedding(vectors), vocabulary, vocabulary_size)
        space = Space(
            self.vocabulary.words,
            embedding.vectors,
            self.vocabulary.prior,
            clip=clip,
            projection=projection,
            device=pick_device(device),
            cache=assets.cache_root(),
        )
        name, own_keys, epsilon = registry.canonical(mechanism, keys, epsilon)
        self.mechanism = registry.make(
            name, space, epsilon, delta=delta, clip=clip, calibration=calibration, **own_keys
        )
        self.oov = oov
        # how many texts there were with so many words
        self.lengths: Counter[int] = Counter()
        # tokens outside the vocabulary, and those of them that passed through
        self.unknown = 0
        self.leaked = 0
        self._seed = seed
        numbers = [float(epsilon), delta if isinstance(delta, str) else float(delta), float(clip)]
        settings = [name, own_keys, *numbers, projection, calibration, oov]
        self._identity = NoiseIdentity(settings, space) if seed is not None else None
        # over all calls, so that no two blocks share their randomness
        self._blocks = 0

    @property
    def tokens(self) -> int:
        """Privatised so far."""
        return sum(words * texts for words, texts in self.lengths.items())

    @property
    def guarantee(self) -> Guarantee:
        """Claimed and exact, and whether the claim holds. With oov="keep" it never does: `let_through` says
        why, and how many tokens passed through so far.
        """
        from trlap.audit.guarantee import guarantee
        from trlap.audit.let_through import let_through

        stated = guarantee(self.mechanism)
        return let_through(stated, self.leaked, self.tokens) if self.oov == "keep" else stated

    def privatize(self, texts: Iterable[str]) -> list[str]:
        """A private text for each text: lower-case tokens joined by one space, as many as there were.

        Privatising a text twice spends its budget twice.
        """
        private_texts: list[str] = []
        checked = _checked(texts)
        while batch := list(islice(checked, BATCH)):
            first = self.lengths.total() + 1
            tokenised = [" ".join(words) for words in tokenize_batch(batch, first)]
            private = privatize_texts(
                self.mechanism, self.vocabulary, tokenised, self._generators(tokenised), self.oov
            )
            self.lengths.update(text.count(" ") + 1 if text else 0 for text in tokenised)
            self.unknown += private.unknown
            self.leaked += private.leaked
            private_texts += private.texts
        return private_texts

    def _generators(self, texts: list[str]) -> Callable[[int], torch.Generator]:
        """The randomness of each block of these texts."""
        device = self.mechanism.space.device
        if self._seed is None or self._identity is None:
            return lambda block: seeded(secrets.token_bytes(64), device)
        seed, purpose = self._seed, self._identity.of(texts)

        def generator(block: int) -> torch.Generator:
            self._blocks += 1
            return block_generator(seed, f"{purpose}/privatizer", self._blocks, device)

        return generator


def _checked(texts: Iterable[str]) -> Iterator[str]:
    """The texts one by one. What is no text is named by its place and its type, never by its content."""
    if isinstance(texts, str | bytes):
        raise TrlapError("texts: give a list of texts, as in privatize([text]), not a single one")
    if not isinstance(texts, Iterable):
        raise TrlapError(f"texts: give a list of texts, not {type(texts).__name__}")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TrlapError(f"texts[{place}] is {type(text).__name__}, not a text")
        if has_surrogate(text):
            raise TrlapError(f"texts[{place}] holds half a character (a lone surrogate)")
        yield text


def _check(name: str, value: float | str) -> None:
    """Test a value against the range that the schema declares for the key of that name."""
    check_range(name, value, limits_of(schema.Privatize, name))


def _embedding(vectors: str | schema.Embedding) -> schema.Embedding:
    """The config that a short name, or the path of a file, stands for."""
    if not isinstance(vectors, str):
        return vectors
    if vectors in assets.ASSETS:
        return schema.Embedding(name=vectors, source="asset", id=vectors)
    if vectors == "random":
        return schema.Embedding(name="random", source="random")
    return schema.Embedding(name=Path(vectors).stem, source="asset", path=vectors)


def _public(cfg: schema.Embedding, source: str, size: int) -> tuple[Vocabulary, Embedding]:
    """A public vocabulary and its embedding, made once and kept in the cache.

    `source` is "public" or a file with one word a line, which counts by its content.
    """

    def build(folder: Path) -> None:
        if source == "public":
            vocabulary = public_vocabulary(frequent_words(), size)
        else:
            vocabulary = vocabulary_from_file(source, size)
        vocabulary.save(folder)
        build_embedding(cfg, vocabulary.words).save(folder)

    content: str | None = source
    if source == "public":
        content = assets.FREQUENT_WORDS.content
    elif Path(source).is_file():
        content = file_sha256(Path(source))
    key = {"vocabulary": content, "size": size, "embedding": fingerprint(cfg)}
    folder = cached(assets.cache_root(), "public", key, build)
    return Vocabulary.read(folder), Embedding.read(folder)
