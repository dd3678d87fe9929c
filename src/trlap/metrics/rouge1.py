"""ROUGE-1 (Lin 2004): the words that a sentence and its original have in common."""

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version

from trlap.metrics.base import PRIVATE, Measure, Scene, TextMetric, Texts


class Rouge1(TextMetric):
    """F of the words in common, with repetition; mean over sentences, times 100."""

    name = "rouge1"
    label = "Rouge1"
    meaning = "Rouge1: words in common, of 100"
    digits = 2
    summary_digits = 1
    range = (0.0, 100.0)
    order = 20
    released = "F of stems, without punctuation"

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        import numpy as np
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer(["rouge1"], tokenizer=_Spaces())
        scores = [
            scorer.score(" ".join(original), " ".join(candidate))["rouge1"]
            for original, candidate in zip(texts.original_words, texts.candidate_words, strict=True)
        ]
        rows = 100 * np.array([[score.fmeasure] for score in scores], dtype=float)
        details = {
            "precision": 100 * float(np.mean([score.precision for score in scores])),
            "recall": 100 * float(np.mean([score.recall for score in scores])),
        }
        constant = best_constant(texts.originals) if texts.kind == PRIVATE else None
        return Measure(
            rows,
            lambda total: total[0] / len(rows),
            details if constant is None else details | {"best_constant": constant},
            {
                "package": f"rouge-score {version('rouge-score')}",
                "type": "rouge1, F",
                "tokenizer": "spaces",
                "stemmer": False,
                "aggregate": "mean over sentences",
            },
        )

    def as_released(self, texts: Texts, scene: Scene) -> float:
        """By rouge-score's own tokeniser and Porter's stemmer, which the authors' package NLP_tools has too."""
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer(["rouge1"], use_stemmer=True)
        scores = [
            scorer.score(original, candidate)["rouge1"].fmeasure
            for original, candidate in zip(texts.originals, texts.candidates, strict=True)
        ]
        return 100 * sum(scores) / len(scores)


class _Spaces:
    """rouge-score's own tokeniser drops punctuation and cuts `<unk>`, `7:30` and `$5` to pieces."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()


def best_constant(originals: Sequence[str]) -> float | None:
    """What one word, the best, would score at every position: the floor under Rouge1.

    A sentence of n copies of a word that the original has c times shares c of n words with it, so
    precision, recall and F are all c/n. The best of the 20 commonest words is taken.
    """
    sentences = [words for text in originals if (words := text.split())]
    counts = Counter(word for words in sentences for word in words)
    shares = [
        sum(words.count(word) / len(words) for words in sentences) / len(sentences)
        for word, _ in counts.most_common(20)
    ]
    return 100 * max(shares) if shares else None
