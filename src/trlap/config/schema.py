"""Every key a user can set: its type, its range, its meaning. Values stand in `conf/`.

Hydra merges the YAML files into these dataclasses, so a misspelt key or a wrong type is refused while
composing. A mechanism, a model and a classifier declare their own keys in their class, so that one file
adds one; here they are mappings, which `trlap.config.door` turns into typed objects. Nothing here imports
a heavy library.
"""

from dataclasses import dataclass, field
from typing import Any, Union

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from trlap.config.ranges import one_of, within, word_or_number


@dataclass
class Hub:
    """Where the Hugging Face hub keeps a dataset, and how its columns are called there."""

    id: str | None = None
    subset: str | None = None
    rename: dict[str, str] = field(default_factory=dict)  # hub column: our column


@dataclass
class Splits:
    """How the paper cuts a corpus, in rows. null takes what the source has."""

    pool: bool = False  # pool the source's files, then cut anew
    train: int | None = within("[1, inf)", None)  # validation, where carved, is part of it
    # null: validation_share of training, or the source's own where train is null too
    validation: int | None = within("[1, inf)", None)
    test: int | None = within("[1, inf)", None)  # null and no such file: 20 % of training
    per_label: int | None = within("[1, inf)", None)  # draw as many rows of each label first
    validation_share: float = within("(0, 1)", 0.05)


@dataclass
class Limit:
    """A seeded sample of at most so many rows, taken after the split."""

    train: int | None = within("[1, inf)", None)
    validation: int | None = within("[1, inf)", None)
    test: int | None = within("[1, inf)", None)


@dataclass
class Dataset:
    name: str = MISSING
    path: str | None = None  # a folder with train/validation/test files, or one file
    hub: Hub = field(default_factory=Hub)
    revision: str | None = None  # a commit or tag on the hub; null: the newest
    text: str = "text"  # column
    label: str | None = None  # column; null: no labels
    label_names: list[str] | None = None
    sentences: bool = False  # cut documents into sentences
    tokenized: bool | None = None  # tokens stand apart already; null: look at the text
    unknown: str | None = None  # the source's own mark for an unknown word
    # for text that is not tokenised yet:
    html: bool = False  # resolve entities (also without their &), take tags away
    replace: dict[str, str] = field(default_factory=dict)  # what a source writes for line breaks
    max_words: int | None = within("[1, inf)", None)  # leave out longer sentences
    split: Splits = field(default_factory=Splits)
    limit: Limit = field(default_factory=Limit)
    seed: int = within("[0, inf)", 0)  # of splits and samples; the noise has its own
    vocabulary: str = "train"  # train | public | a file with one word a line
    vocabulary_size: int = within("[2, inf)", 10_000)


@dataclass
class Embedding:
    name: str = MISSING
    source: str = one_of("asset", "gensim", "random")
    id: str | None = None  # the asset's name, or gensim.downloader's
    path: str | None = None  # GloVe .txt, word2vec .txt or .bin, fastText .vec; may be .gz
    dimension: int = within("[1, 100000]", 300)
    seed: int = within("[0, inf)", 0)  # of the public vectors of words that have none


@dataclass
class BertScore:
    model: str | None = MISSING  # an asset's name, a folder, or a hub id; null: off
    num_layers: int | None = within("[1, inf)")  # null: bert-score's own table
    batch_size: int = within("[1, inf)")


@dataclass
class Metrics:
    names: list[str] = MISSING  # of text metrics, in the registry trlap.metrics
    bootstrap: int = within("[0, inf)")  # resamples for the 95 % intervals
    bertscore: BertScore = field(default_factory=BertScore)


@dataclass
class Classify:
    """What the classifier of stage `classify` reads."""

    train_on: str = one_of("private", "rewritten", "original")  # validation, too
    test_on: str = one_of("private", "rewritten", "original")
    debias: str = one_of(
        "none", "unbiased", "posterior"
    )  # of private words: mechanisms/_decoding.py


@dataclass
class AuditConfig:
    """Sizes of the sampled parts of stage `audit`; what is exact needs none."""

    attacks: list[str] = MISSING  # in the registry trlap.attacks
    # draws of each word of a pair: half to choose, half to count
    samples: int = within("[100, inf)")
    pairs: int = within("[1, inf)")  # random pairs of words to tell apart, beside the worst
    tokens: int = within("[1, inf)")  # words of the test split for the inversion attacks
    words: int = within("[1, inf)")  # vocabulary words for plausible deniability ...
    draws: int = within("[2, inf)")  # ... and draws of each
    confidence: float = within("(0, 1)")
    masked_lm: str | None = MISSING  # a folder with a masked language model; null: no such attack


@dataclass
class Wandb:
    mode: str = one_of("offline", "online", "disabled")
    log_text: bool = MISSING
    project: str = MISSING


@dataclass
class Noise:
    """What every way to privatise text is told: run.py and scripts/privatize.py alike."""

    # name and own keys
    mechanism: Any = MISSING
    epsilon: float = within("(0, inf]")  # inf: no noise
    delta: Union[str, float, int] = word_or_number("paper", "4^-d", "(0, 1)")  # noqa: UP007
    # beyond these, squares of coordinates leave float32
    clip: float = within("[1e-12, 1e12]")
    projection: str = one_of("clipped", "original")
    calibration: str = one_of("published", "exact")
    oov: str = one_of("unk", "keep")
    embedding: Embedding = field(default_factory=Embedding)
    device: str = MISSING
    threads: int = within("[0, inf)")  # 0: all cores
    force: bool = MISSING


@dataclass
class Run(Noise):
    """run.py: one run, or a cell of a sweep."""

    dataset: Dataset = field(default_factory=Dataset)
    # each a name and own keys; a YAML whose `kind` is not its name is a preset of that kind
    model: Any = MISSING
    classifier: Any = MISSING
    protocol: Any = MISSING  # a name
    seed: int = within("[0, inf)")
    stages: list[str] = MISSING
    metrics: Metrics = field(default_factory=Metrics)
    classify: Classify = field(default_factory=Classify)
    audit: AuditConfig = field(default_factory=AuditConfig)
    wandb: Wandb = field(default_factory=Wandb)
    plan: bool = MISSING
    fail_fast: bool = MISSING
    sweep: str | None = MISSING  # a name for the sweep; null: from its cells
    keep_checkpoints: bool = MISSING
    outputs: str = MISSING


@dataclass
class Privatize(Noise):
    """scripts/privatize.py: a user's own text."""

    input: str = MISSING  # .txt .csv .tsv .jsonl .parquet, or - for standard input
    output: str = MISSING
    column: str = MISSING  # of a table
    format: str | None = one_of("txt", "csv", "tsv", "jsonl", "parquet")  # null: by the file's name
    vocabulary: str = MISSING  # public, or a file with one word a line
    vocabulary_size: int = within("[2, inf)")
    seed: int | None = within("[0, inf)")
    reproducible: bool = MISSING
    engine: str = one_of("local", "ray")


ConfigStore.instance().store(name="schema", node=Run)
ConfigStore.instance().store(name="privatize_schema", node=Privatize)
# Hydra copies the store, of which there is one and which is only read, whenever it lists a group: that took
# half the time of --help.
ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]
