"""Stage `guarantee`: what was claimed and what is exactly true, by mathematics alone. Done in every run."""

from pathlib import Path
from typing import Any

from trlap.config.door import Config
from trlap.errors import TrlapError
from trlap.files import read_json, write_json
from trlap.mechanisms.registry import RELEASED, check_keys
from trlap.runs import records
from trlap.runs.records import Json
from trlap.runs.result import Guarantee as Claims
from trlap.stages.base import Inputs, Stage
from trlap.stages.corpus import CORPUS
from trlap.stages.embedding import EMBEDDING
from trlap.stages.noise import NOISE, noise_key
from trlap.stages.vocabulary import VOCABULARY


class Guarantee(Stage[Claims]):
    name = "guarantee"
    doing = "computing the guarantee"
    # 2: no vector is longer than C by rounding; worst cases are proven
    version = 2
    keys = (*NOISE, "oov")
    optional = False

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        """The text too, where its unknown words are let through, to count them."""
        return (CORPUS, VOCABULARY, EMBEDDING) if config.oov == "keep" else (EMBEDDING,)

    def key(self, config: Config) -> dict[str, Json]:
        return noise_key(config) | config.pick("oov")

    def check(self, config: Config) -> None:
        name = config.mechanism.name
        if config.protocol.released and name not in RELEASED:
            raise TrlapError(
                f"protocol={config.protocol.name}: the authors' code has no mechanism={name}; "
                f"it has {', '.join(RELEASED.names)}"
            )

    def check_things(self, config: Config) -> None:
        words, dimension = config.dataset.vocabulary_size, config.embedding.dimension
        check_keys(config.mechanism.name, config.mechanism.keys, words, dimension)

    def run(self, inputs: Inputs) -> Claims:
        from trlap.audit.guarantee import guarantee

        stated = guarantee(inputs.mechanism)
        if inputs.config.oov != "keep":
            return stated
        from trlap.audit.let_through import let_through

        splits, vocabulary = inputs[CORPUS].splits.values(), inputs[VOCABULARY]
        tokens = [vocabulary.encode(split.texts)[0] for split in splits]
        return let_through(stated, sum(int((x == 0).sum()) for x in tokens), sum(map(len, tokens)))

    def write(self, output: Claims, folder: Path) -> None:
        write_json(folder / "guarantee.json", records.to_json(output))

    def read(self, folder: Path) -> Claims:
        return records.from_json(Claims, read_json(folder / "guarantee.json"))


GUARANTEE = Guarantee()
