"""Word noise on what the encoder reads in training, as in denoising auto-encoders (Shen et al. 2020).

Draws come from torch's global generator, which the caller seeds. The first column is the boundary and
stays as it is.
"""

import torch
from torch import Tensor


def shuffle(places: Tensor, lengths: Tensor, distance: float) -> Tensor:
    """Sort by i + (distance + 1)·U(0, 1): words end up at most ⌈distance⌉ places away."""
    steps = torch.arange(places.shape[1], device=places.device, dtype=torch.float)
    keys = steps + (distance + 1) * torch.rand(places.shape, device=places.device)
    keys[:, 0] = -1
    keys = keys.where(steps < lengths[:, None], torch.inf)
    return places.gather(1, keys.argsort(dim=1, stable=True))


def drop(places: Tensor, lengths: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """Leave out each word with probability `share`. Returns what is left, and its lengths."""
    stays = torch.rand(places.shape, device=places.device) >= share
    stays &= torch.arange(places.shape[1], device=places.device) < lengths[:, None]
    stays[:, 0] = True
    order = (~stays).to(torch.uint8).argsort(dim=1, stable=True)
    return places.gather(1, order), stays.sum(1)


def replace(ids: Tensor, words: int, blank: float, substitute: float) -> Tensor:
    """Blank words with one probability, then put a word drawn evenly for each with the other.

    Ids from `words` on are no words: `words` is the boundary, `words` + 1 the blank. `<unk>`, id 0, is
    never put for another.
    """
    inside = ids != words
    blanked = (torch.rand(ids.shape, device=ids.device) < blank) & inside
    ids = ids.masked_fill(blanked, words + 1)
    drawn = torch.randint(min(1, words - 1), words, ids.shape, device=ids.device)
    replaced = (torch.rand(ids.shape, device=ids.device) < substitute) & inside
    return drawn.where(replaced, ids)
