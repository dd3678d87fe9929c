"""Mechanisms: `base` is the contract, `registry` knows them by name, each has one file, `released/` has what
the authors published.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trlap.mechanisms.registry import make

__all__ = ["make"]


def __getattr__(name: str) -> Any:
    """`trlap.mechanisms.make("crr", space, 5.0)`; importing the package alone loads nothing."""
    if name == "make":
        from trlap.mechanisms.registry import make

        return make
    raise AttributeError(f"module 'trlap.mechanisms' has no attribute {name!r}")
