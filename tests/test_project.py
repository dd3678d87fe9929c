"""The files around the code agree with each other."""

import re
import subprocess
import tomllib

from conftest import ROOT
from omegaconf import OmegaConf
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.M
    )
}


def test_the_lock_pins_everything_and_satisfies_pyproject() -> None:
    lines = [
        x for x in (ROOT / "requirements.lock").read_text().splitlines() if x[:1] not in ("", "#")
    ]
    assert len(lines) == len(LOCK), "every line is an exact pin"
    for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(LOCK[canonicalize_name(wanted.name)]), text
    assert LOCK["torch"] == "2.13.0"
    assert Version(LOCK["hydra-core"]) < Version("1.4")
    assert LOCK.get("lightning") not in ("2.6.2", "2.6.3")  # compromised releases


def test_environment_yml_takes_python_from_conda_and_the_rest_from_the_lock() -> None:
    found = OmegaConf.to_container(OmegaConf.load(ROOT / "environment.yml"))
    assert isinstance(found, dict)
    assert found["name"] == PROJECT["name"]
    python, pip, by_pip = found["dependencies"]
    assert python.startswith("python=") and pip == "pip"
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python[7:] + ".0")
    assert by_pip["pip"][0] == "-r requirements.lock"
    assert by_pip["pip"][1].endswith("-e .")


def test_the_packages_that_users_know_it_by_are_dependencies() -> None:
    names = {Requirement(text).name for text in PROJECT["dependencies"]}
    wanted = "hydra-core omegaconf torch numpy datasets rouge-score sacrebleu bert-score wandb"
    assert set(wanted.split()) <= names


def test_make_help_documents_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.M)
    assert targets
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    for target in targets.group(1).split():
        assert f"make {target} " in text


def test_outputs_holds_its_readme_alone() -> None:
    if not (ROOT / ".git").exists():
        return
    files = subprocess.run(["git", "ls-files", "outputs"], cwd=ROOT, capture_output=True, text=True)
    assert files.stdout.split() == ["outputs/README.md"]
