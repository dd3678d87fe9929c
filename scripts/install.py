"""python scripts/install.py    what `make setup` does first: the packages of requirements.lock into .venv

Needs nothing but Python. Says what comes and how far it is; what pip says goes to .venv/install.log.
"""

import argparse
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOG = VENV / "install.log"
LOCK = ROOT / "requirements.lock"
# seconds between two lines where nobody watches, and between two looks where somebody does
REST, LOOK = 15.0, 0.5
LINES = 12
PIP = ("-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off")


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        sys.exit("error: Python 3.11 or 3.12 is needed; make PYTHON=/path/to/python3.11 …")
    wanted = [line for line in LOCK.read_text().splitlines() if "==" in line]
    print(
        f"installing {len(wanted)} packages into {VENV.name}/, PyTorch among them: 2 to 5 minutes and about "
        f"2 GB, once; what pip says is in {LOG.relative_to(ROOT)}",
        flush=True,
    )
    started = time.monotonic()
    # as `python -m venv` does it, which can be given again
    venv.create(VENV, symlinks=os.name != "nt", with_pip=True)
    LOG.write_text("")
    install(["-r", str(LOCK)], len(wanted), started)
    install(["--no-deps", "--no-build-isolation", "--editable", str(ROOT)], len(wanted), started)
    print(f"installed in {time.monotonic() - started:.0f} s", flush=True)


def install(what: list[str], wanted: int, started: float) -> None:
    """Run pip, and show that it goes on."""
    with LOG.open("a") as log:
        process = subprocess.Popen(
            [VENV / "bin" / "python", *PIP, *what], stdout=log, stderr=subprocess.STDOUT, cwd=ROOT
        )
        watched, shown = sys.stdout.isatty(), time.monotonic()
        while process.poll() is None:
            time.sleep(LOOK)
            if watched or time.monotonic() - shown > REST:
                shown = time.monotonic()
                print(state(wanted, shown - started), end="\r" if watched else "\n", flush=True)
        if watched:
            print(" " * 60, end="\r")
    if process.returncode:
        tail = "\n".join(LOG.read_text().splitlines()[-LINES:])
        sys.exit(f"{tail}\nerror: pip failed; the whole of it is in {LOG.relative_to(ROOT)}")


def state(wanted: int, seconds: float) -> str:
    """pip looks all packages up, fetches them, and then installs them all."""
    found = sum(line.startswith("Collecting ") for line in LOG.read_text().splitlines())
    installed = sum(1 for _ in VENV.glob("lib/python*/site-packages/*.dist-info"))
    done = f"{installed} installed" if installed > 2 else f"{found} fetched"
    return f"  {done} of {wanted} · {seconds:.0f} s"


if __name__ == "__main__":
    main()
