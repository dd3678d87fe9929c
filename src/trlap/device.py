"""Where tensors live."""

import torch

from trlap.errors import TrlapError


def pick_device(name: str) -> str:
    """`auto`: CUDA, then MPS, then CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    if name.startswith("cuda"):
        if not torch.cuda.is_available():
            raise TrlapError(
                f"device={name}: this machine has no CUDA device; use device=auto or cpu"
            )
        if int(name.partition(":")[2] or 0) >= torch.cuda.device_count():
            raise TrlapError(f"device={name}: there are {torch.cuda.device_count()} CUDA devices")
    if name == "mps" and not torch.backends.mps.is_available():
        raise TrlapError("device=mps: this machine has none; use device=auto or cpu")
    return name
