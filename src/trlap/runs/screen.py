"""The screen that a run ends with: what became of the text, what was promised, what is true, what to do next.

One column a run, at most a hundred characters wide. Every metric with its interval is in result.json and in
`summary=full` (trlap.runs.summary).
"""

import math
import textwrap
from collections.abc import Callable

from trlap.runs import summary
from trlap.runs.numbers import WHOLE, show_delta, show_number, show_odds, show_promise
from trlap.runs.result import DocumentGuarantee, RunResult
from trlap.runs.summary import VERDICTS, interpreter, tracked

WIDTH = 100
EXAMPLES = 2
LABEL = 34
# of a word: below, what the odds do is plain from ε
LARGE = 3.0
# of an attacker's success: a bound beyond this says nothing
ALL = 0.9995
PLACES = ("path=", "outputs=", "vocabulary=", "masked_lm=")
NOTHING = "–"
Cell = Callable[[RunResult], str]


def summarize(runs: list[RunResult], how: str) -> str:
    """`short`: side by side; `full`: one after the other."""
    return render(runs) if how == "short" else "\n\n".join(map(summary.render, runs))


def render(runs: list[RunResult]) -> str:
    """From results alone, so that a finished run is shown at once."""
    first = runs[0]
    head = [
        f"{first.dataset}, {sum(first.details.sizes.values()):,} sentences",
        first.embedding,
        f"protocol {first.protocol}",
        f"{sum(sum(run.seconds.values()) for run in runs):.0f} s",
    ]
    lines = ["trlap · " + " · ".join(head), "", *_examples(runs), *_table(runs), ""]
    lines += [*_explained(runs), "", *_next(first), ""]
    lines += [f"  results   {run.folder}/" for run in runs]
    lines += [f"  W&B       {line}" for line in tracked(first)]
    return "\n".join(line.rstrip() for line in lines)


def title(run: RunResult) -> str:
    return f"{run.mechanism} ε {show_number(run.epsilon)}" if run.noisy else run.mechanism


def _examples(runs: list[RunResult]) -> list[str]:
    """The same test sentences in every run, chosen by seed and not by beauty."""
    width = max(len("original"), len("  rewritten"), *(len(title(run)) for run in runs))
    lines: list[str] = []
    for number, example in enumerate(runs[0].details.examples[:EXAMPLES]):
        texts: list[tuple[str, str | None]] = [("original", example.original)]
        for run in runs:
            same = run.details.examples[number]
            texts += [(title(run), same.private), ("  rewritten", same.rewritten)]
        for label, text in texts:
            if text is not None:
                lines.append(_cut(f"  {label:<{width}}  {text or '(nothing)'}"))
        lines.append("")
    return lines


def _table(runs: list[RunResult]) -> list[str]:
    rows: list[tuple[str, Cell]] = [
        ("words kept", _kept),
        ("words kept once rewritten", _rewritten),
        (f"classifier{_chance(runs[0])}", _classified),
        (_promised_for(runs[0]), _promised),
        ("true δ at that ε", _true),
        ("δ that an attack shows", _shown),
        ("δ of the written word", _written),
        ("best attacker names", _named),
        ("texts told apart (chance 50%)", _told),
        (
            f"true ε at δ = 10⁻⁶, a {runs[0].unit}",
            lambda run: _number(run.guarantee.exact.epsilon_at_delta_1e6),
        ),
        (f"… a sentence{_length(runs[0])}", _sentence),
        ("VERDICT", _verdict),
    ]
    column = (WIDTH - LABEL) // max(2, len(runs))
    lines = ["".join([" " * LABEL, *(f"{title(run):<{column}}" for run in runs)])]
    for label, cell in rows:
        values = [cell(run) for run in runs]
        if any(value != NOTHING for value in values):
            lines.append("".join([f"  {label:<{LABEL - 2}}", *(f"{v:<{column}}" for v in values)]))
    return [_cut(line.rstrip()) for line in lines]


def _kept(run: RunResult) -> str:
    return _share(run.private_metrics.value("n_w"))


def _rewritten(run: RunResult) -> str:
    guess = run.metrics.n_w_length_alone
    floor = "" if guess is None else f" (a guess: {_share(guess)})"
    value = _share(run.metrics.value("n_w"))
    return value if value == NOTHING else value + floor


def _chance(run: RunResult) -> str:
    found = run.details.classify
    return "" if found is None or found.majority is None else f" (chance {found.majority:.0%})"


def _classified(run: RunResult) -> str:
    interval = run.metrics.interval("accuracy")
    value = _share(run.metrics.value("accuracy"))
    return value if interval is None else f"{value} ± {(interval[1] - interval[0]) / 2:.0%}"


def _promised(run: RunResult) -> str:
    claimed = run.guarantee.claimed
    if not run.noisy:
        return "nothing"
    if claimed.notion == "metric DP":
        return f"{show_number(claimed.epsilon)} × distance"
    return show_promise(claimed.epsilon, claimed.log10_delta)


def _true(run: RunResult) -> str:
    log10_delta = run.guarantee.exact.log10_delta
    # without noise no ε is promised at which there could be a δ
    return NOTHING if log10_delta is None or not run.noisy else show_delta(log10_delta)


def _shown(run: RunResult) -> str:
    attack = run.guarantee.empirical
    return NOTHING if attack is None or not run.noisy else f"≥ {attack.delta_lower:.3g}"


def _written(run: RunResult) -> str:
    word = run.guarantee.word
    if word is None or word.delta_lower is None or word.delta_upper is None or not sees_vector(run):
        return NOTHING
    if word.delta_lower == word.delta_upper:
        return show_number(word.delta_upper)
    return f"{word.delta_lower:.3g} to {word.delta_upper:.3g}"


def sees_vector(run: RunResult) -> bool:
    """Whether what is proven and attacked is a noisy vector, of which the written word is a function."""
    unknown = run.guarantee.let_through
    word = (run.guarantee if unknown is None else unknown.vocabulary).word
    return word is not None and word.delta_lower != word.delta_upper


def _named(run: RunResult) -> str:
    attacker = run.details.attacker
    if attacker is None:
        return NOTHING
    what = "words" if run.unit == "word" else "choices"
    return f"{_share(attacker.success)} of {what}{' *' if sees_vector(run) else ''}"


def _told(run: RunResult) -> str:
    """Pairs of equal length where the length is published, else any; and the pair that is told apart best."""
    found = run.details.which
    if found is None:
        return NOTHING
    pairs = found.equal if found.unit == "word" else found.any
    return " · ".join(
        f"{name}{_percent(told.success)}"
        for name, told in (("", pairs), ("worst ", found.worst))
        if told is not None
    )


def _promised_for(run: RunResult) -> str:
    """Of what the promise speaks; short enough for its column."""
    covers = run.guarantee.covers
    return f"promised for a {run.unit}" if covers is None else f"promised: {covers}"


def _median(run: RunResult) -> DocumentGuarantee | None:
    documents = run.guarantee.document
    return None if documents is None else documents.median


def _length(run: RunResult) -> str:
    median = _median(run)
    return "" if median is None else f" ({median.words} words)"


def _sentence(run: RunResult) -> str:
    # where the promise is for a document, the line before is its own
    if run.unit == "document":
        return NOTHING
    median = _median(run)
    composed = None if median is None else median.loss_distribution
    return NOTHING if composed is None else _number(composed.epsilon)


def _verdict(run: RunResult) -> str:
    return VERDICTS[run.guarantee.holds].upper() if run.noisy else "NO PROMISE"


def _share(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.1%}" if value < 0.0995 else f"{value:.0%}"


def _percent(value: float) -> str:
    """Only what is everything is 100 %."""
    return f"{value:.0%}" if value == 1 or value < 0.995 else ">99%"


def _number(value: float | None) -> str:
    return NOTHING if value is None else show_number(value)


def _explained(runs: list[RunResult]) -> list[str]:
    """What a reader who sees this for the first time has to know about the table."""
    lines = []
    details = runs[0].details
    if runs[0].unit == "document":
        if runs[0].guarantee.holds:
            label = (
                "its label is not" if runs[0].guarantee.covers is None else "and its label with it"
            )
            lines.append(
                f"protected is the whole text: its words, their order and their number; {label}"
            )
    elif details.attacker is not None and details.commonest is not None:
        lines.append(
            f"whoever always names the commonest word is right for {_share(details.commonest)}"
        )
        if any(sees_vector(run) for run in runs):
            lines[-1] += "; * sees the noisy vector, from which the word is made"
    lines += [line for run in runs[:1] if (line := _lengths(run))]
    lines += [line for run in runs if (line := _allowed(run))]
    if runs[0].unit == "document" and (line := summary.overlap(runs[0])):
        lines.append(line)
    if any(_invented(run) for run in runs):
        lines.append(
            "the rewritten sentences are invented, however fluent they read: a guess that knows the "
            "length alone keeps as many words or more"
        )
    lines += [_broken(run) for run in runs if run.guarantee.holds is False] + _possible(runs)
    lines += [line for run in runs if (line := _odds_of(run))]
    lines += [f"{title(run)}: {summary.SILENT}" for run in runs if summary.silent(run.guarantee)]
    if runs[0].details.vocabulary and not runs[0].details.vocabulary.public:
        lines.append("the vocabulary was made from the training split, which is taken to be public")
    return [part for line in lines for part in _wrapped(line)]


def _lengths(run: RunResult) -> str | None:
    """Of words: what is told before any of them is read."""
    found = run.details.which
    if found is None or found.unit != "word" or found.by_length is None:
        return None
    return (
        "texts told apart: who knows two sentences of equal length names the one that was privatised (worst: "
        f"two made of words that are far apart); of two at random, {_percent(found.by_length)} differ in "
        "length, which is published"
    )


def _allowed(run: RunResult) -> str | None:
    """Of whole texts: no attacker names more than (e^ε + δ)/(1 + e^ε), whatever the two texts are."""
    found = run.details.which
    if found is None or found.worst is None or found.worst.allowed is None or run.unit == "word":
        return None
    if found.worst.allowed > ALL:
        return None
    return (
        f"{title(run)}: whoever knows two texts names the one that was privatised in at most "
        f"{found.worst.allowed:.1%} of cases, whatever the texts and the attacker; chance is 50%"
    )


def _broken(run: RunResult) -> str:
    """What the release spends beyond its promise is its exact δ at that ε."""
    if run.guarantee.let_through is not None:
        return f"{title(run)} does not keep its promise: {run.guarantee.let_through.reason}"
    claimed = show_delta(run.guarantee.claimed.log10_delta)
    of = " of the noisy vector" if sees_vector(run) else ""
    return f"{title(run)} does not keep its promise: δ{of} is {_true(run)} and not {claimed}"


def _odds_of(run: RunResult) -> str | None:
    """Of a promise that is kept for every answer, δ = 0: what it lets the odds do."""
    exact, median = run.guarantee.exact, _median(run)
    basic = None if median is None else median.basic
    if not run.guarantee.holds or exact.epsilon is None or exact.log10_delta != -math.inf:
        return None
    if run.unit == "document":
        return (
            f"{title(run)}: the odds between any two texts, whatever their words, order and length, change "
            f"at most {show_odds(exact.epsilon)}-fold"
        )
    if basic is None or basic.log10_delta != -math.inf or exact.epsilon < LARGE:
        return None
    composed = None if median is None else median.loss_distribution
    least = basic.epsilon if composed is None else min(basic.epsilon, composed.epsilon)
    whole = ": no protection of a sentence as a whole" if least > WHOLE else ""
    # noise on vectors: nearly all answers tell less than the worst one
    mostly = f", but for a δ of 10⁻⁶ {show_odds(least)}-fold" if least < basic.epsilon / 2 else ""
    return (
        f"{title(run)}: the odds between two words change at most {show_odds(exact.epsilon)}-fold, "
        f"between two sentences of equal length {show_odds(basic.epsilon)}-fold{mostly}{whole}"
    )


def _possible(runs: list[RunResult]) -> list[str]:
    """Σ_w π(w) Q(w|w) ≤ e^ε Σ_w π(w) Q(w|v) ≤ e^ε max π: what any mechanism that is ε-DP can keep."""
    first, share = runs[0], runs[0].details.commonest
    if first.guarantee.holds is not False or share is None or len(runs) == 1:
        return []
    most = math.exp(first.epsilon) * share
    if most > 1:
        return []
    return [
        f"a promise of ε = {show_number(first.epsilon)} that is kept, with δ = 0, leaves at most "
        f"{_share(most)} of the words on average, whatever the mechanism: e^ε times the share of the "
        "commonest word"
    ]


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(
        line, WIDTH, initial_indent="  · ", subsequent_indent="    ", break_on_hyphens=False
    )


def _invented(run: RunResult) -> bool:
    guess, kept = run.metrics.n_w_length_alone, run.metrics.value("n_w")
    return guess is not None and kept is not None and kept <= guess


def _next(run: RunResult) -> list[str]:
    """Lines that work as they are printed."""
    python, command = interpreter(), run.provenance.command
    own = f"echo 'Call Mary.' | {python} scripts/privatize.py input=- output=- epsilon=8"
    if run.unit == "document":
        reads = "classify.debias=posterior classify.test_on=original"
        own = f"{python} run.py mechanism=drr epsilon=2 {reads}"
    ideas = [(f"{python} run.py -m experiment=smoke plan=true", "what would run"), (own, "")]
    # a command has the names of files and not their places
    if command is not None and not any(key in command for key in PLACES):
        ideas.insert(0, (f"{command.replace('python', python, 1)} summary=full", "all metrics"))
    labels = ["try next", *[""] * len(ideas)]
    return [
        f"  {label:<10}{line:<64}  {why}".rstrip()
        for label, (line, why) in zip(labels, ideas, strict=False)
    ]


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
