"""Writes the private words again, the last ones left out."""

from dataclasses import dataclass
from typing import Any

from trlap.config.ranges import within
from trlap.data.rows import texts
from trlap.models.rewriters.base import Rewriter
from trlap.runs.result import Trained


@dataclass
class EchoKeys:
    # words left out at the end
    drop: int = within("[0, inf)")


class Echo(Rewriter):
    name = "echo"
    Keys = EchoKeys

    @classmethod
    def passes(cls, keys: Any) -> int:
        return 1

    def fit(self) -> None:
        self.folder_is_there = self.task.folder.is_dir()

    def rewrite(self, split: str) -> list[str]:
        private = (text.split() for text in texts(self.task.rows[split], "private"))
        return [" ".join(words[: len(words) - self.keys.drop]) for words in private]

    def trained(self) -> Trained:
        return Trained(loss=1.0 if self.folder_is_there else None)
