"""Stage `classify`: a classifier learns the labels from private, rewritten or original text."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.config.door import Config
from trlap.data.corpus import PUBLIC
from trlap.data.rows import Rows
from trlap.errors import TrlapError
from trlap.files import read_json, write_json
from trlap.models.registry import CLASSIFIERS, REWRITERS
from trlap.runs import records
from trlap.runs.records import Json
from trlap.runs.result import Classified, Epoch
from trlap.stages.base import Inputs, Stage
from trlap.stages.corpus import CORPUS, sets_aside
from trlap.stages.documents import DOCUMENTS, candidates, encoder_of, learned_by
from trlap.stages.embedding import EMBEDDING
from trlap.stages.privatize import PRIVATIZE, original_rows
from trlap.stages.rewrite import REWRITE
from trlap.stages.vocabulary import VOCABULARY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.documents.reading import Documents
    from trlap.models.classifiers._released import Read


class Classify(Stage[Classified]):
    name = "classify"
    doing = "training the classifier"
    version = 1
    keys = ("classifier", "classify")

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        """Only what this config makes it read, so that equal trainings are done once."""
        stages: tuple[Stage[Any], ...] = (CORPUS, VOCABULARY, EMBEDDING)
        if "private" in sides(config):
            stages += (PRIVATIZE,)
        if "rewritten" in sides(config) or config.protocol.classifier_takes_embedding:
            stages += (REWRITE,)
        return stages if learned_by(config) is None else (*stages, DOCUMENTS)

    def key(self, config: Config) -> dict[str, Json]:
        noisy = config.epsilon < float("inf")
        classifier = CLASSIFIERS.find(config.classifier.kind)
        size = config.dataset.vocabulary_size
        read = {"as_released": size} if config.protocol.classifier_reads_as_released else {}
        classify = asdict(config.classify) | {"debias": debias(config)}
        if "public" not in sides(config):
            del classify["public_labels"]
        return read | {
            "kind": config.classifier.kind,
            "version": CLASSIFIERS.version(config.classifier.kind),
            "classifier": classifier.fingerprint(config.classifier.keys),
            "classify": classify,
            # what it says of protection depends on it
            "noisy": noisy,
        }

    def skipped(self, config: Config) -> str | None:
        if config.dataset.label is None:
            return "the dataset has no labels; dataset.label names their column"
        return None

    def check(self, config: Config) -> None:
        for side, stage in (("private", "privatize"), ("rewritten", "rewrite")):
            if side in sides(config) and stage not in config.stages:
                raise TrlapError(
                    f"stages: classify reads {side} text, which {stage} writes; add {stage}"
                )
        if "rewritten" in sides(config) and (reason := REWRITE.skipped(config)):
            raise TrlapError(f"classify: there is no rewritten text; {reason}")
        classifier = CLASSIFIERS.find(config.classifier.kind)
        how = config.classify.debias
        if how != "none" and not ("private" in sides(config) and classifier.reads_vectors):
            raise TrlapError(
                f"classify.debias={how}: it is for word vectors of private text; set it to none"
            )
        if how != "none" and encoder_of(config) is not None and not classifier.reads_documents:
            raise TrlapError(
                f"classify.debias={how}: mechanism={config.mechanism.name} answers for documents, and "
                f"classifier={config.classifier.name} reads words; use classifier=ridge"
            )
        if config.protocol.classifier_takes_embedding:
            self._check_embedding(config, classifier.reads_vectors)
        classifier.check(config.classifier.keys)
        self._check_public(config, classifier.reads_documents)
        self._check_encoder(config)

    def _check_public(self, config: Config, reads_documents: bool) -> None:
        """train_on=public: from whom labels of public documents can be had."""
        labels = config.classify.public_labels
        if config.classify.train_on != "public":
            if labels is not None:
                raise TrlapError(
                    f"classify.public_labels={labels}: it is for classify.train_on=public"
                )
            return
        asked = "classify.train_on=public"
        if not sets_aside(config):
            raise TrlapError(f"{asked}: no documents are set aside; set public.always=true")
        if config.public.path is not None:
            raise TrlapError(f"{asked}: documents of public.path have no labels; leave it out")
        if not reads_documents:
            raise TrlapError(
                f"{asked}: classifier={config.classifier.name} chooses by validation, of which there is "
                "none in public; use classifier=ridge"
            )

    def _check_encoder(self, config: Config) -> None:
        asked = getattr(config.classifier.keys, "encoder", None)
        if asked is None:
            return
        if encoder_of(config) not in (None, asked):
            raise TrlapError(
                f"classifier.encoder={asked}: documents are read by mechanism.encoder={encoder_of(config)}; "
                "leave it out"
            )
        if not sets_aside(config):
            raise TrlapError(
                f"classifier.encoder={asked}: it is learned from documents that are set aside; set "
                "public.always=true"
            )

    def _check_embedding(self, config: Config, reads_vectors: bool) -> None:
        starts = (
            f"protocol={config.protocol.name}: its classifier starts from the auto-encoder's "
            "word vectors; "
        )
        if not reads_vectors:
            raise TrlapError(starts + "use classifier=average or bilstm")
        if "rewrite" not in config.stages:
            raise TrlapError(starts + "add rewrite to stages")

    def check_things(self, config: Config) -> None:
        from trlap.mechanisms import registry

        if debias(config) != "none":
            registry.check_undoing(config.mechanism.name, debias(config))

    def run(self, inputs: Inputs) -> Classified:
        from trlap.models.classifiers.base import ClassifyTask

        config = inputs.config
        read = self._read(inputs)
        task = ClassifyTask(
            rows=read.rows,
            label_names=inputs[CORPUS].label_names or (),
            train_on=config.classify.train_on,
            test_on=config.classify.test_on,
            debias=debias(config),
            vocabulary=read.vocabulary,
            vectors=read.vectors,
            mechanism=inputs.mechanism,
            machine=inputs.machine,
            report=inputs.report,
            documents=self._documents(inputs),
        )
        return CLASSIFIERS.find(config.classifier.kind)(config.classifier.keys, task).classify()

    def _documents(self, inputs: Inputs) -> "Documents | None":
        from trlap.documents.pairs import Pairs
        from trlap.documents.reading import OfAnswers, OfPairs, OfWords

        config, public = inputs.config, inputs[CORPUS].public
        if public is None:
            return None
        encoded = None
        if learned_by(config) is not None:
            vectors = inputs[DOCUMENTS]
            encoded = vectors.splits | {PUBLIC: vectors.public}
        labelled = with_labels(config, len(public.texts))
        if encoded is None or encoder_of(config) is None:
            return OfWords(public.texts, encoded, labelled)
        sets, how = candidates(inputs), debias(config)
        if isinstance(sets, Pairs):
            return OfPairs(public.texts, encoded, labelled, sets, config.epsilon, how)
        return OfAnswers(public.texts, encoded, labelled, sets, config.epsilon, how)

    def _read(self, inputs: Inputs) -> "Read":
        """Texts, words and vectors as they are, or as the authors' code has them."""
        from trlap.models.classifiers._released import Read, as_released

        config, rows, vectors = inputs.config, self._rows(inputs), self._vectors(inputs)
        if not config.protocol.classifier_reads_as_released:
            return Read(rows, inputs[VOCABULARY], vectors)
        sides = dict.fromkeys(rows, config.classify.train_on) | {"test": config.classify.test_on}
        size = config.dataset.vocabulary_size
        return as_released(rows, sides, inputs[VOCABULARY], vectors, size)

    def _rows(self, inputs: Inputs) -> Rows:
        stages = self.reads(inputs.config)
        if PRIVATIZE in stages:
            rows = inputs[PRIVATIZE].rows
        else:
            splits = inputs[CORPUS].splits
            rows = {name: original_rows(name, split) for name, split in splits.items()}
        if "rewritten" in sides(inputs.config):
            rows = rows | inputs[REWRITE].rows
        if "public" in sides(inputs.config):
            rows = rows | self._public_rows(inputs)
        return rows

    def _public_rows(self, inputs: Inputs) -> Rows:
        """Public documents with labels, in place of the splits that are learned from."""
        corpus, config = inputs[CORPUS], inputs.config
        assert corpus.public is not None and corpus.public.labels is not None
        public = original_rows("train", corpus.public)
        if (asked := config.classify.public_labels or 0) > len(public):
            raise TrlapError(
                f"classify.public_labels={asked}: there are {len(public):,} public documents; lower it, or "
                "leave it out to take all"
            )
        chosen = [public[i] for i in with_labels(config, len(public))]
        missing = set(range(len(corpus.label_names or ()))) - {row.label for row in chosen}
        if missing and corpus.label_names:
            raise TrlapError(
                f"classify.public_labels={config.classify.public_labels}: no document of class "
                f"{corpus.label_names[min(missing)]} is among them; raise it"
            )
        return {"train": chosen, "validation": chosen}

    def _vectors(self, inputs: Inputs) -> "NDArray[np.float32]":
        vectors = inputs[EMBEDDING].vectors
        if not inputs.config.protocol.classifier_takes_embedding:
            return vectors
        rewriter = REWRITERS.find(inputs.config.model.kind)
        tuned = rewriter.embedding_of(inputs[REWRITE].folder, len(vectors))
        return vectors if tuned is None else tuned

    def write(self, output: Classified, folder: Path) -> None:
        write_json(folder / "classify.json", records.to_json(output))

    def read(self, folder: Path) -> Classified:
        return records.from_json(Classified, read_json(folder / "classify.json"))

    def epochs(self, folder: Path) -> Sequence[Epoch]:
        return self.read(folder).history


def with_labels(config: Config, documents: int) -> "NDArray[np.int64]":
    """Which public documents have labels: a sample, by public chance."""
    import numpy as np

    chance = np.random.default_rng([config.dataset.seed, *b"public labels"])
    return np.sort(chance.permutation(documents)[: config.classify.public_labels])


def sides(config: Config) -> set[str]:
    """Which texts the classifier reads."""
    return {config.classify.train_on, config.classify.test_on}


def debias(config: Config) -> str:
    """Without noise there is nothing to undo."""
    return config.classify.debias if config.epsilon < float("inf") else "none"


CLASSIFY = Classify()
