"""The report: the paper's tables and figures regenerated from results on disk, its claims, one page.

result.json of every run ─► results ─► tables, downstream ─► figures, claims ─► report.md, page
"""

import base64
import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.report import claims, downstream, tables
from trlap.report.results import load_results, short
from trlap.runs.cache import jsonable, write_json, write_text

if TYPE_CHECKING:
    import pandas as pd

SHOWN = (
    *("name", "protocol", "dataset", "embedding", "mechanism", "epsilon", "epsilon_1e6", "holds"),
    *("private_n_w", "private_cosine", "loss", "rouge1", "n_w", "bertscore", "accuracy"),
    *("size", "command"),
)


def build(places: Sequence[Path], to: Path, published: Path) -> "pd.DataFrame":
    """Write the whole report on the results in `places` into the folder `to`."""
    from trlap.report import figures

    results = load_results(*places)
    to.mkdir(parents=True, exist_ok=True)
    cells = tables.table_cells(results, tables.load_published(published / "tables.csv"))
    sizes = {} if results.empty else dict(zip(results.name, results["size"], strict=True))
    verdicts = claims.check_claims(results)

    drawn = []
    accuracies = tables.load_published(published / "figures.csv")
    classified = downstream.classified(results, accuracies)
    points = figures.frontier_points(results, classified)
    three = ("loss", "rouge1", "bertscore")
    for name, figure, caption in (
        (
            "frontier",
            figures.frontier(points),
            "The frontier: utility against the exact ε of one word at δ = 10⁻⁶, protocol=paper. Filled marks of "
            "gaussian, laplace and trlap have the least noise that keeps their promise, hollow ones the "
            "authors’ noise. What stands at ∞ has no finite ε, what stands at 0 says nothing about the word.",
        ),
        (
            "figure2",
            figures.curves(cells, "yelp", ("n_w",), "Yelp"),
            "Figure 2: N_w of the rewritten text against ε, Yelp.",
        ),
        *(
            (
                f"figure3_{dataset}",
                figures.curves(cells, dataset, three, dataset.capitalize()),
                f"Figure 3: Loss, Rouge1 and BERTScore against ε, {dataset.capitalize()}.",
            )
            for dataset in ("yelp", "yahoo")
        ),
        (
            "figure4",
            figures.figure4(classified, accuracies),
            "Figure 4: accuracy, training and test texts private, against the nominal ε and, below, against the "
            "exact one; bars are 95 % intervals. The paper’s plotting script sorts every baseline’s four values "
            "before it draws them; published values (wide, faint) are shown as it draws them.",
        ),
        (
            "debias",
            figures.debias(classified),
            "Undoing the known noise: accuracy of classifiers trained on private and tested on original words. "
            "Only the training texts are protected.",
        ),
        (
            "figure5",
            figures.curves(cells, "yahoo", ("n_w",), "Yahoo"),
            "Figure 5: N_w of the rewritten text against ε, Yahoo.",
        ),
    ):
        if figure is not None:
            drawn.append({"name": figures.save(figure, to, name), "caption": caption})

    shown = sentences(results)
    further = [downstream.whole_table(classified), downstream.debias_table(classified)]
    further = [tables.table4(results), *(table for table in further if table.rows)]
    text = [
        "# Report",
        "",
        claims.markdown(verdicts),
        *(tables.markdown(table, cells, sizes) for table in ("table1", "table2", "table3")),
        tables.markdown("table5", cells, sizes),
        *(table.markdown() for table in further),
        *(f"![{f['caption']}]({f['name']}.svg)\n" for f in drawn),
        _examples_markdown(shown),
    ]
    write_text(to / "report.md", "\n".join(text))
    write_text(
        to / "tables.tex", "\n".join(tables.latex(table, cells, sizes) for table in tables.TABLES)
    )
    tables.long_csv(cells, to / "tables.csv")
    downstream.write(classified, to / "downstream.csv")
    points.to_csv(to / "frontier.csv", index=False, float_format="%.6g", lineterminator="\n")
    write_json(to / "claims.json", claims.as_rows(verdicts))
    write_text(to / "index.html", _page(results, cells, sizes, further, verdicts, drawn, shown, to))
    return results


def sentences(results: "pd.DataFrame", budget: float = 0.1) -> list[dict[str, Any]]:
    """Figures 1 and 6: one sentence under each mechanism, at the ε nearest to the paper's."""
    if results.empty:
        return []
    groups: dict[tuple[str, str, str, str], list[Any]] = {}
    for row in results.itertuples():
        examples = row.result["details"]["examples"]
        if examples:
            key = (row.dataset, row.embedding, row.protocol, examples[0]["original"])
            groups.setdefault(key, []).append(row)
    found = []
    for (dataset, embedding, protocol, original), rows in groups.items():
        lines, used = [], set()
        rows.sort(key=lambda r: (r.mechanism != "none", r.mechanism, abs(r.epsilon - budget)))
        for row in rows:
            if row.mechanism in used:
                continue
            used.add(row.mechanism)
            for kind in ("private", "rewritten"):
                text = row.result["details"]["examples"][0].get(kind)
                if text is not None:
                    at = "" if row.mechanism == "none" else f", ε = {row.epsilon:g}"
                    label = row.mechanism + at + ("" if kind == "private" else ", rewritten")
                    lines.append({"label": label, "words": changes(original, text)})
        if len(used) > 1:
            title = f"{dataset}, {embedding}, protocol {protocol}"
            found.append({"title": title, "original": original, "lines": lines})
    return sorted(found, key=lambda e: -len(e["lines"]))[:4]


def changes(original: str, text: str) -> list[dict[str, Any]]:
    """Words of a text, and whether the original has another one there."""
    old = original.split(" ")
    return [
        {"text": word, "changed": i >= len(old) or word != old[i]}
        for i, word in enumerate(text.split(" "))
    ]


def _examples_markdown(shown: Sequence[dict[str, Any]]) -> str:
    lines = ["### Figures 1 and 6: one sentence under each mechanism (changed words in bold)", ""]
    for example in shown:
        lines += [f"{example['title']}", "", f"- original: {example['original']}"]
        for line in example["lines"]:
            words = [f"**{w['text']}**" if w["changed"] else w["text"] for w in line["words"]]
            lines.append(f"- {line['label']}: {' '.join(words)}")
        lines.append("")
    return "\n".join(lines).replace("<", "\\<")  # <unk> is a word, not a tag


def _page(
    results: "pd.DataFrame",
    cells: Sequence[tables.Cell],
    sizes: dict[str, str],
    further: Sequence[tables.Plain],
    verdicts: Sequence[claims.Verdict],
    drawn: Sequence[dict[str, str]],
    shown: Sequence[dict[str, Any]],
    to: Path,
) -> str:
    from jinja2 import Environment
    from markupsafe import Markup

    rows = []
    for row in results.to_dict("records"):
        result = row["result"]
        entry = {key: None if row[key] != row[key] else row[key] for key in SHOWN}
        entry |= {"examples": result["details"]["examples"], "guarantee": result["guarantee"]}
        entry |= {"config": short(result)["provenance"]["config"], "reads": _reads(result)}
        entry |= {"train": result["details"]["sizes"]["train"]}
        folder = to.parent / row["name"]
        rows.append(entry | {"folder": f"../{row['name']}/" if folder.is_dir() else None})
    data = json.dumps(jsonable(rows), ensure_ascii=False).replace("</", "<\\/")
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return (
        Environment(autoescape=True)
        .from_string(template)
        .render(
            cells=rows,
            made=date.today().isoformat(),
            claims=verdicts,
            figures=[
                f | {"data": base64.b64encode((to / f"{f['name']}.svg").read_bytes()).decode()}
                for f in drawn
            ],
            tables=[_table(table, cells, sizes) for table in tables.TABLES],
            further=further,
            examples=shown,
            data=Markup(data),
        )
    )


def _reads(result: dict[str, Any]) -> str | None:
    """What the classifier was trained and tested on, if there was one."""
    found = (result["details"].get("classify") or {}).get("inputs")
    if result["metrics"].get("accuracy") is None or not found:
        return None
    undone = "" if found["debias"] == "none" else f", {found['debias']}"
    return f"{found['train_on']} → {found['test_on']}{undone}"


def _table(table: str, cells: Sequence[tables.Cell], sizes: dict[str, str]) -> dict[str, Any]:
    found = []
    for block in tables.blocks(table, cells, sizes):
        rows = [
            {
                "label": label.replace("`", ""),
                "kind": "published" if "published" in label else "quiet" * ("difference" in label),
                "cells": [{"text": t, "bold": i in bold} for i, t in enumerate(texts)],
            }
            for label, texts, bold in block.rows
            if set(texts) - {"missing", "–"}
        ]
        found.append(
            {
                "dataset": block.dataset,
                "size": block.size,
                "groups": list(tables.MECHANISMS.values()),
                "span": (len(block.columns) - 1) // len(tables.MECHANISMS),
                "epsilons": [f"{epsilon:g}" for _, epsilon in block.columns[1:]],
                "rows": rows,
            }
        )
    return {
        "number": table[-1],
        "title": tables.TABLES[table][0],
        "note": tables.NOTES[table],
        "missing": tables.missing(table, cells),
        "blocks": found,
        "run": any(block["size"] for block in found),
    }
