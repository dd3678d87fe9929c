"""What the noise depends on: the mechanism of a run, and the keys that say all of it."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from trlap.config.door import Config
from trlap.mechanisms.registry import MECHANISMS, RELEASED
from trlap.runs.records import Json

if TYPE_CHECKING:
    from trlap.data.vocabulary import Vocabulary
    from trlap.documents.candidates import Candidates
    from trlap.embeddings.vectors import Embedding
    from trlap.mechanisms.base import Mechanism

NOISE = ("protocol", "mechanism", "epsilon", "delta", "clip", "projection", "calibration")
# of a promise for whole documents
DOCUMENT = ("unit", "words", "pick")
# of a promise for a document and its label
LABEL = ("label",)
NO_NOISE = ("protocol", "mechanism", "epsilon")


def noise_key(config: Config) -> dict[str, Json]:
    """Without noise there is nothing to calibrate, so that all such cells are one."""
    keys = config.values(*(NOISE if config.epsilon < float("inf") else NO_NOISE))
    if config.unit == "document":
        keys |= config.values(*DOCUMENT)
    if covers_labels(config):
        keys |= config.values(*LABEL)
    registry = RELEASED if config.protocol.released else MECHANISMS
    return keys | {"version": registry.version(config.mechanism.name)}


def covers_labels(config: Config) -> bool:
    """Whether a label is protected with its text, as one."""
    return config.label == "private"


def noise_identity(
    config: Config,
    mechanism: "Mechanism",
    texts: Iterable[str],
    candidates: "Candidates | None" = None,
) -> str:
    """Stands for the noise's settings, the public words or texts and the text: what the noise of a run is keyed
    with.
    """
    from trlap.privatize.blocks import NoiseIdentity

    identity = NoiseIdentity(noise_key(config) | config.values("oov"), mechanism.space)
    if candidates is not None:
        # the space has the first set alone
        identity.add(*candidates.content())
    return identity.of(texts)


def make_mechanism(
    config: Config,
    vocabulary: "Vocabulary",
    embedding: "Embedding",
    device: str,
    cache: Path,
    candidates: "Candidates | None" = None,
) -> "Mechanism":
    """The mechanism on these words, or on public documents where it answers for documents.

    The authors' code does not clip; there C only sets the noise's scale.
    """
    from trlap.embeddings.space import Space
    from trlap.mechanisms import registry

    noiseless = config.epsilon == float("inf")
    if candidates is not None:
        space = candidates.space(device)
    else:
        space = Space(
            vocabulary.words,
            embedding.vectors,
            vocabulary.prior,
            clip=None if config.protocol.released else config.clip,
            projection="clipped" if noiseless else config.projection,
            device=device,
            cache=cache,
        )
    mechanism = config.mechanism
    if config.protocol.released:
        return registry.make_released(mechanism.name, space, config.epsilon, config.clip)
    return registry.make(
        mechanism.name,
        space,
        # a document's budget is shared by its answers
        config.epsilon / config.words,
        delta=config.delta,
        clip=config.clip,
        calibration=config.calibration,
        **mechanism.keys,
    )
