"""python scripts/privatize.py input=mine.txt output=private.txt mechanism=crr epsilon=5

Streams a file of any size through a mechanism, in constant memory, and says what that guarantees. With
mechanism=drr and public=public.txt, ε is that of a text as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig

from trlap import cli
from trlap.config.door import privatize_from
from trlap.config.schema import Privatize
from trlap.data.given import given_file
from trlap.errors import TrlapError, tell
from trlap.privatize import command, output
from trlap.privatize.columns import Columns, columns_from
from trlap.privatize.crash import without_text
from trlap.privatize.streams import FORMATS, WITH_HEADER, transform

if TYPE_CHECKING:
    from trlap.privatize.privatizer import Privatizer
    from trlap.privatize.public_texts import PublicTexts

# of the config, what Privatizer takes as it is
KEYS = (
    "epsilon",
    "delta",
    "clip",
    "projection",
    "calibration",
    "oov",
    "unit",
    "words",
    "pick",
    "vocabulary",
    "vocabulary_size",
    "device",
    "threads",
    "seed",
    "reproducible",
)


@dataclass(frozen=True)
class Files:
    """What is read and where it goes; `target` is None for standard output."""

    source: str
    target: Path | None
    kind: str
    columns: Columns


@hydra.main(version_base="1.3", config_path="../conf", config_name="privatize")
@cli.task
def main(composed: DictConfig) -> None:
    config = privatize_from(composed)
    files = check_files(config)

    import torch

    from trlap.privatize.privatizer import Privatizer

    torch.set_num_threads(config.threads or torch.get_num_threads())
    own = {key: value for key, value in config.mechanism.items() if key != "name"}
    keys = {"mechanism": config.mechanism["name"], "vectors": config.embedding, **own}
    keys |= {key: getattr(config, key) for key in KEYS}
    keys["public"] = public_texts(config, own, files)
    privatizer = Privatizer(**keys)
    with without_text():
        summary = privatize(config, files, privatizer, keys)
    tell(summary)


def privatize(
    config: Privatize, files: Files, privatizer: "Privatizer", keys: dict[str, Any]
) -> str:
    """Stream the file through the mechanism, here or on a Ray cluster; returns what it guarantees.

    That is known before the file appears: without it nothing is published.
    """
    from trlap.privatize.summary import own_text
    from trlap.progress import progress

    with (
        output.opened(files.target, config.force) as stream,
        progress("privatising", privatizer.answers.counted) as show,
    ):
        at_once, before = privatizer.answers.at_once, 0.0

        def change(texts: list[str], share: float | None) -> list[str]:
            nonlocal before
            private: list[str] = []
            for start in range(0, len(texts), at_once):
                private += privatizer.privatize(texts[start : start + at_once])
                done = len(private) / len(texts)
                show(None if share is None else before + (share - before) * done, privatizer.tokens)
            before = share or 0.0
            return private

        places = (files.source, stream, files.kind, files.columns)
        if config.engine == "ray":
            from trlap.privatize import ray as on_ray

            on_ray.privatize(privatizer, keys, *places, config.threads, show)
        else:
            transform(*places, change)
        return own_text(privatizer, config.output)


def public_texts(config: Privatize, own: dict[str, Any], files: Files) -> "PublicTexts | None":
    """Those that a mechanism of documents answers with, read once all that was asked for makes sense."""
    from trlap.privatize.asked import check_unit
    from trlap.privatize.public_texts import read_public

    told = {key: getattr(config, key) for key in ("unit", "words", "pick", "oov")}
    given = config.public.path is not None
    check_unit(config.mechanism["name"], config.epsilon, own, **told, public=given)
    if not given:
        return None
    return read_public(config.public, config.column, config.header, files.kind)


def check_files(config: Privatize) -> Files:
    """Everything that can be refused before any work starts."""
    source = config.input
    if source != "-" and not Path(source).exists():
        raise TrlapError(f"input={source}: no such file")
    if Path(source).is_dir():
        raise TrlapError(f"input={source}: it is a folder; name a file in it")
    target = output.check_place(config.output, force=True)
    kind = format_of(config, target)
    if config.engine == "ray" and (source == "-" or target is None):
        raise TrlapError("engine=ray: give input= and output= as files")
    if config.engine == "ray" and config.seed is not None:
        raise TrlapError("engine=ray: every process draws its own seeds; leave seed out")
    if kind == ".parquet" and (target is None or not Path(source).is_file()):
        raise TrlapError("parquet cannot be streamed; give input= and output= as files")
    if not config.header and kind not in WITH_HEADER:
        raise TrlapError(f"header=false is for {' and '.join(WITH_HEADER)} files")
    columns = columns_from(config.column, config.header)
    check_public(config, target)
    if target and target.exists() and source != "-" and target.samefile(source):
        raise TrlapError(f"output={config.output}: that is the input; choose another name")
    return Files(source, output.check_place(config.output, config.force), kind, columns)


def check_public(config: Privatize, target: Path | None) -> None:
    """Public texts are printed as they stand, so they are no private ones; and they are not written over."""
    path = config.public.path
    if path is None:
        return
    public = given_file(path, f"public={path}")
    source = Path("/dev/stdin" if config.input == "-" else config.input)
    if source.exists() and public.samefile(source):
        raise TrlapError(
            f"public={path}: that is the input, which would be printed as it stands; name a file of texts "
            "that are public"
        )
    if target and target.exists() and public.samefile(target):
        raise TrlapError(f"output={config.output}: those are the public texts; choose another name")


def format_of(config: Privatize, target: Path | None) -> str:
    """The format of the input, which the output keeps."""
    written = Path(config.output).suffix.lower() if target else ""
    kind = Path(config.input).suffix.lower() if config.input != "-" else written or ".txt"
    known = kind
    if config.format:
        kind = f".{config.format}"
    if kind not in FORMATS:
        raise TrlapError(
            f"cannot read {kind or 'this'} files; choose from {' '.join(FORMATS)}, or set format="
        )
    # with format=tsv, what reads as .csv may be written as .csv: the name is the user's own there
    if written in FORMATS and written not in (kind, known):
        name = Path(config.output).with_suffix(kind)
        raise TrlapError(
            f"output={config.output}: the input is {kind}, and formats are not converted; name it {name}"
        )
    return kind


def check_command(arguments: Sequence[str]) -> None:
    command.checked(arguments, Path(__file__).resolve().parent.parent / "conf")


if __name__ == "__main__":
    cli.launch(main, check_command)
