"""What a report is about: results and the paper's numbers, and all that is made of them."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from trlap.report import cells, documents, downstream, examples, published, tables
from trlap.report.claims import Verdict, check_claims
from trlap.report.frontier import frontier_points
from trlap.report.results import yours

if TYPE_CHECKING:
    import pandas as pd


class Material:
    """Each part is computed once, when somebody asks for it. `folder` holds the paper's numbers."""

    def __init__(self, results: "pd.DataFrame", folder: Path) -> None:
        self.results = results
        self.numbers = published.load_published(folder / "tables.csv")
        self.accuracies = published.load_published(folder / "figures.csv")

    @cached_property
    def of_words(self) -> "pd.DataFrame":
        """Runs whose ε is that of a word: those of whole documents stand on no axis with them, nor do those that
        were run beside them.
        """
        if self.results.empty:
            return self.results
        return self.results[~self.results.result.map(documents.of_documents).astype(bool)]

    @cached_property
    def of_documents(self) -> list[documents.Panel]:
        return documents.panels(documents.taught(self.results))

    @cached_property
    def cells(self) -> list[cells.Cell]:
        return cells.table_cells(self.of_words, self.numbers)

    @cached_property
    def sizes(self) -> dict[str, str]:
        """For each run, what it was made from."""
        if self.results.empty:
            return {}
        return dict(zip(self.results["name"], self.results["size"], strict=True))

    @cached_property
    def own(self) -> set[str]:
        """The names of the reader's own runs among the study's."""
        return set() if self.results.empty else set(self.results[yours(self.results)]["name"])

    @cached_property
    def verdicts(self) -> list[Verdict]:
        return check_claims(self.of_words)

    @cached_property
    def classified(self) -> "pd.DataFrame":
        return downstream.classified(self.of_words, self.accuracies)

    @cached_property
    def points(self) -> "pd.DataFrame":
        return frontier_points(self.of_words, self.classified)

    @cached_property
    def text_tables(self) -> list[tables.TextTable]:
        further = (
            downstream.whole_table(self.classified),
            downstream.debias_table(self.classified),
            *documents.tables(self.of_documents),
        )
        return [
            *tables.side_by_side(self.cells, self.sizes),
            tables.table4(self.of_words),
            *(table for table in further if table.rows),
        ]

    @cached_property
    def examples(self) -> list[examples.Example]:
        return examples.sentences(self.of_words)
