"""What tests share: the command line in a sub-process, composed configs, real corpora where present."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

ROOT = Path(__file__).parent.parent
os.environ.setdefault("TRLAP_CACHE", str(ROOT / "outputs" / "cache"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two pytest workers share two cores

from trlap.config.door import Config, config_from  # noqa: E402  registers the schema
from trlap.config.epsilon import quote  # noqa: E402
from trlap.files import say_once  # noqa: E402

# variables that Python and libraries read when they are loaded
READ_EARLY = ("PYTHON", "HF_")
Run = Callable[..., subprocess.CompletedProcess[str]]

# a cell of the demo with a rewriting of a second
TINY = (
    "embedding=random",
    "embedding.dimension=16",
    "metrics.bertscore.model=null",
    "metrics.bootstrap=10",
    "dataset.limit.train=60",
    "dataset.limit.validation=10",
    "dataset.limit.test=10",
    "model.hidden=16",
    "model.code=8",
)


def until(condition: Callable[[], Any], seconds: float = 120) -> Any:
    """Wait for what another process does."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)
    return found


@pytest.fixture(autouse=True)
def nothing_was_said() -> None:
    """What a process says once, every test hears."""
    say_once.cache_clear()


@pytest.fixture
def configure() -> Callable[..., DictConfig]:
    """The config that `python run.py <overrides>` would see."""

    def configure(*overrides: str) -> DictConfig:
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            return compose("config", quote(overrides))

    return configure


@pytest.fixture
def config(configure: Callable[..., DictConfig]) -> Callable[..., Config]:
    """The same, typed and checked as behind the door."""
    return lambda *overrides: config_from(configure(*overrides))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`python run.py <overrides>` in a sub-process, with its outputs in a temporary folder."""

    def run(*overrides: str, **environment: str) -> subprocess.CompletedProcess[str]:
        # two workers share two cores; W&B has tests of its own
        ours = (f"outputs={tmp_path}/outputs", "threads=1", "wandb.mode=disabled")
        command = [str(ROOT / "run.py"), *ours, *overrides]
        variables = {**os.environ, **environment}
        if not any(name.startswith(READ_EARLY) for name in environment):
            return warm.run(command, ROOT, variables)
        fresh = [sys.executable, *command]
        return subprocess.run(fresh, capture_output=True, text=True, cwd=ROOT, env=variables)

    return run


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora that TRLAP_DATA names."""
    if "TRLAP_DATA" not in os.environ:
        pytest.skip("TRLAP_DATA is not set: no real corpora on this machine")
    return Path(os.environ["TRLAP_DATA"])
