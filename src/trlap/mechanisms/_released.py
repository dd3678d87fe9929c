"""Until every caller asks `registry.make_released`: the old name, `Released(..., released=name)`."""

from abc import ABCMeta
from typing import Any

from trlap.mechanisms.registry import make_released
from trlap.mechanisms.released.base import ReleasedMechanism


class _Old(ABCMeta):
    def __call__(cls, *, space: Any, epsilon: float, clip: float, released: str = "trlap") -> Any:
        return make_released(released, space, epsilon, clip)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, ReleasedMechanism)


class Released(ReleasedMechanism, metaclass=_Old):
    released: str = ""
