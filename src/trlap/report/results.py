"""Finished cells as one table: what the report is made of, and what `trlap.load_results` returns."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.cache import digest, write_text

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("loss", "rouge1", "bleu", "n_w", "bertscore", "accuracy")
PRIVATE = ("rouge1", "bleu", "n_w", "bertscore", "cosine")
# what one cell may differ in from another of the same table
VARIED = "protocol dataset embedding mechanism epsilon seed".split()


def load_results(*places: str | Path) -> "pd.DataFrame":
    """One row a finished cell, from folders of runs or from collected rows; by default from `outputs`.

    Metrics of the rewritten text and of the classifier have their own names, those of the private text
    begin with `private_`. `epsilon_1e6` is the exact ε at δ = 10⁻⁶ for one word, `log10_delta` the exact
    δ at the nominal ε. `setup` stands for the size of everything: cells of one setup may stand in one
    table. `result` is the whole of result.json.
    """
    import pandas as pd

    rows = [row(result) for result in read(places or ("outputs",))]
    return pd.DataFrame(rows, columns=None if rows else ["name", *VARIED])


def read(places: Iterable[str | Path]) -> Iterator[dict[str, Any]]:
    """Finished results, each cell once; where two places have it, the first counts."""
    seen = set()
    for place in map(Path, places):
        for result in _read(place):
            if result["status"] == "ok" and result["name"] not in seen:
                seen.add(result["name"])
                yield result


def _read(place: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(place.glob("*/result.json")):
        yield {**json.loads(path.read_text(encoding="utf-8")), "name": path.parent.name}
    for path in sorted(place.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def collect(results: Iterable[dict[str, Any]], to: Path) -> int:
    """Write results as rows of one file that is small enough to commit. Returns how many."""
    lines = []
    for result in sorted(results, key=lambda result: result["name"]):
        short = {key: value for key, value in result.items() if key not in ("versions", "folder")}
        lines.append(json.dumps(short, ensure_ascii=False, separators=(",", ":")))
    write_text(to, "".join(line + "\n" for line in lines))
    return len(lines)


def row(result: dict[str, Any]) -> dict[str, Any]:
    config = result["provenance"]["config"]
    exact, claimed = result["guarantee"]["exact"], result["guarantee"]["claimed"]
    trained = result["details"].get("rewrite") or {}
    history = trained.get("history") or []
    epochs = sorted(entry["seconds"] for entry in history)
    return {
        "name": result["name"],
        **{key: result[key] for key in VARIED},
        "epsilon": float(result["epsilon"]),
        **{key: config[key] for key in ("calibration", "delta", "clip", "projection")},
        **{key: result["metrics"].get(key) for key in METRICS},
        **{f"private_{key}": result["private_metrics"].get(key) for key in PRIVATE},
        "holds": result["guarantee"]["holds"],
        "claimed_log10_delta": _number(claimed.get("log10_delta")),
        "log10_delta": _number(exact.get("log10_delta")),
        "epsilon_1e6": _number(exact.get("epsilon_at_delta_1e6")),
        "epoch_seconds": epochs[len(epochs) // 2] if epochs else None,
        "seconds": sum(result["seconds"].values()),
        "setup": setup(config),
        "size": size(result),
        "command": command(result),
        "result": result,
    }


def setup(config: dict[str, Any]) -> str:
    """A digest of data, model and classifier sizes, the same for all cells of one table."""
    data = {key: config["dataset"][key] for key in ("max_words", "split", "limit", "seed")}
    model = {key: value for key, value in config["model"].items() if key != "trainer"}
    for key in ("layers", "word_noise"):  # the protocol's own
        model.pop(key)
    return digest([data, model, config["classifier"], config["classify"]], 8)


def size(result: dict[str, Any]) -> str:
    """The same for a reader."""
    config, sizes = result["provenance"]["config"], result["details"]["sizes"]
    parts = [" / ".join(f"{sizes[split]:,}" for split in ("train", "validation", "test"))]
    if config["dataset"]["max_words"]:
        parts.append(f"≤ {config['dataset']['max_words']} words")
    if result["metrics"].get("loss") is not None:
        parts.append(f"{config['model']['name']}, {config['model']['epochs']} epochs")
    return ", ".join(parts)


def command(result: dict[str, Any]) -> str:
    """The line that makes this cell; a run knows it, see `trlap.pipeline`."""
    return result["provenance"].get("command") or "python run.py"


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
