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


def test_the_same_private_texts_word_by_word(run: Run, tmp_path: Path) -> None:
    """public.always: the documents that are set aside are the same, and are learned from in the same way."""
    reads = ("classify.debias=posterior", "classify.test_on=original", "classifier=ridge")
    shared = (*reads, "classifier.encoder=words", "stages=[privatize,classify]", *SMALL)
    for keys in (
        ("mechanism=drr", "mechanism.encoder=words", "mechanism.K=4", "epsilon=3"),
        ("mechanism=crr", "epsilon=9", "public.always=true"),
        ("mechanism=crr", "epsilon=9", "unit=document", "words=2"),
    ):
        done = run(*shared, *keys)
        assert done.returncode == 0, done.stderr
    results = [read(path) for path in (tmp_path / "outputs").glob("*/result.json")]
    folders = [tmp_path / "outputs" / result.name for result in results]
    texts = [
        [row.original for row in read_rows(folder / "private.jsonl")["train"]] for folder in folders
    ]
    assert len(texts) == 3 and texts[0] == texts[1] == texts[2]
    assert len({json.dumps(result.provenance.dataset["public"]) for result in results}) == 1
    assert {result.unit for result in results} == {"word", "document"}
    assert all(result.details.vocabulary and result.details.vocabulary.public for result in results)


@pytest.mark.parametrize("classifier", ["ridge", "clusters"])
def test_public_documents_alone(run: Run, tmp_path: Path, classifier: str) -> None:
    """What no private text has a say in: another half of the same size, or fewer labels."""
    keys = ("mechanism=none", "public.always=true", f"classifier={classifier}", "stages=[classify]")
    sides = ("classify.train_on=public", "classify.test_on=original", *SMALL)
    for labels in ("null", "20"):
        done = run(*keys, *sides, f"classify.public_labels={labels}")
        assert done.returncode == 0, done.stderr
    results = [read(path) for path in (tmp_path / "outputs").glob("*/result.json")]
    assert len(results) == 2
    for result in results:
        classified = result.details.classify
        assert classified is not None and classified.inputs.train_on == "public"
        # none are left to choose by
        assert [run.validation_accuracy for run in classified.runs] == [None]
        assert classified.protects == "no private text is read to learn from"


def test_one_document_has_not_all_classes(run: Run) -> None:
    keys = ("mechanism=none", "public.always=true", "classifier=ridge", "stages=[classify]")
    done = run(
        *keys,
        "classify.train_on=public",
        "classify.public_labels=1",
        "classify.test_on=original",
        *SMALL,
    )
    assert done.returncode != 0
    assert "is among them; raise it" in done.stderr and len(done.stderr.splitlines()) == 1


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
        (("mechanism=drr", "words=2"), "mechanism=drr picks no words; leave words out"),
        (("mechanism=crr", "public.path=README.md"), "nothing is set aside with unit=word"),
        (
            (
                "mechanism=none",
                "public.always=true",
                "classifier=ridge",
                "classify.train_on=public",
                "classify.public_labels=99",
                "classify.test_on=original",
                "stages=[classify]",
            ),
            "there are 30 public documents",
        ),
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
        (("classifier=ridge", "classify.train_on=public"), "set public.always=true"),
        (("classify.train_on=public", "public.always=true"), "use classifier=ridge"),
        (
            ("mechanism=drr", "classify.train_on=public", "public.path=README.md"),
            "documents of public.path have no labels",
        ),
        (("classify.public_labels=9",), "it is for classify.train_on=public"),
        (("classifier=ridge", "classifier.encoder=minilm"), "set public.always=true"),
        (
            ("mechanism=drr", "mechanism.encoder=words", "classifier.encoder=minilm"),
            "documents are read by mechanism.encoder=words",
        ),
        (
            (
                "unit=document",
                "classifier=ridge",
                "classifier.encoder=words",
                "classifier.rounds=0",
            ),
            "set classifier.rounds to 1 or more",
        ),
        (("mechanism=drr", "classifier=clusters", "classifier.K=0"), "classifier.K=0: must be in"),
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


def test_no_protection_is_said_where_there_is_none(run: Run) -> None:
    """The whole text is called protected where the promise holds, and nowhere else."""
    audit = ("stages=[audit]", "audit.attacks=[]", *SMALL)
    for keys, protected in (
        (("mechanism=none", "unit=document"), False),
        (("mechanism=trlap", "epsilon=1", "unit=document"), False),
        (("mechanism=crr", "epsilon=6", "unit=document"), True),
    ):
        done = run(*keys, *audit)
        assert done.returncode == 0, done.stderr
        assert ("protected is the whole text" in done.stdout) == protected, keys


def test_answers_that_are_all_the_same_are_called_so(run: Run) -> None:
    done = run("mechanism=crr", "mechanism.K=1", "unit=document", "stages=[privatize]", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "the answers tell nothing" in " ".join(done.stdout.split())


def test_private_texts_are_not_taken_for_public_ones(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    rows = [f"text {word},{label}" for word in "abcdefgh" for label in ("good", "bad")]
    file.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    mine = ("dataset=text", f"dataset.path={file}", "dataset.label=label", *DRR)
    done = run(*mine, f"public.path={file}")
    assert done.returncode != 0
    assert "a file of the private texts, which would be published" in done.stderr
    named = tmp_path / "public.csv"
    named.write_text("review\nfine\nbad\n", encoding="utf-8")
    done = run(*mine, f"public.path={named}")
    assert done.returncode != 0 and "rename its column of texts so" in done.stderr
