"""What the auto-encoder gives back: texts, losses by their definition, files, and the same again by seed."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rewrite_helpers import EMBEDDING, NOISY, TINY, VOCABULARY, Rewritten, released, rows, run
from safetensors.torch import load_file

from trlap.config.protocols import PROTOCOLS
from trlap.data.rows import Row, Rows
from trlap.errors import TrlapError
from trlap.runs.records import to_json

WORDS = VOCABULARY.words


def test_it_learns_to_copy(tmp_path: Path) -> None:
    data = rows(24, 0, 0)
    data["test"] = data["train"]
    big: dict[str, Any] = {"hidden": 64, "code": 32, "dropout": 0.0, "epochs": 80}
    done = run(tmp_path, data, decay="linear", **big)
    same = [
        row.original == text for row, text in zip(data["test"], done.texts["test"], strict=True)
    ]
    assert sum(same) >= 22
    losses = train_losses(done)
    assert losses[-1] < 0.2 * losses[0]


def test_at_test_time_it_sees_private_text_only(tmp_path: Path) -> None:
    data = rows()
    keys: dict[str, Any] = {"hidden": 32, "epochs": 25}
    first = run(tmp_path / "a", data, **keys)
    # it has learnt to tell sentences apart
    assert len(set(first.texts["test"])) > 3
    second = run(tmp_path / "b", changed(data, original="it ? it ? it ?"), **keys)
    assert second.texts == first.texts
    # the originals score it
    assert second.trained.loss != first.trained.loss
    third = run(tmp_path / "c", changed(data, private="two salads"), **keys)
    assert len(set(third.texts["test"])) == 1


def changed(data: Rows, original: str | None = None, private: str | None = None) -> Rows:
    """The same rows, with other texts in the test split."""
    test = [Row("test", original or row.original, private or row.private) for row in data["test"]]
    return data | {"test": test}


def train_losses(done: Rewritten) -> list[float]:
    losses = [epoch.train_loss for epoch in done.trained.history]
    return [loss for loss in losses if loss is not None]


def validation_losses(done: Rewritten) -> list[float]:
    losses = [epoch.validation_loss for epoch in done.trained.history]
    return [loss for loss in losses if loss is not None]


def by_hand(
    weights: dict[str, torch.Tensor], private: str, original: str
) -> tuple[float, list[int]]:
    """The loss of one sentence and its greedy rewriting, cell by cell, straight from the definition."""
    end = len(WORDS)

    def ids(text: str) -> list[int]:
        return [WORDS.index(word) for word in text.split()]

    def cell(
        name: str, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        part, end = name.split("/")
        w = {
            k: weights[f"{part}.{k}_l0{end}"]
            for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        }
        gates = w["weight_ih"] @ x + w["bias_ih"] + w["weight_hh"] @ h + w["bias_hh"]
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def affine(name: str, x: torch.Tensor) -> torch.Tensor:
        return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]

    embedding = weights["embedding.weight"]
    zero = torch.zeros(TINY.hidden, dtype=torch.float64)
    read = [end, *ids(private)]
    last = []
    for direction, order in (("", read), ("_reverse", read[::-1])):
        h, c = zero, zero
        for word in order:
            h, c = cell(f"encoder/{direction}", embedding[word], h, c)
        last.append(h)
    given = affine("from_code", affine("to_code", torch.cat(last)))
    loss, h, c = 0.0, zero, zero
    for word, target in zip([end, *ids(original)], [*ids(original), end], strict=True):
        h, c = cell("decoder/", embedding[word] + given, h, c)
        loss -= float((weights["output.weight"] @ h + weights["bias"]).log_softmax(0)[target])
    written: list[int] = []
    word, h, c = end, zero, zero
    while len(written) < 40:
        h, c = cell("decoder/", embedding[word] + given, h, c)
        word = int((weights["output.weight"] @ h + weights["bias"]).argmax())
        if word == end:
            break
        written.append(word)
    return loss, written


def test_loss_and_texts_are_what_the_definition_says(tmp_path: Path) -> None:
    data = rows()
    # lengths differ
    data["test"] = [
        replace(row, private=row.original.replace("bread", "soup soup")) for row in data["test"]
    ]
    done = run(tmp_path, data, epochs=20, max_length=40)
    weights = {name: w.double() for name, w in load_file(done.weights).items()}
    expected = [by_hand(weights, row.text("private"), row.original) for row in data["test"]]
    total = sum(loss for loss, _ in expected)
    tokens = sum(len(row.original.split()) + 1 for row in data["test"])
    assert done.trained.loss == pytest.approx(total / len(expected), rel=1e-5)
    assert done.trained.token_loss == pytest.approx(total / tokens, rel=1e-5)
    assert done.trained.perplexity == pytest.approx(math.exp(total / tokens), rel=1e-5)
    assert any(done.texts["test"])
    assert done.texts["test"] == [" ".join(WORDS[i] for i in ids) for _, ids in expected]


def test_a_batch_of_one_and_a_full_batch_have_the_same_loss(tmp_path: Path) -> None:
    """Sentences of many lengths share a batch in one case and stand alone in the other."""
    from trlap.models.autoencoder import AutoEncoder
    from trlap.models.packing import Sentences
    from trlap.models.training import Training

    texts = [" ".join(WORDS[1 : 1 + n]) for n in (0, 3, 9, 1, 3, 7)]
    model = AutoEncoder(
        torch.from_numpy(EMBEDDING.vectors),
        torch.full((len(WORDS) + 1,), 1 / (len(WORDS) + 1)),
        hidden=12,
        code=8,
        layers=2,
        dropout=0.5,
        tied=False,
        sampled=False,
    )
    sentences = Sentences(texts, VOCABULARY)
    training = Training(model, sentences, sentences, {}, TINY, 0).eval()
    generator = torch.Generator()

    def loss(*chosen: int) -> float:
        index = torch.tensor(chosen)
        return training.loss(index, training.code(index, generator).drawn())[0].item()

    alone = [loss(i) for i in range(len(texts))]
    assert loss(*range(len(texts))) == pytest.approx(sum(alone), rel=1e-5)
    assert loss(1, 4) == pytest.approx(alone[1] + alone[4], rel=1e-5)


def same(a: Path, b: Path) -> bool:
    one, two = load_file(a), load_file(b)
    return all(torch.equal(one[name], two[name]) for name in one | two)


@pytest.mark.parametrize("protocol", ["paper", "release"])
def test_seeds_reproduce(tmp_path: Path, protocol: str) -> None:
    keys: dict[str, Any] = {"protocol": PROTOCOLS[protocol], "word_noise": NOISY, "layers": 2}
    if protocol == "release":
        keys["mechanism"] = released()
    first = run(tmp_path / "a", **keys)
    # the state of torch's own generator does not matter
    torch.rand(3)
    again = run(tmp_path / "b", **keys)
    other = run(tmp_path / "c", **keys, seed=8)
    assert (again.texts, again.trained.loss) == (first.texts, first.trained.loss)
    assert same(again.weights, first.weights)
    assert other.trained.loss != first.trained.loss


def test_torch_s_own_generator_is_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    run(tmp_path, epochs=1)
    assert torch.equal(torch.rand(4), expected)


def test_only_the_weights_stay_unless_checkpoints_are_kept(tmp_path: Path) -> None:
    done = run(tmp_path / "a")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["weights.safetensors"]
    assert load_file(done.weights)["embedding.weight"].shape == (len(WORDS) + 2, 10)
    run(tmp_path / "b", keep_checkpoints=True)
    names = {path.name for path in (tmp_path / "b").iterdir()}
    checkpoints = ["last.ckpt", *(f"epoch{i}.ckpt" for i in (1, 2, 3, 4))]
    digests = [f"{name}.sha256" for name in checkpoints]
    assert names == {"weights.safetensors", *checkpoints, *digests}


def test_the_history_has_every_epoch(tmp_path: Path) -> None:
    history = run(tmp_path).trained.history
    assert [entry.epoch for entry in history] == [1, 2, 3, 4]
    for entry in history:
        assert set(to_json(entry)) == {
            "epoch",
            "train_loss",
            "validation_loss",
            "seconds",
            "tokens_per_second",
            "wall_time",
        }
        assert 0 < to_json(entry)["validation_loss"] < 30
        assert to_json(entry)["tokens_per_second"] > 0


def test_empty_sentences_and_missing_splits(tmp_path: Path) -> None:
    empty = Row("test", "", "")
    data = {"train": [*rows()["train"], empty], "validation": [empty], "test": [empty, empty]}
    done = run(tmp_path / "a", data, batch=64)
    assert len(done.texts["test"]) == 2
    assert done.trained.loss == done.trained.token_loss
    done = run(tmp_path / "b", {"train": [empty]}, epochs=1)
    assert done.texts == {"test": []}
    assert done.trained.loss is done.trained.token_loss is done.trained.perplexity is None
    assert done.trained.history[0].validation_loss is None
    with pytest.raises(TrlapError, match="no training sentence"):
        run(tmp_path / "c", {"train": [], "test": [empty]})


def test_other_splits_are_rewritten_on_request(tmp_path: Path) -> None:
    done = run(tmp_path, splits=("train", "test"))
    assert {split: len(texts) for split, texts in done.texts.items()} == {"train": 40, "test": 10}


def test_sentences_end_somewhere(tmp_path: Path) -> None:
    done = run(tmp_path / "a", epochs=1, max_length=3)
    assert max(len(text.split()) for text in done.texts["test"]) <= 3
    # hardly trained: it may never write an end
    done = run(tmp_path / "b", epochs=1)
    longest = max(len(row.original.split()) for row in rows()["train"])
    assert max(len(text.split()) for text in done.texts["test"]) <= longest + 10


@pytest.mark.parametrize("keys", [{"tied": True}, {"layers": 2}, {"gradient_clip": 0.5}])
def test_options_train(tmp_path: Path, keys: dict[str, Any]) -> None:
    done = run(tmp_path, epochs=8, **keys)
    losses = train_losses(done)
    assert losses[-1] < losses[0]
    names = load_file(done.weights)
    # the vectors' dimension
    assert (names["output.weight"].shape[0] == 10) == ("tied" in keys)
    assert ("encoder.weight_ih_l1" in names) == ("layers" in keys)


def test_early_stopping_takes_the_best_epoch(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"dropout": 0.0, "hidden": 48, "lr": 0.05, "epochs": 60}
    data = rows(12, 20, 10)
    stopped = run(tmp_path / "a", data, **keys, patience=3)
    losses = validation_losses(stopped)
    best = losses.index(min(losses)) + 1
    assert len(losses) == best + 3 < 60
    until = run(tmp_path / "b", data, **keys | {"epochs": best})
    assert same(stopped.weights, until.weights)
    with pytest.raises(TrlapError, match="no validation split"):
        run(tmp_path / "c", {"train": data["train"]}, patience=3)


def test_bad_settings_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(TrlapError, match="not on cpu"):
        run(tmp_path, trainer=replace(TINY.trainer, precision="16-mixed"))
    with pytest.raises(TrlapError, match="two numbers"):
        run(tmp_path, betas=[0.5, 1.0])


def test_it_is_quiet(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(tmp_path / "work")
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
