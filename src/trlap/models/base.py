"""What the two kinds of models share: a rewriter writes sentences anew, a classifier names their class.

A model says which keys it has (`Keys`, a dataclass whose fields carry types and ranges, with values in
`conf/model/` or `conf/classifier/`), how it reads texts, how it learns, and what it writes or names. Its
module imports no heavy library before there is work, since the keys are asked for by every command.

The contracts are `trlap.models.rewriters.base` and `trlap.models.classifiers.base`.
"""

from abc import ABC
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from trlap.runs.records import Json


@dataclass(frozen=True)
class Machine:
    """Where a model computes."""

    device: str
    threads: int


class Model(ABC):
    """A thing with keys."""

    name: ClassVar[str]
    Keys: ClassVar[type]

    @classmethod  # noqa: B027  not every model has such rules
    def check(cls, keys: Any) -> None:
        """Rules between its keys; raises TrlapError with one line."""

    @classmethod
    def fingerprint(cls, keys: Any) -> dict[str, Json]:
        """What a result depends on: the keys' values, files by their content and not by their path."""
        return asdict(keys)
