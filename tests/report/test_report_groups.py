"""Which runs belong together: the same for rows of any age, and for whole and short results."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace

import pytest
from omegaconf import DictConfig, OmegaConf
from report_helpers import ROOT, learned, rewritten, with_config

from trlap.report import groups
from trlap.report.results import short
from trlap.runs.records import Json
from trlap.runs.result import RunResult, from_json, to_json

DIGESTS = (groups.data, groups.setup, groups.noise, groups.learning)
STUDY = (ROOT / "results" / "study.jsonl").read_text(encoding="utf-8").splitlines()


def digests(result: RunResult) -> list[str]:
    return [digest(result) for digest in DIGESTS]


@pytest.mark.parametrize("row", STUDY[::37])
def test_a_run_of_today_has_the_digests_of_the_same_run_of_old(
    row: str, configure: Callable[..., DictConfig]
) -> None:
    """The command of a row of the study, composed by the configuration of today, as a new run saves it."""
    old = from_json(json.loads(row))
    assert old.provenance.command is not None
    _, _, *keys = shlex.split(old.provenance.command)
    saved = OmegaConf.to_container(configure(*keys), resolve=True)
    assert isinstance(saved, dict)
    config: dict[str, Json] = {str(group): values for group, values in saved.items()}
    new = replace(old, provenance=replace(old.provenance, config=config))
    new = from_json(to_json(new))
    assert [digest(new) for digest in DIGESTS[:3]] == [digest(old) for digest in DIGESTS[:3]]
    if old.settings.classifier is not None:
        assert groups.learning(new) == groups.learning(old)


def test_keys_that_came_later_do_not_part_old_rows_from_new_ones() -> None:
    """By hand: a row of version 1, and the same run with every key that version 2 added."""
    row = next(json.loads(line) for line in STUDY if '"rewrite"' in line and '"audit"' in line)
    old = from_json(row)
    config: dict[str, Json] = row["provenance"]["config"]
    new = from_json(
        row
        | {
            "schema_version": 2,
            "unit": "word",
            "details": row["details"] | {"rewrite": None, "classify": None},
            "seconds": {},
            "provenance": row["provenance"]
            | {
                "config": config
                | {
                    "stages": ["privatize", "rewrite", "classify", "metrics", "audit"],
                    "model": config["model"] | {"kind": "bilstm", "gradient_clip": 5},
                    "metrics": {"names": ["rouge1", "bleu"], "bootstrap": 1000},
                    "audit": config["audit"] | {"attacks": ["distinguish"]},
                }
            },
        }
    )
    assert digests(new) == digests(old)
    of_another_kind = with_config(new, model=config["model"] | {"kind": "transformer"})
    assert groups.setup(of_another_kind) != groups.setup(old)
    assert groups.data(of_another_kind) == groups.data(old)


@pytest.mark.parametrize(
    "result", [rewritten("trlap", 0.05, 67.5), learned("crr", 1.0, 0.6)], ids=["text", "labels"]
)
def test_whole_and_short_results_belong_together(result: RunResult) -> None:
    dataset = result.provenance.config["dataset"] | {"vocabulary": "/home/me/words.txt"}
    result = with_config(result, dataset=dataset)
    assert [digest(short(result)) for digest in DIGESTS[:3]] == digests(result)[:3]


def test_what_changes_a_result_parts_runs_and_what_does_not_does_not() -> None:
    cell = learned("crr", 1.0, 0.6)
    assert digests(learned("crr", 5.0, 0.7)) == digests(cell)
    assert groups.data(learned("crr", 1.0, 0.6, limit=10)) != groups.data(cell)
    assert groups.noise(learned("crr", 1.0, 0.6, centres=3)) != groups.noise(cell)
    assert groups.noise(replace(cell, unit="document")) != groups.noise(cell)
    assert groups.learning(learned("crr", 1.0, 0.6, patience=5)) != groups.learning(cell)
    text = rewritten("trlap", 0.05, 67.5)
    model = text.settings.model
    assert model is not None
    # what the protocols themselves set is no reason to tell tables apart
    for key, value in (("layers", 2), ("word_noise", {"drop": 0.1}), ("trainer", {"devices": 2})):
        assert groups.setup(with_config(text, model=model.keys | {key: value})) == groups.setup(
            text
        )
    assert groups.setup(with_config(text, model=model.keys | {"epochs": 30})) != groups.setup(text)
    unused = with_config(text, stages=["privatize"], model={})
    assert groups.setup(unused) == groups.setup(with_config(text, stages=["privatize"]))
