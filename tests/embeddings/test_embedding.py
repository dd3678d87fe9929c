import gzip
from pathlib import Path

import numpy as np
import pytest

from trlap.embeddings.vectors import Table, build_table, fingerprint, frequent_words, random_vector
from trlap.errors import TrlapError

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
def embed(configure, tmp_path: Path):  # type: ignore[no-untyped-def]
    def embed(content: str | bytes | None, name: str = "v.txt", *more: str) -> Table:
        overrides = ["embedding=glove", "embedding.dimension=3", *more]
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / name).write_bytes(data)
            overrides.append(f"embedding.path={tmp_path / name}")
        return build_table(configure(*overrides).embedding, WORDS)

    return embed


@pytest.mark.parametrize("header", ["", "4 3\n"])
@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.txt.gz"])
def test_text_formats(embed, header: str, name: str) -> None:  # type: ignore[no-untyped-def]
    data = (header + GLOVE).encode()
    table = embed(gzip.compress(data) if name.endswith("gz") else data, name)
    assert table.known.tolist() == [False, True, False, True, False]
    assert table.vectors[1].tolist() == [1, 2, 3]  # the first of two lines for one word
    assert table.vectors[3].tolist() == [-1, 0.5, 0]


def test_word2vec_binary(embed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(3)
    vectors.add_vectors(["good", "other"], np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    vectors.save_word2vec_format(str(tmp_path / "w.bin"), binary=True)
    table = embed((tmp_path / "w.bin").read_bytes(), "v.bin")
    assert table.vectors[1].tolist() == [1, 2, 3]
    with pytest.raises(TrlapError, match="have 3 numbers, but embedding.dimension is 4"):
        embed((tmp_path / "w.bin").read_bytes(), "v.bin", "embedding.dimension=4")
    with pytest.raises(TrlapError, match="not a word2vec"):
        embed(b"nonsense", "v.bin")


def test_words_without_a_vector_get_a_public_one_of_typical_length(embed) -> None:  # type: ignore[no-untyped-def]
    table = embed(GLOVE)
    lengths = np.linalg.norm(table.vectors, axis=1)
    assert lengths[[0, 2, 4]] == pytest.approx(np.median(lengths[[1, 3]]))
    again = embed(line("soup", 1, 1, 1))
    cosine = table.vectors[4] @ again.vectors[4] / (lengths[4] * np.linalg.norm(again.vectors[4]))
    assert cosine == pytest.approx(1)  # a function of the word and the seed alone


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (line("good", 1, 2), "line 1: 2 numbers after the word, but embedding.dimension is 3"),
        (line("good", 1, 2, 3) + line("soup", 1), "line 2: 1 numbers"),
        (line("good", 1, 2, 3, 4), "line 1: 4 numbers after the word"),
        ("2 4\n" + line("good", 1, 2, 3, 4), "line 2: 4 numbers after the word"),
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
def test_bad_files(embed, content: str | bytes, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TrlapError, match=message):
        embed(content)


def test_missing_file_and_unreachable_download(configure, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TrlapError, match="no such file"):
        build_table(configure("embedding.path=/nowhere.txt").embedding, WORDS)
    import gensim.downloader

    def unreachable(name: str, return_path: bool = False) -> str:
        assert return_path, "without it gensim imports downloaded Python"
        raise OSError("no network")

    monkeypatch.setattr(gensim.downloader, "load", unreachable)
    with pytest.raises(
        TrlapError, match="cannot fetch fasttext-wiki-news-subwords-300.*embedding.path="
    ):
        build_table(configure("embedding=fasttext").embedding, WORDS)


def test_gensim_download_is_read_by_path(configure, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    import gensim.downloader

    (tmp_path / "glove.gz").write_bytes(gzip.compress(("4 3\n" + GLOVE).encode()))
    monkeypatch.setattr(
        gensim.downloader, "load", lambda name, return_path: str(tmp_path / "glove.gz")
    )
    table = build_table(configure("embedding=glove", "embedding.dimension=3").embedding, WORDS)
    assert table.known.sum() == 2


def test_glove840b_comes_from_the_wheel(configure) -> None:  # type: ignore[no-untyped-def]
    table = build_table(configure().embedding, WORDS)
    assert table.vectors.shape == (5, 300)
    assert table.known.tolist() == [False, True, True, True, False]
    words = frequent_words()
    assert len(words) == 33_849  # 33,860 less those with a no-break space
    assert words.index("the") < 10
    good, bad, soup = table.vectors[1:4] / np.linalg.norm(table.vectors[1:4], axis=1, keepdims=True)
    assert good @ bad > good @ soup


def test_random_vectors_and_round_trip(configure, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    table = build_table(configure("embedding=random").embedding, WORDS)
    assert np.allclose(np.linalg.norm(table.vectors, axis=1), 1)
    assert np.allclose(table.vectors[1], random_vector("good", 300, 0))
    assert not np.allclose(random_vector("good", 300, 0), random_vector("good", 300, 1))
    table.save(tmp_path)
    assert np.array_equal(Table.read(tmp_path).vectors, table.vectors)


def test_fingerprint_knows_content_and_not_place(configure, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    keys = []
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(GLOVE)
        keys.append(fingerprint(configure(f"embedding.path={tmp_path / name}").embedding))
    assert keys[0] == keys[1]
    (tmp_path / "a.txt").write_text(GLOVE + " ")
    assert fingerprint(configure(f"embedding.path={tmp_path / 'a.txt'}").embedding) != keys[1]
