"""The training loop, carried by Lightning, and what Lightning does not do by itself.

The order of sentences is a function of (seed, epoch); dropout and word noise are functions of (seed, split,
epoch, batch), and the noise of a protocol that redraws it of these and of all settings of the run. So a run
that was killed and goes on from the end of an epoch ends with the same weights, bit for bit, as one that was
not (on a CPU, with the same number of threads).
"""

import io
import logging
import math
import signal
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint, EarlyStopping, RichProgressBar
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Generator, Tensor
from torch.utils.data import DataLoader

from trlap import progress
from trlap.errors import TrlapError
from trlap.files import is_sealed, remove_partial, say, unlink_sealed, write_sealed
from trlap.models.autoencoder import AutoEncoder, Code
from trlap.models.cpu import has_bfloat16
from trlap.models.packing import Layout, Sentences, cut
from trlap.models.word_noise import drop, replace, shuffle
from trlap.randomness import block_generator, seed_torch
from trlap.runs import signals
from trlap.runs.listening import Report, unheard
from trlap.runs.result import Epoch

if TYPE_CHECKING:
    from trlap.mechanisms.released.base import ReleasedMechanism
    from trlap.models.rewriters.bilstm import AutoEncoderKeys

# its number in the epoch, and which sentences
Batch = tuple[int, Tensor]
# what Lightning and torch put into a checkpoint
State = dict[str, Any]
# of an epoch, in a checkpoint's history
MEASURED = ("epoch", "train_loss", "validation_loss", "seconds", "tokens_per_second", "wall_time")


class Training(LightningModule):
    """The auto-encoder reads sentences of `source` and is to write the same ones of `target`.

    `splits` says which are whose; one of them may be a part of another. `noise` is what the embedding's
    vectors get before they are read, and `identity` keys it. `one_length`: see `cut`.
    """

    def __init__(
        self,
        model: AutoEncoder,
        source: Sentences,
        target: Sentences,
        splits: Mapping[str, Sequence[int]],
        keys: "AutoEncoderKeys",
        seed: int,
        noise: "ReleasedMechanism | None" = None,
        identity: str = "",
        one_length: bool = False,
    ) -> None:
        super().__init__()
        self.model, self.keys, self.seed, self.noise = model, keys, seed, noise
        self.identity, self.one_length = identity, one_length
        self.source, self.target, self.splits = source, target, splits
        self.history: list[Epoch] = []

    def batches(self, split: str, epoch: int = 0) -> list[Batch]:
        rows = np.array(self.splits[split], np.int64)
        lengths = self.source.lengths.cpu().numpy()[rows]
        batches = cut(lengths, self.keys.batch, [self.seed, epoch], self.one_length)
        return [(number, torch.from_numpy(rows[i])) for number, i in enumerate(batches)]

    @cached_property
    def batches_an_epoch(self) -> int:
        """Every epoch has as many: what differs is who is in which."""
        return len(self.batches("train"))

    def longest(self) -> int:
        """Words of the longest sentence that is to be written in training."""
        return int(self.target.lengths[: len(self.splits["train"])].max()) - 1

    @contextmanager
    def drawn(self, split: str, epoch: int | str, number: int) -> Iterator[Generator]:
        """Seeds torch's own generators for one batch, and gives another for the noise."""
        purpose = f"rewrite/{split}/{epoch}"
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            seed_torch(self.seed, f"{purpose}/dropout", number)
            yield block_generator(self.seed, f"{self.identity}/{purpose}", number, self.device)

    def code(self, rows: Tensor, generator: Generator) -> Code:
        """What the encoder makes of these sentences; word noise is for training alone."""
        noise = self.keys.word_noise
        places, lengths = self.source.places(rows)
        if self.training and noise.shuffle:
            places = shuffle(places, lengths, noise.shuffle)
        if self.training and noise.drop:
            places, lengths = drop(places, lengths, noise.drop)
        layout = Layout(lengths)
        ids = self.source.ids[layout.pack(places)]
        if self.training and (noise.blank or noise.substitute):
            ids = replace(ids, self.model.boundary, noise.blank, noise.substitute)
        vectors = self.model.embedding(ids)
        if self.noise is not None:
            vectors = self.noise.perturb_vectors(vectors, generator)
        return self.model.encode(vectors, layout)

    def loss(self, rows: Tensor, code: Tensor) -> tuple[Tensor, int]:
        """−ln p(original | code), summed over these sentences, and how many words that is, with ends."""
        places, lengths = self.target.places(rows)
        layout, ids = Layout(lengths), self.target.ids
        inputs = layout.pack(places)
        return self.model.loss(code, ids[inputs], ids[inputs + 1], layout), len(inputs)

    def training_step(self, batch: Batch) -> Tensor:
        number, rows = batch
        return self.step("train", number, rows) / len(rows)

    def validation_step(self, batch: Batch) -> None:
        number, rows = batch
        self.step("validation", number, rows)

    def step(self, split: str, number: int, rows: Tensor) -> Tensor:
        signals.check()
        with self.drawn(split, self.current_epoch, number) as generator:
            loss, words = self.loss(rows, self.code(rows, generator).drawn())
        if not loss.isfinite():
            raise self.broken(f"the loss of {split} batch {number + 1} is {loss.item()}")
        self.sums += torch.tensor([loss.item(), len(rows), words], dtype=torch.float64)
        return loss

    def broken(self, what: str) -> TrlapError:
        last = self.current_epoch
        checkpoint = f"the checkpoint of epoch {last} is kept; " if last else ""
        return TrlapError(
            f"training broke off in epoch {last + 1}: {what}; {checkpoint}"
            "try a smaller model.lr or model.gradient_clip"
        )

    def on_train_epoch_start(self) -> None:
        self.sums, self.started = torch.zeros(3, dtype=torch.float64), time.perf_counter()
        self.validation_loss: float | None = None

    def on_train_batch_end(self, *_: Any) -> None:
        self.trained, self.seconds = self.sums, time.perf_counter() - self.started

    def on_validation_epoch_start(self) -> None:
        self.sums = torch.zeros(3, dtype=torch.float64)

    def on_validation_epoch_end(self) -> None:
        self.validation_loss = (self.sums[0] / self.sums[1]).item()
        self.log("validation_loss", self.validation_loss)

    def on_train_epoch_end(self) -> None:
        """Comes before the checkpoint is written, so that no broken one is."""
        if not all(weights.isfinite().all() for weights in self.parameters()):
            raise self.broken("weights are not finite after its last batch")
        loss, sentences, words = self.trained.tolist()
        self.history.append(
            Epoch(
                epoch=self.current_epoch + 1,
                train_loss=loss / sentences,
                validation_loss=self.validation_loss,
                seconds=round(self.seconds, 3),
                tokens_per_second=round(words / self.seconds),
                wall_time=round(time.time(), 3),
            )
        )

    def on_save_checkpoint(self, checkpoint: State) -> None:
        checkpoint["history"] = [
            {name: getattr(epoch, name) for name in MEASURED} for epoch in self.history
        ]
        # Lightning forgets that training was stopped early
        ended = self.trainer.should_stop or len(self.history) == self.keys.epochs
        checkpoint["ended"] = ended

    def on_load_checkpoint(self, checkpoint: State) -> None:
        self.history = history_of(checkpoint)

    def configure_optimizers(self) -> Any:
        # a third of the time; on CUDA it would rule out clipping
        fused = self.device.type == "cpu"
        optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=self.keys.lr,
            betas=(self.keys.betas[0], self.keys.betas[1]),
            fused=fused,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self.rate)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: Any = None, gradient_clip_algorithm: Any = None
    ) -> None:
        """As Lightning does it, which refuses a fused optimizer under mixed precision: such a one undoes
        the scaling of gradients itself. On a CPU nothing is scaled.
        """
        if gradient_clip_val:
            torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def rate(self, step: int) -> float:
        """What lr is multiplied by: up in the first `warmup` steps, down to zero if it decays."""
        keys = self.keys
        per_epoch = max(1, self.batches_an_epoch // self.trainer.world_size)
        down = 1 - step / (per_epoch * keys.epochs) if keys.decay == "linear" else 1.0
        return max(0.0, down) * min(1.0, (step + 1) / max(1, keys.warmup))

    def train_dataloader(self) -> "DataLoader[Any]":
        """Asked for anew every epoch. Several devices take turns, with as many batches each."""
        batches, world = self.batches("train", self.current_epoch), self.trainer.world_size
        even = len(batches) - len(batches) % world or len(batches)
        return DataLoader(batches[self.global_rank : even : world], batch_size=None)  # type: ignore[arg-type]

    def val_dataloader(self) -> "DataLoader[Any] | list[Any]":
        """On every device the whole split, so that all agree when to stop."""
        if not self.splits["validation"]:
            return []
        return DataLoader(self.batches("validation"), batch_size=None)  # type: ignore[arg-type]


class Checkpoints(Checkpoint):
    """At an epoch's end: `last`, before it `best` where training may stop early, and all if `keep`.

    Then the epoch is told, so that whoever hears of one can count on its checkpoint.
    """

    def __init__(self, folder: Path, best: bool, keep: bool, report: Report) -> None:
        self.folder, self.best, self.keep, self.report = folder, best, keep, report

    def on_train_epoch_end(self, trainer: Trainer, training: LightningModule) -> None:
        assert isinstance(training, Training)
        known = (epoch.validation_loss for epoch in training.history)
        losses = [math.inf if loss is None else loss for loss in known]
        names = [f"epoch{len(losses)}"] if self.keep else []
        if self.best and losses[-1] < min(losses[:-1], default=math.inf):
            names.append("best")
        with signals.deferred():
            for name in [*names, "last"]:
                trainer.save_checkpoint(self.folder / f"{name}.ckpt", weights_only=False)
            self.report(training.history[-1])


class EpochsFromOne(RichProgressBar):
    """Lightning counts epochs from 0, and nobody else here does."""

    def _get_train_description(self, current_epoch: int) -> str:
        shown = f"Epoch {current_epoch + 1}/{self.trainer.max_epochs}"
        # as wide as the bar of the validation split, which else makes it flicker
        return f"{shown:{len(self.validation_description)}}"


class AtomicFiles(TorchCheckpointIO):
    """A checkpoint takes its predecessor's place only when it is whole. Lightning copies it there."""

    def save_checkpoint(self, checkpoint: State, path: Any, *_: Any, **__: Any) -> None:
        # torch itself would not say why a write to a file failed
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        write_sealed(Path(path), buffer.getbuffer())


def fit(
    training: Training, folder: Path, device: str, keep: bool, report: Report = unheard
) -> list[Epoch]:
    """Train, or go on where `folder` has a checkpoint. Loads the final weights; returns the history."""
    last = folder / "last.ckpt"
    remove_partial(folder)
    _drop_damaged(folder, best=training.keys.patience is not None)
    if last.exists():
        for epoch in history_of(_load(last)):
            report(epoch)
    if not last.exists() or not _load(last)["ended"]:
        with _quiet(), torch.random.fork_rng([]):
            trainer = _trainer(training.keys, folder, device, keep, report)
            try:
                known = last if last.exists() else None
                trainer.fit(training, ckpt_path=known, weights_only=True)
            except SystemExit as stopped:
                # a cluster takes the machine away
                if not isinstance(stopped.__context__, KeyboardInterrupt):
                    raise
                # how Lightning answers Ctrl-C, which it ignores from then on
                signal.signal(signal.SIGINT, signal.default_int_handler)
                raise KeyboardInterrupt from stopped
    final = last if training.keys.patience is None else folder / "best.ckpt"
    training.load_state_dict(_load(final)["state_dict"])
    return history_of(_load(last))


def _trainer(
    keys: "AutoEncoderKeys", folder: Path, device: str, keep: bool, report: Report
) -> Trainer:
    # with several devices each has a process of its own, out of which nothing is told before the end
    heard = report if keys.trainer.devices == 1 or ":" in device else unheard
    callbacks: list[Callback] = [Checkpoints(folder, keys.patience is not None, keep, heard)]
    if keys.patience is not None:
        callbacks += [EarlyStopping("validation_loss", patience=keys.patience)]
    watched = progress.watched()
    if watched:
        callbacks += [EpochsFromOne(leave=False, console_kwargs={"stderr": True})]
    kind, _, index = device.partition(":")
    return Trainer(
        accelerator="gpu" if kind == "cuda" else kind,
        devices=[int(index)] if index else keys.trainer.devices,
        # one process a device, of this function alone: the stages before are not run again
        strategy="auto" if index or keys.trainer.devices == 1 else "ddp_spawn",
        precision=precision(keys.trainer.precision, device),
        max_epochs=keys.epochs,
        gradient_clip_val=keys.gradient_clip,
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        callbacks=callbacks,
        plugins=[AtomicFiles()],
        logger=False,
        enable_progress_bar=watched,
        enable_model_summary=False,
        default_root_dir=folder,
    )


def _drop_damaged(folder: Path, best: bool) -> None:
    """If one checkpoint is not as it was written, none is trusted: training starts anew."""
    checkpoints = set(folder.glob("*.ckpt"))
    needed = {folder / "best.ckpt"} if best and folder / "last.ckpt" in checkpoints else set()
    damaged = sorted(path for path in checkpoints | needed if not is_sealed(path))
    if not damaged:
        return
    say(
        f"the checkpoint {damaged[0].name} is not as it was written; training starts at its first epoch"
    )
    for path in checkpoints:
        unlink_sealed(path)


def history_of(checkpoint: State) -> list[Epoch]:
    return [Epoch(**epoch) for epoch in checkpoint["history"]]


def precision(wanted: str, device: str) -> Any:
    """Lightning's name for it; `auto` is mixed where the device multiplies the shorter numbers faster.
    bfloat16 needs no scaling of the loss.
    """
    kind = device.partition(":")[0]
    if wanted == "auto":
        if kind == "cuda":
            return "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"
        return "bf16-mixed" if kind == "cpu" and has_bfloat16() else "32-true"
    able = {"cuda": ("32-true", "16-mixed", "bf16-mixed"), "cpu": ("32-true", "bf16-mixed")}
    if wanted not in able.get(kind, ("32-true",)):
        raise TrlapError(f"model.trainer.precision={wanted}: not on {kind}; use auto or 32-true")
    return wanted


def _load(path: Path) -> State:
    state: State = torch.load(path, map_location="cpu", weights_only=True)
    return state


@contextmanager
def _quiet() -> Iterator[None]:
    """Lightning's hints and tips are not for the people who use this."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logger.setLevel(level)
