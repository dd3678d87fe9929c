"""The contract of an attack: what it needs to know, what it shows, with which confidence.

An attack says what these attackers reach, not what every attacker must fail at: only the exact guarantee
does that. It draws from the mechanism with generators of its own, keyed by (seed, purpose, block), so that
no attack changes what another one sees.

To add one: a file here with a class whose `name` is the file's name, that name in `audit.attacks`, a test in
`tests/audit/`. Another package offers one by an entry point of the group `trlap.attacks`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trlap.audit.attacks._statistics import success
from trlap.audit.channel import Matrix
from trlap.audit.records import Rate, Vocabulary
from trlap.audit.texts import Texts
from trlap.config.schema import AuditConfig
from trlap.mechanisms.base import Mechanism
from trlap.runs.result import Documents

# a dataclass, or a mapping of rates by name: what can be written as JSON
Findings = Any

__all__ = ["BLOCK", "Attack", "Rate", "Scene", "success"]

# draws at once
BLOCK = 2048


@dataclass(frozen=True)
class Scene:
    """All that is public, and the words that an attacker wants to know.

    tokens, lengths   all word indices of the test split, and words a document
    matrix            what the word-to-word matrix tells, where the channel is known
    texts             the documents of the test split and what of them is answered for
    composition       what a document of median length and the longest one cost
    """

    mechanism: Mechanism
    tokens: NDArray[np.int32]
    lengths: Sequence[int]
    config: AuditConfig
    seed: int
    vocabulary: Vocabulary
    matrix: Matrix | None = None
    texts: Texts | None = None
    composition: Documents | None = None


class Attack(ABC):
    """Somebody who sees what a mechanism releases, and wants to know what was put in."""

    # the file's name, and what stands in `audit.attacks`
    name: ClassVar[str]
    # what the attacker needs to know, in words
    knows: ClassVar[str]
    # where in audit.json the findings stand; `attacks.<name>` unless it says otherwise
    section: ClassVar[str]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in vars(cls):
            cls.section = vars(cls).get("section", f"attacks.{cls.name}")

    def reason(self, scene: Scene) -> str | None:
        """Why it is left out here; None: it runs."""
        return None

    def confidence(self, scene: Scene) -> float | None:
        """With which probability its intervals hold; None where it states none."""
        return scene.config.confidence

    @abstractmethod
    def run(self, scene: Scene) -> Findings:
        """Do it, and say what was found."""
