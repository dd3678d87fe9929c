"""The stages in order, what is cached, what is written.

    corpus ─► vocabulary ─► embedding ─► privatize ─► metrics ─► result.json

A stage reads what earlier ones wrote and writes a folder of its own in the cache, keyed by its settings
and by the folder it read; a run's folder holds what a reader wants of it. Heavy libraries are imported
only when there is work to do.
"""

import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from trlap.cache import atomic, cached, read_json, write_json
from trlap.cell import Cell
from trlap.config import check

NOISE = (
    "protocol",
    "mechanism",
    "epsilon",
    "delta",
    "clip",
    "projection",
    "calibration",
    "oov",
    "seed",
)
PACKAGES = (
    "trlap",
    "torch",
    "numpy",
    "datasets",
    "tokenizers",
    "rouge-score",
    "sacrebleu",
    "bert-score",
)


def run(cfg: DictConfig) -> dict[str, Any]:
    """One cell: check it, look whether it is done, else do its stages. Returns its result."""
    check(cfg)
    cell = Cell(cfg)
    if not cell.finished() or cfg.force:
        with cell.recorded():
            work = Work(cell)
            work.load()
            work.privatize()
            work.measure()
            write_json(cell.folder / "result.json", work.result())
    return cell.result()


class Work:
    """The stages of one cell."""

    def __init__(self, cell: Cell) -> None:
        import torch

        from trlap.device import pick_device

        self.cell, self.cfg = cell, cell.cfg
        self.device = pick_device(self.cfg.device)
        self.threads = self.cfg.threads or os.cpu_count() or 1
        torch.set_num_threads(self.threads)
        self.at: Path = cell.outputs / "cache"  # the folder of the stage done last
        self.seconds: dict[str, float] = {}

    def stage(self, name: str, build: Callable[[Path], None], key: Any, redo: bool) -> Path:
        """Do a stage unless its folder is there. What it reads is named by the stage before."""
        start = time.perf_counter()
        root = self.cell.outputs / "cache"
        self.at = cached(root, name, [self.at.name, key], build, redo)
        self.seconds[name] = round(time.perf_counter() - start, 3)
        return self.at

    def load(self) -> None:
        """What is public, and shared by all cells on the same data: never redone by `force`."""
        from trlap.data import corpus
        from trlap.data.tokens import Vocabulary
        from trlap.embedding import Table, build_table

        cfg, keys = self.cfg, self.cell.settings
        at = self.stage(
            "corpus", lambda to: corpus.save(corpus.load(cfg.dataset), to), keys["dataset"], False
        )
        self.corpus = corpus.read(at)
        at = self.stage("vocabulary", lambda to: self._vocabulary().save(to), None, False)
        self.vocabulary = Vocabulary.read(at)
        words = self.vocabulary.words
        build = partial(build_table, cfg.embedding, words)
        at = self.stage("embedding", lambda to: build().save(to), keys["embedding"], False)
        self.table = Table.read(at)

    def _vocabulary(self) -> Any:
        """Made from the training split, which is then taken to be public, or from a public list."""
        from trlap.data import tokens
        from trlap.embedding import frequent_words

        source, size = self.cfg.dataset.vocabulary, self.cfg.dataset.vocabulary_size
        if source == "train":
            return tokens.build_vocabulary(self.corpus.splits["train"].texts, size)
        if source == "public":
            return tokens.public_vocabulary(frequent_words(), size)
        return tokens.vocabulary_from_file(source, size)

    def privatize(self) -> None:
        """Algorithm 1 on every split, once: all that follows is post-processing."""
        from trlap import mechanism
        from trlap.release import Released
        from trlap.space import Space

        keys = self.cell.settings
        release = self.cfg.protocol.name == "release"
        clip = keys.get("clip", self.cfg.clip)
        space = Space(
            self.vocabulary.words,
            self.table.vectors,
            self.vocabulary.prior,
            clip=None if release else clip,
            projection=keys.get("projection", "clipped"),
            device=self.device,
            cache=self.cell.outputs / "cache",
        )
        name, own = keys["mechanism"]["name"], dict(keys["mechanism"])
        if release:
            self.mechanism: mechanism.Base = Released(
                space=space, epsilon=keys["epsilon"], clip=clip, released=name
            )
        else:
            common = {key: keys[key] for key in ("delta", "calibration") if key in keys}
            self.mechanism = mechanism.make(
                space=space, epsilon=keys["epsilon"], clip=clip, **common, **own
            )
        noise = {key: keys[key] for key in NOISE if key in keys}
        at = self.stage("privatize", self._privatize, noise, self.cfg.force)
        self.private = read_json(at / "counts.json")
        with atomic(self.cell.folder / "private.jsonl") as file:
            shutil.copyfile(at / "private.jsonl", file)

    def _privatize(self, to: Path) -> None:
        from trlap.privatize import block_generator, privatize_texts
        from trlap.progress import progress

        space = self.mechanism.space
        total = sum(text.count(" ") + 1 for s in self.corpus.splits.values() for text in s.texts)
        counts, done = {}, 0

        def advance(tokens: int) -> None:
            nonlocal done
            done += tokens
            show(done / total, done)

        with (
            progress(f"privatising with {self.mechanism.name}", "tokens") as show,
            (to / "private.jsonl").open("w", encoding="utf-8") as file,
        ):
            for name, split in self.corpus.splits.items():
                private = privatize_texts(
                    self.mechanism,
                    self.vocabulary,
                    split.texts,
                    partial(block_generator, self.cfg.seed, name, device=space.device),
                    self.cfg.oov,
                    advance,
                )
                for i, (original, text) in enumerate(zip(split.texts, private.texts, strict=True)):
                    row: dict[str, Any] = {"split": name, "original": original, "private": text}
                    if split.labels is not None:
                        row["label"] = split.labels[i]
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                counts[name] = {
                    "sentences": len(private.texts),
                    "tokens": private.tokens,
                    "unknown": private.unknown,
                    "leaked": private.leaked,
                }
        write_json(to / "counts.json", counts)

    def measure(self) -> None:
        """Text metrics between original and private test sentences."""
        private = self.at
        at = self.stage(
            "metrics",
            partial(self._measure, private),
            self.cell.settings["metrics"],
            self.cfg.force,
        )
        self.scores = read_json(at / "scores.json")

    def _measure(self, private: Path, to: Path) -> None:
        from dataclasses import asdict

        from trlap.metrics import text_metrics
        from trlap.space import centred_cosine

        with (private / "private.jsonl").open(encoding="utf-8") as file:
            rows = [row for row in map(json.loads, file) if row["split"] == "test"]
        originals = [row["original"] for row in rows]
        privates = [row["private"] for row in rows]
        scores = asdict(text_metrics(originals, privates, self.cfg.metrics, self.device))
        words, replaced = (self.vocabulary.encode(texts)[0] for texts in (originals, privates))
        cosine, constant = centred_cosine(words, replaced, self.mechanism.space)
        scores["values"]["cosine"] = cosine
        scores["details"]["cosine_best_constant"] = constant
        scores["examples"] = examples(rows, self.cfg.seed)
        write_json(to / "scores.json", scores)

    def result(self) -> dict[str, Any]:
        from trlap.audit.exact import guarantee

        cfg, keys, scores = self.cfg, self.cell.settings, self.scores
        rewritten = ("loss", "rouge1", "bleu", "n_w", "bertscore")
        reasons = dict.fromkeys(rewritten, "stage rewrite did not run")
        reasons["accuracy"] = "stage classify did not run"
        reasons |= {f"private_metrics.{name}": why for name, why in scores["reasons"].items()}
        return {
            "status": "ok",
            "protocol": cfg.protocol.name,
            "dataset": cfg.dataset.name,
            "embedding": cfg.embedding.name,
            "mechanism": keys["mechanism"]["name"],
            "epsilon": keys["epsilon"],
            "seed": cfg.seed,
            "metrics": dict.fromkeys([*rewritten, "accuracy"]),
            "private_metrics": scores["values"],
            "intervals": {"private_metrics": scores["intervals"]},
            "details": {
                "private_metrics": scores["details"],
                "privatize": self.private,
                "vocabulary": {
                    "words": len(self.vocabulary.words),
                    "public": self.vocabulary.public,
                },
                "notes": self.corpus.info.get("notes", []),
                "examples": scores["examples"],
            },
            "reasons": reasons,
            "guarantee": guarantee(self.mechanism),
            "seconds": self.seconds,
            "versions": {name: version(name) for name in PACKAGES}
            | {"python": platform.python_version()},
            "provenance": {
                "dataset": self.corpus.info,
                "embedding": self.table.info,
                "metrics": scores["provenance"],
                "device": self.device,
                "threads": self.threads,
                "machine": platform.machine(),
                "git": _git_commit(),
                "config": OmegaConf.to_container(cfg, resolve=True),
            },
        }


def examples(rows: list[dict[str, Any]], seed: int, count: int = 3) -> list[dict[str, Any]]:
    """Some test sentences, chosen by seed and not by beauty."""
    import numpy as np

    chosen = np.random.default_rng([seed, 3]).permutation(len(rows))[:count]
    return [{key: rows[i][key] for key in ("original", "private")} for i in sorted(chosen)]


def _git_commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--verify", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
