"""From rows to sentences of tokens. Real documents are cut in test_hub.py."""

from pathlib import Path

import pytest
from corpus_helpers import everything, make

from trlap.data import corpus as corpora


@pytest.fixture(autouse=True)
def _no_local_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRLAP_DATA", raising=False)


def test_own_unknown_mark_long_and_empty_sentences(tmp_path: Path) -> None:
    lines = ["a _UNK b .", "one two three four five six", "", "Drunk_UNKle ok .", "fine ."] * 4
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(lines))
    keys = {"path": path, "unknown": "_UNK", "max_words": 5}
    for tokenized, kept in ((True, "drunk_unkle ok ."), (False, "drunk _ unkle ok .")):
        corpus = corpora.load(make("text", **keys, tokenized=tokenized))
        texts = {text for text, _ in everything(corpus)}
        assert texts == {"a <unk> b .", kept, "fine ."}
        assert sorted(corpus.info.notes[1:]) == [
            "4 rows without text left out",
            "4 sentences of more than 5 words left out",
        ]
