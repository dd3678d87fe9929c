"""python scripts/figure_claim.py

Draws docs/claim.svg, and docs/claim-dark.svg for dark pages: the paper's δ, claimed and exact, against ε.
"""

import argparse
import math
from pathlib import Path

import numpy as np

from trlap.privacy.composition import log_to_log10, paper_log_delta
from trlap.privacy.truncated_laplace import TruncatedLaplaceNoise, dummy_dimension
from trlap.report.drawing import style
from trlap.report.numbers import power

FOLDER = Path(__file__).parent.parent / "docs"
DIMENSION, CLIP = 300, 1.0
EXACT, CLAIMED = "#b2182b", "#2166ac"
# beyond this ε the published formula needs dummy dimensions; the paper has two such
LARGEST, WITH_DUMMIES = 8.6, (10.0, 20.0)


def exact_delta(epsilon: float) -> float:
    """The worst case over all pairs of clipped vectors, at the mechanism's own ε."""
    nominal = dummy_dimension(epsilon, DIMENSION)
    noise = TruncatedLaplaceNoise.published(
        epsilon, paper_log_delta(nominal), DIMENSION, CLIP, nominal_dimension=nominal
    )
    return math.exp(noise.log_delta(epsilon))


def draw(folder: Path) -> None:
    figure, grid = style.grid(1, 1, 8.4, 3.5)
    axes = grid[0, 0]
    epsilons = np.geomspace(0.01, LARGEST, 200)
    axes.plot(epsilons, [exact_delta(epsilon) for epsilon in epsilons], color=EXACT, lw=2.5)
    for epsilon in WITH_DUMMIES:
        delta = exact_delta(epsilon)
        axes.plot(epsilon, delta, "o", color=EXACT, ms=7)
        text = f"{delta:.2f} at ε = {epsilon:g}"
        axes.text(epsilon * 1.15, delta, text, color=EXACT, va="center")
    note = "with the paper's\ndummy dimensions:"
    axes.text(WITH_DUMMIES[0] * 0.93, 0.47, note, color=EXACT, va="bottom")
    axes.axhline(0, color=CLAIMED, lw=2.5)
    claimed = power(log_to_log10(paper_log_delta(DIMENSION)))
    axes.text(0.011, 0.035, f"claimed: δ = 4⁻³⁰⁰ ≈ {claimed}", color=CLAIMED, va="bottom")
    label = "exact δ of the noisy vector, worst pair of clipped vectors"
    axes.text(0.011, 0.93, label, color=EXACT, va="top")
    axes.set(xscale="log", xlabel="ε of a word", ylabel="δ", ylim=(-0.03, 1.03), xlim=(0.01, 110))
    axes.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    axes.minorticks_off()
    axes.set_title("The paper's truncated Laplace mechanism: δ as claimed and as it is")
    style.save(figure, folder, "claim", png=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--to", type=Path, default=FOLDER, metavar="FOLDER", help="instead of docs/"
    )
    draw(parser.parse_args().to)


if __name__ == "__main__":
    main()
