"""Corpora of the Hugging Face hub, served by a hub of our own."""

import os
import socket
from collections import Counter
from types import SimpleNamespace
from typing import Any

import datasets
import huggingface_hub
import pytest
from corpus_helpers import make, sizes

from trlap.data import corpus as corpora
from trlap.data.cleaning import Reader
from trlap.errors import TrlapError


@pytest.fixture(autouse=True)
def _no_local_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRLAP_DATA", raising=False)


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


def test_hub_sst2_drops_hidden_labels(hub: dict[str, Any]) -> None:
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
    assert corpus.info.source == {
        "hub": "stanfordnlp/sst2",
        "subset": None,
        "revision": "v1",
        "commit": COMMIT,
    }
    train, validation, test = sizes(corpus)
    # 54,576 : 13,645 of 100, rounded down
    assert (train + validation, test) == (79, 20)
    assert "30 rows without a label left out" in " ".join(corpus.info.notes)


def test_hub_sst2_sentence_renames_its_column(hub: dict[str, Any]) -> None:
    rows = [{"text": f"it 's row {i} , fine", "label": i % 2, "label_text": "x"} for i in range(40)]
    table = datasets.Dataset.from_list(rows)
    hub["tables"] = datasets.DatasetDict(train=table, validation=table, test=table)
    corpus = corpora.load(make("sst2_sentence"))
    assert corpus.info.tokenized is True
    assert corpus.label_names == ["negative", "positive"]


REVIEW = (
    "I waited 2 hrs. for Dr. Lee at 7:30pm.\\n\\nIt wasn't worth it.Never again!! "
    'They said \\"no way\\" &amp; laughed. Paid $7.50 <br /> for soup'
)


def test_hub_yelp_reviews_are_cut_into_sentences(hub: dict[str, Any]) -> None:
    table = hub_table(["1", "2"], [{"text": REVIEW, "label": i % 2} for i in range(4000)])
    hub["tables"] = datasets.DatasetDict(train=table, test=table)
    corpus = corpora.load(make("yelp"))
    assert sizes(corpus) == (8112, 427, 2174)
    assert corpus.label_names == ["negative", "positive"]
    assert str(corpus.info.sentences_cut_by).startswith("nupunkt")
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
    hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = hub_table(["1", "2"], [{"text": REVIEW, "label": 0} for _ in range(20_000)])
    hub["tables"] = datasets.DatasetDict(train=table, test=table)
    read = []
    sentences = Reader.sentences

    def counted(self: Reader, text: object) -> list[str]:
        read.append(1)
        return sentences(self, text)

    monkeypatch.setattr(Reader, "sentences", counted)
    corpora.load(make("yelp"))
    # five sentences each, in chunks of 1,000
    assert len(read) == 2000 + 1000


def test_hub_yahoo(hub: dict[str, Any]) -> None:
    row = {"id": "1", "question_title": "Why?", "best_answer": "Because.\\nI don't know, sorry."}
    table = hub_table(None, [row] * 30)
    hub["tables"] = datasets.DatasetDict(train=table, test=table)
    corpus = corpora.load(make("yahoo"))
    assert corpus.label_names is None
    assert set(corpus.splits["test"].texts) == {"because .", "i do n't know , sorry ."}


def test_hub_agnews_without_its_debris(hub: dict[str, Any]) -> None:
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
    monkeypatch: pytest.MonkeyPatch, error: Exception | str, message: str
) -> None:
    if isinstance(error, str):
        # they cannot be made without a server's answer
        kind: type[Exception] = getattr(huggingface_hub.errors, error)
        failure = kind.__new__(kind)
    else:
        failure = error

    def fail(*_: Any, **__: Any) -> None:
        raise failure

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", fail)
    with pytest.raises(TrlapError, match=f"fancyzhx/yelp_polarity: .*{message}") as raised:
        corpora.load(make("yelp", revision="v9"))
    assert "\n" not in str(raised.value)


def test_hub_without_train_or_column(hub: dict[str, Any]) -> None:
    table = hub_table(None, [{"content": "a"}])
    hub["tables"] = datasets.DatasetDict(all=table)
    with pytest.raises(TrlapError, match="no train split on the hub; it has all"):
        corpora.load(make("yelp"))
    hub["tables"] = datasets.DatasetDict(train=table)
    with pytest.raises(TrlapError, match="'text', it has content"):
        corpora.load(make("yelp"))


def test_unreachable_hub() -> None:
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
