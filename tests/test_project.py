"""The files around the code agree with each other."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from omegaconf import OmegaConf
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
LOCK: dict[str, str] = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.M
    )
}


needs_git = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="git knows what is the project's"
)


def test_the_lock_pins_everything_and_satisfies_pyproject() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert len(pins) == len(LOCK), "every line is an exact pin"
    assert not any("+" in version for version in LOCK.values()), "no build of one machine"
    for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(LOCK[canonicalize_name(wanted.name)]), text
    assert LOCK["torch"] == "2.13.0"
    assert Version(LOCK["hydra-core"]) < Version("1.4")
    # Compromised releases.
    assert LOCK.get("lightning") not in ("2.6.2", "2.6.3")


def test_environment_yml_takes_python_from_conda_and_the_rest_from_the_lock() -> None:
    environment = OmegaConf.to_container(OmegaConf.load(ROOT / "environment.yml"))
    assert isinstance(environment, dict)
    assert environment["name"] == PROJECT["name"]
    python, pip, by_pip = environment["dependencies"]
    assert python.startswith("python=") and pip == "pip"
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python[7:] + ".0")
    assert by_pip["pip"][0] == "-r requirements.lock"
    assert by_pip["pip"][1].endswith("-e .")


def test_the_packages_that_users_know_it_by_are_dependencies() -> None:
    names = {Requirement(text).name for text in PROJECT["dependencies"]}
    assert {"hydra-core", "omegaconf", "torch", "numpy", "datasets"} <= names
    assert {"rouge-score", "sacrebleu", "bert-score", "wandb"} <= names


def test_make_help_documents_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.M)
    assert targets
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    for target in targets.group(1).split():
        assert f"make {target} " in text


@needs_git
def test_outputs_holds_its_readme_alone() -> None:
    files = subprocess.run(["git", "ls-files", "outputs"], cwd=ROOT, capture_output=True, text=True)
    assert files.stdout.split() == ["outputs/README.md"]


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "src" / "trlap" / "py.typed").is_file()
    assert "py.typed" in SETTINGS["tool"]["setuptools"]["package-data"]["trlap"]


def test_versions_agree() -> None:
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased" and version in headings


def test_the_workflow_takes_the_steps_of_ci_run() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    steps = re.findall(r"^make (\w+)$", (ROOT / ".ci" / "run").read_text(), re.M)
    assert steps == ["setup", "check", "test"]
    # There the tests are measured as well: the same tests, by another target.
    for step in ("setup", "check", "coverage"):
        assert f"run: make {step} " in workflow
    versions = re.search(r'python: \["([\d.", ]+)"\]', workflow)
    assert versions
    supported = Requirement(f"python{PROJECT['requires-python']}").specifier
    for version in versions.group(1).split('", "'):
        assert supported.contains(f"{version}.0")


def test_forms_for_issues_warn_of_private_text() -> None:
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    for name in ("bug_report", "wrong_claim"):
        form = OmegaConf.to_container(OmegaConf.load(folder / f"{name}.yml"))
        assert isinstance(form, dict)
        assert {"name", "description", "body"} <= set(form)
        assert "not paste private text" in (folder / f"{name}.yml").read_text()


def test_hooks_need_no_network() -> None:
    hooks = OmegaConf.to_container(OmegaConf.load(ROOT / ".pre-commit-config.yaml"))
    assert isinstance(hooks, dict)
    (repository,) = hooks["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] in ("system", "pygrep")
        if hook["language"] == "system":
            assert hook["entry"].startswith(".venv/bin/")
            assert hook["entry"].split()[0].rsplit("/", 1)[1] in LOCK


def project_files() -> Iterator[Path]:
    """The files of the project, those that are not committed yet included; none that is only built."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    for name in listed:
        path = ROOT / name
        if path.is_file() and path.suffix not in (".svg", ".jsonl", ".csv", ".png"):
            yield path


def offending_lines(pattern: str) -> list[str]:
    lines = []
    for path in project_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if re.search(pattern, line):
                lines.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    return lines


@needs_git
def test_no_path_of_a_machine() -> None:
    # /home/me stands for anybody's folder.
    assert offending_lines(r"(?<![\w.}])/(work|root|opt|mnt|Users|home(?!/me\b))/\w") == []
    if len(ROOT.parts) > 2:
        assert offending_lines(re.escape(str(ROOT)) + r"\b") == []


@needs_git
def test_no_host_of_a_registry() -> None:
    # Whoever installs this chooses where from. The brackets keep these lines from matching themselves.
    hosts = "pypi[.]org|pythonhosted[.]|npmjs[.]|anaconda[.]org|pytorch[.]org"
    options = "--(extra-)?index-ur[l]|--find-link[s]"
    assert offending_lines(f"{hosts}|{options}") == []


@needs_git
def test_offending_lines_are_found() -> None:
    assert any(line.startswith("LICENSE:") for line in offending_lines("^MIT License"))
