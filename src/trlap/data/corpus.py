"""Corpora: from the hub, from files or embedded, to seeded splits of tokenised sentences.

A source is one `datasets` table for each of its own splits. Rows are drawn from it in a seeded
order, turned into sentences of tokens, and cut to the sizes asked for, so of half a million
documents only as many are read as are needed. Every draw has its own generator, keyed by (seed,
purpose): a limit on one split leaves the others as they are.
"""

import csv
import html
import os
import re
import sys
import tempfile
import unicodedata
import warnings
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from omegaconf import DictConfig, OmegaConf

from trlap.data.tokens import UNK, looks_tokenized, tokenize, utf8_lines
from trlap.errors import TrlapError
from trlap.runs.cache import file_sha256, read_json, write_json

if TYPE_CHECKING:
    from datasets import Dataset as Table

SPLITS = {  # and what their files may be called
    "train": ("train",),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "text",
    ".jsonl": "json",
    ".json": "json",
    ".parquet": "parquet",
}
TEST_SHARE = 0.2  # of a source that has no test split

Sentence = tuple[str, int]  # tokens joined by a space; label, or 0 where there is none
Parts = dict[str, int | None]  # how many sentences for which split; null: what there is


@dataclass(frozen=True)
class Split:
    texts: list[str]  # lower-case tokens joined by one space
    labels: list[int] | None  # indices into label_names


@dataclass(frozen=True)
class Corpus:
    name: str
    splits: dict[str, Split]  # train, validation, test
    label_names: list[str] | None
    info: dict[str, Any]  # where it comes from, what was done to it, remarks; JSON


@dataclass
class Rows:
    where: str  # for messages
    table: "Table"
    labels: np.ndarray | None = None  # indices into label_names; -1: the row is not used

    def usable(self, label: int | None = None) -> np.ndarray:
        if self.labels is None:
            return np.arange(len(self.table))
        return np.flatnonzero(self.labels >= 0 if label is None else self.labels == label)


def fingerprint(cfg: DictConfig) -> dict[str, Any]:
    """What identifies a source, files by their content; cheap, for a run's hash."""
    if cfg.name == "demo":
        if cfg.path:
            raise TrlapError("dataset=demo is embedded; for a file use dataset=text dataset.path=…")
        return {"demo": file_sha256(Path(__file__).with_name("demo.py"))}
    if files := _files(cfg):
        return {"files": {split: file_sha256(path) for split, path in files.items()}}
    return {"hub": cfg.hub.id, "subset": cfg.hub.subset, "revision": cfg.revision}


def load(cfg: DictConfig) -> Corpus:
    """Read the source, then draw, cut and sample as `cfg` says."""
    notes: list[str] = []
    source, origin = _source(cfg)
    label_names = _add_labels(cfg, source, "hub" in origin, notes)
    reader = Reader(cfg, source["train"])
    plan = _plan(cfg, source)
    if cfg.split.pool:
        source = {"pool": _pool(cfg, source)}
    drawn = {
        name: _draw(cfg, source[name], name, parts, label_names, reader)
        for name, parts in plan.items()
    }
    cut = _cut(cfg, plan, drawn, notes)
    if "validation" not in cut:
        cut["validation"], cut["train"] = _carve(cfg, cut["train"])
        share = f"{cfg.split.validation_share:.0%}"
        notes.append(f"validation: a seeded {share} of the training sentences")
    notes += [f"{count:,} {what} left out" for what, count in reader.left_out.items()]

    splits = {}
    for split in SPLITS:
        sentences = _limited(cfg, split, cut[split])
        labels = [label for _, label in sentences] if label_names else None
        splits[split] = Split([text for text, _ in sentences], labels)
    known = set(splits["train"].texts)
    info = {
        "source": origin,
        "tokenized": reader.tokenized,
        "tokenized_known_by": "the text" if cfg.tokenized is None else "dataset.tokenized",
        "sentences_cut_by": reader.splitter,
        "asked": OmegaConf.to_container(cfg.split),
        "limit": OmegaConf.to_container(cfg.limit),
        "sizes": {split: len(part.texts) for split, part in splits.items()},
        "test_also_in_train": sum(text in known for text in splits["test"].texts),
        "notes": notes,
    }
    return Corpus(cfg.name, splits, label_names, info)


def save(corpus: Corpus, folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    for name, split in corpus.splits.items():
        columns: dict[str, Any] = {"text": pa.array(split.texts, pa.string())}
        if split.labels is not None:
            columns["label"] = pa.array(split.labels, pa.int64())
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    about = {"name": corpus.name, "label_names": corpus.label_names, "info": corpus.info}
    write_json(folder / "corpus.json", about)


def read(folder: Path) -> Corpus:
    from pyarrow import parquet

    splits = {}
    for name in SPLITS:
        table = parquet.read_table(folder / f"{name}.parquet").to_pydict()
        splits[name] = Split(table["text"], table.get("label"))
    return Corpus(splits=splits, **read_json(folder / "corpus.json"))


# --- where the rows come from ---------------------------------------------------------------------


def _files(cfg: DictConfig) -> dict[str, Path]:
    """Which file holds which split; none where the hub has to serve. A single file is `train`."""
    local = os.environ.get("TRLAP_DATA")
    if cfg.path:
        place = Path(cfg.path).expanduser()
    elif local and Path(local, cfg.name).is_dir():
        place = Path(local, cfg.name)
    elif cfg.hub.id:
        return {}
    else:
        raise TrlapError(f"dataset={cfg.name} needs dataset.path=<a file or a folder>")
    supported = " ".join(FORMATS)
    files = {}
    if place.is_dir():
        readable = [path for path in sorted(place.iterdir()) if path.suffix.lower() in FORMATS]
        for split, names in SPLITS.items():
            found = [path for path in readable if path.stem in names]
            if len(found) > 1:
                raise TrlapError(f"{place}: {found[0].name} or {found[1].name}? Keep one of them")
            if found:
                files[split] = found[0]
        if not files.get("train"):
            raise TrlapError(f"{place}: no train file in this folder; supported: {supported}")
    elif not place.is_file():
        raise TrlapError(f"{place}: no such file or folder (dataset.path)")
    elif place.suffix.lower() not in FORMATS:
        raise TrlapError(f"{place}: unknown kind of file; supported: {supported}")
    else:
        files["train"] = place
    for path in files.values():
        if not path.stat().st_size:
            raise TrlapError(f"{path}: the file is empty")
    return files


def _source(cfg: DictConfig) -> tuple[dict[str, Rows], dict[str, Any]]:
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    origin = fingerprint(cfg)
    if "demo" in origin:
        tables = _embedded()
        where = dict.fromkeys(tables, "demo")
    elif "files" in origin:
        files = _files(cfg)
        tables = {split: _read_file(path, cfg.text) for split, path in files.items()}
        where = {split: str(path) for split, path in files.items()}
    else:
        tables, origin["commit"] = _from_hub(cfg)
        where = {split: f"{cfg.hub.id} {split}" for split in tables}

    columns = [cfg.text, cfg.label] if cfg.label else [cfg.text]
    for split, table in tables.items():
        for key, column in zip(("text", "label"), columns, strict=False):
            if column not in table.column_names:
                has = ", ".join(table.column_names)
                hint = f"set dataset.{key}" + (", null for no labels" if key == "label" else "")
                raise TrlapError(f"{where[split]}: no column {column!r}, it has {has}; {hint}")
    return {
        split: Rows(where[split], tables[split].select_columns(columns)) for split in tables
    }, origin


def _embedded() -> dict[str, "Table"]:
    from datasets import ClassLabel, Dataset, Features, Value

    from trlap.data import demo

    features = Features(
        text=Value("string"),
        sentiment=ClassLabel(names=list(demo.SENTIMENTS)),
        topic=ClassLabel(names=list(demo.TOPICS)),
    )
    return {split: Dataset.from_list(rows, features) for split, rows in demo.generate().items()}


def _read_file(path: Path, text_column: str) -> "Table":
    """One file as a table. "null" and "NA" are words; in tab-separated files quotes are too."""
    from datasets import Features, Value, load_dataset

    kind = path.suffix.lower()
    if kind != ".parquet":
        for _ in utf8_lines(path):
            pass
    options: dict[str, Any] = {"encoding": "utf-8-sig"} if kind == ".txt" else {}
    if FORMATS[kind] == "csv":
        if kind == ".tsv":
            options = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file, **options), [])
        options |= {"keep_default_na": False, "index_col": False, "skip_blank_lines": False}
        options["features"] = Features({column: Value("string") for column in header})
    try:
        # a temporary cache and a table in memory: no copy of the file is left elsewhere
        with tempfile.TemporaryDirectory() as cache, warnings.catch_warnings():
            warnings.filterwarnings("error", "Length of header")  # a row with too many fields
            table = load_dataset(
                FORMATS[kind],
                data_files=[str(path)],
                split="train",
                cache_dir=cache,
                keep_in_memory=True,
                **options,
            )
    except Exception as error:
        if "corresponds to no data" in str(error):
            raise TrlapError(f"{path}: there are no rows in it") from None
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise TrlapError(f"{path}: cannot be read as {kind} ({reason})") from error
    if kind == ".txt" and text_column != "text":
        return table.rename_column("text", text_column)
    return table


def _from_hub(cfg: DictConfig) -> tuple[dict[str, "Table"], str | None]:
    """The hub's splits, and the commit that `cfg.revision` (null: the newest) stands for."""
    from datasets import load_dataset
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    name, instead = cfg.hub.id, f"give dataset.path=, or TRLAP_DATA with a folder {cfg.name} in it"
    try:
        # asked first, because it fails at once where `load_dataset` tries again for half a minute
        commit = HfApi().dataset_info(name, revision=cfg.revision, timeout=10).sha
        print(f"loading {name} from the hub …", file=sys.stderr)
        tables = load_dataset(name, cfg.hub.subset, revision=commit)
    except RevisionNotFoundError:
        raise TrlapError(f"{name}: no revision {cfg.revision} on the hub") from None
    except RepositoryNotFoundError:
        raise TrlapError(f"{name}: not on the hub, or not open to all; {instead}") from None
    except Exception as error:  # every library on the way down has exceptions of its own
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TrlapError(f"{name}: the hub does not serve it ({reason}); {instead}") from error
    if "train" not in tables:
        raise TrlapError(f"{name}: no train split on the hub; it has {', '.join(tables)}")
    renamed = dict(cfg.hub.rename)
    return {
        split: tables[split].rename_columns(renamed) for split in SPLITS if split in tables
    }, commit


def _add_labels(
    cfg: DictConfig, source: dict[str, Rows], hub: bool, notes: list[str]
) -> list[str] | None:
    """Set `Rows.labels` and return the names of the labels.

    Names come from the config, else from the source, else they are the sorted labels themselves, so
    that 0, 1, 2 stay what they are. The hub marks a label that it hides by -1.
    """
    if not cfg.label:
        return None
    values = {
        split: [_label(v) for v in rows.table[cfg.label][:]] for split, rows in source.items()
    }
    distinct = {value for column in values.values() for value in column} - {""}
    if hub:
        distinct -= {"-1"}
    numbers = all(re.fullmatch(r"-?\d+", value) for value in distinct)
    own_names = getattr(source["train"].table.features[cfg.label], "names", None)
    names = cfg.label_names or own_names or sorted(distinct, key=int if numbers else None)
    names = [str(name) for name in names]
    by_number = numbers and (own_names is not None or not distinct <= set(names))
    ids = {str(i) if by_number else name: i for i, name in enumerate(names)}
    for split, rows in source.items():
        rows.labels = np.full(len(rows.table), -1)
        for i, value in enumerate(values[split]):
            if value in ids:
                rows.labels[i] = ids[value]
            elif not (hub and value == "-1") and _filled(rows.table[i][cfg.text]):
                what = f"the label {value!r}, not one of {', '.join(ids)}" if value else "no label"
                raise TrlapError(f"{rows.where}: row {i + 1:,} has {what} (column {cfg.label!r})")
        if hidden := int((rows.labels < 0).sum()):
            notes.append(f"{Path(rows.where).name}: {hidden:,} rows without a label left out")
    return names


def _label(value: Any) -> str:
    """A label as text: empty where it is missing, whole numbers without a decimal point."""
    if value is None or value != value:
        return ""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def _filled(text: Any) -> bool:
    return text is not None and bool(str(text).strip())


def _pool(cfg: DictConfig, source: dict[str, Rows]) -> Rows:
    from datasets import concatenate_datasets

    tables = [rows.table.select_columns([cfg.text]) for rows in source.values()]
    labels = [rows.labels for rows in source.values() if rows.labels is not None]
    return Rows("pool", concatenate_datasets(tables), np.concatenate(labels) if labels else None)


# --- from rows to sentences -----------------------------------------------------------------------

_ENTITY = re.compile(r"&?(#\d{1,5}|quot|apos|amp|lt|gt|nbsp);")
_TAG = re.compile(r"<(?!unk>)/?[A-Za-z][^<>]*>")
_GLUED = re.compile(r"([a-z][.!?]+)(?=[A-Z][a-z]|I\b)")  # a full stop without the space after it


class Reader:
    """Turns the text of a row into sentences of tokens, and counts what it leaves out."""

    def __init__(self, cfg: DictConfig, train: Rows) -> None:
        # plain values, as every look into a config costs more than a row does
        self.column, self.unknown, self.html = cfg.text, cfg.unknown, cfg.html
        self.replace = list(cfg.replace.items())
        self.longest = cfg.max_words or sys.maxsize
        self.left_out: Counter[str] = Counter()
        self.tokenized = cfg.tokenized
        if self.tokenized is None:
            every = max(1, len(train.table) // 2000)
            sample = train.table[range(0, len(train.table), every)][cfg.text]
            self.tokenized = looks_tokenized([str(text) for text in sample if _filled(text)])
        self.splitter = None
        if cfg.sentences and not self.tokenized:
            import nupunkt

            self.splitter = f"nupunkt {nupunkt.__version__}"

    def take(self, rows: Rows, order: np.ndarray, want: int | None) -> list[Sentence]:
        """The first `want` sentences of the rows in this order; null: all."""
        found: list[Sentence] = []
        for start in range(0, len(order), 1000):
            chunk = order[start : start + 1000]
            for i, text in zip(chunk, rows.table[chunk][self.column], strict=True):
                label = 0 if rows.labels is None else int(rows.labels[i])
                found += [(sentence, label) for sentence in self.sentences(text)]
            if want is not None and len(found) >= want:
                return found[:want]
        return found

    def sentences(self, text: Any) -> list[str]:
        if not _filled(text):
            self.left_out["rows without text"] += 1
            return []
        kept = []
        for tokens in self._tokens(str(text)):
            if not tokens:
                self.left_out["sentences without a token"] += 1
            elif len(tokens) > self.longest:
                self.left_out[f"sentences of more than {self.longest} words"] += 1
            else:
                kept.append(" ".join(tokens))
        return kept

    def _tokens(self, text: str) -> list[list[str]]:
        if self.tokenized:
            tokens = unicodedata.normalize("NFC", text).split()
            return [[UNK if token == self.unknown else token.lower() for token in tokens]]
        for old, new in self.replace:
            text = text.replace(old, new)
        if self.html:
            text = _TAG.sub(" ", html.unescape(_ENTITY.sub(r"&\1;", text)))
        if self.unknown:
            text = re.sub(rf"(?<!\w){re.escape(self.unknown)}(?!\w)", f" {UNK} ", text)
        if not self.splitter:
            return [tokenize(text)]
        from nupunkt import sent_tokenize

        paragraphs = [_GLUED.sub(r"\1 ", part) for part in text.splitlines() if part.strip()]
        return [tokenize(str(piece)) for part in paragraphs for piece in sent_tokenize(part)]


# --- from sentences to splits ---------------------------------------------------------------------


def _plan(cfg: DictConfig, source: dict[str, Rows]) -> dict[str, Parts]:
    """Which of the source's splits, or their pool, is drawn from for which of ours."""
    size = cfg.split
    own_validation = "validation" in source and size.train is None and not size.pool
    plan: dict[str, Parts] = {}
    for split in SPLITS:
        if split == "validation" and size.validation is None and not own_validation:
            continue  # carved from training later
        name = "pool" if size.pool else split if split in source else "train"
        plan.setdefault(name, {})[split] = size[split]
    for parts in plan.values():
        train = parts.get("train")
        if train is not None and "test" in parts and parts["test"] is None:
            parts["test"] = max(1, round(train * TEST_SHARE / (1 - TEST_SHARE)))
    return plan


def _draw(
    cfg: DictConfig,
    rows: Rows,
    name: str,
    parts: Parts,
    label_names: list[str] | None,
    reader: Reader,
) -> list[Sentence]:
    """The sentences that the parts need together, in seeded order unless all go to one split."""
    if cfg.split.per_label:
        if label_names is None:
            raise TrlapError("dataset.split.per_label needs labels: set dataset.label")
        by_label = []
        for label in range(len(label_names)):
            order = _rng(cfg, f"{name} {label}").permutation(rows.usable(label))
            by_label.append(reader.take(rows, order, cfg.split.per_label))
        # labels in turn, so that every cut is balanced too; the rarest one ends it for all
        return [sentence for turn in zip(*by_label, strict=False) for sentence in turn]
    total = _total(parts)
    order = rows.usable()
    if total is not None or len(parts) > 1:
        order = _rng(cfg, name).permutation(order)
    return reader.take(rows, order, total)


def _cut(
    cfg: DictConfig, plan: dict[str, Parts], drawn: dict[str, list[Sentence]], notes: list[str]
) -> dict[str, list[Sentence]]:
    """Cut what was drawn into splits; where it is too little, all shrink by the same factor."""
    totals = {name: total for name, parts in plan.items() if (total := _total(parts)) is not None}
    scale = min([Fraction(len(drawn[name]), totals[name]) for name in totals] + [Fraction(1)])
    cut: dict[str, list[Sentence]] = {}
    for name, parts in plan.items():
        have = len(drawn[name])
        if name in totals:
            sizes = {split: int((size or 0) * scale) for split, size in parts.items()}
        else:
            first, *others = parts  # the first takes what the others leave
            taken = {split: parts[split] or max(1, round(have * TEST_SHARE)) for split in others}
            sizes = {first: have - sum(taken.values())} | taken
        if min(sizes.values()) < 1:
            needed = " and ".join(parts)
            raise TrlapError(f"dataset={cfg.name}: {have:,} sentences are too few for {needed}")
        start = 0
        for split, size in sizes.items():
            cut[split] = drawn[name][start : start + size]
            start += size
    if scale < 1:
        pairs = [f"{len(cut[s]):,} of {n:,} {s}" for name in totals for s, n in plan[name].items()]
        notes.append(f"fewer sentences than asked for, ratios kept: {', '.join(pairs)}")
    return cut


def _total(parts: Parts) -> int | None:
    sizes = [size for size in parts.values() if size is not None]
    return sum(sizes) if len(sizes) == len(parts) else None


def _carve(cfg: DictConfig, train: list[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """A seeded share of the training sentences for validation, and the rest."""
    size = max(1, round(len(train) * cfg.split.validation_share))
    if size >= len(train):
        raise TrlapError(f"dataset={cfg.name}: {len(train)} sentences are too few for validation")
    order = _rng(cfg, "validation").permutation(len(train))
    return [train[i] for i in sorted(order[:size])], [train[i] for i in sorted(order[size:])]


def _limited(cfg: DictConfig, split: str, sentences: list[Sentence]) -> list[Sentence]:
    size = cfg.limit[split]
    if size is None or size >= len(sentences):
        return sentences
    return [sentences[i] for i in _rng(cfg, f"limit {split}").permutation(len(sentences))[:size]]


def _rng(cfg: DictConfig, purpose: str) -> np.random.Generator:
    return np.random.default_rng([cfg.seed, *purpose.encode()])
