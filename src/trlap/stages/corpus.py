"""Stage `corpus`: the text, cut into sentences of tokens and into splits."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.config.door import Config
from trlap.runs.records import Json
from trlap.stages.base import Inputs, Stage

if TYPE_CHECKING:
    from trlap.data.corpus import Corpus as Text

# of the group `dataset`: the path, since content counts, and what another stage depends on
OTHERS = ("path", "vocabulary", "vocabulary_size")


class Corpus(Stage["Text"]):
    name = "corpus"
    doing = "reading the corpus"
    version = 1
    keys = ("dataset",)
    optional = False
    shared = True

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        return ()

    def key(self, config: Config) -> dict[str, Json]:
        from trlap.data import corpus

        keys = config.plain["dataset"]
        own = {key: value for key, value in keys.items() if key not in OTHERS}
        return own | {"source": corpus.fingerprint(config.dataset)}

    def run(self, inputs: Inputs) -> "Text":
        from trlap.data import corpus

        return corpus.load(inputs.config.dataset)

    def write(self, output: "Text", folder: Path) -> None:
        from trlap.data import corpus

        corpus.save(output, folder)

    def read(self, folder: Path) -> "Text":
        from trlap.data import corpus

        return corpus.read(folder)


CORPUS = Corpus()
