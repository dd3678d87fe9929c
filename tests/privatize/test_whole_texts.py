"""A user's own text with a promise for whole texts: a public text for every text, or some of its words."""

import io
import math
import sys
import tracemalloc
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_ray import FakeRay
from stream_helpers import columns

from trlap import Privatizer
from trlap.data import demo
from trlap.documents.candidates import Candidates, cut
from trlap.errors import TrlapError
from trlap.privatize import lines
from trlap.privatize import ray as on_ray
from trlap.privatize.public_texts import PublicTexts
from trlap.privatize.streams import transform
from trlap.privatize.summary import own_text

ROWS = [str(row["text"]) for row in demo.generate()["train"]]
PUBLIC = ROWS[:60]
PRIVATE = ROWS[100:140]
SMALL: dict[str, Any] = {"vocabulary_size": 500, "encoder": "words", "K": 4}
# all answers are the nearest, so that one sees what was chosen
SURE = 60.0


def drr(epsilon: float = 2, **keys: Any) -> Privatizer:
    return Privatizer("drr", epsilon, **{"public": PUBLIC, **SMALL, **keys})


def test_every_text_has_one_public_text_as_it_stands() -> None:
    privatizer = drr()
    texts = [*PRIVATE, "", "  ", "zyzzyva", "\U0001f600", PUBLIC[0]]
    private = privatizer.privatize(texts)
    assert len(private) == len(texts) == privatizer.tokens
    assert set(private) <= set(PUBLIC) and any(text != text.lower() for text in private)
    assert privatizer.guarantee.exact.epsilon == 2 and privatizer.guarantee.exact.delta == 0
    assert privatizer.guarantee.holds and privatizer.mechanism.unit == "document"
    assert privatizer.tally.known == 1 and privatizer.unknown == 0
    with pytest.raises(TrlapError, match="it has no words"):
        assert privatizer.vocabulary


@pytest.mark.parametrize("text", ["", "the train was late", "PROFITS rose again!", "none of these"])
def test_odds_are_those_of_k_ary_response(text: str) -> None:
    """One set of three: the nearest with e^ε/(e^ε + 2), each other one with 1/(e^ε + 2)."""
    public = ["A fine phone.", "The train was late.", "Profits rose again."]
    privatizer = drr(1.5, public=public, K=3)
    (nearest,) = drr(SURE, public=public, K=3).privatize([text])
    draws = 6000
    counts = Counter(privatizer.privatize([text] * draws))
    likely = math.exp(1.5) / (math.exp(1.5) + 2)
    for each in public:
        share = likely if each == nearest else (1 - likely) / 2
        # five standard deviations
        assert abs(counts[each] / draws - share) < 5 * math.sqrt(share * (1 - share) / draws)


def test_a_place_decides_the_set_and_the_parts_of_a_call_do_not() -> None:
    whole = drr(SURE).privatize(PRIVATE)
    parts = drr(SURE)
    cuts = [0, 1, 7, 7, 30, len(PRIVATE)]
    assert whole == [text for a, b in pairwise(cuts) for text in parts.privatize(PRIVATE[a:b])]
    assert drr(SURE).privatize(PRIVATE[9:12], place=9) == whole[9:12]
    # one text among others at many places is asked about many sets
    same = drr(SURE).privatize([PRIVATE[0]] * 40)
    assert len(set(same)) > 5
    # another text in its place changes no other answer
    changed = drr(SURE).privatize([*PRIVATE[:3], "", *PRIVATE[4:]])
    assert changed[:3] == whole[:3] and changed[4:] == whole[4:]


def test_sets_of_a_part_are_those_of_the_whole() -> None:
    sets = cut(62, 3, 0)
    assert sets.shape == (20, 3) and len(np.unique(sets)) == 60
    texts = [f"t{i}" for i in range(62)]
    candidates = Candidates(texts, np.eye(62, dtype=np.float32), sets, 0)
    every = candidates.numbers(113)
    for first in (0, 1, 19, 20, 21, 59, 60):
        for count in (0, 1, 20, 41):
            assert (candidates.numbers(count, first) == every[first : first + count]).all()
    assert (np.bincount(every[:100]) == 5).all()


def test_what_public_texts_are() -> None:
    given = [
        "Two\r\nlines,\tone text\x00",
        " \n",
        "",
        "The soup",
        "the  SOUP",
        "...",
        "Nice \u2028",
    ]
    public = PublicTexts.of(given)
    assert public.texts == ["Two lines, one text", "The soup", "...", "Nice \u2028"]
    assert public.tokens[:2] == ["two lines , one text", "the soup"]


def test_with_a_seed_the_same_calls_give_the_same_texts() -> None:
    keys = {"seed": 1, "reproducible": True}
    first, again = (drr(1, **keys).privatize(PRIVATE * 3) for _ in range(2))
    assert first == again != drr(1).privatize(PRIVATE * 3)
    other = drr(1, public=PUBLIC[::-1], **keys).privatize(PRIVATE * 3)
    assert other != first


@pytest.mark.parametrize("threads", [1, 2])
def test_by_meaning(threads: int) -> None:
    public = ["A wonderful movie!", "Oil prices climbed on Monday.", "The soup was cold."]
    privatizer = Privatizer("drr", SURE, public=public, K=3, threads=threads)
    asked = ["this film is great", "stocks and petrol", "our waiter brought a chilly broth", ""]
    private = privatizer.privatize(asked)
    assert private[:3] == public and private[3] in public


def test_words_that_are_picked() -> None:
    privatizer = Privatizer("krr", 6, unit="document", words=3, vocabulary_size=500)
    private = privatizer.privatize(["the soup was cold , and the waiter was rude", "", "fine"])
    assert [len(text.split()) for text in private] == [3, 3, 3]
    assert privatizer.mechanism.epsilon == 2 and privatizer.guarantee.exact.epsilon == 6
    assert privatizer.lengths == {3: 3} and privatizer.tokens == 9
    said = own_text(privatizer, "out.txt")
    assert "3 texts, 9 answers" in said and "claimed 6-DP per document" in said
    assert "403-fold" in said and "per word" not in said
    rarest = Privatizer(
        "krr",
        60,
        unit="document",
        words=2,
        pick="rarest",
        vocabulary="public",
        vocabulary_size=3000,
    )
    (picked,) = rarest.privatize(["the water was cold and the"])
    assert set(picked.split()) == {"water", "cold"}
    keys = {"unit": "document", "words": 2, "vocabulary_size": 500}
    twice = [Privatizer("krr", 1, seed=3, reproducible=True, **keys) for _ in range(2)]  # type: ignore[arg-type]
    assert twice[0].privatize(PRIVATE) == twice[1].privatize(PRIVATE)
    plain = Privatizer("none", unit="document", words=2, vocabulary_size=500)
    assert plain.privatize(["the and of"]) == ["the and of"]


def test_the_summary_says_what_holds_and_what_does_not() -> None:
    privatizer = drr()
    privatizer.privatize(["", PUBLIC[3], "The waiter was rude"])
    said = own_text(privatizer, "out.txt")
    for part in (
        "3 texts · mechanism drr",
        "claimed 2-DP per document",
        "whatever a text says, however long: the odds of any two texts change at most e^ε-fold (7.4-fold)",
        "one of K = 4 public texts, the nearest to the text with probability 0.711",
        "60 public texts, in 15 sets of 4",
        "1 of 3 texts are word for word among the public ones",
        "printed as they stand",
        "the number of texts and their order",
        "many texts of one person add up",
    ):
        assert part in said, said
    assert "word" not in said.replace("word for word", "") and "waiter" not in said
    assert PUBLIC[3] not in said
    large = own_text(drr(15), "out.txt")
    assert "can all but name the text" in large


FILES = {
    ".txt": ("one\n\nthree", "{}\n{}\n{}"),
    ".csv": ('n,text\n1,one\n\n2,\n3,""\n', "n,text\n1,{}\n\n2,{}\n3,{}\n"),
    ".tsv": ("text\tn\none\t1\n\t2\n", "text\tn\n{}\t1\n{}\t2\n"),
    ".jsonl": (
        '{"n":1,"text":""}\n{"text":null}\n{"text":"b"}\n',
        '{{"n":1,"text":{}}}\n{{"text":null}}\n{{"text":{}}}\n',
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_no_file_shows_which_text_was_empty(kind: str, tmp_path: Path) -> None:
    before, after = FILES[kind]
    (tmp_path / f"in{kind}").write_text(before)
    public = ['A "quoted" text, with signs', 'Another "quoted" text, with\nsigns\tin it']
    stream = io.BytesIO()
    privatizer = drr(1, public=public, K=2)
    transform(
        str(tmp_path / f"in{kind}"),
        stream,
        kind,
        columns(),
        lambda texts, share: privatizer.privatize(texts),
    )
    quoted = {".csv": '"{}"', ".jsonl": '"{}"'}.get(kind, "{}")
    marks = {".csv": '""', ".jsonl": '\\"'}.get(kind, '"')
    written = [
        quoted.format(text.replace("\n", " ").replace("\t", " ").replace('"', marks))
        for text in public
    ]
    found = stream.getvalue().decode()
    for text in written:
        found = found.replace(text, "@")
    assert found == after.replace("{}", "@").replace("{{", "{").replace("}}", "}")


def test_memory_does_not_grow_with_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BATCH", 128)
    privatizer = drr()
    privatizer.privatize(PRIVATE)
    peaks = []
    for count in (512, 4096):
        source = tmp_path / f"{count}.txt"
        source.write_text("line after line of a long file , and the words go on .\n" * count)
        with (tmp_path / "out.txt").open("wb") as stream:
            tracemalloc.start()
            transform(
                str(source), stream, ".txt", columns(), lambda texts, _: privatizer.privatize(texts)
            )
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert len((tmp_path / "out.txt").read_text().splitlines()) == count
    assert peaks[1] < 1.2 * peaks[0]


def test_on_ray_a_text_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(lines, "BATCH", 3)
    source, stream = tmp_path / "in.txt", io.BytesIO()
    texts = [text.replace("\n", " ") for text in [*PRIVATE, "", PUBLIC[0]]]
    source.write_text("\n".join(texts) + "\n")
    keys: dict[str, Any] = {"mechanism": "drr", "epsilon": SURE, "public": PUBLIC, **SMALL}
    counts = Privatizer(**keys)
    on_ray.privatize(
        counts, keys, str(source), stream, ".txt", columns(), 1, lambda share, tokens: None
    )
    assert stream.getvalue().decode().splitlines() == drr(SURE).privatize(texts)
    assert set(fake.order) == {0, 1, 2}
    assert counts.lengths == {1: len(texts)} and counts.tally.known == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"public": None}, "mechanism=drr answers with public texts; name a file of them, as in public="),
        ({"public": []}, "and 0 different ones are given; give more by public="),
        ({"public": ["one", "ONE"]}, "and 1 different ones are given"),
        ({"public": ["one", None]}, "public: text 2 is NoneType"),
        ({"public": ["one", "\ud800"]}, "public: text 2 holds half a character"),
        ({"public": "/nowhere.txt"}, "public=/nowhere.txt: no such file"),
        ({"K": 1}, "mechanism.K=1: must be auto or a whole number from 2 on"),
        ({"K": 61}, "mechanism.K=61: .* and 60 different ones are given"),
        ({"encoder": "bert"}, "must be one of minilm, words"),
        ({"epsilon": math.inf}, "epsilon=inf: mechanism=drr has no answer without noise"),
        ({"unit": "word"}, "mechanism=drr answers for whole documents; leave unit out"),
        ({"words": 2}, "mechanism=drr picks no words"),
        ({"oov": "keep"}, "oov=keep would publish words as they are"),
        ({"unit": "text"}, "unit=text: must be one of word, document"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(TrlapError, match=message) as error:
        Privatizer(**{"mechanism": "drr", "public": PUBLIC, **SMALL, **keys})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"public": PUBLIC}, "public: it is for mechanism=drr"),
        ({"words": 2}, "words=2: it is for unit=document"),
        ({"pick": "rarest"}, "pick=rarest: it is for unit=document"),
        ({"unit": "document", "oov": "keep"}, "use oov=unk"),
        ({"unit": "document", "words": 0}, "words=0: must be in"),
    ],
)
def test_what_words_cannot_be_asked(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(TrlapError, match=message):
        Privatizer("krr", vocabulary_size=500, **keys)
