"""Stage `guarantee`: what was claimed and what is exactly true, by mathematics alone. Done in every run."""

from dataclasses import replace
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
from trlap.stages.documents import encoder_of, of_documents
from trlap.stages.embedding import EMBEDDING
from trlap.stages.noise import DOCUMENT, LABEL, NOISE, covers_labels, noise_key
from trlap.stages.vocabulary import VOCABULARY

# whose ε it is, where that is no longer a document's alone
COVERS = "(document, label)"


class Guarantee(Stage[Claims]):
    name = "guarantee"
    doing = "computing the guarantee"
    # 2: no vector is longer than C by rounding; worst cases are proven
    version = 2
    keys = (*NOISE, *DOCUMENT, *LABEL, "oov")
    optional = False

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        """The text too, where its unknown words are let through, to count them."""
        counted = (CORPUS, VOCABULARY) if config.oov == "keep" else ()
        return (*counted, EMBEDDING, *of_documents(config))

    def key(self, config: Config) -> dict[str, Json]:
        return noise_key(config) | config.values("oov")

    def check(self, config: Config) -> None:
        name = config.mechanism.name
        if config.protocol.released and name not in RELEASED:
            raise TrlapError(
                f"protocol={config.protocol.name}: the authors' code has no mechanism={name}; "
                f"it has {', '.join(RELEASED.names)}"
            )
        if covers_labels(config):
            self._check_labels(config)
        if encoder_of(config) is not None:
            self._check_documents(config)
        if config.unit == "word":
            for key, usual in (("words", 1), ("pick", "random")):
                if getattr(config, key) != usual:
                    raise TrlapError(
                        f"{key}={getattr(config, key)}: it is for unit=document; with unit=word every "
                        "word is answered for"
                    )
            if config.public.path is not None and not config.public.always:
                raise TrlapError(
                    f"public.path={config.public.path}: nothing is set aside with unit=word; add "
                    "unit=document, or public.always=true to compare"
                )
        elif config.protocol.released:
            raise TrlapError(
                f"unit=document: the authors' code, protocol={config.protocol.name}, protects no whole "
                "document; use protocol=paper"
            )
        elif config.oov == "keep":
            raise TrlapError("unit=document: oov=keep would publish words as they are; use oov=unk")

    def _check_labels(self, config: Config) -> None:
        asked = "label=private"
        if config.protocol.released:
            raise TrlapError(
                f"{asked}: the authors' code, protocol={config.protocol.name}, protects no labels; use "
                "protocol=paper"
            )
        if encoder_of(config) is None:
            raise TrlapError(
                f"{asked}: mechanism={config.mechanism.name} answers for words, and a label is none; use "
                "mechanism=drr with a finite epsilon"
            )
        if config.dataset.label is None:
            raise TrlapError(
                f"{asked}: dataset={config.dataset.name} has no labels; dataset.label names their column"
            )
        if config.dataset.split.per_label is not None:
            raise TrlapError(
                f"{asked}: dataset.split.per_label draws documents by their labels, which would tell them; "
                "set it to null"
            )
        if config.classify.train_on not in ("private", "public"):
            raise TrlapError(
                f"{asked}: classify.train_on={config.classify.train_on} reads labels as they are; use private"
            )
        from trlap.data.sources import source_of

        if config.dataset.label_names is None and not source_of(config.dataset).names_classes:
            raise TrlapError(
                f"{asked}: which classes there are must be known before any label is read; name them by "
                "dataset.label_names=[…]"
            )
        if config.dataset.label_names is not None and len(config.dataset.label_names) < 2:
            raise TrlapError(f"{asked}: dataset.label_names has one class, which covers nothing")

    def _check_documents(self, config: Config) -> None:
        name = config.mechanism.name
        if config.unit == "word":
            raise TrlapError(
                f"unit=word: mechanism={name} answers for whole documents; leave unit out"
            )
        for key, usual in (("words", 1), ("pick", "random")):
            if getattr(config, key) != usual:
                raise TrlapError(
                    f"{key}={getattr(config, key)}: mechanism={name} picks no words; leave {key} out"
                )

    def check_things(self, config: Config) -> None:
        words, dimension = config.dataset.vocabulary_size, config.embedding.dimension
        check_keys(config.mechanism.name, config.mechanism.keys, words, dimension)

    def run(self, inputs: Inputs) -> Claims:
        from trlap.audit.guarantee import guarantee, of_document

        stated = guarantee(inputs.mechanism)
        if inputs.config.unit == "document":
            stated = of_document(stated, inputs.mechanism, inputs.config.words)
            return with_labels(inputs.config, stated)
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


def with_labels(config: Config, stated: Claims) -> Claims:
    """Says so where the label is covered, too."""
    return replace(stated, covers=COVERS) if covers_labels(config) else stated


GUARANTEE = Guarantee()
