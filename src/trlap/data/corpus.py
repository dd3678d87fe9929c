"""Corpora: from the hub, from files or embedded, to seeded splits of tokenised sentences.

    sources ─► cleaning ─► splits ─► Corpus

Rows are drawn from a source in a seeded order, turned into sentences of tokens, and cut to the sizes asked
for, so of half a million documents only as many are read as are needed. A saved corpus is read without any
of the libraries that made it.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from trlap.config import schema
from trlap.data import splits as splitting
from trlap.data.cleaning import Reader, Sentence
from trlap.data.rows import SPLITS
from trlap.data.sources import Origin, SourceSplit, add_labels, pooled, read_source, source_of
from trlap.files import read_json, write_json
from trlap.runs.records import from_json


@dataclass(frozen=True)
class Split:
    """`texts` are lower-case tokens joined by one space, `labels` indices into the label names."""

    texts: list[str]
    labels: list[int] | None


@dataclass(frozen=True)
class CorpusInfo:
    """Where a corpus comes from and what was done to it.

    source              what identifies the source
    tokenized           whether tokens stood apart already, and how that is known
    sentences_cut_by    what cut documents into sentences; None: nothing did
    asked, limit        the keys dataset.split and dataset.limit
    sizes               sentences of each split
    test_also_in_train  test sentences that are training sentences too
    notes               remarks for the reader of a result
    """

    source: Origin
    tokenized: bool
    tokenized_known_by: str
    sentences_cut_by: str | None
    asked: dict[str, int | float | None]
    limit: dict[str, int | None]
    sizes: dict[str, int]
    test_also_in_train: int
    notes: list[str]


@dataclass(frozen=True)
class Corpus:
    name: str
    splits: dict[str, Split]
    label_names: list[str] | None
    info: CorpusInfo


def fingerprint(cfg: schema.Dataset) -> Origin:
    """What identifies a source, files by their content; cheap, for a run's hash."""
    return source_of(cfg).fingerprint()


def load(cfg: schema.Dataset) -> Corpus:
    """Read the source, then draw, cut and sample as `cfg` says."""
    source = source_of(cfg)
    from_source, origin = read_source(cfg, source)
    label_names = add_labels(cfg, from_source, source.hidden_label)
    notes = [
        f"{Path(split.place).name}: {split.unlabelled:,} rows without a label left out"
        for split in from_source.values()
        if split.unlabelled
    ]
    reader = Reader(cfg, from_source["train"])
    sentences = _sentences(cfg, from_source, reader, label_names, notes)
    notes += [f"{count:,} {what} left out" for what, count in reader.left_out.items()]

    splits = {}
    for split in SPLITS:
        chosen = splitting.limited(cfg, split, sentences[split])
        labels = [label for _, label in chosen] if label_names else None
        splits[split] = Split([text for text, _ in chosen], labels)
    known = set(splits["train"].texts)
    info = CorpusInfo(
        source=origin,
        tokenized=reader.tokenized,
        tokenized_known_by="the text" if cfg.tokenized is None else "dataset.tokenized",
        sentences_cut_by=reader.splitter,
        asked=asdict(cfg.split),
        limit=asdict(cfg.limit),
        sizes={split: len(part.texts) for split, part in splits.items()},
        test_also_in_train=sum(text in known for text in splits["test"].texts),
        notes=notes,
    )
    return Corpus(cfg.name, splits, label_names, info)


def _sentences(
    cfg: schema.Dataset,
    from_source: dict[str, SourceSplit],
    reader: Reader,
    label_names: list[str] | None,
    notes: list[str],
) -> dict[str, list[Sentence]]:
    """The sentences of our splits, before limits; says in `notes` what is not as one expects."""
    planned = splitting.plan(cfg, from_source)
    if cfg.split.pool:
        from_source = {"pool": pooled(cfg, from_source)}
    drawn = {
        name: splitting.draw(cfg, name, from_source[name], parts, reader, label_names)
        for name, parts in planned.items()
    }
    sentences = splitting.cut(cfg, planned, drawn)
    notes += splitting.shortfall(planned, sentences)
    if "validation" not in sentences:
        validation, train = splitting.carve(cfg, sentences["train"])
        sentences |= {"validation": validation, "train": train}
        share = f"{cfg.split.validation_share:.0%}"
        notes.append(f"validation: a seeded {share} of the training sentences")
    return sentences


def save(corpus: Corpus, folder: Path) -> None:
    """A parquet file for each split, and corpus.json."""
    import pyarrow as pa
    from pyarrow import parquet

    for name, split in corpus.splits.items():
        columns = {"text": pa.array(split.texts, pa.string())}
        if split.labels is not None:
            columns["label"] = pa.array(split.labels, pa.int64())
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    about = {"name": corpus.name, "label_names": corpus.label_names, "info": corpus.info}
    write_json(folder / "corpus.json", about)


def read(folder: Path) -> Corpus:
    """What `save` wrote."""
    from pyarrow import parquet

    splits = {}
    for name in SPLITS:
        # `parquet.read_table` would import pandas
        columns = parquet.ParquetFile(folder / f"{name}.parquet").read().to_pydict()
        splits[name] = Split(columns["text"], columns.get("label"))
    about = read_json(folder / "corpus.json")
    info = from_json(CorpusInfo, about["info"])
    return Corpus(about["name"], splits, about["label_names"], info)
