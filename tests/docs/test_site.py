"""The site of `make docs`: complete, without a warning, and without anything from another host."""

import importlib.util
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import ROOT
from markdown import Markdown

PACKAGE = ROOT / "src" / "trlap"


class Page(HTMLParser):
    """What a page loads and links to, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors.add(values.get("id", ""))
        if tag == "a":
            self.links.append(values.get("href", ""))
        elif tag in ("link", "script", "img", "iframe", "source"):
            self.loaded.append(values.get("href") or values.get("src") or "")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert build.returncode == 0, build.stderr
    assert "WARNING" not in build.stderr
    return tmp_path


def test_the_site_is_complete_and_needs_no_network(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for target in page.loaded:
            assert "//" not in target, f"{path} loads {target}"
        for target in [*page.loaded, *page.links]:
            if "://" in target:
                continue
            file, _, anchor = unquote(target).partition("#")
            linked = (path.parent / file).resolve() if file else path
            assert linked.is_file(), f"{path} links to {target}"
            assert not anchor or anchor in pages[linked].anchors, f"{path} links to {target}"
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert "url(http" not in text and "url(//" not in text and "@import" not in text

    for name in ("index", "CONTRIBUTING", "CHANGELOG", "SECURITY", "docs/privacy", "docs/tutorial"):
        assert site / f"{name}.html" in pages
    assert "tutorial-1.png" in pages[site / "docs" / "tutorial.html"].loaded
    for room in PACKAGE.glob("*/__init__.py"):
        page = pages[site / "reference" / f"{room.parent.name}.html"]
        for module in room.parent.rglob("*.py"):
            parts = module.relative_to(PACKAGE.parent).with_suffix("").parts
            if not any(part.startswith("_") for part in parts):
                assert ".".join(parts) in page.anchors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A list right below its heading, with a line that goes on.
        ("Conventions\n- one\n  goes on\n- two", ["<p>Conventions</p>", "<ul>", "<li>two</li>"]),
        # A formula right below a line.
        ("so\n    δ = 0", ["<p>so</p>", "<code>δ = 0"]),
        # A list inside a list, a second paragraph, and the next item below it.
        (
            "1. a\n   - b\n   - c\n\n   d\n2. e",
            ["<ol>", "<ul>", "<li>c</li>", "<p>d</p>", "<p>e</p>"],
        ),
        (
            "words    the words\nprior    of <unk>",
            ["<code>words    the words\nprior    of &lt;unk&gt;"],
        ),
        ("the word <unk> is one", ["<p>the word &lt;unk&gt; is one</p>"]),
        ("a wrapped\nparagraph", ["<p>a wrapped\nparagraph</p>"]),
    ],
)
def test_markdown_as_people_write_it(text: str, expected: list[str]) -> None:
    specification = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert specification and specification.loader
    hooks = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hooks)
    html = Markdown(extensions=[hooks.PlainMarkdown(), "sane_lists"]).convert(text)
    for part in expected:
        assert part in html, html
