"""Weights & Biases: one run a cell, logged when the cell is done, from what its result says.

So a cell that was killed and resumed is one run like any other, with all its epochs. Its id is the cell's
hash, its group the sweep. Text stays on this machine unless wandb.log_text=true. Nothing that goes wrong
here can harm a cell: it becomes a note in the result.
"""

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from omegaconf import OmegaConf

from trlap.runs.cache import digest, jsonable, read_json
from trlap.runs.cell import Cell

SECONDS = 60  # at most so long for a network that does not answer


def track(cell: Cell, result: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the result is to say of it: mode, id, and the address or what went wrong."""
    mode = cell.cfg.wandb.mode
    if mode == "disabled":
        return {"mode": mode}
    said = {"mode": mode, "id": digest(cell.settings)}
    try:
        return said | _log(cell, jsonable(result), said["id"])
    except Exception as error:
        return said | {"error": f"{type(error).__name__}: {error}".strip().split("\n")[0]}


def _log(cell: Cell, result: Mapping[str, Any], identity: str) -> dict[str, Any]:
    import wandb

    cfg = cell.cfg
    # what an earlier attempt left has the same id, and would be sent as well
    shutil.rmtree(cell.folder / "wandb", ignore_errors=True)
    with wandb.init(
        project=cfg.wandb.project,
        id=identity,
        name=cell.name,
        group=cfg.sweep,
        config=OmegaConf.to_container(cfg, resolve=True),  # type: ignore[arg-type]
        mode=cfg.wandb.mode,
        dir=cell.folder,
        resume="allow" if cfg.wandb.mode == "online" else None,  # a cell redone by force
        reinit="finish_previous",
        settings=wandb.Settings(
            silent=True,
            console="off",
            symlink=False,
            init_timeout=SECONDS,
            finish_timeout=SECONDS,
            x_disable_stats=True,
            x_disable_meta=True,
            x_save_requirements=False,
        ),
    ) as run:
        for stage, details in result["details"].items():
            if not isinstance(details, Mapping) or not details.get("history"):
                continue
            run.define_metric(f"{stage}/epoch", hidden=True)
            run.define_metric(f"{stage}/*", step_metric=f"{stage}/epoch")
            names = {"train_loss": "loss"}
            for entry in details["history"]:
                run.log(
                    {f"{stage}/{names.get(k, k)}": v for k, v in entry.items() if v is not None}
                )
        audit = cell.folder / "audit.json"
        summary = {
            key: result[key] for key in ("metrics", "private_metrics", "guarantee", "seconds")
        }
        run.summary.update(dict(_leaves(summary)))
        run.summary.update({"seconds/all": sum(result["seconds"].values())})
        if audit.exists():
            found = _leaves({"audit": read_json(audit)})
            run.summary.update({key: v for key, v in found if isinstance(v, int | float)})
        examples = result["details"]["examples"]
        if cfg.wandb.log_text and examples:
            rows = [list(example.values()) for example in examples]
            run.log({"examples": wandb.Table(columns=list(examples[0]), data=rows)})
        return {"url": run.url} if cfg.wandb.mode == "online" else {}


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers, truths and short words with their paths; lists are left out."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}/")
        elif value is not None and not isinstance(value, list):
            yield prefix + key, value
