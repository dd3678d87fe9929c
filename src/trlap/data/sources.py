"""Where rows come from: the embedded demo, files, or the Hugging Face hub; and their labels.

A source says what identifies it, which is cheap and enters a run's hash, and reads its own splits, one
`datasets` table each. No copy of a file is left in the library's cache.
"""

import csv
import os
import re
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trlap.config import schema
from trlap.data.given import given_file, is_folder
from trlap.data.tables import check_characters, check_rows, named
from trlap.errors import TrlapError
from trlap.files import file_sha256

if TYPE_CHECKING:
    import datasets

# our splits, and what their files may be called
SPLIT_FILES = {
    "train": ("train",),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}
# file endings, and what `datasets` calls these formats
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "text",
    ".jsonl": "json",
    ".json": "json",
    ".parquet": "parquet",
}

# What identifies a source. Strict JSON; files by their SHA-256.
Origin = dict[str, str | dict[str, str] | None]


@dataclass
class SourceSplit:
    """One of the source's own splits: its rows, and an index into the label names for each of them."""

    # for messages
    place: str
    rows: "datasets.Dataset"
    # None: no labels; -1: the row is not used
    labels: NDArray[np.int64] | None = None

    def usable(self, label: int | None = None) -> NDArray[np.int64]:
        """The numbers of the rows in use, or of those with one label."""
        if self.labels is None:
            return np.arange(len(self.rows))
        return np.flatnonzero(self.labels >= 0 if label is None else self.labels == label)

    @property
    def unlabelled(self) -> int:
        """How many rows are not used because their label is missing."""
        return 0 if self.labels is None else int((self.labels < 0).sum())


class Source(Protocol):
    """What identifies a source, how it marks a label that it hides, and its own splits."""

    hidden_label: str | None
    # whether it says which classes there are, before any of its rows is read
    names_classes: bool

    def fingerprint(self) -> Origin: ...

    def read(self) -> tuple[dict[str, SourceSplit], Origin]:
        """The splits, and the fingerprint with what became known by reading."""


def source_of(cfg: schema.Dataset) -> Source:
    """The demo by its name, else files where there are any, else the hub."""
    if cfg.label == cfg.text:
        raise TrlapError(
            f"dataset.label={cfg.label}: that is the column of the text; name another, or null for no labels"
        )
    if cfg.name == "demo":
        if cfg.path:
            raise TrlapError("dataset=demo is embedded; for a file use dataset=text dataset.path=…")
        return Demo()
    paths = _paths(cfg)
    return Files(cfg, paths) if paths else Hub(cfg)


def read_source(cfg: schema.Dataset, source: Source) -> tuple[dict[str, SourceSplit], Origin]:
    """The source's own splits with the columns that `cfg` names, and where they come from."""
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    splits, origin = source.read()
    columns = {"text": cfg.text} | ({"label": cfg.label} if cfg.label else {})
    for split in splits.values():
        for key, column in columns.items():
            if column not in split.rows.column_names:
                present = named(split.rows.column_names)
                hint = f"set dataset.{key}" + (", null for no labels" if key == "label" else "")
                raise TrlapError(f"{split.place}: no column {column!r}, it has {present}; {hint}")
        split.rows = split.rows.select_columns(list(columns.values()))
    return splits, origin


def pooled(cfg: schema.Dataset, splits: dict[str, SourceSplit]) -> SourceSplit:
    """All rows of the source in one."""
    from datasets import concatenate_datasets

    rows = [split.rows.select_columns([cfg.text]) for split in splits.values()]
    labels = [split.labels for split in splits.values() if split.labels is not None]
    return SourceSplit(
        "pool", concatenate_datasets(rows), np.concatenate(labels) if labels else None
    )


# --- the demo -------------------------------------------------------------------------------------


class Demo:
    """The corpus that is embedded in the package."""

    hidden_label: str | None = None
    # whether it says which classes there are, whatever labels its rows have
    names_classes = True

    def fingerprint(self) -> Origin:
        return {"demo": file_sha256(Path(__file__).with_name("demo.py"))}

    def read(self) -> tuple[dict[str, SourceSplit], Origin]:
        from datasets import ClassLabel, Dataset, Features, Value

        from trlap.data import demo

        features = Features(
            text=Value("string"),
            sentiment=ClassLabel(names=list(demo.SENTIMENTS)),
            topic=ClassLabel(names=list(demo.TOPICS)),
        )
        splits = {
            split: SourceSplit("demo", Dataset.from_list(rows, features))
            for split, rows in demo.generate().items()
        }
        return splits, self.fingerprint()


# --- files ----------------------------------------------------------------------------------------


class Files:
    """A file for each split, or one for all."""

    hidden_label: str | None = None
    names_classes = False

    def __init__(self, cfg: schema.Dataset, paths: dict[str, Path]) -> None:
        self.cfg, self.paths = cfg, paths

    def fingerprint(self) -> Origin:
        return {"files": {split: file_sha256(path) for split, path in self.paths.items()}}

    def read(self) -> tuple[dict[str, SourceSplit], Origin]:
        splits = {
            split: SourceSplit(str(path), _read_file(path, self.cfg.text))
            for split, path in self.paths.items()
        }
        return splits, self.fingerprint()


def _paths(cfg: schema.Dataset) -> dict[str, Path]:
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
    if is_folder(place):
        paths = _paths_in(place)
        if "train" not in paths:
            raise TrlapError(f"{place}: no train file in this folder; supported: {supported}")
    elif given_file(place, f"dataset.path={place}").suffix.lower() not in FORMATS:
        raise TrlapError(f"{place}: unknown kind of file; supported: {supported}")
    else:
        paths = {"train": place}
    return {split: given_file(path, str(path)) for split, path in paths.items()}


def _paths_in(folder: Path) -> dict[str, Path]:
    try:
        files = sorted(folder.iterdir())
    except OSError as error:
        raise TrlapError(f"{folder}: cannot be read ({error.strerror})") from None
    readable = [path for path in files if path.suffix.lower() in FORMATS]
    paths = {}
    for split, names in SPLIT_FILES.items():
        candidates = [path for path in readable if path.stem in names]
        if len(candidates) > 1:
            first, second = candidates[0].name, candidates[1].name
            raise TrlapError(f"{folder}: {first} or {second}? Keep one of them")
        if candidates:
            paths[split] = candidates[0]
    return paths


def _read_file(path: Path, text_column: str) -> "datasets.Dataset":
    """One file as a table."""
    from datasets import load_dataset

    kind = path.suffix.lower()
    if kind != ".parquet":
        check_characters(path)
    count, options = None, {}
    if FORMATS[kind] == "csv":
        header, count = check_rows(path)
        options = _csv_options(path, header)
    if kind == ".txt":
        options = {"encoding": "utf-8-sig"}
    try:
        # a temporary cache and a table in memory: no copy of the file is left elsewhere
        with tempfile.TemporaryDirectory() as cache, warnings.catch_warnings():
            # a row with too many fields
            warnings.filterwarnings("error", "Length of header")
            rows = load_dataset(
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
    if count is not None and count != len(rows):
        raise TrlapError(
            f"{path}: {count:,} rows, of which {len(rows):,} can be read; check its quotes"
        )
    if kind == ".txt" and text_column != "text":
        return rows.rename_column("text", text_column)
    return rows


def _csv_options(path: Path, header: list[str]) -> dict[str, object]:
    """All columns are text. "null" and "NA" are words; in tab-separated files quotes are too."""
    from datasets import Features, Value

    options: dict[str, object] = {
        "keep_default_na": False,
        "index_col": False,
        "skip_blank_lines": False,
    }
    if path.suffix.lower() == ".tsv":
        options |= {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    options["features"] = Features({column: Value("string") for column in header})
    return options


# --- the hub --------------------------------------------------------------------------------------


class Hub:
    """A dataset of the Hugging Face hub, which marks a label that it hides by -1."""

    hidden_label: str | None = "-1"
    names_classes = False

    def __init__(self, cfg: schema.Dataset) -> None:
        self.cfg = cfg

    def fingerprint(self) -> Origin:
        hub = self.cfg.hub
        return {"hub": hub.id, "subset": hub.subset, "revision": self.cfg.revision}

    def read(self) -> tuple[dict[str, SourceSplit], Origin]:
        """The hub's splits, and the commit that `revision` (null: the newest) stands for."""
        from datasets import load_dataset
        from huggingface_hub import HfApi
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

        hub, revision = self.cfg.hub, self.cfg.revision
        assert hub.id is not None
        instead = f"give dataset.path=, or TRLAP_DATA with a folder {self.cfg.name} in it"
        try:
            # asked first, because it fails at once where `load_dataset` tries again for half a minute
            commit = HfApi().dataset_info(hub.id, revision=revision, timeout=10).sha
            print(f"loading {hub.id} from the hub …", file=sys.stderr)
            tables = load_dataset(hub.id, hub.subset, revision=commit)
        except RevisionNotFoundError:
            raise TrlapError(f"{hub.id}: no revision {revision} on the hub") from None
        except RepositoryNotFoundError:
            raise TrlapError(f"{hub.id}: not on the hub, or not open to all; {instead}") from None
        # every library on the way down has exceptions of its own
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise TrlapError(
                f"{hub.id}: the hub does not serve it ({reason}); {instead}"
            ) from error
        if "train" not in tables:
            raise TrlapError(f"{hub.id}: no train split on the hub; it has {', '.join(tables)}")
        splits = {
            split: SourceSplit(f"{hub.id} {split}", tables[split].rename_columns(hub.rename))
            for split in SPLIT_FILES
            if split in tables
        }
        return splits, self.fingerprint() | {"commit": commit}


# --- labels ---------------------------------------------------------------------------------------


def add_labels(
    cfg: schema.Dataset, splits: dict[str, SourceSplit], hidden_label: str | None
) -> list[str] | None:
    """Give the rows their labels, and return the names of the labels.

    Names come from the config, else from the source, else they are the sorted labels themselves, so
    that 0, 1, 2 stay what they are.
    """
    if not cfg.label:
        return None
    values = {
        name: [_label(value) for value in split.rows[cfg.label][:]]
        for name, split in splits.items()
    }
    distinct = {value for column in values.values() for value in column} - {"", hidden_label}
    are_numbers = all(re.fullmatch(r"-?\d+", str(value)) for value in distinct)
    source_names = getattr(splits["train"].rows.features[cfg.label], "names", None)
    in_order = sorted(map(str, distinct), key=int if are_numbers else None)
    names = [str(name) for name in cfg.label_names or source_names or in_order]
    by_number = are_numbers and (source_names is not None or not distinct <= set(names))
    indices = {str(i) if by_number else name: i for i, name in enumerate(names)}
    for name, split in splits.items():
        split.labels = np.full(len(split.rows), -1)
        for i, value in enumerate(values[name]):
            if value in indices:
                split.labels[i] = indices[value]
            elif value != hidden_label and has_text(split.rows[i][cfg.text]):
                known = ", ".join(indices)
                shown = repr(value) if len(value) <= 40 else f"of {len(value):,} characters"
                what = f"the label {shown}, not one of {known}" if value else "no label"
                raise TrlapError(f"{split.place}: row {i + 1:,} has {what} (column {cfg.label!r})")
    return names


def _label(value: Any) -> str:
    """A label as text: empty where it is missing, whole numbers without a decimal point."""
    if value is None or value != value:
        return ""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def has_text(value: object) -> bool:
    """Whether a field of a row holds more than white space."""
    return value is not None and bool(str(value).strip())
