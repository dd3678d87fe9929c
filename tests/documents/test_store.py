"""Vectors of documents are kept by their text: none is encoded twice, and no damage goes unnoticed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from trlap.documents import store
from trlap.documents.encoder import Encoder, Floats
from trlap.documents.store import Store
from trlap.errors import TrlapError
from trlap.files import say_once


class Counting(Encoder):
    """Letters counted, and the texts that it was asked for."""

    def __init__(self, breaks_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.breaks_after = breaks_after

    def vector(self, text: str) -> Floats:
        if self.breaks_after is not None and len(self.asked) >= self.breaks_after:
            raise TrlapError("killed")
        self.asked.append(text)
        return np.array([text.count("a"), text.count("b"), len(text)], np.float32)


def expected(texts: Sequence[str]) -> Floats:
    return Counting().encode(texts)


TEXTS = ["ab", "", "aab", "ab", "b" * 300, "aab", "ä"]


def test_each_different_text_once(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    rows = Store(tmp_path, "x").encode(TEXTS, first)
    assert rows.tobytes() == expected(TEXTS).tobytes()
    assert sorted(first.asked) == sorted(set(TEXTS))
    rows = Store(tmp_path, "x").encode([*TEXTS[::-1], "new"], second)
    assert rows.tobytes() == expected([*TEXTS[::-1], "new"]).tobytes()
    assert second.asked == ["new"]
    assert Store(tmp_path, "x").encode([], second).shape == (0, 3)


def test_another_encoder_has_vectors_of_its_own(tmp_path: Path) -> None:
    Store(tmp_path, "x").encode(TEXTS, Counting())
    other = Counting()
    Store(tmp_path, "y").encode(TEXTS, other)
    assert sorted(other.asked) == sorted(set(TEXTS))


def test_what_was_encoded_before_a_kill_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SHARD", 2)
    texts = [f"text {number}" for number in range(7)]
    with pytest.raises(TrlapError, match="killed"):
        Store(tmp_path, "x").encode(texts, Counting(breaks_after=5))
    again = Counting()
    rows = Store(tmp_path, "x").encode(texts, again)
    assert rows.tobytes() == expected(texts).tobytes()
    assert again.asked == texts[4:]


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_shard_is_named_and_done_again(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Store(tmp_path, "x")
    kept.encode(TEXTS, Counting())
    (shard,) = kept.folder.glob("*.npz")
    content = bytearray(shard.read_bytes())
    if damage == "changed":
        content[-200] ^= 1
        content[150] ^= 1
    shard.write_bytes(content[: {"cut": len(content) // 2, "empty": 0}.get(damage, len(content))])
    again = Counting()
    rows = Store(tmp_path, "x").encode(TEXTS, again)
    assert rows.tobytes() == expected(TEXTS).tobytes()
    assert sorted(again.asked) == sorted(set(TEXTS))
    assert "cannot be used" in capsys.readouterr().err
    say_once.cache_clear()
    kept.encode(TEXTS, Counting(breaks_after=0))
    assert not capsys.readouterr().err
