"""Document randomised response: a text is answered by one of K public texts, the nearest one or any.

    Q(c(D)|D) = e^ε / (e^ε + K − 1),   Q(y|D) = 1 / (e^ε + K − 1) for the other y of the set

c(D) is the nearest to D of K public documents in a public space of documents (`trlap.documents`).

**Proof.** Whatever D is, Q(y|D) is one of two numbers whose ratio is e^ε, so Q(y|D) ≤ e^ε Q(y|D') for any two
documents D, D' and every y: ε-DP for whole documents, with δ = 0, whatever their words, order and length
(Warner 1965 for two answers; Kairouz, Oh & Viswanath 2014 for K). It needs that the map c and the sets owe
nothing to private documents, that a document's vector depends on that document alone, and that every
document, an empty one too, gives exactly one answer.

What is written is a public text as it stands, so it reads as language; it is somebody's text, and not the
private one. Near Meehan, Mrini & Chaudhuri 2022, who pick among public candidates by the exponential
mechanism on a depth function.

**Labels too** (`label=private`). (D, l) chooses one of K pairs of a public text and a class, c(D, l), by a rule
that reads D, l and public things (`trlap.documents.pairs`), and answers as above: Q(y|D, l) is one of the same two
numbers, so Q(y|D, l) ≤ e^ε Q(y|D', l') for any two documents with any two labels. The channel, its δ(ε) and ε(δ)
are those above. Only what is published at that place counts: text and class of the one answer.

K=auto is e^ε, rounded, from 3 to 32, and at most √n of n public documents, but 2 at least: with little budget
few candidates, or the answer is nearly always any of them. On validation documents of AG News and SST-2 it
was within 0.005 of the best K at every ε from 0.5 to 8. With labels it begins at 2, whatever the number of
classes: classes share the pairs of a set.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from trlap.config.ranges import one_of
from trlap.errors import TrlapError
from trlap.mechanisms._decoding import Reading, Vectors
from trlap.mechanisms._look import Look
from trlap.mechanisms._response import Response

# documents of a set: fewer, or more, were not better at any ε
FEWEST, MOST = 3, 32
# With labels: pairs of a set, and directions in which texts are compared at ε = 0. Little budget tells of few.
FEWEST_PAIRS, DIRECTIONS = 2, 5


@dataclass(kw_only=True)
class DocumentRandomisedResponse(Response):
    """Its `space` has the K documents of one set in place of words; all sets have the same channel."""

    name = "drr"
    # 2: noise is keyed by all public texts, and by no set alone
    version = 2
    look = Look("#aa3377", "8", "-", 13)
    unit = "document"
    undoes = ("posterior",)

    K: int | str = "auto"
    # by which public map a document becomes a vector
    encoder: str = one_of("minilm", "words", default="minilm")

    @classmethod
    def check_keys(cls, keys: Mapping[str, Any], words: int, dimension: int) -> None:
        K = keys["K"]
        if K != "auto" and (type(K) is not int or K < 2):
            raise TrlapError(f"mechanism.K={K}: must be auto or a whole number from 2 on")

    @classmethod
    def size(cls, K: int | str, epsilon: float, public: int, covers_labels: bool = False) -> int:
        """Documents of a set, of so many public ones."""
        if K != "auto":
            return int(K)
        wanted = round(math.exp(min(epsilon, math.log(MOST))))
        fewest = FEWEST_PAIRS if covers_labels else FEWEST
        return max(2, min(max(fewest, wanted), MOST, math.isqrt(public)))

    @classmethod
    def directions(cls, epsilon: float) -> int:
        """In how many directions texts are compared where labels are covered: 5 e^ε, or all that there are."""
        return round(DIRECTIONS * math.exp(min(epsilon, 20.0)))

    @classmethod
    def check_undoing(cls, how: str) -> None:
        if how not in cls.undoes:
            raise TrlapError(
                f"classify.debias={how}: an answer of mechanism={cls.name} is read by its posterior mean; "
                "use classify.debias=posterior"
            )

    def decode(self, vectors: Vectors, how: str) -> tuple[Reading, Reading]:
        """Of the documents of a set; `trlap.documents.reading` has that of all."""
        self.check_undoing(how)
        return super().decode(vectors, how)

    def __post_init__(self) -> None:
        answers = torch.arange(len(self.space))
        self.set_up(answers, answers[:, None], 1.0, 0.0)
