"""Crashes, messages, summaries, workers: none of them holds a text."""

import io
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_ray import FakeRay
from stream_helpers import columns

from trlap.errors import TrlapError, tell
from trlap.privatize import lines
from trlap.privatize.crash import without_text
from trlap.privatize.privatizer import Privatizer
from trlap.privatize.streams import transform
from trlap.privatize.summary import own_text
from trlap.progress import progress

SECRET = "the waiter was rude"
SMALL: dict[str, Any] = {"vocabulary_size": 500}


def failing(error: Callable[[str], Exception]) -> Callable[[list[str], float | None], list[str]]:
    """A change that fails as a defect would: it quotes what it was given, and hides an error that does."""

    def change(texts: list[str], share: float | None) -> list[str]:
        local = texts[0]
        try:
            json.loads(local)
        except ValueError:
            raise error(local) from None
        return texts

    return change


@pytest.mark.parametrize(
    "error", [KeyError, ValueError, RuntimeError, UnicodeError, StopIteration, MemoryError]
)
def test_a_crash_shows_its_kind_and_place_and_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: type[Exception]
) -> None:
    source = tmp_path / "in.txt"
    source.write_text(SECRET)
    with pytest.raises(SystemExit) as end, without_text():
        transform(str(source), io.BytesIO(), ".txt", columns(), failing(error))
    assert end.value.code == 1 and end.value.__suppress_context__
    said = capsys.readouterr().err
    assert error.__name__ in said and "trlap/privatize/lines.py:" in said and " in rewrite" in said
    assert "waiter" not in said and str(tmp_path) not in said
    shown = "".join(traceback.format_exception(end.value))
    assert SECRET not in shown


def test_a_closed_standard_error_does_not_send_messages_among_the_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stderr", None)
        tell("a word")
        with progress("privatising", "tokens") as show:
            show(0.5, 1)
    assert capsys.readouterr().out == ""


def test_what_a_user_can_mend_passes() -> None:
    with pytest.raises(TrlapError, match="mend"), without_text():
        raise TrlapError("mend this")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (SECRET, "give a list of texts, as in privatize"),
        (SECRET.encode(), "give a list of texts, as in privatize"),
        (None, "give a list of texts, not NoneType"),
        (5, "give a list of texts, not int"),
        ([SECRET, None], r"texts\[1\] is NoneType, not a text"),
        ([SECRET, 7], r"texts\[1\] is int"),
        ([SECRET.encode()], r"texts\[0\] is bytes"),
        ([SECRET, float("nan")], r"texts\[1\] is float"),
        ([[SECRET]], r"texts\[0\] is list"),
        ([SECRET] * 3000 + [None], r"texts\[3000\] is NoneType"),
        ([SECRET + "\ud800"], r"texts\[0\] holds half a character"),
    ],
)
def test_what_is_no_list_of_texts_is_named_by_its_place(
    texts: Any, message: str, krr: Privatizer
) -> None:
    with pytest.raises(TrlapError, match=message) as error:
        krr.privatize(texts)
    assert "waiter" not in str(error.value)


@pytest.fixture(scope="module")
def krr() -> Privatizer:
    return Privatizer("krr", vectors="random", **SMALL)


def test_any_iterable_of_texts_will_do(krr: Privatizer) -> None:
    assert len(krr.privatize(iter([SECRET, ""]))) == 2
    assert krr.privatize([]) == []
    assert len(krr.privatize({SECRET: 1})) == 1


def test_the_summary_shows_no_text() -> None:
    """Not even the private one: without noise it is the original."""
    plain = Privatizer("none", vectors="random", **SMALL)
    assert plain.privatize(["the and of"]) == ["the and of"]
    said = own_text(plain, "out.txt")
    assert "the and of" not in said and "1 texts, 3 words" in said


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(lines, "BATCH", 3)
    return fake


KEYS = {"mechanism": "none", "vectors": "random", **SMALL}


def on_ray(folder: Path, content: str) -> tuple[Privatizer, bytes]:
    from trlap.privatize import ray

    source, stream = folder / "in.csv", io.BytesIO()
    source.write_text(content)
    counts = Privatizer(**KEYS)
    ray.privatize(
        counts, KEYS, str(source), stream, ".csv", columns(), 1, lambda share, tokens: None
    )
    assert list(folder.iterdir()) == [source]
    return counts, stream.getvalue()


def test_ray_gives_every_row_once_and_in_order_and_writes_no_file(
    tmp_path: Path, ray: FakeRay
) -> None:
    content = "n,text\n" + "".join(f"{i},the {i // 10} {i % 10}\n\n" for i in range(40))
    counts, found = on_ray(tmp_path, content)
    assert found.decode() == content
    assert counts.lengths == {3: 40} and counts.unknown == 0
    # three workers, all of which had work
    assert len(ray.pending) == 3 and set(ray.order) == {0, 1, 2}


def test_ray_refuses_a_bad_row_as_the_others_do(tmp_path: Path, ray: FakeRay) -> None:
    with pytest.raises(TrlapError, match="line 12: 1 fields, but 2 columns"):
        on_ray(tmp_path, "n,text\n" + f"1,{SECRET}\n" * 10 + f"{SECRET}\n")


def test_a_worker_that_fails_quotes_nothing(
    tmp_path: Path, ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Privatizer, texts: list[str], place: int) -> list[str]:
        raise ValueError(texts[0])

    monkeypatch.setattr(Privatizer, "privatize", fail)
    with pytest.raises(RuntimeError) as error:
        on_ray(tmp_path, f"n,text\n1,{SECRET}\n")
    shown = "".join(traceback.format_exception(error.value))
    assert "ValueError" in str(error.value) and "privatize/ray.py:" in str(error.value)
    assert error.value.__context__ is None and SECRET not in shown
