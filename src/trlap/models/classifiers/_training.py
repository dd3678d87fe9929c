"""How a network learns classes: Adam, cross-entropy, and the epoch that validation likes best."""

import math
import time
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from trlap.errors import TrlapError
from trlap.models.classifiers._forms import EVALUATED
from trlap.models.classifiers.base import Form, Labelled
from trlap.progress import Show
from trlap.randomness import seed_torch
from trlap.runs import signals
from trlap.runs.listening import Report, unheard
from trlap.runs.result import ClassifierRun, Epoch

if TYPE_CHECKING:
    from trlap.models.classifiers._neural import NeuralKeys


def fit(
    network: nn.Module,
    train: Labelled,
    validation: Labelled,
    keys: "NeuralKeys",
    seed: int,
    show: Show,
    report: Report = unheard,
) -> tuple[ClassifierRun, list[Epoch]]:
    """Train; leave the weights of the best epoch: highest validation accuracy, of equals the lower loss.

    The order of sentences is a function of (seed, epoch), dropout of (seed, epoch, batch).
    """
    device = next(network.parameters()).device
    labels = torch.from_numpy(train.labels).to(device)
    truth = torch.from_numpy(validation.labels).to(device)
    fused = device.type in ("cpu", "cuda")
    optimizer = torch.optim.Adam(network.parameters(), lr=keys.lr, fused=fused)
    size = train.form.size
    best: tuple[float, float] = (-1.0, -math.inf)
    chosen, weights, seen = 0, {}, 0
    history = []
    for epoch in range(1, keys.epochs + 1):
        total = torch.zeros((), device=device)
        network.train()
        for number, batch in enumerate(train.form.order(keys.batch, [seed, epoch])):
            rows = torch.from_numpy(batch).to(device)
            seed_torch(seed, f"classify/{epoch}", number)
            loss = cross_entropy(network(train.form, rows), labels[rows])
            _step(optimizer, loss, epoch)
            total += loss.detach() * len(rows)
            seen += len(rows)
            show(seen / (keys.epochs * size), seen)
        scored = scores(network, validation.form)
        right = (scored.argmax(1) == truth).double().mean().item()
        lost = cross_entropy(scored, truth).item()
        history.append(
            Epoch(
                epoch=epoch,
                train_loss=total.item() / size,
                validation_loss=lost,
                validation_accuracy=right,
                wall_time=round(time.time(), 3),
            )
        )
        report(history[-1])
        if (right, -lost) > best:
            best, chosen = (right, -lost), epoch
            weights = {name: weight.clone() for name, weight in network.state_dict().items()}
        elif keys.patience is not None and epoch - chosen >= keys.patience:
            break
    network.load_state_dict(weights)
    run = ClassifierRun(
        seed=seed,
        epoch=chosen,
        epochs=epoch,
        validation_accuracy=best[0],
        validation_loss=-best[1],
    )
    return run, history


def _step(optimizer: torch.optim.Optimizer, loss: Tensor, epoch: int) -> None:
    signals.check()
    if not loss.isfinite():
        raise TrlapError(
            f"stage classify: the loss of epoch {epoch} is {loss.item()}; "
            "try a smaller classifier.lr"
        )
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()


def scores(network: nn.Module, form: Form) -> Tensor:
    """Of every sentence for every class, before the softmax."""
    network.eval()
    device = next(network.parameters()).device
    with torch.inference_mode():
        parts = torch.arange(form.size, device=device).split(EVALUATED)
        return torch.cat([network(form, rows) for rows in parts])
