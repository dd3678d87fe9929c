"""Stage `metrics`: private and rewritten text compared with the originals of the test split."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trlap.config.door import Config
from trlap.config.places import check_model
from trlap.data.rows import texts
from trlap.embeddings.assets import model_content
from trlap.errors import TrlapError
from trlap.files import read_json, write_json
from trlap.metrics.registry import METRICS as KNOWN
from trlap.runs import records
from trlap.runs.records import Json
from trlap.runs.result import Scores
from trlap.stages.base import Inputs, Stage
from trlap.stages.documents import of_documents
from trlap.stages.embedding import EMBEDDING
from trlap.stages.privatize import PRIVATIZE
from trlap.stages.rewrite import REWRITE
from trlap.stages.vocabulary import VOCABULARY

# raised when what the authors' code computes is computed otherwise; other protocols do not have it
AS_RELEASED = 2


@dataclass(frozen=True)
class Measured:
    private: Scores
    rewritten: Scores | None = None


# why a metric of the private text is null
OF_DOCUMENTS = "a public text is written, which is no version of the original"


class Metrics(Stage[Measured]):
    name = "metrics"
    doing = "scoring private text"
    version = 1
    keys = ("metrics", "protocol", "unit")

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        written = "rewrite" in config.stages and REWRITE.skipped(config) is None
        rewritten = (REWRITE,) if written else ()
        return (PRIVATIZE, *rewritten, VOCABULARY, EMBEDDING, *of_documents(config))

    def key(self, config: Config) -> dict[str, Json]:
        """In no order, and without the settings of a metric that is not asked for."""
        names = sorted(set(config.metrics.names))
        key: dict[str, Json] = {"bootstrap": config.metrics.bootstrap}
        key["names"] = {name: KNOWN.version(name) for name in names}
        bertscore = config.metrics.bertscore
        if "bertscore" in names and bertscore.model is not None:
            key["bertscore"] = asdict(bertscore) | {"model": model_content(bertscore.model)}
        if config.protocol.first_lines is not None:
            key["as_released"] = AS_RELEASED
        return key

    def check(self, config: Config) -> None:
        if "privatize" not in config.stages:
            raise TrlapError("stages: metrics compares what privatize writes; add privatize")
        for name in config.metrics.names:
            KNOWN.require(name)
        if "bertscore" in config.metrics.names:
            check_model("metrics.bertscore.model", config.metrics.bertscore.model)

    def check_things(self, config: Config) -> None:
        for name in config.metrics.names:
            KNOWN.find(name)

    def run(self, inputs: Inputs) -> Measured:
        from trlap.metrics import Scene, Texts, measure

        config, rows = inputs.config, inputs[PRIVATIZE].rows
        scene = Scene(
            config=config.metrics,
            device=inputs.machine.device,
            vocabulary=inputs[VOCABULARY],
            space=inputs.mechanism.space,
            first_lines=config.protocol.first_lines,
            word_by_word=config.unit == "word",
        )
        originals, train = texts(rows["test"], "original"), texts(rows["train"], "original")

        def scores(kind: str, candidates: list[str]) -> Scores:
            return measure(Texts(kind, originals, candidates, train), scene)

        if inputs.mechanism.unit == "document":
            names = config.metrics.names
            private = Scores(dict.fromkeys(names), reasons=dict.fromkeys(names, OF_DOCUMENTS))
        else:
            private = scores("private", texts(rows["test"], "private"))
        if REWRITE not in self.reads(config):
            return Measured(private)
        written = inputs[REWRITE].rows["test"]
        return Measured(private, scores("rewritten", texts(written, "rewritten")))

    def write(self, output: Measured, folder: Path) -> None:
        write_json(folder / "scores.json", records.to_json(output))

    def read(self, folder: Path) -> Measured:
        return records.from_json(Measured, read_json(folder / "scores.json"))


METRICS = Metrics()
