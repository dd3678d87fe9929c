"""Whatever a key is set to, a command either takes it or refuses it in one line, and so does the plan."""

from pathlib import Path

import pytest
from config_helpers import NASTY, composed, every_key, through
from conftest import ROOT, Run
from hydra import compose, initialize_config_dir
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from trlap.config import schema
from trlap.config.door import privatize_from
from trlap.config.messages import LONGEST
from trlap.config.ranges import check_ranges
from trlap.errors import TrlapError

KEYS = list(every_key())
# of each key so many values, others for every key; `make test-all` tries all
TRIED = 6


def refused_in_one_line(base: tuple[str, ...], override: str) -> None:
    line = through(base, override)
    assert line is None or (
        "\n" not in line and 0 < len(line) <= LONGEST + 2 and line.isprintable()
    )


@pytest.mark.parametrize("part", range(4))
def test_every_key_takes_a_value_or_refuses_it_in_one_line(part: int) -> None:
    for number, (base, key) in list(enumerate(KEYS))[part::4]:
        for offset in range(TRIED):
            # 11 and the number of values have no common divisor, so that neighbours try others
            value = NASTY[(number + 11 * offset) % len(NASTY)]
            refused_in_one_line(base, f"{key}={value}")


@pytest.mark.slow
def test_every_key_and_every_value() -> None:
    for base, key in KEYS:
        for value in NASTY:
            refused_in_one_line(base, f"{key}={value}")


TEXTS = some.text(some.characters(codec="utf-8"), max_size=30)
NUMBERS = some.one_of(some.integers(), some.floats()).map(str)
VALUES = some.one_of(
    some.sampled_from(NASTY),
    NUMBERS,
    TEXTS,
    TEXTS.map(lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"),
    some.lists(some.one_of(NUMBERS, some.sampled_from(NASTY)), max_size=3).map(
        lambda items: f"[{','.join(items)}]"
    ),
)


@given(pair=some.sampled_from(KEYS), value=VALUES, sign=some.sampled_from(["", "+", "++", "~"]))
@settings(
    max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_any_value_at_all(pair: tuple[tuple[str, ...], str], value: str, sign: str) -> None:
    base, key = pair
    refused_in_one_line(base, f"{sign}{key}={value}")


# groups, keys, and a part of the line that refuses them
REFUSED = [
    ((), "+foo=1", "no such key: foo"),
    ((), "++foo=1", "no such key: foo"),
    ((), "+dataset.foo=1", "no such key: dataset.foo"),
    ((), "++dataset.limit.foo=1", "no such key: dataset.limit.foo"),
    ((), "+metrics.bertscore.foo=1", "no such key: metrics.bertscore.foo"),
    ((), "+mechanism.foo=1", "no such key: mechanism.foo"),
    ((), "+model.foo=1", "no such key: model.foo"),
    ((), "+classifier.foo=1", "no such key: classifier.foo"),
    (("mechanism=none",), "+mechanism.foo=1", "no such key: mechanism.foo"),
    (("mechanism=crr", "epsilon=inf"), "+mechanism.foo=1", "no such key: mechanism.foo"),
    ((), "~epsilon", "epsilon: no value given"),
    ((), "~dataset", "dataset: no value given"),
    ((), "~mechanism", "mechanism: no value given"),
    ((), "~mechanism.name", "mechanism.name: no value given"),
    ((), "mechanism=null", "mechanism=None"),
    ((), "mechanism=1", "mechanism=1"),
    ((), "mechanism=''", "mechanism="),
    ((), "mechanism=[a,b]", "mechanism: "),
    ((), "protocol=3", "protocol=3"),
    ((), "epsilon=", "epsilon: Value ''"),
    ((), "epsilon=nan", "epsilon=nan"),
    ((), "clip=nan", "clip=nan"),
    ((), "delta=nan", "delta=nan"),
    ((), "audit.confidence=nan", "audit.confidence=nan"),
    ((), "model.lr=nan", "model.lr=nan"),
    ((), "model.word_noise.drop=nan", "model.word_noise.drop=nan"),
    ((), "model.betas=[nan,0.5]", "model.betas="),
    ((), "classifier.dropout=nan", "classifier.dropout=nan"),
    (("mechanism=vickrey",), "mechanism.t=nan", "mechanism.t=nan"),
    (("classifier=transformer",), "classifier.model=nan", "classifier.model=nan"),
    ((), "seed=99999999999999999999999", "must be in [0, 1e18]"),
    ((), "classifier.seeds=[1,99999999999999999999999]", "must be in [0, 1e18]"),
    ((), "dataset.limit.test=1e400", "dataset.limit.test"),
    ((), "threads=100000", "threads=100000: must be in [0, 1024]"),
    ((), "threads=true", "threads: Value 'True'"),
    ((), "epsilon=true", "epsilon: Value 'True'"),
    ((), "epsilon=1e308", "too large to compute with"),
    ((), "stages=[privatize,privatize]", "stages: privatize stands there twice"),
    ((), "metrics.names=[bleu,bleu]", "metrics.names: bleu stands there twice"),
    ((), "audit.attacks=[inversion,inversion]", "audit.attacks: inversion stands there twice"),
    ((), "dataset.label_names=[a,a]", "dataset.label_names: a stands there twice"),
    ((), "stages=privatize", "stages"),
    ((), "outputs=", "outputs: it is empty"),
    ((), "dataset.path=", "dataset.path: it is empty"),
    ((), "metrics.bertscore.model=", "metrics.bertscore.model: it is empty"),
    ((), "dataset.label=", "dataset.label: it is empty"),
    ((), "dataset.unknown=", "dataset.unknown: it is empty"),
    ((), "sweep='a\"b'", 'sweep=a"b: must be a name'),
    ((), 'sweep="it\'s"', "sweep=it's: must be a name"),
    ((), "dataset.label=${oc.env:HOME}", "dataset.label: what the environment holds"),
    ((), "dataset.replace=${oc.env:HOME}", "dataset.replace: what the environment holds"),
    ((), "sweep=${hydra:runtime.cwd}", "sweep: what the environment holds"),
    ((), "dataset.label_names=${clip}", "dataset.label_names=1.0: must be a list"),
    ((), "classifier.seeds=[[1],{a: b}]", "must be a list of int"),
    ((), "model.betas=[[1]]", "must be a list of float"),
    ((), "stages=[[privatize]]", "stages"),
    # what was known only when a run had built its vocabulary
    (("mechanism=crr",), "mechanism.K=0", "must be auto or a whole number from 1 to 10000"),
    (("mechanism=crr",), "mechanism.K=10001", "must be auto or a whole number from 1 to 10000"),
    (("mechanism=crr",), "mechanism.K=many", "must be auto or a whole number from 1 to 10000"),
    (("mechanism=srr",), "mechanism.m=0", "must be auto or a whole number from 1 to 10000"),
    (("mechanism=srr", "dataset.vocabulary_size=50"), "mechanism.m=51", "number from 1 to 50"),
    (("mechanism=crr", "epsilon=inf"), "mechanism.K=0", "must be auto or a whole number"),
    (("mechanism=pte",), "mechanism.beta=1e-9", "would not fit in memory"),
    (("mechanism=trlap",), "classify.debias=unbiased", "classify.debias=unbiased"),
    (("mechanism=srr",), "classify.debias=unbiased", "classify.debias=unbiased"),
    ((), "dataset.vocabulary=/nowhere", "dataset.vocabulary=/nowhere (train, public or"),
    ((), "audit.masked_lm=/nowhere", "audit.masked_lm=/nowhere: there is no such folder"),
    (("classifier=transformer",), "classifier.model=/nowhere", "there is no such folder"),
    ((), "metrics.bertscore.model=/nowhere", "there is no such folder"),
    ((), "metrics.bertscore.model=..", "there is no model in this folder"),
    ((), "audit.masked_lm=.", "there is no model in this folder"),
]


@pytest.mark.parametrize(("base", "override", "message"), REFUSED, ids=lambda case: str(case)[:40])
def test_these_are_refused(base: tuple[str, ...], override: str, message: str) -> None:
    line = through(base, override)
    assert line is not None and message in line, line


NAMES = (
    "dataset.name",
    "embedding.name",
    "mechanism.name",
    "model.name",
    "model.kind",
    "classifier.name",
    "protocol.name",
    "sweep",
    "wandb.project",
)
NO_NAMES = (
    "..",
    "../x",
    "a/b",
    "a/../b",
    ".x",
    "-x",
    "",
    "a..b",
    "a b",
    "a\\b",
    "é",
    "x" * 101,
    "a\tb",
    "a+b",
)


@pytest.mark.parametrize("key", NAMES)
def test_names_that_become_paths_stay_names(key: str) -> None:
    for value in NO_NAMES:
        quoted = value.replace("\\", "\\\\")
        line = through((), f"{key}='{quoted}'")
        assert line is not None and "must be a name of at most 100" in line, (value, line)
    assert through((), "dataset.label=x", "sweep=a-b_c.1", "wandb.project=Mine") is None


def test_places_and_numbers_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRLAP_A_NUMBER", "3")
    assert through((), "threads=${oc.env:TRLAP_A_NUMBER}", "outputs=${oc.env:HOME}/x") is None


def test_an_empty_text_is_not_replaced() -> None:
    """It would stand between all letters."""
    with pytest.raises(TrlapError, match=r"dataset\.replace: one of its keys is empty"):
        check_ranges(schema.Dataset(name="x", replace={"": "x"}), "dataset.")


@pytest.mark.parametrize(
    "override",
    ["mechanism=crr mechanism.K=0", "+foo=1", "dataset.name=../../X"],
)
def test_the_plan_refuses_what_the_run_refuses(run: Run, tmp_path: Path, override: str) -> None:
    planned = run(*override.split(), "plan=true")
    assert planned.returncode == 2 and planned.stderr.count("\n") == 1, planned.stderr
    assert not (tmp_path / "outputs").exists() and not (tmp_path / "X").exists()


def test_the_other_door_refuses_the_same() -> None:
    """That of scripts/privatize.py, which keeps nothing."""
    files = ("input=${oc.env:HOME}/a.txt", "output=b.txt")
    refused = ("+foo=1", "mechanism.name=[1]", "+mechanism._target_=x", "column=${oc.env:HOME}")
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        assert privatize_from(compose("privatize", list(files))).output == "b.txt"
        for override in (*refused, "seed=99999999999999999999", "threads=2000"):
            with pytest.raises(TrlapError):
                privatize_from(compose("privatize", [*files, override]))


def test_there_are_keys_to_try() -> None:
    assert len(KEYS) > 130 and len(NASTY) % 11
    assert composed().epsilon
