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
    released = (
        "nltk's, with every word of the reference taken for a reference of its own and read letter by letter: "
        "a Yelp sentence scores 8.6 against itself and 6.5 against an unrelated one"
    )

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

    def as_released(self, texts: Texts, scene: Scene) -> float:
        """The mean of `sentence_bleu(reference.split(), hypothesis.split())`, smoothed by method 5, times 100.

        nltk wants a list of references there, each a list of words, and is given a list of words: each
        becomes a reference whose "words" are its letters. So what can match is a word of the hypothesis
        that is one letter long, such as "a", "i" or the full stop, and all else is the smoothing.
        Against themselves the 10,000 test sentences of Yahoo score 8.50, where the paper prints 8.501 without
        noise, and the 8,000 of Yelp 8.63, the first 1,000 of at most 10 words 8.93 (printed: 8.934). Against
        each other in another order they still score 5.15 and 6.50.
        """
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smoothing = SmoothingFunction().method5
        scores = [
            # nltk fails where there is no reference at all
            sentence_bleu(original.split(), candidate.split(), smoothing_function=smoothing)
            if original.split()
            else 0.0
            for original, candidate in zip(texts.originals, texts.candidates, strict=True)
        ]
        return 100 * float(sum(scores)) / len(scores)
