"""The paper's claims, each put to a stated test on the results at hand. Nothing here is written by hand.

Every comparison of two cells uses their 95 % bootstrap intervals over test sentences: "more" is confirmed
where the whole interval lies above the other, refuted where it lies below, and undecided between. "Within a
point" is confirmed where the values are, and refuted where the whole intervals are further apart. Claims
about the mechanism itself are decided by its formulas.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trlap.privacy import noise as privacy
from trlap.report.tables import PROTOCOLS, comparable

if TYPE_CHECKING:
    import pandas as pd

CONFIRMED, REFUTED, UNDECIDED, NOT_RUN = "confirmed", "refuted", "undecided", "not yet run"
DIMENSION = 300  # of the paper's vectors
BUDGETS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)


@dataclass
class Verdict:
    claim: str
    test: str
    protocol: str  # or "both", of the mechanism itself
    verdict: str
    numbers: list[str]


def check_claims(results: "pd.DataFrame") -> list[Verdict]:
    found = [*_guarantee(), *_variance()]
    usable = comparable(results)
    for claim, metric, test, judge in (
        (
            "TrLap stays within one point of the non-private model at every ε",
            "rouge1",
            "Rouge1 of the rewritten text, trlap against none, every ε that was run",
            _within(1.0, ("trlap",), lambda epsilon: True),
        ),
        (
            "Gaussian and Laplacian noise destroy the text for ε < 1",
            "rouge1",
            "Rouge1 of the rewritten text at the smallest ε below 1 is under half of the non-private one",
            _collapse,
        ),
        (
            "Gaussian noise keeps more than Laplacian noise",
            "rouge1",
            "Rouge1 of the rewritten text, gaussian against laplace, every ε that was run for both",
            _gaussian_first,
        ),
        (
            "Downstream accuracy with TrLap is stable down to ε = 0.01",
            "accuracy",
            "accuracy, trlap against none, every ε up to 1 that was run: within two points",
            _within(0.02, ("trlap",), lambda epsilon: epsilon <= 1),
        ),
    ):
        for protocol in PROTOCOLS:
            own = usable if usable.empty else usable[usable.protocol == protocol]
            found.append(Verdict(claim, test, protocol, *judge(_cells(own, metric), metric)))
    return found


Cells = dict[
    tuple[str, str, float], tuple[float, float, float]
]  # group, mechanism, ε: low, mean, high
Judge = Callable[[Cells, str], tuple[str, list[str]]]


def _cells(rows: "pd.DataFrame", metric: str) -> Cells:
    """Value and interval of each cell; with several seeds, of the first.

    Accuracies count where training and test texts are both private, or both original as the release has
    them, and the noise is not undone.
    """
    cells: Cells = {}
    if rows.empty:
        return cells
    for row in rows.sort_values("seed").to_dict("records"):
        value = row[metric]
        if value is None or value != value:
            continue
        # without an interval nothing can be refuted
        low, high = row["result"]["intervals"]["metrics"].get(metric, (-math.inf, math.inf))
        group = f"{row['dataset']}, {row['embedding']}, {row['size']}"
        if metric == "accuracy":
            found, config = (
                row["result"]["details"]["classify"],
                row["result"]["provenance"]["config"],
            )
            side = "private" if row["protocol"] == "paper" else "original"
            if found["inputs"] != {"train_on": side, "test_on": side, "debias": "none"}:
                continue
            learned = config["classifier"]
            group += (
                f", {learned['name']}, lr {learned['lr']:g}, patience {learned.get('patience')}"
            )
            group += f", seeds: {len(found['runs'])}"
        cells.setdefault((group, row["mechanism"], row["epsilon"]), (low, value, high))
    return cells


def _within(margin: float, mechanisms: Sequence[str], wanted: Callable[[float], bool]) -> Judge:
    def judge(cells: Cells, metric: str) -> tuple[str, list[str]]:
        verdicts, numbers = [], []
        for (group, mechanism, epsilon), (_, value, high) in sorted(cells.items()):
            plain = cells.get((group, "none", math.inf))
            if mechanism not in mechanisms or plain is None or not wanted(epsilon):
                continue
            numbers.append(f"ε = {epsilon:g}: {_show(value)} against {_show(plain[1])} ({group})")
            if plain[1] - value <= margin:
                verdicts.append(CONFIRMED)
            else:
                verdicts.append(REFUTED if plain[0] - high > margin else UNDECIDED)
        return _all(verdicts), numbers

    return judge


def _collapse(cells: Cells, metric: str) -> tuple[str, list[str]]:
    verdicts, numbers = [], []
    groups = sorted({(group, mechanism) for group, mechanism, _ in cells})
    for group, mechanism in groups:
        small = [e for g, m, e in cells if (g, m) == (group, mechanism) and e < 1]
        plain = cells.get((group, "none", math.inf))
        if mechanism not in ("gaussian", "laplace") or plain is None or not small:
            continue
        low, value, high = cells[group, mechanism, min(small)]
        numbers.append(
            f"{mechanism}, ε = {min(small):g}: {_show(value)} against {_show(plain[1])} ({group})"
        )
        if high < plain[0] / 2:
            verdicts.append(CONFIRMED)
        else:
            verdicts.append(REFUTED if low > plain[2] / 2 else UNDECIDED)
    return _all(verdicts), numbers


def _gaussian_first(cells: Cells, metric: str) -> tuple[str, list[str]]:
    verdicts, numbers = [], []
    for (group, mechanism, epsilon), (low, value, high) in sorted(cells.items()):
        other = cells.get((group, "laplace", epsilon))
        if mechanism != "gaussian" or other is None:
            continue
        numbers.append(f"ε = {epsilon:g}: {_show(value)} against {_show(other[1])} ({group})")
        if low > other[2]:
            verdicts.append(CONFIRMED)
        else:
            verdicts.append(REFUTED if high < other[0] else UNDECIDED)
    return _all(verdicts), numbers


def _all(verdicts: Sequence[str]) -> str:
    """A claim about every cell: one counter-example refutes it."""
    if not verdicts:
        return NOT_RUN
    if REFUTED in verdicts:
        return REFUTED
    return CONFIRMED if set(verdicts) == {CONFIRMED} else UNDECIDED


def _guarantee() -> list[Verdict]:
    """Theorem 1 by the exact δ of the noisy vector, as published, at each ε of the paper."""
    numbers, holds = [], []
    for epsilon in BUDGETS:
        nominal = privacy.trlap_dummy_dimension(epsilon, DIMENSION)
        log_delta = privacy.paper_log_delta(nominal)
        alpha, A, _ = privacy.trlap_parameters(epsilon, log_delta, nominal, 1.0)
        exact = privacy.worst_log_delta(epsilon, alpha, A, DIMENSION, 1.0)[0]
        holds.append(exact <= log_delta)
        claimed = privacy.log_to_log10(log_delta)
        numbers.append(
            f"ε = {epsilon:g}: claimed δ = 10^{claimed:.0f}, exact {math.exp(exact):.3f}"
        )
    verdict = CONFIRMED if all(holds) else REFUTED
    return [
        Verdict(
            "TrLap is (ε, δ)-differentially private for δ = 4⁻ᵈ (Theorem 1)",
            f"exact δ of the noisy vector at the nominal ε, d = {DIMENSION}, the paper's eight budgets",
            "paper",
            verdict,
            numbers,
        ),
        Verdict(
            "TrLap is (ε, δ)-differentially private for δ = 4⁻ᵈ (Theorem 1)",
            "one noise vector is shared by a batch: with one word of it known, the noise is known",
            "release",
            REFUTED,
            ["exact δ = 1 at every ε"],
        ),
    ]


def _variance() -> list[Verdict]:
    """Theorem 2 at the paper's δ, and what is left of it where the truncation is valid."""
    numbers, lower = [], []
    for epsilon in BUDGETS[:6]:  # beyond 8.66 the formula needs dummy dimensions
        log_delta = privacy.paper_log_delta(DIMENSION)
        gaussian, laplace, truncated = privacy.published_variances(
            epsilon, log_delta, DIMENSION, 1.0
        )
        lower.append(truncated < min(gaussian, laplace))
        numbers.append(
            f"ε = {epsilon:g}: trlap {truncated:.3g}C², laplace {laplace:.3g}C², gaussian {gaussian:.3g}C²"
        )
    A = privacy.trlap_truncation_exact(1.0, math.log(1e-5), DIMENSION, 1.0)
    alpha = 1.0 / (2 * math.sqrt(DIMENSION))
    ratio = privacy.trlap_variance(alpha, A) * alpha**2 / 2
    numbers.append(
        f"with the smallest truncation that keeps (1, 10⁻⁵)-DP, A = {A:.0f}C: {ratio:.4f} of Laplace's variance"
    )
    return [
        Verdict(
            "TrLap has lower variance than Gaussian and Laplacian noise (Theorem 2)",
            "the variances of a coordinate in closed form, for the A of Theorem 1, which does not give its guarantee",
            "both",
            CONFIRMED if all(lower) else REFUTED,
            numbers,
        )
    ]


def _show(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def as_rows(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    return [asdict(verdict) for verdict in verdicts]


def markdown(verdicts: Sequence[Verdict]) -> str:
    lines = [
        "### The paper's claims",
        "",
        "| claim | protocol | verdict | by |",
        "|---|---|---|---|",
    ]
    for v in verdicts:
        numbers = "; ".join(v.numbers[:8]) + (" …" if len(v.numbers) > 8 else "")
        lines.append(f"| {v.claim} | {v.protocol} | **{v.verdict}** | {v.test}: {numbers or '–'} |")
    return "\n".join([*lines, ""])
