"""The configuration of a run as it was saved, with types where somebody reads it.

The report asks for a few keys by name. All others matter only as a whole, when two runs are compared, and
stay what the configuration has: a mechanism, a model and a classifier have keys that they alone know.
Rows of a study leave out what is null, and the settings of stages that did not run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

from trlap.runs import records
from trlap.runs.records import Json

Part = TypeVar("Part")


@dataclass(frozen=True)
class Limit:
    """At most so many rows of each split; null: all."""

    train: int | None = None
    validation: int | None = None
    test: int | None = None


@dataclass(frozen=True)
class DatasetSettings:
    name: str
    max_words: int | None = None
    limit: Limit = field(default_factory=Limit)


@dataclass(frozen=True)
class EmbeddingSettings:
    name: str
    dimension: int = 300


@dataclass(frozen=True)
class MechanismSettings:
    """`keys` are all that the mechanism has, its name among them."""

    name: str
    keys: dict[str, Json]


@dataclass(frozen=True)
class ModelSettings:
    """The rewriter; `kind` is the class that read these keys, `name` the option that a user typed.

    Null: the class has the option's name.
    """

    name: str
    keys: dict[str, Json]
    kind: str | None = None
    epochs: int | None = None


@dataclass(frozen=True)
class ClassifierSettings:
    name: str
    keys: dict[str, Json]
    lr: float | None = None
    patience: int | None = None


@dataclass(frozen=True)
class Settings:
    """`model` and `classifier` are null where the saved configuration has none."""

    dataset: DatasetSettings
    embedding: EmbeddingSettings
    mechanism: MechanismSettings
    model: ModelSettings | None = None
    classifier: ClassifierSettings | None = None
    stages: tuple[str, ...] = ()
    delta: str | float | None = None
    clip: float | None = None
    projection: str | None = None
    calibration: str | None = None
    oov: str | None = None

    @classmethod
    def of(cls, config: Mapping[str, Json]) -> "Settings":
        return cls(
            dataset=_part(DatasetSettings, config["dataset"]),
            embedding=_part(EmbeddingSettings, config["embedding"]),
            mechanism=_part(MechanismSettings, config["mechanism"]),
            model=_part(ModelSettings, config["model"]) if config.get("model") else None,
            classifier=(
                _part(ClassifierSettings, config["classifier"])
                if config.get("classifier")
                else None
            ),
            stages=tuple(config["stages"]),
            delta=config.get("delta"),
            clip=config.get("clip"),
            projection=config.get("projection"),
            calibration=config.get("calibration"),
            oov=config.get("oov"),
        )


def _part(kind: type[Part], config: Mapping[str, Json]) -> Part:
    """Those keys of a group that the record has, and all of them as `keys` where it has that."""
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    read = {name: config[name] for name in names if name in config}
    return records.from_json(kind, read | ({"keys": dict(config)} if "keys" in names else {}))
