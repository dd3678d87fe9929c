"""python scripts/wandb_dashboard.py entity=you project=trlap    your dashboard in Weights & Biases

Builds the project's workspace in W&B, from runs that are there (wandb.mode=online, or `wandb sync`):
utility against the ε that was really given, and the paper's tables, with the colours of the figures. Needs
wandb-workspaces (pip install 'trlap[dashboard]') and somebody who is logged in (wandb login).

  entity     a user or a team of W&B; must be given
  project    the project that the runs are in (wandb.project); trlap
"""

import os
import sys
from typing import TYPE_CHECKING

from omegaconf import OmegaConf

from trlap.mechanisms import registry
from trlap.metrics.registry import in_block
from trlap.runs.tracked import EXACT

if TYPE_CHECKING:
    from wandb_workspaces.workspaces import Workspace

USAGE = "python scripts/wandb_dashboard.py entity=you project=trlap"
METRICS = {f"metrics/{metric.name}": metric.label for metric in in_block("metrics")}
# what stands against the ε that was really given: how many words are left, and how near they are
PRIVATE = {
    f"private_metrics/{metric.name}": metric.label
    for metric in in_block("private_metrics")
    if metric.name in ("rouge1", "cosine")
}
# runs of one mechanism have one colour; what else tells them apart is a column
GROUPS = ("mechanism.name",)
COLUMNS = ("dataset.name", "embedding.name", "epsilon")


def colours() -> dict[object, object]:
    """Of every mechanism, as in the figures of the report."""
    return {name: registry.look(name).colour for name in registry.MECHANISMS.names}


def build(entity: str, project: str) -> "Workspace":
    """The workspace, not yet saved. The table of runs, grouped and with these columns, is the paper's."""
    from wandb_workspaces import expr
    from wandb_workspaces import workspaces as ws
    from wandb_workspaces.reports.v2 import interface as wr

    def against(x: wr.Config | wr.SummaryMetric, metrics: dict[str, str]) -> list[wr.PanelTypes]:
        names = metrics.items()
        return [wr.ScatterPlot(title=n, x=x, y=wr.SummaryMetric(k), log_x=True) for k, n in names]

    def by_mechanism(metric: str, title: str) -> wr.BarPlot:
        group = wr.Config("mechanism.name")
        return wr.BarPlot(
            title=title, metrics=[metric], groupby=group, groupby_aggfunc="mean", orientation="v"
        )

    tables: list[wr.PanelTypes] = [by_mechanism(metric, name) for metric, name in METRICS.items()]
    epochs: list[wr.PanelTypes] = [
        wr.LinePlot(title=f"{stage}: {name}", x=f"{stage}/epoch", y=[f"{stage}/{name}"])
        for stage in ("rewrite", "classify")
        for name in ("loss", "validation_loss")
    ]
    return ws.Workspace(
        entity=entity,
        project=project,
        name="trlap",
        sections=[
            ws.Section(
                name="Utility against exact ε at δ = 10⁻⁶, rewritten text",
                panels=against(wr.SummaryMetric(EXACT), METRICS),
                is_open=True,
            ),
            ws.Section(
                name="Utility against exact ε at δ = 10⁻⁶, private text",
                panels=against(wr.SummaryMetric(EXACT), PRIVATE),
                is_open=True,
            ),
            ws.Section(name="Tables 1 to 3: by mechanism", panels=tables, is_open=True),
            ws.Section(
                name="Tables 1 to 3, Figures 2 to 5: against the ε asked for",
                panels=against(wr.Config("epsilon"), METRICS),
            ),
            ws.Section(
                name="Table 5: seconds an epoch",
                panels=[by_mechanism("rewrite/seconds", "seconds an epoch")],
            ),
            ws.Section(name="Training", panels=epochs),
        ],
        runset_settings=ws.RunsetSettings(
            groupby=[expr.Config(group) for group in GROUPS],
            order=[expr.Ordering(expr.Config("epsilon"), ascending=True)],
            pinned_columns=[
                *(f"config:{key}" for key in COLUMNS),
                *(f"summary:{key}" for key in [*METRICS, EXACT]),
            ],
            group_colors=colours(),
        ),
    )


def main() -> None:
    if not sys.argv[1:] or {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        return
    given = OmegaConf.from_cli()
    if not {"entity"} <= set(given) <= {"entity", "project"}:
        sys.exit(f"usage: {USAGE}")
    os.environ.setdefault("WANDB_SILENT", "true")
    try:
        import wandb

        workspace = build(given.entity, given.get("project", "trlap"))
    except ImportError:
        sys.exit("error: wandb-workspaces is not installed; pip install 'trlap[dashboard]'")
    try:
        if not wandb.login(prompt=False, verify=False):
            sys.exit("error: nobody is logged in to W&B; `wandb login` does that")
        print(workspace.save().url)
    # W&B's libraries raise whatever the network and its server make of it
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        sys.exit(f"error: W&B does not take the workspace ({type(error).__name__}: {lines[0]})")


if __name__ == "__main__":
    main()
