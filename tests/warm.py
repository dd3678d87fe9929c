"""Commands in processes of their own, forked from one that has loaded the heavy libraries already.

Loading them takes most of the time of a small run. What is forked has its own arguments, folder, environment,
streams, signals and exit code, as a process that a shell starts; only what libraries read while they are
loaded is that of the first. So whoever tests such things (variables of a library, what is imported) starts
a fresh process instead.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

HEAVY = (
    "torch",
    "lightning.pytorch",
    "torch._dynamo",
    "datasets",
    "pandas",
    "scipy.signal",
    "scipy.stats",
    "rouge_score.rouge_scorer",
    "sacrebleu.metrics.bleu",
    "trlap.models.training",
    "trlap.mechanisms.base",
)
STREAMS = ("stdin", "stdout", "stderr")


def run(
    command: Sequence[str],
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """A script and its arguments, until it ends."""
    done = run_bytes(command, cwd, environment)
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def run_bytes(
    command: Sequence[str],
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str] | None = None,
    given: bytes = b"",
) -> "subprocess.CompletedProcess[bytes]":
    """The same with `given` on its standard input."""
    with tempfile.TemporaryDirectory() as folder:
        streams = {name: str(Path(folder, name)) for name in STREAMS}
        Path(streams["stdin"]).write_bytes(given)
        for name in STREAMS[1:]:
            Path(streams[name]).touch()
        asked = {
            "command": list(command),
            "cwd": str(cwd),
            "environment": dict(os.environ if environment is None else environment),
            "streams": streams,
        }
        asking, answers = _server()
        print(json.dumps(asked), file=asking, flush=True)
        code = int(answers.readline())
        out, err = (Path(streams[name]).read_bytes() for name in STREAMS[1:])
    return subprocess.CompletedProcess(list(command), code, out, err)


@cache
def _server() -> tuple[IO[str], IO[str]]:
    """One a process, from its first command until its end."""
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    return process.stdin, process.stdout


def serve() -> None:
    """A command a line; the answer is its exit code, as a shell counts. In a forked process it is carried out."""
    asking, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in HEAVY:
        importlib.import_module(name)
    gc.freeze()
    for line in asking:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            asking.close()
            answers.close()
            leave(carry_out(**asked))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, file=answers, flush=True)


def carry_out(
    command: list[str], cwd: str, environment: dict[str, str], streams: dict[str, str]
) -> int:
    """The script as Python would run it; its exit code."""
    for number, name in enumerate(STREAMS):
        stream = os.open(streams[name], os.O_RDWR | (os.O_APPEND if number else 0))
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv, sys.orig_argv = list(command), [sys.executable, *command]
    sys.path[0] = str(Path(command[0]).resolve().parent)
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        # as Python does with sys.exit("a message")
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def leave(code: int) -> NoReturn:
    """What Python does at its end, but for taking apart every module, which takes longer than a small run."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
