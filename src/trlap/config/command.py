"""A command line as it was typed, looked at before Hydra composes it: what is refused says what to type."""

import argparse
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from trlap.errors import TrlapError

LAUNCHER = "hydra/launcher"
ON_RAY = ("ray_cluster", "ray", "ray_aws")
ON_SLURM = ("slurm", "submitit_slurm")
TRUE = ("true", "yes", "on", "y", "1")


@dataclass(frozen=True)
class Command:
    """Hydra's options, and the words that set keys."""

    options: argparse.Namespace
    words: list[str]

    @property
    def multirun(self) -> bool:
        return self.options.multirun or "hydra.mode=MULTIRUN" in self.words

    @property
    def overrides(self) -> list[Override]:
        """Those that Hydra can read; of the others it speaks itself."""
        parser = OverridesParser.create()
        readable = []
        for word in self.words:
            try:
                readable.append(parser.parse_override(word))
            except HydraException:
                continue
        return readable

    def value(self, key: str) -> str:
        """What the command line sets a key to, the last time."""
        values = [word.partition("=")[2] for word in self.words if word.startswith(f"{key}=")]
        return values[-1] if values else ""


def read(arguments: Sequence[str]) -> Command:
    """Raises TrlapError for an option that Hydra does not have."""
    parser = get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise TrlapError(f"{message}; `--help` lists what can be given")

    parser.error = refuse  # type: ignore[method-assign]
    options, rest = parser.parse_known_args(list(arguments))
    for word in rest:
        if word.startswith("-"):
            raise TrlapError(
                f"{word}: no such option; keys are given as key=value, and `--help` lists them"
            )
    if rest:
        words = [word for word in arguments if word not in ("-m", "--multirun")]
        flag = ["-m"] if options.multirun else []
        raise TrlapError(f"options come before keys: `{typed([*flag, *words])}`")
    return Command(options, options.overrides)


# ------------------------------------------------------------------------------------------------ run.py


def check_run(arguments: Sequence[str]) -> None:
    """What run.py refuses at once: sweeps without -m, and launchers that this machine does not have."""
    command = read(arguments)
    for word in command.words:
        if "=" not in word and not word.startswith("~"):
            raise TrlapError(f"{word}: write key=value{_meant(word)}")
        if word.lstrip("+").startswith("hydra.sweeper.params"):
            raise TrlapError(f"{word}: give what is swept as keys, as in -m epsilon=0.1,1")
    swept = [override for override in command.overrides if override.is_sweep_override()]
    for override in swept:
        if override.key_or_group == "experiment":
            raise TrlapError(
                f"{override.input_line}: each is a sweep of its own; give one after the other"
            )
    if swept and not command.multirun:
        raise TrlapError(
            f"{swept[0].input_line}: this is a sweep: add -m, as in `{typed(['-m', *arguments])}`"
        )
    if command.value("hydra.launcher.n_jobs") == "0":
        raise TrlapError(
            "hydra.launcher.n_jobs=0: give how many cells run at once, or -1 for as many as there are cores"
        )
    launcher = command.value(LAUNCHER)
    if launcher in ON_RAY and not has_ray():
        raise TrlapError(f"{LAUNCHER}={launcher}: Ray is not installed; `make ray` does it")
    # a plan starts nothing, and may be made elsewhere
    planned = command.value("plan").lower() in TRUE
    if launcher in ON_SLURM and not planned and not has_slurm():
        raise TrlapError(
            f"{LAUNCHER}={launcher}: this machine has no Slurm (no srun and sbatch on the PATH); give the "
            f"command where they are, or {LAUNCHER}=workers for several cells at once on this machine"
        )


def has_ray() -> bool:
    """Ray itself and Hydra's launcher for it."""
    return all(find_spec(name) for name in ("ray", "hydra_plugins.hydra_ray_launcher"))


def has_slurm() -> bool:
    return all(shutil.which(name) for name in ("srun", "sbatch"))


def refuse_sweep() -> None:
    """In a single run: an experiment that sweeps keys which the command line leaves open."""
    hydra = HydraConfig.get()
    given = {re.split("[=@]", word.lstrip("+~"))[0] for word in hydra.overrides.task}
    left = [key for key in hydra.sweeper.get("params") or {} if key not in given]
    if left:
        arguments = given_words()
        raise TrlapError(
            f"this is a sweep: add -m, as in `{typed(['-m', *arguments])}`; for one run of it, give "
            f"{' '.join(f'{key}=…' for key in left)} too"
        )


def _meant(word: str) -> str:
    """The groups that have an option of that name, for who forgot the group."""
    configs = Path(sys.argv[0]).resolve().parent / "conf"
    if not re.fullmatch(r"[\w-]+", word):
        return ""
    groups = sorted(path.parent.name for path in configs.glob(f"*/{word}.yaml"))
    return f", as in {' or '.join(f'{group}={word}' for group in groups)}" if groups else ""


# --------------------------------------------------------------------------------- a command to be typed


def given_words() -> list[str]:
    """The arguments as they were typed, whatever was done to sys.argv since."""
    name = Path(sys.argv[0]).name
    for place, word in enumerate(sys.orig_argv):
        if Path(word).name == name:
            return sys.orig_argv[place + 1 :]
    return sys.argv[1:]


def typed(arguments: Sequence[str]) -> str:
    """The command with these arguments, as one gives it to a shell in this folder."""
    script = sys.argv[0]
    if not script.endswith(".py"):
        return shlex.join([Path(script).name, *arguments])
    beside = os.path.relpath(script)
    return shlex.join(["python", script if beside.startswith("..") else beside, *arguments])
