"""What answers with pairs say of the classes of public documents, and how many documents are of each class.

**Scores.** Private documents are distributed as public ones x_1 … x_n, of which nobody knows the classes. The
answers' log likelihood has by the probability that x_j is of class l, where all classes are equally likely yet,
the gradient

    G_j(l) = Σ_i Q(a_i | x_j, l) / P(a_i),   P(a) = 1/(nL) Σ_j Σ_l Q(a | x_j, l)

up to a factor: which class of x_j makes the answers likelier. A linear function of x that fits G names the
public documents.

**Shares of classes.** In a set that asks for the label, which N documents answered, the pairs of a part of the
classes are answered with N (|pairs| q̄ + (q − q̄) Σ π_l) times on average, with l over that part. Least squares over
all such sets has no bias. At a small ε it has much noise, which costs more than equal shares do: so it is drawn
towards these by its own variance (James & Stein 1961).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trlap.documents.pairs import Pairs

Numbers = NDArray[np.float64]
# e^ε of answers without noise is a number all the same
LARGEST = 600.0
# Equal shares are given up where the estimate is further from them than this many times its variance. One
# would be James and Stein's; a wrong share costs a classifier more than its square. Chosen by validation at K = 2.
DOUBT = 1.5
# of the equal share: no class is taken to be rarer
RAREST = 0.1


@dataclass(frozen=True, eq=False)
class Evidence:
    """`scores`: a row for each public document, a column for each class. `axes`: what the answers know of."""

    scores: Numbers
    shares: Numbers
    axes: Numbers


def evidence(pairs: Pairs, answers: NDArray[np.int64], epsilon: float) -> Evidence:
    counts = counted(pairs, answers)
    shares, variance = estimated_shares(pairs, counts, epsilon)
    return Evidence(scores(pairs, counts, epsilon), drawn_to_equal(shares, variance), pairs.axes)


def counted(pairs: Pairs, answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often every pair of every set was answered."""
    counts = np.zeros(pairs.sets.shape, np.int64)
    np.add.at(counts, (pairs.numbers(len(answers)), answers), 1)
    return counts


def scores(pairs: Pairs, counts: NDArray[np.int64], epsilon: float) -> Numbers:
    """G, over the number of answers."""
    public, classes = len(pairs.texts), pairs.classes
    gain = math.expm1(min(epsilon, LARGEST))
    found = np.zeros((public, classes))
    for number in np.flatnonzero(counts.sum(axis=1)):
        cells = pairs.pair_cells(int(number))
        shares = np.bincount(cells.ravel(), minlength=pairs.size) / cells.size
        # Q(a|x, l)/P(a), times what all have in common
        weights = counts[number] / (1 + gain * shares)
        found += weights.sum() + gain * weights[cells]
    return found / max(1, counts.sum())


def estimated_shares(
    pairs: Pairs, counts: NDArray[np.int64], epsilon: float
) -> tuple[Numbers, float]:
    """π without bias, and the sum of its variances. Without an answer: equal shares, and no end of variance."""
    classes, size = pairs.classes, pairs.size
    equal = np.full(classes, 1 / classes)
    asked = np.flatnonzero(pairs.asking & (counts.sum(axis=1) > 0))
    other = 1 / (math.exp(min(epsilon, LARGEST)) + size - 1)
    gain = 1 - size * other
    rows, found, covariances = [], [], []
    for number in asked:
        total = counts[number].sum()
        chances = []
        for part in np.unique(pairs.rules[number], axis=0):
            members = (pairs.rules[number] == part).all(axis=1)
            rows.append(total * gain * members)
            found.append(counts[number][part == 1].sum() - total * other * part.sum())
            chances.append(other * part.sum() + gain * members.mean())
        # the parts of a set share its answers: multinomial
        p = np.array(chances)
        covariances.append(total * (np.diag(p) - np.outer(p, p)))
    if not rows:
        return equal, math.inf
    # what sums to 1 is free in one direction less
    free = np.array(rows) @ (np.eye(classes) - 1 / classes)
    if np.linalg.matrix_rank(free) < classes - 1:
        return equal, math.inf
    solved = np.linalg.pinv(free, rcond=1e-9)
    shares: Numbers = equal + solved @ (np.array(found) - np.array(rows) @ equal)
    start, variance = 0, 0.0
    for block in covariances:
        columns = solved[:, start : start + len(block)]
        variance += float(np.trace(columns @ block @ columns.T))
        start += len(block)
    return shares, variance


def drawn_to_equal(shares: Numbers, variance: float) -> Numbers:
    equal = np.full(len(shares), 1 / len(shares))
    away = float(((shares - equal) ** 2).sum())
    kept = max(0.0, 1 - DOUBT * variance / away) if away > 0 else 0.0
    drawn = np.maximum(equal + kept * (shares - equal), RAREST * equal)
    drawn /= drawn.sum()
    return drawn
