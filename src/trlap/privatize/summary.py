"""What scripts/privatize.py says at its end: what was done to the text, what that guarantees, what not."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trlap.runs.numbers import WHOLE, show_number, show_odds
from trlap.runs.summary import SILENT, guarantee_line, row, silent

if TYPE_CHECKING:
    from trlap.documents.candidates import Candidates
    from trlap.mechanisms.base import Mechanism
    from trlap.privatize.answers import Tally
    from trlap.privatize.privatizer import Privatizer

# a label and a line, again and again
Labelled = Iterator[tuple[str, str]]
# answers with words at such an ε keep four of five of them
NEARLY_ALL = 10.0


def own_text(privatizer: "Privatizer", output: str) -> str:
    """It shows no text, neither original nor private."""
    mechanism, answers = privatizer.mechanism, privatizer.answers
    head = f"trlap · {privatizer.lengths.total():,} texts"
    if answers.counted == "tokens":
        head += f", {privatizer.tokens:,} {'answers' if answers.document else 'words'}"
    lines = [f"{head} · mechanism {mechanism.name} · to {output}", ""]
    unit = "document" if answers.document else "word"
    lines.append(row("guarantee", guarantee_line(privatizer.guarantee, unit)))
    if answers.document:
        lines += [row("", line) for line in _whole_texts(privatizer)]
    elif mechanism.private:
        lines += [row("", line) for line in _documents(privatizer)]
    if silent(privatizer.guarantee):
        lines.append(row("", SILENT))
    lines += [row(label, line) for label, line in answers.about(privatizer.tally)]
    return "\n".join(lines)


def about_words(mechanism: "Mechanism", tally: "Tally", oov: str, picked: int | None) -> Labelled:
    """What became of the words, and what is not protected. `picked`: of each text so many; None: all."""
    words = sum(count * texts for count, texts in tally.lengths.items())
    known = f"{tally.unknown:,} of {words:,} words are outside the vocabulary"
    if oov == "keep":
        yield "LEAKED", f"{known} and were let through unprotected (oov=keep)"
    elif picked is not None:
        of_picked = f"{tally.unknown:,} of {words:,} picked words are outside the vocabulary"
        yield "unknown", f"{of_picked}; for each <unk> was answered. Keep this number to yourself"
    else:
        read = "privatised as" if mechanism.private else "replaced by"
        yield "unknown", f"{known}; each was {read} <unk>"
    if picked is not None:
        yield "note", "what is written of a text is answers for some of its words, and no sentence"
        yield from _unprotected("the number of texts and their order")
        return
    done = "every word was privatised once, for itself" if mechanism.private else "that is all"
    yield "note", f"case and spacing are normalised; {done}"
    yield (
        "",
        "not protected: the number of words in a text, the order of texts, labels and other columns,",
    )
    yield "", "names of columns, and of parquet its metadata and index"


def about_texts(mechanism: "Mechanism", tally: "Tally", candidates: "Candidates") -> Labelled:
    """With what texts were answered, how many are public themselves, and what is not protected."""
    K, texts = candidates.size, tally.lengths.total()
    # e^ε / (e^ε + K − 1), for any ε
    nearest = 1 / (1 + (K - 1) * math.exp(-mechanism.epsilon))
    yield (
        "answers",
        f"each is one of K = {K} public texts, the nearest to the text with probability "
        f"{nearest:.3g}, any other with {(1 - nearest) / (K - 1):.3g} each",
    )
    yield "", f"{candidates.sets.size:,} public texts, in {len(candidates.sets):,} sets of {K}"
    yield (
        "for you",
        f"{tally.known:,} of {texts:,} texts are word for word among the public ones; they are counted and "
        "answered like all others. Keep this number to yourself",
    )
    yield "note", "the public texts are printed as they stand, and they are somebody's"
    yield from _unprotected("the number of texts and their order")


def _unprotected(first: str) -> Labelled:
    yield "", f"not protected: {first}, which values are null, labels and other columns,"
    yield "", "names of columns, and of parquet its metadata and index"
    yield "", "many texts of one person add up: ε times their number"


def _whole_texts(privatizer: "Privatizer") -> list[str]:
    """What the ε of a document means."""
    exact = privatizer.guarantee.exact
    if exact.epsilon is None or exact.log10_delta != -math.inf:
        return ["between any two texts, whatever their words, order and length"]
    lines = [
        "whatever a text says, however long: the odds of any two texts change at most "
        f"e^ε-fold ({show_odds(exact.epsilon)}-fold)"
    ]
    if exact.epsilon > WHOLE:
        lines.append("at such an ε an answer can all but name the text")
    return lines


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
