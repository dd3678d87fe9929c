"""From the rows of a source to sentences of tokens."""

import html
import re
import sys
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from trlap.config import schema
from trlap.data.sources import SourceSplit, has_text
from trlap.data.tokenizer import SAMPLE, UNK, composed, looks_tokenized, tokenize
from trlap.errors import TrlapError

_ENTITY = re.compile(r"&?(#\d{1,5}|quot|apos|amp|lt|gt|nbsp);")
# the number of a character that is longer than any: Python's own reader fails at 4,300 digits
_LONG_NUMBER = re.compile(r"&#([0-9]{8,});?")
_TAG = re.compile(r"<(?!unk>)/?[A-Za-z][^<>]*>")
# a full stop without the space after it
_GLUED = re.compile(r"([a-z][.!?]+)(?=[A-Z][a-z]|I\b)")
# No sentence ends inside a word, and of a very long one the sentence splitter's time is the square.
_LONG_WORD = re.compile(r"(?<!\S)(\S{1000,})")
# rows read at once
CHUNK = 1000


# Lower-case tokens joined by one space, and an index into the label names, 0 where there are none. A plain
# tuple, because the garbage collector would walk through objects of any other kind: a fifth of the time.
Sentence = tuple[str, int]


class Reader:
    """Turns the text of a row into sentences of tokens, and counts what it leaves out."""

    def __init__(self, cfg: schema.Dataset, train: SourceSplit) -> None:
        self.cfg = cfg
        self.longest = cfg.max_words or sys.maxsize
        self.left_out: Counter[str] = Counter()
        self.tokenized = _stand_apart(train, cfg.text) if cfg.tokenized is None else cfg.tokenized
        self.splitter: str | None = None
        if cfg.sentences and not self.tokenized:
            import nupunkt

            self.splitter = f"nupunkt {nupunkt.__version__}"

    def take(
        self, split: SourceSplit, order: NDArray[np.int64], count: int | None
    ) -> list[Sentence]:
        """The first `count` sentences of the rows in this order; None: all."""
        sentences: list[Sentence] = []
        for start in range(0, len(order), CHUNK):
            chunk = order[start : start + CHUNK]
            for i, text in zip(chunk, split.rows[chunk][self.cfg.text], strict=True):
                label = 0 if split.labels is None else int(split.labels[i])
                try:
                    sentences += [(sentence, label) for sentence in self.sentences(text)]
                except TrlapError as error:
                    raise TrlapError(f"{split.place}: row {i + 1:,}: {error}") from None
            if count is not None and len(sentences) >= count:
                return sentences[:count]
        return sentences

    def sentences(self, text: object) -> list[str]:
        """The sentences of one row that are neither empty nor too long."""
        if not has_text(text):
            self.left_out["rows without text"] += 1
            return []
        if not isinstance(text, str):
            raise TrlapError(
                f"the column {self.cfg.text!r} holds no text there but {type(text).__name__}; "
                "name a column of text with dataset.text"
            )
        sentences = []
        for tokens in self._tokens(text):
            if not tokens:
                self.left_out["sentences without a token"] += 1
            elif len(tokens) > self.longest:
                self.left_out[f"sentences of more than {self.longest} words"] += 1
            else:
                sentences.append(" ".join(tokens))
        return sentences

    def _tokens(self, text: str) -> list[list[str]]:
        unknown = self.cfg.unknown
        if self.tokenized:
            tokens = composed(text).split()
            return [[UNK if token == unknown else token.lower() for token in tokens]]
        for old, new in self.cfg.replace.items():
            text = text.replace(old, new)
        if self.cfg.html:
            text = _TAG.sub(
                " ", html.unescape(_LONG_NUMBER.sub(_short, _ENTITY.sub(r"&\1;", text)))
            )
        if unknown:
            text = re.sub(rf"(?<!\w){re.escape(unknown)}(?!\w)", f" {UNK} ", text)
        if not self.splitter:
            return [tokenize(text)]
        paragraphs = [_GLUED.sub(r"\1 ", part) for part in text.splitlines() if part.strip()]
        return [tokenize(piece) for part in paragraphs for piece in _cut(part)]


def _cut(paragraph: str) -> list[str]:
    """The sentences of a paragraph."""
    from nupunkt import sent_tokenize

    parts = [part for part in _LONG_WORD.split(paragraph) if part.strip()]
    return [
        str(piece)
        for part in parts
        for piece in ([part] if _LONG_WORD.match(part) else sent_tokenize(part))
    ]


def _short(number: re.Match[str]) -> str:
    """A character's number without zeros in front; one that there is none of is U+FFFD, as in browsers."""
    digits = number[1].lstrip("0") or "0"
    return f"&#{digits};" if len(digits) < 8 else "\ufffd"


def _stand_apart(split: SourceSplit, column: str) -> bool:
    """Whether the text is tokenised already, by a sample of its rows."""
    every = max(1, len(split.rows) // SAMPLE)
    sample = split.rows[range(0, len(split.rows), every)][column]
    return looks_tokenized([str(text) for text in sample if has_text(text)])
