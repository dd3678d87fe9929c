"""Stage `audit`: claimed, exact, attacked, for this mechanism, vocabulary and parameters."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.audit.attacks.registry import ATTACKS
from trlap.config.door import Config
from trlap.config.places import check_model
from trlap.data.tokenizer import UNK
from trlap.errors import TrlapError
from trlap.files import content, read_json, write_json
from trlap.models.registry import REWRITERS
from trlap.runs import records
from trlap.runs.records import Json
from trlap.stages.base import Inputs, Stage
from trlap.stages.corpus import CORPUS
from trlap.stages.documents import DOCUMENTS, candidates, encoder_of, of_documents
from trlap.stages.embedding import EMBEDDING
from trlap.stages.guarantee import GUARANTEE, with_labels
from trlap.stages.vocabulary import VOCABULARY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.audit.records import Audit as Findings
    from trlap.audit.texts import Texts


class Audit(Stage["Findings"]):
    name = "audit"
    doing = "attacking the mechanism"
    # 2: notes say that what is composed over words holds between texts of equal length
    version = 2
    keys = ("audit", "seed")
    published = ("audit.json",)

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        return (CORPUS, VOCABULARY, EMBEDDING, GUARANTEE, *of_documents(config)[1:])

    def key(self, config: Config) -> dict[str, Json]:
        attacks = {name: ATTACKS.version(name) for name in sorted(config.audit.attacks)}
        changed = {"masked_lm": content(config.audit.masked_lm), "attacks": attacks}
        return {
            "audit": config.plain["audit"] | changed,
            "seed": config.seed,
            "draws": self.draws(config),
        }

    def draws(self, config: Config) -> int | None:
        """How often a word's noise is drawn, where that is more than once: whenever training reads it, and
        once more where sentences of training are scored.
        """
        if not config.protocol.redraws:
            return None
        passes = REWRITERS.find(config.model.kind).passes(config.model.keys)
        return passes + config.protocol.loss_on_training

    def check(self, config: Config) -> None:
        for name in config.audit.attacks:
            ATTACKS.require(name)
        model = config.audit.masked_lm
        if model is not None and not Path(model).is_dir():
            raise TrlapError(f"audit.masked_lm={model}: there is no such folder")
        check_model("audit.masked_lm", model)

    def check_things(self, config: Config) -> None:
        for name in config.audit.attacks:
            ATTACKS.find(name)

    def run(self, inputs: Inputs) -> "Findings":
        import numpy as np

        from trlap.audit import audit

        config = inputs.config
        tokens, offsets = inputs[VOCABULARY].encode(inputs[CORPUS].splits["test"].texts)
        texts = self._texts(inputs, tokens, offsets)
        if encoder_of(config) is not None:
            # what the documents choose stands in place of words
            labels = inputs[CORPUS].splits["test"].labels
            tokens = candidates(inputs).choose(inputs[DOCUMENTS].splits["test"], labels=labels)
        document = config.unit == "document"
        found = audit(
            inputs.mechanism,
            # of what is published, which is all that a reader has
            lengths=[config.words] * (len(offsets) - 1) if document else np.diff(offsets).tolist(),
            tokens=tokens,
            epochs=self.draws(config),
            cfg=config.audit,
            seed=config.seed,
            # one answer's, where a document gives several: that is what attacks are put beside
            guarantee=None if document else inputs[GUARANTEE],
            answers=config.words if document else None,
            texts=texts,
        )
        return replace(found, guarantee=with_labels(config, found.guarantee))

    def _texts(
        self, inputs: Inputs, words: "NDArray[np.int32]", offsets: "NDArray[np.int64]"
    ) -> "Texts":
        """The documents of the test split, as this run releases such documents: with their labels, where these
        are covered.
        """
        from trlap.audit.texts import Texts

        config = inputs.config
        if encoder_of(config) is not None:
            sets, vectors = candidates(inputs), inputs[DOCUMENTS].splits["test"]
            numbers = sets.numbers(len(vectors))
            labels = inputs[CORPUS].splits["test"].labels

            def choice(place: int, document: int) -> int:
                label = None if labels is None else labels[document]
                return sets.choice(int(numbers[place]), vectors[document], label)

            return Texts(words, offsets, 1, choice=choice)
        # without noise nothing is picked: all is published
        if config.unit == "document" and inputs.mechanism.private:
            return Texts(words, offsets, config.words, config.pick)
        if config.oov == "keep":
            words = _numbered(
                words, inputs[CORPUS].splits["test"].texts, len(inputs.mechanism.space)
            )
        return Texts(words, offsets)

    def write(self, output: "Findings", folder: Path) -> None:
        write_json(folder / "audit.json", records.to_json(output))

    def read(self, folder: Path) -> "Findings":
        from trlap.audit.records import Audit as Findings

        return records.from_json(Findings, read_json(folder / "audit.json"))


def _numbered(words: "NDArray[np.int32]", texts: Sequence[str], size: int) -> "NDArray[np.int32]":
    """Unknown words, which are published as they are, have numbers beyond the vocabulary."""
    numbers: dict[str, int] = {}
    tokens = (token for text in texts for token in text.split())
    numbered = words.copy()
    for place, token in enumerate(tokens):
        if words[place] == 0 and token != UNK:
            numbered[place] = size + numbers.setdefault(token, len(numbers))
    return numbered


AUDIT = Audit()
