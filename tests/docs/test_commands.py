"""Every command that a reader finds in README, CONTRIBUTING, SECURITY, docs/ and the settings is tried.

Each command has a rule here that says how: run small, planned, or left out for a reason. One without a rule
fails `test_every_command_has_a_rule`.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sandbox
from conftest import ROOT
from documented import Command, commands, documents, fragments, in_text, parse, programs
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from trlap.config.door import Config

# The first that matches counts: a pattern, and how such a command is tried.
RULES = {
    r"make ": "make",
    r"(time )?python run\.py .*(--help|-h)$": "shell",
    r"(time )?python run\.py .*hydra/launcher=ray_cluster": "left out",
    r"(time )?python run\.py .*-m\b": "sweep",
    r"(time )?python run\.py .*classifier\.model=path": "plan",
    r"(time )?python run\.py ": "run",
    r"python scripts/privatize\.py .*(--help|-h)$": "shell",
    r"python scripts/privatize\.py .*engine=ray": "left out",
    r"python scripts/privatize\.py .*input=(?!-)": "privatize",
    r"(cat|head|echo) .*\| python scripts/privatize\.py ": "shell",
    r"python scripts/(report|figure_claim)\.py": "report",
    r"python scripts/(bench|install)\.py": "help",
    r"python scripts/wandb_dashboard\.py": "left out",
    r"export TRLAP_DATA=": "left out",
    r"source \.venv/bin/activate": "left out",
    r"(\.venv/bin/)?wandb (sync|login)": "left out",
    r"(\.venv/bin/python -m )?pip install ": "left out",
    r"\.venv/bin/jupyter ": "left out",
    r"wandb (sweep|agent)": "left out",
    r"git clone ": "left out",
}
# Why a command is not tried; the pattern of its rule, and a reason that a reader accepts.
REASONS = {
    r"(time )?python run\.py .*hydra/launcher=ray_cluster": "needs Ray: tests/sweeps/test_sweep.py",
    r"python scripts/privatize\.py .*engine=ray": "needs Ray: test_privatize_command.py",
    r"python scripts/wandb_dashboard\.py": "needs a server and an account: tests/runs/test_tracking.py",
    r"export TRLAP_DATA=": "every command here runs with that variable set",
    r"source \.venv/bin/activate": "what it does, the environment of these commands does",
    r"(\.venv/bin/)?wandb (sync|login)": "sends results to a server, with an account",
    r"(\.venv/bin/python -m )?pip install ": "needs a network; tests/plugins installs such a package",
    r"\.venv/bin/jupyter ": "test_tutorial.py executes the notebook",
    r"wandb (sweep|agent)": "asks a server, with an account",
    r"git clone ": "whoever reads this has done it",
}
COMMANDS = commands()
# What stands before a fragment in the text, where it means nothing alone.
CONTEXT = {
    "hydra.launcher.partition": "hydra/launcher=slurm",
    "hydra.launcher": "hydra/launcher=workers",
    "mechanism.K": "mechanism=crr",
    "classify.debias": "mechanism=krr",
    "debias": "mechanism=krr",
    "classifier.encoder": "classifier=ridge",
    "classifier.match": "classifier=ridge",
    "dataset.path": "dataset=text",
    "dataset.text": "dataset=text",
}
# Python's spelling of a keyword, and names that stand for a thing of another package.
NO_SETTING = re.compile(r"[\w.]+=(None|True|False|theirs|mine|value)$")


def rule_of(command: Command) -> str | None:
    patterns = (pattern for pattern in RULES if re.match(pattern, command.text))
    return next(patterns, None)


def tried(how: str) -> list[Command]:
    return [command for command in COMMANDS if RULES.get(rule_of(command) or "") == how]


def shown_in_code(command: Command) -> bool:
    """In a comment or docstring, and in no document."""
    return not command.place.partition(":")[0].endswith(".md")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sandbox.make(tmp_path_factory.mktemp("documented") / "trlap")


def test_every_command_has_a_rule() -> None:
    unknown = [f"{each.place}: {each.printed}" for each in COMMANDS if rule_of(each) is None]
    assert not unknown, f"say in RULES of {Path(__file__).name} how these are tried: {unknown}"
    assert {pattern for pattern, how in RULES.items() if how == "left out"} == set(REASONS)


def test_commands_are_found() -> None:
    places = {command.place.partition(":")[0] for command in COMMANDS}
    assert {"README.md", "docs/reproduction.md", "conf/experiment/table2.yaml"} <= places
    for how in ("make", "shell", "sweep", "run", "privatize", "report", "help"):
        assert tried(how), f"no command is tried by {how}: is the search for commands broken?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\nmake run      # installs\npython x.py\n```", ["make run", "python x.py"]),
        ("```\nmake run\nbrew install x\n```", ["make run", "brew install x"]),
        (
            "```\ntrlap · demo\n\n  try next   python run.py a=1   because\n```",
            ["python run.py a=1"],
        ),
        ("Type `TRLAP_DATA=… python run.py -m`.", ["TRLAP_DATA=… python run.py -m"]),
        ("`run.py` is a door, `trlap epsilon=1` a row", []),
        ("```python\nmake = 1\n```", []),
        ("```\nrun.py  scripts/   doors\n```", []),
    ],
)
def test_what_a_command_is(text: str, expected: list[str]) -> None:
    assert [command for _, command in in_text(text)] == expected


def test_make_knows_every_target(project: Path) -> None:
    for command in tried("make"):
        done = sandbox.shell(ROOT, f"{command.text} --dry-run")
        assert done.returncode == 0, f"{command.place}: {done.stderr}"


def jobs(command: Command) -> Iterator[list[str]]:
    """Settings of cells of a sweep, few of them, in which every value of the grid occurs."""
    words = [word for word in command.overrides if word not in ("-m", "--multirun")]
    parser = OverridesParser.create()
    axes: dict[str, list[str]] = {}
    fixed: list[str] = []
    for word in words:
        (override,) = parser.parse_overrides([word])
        if override.is_sweep_override():
            axes[override.get_key_element()] = list(override.sweep_string_iterator())
        else:
            fixed.append(word)
    named = [word.removeprefix("experiment=") for word in fixed if word.startswith("experiment=")]
    for name in named:
        settings = OmegaConf.load(ROOT / "conf" / "experiment" / f"{name}.yaml")
        for key, values in settings.hydra.sweeper.params.items():
            if not any(word.startswith(f"{key}=") for word in fixed):
                axes.setdefault(key, str(values).split(","))
    for number in range(max(map(len, axes.values()), default=1)):
        yield [
            *fixed,
            *(f"{key}={values[number % len(values)]}" for key, values in axes.items()),
        ]


def test_every_sweep_composes(config: Callable[..., Config]) -> None:
    sweeps = tried("sweep")
    assert len(sweeps) > 20
    known: set[str] = set()
    for command in sweeps:
        for number, settings in enumerate(jobs(command)):
            # The first cell of every sweep, and every cell with a value that no other had.
            if number and known.issuperset(settings):
                continue
            known.update(settings)
            try:
                config(*settings)
            except Exception as error:
                pytest.fail(f"{command.place}: {' '.join(settings)}: {error}")


def planned(project: Path, sweeps: list[Command]) -> None:
    """The whole grid by the sweeper itself, as it is printed; nothing runs."""
    calls = [["run.py", *command.overrides, "plan=true"] for command in sweeps]
    for command, (code, output) in zip(sweeps, sandbox.call_all(project, calls), strict=True):
        assert code == 0, f"{command.place}: {output}"
        assert output.startswith("plan · "), output


def test_first_sweeps_of_the_readme_are_planned(project: Path) -> None:
    first = [each for each in tried("sweep") if each.place.startswith("README")][:3]
    planned(project, first)


@pytest.mark.slow
def test_all_sweeps_are_planned(project: Path) -> None:
    """Some have hundreds of cells."""
    planned(project, tried("sweep"))


def test_a_sweep_is_run_small(project: Path) -> None:
    call = ["run.py", "-m", *sandbox.small_run(["experiment=smoke"])]
    ((code, output),) = sandbox.call_all(project, [call])
    assert code == 0 and "trlap · 4 cells · 4 ok" in output, output


def test_runs_are_run_small(project: Path) -> None:
    """Runs that a document shows are carried out; those of a comment in a YAML are planned."""
    printed = [*tried("run"), *tried("plan")]
    calls = []
    for command in printed:
        arguments = command.overrides if command.text.startswith("python") else command.words[3:]
        planned = shown_in_code(command) or command in tried("plan")
        calls.append(["run.py", *sandbox.small_run(arguments), f"plan={str(planned).lower()}"])
    for command, (code, output) in zip(printed, sandbox.call_all(project, calls), strict=True):
        assert code == 0, f"{command.place}: {command.text}\n{output}"
        assert re.search("VERDICT|classifier|^plan · ", output), output


def test_files_are_made_private(project: Path) -> None:
    printed = tried("privatize")
    calls = []
    for command in printed:
        sandbox.make_files(project, command)
        calls.append(["scripts/privatize.py", *command.overrides, *sandbox.SMALL_FILE])
    for command, (code, output) in zip(printed, sandbox.call_all(project, calls), strict=True):
        assert code == 0, f"{command.place}: {command.text}\n{output}"
        assert "guarantee" in output
        (name,) = [
            word.removeprefix("output=") for word in command.overrides if word.startswith("output=")
        ]
        assert name == "-" or "soup was cold" not in (project / name).read_text(encoding="utf-8")


def test_commands_as_a_shell_reads_them(project: Path) -> None:
    for command in tried("shell"):
        sandbox.make_files(project, command)
        line = re.sub(r"(?= > )", f" {' '.join(sandbox.SMALL_FILE)}", command.text, count=1)
        done = sandbox.shell(project, line)
        assert done.returncode == 0, f"{command.place}: {line}\n{done.stderr}"
        redirected = re.search(r"> (\S+)$", line)
        text = (project / redirected.group(1)).read_text() if redirected else done.stdout
        assert text.strip(), line


def test_reports_and_tools(project: Path) -> None:
    """Reports are made of a few rows; the benchmark, which takes long, checks its arguments."""
    reports, tools = tried("report"), tried("help")
    calls = []
    for command in [*reports, *tools]:
        # `[PART ...]` in a docstring stands for what may be left out.
        words = [word for word in command.words[1:] if not re.search(r"^\[|\]$", word)]
        calls.append(words + (["--help"] if command in tools else []))
    # `python scripts/report.py` alone reads outputs/.
    shutil.copy(project / "results" / "study.jsonl", project / "outputs" / "study.jsonl")
    for call, (code, output) in zip(calls, sandbox.call_all(project, calls), strict=True):
        assert code == 0, f"{call}: {output}"


def test_settings_in_the_text_compose(config: Callable[..., Config]) -> None:
    known = OmegaConf.load(ROOT / "conf" / "privatize.yaml")
    of_runs = OmegaConf.load(ROOT / "conf" / "config.yaml")
    for fragment, place in fragments().items():
        words = [word.strip("'") for word in fragment.split()]
        if any(NO_SETTING.match(word) for word in words):
            continue
        root = words[0].partition("=")[0].partition(".")[0]
        if root in known and root not in of_runs and "/" not in root:
            continue
        prefix = [setting for key, setting in CONTEXT.items() if words[0].startswith(key)][:1]
        words = [re.sub(r"^debias=", "classify.debias=", word) for word in words]
        for settings in jobs(Command(" ".join(["python run.py", *prefix, *words]), place)):
            try:
                config(*settings)
            except Exception as error:
                pytest.fail(f"{place}: `{fragment}`: {error}")


def test_blocks_of_code_are_what_they_say() -> None:
    for _, language, content in programs():
        parse(language, content)


def test_python_of_the_documents_runs(project: Path) -> None:
    blocks = [(place, content) for place, language, content in programs() if language == "python"]
    assert blocks
    script = project / "blocks.py"
    script.write_text("\n".join(content for _, content in blocks), encoding="utf-8")
    command = [sys.executable, str(script)]
    done = subprocess.run(
        command, cwd=project, env=sandbox.environment(project), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_document_is_read() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in documents()}
    assert {"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/privacy.md"} <= names
