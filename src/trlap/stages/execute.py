"""Doing stages: each once, in a folder that stands for all that it depends on."""

import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trlap.config.door import Config
from trlap.runs import provenance
from trlap.runs.cache import cached
from trlap.runs.listening import Listener, Report, Step
from trlap.runs.result import Epoch, StageProvenance
from trlap.stages.base import Identity, Stage

if TYPE_CHECKING:
    from trlap.mechanisms.base import Mechanism
    from trlap.models.base import Machine

Output = TypeVar("Output")
logger = logging.getLogger(__name__)


class Execution:
    """The stages of one run. `listener` hears of each stage and of each epoch of a training."""

    def __init__(self, config: Config, listener: Listener) -> None:
        self.config, self.listener = config, listener
        self.identity = Identity(config)
        self.cache = Path(config.outputs) / "cache"
        self.seconds: dict[str, float] = {}
        # by stage, the numbers of the epochs that the listener has heard of
        self._told: dict[str, set[int]] = {}

    @cached_property
    def machine(self) -> "Machine":
        return provenance.this_machine(self.config.device, self.config.threads)

    @cached_property
    def mechanism(self) -> "Mechanism":
        from trlap.stages.documents import candidates, encoder_of
        from trlap.stages.embedding import EMBEDDING
        from trlap.stages.noise import make_mechanism
        from trlap.stages.vocabulary import VOCABULARY

        return make_mechanism(
            self.config,
            self[VOCABULARY],
            self[EMBEDDING],
            self.machine.device,
            self.cache,
            candidates(self) if encoder_of(self.config) else None,
        )

    def __getitem__(self, stage: Stage[Output]) -> Output:
        """The output of a stage that was done."""
        folder = self.cache / self.identity.folder(stage)
        # what cells on the same data share is read once in a process; nobody changes it
        return _kept(stage, folder) if stage.shared else self._read(stage, folder)

    def _read(self, stage: Stage[Output], folder: Path) -> Output:
        if stage.name not in self._outputs:
            self._outputs[stage.name] = stage.read(folder)
        output: Output = self._outputs[stage.name]
        return output

    @cached_property
    def _outputs(self) -> dict[str, Any]:
        return {}

    def provenance(self, stage: Stage[Any]) -> StageProvenance | None:
        return provenance.read(self.cache / self.identity.folder(stage))

    def do(self, stage: Stage[Any]) -> Path:
        """Do a stage unless its folder is there."""
        started = time.perf_counter()
        step = self._step(stage)
        self.listener.stage_begins(step)
        name = self.identity.folder(stage)
        redo = self.config.force and not stage.shared
        folder = cached(
            self.cache,
            stage.name,
            self.identity.key(stage),
            self._builder(stage, redo),
            redo,
            stage.version,
        )
        self.seconds[stage.name] = round(time.perf_counter() - started, 3)
        logger.info("stage %s: %s, %.3f s", stage.name, name, self.seconds[stage.name])
        # of a stage in the cache; or of a model that does not tell while it learns
        for epoch in stage.epochs(folder):
            self.report(stage, epoch)
        self.listener.stage_done(step, name)
        return folder

    def _step(self, stage: Stage[Any]) -> Step:
        names = list(self.identity.folders)
        return Step(stage.name, stage.doing, names.index(stage.name) + 1, len(names))

    def report(self, stage: Stage[Any], epoch: Epoch) -> None:
        """Tell of an epoch, unless it was told before. Who does not count gets a number."""
        told = self._told.setdefault(stage.name, set())
        number = epoch.epoch or len(told) + 1
        if number not in told:
            told.add(number)
            self.listener.epoch_done(stage.name, replace(epoch, epoch=number))

    def _builder(self, stage: Stage[Any], redo: bool) -> Callable[[Path], None]:
        scratch = self.cache / f".{self.identity.folder(stage)}.partial"

        def build(folder: Path) -> None:
            if redo:
                shutil.rmtree(scratch, ignore_errors=True)
            started = time.time()
            stage.write(stage.run(StageInputs(self, stage, scratch)), folder)
            provenance.write(folder, self.machine, started)

        return build


class StageInputs:
    """What a stage is given: see `trlap.stages.base.Inputs`."""

    def __init__(self, execution: Execution, stage: Stage[Any], scratch: Path) -> None:
        self.config, self.machine = execution.config, execution.machine
        self.scratch = scratch
        self.report: Report = partial(execution.report, stage)
        self._execution = execution

    def __getitem__(self, stage: Stage[Output]) -> Output:
        return self._execution[stage]

    @property
    def mechanism(self) -> "Mechanism":
        return self._execution.mechanism


@lru_cache(maxsize=6)
def _kept(stage: Stage[Any], folder: Path) -> Any:
    return stage.read(folder)
