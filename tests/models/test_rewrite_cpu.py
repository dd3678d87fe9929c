"""What replaces torch's own on a CPU gives what torch's own gives."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from trlap.models.cpu import PIECE, Layer, cross_entropy, dropout
from trlap.models.packing import Layout


@pytest.mark.parametrize("sizes", [[4, 4, 2, 1], [3], [2, 2]])
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_a_layer_are_those_of_its_outputs(sizes: list[int], reverse: bool) -> None:
    torch.manual_seed(0)
    shapes = [(sum(sizes), 3), (8, 3), (8, 2), (8,)]
    given = [torch.randn(shape, dtype=torch.double, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(lambda *x: Layer.apply(*x, sizes, reverse), given)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_an_lstm_is_torch_s(layers: int, bidirectional: bool) -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(6, 5, layers, bidirectional=bidirectional)
    layout = Layout(torch.tensor([3, 1, 5, 5, 2]))
    rows = torch.randn(16, 6, requires_grad=True)
    back = layout.order.argsort()

    def torchs() -> tuple[torch.Tensor, torch.Tensor]:
        outputs, (states, _) = lstm(PackedSequence(rows, layout.sizes, layout.order, back))
        return outputs.data, states

    found = []
    for run in (torchs, lambda: layout.run(lstm, rows)):
        outputs, states = run()
        loss = outputs.square().sum() + states.cos().sum()
        grads = torch.autograd.grad(loss, [rows, *lstm.parameters()])
        found.append([outputs, states, *grads])
    torch.testing.assert_close(found[0], found[1])


def test_dropout_between_layers_is_for_training() -> None:
    lstm = nn.LSTM(6, 5, 2, dropout=0.5)
    layout, rows = Layout(torch.tensor([3, 2])), torch.randn(5, 6)
    assert not torch.equal(layout.run(lstm, rows)[0], layout.run(lstm, rows)[0])
    lstm.eval()
    assert torch.equal(layout.run(lstm, rows)[0], layout.run(lstm, rows)[0])


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(0)
    values = torch.full((100_000,), 3.0, requires_grad=True)
    left = dropout(values, share, True)
    dropped = int((left == 0).sum())
    assert abs(dropped - share * 100_000) <= 5 * (share * (1 - share) * 100_000) ** 0.5
    torch.testing.assert_close(left[left != 0].unique(), torch.tensor([3 / (1 - share)]))
    (grad,) = torch.autograd.grad(left.sum(), values)
    torch.testing.assert_close(grad, left / 3)


def test_dropout_that_drops_nothing_or_all() -> None:
    values = torch.randn(9)
    assert torch.equal(dropout(values, 0.5, False), values)
    assert torch.equal(dropout(values, 0.0, True), values)
    assert not dropout(values, 1.0, True).any()


@pytest.mark.parametrize("tokens", [1, PIECE, PIECE + 3])
def test_cross_entropy_is_torch_s(tokens: int) -> None:
    torch.manual_seed(0)
    shapes = [(tokens, 4), (7, 4), (7,)]
    rows, weight, bias = (10 * torch.randn(s, dtype=torch.double) for s in shapes)
    given = [x.requires_grad_() for x in (rows, weight, bias)]
    targets = torch.randint(7, (tokens,))
    ours = cross_entropy(rows, weight, bias, targets)
    scores = nn.functional.linear(rows, weight, bias)
    theirs = nn.functional.cross_entropy(scores, targets, reduction="sum")
    torch.testing.assert_close(ours, theirs)
    for factor in (1, 0.3):
        found = [torch.autograd.grad(x * factor, given, retain_graph=True) for x in (ours, theirs)]
        torch.testing.assert_close(*found)
    with torch.no_grad():
        assert torch.equal(cross_entropy(rows, weight, bias, targets), ours)


def test_a_loss_that_is_not_finite_stays_so() -> None:
    rows, bias = torch.randn(3, 4), torch.tensor([0.0, torch.nan, 0.0])
    assert cross_entropy(rows, torch.randn(3, 4), bias, torch.zeros(3, dtype=torch.int64)).isnan()


def test_under_autocast_factors_are_bfloat16() -> None:
    """8 bits a factor: gradients differ from float32's by less than 2 % of their length, and do differ."""
    torch.manual_seed(0)
    lstm, layout = nn.LSTM(60, 50, 2, bidirectional=True), Layout(torch.tensor([3, 1, 5, 5, 2]))
    rows, weight, bias = torch.randn(16, 60), torch.randn(70, 100), torch.randn(70)
    given = [x.requires_grad_() for x in (rows, weight, bias)]
    targets = torch.randint(70, (16,))
    found = []
    for mixed in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            outputs, _ = layout.run(lstm, rows)
            loss = cross_entropy(outputs, weight, bias, targets)
        assert outputs.dtype == loss.dtype == torch.float32
        found.append([loss, *torch.autograd.grad(loss, [*given, *lstm.parameters()])])
    for wide, narrow in zip(*found, strict=True):
        assert narrow.dtype == torch.float32
        assert 0 < (wide - narrow).norm() <= 0.02 * wide.norm()


def test_an_lstm_over_equal_lengths_under_autocast() -> None:
    torch.manual_seed(0)
    lstm, layout, rows = nn.LSTM(60, 50), Layout(torch.tensor([4, 4, 4])), torch.randn(12, 60)
    wide, last = layout.run(lstm, rows)
    with torch.autocast("cpu", torch.bfloat16):
        narrow, narrow_last = layout.run(lstm, rows)
    assert 0 < (wide - narrow).norm() <= 0.02 * wide.norm()
    assert 0 < (last - narrow_last).norm() <= 0.02 * last.norm()
