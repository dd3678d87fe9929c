import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import huggingface_hub
import pytest
from omegaconf import DictConfig, OmegaConf

from trlap.data import corpus as corpora
from trlap.data.corpus import Corpus
from trlap.errors import TrlapError

Make = Callable[..., DictConfig]


@pytest.fixture(autouse=True)
def _no_local_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRLAP_DATA", raising=False)


COMPOSED: dict[str, DictConfig] = {}  # composing takes longer than most tests here


@pytest.fixture
def make(configure: Callable[..., DictConfig]) -> Make:
    """The dataset part of a config: make("text", path=…, split__test=10)."""

    def make(name: str, **keys: Any) -> DictConfig:
        if name not in COMPOSED:
            COMPOSED[name] = configure(f"dataset={name}").dataset
        cfg = COMPOSED[name].copy()
        for key, value in keys.items():
            value = str(value) if isinstance(value, Path) else value
            OmegaConf.update(cfg, key.replace("__", "."), value)
        return cfg

    return make


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in the format of the file's extension, by another way than the code under test."""
    columns = list(rows[0])
    path.parent.mkdir(exist_ok=True)
    match path.suffix:
        case ".txt":
            path.write_text("".join(f"{row['text']}\n" for row in rows), encoding="utf-8")
        case ".tsv":
            lines = [columns, *([str(row[c]) for c in columns] for row in rows)]
            path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
        case ".csv":
            lines = [columns, *([str(row[c]).replace('"', '""') for c in columns] for row in rows)]
            text = "".join(",".join(f'"{field}"' for field in line) + "\n" for line in lines)
            path.write_text(text, encoding="utf-8")
        case ".json" | ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        case ".parquet":
            datasets.Dataset.from_list(rows).to_parquet(path)
    return path


def numbered(count: int, label: int | None = None, start: int = 0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"text": f"Row {i}, here."} for i in range(start, start + count)]
    for i, row in enumerate(rows):
        row["label"] = i % 2 if label is None else label
    return rows


def sizes(corpus: Corpus) -> tuple[int, int, int]:
    train, validation, test = (
        len(corpus.splits[name].texts) for name in ("train", "validation", "test")
    )
    return train, validation, test


def everything(corpus: Corpus) -> list[tuple[str, int | None]]:
    return [
        (text, split.labels[i] if split.labels else None)
        for split in corpus.splits.values()
        for i, text in enumerate(split.texts)
    ]


# --- the embedded corpus and real ones ------------------------------------------------------------


def test_demo(make: Make) -> None:
    corpus = corpora.load(make("demo"))
    assert sizes(corpus) == (4000, 400, 400)
    assert corpus.label_names == ["negative", "positive"]
    assert Counter(corpus.splits["test"].labels) == {0: 200, 1: 200}
    assert corpus.info["tokenized"] is False
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
    make: Make,
    name: str,
    expected: tuple[int, int, int] | None,
    tokenized: bool,
) -> None:
    if not (corpora_folder / name).is_dir():
        pytest.skip(f"no {name} in TRLAP_DATA")
    monkeypatch.setenv("TRLAP_DATA", str(corpora_folder))
    corpus = corpora.load(make(name))
    assert corpus.info["tokenized"] is tokenized
    assert corpus.info["sentences_cut_by"] is None
    assert list(corpus.info["source"]) == ["files"]
    if expected:
        assert sizes(corpus) == expected
    else:  # fewer rows than the paper's: 16 : 4 : 4, and balanced
        train, validation, test = sizes(corpus)
        assert validation == test
        assert 4 * test <= train < 4 * test + 4
        assert 16_000 < train + validation + test <= 17_600
        assert f"{test:,} of 4,000 test" in " ".join(corpus.info["notes"])
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


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".CSV"])
def test_formats(make: Make, tmp_path: Path, suffix: str) -> None:
    rows = [
        {"id": "x", "text": 'He said "null".', "stars": 5},
        {"id": "y", "text": "NA", "stars": 1},
        {"id": "z", "text": 'nan, "naïve, yes', "stars": 1},
        {"id": "w", "text": "Fourth", "stars": 5},
    ]
    write(tmp_path / f"mine{suffix.lower()}", rows).rename(tmp_path / f"mine{suffix}")
    corpus = corpora.load(make("text", path=tmp_path / f"mine{suffix}", label="stars"))
    assert corpus.label_names == ["1", "5"]
    assert sorted(everything(corpus)) == [
        ("fourth", 1),
        ('he said " null " .', 1),
        ("na", 0),
        ('nan , " naïve , yes', 0),
    ]


def test_text_file(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes('\ufeffOne, two.\r\n\r\nNA\r\n  \r\n"Three"\nfour'.encode())
    corpus = corpora.load(make("text", path=path))
    assert corpus.label_names is None
    assert {text for text, _ in everything(corpus)} == {"one , two .", "na", '" three "', "four"}
    assert "2 rows without text left out" in corpus.info["notes"]


def test_folder_with_all_splits_is_taken_as_it_is(make: Make, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(30))
    write(tmp_path / "dev.jsonl", numbered(5, start=100))
    write(tmp_path / "test.tsv", numbered(7, start=200))
    corpus = corpora.load(make("text", path=tmp_path, label="label"))
    assert sizes(corpus) == (30, 5, 7)
    assert corpus.splits["train"].texts == [f"row {i} , here ." for i in range(30)]
    assert corpus.splits["test"].labels == [0, 1, 0, 1, 0, 1, 0]
    assert set(corpus.info["source"]["files"]) == {"train", "validation", "test"}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, (76, 4, 20)),  # 20 % test, 5 % of the rest for validation
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
    make: Make, tmp_path: Path, keys: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    path = write(tmp_path / "mine.csv", numbered(100))
    corpus = corpora.load(make("text", path=path, **keys))
    assert sizes(corpus) == expected
    texts = [text for text, _ in everything(corpus)]
    assert len(set(texts)) == len(texts)
    shrunk = keys.get("split__train") == 400
    assert any("ratios kept" in note for note in corpus.info["notes"]) is shrunk


def test_splits_of_a_source_shrink_together(make: Make, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(500))
    write(tmp_path / "test.csv", numbered(10, start=1000))
    corpus = corpora.load(make("text", path=tmp_path, split__train=200, split__test=20))
    assert sizes(corpus) == (95, 5, 10)
    assert "100 of 200 train, 10 of 20 test" in corpus.info["notes"][0]
    numbers = [int(text.split()[1]) for text in corpus.splits["test"].texts]
    assert min(numbers) >= 1000


def test_pool_and_balance(make: Make, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(60, label=0))
    write(tmp_path / "test.csv", numbered(25, label=1, start=1000))
    keys = {"path": tmp_path, "label": "label", "split__pool": True, "split__per_label": 30}
    corpus = corpora.load(make("text", **keys, split__train=16, split__test=4))
    assert sizes(corpus) == (15, 1, 4)
    assert Counter(corpus.splits["test"].labels) == {0: 2, 1: 2}
    corpus = corpora.load(make("text", **keys))
    assert sum(sizes(corpus)) == 50  # 25 of each label
    assert Counter(corpus.splits["test"].labels) == {0: 5, 1: 5}


def test_own_unknown_mark_long_and_empty_sentences(make: Make, tmp_path: Path) -> None:
    lines = ["a _UNK b .", "one two three four five six", "", "Drunk_UNKle ok .", "fine ."] * 4
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(lines))
    keys = {"path": path, "unknown": "_UNK", "max_words": 5}
    for tokenized, kept in ((True, "drunk_unkle ok ."), (False, "drunk _ unkle ok .")):
        corpus = corpora.load(make("text", **keys, tokenized=tokenized))
        texts = {text for text, _ in everything(corpus)}
        assert texts == {"a <unk> b .", kept, "fine ."}
        assert sorted(corpus.info["notes"][1:]) == [
            "4 rows without text left out",
            "4 sentences of more than 5 words left out",
        ]


def test_overlap_is_counted(make: Make, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(50))
    write(tmp_path / "test.csv", numbered(10, start=1000) + numbered(1))
    write(tmp_path / "valid.csv", numbered(3))
    corpus = corpora.load(make("text", path=tmp_path))
    assert corpus.info["test_also_in_train"] == 1


def test_same_seed_same_corpus_another_seed_another(make: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", numbered(200))
    first, again, other = (
        corpora.load(make("text", path=path, label="label", seed=seed)) for seed in (0, 0, 1)
    )
    assert first == again
    assert first.splits["test"].texts != other.splits["test"].texts


def test_a_limit_leaves_the_other_splits_alone(make: Make, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        ([0, 1, 2, 1], None, ["0", "1", "2"]),
        ([10, 9, 1, 9], None, ["1", "9", "10"]),
        (["pos", "neg", "pos", "neg"], None, ["neg", "pos"]),
        (["pos", "neg", "pos", "neg"], ["pos", "neg"], ["pos", "neg"]),
        ([0, 1, 1, 0], ["bad", "good"], ["bad", "good"]),
        ([1.0, 0.0, 1.0, 0.0], None, ["0", "1"]),
    ],
)
def test_labels(
    make: Make, tmp_path: Path, labels: list[Any], names: list[str] | None, expected: list[str]
) -> None:
    rows = [{"text": f"row {i}", "label": label} for i, label in enumerate(labels)]
    path = write(tmp_path / "mine.parquet", rows)
    keys = {"label_names": names} if names else {}
    corpus = corpora.load(make("text", path=path, label="label", **keys))
    assert corpus.label_names == expected
    for text, i in everything(corpus):
        label = labels[int(text.split()[1])]
        assert i is not None
        by_position = names == ["bad", "good"]
        assert i == label if by_position else float(i) == expected.index(f"{label}".split(".")[0])


def test_round_trip(make: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", numbered(50))
    for keys in ({}, {"label": "label"}):
        corpus = corpora.load(make("text", path=path, **keys))
        corpora.save(corpus, tmp_path)
        assert corpora.read(tmp_path) == corpus
        json.dumps(corpus.info, allow_nan=False)


def test_reading_a_saved_corpus_and_the_fingerprint_import_nothing_heavy(
    make: Make, tmp_path: Path
) -> None:
    corpora.save(corpora.load(make("demo", limit__train=5)), tmp_path)
    code = (
        "import sys; from pathlib import Path; from omegaconf import OmegaConf\n"
        "from trlap.config.schema import Dataset; from trlap.data import corpus\n"
        "corpus.fingerprint(OmegaConf.structured(Dataset(name='demo')))\n"
        "assert 'pyarrow' not in sys.modules\n"
        "corpus.read(Path(sys.argv[1]))\n"
        "assert not {'datasets', 'torch', 'transformers', 'huggingface_hub'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)


def test_nothing_is_left_in_the_cache_of_the_library(make: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", numbered(50))
    before = set(Path(datasets.config.HF_DATASETS_CACHE).glob("*"))
    corpora.load(make("text", path=path))
    assert set(Path(datasets.config.HF_DATASETS_CACHE).glob("*")) == before


def test_fingerprint_is_by_content(make: Make, tmp_path: Path) -> None:
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


def test_local_corpora_go_before_the_hub(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "yelp" / "train.tsv", numbered(40))
    write(tmp_path / "yelp" / "test.tsv", numbered(10))
    monkeypatch.setenv("TRLAP_DATA", str(tmp_path))
    assert "files" in corpora.fingerprint(make("yelp"))
    assert "hub" in corpora.fingerprint(make("yahoo"))
    other = write(tmp_path / "other.csv", numbered(40))
    assert list(corpora.fingerprint(make("yelp", path=other))["files"]) == ["train"]


# --- bad input ------------------------------------------------------------------------------------

GOOD = "text,label\n" + "".join(f"Row {i}.,{i % 2}\n" for i in range(10))
BAD: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "empty file": ("a.csv", b"", {}, "the file is empty"),
    "header alone": ("a.csv", b"text,label\n", {}, "no rows"),
    "only blank lines": ("a.txt", b"\n \n\n", {}, "too few"),
    "empty jsonl": ("a.jsonl", b"\n", {}, "no rows"),
    "not UTF-8": ("a.csv", b"text\nok\nna\xefve\n", {}, r"not UTF-8 at byte 11 \(line 3\)"),
    "UTF-16": ("a.txt", "text".encode("utf-16"), {}, r"not UTF-8 at byte 1 "),
    "no text column": ("a.csv", GOOD.encode(), {"text": "body"}, "'body', it has text, label"),
    "no label column": ("a.csv", GOOD.encode(), {"label": "y"}, "'y', it has text, label"),
    "label of .txt": ("a.txt", b"a\nb\n", {"label": "y"}, "'y', it has text"),
    "missing label": ("a.csv", b"text,label\na,1\nb,\n", {"label": "label"}, "row 2 has no label"),
    "null label": (
        "a.jsonl",
        b'{"text": "a", "label": 1}\n{"text": "b"}\n',
        {"label": "label"},
        "row 2 has no label",
    ),
    "label out of range": (
        "a.csv",
        b"text,label\na,0\nb,7\n",
        {"label": "label", "label_names": ["x", "y"]},
        "row 2 has the label '7', not one of 0, 1",
    ),
    "label without a name": (
        "a.csv",
        b"text,label\na,x\nb,z\n",
        {"label": "label", "label_names": ["x", "y"]},
        "row 2 has the label 'z', not one of x, y",
    ),
    "negative label": (
        "a.csv",
        b"text,label\na,0\nb,-1\n",
        {"label": "label", "label_names": ["x", "y"]},
        "row 2 has the label '-1'",
    ),
    "extension": ("a.xlsx", b"x", {}, "supported: .csv .tsv .txt .jsonl .json .parquet"),
    "too many fields": ("a.csv", b"text,label\na, b,1\nc, d,1\n", {}, "cannot be read as .csv"),
    "more fields later": ("a.csv", b"text,label\na,1\nc, d,1\n", {}, "Expected 2 fields in line 3"),
    "broken json": ("a.jsonl", b'{"text": "a"}\n{"text":\n', {}, "cannot be read as .jsonl"),
    "broken parquet": ("a.parquet", b"nonsense", {}, "cannot be read as .parquet"),
    "too small": ("a.txt", b"one row\n", {}, "1 sentences are too few for train and test"),
    "too small to validate": ("a.txt", b"one\ntwo\n", {}, "too few for validation"),
    "test too large": ("a.csv", GOOD.encode(), {"split__test": 10}, "too few for train and test"),
    "balance without labels": ("a.csv", GOOD.encode(), {"split__per_label": 2}, "needs labels"),
    "all too long": ("a.csv", GOOD.encode(), {"max_words": 1}, "too few"),
}


@pytest.mark.parametrize(("file", "content", "keys", "message"), BAD.values(), ids=BAD.keys())
def test_bad_files(
    make: Make, tmp_path: Path, file: str, content: bytes, keys: dict[str, Any], message: str
) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(TrlapError, match=message) as error:
        corpora.load(make("text", path=path, **keys))
    assert "\n" not in str(error.value)


def test_bad_places(make: Make, tmp_path: Path) -> None:
    with pytest.raises(TrlapError, match=r"needs dataset\.path="):
        corpora.fingerprint(make("text"))
    with pytest.raises(TrlapError, match=r"nowhere\.csv: no such file"):
        corpora.fingerprint(make("text", path=tmp_path / "nowhere.csv"))
    with pytest.raises(TrlapError, match="no train file"):
        corpora.fingerprint(make("text", path=tmp_path))
    (tmp_path / "train.csv").touch()
    with pytest.raises(TrlapError, match=r"train\.csv: the file is empty"):
        corpora.fingerprint(make("text", path=tmp_path))
    write(tmp_path / "train.tsv", numbered(5))
    with pytest.raises(TrlapError, match=r"train\.csv or train\.tsv"):
        corpora.fingerprint(make("text", path=tmp_path))
    with pytest.raises(TrlapError, match="dataset=demo is embedded"):
        corpora.fingerprint(make("demo", path=tmp_path))


# --- the hub --------------------------------------------------------------------------------------

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A hub that serves `tables` and writes down what it was asked."""
    asked: dict[str, Any] = {}

    def dataset_info(self: Any, name: str, **options: Any) -> SimpleNamespace:
        asked["info"] = (name, options["revision"])
        return SimpleNamespace(sha=COMMIT)

    def load_dataset(*names: str | None, **options: Any) -> datasets.DatasetDict:
        asked["load"] = (names, options)
        return asked["tables"]

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", dataset_info)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return asked


def hub_table(labels: list[str] | None, rows: list[dict[str, Any]]) -> datasets.Dataset:
    features = datasets.Features({name: datasets.Value("string") for name in rows[0]})
    if labels:
        features["label"] = datasets.ClassLabel(names=labels)
    return datasets.Dataset.from_list(rows, features)


def test_hub_sst2_drops_hidden_labels(make: Make, hub: dict[str, Any]) -> None:
    def rows(count: int, hidden: bool = False) -> list[dict[str, Any]]:
        return [
            {"idx": "0", "sentence": f"it 's row {i} , fine ", "label": -1 if hidden else i % 2}
            for i in range(count)
        ]

    names = ["negative", "positive"]
    hub["tables"] = datasets.DatasetDict(
        train=hub_table(names, rows(80)),
        validation=hub_table(names, rows(20)),
        test=hub_table(names, rows(30, hidden=True)),
    )
    corpus = corpora.load(make("sst2", revision="v1"))
    assert hub["info"] == ("stanfordnlp/sst2", "v1")
    assert hub["load"] == (("stanfordnlp/sst2", None), {"revision": COMMIT})
    assert corpus.info["source"] == {
        "hub": "stanfordnlp/sst2",
        "subset": None,
        "revision": "v1",
        "commit": COMMIT,
    }
    train, validation, test = sizes(corpus)
    assert (train + validation, test) == (79, 20)  # 54,576 : 13,645 of 100, rounded down
    assert "30 rows without a label left out" in " ".join(corpus.info["notes"])


def test_hub_sst2_sentence_renames_its_column(make: Make, hub: dict[str, Any]) -> None:
    rows = [{"text": f"it 's row {i} , fine", "label": i % 2, "label_text": "x"} for i in range(40)]
    table = datasets.Dataset.from_list(rows)
    hub["tables"] = datasets.DatasetDict(train=table, validation=table, test=table)
    corpus = corpora.load(make("sst2_sentence"))
    assert corpus.info["tokenized"] is True
    assert corpus.label_names == ["negative", "positive"]


REVIEW = (
    "I waited 2 hrs. for Dr. Lee at 7:30pm.\\n\\nIt wasn't worth it.Never again!! "
    'They said \\"no way\\" &amp; laughed. Paid $7.50 <br /> for soup'
)


def test_hub_yelp_reviews_are_cut_into_sentences(make: Make, hub: dict[str, Any]) -> None:
    table = hub_table(["1", "2"], [{"text": REVIEW, "label": i % 2} for i in range(4000)])
    hub["tables"] = datasets.DatasetDict(train=table, test=table)
    corpus = corpora.load(make("yelp"))
    assert sizes(corpus) == (8112, 427, 2174)
    assert corpus.label_names == ["negative", "positive"]
    assert str(corpus.info["sentences_cut_by"]).startswith("nupunkt")
    assert set(corpus.splits["train"].texts) == {
        "i waited 2 hrs . for dr . lee at 7:30 pm .",
        "it was n't worth it .",
        "never again ! !",
        'they said " no way " & laughed .',
        "paid $7.50 for soup",
    }
    labels = Counter(corpus.splits["train"].labels)
    assert min(labels[0], labels[1]) > 3500


def test_only_as_many_documents_are_cut_as_needed(
    make: Make, hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = hub_table(["1", "2"], [{"text": REVIEW, "label": 0} for _ in range(20_000)])
    hub["tables"] = datasets.DatasetDict(train=table, test=table)
    read = []
    sentences = corpora.Reader.sentences
    monkeypatch.setattr(
        corpora.Reader, "sentences", lambda self, text: read.append(1) or sentences(self, text)
    )
    corpora.load(make("yelp"))
    assert len(read) == 2000 + 1000  # five sentences each, in chunks of 1,000


def test_hub_yahoo(make: Make, hub: dict[str, Any]) -> None:
    row = {"id": "1", "question_title": "Why?", "best_answer": "Because.\\nI don't know, sorry."}
    table = hub_table(None, [row] * 30)
    hub["tables"] = datasets.DatasetDict(train=table, test=table)
    corpus = corpora.load(make("yahoo"))
    assert corpus.label_names is None
    assert set(corpus.splits["test"].texts) == {"because .", "i do n't know , sorry ."}


def test_hub_agnews_without_its_debris(make: Make, hub: dict[str, Any]) -> None:
    text = 'Lukoil #39;s chief\\said  quot;no quot; &lt;A HREF="http://x.com/y"&gt;X&lt;/A&gt;.'
    names = ["World", "Sports", "Business", "Sci/Tech"]
    table = hub_table(names, [{"text": text, "label": i % 4} for i in range(48)])
    hub["tables"] = datasets.DatasetDict(train=table, test=table)
    corpus = corpora.load(make("agnews"))
    assert sizes(corpus) == (64, 16, 16)
    assert set(corpus.splits["train"].texts) == {'lukoil \'s chief said " no " x .'}
    assert Counter(corpus.splits["test"].labels) == dict.fromkeys(range(4), 4)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            ConnectionError("no route\nto host"),
            r"the hub does not serve it \(no route\).*TRLAP_DATA",
        ),
        (TimeoutError(), r"does not serve it \(TimeoutError\); give dataset\.path="),
        ("RepositoryNotFoundError", "not on the hub"),
        ("RevisionNotFoundError", "no revision v9"),
    ],
)
def test_hub_failures(
    make: Make, monkeypatch: pytest.MonkeyPatch, error: Exception | str, message: str
) -> None:
    if isinstance(error, str):  # they cannot be made without a server's answer
        kind = getattr(huggingface_hub.errors, error)
        error = kind.__new__(kind)

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", fail)
    with pytest.raises(TrlapError, match=f"fancyzhx/yelp_polarity: .*{message}") as raised:
        corpora.load(make("yelp", revision="v9"))
    assert "\n" not in str(raised.value)


def test_hub_without_train_or_column(make: Make, hub: dict[str, Any]) -> None:
    table = hub_table(None, [{"content": "a"}])
    hub["tables"] = datasets.DatasetDict(all=table)
    with pytest.raises(TrlapError, match="no train split on the hub; it has all"):
        corpora.load(make("yelp"))
    hub["tables"] = datasets.DatasetDict(train=table)
    with pytest.raises(TrlapError, match="'text', it has content"):
        corpora.load(make("yelp"))


def test_unreachable_hub(make: Make) -> None:
    try:
        socket.getaddrinfo("huggingface.co", 443)
    except OSError:
        pass
    else:
        pytest.skip("the hub can be reached")
    if any(name.lower().endswith("_proxy") for name in os.environ):
        pytest.skip("a proxy may reach the hub")
    with pytest.raises(TrlapError, match="fancyzhx/ag_news: the hub does not serve it"):
        corpora.load(make("agnews"))
