"""How a source is cut into train, validation and test."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from corpus_helpers import everything, make, numbered, sizes, write

from trlap.data import corpus as corpora


@pytest.fixture(autouse=True)
def _no_local_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRLAP_DATA", raising=False)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        # 20 % test, 5 % of the rest for validation
        ({}, (76, 4, 20)),
        ({"split__test": 10}, (86, 4, 10)),
        ({"split__train": 40}, (38, 2, 10)),
        ({"split__train": 40, "split__validation": 8, "split__test": 12}, (40, 8, 12)),
        ({"split__train": 400, "split__validation": 50, "split__test": 50}, (80, 10, 10)),
        ({"split__validation_share": 0.25}, (60, 20, 20)),
        ({"limit__train": 5}, (5, 4, 20)),
        ({"limit__train": 5, "limit__validation": 2, "limit__test": 3}, (5, 2, 3)),
        ({"limit__train": 5000}, (76, 4, 20)),
    ],
)
def test_cutting_one_file(
    tmp_path: Path, keys: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    path = write(tmp_path / "mine.csv", numbered(100))
    corpus = corpora.load(make("text", path=path, **keys))
    assert sizes(corpus) == expected
    texts = [text for text, _ in everything(corpus)]
    assert len(set(texts)) == len(texts)
    shrunk = keys.get("split__train") == 400
    assert any("ratios kept" in note for note in corpus.info.notes) is shrunk


def test_splits_of_a_source_shrink_together(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(500))
    write(tmp_path / "test.csv", numbered(10, start=1000))
    corpus = corpora.load(make("text", path=tmp_path, split__train=200, split__test=20))
    assert sizes(corpus) == (95, 5, 10)
    assert "100 of 200 train, 10 of 20 test" in corpus.info.notes[0]
    numbers = [int(text.split()[1]) for text in corpus.splits["test"].texts]
    assert min(numbers) >= 1000


def test_pool_and_balance(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(60, label=0))
    write(tmp_path / "test.csv", numbered(25, label=1, start=1000))
    keys = {"path": tmp_path, "label": "label", "split__pool": True, "split__per_label": 30}
    corpus = corpora.load(make("text", **keys, split__train=16, split__test=4))
    assert sizes(corpus) == (15, 1, 4)
    assert Counter(corpus.splits["test"].labels) == {0: 2, 1: 2}
    corpus = corpora.load(make("text", **keys))
    # 25 of each label
    assert sum(sizes(corpus)) == 50
    assert Counter(corpus.splits["test"].labels) == {0: 5, 1: 5}


def test_overlap_is_counted(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(50))
    write(tmp_path / "test.csv", numbered(10, start=1000) + numbered(1))
    write(tmp_path / "valid.csv", numbered(3))
    corpus = corpora.load(make("text", path=tmp_path))
    assert corpus.info.test_also_in_train == 1


def test_same_seed_same_corpus_another_seed_another(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", numbered(200))
    first, again, other = (
        corpora.load(make("text", path=path, label="label", seed=seed)) for seed in (0, 0, 1)
    )
    assert first == again
    assert first.splits["test"].texts != other.splits["test"].texts


def test_a_limit_leaves_the_other_splits_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", numbered(200))
    full = corpora.load(make("text", path=path))
    train = corpora.load(make("text", path=path, limit__train=10))
    both = corpora.load(make("text", path=path, limit__train=10, limit__test=5))
    assert train.splits["test"] == full.splits["test"]
    assert train.splits["validation"] == both.splits["validation"] == full.splits["validation"]
    assert both.splits["train"] == train.splits["train"]
    assert set(both.splits["test"].texts) < set(full.splits["test"].texts)
    larger = corpora.load(make("text", path=path, limit__test=9)).splits["test"].texts
    assert larger[:5] == both.splits["test"].texts
