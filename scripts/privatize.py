"""python scripts/privatize.py input=mine.txt output=private.txt mechanism=crr epsilon=5

Streams a file of any size through a mechanism, in constant memory, and says what that guarantees.
"""

import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from trlap import cli
from trlap.config.schema import check
from trlap.errors import TrlapError
from trlap.privatize.streams import FORMATS, transform
from trlap.runs.cache import atomic

KEYS = (  # of the config that Privatizer takes as they are
    "epsilon delta clip projection calibration oov vocabulary vocabulary_size device seed reproducible"
).split()


@hydra.main(version_base="1.3", config_path="../conf", config_name="privatize")
@cli.task
def main(cfg: DictConfig) -> None:
    check(cfg)
    kind, target = check_files(cfg)

    import torch

    from trlap.privatize.privatizer import Privatizer
    from trlap.progress import progress
    from trlap.runs.summary import own_text

    torch.set_num_threads(cfg.threads or torch.get_num_threads())
    own = {key: value for key, value in cfg.mechanism.items() if key != "name"}
    keys = {"mechanism": cfg.mechanism.name, "vectors": cfg.embedding, **own}
    keys |= {key: cfg[key] for key in KEYS}
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

        if cfg.engine == "ray":
            from trlap.privatize import ray as on_ray

            assert target is not None
            with atomic(target) as temporary:
                places = (cfg.input, temporary, kind, cfg.column)
                sample = on_ray.privatize(privatizer, keys, *places, cfg.threads, show)
        elif target is None:
            transform(cfg.input, None, kind, cfg.column, change)
        else:
            with atomic(target) as temporary:
                transform(cfg.input, temporary, kind, cfg.column, change)
    print(own_text(privatizer, sample, cfg.output), file=sys.stderr)


def check_files(cfg: DictConfig) -> tuple[str, Path | None]:
    """The format and where to write, before any work starts."""
    if cfg.input != "-" and not Path(cfg.input).is_file():
        raise TrlapError(f"input={cfg.input}: no such file")
    named = [Path(name).suffix.lower() for name in (cfg.input, cfg.output) if name != "-"]
    kind = f".{cfg.format}" if cfg.format else named[0] if named else ".txt"
    if kind not in FORMATS:
        raise TrlapError(
            f"cannot read {kind or 'this'} files; choose from {' '.join(FORMATS)}, or set format="
        )
    if cfg.engine == "ray" and (cfg.input == "-" or cfg.output == "-"):
        raise TrlapError("engine=ray: give input= and output= as files")
    if cfg.engine == "ray" and cfg.seed is not None:
        raise TrlapError("engine=ray: every process draws its own seeds; leave seed out")
    if cfg.output == "-":
        return kind, None
    target = Path(cfg.output)
    if not target.parent.is_dir():
        raise TrlapError(f"output={cfg.output}: there is no folder {target.parent}")
    if target.exists() and cfg.input != "-" and target.samefile(cfg.input):
        raise TrlapError(f"output={cfg.output}: that is the input; choose another name")
    if target.exists() and not cfg.force:
        raise TrlapError(f"output={cfg.output}: it exists; choose another name, or add force=true")
    return kind, target


if __name__ == "__main__":
    cli.launch(main)
