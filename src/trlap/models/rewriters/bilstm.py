"""The paper's rewriter: a BiLSTM reads a sentence into one code, an LSTM writes it from the code.

The network is `trlap.models.autoencoder`, its training `trlap.models.training`.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import MISSING

from trlap.config.ranges import one_of, within
from trlap.errors import TrlapError
from trlap.files import atomic, unlink_sealed
from trlap.models.rewriters.base import Rewriter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.models.rewriting import Written
    from trlap.runs.result import Trained

WEIGHTS = "weights.safetensors"


@dataclass
class WordNoise:
    """What happens to the words that the encoder reads in training."""

    # probabilities
    drop: float = within("[0, 1)")
    blank: float = within("[0, 1]")
    substitute: float = within("[0, 1]")
    # how far a word may move, in words; 0: not at all
    shuffle: float = within("[0, 1e6]")


@dataclass
class Trainer:
    # several: each takes batches of its own
    devices: int = within("[1, 1024]")
    # auto: mixed where that is faster
    precision: str = one_of("auto", "32-true", "16-mixed", "bf16-mixed")


@dataclass
class AutoEncoderKeys:
    hidden: int = within("[1, 1e5]")
    code: int = within("[1, 1e5]")
    layers: int = within("[1, 100]")
    # the output layer shares the embedding's vectors
    tied: bool = MISSING
    dropout: float = within("[0, 1)")
    word_noise: WordNoise = field(default_factory=WordNoise)
    lr: float = within("(0, 1e6]")
    # steps in which lr rises from nothing
    warmup: int = within("[0, 1e12]")
    # linear: lr falls to zero at the last step
    decay: str = one_of("constant", "linear")
    betas: list[float] = MISSING
    # largest norm; null: off
    gradient_clip: float | None = within("(0, inf)")
    batch: int = within("[1, 1e7]")
    epochs: int = within("[1, 1e6]")
    # epochs without a better validation loss; null: all
    patience: int | None = within("[1, 1e6]")
    # of a rewritten sentence; null: the longest in training + 10
    max_length: int | None = within("[1, 1e6]")
    trainer: Trainer = field(default_factory=Trainer)


class BiLSTMAutoEncoder(Rewriter):
    """Its folder holds checkpoints of whole epochs while it learns, and in the end its weights."""

    name = "bilstm"
    Keys = AutoEncoderKeys
    keys: AutoEncoderKeys

    @classmethod
    def check(cls, keys: AutoEncoderKeys) -> None:
        if len(keys.betas) != 2 or not all(0 <= beta < 1 for beta in keys.betas):
            raise TrlapError(f"model.betas={list(keys.betas)}: must be two numbers in [0, 1)")

    @classmethod
    def passes(cls, keys: AutoEncoderKeys) -> int:
        return keys.epochs

    def fit(self) -> None:
        import torch
        from safetensors.torch import save

        from trlap.models.rewriting import prepare
        from trlap.models.training import fit

        task, device = self.task, self.task.machine.device
        torch.set_num_threads(task.machine.threads)
        if not task.rows.get("train"):
            raise TrlapError(
                "stage rewrite: there is no training sentence; check dataset.limit.train"
            )
        if self.keys.patience is not None and not task.rows.get("validation"):
            raise TrlapError(
                "model.patience: there is no validation split to watch; set it to null"
            )
        self.training = prepare(self.keys, task)
        self.history = fit(self.training, task.folder, device, task.keep_checkpoints, task.report)
        weights = self.training.model.state_dict()
        contiguous = {name: values.cpu().contiguous() for name, values in weights.items()}
        with atomic(task.folder / WEIGHTS) as file:
            file.write_bytes(save(contiguous))
        self.training.to(device).eval()
        self.written: dict[str, Written] = {}

    def rewrite(self, split: str) -> list[str]:
        """The likeliest words, one after the other."""
        from trlap.models.rewriting import write

        if split not in self.written:
            self.written[split] = write(self.training, split, self.task.vocabulary.words)
        return self.written[split].texts

    def trained(self) -> "Trained":
        """Losses are −ln p(original | code of what the encoder read): summed over a sentence's words and
        its end and averaged over sentences, which is the paper's, or averaged over words and ends, whose
        exponential is the perplexity.
        """
        from trlap.models.rewriting import draws, sample_loss
        from trlap.models.training import precision
        from trlap.runs.result import Trained

        sentences = len(self.rewrite("test"))
        loss, words = self.written["test"].loss, self.written["test"].words
        redraws = self.task.protocol.redraws
        return Trained(
            loss=loss / sentences if words else None,
            token_loss=loss / words if words else None,
            perplexity=math.exp(loss / words) if words else None,
            history=self.history,
            precision=precision(self.keys.trainer.precision, self.task.machine.device),
            draws=draws(self.training, len(self.history), self.written) if redraws else {},
            training_loss=sample_loss(self.training),
        )

    def tidy(self) -> None:
        """Checkpoints go, unless they are to be kept."""
        if not self.task.keep_checkpoints:
            for checkpoint in self.task.folder.glob("*.ckpt"):
                unlink_sealed(checkpoint)

    @classmethod
    def embedding_of(cls, folder: Path, words: int) -> "NDArray[np.float32]":
        """The first rows of its embedding; after them come the boundary and the blank."""
        from safetensors import safe_open

        with safe_open(folder / WEIGHTS, "numpy") as weights:
            vectors: NDArray[np.float32] = weights.get_slice("embedding.weight")[:words]
        return vectors
