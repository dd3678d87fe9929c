"""Public texts that private ones are answered with: read from a file or a list, each different one once.

A public text is written as it stands, capitals and marks included. Line breaks, tabs and other control
characters in it become one space, since a .txt or .tsv has no place for them; a public text without a word is
left out, so that no answer is empty. What is compared is its tokens, in small letters, as those of the private
texts are: of public texts with the same tokens the first one stands for all.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlap.config.schema import OwnPublic
from trlap.data.given import given_file
from trlap.data.tokenizer import tokenize
from trlap.errors import TrlapError
from trlap.privatize.columns import columns_from
from trlap.privatize.lines import has_surrogate
from trlap.privatize.streams import FORMATS, WITH_HEADER, batches_of_texts

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class PublicTexts:
    """`tokens` has those of each of `texts`, joined by one space; all of them are different."""

    texts: list[str]
    tokens: list[str]

    @classmethod
    def of(cls, given: Iterable[str]) -> "PublicTexts":
        different: dict[str, str] = {}
        for number, text in enumerate(given, start=1):
            if not isinstance(text, str):
                raise TrlapError(f"public: text {number:,} is {type(text).__name__}, not a text")
            if has_surrogate(text):
                raise TrlapError(
                    f"public: text {number:,} holds half a character (a lone surrogate)"
                )
            try:
                tokens = " ".join(tokenize(text))
            except TrlapError as error:
                raise TrlapError(f"public: text {number:,}: {error}") from None
            if tokens and tokens not in different:
                different[tokens] = _CONTROL.sub(" ", text).strip(" ")
        return cls(list(different.values()), list(different))


def read_public(
    public: OwnPublic, column: Any = "text", header: bool = True, kind: str | None = None
) -> PublicTexts:
    """The texts of a file. `column` and `header` are those of the private file, unless `public.column` says
    which; `kind` is the private file's format, for a name that tells none.
    """
    assert public.path is not None
    said = f"public={public.path}"
    file = given_file(public.path, said)
    name = file.suffix.lower()
    form = name if name in FORMATS else kind
    if form is None:
        raise TrlapError(
            f"{said}: cannot read {name or 'this'} files; choose from {' '.join(FORMATS)}"
        )
    asked = column if public.column is None else public.column
    try:
        # a file of its own may have names in its first row where the other one has none
        several = asked if isinstance(asked, list | tuple) else [asked]
        numbered = all(str(each).isdecimal() for each in several)
        columns = columns_from(asked, header or not numbered or form not in WITH_HEADER)
        return PublicTexts.of(_texts(file, form, columns))
    except TrlapError as error:
        # what is said of columns is said of the private file's key
        reason = re.sub(r"\bcolumn=", "public.column=", str(error))
    raise TrlapError(reason.replace("public: text ", f"{said}: text ", 1))


def _texts(file: Path, form: str, columns: Any) -> Iterator[str]:
    for batch in batches_of_texts(str(file), form, columns):
        yield from batch
