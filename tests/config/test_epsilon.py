"""`epsilon` is a config group and a number: every way to write it, and what is refused."""

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, TINY, Run
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import DictConfig

from trlap.config import code
from trlap.config.epsilon import quote, unquoted
from trlap.errors import TrlapError

BUDGETS = ("0.01", "0.05", "0.1", "0.2", "0.5", "1", "5", "10", "20")
FOREIGN = """
import hydra
@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(cfg):
    print("epsilon is", cfg.epsilon)
main()
"""


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("0.1", "0.1"),
        ("1e1", "10"),
        ("10.0", "10"),
        ("'10'", "10"),
        ("1e-1", "0.1"),
        ("inf", "inf"),
        ("0.37", "0.37"),
    ],
)
def test_one_text_for_one_number(typed: str, text: str) -> None:
    assert quote([f"epsilon={typed}", "seed=1"]) == [f"epsilon='{text}'", "seed=1"]
    assert quote([f"++epsilon={typed}"]) == [f"epsilon='{text}'"]
    assert unquoted(f"epsilon='{text}'") == f"epsilon={text}"


@given(st.floats(min_value=0, exclude_min=True))
def test_no_digit_is_lost(value: float) -> None:
    (override,) = quote([f"epsilon={value!r}"])
    text = OverridesParser.create().parse_override(override).value()
    assert isinstance(text, str) and float(text) == value
    assert quote([override]) == [override]
    assert quote([unquoted(override)]) == [override]


@pytest.mark.parametrize(
    "word",
    [
        "epsilon=abc",
        "epsilon=null",
        "epsilon=[1,2]",
        "epsilon={a:1}",
        "epsilon=true",
        "epsilon=",
        "epsilon=''",
        "epsilon=(",
        "~epsilon",
        "epsilon@x=1",
        "epsilon=1" + "0" * 400,
    ],
)
def test_what_is_no_number_is_refused_in_one_line(word: str) -> None:
    with pytest.raises(TrlapError, match="give a number above 0, as epsilon=0.1, or epsilon=inf"):
        quote([word])


def test_there_is_nothing_to_add() -> None:
    with pytest.raises(TrlapError, match=r"\+epsilon=1: there is an epsilon already; leave the \+"):
        quote(["+epsilon=1"])


def test_sweeps_and_other_keys_are_left_to_hydra() -> None:
    words = ["epsilon=0.1,1", "epsilon=range(1,3)", "epsilon=choice(1,2)", "epsilonic=3", "-m"]
    assert quote(words) == words
    assert quote(["++epsilon=0.1,1"]) == ["epsilon=0.1,1"]


@pytest.mark.parametrize("name", ["config", "privatize"])
@pytest.mark.parametrize("value", [*BUDGETS, "0.37", "inf", "3", "1e-07"])
def test_every_option_and_every_other_number(name: str, value: str) -> None:
    files = ["input=a", "output=b"] if name == "privatize" else []
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        composed = compose(name, quote([*files, f"epsilon={value}"]))
    assert composed.epsilon == float(value)


def test_the_files_are_the_budgets_of_the_paper() -> None:
    files = {path.stem: path for path in (ROOT / "conf" / "epsilon").glob("*.yaml")}
    assert set(files) == set(BUDGETS)
    for name, path in files.items():
        assert path.read_text().startswith("# @package _global_\n# ")
        assert yaml.safe_load(path.read_text()) == {"epsilon": float(name)}


@pytest.mark.parametrize("value", ["0", "-1", "nan", "-inf"])
def test_what_is_out_of_range_is_one_line(
    configure: Callable[..., DictConfig], run: Run, value: str
) -> None:
    assert not math.isfinite(float(value)) or configure(f"epsilon={value}").epsilon <= 0
    done = run(f"epsilon={value}", "plan=true")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"epsilon={float(value)}: must be in (0, inf]" in done.stderr


@pytest.mark.parametrize(
    ("sweep", "names"),
    [
        ("epsilon=0.1,1e0", ["eps0.1", "eps1"]),
        ("epsilon=choice(0.05,inf)", ["eps0.05", "none-epsinf"]),
        ("epsilon=range(1,4)", ["eps1", "eps2", "eps3"]),
        ("epsilon=glob(*)", [f"eps{budget}" for budget in BUDGETS]),
        ("experiment=smoke", ["eps0.1", "eps1"]),
        ("++epsilon=2,4", ["eps2", "eps4"]),
    ],
)
def test_sweeps(run: Run, sweep: str, names: list[str]) -> None:
    done = run("-m", sweep, "plan=true", *TINY)
    assert done.returncode == 0, done.stderr
    assert all(f"-{name}-" in done.stdout for name in names)
    assert "'" not in done.stdout


def test_a_bad_number_spoils_its_cell_alone(run: Run) -> None:
    done = run("-m", "epsilon=0.1,abc,-1", "plan=true", *TINY)
    assert done.returncode == 1
    assert "1 to do, 2 invalid" in done.stdout
    assert "epsilon=abc: give a number above 0" in done.stdout


def test_help_lists_them(run: Run) -> None:
    done = run("--help")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("epsilon: 0.01")]
    assert set(line.removeprefix("epsilon: ").split(", ")) == set(BUDGETS)
    assert "epsilon takes any number above 0" in done.stdout


def test_no_experiment_has_a_budget_in_its_body() -> None:
    for path in (ROOT / "conf").rglob("*.yaml"):
        if path.parent.name != "epsilon":
            assert "epsilon" not in (yaml.safe_load(path.read_text()) or {}), path


def test_a_budget_in_the_body_of_a_file_is_refused(run: Run, tmp_path: Path) -> None:
    """It would beat the command line without a word."""
    code.guard()
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("# @package _global_\nepsilon: 3\n")
    (folder / "right.yaml").write_text(
        '# @package _global_\ndefaults:\n  - override /epsilon: "3"\n'
    )
    directory = f"--config-dir={tmp_path / 'conf'}"
    refused = run(directory, "experiment=mine", "epsilon=0.1", "plan=true", *TINY)
    assert refused.returncode == 2 and 'override /epsilon: "3' in refused.stderr
    assert "-eps3-" in run(directory, "experiment=right", "plan=true", *TINY).stdout
    assert "-eps9-" in run(directory, "experiment=right", "epsilon=9", "plan=true", *TINY).stdout


def test_another_app_of_the_environment_keeps_its_own_epsilon(tmp_path: Path) -> None:
    """Hydra loads our plugins for it, too."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("epsilon: 1\nhydra:\n  output_subdir: null\n")
    (tmp_path / "app.py").write_text(FOREIGN)
    for value in ("0.3", "abc"):
        command = [sys.executable, "app.py", f"epsilon={value}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == f"epsilon is {value}\n", done.stderr


def test_the_command_of_a_run_is_what_one_types(run: Run, tmp_path: Path) -> None:
    done = run("mechanism=krr", "epsilon=3.0", "stages=[privatize]", *TINY)
    assert done.returncode == 0, done.stderr
    (result,) = tmp_path.glob("outputs/*/result.json")
    assert " epsilon=3 " in result.read_text()
