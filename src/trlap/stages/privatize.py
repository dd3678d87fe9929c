"""Stage `privatize`: Algorithm 1 on every split, once. All that follows is post-processing.

The noise is keyed by the noise's settings, the words and the text. Two private versions of one text at one
seed, at two ε, by two mechanisms or on two vocabularies, have noise that has nothing in common; so have two
texts. If they shared it, the difference of two versions would give the text away.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.config.door import Config
from trlap.data.rows import Row, Rows, read_rows, write_rows
from trlap.files import read_json, write_json
from trlap.runs.records import Json
from trlap.runs.result import Counts
from trlap.stages.base import Inputs, Stage
from trlap.stages.corpus import CORPUS
from trlap.stages.documents import DOCUMENTS, candidates, encoder_of, of_documents
from trlap.stages.embedding import EMBEDDING
from trlap.stages.noise import (
    DOCUMENT,
    LABEL,
    NOISE,
    covers_labels,
    noise_identity,
    noise_key,
)
from trlap.stages.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from trlap.data.corpus import Split
    from trlap.privatize.blocks import Private
    from trlap.privatize.picks import Picks


@dataclass(frozen=True)
class PrivateText:
    rows: Rows
    counts: dict[str, Counts]


class Privatize(Stage[PrivateText]):
    name = "privatize"
    doing = "privatising the text"
    # 2: noise that no run with other settings, words or text has; 3: no vector is longer than C by rounding
    version = 3
    keys = (*NOISE, *DOCUMENT, *LABEL, "oov", "seed")
    published = ("private.jsonl",)

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        return (CORPUS, VOCABULARY, EMBEDDING, *of_documents(config)[1:])

    def key(self, config: Config) -> dict[str, Json]:
        return noise_key(config) | config.values("oov", "seed")

    def run(self, inputs: Inputs) -> PrivateText:
        from trlap.privatize.blocks import answer_documents, privatize_texts
        from trlap.progress import progress
        from trlap.randomness import block_generator

        config, mechanism, corpus = inputs.config, inputs.mechanism, inputs[CORPUS]
        public = None if encoder_of(config) is None else candidates(inputs)
        device = mechanism.space.device
        texts = [text for split in corpus.splits.values() for text in split.texts]
        total = (
            sum(text.count(" ") + 1 for text in texts)
            if config.unit == "word"
            else config.words * len(texts)
        )
        rows: Rows = {}
        counts: dict[str, Counts] = {}
        done = 0

        def advance(tokens: int) -> None:
            nonlocal done
            done += tokens
            show(done / total, done)

        with progress(f"privatising with {mechanism.name}", "tokens") as show:
            for name, split in corpus.splits.items():
                labels = covered_labels(config, name, split)
                # a text with another label has other noise, too
                said = [*split.texts, *map(str, labels or ())]
                purpose = f"{noise_identity(config, mechanism, said, public)}/{name}"
                chance = partial(block_generator, config.seed, purpose, device=device)
                originals = original_rows(name, split)
                if public is not None:
                    vectors = inputs[DOCUMENTS].splits[name]
                    if labels is not None:
                        order = self._order(inputs, purpose, len(labels))
                        originals = [originals[i] for i in order]
                        labels = [labels[i] for i in order]
                        vectors = vectors[order]
                    private = answer_documents(
                        mechanism, public, vectors, chance, advance, labels=labels
                    )
                else:
                    private = privatize_texts(
                        mechanism,
                        inputs[VOCABULARY],
                        split.texts,
                        chance,
                        config.oov,
                        advance,
                        self._picks(inputs, purpose),
                    )
                rows[name] = private_rows(originals, private)
                counts[name] = Counts(
                    len(private.texts), private.tokens, private.unknown, private.leaked
                )
        return PrivateText(rows, counts)

    def _order(self, inputs: Inputs, purpose: str, documents: int) -> "list[int]":
        """Where labels are covered, documents change places by chance that is no less secret than the noise:
        corpora stand in the order of their classes, or in turns of them, and a place would tell the label.
        """
        import torch

        from trlap.randomness import block_generator

        chance = block_generator(inputs.config.seed, f"{purpose}/order", 0, torch.device("cpu"))
        order: list[int] = torch.randperm(documents, generator=chance).tolist()
        return order

    def _picks(self, inputs: Inputs, purpose: str) -> "Picks | None":
        import torch

        from trlap.privatize.picks import picks
        from trlap.randomness import block_generator

        config = inputs.config
        # without noise nothing is picked: all is published
        if config.unit == "word" or not inputs.mechanism.private:
            return None
        chance = partial(
            block_generator, config.seed, f"{purpose}/picks", 0, device=torch.device("cpu")
        )
        return picks(config.pick, config.words, inputs[VOCABULARY].prior, chance)

    def write(self, output: PrivateText, folder: Path) -> None:
        every = (row for rows in output.rows.values() for row in rows)
        write_rows(every, folder / "private.jsonl")
        counts = {split: asdict(count) for split, count in output.counts.items()}
        write_json(folder / "counts.json", counts)

    def read(self, folder: Path) -> PrivateText:
        counts = read_json(folder / "counts.json")
        return PrivateText(
            read_rows(folder / "private.jsonl"),
            {split: Counts(**count) for split, count in counts.items()},
        )


def original_rows(name: str, split: "Split") -> list[Row]:
    """A split of the corpus as rows without private text."""
    if split.labels is None:
        return [Row(name, text) for text in split.texts]
    pairs = zip(split.texts, split.labels, strict=True)
    return [Row(name, text, label=label) for text, label in pairs]


def covered_labels(config: Config, name: str, split: "Split") -> list[int] | None:
    """Those that are answered for with their text: a document of the test split has none yet, as far as
    anybody knows who names it, and its answer must not tell of it.
    """
    return split.labels if covers_labels(config) and name != "test" else None


def private_rows(rows: list[Row], private: "Private") -> list[Row]:
    labels: list[int] | list[None] = private.labels or [None] * len(rows)
    return [
        replace(row, private=text, private_label=label)
        for row, text, label in zip(rows, private.texts, labels, strict=True)
    ]


def rewritten_rows(rows: list[Row], texts: list[str]) -> list[Row]:
    return [replace(row, rewritten=text) for row, text in zip(rows, texts, strict=True)]


PRIVATIZE = Privatize()
