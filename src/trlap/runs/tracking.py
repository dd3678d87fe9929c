"""Weights & Biases while it happens: one run a cell, which hears of the cell as any other listener does.

Its id is the cell's hash, its group the sweep. W&B does not merge two attempts that were logged offline, so
a cell that was killed and goes on takes the dead attempt's folder away, and logs what its checkpoint and
the cache remember anew, each epoch at the time when it was. What is logged at the end is in
`trlap.runs.tracked`.

Text stays on this machine unless wandb.log_text=true; the names of host and user, places, the repository's
address and the command line stay here in any case. Nothing that goes wrong here can harm a cell: it becomes
a note in the result.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar

from trlap.config.places import hidden
from trlap.errors import TrlapError
from trlap.files import say
from trlap.runs import tracked
from trlap.runs.cell import Cell, command
from trlap.runs.listening import Listener, Step
from trlap.runs.result import Epoch, RunResult, Tracked

if TYPE_CHECKING:
    import wandb

Mode = Literal["online", "offline"]
Answer = TypeVar("Answer")
# at most so long for a network that does not answer, of which W&B itself is told a little less
SECONDS = 10.0
PATIENCE = 7.0
# between two writes of what was logged to the disk: who is killed loses no more than that
FLUSHED = 5.0


class Tracker(Listener):
    """Leaving it ends the W&B run, however the cell ends: what was logged by then is kept."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.mode = cell.config.wandb.mode
        self.run: wandb.Run | None = None
        self.id = cell.hash
        self.url: str | None = None
        self.error: str | None = None
        # why it is offline although online was asked for
        self.outage: str | None = None

    def __enter__(self) -> "Tracker":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._safely(lambda: self._finish(exit_code=1 if error else 0))

    def outcome(self) -> Tracked:
        """What the result is to say of it: mode, id, and the address or what went wrong."""
        if self.mode == "disabled":
            return Tracked(self.mode)
        return Tracked(self.mode, self.id, self.url, self.error, self.outage)

    def run_begins(self) -> None:
        if self.mode != "disabled":
            self._safely(self._start)

    def stage_begins(self, step: Step) -> None:
        share = (step.number - 1) / step.count
        self._log({"stage": step.stage, "progress": share}, time.time())

    def epoch_done(self, stage: str, epoch: Epoch) -> None:
        # a run that goes on online has its earlier epochs there
        if self.run and (epoch.epoch or 0) > self.seen.get(stage, 0):
            self._log(tracked.epoch_values(stage, epoch), epoch.wall_time)

    def run_done(self, result: RunResult) -> None:
        """Everything that is known in the end; then the run is closed, so that the result can say how."""

        def conclude() -> None:
            if self.run:
                self._log({"stage": "done", "progress": 1.0}, time.time())
                tracked.conclude(self.run, self.cell, result)
                self._finish(exit_code=0)

        self._safely(conclude)

    def _log(self, values: dict[str, tracked.Value], wall_time: float | None) -> None:
        """`wall_time` is when it was, and W&B's own axis of time is told the same."""
        times = {} if wall_time is None else {"wall_time": wall_time, "_timestamp": wall_time}
        if self.run:
            run = self.run
            self._safely(lambda: run.log(values | times))

    def _safely(self, act: Callable[[], None]) -> None:
        """What goes wrong is kept for the result, and nothing more is logged."""
        try:
            act()
        except Exception as error:
            self.error, self.run = self._reason(error), None

    def _reason(self, error: Exception) -> str:
        kind = "" if isinstance(error, TrlapError) else f"{type(error).__name__}: "
        reason = f"{kind}{error}".strip().split("\n")[0]
        return hidden(reason, self.cell.config.places.values())

    def _start(self) -> None:
        # what an earlier attempt left has the same id, and would be sent as well
        shutil.rmtree(self.cell.folder / "wandb", ignore_errors=True)
        if self.mode == "online":
            try:
                self.run = within(SECONDS, lambda: _init(self.cell, "online"))
            except Exception as error:
                self.outage = self._reason(error)
                self._go_offline()
        else:
            self.run = _init(self.cell, "offline")
        assert self.run is not None
        self.id = self.run.id
        self.url = self.run.url if self.mode == "online" else None
        self.seen = tracked.epochs_seen(self.run) if self.mode == "online" else {}
        tracked.define(self.run)

    def _go_offline(self) -> None:
        import wandb

        say(f"W&B is not reached ({self.outage}); the run is logged offline")
        # else the next run would wait for the same service
        within(SECONDS - PATIENCE, wandb.teardown, patient=False)
        shutil.rmtree(self.cell.folder / "wandb", ignore_errors=True)
        self.mode = "offline"
        self.run = _init(self.cell, "offline")

    def _finish(self, exit_code: int) -> None:
        """Offline that is a moment; online it waits a little for what is not sent yet, which stays here."""
        run, self.run = self.run, None
        if run is None:
            return
        try:
            within(SECONDS, lambda: run.finish(exit_code=exit_code))
        finally:
            # W&B's own logs name places, and are of no use to a reader of the run
            for logs in self.cell.folder.glob("wandb/*/logs"):
                shutil.rmtree(logs, ignore_errors=True)


def within(seconds: float, act: Callable[[], Answer], patient: bool = True) -> Answer | None:
    """What `act` gives, if it ends in time; else it is left to itself, and TimeoutError is raised or, where
    nobody is `patient` enough to care, None is given. Libraries' own limits do not hold everywhere.
    """
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            answers.append(act())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors and patient:
        raise errors[0]
    if thread.is_alive() and patient:
        raise TimeoutError(f"no answer in {seconds:.0f} s")
    return answers[0] if answers else None


def _quieten() -> None:
    """To be called before W&B is imported: it is to print nothing and to send no reports of its own errors,
    which hold places and keep a process waiting at its end.
    """
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    if "wandb" not in sys.modules:
        # the service of a parent process, which is not ours to end when the network is out
        os.environ.pop("WANDB_SERVICE", None)


def _init(cell: Cell, mode: Mode) -> "wandb.Run":
    _quieten()
    import wandb

    config = cell.config
    # else it would ask whoever sits at the terminal
    if mode == "online" and not wandb.login(prompt=False, verify=False):
        raise TrlapError("nobody is logged in; `wandb login` does that")
    return wandb.init(
        project=config.wandb.project,
        # `wandb agent` has an id of its own for what it starts
        id=os.environ["WANDB_RUN_ID"] if "WANDB_SWEEP_ID" in os.environ else cell.hash,
        name=cell.name,
        group=config.sweep,
        # a cell is a place in a grid, a run stands alone
        job_type="cell" if config.sweep else "run",
        tags=[config.protocol.name, config.mechanism.name],
        config=config.composed | {"command": command(config), "epsilon_cap": tracked.EPSILON_CAP},
        mode=mode,
        dir=cell.folder,
        # a cell that goes on, or is redone by force
        resume="allow" if mode == "online" else None,
        reinit="finish_previous",
        settings=wandb.Settings(
            silent=True,
            console="off",
            symlink=False,
            init_timeout=PATIENCE,
            finish_timeout=PATIENCE,
            x_transaction_log_flush_interval=FLUSHED,
            x_disable_stats=True,
            x_disable_meta=True,
            x_disable_machine_info=True,
            x_save_requirements=False,
            # else W&B asks the machine for its name
            host="-",
            disable_git=True,
            disable_code=True,
            disable_job_creation=True,
        ),
    )
