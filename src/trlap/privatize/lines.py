"""The lines of a user's file, and rows in which only the texts change.

A row is what stands between its texts, and the texts. The first is written back as it was read, byte for
byte. A new text is written as its format needs it, whatever the old one looked like: quotation marks that
stayed because the old text had a comma would tell that it had one.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, NamedTuple, Protocol

from trlap.errors import TrlapError

# rows at once
BATCH = 2048
# bytes of a row; a quotation mark that nobody closes would read the whole file into memory
LONGEST = 2**28
MARK = "\ufeff"

# Takes texts and the share of the input that was read; gives as many texts back.
Change = Callable[[list[str], float | None], list[str]]


class Row(NamedTuple):
    """`gaps` has one part more than `texts`. `raw` is each text as the file writes it."""

    gaps: Sequence[str]
    texts: Sequence[str]
    raw: Sequence[str]


class Format(Protocol):
    """How texts stand in lines."""

    def rows(self, lines: "Lines") -> Iterator[Row]:
        """Every line of the file is in exactly one row."""

    def encode(self, text: str) -> str:
        """A new text as the file writes it. It depends on nothing but the new text."""


class Lines:
    """The lines of a UTF-8 file with their ends, counted, so that an error can name one and a bar can move.

    A line ends in a line feed, or a carriage return and a line feed. No other character ends one. A byte
    order mark at the start is no text: `mark` has it.
    """

    def __init__(self, file: BinaryIO, name: str, size: int | None) -> None:
        self.file, self.name, self.size = file, name, size
        self.number = self.bytes = 0
        self.mark = ""

    def __iter__(self) -> Iterator[str]:
        reason = None
        try:
            while raw := self.file.readline(LONGEST):
                self.number += 1
                self.bytes += len(raw)
                line = _decoded(raw)
                if line is None or b"\0" in raw or b"\r" in raw or len(raw) == LONGEST:
                    self._check(raw, line)
                if self.number == 1 and line and line.startswith(MARK):
                    self.mark, line = MARK, line[1:]
                if line:
                    yield line
        except OSError as error:
            reason = error.strerror or "an error of the device"
        if reason:
            raise TrlapError(f"{self.name}: it cannot be read ({reason})")

    def _check(self, raw: bytes, line: str | None) -> None:
        """Raise where a line is not what a line can be."""
        if len(raw) == LONGEST:
            raise self.error("longer than 256 MiB; is this a file of lines?")
        if line is None:
            raise self.error("not UTF-8; save the file as UTF-8")
        if b"\0" in raw:
            raise self.error("a NUL byte; save the file as UTF-8 text")
        if "\r" in cut_end(line)[0]:
            raise self.error(
                "a carriage return inside the line, where programs disagree on whether it ends; "
                "save the file with line feeds"
            )

    @property
    def share(self) -> float | None:
        """How much was read, where the size is known."""
        return None if self.size is None else min(1.0, self.bytes / max(1, self.size))

    def error(self, reason: str, number: int | None = None) -> TrlapError:
        """One line that names the file and the line. `reason` never holds what stands there."""
        return TrlapError(f"{self.name}, line {number or self.number:,}: {reason}")


def cut_end(line: str) -> tuple[str, str]:
    """A line and its end, which is empty where the file stops without one."""
    if line.endswith("\r\n"):
        return line[:-2], line[-2:]
    return (line[:-1], "\n") if line.endswith("\n") else (line, "")


# An exception that was raised while another was handled keeps that one, and a UnicodeDecodeError holds the
# text. So errors are raised after the handler, here and in the rooms beside.
def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def has_surrogate(text: str) -> bool:
    """Whether a text holds half a character, which no file can hold in UTF-8."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


@dataclass
class PlainText:
    """One text a line. Vertical tabs, form feeds, U+0085 and U+2028 are characters of a text."""

    def rows(self, lines: Lines) -> Iterator[Row]:
        for line in lines:
            text, end = cut_end(line)
            yield Row(("", end), (text,), (text,))

    def encode(self, text: str) -> str:
        if "\n" in text or "\r" in text:
            raise RuntimeError("a private text has more than one line")
        return text


def rewrite(lines: Lines, output: BinaryIO, form: Format, change: Change) -> None:
    """Write every row with its texts changed."""
    rows = form.rows(lines)
    marked = False
    while batch := list(islice(rows, BATCH)):
        private = iter(_changed(batch, lines.share, change))
        parts: list[str] = []
        if not marked:
            parts.append(lines.mark)
            marked = True
        for gaps, texts, raw in batch:
            for place, text in enumerate(texts):
                new = next(private)
                # an empty text that stays empty stays as it was written; one that is answered does not show
                # that it was empty
                parts += (gaps[place], form.encode(new) if text or new else raw[place])
            parts.append(gaps[-1])
        output.write("".join(parts).encode())
    if not marked:
        output.write(lines.mark.encode())


def texts_of(lines: Lines, form: Format) -> Iterator[list[str]]:
    """The texts that each call of `change` gets from `rewrite`, in the same batches."""
    rows = form.rows(lines)
    while batch := list(islice(rows, BATCH)):
        if texts := [text for row in batch for text in row.texts]:
            yield texts


def _changed(batch: list[Row], share: float | None, change: Change) -> list[str]:
    texts = [text for row in batch for text in row.texts]
    private = change(texts, share) if texts else []
    if len(private) != len(texts):
        raise RuntimeError(f"{len(texts)} texts went in and {len(private)} came out")
    return private


@contextmanager
def opened(source: str) -> Iterator[Lines]:
    """The lines of a file, of a pipe by its name, or of standard input (`-`)."""
    if source == "-":
        if sys.stdin is None:
            raise TrlapError("input=-: standard input is closed")
        yield Lines(sys.stdin.buffer, "standard input", None)
        return
    file, reason = None, ""
    try:
        # not `with`: an error of the block is none of opening
        file = open(source, "rb")  # noqa: PTH123, SIM115
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    if file is None:
        raise TrlapError(f"input={source}: {reason}")
    with file:
        status = os.fstat(file.fileno())
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        yield Lines(file, source, size)
