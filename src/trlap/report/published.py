"""The paper: its tables, their captions and layout, the slips in them, and its numbers as printed.

The numbers themselves are in `results/published/`, one line each.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trlap.metrics.base import Metric
from trlap.metrics.registry import named, ordered

LOW, HIGH = (0.05, 0.1, 0.2, 0.5), (1.0, 5.0, 10.0, 20.0)
# of the paper's vectors
DIMENSION = 300
# the columns of its tables: first the text without noise, then these
ORIGINAL = ("none", math.inf)
MECHANISMS = ("gaussian", "laplace", "trlap")
# the code that its tables were made with, the code that was published later, and what the paper describes
PROTOCOLS = ("tables", "release", "paper")
# Ours for the paper's embeddings: the first that has results. The name of all others is the paper's own.
OURS = {"glove": ("glove840b", "glove")}
# datasets of Figure 4
CLASSIFIED = ("sst2", "agnews")
# metrics that the paper has on a scale of its own, so that a difference would say nothing
OTHER_SCALE = ("bleu",)


@dataclass(frozen=True)
class Number:
    """One number of the paper; `place` is its table or figure."""

    place: str
    dataset: str
    embedding: str
    mechanism: str
    epsilon: float
    metric: str
    value: float


@dataclass(frozen=True)
class PaperTable:
    """Its layout: for each dataset the text without noise, then each mechanism at each ε."""

    name: str
    title: str
    datasets: tuple[str, ...]
    epsilons: tuple[float, ...]
    note: str

    @property
    def number(self) -> int:
        return int(self.name.removeprefix("table"))

    @property
    def regimes(self) -> list[tuple[float, ...]]:
        """The values of ε that stand beside each other: four at a time."""
        return [self.epsilons[start : start + 4] for start in range(0, len(self.epsilons), 4)]


_SCALES = (
    "The paper's BLEU stays near 8.9 while Rouge1 falls from 92 to 13: it is not on sacreBLEU's 0–100 "
    "scale, so the two are shown and not compared. BERTScore depends on its model: the result of a cell says "
    "which it used. As released: "
    + "; ".join(
        f"{metric.label}: {metric.released}" for metric in ordered() if metric.released is not None
    )
    + "."
)
_TIMES = (
    "The paper prints 111 s for non-private Yelp between rows of 37–46 s. Its machine had a GPU; only "
    "ratios compare."
)
_BOTH = ("yahoo", "yelp")
TABLES = (
    PaperTable("table1", "Privacy test, fastText, Yelp", ("yelp",), LOW + HIGH, _SCALES),
    PaperTable("table2", "Privacy test, GloVe, ε < 1", _BOTH, LOW, _SCALES),
    PaperTable("table3", "Privacy test, GloVe, ε ≥ 1", _BOTH, HIGH, _SCALES),
    PaperTable("table5", "Seconds an epoch, GloVe", _BOTH, LOW + HIGH, _TIMES),
)


class EpochSeconds(Metric):
    """Table 5: how long the rewriter takes to read the training split once. A matter of the machine."""

    name = label = meaning = "epoch_seconds"
    short_label = "seconds an epoch"
    digits = 1
    higher_is_better = False


def measure(name: str) -> Metric:
    """How a number of the paper's tables is shown."""
    return EpochSeconds() if name == EpochSeconds.name else named(name)


def our_embeddings(embedding: str) -> tuple[str, ...]:
    return OURS.get(embedding, (embedding,))


def their_embedding(embedding: str) -> str:
    """The paper's name of the embedding that ours is to be compared with."""
    return next((theirs for theirs, ours in OURS.items() if embedding == ours[0]), embedding)


def load_published(path: Path) -> list[Number]:
    with path.open(encoding="utf-8") as file:
        return [
            Number(
                place=row.get("table") or row["figure"],
                dataset=row["dataset"],
                embedding=row["embedding"],
                mechanism=row["mechanism"],
                epsilon=float(row["epsilon"]),
                metric=row["metric"],
                value=float(row["value"]),
            )
            for row in csv.DictReader(file)
        ]


def fill_keys(
    table: str,
    protocol: str,
    dataset: str,
    embedding: str,
    mechanisms: Sequence[str],
    epsilons: set[float],
) -> str:
    """What to type behind `run.py` for these cells of a table."""
    budget = f" epsilon={','.join(f'{e:g}' for e in sorted(epsilons))}" if epsilons else ""
    return (
        f"experiment={table} protocol={protocol} dataset={dataset} "
        f"embedding={our_embeddings(embedding)[0]} mechanism={','.join(mechanisms)}{budget}"
    )


@dataclass(frozen=True)
class PrintedSize:
    """A row of Table 4: words a text, texts of training and test, negative and positive where given."""

    dataset: str
    length: int
    train: tuple[int, ...]
    test: tuple[int, ...]

    @property
    def text(self) -> str:
        train, test = ("/".join(map(str, sizes)) for sizes in (self.train, self.test))
        return f"{self.length}, {train}, {test}"


TABLE4 = (
    PrintedSize("yahoo", 181, (8539, 8673), (2174, 2189)),
    PrintedSize("yelp", 19, (3610, 3310), (909, 912)),
    PrintedSize("sst2", 10, (24214, 30362), (5994, 7651)),
    PrintedSize("agnews", 40, (20000,), (4000,)),
)
SLIPS = (
    "The Yelp row (3610/3310, 909/912, 19 tokens) is the SST-2 sentence split (6,920 / 1,821) to the digit.",
    "The text gives Yelp 8,539 / 2,174, which are the first numbers of the Yahoo row.",
)
