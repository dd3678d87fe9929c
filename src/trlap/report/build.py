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

    from trlap.report.gallery import Drawing


def build(places: Sequence[Path], folder: Path, published: Path) -> "pd.DataFrame":
    """Write the whole report on the results in `places` into `folder`; `published` has the paper's numbers."""
    material = Material(load_results(*places), published)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _figures(material, folder, png=True)
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


def draw(places: Sequence[Path], folder: Path, published: Path) -> list[str]:
    """The figures alone, as SVG; their names."""
    material = Material(load_results(*places), published)
    folder.mkdir(parents=True, exist_ok=True)
    return [drawing.name for drawing in _figures(material, folder, png=False)]


def _figures(material: Material, folder: Path, png: bool) -> list["Drawing"]:
    """Those for which there are runs, saved."""
    from trlap.report.drawing.style import save
    from trlap.report.gallery import GALLERY

    drawn = []
    for drawing in GALLERY:
        figure = drawing.draw(material)
        if figure is not None:
            save(figure, folder, drawing.name, png)
            drawn.append(drawing)
    return drawn
