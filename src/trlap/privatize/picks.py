"""The words that a document answers for, where the promise is for the whole document.

**Any choice is free.** Let Q be a channel on words with Q(y|w) ≤ e^ε Q(y|w') for all words w, w' and all
answers y. A document D picks one word by any rule p(w|D) that reads D and public things, and publishes the
answer alone:

    P(y|D) = Σ_w p(w|D) Q(y|w) ≤ max_w Q(y|w) ≤ e^ε min_w' Q(y|w') ≤ e^ε P(y|D')

for any two documents, whatever their words, order and length. An (ε, δ) channel keeps its δ for each answer:
Q(S|w) − e^ε Q(S|w') ≤ δ for all pairs, so for all mixtures. k answers at ε/k each, with fresh noise, are ε-DP
in sum, also where a pick depends on the picks and answers before it (adaptive composition). It needs that

- a pick reads its own document and public things only: here its words and their public frequencies;
- neither pick nor place is published: answers stand in the order in which they were drawn;
- every document gives k answers, an empty one too, which answers for <unk>;
- the noise of every answer is fresh.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

# words of all documents in a row, and where each document begins and the last ends
Encoded = tuple[NDArray[np.int32], NDArray[np.int64]]
Picks = Callable[[Encoded], Encoded]


def picks(
    how: str, count: int, prior: NDArray[np.float64], generator: Callable[[], torch.Generator]
) -> Picks:
    """`random`: at random, without repetition as long as there are words; `rarest`: the least common ones.

    Of equally rare words, chance decides. A document with fewer words answers for some of them again.
    """

    def pick(encoded: Encoded) -> Encoded:
        words, offsets = encoded
        chance = torch.rand(len(words), generator=generator(), dtype=torch.float64).numpy()
        lengths = np.diff(offsets)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        first = prior[words] if how == "rarest" else np.zeros(len(words))
        order = np.lexsort((chance, first, owner))
        places = offsets[:-1, None] + np.arange(count) % np.maximum(lengths, 1)[:, None]
        # one more, of which those without a word answer
        known = np.append(words[order], np.int32(0))
        places = np.where(lengths[:, None] > 0, places, len(words))
        ends = np.arange(0, len(lengths) * count + 1, count, dtype=np.int64)
        return known[places].ravel(), ends

    return pick
