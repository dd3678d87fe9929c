"""What the documentation tells readers to type: found in the texts, with placeholders filled.

A command is a line of a code block without a language, or a piece of inline code, that begins with a known
program; so is a column of a printed screen ("try next   python run.py …"), and a line of a comment or
docstring of the code that begins with `python`. Settings alone (`calibration=exact`) are fragments.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from conftest import ROOT

PROGRAMS = (
    r"python python3 pip make cat echo source export cd git conda docker uv pipx wandb time curl "
    r"ray sbatch jupyter run\.py scripts/\S+\.py \.venv/bin/\S+ trlap(?=\s(?:run|privatize|audit|report))"
).replace(" ", "|")
ASSIGNED = r"(?:[A-Z][A-Z_]*=\S+ +)*"
COMMAND = re.compile(rf"(?:\$ )?({ASSIGNED}(?:{PROGRAMS})(?: .*)?)$")
SETTING = re.compile(r"[a-z_][\w./]*=[^\s…<>]+")
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.M | re.S)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# Columns of a printed screen, and the comment after a command.
COLUMNS = re.compile(r" {2,}|\s#\s")
# What readers put in, and what the tests put in for them.
FILLED = {
    r"TRLAP_DATA=\S+ ": "",
    r"^export TRLAP_DATA=.*": "export TRLAP_DATA=corpora",
    r"\b(mechanism|dataset)=(<name>|mine|theirs|…)": r"\1=@",
    r"mechanism=@": "mechanism=trlap",
    r"dataset=@": "dataset=demo",
    r"epsilon=…": "epsilon=1",
    r" …$": "",
}


@dataclass(frozen=True)
class Command:
    """A command as it is printed, and the first place where it stands."""

    printed: str
    place: str

    @property
    def text(self) -> str:
        """With placeholders filled, beginning with a program."""
        text = self.printed
        for pattern, filling in FILLED.items():
            text = re.sub(pattern, filling, text)
        # as a run prints it where the environment is not active
        text = re.sub(r"(?<!\S)\.venv/bin/python (?=run\.py|scripts/)", "python ", text)
        return re.sub(r"^(?=run\.py |scripts/)", "python ", text)

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)

    @property
    def overrides(self) -> list[str]:
        """What follows the script, up to a pipe or a redirection."""
        words = self.words[2:]
        ends = [place for place, word in enumerate(words) if word in ("|", ">", "&&")]
        return words[: ends[0]] if ends else words


def documents() -> list[Path]:
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "outputs/README.md")
    return [*(ROOT / name for name in names), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str) -> Iterator[tuple[str, str, int]]:
    """Language, content and line of every code block."""
    for match in FENCE.finditer(text):
        yield match.group(1), match.group(2), text.count("\n", 0, match.start()) + 2


def is_command(text: str) -> bool:
    """A program and what it is told; a name alone is a name."""
    return COMMAND.match(text) is not None and " " in text.strip()


def in_block(content: str) -> Iterator[tuple[int, str]]:
    """Commands of a block without a language, each with its line in the block."""
    lines = content.splitlines()
    # A block that begins with a command is all commands; one that is a printed screen has them in columns.
    typed = bool(lines) and is_command(COLUMNS.split(lines[0])[0])
    for number, line in enumerate(lines):
        columns = [column.strip() for column in COLUMNS.split(line)]
        if typed and line.strip():
            yield number, columns[0].removeprefix("$ ")
        else:
            yield from ((number, column) for column in columns if is_command(column))


def in_text(text: str) -> Iterator[tuple[int, str]]:
    """Commands of a document, each with its line."""
    for language, content, first in blocks(text):
        if language in ("", "sh", "bash", "console", "text"):
            for number, command in in_block(content):
                yield first + number, command
    prose = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    for number, line in enumerate(prose.splitlines(), start=1):
        for code in INLINE.findall(line):
            if is_command(code):
                yield number, code


def in_code(text: str) -> Iterator[tuple[int, str]]:
    """Lines of comments, docstrings and help texts that show a command."""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := re.match(r' *(?:#|""")? *(python (?:run|scripts/\w+)\.py .*)', line):
            yield number, COLUMNS.split(match.group(1))[0].removesuffix('"""')


def commands() -> list[Command]:
    """Every command of the project's texts, each once."""
    unique: dict[str, Command] = {}
    for path in documents():
        _collect(unique, path, in_text(path.read_text(encoding="utf-8")))
    code = [ROOT / "run.py", *(ROOT / "conf").rglob("*.yaml"), *(ROOT / "scripts").glob("*.py")]
    for path in sorted([*code, *(ROOT / "src").rglob("*.py")]):
        _collect(unique, path, in_code(path.read_text(encoding="utf-8")))
    return list(unique.values())


def _collect(unique: dict[str, Command], path: Path, lines: Iterator[tuple[int, str]]) -> None:
    for number, printed in lines:
        place = f"{path.relative_to(ROOT).as_posix()}:{number}"
        unique.setdefault(printed, Command(printed, place))


def fragments() -> dict[str, str]:
    """Settings that stand alone in inline code, such as `calibration=exact`, and their first place."""
    unique: dict[str, str] = {}
    for path in documents():
        text = FENCE.sub("", path.read_text(encoding="utf-8"))
        for code in INLINE.findall(text):
            words = code.replace("'", "").split()
            if all(SETTING.fullmatch(word) for word in words):
                unique.setdefault(code, path.name)
    return unique


def programs() -> Iterator[tuple[str, str, str]]:
    """Blocks in a language: where, which and what."""
    for path in documents():
        for language, content, line in blocks(path.read_text(encoding="utf-8")):
            if language not in ("", "sh", "bash", "console", "text"):
                yield f"{path.name}:{line}", language, re.sub(r"^   ", "", content, flags=re.M)


def parse(language: str, content: str) -> None:
    """Whether a block is what its language says."""
    if language == "toml":
        tomllib.loads(content)
    elif language in ("yaml", "yml"):
        yaml.safe_load(content)
    elif language == "python":
        compile(content, "block", "exec")
    else:
        raise AssertionError(f"no rule for blocks of {language}: add one in {Path(__file__).name}")
