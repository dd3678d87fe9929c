"""Things of another package: installed into an environment of its own, then run, swept, audited, reported."""

import json
import math
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TINY

TOY = Path(__file__).with_name("toy_package")
KEYS = (
    *TINY,
    "dataset.limit.test=40",
    "wandb.mode=disabled",
    "threads=1",
    "audit.samples=400",
    "audit.tokens=50",
    "audit.words=5",
    "audit.draws=10",
)
# TINY's keys of the built-in model are not the toy's
OWN = tuple(key for key in KEYS if not key.startswith("model."))

Python = Callable[..., str]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that sees this one's packages and has the toy package installed by pip."""
    folder = tmp_path_factory.mktemp("toy")
    home = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    ours = sysconfig.get_paths()["purelib"]
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    # pip builds inside the folder that it is given
    shutil.copytree(TOY, folder / "source")
    command = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"]
    command += ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    command += [str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return home / "bin" / "python"


@pytest.fixture
def python(environment: Path) -> Python:
    """What a command of ours prints in that environment."""

    def python(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [environment, *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return python


def only(outputs: Path, pattern: str, file: str) -> Any:
    (path,) = outputs.glob(f"{pattern}/{file}")
    return json.loads(path.read_text(encoding="utf-8"))


def test_help_lists_what_is_installed_and_loads_none_of_it(python: Python) -> None:
    text = python("run.py", "--help")
    for group, name in (("mechanism", "coin"), ("model", "echo"), ("classifier", "centroid")):
        (line,) = (line for line in text.splitlines() if line.startswith(f"{group}: "))
        assert name in line
    imported = python("-X", "importtime", "run.py", "--help")
    assert "trlap_toy" not in imported.replace("trlap_toy/conf", "")


def test_one_of_each_kind_in_one_run(python: Python, tmp_path: Path) -> None:
    chosen = ("mechanism=coin", "epsilon=9", "model=echo", "model.drop=2", "classifier=centroid")
    asked = ("metrics.names=[rouge1,first_word]", "audit.attacks=[distinguish,initials]")
    text = python("run.py", *chosen, *asked, *OWN, f"outputs={tmp_path}", "summary=full")
    found = only(tmp_path, "*-coin-eps9-*", "result.json")
    assert found["private_metrics"]["first_word"] > 0.5
    low, high = found["intervals"]["private_metrics"]["first_word"]
    assert low <= found["private_metrics"]["first_word"] <= high
    assert found["private_metrics"]["n_w"] is None
    assert found["reasons"]["private_metrics.n_w"] == "not among metrics.names"
    assert found["metrics"]["loss"] == 1.0 and found["metrics"]["accuracy"] > 0.4
    assert found["guarantee"]["holds"] is True
    assert found["guarantee"]["exact"]["delta"] == 0
    assert 0 < found["guarantee"]["empirical"]["epsilon_lower"] < 9
    example = found["details"]["examples"][0]
    assert example["private"].split()[:-2] == example["rewritten"].split()
    audit = only(tmp_path, "*-coin-eps9-*", "audit.json")
    assert audit["attacks"]["initials"]["interval"][0] > 0.5
    assert audit["vocabulary"]["epsilon"] == pytest.approx(9)
    assert "First 0." in text and "mechanism coin" in text and "holds" in text


def test_its_keys_are_checked_like_ours(python: Python, tmp_path: Path) -> None:
    common = ("mechanism=coin", *OWN, f"outputs={tmp_path}")
    for override, line in (
        ("mechanism.heads=2", "mechanism.heads=2.0: must be in (0, 1]"),
        ("mechanism.tails=1", "no such key: mechanism.tails"),
        ("model=echo model.drop=-1", "model.drop=-1: must be in [0, inf)"),
        ("metrics.names=[first_wrod]", "did you mean first_word?"),
        ("audit.attacks=[initial]", "did you mean initials?"),
        ("protocol=release", "the authors' code has no mechanism=coin"),
    ):
        said = python("run.py", *common, *override.split(), code=2)
        assert line in said and said.count("\n") == 1


def test_a_sweep_and_its_report(python: Python, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    grid = (
        "mechanism=coin,krr,none",
        "epsilon=4,9",
        "metrics.names=[rouge1,n_w,cosine,first_word]",
    )
    stages = ("stages=[privatize,classify,metrics]", "classifier=centroid")
    ended = python("run.py", "-m", *grid, *stages, *OWN, f"outputs={outputs}")
    assert "5 cells · 5 ok" in ended
    coin, krr = (only(outputs, f"*-{name}-eps9-*", "result.json") for name in ("coin", "krr"))
    # with heads = 1 it is randomised response over the vocabulary
    kept = [found["private_metrics"]["n_w"] for found in (coin, krr)]
    assert math.isclose(*kept, abs_tol=0.1)

    python("scripts/report.py", str(outputs), "--to", str(tmp_path / "report"))
    assert "coin" in (tmp_path / "report" / "frontier.csv").read_text()
    assert ">coin<" in (tmp_path / "report" / "frontier.svg").read_text()
    assert "coin" in (tmp_path / "report" / "index.html").read_text()
    # whoever has the results but not the package can still report them
    here = [sys.executable, "scripts/report.py", str(outputs), "--to", str(tmp_path / "here")]
    done = subprocess.run(here, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert ">coin<" in (tmp_path / "here" / "frontier.svg").read_text()


def test_own_text_takes_it_too(python: Python, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("good soup and good bread .\n" * 20)
    files = (f"input={tmp_path}/mine.txt", f"output={tmp_path}/private.txt")
    said = python("scripts/privatize.py", *files, "mechanism=coin", "epsilon=30", "threads=1")
    assert "mechanism coin" in said and "holds" in said
    assert (tmp_path / "private.txt").read_text() == (tmp_path / "mine.txt").read_text()


APP = """
import hydra
@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(cfg):
    from hydra.core.hydra_config import HydraConfig
    print([s.provider for s in HydraConfig.get().runtime.config_sources], cfg.epsilon)
main()
"""


def test_another_hydra_app_of_the_environment_is_left_alone(python: Python, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text(
        f"epsilon: 3\nhydra: {{run: {{dir: {tmp_path}}}, output_subdir: null}}"
    )
    (tmp_path / "app.py").write_text(APP)
    said = python(str(tmp_path / "app.py"), "epsilon=4")
    assert "trlap_toy" not in said and said.strip().endswith("4")
