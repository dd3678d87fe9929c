"""A document's vector depends on that document alone, to the last bit."""

import numpy as np
import pytest

from trlap.data.vocabulary import Vocabulary
from trlap.documents.encoder import Encoder, MeanWords, MiniLM

TEXTS = ["", "good", "a film that is good , and long " * 30, "bad films", "good films ?"]


@pytest.fixture(params=["minilm", "side by side", "words"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    if request.param != "words":
        return MiniLM("cpu", 3 if request.param == "side by side" else 1)
    words = ["<unk>", "good", "bad", "film", "films"]
    vectors = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    return MeanWords(Vocabulary(words, np.full(5, 0.2), public=True), vectors)


def test_alone_or_among_others(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    for number in (4, 0, 2, 1, 3):
        alone = encoder.encode([TEXTS[number]])[0]
        assert alone.tobytes() == together[number].tobytes()
    assert encoder.encode(TEXTS[::-1]).tobytes() == together[::-1].tobytes()
    lengths = np.linalg.norm(together, axis=1)
    assert lengths[1:] == pytest.approx(np.ones(4), abs=1e-6)
    assert encoder.encode([]).shape == (0, together.shape[1])


def test_meaning_is_near() -> None:
    encoder = MiniLM("cpu")
    film, movie, tax = encoder.encode(["a great film", "a wonderful movie", "higher taxes on oil"])
    assert film @ movie > 0.5 > film @ tax + 0.2


def test_side_by_side_gives_the_same_bits_and_stops_when_it_is_told() -> None:
    texts = [*TEXTS, *(text[::-1] for text in TEXTS)] * 3
    assert MiniLM("cpu", 2).rows(texts).tobytes() == MiniLM("cpu").rows(texts).tobytes()

    def stop(number: int) -> None:
        if number == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        MiniLM("cpu", 2).rows(texts, stop)
