"""The stages in order, what is cached, what is written.

    corpus ─► vocabulary ─► embedding ─► privatize ─► metrics ─────────┐
                                │            ├─► rewrite ─► metrics ───┼─► result.json
                                │            └──────┴───► classify ────┤
                                └──────► audit ────────────────────────┘

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
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from trlap.config.schema import STAGES, check
from trlap.runs import tracking
from trlap.runs.cache import atomic, cached, digest, read_json, write_json
from trlap.runs.cell import Cell, command

if TYPE_CHECKING:
    from trlap.mechanisms.base import Base

NOISE = "protocol mechanism epsilon delta clip projection calibration oov seed".split()
TEXT_METRICS = ("rouge1", "bleu", "n_w", "bertscore")
TRAINED = ("loss", "token_loss", "perplexity", "history", "precision", "draws")
PACKAGES = "trlap torch numpy datasets tokenizers rouge-score sacrebleu bert-score".split()


def run(cfg: DictConfig, wait: bool = True) -> dict[str, Any]:
    """One cell: check it, look whether it is done, else do its stages. Returns its result.

    Where another process works on it, waits until that is done, or raises Busy without `wait`.
    """
    check(cfg)
    cell = Cell(cfg)
    if cell.finished() and not cfg.force:
        return cell.result()
    with cell.alone(wait):
        if cfg.force or not cell.finished():
            with cell.recorded():
                work = Work(cell)
                work.load()
                for stage in STAGES:
                    if stage in cfg.stages:
                        getattr(work, stage)()
                result = work.result()
                result["details"]["wandb"] = tracking.track(cell, result)
                write_json(cell.folder / "result.json", result)
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
        self.noise = {key: value for key, value in cell.settings.items() if key in NOISE}
        self.seconds: dict[str, float] = {}
        self.scores: dict[str, dict[str, Any]] = {"private": {}, "rewritten": {}}
        self.trained: dict[str, Any] = {}
        self.counts: dict[str, Any] = {}
        self.classified: dict[str, Any] = {}
        self.audited: dict[str, Any] = {}
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def stage(self, name: str, build: Callable[[Path], None], *key: Any, redo: bool) -> Path:
        """Do a stage unless its folder is there. The folder's name stands for all that it depends on."""
        start = time.perf_counter()
        self.cell.note(stage=name)
        folder = cached(self.cell.outputs / "cache", name, key, build, redo)
        self.cell.note(stages=self.cell.state["stages"] | {name: folder.name})
        self.seconds[name] = round(time.perf_counter() - start, 3)
        return folder

    def publish(self, folder: Path, name: str) -> None:
        """Copy a stage's file into the run's folder."""
        with atomic(self.cell.folder / name) as file:
            shutil.copyfile(folder / name, file)

    def load(self) -> None:
        """What is public and shared by all cells on the same data (never redone by `force`), and the
        mechanism that acts on it.
        """
        from trlap.data import corpus
        from trlap.data.tokens import Vocabulary
        from trlap.embeddings.vectors import Table, build_table

        cfg, keys = self.cfg, self.cell.settings
        build = partial(corpus.load, cfg.dataset)
        at = self.stage("corpus", lambda to: corpus.save(build(), to), keys["dataset"], redo=False)
        self.corpus = _kept(corpus.read, at)
        at = self.stage("vocabulary", lambda to: self._vocabulary().save(to), at.name, redo=False)
        self.vocabulary = _kept(Vocabulary.read, at)
        table = partial(build_table, cfg.embedding, self.vocabulary.words)
        self.embedded = self.stage(
            *("embedding", lambda to: table().save(to), at.name, keys["embedding"]), redo=False
        )
        self.table = _kept(Table.read, self.embedded)
        self.mechanism = self._mechanism()

    def _vocabulary(self) -> Any:
        """Made from the training split, which is then taken to be public, or from a public list."""
        from trlap.data import tokens
        from trlap.embeddings.vectors import frequent_words

        source, size = self.cfg.dataset.vocabulary, self.cfg.dataset.vocabulary_size
        if source == "train":
            return tokens.build_vocabulary(self.corpus.splits["train"].texts, size)
        if source == "public":
            return tokens.public_vocabulary(frequent_words(), size)
        return tokens.vocabulary_from_file(source, size)

    def _mechanism(self) -> "Base":
        from trlap.embeddings.space import Space
        from trlap.mechanisms import base as mechanism
        from trlap.mechanisms._released import Released

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
        own = keys["mechanism"]
        if release:
            return Released(space=space, epsilon=keys["epsilon"], clip=clip, released=own["name"])
        common = {key: keys[key] for key in ("delta", "calibration") if key in keys}
        return mechanism.make(space=space, epsilon=keys["epsilon"], clip=clip, **common, **own)

    def privatize(self) -> None:
        """Algorithm 1 on every split, once: all that follows is post-processing."""
        key = (self.embedded.name, self.noise)
        self.private = self.stage("privatize", self._privatize, *key, redo=self.cfg.force)
        self.counts = read_json(self.private / "counts.json")
        self.publish(self.private, "private.jsonl")
        self.rows = _read_rows(self.private / "private.jsonl")
        self.measure("private", self.private)

    def _privatize(self, to: Path) -> None:
        from trlap.privatize.blocks import block_generator, privatize_texts
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

    def rewrite(self) -> None:
        """The auto-encoder learns on the training split and rewrites the test split.

        It rewrites the others too where stage `classify` is to learn from what it writes.
        """
        key: tuple[Any, ...] = (self.private.name, self.cell.settings["model"])
        self.rewriting = ["test"]
        if self.cell.settings.get("classify", {}).get("train_on") == "rewritten":
            self.rewriting = list(self.rows)
            key = (*key, self.rewriting)
        # checkpoints live beside the stage's folder, so that a killed run finds them again
        self.checkpoints = self.cell.outputs / "cache" / f".rewrite-{digest(key)}.partial"
        self.rewritten = self.stage("rewrite", self._rewrite, *key, redo=self.cfg.force)
        self.trained = read_json(self.rewritten / "rewrite.json")
        self.publish(self.rewritten, "rewritten.jsonl")
        self.rows |= _read_rows(self.rewritten / "rewritten.jsonl")
        self.measure("rewritten", self.rewritten)

    def _rewrite(self, to: Path) -> None:
        from trlap.models.rewriting import rewrite

        if self.cfg.force:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        found = rewrite(
            self.rows,
            self.vocabulary,
            self.table,
            self.cfg.model,
            mechanism=self.mechanism,
            protocol=self.cfg.protocol.name,
            device=self.device,
            threads=self.threads,
            seed=self.cfg.seed,
            folder=self.checkpoints,
            keep_checkpoints=self.cfg.keep_checkpoints,
            splits=self.rewriting,
        )
        with (to / "rewritten.jsonl").open("w", encoding="utf-8") as file:
            for split in self.rewriting:
                for row, text in zip(self.rows[split], found.texts[split], strict=True):
                    file.write(json.dumps({**row, "rewritten": text}, ensure_ascii=False) + "\n")
        trained = {key: getattr(found, key) for key in TRAINED}
        write_json(to / "rewrite.json", trained)
        for path in self.checkpoints.iterdir():  # the weights, and with keep_checkpoints all epochs
            shutil.move(path, to / path.name)
        self.checkpoints.rmdir()

    def measure(self, kind: str, read: Path) -> None:
        """Text metrics between the original test sentences and their private or rewritten versions."""
        key = (read.name, self.cell.settings["metrics"])
        build = partial(self._measure, kind)
        at = self.stage(f"metrics_{kind}", build, *key, redo=self.cfg.force)
        self.scores[kind] = read_json(at / "scores.json")

    def _measure(self, kind: str, to: Path) -> None:
        from dataclasses import asdict

        from trlap.embeddings.space import centred_cosine
        from trlap.metrics.text import best_constant, length_alone, text_metrics

        originals = [row["original"] for row in self.rows["test"]]
        texts = [row[kind] for row in self.rows["test"]]
        scores = asdict(text_metrics(originals, texts, self.cfg.metrics, self.device))
        if kind == "private":  # as many words as before, so each has its replacement
            words, replaced = (self.vocabulary.encode(part)[0] for part in (originals, texts))
            cosine, constant = centred_cosine(words, replaced, self.mechanism.space)
            scores["values"]["cosine"] = cosine
            scores["details"] |= {"cosine_best_constant": constant, **best_constant(originals)}
        else:
            train = [row["original"] for row in self.rows["train"]]
            scores["details"]["n_w_length_alone"] = length_alone(train, originals)
            if self.cfg.protocol.name == "release":
                # the first 100 lines, and BERTScore's precision
                released = text_metrics(originals[:100], texts[:100], self.cfg.metrics, self.device)
                scores["details"]["as_released"] = {
                    "n_w": released.values["n_w"],
                    "bertscore": released.details.get("bertscore_precision"),
                }
        write_json(to / "scores.json", scores)

    def classify(self) -> None:
        """A classifier learns the labels from private, rewritten or original text."""
        settings, release = self.cell.settings, self.cfg.protocol.name == "release"
        if "classify" not in settings:
            self.classified = {
                "reason": "the dataset has no labels; dataset.label names their column"
            }
            return
        inputs = settings["classify"]
        sides = (inputs["train_on"], inputs["test_on"])
        read = [self.embedded.name]  # and what else it reads, so that equal ones are done once
        if "private" in sides:
            read.append(self.private.name)
        if "rewritten" in sides or release:
            read.append(self.rewritten.name)
        key = (read, inputs, settings["classifier"])
        at = self.stage("classify", self._classify, *key, redo=self.cfg.force)
        self.classified = read_json(at / "classify.json")

    def _classify(self, to: Path) -> None:
        from dataclasses import asdict

        from safetensors import safe_open

        from trlap.models.classifying import classify

        rows: dict[str, list[dict[str, Any]]] = self.rows
        if not rows:  # stage privatize did not run: only originals are read
            rows = {
                name: [
                    {"original": text, "label": label}
                    for text, label in zip(split.texts, split.labels or (), strict=True)
                ]
                for name, split in self.corpus.splits.items()
            }
        vectors = self.table.vectors
        if self.cfg.protocol.name == "release":  # the table that the auto-encoder has fine-tuned
            with safe_open(self.rewritten / "weights.safetensors", "numpy") as weights:
                vectors = weights.get_slice("embedding.weight")[: len(vectors)]
        found = classify(
            rows,
            self.vocabulary,
            vectors,
            self.cfg.classifier,
            self.cfg.classify,
            label_names=self.corpus.label_names or (),
            mechanism=self.mechanism,
            device=self.device,
            threads=self.threads,
        )
        write_json(to / "classify.json", asdict(found))

    def audit(self) -> None:
        """Claimed, exact, attacked: for this mechanism, vocabulary and parameters."""
        key = (self.embedded.name, self.noise, self.cell.settings["audit"])
        at = self.stage("audit", self._audit, *key, redo=self.cfg.force)
        self.audited = read_json(at / "audit.json")
        self.publish(at, "audit.json")

    def _audit(self, to: Path) -> None:
        import numpy as np

        from trlap.audit import audit

        tokens, offsets = self.vocabulary.encode(self.corpus.splits["test"].texts)
        found = audit(
            self.mechanism,
            lengths=np.diff(offsets).tolist(),
            tokens=tokens,
            epochs=self.cell.settings["audit"].get("epochs"),
            cfg=self.cfg.audit,
            seed=self.cfg.seed,
        )
        write_json(to / "audit.json", found)

    def guarantee(self) -> Any:
        """Claimed and exact, where no audit ran."""
        from trlap.audit.exact import guarantee

        def build(to: Path) -> None:
            write_json(to / "guarantee.json", guarantee(self.mechanism))

        key = (self.embedded.name, self.noise)
        at = self.stage("guarantee", build, *key, redo=self.cfg.force)
        return read_json(at / "guarantee.json")

    def result(self) -> dict[str, Any]:
        cfg, keys = self.cfg, self.cell.settings
        private, rewritten = self.scores["private"], self.scores["rewritten"]
        classified, reasons = self.classified, {}
        if "accuracy" not in classified:
            reasons["accuracy"] = classified.get("reason", "stage classify did not run")
        for prefix, scores, names, stage in (
            ("", rewritten, TEXT_METRICS, "rewrite"),
            ("private_metrics.", private, (*TEXT_METRICS, "cosine"), "privatize"),
        ):
            missing = scores.get("reasons", dict.fromkeys(names, f"stage {stage} did not run"))
            reasons |= {prefix + name: why for name, why in missing.items()}
        if not self.trained:
            reasons["loss"] = "stage rewrite did not run"
        return {
            "status": "ok",
            "protocol": cfg.protocol.name,
            "dataset": cfg.dataset.name,
            "embedding": cfg.embedding.name,
            "mechanism": keys["mechanism"]["name"],
            "epsilon": keys["epsilon"],
            "seed": cfg.seed,
            "metrics": {
                "loss": self.trained.get("loss"),
                **rewritten.get("values", dict.fromkeys(TEXT_METRICS)),
                "accuracy": classified.get("accuracy"),
            },
            "private_metrics": private.get("values", dict.fromkeys([*TEXT_METRICS, "cosine"])),
            "intervals": {
                "metrics": rewritten.get("intervals", {})
                | ({"accuracy": classified["interval"]} if "interval" in classified else {}),
                "private_metrics": private.get("intervals", {}),
            },
            "details": {
                "metrics": rewritten.get("details", {}),
                "private_metrics": private.get("details", {}),
                "rewrite": self.trained,
                "classify": classified,
                "sizes": self.corpus.info["sizes"],
                "privatize": self.counts,
                "vocabulary": {
                    "words": len(self.vocabulary.words),
                    "public": self.vocabulary.public,
                },
                "notes": self.corpus.info["notes"] + self.audited.get("notes", []),
                "examples": examples(self.rows.get("test", []), cfg.seed),
            },
            "reasons": reasons,
            "guarantee": self.audited.get("guarantee") or self.guarantee(),
            "seconds": self.seconds,
            "versions": {name: version(name) for name in PACKAGES}
            | {"python": platform.python_version()},
            "provenance": {
                "command": command(),
                "dataset": self.corpus.info,
                "embedding": self.table.info,
                "metrics": private.get("provenance", {}),
                "device": self.device,
                "threads": self.threads,
                "machine": platform.machine(),
                "git": _git_commit(),
                "config": OmegaConf.to_container(cfg, resolve=True),
            },
        }


@lru_cache(maxsize=6)
def _kept(read: Callable[[Path], Any], folder: Path) -> Any:
    """What cells on the same data share is read once in a process. Nobody changes it."""
    return read(folder)


def _read_rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    with path.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            rows.setdefault(row["split"], []).append(row)
    return rows


def examples(rows: list[dict[str, Any]], seed: int, count: int = 3) -> list[dict[str, Any]]:
    """Some test sentences, chosen by seed and not by beauty."""
    import numpy as np

    chosen = np.random.default_rng([seed, 3]).permutation(len(rows))[:count]
    names = ("original", "private", "rewritten")
    return [{key: rows[i][key] for key in names if key in rows[i]} for i in sorted(chosen)]


def _git_commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--verify", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
