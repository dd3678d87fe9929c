"""What scripts/privatize.py says at its end: what was done to the text, what that guarantees, what not."""

import math
from collections import Counter
from typing import TYPE_CHECKING

from trlap.runs.numbers import WHOLE, show_number, show_odds
from trlap.runs.summary import guarantee_line, row

if TYPE_CHECKING:
    from trlap.mechanisms.base import Mechanism
    from trlap.privatize.privatizer import Privatizer

# answers with words at such an ε keep four of five of them
NEARLY_ALL = 10.0


def own_text(privatizer: "Privatizer", output: str) -> str:
    """It shows no text, neither original nor private."""
    mechanism, lengths = privatizer.mechanism, privatizer.lengths
    words, texts = privatizer.tokens, lengths.total()
    lines = [
        f"trlap · {texts:,} texts, {words:,} words · mechanism {mechanism.name} · to {output}",
        "",
    ]
    lines.append(row("guarantee", guarantee_line(privatizer.guarantee)))
    if mechanism.private:
        lines += [row("", line) for line in _documents(privatizer)]
    known = f"{privatizer.unknown:,} of {words:,} words are outside the vocabulary"
    if privatizer.oov == "keep":
        lines.append(row("LEAKED", f"{known} and were let through unprotected (oov=keep)"))
    else:
        read = "privatised as" if mechanism.private else "replaced by"
        lines.append(row("unknown", f"{known}; each was {read} <unk>"))
    done = "every word was privatised once, for itself" if mechanism.private else "that is all"
    lines.append(row("note", f"case and spacing are normalised; {done}"))
    unprotected = "the number of words in a text, the order of texts, labels and other columns"
    lines.append(row("", f"not protected: {unprotected},"))
    lines.append(row("", "names of columns, and of parquet its metadata and index"))
    return "\n".join(lines)


def _documents(privatizer: "Privatizer") -> list[str]:
    """What is guaranteed to the median and to the longest text, and what that means."""
    mechanism, lengths = privatizer.mechanism, privatizer.lengths
    counts = {"median": _median(lengths), "longest": max(lengths, default=0)}
    counts = {label: words for label, words in counts.items() if words}
    if privatizer.oov == "keep":
        return [
            f"{label} text of {words:,} words: no bound, since unknown words are let through"
            for label, words in counts.items()
        ]
    pure, composed, lines = mechanism.epsilon_at(-math.inf), 0.0, []
    for label, words in counts.items():
        basic = "" if math.isinf(pure) else f"{show_number(words * pure)}-DP by adding up, "
        composed = mechanism.compose(math.log(1e-6), words).epsilon
        lines.append(
            f"{label} text of {words:,} words: {basic}({show_number(composed)}, 10⁻⁶)-DP composed"
        )
    return lines if math.isinf(pure) else [*lines, *_meaning(mechanism, pure, composed)]


def _meaning(mechanism: "Mechanism", pure: float, longest: float) -> list[str]:
    """What its pure ε lets happen to a word, and the ε of the longest text to that."""
    lines = [f"the odds between two words change at most {show_odds(pure)}-fold"]
    if mechanism.point == "word" and not mechanism.claimed().metric and pure >= NEARLY_ALL:
        lines.append("at such an ε most words can stay as they are: it is nearly the text itself")
    if longest > WHOLE:
        lines.append("a text as a whole is not protected: budgets add up over its words")
    return lines


def _median(lengths: Counter[int]) -> int:
    half, seen = lengths.total() / 2, 0
    for words in sorted(lengths):
        seen += lengths[words]
        if seen >= half:
            return words
    return 0
