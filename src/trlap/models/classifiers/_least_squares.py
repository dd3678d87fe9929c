"""Least squares in closed form, and thresholds by the shares of classes: what classifier `ridge` computes."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# steps in which shares of classes are matched
STEPS = 200


def ridge(rows: Floats, wanted: Floats, penalty: float) -> tuple[Floats, Floats]:
    """W and b in closed form; b is not penalised."""
    centre, middle = rows.mean(axis=0), wanted.mean(axis=0)
    moved = rows - centre
    square = moved.T @ moved + penalty * np.eye(rows.shape[1])
    weights: Floats = np.linalg.solve(square, moved.T @ (wanted - middle))
    return weights, middle - centre @ weights


def matched(scores: Floats, shares: Floats) -> Floats:
    """b with which about these shares of documents are of each class."""
    bias = -scores.mean(axis=0)
    step = scores.std()
    for number in range(STEPS):
        named = (scores + bias).argmax(axis=1)
        found = np.bincount(named, minlength=len(shares)) / len(scores)
        bias = bias - 3 * step * (found - shares) / (1 + number / 20)
    return bias
