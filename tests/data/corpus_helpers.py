"""What the tests of corpora share: configs, files of every format, and what a corpus holds."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import datasets
from conftest import ROOT
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from trlap.config import schema
from trlap.data.corpus import Corpus


@cache
def composed(name: str) -> DictConfig:
    """Composing takes longer than most tests here."""
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", [f"dataset={name}"]).dataset


def make(name: str, **keys: Any) -> schema.Dataset:
    """The dataset part of a config: make("text", path=…, split__test=10)."""
    cfg = composed(name).copy()
    for key, value in keys.items():
        value = str(value) if isinstance(value, Path) else value
        OmegaConf.update(cfg, key.replace("__", "."), value)
    dataset = OmegaConf.to_object(cfg)
    assert isinstance(dataset, schema.Dataset)
    return dataset


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in the format of the file's extension, by another way than the code under test."""
    columns = list(rows[0])
    path.parent.mkdir(exist_ok=True)
    match path.suffix:
        case ".txt":
            path.write_text("".join(f"{row['text']}\n" for row in rows), encoding="utf-8")
        case ".tsv":
            lines = [columns, *([str(row[c]) for c in columns] for row in rows)]
            path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
        case ".csv":
            lines = [columns, *([str(row[c]).replace('"', '""') for c in columns] for row in rows)]
            text = "".join(",".join(f'"{field}"' for field in line) + "\n" for line in lines)
            path.write_text(text, encoding="utf-8")
        case ".json" | ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        case ".parquet":
            datasets.Dataset.from_list(rows).to_parquet(path)
    return path


def numbered(count: int, label: int | None = None, start: int = 0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"text": f"Row {i}, here."} for i in range(start, start + count)]
    for i, row in enumerate(rows):
        row["label"] = i % 2 if label is None else label
    return rows


def sizes(corpus: Corpus) -> tuple[int, int, int]:
    train, validation, test = (
        len(corpus.splits[name].texts) for name in ("train", "validation", "test")
    )
    return train, validation, test


def everything(corpus: Corpus) -> list[tuple[str, int | None]]:
    return [
        (text, split.labels[i] if split.labels else None)
        for split in corpus.splits.values()
        for i, text in enumerate(split.texts)
    ]
