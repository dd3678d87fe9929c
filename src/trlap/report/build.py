"""The whole report, from results on disk to files that a reader opens."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trlap.files import write_json, write_text
from trlap.report import downstream, tables
from trlap.report.material import Material
from trlap.report.published import TABLES
from trlap.report.render import latex, markdown, page
from trlap.report.results import load_results

if TYPE_CHECKING:
    import pandas as pd


def build(places: Sequence[Path], folder: Path, published: Path) -> "pd.DataFrame":
    """Write the whole report on the results in `places` into `folder`; `published` has the paper's numbers."""
    from trlap.report.drawing.style import save
    from trlap.report.gallery import GALLERY

    material = Material(load_results(*places), published)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for drawing in GALLERY:
        figure = drawing.draw(material)
        if figure is not None:
            save(figure, folder, drawing.name)
            drawn.append(drawing)

    cells, sizes = material.cells, material.sizes
    text = [
        "# Report",
        "",
        markdown.claims(material.verdicts),
        *(markdown.paper_table(table, cells, sizes) for table in TABLES),
        *(markdown.text_table(table) for table in material.text_tables),
        *(markdown.figure(drawing.name, drawing.caption) for drawing in drawn),
        markdown.examples(material.examples),
    ]
    write_text(folder / "report.md", "\n".join(text))
    tex = [latex.paper_table(table, cells, sizes) for table in TABLES]
    write_text(folder / "tables.tex", "\n".join(tex))
    tables.write_csv(cells, folder / "tables.csv")
    downstream.write_csv(material.classified, folder / "downstream.csv")
    points = material.points
    points.to_csv(folder / "frontier.csv", index=False, float_format="%.6g", lineterminator="\n")
    write_json(folder / "claims.json", material.verdicts)
    write_text(folder / "index.html", page.render(material, drawn, folder))
    return material.results
