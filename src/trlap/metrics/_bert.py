"""Models for BERTScore: where their files are, and how bert-score is made to load and to be silent."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.embeddings.assets import ASSETS, fetch
from trlap.errors import TrlapError

if TYPE_CHECKING:
    from bert_score import BERTScorer


# seconds for the hub's first answer
PATIENCE = 10.0


def hub_name(model: str) -> str:
    """bert-score knows RoBERTa by the name it had before the hub put it under its owner's."""
    return model.removeprefix("FacebookAI/")


def model_folder(model: str) -> Path:
    """The folder of an asset, a folder, or one that the Hugging Face hub fills."""
    if model in ASSETS:
        return fetch(model)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if model.startswith(("/", ".", "~")) or model.count("/") > 1:
        raise TrlapError(f"metrics.bertscore.model: no folder {model}")

    return _from_hub(model)


def _from_hub(model: str) -> Path:
    import huggingface_hub as hub

    silence = None
    try:
        if not isinstance(hub.try_to_load_from_cache(model, "config.json"), str):
            print(f"fetching {model} from the Hugging Face hub …", file=sys.stderr)
        silence = _silence_of_hub(model)
        # what is cached already serves when the hub cannot be reached
        with quiet():
            snapshot = hub.snapshot_download(
                model,
                allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors"],
                ignore_patterns=["*/*"],
                local_files_only=silence is not None,
            )
    # the hub's client raises its own errors, its HTTP library's and OSError
    except Exception as error:
        raise TrlapError(
            f"cannot fetch {model} from the Hugging Face hub: {silence or _line(error)}"
        ) from error
    return Path(snapshot)


@cache
def _silence_of_hub(model: str) -> str | None:
    """Why the hub does not answer for this model; None where it does.

    Its client waits for some answers without an end. Asked once in a process, since a sweep would wait for
    every cell.
    """
    import huggingface_hub as hub

    try:
        with quiet():
            hub.HfApi().model_info(model, timeout=PATIENCE)
    # as above
    except Exception as error:
        return _line(error)
    return None


def load_scorer(model: str, num_layers: int | None, folder: Path, device: str) -> "BERTScorer":
    """bert-score's scorer with the files of that folder. `num_layers` null: the best known layer."""
    # It sets its log level on import, so it comes before `quiet`.
    import transformers  # noqa: F401

    with quiet():
        from bert_score import BERTScorer
        from bert_score.utils import model2layers

    # all of MiniLM's layers: bert-score's table lacks it
    known = model2layers | {"minilm": 6}
    layers = num_layers or known.get(hub_name(model))
    if layers is None:
        raise TrlapError(
            f"set metrics.bertscore.num_layers: bert-score has no default layer for {model}"
        )
    try:
        # from inside the parent folder: bert-score takes any path with "t5" in it for a T5 model
        with quiet(), chdir(folder.parent):
            scorer = BERTScorer(f"./{folder.name}", num_layers=layers, device=device)
    # missing files, a wrong layer, an unknown architecture: all raise differently
    except Exception as error:
        raise TrlapError(f"bert-score cannot load {model}: {_line(error)}") from error
    # so that the hash has the model's name, not a path
    scorer._model_type = model
    tokenizer = scorer._tokenizer
    # transformers 5 knows no limit for some tokenisers, and no longer heeds bert-score's request
    # for the leading space that RoBERTa's vocabulary expects
    tokenizer.model_max_length = min(tokenizer.model_max_length, 512)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    splitter: Any = getattr(backend, "pre_tokenizer", None)
    if hasattr(splitter, "add_prefix_space"):
        splitter.add_prefix_space = True
    return scorer


def _line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars, load reports and advice that no user of ours can follow."""
    noisy = ("transformers", "huggingface_hub", "matplotlib")
    loggers = [logging.getLogger(name) for name in noisy]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
