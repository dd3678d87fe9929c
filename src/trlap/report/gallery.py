"""The figures of a report, in its order: their names, their captions, and what draws them."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from trlap.report.drawing.curves import curves
from trlap.report.drawing.documents import documents
from trlap.report.drawing.frontier import frontier
from trlap.report.drawing.learning import debias, figure4
from trlap.report.material import Material


@dataclass(frozen=True)
class Drawing:
    """`draw` gives nothing where no run has what the figure needs."""

    name: str
    caption: str
    draw: Callable[[Material], Figure | None]


def _curves(name: str, caption: str, dataset: str, metrics: tuple[str, ...]) -> Drawing:
    return Drawing(
        name,
        f"{caption} against ε, {dataset.capitalize()}. Ours stand before the published values. Marks at one "
        "ε stand side by side, and lines join only what was run at neighbouring ε.",
        lambda material: curves(material.cells, dataset, metrics),
    )


FIGURE3 = ("Figure 3: Loss, Rouge1 and BERTScore", ("loss", "rouge1", "bertscore"))
GALLERY = (
    Drawing(
        "frontier",
        "The frontier: utility against the exact ε of one word at δ = 10⁻⁶, protocol=paper. In colour: what "
        "at some ε gets more than half of the way from the best constant answer to the text without noise. "
        "Filled marks of gaussian, laplace and trlap have the least noise that keeps their promise, hollow "
        "ones the authors’ noise. What stands at ∞ has no finite ε, what stands at 0 says nothing about the "
        "word. Rings, if there are any, are your own runs, on the data that they name.",
        lambda material: frontier(material.points),
    ),
    _curves("figure2", "Figure 2: N_w of the rewritten text", "yelp", ("n_w",)),
    _curves("figure3_yelp", FIGURE3[0], "yelp", FIGURE3[1]),
    _curves("figure3_yahoo", FIGURE3[0], "yahoo", FIGURE3[1]),
    Drawing(
        "figure4",
        "Figure 4: accuracy, training and test texts private. Left, against the nominal ε: all mechanisms "
        "side by side, in the order of the legend. Right, against the exact one: names together "
        "stand for marks that hide each other. Bars are 95 % intervals. The paper’s plotting script sorts every "
        "baseline’s four values before it draws them; published values (wide, faint) are shown as it draws "
        "them.",
        lambda material: figure4(material.classified, material.accuracies),
    ),
    Drawing(
        "debias",
        "Undoing the known noise: accuracy of classifiers trained on private and tested on original words. "
        "Only the training texts are protected.",
        lambda material: debias(material.classified),
    ),
    Drawing(
        "document",
        "A whole text protected: accuracy on original test texts against the ε of a document, means and ranges over "
        "splits. The halves of the training split, the test texts and the classifier are the same for all. Where every "
        "word answers, ε is composed for the median length and holds between texts of equal length. Lines across need "
        "no private answers.",
        lambda material: documents(material.of_documents),
    ),
    _curves("figure5", "Figure 5: N_w of the rewritten text", "yahoo", ("n_w",)),
)
