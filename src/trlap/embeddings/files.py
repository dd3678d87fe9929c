"""Files of word vectors: GloVe, word2vec (text and binary) and fastText, checked line by line."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from trlap.errors import TrlapError

Vector = NDArray[np.float32]
LARGEST = float(np.finfo(np.float32).max)


def read_vectors(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Vector]]:
    """The wanted words that a file has, with their vectors."""
    reader = _read_binary if ".bin" in path.suffixes else _read_text
    return reader(path, dimension, wanted)


def check_dimension(path: Path, dimension: int) -> None:
    """One line where the beginning of a file shows that its vectors are of another dimension."""
    with _opened(path) as file:
        first = file.readline(2**20)
    if ".bin" in path.suffixes:
        _binary_header(path, first, dimension)
        return
    line = _decoded(first, f"{path}, line 1")
    if _header(path, line, dimension) is None:
        _parts(line, dimension, f"{path}, line 1")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Bytes of the file, unpacked; what is damaged or cut off is one line."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TrlapError(
            f"{path}: the file is damaged or cut off ({error}); fetch it again"
        ) from None
    except OSError as error:
        raise TrlapError(f"{path}: cannot be read ({error.strerror})") from None


def _read_text(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Vector]]:
    vocabulary = set(wanted)
    stated, number = None, 0
    with _opened(path) as file:
        for number, raw in enumerate(file, 1):
            place = f"{path}, line {number:,}"
            line = _decoded(raw, place)
            if number == 1 and (stated := _header(path, line, dimension)) is not None:
                continue
            word, values = _parts(line, dimension, place)
            if word in vocabulary:
                yield word, _vector(values, word, place)
    lines = number - (stated is not None)
    if stated is not None and stated != lines:
        raise TrlapError(
            f"{path}: the first line says {stated:,} words, but {lines:,} follow: the file is cut off, "
            "or the first line is wrong; mend it"
        )


def _decoded(raw: bytes, place: str) -> str:
    try:
        return raw.decode().rstrip(" \r\n")
    except UnicodeDecodeError:
        raise TrlapError(f"{place}: not UTF-8") from None


def _header(path: Path, line: str, dimension: int) -> int | None:
    """How many words there are: word2vec and fastText open with "words dimension". None: no such line."""
    parts = line.split(" ")
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    words, numbers = map(int, parts)
    # with one number a word, "7 1" is a header and "7 2" the vector of the word 7
    if numbers != dimension:
        if dimension == 1:
            return None
        raise TrlapError(
            f"{path}: the first line says {numbers} numbers a word, but embedding.dimension is {dimension}"
        )
    return words


def _parts(line: str, dimension: int, place: str) -> tuple[str, list[str]]:
    """The word and its numbers. Of every line it is checked that they begin where the word ends.

    Words of GloVe 840B may have spaces, such as ". . ."; none of these ends in a number.
    """
    word, *values = line.rsplit(" ", dimension)
    extra = 0
    for part in reversed(word.split(" ")[1:]):
        if not _is_number(part):
            break
        extra += 1
    if extra or len(values) != dimension:
        raise TrlapError(
            f"{place}: {len(values) + extra} numbers after the word, "
            f"but embedding.dimension is {dimension}"
        )
    if not word.strip(" "):
        raise TrlapError(f"{place}: there is no word before the numbers")
    if not _is_number(values[0]):
        raise TrlapError(
            f"{place}: the vector of {word!r} holds something that is no number, or too few of them"
        )
    return word, values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # Python takes 1_000, files do not
    return "_" not in text


def _vector(values: list[str], word: str, place: str) -> Vector:
    try:
        vector = np.array(values, np.float64)
    except ValueError:
        vector = np.full(1, np.nan)
    if not np.isfinite(vector).all():
        raise TrlapError(f"{place}: the vector of {word!r} holds something that is no number")
    if np.abs(vector).max() > LARGEST:
        raise TrlapError(f"{place}: the vector of {word!r} holds a number too large for float32")
    return vector.astype(np.float32)


def _binary_header(path: Path, first: bytes, dimension: int) -> None:
    """The line "words dimension" that word2vec's own format opens with."""
    parts = first.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise TrlapError(f"{path}: not a word2vec .bin file (it does not open with two numbers)")
    words, numbers = map(int, parts)
    if numbers != dimension:
        raise TrlapError(
            f"{path}: vectors have {numbers} numbers, but embedding.dimension is {dimension}"
        )
    # a word has one letter and a space at least; an absurd number would ask for all memory at once
    needed = words * (4 * numbers + 2)
    if path.suffix != ".gz" and path.stat().st_size < needed:
        raise TrlapError(f"{path}: the file is cut off: {words:,} words need {needed:,} bytes")


def _read_binary(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Vector]]:
    """word2vec's own format; words come in the order in which they are wanted."""
    from gensim.models import KeyedVectors

    check_dimension(path, dimension)
    try:
        vectors = KeyedVectors.load_word2vec_format(str(path), binary=True)
    except (ValueError, EOFError, UnicodeDecodeError, OSError, zlib.error, MemoryError) as error:
        raise TrlapError(f"{path}: not a whole word2vec .bin file ({error})") from error
    for word in wanted:
        if word in vectors:
            if not np.isfinite(vectors[word]).all():
                raise TrlapError(f"{path}: the vector of {word!r} has a value that is not a number")
            yield word, vectors[word]
