"""The audit of one mechanism on one vocabulary: what was claimed, what is true, what attacks show."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trlap.audit.attacks.base import Findings, Scene
from trlap.audit.attacks.registry import ATTACKS
from trlap.audit.channel import matrix
from trlap.audit.composition import documents
from trlap.audit.guarantee import guarantee as claimed_and_exact
from trlap.audit.guarantee import of_document
from trlap.audit.let_through import let_through
from trlap.audit.records import Audit
from trlap.audit.texts import Texts
from trlap.audit.verdict import attacked, checked
from trlap.audit.vocabulary import vocabulary
from trlap.config.schema import AuditConfig
from trlap.errors import TrlapError
from trlap.files import jsonable
from trlap.mechanisms.base import Mechanism
from trlap.runs.records import to_json
from trlap.runs.result import Guarantee


def audit(
    mechanism: Mechanism,
    *,
    lengths: Sequence[int],
    tokens: NDArray[np.int32],
    epochs: int | None,
    cfg: AuditConfig,
    seed: int,
    guarantee: Guarantee | None = None,
    answers: int | None = None,
    texts: Texts | None = None,
) -> Audit:
    """The content of audit.json; its `guarantee` is the block of result.json.

    lengths, tokens   words a document and all word indices of the test split
    epochs            how often the noise is drawn anew where the protocol does so, else None
    guarantee         claimed and exact, where these are known already. Attacks look at words of the
                      vocabulary; what passes through beside them is put on top of what they show
    answers           of a document, where it is the document that is protected
    texts             the documents of the test split, for attacks on whole documents
    """
    stated = guarantee or claimed_and_exact(mechanism)
    unknown = stated.let_through
    stated = stated if unknown is None else unknown.vocabulary
    rows = matrix(mechanism)
    words = vocabulary(mechanism, rows, seed)
    composition = documents(mechanism, lengths, epochs, stated.exact)
    # what an attack on whole texts is put beside: where words pass, any text may have such a word
    costs = composition
    if unknown is not None:
        judged = replace(stated, document=composition)
        costs = let_through(judged, unknown.tokens, unknown.of).document
    findings = _findings(Scene(mechanism, tokens, lengths, cfg, seed, words, rows, texts, costs))
    shown, deniability = findings.pop("empirical", None), findings.pop("deniability", None)
    judged, surprises = attacked(stated, mechanism, shown)
    judged, slips = checked(judged, mechanism, rows, words)
    judged = replace(judged, document=composition)
    if answers is not None:
        judged = of_document(judged, mechanism, answers)
    if unknown is not None:
        judged = let_through(judged, unknown.tokens, unknown.of)
    return Audit(
        guarantee=judged,
        vocabulary=words,
        composition=judged.document,
        empirical=shown,
        attacks={**_by_name(findings), "confidence": cfg.confidence},
        deniability=deniability,
        notes=[*mechanism.notes(epochs), *_equal_length(judged, answers), *surprises, *slips],
    )


def _equal_length(judged: Guarantee, answers: int | None) -> list[str]:
    """What a guarantee that is composed over words does not say."""
    promised = judged.claimed.notion != "none"
    if answers is not None or judged.document is None or not promised:
        return []
    return [
        "what is composed over the words of a text holds between texts of equal length: how many words "
        "there are is published"
    ]


def _findings(scene: Scene) -> dict[str, Findings]:
    """What every attack that is asked for found, by its section of audit.json."""
    findings: dict[str, Findings] = {}
    for name in scene.config.attacks:
        attack = ATTACKS.find(name)()
        if attack.section in findings:
            raise TrlapError(f"audit.attacks: {name} fills `{attack.section}`, as another one does")
        if attack.reason(scene) is None:
            findings[attack.section] = _written(name, attack.run(scene))
    return findings


def _written(name: str, found: Findings) -> Findings:
    """What an attack found, where that can be written; else one line that names who gave it."""
    try:
        json.dumps(jsonable(to_json(found)))
    except (TypeError, ValueError) as error:
        package = ATTACKS.version(name) if name in ATTACKS.foreign else "trlap"
        raise TrlapError(
            f"audit.attacks: {name}, of the package {package}, gave what is no number or text "
            f"({error}); leave it out"
        ) from error
    return found


def _by_name(findings: Mapping[str, Findings]) -> dict[str, Findings]:
    """The section `attacks`: the rates that stand in it, then the other attacks by their names."""
    named = {
        section.removeprefix("attacks."): findings[section]
        for section in findings
        if section != "attacks"
    }
    return {**findings.get("attacks", {}), **named}
