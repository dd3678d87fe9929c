"""What the README shows is what one gets: the screen of `make run`, and the messages at four budgets."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from trlap import Privatizer

README = (ROOT / "README.md").read_text(encoding="utf-8")
SECONDS = re.compile(r"· \d+ s$", re.MULTILINE)


# the more centres, the longer it takes to find them for the first time
@pytest.mark.parametrize(
    "epsilon", ["5", "8", *(pytest.param(large, marks=pytest.mark.slow) for large in ("10", "12"))]
)
def test_the_messages_at_four_budgets(epsilon: str) -> None:
    title, *rows = re.findall(
        r"^\| (.+) \| (.+) \| (.+) \|$", README.split("## Your own text")[1], re.M
    )[:5]
    messages = [text.strip("*") for text in title[1:]]
    private = {row[0]: row[1:] for row in rows}
    assert list(private) == ["5", "8", "10", "12"]
    made = Privatizer(mechanism="crr", epsilon=float(epsilon), seed=1, reproducible=True)
    assert made.privatize(messages) == list(private[epsilon])


@pytest.mark.slow
def test_the_first_screen(tmp_path: Path) -> None:
    """Byte for byte, but for the time and the Python to type."""
    (line,) = re.findall(
        r"^\t@\$\(BIN\)/python (run\.py .*)$", (ROOT / "Makefile").read_text(), re.M
    )
    keys = [word.strip("'") for word in line.split()]
    command = [sys.executable, *keys, f"outputs={tmp_path / 'outputs'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.replace(f"{tmp_path}/", "")
    (wanted,) = re.findall(r"```\n(trlap · demo.*?\n)```", README, re.S)
    for text in (".venv/bin/python", sys.executable):
        shown, wanted = shown.replace(text, "python"), wanted.replace(text, "python")
    assert SECONDS.sub("", shown) == SECONDS.sub("", wanted)
