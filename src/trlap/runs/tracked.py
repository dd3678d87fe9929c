"""What a W&B run of a cell holds: the values of an epoch, and in the end the summary, tags and figures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trlap.files import jsonable, read_json
from trlap.runs.cell import Cell
from trlap.runs.result import Classified, Epoch, Example, Guarantee, RunResult, to_json

if TYPE_CHECKING:
    import wandb

Value = str | int | float | bool
# the stages that learn
LEARNING = ("rewrite", "classify")
SUMMARY = ("metrics", "private_metrics", "guarantee", "seconds")
# what audit.json has once more: the result has it too
REPEATED = ("guarantee", "composition")
# what an epoch's numbers are called there
RENAMED = {"train_loss": "loss"}
EXACT = "guarantee/exact/epsilon_at_delta_1e6"
# A chart cannot draw ∞. Whatever is above this is drawn here, and promises nothing; W&B's config says so too.
EPSILON_CAP = 1000.0
VERDICTS = {True: "holds", False: "does not hold", None: "nothing known"}


def define(run: "wandb.Run") -> None:
    """Curves of a training are drawn over its epochs."""
    for stage in LEARNING:
        run.define_metric(f"{stage}/epoch", hidden=True)
        run.define_metric(f"{stage}/*", step_metric=f"{stage}/epoch")


def epochs_seen(run: "wandb.Run") -> dict[str, int]:
    """By stage, the last epoch that W&B has of an earlier attempt."""
    return {stage: int(run.summary.get(f"{stage}/epoch") or 0) for stage in LEARNING}


def epoch_values(stage: str, epoch: Epoch) -> dict[str, Value]:
    """Under the names of their curves; when it was is no curve."""
    return {
        f"{stage}/{RENAMED.get(key, key)}": value
        for key, value in asdict(epoch).items()
        if value is not None and key != "wall_time"
    }


def conclude(run: "wandb.Run", cell: Cell, result: RunResult) -> None:
    """All that is known only in the end."""
    run.summary.update(summary(cell, result))
    if result.noisy:
        run.tags = (*(run.tags or ()), VERDICTS[result.guarantee.holds])
    if shown := figures(run, cell, result):
        run.log(shown)


def summary(cell: Cell, result: RunResult) -> dict[str, Value]:
    plain = jsonable(to_json(result))
    values = dict(_leaves({key: plain[key] for key in SUMMARY}))
    values["seconds/all"] = sum(result.seconds.values())
    exact = result.guarantee.exact.epsilon_at_delta_1e6
    if exact is not None:
        values[EXACT] = min(exact, EPSILON_CAP)
    audit = cell.folder / "audit.json"
    if audit.exists():
        found = {key: part for key, part in read_json(audit).items() if key not in REPEATED}
        values |= {
            key: value for key, value in _leaves({"audit": found}) if isinstance(value, int | float)
        }
    return values


def figures(run: "wandb.Run", cell: Cell, result: RunResult) -> dict[str, Any]:
    """Charts that W&B draws itself, and the examples where text may leave this machine."""
    config, details = cell.config, result.details
    shown: dict[str, Any] = {}
    if details.classify and details.classify.confusion:
        # names that were read from the data are text of the data
        public = config.wandb.log_text or config.dataset.label_names is not None
        shown["confusion"] = _confusion(run, details.classify, public)
    if deltas := _deltas(result.guarantee):
        shown["delta"] = _bars(run, deltas)
    if config.wandb.log_text and details.examples:
        shown["examples"] = _examples(run, details.examples)
    return shown


def _table(
    run: "wandb.Run", key: str, columns: list[str], rows: list[list[Value]]
) -> "wandb.Table":
    """A table that is a file of the run. W&B would make an artifact of it as well, which names a place of
    this machine; one that belongs to the run already is left alone.
    """
    import wandb

    table = wandb.Table(columns=[*columns], data=rows)
    table.bind_to_run(run, key, run.step)
    return table


def _confusion(run: "wandb.Run", classified: Classified, named: bool) -> Any:
    """W&B's own chart of a confusion matrix, from counts."""
    import wandb

    counts = classified.confusion or []
    numbers = [f"class {number + 1}" for number in range(len(counts))]
    names = classified.classes if named and classified.classes else numbers
    rows: list[list[Value]] = [
        [names[true], names[guess], count]
        for true, row in enumerate(counts)
        for guess, count in enumerate(row)
    ]
    columns = ["Actual", "Predicted", "nPredictions"]
    return wandb.plot_table(
        "wandb/confusion_matrix/v1",
        _table(run, "confusion_table", columns, rows),
        {name: name for name in columns},
        {"title": "classes of the test split"},
    )


def _deltas(guarantee: Guarantee) -> dict[str, float]:
    """log₁₀ δ at the claimed ε, as far as it is a number; δ = 0 has none."""
    known = {"claimed": guarantee.claimed.log10_delta, "exact": guarantee.exact.log10_delta}
    if guarantee.empirical and guarantee.empirical.delta_lower > 0:
        known["attacked (at least)"] = math.log10(guarantee.empirical.delta_lower)
    return {name: v for name, v in known.items() if v is not None and math.isfinite(v)}


def _bars(run: "wandb.Run", values: Mapping[str, float]) -> Any:
    import wandb

    columns = ["guarantee", "log10 δ"]
    table = _table(run, "delta_table", columns, [[name, value] for name, value in values.items()])
    title = "log10 δ at the claimed ε: claimed, exact, attacked"
    return wandb.plot.bar(table, columns[0], columns[1], title=title)


def _examples(run: "wandb.Run", examples: Sequence[Example]) -> "wandb.Table":
    kinds = [kind for kind, text in asdict(examples[0]).items() if text is not None]
    rows = [[getattr(example, kind) for kind in kinds] for example in examples]
    return _table(run, "examples", kinds, rows)


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Value]]:
    """Numbers, truths and short words with their paths; lists are left out."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}/")
        elif value is not None and not isinstance(value, list):
            yield prefix + key, value
