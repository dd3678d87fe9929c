"""Word vectors: an asset from PyPI, gensim's downloads, a file, or random ones.

Every word of the vocabulary gets a vector, so that every position of a text can be privatised: a word
that the source does not have takes a public random vector, a function of the word and `embedding.seed`
alone, of the source's median length.
"""

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlap.config import schema as config
from trlap.embeddings import assets
from trlap.errors import TrlapError
from trlap.runs.cache import file_sha256, read_json, write_json


@dataclass(frozen=True)
class Table:
    """One vector a vocabulary word; `known` marks those that the source has."""

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]
    info: dict[str, Any]

    def save(self, folder: Path) -> None:
        np.save(folder / "vectors.npy", self.vectors)
        np.save(folder / "known.npy", self.known)
        write_json(folder / "info.json", self.info)

    @classmethod
    def read(cls, folder: Path) -> "Table":
        return cls(
            np.load(folder / "vectors.npy"),
            np.load(folder / "known.npy"),
            read_json(folder / "info.json"),
        )


def fingerprint(cfg: config.Embedding) -> dict[str, Any]:
    """What the table depends on besides the vocabulary; a file counts by its content."""
    key: dict[str, Any] = {"dimension": cfg.dimension, "seed": cfg.seed}
    if cfg.path is not None:
        return key | {"sha256": file_sha256(_existing(cfg.path))}
    if cfg.source == "asset":
        return key | {"sha256": _asset(cfg).sha256}
    return key | {"source": cfg.source, "id": cfg.id}


def build_table(cfg: config.Embedding, words: Sequence[str]) -> Table:
    vectors = np.zeros((len(words), cfg.dimension), np.float32)
    known = np.zeros(len(words), bool)
    info: dict[str, Any] = {"name": cfg.name, "source": "random", "seed": cfg.seed}
    if cfg.path is not None or cfg.source != "random":
        path = _source(cfg)
        index = {word: i for i, word in enumerate(words)}
        for word, vector in _read(path, cfg.dimension, index):
            if not known[index[word]]:  # the first of two equal words is the more frequent one
                vectors[index[word]] = vector
                known[index[word]] = True
        if not known.any():
            raise TrlapError(
                f"{path}: none of its words is in the vocabulary of {len(words)} words"
            )
        info = {
            "name": cfg.name,
            "source": path.name,
            "sha256": file_sha256(path),
            "seed": cfg.seed,
        }
    length = float(np.median(np.linalg.norm(vectors[known], axis=1))) if known.any() else 1.0
    for i in np.flatnonzero(~known).tolist():
        vectors[i] = random_vector(words[i], cfg.dimension, cfg.seed) * length
    info |= {"words": len(words), "known": int(known.sum()), "median_length": length}
    return Table(vectors, known, info)


def random_vector(word: str, dimension: int, seed: int) -> NDArray[np.float64]:
    """A direction drawn uniformly, by a generator keyed with (seed, word)."""
    entropy = int.from_bytes(hashlib.sha256(f"{seed}:{word}".encode()).digest(), "big")
    vector = np.random.default_rng(entropy).standard_normal(dimension)
    return vector / np.linalg.norm(vector)


def frequent_words() -> list[str]:
    """The words of the glove840b asset in order of frequency: a public word list."""
    with assets.fetch("glove840b").open(encoding="utf-8") as file:
        next(file)  # header
        words = (line.split(" ", 1)[0] for line in file)
        return [word for word in words if len(word.split()) == 1]  # a few hold no-break spaces


def _asset(cfg: config.Embedding) -> assets.Asset:
    if cfg.id not in assets.ASSETS:
        raise TrlapError(
            f"embedding.id={cfg.id}: no such asset; there are {', '.join(assets.ASSETS)}"
        )
    return assets.ASSETS[cfg.id]


def _existing(path: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise TrlapError(f"embedding.path={path}: no such file")
    if file.stat().st_size == 0:
        raise TrlapError(f"embedding.path={path}: the file is empty")
    return file


def _source(cfg: config.Embedding) -> Path:
    if cfg.path is not None:
        return _existing(cfg.path)
    if cfg.source == "asset":
        _asset(cfg)
        return assets.fetch(str(cfg.id))
    try:
        import gensim.downloader

        # without return_path gensim imports Python code that it has downloaded
        return Path(gensim.downloader.load(cfg.id, return_path=True))
    except Exception as error:
        raise TrlapError(
            f"cannot fetch {cfg.id} with gensim.downloader ({type(error).__name__}); "
            "pass a copy with embedding.path=, or use embedding=glove840b"
        ) from error


def _read(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The wanted words of a file in GloVe, word2vec or fastText format, checked line by line."""
    if ".bin" in path.suffixes:
        yield from _read_binary(path, dimension, wanted)
        return
    vocabulary = set(wanted)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            where = f"{path}, line {number}"
            try:
                line = raw.decode().rstrip(" \r\n")
            except UnicodeDecodeError as error:
                raise TrlapError(f"{where}: not UTF-8") from error
            if number == 1 and line.count(" ") == 1:
                continue  # word2vec and fastText open with "words dimension"
            word, *values = line.rsplit(" ", dimension)  # a word of GloVe 840B may have spaces
            if number <= 2:
                values = _extra_numbers(word) + values
            if len(values) != dimension:
                raise TrlapError(
                    f"{where}: {len(values)} numbers after the word, "
                    f"but embedding.dimension is {dimension}"
                )
            if word not in vocabulary:
                continue
            vector = np.zeros(0)
            with suppress(ValueError):
                vector = np.array(values, np.float32)
            if not (vector.size and np.isfinite(vector).all()):
                raise TrlapError(
                    f"{where}: the vector of {word!r} holds something that is no number"
                )
            yield word, vector


def _extra_numbers(word: str) -> list[str]:
    """A vector that is longer than expected looks like a word that ends in numbers."""
    extra = word.split(" ")[1:]
    try:
        return [value for value in extra if float(value) is not None]
    except ValueError:
        return []


def _read_binary(path: Path, dimension: int, wanted: Iterable[str]) -> Iterator[tuple[str, Any]]:
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
