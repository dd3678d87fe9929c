"""A small run with every stage, in a process of its own, and what of it must always be the same."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import ROOT, TINY

STAGES = (
    *("corpus", "vocabulary", "embedding", "guarantee", "privatize"),
    *("rewrite", "classify", "metrics", "audit"),
)
RUN = (
    *TINY,
    "dataset.limit.train=300",
    "dataset.limit.test=60",
    "mechanism=srr",
    "epsilon=4",
    "model.epochs=6",
    "audit.samples=2000",
    "wandb.mode=disabled",
    "threads=1",
)


def command(outputs: Path, *overrides: str) -> list[str]:
    return [sys.executable, str(ROOT / "run.py"), f"outputs={outputs}", *RUN, *overrides]


def start(outputs: Path, *overrides: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    line = command(outputs, *overrides)
    return subprocess.Popen(line, cwd=ROOT, text=True, stdout=pipe, stderr=pipe)


def finish(outputs: Path, *overrides: str) -> str:
    """What it says on standard error."""
    process = start(outputs, *overrides)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0 and "Traceback" not in err, err
    return err


def cells(outputs: Path) -> list[Path]:
    return sorted(path for path in outputs.iterdir() if path.name != "cache")


def status(outputs: Path) -> dict[str, Any]:
    """Of the only cell; empty where nobody has begun."""
    for path in outputs.glob("*/status.json"):
        return json.loads(path.read_text())
    return {}


def found(outputs: Path) -> dict[str, str]:
    """All that the cells found, byte for byte: texts, audit, weights, and the result without its times."""
    digests = {}
    for cell in cells(outputs):
        for path in sorted([*cell.glob("*.jsonl"), cell / "audit.json"]):
            digests[f"{cell.name}/{path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
        result = json.loads((cell / "result.json").read_text())
        for times in ("seconds", "provenance"):
            del result[times]
        for stage in ("rewrite", "classify"):
            for epoch in result["details"][stage]["history"]:
                for times in ("seconds", "tokens_per_second", "wall_time"):
                    epoch.pop(times, None)
        digests[f"{cell.name}/result.json"] = json.dumps(result, sort_keys=True)
    for path in sorted((outputs / "cache").glob("rewrite-*/weights.safetensors")):
        digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digests
    return digests


def clean(outputs: Path) -> bool:
    """Nothing is left of killed processes but what the next one takes up."""
    return list(outputs.rglob(".*")) == []
