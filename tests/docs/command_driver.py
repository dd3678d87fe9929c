"""Run scripts one after another in this one process, as if each were a command; imports are paid for once.

Reads `[[script, argument, …], …]` from standard input, writes `[{code, output}, …]` to standard output.
"""

import contextlib
import io
import json
import os
import runpy
import sys
import traceback
from pathlib import Path


def call(script: str, *arguments: str) -> dict[str, int | str]:
    """Exit code, and what was printed."""
    code: int | str | None = 0
    printed = io.StringIO()
    sys.argv = [script, *arguments]
    # where Python looks for modules first: beside the script
    sys.path[0] = str(Path(script).resolve().parent)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            code = end.code
            # as Python does with sys.exit("a message")
            if isinstance(code, str):
                print(code)
                code = 1
        except BaseException:
            traceback.print_exc()
            code = 1
    return {"code": code or 0, "output": printed.getvalue()}


if __name__ == "__main__":
    # Results go to where standard output was; whatever else writes there does not reach it.
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    json.dump([call(*command) for command in json.load(sys.stdin)], results)
    results.close()
