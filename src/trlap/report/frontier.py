"""The frontier: utility against the privacy that was really given, all mechanisms on one axis."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trlap.metrics.registry import named
from trlap.report import downstream
from trlap.report.results import yours

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["panel", "dataset", "embedding", "mechanism", "calibration"]
VALUES = ["epsilon_1e6", "value", "floor"]


@dataclass(frozen=True)
class Panel:
    """One metric, of the private words or of a classifier; its axis has the metric's name or its meaning."""

    metric: str
    of_private_words: bool = True
    explained: bool = True

    @property
    def name(self) -> str:
        """The column of results that it shows."""
        return f"private_{self.metric}" if self.of_private_words else self.metric

    @property
    def axis(self) -> str:
        metric = named(self.metric)
        return metric.meaning if self.explained else metric.label


PANELS = (
    Panel("n_w"),
    Panel("rouge1", explained=False),
    Panel("cosine"),
    Panel("accuracy", of_private_words=False, explained=False),
)


def frontier_points(results: "pd.DataFrame", classified: "pd.DataFrame") -> "pd.DataFrame":
    """The frontier's points: panel, data, mechanism, calibration, ε, exact ε at δ = 10⁻⁶, value, floor, and
    whether they are the reader's own beside the study's.

    A line is one mechanism with one calibration on one dataset, one embedding and one sample of the data;
    a panel has the dataset, embedding and sample with most cells, and the reader's own runs on any. Only
    protocol=paper: under release nothing is protected.
    """
    import pandas as pd

    if results.empty or not yours(results).any():
        return _points(results, classified).assign(yours=False)
    mine = yours(results)
    own = set(results[mine].name)
    study = _points(results[~mine], classified[~classified.run.isin(own)])
    parts = [study.assign(yours=False)]
    # each dataset and embedding for itself, as none of them is to be left out
    for (dataset, embedding), rows in results[mine].groupby(["dataset", "embedding"]):
        same = (classified.dataset == dataset) & (classified.embedding == embedding)
        learned = classified[same & classified.run.isin(own)]
        parts.append(_points(rows, learned).assign(yours=True))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _points(results: "pd.DataFrame", classified: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    parts = _of_private_words(results)
    embeddings = set(classified.embedding)
    if parts:
        embeddings &= set(parts[0].embedding)
    parts.append(_learned(classified, embeddings))
    columns = [*KEYS, "noise", "epsilon", *VALUES]
    points = pd.concat([part[columns] for part in parts if len(part)] or [parts[-1][columns]])
    points = points[points.value.notna() & points.epsilon_1e6.notna()]
    lines = [
        downstream.commonest(line, ["noise"]).groupby([*KEYS, "epsilon"], dropna=False)
        for _, line in points.groupby(KEYS, dropna=False, sort=False)
    ]
    if not lines:
        return points[[*KEYS, "epsilon", *VALUES]]
    # over seeds
    means = [line[VALUES].mean().reset_index() for line in lines]
    return pd.concat(means, ignore_index=True)


def _of_private_words(results: "pd.DataFrame") -> list["pd.DataFrame"]:
    """A part for each panel of the private words; none where no run has them."""
    if results.empty:
        return []
    panels = [panel for panel in PANELS if panel.of_private_words]
    measured = results[[panel.name for panel in panels]].notna().any(axis=1)
    rows = results[(results.protocol == "paper") & measured & results.epsilon_1e6.notna()]
    if rows.empty:
        return []
    rows = downstream.commonest(rows, ["dataset", "embedding", "data"])
    parts = []
    for panel in panels:
        floors = [run.private_metrics.best_constant(panel.metric) for run in rows.result]
        parts.append(rows.assign(panel=panel.name, value=rows[panel.name], floor=floors))
    return parts


def _learned(classified: "pd.DataFrame", embeddings: set[str]) -> "pd.DataFrame":
    """Accuracies, on the embedding of the other panels where there is one."""
    rows = downstream.plain(classified)
    rows = rows[rows.embedding.isin(embeddings or set(rows.embedding))]
    rows = downstream.commonest(rows, ["dataset", "embedding", "data", *downstream.GROUP])
    rows = rows.assign(panel="accuracy", value=rows.accuracy, floor=rows.majority)
    return rows.rename(columns={"exact_epsilon_at_delta_1e6": "epsilon_1e6"})
