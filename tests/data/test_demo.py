import hashlib
import json
import re
from collections import Counter
from statistics import median

import pytest

from trlap.data import demo

CORPUS = demo.generate()
ROWS = [row for rows in CORPUS.values() for row in rows]
TEXTS = [str(row["text"]) for row in ROWS]

TOKEN = re.compile(
    r"""\$?\d+(?:[.,:]\d+)*%?        # 7:30, $18.50, 1,500, 12%
    |[a-z]+(?=n't)|n't|'[a-z]+       # do n't, it 's
    |[a-z]+|[^\w\s]""",
    re.VERBOSE,
)


def words(split: str) -> Counter[str]:
    """Lower-case words; times, prices and numbers have no letters and do not count."""
    return Counter(
        token
        for row in CORPUS[split]
        for token in TOKEN.findall(str(row["text"]).lower())
        if token.isalpha()
    )


def test_sizes_and_types() -> None:
    assert {split: len(rows) for split, rows in CORPUS.items()} == {
        "train": 4000,
        "validation": 400,
        "test": 400,
    }
    for row in ROWS:
        assert list(row) == ["text", "sentiment", "topic"]
        assert isinstance(row["text"], str)
        assert row["sentiment"] in range(len(demo.SENTIMENTS))
        assert row["topic"] in range(len(demo.TOPICS))


def test_no_sentence_occurs_twice() -> None:
    assert len({text.lower() for text in TEXTS}) == len(TEXTS) == 4800


def test_the_same_on_every_machine() -> None:
    assert demo.generate() == CORPUS
    digest = hashlib.sha256(json.dumps(CORPUS, sort_keys=True).encode()).hexdigest()
    assert digest == "d831748c7d25c21beb22a933e13d25c65f19bc809b3bdca8492798778eec84fa"


@pytest.mark.parametrize("split", CORPUS)
def test_labels_are_balanced_and_independent(split: str) -> None:
    cells = Counter((row["sentiment"], row["topic"]) for row in CORPUS[split])
    assert len(cells) == len(demo.SENTIMENTS) * len(demo.TOPICS)
    assert len(set(cells.values())) == 1


def test_vocabulary() -> None:
    train, validation, test = words("train"), words("validation"), words("test")
    assert len(train | validation | test) >= 1400
    assert len(train) >= 1200
    held_out = validation + test
    unseen = sum(count for word, count in held_out.items() if word not in train)
    assert unseen / held_out.total() < 0.005
    # Zipf-like: a tenth of the words make up most of the text, and half of them are rare.
    counts = sorted(train.values(), reverse=True)
    assert sum(counts[: len(counts) // 10]) > 0.6 * sum(counts)
    assert counts[len(counts) // 2] <= 10


def test_lengths() -> None:
    lengths = [len(TOKEN.findall(text.lower())) for text in TEXTS]
    assert min(lengths) >= 5
    assert max(lengths) <= 18
    assert 10 <= median(lengths) <= 11


@pytest.mark.parametrize(
    ("pattern", "at_least"),
    [
        (r"\b\d{1,2}:\d\d [ap]m\b", 200),
        (r"\$\d+(\.\d\d)?\b", 300),
        (r"\b\d+(\.\d)?%", 100),
        (r"\b\d+ percent\b", 20),
        (r"\b\d,\d{3}\b", 20),
        (r"n't\b", 300),
        (r"\b(It|it|There)'s\b", 200),
        (r"\w'(d|ve)\b", 100),
        (r"[a-z]'s (season|\w+)", 30),
        (r";", 50),
        (r"!$", 30),
    ],
)
def test_ordinary_text_has_it(pattern: str, at_least: int) -> None:
    assert sum(bool(re.search(pattern, text)) for text in TEXTS) >= at_least


def test_spelling_and_spacing() -> None:
    for text in TEXTS:
        assert re.fullmatch(r"[A-Z].*[.!]", text), text
        assert not re.search(r"[{}]|  | [.,;:!?%]|[.,;:!?]{2}|\b(\w+) \1\b", text), text


def test_articles_agree() -> None:
    vowel = re.compile(r"[aeiou]|hour|honest|\$?(8|11\b|18\b)", re.I)
    # "a unit", "an uninspired"
    consonant = re.compile(r"one\b|once\b|euro|uni(?!n)|use|usu", re.I)
    for text in TEXTS:
        for article, following in re.findall(r"\b([Aa]n?) (\S+)", text):
            sounds_open = bool(vowel.match(following)) and not consonant.match(following)
            assert (article.lower() == "an") == sounds_open, text


def test_verbs_agree() -> None:
    plural = r"(they|views|costumes|effects|songs|sets|dances|stunts|animals|people|Ties|Talks)"
    for text in TEXTS:
        assert not re.search(rf"\b{plural} (is|was|has)\b", text), text
        assert not re.search(r"\b(it|It|there|There|he|she) (are|were|have)\b", text), text


def test_every_list_is_used_and_without_repeats() -> None:
    def slots(text: object) -> set[str]:
        return set(re.findall(r"\{(?:not )?(\w+)\}", str(text)))

    asked_of_shared = slots(demo.SHARED)
    for topic in demo.GRAMMAR.values():
        assert topic.words.keys() <= slots(topic)
        assert slots(topic) <= topic.words.keys() | demo.SHARED.keys()
        asked_of_shared |= slots(topic)
    assert demo.SHARED.keys() <= asked_of_shared

    for entries in [demo.SHARED, *(topic.words for topic in demo.GRAMMAR.values())]:
        for entry in entries.values():
            sides = [entry] if isinstance(entry, str) else list(entry)
            fillers = [filler for side in sides for filler in demo._fillers(side)]
            assert all(fillers)
            assert len(set(fillers)) == len(fillers), entry


def test_sentiment_is_in_the_words_but_in_no_single_one() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def column(split: str, name: str) -> list[str | int]:
        return [row[name] for row in CORPUS[split]]

    model = make_pipeline(CountVectorizer(), LogisticRegression(C=10, max_iter=1000))
    for label in ("sentiment", "topic"):
        model.fit(column("train", "text"), column("train", label))
        assert model.score(column("test", "text"), column("test", label)) >= 0.97

    tokens = [
        (set(TOKEN.findall(str(row["text"]).lower())), row["sentiment"]) for row in CORPUS["train"]
    ]
    for sentiment in (0, 1):
        carriers = Counter(w for found, label in tokens if label == sentiment for w in found)
        others = Counter(w for found, label in tokens if label != sentiment for w in found)
        telling = {w: n for w, n in carriers.items() if n >= 5 and n >= 10 * others[w]}
        assert len(telling) >= 100
        assert max(telling.values()) < 0.06 * carriers["."]
