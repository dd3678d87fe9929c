"""What the authors' classifier reads: lemmas, the next word's vector, an average over the padding too."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from classify_helpers import VECTORS, VOCABULARY, rows
from conftest import TINY, Run

from trlap.config.door import Config
from trlap.config.protocols import PAPER, RELEASE
from trlap.config.schema import Embedding
from trlap.data.rows import Row, Rows
from trlap.data.vocabulary import Vocabulary
from trlap.embeddings.vectors import build_embedding
from trlap.mechanisms._decoding import Reading
from trlap.models.classifiers._forms import Means
from trlap.models.classifiers._released import PADDING, as_released, lemma, standardised
from trlap.runs.result import read
from trlap.stages.base import Identity

Configure = Callable[..., Config]
WORDS = ["<unk>", "soup", "good", "the", "bad"]
TABLE = np.arange(10, dtype=np.float32).reshape(5, 2)
SIDES = {"train": "original", "validation": "original", "test": "original"}


def corpus(*texts: str) -> Rows:
    return {"train": [Row("train", text, label=0) for text in texts], "validation": [], "test": []}


def words(name: list[str]) -> Vocabulary:
    return Vocabulary(name, np.full(len(name), 1 / len(name)), public=False)


def test_nouns_lose_their_endings_where_the_rest_is_a_word() -> None:
    known = {"cook", "glass", "wolf", "box", "quiz", "dish", "church", "woman", "city", "a", "as"}
    forms = ["cooks", "glasses", "wolves", "boxes", "dishes", "churches", "women", "cities"]
    expected = ["cook", "glass", "wolf", "box", "dish", "church", "woman", "city"]
    assert [lemma(form, known) for form in forms] == expected
    assert lemma("tables", known) == "tables" and lemma("", known) == ""
    # the shortest, as nltk has it
    assert lemma("as", known) == "a"
    assert lemma("glass", known | {"glas"}) == "glas"


def test_a_text_loses_punctuation_and_single_letters() -> None:
    assert standardised("We do n't like <unk> a Soups , x !", {"soup"}) == [
        *("we", "do", "t", "like", "unk", "soup")
    ]


def test_every_word_gets_the_vector_of_the_next_one() -> None:
    # three times the, twice good, once soup and zebra, which nobody has a vector for
    data = corpus("the good soup .", "the good", "the zebra")
    found = as_released(data, SIDES, words(WORDS), TABLE, 10_000)
    assert found.vocabulary.words == [PADDING, "the", "good", "soup", "zebra"]
    by_word = dict(zip(found.vocabulary.words, found.vectors.tolist(), strict=True))
    assert by_word["the"] == TABLE[WORDS.index("good")].tolist()
    assert by_word["good"] == TABLE[WORDS.index("soup")].tolist()
    # zebra's row is zero, and behind the last there is none
    assert by_word["soup"] == by_word["zebra"] == [0, 0]
    assert by_word[PADDING] == TABLE[WORDS.index("the")].tolist()


def test_the_last_word_of_a_full_list_and_all_others_are_left_out() -> None:
    data = corpus("the the the good good bad soup")
    found = as_released(data, SIDES, words(WORDS), TABLE, 3)
    assert found.vocabulary.words == [PADDING, "the", "good", "bad"]
    assert found.rows["train"][0].original == "the the the good good"


def test_the_average_is_over_the_padding_too() -> None:
    data = corpus("the good soup .", "good", ", !")
    found = as_released(data, SIDES, words(WORDS), TABLE, 10_000)
    texts = [row.original for row in found.rows["train"]]
    assert texts == ["the good soup", f"{PADDING} {PADDING} good", " ".join([PADDING] * 3)]
    means = Means(texts, found.vocabulary, Reading.plain(found.vectors), "cpu").fixed.numpy()
    # good is the commonest word here: its own vector is the padding's
    padding, good = TABLE[WORDS.index("good")], TABLE[WORDS.index("the")]
    assert means[1] == pytest.approx((2 * padding + good) / 3)
    assert means[2] == pytest.approx(padding)


def test_the_side_that_is_read_and_no_other() -> None:
    data = rows(4, 2, 2)
    sides = {"train": "private", "validation": "private", "test": "original"}
    found = as_released(data, sides, VOCABULARY, VECTORS, 50)
    for split, side, other in (("train", "private", "original"), ("test", "original", "private")):
        for before, after in zip(data[split], found.rows[split], strict=True):
            assert after.text(other) == before.text(other)
            assert after.text(side).split()[-1] in before.text(side).split()
            assert after.label == before.label


def test_random_vectors_are_normal_there() -> None:
    names = [f"word{i}" for i in range(200)]
    config = Embedding("random", "random", dimension=300)
    normal = build_embedding(config, names, normal=True)
    assert normal.info.median_length == pytest.approx(17.3, abs=0.2)
    assert normal.vectors.std() == pytest.approx(1, abs=0.02)
    ours = build_embedding(config, names)
    assert np.linalg.norm(ours.vectors, axis=1) == pytest.approx(1)
    # the same directions
    assert normal.vectors[3] / np.linalg.norm(normal.vectors[3]) == pytest.approx(ours.vectors[3])
    # a source has its own lengths
    glove = Embedding("glove840b", "asset", "glove840b")
    one, two = (build_embedding(glove, ["good", "zzzz"], normal=n).vectors for n in (True, False))
    assert np.array_equal(one, two)


def test_what_differs_has_folders_of_its_own(config: Configure) -> None:
    def folder(stage: str, *keys: str) -> str:
        return Identity(config(*keys)).folders[stage]

    random = "embedding=random"
    assert folder("embedding", random) != folder("embedding", random, "protocol=release")
    assert folder("embedding") == folder("embedding", "protocol=release")
    assert not PAPER.classifier_reads_as_released and RELEASE.classifier_reads_as_released
    small = "dataset.vocabulary_size=500"
    assert folder("classify", "protocol=release") != folder("classify", "protocol=release", small)


def test_a_released_classifier_learns(run: Run, tmp_path: Path) -> None:
    keys = ("classifier.seeds=[1]", "classifier.lr=0.01", "classifier.epochs=5", "model.epochs=1")
    stages = "stages=[privatize,rewrite,classify,metrics]"
    done = run("protocol=release", "mechanism=none", stages, *TINY, *keys)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "outputs").glob("*/result.json")
    accuracy = read(path).metrics.value("accuracy")
    assert accuracy is not None and 0 <= accuracy <= 1
