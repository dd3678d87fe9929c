"""report.md: claims, tables, figures and examples."""

from collections.abc import Iterable, Sequence

from trlap.report.cells import Cell, Column
from trlap.report.claims import Verdict
from trlap.report.examples import Example
from trlap.report.looks import appearance
from trlap.report.published import ORIGINAL, PaperTable
from trlap.report.tables import Block, TextTable, blocks, missing

# of a verdict; the page shows all
NUMBERS = 8


def claims(verdicts: Iterable[Verdict]) -> str:
    lines = [
        "### The paper's claims",
        "",
        "| claim | protocol | verdict | by |",
        "|---|---|---|---|",
    ]
    for v in verdicts:
        numbers = "; ".join(v.numbers[:NUMBERS]) + (" …" if len(v.numbers) > NUMBERS else "")
        lines.append(f"| {v.claim} | {v.protocol} | **{v.verdict}** | {v.test}: {numbers or '–'} |")
    return "\n".join([*lines, ""])


def paper_table(table: PaperTable, cells: Sequence[Cell], sizes: dict[str, str]) -> str:
    """What was run; columns in which nothing was are folded away behind their number."""
    lines = [f"### Table {table.number}: {table.title}", ""]
    for block in blocks(table, cells, sizes):
        measured = f" · ours on {block.size}" if block.size else ""
        lines += [f"**{block.dataset.capitalize()}**{measured}", ""]
        if block.run:
            lines += [*_grid(block.part(block.run)), ""]
        if block.rest:
            count = f"{len(block.rest)} of {len(block.columns)} columns"
            lines += [f"<details><summary>{count} are missing: not run yet</summary>", ""]
            lines += [*_grid(block.part(block.rest)), "", "</details>", ""]
    lines += [table.note, ""]
    if commands := missing(table, cells):
        lines += ["Missing cells are filled by", "```", *commands, "```", ""]
    return "\n".join(lines)


def _grid(block: Block) -> list[str]:
    heads = [_head(column) for column in block.columns]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for line in block.lines:
        marked = [f"**{t}**" if i in line.bold else t for i, t in enumerate(line.texts)]
        lines.append(f"| {line.label} | {' | '.join(marked)} |")
    return lines


def _head(column: Column) -> str:
    mechanism, epsilon = column
    return "Original ∞" if column == ORIGINAL else f"{appearance(mechanism).label} {epsilon:g}"


def text_table(table: TextTable) -> str:
    lines = [f"### {table.title}", ""]
    for row in (table.heads, ["---"] * len(table.heads), *table.rows):
        lines.append(f"| {' | '.join(map(_plain, row))} |")
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes), ""])


def _plain(cell: str) -> str:
    """Names come from runs: what they hold is neither a tag nor the end of a cell."""
    return cell.replace("<", "\\<").replace("|", "\\|").replace("\n", " ")


def figure(name: str, caption: str) -> str:
    return f"![{caption}]({name}.svg)\n"


def examples(shown: Iterable[Example]) -> str:
    lines = ["### Figures 1 and 6: one sentence under each mechanism (changed words in bold)", ""]
    for example in shown:
        lines += [example.title + (" (yours)" if example.yours else ""), ""]
        lines += [f"- original: {example.original}"]
        for budget in example.budgets:
            for line in budget.lines:
                words = [f"**{word.text}**" if word.changed else word.text for word in line.words]
                kind = ", rewritten" if line.rewritten else ""
                lines.append(f"- ε = {budget.text}, {line.label}{kind}: {' '.join(words)}")
        lines.append("")
    # <unk> is a word, not a tag
    return "\n".join(lines).replace("<", "\\<")
