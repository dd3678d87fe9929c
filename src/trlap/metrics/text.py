"""How much of a text is left: ROUGE-1, BLEU, N_w and BERTScore, each with a bootstrap interval.

A text is its words joined by single spaces. `<unk>` stands for a word nobody knows, so it never
counts as a match, not even with another `<unk>`: each side writes it as a mark that the other side
cannot have.
"""

import io
import logging
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlap.config.schema import BertScore, Metrics
from trlap.data.tokens import UNK
from trlap.embeddings.assets import ASSETS, fetch
from trlap.errors import TrlapError
from trlap.runs.cache import file_sha256

METRICS = ("rouge1", "bleu", "n_w", "bertscore")
ORIGINAL_UNK, CANDIDATE_UNK = "\ue000", "\ue001"  # private-use code points: in no corpus
PAIRS_AT_ONCE = 4096  # bert-score holds the vectors of every token it is given

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    values: dict[str, float | None]  # rouge1 and bleu on 0-100; n_w and bertscore on 0-1
    intervals: dict[str, list[float]]  # 95 %: [low, high]
    details: dict[str, Any]
    reasons: dict[str, str]  # metric: why its value is None
    provenance: dict[str, Any]


@dataclass(frozen=True)
class _Measure:
    """A metric as a function of sums over sentences, which is all that a bootstrap needs."""

    rows: Array  # a sentence's statistics in each row
    value: Callable[[Array], float]  # of the rows' sum
    details: dict[str, Any]
    provenance: dict[str, Any]


def text_metrics(
    originals: Sequence[str], candidates: Sequence[str], cfg: Metrics, device: str, seed: int = 0
) -> Scores:
    """Compare each candidate with its original, the single reference.

    Intervals are 95 % percentile intervals over `cfg.bootstrap` resamples of the sentences (Efron
    1979). All metrics share the resamples, which depend on `seed` and the number of sentences only.
    """
    if len(originals) != len(candidates):
        raise ValueError(f"{len(originals)} originals but {len(candidates)} candidates")
    if not originals:
        reasons = dict.fromkeys(METRICS, "no sentences to compare")
        return Scores(dict.fromkeys(METRICS), {}, {"sentences": 0}, reasons, {})

    old = [_words(text, ORIGINAL_UNK) for text in originals]
    new = [_words(text, CANDIDATE_UNK) for text in candidates]
    measures = {"rouge1": _rouge1(old, new), "bleu": _bleu(old, new)}
    reasons = {}
    if any(old):
        measures["n_w"] = _n_w(old, new)
    else:
        reasons["n_w"] = "the originals have no words"
    try:
        measures["bertscore"] = _bertscore(originals, candidates, cfg.bertscore, device)
    except TrlapError as error:
        reasons["bertscore"] = str(error)

    details: dict[str, Any] = {
        "sentences": len(old),
        "original_words": sum(map(len, old)),
        "candidate_words": sum(map(len, new)),
        "empty_originals": sum(not words for words in old),
        "empty_candidates": sum(not words for words in new),
    }
    provenance: dict[str, Any] = {}
    for name, measure in measures.items():
        details |= {f"{name}_{key}": item for key, item in measure.details.items()}
        provenance[name] = measure.provenance
    intervals = {}
    if cfg.bootstrap:
        provenance["intervals"] = {
            "method": "percentile bootstrap over sentences",
            "level": 0.95,
            "resamples": cfg.bootstrap,
            "seed": seed,
        }
        intervals = _intervals(measures, cfg.bootstrap, seed)
    values = {
        name: float(measures[name].value(measures[name].rows.sum(axis=0)))
        if name in measures
        else None
        for name in METRICS
    }
    return Scores(values, intervals, details, reasons, provenance)


def _words(text: str, unk: str) -> list[str]:
    """The words of a text, `<unk>` replaced by `unk`.

    GloVe has words with a no-break space in them, at which the libraries would split.
    """
    words = re.sub(r"[^\S ]", "_", text).split()
    return [unk if word == UNK else word for word in words]


def _intervals(measures: dict[str, _Measure], resamples: int, seed: int) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    rows = np.hstack([measure.rows for measure in measures.values()])
    n = len(rows)
    sums = np.empty((resamples, rows.shape[1]))
    for total in sums:  # how often each sentence is drawn, times its statistics
        total[:] = np.bincount(rng.integers(n, size=n), minlength=n) @ rows

    intervals, start = {}, 0
    for name, measure in measures.items():
        stop = start + measure.rows.shape[1]
        samples = [measure.value(total) for total in sums[:, start:stop]]
        intervals[name] = [float(end) for end in np.quantile(samples, [0.025, 0.975])]
        start = stop
    return intervals


class _Spaces:
    """rouge-score's own tokeniser drops punctuation and cuts `<unk>`, `7:30` and `$5` to pieces."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()


def _rouge1(old: list[list[str]], new: list[list[str]]) -> _Measure:
    """ROUGE-1 (Lin 2004): F of the words in common, with repetition; mean over sentences."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"], tokenizer=_Spaces())
    scores = [
        scorer.score(" ".join(target), " ".join(prediction))["rouge1"]
        for target, prediction in zip(old, new, strict=True)
    ]
    rows = 100 * np.array([[score.fmeasure] for score in scores], dtype=float)
    return _Measure(
        rows,
        lambda total: total[0] / len(rows),
        {
            "precision": 100 * float(np.mean([score.precision for score in scores])),
            "recall": 100 * float(np.mean([score.recall for score in scores])),
        },
        {
            "package": f"rouge-score {version('rouge-score')}",
            "type": "rouge1, F",
            "tokenizer": "spaces",
            "stemmer": False,
            "aggregate": "mean over sentences",
        },
    )


def _bleu(old: list[list[str]], new: list[list[str]]) -> _Measure:
    """Corpus BLEU (Papineni et al. 2002) by sacreBLEU on the words as they are.

    BLEU is a function of ten counts summed over sentences: both lengths, and the matched and all
    n-grams for n = 1 to 4. sacreBLEU computes the counts and the function.
    """
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(tokenize="none", force=True)  # force: do not warn that the text is tokenised
    rows = np.array(
        bleu._extract_corpus_statistics(
            [" ".join(words) for words in new], [[" ".join(words) for words in old]]
        ),
        dtype=float,
    )

    def value(total: Array) -> float:
        return float(bleu._compute_score_from_stats(total.tolist()).score)

    whole = bleu._compute_score_from_stats(rows.sum(axis=0).tolist())
    return _Measure(
        rows,
        value,
        {"brevity_penalty": whole.bp, "precisions": whole.precisions},
        {"package": f"sacrebleu {version('sacrebleu')}", "signature": str(bleu.get_signature())},
    )


def _n_w(old: list[list[str]], new: list[list[str]]) -> _Measure:
    """N_w: the share of the originals' positions that hold the same word in the candidate.

    A position that the candidate does not have counts as changed; those beyond the original do not
    count.
    """
    rows = np.array(
        [
            (sum(a == b for a, b in zip(before, after, strict=False)), len(before))
            for before, after in zip(old, new, strict=True)
        ],
        dtype=float,
    )
    return _Measure(
        rows,
        lambda total: total[0] / max(total[1], 1.0),  # a resample may draw empty originals only
        {},
        {"definition": "unchanged positions / positions of the originals"},
    )


class _Text(str):
    """A string with the same hash in every process.

    bert-score fills its batches in the order of a set of strings, and who shares a batch with whom
    moves the last digits of a score.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return zlib.crc32(self.encode())


def _bertscore(
    originals: Sequence[str], candidates: Sequence[str], cfg: BertScore, device: str
) -> _Measure:
    """BERTScore (Zhang et al. 2020): F of greedy cosine matching of contextual vectors.

    Mean over sentences, no idf weights, no rescaling by a baseline. An unknown word is the model's
    mask in the original and its unknown token in the candidate. A pair with an empty side scores 0.
    """
    if cfg.model is None:
        raise TrlapError("switched off")
    folder = _model_folder(cfg.model)
    scorer = _scorer(cfg.model, cfg.num_layers, folder, device)
    mask, unk = scorer._tokenizer.mask_token or "", scorer._tokenizer.unk_token or ""
    pairs = [
        (" ".join(_words(new, unk)).strip(), " ".join(_words(old, mask)).strip())
        for old, new in zip(originals, candidates, strict=True)
    ]

    found = dict.fromkeys(pairs, (0.0, 0.0, 0.0))
    todo = [pair for pair in found if all(pair)]  # bert-score fails on empty strings
    todo.sort(key=lambda pair: (len(pair[0].split()) + len(pair[1].split()), pair))
    for start in range(0, len(todo), PAIRS_AT_ONCE):
        some = todo[start : start + PAIRS_AT_ONCE]
        new_texts, old_texts = ([_Text(text) for text in side] for side in zip(*some, strict=True))
        with _quiet():
            scores = scorer.score(new_texts, old_texts, batch_size=cfg.batch_size)
        # identical texts may come out as 1 + 1e-7
        columns = [column.double().clamp(max=1.0).tolist() for column in scores]
        found |= dict(zip(some, zip(*columns, strict=True), strict=True))

    precision, recall, f = np.array([found[pair] for pair in pairs]).T
    weights = folder / "model.safetensors"
    name, layers = _hub_name(cfg.model), scorer.num_layers
    return _Measure(
        f[:, None],
        lambda total: total[0] / len(f),
        {
            "precision": float(precision.mean()),
            "recall": float(recall.mean()),
            "empty_pairs": sum(not all(pair) for pair in pairs),
        },
        {
            "package": f"bert-score {version('bert-score')}",
            "hash": scorer.hash,
            "model": cfg.model,
            "num_layers": layers,
            "weights_sha256": file_sha256(weights) if weights.is_file() else None,
            "rescaled": False,
            "comparable_with_paper": name == "roberta-large" and layers == 17,
        },
    )


def _hub_name(model: str) -> str:
    """bert-score knows RoBERTa by the name it had before the hub put it under its owner's."""
    return model.removeprefix("FacebookAI/")


def _model_folder(model: str) -> Path:
    """The folder of an asset, a folder, or one that the Hugging Face hub fills."""
    if model in ASSETS:
        return fetch(model)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if model.startswith(("/", ".", "~")) or model.count("/") > 1:
        raise TrlapError(f"metrics.bertscore.model: no folder {model}")

    import huggingface_hub as hub

    try:
        if not isinstance(hub.try_to_load_from_cache(model, "config.json"), str):
            print(f"fetching {model} from the Hugging Face hub …", file=sys.stderr)
        with _quiet():  # what is cached already serves when the hub cannot be reached
            found = hub.snapshot_download(
                model,
                allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors"],
                ignore_patterns=["*/*"],
            )
    except Exception as error:  # the hub's client raises its own, its HTTP library's and OSError
        raise TrlapError(
            f"cannot fetch {model} from the Hugging Face hub: {_line(error)}"
        ) from error
    return Path(found)


def _scorer(model: str, num_layers: int | None, folder: Path, device: str) -> Any:
    import transformers  # noqa: F401  sets its log level on import, so before `_quiet`

    with _quiet():
        from bert_score import BERTScorer
        from bert_score.utils import model2layers

    known = model2layers | {"minilm": 6}  # all of MiniLM's layers: bert-score's table lacks it
    layers = num_layers or known.get(_hub_name(model))
    if layers is None:
        raise TrlapError(
            f"set metrics.bertscore.num_layers: bert-score has no default layer for {model}"
        )
    try:
        # from inside the parent folder: bert-score takes any path with "t5" in it for a T5 model
        with _quiet(), chdir(folder.parent):
            scorer = BERTScorer(f"./{folder.name}", num_layers=layers, device=device)
    except Exception as error:  # missing files, a wrong layer, an unknown architecture: all differ
        raise TrlapError(f"bert-score cannot load {model}: {_line(error)}") from error
    scorer._model_type = model  # so that the hash has the model's name, not a path
    tokenizer = scorer._tokenizer
    # transformers 5 knows no limit for some tokenisers, and no longer heeds bert-score's request
    # for the leading space that RoBERTa's vocabulary expects
    tokenizer.model_max_length = min(tokenizer.model_max_length, 512)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    splitter: Any = getattr(backend, "pre_tokenizer", None)
    if hasattr(splitter, "add_prefix_space"):
        splitter.add_prefix_space = True
    return scorer


def _line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence progress bars, load reports and advice that no user of ours can follow."""
    noisy = ("transformers", "huggingface_hub", "matplotlib")
    loggers = [logging.getLogger(name) for name in noisy]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def best_constant(originals: Sequence[str]) -> dict[str, float]:
    """What one word, the best, would score at every position: the floor under N_w and Rouge1.

    A sentence of n copies of a word that the original has c times shares c of n words with it, so
    precision, recall and F are all c/n.
    """
    sentences = [words for text in originals if (words := text.split())]
    counts = Counter(word for words in sentences for word in words)
    shares = [
        sum(words.count(word) / len(words) for words in sentences) / len(sentences)
        for word, _ in counts.most_common(20)
    ]
    if not counts:
        return {}
    return {
        "n_w_best_constant": max(counts.values()) / counts.total(),
        "rouge1_best_constant": 100 * max(shares),
    }


def length_alone(train: Sequence[str], originals: Sequence[str]) -> float | None:
    """N_w of whoever knows a sentence's length and nothing else of it, and knows the training split.

    The guess for each position is the commonest training word at that position in sentences of that
    length. Word by word mechanisms do not hide the length, so this much is free.
    """
    counts: dict[tuple[int, int], Counter[str]] = {}
    for words in map(str.split, train):
        for i, word in enumerate(words):
            counts.setdefault((len(words), i), Counter())[word] += 1
    guess = {place: count.most_common(1)[0][0] for place, count in counts.items()}
    texts = [text.split() for text in originals]
    total = sum(map(len, texts))
    right = sum(
        guess.get((len(words), i)) == word for words in texts for i, word in enumerate(words)
    )
    return right / total if total else None
