"""From the splits of a source to ours: planned, drawn, cut, carved, limited.

Every draw has its own generator, keyed by (seed, purpose): a limit on one split leaves the others as
they are.
"""

from fractions import Fraction

import numpy as np

from trlap.config import schema
from trlap.data.cleaning import Reader, Sentence
from trlap.data.rows import SPLITS
from trlap.data.sources import SourceSplit
from trlap.errors import TrlapError

# of a source that has no test split
TEST_SHARE = 0.2

# How many sentences for which of our splits; None: what there is.
Parts = dict[str, int | None]


def plan(cfg: schema.Dataset, source: dict[str, SourceSplit]) -> dict[str, Parts]:
    """Which of the source's splits, or their pool, is drawn from for which of ours.

    Where validation is missing from the plan, it is carved from training later.
    """
    size = cfg.split
    takes_validation = "validation" in source and size.train is None and not size.pool
    planned: dict[str, Parts] = {}
    for split in SPLITS:
        if split == "validation" and size.validation is None and not takes_validation:
            continue
        name = "pool" if size.pool else split if split in source else "train"
        planned.setdefault(name, {})[split] = getattr(size, split)
    for parts in planned.values():
        train = parts.get("train")
        if train is not None and "test" in parts and parts["test"] is None:
            parts["test"] = max(1, round(train * TEST_SHARE / (1 - TEST_SHARE)))
    return planned


def draw(
    cfg: schema.Dataset,
    name: str,
    split: SourceSplit,
    parts: Parts,
    reader: Reader,
    label_names: list[str] | None,
) -> list[Sentence]:
    """The sentences that the parts need together, in seeded order unless all go to one split."""
    if cfg.split.per_label:
        if label_names is None:
            raise TrlapError("dataset.split.per_label needs labels: set dataset.label")
        by_label = []
        for label in range(len(label_names)):
            order = generator(cfg, f"{name} {label}").permutation(split.usable(label))
            by_label.append(reader.take(split, order, cfg.split.per_label))
        # labels in turn, so that every cut is balanced too; the rarest one ends it for all
        return [sentence for turn in zip(*by_label, strict=False) for sentence in turn]
    total = _total(parts)
    order = split.usable()
    if total is not None or len(parts) > 1:
        order = generator(cfg, name).permutation(order)
    return reader.take(split, order, total)


def cut(
    cfg: schema.Dataset, planned: dict[str, Parts], drawn: dict[str, list[Sentence]]
) -> dict[str, list[Sentence]]:
    """Cut what was drawn into splits; where it is too little, all shrink by the same factor."""
    totals = {name: size for name, parts in planned.items() if (size := _total(parts)) is not None}
    scale = min([Fraction(len(drawn[name]), totals[name]) for name in totals] + [Fraction(1)])
    splits: dict[str, list[Sentence]] = {}
    for name, parts in planned.items():
        available = len(drawn[name])
        if name in totals:
            sizes = {split: int((size or 0) * scale) for split, size in parts.items()}
        else:
            # the first takes what the others leave
            first, *others = parts
            shares = {
                split: parts[split] or max(1, round(available * TEST_SHARE)) for split in others
            }
            sizes = {first: available - sum(shares.values())} | shares
        if min(sizes.values()) < 1:
            needed = " and ".join(parts)
            raise TrlapError(
                f"dataset={cfg.name}: {available:,} sentences are too few for {needed}"
            )
        start = 0
        for split, size in sizes.items():
            splits[split] = drawn[name][start : start + size]
            start += size
    return splits


def shortfall(planned: dict[str, Parts], splits: dict[str, list[Sentence]]) -> list[str]:
    """A note where there were fewer sentences than asked for."""
    asked = [
        (split, size)
        for parts in planned.values()
        if _total(parts) is not None
        for split, size in parts.items()
    ]
    if all(len(splits[split]) == size for split, size in asked):
        return []
    pairs = [f"{len(splits[split]):,} of {size:,} {split}" for split, size in asked]
    return [f"fewer sentences than asked for, ratios kept: {', '.join(pairs)}"]


def carve(cfg: schema.Dataset, train: list[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """A seeded share of the training sentences for validation, and the rest."""
    size = max(1, round(len(train) * cfg.split.validation_share))
    if size >= len(train):
        raise TrlapError(f"dataset={cfg.name}: {len(train)} sentences are too few for validation")
    order = generator(cfg, "validation").permutation(len(train))
    return [train[i] for i in sorted(order[:size])], [train[i] for i in sorted(order[size:])]


def limited(cfg: schema.Dataset, split: str, sentences: list[Sentence]) -> list[Sentence]:
    """A seeded sample of at most `dataset.limit.<split>` sentences."""
    size = getattr(cfg.limit, split)
    if size is None or size >= len(sentences):
        return sentences
    order = generator(cfg, f"limit {split}").permutation(len(sentences))
    return [sentences[i] for i in order[:size]]


def generator(cfg: schema.Dataset, purpose: str) -> np.random.Generator:
    """The randomness of one purpose: depends on the seed and the purpose alone."""
    return np.random.default_rng([cfg.seed, *purpose.encode()])


def _total(parts: Parts) -> int | None:
    """How many sentences the parts ask for together; None where one takes what there is."""
    sizes = [size for size in parts.values() if size is not None]
    return sum(sizes) if len(sizes) == len(parts) else None
