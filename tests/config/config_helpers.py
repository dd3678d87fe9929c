"""The way of a command line through the door, many times in one process."""

import copy
import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import get_type_hints

from conftest import ROOT
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from trlap import stages
from trlap.config import schema
from trlap.config.door import config_from
from trlap.config.epsilon import quote
from trlap.config.messages import explain, one_line
from trlap.errors import TrlapError
from trlap.files import jsonable
from trlap.mechanisms.registry import MECHANISMS, own_keys
from trlap.runs.cell import Cell

# what a run takes that needs no file
PLAIN = ("embedding=random", "metrics.bertscore.model=null")


@cache
def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", quote([*PLAIN, *overrides]))


def through(base: tuple[str, ...], *overrides: str) -> str | None:
    """The one line that refuses these keys after those of `base`, which name groups; None: they pass.

    What a command would show as a traceback is raised. What passes stays in its folder, and keeps nothing
    of this machine.
    """
    try:
        config = copy.deepcopy(composed(*base))
        parsed = OverridesParser.create().parse_overrides(list(overrides))
        ConfigLoaderImpl._apply_overrides_to_config(parsed, config)
        run = config_from(config)
        stages.check(run)
        folder = Cell(run).folder
        stages.check_things(run)
    except (HydraException, OmegaConfBaseException) as error:
        return one_line(explain(error))
    except TrlapError as error:
        return one_line(str(error))
    assert folder.resolve().parent == Path(run.outputs).resolve()
    kept = json.dumps(jsonable(run.composed))
    assert str(Path.home()) not in kept and str(Path.cwd()) not in kept
    return None


def leaves(kind: type, prefix: str = "") -> Iterator[str]:
    """The dotted names of all keys of a dataclass, and of the groups in it."""
    for name, hint in get_type_hints(kind).items():
        yield prefix + name
        if is_dataclass(hint):
            yield from leaves(hint, f"{prefix}{name}.")  # type: ignore[arg-type]


def every_key() -> Iterator[tuple[tuple[str, ...], str]]:
    """Each key that a user can set, with the groups that have it."""
    from trlap.models.registry import CLASSIFIERS, REWRITERS

    yield from (((), key) for key in leaves(schema.Run))
    for name in MECHANISMS.ours:
        for key in ("name", *own_keys(name)):
            yield (f"mechanism={name}",), f"mechanism.{key}"
    for name in REWRITERS.ours:
        for key in ("name", "kind", *leaves(REWRITERS.find(name).Keys)):
            yield (f"model={name}",), f"model.{key}"
    for name in CLASSIFIERS.ours:
        for key in ("name", *leaves(CLASSIFIERS.find(name).Keys)):
            yield (f"classifier={name}",), f"classifier.{key}"
    yield (), "protocol.name"


# a value for each way in which one can go wrong; the numbers are too large, too small or none
NASTY = (
    *("null", "", "-1", "0", "0.5", "nan", "inf", "-inf", "1e300", "1e-320", "1e400"),
    *("99999999999999999999999", "true", "abc", "[1]", "[]", "[a,a]", "{a: 1}", "[[1],{a: [b]}]"),
    *("'../x'", "/nowhere/x", "'~nobody/x'", ".", "..", "'a/b'", "'-x'", "x" * 10_000),
    *(
        "'$(x)'",
        "${oc.env:HOME}",
        "${oc.env:HOME}/x",
        "${nothing}",
        "${dataset}",
        "${stages}",
        "???",
    ),
    *(
        "'ñ☃'",
        '"a\nb"',
        "'\\x1b[2J'",
        "'\"'",
        "'\\''",
        "'a b'",
        "'<script>'",
        "{_target_: os.system}",
    ),
)
