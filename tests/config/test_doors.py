"""What every command does with a plain terminal and with too little memory."""

import io
import sys

import pytest
from conftest import Run
from omegaconf import DictConfig

from trlap import cli


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 128. TiB"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"
        ),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    ],
)
def test_too_little_memory_is_one_line(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(composed: DictConfig) -> None:
        raise error

    with pytest.raises(SystemExit) as left:
        cli.task(main)(DictConfig({}))
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: not enough memory; lower dataset.limit.train")
    assert said.count("\n") == 1


def test_other_defects_keep_their_traceback() -> None:
    def main(composed: DictConfig) -> None:
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        cli.task(main)(DictConfig({}))


def test_a_plain_terminal_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    cli.plain_output()
    print("ε · δ", flush=True)
    assert written.getvalue() == b"\\u03b5 \\xb7 \\u03b4\n"


def test_commands_on_a_plain_terminal(run: Run) -> None:
    done = run("--help", PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "\\xb7" in done.stdout
    done = run("outputs=/proc/x", "embedding.dimension=50", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("error: ")
