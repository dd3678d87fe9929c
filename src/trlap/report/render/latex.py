"""tables.tex: the paper's tables with booktabs; needs \\usepackage{booktabs,graphicx}."""

import re
from collections.abc import Sequence

from trlap.report.cells import Cell
from trlap.report.looks import appearance
from trlap.report.published import MECHANISMS, PaperTable
from trlap.report.tables import Block, blocks
from trlap.runs.numbers import SUPERSCRIPTS

CODES = {
    "%": r"\%",
    "_": r"\_",
    r"N\_w": "$N_w$",
    "&": r"\&",
    "`": "",
    "ε": r"$\epsilon$",
    "δ": r"$\delta$",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "<": "$<$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "–": "--",
    "·": r"$\cdot$",
}
# superscripts, and what they are as plain digits
EXPONENTS = {chr(small): chr(plain) for plain, small in SUPERSCRIPTS.items()}


def paper_table(table: PaperTable, cells: Sequence[Cell], sizes: dict[str, str]) -> str:
    lines = [
        r"\begin{table*}[t]",
        rf"\setcounter{{table}}{{{table.number - 1}}}% the paper's number",
        rf"\caption{{{escaped(table.title)}: published numbers and ours.}}",
    ]
    for block in blocks(table, cells, sizes):
        lines += _head(block)
        for line in block.lines:
            texts = [
                rf"\textbf{{{escaped(text)}}}" if place in line.bold else escaped(text)
                for place, text in enumerate(line.texts)
            ]
            lines.append(rf"{escaped(line.label)} & {' & '.join(texts)} \\")
        lines += [r"\bottomrule", r"\end{tabular}}\par\medskip"]
    return "\n".join([*lines, r"\end{table*}", ""])


def _head(block: Block) -> list[str]:
    span, count = block.span, len(MECHANISMS)
    labels = [escaped(appearance(name).label) for name in MECHANISMS]
    groups = " & ".join(rf"\multicolumn{{{span}}}{{c}}{{{label}}}" for label in labels)
    rules = "".join(rf"\cmidrule(lr){{{3 + i * span}-{2 + (i + 1) * span}}}" for i in range(count))
    budgets = " & ".join(f"{epsilon:g}" for _, epsilon in block.columns[1:])
    return [
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(block.columns)}}}",
        r"\toprule",
        rf"{escaped(block.dataset.capitalize())} & Original & {groups} \\ {rules}",
        rf"$\epsilon$ & $\infty$ & {budgets} \\",
        r"\midrule",
    ]


def escaped(text: str) -> str:
    """A text as LaTeX has it; powers of ten and minus signs in mathematics."""
    text = re.sub(f"10([{''.join(EXPONENTS)}]+)", _power, text)
    text = re.sub(r"^-(?=\d)", "$-$", text)
    for mark, code in CODES.items():
        text = text.replace(mark, code)
    return text


def _power(found: re.Match[str]) -> str:
    return f"$10^{{{''.join(EXPONENTS[digit] for digit in found[1])}}}$"
