"""What a promise for words and one for whole texts can be asked for: refused in one line before any work."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trlap.errors import TrlapError
from trlap.mechanisms import registry

if TYPE_CHECKING:
    from trlap.mechanisms.base import Mechanism


def unit_of(mechanism: str, unit: str | None) -> str:
    """Whose ε it is; None asks for what the mechanism is made for."""
    return unit or registry.find(mechanism).unit


def check_unit(
    mechanism: str,
    epsilon: float,
    keys: Mapping[str, Any],
    *,
    unit: str,
    words: int,
    pick: str,
    oov: str,
    public: bool,
) -> None:
    """`public`: whether public texts are given."""
    kind = registry.find(mechanism)
    if kind.unit == "document":
        _check_documents(kind, epsilon, keys, unit, (words, pick), public)
    elif public:
        raise TrlapError(
            f"public: it is for mechanism=drr, which answers with public texts; mechanism={mechanism} "
            "answers with words, so leave it out"
        )
    if unit == "word":
        for key, value, usual in (("words", words, 1), ("pick", pick, "random")):
            if value != usual:
                raise TrlapError(
                    f"{key}={value}: it is for unit=document; with unit=word every word is answered for"
                )
    elif oov == "keep":
        raise TrlapError("unit=document: oov=keep would publish words as they are; use oov=unk")


def _check_documents(
    kind: "type[Mechanism]",
    epsilon: float,
    keys: Mapping[str, Any],
    unit: str,
    picked: tuple[int, str],
    public: bool,
) -> None:
    name = kind.name
    if unit == "word":
        raise TrlapError(f"unit=word: mechanism={name} answers for whole documents; leave unit out")
    if picked != (1, "random"):
        words, pick = picked
        raise TrlapError(
            f"words={words} pick={pick}: mechanism={name} picks no words; leave both out"
        )
    if epsilon == float("inf"):
        raise TrlapError(
            f"epsilon=inf: mechanism={name} has no answer without noise; give a number, as epsilon=2"
        )
    if not public:
        raise TrlapError(
            f"mechanism={name} answers with public texts; name a file of them, as in public=public.txt"
        )
    # no word has a say in it
    kind.check_keys(registry.parameters(name, keys), 0, 0)
