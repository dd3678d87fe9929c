"""The contract of a rewriter. To add one: a file here with a class, a YAML in `conf/model/`, a test.

Where the protocol does not redraw, a rewriter reads the private words that stage `privatize` wrote, once
and for all; the training split's originals, which are public in this protocol, are what it learns to
write. Of other sentences it reads the private words only, so what it writes is post-processing. Their
originals serve to score it.

Where the protocol redraws (`release`, `tables`), it reads noisy vectors of the original words, drawn anew for every
batch of every epoch, and again at test time. Nothing of that is post-processing: the audit counts the
draws.
"""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.config.protocols import Protocol
from trlap.data.rows import Rows
from trlap.models.base import Machine, Model
from trlap.runs.listening import Report, unheard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.data.vocabulary import Vocabulary
    from trlap.embeddings.vectors import Embedding
    from trlap.mechanisms.base import Mechanism
    from trlap.runs.result import Trained


@dataclass(frozen=True)
class RewriteTask:
    """What a rewriter is given. A row has an original and a private text.

    `identity` stands for all that the outcome depends on: whoever draws noise keys it with that, so that no
    other run has the same. What is no noise, such as dropout, is keyed by `seed`.
    `folder` is for this task alone: whoever comes again after a crash, with the same settings, goes on
    from what is found there.
    """

    rows: Rows
    vocabulary: "Vocabulary"
    embedding: "Embedding"
    mechanism: "Mechanism"
    protocol: Protocol
    machine: Machine
    seed: int
    identity: str
    folder: Path
    keep_checkpoints: bool = False
    # takes every epoch when it is over, and first those that a checkpoint has
    report: Report = unheard


class Rewriter(Model):
    """Learns on the training split to write originals from what was privatised.

    It is asked in this order: `fit`, `rewrite` of every split that is wanted, `trained`, `tidy`.
    """

    def __init__(self, keys: Any, task: RewriteTask) -> None:
        self.check(keys)
        self.keys, self.task = keys, task

    @classmethod
    @abstractmethod
    def passes(cls, keys: Any) -> int:
        """How often training reads every sentence at most. Where the protocol redraws, that is how often
        noise is put on a word, and the audit counts them.
        """

    @abstractmethod
    def fit(self) -> None:
        """Learn, or go on where the task's folder has a checkpoint."""

    @abstractmethod
    def rewrite(self, split: str) -> list[str]:
        """That split's sentences, written anew, in their order."""

    @abstractmethod
    def trained(self) -> "Trained":
        """What is to be said of the training, the loss of the test split included."""

    def tidy(self) -> None:
        """Take away what only an unfinished training needs."""

    @classmethod
    def embedding_of(cls, folder: Path, words: int) -> "NDArray[np.float32] | None":
        """The word vectors that a rewriter has fine-tuned and left in its folder, one for each of so many
        words; none where it has none.
        """
        return None
