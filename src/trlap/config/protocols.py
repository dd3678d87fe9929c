"""The protocols, and every difference between them: nobody else asks which one it is.

`paper` is Algorithm 1 as written. `release` is what the head of the authors' repository does, the code of
Figure 4; `tables` is the earlier state of it from which Tables 1 to 3 come. The noise of both is in
`trlap.mechanisms.released`; what tells these two apart are keys alone, layers and word noise. Keys (these,
dropout, clip) stand in `conf/protocol/`. All differences side by side, with their sources:
docs/reproduction.md, "Which code made which number".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Protocol:
    name: str
    # Mechanisms are those of the authors' code, on vectors that are not clipped; C only sets their scale.
    released: bool
    # The rewriter reads noisy vectors, drawn anew for every batch of every epoch and at test time; else it
    # reads the private words, which were written once.
    redraws: bool
    # The rewriter's code is drawn around its mean, for the loss at test time too; texts are written from the mean.
    samples_code: bool
    # All sentences of a batch have equally many words; else they are neighbours in length.
    one_length_batches: bool
    # The authors' Loss is of sentences that were trained on: their validation set was a sample of them.
    loss_on_training: bool
    # The classifier starts from the embedding that the rewriter has fine-tuned.
    classifier_takes_embedding: bool
    # The classifier reads lemmatised words, each with the next one's vector, and averages over the padding:
    # `trlap.models.classifiers._released`.
    classifier_reads_as_released: bool
    # Vectors of embedding=random have coordinates from N(0, 1), so about the length √d; else the length 1.
    random_is_normal: bool
    # Of `conf/protocol/`: keys that it sets where a model or a classifier has them.
    sets: Mapping[str, tuple[str, ...]]
    # The authors computed N_w and BERTScore (its precision) on so many lines; null: on all.
    first_lines: int | None


PAPER = Protocol(
    name="paper",
    released=False,
    redraws=False,
    samples_code=False,
    one_length_batches=False,
    loss_on_training=False,
    classifier_takes_embedding=False,
    classifier_reads_as_released=False,
    random_is_normal=False,
    sets={},
    first_lines=None,
)
RELEASE = Protocol(
    name="release",
    released=True,
    redraws=True,
    samples_code=True,
    one_length_batches=True,
    loss_on_training=True,
    classifier_takes_embedding=True,
    classifier_reads_as_released=True,
    random_is_normal=True,
    sets={"model": ("layers", "word_noise"), "classifier": ("dropout",)},
    first_lines=100,
)
TABLES = replace(RELEASE, name="tables")
PROTOCOLS = {protocol.name: protocol for protocol in (PAPER, RELEASE, TABLES)}
