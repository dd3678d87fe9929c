"""Stage `corpus`: the text, cut into sentences of tokens and into splits."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.config.door import Config
from trlap.data.given import given_file
from trlap.errors import TrlapError
from trlap.files import file_sha256
from trlap.runs.records import Json
from trlap.stages.base import Inputs, Stage

if TYPE_CHECKING:
    from trlap.data.corpus import Corpus as Text

# of the group `dataset`: the path, since content counts, and what another stage depends on
OTHERS = ("path", "vocabulary", "vocabulary_size", "overlapping")


class Corpus(Stage["Text"]):
    name = "corpus"
    doing = "reading the corpus"
    version = 1
    keys = ("dataset", "unit", "public")
    optional = False
    shared = True

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        return ()

    def key(self, config: Config) -> dict[str, Json]:
        from trlap.data import corpus

        keys = config.plain["dataset"]
        own = {key: value for key, value in keys.items() if key not in OTHERS}
        return own | {"source": corpus.fingerprint(config.dataset)} | self._public(config)

    def _public(self, config: Config) -> dict[str, Json]:
        """A file of public documents counts by its content."""
        if not sets_aside(config):
            return {}
        path = config.public.path
        if path is not None:
            return {"public": file_sha256(_file(path))}
        by = "source" if config.dataset.overlapping else "row"
        return {"public": {"share": config.public.share, "by": by}}

    def check(self, config: Config) -> None:
        path = config.public.path
        if not sets_aside(config) or path is None:
            return
        from trlap.data import corpus

        private = corpus.fingerprint(config.dataset).get("files")
        if isinstance(private, dict) and file_sha256(_file(path)) in private.values():
            raise TrlapError(
                f"public.path={path}: that is a file of the private texts, which would be published; name another"
            )

    def run(self, inputs: Inputs) -> "Text":
        from trlap.data import corpus

        config = inputs.config
        return corpus.load(config.dataset, config.public if sets_aside(config) else None)

    def write(self, output: "Text", folder: Path) -> None:
        from trlap.data import corpus

        corpus.save(output, folder)

    def read(self, folder: Path) -> "Text":
        from trlap.data import corpus

        return corpus.read(folder)


def sets_aside(config: Config) -> bool:
    """Whether there are public documents beside the splits."""
    return config.unit == "document" or config.public.always


def _file(path: str) -> Path:
    return given_file(path, f"public.path={path}")


CORPUS = Corpus()
