"""One line for what Hydra or OmegaConf found wrong with a command line."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, get_type_hints

from omegaconf.errors import OmegaConfBaseException

from trlap.config import schema
from trlap.registry import Registry

# of Hydra's own reading of a command line; its message would quote the whole argument
UNREADABLE = (
    "a value on the command line has signs that Hydra reads otherwise; give it quotation marks of its own, "
    "as in \"column='Größe'\" or \"input='my (1).csv'\""
)
# of a line, and of a word of it
LONGEST, LONGEST_WORD = 1000, 200


def one_line(text: str) -> str:
    """A message as one line of a length that can be read, without signs that move a terminal's cursor."""
    line = " ".join(text.split())
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
    line = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: f"{word[0][:80]}…", line)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"


def explain(error: Exception) -> str:
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    text = str(cause)
    key = re.search(r"full_key: (\S+)", text)
    if match := re.search(r"Key '(\w+)' (?:is )?not in", text):
        return no_such_key(key.group(1) if key else match.group(1))
    if match := re.search(
        r"Could not find '([\w/]+)/([^/\s]*)'.*?:\n(.*?)\n\S", text + "\n.", re.DOTALL
    ):
        group, option, options = match.groups()
        return f"{group}={option}: there is none; choose from {', '.join(options.split())}"
    if match := re.search(r"Could not override '([^']+)'", text):
        return f"no such group: {match.group(1)}; `--help` lists those that this command has"
    if re.match(r"LexerNoViableAlt|mismatched input|extraneous input|no viable alt", text):
        return UNREADABLE
    if key and "is not a ListConfig" in text:
        return f"{key.group(1)}: write a list, in brackets, as {key.group(1)}=[a,b]"
    line = one_line(re.split(r"\n\s*full_key:", text)[0])
    return f"{key.group(1)}: {line}" if key else line


def no_such_key(wrong: str) -> str:
    """What to say of a key that nothing declares."""
    known = _known_keys(wrong.partition(".")[0])
    if wrong in known:
        return f"{wrong}: the option that was chosen does not list it; write +{wrong}=… to add it"
    if wrong.startswith("hydra.launcher."):
        return f"no such key: {wrong}; the launcher comes first, as in hydra/launcher=workers"
    near = difflib.get_close_matches(wrong, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `python run.py --help`"
    return f"no such key: {wrong}; {hint}"


def _known_keys(group: str) -> list[str]:
    """Every key of the schema, and those that things of the group declare."""

    def names(kind: type, prefix: str = "") -> Iterator[str]:
        for name, hint in get_type_hints(kind).items():
            yield prefix + name
            if is_dataclass(hint):
                yield from names(hint, f"{prefix}{name}.")  # type: ignore[arg-type]

    known = [*names(schema.Run), *names(schema.Privatize)]
    from trlap.models.registry import CLASSIFIERS, REWRITERS

    registries: dict[str, Registry[Any]] = {"model": REWRITERS, "classifier": CLASSIFIERS}
    registry = registries.get(group)
    if registry is not None:
        known += [
            key for thing in registry.ours for key in names(registry.find(thing).Keys, f"{group}.")
        ]
    return list(dict.fromkeys(known))
