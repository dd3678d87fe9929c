"""How near in meaning a word and its replacement are, by their vectors."""

from trlap.errors import TrlapError
from trlap.metrics.base import (
    NOT_WORD_BY_WORD,
    PRIVATE,
    Measure,
    Scene,
    TextMetric,
    Texts,
)


class Cosine(TextMetric):
    """Mean cosine between a word's vector and its replacement's, both centred.

    Over all known words of the text: what becomes of an unknown one cannot be judged. Centred means that
    the mean vector under the public prior is taken off first (`trlap.embeddings.space.centred`): 1 is the
    same word, 0 an unrelated one. Its floor is what the best constant word reaches.
    """

    name = "cosine"
    label = "cosine"
    meaning = "cosine of replacements, centred"
    range = (-1.0, 1.0)
    order = 60
    # as many words as before, so that each has its replacement
    texts = (PRIVATE,)

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        import numpy as np

        from trlap.embeddings.space import centred, meaningful

        if not scene.word_by_word:
            raise TrlapError(NOT_WORD_BY_WORD)
        if scene.vocabulary is None or scene.space is None:
            raise TrlapError("no vectors of words at hand")
        words, offsets = scene.vocabulary.encode(texts.originals)
        replaced, replaced_offsets = scene.vocabulary.encode(texts.candidates)
        if not np.array_equal(offsets, replaced_offsets):
            raise TrlapError("a sentence has lost or gained words, so replacements are not known")
        prior = meaningful(scene.space.words, scene.space.prior)
        known = prior[words] > 0
        if not known.any():
            raise TrlapError("the originals have no known words")

        unit = centred(scene.space.vectors.cpu().numpy(), prior)
        cosines = np.einsum("ij,ij->i", unit[words[known]], unit[replaced[known]])
        count = len(texts.originals)
        sentence = np.repeat(np.arange(count), np.diff(offsets))[known]
        rows = np.stack(
            [
                np.bincount(sentence, weights=cosines, minlength=count),
                np.bincount(sentence, minlength=count).astype(float),
            ],
            axis=1,
        )
        constant = float((unit @ unit[words[known]].mean(0)).max())
        return Measure(
            rows,
            # a resample may draw sentences without known words only
            lambda total: total[0] / max(total[1], 1.0),
            {"best_constant": constant},
        )
