"""Hydra takes plugins from this namespace only. What the sweeper does is in trlap.sweeps."""

from dataclasses import dataclass
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser


class TrlapSweeper(BasicSweeper):
    """Expands a command line as Hydra's own sweeper does, and leaves all else to trlap.sweeps."""

    def __init__(self, params: dict[str, str] | None) -> None:
        super().__init__(max_batch_size=None, params=params)

    def sweep(self, arguments: list[str]) -> Any:
        from trlap.sweeps.launch import sweep

        assert self.config is not None and self.launcher is not None and self.hydra_context
        loader = self.hydra_context.config_loader
        parser = OverridesParser.create(config_loader=loader)
        overrides = parser.parse_overrides([*self._parse_config(), *arguments])
        (jobs,) = self.split_arguments(overrides, max_batch_size=None)
        sweep(self.config, jobs, loader, self.launcher)


@dataclass
class TrlapSweeperConf:
    _target_: str = "hydra_plugins.trlap_sweeper.TrlapSweeper"
    params: dict[str, str] | None = None


ConfigStore.instance().store(
    group="hydra/sweeper", name="trlap", node=TrlapSweeperConf, provider="trlap"
)
