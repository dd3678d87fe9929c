"""What every command shares: one clear line for what a user can mend, and exit code 2; `-v` for the log.

Anything else is a defect of ours and keeps its traceback.
"""

import errno
import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from trlap.config import code, command
from trlap.config.epsilon import quote
from trlap.config.messages import explain, one_line
from trlap.errors import TrlapError, tell
from trlap.files import DISK, REASONS
from trlap.runs import signals
from trlap.runs.logs import VERBOSE

OUT_OF_MEMORY = (
    "not enough memory; lower dataset.limit.train, dataset.vocabulary_size or embedding.dimension, "
    "or run fewer cells at once"
)


def task(function: Callable[[DictConfig], Any]) -> Callable[[DictConfig], Any]:
    """Report an error inside the task itself, before Hydra adds lines of its own."""

    @functools.wraps(function)
    def reporting(composed: DictConfig) -> Any:
        try:
            return function(composed)
        except TrlapError as error:
            _fail(str(error))
        except BrokenPipeError:
            _nobody_reads()
        except OSError as error:
            _fail_at(error)
        except (MemoryError, RuntimeError) as error:
            if not _out_of_memory(error):
                raise
            _fail(OUT_OF_MEMORY)

    return reporting


def launch(
    main: Callable[[], Any], check: Callable[[Sequence[str]], None] = command.check_run
) -> None:
    """Call a Hydra main; a command line that does not compose is one clear line too.

    `check` refuses what can be seen in the words of the command line.
    """
    if "-v" in sys.argv:
        sys.argv.remove("-v")
        os.environ[VERBOSE] = "1"
    plain_output()
    # Hydra then raises instead of printing its own report
    os.environ["HYDRA_FULL_ERROR"] = "1"
    code.guard()
    try:
        code.check_command(sys.argv[1:])
        words = _options_first(sys.argv[1:])
        check(words)
        sys.argv[1:] = quote(words)
        with signals.heeded():
            main()
    except TrlapError as error:
        _fail(str(error))
    except (HydraException, OmegaConfBaseException) as error:
        _fail(explain(error))
    except (YAMLError, UnicodeDecodeError) as error:
        _fail(f"a YAML file cannot be read: {error}")
    except ValueError as error:
        # Hydra's own check of `mechanism=null` or `mechanism=5`
        if not str(error).startswith("Config group override"):
            raise
        _fail(f"{error}; `python run.py --help` lists the options of every group")
    except BrokenPipeError:
        _nobody_reads()
    except OSError as error:
        _fail_at(error)
    except KeyboardInterrupt:
        sys.exit(130)


def _options_first(words: list[str]) -> list[str]:
    """Python's argparse refuses keys on both sides of an option, as in `epsilon=1,2 -m seed=1`."""

    def key(word: str) -> bool:
        return word not in ("-m", "--multirun") and not (word.startswith("--") and "=" in word)

    return sorted(words, key=key)


def _nobody_reads() -> NoReturn:
    """Whoever read what is printed has left, as `head` does. At the end, too, nothing is to be written to it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(128 + signal.SIGPIPE)


def _fail_at(error: OSError) -> NoReturn:
    """A full disk, or a file that is not for us, seen by a library of others."""
    if error.errno not in (*DISK, errno.EACCES, errno.EPERM):
        raise error
    _fail(f"{error.filename or 'cannot write'}: {REASONS[error.errno]}")


def plain_output() -> None:
    """A terminal that has no ε gets `\\u03b5` instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _out_of_memory(error: BaseException) -> bool:
    """Python's own, NumPy's, and what torch says on a CPU and on a GPU."""
    said = str(error)
    return isinstance(error, MemoryError) or "allocate memory" in said or "out of memory" in said


def _fail(line: str) -> NoReturn:
    tell(f"error: {one_line(line)}")
    sys.exit(2)
