"""BERTScore (Zhang et al. 2020): how near the meanings of two sentences are."""

import zlib
from importlib.metadata import version
from typing import TYPE_CHECKING

from trlap.config.places import last_name
from trlap.errors import TrlapError
from trlap.metrics.base import NOT_ASKED, Measure, Scene, TextMetric, Texts
from trlap.runs.result import Scores

if TYPE_CHECKING:
    from bert_score import BERTScorer

# bert-score holds the vectors of every token it is given
PAIRS_AT_ONCE = 4096
OFF = "switched off"

Triple = tuple[float, float, float]
Pair = tuple[str, str]


class BertScore(TextMetric):
    """F of greedy cosine matching of contextual vectors, mean over sentences.

    No idf weights, no rescaling by a baseline. An unknown word is the model's mask in the original and
    its unknown token in the candidate. A pair with an empty side scores 0.
    """

    name = "bertscore"
    label = "BERTScore"
    short_label = "BERT-S"
    meaning = "BERTScore: nearness in meaning"
    order = 50
    released = "the precision, not F, on the first 100 lines"

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        import numpy as np

        from trlap.files import file_sha256
        from trlap.metrics._bert import hub_name, load_scorer, model_folder
        from trlap.metrics._words import words

        config = scene.config.bertscore
        if config.model is None:
            raise TrlapError(OFF)
        folder = model_folder(config.model)
        scorer = load_scorer(config.model, config.num_layers, folder, scene.device)
        # what is kept of a folder is its name, in bert-score's hash too
        name = last_name(config.model, "model")
        scorer._model_type = name
        mask, unk = scorer._tokenizer.mask_token or "", scorer._tokenizer.unk_token or ""
        pairs = [
            (" ".join(words(new, unk)).strip(), " ".join(words(old, mask)).strip())
            for old, new in zip(texts.originals, texts.candidates, strict=True)
        ]
        scores = _score(scorer, pairs, config.batch_size)
        precision, recall, f = np.array([scores[pair] for pair in pairs]).T
        weights = folder / "model.safetensors"
        model, layers = hub_name(config.model), scorer.num_layers
        return Measure(
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
                "model": name,
                "num_layers": layers,
                "weights_sha256": file_sha256(weights) if weights.is_file() else None,
                "rescaled": False,
                "comparable_with_paper": model == "roberta-large" and layers == 17,
            },
        )

    def as_released(self, texts: Texts, scene: Scene) -> float:
        precision: float = self.measure(texts.first(scene.first_lines), scene).details["precision"]
        return precision

    def note(self, scores: Scores) -> str | None:
        if scores.value(self.name) is None:
            reason = scores.reasons.get(self.name, OFF)
            quiet = reason in (OFF, NOT_ASKED)
            return None if quiet else f"{self.label}: {reason}; force=true tries again"
        about = scores.provenance.get(self.name)
        if about is None or about["comparable_with_paper"]:
            return None
        return f"{self.label} is {about['model']}'s: not comparable with the paper's roberta-large"


class StableText(str):
    """A string with the same hash in every process.

    bert-score fills its batches in the order of a set of strings, and who shares a batch with whom moves
    the last digits of a score.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return zlib.crc32(self.encode())


def _score(scorer: "BERTScorer", pairs: list[Pair], batch_size: int) -> dict[Pair, Triple]:
    """Precision, recall and F of each pair (candidate, original); equal pairs are scored once."""
    from trlap.metrics._bert import quiet

    scores = dict.fromkeys(pairs, (0.0, 0.0, 0.0))
    # bert-score fails on empty strings
    todo = [pair for pair in scores if all(pair)]
    todo.sort(key=lambda pair: (len(pair[0].split()) + len(pair[1].split()), pair))
    for start in range(0, len(todo), PAIRS_AT_ONCE):
        some = todo[start : start + PAIRS_AT_ONCE]
        candidates = [StableText(candidate) for candidate, _ in some]
        originals = [StableText(original) for _, original in some]
        with quiet():
            columns = scorer.score(candidates, originals, batch_size=batch_size)
        # identical texts may come out as 1 + 1e-7
        columns = [column.double().clamp(max=1.0).tolist() for column in columns]
        scores |= dict(zip(some, zip(*columns, strict=True), strict=True))
    return scores
