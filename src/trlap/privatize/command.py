"""What is typed after scripts/privatize.py: its usage, and what it refuses before Hydra composes anything."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from string import Template

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf, open_dict

from trlap.config import command
from trlap.errors import TrlapError, tell

CONFIG = "privatize"


def checked(arguments: Sequence[str], configs: Path) -> None:
    """Prints the usage and leaves where it was asked for, and where nothing was."""
    if not arguments:
        tell(usage(configs, []))
        raise SystemExit(2)
    given = command.read(arguments)
    if given.options.help:
        print(usage(configs, given.words))
        raise SystemExit(0)
    if bare := [word for word in given.words if "=" not in word and not word.startswith("~")]:
        raise TrlapError(f"{bare[0]}: write {_as_files(bare, given)}")
    _check_public(given)
    if given.multirun:
        raise TrlapError("-m is for run.py; this command takes one file, and one value of each key")
    for override in given.overrides:
        if override.is_sweep_override():
            key, _, values = str(override.input_line).partition("=")
            several = f'; several columns are "column=[{values}]"' if key == "column" else ""
            raise TrlapError(f"{override.input_line}: give one value{several}")


def _check_public(given: command.Command) -> None:
    """What Hydra would say of these names other keys, or forgets one of two."""
    for word in given.words:
        if word.lstrip("+").startswith("public.share="):
            raise TrlapError(
                f"{word}: it is for run.py; here give a file of public texts, as in public=public.txt"
            )
        if re.match(r"public=[\[{]", word):
            raise TrlapError(f"{word}: give one file of public texts, as in public=public.txt")
    short = [word for word in given.words if word.startswith("public=")]
    if short and any(word.startswith("public.") for word in given.words):
        path = short[0].partition("=")[2]
        raise TrlapError(f"{short[0]}: with other keys of public, write public.path={path}")


def _as_files(bare: Sequence[str], given: command.Command) -> str:
    """A file name without its key is the input; the one after it, the output."""
    open_keys = [key for key in ("input", "output") if not given.value(key)]
    named = [f"{key}={_quoted(word)}" for key, word in zip(open_keys, bare, strict=False)]
    if not named:
        return "key=value, as `--help` lists them"
    missing = "" if len(named) == len(open_keys) else f", and {open_keys[-1]}=… for the result"
    return shlex.join(named) + missing


def _quoted(name: str) -> str:
    """A file name as Hydra reads it whole."""
    return name if re.fullmatch(r"[\w./:~ -]+", name, re.ASCII) else f"'{name}'"


def usage(configs: Path, overrides: Sequence[str]) -> str:
    """The help text of conf/privatize.yaml, with the groups that this command has and no other."""
    with initialize_config_dir(str(configs), version_base="1.3"):
        composed = compose(CONFIG, list(overrides), return_hydra_config=True)
        loader = GlobalHydra.instance().config_loader()
        choices = composed.hydra.runtime.choices
        chosen = [group for group in choices if choices[group] and not group.startswith("hydra/")]
        unused = [group for group in choices if choices[group] is None and group in composed]
        groups = {group: loader.get_group_options(group) for group in sorted(chosen)}
        template = Template(composed.hydra.help.template)
    with open_dict(composed):
        for key in ("hydra", *unused):
            del composed[key]
    listed = "".join(f"{group}: {', '.join(options)}\n" for group, options in groups.items())
    text = template.substitute(APP_CONFIG_GROUPS=listed, CONFIG=OmegaConf.to_yaml(composed))
    return text.rstrip()
