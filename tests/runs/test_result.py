"""Results on disk: strict JSON there and back, older versions brought up to date, the study's rows."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT

from trlap.errors import TrlapError
from trlap.files import jsonable
from trlap.report.documents import of_documents
from trlap.runs import records, result, upgrade
from trlap.runs.result import (
    Claimed,
    Classified,
    ClassifierRun,
    Details,
    Empirical,
    Epoch,
    Exact,
    Example,
    Guarantee,
    Inputs,
    Provenance,
    RunResult,
    Scores,
    StageProvenance,
    Trained,
    WordBounds,
)

STUDY = [json.loads(line) for line in (ROOT / "results" / "study.jsonl").open(encoding="utf-8")]


def some_result() -> RunResult:
    stage = StageProvenance({"torch": "2"}, "cpu", 1, "x86_64", None, "2026-01-01T00:00:00", 1.5)
    return RunResult(
        name="demo-random-laplace-eps1-00000000",
        protocol="paper",
        dataset="demo",
        embedding="random",
        mechanism="laplace",
        epsilon=math.inf,
        seed=1,
        guarantee=Guarantee(
            Claimed("ε-DP", 1.0, -math.inf),
            Exact("ε-DP", 1.0, 0.0, -math.inf, 0.5),
            Empirical(0.1, 0.0, 0.95),
            WordBounds(0.0, 0.5, "undecided"),
            None,
            True,
        ),
        metrics=Scores(
            {"loss": 3.0, "rouge1": None}, {}, {"x": 1}, {"rouge1": "off"}, {"bleu": {}}
        ),
        private_metrics=Scores(
            {"rouge1": 5.0}, {"rouge1": (4.0, 6.0)}, {}, {"bleu": "why"}, {"bleu": {}}
        ),
        details=Details(
            sizes={"train": 3},
            examples=[Example("a b", "c d")],
            rewrite=Trained(1.0, 2.0, 3.0, [Epoch(epoch=1, seconds=0.5)], "32-true"),
            classify=Classified(0.5, Inputs("private", "private"), runs=[ClassifierRun(42)]),
        ),
        provenance=Provenance(config={"stages": ["privatize"]}, stages={"privatize": stage}),
    )


def test_a_result_survives_strict_json() -> None:
    made = some_result()
    text = json.dumps(jsonable(result.to_json(made)), allow_nan=False)
    assert result.from_json(json.loads(text)) == made


def test_the_layout_of_result_json_is_the_documented_one() -> None:
    plain = jsonable(result.to_json(some_result()))
    assert plain["schema_version"] == upgrade.NEWEST
    assert plain["epsilon"] == "inf" and plain["unit"] == "word"
    assert plain["metrics"] == {"loss": 3.0, "rouge1": None}
    assert plain["private_metrics"] == {"rouge1": 5.0}
    assert plain["intervals"] == {"metrics": {}, "private_metrics": {"rouge1": [4.0, 6.0]}}
    assert plain["reasons"] == {"rouge1": "off", "private_metrics.bleu": "why"}
    assert list(plain["guarantee"]) == [
        *("claimed", "exact", "empirical", "word", "document", "holds"),
    ]
    # what is absent is left out, what is unknown is null
    assert "distance" not in plain["guarantee"]["claimed"]
    assert plain["guarantee"]["document"] is None
    assert plain["details"]["metrics"] == {"x": 1}
    assert "folder" not in plain


def test_a_result_that_was_read_knows_its_folder_and_name(tmp_path: Path) -> None:
    folder = tmp_path / some_result().name
    result.write(some_result(), folder / "result.json")
    found = result.read(folder / "result.json")
    assert found.folder == str(folder)
    assert replace(found, folder=None) == some_result()


@pytest.mark.parametrize("number", range(0, len(STUDY), 40))
def test_rows_of_the_study_keep_every_number(number: int) -> None:
    """Version 1: whatever the old row said is said by the upgraded one."""
    old = STUDY[number]
    plain = jsonable(result.to_json(result.from_json(old)))
    for key in ("metrics", "private_metrics", "intervals", "protocol", "mechanism", "epsilon"):
        assert plain[key] == old[key]
    for key, value in old["guarantee"].items():
        assert (
            {**plain["guarantee"][key], **value} == plain["guarantee"][key]
            if isinstance(value, dict)
            else plain["guarantee"][key] == value
        )
    assert sum(plain["seconds"].values()) == pytest.approx(sum(old["seconds"].values()))
    assert plain["provenance"]["command"] == old["provenance"]["command"]


def test_every_row_of_the_study_is_read() -> None:
    found = [result.from_json(row) for row in STUDY]
    assert len(found) == len({row.name for row in found}) == len(STUDY)
    assert sum(row.details.classify is not None for row in found) == sum(
        "accuracy" in row["metrics"] for row in STUDY
    )
    assert sum(row.details.rewrite is not None for row in found) == sum(
        "loss" in row["metrics"] for row in STUDY
    )
    # what documents teach is all that those rows are about
    assert all("metrics" in row.settings.stages for row in found if not of_documents(row))
    assert {row.noisy for row in found if row.mechanism == "none"} == {False}


def test_what_the_authors_computed_has_a_place_of_its_own() -> None:
    """Version 2 had it among details, with an N_w that was not theirs."""
    made = some_result()
    made = replace(made, metrics=replace(made.metrics, as_released={"bleu": 8.5}))
    plain = result.to_json(made)
    assert plain["as_released"] == {"bleu": 8.5}
    assert result.from_json(plain) == made
    del plain["as_released"]
    plain["schema_version"] = 2
    plain["details"]["metrics"]["as_released"] = {"n_w": 0.5, "bertscore": 0.9}
    found = result.from_json(plain).metrics
    assert found.as_released == {"bertscore": 0.9}
    assert found.details == made.metrics.details


def test_a_result_of_the_future_is_one_line() -> None:
    plain = result.to_json(some_result()) | {"schema_version": upgrade.NEWEST + 1}
    with pytest.raises(TrlapError, match="install a newer one"):
        result.from_json(plain)


def test_a_key_that_nobody_knows_is_said() -> None:
    with pytest.raises(TrlapError, match="Epoch: unknown key 'epok'"):
        records.from_json(Epoch, {"epok": 1})
    with pytest.raises(TrlapError, match="Counts: not an object"):
        records.from_json(result.Counts, [1])
    with pytest.raises(TrlapError, match="missing"):
        records.from_json(result.Counts, {"sentences": 1})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ('{"metrics": ', "not JSON"),
        ("[]", "not a result"),
        ("null", "not a result"),
        ("{}", "not a result: 'details' is missing"),
        ('{"schema_version": 99}', "install a newer one"),
    ],
)
def test_a_file_that_is_no_result_is_one_line_with_its_path(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "some" / "result.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(TrlapError, match=reason) as caught:
        result.read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
