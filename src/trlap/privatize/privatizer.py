"""Private text for text, on a vocabulary that never saw it.

from trlap import Privatizer
Privatizer(mechanism="crr", epsilon=5).privatize(["Meet me at 11:30 in the café."])
"""

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from trlap.config import schema
from trlap.config.ranges import check_range, limits_of
from trlap.data.tokenizer import tokenize_batch
from trlap.data.vocabulary import Vocabulary, public_vocabulary, vocabulary_from_file
from trlap.device import pick_device
from trlap.documents.encoder import Encoder, MeanWords, MiniLM
from trlap.embeddings import assets
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import Embedding, build_embedding, fingerprint, frequent_words
from trlap.errors import TrlapError
from trlap.files import file_sha256
from trlap.mechanisms import registry
from trlap.mechanisms.base import Mechanism
from trlap.mechanisms.drr import DocumentRandomisedResponse
from trlap.privatize.answers import Answers, Make, Tally, TextAnswers, WordAnswers, check_enough
from trlap.privatize.asked import check_unit, unit_of
from trlap.privatize.blocks import NoiseIdentity
from trlap.privatize.lines import has_surrogate
from trlap.privatize.public_texts import PublicTexts, read_public
from trlap.randomness import block_generator, seeded
from trlap.runs.cache import cached
from trlap.runs.result import Guarantee

# public texts: a file, or the texts themselves
Public = str | Path | Iterable[str] | PublicTexts


class Privatizer:
    """A mechanism on public words, or on public texts. Every answer of every call gets fresh noise.

    unit            whose ε it is: "word", or "document" for a text as a whole, which then answers by some
                    of its words (`words`, `pick`), or by a public text (mechanism="drr"); None: what the
                    mechanism is made for.
    public          public texts that mechanism="drr" answers with: a list of them, or a file (of a table its
                    column `text`).
    vocabulary      "public": the most frequent GloVe words with punctuation, clitics and numerals; or a
                    file with one word a line. Prior, neighbours, centres and covariance come from it
                    and from the word vectors, never from the texts.
    vectors         "glove840b", "random", a file, or an `Embedding` config.
    oov             "unk": an unknown word is <unk>, a word like any other, and is privatised;
                    "keep": it passes through unprotected, and no promise holds (see `guarantee`).
    threads         documents that are compared with public ones side by side; 0: one a core.
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
        unit: str | None = None,
        words: int = 1,
        pick: str = "random",
        public: Public | None = None,
        vectors: str | schema.Embedding = "glove840b",
        vocabulary: str = "public",
        vocabulary_size: int = 10_000,
        oov: str = "unk",
        device: str = "auto",
        threads: int = 0,
        seed: int | None = None,
        reproducible: bool = False,
        **keys: Any,
    ) -> None:
        unit = unit_of(mechanism, unit)
        _check_seed(seed, reproducible)
        _check(epsilon=epsilon, clip=clip, projection=projection, calibration=calibration, oov=oov)
        _check(delta=delta, unit=unit, words=words, pick=pick, threads=threads)
        told = {"unit": unit, "words": words, "pick": pick, "oov": oov}
        check_unit(mechanism, epsilon, keys, **told, public=public is not None)  # type: ignore[arg-type]
        name, own, epsilon = registry.canonical(mechanism, keys, epsilon)
        make = partial(
            _make,
            name,
            epsilon / words,
            own,
            {"delta": delta, "clip": clip, "calibration": calibration},
        )
        public_words = partial(_public, _embedding(vectors), vocabulary, vocabulary_size)
        device = pick_device(device)
        if public is not None:
            size = partial(DocumentRandomisedResponse.size, own.get("K", "auto"), epsilon)
            encoder = partial(_encoder, device, threads, public_words)
            self._answers: Answers = _by_texts(
                make, public, size, encoder, own.get("encoder", "minilm")
            )
        else:
            picked = (words, pick) if unit == "document" else None
            space = partial(Space, clip=clip, projection=projection, device=device)
            self._answers = WordAnswers(make, space, *public_words(), oov, picked)
        self.oov = oov
        self.tally = Tally()
        self._seed = seed
        numbers = [float(epsilon), delta if isinstance(delta, str) else float(delta), float(clip)]
        settings = [name, own, *numbers, projection, calibration, oov]
        settings += [self._answers.identity] if self._answers.identity else []
        self._identity = NoiseIdentity(settings, self.mechanism.space) if seed is not None else None
        # over all calls, so that no two blocks share their randomness
        self._blocks = 0

    @property
    def answers(self) -> Answers:
        """How texts are answered: by words, or by public texts."""
        return self._answers

    @property
    def mechanism(self) -> Mechanism:
        return self._answers.mechanism

    @property
    def vocabulary(self) -> Vocabulary:
        """Of the words that texts are answered with."""
        if self._answers.vocabulary is None:
            raise TrlapError(f"mechanism={self.mechanism.name} answers with texts: it has no words")
        return self._answers.vocabulary

    @property
    def lengths(self) -> Counter[int]:
        """How many texts there were with so many words, or with so many answers."""
        return self.tally.lengths

    @property
    def unknown(self) -> int:
        """Words outside the vocabulary so far."""
        return self.tally.unknown

    @property
    def leaked(self) -> int:
        """Those of them that passed through."""
        return self.tally.leaked

    @property
    def tokens(self) -> int:
        """Privatised so far; of whole texts, their answers."""
        return sum(words * texts for words, texts in self.lengths.items())

    @property
    def guarantee(self) -> Guarantee:
        """Claimed and exact, and whether the claim holds. With oov="keep" it never does: `let_through` says
        why, and how many tokens passed through so far. It is a document's where the unit is.
        """
        from trlap.audit.let_through import let_through

        stated = self._answers.guarantee
        return let_through(stated, self.leaked, self.tokens) if self.oov == "keep" else stated

    def privatize(self, texts: Iterable[str], place: int | None = None) -> list[str]:
        """A private text for each text: lower-case tokens joined by one space, as many as there were; where
        the promise is for whole texts, some words, or a public text as it stands.

        Privatising a text twice spends its budget twice. `place` is where the first of them stands among
        all texts, from 0; None: after those of earlier calls. What a text may be answered with depends on
        its place.
        """
        private_texts: list[str] = []
        checked = _checked(texts)
        first = self.lengths.total() if place is None else place
        while batch := list(islice(checked, self._answers.at_once)):
            tokenised = [" ".join(words) for words in tokenize_batch(batch, first + 1)]
            chances = self._chances(tokenised)
            private = self._answers.private(tokenised, first, *chances)
            self.tally.add(
                Tally(
                    self._answers.lengths(tokenised),
                    private.unknown,
                    private.leaked,
                    self._answers.known(tokenised),
                )
            )
            private_texts += private.texts
            first += len(batch)
        return private_texts

    def _chances(self, texts: list[str]) -> tuple[Callable[[int], torch.Generator], ...]:
        """The randomness of each block of these texts, and of what is picked of them."""
        device, cpu = self.mechanism.space.device, torch.device("cpu")
        if self._seed is None or self._identity is None:
            return (
                lambda block: seeded(secrets.token_bytes(64), device),
                lambda block: seeded(secrets.token_bytes(64), cpu),
            )
        seed, purpose = self._seed, self._identity.of(texts)

        def generator(purpose: str, device: torch.device, block: int) -> torch.Generator:
            self._blocks += 1
            return block_generator(seed, purpose, self._blocks, device)

        return (
            partial(generator, f"{purpose}/privatizer", device),
            partial(generator, f"{purpose}/privatizer/picks", cpu),
        )


def _make(
    name: str, epsilon: float, own: dict[str, Any], noise: dict[str, Any], space: Space
) -> Mechanism:
    """A mechanism in a space; a document's budget is shared by its answers."""
    return registry.make(name, space, epsilon, **noise, **own)


def _by_texts(
    make: Make,
    public: Public,
    size: Callable[[int], int],
    encoder: Callable[[str], Encoder],
    encoded_by: str,
) -> TextAnswers:
    """`size` says how many public texts a set has, of so many."""
    if isinstance(public, str | Path):
        texts = read_public(schema.OwnPublic(str(public)))
    elif isinstance(public, PublicTexts):
        texts = public
    else:
        texts = PublicTexts.of(public)
    K = size(len(texts.texts))
    # before a model is loaded
    check_enough(texts, K)
    return TextAnswers(make, texts, K, encoder(encoded_by), encoded_by)


def _encoder(
    device: str, threads: int, words: Callable[[], tuple[Vocabulary, Embedding]], name: str
) -> Encoder:
    """By which a text becomes a vector; by words of the public vocabulary, or by MiniLM."""
    if name == "words":
        vocabulary, embedding = words()
        return MeanWords(vocabulary, embedding.vectors)
    return MiniLM(device, threads or os.cpu_count() or 1)


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


def _check_seed(seed: int | None, reproducible: bool) -> None:
    if seed is not None and not reproducible:
        raise TrlapError(
            "seed: whoever has the seed has the text; add reproducible=true if the output is "
            "not to be published"
        )


def _check(**values: float | str) -> None:
    """Test values against the ranges that the schema declares for the keys of these names."""
    for name, value in values.items():
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
