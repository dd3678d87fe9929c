"""`epsilon` is a config group in which every number is an option: `epsilon=0.1`, `epsilon=0.37`, `epsilon=inf`.

The budgets of the paper are files in conf/epsilon. This source of configs answers for all other numbers. Hydra
loads it for every app of the environment, and `trlap_search_path` puts it on the search path of ours alone.
"""

from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource

GROUP = "epsilon"


class EpsilonSource(ConfigSource):
    """Hydra passes `config_path` by its name."""

    @staticmethod
    def scheme() -> str:
        return "trlap-epsilon"

    def available(self) -> bool:
        return True

    def is_group(self, config_path: str) -> bool:
        return config_path.rstrip("/") == GROUP

    def is_config(self, config_path: str) -> bool:
        return _budget(config_path) is not None

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Numbers are too many to list; the files have those of the paper."""
        return []

    def load_config(self, config_path: str) -> ConfigResult:
        from omegaconf import OmegaConf

        return ConfigResult(
            provider=self.provider,
            path=self.full_path(),
            config=OmegaConf.create({GROUP: _budget(config_path)}),
            header={"package": "_global_"},
        )


def _budget(config_path: str) -> float | None:
    """The number that a path such as `epsilon/0.37` names; what is in range is checked with all keys."""
    group, _, option = config_path.partition("/")
    if group != GROUP:
        return None
    try:
        return float(option.removesuffix(".yaml"))
    except ValueError:
        return None
