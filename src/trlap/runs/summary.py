"""What `summary=full` prints at the end of a run: every metric with its interval, and the guarantee in one line."""

import math
import os
import sys
from dataclasses import asdict
from pathlib import Path

from trlap.metrics.base import NOT_ASKED
from trlap.metrics.registry import in_order, ordered
from trlap.runs.numbers import show_delta, show_number, show_promise
from trlap.runs.result import Guarantee, RunResult, Scores

LABEL = 11
# where the exact ε is 0, as of a mechanism with one answer
SILENT = "the answers tell nothing, so that nothing can be learned from them; raise epsilon"
VERDICTS = {True: "holds", False: "DOES NOT HOLD", None: "nothing is known"}
WHOLE_TEXTS = (
    ("mechanism=drr epsilon=2", "a promise for whole texts"),
    ("mechanism=crr epsilon=4 unit=document", "one word of every text"),
)
IDEAS = (
    ("mechanism=crr epsilon=5", "keeps its promise"),
    ("protocol=tables mechanism=trlap", "what the paper's tables show"),
    ("mechanism=trlap epsilon=0.1", "the paper's mechanism"),
)


def render(result: RunResult) -> str:
    """The summary as plain text, from the result alone, so that a finished run is shown at once."""
    details = result.details
    head = [
        f"{result.dataset}, {sum(details.sizes.values()):,} sentences",
        result.embedding,
        f"mechanism {result.mechanism}",
        f"ε {show_number(result.epsilon)} a {result.unit}",
        f"protocol {result.protocol}",
        f"{sum(result.seconds.values()):.0f} s",
    ]
    lines = ["trlap · " + " · ".join(head), ""]
    for example in details.examples:
        known = {kind: text for kind, text in asdict(example).items() if text is not None}
        lines += [*(row(kind, text or "(nothing)") for kind, text in known.items()), ""]
    lines += _metric_rows(result)
    if "classify" in result.settings.stages:
        lines.append(row("classifier", _classified(result)))
    lines.append(row("guarantee", guarantee_line(result.guarantee, result.unit)))
    lines += _labelled("texts", told_apart(result))
    lines += _labelled("note", _notes(result))
    lines.append("")
    lines += _labelled("try next", _next(result))
    lines.append(row("results", f"{result.folder}/"))
    lines += [row("W&B", line) for line in tracked(result)]
    return "\n".join(line.rstrip() for line in lines)


def silent(guarantee: Guarantee) -> bool:
    """Whether answers are the same whatever is put in."""
    return guarantee.holds is True and guarantee.exact.epsilon_at_delta_1e6 == 0


def row(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"


def _labelled(label: str, texts: list[str]) -> list[str]:
    return [row("" if number else label, text) for number, text in enumerate(texts)]


def guarantee_line(guarantee: Guarantee, unit: str = "word") -> str:
    """Claimed, exact, attacked, and whether the claim holds, in one line.

    Of the projected word it says only what is known of the word.
    """
    claimed, exact, word = guarantee.claimed, guarantee.exact, guarantee.word
    unit = guarantee.covers or unit
    if claimed.notion == "none":
        return "none: the words are published as they are"
    metric = claimed.notion == "metric DP"
    if metric:
        epsilon = show_number(claimed.epsilon)
        parts = [f"claimed metric DP, {epsilon} times the distance ({claimed.distance}) per {unit}"]
    else:
        parts = [f"claimed {show_promise(claimed.epsilon, claimed.log10_delta)} per {unit}"]
    vector = word is not None and word.delta_lower != word.delta_upper
    if exact.epsilon is None or exact.log10_delta is None:
        parts.append("exact: not known")
    elif metric and exact.log10_delta == -math.inf:
        parts.append(f"exact, at the largest distance: {show_number(exact.epsilon)}-DP")
    else:
        where = " of the noisy vector" if vector else ""
        parts.append(f"exact δ{where} at that ε: {show_delta(exact.log10_delta)}")
    attack = guarantee.empirical
    if attack is not None and attack.delta_lower > 0 and attack.confidence:
        parts[-1] += f", attack ≥ {attack.delta_lower:.3g} ({attack.confidence:.0%})"
    parts.append(VERDICTS[guarantee.holds])
    if guarantee.let_through is not None:
        parts.append(guarantee.let_through.counted)
    if vector and word and guarantee.holds is False and word.delta_upper is not None:
        between = f"{word.delta_lower:.3g} and {word.delta_upper:.3g}"
        parts.append(f"projected word: δ between {between} ({word.verdict})")
    if exact.epsilon_at_delta_1e6 is not None:
        parts.append(f"ε at δ = 10⁻⁶: {show_number(exact.epsilon_at_delta_1e6)}")
    return " · ".join(parts)


def headline(result: RunResult) -> str:
    """The metrics of a cell in a few words, for the lines of a sweep."""
    rewritten, private = result.metrics, result.private_metrics
    ran = any(value is not None for value in rewritten.values.values())
    values = (rewritten if ran else private).values
    return "  ".join(
        f"{metric.label} {value:.{metric.summary_digits}f}"
        for metric in in_order(values)
        if (value := values[metric.name]) is not None
    )


def _metric_rows(result: RunResult) -> list[str]:
    private, rewritten = result.private_metrics, result.metrics
    lines = []
    if any(value is not None for value in private.values.values()):
        lines.append(f"private    {_metrics('private', private)}")
    if result.details.rewrite is not None and _metrics("rewritten", rewritten):
        lines.append(f"rewritten  {_metrics('rewritten', rewritten)}{_length(rewritten)}")
    if private.value("n_w") is not None or private.value("cosine") is not None:
        constant = private.best_constant("cosine")
        floor = "" if constant is None else f" (the best constant word scores {constant:.3f})"
        lines.append(
            f"N_w is the share of words kept; cosine 1 the same word, 0 an unrelated one{floor}"
        )
    return _labelled("metrics", lines)


def _metrics(text: str, scores: Scores) -> str:
    """Every metric of a text; accuracy, which belongs to a classifier, has a line of its own."""
    parts = []
    for metric in in_order(scores.values):
        if text not in metric.texts or metric.stage == "classify":
            continue
        value = scores.value(metric.name)
        if value is None and scores.reasons.get(metric.name) == NOT_ASKED:
            continue
        shown = "–" if value is None else f"{value:.{metric.summary_digits}f}"
        if metric.name in scores.intervals:
            low, high = scores.intervals[metric.name]
            shown += f" ± {(high - low) / 2:.{metric.summary_digits}f}"
        parts.append(f"{metric.label} {shown}")
    return "   ".join(parts)


def _length(scores: Scores) -> str:
    """N_w that needs no more than the length of a sentence: what is not above it was not in the words."""
    value = scores.n_w_length_alone
    return "" if value is None else f" (N_w from the length alone: {value:.3f})"


def _classified(result: RunResult) -> str:
    """Accuracy, what naming always the commonest class reaches, and what was read."""
    found = result.details.classify
    if found is None:
        return f"skipped: {result.metrics.reasons.get('accuracy', 'it did not run')}"
    low, high = result.metrics.intervals["accuracy"]
    inputs = found.inputs
    read = f"trained on {inputs.train_on}, tested on {inputs.test_on} text"
    if inputs.debias != "none":
        read += f", debias {inputs.debias}"
    seeds = len(found.runs)
    return (
        f"accuracy {found.accuracy:.3f} ± {(high - low) / 2:.3f} (majority {found.majority:.3f}) · "
        f"{read} · {seeds} seed{'s' * (seeds > 1)} · {found.protects}"
    )


def told_apart(result: RunResult) -> list[str]:
    """How often an attacker names which of two texts was privatised, and what is allowed at most."""
    found = result.details.which
    if found is None:
        return []
    kinds = {
        "two texts at random": found.any,
        "two of equal length": found.equal,
        f"the worst two ({found.worst_pair})": found.worst,
        "these by their noisy vectors": found.vector,
    }
    lines = [
        f"{kind}: told apart {told.success:.1%} ({told.interval[0]:.1%} to {told.interval[1]:.1%}; chance 50%"
        + ("" if told.allowed is None else f", at most {told.allowed:.1%} by the exact guarantee")
        + f") · ε ≥ {show_number(told.epsilon_lower)}"
        for kind, told in kinds.items()
        if told is not None
    ]
    if found.unit == "word" and found.by_length is not None:
        lines.append(
            f"their number of words alone tells {found.by_length:.1%} of random pairs apart"
        )
    return [*lines, f"scored by the {found.score}", *found.notes]


def overlap(result: RunResult) -> str | None:
    """To the curator: private texts that are public ones, which nobody may take out."""
    public = result.provenance.dataset.get("public") or {}
    both = public.get("also_in_train")
    if both is None:
        return None
    private = result.details.sizes.get("train", 0)
    if not both:
        return f"of {private:,} private training texts none is a public one word for word"
    return (
        f"of {private:,} private training texts {both:,} {'is a public one' if both == 1 else 'are public ones'} "
        f"word for word; {'it was' if both == 1 else 'they were'} not removed, since that would be to look at "
        "private text"
    )


def _notes(result: RunResult) -> list[str]:
    details, scores = result.details, result.private_metrics
    notes = list(details.notes)
    if "metrics" in result.settings.stages:
        said = [metric.note(scores) for metric in ordered()]
        notes += [note for note in said if note is not None]
    leaked = sum(counts.leaked for counts in details.privatize.values())
    if result.guarantee.let_through is not None:
        notes.append(result.guarantee.let_through.reason)
    elif leaked:
        notes.append(f"{leaked:,} unknown tokens were let through unprotected (oov=keep)")
    if (line := overlap(result)) is not None:
        notes.append(line)
    if details.vocabulary and not details.vocabulary.public:
        notes.append("the vocabulary was made from the training split, which is taken to be public")
    return notes


def _next(result: RunResult) -> list[str]:
    data = "" if result.dataset == "demo" else f" dataset={result.dataset}"
    done = f"protocol={result.protocol} mechanism={result.mechanism}"
    ideas = IDEAS if result.unit == "word" else WHOLE_TEXTS
    shown = [(line, why) for line, why in ideas if line.split(" eps")[0] not in done][:2]
    lines = [(f"{interpreter()} run.py {line}{data}", why) for line, why in shown]
    width = max(len(line) for line, _ in lines)
    return [f"{line:<{width}}   {why}" for line, why in lines]


def interpreter() -> str:
    """What to type for this Python: its place in the project, unless its environment is active."""
    here, environment = Path.cwd(), Path(sys.prefix)
    if os.environ.get("VIRTUAL_ENV") == sys.prefix or not environment.is_relative_to(here):
        return "python"
    return str((environment / "bin" / "python").relative_to(here))


def tracked(result: RunResult) -> list[str]:
    tracked = result.details.wandb
    if tracked is None or tracked.mode == "disabled":
        return []
    if tracked.error is not None:
        return [f"not logged: {tracked.error}"]
    if tracked.mode == "online":
        return [tracked.url or ""]
    folder = f"{result.folder}/wandb/offline-run-*"
    return [f"to send it: wandb sync {folder}"]
