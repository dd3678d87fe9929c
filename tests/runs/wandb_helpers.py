"""W&B offline runs, read back with W&B's own protobufs."""

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def records(file: Path) -> Iterator[Any]:
    """A .wandb file is 7 bytes of header, then LevelDB's log: blocks of 32 KiB, in which records and
    parts of records each have a checksum, a length and a type (1 whole, 2 first, 3 middle, 4 last).
    """
    from wandb.proto import wandb_internal_pb2

    data = file.read_bytes()
    assert data[:4] == b":W&B"
    at, parts = 7, b""
    while at + 7 <= len(data):
        if (room := 32768 - at % 32768) < 7:
            at += room
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        if at + 7 + length > len(data):
            return  # still being written
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            # made when it is imported, so that no type checker sees it
            yield wandb_internal_pb2.Record.FromString(parts)  # type: ignore[attr-defined]
            parts = b""


def logged(folder: Path) -> dict[str, Any]:
    """Of a run that has ended; W&B's own process may write its last records a little later."""
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    end = time.monotonic() + 60
    while not any(record.HasField("exit") for record in records(file)):
        assert time.monotonic() < end, "the run does not end"
        time.sleep(0.1)
    found: dict[str, Any] = {"config": {}, "history": [], "summary": {}}

    def items(them: Any) -> dict[str, Any]:
        return {x.key or "/".join(x.nested_key): json.loads(x.value_json) for x in them}

    for record in records(file):
        if record.HasField("run"):
            run = record.run
            found |= {"id": run.run_id, "group": run.run_group, "name": run.display_name}
            found |= {"tags": list(run.tags), "job_type": run.job_type}
            found |= {"host": run.host, "git": run.git.remote_url or run.git.commit}
            found["config"] |= items(run.config.update)
        found["history"] += [items(record.history.item)] if record.HasField("history") else []
        found["summary"] |= items(record.summary.update)
        found["text"] = found.get("text", b"") + record.SerializeToString()
    return found


def epochs(file: Path, stage: str) -> list[dict[str, Any]]:
    """What a run has logged so far of a training, whether it has ended or not."""
    found = []
    for record in records(file):
        if record.HasField("history"):
            items = record.history.item
            entry = {x.key or "/".join(x.nested_key): json.loads(x.value_json) for x in items}
            found += [entry] if f"{stage}/epoch" in entry else []
    return found
