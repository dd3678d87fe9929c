import json
import logging
import socket
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import DictConfig
from text_metric_helpers import config, make_tiny_bert, score

from trlap.embeddings.assets import fetch
from trlap.errors import TrlapError
from trlap.files import jsonable
from trlap.metrics import Scene, Texts, _bert, bertscore, measure
from trlap.metrics.bertscore import BertScore, StableText
from trlap.runs.result import Scores


@pytest.fixture(scope="module")
def minilm() -> Path:
    try:
        return fetch("minilm")
    except TrlapError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder whose path has "t5" in it."""
    return make_tiny_bert(tmp_path_factory.mktemp("part5") / "bert")


@pytest.fixture(scope="module")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

    folder = tmp_path_factory.mktemp("roberta")
    bpe = ByteLevelBPETokenizer()
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator(["soup good soup good food"] * 9, vocab_size=300, special_tokens=marks)
    bpe.save_model(str(folder))
    RobertaTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt")).save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shape: dict[str, Any] = {"hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8}
        RobertaModel(
            RobertaConfig(vocab_size=300, num_hidden_layers=18, pad_token_id=1, **shape)
        ).save_pretrained(folder)
    return folder


def test_minilm_ranks_meaning(minilm: Path, capfd: pytest.CaptureFixture[str]) -> None:
    original = "the waiter brought our soup and it was cold ."
    candidates = [
        original,
        "the server brought us the soup and it was chilly .",
        "stocks fell in early trading on tuesday .",
    ]
    same, near, far = (
        score([original], [candidate], model="minilm").values["bertscore"]
        for candidate in candidates
    )
    assert same == pytest.approx(1, abs=1e-5)
    assert same <= 1
    assert same > near > far
    assert capfd.readouterr() == ("", "")


def test_minilm_on_a_mixed_corpus(minilm: Path) -> None:
    old = ["good soup .", "", "good soup .", "<unk> soup .", "cold food .", "long " * 600]
    new = ["good soup .", "cold", "good soup .", "<unk> soup .", "", "long " * 600]
    scores = score(old, new, bootstrap=50, model="minilm")
    alone = score(["<unk> soup ."], ["<unk> soup ."], model="minilm").values["bertscore"]
    assert alone < 0.99
    assert scores.values["bertscore"] == pytest.approx((1 + 0 + 1 + alone + 0 + 1) / 6, abs=1e-4)
    assert scores.details["bertscore_empty_pairs"] == 2
    low, high = scores.intervals["bertscore"]
    assert 0 <= low < scores.values["bertscore"] < high <= 1
    source = scores.provenance["bertscore"]
    assert source["hash"].startswith("minilm_L6_no-idf")
    assert source["num_layers"] == 6
    assert source["comparable_with_paper"] is False
    assert str(minilm.parent) not in json.dumps(jsonable(vars(scores)))


def test_bertscore_of_empty_candidates_is_zero(tiny_bert: Path) -> None:
    scores = score(["good food", "soup"], ["", ""], model=str(tiny_bert), num_layers=2)
    assert scores.values["bertscore"] == 0
    assert scores.details["bertscore_empty_pairs"] == 2


def test_a_folder_is_loaded_as_what_it_is(tiny_bert: Path) -> None:
    assert "t5" in str(tiny_bert)
    import torch
    from bert_score.utils import bert_cos_score_idf
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_bert, model_max_length=512)
    weights = dict.fromkeys(range(10), 1.0) | {2: 0.0, 3: 0.0}  # [CLS] and [SEP] do not count
    old, new = ["good food .", "cold soup"], ["cold food .", "good good soup"]
    with torch.no_grad():
        model = AutoModel.from_pretrained(tiny_bert)
        theirs = bert_cos_score_idf(model, old, new, tokenizer, weights, device="cpu").mean(dim=0)
    scores = score(old, new, model=str(tiny_bert), num_layers=2)
    ours = [scores.details["bertscore_precision"], scores.details["bertscore_recall"]]
    assert [*ours, scores.values["bertscore"]] == pytest.approx(theirs.tolist(), abs=1e-5)


def test_repeated_pairs_are_scored_once(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bert_score import BERTScorer

    seen: list[int] = []
    score_pairs = BERTScorer.score

    def count(self: BERTScorer, new: list[str], old: list[str], **options: object) -> object:
        seen.append(len(new))
        return score_pairs(self, new, old, **options)

    monkeypatch.setattr(BERTScorer, "score", count)
    monkeypatch.setattr(bertscore, "PAIRS_AT_ONCE", 2)
    old, new = ["good", "soup", "good", "cold"], ["food", "food", "food", "soup ."]
    scores = score(old, new, model=str(tiny_bert), num_layers=1)
    assert seen == [2, 1]
    each = [
        score([a], [b], model=str(tiny_bert), num_layers=1).values["bertscore"]
        for a, b in zip(old, new, strict=True)
    ]
    assert scores.values["bertscore"] == pytest.approx(np.mean(each), abs=1e-6)


def test_roberta_large_from_the_hub(tiny_roberta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked = []

    def snapshot_download(name: str, **options: object) -> str:
        asked.append(name)
        return str(tiny_roberta)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    for name in ("roberta-large", "FacebookAI/roberta-large"):
        scores = score(["good soup <unk>"], ["good <unk> food"], model=name)
        source = scores.provenance["bertscore"]
        assert source["hash"].startswith(f"{name}_L17_")
        assert source["comparable_with_paper"] is True
        assert 0 < scores.values["bertscore"] < 1
    assert asked == ["roberta-large", "FacebookAI/roberta-large"]
    other = score(["good"], ["good"], model="roberta-large", num_layers=6)
    assert other.provenance["bertscore"]["comparable_with_paper"] is False


def test_a_hub_that_never_answers_costs_one_wait_and_leaves_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The client itself waits for minutes; the run goes on without the metric."""
    from huggingface_hub import constants

    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(_bert, "PATIENCE", 0.3)
        _bert._silence_of_hub.cache_clear()
        started = time.monotonic()
        for _ in range(3):
            scores = score(["good"], ["good"], model="roberta-large")
            assert scores.values["bertscore"] is None
            reason = scores.reasons["bertscore"]
            assert reason.startswith("cannot fetch roberta-large from the Hugging Face hub: ")
            assert "\n" not in reason
        assert time.monotonic() - started < 8
    _bert._silence_of_hub.cache_clear()


def test_the_papers_size_takes_the_papers_model(configure: Callable[..., DictConfig]) -> None:
    assert configure().metrics.bertscore.model == "minilm"
    assert configure("size=paper").metrics.bertscore.model == "roberta-large"
    table = configure("experiment=table2", "size=paper")
    assert (table.metrics.bertscore.model, table.model.name) == ("roberta-large", "bilstm")


def test_roberta_sees_a_space_before_the_first_word(tiny_roberta: Path) -> None:
    from bert_score.utils import sent_encode

    tokenizer = _bert.load_scorer("tiny", 2, tiny_roberta, "cpu")._tokenizer
    pieces = tokenizer.convert_ids_to_tokens(sent_encode(tokenizer, "soup good soup"))
    assert pieces == ["<s>", "Ġsoup", "Ġgood", "Ġsoup", "</s>"]


def test_switched_off_imports_nothing_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)  # an import would raise
    scores = score(["a"], ["a"])
    assert scores.values["bertscore"] is None
    assert scores.reasons == {"bertscore": "switched off"}
    assert scores.values["n_w"] == 1


def test_a_missing_model_gives_null_and_one_line(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    (tmp_path / "empty").mkdir()
    wrong = [
        ("./no/such/folder", 6, "no folder folder"),
        ("nobody/no-such-model", 6, "cannot fetch nobody/no-such-model from the Hugging Face hub"),
        ("not a name!", 6, "cannot fetch not a name!"),
        (str(tmp_path / "empty"), 6, "bert-score cannot load"),
        (str(tiny_bert), 3, "num_layers should be between 0 and 2"),
        (str(tiny_bert), None, "set metrics.bertscore.num_layers"),
    ]
    for model, layers, reason in wrong:
        scores = score(["a b"], ["a c"], bootstrap=5, model=model, num_layers=layers)
        assert scores.values["bertscore"] is None
        assert scores.values["n_w"] == 0.5
        assert "bertscore" not in scores.intervals
        assert "bertscore" not in scores.provenance
        assert reason in scores.reasons["bertscore"]
        assert "\n" not in scores.reasons["bertscore"]


def test_an_asset_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Path:
        raise TrlapError(f"cannot fetch {name}")

    monkeypatch.setattr(_bert, "fetch", fail)
    assert score(["a"], ["a"], model="minilm").reasons == {"bertscore": "cannot fetch minilm"}


def test_quiet_restores_what_it_silenced(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("transformers")
    before = logger.level
    with _bert.quiet():
        assert logger.level == logging.ERROR
        print("noise", file=sys.stderr)
    with suppress(RuntimeError), _bert.quiet():
        raise RuntimeError
    assert logger.level == before
    assert capsys.readouterr().err == ""


def test_texts_hash_alike_in_every_process() -> None:
    text = StableText("good soup")
    assert hash(text) == zlib.crc32(b"good soup")
    assert text == "good soup"


def test_the_authors_took_the_precision_of_the_first_lines(tiny_bert: Path) -> None:
    old, new = ["good food .", "cold soup", "soup"], ["cold food .", "good good soup", "soup"]
    scene = Scene(config(0, str(tiny_bert), 2), first_lines=2)
    first = score(old[:2], new[:2], model=str(tiny_bert), num_layers=2)
    released = measure(Texts("rewritten", old, new), scene).as_released
    assert released["bertscore"] == pytest.approx(first.details["bertscore_precision"])
    assert released["bertscore"] != pytest.approx(first.values["bertscore"])


def test_what_a_reader_must_know() -> None:
    def note(value: float | None, reason: str = "", **about: object) -> str | None:
        return BertScore().note(
            Scores(
                {"bertscore": value}, reasons={"bertscore": reason}, provenance={"bertscore": about}
            )
        )

    small = note(0.5, model="minilm", comparable_with_paper=False)
    assert small == "BERTScore is minilm's: not comparable with the paper's roberta-large"
    assert note(0.5, model="roberta-large", comparable_with_paper=True) is None
    assert note(None, "cannot fetch minilm") == (
        "BERTScore: cannot fetch minilm; force=true tries again"
    )
    assert note(None, "switched off") is None
    assert note(None, "not among metrics.names") is None
