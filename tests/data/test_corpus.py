"""Whole corpora: embedded and real ones, on disk, and what identifies them."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import datasets
import pytest
from corpus_helpers import make, numbered, sizes, write

from trlap.data import corpus as corpora
from trlap.files import jsonable


@pytest.fixture(autouse=True)
def _no_local_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRLAP_DATA", raising=False)


def test_demo() -> None:
    corpus = corpora.load(make("demo"))
    assert sizes(corpus) == (4000, 400, 400)
    assert corpus.label_names == ["negative", "positive"]
    assert Counter(corpus.splits["test"].labels) == {0: 200, 1: 200}
    assert corpus.info.tokenized is False
    for text in corpus.splits["train"].texts:
        assert text == " ".join(text.lower().split())
    topics = corpora.load(make("demo", label="topic"))
    assert len(topics.label_names or []) == 8
    assert topics.splits["train"].texts == corpus.splits["train"].texts


@pytest.mark.parametrize(
    ("name", "expected", "tokenized"),
    [
        ("yelp", (8539 - 427, 427, 2174), True),
        ("yahoo", (17212 - 861, 861, 4363), True),
        ("sst2", (54576 - 2729, 2729, 13645), True),
        ("sst2_sentence", (6920 - 346, 346, 1821), True),
        ("agnews", None, False),
    ],
)
def test_real_corpora(
    corpora_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    expected: tuple[int, int, int] | None,
    tokenized: bool,
) -> None:
    if not (corpora_folder / name).is_dir():
        pytest.skip(f"no {name} in TRLAP_DATA")
    monkeypatch.setenv("TRLAP_DATA", str(corpora_folder))
    corpus = corpora.load(make(name))
    assert corpus.info.tokenized is tokenized
    assert corpus.info.sentences_cut_by is None
    assert list(corpus.info.source) == ["files"]
    if expected:
        assert sizes(corpus) == expected
    else:
        # fewer rows than the paper's: 16 : 4 : 4, and balanced
        train, validation, test = sizes(corpus)
        assert validation == test
        assert 4 * test <= train < 4 * test + 4
        assert 16_000 < train + validation + test <= 17_600
        assert f"{test:,} of 4,000 test" in " ".join(corpus.info.notes)
        for split in corpus.splits.values():
            counts = Counter(split.labels).values()
            assert len(counts) == 4
            assert max(counts) - min(counts) <= 1
    if name == "yahoo":
        words = Counter(word for text in corpus.splits["train"].texts for word in text.split())
        assert words["<unk>"] > 1000
        assert words["_unk"] == 0
    else:
        labels = [label for split in corpus.splits.values() for label in split.labels or []]
        assert set(labels) == set(range(len(corpus.label_names or [])))


@pytest.fixture(scope="session")
def corpora_folder(corpora: Path) -> Path:
    return corpora


def test_round_trip(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", numbered(50))
    for keys in ({}, {"label": "label"}):
        corpus = corpora.load(make("text", path=path, **keys))
        corpora.save(corpus, tmp_path)
        assert corpora.read(tmp_path) == corpus
        json.dumps(jsonable(corpus.info), allow_nan=False)


def test_reading_a_saved_corpus_and_the_fingerprint_import_nothing_heavy(tmp_path: Path) -> None:
    corpora.save(corpora.load(make("demo", limit__train=5)), tmp_path)
    code = (
        "import sys; from pathlib import Path\n"
        "import trlap.config, trlap.files\n"
        "from trlap.config.schema import Dataset; from trlap.data import corpus\n"
        "corpus.fingerprint(Dataset(name='demo'))\n"
        "assert 'pyarrow' not in sys.modules\n"
        "corpus.read(Path(sys.argv[1]))\n"
        "heavy = {'datasets', 'torch', 'transformers', 'huggingface_hub', 'pandas'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)


def test_nothing_is_left_in_the_cache_of_the_library(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", numbered(50))
    before = set(Path(datasets.config.HF_DATASETS_CACHE).glob("*"))
    corpora.load(make("text", path=path))
    assert set(Path(datasets.config.HF_DATASETS_CACHE).glob("*")) == before


def test_fingerprint_is_by_content(tmp_path: Path) -> None:
    here = write(tmp_path / "a" / "mine.csv", numbered(5))
    there = write(tmp_path / "b" / "mine.csv", numbered(5))
    first, second = (corpora.fingerprint(make("text", path=path)) for path in (here, there))
    assert first == second
    assert str(tmp_path) not in json.dumps(first)
    write(there, numbered(6))
    assert corpora.fingerprint(make("text", path=there)) != first
    assert list(corpora.fingerprint(make("demo"))) == ["demo"]
    assert corpora.fingerprint(make("yelp", revision="abc")) == {
        "hub": "fancyzhx/yelp_polarity",
        "subset": None,
        "revision": "abc",
    }


def test_local_corpora_go_before_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "yelp" / "train.tsv", numbered(40))
    write(tmp_path / "yelp" / "test.tsv", numbered(10))
    monkeypatch.setenv("TRLAP_DATA", str(tmp_path))
    assert "files" in corpora.fingerprint(make("yelp"))
    assert "hub" in corpora.fingerprint(make("yahoo"))
    other = write(tmp_path / "other.csv", numbered(40))
    files = corpora.fingerprint(make("yelp", path=other))["files"]
    assert isinstance(files, dict)
    assert list(files) == ["train"]


def test_what_is_known_of_a_corpus_is_written_as_before(tmp_path: Path) -> None:
    """Cached corpora and results of earlier versions have these keys, in this order."""
    corpus = corpora.load(make("demo", limit__train=5))
    corpora.save(corpus, tmp_path)
    written = json.loads((tmp_path / "corpus.json").read_text(encoding="utf-8"))
    assert list(written) == ["name", "label_names", "info"]
    splits = ("train", "validation", "test")
    assert list(written["info"].items()) == [
        ("source", corpora.fingerprint(make("demo"))),
        ("tokenized", False),
        ("tokenized_known_by", "the text"),
        ("sentences_cut_by", None),
        ("asked", asdict(make("demo").split)),
        ("limit", {"train": 5, "validation": None, "test": None}),
        ("sizes", {"train": 5, "validation": 400, "test": 400}),
        ("test_also_in_train", 0),
        ("notes", []),
    ]
    assert set(written["info"]["asked"]) == {*splits, "pool", "per_label", "validation_share"}
