import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.data import demo
from trlap.data.tokenizer import looks_tokenized, tokenize, tokenize_batch


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't think it's bad.", "i do n't think it 's bad ."),
        ("We'll see, they're late; I've paid", "we 'll see , they 're late ; i 've paid"),
        ("You can\u2019t, he won\u2019t", "you ca n't , he wo n't"),
        ("shouldn't've, y'all'd", "should n't 've , y'all 'd"),
        ("O'Brien's rock'n'roll at 5 o'clock", "o'brien 's rock'n'roll at 5 o'clock"),
        ("dogs' 'quoted'", "dogs ' ' quoted '"),
        ("at 11:30, or 7:30pm (7 PM)", "at 11:30 , or 7:30 pm ( 7 pm )"),
        ("$7.50, $1,200.50 and $.99!", "$7.50 , $1,200.50 and $.99 !"),
        ("85% of the 1990s, 3rd, #1, 24/7.", "85% of the 1990s , 3rd , #1 , 24/7 ."),
        ("the U.S. at 7 p.m.", "the u.s. at 7 p.m."),
        ("an mp3 in 1080p", "an mp3 in 1080p"),
        ("a well-made film", "a well - made film"),
        ("wait\u2026 what... ok.....", "wait ... what ... ok ..."),
        ("yes \u2014 no -- 5\u20136", "yes -- no -- 5 - 6"),
        ("mail me@x.org, see http://x.com/a?b=c.", "mail me@x.org , see http://x.com/a?b=c ."),
        ("yahoo.com. bbc.co.uk!", "yahoo.com . bbc.co.uk !"),
        ("the <unk>, <UNK>.", "the <unk> , <unk> ."),
        ("wow!! \u2764\ufe0f\U0001f44d", "wow ! ! \u2764 \U0001f44d"),
        ("\u201cCafe\u0301\u201d na\u00efve", '" caf\u00e9 " na\u00efve'),
        ("zero\u200bwidth\ttab\x00nul", "zerowidth tab nul"),
        ("good.The end", "good . the end"),
        (" \n", ""),
    ],
)
def test_tokens(text: str, tokens: str) -> None:
    assert tokenize(text) == tokens.split()
    assert tokenize_batch([text, text]) == [tokens.split()] * 2


PIECES = (  # noqa: SIM905  so many, and with quotes in them
    "don't can't it's we'll O'Brien U.S. p.m. 7:30pm $7.50 1,200.50 85% #1 3rd 1990s a@b.com a.m "
    "http://x.com/a. www.foo.org yahoo.com ... -- \u2014 \u2026 \u2019 <unk> well-made n't 's ' \" "
    ". , ! - / 5 x am n t $.99 @ .com www. https:// < > _ \u00e9 % $ 't d m ll"
).split()


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.lists(st.sampled_from([*PIECES, " ", "\n"]), max_size=12).map("".join),
        st.text(alphabet=st.characters(min_codepoint=9, max_codepoint=126)),
        st.text(),
    )
)
def test_tokenising_twice_changes_nothing(text: str) -> None:
    tokens = tokenize(text)
    assert all(len(token.split()) == 1 for token in tokens)
    assert tokenize(" ".join(tokens)) == tokens


def test_no_letter_or_digit_is_lost() -> None:
    for row in demo.generate()["test"]:
        text = str(row["text"])
        assert "".join(tokenize(text)) == "".join(text.lower().split())


def test_looks_tokenized() -> None:
    raw = ["It's good, isn't it?", "Yes. The U.S. team won 3-1."]
    assert not looks_tokenized(raw)
    assert looks_tokenized([" ".join(tokenize(text)) for text in raw])
    assert not looks_tokenized(["no marks at all"])
    assert not looks_tokenized([])
    assert not looks_tokenized([str(row["text"]) for row in demo.generate()["train"]])


@pytest.mark.skipif("TRLAP_DATA" not in os.environ, reason="TRLAP_DATA is not set")
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("yelp/train.tsv", True),
        ("yahoo/train.tsv", True),
        ("sst2/train.tsv", True),
        ("sst2_sentence/train.tsv", True),
        ("agnews/train.csv", False),
        ("agnews/test.csv", False),
    ],
)
def test_looks_tokenized_on_real_text(file: str, expected: bool) -> None:
    path = Path(os.environ["TRLAP_DATA"], file)
    if not path.exists():
        pytest.skip(f"{file} is not in TRLAP_DATA")
    lines = path.read_text(encoding="utf-8").split("\n")[1:]
    assert looks_tokenized(lines) is expected
