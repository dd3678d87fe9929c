"""The pipeline from text to result.json, for real, on the demo and on small files."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

QUICK = ("metrics.bertscore.model=null", "metrics.bootstrap=50", "stages=[privatize,metrics]")
DEMO = (*QUICK, "dataset.limit.train=300", "dataset.limit.validation=20", "dataset.limit.test=40")


def only_folder(tmp_path: Path) -> Path:
    (folder,) = (p for p in (tmp_path / "outputs").iterdir() if p.name != "cache")
    return folder


def result(folder: Path) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not strict JSON")

    return json.loads((folder / "result.json").read_text(), parse_constant=refuse)


def test_a_run_writes_its_folder_and_a_summary(run: Run, tmp_path: Path) -> None:
    sizes = (*DEMO[-3:], "metrics.bootstrap=50", "audit.samples=4000", "model.epochs=1")
    done = run("mechanism=trlap", "epsilon=0.1", *sizes)
    assert done.returncode == 0, done.stderr
    folder = only_folder(tmp_path)
    assert folder.name.startswith("demo-glove840b-trlap-eps0.1-")
    assert {path.name for path in folder.iterdir()} == {
        *("config.yaml", "status.json", "result.json", "run.log"),
        *("private.jsonl", "rewritten.jsonl", "audit.json"),
    }
    assert json.loads((folder / "status.json").read_text())["status"] == "ok"
    found = result(folder)
    for key in ("rouge1", "bleu", "n_w", "bertscore", "cosine"):
        assert isinstance(found["private_metrics"][key], float)
    for key in ("loss", "rouge1", "bleu", "n_w", "bertscore"):
        assert isinstance(found["metrics"][key], float)
    assert set(found["metrics"]) == {"loss", "rouge1", "bleu", "n_w", "bertscore", "accuracy"}
    assert all(found["reasons"][key] for key, value in found["metrics"].items() if value is None)
    guarantee = found["guarantee"]
    assert guarantee["claimed"]["log10_delta"] == pytest.approx(-300 * math.log10(4))
    assert guarantee["exact"]["delta"] == pytest.approx(0.987, abs=5e-4)
    assert guarantee["holds"] is False
    assert 0.9 < guarantee["empirical"]["delta_lower"] < 0.987
    assert guarantee["word"]["delta_upper"] == guarantee["exact"]["delta"]
    provenance = found["provenance"]
    assert "tok:none" in provenance["metrics"]["bleu"]["signature"]
    assert len(provenance["embedding"]["sha256"]) == 64
    rows = [json.loads(line) for line in (folder / "private.jsonl").read_text().splitlines()]
    assert [r["split"] for r in rows].count("test") == 40
    assert all(len(r["original"].split()) == len(r["private"].split()) for r in rows)
    short = done.stdout
    assert (
        short.count("\n  original ")
        == short.count("\n  trlap ε 0.1 ")
        == short.count("\n    rewritten ")
        == 2
    )
    for part in ("words kept", "DOES NOT HOLD", "0.987", "try next", str(folder)):
        assert part in short
    full = run("mechanism=trlap", "epsilon=0.1", *sizes, "summary=full").stdout
    assert (
        full.count("\n  original ")
        == full.count("\n  private ")
        == full.count("\n  rewritten ")
        == 3
    )
    for part in ("Rouge1", "DOES NOT HOLD", "0.987", "try next", str(folder)):
        assert part in full


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(run: Run, tmp_path: Path) -> None:
    texts = []
    for seed, force in ((1, False), (1, True), (2, False)):
        done = run("mechanism=gaussian", "epsilon=50", *DEMO, f"seed={seed}", f"force={force}")
        assert done.returncode == 0, done.stderr
        folder = Path(done.stdout.rpartition("results")[2].strip())
        texts.append((folder / "private.jsonl").read_bytes())
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_a_finished_run_is_shown_without_heavy_imports(run: Run) -> None:
    first = run("mechanism=none", *DEMO)
    again = run("mechanism=none", *DEMO, PYTHONPROFILEIMPORTTIME="1")
    assert again.stdout == first.stdout
    imported = {line.rpartition("|")[2].strip() for line in again.stderr.splitlines()}
    assert not imported & {
        "torch",
        "transformers",
        "datasets",
        "wandb",
        "gensim",
        "scipy",
        "pandas",
    }


def test_none_keeps_the_text_and_ignores_what_cannot_matter(run: Run, tmp_path: Path) -> None:
    for extra in ("epsilon=1", "epsilon=2", "delta=0.1", "clip=3", "calibration=exact"):
        assert run("mechanism=none", extra, *DEMO).returncode == 0
    assert run("mechanism=laplace", "epsilon=inf", *DEMO).returncode == 0
    folder = only_folder(tmp_path)  # one cell for all of them
    assert "-none-epsinf-" in folder.name
    found = result(folder)
    assert found["epsilon"] == "inf"
    assert found["guarantee"]["holds"] is None
    for line in (folder / "private.jsonl").read_text().splitlines():
        row = json.loads(line)
        for old, new in zip(row["original"].split(), row["private"].split(), strict=True):
            assert new in (old, "<unk>")


def test_the_hash_knows_content_and_not_places(run: Run, tmp_path: Path) -> None:
    names = set()
    for name, text in (("a.txt", "good soup .\n" * 40), ("b.txt", "good soup .\n" * 40)):
        (tmp_path / name).write_text(text)
        done = run("dataset=text", f"dataset.path={tmp_path / name}", "embedding=random", *QUICK)
        assert done.returncode == 0, done.stderr
        names.add(done.stdout.rpartition("results")[2].strip())
    (tmp_path / "a.txt").write_text("bad soup .\n" * 40)
    done = run("dataset=text", f"dataset.path={tmp_path / 'a.txt'}", "embedding=random", *QUICK)
    names.add(done.stdout.rpartition("results")[2].strip())
    assert len(names) == 2


def test_unknown_words_are_privatised_unless_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("the zyzzyva came at noon\n" * 50)
    keys = (
        "dataset=text",
        f"dataset.path={tmp_path / 't.txt'}",
        "mechanism=laplace",
        "epsilon=0.01",
    )
    found = {}
    for oov in ("unk", "keep"):
        done = run(*keys, *QUICK, f"oov={oov}")
        assert done.returncode == 0, done.stderr
        folder = Path(done.stdout.rpartition("results")[2].strip())
        kept = (folder / "private.jsonl").read_text().replace('"original": "the zyzzyva', "")
        found[oov] = (
            kept.count("zyzzyva"),
            result(folder)["details"]["privatize"]["train"]["leaked"],
        )
    assert found["unk"] == (0, 0)
    assert found["keep"][0] == 50
    assert found["keep"][1] == 38  # 50 rows: 10 for testing, 5 % of 40 for validation


def test_a_failure_is_recorded_and_a_rerun_mends_it(run: Run, tmp_path: Path) -> None:
    keys = ("mechanism=none", *DEMO)
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "cache").write_text("in the way")
    assert run(*keys).returncode == 2
    status = json.loads((only_folder(tmp_path) / "status.json").read_text())
    assert status["status"] == "failed" and "cannot write" in status["error"]
    (tmp_path / "outputs" / "cache").unlink()
    assert run(*keys).returncode == 0
    assert json.loads((only_folder(tmp_path) / "status.json").read_text())["status"] == "ok"


@pytest.mark.parametrize("name", ["yelp", "sst2", "sst2_sentence", "agnews", "yahoo"])
def test_real_corpora(run: Run, corpora: Path, tmp_path: Path, name: str) -> None:
    limits = ("dataset.limit.train=2000", "dataset.limit.validation=10", "dataset.limit.test=100")
    done = run("mechanism=trlap", "epsilon=0.1", f"dataset={name}", *limits, *QUICK)
    assert done.returncode == 0, done.stderr
    found = result(only_folder(tmp_path))
    assert 0 <= found["private_metrics"]["rouge1"] < 20
    assert found["provenance"]["dataset"]["source"]["files"]
