"""The embedding of a vocabulary: an asset from PyPI, gensim's downloads, a file, or random vectors.

Every word of the vocabulary gets a vector, so that every position of a text can be privatised: a word
that the source does not have takes a public random vector, a function of the word and `embedding.seed`
alone, of the source's median length.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trlap.config import schema
from trlap.data.given import given_file
from trlap.embeddings import assets
from trlap.embeddings.files import check_dimension, read_vectors
from trlap.errors import TrlapError
from trlap.files import file_sha256, read_json, write_array, write_json
from trlap.runs.records import absent, from_json, to_json


@dataclass(frozen=True, kw_only=True)
class EmbeddingInfo:
    """Where an embedding comes from.

    source         the name of the file, or `random`
    sha256         of that file; left out where there is none
    seed           of the vectors of words that the source does not have
    words, known   of the vocabulary, and those that the source has
    median_length  of the source's vectors
    """

    name: str
    source: str
    sha256: str | None = absent()
    seed: int
    words: int
    known: int
    median_length: float


@dataclass(frozen=True)
class Embedding:
    """One vector for each word of a vocabulary; `known` marks those that the source has."""

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]
    info: EmbeddingInfo

    def save(self, folder: Path) -> None:
        write_array(folder / "vectors.npy", self.vectors)
        write_array(folder / "known.npy", self.known)
        write_json(folder / "info.json", to_json(self.info))

    @classmethod
    def read(cls, folder: Path) -> "Embedding":
        return cls(
            np.load(folder / "vectors.npy"),
            np.load(folder / "known.npy"),
            from_json(EmbeddingInfo, read_json(folder / "info.json")),
        )


def fingerprint(cfg: schema.Embedding) -> dict[str, str | int | None]:
    """What an embedding depends on besides the vocabulary; a file counts by its content."""
    key: dict[str, str | int | None] = {"dimension": cfg.dimension, "seed": cfg.seed}
    if cfg.path is not None:
        path = given_file(cfg.path, f"embedding.path={cfg.path}")
        check_dimension(path, cfg.dimension)
        return key | {"sha256": file_sha256(path)}
    if cfg.source == "asset":
        return key | {"sha256": _asset(cfg).content}
    return key | {"source": cfg.source, "id": cfg.id}


def build_embedding(cfg: schema.Embedding, words: Sequence[str], normal: bool = False) -> Embedding:
    """The vectors of these words, as `cfg` says. `normal`: where no source has vectors, coordinates are
    drawn from N(0, 1), so that lengths are about √d and not 1.
    """
    vectors = np.zeros((len(words), cfg.dimension), np.float32)
    known = np.zeros(len(words), bool)
    path = None
    if cfg.path is not None or cfg.source != "random":
        path = _source(cfg)
        index = {word: i for i, word in enumerate(words)}
        for word, vector in read_vectors(path, cfg.dimension, index):
            # the first of two equal words is the more frequent one
            if not known[index[word]]:
                vectors[index[word]] = vector
                known[index[word]] = True
        if not known.any():
            raise TrlapError(
                f"{path}: none of its words is in the vocabulary of {len(words)} words"
            )
    length = float(np.median(np.linalg.norm(vectors[known], axis=1))) if known.any() else 1.0
    normal = normal and path is None
    for i in np.flatnonzero(~known).tolist():
        if normal:
            vectors[i] = normal_vector(words[i], cfg.dimension, cfg.seed)
        else:
            vectors[i] = random_vector(words[i], cfg.dimension, cfg.seed) * length
    if normal:
        length = float(np.median(np.linalg.norm(vectors, axis=1)))
    info = EmbeddingInfo(
        name=cfg.name,
        source="random" if path is None else path.name,
        sha256=None if path is None else file_sha256(path),
        seed=cfg.seed,
        words=len(words),
        known=int(known.sum()),
        median_length=length,
    )
    return Embedding(vectors, known, info)


def random_vector(word: str, dimension: int, seed: int) -> NDArray[np.float64]:
    """A direction drawn uniformly, by a generator keyed with (seed, word)."""
    vector = normal_vector(word, dimension, seed)
    return vector / np.linalg.norm(vector)


def normal_vector(word: str, dimension: int, seed: int) -> NDArray[np.float64]:
    """Coordinates from N(0, 1), by a generator keyed with (seed, word)."""
    entropy = int.from_bytes(hashlib.sha256(f"{seed}:{word}".encode()).digest(), "big")
    return np.random.default_rng(entropy).standard_normal(dimension)


def frequent_words() -> list[str]:
    """The words of the glove840b asset in order of frequency: a public word list."""
    with assets.fetch("glove840b").open(encoding="utf-8") as file:
        # the header
        next(file)
        words = (line.split(" ", 1)[0] for line in file)
        # a few hold no-break spaces
        return [word for word in words if len(word.split()) == 1]


def _asset(cfg: schema.Embedding) -> assets.Asset:
    if cfg.id not in assets.ASSETS:
        raise TrlapError(
            f"embedding.id={cfg.id}: no such asset; there are {', '.join(assets.ASSETS)}"
        )
    asset = assets.ASSETS[cfg.id]
    if asset.dimension is None:
        raise TrlapError(f"embedding.id={cfg.id}: this asset holds no word vectors")
    if asset.dimension != cfg.dimension:
        raise TrlapError(
            f"embedding.dimension={cfg.dimension}: the vectors of {cfg.id} have {asset.dimension} numbers"
        )
    return asset


def _source(cfg: schema.Embedding) -> Path:
    """The file that holds the vectors, fetched where it has to be."""
    if cfg.path is not None:
        return given_file(cfg.path, f"embedding.path={cfg.path}")
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
