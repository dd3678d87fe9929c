"""Results as rows, and rows that are small enough to commit."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from report_helpers import LEARNED, PATTERN, ROOT, rewritten, with_config, write_runs

from trlap import load_results
from trlap.report.results import collect, noisy, read, short
from trlap.runs.result import (
    Classified,
    ClassifierRun,
    Epoch,
    Example,
    Inputs,
    RunResult,
    Scores,
    StageProvenance,
    Trained,
    from_json,
)

STUDY = ROOT / "results" / "study.jsonl"


def test_results_become_rows_and_collected_rows_the_same_results(tmp_path: Path) -> None:
    outputs = write_runs(PATTERN, tmp_path / "outputs")
    frame = load_results(outputs)
    assert len(frame) == 6 and frame.setup.nunique() == 1
    row = frame[(frame.mechanism == "trlap") & (frame.protocol == "paper")].iloc[0]
    assert (row.rouge1, row.epoch_seconds, row.epsilon_1e6) == (20.0, 3.0, math.inf)
    assert row["size"] == "90 / 5 / 20, ≤ 10 words, bilstm_small, 15 epochs"
    assert row.result.private_metrics.value("cosine") == 0.2
    assert collect(read([outputs]), tmp_path / "rows" / "study.jsonl") == 6
    again = load_results(tmp_path / "rows")
    assert again.drop(columns="result").equals(frame.drop(columns="result"))
    # each cell once
    assert len(load_results(outputs, tmp_path / "rows")) == 6


def test_columns_are_those_of_every_metric_though_no_run_has_one(tmp_path: Path) -> None:
    """Whoever works with the frame need not ask which stages ran."""
    (tmp_path / "rows").mkdir()
    first = STUDY.read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "rows" / "one.jsonl").write_text(first + "\n", encoding="utf-8")
    frame = load_results(tmp_path / "rows")
    cell = ["name", "protocol", "dataset", "embedding", "mechanism", "epsilon", "seed"]
    settings = ["calibration", "delta", "clip", "projection"]
    of_run = ["loss", "rouge1", "bleu", "n_w", "bertscore", "accuracy"]
    private = [f"private_{name}" for name in ("rouge1", "bleu", "n_w", "bertscore", "cosine")]
    guarantee = ["holds", "claimed_log10_delta", "log10_delta", "epsilon_1e6"]
    rest = ["epoch_seconds", "seconds", "data", "setup", "noise", "size", "command", "result"]
    assert list(frame.columns) == cell + settings + of_run + private + guarantee + rest
    assert frame.loss.isna().all() and frame.accuracy.notna().all()


def test_no_noise_is_known_by_what_was_claimed_and_not_by_a_name(tmp_path: Path) -> None:
    renamed = replace(PATTERN[0], mechanism="identity")
    frame = load_results(write_runs([renamed, PATTERN[1]], tmp_path))
    assert dict(zip(frame.mechanism, noisy(frame), strict=True)) == {
        "identity": False,
        "trlap": True,
    }
    assert set(frame[frame.mechanism == "identity"].noise) == {"none"}


def test_calibration_is_said_of_mechanisms_that_know_it(tmp_path: Path) -> None:
    frame = load_results(write_runs(LEARNED, tmp_path))
    assert set(frame[frame.mechanism == "gaussian"].calibration) == {"published", "exact"}
    assert frame[frame.mechanism == "crr"].calibration.isna().all()


def test_unfinished_runs_do_not_count(tmp_path: Path) -> None:
    outputs = write_runs([replace(PATTERN[0], status="failed")], tmp_path)
    assert load_results(outputs).empty


def test_rows_of_the_study_are_read(tmp_path: Path) -> None:
    """They were written before results had a version, and the file stays as it is."""
    results = list(read([STUDY.parent]))
    assert len(results) == sum(1 for _ in STUDY.open(encoding="utf-8"))
    assert "schema_version" not in json.loads(STUDY.open(encoding="utf-8").readline())
    assert all(result.settings.dataset.name == result.dataset for result in results)
    assert {result.settings.model.kind for result in results if result.settings.model} == {"bilstm"}
    # what is short already is left as it is
    for result in results[::50]:
        assert short(result) == result
    assert collect(results, tmp_path / "again.jsonl") == len(results)
    assert list(read([tmp_path])) == [short(result) for result in results]
    # small enough to commit: the new layout adds a few names and no more
    assert (tmp_path / "again.jsonl").stat().st_size < 1.2 * STUDY.stat().st_size


def long_result() -> RunResult:
    """A run with all that a short row leaves out."""
    result = rewritten("trlap", 0.05, 67.5)
    stage = StageProvenance(
        versions={"torch": "2.13.0"},
        device="cpu",
        threads=2,
        machine="x86_64",
        git=None,
        started="2026-11-18T04:00:00+00:00",
        seconds=9.0,
    )
    epoch = Epoch(epoch=1, train_loss=5.0, validation_loss=6.0, seconds=2.0)
    run = ClassifierRun(0, 3, 5, 0.5, 0.7, 0.6, 0.55)
    # of both texts alike: result.json has it once
    versions = {"bleu": {"package": "sacrebleu 2", "signature": "tok:none"}}
    return replace(
        result,
        name="run",
        folder="/home/me/outputs/run",
        metrics=Scores(
            values={"rouge1": 67.5, "bleu": 1.0, "bertscore": None},
            details={"n_w_length_alone": 0.1, "bleu_brevity_penalty": 1.0},
            reasons={"bertscore": "switched off"},
            provenance=versions,
        ),
        private_metrics=replace(result.private_metrics, provenance=versions),
        details=replace(
            result.details,
            examples=[Example("a", "b", "c"), Example("d", "e", "f")],
            rewrite=Trained(loss=16.0, precision="32-true", history=[epoch]),
            classify=Classified(
                0.6,
                Inputs("private", "private"),
                (0.5, 0.7),
                confusion=[[1, 2], [3, 4]],
                runs=[run],
            ),
            notes=["a note"],
        ),
        provenance=replace(
            result.provenance, device="cpu", threads=2, machine="x86_64", stages={"rewrite": stage}
        ),
    )


def test_a_short_result_is_a_result_and_reads_back_as_itself(tmp_path: Path) -> None:
    whole = long_result()
    collect([whole], tmp_path / "study.jsonl")
    (row,) = (tmp_path / "study.jsonl").read_text(encoding="utf-8").splitlines()
    again = from_json(json.loads(row))
    assert again == short(whole) == short(short(whole))
    assert "null" not in row and "2.13.0" not in row and "switched off" not in row
    assert again.metrics.details == {"n_w_length_alone": 0.1}
    assert again.metrics.provenance == {"bleu": {"signature": "tok:none"}}
    assert again.details.examples == [Example("a", "b", "c")]
    assert again.details.rewrite == Trained(precision="32-true", history=[Epoch(seconds=2.0)])
    assert again.details.classify is not None and again.details.classify.confusion is None
    assert again.details.classify.runs == [
        ClassifierRun(0, epochs=5, validation_accuracy=0.5, accuracy=0.6)
    ]


def test_a_short_result_says_where_stages_were_computed_if_they_differ() -> None:
    whole = long_result()
    assert short(whole).provenance.stages["rewrite"].threads == 2
    assert short(whole).provenance.stages["rewrite"].versions == {}
    known = replace(whole, provenance=replace(whole.provenance, git="0b613c56"))
    assert short(known).provenance.stages == {} and short(known).provenance.git == "0b613c56"


def test_collected_rows_name_no_place_of_a_machine(tmp_path: Path) -> None:
    result = rewritten("trlap", 0.05, 67.5)
    command = (
        f"{result.provenance.command} embedding.path=/home/me/vectors.txt 'dataset.path=~/a b.txt'"
    )
    dataset = result.provenance.config["dataset"] | {"vocabulary": "/home/me/words.txt"}
    result = with_config(result, dataset=dataset)
    result = replace(result, name="run", provenance=replace(result.provenance, command=command))
    collect([result], tmp_path / "study.jsonl")
    text = (tmp_path / "study.jsonl").read_text(encoding="utf-8")
    assert "/home" not in text and "~" not in text and "592e8c6c592e8" not in text
    (row,) = read([tmp_path])
    assert row.provenance.command == (
        "python run.py mechanism=trlap epsilon=0.05 embedding.path=vectors.txt 'dataset.path=a b.txt'"
    )
    assert row.provenance.config["dataset"]["vocabulary"] == "words.txt"
    # what ran is still there, what did not is not
    assert row.settings.model is not None and row.settings.model.epochs == 15
    assert row.settings.classifier is None


@pytest.mark.parametrize("places", [[], ["nowhere"]])
def test_without_results_there_are_no_rows(
    places: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_results(*places).empty
