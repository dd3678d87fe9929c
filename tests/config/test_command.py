"""Command lines that are refused before Hydra composes them, each in one line that says what to type."""

import subprocess
import sys
from pathlib import Path

import pytest
import warm
from conftest import ROOT, Run

from trlap.config import command
from trlap.errors import TrlapError


@pytest.fixture(autouse=True)
def script(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if run.py had been started in its folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [str(ROOT / "run.py")])


def refused(*arguments: str) -> str:
    with pytest.raises(TrlapError) as error:
        command.check_run(arguments)
    line = str(error.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("swept", "shown"),
    [
        ("epsilon=0.1,1", "epsilon=0.1,1"),
        ("epsilon=choice(1,2)", "'epsilon=choice(1,2)'"),
        ("epsilon=range(1,3)", "'epsilon=range(1,3)'"),
        ("mechanism=glob(*)", "'mechanism=glob(*)'"),
        ("dataset.limit.train=10,20", "dataset.limit.train=10,20"),
    ],
)
def test_a_sweep_needs_its_flag(swept: str, shown: str) -> None:
    line = refused("seed=1", swept)
    assert line == f"{swept}: this is a sweep: add -m, as in `python run.py -m seed=1 {shown}`"
    for flag in ("-m", "--multirun", "hydra.mode=MULTIRUN"):
        command.check_run([flag, swept])


@pytest.mark.parametrize("arguments", [[], ["epsilon=0.1"], ["stages=[privatize,metrics]"]])
def test_other_command_lines_pass(arguments: list[str]) -> None:
    command.check_run([*arguments, "sweep='a,b'", "column='", "~epsilon", "--cfg", "job"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table2"], "table2: write key=value, as in experiment=table2"),
        (["yelp", "epsilon=1"], "yelp: write key=value, as in dataset=yelp"),
        (["bilstm"], "as in classifier=bilstm or model=bilstm"),
        (["../conf/config"], "../conf/config: write key=value"),
        (["-m", "hydra.sweeper.params={epsilon: '1,2'}"], "give what is swept as keys"),
        (["--plan"], "--plan: no such option; keys are given as key=value"),
        (["--cfg", "nothing"], "invalid choice: 'nothing'"),
        (["seed=1", "-m", "epsilon=1,2"], "`python run.py -m seed=1 epsilon=1,2`"),
        (["-m", "experiment=table1,table2"], "each is a sweep of its own"),
    ],
)
def test_what_is_no_key_and_value(arguments: list[str], message: str) -> None:
    assert message in refused(*arguments)


def test_a_launcher_needs_its_software(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    ray, slurm = "hydra/launcher=ray_cluster", "hydra/launcher=slurm"
    assert refused("-m", ray) == f"{ray}: Ray is not installed; `make ray` does it"
    assert refused("-m", ray, "plan=true").startswith(ray)  # its config is not there to compose
    assert refused("-m", slurm).startswith(f"{slurm}: this machine has no Slurm")
    command.check_run(["-m", slurm, "plan=true"])
    for name in ("srun", "sbatch"):
        (tmp_path / name).touch(mode=0o755)
    command.check_run(["-m", slurm])
    monkeypatch.setattr(command, "find_spec", lambda name: name)
    command.check_run(["-m", ray])


def test_an_experiment_that_sweeps_is_no_single_run(run: Run, tmp_path: Path) -> None:
    done = run("experiment=table2")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout
    assert done.stderr.startswith(
        "error: this is a sweep: add -m, as in `python run.py -m outputs="
    )
    assert "experiment=table2`" in done.stderr
    assert "give protocol=… dataset=… mechanism=… epsilon=… too" in done.stderr
    assert not (tmp_path / "outputs").exists()


def test_a_single_cell_of_an_experiment_runs(run: Run) -> None:
    """As the result of such a cell prints its command."""
    done = run("experiment=smoke", "mechanism=trlap", "epsilon=1", "plan=true")
    assert done.returncode == 0, done.stderr
    assert "plan · 1 cell" in done.stdout


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["-m", "mechanism=glob(zzz*)"], "the sweep has no cell"),
        (["-m", "hydra.launcher.n_jobs=2"], "as in hydra/launcher=workers"),
        (["-m", "hydra.launcher.n_jobs=0"], "-1 for as many as there are cores"),
        (["beside=crr@8"], "beside: write a list, in brackets, as beside=[a,b]"),
        (["-m", "hydra/launcher=nosuch"], "hydra/launcher=nosuch: there is none; choose from"),
    ],
)
def test_bad_commands_are_one_line(overrides: list[str], message: str) -> None:
    done = warm.run(["run.py", *overrides, "plan=true"], ROOT)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["plan=true"], ["-m", "experiment=smoke", "plan=true"]]
)
def test_a_reader_who_leaves_is_no_error(arguments: list[str]) -> None:
    """As `python run.py --help | head -1`."""
    with subprocess.Popen(
        [sys.executable, "run.py", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 141
