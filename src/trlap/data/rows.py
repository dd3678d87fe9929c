"""A sentence on its way through a run: original, private, rewritten. One line each of a .jsonl file."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Row:
    split: str
    original: str
    private: str | None = None
    label: int | None = None  # an index into the corpus's label names
    rewritten: str | None = None
    # the class that is published with `private`, where labels are covered too; `label` is the original's
    private_label: int | None = None

    def text(self, side: str) -> str:
        """One of the three texts by its name: original, private or rewritten. A public one is as it was."""
        text: str | None = self.original if side == "public" else getattr(self, side)
        assert text is not None, f"this sentence was not {side}"
        return text

    def label_beside(self, side: str) -> int | None:
        """The label that whoever reads this text has."""
        published = side == "private" and self.private_label is not None
        return self.private_label if published else self.label


Rows = dict[str, list[Row]]  # by split


def texts(rows: Iterable[Row], side: str) -> list[str]:
    return [row.text(side) for row in rows]


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """What is not known of a sentence is left out of its line."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            known = {name: getattr(row, name) for name in Row.__slots__}
            line = {name: value for name, value in known.items() if value is not None}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_rows(path: Path) -> Rows:
    rows: Rows = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = Row(**json.loads(line))
            rows.setdefault(row.split, []).append(row)
    return rows
