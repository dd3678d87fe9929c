"""Pairs of a public text and a class: what a document with its label answers with, where both are covered.

Every public text of a set carries a class, drawn by public chance. Which pair (x, l) chooses is a public rule,

    argmax_k r(l, k) ⟨x − x̄, u_k − x̄⟩,   r ∈ {1, −1}, over the pairs k with r(l, k) ≠ 0,

in the few directions in which public documents differ most; u_k are the texts of the set and x̄ is the mean of
all. Sets are of two kinds:

- four of five **compare**: for one half of the classes, drawn for each set, r = 1 and the nearest text is
  chosen, for the other half r = −1 and the farthest. So an answer says on which side of a direction a text is,
  times its half, which is what a classifier learns from: how texts and labels go together. All texts of such
  a set carry classes of the half that is near.
- the fifth **asks for the label**: a class may choose the pairs that are its own, the nearest of them. Where
  there are fewer pairs than classes, several classes share one. From these sets the classes' shares are known.

A rule may read document, label and public things, since the answer is randomised response over K pairs whatever
was chosen: `trlap.mechanisms.drr` has the proof.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trlap.documents.candidates import Candidates
from trlap.documents.encoder import Floats

# every so many sets one asks for the label
EVERY = 5


@dataclass(frozen=True)
class Pairs(Candidates):
    """`rules`: r for each set, class and pair. `carried`: the class of each pair of each set.
    `directions`: in how many directions texts are compared.
    """

    rules: NDArray[np.int8]
    carried: NDArray[np.int64]
    directions: int

    @classmethod
    def of(cls, candidates: Candidates, classes: int, directions: int) -> "Pairs":
        """The same sets, with rules and classes by public chance."""
        rng = np.random.default_rng([candidates.seed, *b"pairs"])
        shape = len(candidates.sets), classes, candidates.size
        rules, carried = np.zeros(shape, np.int8), np.zeros((shape[0], shape[2]), np.int64)
        for number in range(len(rules)):
            if number % EVERY == EVERY - 1:
                parts = min(classes, candidates.size)
                of_class = rng.permutation(np.arange(classes) % parts)
                of_pair = rng.permutation(np.arange(candidates.size) % parts)
                rules[number] = of_class[:, None] == of_pair
            else:
                near = rng.permutation(np.arange(classes) % 2) == 1
                rules[number] = np.where(near, 1, -1)[:, None]
            order = rng.permutation(classes)
            for pair in range(candidates.size):
                own = [c for c in order if rules[number, c, pair] == 1]
                carried[number, pair] = own[pair % len(own)]
        return cls(
            candidates.texts,
            candidates.vectors,
            candidates.sets,
            candidates.seed,
            rules,
            carried,
            directions,
        )

    def content(self) -> list[bytes]:
        rules = [self.rules.tobytes(), self.carried.tobytes(), str(self.directions).encode()]
        return [*super().content(), *rules]

    @property
    def classes(self) -> int:
        return self.rules.shape[1]

    @cached_property
    def asking(self) -> NDArray[np.bool_]:
        """Whether each set asks for the label."""
        return np.array([bool((rules >= 0).all()) for rules in self.rules])

    def choice(self, number: int, vector: Floats, label: int | None = None) -> int:
        """Without a label, as of a text whose class nobody knows yet, the nearest text."""
        if label is None:
            return super().choice(number, vector)
        likeness = self._seen[self.sets[number]] @ self._directed(vector)
        return int(_best(likeness, self.rules[number, label]))

    def classes_of(self, answers: NDArray[np.int32], first: int = 0) -> list[int]:
        carried: list[int] = self.carried[self.numbers(len(answers), first), answers].tolist()
        return carried

    def pair_cells(self, number: int) -> NDArray[np.int64]:
        """What every public document would choose from that set, a column for each class it might be of."""
        likeness = self._seen @ self._seen[self.sets[number]].T
        rules, back = np.unique(self.rules[number], axis=0, return_inverse=True)
        return np.stack([_best(likeness, rule) for rule in rules], axis=1)[:, back]

    def _directed(self, vector: Floats) -> NDArray[np.float64]:
        return (vector.astype(np.float64) - self._middle) @ self.axes

    @cached_property
    def _middle(self) -> NDArray[np.float64]:
        return self._points.mean(axis=0)

    @cached_property
    def axes(self) -> NDArray[np.float64]:
        """The directions in which public documents differ most, as columns."""
        moved = self._points - self._middle
        _, axes = np.linalg.eigh(moved.T @ moved)
        most: NDArray[np.float64] = axes[:, -min(self.directions, axes.shape[1]) :]
        return most

    @cached_property
    def _seen(self) -> NDArray[np.float64]:
        seen: NDArray[np.float64] = (self._points - self._middle) @ self.axes
        return seen


def _best(likeness: NDArray[np.float64], rule: NDArray[np.int8]) -> NDArray[np.int64]:
    """The pair with the highest score, of those that the rule allows; of equal ones the first."""
    best: NDArray[np.int64] = np.where(rule == 0, -np.inf, likeness * rule).argmax(axis=-1)
    return best
