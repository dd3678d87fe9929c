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

from trlap.config.ranges import (
    SEED,
    distinct,
    filled,
    model_place,
    named,
    one_of,
    place,
    within,
    word_or_number,
)

# rows of a table, and words of a sentence
ROWS = "[1, 1e12]"
COUNT = "[1, 1e9]"


@dataclass
class Hub:
    """Where the Hugging Face hub keeps a dataset, and how its columns are called there."""

    id: str | None = filled(None)
    subset: str | None = filled(None)
    rename: dict[str, str] = field(default_factory=dict)  # hub column: our column


@dataclass
class Splits:
    """How the paper cuts a corpus, in rows. null takes what the source has."""

    pool: bool = False  # pool the source's files, then cut anew
    train: int | None = within(ROWS, None)  # validation, where carved, is part of it
    # null: validation_share of training, or the source's own where train is null too
    validation: int | None = within(ROWS, None)
    test: int | None = within(ROWS, None)  # null and no such file: 20 % of training
    per_label: int | None = within(ROWS, None)  # draw as many rows of each label first
    validation_share: float = within("(0, 1)", 0.05)


@dataclass
class Limit:
    """A seeded sample of at most so many rows, taken after the split."""

    train: int | None = within(ROWS, None)
    validation: int | None = within(ROWS, None)
    test: int | None = within(ROWS, None)


@dataclass
class Dataset:
    name: str = named()
    path: str | None = place(None)  # a folder with train/validation/test files, or one file
    hub: Hub = field(default_factory=Hub)
    revision: str | None = filled(None)  # a commit or tag on the hub; null: the newest
    text: str = filled("text")  # column
    label: str | None = filled(None)  # column; null: no labels
    label_names: list[str] | None = distinct(None)
    sentences: bool = False  # cut documents into sentences
    tokenized: bool | None = None  # tokens stand apart already; null: look at the text
    unknown: str | None = filled(None)  # the source's own mark for an unknown word
    # for text that is not tokenised yet:
    overlapping: bool = False  # texts are parts of one another, as the phrases of a sentence
    html: bool = False  # resolve entities (also without their &), take tags away
    replace: dict[str, str] = field(default_factory=dict)  # what a source writes for line breaks
    max_words: int | None = within(COUNT, None)  # leave out longer sentences
    split: Splits = field(default_factory=Splits)
    limit: Limit = field(default_factory=Limit)
    seed: int = within(SEED, 0)  # of splits and samples; the noise has its own
    vocabulary: str = place("train")  # train | public | a file with one word a line
    vocabulary_size: int = within("[2, 1e8]", 10_000)


@dataclass
class Embedding:
    name: str = named()
    source: str = one_of("asset", "gensim", "random")
    id: str | None = filled(None)  # the asset's name, or gensim.downloader's
    path: str | None = place(None)  # GloVe .txt, word2vec .txt or .bin, fastText .vec; may be .gz
    dimension: int = within("[1, 1e5]", 300)
    seed: int = within(SEED, 0)  # of the public vectors of words that have none


@dataclass
class BertScore:
    model: str | None = model_place()  # an asset's name, a folder, or a hub id; null: off
    num_layers: int | None = within("[1, 1e3]")  # null: bert-score's own table
    batch_size: int = within("[1, 1e6]")


@dataclass
class Metrics:
    names: list[str] = distinct()  # of text metrics, in the registry trlap.metrics
    bootstrap: int = within("[0, 1e6]")  # resamples for the 95 % intervals
    bertscore: BertScore = field(default_factory=BertScore)


@dataclass
class Classify:
    """What the classifier of stage `classify` reads."""

    # validation, too; public: documents that were set aside, with their labels
    train_on: str = one_of("private", "rewritten", "original", "public")
    test_on: str = one_of("private", "rewritten", "original")
    debias: str = one_of(
        "none", "unbiased", "posterior"
    )  # of private words: mechanisms/_decoding.py
    public_labels: int | None = within(COUNT)  # of train_on=public: a seeded sample; null: all


@dataclass
class AuditConfig:
    """Sizes of the sampled parts of stage `audit`; what is exact needs none."""

    attacks: list[str] = distinct()  # in the registry trlap.attacks
    # draws of each word of a pair: half to choose, half to count
    samples: int = within("[100, 1e9]")
    pairs: int = within(COUNT)  # random pairs of words to tell apart, beside the worst
    # words of the test split for the inversion attacks, and pairs of its documents for `which`
    tokens: int = within(COUNT)
    words: int = within(COUNT)  # vocabulary words for plausible deniability ...
    draws: int = within("[2, 1e9]")  # ... and draws of each
    confidence: float = within("(0, 1)")
    masked_lm: str | None = place()  # a folder with a masked language model; null: no such attack


@dataclass
class Public:
    """Documents that a promise for whole documents takes to be public: unit=document."""

    always: bool = MISSING  # with unit=word too, so that it can be compared on the same documents
    share: float = within("(0, 1)")  # of the training split, set aside and never privatised
    path: str | None = place()  # or a file of such documents; null: the share


@dataclass
class OwnPublic:
    """Public texts of scripts/privatize.py."""

    path: str | None = place(None)  # .txt .csv .tsv .jsonl .parquet
    column: Any = None  # of a table; null: as the private file's


@dataclass
class Wandb:
    mode: str = one_of("offline", "online", "disabled")
    log_text: bool = MISSING
    project: str = named()


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
    unit: str = one_of("word", "document")  # whose ε it is
    embedding: Embedding = field(default_factory=Embedding)
    device: str = MISSING
    threads: int = within("[0, 1024]")  # 0: all cores
    force: bool = MISSING


@dataclass
class Run(Noise):
    """run.py: one run, or a cell of a sweep."""

    dataset: Dataset = field(default_factory=Dataset)
    # each a name and own keys; a YAML whose `kind` is not its name is a preset of that kind
    model: Any = MISSING
    classifier: Any = MISSING
    protocol: Any = MISSING  # a name
    seed: int = within(SEED)
    words: int = within("[1, 1e6]")  # unit=document: words of a document that are answered for
    pick: str = one_of("random", "rarest")  # unit=document: which ones
    label: str = one_of(
        "public", "private"
    )  # whether the same ε covers the label too: mechanism=drr
    public: Public = field(default_factory=Public)
    stages: list[str] = distinct()
    metrics: Metrics = field(default_factory=Metrics)
    classify: Classify = field(default_factory=Classify)
    audit: AuditConfig = field(default_factory=AuditConfig)
    wandb: Wandb = field(default_factory=Wandb)
    plan: bool = MISSING
    beside: list[str] = distinct()  # mechanism@epsilon, shown in columns of their own
    summary: str = one_of("short", "full")
    fail_fast: bool = MISSING
    sweep: str | None = named()  # a name for the sweep; null: from its cells
    keep_checkpoints: bool = MISSING
    outputs: str = place()


@dataclass
class Privatize(Noise):
    """scripts/privatize.py: a user's own text."""

    input: str = place()  # .txt .csv .tsv .jsonl .parquet, or - for standard input
    output: str = place()
    column: Any = MISSING  # of a table: a name or a list of names; numbers from 1 without a header
    header: bool = MISSING  # whether the first row of a .csv or .tsv has the names of the columns
    format: str | None = one_of("txt", "csv", "tsv", "jsonl", "parquet")  # null: by the file's name
    words: int = within("[1, 1e6]")  # as those of a run
    pick: str = one_of("random", "rarest")
    public: Any = (
        MISSING  # a file of public texts, or the keys of OwnPublic; OwnPublic behind the door
    )
    vocabulary: str = place()  # public, or a file with one word a line
    vocabulary_size: int = within("[2, 1e8]")
    seed: int | None = within(SEED)
    reproducible: bool = MISSING
    engine: str = one_of("local", "ray")
    # what a mechanism brings for run.py; nothing is learned here
    classifier: Any = None


ConfigStore.instance().store(name="schema", node=Run)
ConfigStore.instance().store(name="privatize_schema", node=Privatize)
# Hydra copies the store, of which there is one and which is only read, whenever it lists a group: that took
# half the time of --help.
ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]
