"""What torch does slowly on a CPU: LSTMs over sentences of several lengths, dropout, softmax over many words.

Under autocast the factors of matrix products are bfloat16, which takes half the time where a CPU has
instructions for it; sums, states, softmax and weights stay as wide as they are.
"""

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

# a gradient times the derivative of σ or tanh by its output, in one pass
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input

# tokens whose scores are in memory at a time ...
PIECE = 1024
# ... and in the cache, as softmax goes over them several times
PART = 128


def has_bfloat16() -> bool:
    """Whether this CPU multiplies matrices of bfloat16 itself; without, torch is slower with them."""
    known = torch.cpu.get_capabilities()
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))


def factor_type(wide: torch.dtype) -> torch.dtype:
    """Of what is to be multiplied, where sums are of type `wide`."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else wide


def add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    if a.dtype == total.dtype:
        total.addmm_(a, b)
    else:
        total += a @ b


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
        wide, kind, ctx.given = bias.dtype, factor_type(bias.dtype), rows.dtype
        rows, w, u = (factor.to(kind) for factor in (rows, w, u))
        gates = torch.addmm(bias.to(kind), rows, w.T).to(wide)
        cells = gates.new_empty(len(rows), u.shape[1])
        bounded, outputs = torch.empty_like(cells), torch.empty_like(cells, dtype=kind)
        for now, old, before in steps(sizes, reverse):
            add_product(gates[old], outputs[before], u.T)
            i, f, z, o = gates[now].chunk(4, dim=1)
            for gate in (i, f, o):
                gate.sigmoid_()
            torch.mul(i, z.tanh_(), out=cells[now])
            cells[old].addcmul_(f[: old.stop - old.start], cells[before])
            torch.mul(torch.tanh(cells[now], out=bounded[now]), o, out=outputs[now])
        ctx.save_for_backward(rows, w, u, gates, outputs, cells, bounded)
        ctx.sizes, ctx.reverse = sizes, reverse
        return outputs.to(wide)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        rows, w, u, gates, outputs, cells, bounded = ctx.saved_tensors
        order, wide = steps(ctx.sizes, ctx.reverse), cells.dtype
        d_outputs, d_cells = grads[0].clone(), torch.zeros_like(cells)
        d_gates = torch.empty_like(gates, dtype=u.dtype)
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
            add_product(d_outputs[before], d_gates[old], u)
            torch.mul(d_cell[:known], f[:known], out=d_cells[before])
        # what each step was given by the one before
        given = torch.zeros_like(outputs)
        for _, old, before in order:
            given[old] = outputs[before]
        products = (d_gates @ w, d_gates.T @ rows, d_gates.T @ given)
        d_rows, d_w, d_u = map(Tensor.to, products, (ctx.given, wide, wide))
        return d_rows, d_w, d_u, d_gates.sum(0, dtype=wide), None, None


def steps(sizes: list[int], reverse: bool) -> list[tuple[slice, slice, slice]]:
    """In the order of reading: a step's rows, those of them with a word read before, and those words."""
    starts = [0, *accumulate(sizes)]
    order = range(len(sizes))[:: -1 if reverse else 1]
    slices, last = [], None
    for t in order:
        known = 0 if last is None else min(sizes[t], sizes[last])
        before = starts[t if last is None else last]
        now = slice(starts[t], starts[t + 1])
        slices.append((now, slice(starts[t], starts[t] + known), slice(before, before + known)))
        last = t
    return slices


def cross_entropy(rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """−Σ_t ln softmax(weight · rows_t + bias) at targets_t."""
    if not rows.is_cpu:
        return nn.functional.cross_entropy(linear(rows, weight, bias), targets, reduction="sum")
    loss: Tensor = CrossEntropy.apply(rows, weight, bias, targets, torch.is_grad_enabled())
    return loss


class CrossEntropy(torch.autograd.Function):
    """Loss and gradients piece by piece, in one buffer.

    Three tensors of tokens × vocabulary, as torch makes them, are gigabytes for the paper's model: to get
    them from the system and to read them back takes a fifth of the time.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, learning: bool
    ) -> Tensor:
        wide, kind = bias.dtype, factor_type(bias.dtype)
        loss, buffer = bias.new_zeros(()), bias.new_empty(min(PART, len(rows)), len(weight))
        products = torch.empty(min(PIECE, len(rows)), len(weight), dtype=kind)
        d_rows, d_weight, d_bias = (torch.zeros_like(x, dtype=wide) for x in (rows, weight, bias))
        rows, weight = rows.to(kind), weight.to(kind)
        wholes = (rows, targets[:, None], d_rows)
        for piece, target, d_piece in zip(*(x.split(PIECE) for x in wholes), strict=True):
            factor = torch.mm(piece, weight.T, out=products[: len(piece)])
            totals = []
            for part, wanted in zip(factor.split(PART), target.split(PART), strict=True):
                scores = torch.add(bias, part, out=buffer[: len(part)])
                scores -= scores.amax(1, keepdim=True)
                chosen = scores.gather(1, wanted)
                total = scores.exp_().sum(1, keepdim=True)
                loss += (total.log() - chosen).sum()
                # scores / total − 1[target], the division left to the smaller factors
                if learning:
                    scores.scatter_add_(1, wanted, -total)
                    part.copy_(scores)
                    d_bias.addmv_(scores.T, 1 / total[:, 0])
                    totals.append(total)
            if learning:
                total = torch.cat(totals)
                torch.div(factor @ weight, total, out=d_piece)
                add_product(d_weight, factor.T, (piece / total).to(kind))
        ctx.save_for_backward(d_rows, d_weight, d_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return *(grads[0] * grad for grad in ctx.saved_tensors), None, None
