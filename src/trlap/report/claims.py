"""The paper's claims, each put to a stated test on the results at hand. Nothing here is written by hand.

Every comparison of two cells uses their 95 % bootstrap intervals over test sentences: "more" is confirmed
where the whole interval lies above the other, refuted where it lies below, and undecided between. "Within a
point" is confirmed where the values are, and refuted where the whole intervals are further apart. Claims
about the mechanism itself are decided by its formulas.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trlap.config.protocols import PROTOCOLS as KNOWN
from trlap.privacy.composition import log_to_log10, paper_log_delta
from trlap.privacy.truncated_laplace import (
    TruncatedLaplaceNoise,
    dummy_dimension,
    published_variances,
)
from trlap.report.cells import comparable
from trlap.report.numbers import power, show_epsilon
from trlap.report.published import DIMENSION, HIGH, LOW, PROTOCOLS
from trlap.runs.result import Inputs, RunResult

if TYPE_CHECKING:
    import pandas as pd

CONFIRMED, REFUTED, UNDECIDED, NOT_RUN = "confirmed", "refuted", "undecided", "not yet run"
BUDGETS = LOW + HIGH
# C, of which all else is a multiple
CLIP = 1.0


@dataclass(frozen=True)
class Verdict:
    """`protocol` is "all" where the claim is about the mechanism itself."""

    claim: str
    test: str
    protocol: str
    verdict: str
    numbers: list[str]


@dataclass(frozen=True)
class Measured:
    """A value with its interval. Where none is known it is endless, so that nothing can be refuted."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Measurements:
    """One metric of runs that can be compared: by group, mechanism and ε, and by group without noise."""

    cells: dict[tuple[str, str, float], Measured] = field(default_factory=dict)
    plain: dict[str, Measured] = field(default_factory=dict)

    def of(self, mechanism: str) -> Iterator[tuple[str, float, Measured]]:
        """Group, ε and value of a mechanism, in that order."""
        for (group, name, epsilon), measured in sorted(self.cells.items(), key=lambda c: c[0]):
            if name == mechanism:
                yield group, epsilon, measured


# a verdict and the line that shows it, for each comparison that the results allow
Compared = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Claim:
    """A claim about results: what it says, the metric that decides, the test in words and in code."""

    claim: str
    metric: str
    test: str
    compare: Callable[[Measurements], Compared]


# ------------------------------------------------------------------------------------- what is compared


def _within(
    mechanism: str, margin: float, largest_epsilon: float = math.inf
) -> Callable[..., Compared]:
    """The mechanism loses at most `margin` against the same run without noise."""

    def compare(measurements: Measurements) -> Compared:
        for group, epsilon, ours in measurements.of(mechanism):
            plain = measurements.plain.get(group)
            if plain is None or epsilon > largest_epsilon:
                continue
            line = f"ε = {epsilon:g}: {_show(ours.value)} against {_show(plain.value)} ({group})"
            if plain.value - ours.value <= margin:
                yield CONFIRMED, line
            else:
                yield REFUTED if plain.low - ours.high > margin else UNDECIDED, line

    return compare


def _collapses(*mechanisms: str) -> Callable[..., Compared]:
    """At the smallest ε below 1, less than half is left."""

    def compare(measurements: Measurements) -> Compared:
        cells = measurements.cells
        for group, mechanism in sorted({(g, m) for g, m, _ in cells if m in mechanisms}):
            small = [e for g, m, e in cells if (g, m) == (group, mechanism) and e < 1]
            plain = measurements.plain.get(group)
            if plain is None or not small:
                continue
            ours = cells[group, mechanism, min(small)]
            both = f"{_show(ours.value)} against {_show(plain.value)}"
            line = f"{mechanism}, ε = {min(small):g}: {both} ({group})"
            if ours.high < plain.low / 2:
                yield CONFIRMED, line
            else:
                yield REFUTED if ours.low > plain.high / 2 else UNDECIDED, line

    return compare


def _above(mechanism: str, other: str) -> Callable[..., Compared]:
    """The mechanism keeps more than the other at every ε."""

    def compare(measurements: Measurements) -> Compared:
        for group, epsilon, ours in measurements.of(mechanism):
            theirs = measurements.cells.get((group, other, epsilon))
            if theirs is None:
                continue
            line = f"ε = {epsilon:g}: {_show(ours.value)} against {_show(theirs.value)} ({group})"
            if ours.low > theirs.high:
                yield CONFIRMED, line
            else:
                yield REFUTED if ours.high < theirs.low else UNDECIDED, line

    return compare


CLAIMS = (
    Claim(
        "TrLap stays within one point of the non-private model at every ε",
        "rouge1",
        "Rouge1 of the rewritten text, trlap against none, every ε that was run",
        _within("trlap", 1.0),
    ),
    Claim(
        "Gaussian and Laplacian noise destroy the text for ε < 1",
        "rouge1",
        "Rouge1 of the rewritten text at the smallest ε below 1 is under half of the non-private one",
        _collapses("gaussian", "laplace"),
    ),
    Claim(
        "Gaussian noise keeps more than Laplacian noise",
        "rouge1",
        "Rouge1 of the rewritten text, gaussian against laplace, every ε that was run for both",
        _above("gaussian", "laplace"),
    ),
    Claim(
        "Downstream accuracy with TrLap is stable down to ε = 0.01",
        "accuracy",
        "accuracy, trlap against none, every ε up to 1 that was run: within two points",
        _within("trlap", 0.02, largest_epsilon=1),
    ),
)


# ------------------------------------------------------------------------------------------ the verdicts


def check_claims(results: "pd.DataFrame") -> list[Verdict]:
    verdicts = [*_guarantee(), _variance()]
    usable = comparable(results)
    for claim in CLAIMS:
        for protocol in PROTOCOLS:
            rows = usable if usable.empty else usable[usable.protocol == protocol]
            compared = list(claim.compare(measurements(rows, claim.metric)))
            verdict = _all([single for single, _ in compared])
            lines = [line for _, line in compared]
            verdicts.append(Verdict(claim.claim, claim.test, protocol, verdict, lines))
    return verdicts


def measurements(rows: "pd.DataFrame", metric: str) -> Measurements:
    """Value and interval of each cell; with several seeds, of the first.

    Accuracies count where training and test texts are both private, or both original as the release has
    them, and the noise is not undone.
    """
    collected = Measurements()
    if rows.empty:
        return collected
    for row in rows.sort_values("seed").to_dict("records"):
        result: RunResult = row["result"]
        value = result.metrics.value(metric)
        if value is None:
            continue
        group = f"{result.dataset}, {result.embedding}, {row['size']}"
        if metric == "accuracy":
            side = "original" if KNOWN[result.protocol].classifier_takes_embedding else "private"
            classified = result.details.classify
            if classified is None or classified.inputs != Inputs(side, side, "none"):
                continue
            group += f", {_learning(result)}, seeds: {len(classified.runs)}"
        low, high = result.metrics.interval(metric) or (-math.inf, math.inf)
        measured = Measured(value, low, high)
        if result.noisy:
            collected.cells.setdefault((group, result.mechanism, result.epsilon), measured)
        else:
            collected.plain.setdefault(group, measured)
    return collected


def _learning(result: RunResult) -> str:
    classifier = result.settings.classifier
    if classifier is None:
        return "–"
    rate = "" if classifier.lr is None else f", lr {classifier.lr:g}"
    return f"{classifier.name}{rate}, patience {classifier.patience}"


def _all(verdicts: Sequence[str]) -> str:
    """A claim about every cell: one counter-example refutes it."""
    if not verdicts:
        return NOT_RUN
    if REFUTED in verdicts:
        return REFUTED
    return CONFIRMED if set(verdicts) == {CONFIRMED} else UNDECIDED


def _show(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


# ------------------------------------------------------------------------------- the paper's two theorems


def _guarantee() -> list[Verdict]:
    """Theorem 1 by the exact δ of the noisy vector, as published, at each ε of the paper."""
    numbers, holds = [], []
    for epsilon in BUDGETS:
        nominal = dummy_dimension(epsilon, DIMENSION)
        log_delta = paper_log_delta(nominal)
        noise = TruncatedLaplaceNoise.published(
            epsilon, log_delta, DIMENSION, CLIP, nominal_dimension=nominal
        )
        exact = noise.log_delta(epsilon)
        holds.append(exact <= log_delta)
        claimed = log_to_log10(log_delta)
        numbers.append(
            f"ε = {epsilon:g}: claimed δ = {power(claimed)}, exact {math.exp(exact):.3f}"
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
        *(
            Verdict(
                "TrLap is (ε, δ)-differentially private for δ = 4⁻ᵈ (Theorem 1)",
                "one noise vector is shared by a batch: with one word of it known, the noise is known",
                protocol,
                REFUTED,
                ["exact δ = 1 at every ε"],
            )
            for protocol in PROTOCOLS
            if KNOWN[protocol].released
        ),
    ]


def _variance() -> Verdict:
    """Theorem 2 at the paper's δ, and what is left of it where the truncation is valid."""
    numbers, lower = [], []
    # beyond 8.66 the formula needs dummy dimensions
    for epsilon in BUDGETS[:6]:
        log_delta = paper_log_delta(DIMENSION)
        gaussian, laplace, truncated = published_variances(epsilon, log_delta, DIMENSION, CLIP)
        lower.append(truncated < min(gaussian, laplace))
        numbers.append(
            f"ε = {epsilon:g}: trlap {show_epsilon(truncated)} C², laplace {show_epsilon(laplace)} C², "
            f"gaussian {show_epsilon(gaussian)} C²"
        )
    valid = TruncatedLaplaceNoise.calibrate(1.0, math.log(1e-5), DIMENSION, CLIP)
    # Laplace noise has the variance 2/α²
    ratio = valid.variance * valid.alpha**2 / 2
    numbers.append(
        f"with the smallest truncation that keeps (1, 10⁻⁵)-DP, A = {valid.bound:.0f}C: "
        f"{ratio:.4f} of Laplace's variance"
    )
    return Verdict(
        "TrLap has lower variance than Gaussian and Laplacian noise (Theorem 2)",
        "the variances of a coordinate in closed form, for the A of Theorem 1, which does not give its guarantee",
        "all",
        CONFIRMED if all(lower) else REFUTED,
        numbers,
    )
