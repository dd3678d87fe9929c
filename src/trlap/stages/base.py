"""The contract of a stage: a step of a run with a folder of its own in the cache.

A stage says its name and version, which stages it reads, which keys of the config it depends on, how to
make its output, and how to write and read it. All else follows: the folder's name is a digest of these
declarations and of the folders that are read, the run's hash a digest of its stages' folders, and what a
plan calls done is a folder that is there. Data flow in one direction: a stage knows nothing of later ones.

Modules of stages import heavy libraries only where there is work, so that a finished run is shown at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from trlap.config.door import Config
from trlap.files import digest
from trlap.runs.listening import Report
from trlap.runs.records import Json

if TYPE_CHECKING:
    from trlap.mechanisms.base import Mechanism
    from trlap.models.base import Machine
    from trlap.runs.result import Epoch

Output = TypeVar("Output")
Other = TypeVar("Other")
# a folder's key, before it is digested
Key = dict[str, Json]


class Inputs(Protocol):
    """What a stage is given."""

    config: Config
    machine: "Machine"
    # kept if the process is killed, and given again to whoever does this stage next
    scratch: Path
    # told of every epoch of a training as soon as it is over
    report: Report

    def __getitem__(self, stage: "Stage[Other]") -> Other:
        """The output of a stage that it reads."""

    @property
    def mechanism(self) -> "Mechanism":
        """The mechanism on the run's vocabulary and embedding."""


class Stage(ABC, Generic[Output]):
    name: ClassVar[str]
    # what it does, in words that follow its number on the screen: "4/9 privatising the text"
    doing: ClassVar[str]
    # raised when the same keys would give another output than before
    version: ClassVar[int]
    # the keys of the config that its output depends on, by their dotted names
    keys: ClassVar[tuple[str, ...]] = ()
    # named in the key `stages`; the others are done in every run
    optional: ClassVar[bool] = True
    # public and the same for all cells on the same data: `force` does not do it again
    shared: ClassVar[bool] = False
    # files of its folder that a reader wants in the run's folder
    published: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def reads(self, config: Config) -> "tuple[Stage[Any], ...]":
        """The stages whose output it reads, under this config."""

    def key(self, config: Config) -> Mapping[str, Json]:
        """What its output depends on beside what it reads. Files and models count by their content."""
        return config.values(*self.keys)

    def skipped(self, config: Config) -> str | None:
        """Why there is nothing to do although it was asked for."""
        return None

    def check(self, config: Config) -> None:
        """Rules that tie its keys together; raises TrlapError with one line."""

    def check_things(self, config: Config) -> None:
        """Rules that only the classes of mechanism, model or classifier know: asked before work starts."""

    @abstractmethod
    def run(self, inputs: Inputs) -> Output: ...

    @abstractmethod
    def write(self, output: Output, folder: Path) -> None: ...

    @abstractmethod
    def read(self, folder: Path) -> Output: ...

    def epochs(self, folder: Path) -> "Sequence[Epoch]":
        """The history of a training, as the stage's folder has it; empty where nothing is trained."""
        return ()


class Identity:
    """The folders of a run's stages, by their names alone: nothing is computed and nothing is read but
    what stands for content.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._keys: dict[str, Key] = {}

    def key(self, stage: Stage[Any]) -> Key:
        if stage.name not in self._keys:
            self._keys[stage.name] = {
                "version": stage.version,
                "keys": dict(stage.key(self.config)),
                "reads": [self.folder(other) for other in stage.reads(self.config)],
            }
        return self._keys[stage.name]

    def folder(self, stage: Stage[Any]) -> str:
        return f"{stage.name}-{digest(self.key(stage))}"

    @cached_property
    def folders(self) -> dict[str, str]:
        """By stage, in the order in which they are done."""
        from trlap.stages import chosen

        return {stage.name: self.folder(stage) for stage in chosen(self.config)}

    @cached_property
    def hash(self) -> str:
        """What a run is: the folders of its stages, and what its name says."""
        return digest([self.folders, self.config.dataset.name, self.config.embedding.name])
