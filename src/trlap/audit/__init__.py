"""The audit of one mechanism on one vocabulary: what was claimed, what is true, what an attack shows."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlap.audit import attacks, empirical, exact
from trlap.audit.geometry import geometry, most_visible, random_pairs
from trlap.config.schema import AuditConfig
from trlap.mechanisms import trlap
from trlap.mechanisms._released import SHARED, Released
from trlap.mechanisms.base import Base, VectorMechanism, WordMechanism


def audit(
    mechanism: Base,
    *,
    lengths: Sequence[int],
    tokens: NDArray[np.int32],
    epochs: int | None,
    cfg: AuditConfig,
    seed: int,
) -> dict[str, Any]:
    """The content of audit.json; its `guarantee` is the block of result.json.

    lengths, tokens   words a document and all word indices of the test split
    epochs            how often the noise is drawn anew (protocol=release), else None
    """
    block = exact.guarantee(mechanism)
    found = exact.matrix(mechanism) if isinstance(mechanism, WordMechanism) else None
    noise = geometry(mechanism)
    vocabulary = _vocabulary(mechanism, found, seed)
    shown = _attack(mechanism, vocabulary, cfg, seed)
    notes = _notes(mechanism, epochs)
    notes += _judge(mechanism, block, found, vocabulary, shown)
    inversion = attacks.inversion(mechanism, noise, found, tokens, cfg.tokens, cfg.confidence, seed)
    if cfg.masked_lm is not None and len(tokens):
        inversion["masked_token"] = attacks.contextual(
            mechanism, tokens, lengths, cfg.masked_lm, cfg.tokens, cfg.confidence, seed
        )
    return {
        "guarantee": block,
        "vocabulary": vocabulary,
        "composition": exact.composition(mechanism, lengths, epochs, block["exact"]),
        "empirical": shown,
        "attacks": inversion | {"confidence": cfg.confidence},
        "deniability": attacks.deniability(mechanism, found, cfg.words, cfg.draws, seed),
        "notes": notes,
    }


def _vocabulary(mechanism: Base, found: exact.Matrix | None, seed: int) -> dict[str, Any]:
    if len(mechanism.space) < 2:
        return {"words": len(mechanism.space), "reason": "one word: there is nothing to tell apart"}
    if isinstance(mechanism, VectorMechanism):
        return exact.vector_vocabulary(mechanism, seed)
    if isinstance(mechanism, WordMechanism) and found is not None:
        return exact.word_vocabulary(mechanism, found, seed)
    return {"words": len(mechanism.space), "reason": "no noise: every pair is told apart"}


def _attack(
    mechanism: Base, vocabulary: dict[str, Any], cfg: AuditConfig, seed: int
) -> dict[str, Any] | None:
    """The largest pair of the vocabulary, the pair that projected words show best, some at random."""
    if mechanism.claimed().notion == "none" or len(mechanism.space) < 2:
        return None
    chosen = random_pairs(len(mechanism.space), cfg.pairs, seed + 1)
    pairs = [(int(i), int(j), "random") for i, j in zip(*chosen, strict=True)]
    if isinstance(mechanism, VectorMechanism) and not isinstance(mechanism, Released):
        pairs.insert(0, (*most_visible(mechanism.space), "most visible in projected words"))
    if "largest" in vocabulary:
        pairs.insert(0, (*vocabulary["largest"]["indices"], "the largest pair"))
    return empirical.attack(
        mechanism, geometry(mechanism), pairs, cfg.samples, cfg.confidence, seed
    )


def _judge(
    mechanism: Base,
    block: dict[str, Any],
    found: exact.Matrix | None,
    vocabulary: dict[str, Any],
    shown: dict[str, Any] | None,
) -> list[str]:
    """Put what the attack showed beside the exact values. Returns what a reader must know of it."""
    claim = mechanism.claimed()
    notes: list[str] = []
    if shown is None:
        if claim.notion == "none":  # no noise: every pair is told apart with certainty
            block["empirical"] = {"epsilon_lower": math.inf, "delta_lower": 1.0, "confidence": 1.0}
        return notes
    point = "vector" if isinstance(mechanism, VectorMechanism) else "word"
    block["empirical"] = {
        "epsilon_lower": max(bound["epsilon_lower"] for bound in shown[point]),
        "delta_lower": max(bound["delta_lower"] for bound in shown[point]),
        "confidence": shown["confidence"],
    }
    word_lower = max(bound["delta_lower"] for bound in shown["word"])
    if point == "vector":
        block["word"] = exact.word_block(word_lower, block["exact"], claim)
    refuted = {
        name: any(
            bound["delta_lower"] > 0 and math.log(bound["delta_lower"]) > claim.log_delta
            for bound in shown[name]
        )
        for name in ("vector", "word")
    }
    if block["holds"] and any(refuted.values()):
        block["holds"] = False
        block["word"]["verdict"] = "refuted" if refuted["word"] else "undecided"
        notes.append(
            "the formula keeps the promise but the attack breaks it: the noise that is drawn is not the "
            "noise of the formula (or the attack erred, which it does no oftener than its error rate)"
        )
    if found is not None:
        stated = mechanism.epsilon_at(-math.inf)
        if found.epsilon > stated * (1 + exact.ROUNDING) or vocabulary["violations"]:
            block["holds"] = False
            block["word"]["verdict"] = "refuted"
            notes.append(
                f"the word-to-word matrix has ε = {found.epsilon:.6g} where the formula states "
                f"{stated:.6g}, or breaks the promise for a pair of words"
            )
    return notes


def _notes(mechanism: Base, epochs: int | None) -> list[str]:
    notes = []
    if isinstance(mechanism, Released):
        if mechanism.released in SHARED:
            notes.append(
                "the release adds one noise vector to all words of a batch: whoever knows one of them "
                "subtracts its vector, has the noise, and reads the others"
            )
        if mechanism.released == "mahalanobis":
            notes.append(exact.UNKNOWN)
        if epochs:
            notes.append(f"noise is drawn anew in each of {epochs} epochs: every draw is counted")
    elif (
        isinstance(mechanism, trlap.Mechanism) and mechanism.nominal_dimension > mechanism.dimension
    ):
        extra = mechanism.nominal_dimension - mechanism.dimension
        same = mechanism.epsilon * math.sqrt(mechanism.dimension / mechanism.nominal_dimension)
        notes.append(
            f"the {extra} dummy dimensions change nothing: they have the same law for every word; "
            f"this is the mechanism in {mechanism.dimension} dimensions at ε = {same:.4g}"
        )
    if isinstance(mechanism, VectorMechanism):
        notes.append(
            "exact values are the noisy vector's; for the projected word they are upper bounds"
        )
    return notes
