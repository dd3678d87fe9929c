"""Weights & Biases: one run a cell, logged when the cell is done, from what its result says.

So a cell that was killed and resumed is one run like any other, with all its epochs. Its id is the cell's
hash, its group the sweep. Text stays on this machine unless wandb.log_text=true; the names of host and user,
places, the repository's address and the command line stay here in any case. Nothing that goes wrong here can
harm a cell: it becomes a note in the result.
"""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trlap.config.places import hidden
from trlap.files import jsonable, read_json
from trlap.runs.result import Epoch, RunResult, Tracked, to_json

if TYPE_CHECKING:
    from trlap.runs.cell import Cell

# at most so long for a network that does not answer
SECONDS = 60
SUMMARY = ("metrics", "private_metrics", "guarantee", "seconds")
# what an epoch's numbers are called there
RENAMED = {"train_loss": "loss"}


def track(cell: "Cell", result: RunResult) -> Tracked:
    """Returns what the result is to say of it: mode, id, and the address or what went wrong."""
    mode = cell.config.wandb.mode
    if mode == "disabled":
        return Tracked(mode)
    try:
        return Tracked(mode, cell.hash, url=_log(cell, result))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".strip().split("\n")[0]
        return Tracked(mode, cell.hash, error=hidden(reason, cell.config.places.values()))


def _log(cell: "Cell", result: RunResult) -> str | None:
    try:
        return _send(cell, result)
    finally:
        # W&B's own logs name places, and are of no use to a reader of the run
        for logs in cell.folder.glob("wandb/*/logs"):
            shutil.rmtree(logs, ignore_errors=True)


def _send(cell: "Cell", result: RunResult) -> str | None:
    import wandb

    config = cell.config
    # what an earlier attempt left has the same id, and would be sent as well
    shutil.rmtree(cell.folder / "wandb", ignore_errors=True)
    online = config.wandb.mode == "online"
    with wandb.init(
        project=config.wandb.project,
        id=cell.hash,
        name=cell.name,
        group=config.sweep,
        config=config.composed,
        mode=config.wandb.mode,  # type: ignore[arg-type]
        dir=cell.folder,
        # a cell redone by force
        resume="allow" if online else None,
        reinit="finish_previous",
        settings=wandb.Settings(
            silent=True,
            console="off",
            symlink=False,
            init_timeout=SECONDS,
            finish_timeout=SECONDS,
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
    ) as run:
        trained, classified = result.details.rewrite, result.details.classify
        _log_epochs(run, "rewrite", trained.history if trained else [])
        _log_epochs(run, "classify", classified.history if classified else [])
        plain = jsonable(to_json(result))
        run.summary.update(dict(_leaves({key: plain[key] for key in SUMMARY})))
        run.summary.update({"seconds/all": sum(result.seconds.values())})
        audit = cell.folder / "audit.json"
        if audit.exists():
            found = _leaves({"audit": read_json(audit)})
            run.summary.update({key: v for key, v in found if isinstance(v, int | float)})
        if config.wandb.log_text and result.details.examples:
            run.log({"examples": _examples(result)})
        return run.url if online else None


def _log_epochs(run: Any, stage: str, history: list[Epoch]) -> None:
    if not history:
        return
    run.define_metric(f"{stage}/epoch", hidden=True)
    run.define_metric(f"{stage}/*", step_metric=f"{stage}/epoch")
    for epoch in history:
        known = {key: value for key, value in asdict(epoch).items() if value is not None}
        run.log({f"{stage}/{RENAMED.get(key, key)}": value for key, value in known.items()})


def _examples(result: RunResult) -> Any:
    import wandb

    kinds = [kind for kind, text in asdict(result.details.examples[0]).items() if text is not None]
    rows = [[getattr(example, kind) for kind in kinds] for example in result.details.examples]
    return wandb.Table(columns=[*kinds], data=rows)


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers, truths and short words with their paths; lists are left out."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}/")
        elif value is not None and not isinstance(value, list):
            yield prefix + key, value
