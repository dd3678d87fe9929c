"""What our apps find beside conf/: every number as an `epsilon`, and the configs of other packages.

A package that offers a thing by an entry point has its YAML in `<package>/conf`.

Hydra shows every plugin to every Hydra app of the environment, so this one does nothing unless the app's own
configs are ours. A package is found by its spec and not imported, since that would load torch for `--help`.
"""

from importlib.util import find_spec
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

GROUPS = (
    "trlap.mechanisms",
    "trlap.metrics",
    "trlap.models",
    "trlap.classifiers",
    "trlap.attacks",
)
# a file that no other app's configs have
OURS = Path("hydra", "launcher", "workers.yaml")


class TrlapSearchPath(SearchPathPlugin):
    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        main = [item.path for item in search_path.get_path() if item.provider == "main"]
        if not any(is_ours(path) for path in main if path):
            return
        search_path.append(provider="trlap", path="trlap-epsilon://")
        for name, folder in foreign_configs().items():
            search_path.append(provider=name, path=f"file://{folder}")


def is_ours(path: str) -> bool:
    folder = Path(path.removeprefix("file://"))
    return (folder / OURS).is_file() and (folder / "mechanism" / "trlap.yaml").is_file()


def foreign_configs() -> dict[str, Path]:
    """The folders of packages that offer things, by the package's name."""
    from trlap.registry import offered

    folders = {}
    for group in GROUPS:
        for point in offered(group):
            package = point.value.partition(":")[0].partition(".")[0]
            spec = find_spec(package)
            for place in (spec.submodule_search_locations or []) if spec else []:
                if (folder := Path(place) / "conf").is_dir():
                    folders[package] = folder.resolve()
    return folders
