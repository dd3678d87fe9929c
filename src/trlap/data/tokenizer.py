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

_nfc = normalizers.NFC()

_MORE = r"[\p{L}\p{M}\p{N}]"
_END = rf"(?!{_MORE})"
_WORD = rf"\p{{L}}{_MORE}*"
# Of a domain and of an address, no longer than the standards allow (RFC 1035, RFC 5321). Without an end, a
# long chain such as a-a-a-… would be read to its end again from each of its words.
_PART = r"[\p{L}\p{N}-]{1,63}"
_PARTS = rf"(?:\.{_PART}){{0,8}}"
_DOMAIN = rf"\.(?:com|org|net|edu|gov|info|co\.\p{{L}}{{2}}){_END}"
_CLITIC = rf"'(?:s|ll|re|ve|d|m){_END}"

# The first alternative that matches wins. Clitics stand apart as in Penn's: ca n't, it 's.
# Hyphenated words are three tokens, unlike Penn's: GloVe's list has none of them, and splitting
# leaves 4.5 % instead of 5.2 % of AG News outside 10,000 words. So 7:30pm becomes 7:30 pm, too.
_PATTERN = "|".join(
    [
        UNK,
        r"(?:https?://|www\.)\S*[\p{L}\p{N}/]",
        rf"[\p{{L}}\p{{N}}][\p{{L}}\p{{N}}._+-]{{0,63}}@{_PART}{_PARTS}\.\p{{L}}+",
        rf"(?=[\p{{L}}\p{{N}}]){_PART}{_PARTS}{_DOMAIN}(?:/\S*[\p{{L}}\p{{N}}/])?",
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


# Characters without a space. The pattern above never looks beyond a space and never reads a character of
# such a run more than a few times; its engine gives up, by a panic, after 10,000,000 steps of one match.
LONGEST = 1_000_000


def tokenize(text: str) -> list[str]:
    """Lower-case tokens, in a time that grows with the length of the text and not faster.

    Tokenising the joined tokens gives the same tokens.
    """
    normal = _normalised(_normalizer, text)
    if len(normal) > LONGEST and (longest := max(map(len, normal.split()))) > LONGEST:
        raise TrlapError(
            f"{longest:,} characters without a space between them, but at most {LONGEST:,} can be "
            "read; put spaces between its words, or leave it out"
        )
    try:
        return [token for token, _ in _splitter.pre_tokenize_str(normal)]
    except BaseException as error:
        # no subclass of Exception, and its module cannot be imported
        if type(error).__name__ != "PanicException":
            raise
        raise TrlapError("the tokenizer gave up on this text; leave it out") from None


def composed(text: str) -> str:
    """A letter and its accent as one character (NFC); Python's own takes quadratic time at worst."""
    return text if text.isascii() else _normalised(_nfc, text)


def _normalised(normalizer: normalizers.Normalizer, text: str) -> str:
    try:
        normal: str = normalizer.normalize_str(text)
        return normal
    except UnicodeEncodeError:
        raise TrlapError(
            "a lone surrogate, half of a character, is in it; write the text as UTF-8"
        ) from None


def tokenize_batch(texts: Iterable[str], first: int = 1) -> list[list[str]]:
    """The tokens of each text. One that cannot be read is named by its number, `first` for the first."""
    batch = []
    for number, text in enumerate(texts, start=first):
        try:
            batch.append(tokenize(text))
        except TrlapError as error:
            raise TrlapError(f"text {number:,}: {error}") from None
    return batch


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
