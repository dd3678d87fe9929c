"""Stage `classify`: does private text still teach a classifier?

It trains once a seed on the training split, takes the epoch with the highest validation accuracy, and
reads the test split once. Validation is read as the training split is, since whoever trains has no other.

What train_on and test_on protect is not the same thing. "Train private, test original", which most papers
report, protects the training texts alone; `protects` says it in words. Labels are never protected.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from trlap.config import schema as config
from trlap.data.tokens import Vocabulary
from trlap.errors import TrlapError
from trlap.mechanisms.base import Base
from trlap.models.classifiers import (
    EVALUATED,
    Average,
    BiLSTM,
    Means,
    Pieces,
    Tokens,
    Transformer,
)
from trlap.models.decoding import Table, decode
from trlap.privatize.blocks import seed_torch
from trlap.progress import Show, progress

SPLITS = ("train", "validation", "test")
QUANTILE = 1.959963984540054  # of the normal distribution, for 95 %


@dataclass(frozen=True)
class Classified:
    """Of the test split. `runs` has one entry a seed: seed, epoch, epochs, validation, accuracy, macro_f1."""

    accuracy: float  # mean over seeds
    interval: tuple[float, float]  # 95 %, see `interval`
    deviation: float | None  # standard deviation over seeds; none of one seed
    macro_f1: float  # mean over seeds of the plain mean of the classes' F1
    confusion: list[list[int]]  # summed over seeds: rows are true classes, columns predicted ones
    classes: list[str]
    majority: float  # accuracy of always naming the commonest class of the training split
    runs: list[dict[str, Any]]
    history: list[dict[str, Any]]  # of the first seed: epoch, losses, validation accuracy
    inputs: dict[str, str]  # train_on, test_on, debias
    protects: str


@dataclass(frozen=True)
class Part:
    """A split as the classifier reads it, and its labels."""

    read: Any
    labels: Tensor


def classify(
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    vocabulary: Vocabulary,
    vectors: NDArray[np.float32],
    cfg: config.Classifier,
    inputs: config.Classify,
    *,
    label_names: Sequence[str],
    mechanism: Base,
    device: str,
    threads: int,
) -> Classified:
    """A row has a `label`, an index into `label_names`, and the texts that `inputs` asks for, each under
    its name. `vectors` has one row a vocabulary word: where the embedding starts.
    """
    torch.set_num_threads(threads)
    sides = {"train": inputs.train_on, "validation": inputs.train_on, "test": inputs.test_on}
    for split in SPLITS:
        if not rows.get(split):
            raise TrlapError(f"stage classify: there is no {split} sentence; check dataset.limit")
    counts = np.bincount([row["label"] for row in rows["train"]], minlength=len(label_names))
    for name, count in zip(label_names, counts, strict=True):
        if not count:
            raise TrlapError(
                f"stage classify: no training sentence of class {name}; raise dataset.limit.train, "
                "or take the class out of the data"
            )
    tables = dict.fromkeys(sides.values(), Table.plain(vectors))
    if inputs.debias != "none":
        private, plain = decode(mechanism, vectors, inputs.debias)
        tables = {side: private if side == "private" else plain for side in tables}
        texts = [row[inputs.train_on] for row in rows["train"]]
        tables = standardised(tables, vectors, tables[inputs.train_on], texts, vocabulary)
    forms: dict[str, Any] = {"average": Means, "bilstm": Tokens}
    models: dict[str, Any] = {"average": Average, "bilstm": BiLSTM}

    def part(split: str) -> Part:
        texts = [row[sides[split]] for row in rows[split]]
        labels = torch.tensor([row["label"] for row in rows[split]], device=device)
        if cfg.name == "transformer":
            return Part(Pieces(texts, cfg, device), labels)
        return Part(forms[cfg.name](texts, vocabulary, tables[sides[split]], device), labels)

    def model() -> nn.Module:
        if cfg.name == "transformer":
            return Transformer(len(label_names), cfg)
        made: nn.Module = models[cfg.name](vectors.shape, len(label_names), cfg)
        return made

    train, validation, test = map(part, SPLITS)
    truth = test.labels.cpu().numpy()
    runs, right = [], []
    history: list[dict[str, Any]] = []
    confusion = np.zeros((len(label_names), len(label_names)), np.int64)
    with progress("classifying", "sentences") as show:
        for number, seed in enumerate(cfg.seeds):
            with torch.random.fork_rng([device] if device.startswith("cuda") else []):
                seed_torch(seed, "classify/weights", 0)
                trained = model().to(device)
                shown = _seen(show, number, cfg, train)
                run, curve = fit(trained, train, validation, cfg, seed, shown)
                history = history or curve
            found = scores(trained, test.read).argmax(1).cpu().numpy()
            table = np.zeros_like(confusion)
            np.add.at(table, (truth, found), 1)
            right.append(found == truth)
            accuracy = float(right[-1].mean())
            runs.append(run | {"accuracy": accuracy, "macro_f1": macro_f1(table)})
            confusion += table
    accuracies = [run["accuracy"] for run in runs]
    return Classified(
        accuracy=float(np.mean(accuracies)),
        interval=interval(np.stack(right)),
        deviation=float(np.std(accuracies, ddof=1)) if len(runs) > 1 else None,
        macro_f1=float(np.mean([run["macro_f1"] for run in runs])),
        confusion=confusion.tolist(),
        classes=list(label_names),
        majority=float((truth == counts.argmax()).mean()),
        runs=runs,
        history=history,
        inputs={key: getattr(inputs, key) for key in ("train_on", "test_on", "debias")},
        protects=protects(inputs.train_on, inputs.test_on, mechanism.name != "none"),
    )


def standardised(
    tables: Mapping[str, Table],
    vectors: NDArray[np.float32],
    read: Table,
    texts: Sequence[str],
    vocabulary: Vocabulary,
) -> dict[str, Table]:
    """The same tables, all moved and scaled alike: the mean of `vectors` under the prior is 0, and the mean
    vectors of the training texts, `read` by their table, have a mean square of 1. Decoded vectors are tiny
    (posterior) or huge (unbiased), and a learning rate suits one scale.
    """
    centre = (vocabulary.prior @ vectors).astype(np.float32)
    moved = Table.plain(read.vectors - centre)
    square = Means(texts, vocabulary, moved, "cpu").fixed.square().mean().item()
    scale = np.float32(1 / math.sqrt(square) if square > 0 else 1)
    return {
        side: replace(table, vectors=(table.vectors - centre) * scale)
        for side, table in tables.items()
    }


def fit(
    model: nn.Module, train: Part, validation: Part, cfg: config.Classifier, seed: int, show: Show
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Train; leave the weights of the best epoch: highest validation accuracy, of equals the lower loss.
    Returns what came of it, and every epoch's losses and validation accuracy.

    The order of sentences is a function of (seed, epoch), dropout of (seed, epoch, batch).
    """
    fused = train.labels.device.type in ("cpu", "cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, fused=fused)
    best: tuple[float, float] = (-1.0, -math.inf)
    chosen, weights, seen = 0, {}, 0
    history = []
    for epoch in range(1, cfg.epochs + 1):
        total = torch.zeros((), device=train.labels.device)
        model.train()
        for number, batch in enumerate(train.read.order(cfg.batch, [seed, epoch])):
            rows = torch.from_numpy(batch).to(train.labels.device)
            seed_torch(seed, f"classify/{epoch}", number)
            loss = cross_entropy(model(train.read, rows), train.labels[rows])
            if not loss.isfinite():
                raise TrlapError(
                    f"stage classify: the loss of epoch {epoch} is {loss.item()}; "
                    "try a smaller classifier.lr"
                )
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(rows)
            seen += len(rows)
            show(seen / (cfg.epochs * train.read.size), seen)
        scored = scores(model, validation.read)
        right = (scored.argmax(1) == validation.labels).double().mean().item()
        value = (right, -cross_entropy(scored, validation.labels).item())
        history.append(
            {
                "epoch": epoch,
                "train_loss": total.item() / train.read.size,
                "validation_loss": -value[1],
                "validation_accuracy": right,
            }
        )
        if value > best:
            best, chosen = value, epoch
            weights = {name: weight.clone() for name, weight in model.state_dict().items()}
        elif cfg.patience is not None and epoch - chosen >= cfg.patience:
            break
    model.load_state_dict(weights)
    found = {
        "seed": seed,
        "epoch": chosen,
        "epochs": epoch,
        "validation_accuracy": best[0],
        "validation_loss": -best[1],
    }
    return found, history


def scores(model: nn.Module, read: Any) -> Tensor:
    """Of every sentence for every class, before the softmax."""
    model.eval()
    device = next(model.parameters()).device
    with torch.inference_mode():
        parts = torch.arange(read.size, device=device).split(EVALUATED)
        return torch.cat([model(read, rows) for rows in parts])


def _seen(show: Show, number: int, cfg: config.Classifier, train: Part) -> Show:
    """The bar of all seeds, from the share of one."""
    before = number * cfg.epochs * train.read.size

    def shown(share: float | None, seen: int) -> None:
        show((number + (share or 0)) / len(cfg.seeds), before + seen)

    return shown


def macro_f1(confusion: NDArray[np.int64]) -> float:
    """The mean over classes of 2·right / (true + predicted); a class that is in neither counts 0."""
    sums = confusion.sum(0) + confusion.sum(1)
    return float(np.mean(2 * confusion.diagonal() / np.maximum(sums, 1)))


def interval(right: NDArray[np.bool_]) -> tuple[float, float]:
    """95 % for the accuracy on other sentences with other seeds; `right` has a row a seed.

    Wilson's score interval at the number n of independent sentences that would have the variance

        p(1 − p)/n = Var_i(mean over seeds of sentence i)/N + Var_s(accuracy of seed s)/S,

    so that with one seed it is Wilson's with N sentences. It does not cover another draw of the noise or
    another training sample.
    """
    seeds, sentences = right.shape
    p = float(right.mean())
    variance = float(right.mean(0).var()) / sentences
    if seeds > 1:
        variance += float(right.mean(1).var(ddof=1)) / seeds
    n = p * (1 - p) / variance if variance > 0 else sentences
    z = QUANTILE
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def protects(train_on: str, test_on: str, noise: bool) -> str:
    """What that combination of inputs protects, in words."""
    if not noise:
        return "nothing is protected: there is no noise"
    # the auto-encoder has learned to write the training split's originals
    train, test = train_on == "private", test_on != "original"
    if train and test:
        return "training and test texts are protected, as far as the guarantee goes; labels are not"
    if train:
        return (
            "the training texts alone are protected, as far as the guarantee goes; "
            "test texts are read as they are, and labels are not protected"
        )
    if test:
        return (
            "the test texts alone are protected, as far as the guarantee goes; "
            "the classifier has learned from original training texts and labels"
        )
    return "nothing is protected: the classifier reads original texts"
