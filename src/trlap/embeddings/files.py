"""Files of word vectors: GloVe, word2vec (text and binary) and fastText, checked line by line."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trlap.errors import TrlapError

Vector = NDArray[np.float32]


def read_vectors(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Vector]]:
    """The wanted words that a file has, with their vectors."""
    reader = _read_binary if ".bin" in path.suffixes else _read_text
    return reader(path, dimension, wanted)


def _read_text(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Vector]]:
    vocabulary = set(wanted)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            place = f"{path}, line {number}"
            try:
                line = raw.decode().rstrip(" \r\n")
            except UnicodeDecodeError as error:
                raise TrlapError(f"{place}: not UTF-8") from error
            # word2vec and fastText open with "words dimension"
            if number == 1 and line.count(" ") == 1:
                continue
            # a word of GloVe 840B may have spaces
            word, *values = line.rsplit(" ", dimension)
            if number <= 2:
                values = _extra_numbers(word) + values
            if len(values) != dimension:
                raise TrlapError(
                    f"{place}: {len(values)} numbers after the word, "
                    f"but embedding.dimension is {dimension}"
                )
            if word in vocabulary:
                yield word, _vector(values, word, place)


def _vector(values: list[str], word: str, place: str) -> Vector:
    vector = np.zeros(0, np.float32)
    with suppress(ValueError):
        vector = np.array(values, np.float32)
    if not (vector.size and np.isfinite(vector).all()):
        raise TrlapError(f"{place}: the vector of {word!r} holds something that is no number")
    return vector


def _extra_numbers(word: str) -> list[str]:
    """A vector that is longer than expected looks like a word that ends in numbers."""
    extra = word.split(" ")[1:]
    try:
        return [value for value in extra if float(value) is not None]
    except ValueError:
        return []


def _read_binary(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Vector]]:
    """word2vec's own format; words come in the order in which they are wanted."""
    from gensim.models import KeyedVectors

    try:
        vectors = KeyedVectors.load_word2vec_format(str(path), binary=True)
    except (ValueError, EOFError, UnicodeDecodeError, OSError) as error:
        raise TrlapError(f"{path}: not a word2vec .bin file ({error})") from error
    if vectors.vector_size != dimension:
        raise TrlapError(
            f"{path}: vectors have {vectors.vector_size} numbers, but embedding.dimension is {dimension}"
        )
    for word in wanted:
        if word in vectors:
            if not np.isfinite(vectors[word]).all():
                raise TrlapError(f"{path}: the vector of {word!r} has a value that is not a number")
            yield word, vectors[word]
