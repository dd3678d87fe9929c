"""python scripts/privatize.py input=mine.txt output=private.txt mechanism=crr epsilon=5

Streams a file of any size through a mechanism, in constant memory, and says what that guarantees.
"""

import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from trlap import cli
from trlap.config.door import privatize_from
from trlap.config.schema import Privatize
from trlap.errors import TrlapError
from trlap.files import atomic
from trlap.privatize.streams import FORMATS, transform

# of the config, what Privatizer takes as it is
KEYS = (
    "epsilon",
    "delta",
    "clip",
    "projection",
    "calibration",
    "oov",
    "vocabulary",
    "vocabulary_size",
    "device",
    "seed",
    "reproducible",
)


@hydra.main(version_base="1.3", config_path="../conf", config_name="privatize")
@cli.task
def main(composed: DictConfig) -> None:
    config = privatize_from(composed)
    kind, target = check_files(config)

    import torch

    from trlap.privatize.privatizer import Privatizer
    from trlap.privatize.summary import own_text
    from trlap.progress import progress

    torch.set_num_threads(config.threads or torch.get_num_threads())
    own = {key: value for key, value in config.mechanism.items() if key != "name"}
    keys = {"mechanism": config.mechanism["name"], "vectors": config.embedding, **own}
    keys |= {key: getattr(config, key) for key in KEYS}
    privatizer = Privatizer(**keys)
    sample: list[str] = []
    with progress("privatising", "tokens") as show:

        def change(texts: list[str], share: float | None) -> list[str]:
            private = privatizer.privatize(texts)
            show(share, privatizer.tokens)
            if not sample:
                sample.extend(
                    next((pair for pair in zip(texts, private, strict=True) if pair[1]), ())
                )
            return private

        if config.engine == "ray":
            from trlap.privatize import ray as on_ray

            assert target is not None
            with atomic(target) as temporary:
                places = (config.input, temporary, kind, config.column)
                sample = on_ray.privatize(privatizer, keys, *places, config.threads, show)
        elif target is None:
            transform(config.input, None, kind, config.column, change)
        else:
            with atomic(target) as temporary:
                transform(config.input, temporary, kind, config.column, change)
    print(own_text(privatizer, sample, config.output), file=sys.stderr)


def check_files(config: Privatize) -> tuple[str, Path | None]:
    """The format and where to write, before any work starts."""
    if config.input != "-" and not Path(config.input).is_file():
        raise TrlapError(f"input={config.input}: no such file")
    named = [Path(name).suffix.lower() for name in (config.input, config.output) if name != "-"]
    kind = f".{config.format}" if config.format else named[0] if named else ".txt"
    if kind not in FORMATS:
        raise TrlapError(
            f"cannot read {kind or 'this'} files; choose from {' '.join(FORMATS)}, or set format="
        )
    if config.engine == "ray" and (config.input == "-" or config.output == "-"):
        raise TrlapError("engine=ray: give input= and output= as files")
    if config.engine == "ray" and config.seed is not None:
        raise TrlapError("engine=ray: every process draws its own seeds; leave seed out")
    if config.output == "-":
        return kind, None
    target = Path(config.output)
    if not target.parent.is_dir():
        raise TrlapError(f"output={config.output}: there is no folder {target.parent}")
    if target.exists() and config.input != "-" and target.samefile(config.input):
        raise TrlapError(f"output={config.output}: that is the input; choose another name")
    if target.exists() and not config.force:
        raise TrlapError(
            f"output={config.output}: it exists; choose another name, or add force=true"
        )
    return kind, target


if __name__ == "__main__":
    cli.launch(main)
