"""Training that is killed, that breaks, and that draws noise."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from rewrite_helpers import NOISY, released, rows, run
from safetensors.torch import load_file

from trlap.config.protocols import PROTOCOLS, RELEASE
from trlap.errors import TrlapError
from trlap.mechanisms.released.base import ReleasedMechanism
from trlap.models.training import Training
from trlap.runs.result import Draws, Epoch

KEYS: Mapping[str, Any] = {
    "layers": 2,
    "word_noise": NOISY,
    "decay": "linear",
    "epochs": 5,
    "patience": 4,
    "gradient_clip": 1.0,
    "warmup": 7,
}
Noises = list[tuple[torch.Tensor, torch.Tensor]]


def killed(folder: Path, protocol: str) -> None:
    """In a process of its own: dies in the second batch of the fourth epoch."""
    step = Training.training_step

    def dying(self: Training, batch: tuple[int, torch.Tensor]) -> torch.Tensor:
        if self.current_epoch == 3 and self.sums[1] > 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, batch)

    Training.training_step = dying  # type: ignore[method-assign]
    run(folder, mechanism=released(), protocol=PROTOCOLS[protocol], **KEYS)


@pytest.mark.parametrize("protocol", [pytest.param("release", marks=pytest.mark.slow), "tables"])
def test_a_killed_run_ends_like_one_that_was_not(tmp_path: Path, protocol: str) -> None:
    process = subprocess.run(
        [sys.executable, __file__, str(tmp_path / "killed"), protocol], capture_output=True
    )
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()
    names = {path.name for path in (tmp_path / "killed").iterdir()}
    assert {name for name in names if not name.endswith(".sha256")} == {"last.ckpt", "best.ckpt"}
    before = torch.load(tmp_path / "killed" / "last.ckpt", weights_only=True)
    assert len(before["history"]) == 3

    known: dict[str, Any] = {"mechanism": released(), "protocol": PROTOCOLS[protocol], **KEYS}
    resumed, whole = run(tmp_path / "killed", **known), run(tmp_path / "whole", **known)
    # not trained again
    assert resumed.trained.history[:3] == [Epoch(**entry) for entry in before["history"]]
    losses = [
        [(epoch.epoch, epoch.train_loss, epoch.validation_loss) for epoch in done.trained.history]
        for done in (resumed, whole)
    ]
    assert losses[0] == losses[1]
    assert resumed.texts == whole.texts
    assert resumed.trained.loss == whole.trained.loss
    assert resumed.trained.training_loss == whole.trained.training_loss
    assert resumed.trained.draws == whole.trained.draws
    one, two = load_file(resumed.weights), load_file(whole.weights)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_run_killed_after_training_is_not_trained_again(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"dropout": 0.0, "hidden": 48, "lr": 0.05, "epochs": 60, "patience": 3}
    data = rows(12, 20, 10)
    first = run(tmp_path, data, **keys, keep_checkpoints=True)
    again = run(tmp_path, data, **keys)
    # the times of its epochs, too
    assert again == first


def test_an_infinite_loss_stops_and_the_last_good_checkpoint_stays(tmp_path: Path) -> None:
    step = Training.training_step
    with pytest.MonkeyPatch.context() as patch:

        def breaking(self: Training, batch: tuple[int, torch.Tensor]) -> torch.Tensor:
            if self.current_epoch == 2 and batch[0] == 1:
                self.model.bias.data.fill_(torch.nan)
            return step(self, batch)

        patch.setattr(Training, "training_step", breaking)
        with pytest.raises(TrlapError, match=r"epoch 3: .*train batch 2 is nan; .*epoch 2 is kept"):
            run(tmp_path, epochs=4)
    state = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert len(state["history"]) == 2
    assert all(w.isfinite().all() for w in state["state_dict"].values())
    # and training can go on from it
    assert len(run(tmp_path, epochs=4).trained.history) == 4


def test_weights_that_break_in_the_last_batch_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(self: Training) -> None:
        self.model.bias.data.fill_(torch.inf)
        end(self)

    end = Training.on_train_epoch_end
    monkeypatch.setattr(Training, "on_train_epoch_end", breaking)
    with pytest.raises(TrlapError, match="epoch 1: weights are not finite"):
        run(tmp_path)
    assert not list(tmp_path.glob("*.ckpt"))


def test_ctrl_c_stays_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Training, batch: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "training_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Noises:
    """What is put into the mechanism, and the noise that it adds, batch by batch."""
    seen: Noises = []
    perturb = type(released()).perturb_vectors

    def watched(
        self: ReleasedMechanism, batch: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        noisy = perturb(self, batch, generator)
        seen.append((batch.detach().clone(), (noisy - batch).detach()))
        return noisy

    monkeypatch.setattr(type(released()), "perturb_vectors", watched)
    return seen


def test_release_draws_one_noise_vector_a_batch_anew_each_time(
    tmp_path: Path, draws: Noises
) -> None:
    done = run(tmp_path, mechanism=released(), protocol=RELEASE, word_noise=NOISY, epochs=3)
    # batches of at most 8, each of one length, of 40, 8 and 10 sentences; 8 of the 40 are scored once more
    assert done.trained.draws == {
        "train": Draws(passes=4, batches=3 * 7 + 3),
        "validation": Draws(passes=3, batches=3 * 3),
        "test": Draws(passes=1, batches=3),
    }
    assert len(draws) == 24 + 9 + 3
    for _, noise in draws:
        torch.testing.assert_close(noise, noise[:1].expand_as(noise), rtol=0, atol=1e-5)
    drawn = torch.stack([noise[0] for _, noise in draws])
    apart = torch.cdist(drawn, drawn) + torch.eye(len(drawn))
    assert apart.min() > 0.01
    # the embedding is fine-tuned and its own rows get the noise: the boundary's is the first
    boundary = torch.stack([batch[0] for batch, _ in draws])
    assert not torch.equal(boundary[0], boundary[1])
    # no longer in training
    assert torch.equal(boundary[-1], boundary[-2])
    assert torch.equal(boundary[-1], load_file(done.weights)["embedding.weight"][-2])


def test_paper_adds_no_noise_of_its_own(tmp_path: Path, draws: Noises) -> None:
    done = run(tmp_path, epochs=1)
    assert done.trained.draws == {}
    assert not draws


def test_the_released_code_is_drawn_at_test_time_too(tmp_path: Path) -> None:
    """Without word noise, dropout and mechanism, only the code's own draw is left."""
    keys: dict[str, Any] = {"protocol": RELEASE, "mechanism": released("none"), "dropout": 0.0}
    data = rows()
    # one batch, twice the same sentence
    data["test"] = data["test"][:1] * 2
    done = run(tmp_path, data, epochs=1, **keys)
    alone = run(tmp_path / "one", data | {"test": data["test"][:1]}, epochs=1, **keys)
    assert done.trained.loss != pytest.approx(alone.trained.loss, rel=1e-6)


if __name__ == "__main__":
    killed(Path(sys.argv[1]), sys.argv[2])
