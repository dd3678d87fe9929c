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
import signal
import subprocess
import sys
import tempfile
import threading
import time
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


class Process:
    """A script and its arguments, under way. It has the verbs of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: str | os.PathLike[str],
        environment: Mapping[str, str] | None = None,
        given: bytes = b"",
    ) -> None:
        self.args = list(command)
        self.folder = tempfile.TemporaryDirectory()
        streams = {name: str(Path(self.folder.name, name)) for name in STREAMS}
        for name, path in streams.items():
            Path(path).write_bytes(given if name == "stdin" else b"")
        self.pid = _ask(
            command=self.args,
            cwd=str(cwd),
            environment=dict(os.environ if environment is None else environment),
            streams=streams,
        )
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """As Popen has it: a signal is its negative number."""
        if self.returncode is None:
            code = _ask(ended=self.pid)
            self.returncode = None if code == RUNS else code
        return self.returncode

    def wait(self, timeout: float = 600) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def written(self) -> tuple[bytes, bytes]:
        """On its standard output and standard error."""
        out, err = (Path(self.folder.name, name).read_bytes() for name in STREAMS[1:])
        return out, err

    def communicate(self, timeout: float = 600) -> tuple[str, str]:
        self.wait(timeout)
        out, err = self.written()
        return out.decode(), err.decode()


# the answer of a server about a process that has not ended
RUNS = 1000


def run(
    command: Sequence[str],
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """A script and its arguments, until it ends."""
    process = Process(command, cwd, environment)
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.wait(), out, err)


def run_bytes(
    command: Sequence[str], cwd: str | os.PathLike[str], given: bytes
) -> "subprocess.CompletedProcess[bytes]":
    """The same with `given` on its standard input."""
    process = Process(command, cwd, given=given)
    code = process.wait()
    return subprocess.CompletedProcess(process.args, code, *process.written())


def _ask(**asked: object) -> int:
    asking, answers = _server()
    print(json.dumps(asked), file=asking, flush=True)
    return int(answers.readline())


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


# ------------------------------------------------------------------------------------------- the server


def serve() -> None:
    """A line a question: a command, which is carried out in a forked process whose number is the answer, or
    whether such a process has ended, with its exit code.
    """
    asking, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in HEAVY:
        importlib.import_module(name)
    gc.freeze()
    for line in asking:
        asked = json.loads(line)
        if "ended" in asked:
            child, status = os.waitpid(asked["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if child else RUNS
        else:
            answer = os.fork()
            if answer == 0:
                asking.close()
                answers.close()
                leave(carry_out(**asked))
        print(answer, file=answers, flush=True)


def carry_out(
    command: list[str], cwd: str, environment: dict[str, str], streams: dict[str, str]
) -> int:
    """The script as Python would run it; its exit code."""
    for number, name in enumerate(STREAMS):
        stream = os.open(streams[name], os.O_RDWR | (os.O_APPEND if number else 0))
        os.dup2(stream, number)
        os.close(stream)
    # tests that are run by nohup hand an ignored SIGHUP down
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
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
