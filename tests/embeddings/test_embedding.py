import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from omegaconf import DictConfig, OmegaConf

from trlap.config import schema
from trlap.embeddings.vectors import (
    Embedding,
    build_embedding,
    fingerprint,
    frequent_words,
    random_vector,
)
from trlap.errors import TrlapError

Configure = Callable[..., schema.Embedding]
Embed = Callable[..., Embedding]

WORDS = ["<unk>", "good", "bad", "soup", "xyzzy"]


def line(word: str, *values: float) -> str:
    return " ".join([word, *map(str, values)]) + "\n"


GLOVE = (
    line("good", 1, 2, 3)
    + line(". . .", 9, 9, 9)
    + line("soup", -1, 0.5, 0)
    + line("good", 7, 7, 7)
)


@pytest.fixture
def configured(configure: Callable[..., DictConfig]) -> Configure:
    """The embedding part of the config that `python run.py <overrides>` would see."""

    def configured(*overrides: str) -> schema.Embedding:
        cfg = OmegaConf.to_object(configure(*overrides).embedding)
        assert isinstance(cfg, schema.Embedding)
        return cfg

    return configured


@pytest.fixture
def embed(configured: Configure, tmp_path: Path) -> Embed:
    """The embedding of WORDS from a file with this content; None: from what the config names."""

    def embed(content: str | bytes | None, name: str = "v.txt", *more: str) -> Embedding:
        overrides = ["embedding=glove", "embedding.dimension=3", *more]
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / name).write_bytes(data)
            overrides.append(f"embedding.path={tmp_path / name}")
        return build_embedding(configured(*overrides), WORDS)

    return embed


@pytest.mark.parametrize("header", ["", "4 3\n"])
@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.txt.gz"])
def test_text_formats(embed: Embed, header: str, name: str) -> None:
    data = (header + GLOVE).encode()
    embedding = embed(gzip.compress(data) if name.endswith("gz") else data, name)
    assert embedding.known.tolist() == [False, True, False, True, False]
    # the first of two lines for one word
    assert embedding.vectors[1].tolist() == [1, 2, 3]
    assert embedding.vectors[3].tolist() == [-1, 0.5, 0]


def test_word2vec_binary(embed: Embed, tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(3)
    vectors.add_vectors(["good", "other"], np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    vectors.save_word2vec_format(str(tmp_path / "w.bin"), binary=True)
    embedding = embed((tmp_path / "w.bin").read_bytes(), "v.bin")
    assert embedding.vectors[1].tolist() == [1, 2, 3]
    with pytest.raises(TrlapError, match="have 3 numbers, but embedding.dimension is 4"):
        embed((tmp_path / "w.bin").read_bytes(), "v.bin", "embedding.dimension=4")
    with pytest.raises(TrlapError, match="not a word2vec"):
        embed(b"nonsense", "v.bin")


def test_words_without_a_vector_get_a_public_one_of_typical_length(embed: Embed) -> None:
    embedding = embed(GLOVE)
    lengths = np.linalg.norm(embedding.vectors, axis=1)
    assert lengths[[0, 2, 4]] == pytest.approx(np.median(lengths[[1, 3]]))
    again = embed(line("soup", 1, 1, 1))
    cosine = (
        embedding.vectors[4] @ again.vectors[4] / (lengths[4] * np.linalg.norm(again.vectors[4]))
    )
    # a function of the word and the seed alone
    assert cosine == pytest.approx(1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (line("good", 1, 2), "line 1: 2 numbers after the word, but embedding.dimension is 3"),
        (line("good", 1, 2, 3) + line("soup", 1), "line 2: 1 numbers"),
        (line("good", 1, 2, 3, 4), "line 1: 4 numbers after the word"),
        ("2 4\n" + line("good", 1, 2, 3, 4), "the first line says 4 numbers a word"),
        (
            line("good", 1, float("nan"), 3),
            "line 1: the vector of 'good' holds something that is no number",
        ),
        ("good 1 x 3\n", "no number"),
        (line("elsewhere", 1, 2, 3), "none of its words is in the vocabulary"),
        (b"good 1 2 3\n\xff\xfe 1 2 3\n", "line 2: not UTF-8"),
        ("", "the file is empty"),
    ],
)
def test_bad_files(embed: Embed, content: str | bytes, message: str) -> None:
    with pytest.raises(TrlapError, match=message):
        embed(content)


def test_missing_file_and_unreachable_download(
    configured: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TrlapError, match="no such file"):
        build_embedding(configured("embedding.path=/nowhere.txt"), WORDS)
    import gensim.downloader

    def unreachable(name: str, return_path: bool = False) -> str:
        assert return_path, "without it gensim imports downloaded Python"
        raise OSError("no network")

    monkeypatch.setattr(gensim.downloader, "load", unreachable)
    with pytest.raises(
        TrlapError, match="cannot fetch fasttext-wiki-news-subwords-300.*embedding.path="
    ):
        build_embedding(configured("embedding=fasttext"), WORDS)


def test_gensim_download_is_read_by_path(
    configured: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gensim.downloader

    (tmp_path / "glove.gz").write_bytes(gzip.compress(("4 3\n" + GLOVE).encode()))
    monkeypatch.setattr(
        gensim.downloader, "load", lambda name, return_path: str(tmp_path / "glove.gz")
    )
    embedding = build_embedding(configured("embedding=glove", "embedding.dimension=3"), WORDS)
    assert embedding.known.sum() == 2


def test_glove840b_comes_from_the_wheel(configured: Configure) -> None:
    embedding = build_embedding(configured(), WORDS)
    assert embedding.vectors.shape == (5, 300)
    assert embedding.known.tolist() == [False, True, True, True, False]
    words = frequent_words()
    # 33,860 less those with a no-break space
    assert len(words) == 33_849
    assert words.index("the") < 10
    good, bad, soup = embedding.vectors[1:4] / np.linalg.norm(
        embedding.vectors[1:4], axis=1, keepdims=True
    )
    assert good @ bad > good @ soup


def test_random_vectors_and_round_trip(configured: Configure, tmp_path: Path) -> None:
    embedding = build_embedding(configured("embedding=random"), WORDS)
    assert np.allclose(np.linalg.norm(embedding.vectors, axis=1), 1)
    assert np.allclose(embedding.vectors[1], random_vector("good", 300, 0))
    assert not np.allclose(random_vector("good", 300, 0), random_vector("good", 300, 1))
    embedding.save(tmp_path)
    assert np.array_equal(Embedding.read(tmp_path).vectors, embedding.vectors)


def test_fingerprint_knows_content_and_not_place(configured: Configure, tmp_path: Path) -> None:
    keys = []
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(GLOVE)
        keys.append(
            fingerprint(configured("embedding.dimension=3", f"embedding.path={tmp_path / name}"))
        )
    assert keys[0] == keys[1]
    (tmp_path / "a.txt").write_text(GLOVE + " ")
    assert (
        fingerprint(configured("embedding.dimension=3", f"embedding.path={tmp_path / 'a.txt'}"))
        != keys[1]
    )


def test_what_is_known_of_an_embedding_is_written_as_before(
    configured: Configure, embed: Embed, tmp_path: Path
) -> None:
    """Results of earlier versions have these keys, in this order; only a file has a SHA-256."""
    keys = ["name", "source", "sha256", "seed", "words", "known", "median_length"]
    random = build_embedding(configured("embedding=random", "embedding.dimension=3"), WORDS)
    for embedding, expected in (
        (embed(GLOVE), keys),
        (random, [key for key in keys if key != "sha256"]),
    ):
        embedding.save(tmp_path)
        written = json.loads((tmp_path / "info.json").read_text(encoding="utf-8"))
        assert list(written) == expected
        assert Embedding.read(tmp_path).info == embedding.info
    assert embed(GLOVE).info.source == "v.txt"
    assert (random.info.source, random.info.known, random.info.median_length) == ("random", 0, 1.0)
