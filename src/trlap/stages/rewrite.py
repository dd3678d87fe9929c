"""Stage `rewrite`: a model learns on the training split and rewrites the test split.

It rewrites the others too where stage `classify` is to learn from what it writes.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlap.config.door import Config
from trlap.data.rows import SPLITS, Rows, read_rows, write_rows
from trlap.errors import TrlapError
from trlap.files import digest, read_json, write_json
from trlap.models.registry import REWRITERS
from trlap.runs import records
from trlap.runs.records import Json
from trlap.runs.result import Epoch, Trained
from trlap.stages.base import Inputs, Stage
from trlap.stages.embedding import EMBEDDING
from trlap.stages.noise import noise_identity
from trlap.stages.privatize import PRIVATIZE, rewritten_rows
from trlap.stages.vocabulary import VOCABULARY


@dataclass(frozen=True)
class RewrittenText:
    """`folder` holds what the model keeps: its weights, and with keep_checkpoints all epochs."""

    rows: Rows
    trained: Trained
    folder: Path


class Rewrite(Stage[RewrittenText]):
    name = "rewrite"
    doing = "training the rewriter"
    # 2: noise that is drawn while training reads is that of this run alone
    # 3: protocol=release batches by length, writes from the mean and scores training sentences
    version = 3
    keys = ("model", "protocol")
    published = ("rewritten.jsonl",)

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        return (PRIVATIZE, VOCABULARY, EMBEDDING)

    def key(self, config: Config) -> dict[str, Json]:
        kind = config.model.kind
        return {
            "kind": kind,
            "version": REWRITERS.version(kind),
            "model": REWRITERS.find(kind).fingerprint(config.model.keys),
            "splits": self.splits(config),
            "protocol": config.protocol.name,
        }

    def splits(self, config: Config) -> list[str]:
        labels = "classify" in config.stages and config.dataset.label is not None
        return list(SPLITS) if labels and config.classify.train_on == "rewritten" else ["test"]

    def skipped(self, config: Config) -> str | None:
        if config.unit == "document":
            return "unit=document: a private text is no version of its original that could be rewritten"
        return None

    def check(self, config: Config) -> None:
        if "privatize" not in config.stages:
            raise TrlapError("stages: rewrite reads what privatize writes; add privatize")
        REWRITERS.find(config.model.kind).check(config.model.keys)

    def run(self, inputs: Inputs) -> RewrittenText:
        from trlap.models.rewriters.base import RewriteTask

        config, rows = inputs.config, inputs[PRIVATIZE].rows
        task = RewriteTask(
            rows=rows,
            vocabulary=inputs[VOCABULARY],
            embedding=inputs[EMBEDDING],
            mechanism=inputs.mechanism,
            protocol=config.protocol,
            machine=inputs.machine,
            seed=config.seed,
            identity=self._identity(inputs),
            folder=inputs.scratch,
            keep_checkpoints=config.keep_checkpoints,
            report=inputs.report,
        )
        inputs.scratch.mkdir(parents=True, exist_ok=True)
        model = REWRITERS.find(config.model.kind)(config.model.keys, task)
        model.fit()
        written = {
            split: rewritten_rows(rows[split], model.rewrite(split))
            for split in self.splits(config)
        }
        trained = model.trained()
        model.tidy()
        return RewrittenText(written, trained, inputs.scratch)

    def _identity(self, inputs: Inputs) -> str:
        """Two models that read one text under the same noise would tell more of it than one."""
        rows = inputs[PRIVATIZE].rows.values()
        originals = [row.original for split in rows for row in split]
        noise = noise_identity(inputs.config, inputs.mechanism, originals)
        return digest([noise, self.key(inputs.config)])

    def write(self, output: RewrittenText, folder: Path) -> None:
        every = (row for rows in output.rows.values() for row in rows)
        write_rows(every, folder / "rewritten.jsonl")
        write_json(folder / "rewrite.json", records.to_json(output.trained))
        for path in output.folder.iterdir():
            shutil.move(path, folder / path.name)
        output.folder.rmdir()

    def read(self, folder: Path) -> RewrittenText:
        return RewrittenText(read_rows(folder / "rewritten.jsonl"), _trained(folder), folder)

    def epochs(self, folder: Path) -> Sequence[Epoch]:
        return _trained(folder).history


def _trained(folder: Path) -> Trained:
    return records.from_json(Trained, read_json(folder / "rewrite.json"))


REWRITE = Rewrite()
