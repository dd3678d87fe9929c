"""What a run prints at its end: what was run, what came out, what it guarantees, what to try next."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trlap.mechanism import Base
    from trlap.privatizer import Privatizer

LABEL = 11
NAMES = {
    "rouge1": "Rouge1",
    "bleu": "BLEU",
    "n_w": "N_w",
    "bertscore": "BERTScore",
    "cosine": "cosine",
}


def render(result: Mapping[str, Any]) -> str:
    """The summary as plain text. Reads result.json alone, so a finished run is shown at once."""
    details = result["details"]
    sentences = sum(split["sentences"] for split in details["privatize"].values())
    head = [
        f"{result['dataset']}, {sentences:,} sentences",
        result["embedding"],
        f"mechanism {result['mechanism']}",
        f"ε {_number(result['epsilon'])} a word",
        f"protocol {result['protocol']}",
        f"{sum(result['seconds'].values()):.0f} s",
    ]
    lines = ["trlap · " + " · ".join(head), ""]
    for example in details["examples"]:
        lines += [_row("original", example["original"]), _row("private", example["private"]), ""]
    lines.append(_row("metrics", _metrics(result)))
    lines.append(
        _row(
            "",
            "of the private test sentences against the originals; cosine: 0 is unrelated, 1 is the same word",
        )
    )
    lines += [_row("note", note) for note in _notes(result)]
    lines.append(_row("guarantee", guarantee_line(result["guarantee"])))
    lines.append("")
    tries = _next(result)
    lines += [_row("try next" if i == 0 else "", line) for i, line in enumerate(tries)]
    lines.append(_row("results", f"{result['folder']}/"))
    return "\n".join(line.rstrip() for line in lines)


def own_text(privatizer: "Privatizer", sample: Sequence[str], output: str) -> str:
    """What scripts/privatize.py says at its end."""
    from trlap.audit.exact import guarantee

    mechanism, lengths = privatizer.mechanism, privatizer.lengths
    words, texts = privatizer.tokens, lengths.total()
    lines = [
        f"trlap · {texts:,} texts, {words:,} words · mechanism {mechanism.name} · to {output}",
        "",
    ]
    if sample:
        lines += [_row("original", sample[0]), _row("private", sample[1]), ""]
    lines.append(_row("guarantee", guarantee_line(guarantee(mechanism))))
    for label, count in (("median", _median(lengths)), ("longest", max(lengths, default=0))):
        if count:
            lines.append(_row("", _document(mechanism, label, count)))
    known = f"{privatizer.unknown:,} of {words:,} words are outside the vocabulary"
    if privatizer.oov == "keep":
        lines.append(_row("LEAKED", f"{known} and were let through unprotected (oov=keep)"))
    else:
        lines.append(_row("unknown", f"{known}; each was privatised as <unk>"))
    lines.append(
        _row("note", "case and spacing are normalised; every word was privatised once, for itself")
    )
    lines.append(
        _row(
            "",
            "not protected: the number of words in a text, the order of texts, labels and other columns",
        )
    )
    return "\n".join(lines)


def _document(mechanism: "Base", label: str, words: int) -> str:
    pure = mechanism.epsilon_at(-math.inf)
    basic = "" if math.isinf(pure) else f"{_number(words * pure)}-DP by adding up, "
    composed = mechanism.composed_epsilon(math.log(1e-6), words)
    return f"{label} text of {words:,} words: {basic}({_number(composed)}, 10⁻⁶)-DP composed"


def _median(lengths: Counter[int]) -> int:
    half, seen = lengths.total() / 2, 0
    for words in sorted(lengths):
        seen += lengths[words]
        if seen >= half:
            return words
    return 0


def guarantee_line(guarantee: Mapping[str, Any]) -> str:
    """Claimed, exact, and whether the claim holds, in one line."""
    claimed, exact = guarantee["claimed"], guarantee["exact"]
    if claimed["notion"] == "none":
        return "none: the words are published as they are"
    claim = f"claimed {_promise(claimed['epsilon'], claimed['log10_delta'])} per word"
    true = f"exact δ of the noisy vector at that ε: {_delta(exact['log10_delta'])}"
    at_small = f"ε at δ=10⁻⁶: {_number(exact['epsilon_at_delta_1e6'])}"
    verdict = "holds" if guarantee["holds"] else "DOES NOT HOLD"
    return f"{claim} · {true} · {verdict} · {at_small}"


def _row(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"


def _metrics(result: Mapping[str, Any]) -> str:
    values, intervals = result["private_metrics"], result["intervals"]["private_metrics"]
    parts = []
    for key, name in NAMES.items():
        value = values.get(key)
        if value is None:
            parts.append(f"{name} –")
            continue
        digits = 1 if key in ("rouge1", "bleu") else 3
        half = (intervals[key][1] - intervals[key][0]) / 2 if key in intervals else None
        parts.append(
            f"{name} {value:.{digits}f}" + (f" ± {half:.{digits}f}" if half is not None else "")
        )
    return "   ".join(parts)


def _notes(result: Mapping[str, Any]) -> list[str]:
    details = result["details"]
    notes = list(details["notes"])
    bert = result["provenance"]["metrics"].get("bertscore", {})
    if result["private_metrics"].get("bertscore") is not None and not bert.get(
        "comparable_with_paper"
    ):
        notes.append(
            f"BERTScore is {bert.get('model')}'s: not comparable with the paper's roberta-large"
        )
    for key, reason in result["reasons"].items():
        if key.startswith("private_metrics."):
            notes.append(f"{NAMES[key.partition('.')[2]]}: {reason}")
    leaked = sum(split["leaked"] for split in details["privatize"].values())
    if leaked:
        notes.append(f"{leaked:,} unknown tokens were let through unprotected (oov=keep)")
    if not details["vocabulary"]["public"]:
        notes.append("the vocabulary was made from the training split, which is taken to be public")
    return notes


def _next(result: Mapping[str, Any]) -> list[str]:
    data = "" if result["dataset"] == "demo" else f" dataset={result['dataset']}"
    ideas = {
        f"python run.py mechanism=none{data}": "the same text without noise",
        f"python run.py mechanism=gaussian epsilon=1 delta=1e-6 calibration=exact{data}": "keeps its promise",
        f"python run.py mechanism=trlap epsilon=0.1{data}": "the paper's mechanism",
    }
    shown = [(line, why) for line, why in ideas.items() if f"={result['mechanism']}" not in line][
        :2
    ]
    width = max(len(line) for line, _ in shown)
    return [f"{line:<{width}}   {why}" for line, why in shown]


def _promise(epsilon: Any, log10_delta: Any) -> str:
    if _float(log10_delta) == -math.inf:
        return f"{_number(epsilon)}-DP"
    return f"({_number(epsilon)}, {_delta(log10_delta)})-DP"


def _delta(log10_delta: Any) -> str:
    value = _float(log10_delta)
    if value == -math.inf:
        return "0"
    if value > -3:
        return f"{10**value:.3g}"
    exponent = math.floor(value + 0.0022)  # so that 9.95 becomes 1 of the next power
    mantissa = f"{10 ** (value - exponent):.2g}"
    power = f"10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    return power if mantissa == "1" else f"{mantissa}·{power}"


def _number(value: Any) -> str:
    number = _float(value)
    return "∞" if number == math.inf else f"{number:.4g}"


def _float(value: Any) -> float:
    return float(value)  # "inf" and "-inf" are strings in strict JSON
