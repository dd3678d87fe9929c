"""No config names code: not on the command line, not in a YAML file, not by way of a text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Run
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra.errors import HydraException

from trlap.config import code
from trlap.errors import TrlapError


@pytest.fixture(autouse=True)
def _guarded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As `cli.launch` does, for one test."""
    monkeypatch.setattr(ConfigLoaderImpl, "load_configuration", ConfigLoaderImpl.load_configuration)
    monkeypatch.setattr(ConfigRepository, "initialize_sources", ConfigRepository.initialize_sources)
    code.guard()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield


# each alone would call something, or bring something that is called
NAMED = [
    "hydra/job_logging=default",
    "hydra/hydra_logging=hydra_debug",
    "+hydra.job_logging.handlers={x: {class: logging.StreamHandler, stream: '${hydra.job.name}'}}",
    "+hydra.job_logging.handlers={x: {class: logging.FileHandler, filename: evil.py}}",
    "+hydra.hydra_logging.formatters={x: {format: import os}}",
    "hydra.job_logging=null",
    "+hydra.callbacks.x._target_=os.system",
    "+hydra.callbacks.x={_target_: os.system, command: ls}",
    "+hydra.callbacks.x={_target_: hydra.core.utils.os.system}",
    "+hydra.callbacks.x={_target_: hydra_plugins.trlap_sweeper.os.system}",
    "+hydra.callbacks.x={_target_: hydra.utils.get_method, path: os.system}",
    "+hydra.callbacks.x={_target_: evil.hydra.SomeCallback}",
    "+hydra.callbacks.x={_target_: '${oc.env:HOME}'}",
    "+hydra.callbacks.x={_args_: [{_target_: os.system}]}",
    "+hydra.callbacks.x={a: [{b: {_target_: os.system}}]}",
    "+hydra.callbacks.x='${oc.decode:\"{_target_: os.system}\"}'",
    "+hydra.callbacks.x='${oc.create:{_target_: os.system}}'",
    "+hydra.callbacks.x='${${oc.env:HOME}:y}'",
    "hydra.launcher._target_=os.system",
    "+hydra.launcher.x._target_=os.system",
    "hydra.sweeper._target_=os.system",
    "+hydra.sweeper._partial_=true",
    "+hydra.job_logging.handlers.x.class=os.system",
    "+hydra.job_logging.handlers.x.class=logging.os.system",
    "+hydra.job_logging.handlers.x.class=logging.handlers.QueueHandler",
    "+hydra.job_logging.formatters={x: {(): os.system}}",
    "+hydra.job_logging.filters={x: {(): {a: os.system}}}",
    "+hydra.job_logging.handlers={x: {class: logging.StreamHandler, stream: 'ext://os.environ'}}",
    "+hydra.hydra_logging.handlers.x.class=os.system",
    "+mechanism._target_=os.system",
    "+mechanism={_target_: os.system}",
    "+model.x={_target_: os.system}",
    "+classifier._args_=[1]",
    "+dataset.replace={_target_: os.system}",
    "+dataset.hub.rename={x: y, _partial_: z}",
    "dataset.unknown='${oc.decode:x}'",
]


@pytest.mark.parametrize("override", NAMED)
def test_what_names_code_is_one_line(override: str) -> None:
    key = re.split("[./=]", override.lstrip("+"))[0]
    with pytest.raises((TrlapError, HydraException)) as caught:
        compose("config", [override], return_hydra_config=True)
    if isinstance(caught.value, HydraException):
        # Hydra's own grammar knows it for what it is
        assert "_target_" not in override or "mechanism={" in override
    else:
        assert key in str(caught.value) and "\n" not in str(caught.value)


ALLOWED = [
    (),
    ("hydra/launcher=workers", "hydra.launcher.n_jobs=2"),
    (
        "hydra/launcher=slurm",
        "hydra.launcher.partition=gpu",
        "hydra.launcher.setup=[module load x]",
    ),
    ("hydra/launcher=slurm_local",),
    ("hydra/launcher=basic", "hydra/sweeper=basic"),
    ("+hydra.callbacks.x._target_=hydra.experimental.callbacks.LogJobReturnCallback",),
    ("threads=${oc.env:NOTHING,2}",),
]


@pytest.mark.parametrize("overrides", ALLOWED)
def test_what_hydra_itself_needs_stays_usable(overrides: tuple[str, ...]) -> None:
    assert compose("config", list(overrides), return_hydra_config=True).hydra.launcher._target_


def test_every_shipped_config_names_no_code() -> None:
    names = [path.relative_to(ROOT / "conf") for path in (ROOT / "conf").glob("experiment/*.yaml")]
    for name in names:
        compose("config", [f"experiment={name.stem}"], return_hydra_config=True)
    compose("privatize", ["input=a", "output=b"], return_hydra_config=True)


COMMANDS = [
    (["--experimental-rerun=x.pickle"], "pickle"),
    (["--experimental-rerun", "x.pickle"], "pickle"),
    (["--exp", "x.pickle"], "pickle"),
    (["--e=x"], "pickle"),
    (["--config-path=pkg://evil"], "import a package"),
    (["hydra.searchpath=[pkg://evil]"], "import a package"),
    (["hydra.searchpath=[pkg\\://evil]"], "import a package"),
]


def test_a_yaml_file_imports_no_package(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "defaults: [config, _self_]\nhydra:\n  searchpath: [pkg://antigravity]\n"
    )
    done = run("plan=true", "--config-dir", str(tmp_path), "--config-name", "mine")
    assert done.returncode == 2, done.stdout
    assert "pkg://antigravity: it would import a package" in done.stderr


@pytest.mark.parametrize(("words", "message"), COMMANDS)
def test_words_that_act_before_a_config_is_composed(words: list[str], message: str) -> None:
    with pytest.raises(TrlapError, match=message):
        code.check_command(words)


@pytest.mark.parametrize(
    "words", [[], ["-m", "a=1", "b=2"], ["--help"], ["--cfg", "job"], ["~a", "+b=1"], ["--", "-v"]]
)
def test_other_words_pass(words: list[str]) -> None:
    code.check_command(words)


@pytest.mark.parametrize("group", ["mechanism", "dataset", "experiment", "model"])
def test_two_options_of_a_group_are_not_mixed(group: str) -> None:
    options = sorted(path.stem for path in (ROOT / "conf" / group).glob("*.yaml"))[:2]
    with pytest.raises(TrlapError, match="choose one"):
        compose("config", [f"{group}=[{','.join(options)}]"], return_hydra_config=True)
    compose("config", ["stages=[privatize,audit]"], return_hydra_config=True)


MARK = "hydra: {{callbacks: {{x: {{_target_: pathlib.Path.touch, self: {{_target_: pathlib.Path, _args_: [{}]}}}}}}}}\n"


def test_nothing_is_called_before_it_is_looked_at(run: Run, tmp_path: Path) -> None:
    """A callback of a YAML file from elsewhere, which Hydra would call before any code of ours."""
    touched = tmp_path / "touched"
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    text = "# @package _global_\n" + MARK.format(touched)
    (folder / "mine.yaml").write_text(text)
    ways = [
        ("experiment=mine", "plan=true", f"--config-dir={folder.parent}"),
        (f"hydra.searchpath=[file://{folder.parent}]", "experiment=mine", "plan=true"),
        ("experiment=mine", "plan=true", "-m", f"--config-dir={folder.parent}"),
    ]
    for words in ways:
        done = run(*words)
        assert done.returncode == 2, done.stderr
        assert "hydra.callbacks.x._target_=pathlib.Path.touch" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not touched.exists()


@pytest.mark.parametrize("content", [b"epsilon: [\n", b"\xff\xfe", b"epsilon: *zz\n"])
def test_a_yaml_file_that_cannot_be_read_is_one_line(
    content: bytes, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "bad.yaml").write_bytes(b"# @package _global_\n" + content)
    done = run("experiment=bad", "plan=true", "--config-dir", str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "cannot be read" in done.stderr
