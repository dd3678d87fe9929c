"""A cell: one combination of settings, its name, its folder and its state on disk.

Nothing here imports a heavy library, so a finished cell is found and shown at once.
"""

import os
import re
import shlex
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from trlap.errors import TrlapError
from trlap.runs.cache import content, digest, read_json, writable, write_json, write_text
from trlap.runs.lock import Lock

# keys that do not change a result
SILENT = "force plan fail_fast keep_checkpoints wandb sweep device threads outputs".split()
FORMAT = 1  # raised when the same config would give another result than before


@dataclass
class Cell:
    """`settings` is what its hash is made of; the folder is named after what a person looks for."""

    cfg: DictConfig
    settings: dict[str, Any] = field(init=False)
    name: str = field(init=False)
    state: dict[str, Any] = field(
        init=False, default_factory=dict
    )  # what status.json says of our work

    def __post_init__(self) -> None:
        self.settings = chosen = relevant(self.cfg)
        names = [chosen[group]["name"] for group in ("dataset", "embedding", "mechanism")]
        self.name = "-".join([*names, f"eps{chosen['epsilon']:g}", digest(chosen, 8)])

    @property
    def outputs(self) -> Path:
        return Path(self.cfg.outputs)

    @property
    def folder(self) -> Path:
        return self.outputs / self.name

    @property
    def lock(self) -> Lock:
        return Lock(self.folder / "lock")

    def status(self) -> dict[str, Any]:
        """status.json of whoever worked on it last; empty if nobody did."""
        file = self.folder / "status.json"
        found: dict[str, Any] = read_json(file) if file.exists() else {}
        return found if found.get("hash") == digest(self.settings) else {}

    def finished(self) -> bool:
        return self.status().get("status") == "ok"

    def result(self) -> dict[str, Any]:
        return {**read_json(self.folder / "result.json"), "folder": str(self.folder)}

    @contextmanager
    def alone(self, wait: bool) -> Iterator[None]:
        """Nobody else works on it meanwhile; without `wait` raises Busy if somebody does."""

        def tell(owner: dict[str, Any]) -> None:
            who = f"process {owner['pid']} on {owner['host']}"
            print(f"{self.name}: {who} works on it; waiting for it", file=sys.stderr)

        with ExitStack() as stack:
            with writable(self.outputs):
                stack.enter_context(self.lock.hold(wait, tell))
            yield

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Keep status.json true: running, then ok, or failed with its traceback, or interrupted."""
        started = time.time()
        write_text(self.folder / "config.yaml", OmegaConf.to_yaml(self.cfg))
        self.state = {}
        self.note(
            status="running",
            hash=digest(self.settings),
            pid=os.getpid(),
            started=started,
            stages={},
        )
        try:
            yield
        except BaseException as error:
            reason = str(error) if isinstance(error, TrlapError) else traceback.format_exc()
            state = (
                "failed" if isinstance(error, Exception) else "interrupted"
            )  # Ctrl-C, preemption
            self.note(status=state, error=reason, seconds=time.time() - started)
            raise
        self.note(status="ok", stage=None, seconds=time.time() - started)

    def note(self, **news: Any) -> None:
        """For status.json: `stage` is the one under way, `stages` the folders of those that are done."""
        self.state |= news
        write_json(self.folder / "status.json", self.state)


def command() -> str | None:
    """The line that makes this cell, without the keys that do not change it; None outside Hydra."""
    if not HydraConfig.initialized():
        return None
    overrides = HydraConfig.get().overrides.task
    kept = [o for o in overrides if re.split(r"[.=]", o.lstrip("+~"))[0] not in SILENT]
    return " ".join(["python run.py", *map(shlex.quote, kept)])


def relevant(cfg: DictConfig) -> dict[str, Any]:
    """Every key that changes the result and none that does not: what a cell's hash is made of.

    Files count by content, not by path. Without noise there is nothing to calibrate, so all cells with
    mechanism=none or epsilon=inf are one.
    """
    from trlap.embeddings import vectors as embedding  # numpy: not for `--help`
    from trlap.data import corpus

    keys = cast(dict[str, Any], OmegaConf.to_container(cfg, resolve=True))
    for key in SILENT:
        del keys[key]
    keys["dataset"] |= {"path": None, "source": corpus.fingerprint(cfg.dataset)}
    keys["embedding"] = {"name": cfg.embedding.name} | embedding.fingerprint(cfg.embedding)
    keys["metrics"]["bertscore"]["model"] = content(cfg.metrics.bertscore.model)
    keys["audit"]["masked_lm"] = content(cfg.audit.masked_lm)
    if cfg.mechanism.name == "none" or cfg.epsilon == float("inf"):
        keys["mechanism"] = {"name": "none"}
        keys["epsilon"] = float("inf")
        for key in ("delta", "clip", "projection", "calibration"):
            del keys[key]
    if "audit" not in cfg.stages:
        del keys["audit"]
    elif cfg.protocol.name == "release":
        keys["audit"]["epochs"] = cfg.model.epochs  # every epoch draws the noise anew
    if "privatize" not in cfg.stages:
        del keys["metrics"]
    if "rewrite" not in cfg.stages:
        del keys["model"]
    if "classify" not in cfg.stages or cfg.dataset.label is None:  # without labels it is skipped
        del keys["classifier"], keys["classify"]
    else:
        if keys["mechanism"]["name"] == "none":
            keys["classify"]["debias"] = "none"  # no noise to undo
        keys["classifier"]["model"] = content(cfg.classifier.model)
    return keys | {"format": FORMAT}
