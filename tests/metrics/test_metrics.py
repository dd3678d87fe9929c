import json
import logging
import math
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from trlap.config.schema import BertScore, Metrics
from trlap.embeddings.assets import fetch
from trlap.errors import TrlapError
from trlap.metrics import text as metrics
from trlap.metrics.text import best_constant, length_alone, text_metrics
from trlap.runs.cache import jsonable

WORDS = ["the", "food", "was", "cold", ".", "$5", "7:30", "n't", "a", "waiter"]
sentences = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def score(
    originals: list[str],
    candidates: list[str],
    bootstrap: int = 0,
    model: str | None = None,
    num_layers: int | None = None,
    seed: int = 0,
) -> Any:  # Scores, but each test knows which values are not None
    cfg = Metrics(bootstrap, BertScore(model, num_layers, 64))
    return text_metrics(originals, candidates, cfg, "cpu", seed)


def corpus(n: int, kept: float, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    old = [[str(w) for w in rng.choice(WORDS, rng.integers(1, 13))] for _ in range(n)]
    new = [[w if rng.random() < kept else str(rng.choice(WORDS)) for w in words] for words in old]
    return [" ".join(words) for words in old], [" ".join(words) for words in new]


# ---------------------------------------------------------------- by hand


def test_rouge1_by_hand() -> None:
    # common: the (once), cat -> precision 2/4, recall 2/3, F = 2 * 1/2 * 2/3 / (1/2 + 2/3) = 4/7
    found = score(["the cat sat"], ["the the cat ran"])
    assert found.values["rouge1"] == pytest.approx(100 * 4 / 7)
    assert found.details["rouge1_precision"] == pytest.approx(50)
    assert found.details["rouge1_recall"] == pytest.approx(100 * 2 / 3)


def test_rouge1_is_the_mean_over_sentences_and_keeps_punctuation() -> None:
    found = score(["$5 !", "a b c d"], ["$5 ?", "e f g h"])
    assert found.values["rouge1"] == pytest.approx((50 + 0) / 2)


def test_bleu_by_hand() -> None:
    # unigrams 5/6, bigrams 3/5, trigrams 1/4, 4-grams 0/3 smoothed to 1/(2*3); equal lengths
    found = score(["a b c d e f"], ["a b c x e f"])
    by_hand = 100 * (5 / 6 * 3 / 5 * 1 / 4 * 1 / 6) ** (1 / 4)
    assert found.values["bleu"] == pytest.approx(by_hand)


def test_bleu_pays_for_brevity() -> None:
    found = score(["a b c d e f g h"], ["a b c d e f"])
    assert found.values["bleu"] == pytest.approx(100 * math.exp(1 - 8 / 6))
    assert found.details["bleu_brevity_penalty"] == pytest.approx(math.exp(1 - 8 / 6))


def test_n_w_by_hand() -> None:
    # 2 of 3, 1 of 2 (one missing), 1 of 1 (extra ones ignored), 0 of 1 (all missing)
    found = score(["a b c", "d e", "f", "g"], ["a x c", "d", "f g h", ""])
    assert found.values["n_w"] == pytest.approx((2 + 1 + 1 + 0) / (3 + 2 + 1 + 1))


def test_identical_texts_are_perfect() -> None:
    texts = ["the food was cold .", "it was n't 7:30 , was it ?"]
    found = score(texts, texts, bootstrap=20)
    for name, best in (("rouge1", 100), ("bleu", 100), ("n_w", 1)):
        assert found.values[name] == pytest.approx(best)
        assert found.intervals[name] == pytest.approx([best, best])


# ---------------------------------------------------------------- <unk>, empty strings, odd spaces


def test_unk_never_matches() -> None:
    found = score(["<unk> <unk> <unk> <unk>"], ["<unk> <unk> <unk> <unk>"])
    assert [found.values[name] for name in ("rouge1", "bleu", "n_w")] == [0, 0, 0]
    # the default tokeniser of rouge-score would read `unk`
    assert score(["unk"], ["<unk>"]).values["rouge1"] == 0


def test_unk_counts_as_a_word() -> None:
    found = score(["good <unk> ."], ["good <unk> ."])
    assert found.values["n_w"] == pytest.approx(2 / 3)
    assert found.values["rouge1"] == pytest.approx(100 * 2 / 3)


def test_a_word_may_hold_a_no_break_space() -> None:
    found = score(["mail at\xa0home now please"], ["mail at\xa0home now please"])
    assert found.details["original_words"] == 4
    assert found.values["n_w"] == 1
    assert found.values["bleu"] == pytest.approx(100)
    assert score(["at\xa0home now"], ["x now"]).values["n_w"] == 0.5


def test_no_sentences() -> None:
    found = score([], [], bootstrap=10, model="minilm")
    assert found.values == dict.fromkeys(metrics.METRICS)
    assert set(found.reasons) == set(metrics.METRICS)
    assert found.intervals == {}


def test_all_candidates_empty() -> None:
    found = score(["a b", "c"], ["", ""], bootstrap=10)
    assert [found.values[name] for name in ("rouge1", "bleu", "n_w")] == [0, 0, 0]
    assert found.intervals["bleu"] == [0, 0]
    assert found.details["empty_candidates"] == 2


def test_all_originals_empty() -> None:
    found = score(["", ""], ["a", ""], bootstrap=10)
    assert found.values["rouge1"] == 0
    assert found.values["bleu"] == 0
    assert found.values["n_w"] is None
    assert found.reasons["n_w"] == "the originals have no words"
    assert found.details["empty_originals"] == 2


def test_a_rare_non_empty_original_survives_resampling() -> None:
    found = score(["a"] + [""] * 9, ["a"] + [""] * 9, bootstrap=50)
    assert found.values["n_w"] == 1
    assert found.intervals["n_w"] == [0, 1]


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 originals but 1 candidates"):
        score(["a", "b"], ["a"])


# ---------------------------------------------------------------- against the libraries


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_bleu_is_sacrebleus(kept: float) -> None:
    old, new = corpus(200, kept)
    found = score(old, new)
    theirs = sacrebleu.corpus_bleu(new, [old], tokenize="none", force=True)
    assert found.values["bleu"] == theirs.score
    assert "tok:none" in found.provenance["bleu"]["signature"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4))
def test_bleu_is_sacrebleus_on_short_texts(pairs: list[tuple[str, str]]) -> None:
    old, new = ([pair[side] for pair in pairs] for side in (0, 1))
    theirs = sacrebleu.corpus_bleu(new, [old], tokenize="none", force=True).score
    assert score(old, new).values["bleu"] == theirs


def test_rouge1_is_rouge_scores_where_its_tokeniser_changes_nothing() -> None:
    old, new = (
        [
            text.replace("$5", "five").replace("7:30", "x").replace("n't", "not").replace(".", "y")
            for text in side
        ]
        for side in corpus(200, 0.5)
    )
    theirs = RougeScorer(["rouge1"])
    each = [theirs.score(a, b)["rouge1"] for a, b in zip(old, new, strict=True)]
    found = score(old, new)
    assert found.values["rouge1"] == pytest.approx(100 * np.mean([s.fmeasure for s in each]))
    assert found.details["rouge1_recall"] == pytest.approx(100 * np.mean([s.recall for s in each]))


# ---------------------------------------------------------------- properties


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=5))
def test_ranges(pairs: list[tuple[str, str]]) -> None:
    found = score([old for old, _ in pairs], [new for _, new in pairs])
    assert -1e-9 <= found.values["rouge1"] <= 100 + 1e-9
    assert -1e-9 <= found.values["bleu"] <= 100 + 1e-9
    if any(old for old, _ in pairs):
        same = all(new.split()[: len(old.split())] == old.split() for old, new in pairs)
        assert 0 <= found.values["n_w"] <= 1
        assert (found.values["n_w"] == 1) == same
    json.dumps(jsonable(vars(found)), allow_nan=False)


# ---------------------------------------------------------------- intervals


def test_intervals_hold_the_point_and_depend_on_the_seed_alone() -> None:
    old, new = corpus(300, 0.4)
    one, again, other = (score(old, new, bootstrap=200, seed=seed) for seed in (1, 1, 2))
    for name, (low, high) in one.intervals.items():
        assert low < one.values[name] < high
    assert one == again
    assert one.values == other.values
    assert one.intervals != other.intervals


def test_no_resamples_no_intervals() -> None:
    assert score(["a"], ["a"], bootstrap=0).intervals == {}


def test_intervals_narrow_with_the_root_of_n() -> None:
    # widths of 100 and 1,600 sentences differ by a factor of 4, here within 30 %
    widths = []
    for n in (100, 1600):
        low, high = score(*corpus(n, 0.4), bootstrap=500).intervals["rouge1"]
        widths.append(high - low)
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.3)


def test_intervals_cover() -> None:
    # 200 corpora whose true n_w is 0.3. With coverage 0.94, a count outside 175..199 has a
    # probability below 0.1 %; the seed is fixed.
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        kept = rng.random((100, 10)) < 0.3
        old = [["a"] * 10] * 100
        new = [["a" if same else "b" for same in row] for row in kept]
        low, high = metrics._intervals({"n_w": metrics._n_w(old, new)}, 200, seed=1)["n_w"]
        hits += low <= 0.3 <= high
    assert 175 <= hits <= 199


def test_resampled_bleu_is_bleu_of_the_resampled_corpus() -> None:
    old, new = corpus(50, 0.6)
    drawn = np.random.default_rng(3).integers(50, size=50)  # what one resample with seed 3 draws
    theirs = sacrebleu.corpus_bleu(
        [new[i] for i in drawn], [[old[i] for i in drawn]], tokenize="none", force=True
    )
    assert score(old, new, bootstrap=1, seed=3).intervals["bleu"] == [theirs.score] * 2


# ---------------------------------------------------------------- BERTScore


@pytest.fixture(scope="module")
def minilm() -> Path:
    try:
        return fetch("minilm")
    except TrlapError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of random weights in a folder whose path has "t5" in it."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("part5") / "bert"
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "food", "cold", "soup", "."]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shape: dict[str, Any] = {
            "hidden_size": 16,
            "num_attention_heads": 2,
            "intermediate_size": 16,
        }
        BertModel(
            BertConfig(vocab_size=len(vocabulary), num_hidden_layers=2, **shape)
        ).save_pretrained(folder)
    return folder


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
    found = score(old, new, bootstrap=50, model="minilm")
    alone = score(["<unk> soup ."], ["<unk> soup ."], model="minilm").values["bertscore"]
    assert alone < 0.99
    assert found.values["bertscore"] == pytest.approx((1 + 0 + 1 + alone + 0 + 1) / 6, abs=1e-4)
    assert found.details["bertscore_empty_pairs"] == 2
    low, high = found.intervals["bertscore"]
    assert 0 <= low < found.values["bertscore"] < high <= 1
    source = found.provenance["bertscore"]
    assert source["hash"].startswith("minilm_L6_no-idf")
    assert source["num_layers"] == 6
    assert source["comparable_with_paper"] is False
    assert str(minilm.parent) not in json.dumps(jsonable(vars(found)))


def test_bertscore_of_empty_candidates_is_zero(tiny_bert: Path) -> None:
    found = score(["good food", "soup"], ["", ""], model=str(tiny_bert), num_layers=2)
    assert found.values["bertscore"] == 0
    assert found.details["bertscore_empty_pairs"] == 2


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
    found = score(old, new, model=str(tiny_bert), num_layers=2)
    ours = [found.details["bertscore_precision"], found.details["bertscore_recall"]]
    assert [*ours, found.values["bertscore"]] == pytest.approx(theirs.tolist(), abs=1e-5)


def test_repeated_pairs_are_scored_once(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bert_score import BERTScorer

    seen: list[int] = []
    score_pairs = BERTScorer.score

    def count(self: BERTScorer, new: list[str], old: list[str], **options: object) -> object:
        seen.append(len(new))
        return score_pairs(self, new, old, **options)

    monkeypatch.setattr(BERTScorer, "score", count)
    monkeypatch.setattr(metrics, "PAIRS_AT_ONCE", 2)
    old, new = ["good", "soup", "good", "cold"], ["food", "food", "food", "soup ."]
    found = score(old, new, model=str(tiny_bert), num_layers=1)
    assert seen == [2, 1]
    each = [
        score([a], [b], model=str(tiny_bert), num_layers=1).values["bertscore"]
        for a, b in zip(old, new, strict=True)
    ]
    assert found.values["bertscore"] == pytest.approx(np.mean(each), abs=1e-6)


def test_roberta_large_from_the_hub(tiny_roberta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked = []

    def snapshot_download(name: str, **options: object) -> str:
        asked.append(name)
        return str(tiny_roberta)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    for name in ("roberta-large", "FacebookAI/roberta-large"):
        found = score(["good soup <unk>"], ["good <unk> food"], model=name)
        source = found.provenance["bertscore"]
        assert source["hash"].startswith(f"{name}_L17_")
        assert source["comparable_with_paper"] is True
        assert 0 < found.values["bertscore"] < 1
    assert asked == ["roberta-large", "FacebookAI/roberta-large"]
    other = score(["good"], ["good"], model="roberta-large", num_layers=6)
    assert other.provenance["bertscore"]["comparable_with_paper"] is False


def test_roberta_sees_a_space_before_the_first_word(tiny_roberta: Path) -> None:
    from bert_score.utils import sent_encode

    tokenizer = metrics._scorer("tiny", 2, tiny_roberta, "cpu")._tokenizer
    pieces = tokenizer.convert_ids_to_tokens(sent_encode(tokenizer, "soup good soup"))
    assert pieces == ["<s>", "Ġsoup", "Ġgood", "Ġsoup", "</s>"]


def test_switched_off_imports_nothing_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)  # an import would raise
    found = score(["a"], ["a"])
    assert found.values["bertscore"] is None
    assert found.reasons == {"bertscore": "switched off"}
    assert found.values["n_w"] == 1


def test_a_missing_model_gives_null_and_one_line(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    (tmp_path / "empty").mkdir()
    wrong = [
        ("./no/such/folder", 6, "no folder ./no/such/folder"),
        ("nobody/no-such-model", 6, "cannot fetch nobody/no-such-model from the Hugging Face hub"),
        ("not a name!", 6, "cannot fetch not a name!"),
        (str(tmp_path / "empty"), 6, "bert-score cannot load"),
        (str(tiny_bert), 3, "num_layers should be between 0 and 2"),
        (str(tiny_bert), None, "set metrics.bertscore.num_layers"),
    ]
    for model, layers, reason in wrong:
        found = score(["a b"], ["a c"], bootstrap=5, model=model, num_layers=layers)
        assert found.values["bertscore"] is None
        assert found.values["n_w"] == 0.5
        assert "bertscore" not in found.intervals
        assert "bertscore" not in found.provenance
        assert reason in found.reasons["bertscore"]
        assert "\n" not in found.reasons["bertscore"]


def test_an_asset_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Path:
        raise TrlapError(f"cannot fetch {name}")

    monkeypatch.setattr(metrics, "fetch", fail)
    assert score(["a"], ["a"], model="minilm").reasons == {"bertscore": "cannot fetch minilm"}


def test_quiet_restores_what_it_silenced(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("transformers")
    before = logger.level
    with metrics._quiet():
        assert logger.level == logging.ERROR
        print("noise", file=sys.stderr)
    with suppress(RuntimeError), metrics._quiet():
        raise RuntimeError
    assert logger.level == before
    assert capsys.readouterr().err == ""


def test_texts_hash_alike_in_every_process() -> None:
    text = metrics._Text("good soup")
    assert hash(text) == zlib.crc32(b"good soup")
    assert text == "good soup"


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), min_size=1, max_size=5),
)
def test_the_best_constant_word_is_the_best(sentences: list[list[str]]) -> None:
    originals = [" ".join(words) for words in sentences]
    scores = []
    for word in "abc":
        constant = [" ".join(word for _ in words) for words in sentences]
        values = score(originals, constant).values
        scores.append((values["n_w"], values["rouge1"]))
    floor = best_constant(originals)
    assert floor["n_w_best_constant"] == pytest.approx(max(n_w for n_w, _ in scores))
    assert floor["rouge1_best_constant"] == pytest.approx(max(rouge for _, rouge in scores))


def test_what_the_length_alone_tells() -> None:
    train = ["a b .", "a c .", "d c .", "x y"]
    # in sentences of three words: a, then c, then a stop; nobody has seen four words
    assert length_alone(train, ["a c .", "q q .", "x q", "a b c ."]) == 5 / 12
    assert length_alone([], ["a"]) == 0
    assert length_alone(train, [""]) is None
