"""Runs whose promise is for whole documents, on the demo corpus."""

import json
from pathlib import Path

import pytest
from conftest import TINY, Run

from trlap.data.rows import read_rows
from trlap.runs.result import RunResult, read

STAGES = "stages=[privatize,rewrite,classify,metrics,audit]"
SMALL = ("audit.samples=200", "audit.words=2", "audit.tokens=5", *TINY)
DRR = ("mechanism=drr", "mechanism.encoder=words", STAGES, *SMALL)


def only(folder: Path) -> RunResult:
    (path,) = (folder / "outputs").glob("*/result.json")
    return read(path)


def test_a_document_answers_with_some_of_its_words(run: Run, tmp_path: Path) -> None:
    keys = ("unit=document", "mechanism=crr", "epsilon=6", "words=3", "pick=rarest")
    done = run(*keys, STAGES, *SMALL)
    assert done.returncode == 0, done.stderr
    assert "promised for a document" in done.stdout and "between any two texts" in done.stdout
    result = only(tmp_path)
    assert result.unit == "document" and result.epsilon == 6
    rows = read_rows(tmp_path / "outputs" / result.name / "private.jsonl")
    assert {len((row.private or "").split()) for part in rows.values() for row in part} == {3}
    # a half of the 60 training documents is public, and is not privatised
    public = result.provenance.dataset["public"]
    assert public["documents"] + len(rows["train"]) == 60
    assert result.details.vocabulary is not None and result.details.vocabulary.public
    for metric in ("n_w", "cosine"):
        assert result.private_metrics.value(metric) is None
        assert result.private_metrics.reasons[metric].startswith("unit=document: ")
    assert result.private_metrics.value("rouge1") is not None
    assert result.metrics.reasons["loss"].startswith("unit=document: ")
    overlap = "none is a public one" if not public["also_in_train"] else "word for word"
    assert overlap in " ".join(done.stdout.split()) and "texts told apart" in done.stdout
    found = result.details.which
    assert found is not None and found.any is not None and found.worst is not None
    assert found.unit == "document" and found.answers == 3 and found.by_length == 0
    # e⁶/(1 + e⁶)
    assert found.any.allowed == found.worst.allowed == pytest.approx(0.99753, abs=1e-5)
    guarantee = result.guarantee
    assert guarantee.claimed.epsilon == guarantee.exact.epsilon == pytest.approx(6)
    assert guarantee.holds is True and guarantee.exact.delta == 0
    assert guarantee.document is not None and guarantee.document.longest.words == 3
    composed = guarantee.document.longest.loss_distribution
    assert composed is not None and composed.epsilon <= 6
    assert guarantee.exact.epsilon_at_delta_1e6 == pytest.approx(composed.epsilon)


def test_drr_writes_public_texts_and_teaches(run: Run, tmp_path: Path) -> None:
    reads = ("classify.debias=posterior", "classify.test_on=original")
    done = run(*DRR, "epsilon=3", "mechanism.K=4", *reads)
    assert done.returncode == 0, done.stderr
    result = only(tmp_path)
    assert result.unit == "document" and result.guarantee.holds is True
    assert result.guarantee.exact.epsilon == 3 and result.guarantee.exact.delta == 0
    rows = read_rows(tmp_path / "outputs" / result.name / "private.jsonl")
    private = {row.private for part in rows.values() for row in part}
    # no private document of training is among what was set aside
    overlap = result.provenance.dataset["public"]["also_in_train"]
    assert len(private & {row.original for row in rows["train"]}) <= overlap
    assert result.metrics.value("accuracy") is not None
    classified = result.details.classify
    assert classified is not None and classified.inputs.debias == "posterior"
    audit = json.loads((tmp_path / "outputs" / result.name / "audit.json").read_text())
    assert audit["guarantee"]["holds"] is True


def test_without_noise_all_is_published(run: Run, tmp_path: Path) -> None:
    done = run("unit=document", "mechanism=none", "stages=[privatize]", *SMALL)
    assert done.returncode == 0, done.stderr
    rows = read_rows(next((tmp_path / "outputs").glob("demo*")) / "private.jsonl")
    assert all(
        row.private == row.original for row in rows["test"] if "<unk>" not in row.text("private")
    )


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (("mechanism=drr", "unit=word"), "mechanism=drr answers for whole documents"),
        (("mechanism=crr", "words=2"), "words=2: it is for unit=document"),
        (("mechanism=drr", "words=2"), "mechanism=drr picks no words"),
        (("unit=document", "protocol=release"), "protects no whole document; use protocol=paper"),
        (("unit=document", "mechanism=crr", "oov=keep"), "use oov=unk"),
        (
            ("mechanism=drr", "mechanism.K=1"),
            "mechanism.K=1: must be auto or a whole number from 2",
        ),
        (("mechanism=drr", "mechanism.encoder=bert"), "must be one of minilm, words"),
        (("mechanism=drr", "public.path=/no/such/file"), "no such file"),
        (("mechanism=drr", "public.share=1"), "public.share=1.0: must be in (0, 1)"),
        (
            ("mechanism=drr", "classifier=average", "classify.debias=posterior"),
            "use classifier=ridge",
        ),
        (("mechanism=drr", "classify.train_on=rewritten"), "there is no rewritten text"),
    ],
)
def test_what_makes_no_sense_is_one_line(run: Run, keys: tuple[str, ...], says: str) -> None:
    done = run(*keys, *TINY)
    assert done.returncode != 0
    assert says in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_too_few_public_documents(run: Run) -> None:
    done = run(*DRR, "epsilon=3", "mechanism.K=50")
    assert done.returncode != 0
    assert "different public documents; lower K" in done.stderr


def test_public_documents_of_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "public.txt"
    file.write_text("a fine phone\nthe train was late\nprofits rose again\n", encoding="utf-8")
    done = run(*DRR, "epsilon=1", "mechanism.K=3", f"public.path={file}")
    assert done.returncode == 0, done.stderr
    result = only(tmp_path)
    rows = read_rows(tmp_path / "outputs" / result.name / "private.jsonl")
    assert len(rows["train"]) == 60
    written = {row.private for part in rows.values() for row in part}
    assert written <= {"a fine phone", "the train was late", "profits rose again"}
