"""The pages of the site, read off the tree: the texts of the project and one page of reference a room.

Every page keeps its place relative to the others (`README.md`, `docs/privacy.md`, `results/figures/…`), so
a link that works in the repository works in the site. A file that a page links to comes along.
"""

import ast
import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pygments.formatters import HtmlFormatter

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "trlap"
STYLE = "docs/site.css"
TUTORIAL = ROOT / "docs" / "tutorial.ipynb"
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
# How the first line of a block tells what it is. Names in a column beside their meanings stay as typed.
KINDS = {
    "item": re.compile(r"([-*+]|\d+\.) "),
    "indented": re.compile(r"    "),
    "table": re.compile(r"\|"),
    "columns": re.compile(r"\S.*\S {2,}\S"),
    "text": re.compile(r""),
}

NavigationItem = dict[str, Any]


class PlainMarkdown(Extension, Preprocessor):  # type: ignore[misc]
    """Markdown as people write it, in docstrings and on GitHub, for Python's Markdown, which is stricter.

    A list, a table or an indented formula may follow a paragraph at once; a list inside a list is indented
    by two or three spaces as well as by four; names in a column stay as typed; and `<unk>` is a word, no tag.
    """

    def extendMarkdown(self, md: Markdown) -> None:
        # Below the priority of fenced code, which is out of the way by then.
        md.preprocessors.register(self, "plain_markdown", 10)
        md.preprocessors.deregister("html_block")
        md.inlinePatterns.deregister("html")

    def run(self, lines: list[str]) -> list[str]:
        mended: list[str] = []
        # What the block at hand is, from the last blank line on, and whether it belongs to a list.
        block, in_list = "", False
        for line in lines:
            if in_list:
                line = re.sub(r"^ {2,3}(?=\S)", "    ", line)
            kind = _kind(line)
            if not kind or not block:
                block = kind
                in_list = kind == "item" or (in_list and kind in ("", "indented"))
            elif _interrupts(kind, block, in_list):
                mended.append("")
                block, in_list = kind, kind == "item"
            mended.append("    " + line if block == "columns" else line)
        return mended


def _kind(line: str) -> str:
    return next(kind for kind, start in KINDS.items() if start.match(line)) if line.strip() else ""


def _interrupts(kind: str, block: str, in_list: bool) -> bool:
    """Whether a line of this kind ends a block that has no blank line below it."""
    if block == "text":
        return kind in ("item", "table", "indented")
    # The next item, below a second paragraph of the one before.
    return kind == "item" and block == "indented" and in_list


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.markdown_extensions.append(PlainMarkdown())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Everything that the site shows, and the order in which its menu shows it.

    Of `files` the theme's are taken; those of docs/ come again, with places relative to the project.
    """
    texts = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    project = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
    reference = dict(_reference())
    config.nav = [
        {"Home": "README.md"},
        {"Tutorial": "docs/tutorial.md"},
        *[_item(page) for page in texts[1:]],
        {"Project": [_item(page) for page in project]},
        {"Reference": [{title: f"reference/{title}.md"} for title in reference]},
    ]
    pages = [*texts, *project]
    sources = [*pages, *_linked(pages), ROOT / STYLE]
    docs = ROOT / "docs"
    site = [file for file in files if not Path(file.abs_src_path or "").is_relative_to(docs)]
    for path in dict.fromkeys(sources):
        site.append(File.generated(config, _place(path), abs_src_path=str(path)))
    for title, text in reference.items():
        site.append(File.generated(config, f"reference/{title}.md", content=text))
    for place, content in _tutorial():
        site.append(File.generated(config, place, content=content))
    colours = HtmlFormatter(style="default").get_style_defs(".highlight")
    site.append(File.generated(config, "highlight.css", content=colours))
    return Files(site)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """In the site the tutorial is a page, which shows more than the notebook's file."""
    return markdown.replace("tutorial.ipynb)", "tutorial.md)")


def _tutorial() -> Iterator[tuple[str, str | bytes]]:
    """The notebook with its outputs as a page, and its pictures: places and contents."""
    parts: list[str] = []
    pictures = 0
    for cell in json.loads(TUTORIAL.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                pictures += 1
                name = f"tutorial-{pictures}.png"
                yield f"docs/{name}", base64.b64decode("".join(data["image/png"]))
                parts.append(f"![What the cell above draws]({name})")
            else:
                text = "".join(output.get("text") or data.get("text/plain", [])).strip("\n")
                parts.append(f"```\n{text}\n```")
    yield "docs/tutorial.md", "\n\n".join(parts) + "\n"


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _item(page: Path) -> NavigationItem:
    """A page's entry in the menu, under its first heading."""
    heading = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {heading.group(1) if heading else page.stem: _place(page)}


def _linked(pages: list[Path]) -> Iterator[Path]:
    """The files of this project that the pages link to and that are no pages: figures, for instance."""
    for page in pages:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            if path.is_file() and path.is_relative_to(ROOT) and path not in pages:
                yield path


def _reference() -> Iterator[tuple[str, str]]:
    """Title and text of a page for the package itself and for each of its rooms."""
    yield "trlap", _page(PACKAGE, sorted(PACKAGE.glob("*.py")))
    for room in sorted(path.parent for path in PACKAGE.glob("*/__init__.py")):
        yield room.name, _page(room, sorted(room.rglob("*.py")))


def _page(room: Path, modules: list[Path]) -> str:
    """What the room says of itself, a table of its public modules, and each of them."""
    summaries = {
        _name(path): docstring.splitlines()[0]
        for path in modules
        if path != room / "__init__.py" and _public(path) and (docstring := _docstring(path))
    }
    rows = []
    for name, summary in summaries.items():
        cell = summary.replace("|", "\\|")
        rows.append(f"| [{name}][] | {cell} |")
    parts = [
        f"# {room.name}",
        f"::: {_name(room)}\n    options:\n      show_root_heading: false\n",
        "\n".join(["| module | what it is |", "|---|---|", *rows]),
        *[f"::: {name}" for name in summaries],
    ]
    return "\n\n".join(parts) + "\n"


def _public(path: Path) -> bool:
    parts = _name(path).split(".")
    return not any(part.startswith("_") for part in parts)


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _name(path: Path) -> str:
    """The name that Python imports a file or folder by."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")
