"""Which settings two runs must share to stand in one line or one table: the one place that says so.

A group is a list of keys of the configuration, a whole group of Hydra's (`model`) or one key of it
(`dataset.name`), and runs belong together where these keys have the same values. The digests below stand
for the values. Nulls do not count, since a short row leaves them out, nor do folders, since the same file
may lie elsewhere on another machine, nor whether a number is written 5 or 5.0. Keys that came later than a
row are filled in by `trlap.runs.upgrade`, so that old rows and new ones of the same settings have the same
digests.
"""

from collections.abc import Iterable, Mapping

from trlap.files import digest
from trlap.report.plain import with_equal_numbers, without_nulls, without_paths
from trlap.runs.records import Json
from trlap.runs.result import RunResult
from trlap.stages import OPTIONAL_STAGES, PRIVATIZE
from trlap.stages.noise import DOCUMENT, LABEL

# what text was read
TEXT = (
    "dataset.name",
    "dataset.max_words",
    "dataset.split",
    "dataset.limit",
    "dataset.seed",
    "dataset.vocabulary",
    "dataset.vocabulary_size",
)
VECTORS = ("embedding.name", "embedding.dimension", "embedding.seed")
# What the noise depends on beside ε and the data, as stage `privatize` declares it.
NOISE = tuple(key for key in PRIVATIZE.keys if key not in ("epsilon", "seed", *DOCUMENT, *LABEL))
# And where the promise is for whole documents, on which no result without it depends.
OF_DOCUMENTS = (*DOCUMENT, "public", "dataset.overlapping")
# What another stage declares beside that; its settings say nothing of a run without it.
STAGES = {
    stage.name: tuple(key for key in stage.keys if key not in PRIVATIZE.keys)
    for stage in OPTIONAL_STAGES
}
# Of the model, but no reason to tell tables apart: the machine's, and what the protocols themselves set.
ASIDE = ("trainer", "layers", "word_noise")


def data(result: RunResult) -> str:
    """A digest of what text was read: cells with another cannot stand in one line."""
    return _digest(select(result.provenance.config, TEXT))


def setup(result: RunResult) -> str:
    """A digest of data and rewriter, the same for all cells of one line of a table."""
    model = result.settings.model
    if model is None or "rewrite" not in result.settings.stages:
        return _digest([data(result), None])
    shared = {key: value for key, value in model.keys.items() if key not in ASIDE}
    return _digest([data(result), without_paths(without_nulls(shared))])


def noise(result: RunResult) -> str:
    """A digest of all that the noise depends on beside ε and the data."""
    if not result.noisy:
        return "none"
    return _digest([result.unit, select(result.provenance.config, _noise_keys(result))])


def of_documents(result: RunResult) -> bool:
    """Whether some documents were set aside as public: such runs are compared with one another alone."""
    public = result.provenance.config.get("public") or {}
    return result.unit == "document" or bool(public.get("always"))


def _noise_keys(result: RunResult) -> tuple[str, ...]:
    if not of_documents(result):
        return NOISE
    # rows that are older than the key have it as it was: labels are public
    covered = result.provenance.config.get("label") == "private"
    return (*NOISE, *OF_DOCUMENTS, *(LABEL if covered else ()))


def learning(result: RunResult) -> str:
    """A digest of the classifier's settings; what it read is not among them."""
    return _digest(select(result.provenance.config, ("classifier",)))


def short_config(result: RunResult) -> dict[str, Json]:
    """The part of the configuration that a short result keeps: all of the above, for what was run."""
    config = result.provenance.config
    keys = [*_noise_keys(result), "epsilon", "seed", "stages", *TEXT, *VECTORS]
    for stage, groups in STAGES.items():
        if stage in result.settings.stages:
            keys += groups
    return select(config, keys)


def _digest(value: Json) -> str:
    return digest(with_equal_numbers(value), 8)


def select(config: Mapping[str, Json], keys: Iterable[str]) -> dict[str, Json]:
    """The configuration with these keys only, without nulls and folders."""
    chosen: dict[str, Json] = {}
    for key in keys:
        group, _, name = key.partition(".")
        values = config.get(group)
        if values is not None and not name:
            chosen[group] = values
        elif values is not None and values.get(name) is not None:
            chosen.setdefault(group, {})[name] = values[name]
    return without_paths(without_nulls(chosen))
