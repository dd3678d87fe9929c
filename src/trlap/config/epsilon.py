"""`epsilon` on a command line: a config group and a number at once.

Hydra refuses a number where a group of that name exists. So every override of it is quoted before Hydra sees
it, on the command line and in each job of a sweep, and `unquoted` gives back what a person types. For the rest
see `hydra_plugins.trlap_epsilon`.
"""

import re
from collections.abc import Sequence
from typing import Any

from omegaconf import DictConfig

from trlap.errors import TrlapError

NAMED = re.compile(r"[+~]*epsilon(?=[@=]|$)")
QUOTED = re.compile(r"epsilon='(.*)'")


def quote(words: Sequence[str]) -> list[str]:
    """Overrides as Hydra wants them: `epsilon=1e1` becomes `epsilon='10'`. What sweeps is left for its jobs."""
    return [_quoted(word) if NAMED.match(word) else word for word in words]


def unquoted(override: str) -> str:
    """As it is typed and shown."""
    return QUOTED.sub(r"epsilon=\1", override)


def _quoted(word: str) -> str:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException:
        # nothing that a number looks like
        raise _refused(word) from None
    plain = word.startswith("epsilon=") or word.startswith("++epsilon=")
    if word.startswith("+epsilon="):
        raise TrlapError(f"{word}: there is an epsilon already; leave the + out, as epsilon=0.1")
    if not plain:
        raise _refused(word)
    if override.is_sweep_override():
        return word.removeprefix("++")
    text = canonical(override.value(), word)
    if text == "inf" and "inf" not in word.lower():
        # a number that floats cannot hold is not the word for no noise
        raise _refused(word)
    return f"epsilon='{text}'"


def canonical(value: Any, word: str) -> str:
    """One text for one number: 10, 10.0 and 1e1 are `10`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _refused(word)
    try:
        return repr(float(value)).removesuffix(".0")
    except (ValueError, OverflowError):
        raise _refused(word) from None


def _refused(word: str) -> TrlapError:
    return TrlapError(f"{word}: give a number above 0, as epsilon=0.1, or epsilon=inf")


def check_body(composed: DictConfig) -> None:
    """A number in the body of a YAML file would beat the command line without a word."""
    choice = composed.hydra.runtime.choices.get("epsilon")
    if choice is None or "epsilon" not in composed:
        return
    chosen, value = float(choice), composed._get_node("epsilon")._value()  # type: ignore[union-attr]
    if value != chosen and not (value != value and chosen != chosen):
        raise TrlapError(
            f"epsilon: a config file has {value} in its body, where it would beat the command line; "
            f'write `override /epsilon: "{value}"` into its defaults instead'
        )
