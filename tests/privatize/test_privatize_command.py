"""A user's own text, from the command line."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import warm
from conftest import ROOT
from hydra import compose, initialize_config_dir

from trlap.config.door import privatize_from
from trlap.config.epsilon import quote
from trlap.config.schema import Privatize
from trlap.errors import TrlapError
from trlap.privatize import command, output

COMMAND = [sys.executable, str(ROOT / "scripts" / "privatize.py")]
SMALL = ("mechanism=krr", "vocabulary_size=500", "embedding=random", "embedding.dimension=16")


def script(
    *overrides: str, given: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """`python scripts/privatize.py <overrides>`, with `given` on standard input."""
    if not environment:
        return warm.run_bytes([*COMMAND[1:], *overrides], ROOT, given or b"")
    everything = {**os.environ, **environment}
    command = [*COMMAND, *overrides]
    return subprocess.run(command, capture_output=True, cwd=ROOT, input=given, env=everything)


def configured(*overrides: str) -> Privatize:
    """What the command is told."""
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return privatize_from(compose("privatize", quote(overrides)))


@pytest.fixture(scope="module")
def check_files() -> Any:
    """What the command refuses before any work starts, without a process of its own."""
    spec = importlib.util.spec_from_file_location("privatize_script", COMMAND[1])
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["privatize_script"] = module
    spec.loader.exec_module(module)
    return module.check_files


def test_the_command_streams_a_file_and_says_what_it_guarantees(tmp_path: Path) -> None:
    source, target = tmp_path / "mine.csv", tmp_path / "private.csv"
    source.write_text('id,comment\n1,"The soup was cold, and it cost $7.50!"\n2,\n3,Nice\n')
    done = script(
        f"input={source}",
        f"output={target}",
        "column=comment",
        "mechanism=crr",
        "epsilon=5",
        "vocabulary_size=500",
    )
    assert done.returncode == 0, done.stderr
    lines = target.read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", "1", "2", "3"]
    assert lines[0] == "id,comment" and lines[2] == "2,"
    report = done.stderr.decode()
    for part in (
        "3 texts",
        "mechanism crr",
        "claimed 5-DP per word",
        "holds",
        "median text of 1 words",
        "longest text of 10 words",
        "outside the vocabulary",
        "case and spacing are normalised",
        "not protected",
        "the odds between two words change at most 148-fold",
        "a text as a whole is not protected",
    ):
        assert part in report, report
    for word in ("soup", "cold", "Nice"):
        assert f" {word} " not in report


def test_a_table_without_header_passes_nothing_in_the_clear(tmp_path: Path) -> None:
    """Standard input and output, an encoding that knows no letter of it, two columns, bytes kept."""
    given = '\ufeff1,The wäiter was rude,neg,Nö\r\n\r\n2,"Soup, cöld",pös,\n'.encode()
    table = ("input=-", "output=-", "format=csv", *SMALL, "epsilon=0.001")
    done = script(*table, "header=false", "column=[2,4]", given=given, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    first, blank, second = done.stdout.decode().splitlines(keepends=True)
    assert first.startswith("\ufeff1,") and ",neg," in first and first.endswith("\r\n")
    assert blank == "\r\n" and second.startswith("2,") and second.endswith(",pös,\n")
    assert b"4 texts, 8 words" in done.stderr
    for secret in ("wäiter", "rude", "Nö", "cöld"):
        assert secret.encode() not in done.stdout + done.stderr
    refused = script(*table, 'column="The wäiter was rude"', given=given, PYTHONIOENCODING="ascii")
    assert refused.returncode == 2 and refused.stdout == b"" and refused.stderr.count(b"\n") == 1
    assert b"header=false column=N" in refused.stderr and b"iter" not in refused.stderr


def test_a_reader_who_leaves_and_a_full_device(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("one two three\n" * 20_000)
    files = (f"input={source}", *SMALL)
    pipe = subprocess.Popen(
        [*COMMAND, *files, "output=-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert pipe.stdout and pipe.stderr
    assert len(pipe.stdout.readline().split()) == 3
    pipe.stdout.close()
    assert pipe.stderr.read() == b"" and pipe.wait() == 141
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *files, "output=-"], stdout=full, stderr=subprocess.PIPE, cwd=ROOT
        )
    assert done.returncode == 2
    assert done.stderr == b"error: cannot write to standard output: the disk is full\n"


OWN = ("embedding: fasttext, glove, glove840b, random", "mechanism: cmp, crr, drr, gaussian")
FOREIGN = ("dataset:", "model:", "experiment:", "protocol:", "classifier:", "size:")


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--help"], 0), (["-h"], 0)])
def test_its_usage_has_its_own_groups_only(arguments: list[str], code: int) -> None:
    done = script(*arguments)
    said, silent = (done.stdout, done.stderr) if code == 0 else (done.stderr, done.stdout)
    assert done.returncode == code and silent == b""
    lines = said.decode().splitlines()
    assert "python scripts/privatize.py input=mine.txt output=private.txt" in lines[2]
    for group in OWN:
        assert any(line.startswith(group) for line in lines)
    assert not [line for line in lines if line.startswith(FOREIGN)]


def test_usage_goes_with_the_option_that_was_chosen() -> None:
    assert b"  name: srr\n" in script("mechanism=srr", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine.csv"], "mine.csv: write input=mine.csv, and output=… for the result"),
        (["my file.csv"], "write 'input=my file.csv', and output=…"),
        (["my(1).csv"], """write 'input='"'"'my(1).csv'"'"'', and output=…"""),
        (["a.csv", "b.csv"], "write input=a.csv output=b.csv"),
        (["output=b.csv", "a.csv"], "a.csv: write input=a.csv"),
        (["input=a.csv", "b.csv"], "b.csv: write output=b.csv"),
        (["input=a", "output=b", "csv"], "csv: write key=value"),
        (["-m", "input=a.txt", "output=b.txt"], "-m is for run.py"),
        (["mechanism=krr,crr"], "mechanism=krr,crr: give one value"),
        (["column=a,b"], 'several columns are "column=[a,b]"'),
        (["--input", "a.txt"], "--input: no such option"),
    ],
)
def test_what_is_typed_wrongly(arguments: list[str], message: str) -> None:
    with pytest.raises(TrlapError) as error:
        command.checked(arguments, ROOT / "conf")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_help_in_an_encoding_that_lacks_its_letters() -> None:
    done = script("--help", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and b"header: true" in done.stdout, done.stderr


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_no_output(tmp_path: Path, sign: signal.Signals) -> None:
    target = tmp_path / "out.txt"
    command = [*COMMAND, "input=-", f"output={target}", *SMALL]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdin and process.stderr
    process.stdin.write(b"one two\n" * 5000)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    (hidden,) = tmp_path.iterdir()
    assert hidden.stat().st_mode & 0o777 == 0o600
    process.send_signal(sign)
    said = process.communicate()[1]
    assert process.returncode != 0 and not target.exists()
    assert b"one two" not in said and b"Traceback" not in said
    # what no handler can remove, the next run to the same place does
    if process.returncode > 0:
        assert process.returncode == 128 + sign and not list(tmp_path.iterdir())
    elif sign == signal.SIGKILL:
        assert list(tmp_path.iterdir()) == [hidden]
        output.remove_leftovers(target)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["input=/nowhere.txt", "output=x.txt"], "input=/nowhere.txt: no such file"),
        (["input=README.md", "output=-", "format=txt", "seed=3"], "whoever has the seed"),
        (["mine.csv"], "input=mine.csv"),
        (["input=a.txt", "output=b.txt", "dataset=yelp"], "no such group: dataset"),
    ],
)
def test_bad_commands_are_one_line(overrides: list[str], message: str) -> None:
    done = script(*overrides)
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1, done.stderr
    assert message in done.stderr.decode()


TEXT = ["input=README.md", "format=txt"]
TABLE = ["input=in.csv", "output=x.csv"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["input=README.md", "output=x.md"], "cannot read .md files"),
        ([*TEXT, "output=README.md"], "that is the input"),
        ([*TEXT, "output=README.md", "force=true"], "that is the input"),
        ([*TEXT, "output=LICENSE"], "it exists; choose another name, or add force=true"),
        ([*TEXT, "output=nowhere/x.txt"], "there is no folder nowhere"),
        ([*TEXT, "output=docs"], "it is a folder"),
        (["input=docs", "format=txt", "output=x.txt"], "it is a folder"),
        ([*TEXT, "output=-", "epsilon=0"], "epsilon=0.0"),
        (["output=x.txt"], "input: no value given"),
        (["input=in.csv", "output=x.jsonl"], "formats are not converted; name it x.csv"),
        (["input=in.csv", "output=docs/x.txt"], "not converted; name it docs/x.csv"),
        (["input=in.csv", "output=x.txt", "format=csv"], "the input is .csv, and formats are not"),
        (["input=in.csv", "output=x.PARQUET"], "formats are not converted"),
        (["input=in.csv", "format=parquet", "output=-"], "parquet cannot be streamed"),
        (["input=-", "output=x.parquet"], "parquet cannot be streamed"),
        ([*TEXT, "output=x.txt", "header=false"], "header=false is for .csv and .tsv files"),
        ([*TABLE, "header=false"], "header=false: give column=N"),
        ([*TABLE, "column=[]"], "give the name of a column"),
        ([*TABLE, "column=null"], "give the name of a column"),
        ([*TABLE, "column=[a,a]"], "named twice"),
        ([*TEXT, "output=-", "engine=ray"], "as files"),
        ([*TABLE, "engine=ray", "seed=1", "reproducible=true"], "leave seed out"),
    ],
)
def test_what_is_refused_before_any_work(
    overrides: list[str],
    message: str,
    check_files: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("README.md", "LICENSE", "in.csv"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrlapError, match=message.replace("(", r"\(")):
        check_files(configured(*overrides))
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(
    ("overrides", "names", "kind"),
    [
        (["output=x.csv"], ("text",), ".csv"),
        (["output=/dev/null"], ("text",), ".csv"),
        (["output=/dev/stdout"], ("text",), ".csv"),
        (["output=x.csv", "column=[a,b]"], ("a", "b"), ".csv"),
        (["output=x.csv", 'column="a,b"'], ("a,b",), ".csv"),
        (["output=x.csv", "column=['a,b',c]"], ("a,b", "c"), ".csv"),
        (["output=x.csv", "column=2", "header=false"], ("2",), ".csv"),
        (["output=x.csv", "format=tsv"], ("text",), ".tsv"),
        (["output=x.private"], ("text",), ".csv"),
    ],
)
def test_what_the_command_understands(
    overrides: list[str], names: tuple[str, ...], kind: str, check_files: Any, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").touch()
    files = check_files(configured(f"input={tmp_path}/in.csv", *overrides))
    assert files.columns.names == names and files.kind == kind


def test_a_failed_run_leaves_no_output(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"fine\n" * 3000 + b"\xff\n")
    done = script(f"input={tmp_path}/in.txt", f"output={tmp_path}/out.txt", *SMALL)
    assert done.returncode == 2 and b"line 3,001: not UTF-8" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


@pytest.mark.slow
def test_a_million_lines_take_the_memory_of_ten_thousand(tmp_path: Path) -> None:
    peaks = []
    for lines in (10_000, 1_000_000):
        source, target = tmp_path / f"{lines}.txt", tmp_path / f"{lines}.out.txt"
        with source.open("w") as file:
            for i in range(lines):
                file.write(f"line {i} of a long file , and the words go on .\n")
        command = [sys.executable, "scripts/privatize.py", f"input={source}", f"output={target}"]
        process = subprocess.Popen([*command, "mechanism=crr", "epsilon=5"], cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        peaks.append(usage.ru_maxrss)
        with target.open() as file:
            assert Counter(len(line.split()) for line in file) == {13: lines}
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.slow
def test_ray_gives_every_line_once_and_in_order(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="`make ray` was not run")
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    lines = [" ".join(["line", *str(i), "ends"]) if i % 999 else "" for i in range(200_000)]
    source.write_text("\n".join(lines) + "\n")
    keys = (f"input={source}", f"output={target}", "engine=ray", "threads=1", "embedding=random")
    # without noise a line shows which one it was
    done = script(*keys, "mechanism=none")
    assert done.returncode == 0, done.stderr
    assert target.read_text() == source.read_text()
    assert b"200,000 texts" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]

    source.write_text("line 1 ends\n" * 50_000)
    done = script(*keys, "mechanism=krr", "epsilon=1", "force=true")
    assert done.returncode == 0, done.stderr
    private = target.read_text().splitlines()
    assert len(private) == 50_000
    # seeds of their own for every block: 50,000 draws of three words among 10,000 hardly meet
    assert len(set(private)) > 49_990
