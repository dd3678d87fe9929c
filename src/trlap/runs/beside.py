"""Runs to show beside one: the same corpus and keys under another mechanism and budget (key `beside`)."""

import re
from dataclasses import replace

from hydra import compose
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig

from trlap.config.door import Config, config_from
from trlap.config.epsilon import quote
from trlap.config.messages import explain
from trlap.errors import TrlapError
from trlap.stages import CLASSIFY, REWRITE

# what an override is of, and whether the other run has its own instead
KEY = re.compile(r"[+~]*(\w+)")
MOST = 2  # columns beside the first, of a screen of a hundred characters
OWN = ("mechanism", "epsilon", "beside", "calibration", "delta")


def configs(composed: DictConfig) -> list[Config]:
    """The run that was asked for, and then those beside it."""
    first = config_from(composed)
    if len(first.beside) > MOST:
        raise TrlapError(f"beside: there is room for {MOST}; leave some out")
    return [first, *(_other(first, named) for named in first.beside)]


def _other(first: Config, named: str) -> Config:
    mechanism, sign, epsilon = named.partition("@")
    if not (mechanism and sign and epsilon):
        raise TrlapError(f"beside={named}: write mechanism@epsilon, as beside=[crr@8]")
    told = HydraConfig.get()
    shared = [
        override
        for override in told.overrides.task
        if (match := KEY.match(override)) and match.group(1) not in OWN
    ]
    try:
        overrides = [*shared, f"mechanism={mechanism}", *quote([f"epsilon={epsilon}"])]
        config = config_from(compose(told.job.config_name, overrides))
    except HydraException as error:
        # inside a task Hydra would add a line of its own
        raise TrlapError(f"beside={named}: {explain(error)}") from error
    except TrlapError as error:
        raise TrlapError(f"beside={named}: {error}") from error
    return _without_rewriting(config)


def _without_rewriting(config: Config) -> Config:
    """The longest stage, of which a comparison shows nothing; unless the classifier reads what it writes."""
    if "rewrite" not in config.stages or REWRITE in CLASSIFY.reads(config):
        return config
    stages = [stage for stage in config.stages if stage != "rewrite"]
    return replace(config, stages=stages, composed=config.composed | {"stages": stages})
