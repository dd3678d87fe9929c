"""Corpus BLEU (Papineni et al. 2002): the runs of one to four words in common."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from trlap.metrics.base import Measure, Scene, TextMetric, Texts

if TYPE_CHECKING:
    from trlap.metrics.base import Array


class Bleu(TextMetric):
    """By sacreBLEU, on the words as they are, on 0–100.

    BLEU is a function of ten counts summed over sentences: both lengths, and the matched and all n-grams
    for n = 1 to 4. sacreBLEU computes the counts and the function.
    """

    name = "bleu"
    label = "BLEU"
    meaning = "BLEU: runs of words in common, of 100"
    digits = 2
    summary_digits = 1
    range = (0.0, 100.0)
    order = 30

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        import numpy as np
        from sacrebleu.metrics.bleu import BLEU

        # force: do not warn that the text is tokenised
        bleu = BLEU(tokenize="none", force=True)
        originals = [" ".join(words) for words in texts.original_words]
        candidates = [" ".join(words) for words in texts.candidate_words]
        rows = np.array(bleu._extract_corpus_statistics(candidates, [originals]), dtype=float)

        def value(total: "Array") -> float:
            return float(bleu._compute_score_from_stats(total.tolist()).score)

        whole = bleu._compute_score_from_stats(rows.sum(axis=0).tolist())
        return Measure(
            rows,
            value,
            {"brevity_penalty": whole.bp, "precisions": whole.precisions},
            {
                "package": f"sacrebleu {version('sacrebleu')}",
                "signature": str(bleu.get_signature()),
            },
        )
