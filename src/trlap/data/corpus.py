"""Corpora: from the hub, from files or embedded, to seeded splits of tokenised sentences.

    sources ─► cleaning ─► splits ─► Corpus

Rows are drawn from a source in a seeded order, turned into sentences of tokens, and cut to the sizes asked
for, so of half a million documents only as many are read as are needed. A saved corpus is read without any
of the libraries that made it.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from trlap.config import schema
from trlap.data import public as public_documents
from trlap.data import splits as splitting
from trlap.data.cleaning import Reader, Sentence
from trlap.data.rows import SPLITS
from trlap.data.sources import Origin, SourceSplit, add_labels, pooled, read_source, source_of
from trlap.errors import TrlapError
from trlap.files import read_json, write_json
from trlap.runs.records import absent, from_json, to_json

# the file of documents that were set aside, beside those of the splits
PUBLIC = "public"


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
    public              of unit=document: public documents, and private ones that are public word for word
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
    public: dict[str, int] | None = absent()


@dataclass(frozen=True)
class Corpus:
    """`public` are documents that no promise is about; null where none were set aside."""

    name: str
    splits: dict[str, Split]
    label_names: list[str] | None
    info: CorpusInfo
    public: Split | None = None


def fingerprint(cfg: schema.Dataset) -> Origin:
    """What identifies a source, files by their content; cheap, for a run's hash."""
    return source_of(cfg).fingerprint()


def load(cfg: schema.Dataset, public: schema.Public | None = None) -> Corpus:
    """Read the source, then draw, cut and sample as `cfg` says, and set public documents aside."""
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
    aside: Split | None = None
    if public is not None:
        aside, splits["train"] = _set_aside(cfg, public, splits["train"])
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
        public=None if aside is None else _overlap(aside, splits),
    )
    return Corpus(cfg.name, splits, label_names, info, aside)


def _set_aside(cfg: schema.Dataset, public: schema.Public, train: Split) -> tuple[Split, Split]:
    """(public, private): documents of a file and the whole training split, or two parts of it."""
    if public.path is not None:
        given = replace(cfg, name="text", path=public.path, label=None, split=schema.Splits())
        given.limit = schema.Limit()
        try:
            from_file, _ = read_source(given, source_of(given))
        except TrlapError as error:
            reason = str(error).replace("; set dataset.text", "; rename its column of texts so")
            raise TrlapError(f"public.path: {reason}") from error
        sentences = Reader(given, from_file["train"]).take(
            from_file["train"], from_file["train"].usable(), None
        )
        return Split([text for text, _ in sentences], None), train
    rng = splitting.generator(cfg, "public")
    parts = public_documents.set_aside(train.texts, public.share, rng, cfg.overlapping)
    if min(map(len, parts)) == 0:
        raise TrlapError(
            f"dataset={cfg.name}: {len(train.texts)} training documents are too few to set some aside as "
            "public; name others by public.path"
        )
    labels = train.labels
    halves = [
        Split([train.texts[i] for i in part], None if labels is None else [labels[i] for i in part])
        for part in parts
    ]
    return halves[0], halves[1]


def _overlap(public: Split, splits: dict[str, Split]) -> dict[str, int]:
    """How many public documents there are, and how many of each split are among them, word for word."""
    return {"documents": len(public.texts)} | {
        f"also_in_{name}": public_documents.on_both_sides(public.texts, split.texts)
        for name, split in splits.items()
    }


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

    aside = {} if corpus.public is None else {PUBLIC: corpus.public}
    for name, split in (corpus.splits | aside).items():
        columns = {"text": pa.array(split.texts, pa.string())}
        if split.labels is not None:
            columns["label"] = pa.array(split.labels, pa.int64())
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    about = {"name": corpus.name, "label_names": corpus.label_names, "info": to_json(corpus.info)}
    write_json(folder / "corpus.json", about)


def read(folder: Path) -> Corpus:
    """What `save` wrote."""
    from pyarrow import parquet

    splits = {}
    for name in (*SPLITS, PUBLIC):
        file = folder / f"{name}.parquet"
        if name in SPLITS or file.is_file():
            # `parquet.read_table` would import pandas
            columns = parquet.ParquetFile(file).read().to_pydict()
            splits[name] = Split(columns["text"], columns.get("label"))
    about = read_json(folder / "corpus.json")
    info = from_json(CorpusInfo, about["info"])
    public = splits.pop(PUBLIC, None)
    return Corpus(about["name"], splits, about["label_names"], info, public)
