"""One run on one screen: is it done? Else do its stages, put the result together, write it."""

import logging
import shutil
from dataclasses import replace

from trlap import stages
from trlap.config.door import Config
from trlap.files import atomic, make_folder
from trlap.runs import result
from trlap.runs.build import Outputs, build
from trlap.runs.cell import Cell, command
from trlap.runs.listening import Listener, Listeners, Screen
from trlap.runs.result import RunResult, VocabularySize
from trlap.runs.tracking import Tracker
from trlap.stages.execute import Execution

logger = logging.getLogger(__name__)


def run(config: Config, wait: bool = True) -> RunResult:
    """One cell: check it, look whether it is done, else do its stages.

    Where another process works on it, waits until that is done, or raises Busy without `wait`.
    """
    stages.check(config)
    make_folder(config.outputs, "outputs")
    cell = Cell(config)
    if cell.finished() and not config.force:
        return cell.result()
    screen = Screen()
    screen.starting(len(stages.chosen(config)))
    stages.check_things(config)
    with cell.alone(wait):
        if config.force or not cell.finished():
            with Tracker(cell) as tracker, cell.recorded():
                listener = Listeners(cell, screen, tracker)
                listener.run_begins()
                made = work(cell, listener)
                listener.run_done(made)
                tracked = replace(made.details, wandb=tracker.outcome())
                result.write(replace(made, details=tracked), cell.folder / "result.json")
    return cell.result()


def work(cell: Cell, listener: Listener) -> RunResult:
    """Do the stages of a cell in their order, and put together what they gave."""
    config = cell.config
    logger.info("%s: %s", cell.name, command(config) or "from Python")
    execution = Execution(config, listener)
    for stage in stages.chosen(config):
        folder = execution.do(stage)
        for name in stage.published:
            with atomic(cell.folder / name) as file:
                shutil.copyfile(folder / name, file)
    return build(cell.name, config, outputs_of(execution), command(config))


def outputs_of(execution: Execution) -> Outputs:
    config = execution.config
    done = stages.chosen(config)
    vocabulary = execution[stages.VOCABULARY]
    private = execution[stages.PRIVATIZE] if stages.PRIVATIZE in done else None
    rewritten = execution[stages.REWRITE] if stages.REWRITE in done else None
    audit = execution[stages.AUDIT] if stages.AUDIT in done else None
    last = rewritten or private
    read = {stage.name: execution.provenance(stage) for stage in done}
    return Outputs(
        guarantee=audit.guarantee if audit else execution[stages.GUARANTEE],
        corpus=execution[stages.CORPUS].info,
        embedding=execution[stages.EMBEDDING].info,
        vocabulary=VocabularySize(len(vocabulary.words), vocabulary.public),
        private=private,
        test=last.rows["test"] if last else (),
        trained=rewritten.trained if rewritten else None,
        classified=execution[stages.CLASSIFY] if stages.CLASSIFY in done else None,
        measured=execution[stages.METRICS] if stages.METRICS in done else None,
        attacker=audit.best_attacker() if audit else None,
        which=audit.which() if audit else None,
        notes=audit.notes if audit else (),
        skipped={
            stage.name: reason
            for stage in stages.asked(config)
            if (reason := stage.skipped(config)) is not None
        },
        seconds=execution.seconds,
        stages={name: record for name, record in read.items() if record is not None},
    )
