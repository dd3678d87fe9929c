"""Text to lower-case tokens.

From here on a sentence is its lower-case tokens joined by one space: `text.split()` has them back.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

from trlap.errors import TrlapError

UNK = "<unk>"

# Typographic variants become the mark that vocabularies hold; what cannot be seen is taken away.
_normalizer = normalizers.Sequence(
    [
        normalizers.Replace(Regex(r"[\p{Cf}\x{FE0F}]"), ""),
        normalizers.Replace(Regex(r"\p{Cc}"), " "),
        normalizers.NFC(),
        normalizers.Replace(Regex(r"[\x{2018}\x{2019}\x{2BC}]"), "'"),
        normalizers.Replace(Regex(r"[\x{201C}\x{201D}]"), '"'),
        normalizers.Replace(Regex(r"\x{2026}"), "..."),
        normalizers.Replace(Regex(r"\.{2,}"), "..."),
        normalizers.Replace(Regex(r"[\x{2010}-\x{2013}\x{2212}]"), "-"),
        normalizers.Replace(Regex(r"\x{2014}"), "--"),
        normalizers.Replace(Regex(r"-{2,}"), "--"),
        normalizers.Lowercase(),
    ]
)

_MORE = r"[\p{L}\p{M}\p{N}]"
_END = rf"(?!{_MORE})"
_WORD = rf"\p{{L}}{_MORE}*"
_DOMAIN = rf"\.(?:com|org|net|edu|gov|info|co\.\p{{L}}{{2}}){_END}"
_CLITIC = rf"'(?:s|ll|re|ve|d|m){_END}"

# The first alternative that matches wins. Clitics stand apart as in Penn's: ca n't, it 's.
# Hyphenated words are three tokens, unlike Penn's: GloVe's list has none of them, and splitting
# leaves 4.5 % instead of 5.2 % of AG News outside 10,000 words. So 7:30pm becomes 7:30 pm, too.
_PATTERN = "|".join(
    [
        UNK,
        r"(?:https?://|www\.)\S*[\p{L}\p{N}/]",
        r"[\p{L}\p{N}][\p{L}\p{N}._+-]*@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.\p{L}+",
        rf"[\p{{L}}\p{{N}}][\p{{L}}\p{{N}}-]*(?:\.[\p{{L}}\p{{N}}-]+)*{_DOMAIN}(?:/\S*[\p{{L}}\p{{N}}/])?",
        rf"{_WORD}?(?=n't{_END})",
        rf"n't{_END}",
        _CLITIC,
        # u.s. p.m.
        r"(?:\p{L}\.){2,}(?!\.)",
        # 11:30 $7.50 1,200.50 #1 24/7 .5, then 85% 3rd 1990s, but 7:30 pm
        r"[#$£€¥]?(?>(?:\p{N}+(?:[.,:/]\p{N}+)*|\.\p{N}+)"
        rf"(?:%|(?![ap]\.?m\.?{_END})\p{{L}}{_MORE}*)?)",
        # o'clock
        rf"{_WORD}(?:(?!{_CLITIC})'{_WORD})*",
        r"\.{3}",
        r"--",
        r"\S\p{M}*",
    ]
)
_splitter = pre_tokenizers.Split(Regex(_PATTERN), "removed", invert=True)


def tokenize(text: str) -> list[str]:
    """Lower-case tokens. Tokenising the joined tokens gives the same tokens."""
    return [token for token, _ in _splitter.pre_tokenize_str(_normalizer.normalize_str(text))]


def tokenize_batch(texts: Iterable[str]) -> list[list[str]]:
    return [tokenize(text) for text in texts]


# texts
SAMPLE = 2000
_ATTACHED = re.compile(r"\w(?:[.,!?;:](?=\s|$)|(?:n't|'(?:s|ll|re|ve|d|m))\b)", re.IGNORECASE)
_APART = re.compile(r"(?<!\S)(?:[.,!?;:]|n't|'(?:s|ll|re|ve|d|m))(?!\S)", re.IGNORECASE)


def looks_tokenized(texts: Sequence[str]) -> bool:
    """Whether punctuation and clitics mostly stand apart in a sample of at most 2,000 texts."""
    step = max(1, len(texts) // SAMPLE)
    sample = [text.replace("\u2019", "'") for text in texts[::step][:SAMPLE]]
    apart = sum(len(_APART.findall(text)) for text in sample)
    attached = sum(len(_ATTACHED.findall(text)) for text in sample)
    return apart > attached


def utf8_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, or one line that says where it is not UTF-8."""
    start = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
                start += len(line)
    except UnicodeDecodeError as error:
        place = f"byte {start + error.start + 1:,} (line {number:,})"
        raise TrlapError(f"{path}: not UTF-8 at {place}; save the file as UTF-8") from None
    except OSError as error:
        raise TrlapError(f"{path}: cannot be read ({error.strerror})") from None
