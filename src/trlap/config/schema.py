"""Every key a user can set: its type, its range, its meaning. Values stand in `conf/`.

Hydra merges the YAML files into these dataclasses, so a misspelt key or a wrong type is refused while
composing; `check` then tests the ranges. Nothing here imports a heavy library.
"""

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Union, get_type_hints

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from trlap.errors import TrlapError

STAGES = ("privatize", "rewrite", "classify", "audit")
CHANNELS = ("krr", "srr", "crr")  # mechanisms whose channel classify.debias knows
RELEASED = ("none", "gaussian", "laplace", "trlap", "cmp", "mahalanobis", "pte")


def within(interval: str, default: Any = MISSING) -> Any:
    """A number in an interval written as in mathematics, e.g. `(0, inf]`; null passes if optional."""
    return field(default=default, metadata={"within": interval})


def one_of(*choices: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"choices": choices})


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
    dimension: int = within("[1, inf)", 300)
    seed: int = within("[0, inf)", 0)  # of the public vectors of words that have none


@dataclass
class BertScore:
    model: str | None = MISSING  # an asset's name, a folder, or a hub id; null: off
    num_layers: int | None = within("[1, inf)")  # null: bert-score's own table
    batch_size: int = within("[1, inf)")


@dataclass
class Metrics:
    bootstrap: int = within("[0, inf)")  # resamples for the 95 % intervals
    bertscore: BertScore = field(default_factory=BertScore)


@dataclass
class WordNoise:
    """What happens to the words that the encoder reads in training."""

    drop: float = within("[0, 1)")  # probabilities
    blank: float = within("[0, 1]")
    substitute: float = within("[0, 1]")
    shuffle: float = within("[0, inf)")  # how far a word may move, in words; 0: not at all


@dataclass
class Trainer:
    devices: int = within("[1, inf)")  # several: each takes batches of its own
    # auto: mixed where that is faster
    precision: str = one_of("auto", "32-true", "16-mixed", "bf16-mixed")


@dataclass
class Model:
    """The auto-encoder of stage `rewrite`."""

    name: str = MISSING
    hidden: int = within("[1, inf)")
    code: int = within("[1, inf)")
    layers: int = within("[1, inf)")
    tied: bool = MISSING  # the output layer shares the embedding's vectors
    dropout: float = within("[0, 1)")
    word_noise: WordNoise = field(default_factory=WordNoise)
    lr: float = within("(0, inf)")
    warmup: int = within("[0, inf)")  # steps in which lr rises from nothing
    decay: str = one_of("constant", "linear")  # linear: lr falls to zero at the last step
    betas: list[float] = MISSING
    gradient_clip: float | None = within("(0, inf)")  # largest norm; null: off
    batch: int = within("[1, inf)")
    epochs: int = within("[1, inf)")
    patience: int | None = within("[1, inf)")  # epochs without a better validation loss; null: all
    max_length: int | None = within(
        "[1, inf)"
    )  # of a rewritten sentence; null: longest in training + 10
    trainer: Trainer = field(default_factory=Trainer)


@dataclass
class Classifier:
    """The classifier of stage `classify`."""

    name: str = one_of("average", "bilstm", "transformer")
    model: str | None = None  # of a transformer: a folder or a hub id
    max_length: int | None = within("[1, inf)", None)  # of a transformer: what is longer is cut
    hidden: int | None = within("[1, inf)")  # null: a transformer has its own, and its own dropout
    dropout: float | None = within("[0, 1)")
    lr: float = within("(0, inf)")
    batch: int = within("[1, inf)")
    epochs: int = within("[1, inf)")
    patience: int | None = within("[1, inf)")  # epochs without a better validation accuracy
    seeds: list[int] = MISSING  # one training each; the result is their mean


@dataclass
class Classify:
    """What the classifier of stage `classify` reads."""

    train_on: str = one_of("private", "rewritten", "original")  # validation, too
    test_on: str = one_of("private", "rewritten", "original")
    debias: str = one_of("none", "unbiased", "posterior")  # of private words: classify/debias.py


@dataclass
class AuditConfig:
    """Sizes of the sampled parts of stage `audit`; what is exact needs none."""

    samples: int = within(
        "[100, inf)"
    )  # draws of each word of a pair: half to choose, half to count
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
class Protocol:
    name: str = one_of("paper", "release")


@dataclass
class Config:
    dataset: Dataset = field(default_factory=Dataset)
    embedding: Embedding = field(default_factory=Embedding)
    # a mechanism's own keys are typed by its class (trlap.mechanism), so that one file adds one
    mechanism: dict[str, Any] = MISSING
    model: Model = field(default_factory=Model)
    classifier: Classifier = field(default_factory=Classifier)
    protocol: Protocol = field(default_factory=Protocol)
    epsilon: float = within("(0, inf]")  # inf: no noise
    delta: Union[str, float, int] = MISSING  # noqa: UP007  `paper` (4^-d) or a number in (0, 1)
    clip: float = within("(0, inf)")
    projection: str = one_of("clipped", "original")
    calibration: str = one_of("published", "exact")
    oov: str = one_of("unk", "keep")
    seed: int = within("[0, inf)")
    stages: list[str] = MISSING
    metrics: Metrics = field(default_factory=Metrics)
    classify: Classify = field(default_factory=Classify)
    audit: AuditConfig = field(default_factory=AuditConfig)
    wandb: Wandb = field(default_factory=Wandb)
    device: str = MISSING
    threads: int = within("[0, inf)")  # 0: all cores
    force: bool = MISSING
    plan: bool = MISSING
    fail_fast: bool = MISSING
    sweep: str | None = MISSING  # a name for the sweep; null: from its cells
    keep_checkpoints: bool = MISSING
    outputs: str = MISSING


@dataclass
class Privatize:
    """scripts/privatize.py: a user's own text."""

    input: str = MISSING  # .txt .csv .tsv .jsonl .parquet, or - for standard input
    output: str = MISSING
    column: str = MISSING  # of a table
    format: str | None = one_of("txt", "csv", "tsv", "jsonl", "parquet")  # null: by the file's name
    embedding: Embedding = field(default_factory=Embedding)
    mechanism: dict[str, Any] = MISSING
    epsilon: float = within("(0, inf]")
    delta: Union[str, float, int] = MISSING  # noqa: UP007
    clip: float = within("(0, inf)")
    projection: str = one_of("clipped", "original")
    calibration: str = one_of("published", "exact")
    oov: str = one_of("unk", "keep")
    vocabulary: str = MISSING  # public, or a file with one word a line
    vocabulary_size: int = within("[2, inf)")
    seed: int | None = within("[0, inf)")
    reproducible: bool = MISSING
    engine: str = one_of("local", "ray")
    device: str = MISSING
    threads: int = within("[0, inf)")
    force: bool = MISSING


ConfigStore.instance().store(name="schema", node=Config)
ConfigStore.instance().store(name="privatize_schema", node=Privatize)
# Hydra copies the store, of which there is one and which is only read, whenever it lists a group: that took
# half the time of --help.
ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]


def check(cfg: DictConfig) -> None:
    """Test every range of the schema and the few rules that tie keys together."""
    schema = OmegaConf.get_type(cfg)
    assert schema is not None
    for name, value, limits in _leaves(cfg, schema):
        check_range(name, value, limits)
    if cfg.delta != "paper" and not (_is_number(cfg.delta) and 0 < cfg.delta < 1):
        raise TrlapError(f"delta={cfg.delta}: must be `paper` (4^-d) or a number in (0, 1)")
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", cfg.device):
        raise TrlapError(f"device={cfg.device}: must be auto, cpu, mps, cuda or cuda:N")
    if schema is not Config:
        return
    if cfg.protocol.name == "release" and cfg.mechanism.name not in RELEASED:
        raise TrlapError(
            f"protocol=release: the authors' code has no mechanism={cfg.mechanism.name}; "
            f"it has {', '.join(RELEASED)}"
        )
    if unknown := [stage for stage in cfg.stages if stage not in STAGES]:
        raise TrlapError(f"stages: no stage {unknown[0]!r}; there are {', '.join(STAGES)}")
    if "rewrite" in cfg.stages and "privatize" not in cfg.stages:
        raise TrlapError("stages: rewrite reads what privatize writes; add privatize")
    if "classify" in cfg.stages and cfg.dataset.label is not None:
        _check_classify(cfg)


def _check_classify(cfg: DictConfig) -> None:
    inputs, classifier = cfg.classify, cfg.classifier
    sides = {inputs.train_on, inputs.test_on}
    for side, stage in (("private", "privatize"), ("rewritten", "rewrite")):
        if side in sides and stage not in cfg.stages:
            raise TrlapError(
                f"stages: classify reads {side} text, which {stage} writes; add {stage}"
            )
    if inputs.debias != "none":
        if "private" not in sides or classifier.name == "transformer":
            raise TrlapError(
                f"classify.debias={inputs.debias}: it is for word vectors of private text; set it to none"
            )
        if cfg.mechanism.name not in ("none", *CHANNELS):
            raise TrlapError(
                f"classify.debias={inputs.debias}: the channel of mechanism={cfg.mechanism.name} is not "
                f"known in closed form, only those of {', '.join(CHANNELS)}; set it to none"
            )
        if inputs.debias == "unbiased" and cfg.mechanism.name == "srr":
            raise TrlapError(
                "classify.debias=unbiased: neighbourhoods of srr overlap, and their matrix is singular "
                "for most m, so nothing undoes it; use classify.debias=posterior, or mechanism=krr or crr"
            )
    if cfg.protocol.name == "release":
        if classifier.name == "transformer":
            raise TrlapError(
                "protocol=release: its classifier starts from the auto-encoder's word vectors; "
                "use classifier=average or bilstm"
            )
        if "rewrite" not in cfg.stages:
            raise TrlapError(
                "protocol=release: its classifier starts from the auto-encoder's word vectors; "
                "add rewrite to stages"
            )
    if classifier.name == "transformer" and not classifier.model:
        raise TrlapError("classifier=transformer: set classifier.model to a folder or a hub id")
    if classifier.name != "transformer" and None in (classifier.hidden, classifier.dropout):
        raise TrlapError(f"classifier={classifier.name}: hidden and dropout must be numbers")
    seeds = list(classifier.seeds)
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise TrlapError(f"classifier.seeds={seeds}: must be different whole numbers from 0 on")


def check_range(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Test one value against what `within` or `one_of` said of its field."""
    if "within" in limits and value is not None and not _inside(value, limits["within"]):
        raise TrlapError(f"{name}={value}: must be in {limits['within']}")
    if "choices" in limits and value is not None and value not in limits["choices"]:
        raise TrlapError(f"{name}={value}: must be one of {', '.join(limits['choices'])}")


def _leaves(cfg: DictConfig, schema: type, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    hints = get_type_hints(schema)
    for item in fields(schema):
        name = prefix + item.name
        if OmegaConf.is_missing(cfg, item.name):
            raise TrlapError(f"{name}: no value given")
        if is_dataclass(hints[item.name]):
            yield from _leaves(cfg[item.name], hints[item.name], name + ".")
        else:
            yield name, cfg[item.name], item.metadata


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _inside(value: float, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return not math.isnan(value) and above and below


def explain(error: Exception) -> str:
    """One line for what Hydra or OmegaConf found wrong with the command line."""
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    text = str(cause)
    key = re.search(r"full_key: (\S+)", text)
    if match := re.search(r"Key '(\w+)' (?:is )?not in", text):
        wrong = key.group(1) if key else match.group(1)
        near = difflib.get_close_matches(wrong, _all_keys(), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "see `python run.py --help`"
        return f"no such key: {wrong}; {hint}"
    if match := re.search(r"Could not find '(\w+)/(\S+)'.*?:\n(.*?)\n\S", text + "\n.", re.DOTALL):
        group, option, options = match.groups()
        return f"{group}={option}: there is none; choose from {', '.join(options.split())}"
    line = re.sub(r"\s*\n\s*", " ", re.split(r"\n\s*full_key:", text)[0]).strip()
    return f"{key.group(1)}: {line}" if key else line


def _all_keys() -> list[str]:
    def names(schema: type, prefix: str = "") -> Iterator[str]:
        for name, hint in get_type_hints(schema).items():
            yield prefix + name
            if is_dataclass(hint):
                yield from names(hint, f"{prefix}{name}.")  # type: ignore[arg-type]

    return list(dict.fromkeys([*names(Config), *names(Privatize)]))
