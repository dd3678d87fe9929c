"""Finished cells as one table: what the report is made of, and what `trlap.load_results` returns."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.runs.cache import digest, write_text

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("loss", "rouge1", "bleu", "n_w", "bertscore", "accuracy")
PRIVATE = ("rouge1", "bleu", "n_w", "bertscore", "cosine")
CALIBRATED = ("gaussian", "laplace", "trlap")  # mechanisms that `calibration` says anything of
# what one cell may differ in from another of the same table
VARIED = "protocol dataset embedding mechanism epsilon seed".split()


def load_results(*places: str | Path) -> "pd.DataFrame":
    """One row a finished cell, from folders of runs or from collected rows; by default from `outputs`.

    Metrics of the rewritten text and of the classifier have their own names, those of the private text
    begin with `private_`. `epsilon_1e6` is the exact ε at δ = 10⁻⁶ for one word, `log10_delta` the exact
    δ at the nominal ε. `data` stands for the text that was read, `setup` for that and the auto-encoder,
    `noise` for the mechanism's settings but ε: cells that differ there are not to be compared. `result` is
    the whole of result.json.
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
    rows = [short(result) for result in sorted(results, key=lambda result: result["name"])]
    lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    write_text(to, "".join(line + "\n" for line in lines))
    return len(rows)


# what is kept of the parts that are long
SETTINGS = (
    *("protocol", "mechanism", "epsilon", "delta", "clip", "projection", "calibration", "oov"),
    *("seed", "stages"),
)
DATASET = ("name", "max_words", "split", "limit", "seed", "vocabulary", "vocabulary_size")
STAGES = {"rewrite": ("model",), "classify": ("classifier", "classify"), "audit": ("audit",)}
CLASSIFIED = ("accuracy", "deviation", "macro_f1", "majority", "inputs")
RUN = ("seed", "epochs", "validation_accuracy", "accuracy")
DIGITS = 12  # of a checksum: enough to recognise a file


def short(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what no reader of many results asks for, and without a path of its machine.

    Left out are versions, logs of training, confusion matrices, what is null and why, all examples but
    the first, and settings of stages that did not run. Tables, figures and claims made from short results
    are those made from whole ones.
    """
    details, provenance = result["details"], result["provenance"]
    trained, classified = details.get("rewrite") or {}, details.get("classify") or {}
    config = provenance["config"]
    settings = _pick(config, SETTINGS) | {
        "dataset": _pick(config["dataset"], DATASET),
        "embedding": _pick(config["embedding"], ("name", "dimension", "seed")),
    }
    for stage, groups in STAGES.items():
        settings |= _pick(config, groups) if stage in config["stages"] else {}
    whole = ("versions", "folder", "reasons", "details", "provenance")
    return {
        **_known({key: value for key, value in result.items() if key not in whole}),
        "details": {
            "sizes": details["sizes"],
            "examples": details["examples"][:1],
            "privatize": _pick(details["privatize"], ("test",)),
            "metrics": _pick(details.get("metrics") or {}, ("n_w_length_alone", "as_released")),
            "private_metrics": {
                key: value
                for key, value in details["private_metrics"].items()
                if key.endswith("_best_constant")
            },
            "rewrite": _pick(trained, ("precision",))
            | {"history": [_pick(epoch, ("seconds",)) for epoch in trained.get("history") or []]},
            "classify": _known(_pick(classified, CLASSIFIED))
            | {"runs": [_pick(run, RUN) for run in classified.get("runs") or []]},
        },
        "provenance": _without_paths(
            {
                **_pick(provenance, ("command", "device", "threads", "git")),
                "dataset": _pick(provenance.get("dataset") or {}, ("source",)),
                "embedding": _pick(provenance.get("embedding") or {}, ("source", "sha256")),
                "metrics": {
                    name: _pick(about, ("signature", "hash"))
                    for name, about in (provenance.get("metrics") or {}).items()
                    if name in ("bleu", "bertscore")
                },
                "config": _known(settings),
            }
        ),
    }


def _pick(mapping: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: mapping[key] for key in keys if key in mapping}


def _known(value: Any) -> Any:
    """The same without nulls."""
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items() if item is not None}
    return value


def _without_paths(value: Any) -> Any:
    """Files and folders by their last name, in a command too; checksums cut."""
    if isinstance(value, dict):
        return {key: _without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_paths(item) for item in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"""(?<![^\s='"])(?:file:|~|\.\.)?/(?:[^\s'"/]*/)*""", "", value)
    return re.sub(rf"\b([0-9a-f]{{{DIGITS}}})[0-9a-f]{{28,}}\b", r"\1", value)


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
        "calibration": config["calibration"] if result["mechanism"] in CALIBRATED else None,
        **{key: config[key] for key in ("delta", "clip", "projection")},
        **{key: result["metrics"].get(key) for key in METRICS},
        **{f"private_{key}": result["private_metrics"].get(key) for key in PRIVATE},
        "holds": result["guarantee"].get("holds"),
        "claimed_log10_delta": _number(claimed.get("log10_delta")),
        "log10_delta": _number(exact.get("log10_delta")),
        "epsilon_1e6": _number(exact.get("epsilon_at_delta_1e6")),
        "epoch_seconds": epochs[len(epochs) // 2] if epochs else None,
        "seconds": sum(result["seconds"].values()),
        "data": data(config),
        "setup": setup(config),
        "noise": noise(result),
        "size": size(result),
        "command": command(result),
        "result": result,
    }


def data(config: dict[str, Any]) -> str:
    """A digest of what text was read: cells with another cannot stand in one line."""
    return digest(_known(_pick(config["dataset"], DATASET)), 8)


def setup(config: dict[str, Any]) -> str:
    """A digest of data and auto-encoder, the same for all cells of one table, under both protocols."""
    own = ("trainer", "layers", "word_noise")  # the machine's, and the protocols'
    model = {key: value for key, value in config.get("model", {}).items() if key not in own}
    return digest([data(config), _known(model) if "rewrite" in config["stages"] else None], 8)


def noise(result: dict[str, Any]) -> str:
    """A digest of all that the noise depends on beside ε and the data."""
    if result["mechanism"] == "none":
        return "none"
    keys = ("protocol", "mechanism", "delta", "clip", "projection", "calibration", "oov")
    return digest(_known(_pick(result["provenance"]["config"], keys)), 8)


def size(result: dict[str, Any]) -> str:
    """The same for a reader."""
    config, sizes = result["provenance"]["config"], result["details"]["sizes"]
    parts = [" / ".join(f"{sizes[split]:,}" for split in ("train", "validation", "test"))]
    if words := config["dataset"].get("max_words"):
        parts.append(f"≤ {words} words")
    if result["metrics"].get("loss") is not None:
        parts.append(f"{config['model']['name']}, {config['model']['epochs']} epochs")
    return ", ".join(parts)


def command(result: dict[str, Any]) -> str:
    """The line that makes this cell; a run knows it, see `trlap.pipeline`."""
    return result["provenance"].get("command") or "python run.py"


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
