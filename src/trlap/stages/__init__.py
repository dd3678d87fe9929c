"""The stages in their order.

corpus ─► vocabulary ─► embedding ─┬─► guarantee ───────────────────────────► audit
                    (─► documents) └─► privatize ─┬─► rewrite ─┬─► metrics
                                                  └────────────┴─► classify

`documents` is done where a mechanism answers for whole documents.
"""

from typing import Any

from trlap.config.door import Config
from trlap.errors import TrlapError
from trlap.stages.audit import AUDIT
from trlap.stages.base import Stage
from trlap.stages.classify import CLASSIFY
from trlap.stages.corpus import CORPUS
from trlap.stages.documents import DOCUMENTS
from trlap.stages.embedding import EMBEDDING
from trlap.stages.guarantee import GUARANTEE
from trlap.stages.metrics import METRICS
from trlap.stages.privatize import PRIVATIZE
from trlap.stages.rewrite import REWRITE
from trlap.stages.vocabulary import VOCABULARY

__all__ = [
    "AUDIT",
    "CLASSIFY",
    "CORPUS",
    "DEPENDED",
    "DOCUMENTS",
    "EMBEDDING",
    "GUARANTEE",
    "METRICS",
    "OPTIONAL",
    "OPTIONAL_STAGES",
    "PRIVATIZE",
    "REWRITE",
    "STAGES",
    "VOCABULARY",
    "asked",
    "check",
    "check_things",
    "chosen",
]

STAGES: tuple[Stage[Any], ...] = (
    CORPUS,
    VOCABULARY,
    EMBEDDING,
    DOCUMENTS,
    GUARANTEE,
    PRIVATIZE,
    REWRITE,
    CLASSIFY,
    METRICS,
    AUDIT,
)
OPTIONAL_STAGES = tuple(stage for stage in STAGES if stage.optional)
# the top-level keys of the config that some stage depends on
DEPENDED = frozenset(path.partition(".")[0] for stage in STAGES for path in stage.keys)
OPTIONAL = tuple(stage.name for stage in OPTIONAL_STAGES)


def asked(config: Config) -> list[Stage[Any]]:
    """The stages of a run, those that will be skipped included."""
    return [stage for stage in STAGES if not stage.optional or stage.name in config.stages]


def chosen(config: Config) -> list[Stage[Any]]:
    """The stages that a run does."""
    return [stage for stage in asked(config) if stage.skipped(config) is None]


def check(config: Config) -> None:
    """The rules of the stages that were asked for, as far as they can be known at once."""
    for name in config.stages:
        if name not in OPTIONAL:
            raise TrlapError(f"stages: no stage {name!r}; there are {', '.join(OPTIONAL)}")
    for stage in chosen(config):
        stage.check(config)


def check_things(config: Config) -> None:
    """The rules that need the classes of mechanism, model and classifier, with what they import."""
    for stage in chosen(config):
        stage.check_things(config)
