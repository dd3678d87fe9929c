"""Stage `vocabulary`: the words, from the training split, which is then taken to be public, or a public list.

Where a whole document is protected, they come from the documents that were set aside, never from private ones.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.config.door import Config
from trlap.data.given import given_file
from trlap.embeddings.assets import FREQUENT_WORDS
from trlap.files import file_sha256
from trlap.runs.records import Json
from trlap.stages.base import Inputs, Stage
from trlap.stages.corpus import CORPUS

if TYPE_CHECKING:
    from trlap.data.vocabulary import Vocabulary as Words

# sources of words that are no files
NO_FILE = ("train", "public")


class Vocabulary(Stage["Words"]):
    name = "vocabulary"
    doing = "choosing the vocabulary"
    version = 1
    keys = ("dataset.vocabulary", "dataset.vocabulary_size")
    optional = False
    shared = True

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        return (CORPUS,)

    def key(self, config: Config) -> dict[str, Json]:
        """A file counts by its content, wherever it lies, and so does the public list."""
        keys, source = config.values(*self.keys), config.dataset.vocabulary
        if source == "public":
            return keys | {"words": FREQUENT_WORDS.content}
        if source in NO_FILE:
            return keys
        return keys | {"dataset.vocabulary": "a file", "words": file_sha256(_file(source))}

    def check(self, config: Config) -> None:
        if config.dataset.vocabulary not in NO_FILE:
            _file(config.dataset.vocabulary)

    def run(self, inputs: Inputs) -> "Words":
        from trlap.data import vocabulary
        from trlap.embeddings.vectors import frequent_words

        dataset = inputs.config.dataset
        if dataset.vocabulary == "train":
            corpus = inputs[CORPUS]
            if corpus.public is not None:
                words = vocabulary.build_vocabulary(corpus.public.texts, dataset.vocabulary_size)
                return replace(words, public=True)
            texts = corpus.splits["train"].texts
            return vocabulary.build_vocabulary(texts, dataset.vocabulary_size)
        if dataset.vocabulary == "public":
            return vocabulary.public_vocabulary(frequent_words(), dataset.vocabulary_size)
        return vocabulary.vocabulary_from_file(dataset.vocabulary, dataset.vocabulary_size)

    def write(self, output: "Words", folder: Path) -> None:
        output.save(folder)

    def read(self, folder: Path) -> "Words":
        from trlap.data.vocabulary import Vocabulary as Words

        return Words.read(folder)


def _file(source: str) -> Path:
    return given_file(
        source, f"dataset.vocabulary={source} (train, public or a file with one word a line)"
    )


VOCABULARY = Vocabulary()
