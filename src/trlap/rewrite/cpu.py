"""What torch does slowly on a CPU: LSTMs over sentences of several lengths, and dropout."""

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

# a gradient times the derivative of σ or tanh by its output, in one pass
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


def dropout(values: Tensor, share: float, training: bool) -> Tensor:
    """torch's takes 15 ns a value on a CPU, nearly all of it for `bernoulli_`; uniform draws take 4."""
    if not values.is_cpu or not training or share in (0, 1):
        return nn.functional.dropout(values, share, training)
    return values * torch.rand_like(values).ge_(share).div_(1 - share)


class Layer(torch.autograd.Function):
    """One layer of an LSTM in one direction over packed rows: its outputs, packed.

        i, f, o = σ(W x + U h + b)    z = tanh(W x + U h + b)    c' = f·c + i·z    h' = o·tanh c'

    At step t there are `sizes[t]` sentences, no more than before. For several lengths torch's own does not
    use oneDNN's kernels, and takes up to twice the time of its matrix products. Here gradients of the
    weights are one product each, instead of one a step, and no step makes a new tensor of its gates.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, w: Tensor, u: Tensor, bias: Tensor, sizes: list[int], reverse: bool
    ) -> Tensor:
        gates = torch.addmm(bias, rows, w.T)
        outputs = gates.new_empty(len(rows), u.shape[1])
        cells, bounded = torch.empty_like(outputs), torch.empty_like(outputs)
        for now, old, before in steps(sizes, reverse):
            gates[old].addmm_(outputs[before], u.T)
            i, f, z, o = gates[now].chunk(4, dim=1)
            for gate in (i, f, o):
                gate.sigmoid_()
            torch.mul(i, z.tanh_(), out=cells[now])
            cells[old].addcmul_(f[: old.stop - old.start], cells[before])
            torch.mul(torch.tanh(cells[now], out=bounded[now]), o, out=outputs[now])
        ctx.save_for_backward(rows, w, u, gates, outputs, cells, bounded)
        ctx.sizes, ctx.reverse = sizes, reverse
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        rows, w, u, gates, outputs, cells, bounded = ctx.saved_tensors
        order = steps(ctx.sizes, ctx.reverse)
        d_outputs, d_cells = grads[0].clone(), torch.zeros_like(cells)
        d_gates = torch.empty_like(gates)
        for now, old, before in reversed(order):
            i, f, z, o = gates[now].chunk(4, dim=1)
            d_i, d_f, d_z, d_o = d_gates[now].chunk(4, dim=1)
            known = old.stop - old.start
            d_output, tanh_c = d_outputs[now], bounded[now]
            d_cell = d_cells[now].add_(torch.ops.aten.tanh_backward(d_output * o, tanh_c))
            sigmoid_backward(d_output * tanh_c, o, grad_input=d_o)
            sigmoid_backward(d_cell * z, i, grad_input=d_i)
            tanh_backward(d_cell * i, z, grad_input=d_z)
            sigmoid_backward(d_cell[:known] * cells[before], f[:known], grad_input=d_f[:known])
            d_f[known:] = 0
            d_outputs[before].addmm_(d_gates[old], u)
            torch.mul(d_cell[:known], f[:known], out=d_cells[before])
        d_u = torch.cat([d_gates[old] for _, old, _ in order]).T
        d_u = d_u @ torch.cat([outputs[before] for _, _, before in order])
        return d_gates @ w, d_gates.T @ rows, d_u, d_gates.sum(0), None, None


def steps(sizes: list[int], reverse: bool) -> list[tuple[slice, slice, slice]]:
    """In the order of reading: a step's rows, those of them with a word read before, and those words."""
    starts = [0, *accumulate(sizes)]
    order = range(len(sizes))[:: -1 if reverse else 1]
    found, last = [], None
    for t in order:
        known = 0 if last is None else min(sizes[t], sizes[last])
        before = starts[t if last is None else last]
        now = slice(starts[t], starts[t + 1])
        found.append((now, slice(starts[t], starts[t] + known), slice(before, before + known)))
        last = t
    return found
