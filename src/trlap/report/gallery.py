"""The figures of a report, in its order: their names, their captions, and what draws them."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from trlap.report import figures
from trlap.report.material import Material


@dataclass(frozen=True)
class Drawing:
    """`draw` gives nothing where no run has what the figure needs."""

    name: str
    caption: str
    draw: Callable[[Material], Figure | None]


def _curves(name: str, caption: str, dataset: str, metrics: tuple[str, ...]) -> Drawing:
    title = dataset.capitalize()
    return Drawing(
        name,
        f"{caption} against ε, {title}.",
        lambda material: figures.curves(material.cells, dataset, metrics, title),
    )


FIGURE3 = ("Figure 3: Loss, Rouge1 and BERTScore", ("loss", "rouge1", "bertscore"))
GALLERY = (
    Drawing(
        "frontier",
        "The frontier: utility against the exact ε of one word at δ = 10⁻⁶, protocol=paper. Filled marks of "
        "gaussian, laplace and trlap have the least noise that keeps their promise, hollow ones the "
        "authors’ noise. What stands at ∞ has no finite ε, what stands at 0 says nothing about the word.",
        lambda material: figures.frontier(material.points),
    ),
    _curves("figure2", "Figure 2: N_w of the rewritten text", "yelp", ("n_w",)),
    _curves("figure3_yelp", FIGURE3[0], "yelp", FIGURE3[1]),
    _curves("figure3_yahoo", FIGURE3[0], "yahoo", FIGURE3[1]),
    Drawing(
        "figure4",
        "Figure 4: accuracy, training and test texts private, against the nominal ε and, below, against the "
        "exact one; bars are 95 % intervals. The paper’s plotting script sorts every baseline’s four values "
        "before it draws them; published values (wide, faint) are shown as it draws them.",
        lambda material: figures.figure4(material.classified, material.accuracies),
    ),
    Drawing(
        "debias",
        "Undoing the known noise: accuracy of classifiers trained on private and tested on original words. "
        "Only the training texts are protected.",
        lambda material: figures.debias(material.classified),
    ),
    _curves("figure5", "Figure 5: N_w of the rewritten text", "yahoo", ("n_w",)),
)
