"""What a run prints at its end: what was run, what came out, what it guarantees, what to try next."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trlap.mechanisms.base import Base
    from trlap.privatize.privatizer import Privatizer

LABEL = 11
NAMES = {
    **{"loss": "Loss", "rouge1": "Rouge1", "bleu": "BLEU", "n_w": "N_w"},
    **{"bertscore": "BERTScore", "cosine": "cosine"},
}


def render(result: Mapping[str, Any]) -> str:
    """The summary as plain text. Reads result.json alone, so a finished run is shown at once."""
    details = result["details"]
    head = [
        f"{result['dataset']}, {sum(details['sizes'].values()):,} sentences",
        result["embedding"],
        f"mechanism {result['mechanism']}",
        f"ε {_number(result['epsilon'])} a word",
        f"protocol {result['protocol']}",
        f"{sum(result['seconds'].values()):.0f} s",
    ]
    lines = ["trlap · " + " · ".join(head), ""]
    for example in details["examples"]:
        lines += [*(_row(key, text or "(nothing)") for key, text in example.items()), ""]
    if details["examples"]:
        lines.append(_row("metrics", f"private    {_metrics(result, 'private_metrics')}"))
        if "rewritten" in details["examples"][0]:
            lines.append(_row("", f"rewritten  {_metrics(result, 'metrics')}{_length(details)}"))
        meaning = f"N_w is the share of words kept; cosine 1 the same word, 0 an unrelated one{_constant(details)}"
        lines.append(_row("", meaning))
    if details.get("classify"):  # older results have no such block
        lines.append(_row("classifier", _classified(result)))
    lines.append(_row("guarantee", guarantee_line(result["guarantee"])))
    lines += [_row("note" if i == 0 else "", note) for i, note in enumerate(_notes(result))]
    lines.append("")
    lines += [_row("try next" if i == 0 else "", line) for i, line in enumerate(_next(result))]
    lines.append(_row("results", f"{result['folder']}/"))
    lines += [_row("W&B", line) for line in _tracked(result)]
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
    from trlap.audit.exact import composed_epsilon

    pure = mechanism.epsilon_at(-math.inf)
    basic = "" if math.isinf(pure) else f"{_number(words * pure)}-DP by adding up, "
    composed, _ = composed_epsilon(mechanism, math.log(1e-6), words)
    return f"{label} text of {words:,} words: {basic}({_number(composed)}, 10⁻⁶)-DP composed"


def _median(lengths: Counter[int]) -> int:
    half, seen = lengths.total() / 2, 0
    for words in sorted(lengths):
        seen += lengths[words]
        if seen >= half:
            return words
    return 0


def guarantee_line(guarantee: Mapping[str, Any]) -> str:
    """Claimed, exact, attacked, and whether the claim holds, in one line.

    Of the projected word it says only what is known of the word.
    """
    claimed, exact, attack = (guarantee[key] for key in ("claimed", "exact", "empirical"))
    if claimed["notion"] == "none":
        return "none: the words are published as they are"
    metric = claimed["notion"] == "metric DP"
    epsilon = _number(claimed["epsilon"])
    if metric:
        parts = [
            f"claimed metric DP, {epsilon} times the distance ({claimed['distance']}) per word"
        ]
    else:
        parts = [f"claimed {_promise(claimed['epsilon'], claimed['log10_delta'])} per word"]
    word = guarantee["word"]
    vector = word is not None and word["delta_lower"] != word["delta_upper"]
    if exact["epsilon"] is None:
        parts.append("exact: not known")
    elif metric and _float(exact["log10_delta"]) == -math.inf:
        parts.append(f"exact, at the largest distance: {_number(exact['epsilon'])}-DP")
    else:
        where = " of the noisy vector" if vector else ""
        parts.append(f"exact δ{where} at that ε: {_delta(exact['log10_delta'])}")
    if attack is not None and attack["delta_lower"] > 0 and attack["confidence"]:
        parts[-1] += f", attack ≥ {attack['delta_lower']:.3g} ({attack['confidence']:.0%})"
    verdict = {True: "holds", False: "DOES NOT HOLD", None: "nothing is known"}
    parts.append(verdict[guarantee["holds"]])
    if vector and guarantee["holds"] is False and word["delta_upper"] is not None:
        low, high = (f"{word[key]:.3g}" for key in ("delta_lower", "delta_upper"))
        parts.append(f"projected word: δ between {low} and {high} ({word['verdict']})")
    if exact["epsilon_at_delta_1e6"] is not None:
        parts.append(f"ε at δ = 10⁻⁶: {_number(exact['epsilon_at_delta_1e6'])}")
    return " · ".join(parts)


def _constant(details: Mapping[str, Any]) -> str:
    """What printing always the same word would score: the floor under every cosine."""
    value = details["private_metrics"].get("cosine_best_constant")
    return "" if value is None else f" (the best constant word scores {value:.3f})"


def _length(details: Mapping[str, Any]) -> str:
    """N_w that needs no more than the length of a sentence: what is not above it was not in the words."""
    value = details["metrics"].get("n_w_length_alone")
    return "" if value is None else f" (N_w from the length alone: {value:.3f})"


def _classified(result: Mapping[str, Any]) -> str:
    """Accuracy, what naming always the commonest class reaches, and what was read."""
    found = result["details"]["classify"]
    if "reason" in found:
        return f"skipped: {found['reason']}"
    low, high = result["intervals"]["metrics"]["accuracy"]
    inputs = found["inputs"]
    read = f"trained on {inputs['train_on']}, tested on {inputs['test_on']} text"
    if inputs["debias"] != "none":
        read += f", debias {inputs['debias']}"
    seeds = len(found["runs"])
    return (
        f"accuracy {found['accuracy']:.3f} ± {(high - low) / 2:.3f} (majority {found['majority']:.3f}) · "
        f"{read} · {seeds} seed{'s' * (seeds > 1)} · {found['protects']}"
    )


def _row(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"


def _metrics(result: Mapping[str, Any], block: str) -> str:
    values, intervals = result[block], result["intervals"][block]
    parts = []
    for key, name in NAMES.items():
        if key not in values:
            continue
        digits = 1 if key in ("rouge1", "bleu", "loss") else 3
        text = "–" if values[key] is None else f"{values[key]:.{digits}f}"
        if key in intervals:
            text += f" ± {(intervals[key][1] - intervals[key][0]) / 2:.{digits}f}"
        parts.append(f"{name} {text}")
    return "   ".join(parts)


def headline(result: Mapping[str, Any]) -> str:
    """The metrics of a cell in a few words, for the lines of a sweep."""
    ran = any(value is not None for value in result["metrics"].values())
    values = result["metrics" if ran else "private_metrics"]
    digits = {"loss": 1, "rouge1": 1, "bleu": 1}
    shown = [(name, key, values.get(key)) for key, name in NAMES.items()]
    return "  ".join(f"{n} {v:.{digits.get(k, 3)}f}" for n, k, v in shown if v is not None)


def _tracked(result: Mapping[str, Any]) -> list[str]:
    found = result["details"].get("wandb", {"mode": "disabled"})
    if "error" in found:
        return [f"not logged: {found['error']}"]
    offline = (
        f"wandb sync {result['folder']}/wandb/offline-run-*   sends this run, if you want it there"
    )
    lines = {"disabled": [], "offline": [offline], "online": [found.get("url", "")]}
    return lines[found["mode"]]


def _notes(result: Mapping[str, Any]) -> list[str]:
    details = result["details"]
    notes = list(details["notes"])
    if result["private_metrics"]["bertscore"] is not None:
        bert = result["provenance"]["metrics"]["bertscore"]
        if not bert["comparable_with_paper"]:
            notes.append(
                f"BERTScore is {bert['model']}'s: not comparable with the paper's roberta-large"
            )
    elif (
        details["examples"] and "switched off" not in result["reasons"]["private_metrics.bertscore"]
    ):
        reason = result["reasons"]["private_metrics.bertscore"]
        notes.append(f"BERTScore: {reason}; force=true tries again")
    leaked = sum(split["leaked"] for split in details["privatize"].values())
    if leaked:
        notes.append(f"{leaked:,} unknown tokens were let through unprotected (oov=keep)")
    if not details["vocabulary"]["public"]:
        notes.append("the vocabulary was made from the training split, which is taken to be public")
    return notes


def _next(result: Mapping[str, Any]) -> list[str]:
    data = "" if result["dataset"] == "demo" else f" dataset={result['dataset']}"
    ideas = [
        ("mechanism=crr epsilon=5", "keeps its promise"),
        ("protocol=release mechanism=trlap", "what the paper's tables show"),
        ("mechanism=trlap epsilon=0.1", "the paper's mechanism"),
    ]
    done = f"protocol={result['protocol']} mechanism={result['mechanism']}"
    shown = [(line, why) for line, why in ideas if line.split(" eps")[0] not in done][:2]
    lines = [(f"python run.py {line}{data}", why) for line, why in shown]
    width = max(len(line) for line, _ in lines)
    return [f"{line:<{width}}   {why}" for line, why in lines]


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
