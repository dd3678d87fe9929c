"""The screen that a run ends with: it fits, it says what is true, and what it tells to type works."""

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, TINY, Run

from trlap.audit.records import Audit, Vocabulary
from trlap.runs import result, screen, summary
from trlap.runs.result import (
    Attacker,
    Claimed,
    Composed,
    Details,
    DocumentGuarantee,
    Documents,
    EpsilonDelta,
    Exact,
    Example,
    Guarantee,
    Provenance,
    RunResult,
    Scores,
    ToldApart,
    Which,
    WordBounds,
)

LONG = "word " * 60
SMALL = (*TINY, "audit.samples=200", "audit.tokens=30", "audit.words=5", "audit.draws=5")


def broken(**changes: object) -> RunResult:
    """A run whose promise is not kept."""
    made = RunResult(
        name="demo-random-trlap-eps0.1-00000000",
        protocol="paper",
        dataset="demo",
        embedding="random",
        mechanism="trlap",
        epsilon=0.1,
        seed=1,
        guarantee=Guarantee(
            Claimed("(ε, δ)-DP", 0.1, -180.6),
            Exact("(ε, δ)-DP", 0.1, 0.987, math.log10(0.987), math.inf),
            None,
            WordBounds(0.035, 0.987, "refuted"),
            None,
            False,
        ),
        metrics=Scores({"n_w": 0.065, "accuracy": 0.5}, {}, {"n_w_length_alone": 0.26}),
        private_metrics=Scores({"n_w": 0.004}),
        details=Details(
            sizes={"test": 400},
            examples=[Example(LONG, LONG, LONG)],
            attacker=Attacker("bayes", 0.4, (0.3, 0.5)),
            commonest=0.093,
        ),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def kept(epsilon: float) -> RunResult:
    guarantee = Guarantee(
        Claimed("ε-DP", epsilon, -math.inf),
        Exact("ε-DP", epsilon, 0.0, -math.inf, epsilon),
        None,
        WordBounds(0.0, 0.0, "holds"),
        None,
        True,
    )
    return broken(mechanism="crr", epsilon=epsilon, guarantee=guarantee)


def row(text: str, label: str) -> list[str]:
    """The cells of the first row with that label."""
    line = next(line for line in text.splitlines() if line.startswith(f"  {label}  "))
    return [cell.strip() for cell in line[screen.LABEL :].split("  ") if cell.strip()]


def test_a_broken_promise_and_a_kept_one_side_by_side() -> None:
    text = screen.render([broken(), kept(8)])
    assert row(text, "VERDICT") == ["DOES NOT HOLD", "HOLDS"]
    assert row(text, "true δ at that ε") == ["0.987", "0"]
    assert row(text, "words kept") == ["0.4%", "0.4%"]
    assert "trlap ε 0.1 does not keep its promise: δ of the noisy vector is 0.987" in text
    assert max(map(len, text.splitlines())) <= screen.WIDTH


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_it_fits_whatever_the_text(columns: int) -> None:
    text = screen.render([broken()] * columns)
    assert max(map(len, text.splitlines())) <= screen.WIDTH
    assert any(line.endswith("…") for line in text.splitlines())


def test_invented_text_does_not_look_like_success() -> None:
    assert "are invented, however fluent" in screen.render([broken()])
    learned = Scores({"n_w": 0.7, "accuracy": 0.5}, {}, {"n_w_length_alone": 0.26})
    assert "invented" not in screen.render([broken(metrics=learned)])


def test_what_a_kept_promise_could_leave_at_most() -> None:
    """e^ε times the share of the commonest word: by hand for ε = 0.1 and 9.3 %."""
    assert "leaves at most 10% of the words on average" in " ".join(
        screen.render([broken(), kept(8)]).split()
    )
    # e^3 times 9.3 % is more than all: nothing is said
    assert "at most" not in screen.render([broken(epsilon=3.0), kept(0.5)])


def test_nothing_is_said_of_what_did_not_run() -> None:
    text = screen.render([broken(metrics=Scores(), private_metrics=Scores(), details=Details())])
    assert "words kept" not in text and "classifier" not in text and "attacker" not in text
    assert "VERDICT" in text


def test_the_best_attacker_is_the_one_who_names_most() -> None:
    rates = {
        "most_common": {"success": 0.1, "interval": [0.1, 0.1], "trials": None},
        "bayes": {"success": 0.4, "interval": [0.3, 0.5], "trials": 10},
        "nearest": {"success": 0.2, "interval": [0.1, 0.3], "trials": 10},
        "confidence": 0.95,
    }
    guarantee = broken().guarantee
    made = Audit(guarantee, Vocabulary(3), None, None, rates, None, [])
    assert made.best_attacker() == Attacker("bayes", 0.4, (0.3, 0.5))
    assert replace(made, attacks={"confidence": 0.95}).best_attacker() is None


def test_older_results_without_an_attacker_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run" / "result.json"
    result.write(broken(details=Details()), path)
    assert result.read(path).details.attacker is None
    result.write(broken(), path)
    assert result.read(path).details.attacker == Attacker("bayes", 0.4, (0.3, 0.5))


def test_the_python_to_type(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert summary.interpreter() == ".venv/bin/python"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv"))
    assert summary.interpreter() == "python"


@pytest.fixture
def shown(run: Run) -> Callable[..., str]:
    def shown(*overrides: str) -> str:
        done = run(*SMALL, *overrides)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return shown


def test_runs_beside_one_another(shown: Callable[..., str], tmp_path: Path) -> None:
    stages = "stages=[privatize,rewrite,metrics,audit]"
    text = shown(stages, "model.epochs=1", "mechanism=trlap", "beside=[krr@3,crr@5]")
    assert "trlap ε 0.1" in text and "krr ε 3" in text and "crr ε 5" in text
    folders = {path.parent.name for path in tmp_path.glob("outputs/*/result.json")}
    assert {name.rsplit("-", 1)[0] for name in folders} == {
        "demo-random-trlap-eps0.1",
        "demo-random-krr-eps3",
        "demo-random-crr-eps5",
    }
    # what is shown beside is not rewritten
    assert len(list(tmp_path.glob("outputs/*/rewritten.jsonl"))) == 1
    # a key that shows more does not change what a run is
    full = shown(stages, "model.epochs=1", "mechanism=trlap", "summary=full")
    assert "guarantee  claimed (0.1, " in full
    assert {path.parent.name for path in tmp_path.glob("outputs/*/result.json")} == folders


def test_odds_are_said_of_promises_for_every_answer_alone() -> None:
    """A δ of 10⁻⁶ would leave answers out: e to an ε at that δ bounds no odds."""
    document = DocumentGuarantee(11, 11, None, EpsilonDelta(88.0, -math.inf), None)
    pure = replace(kept(8).guarantee, document=Documents(document, document, 1))
    text = " ".join(screen.render([broken(guarantee=pure)]).split())
    assert (
        "two words change at most 2,981-fold, between two sentences of equal length 10³⁸-fold"
        in text
    )
    assert "no protection of a sentence as a whole" in text
    # noise on vectors: the sum is of worst answers, which hardly ever come
    composed = Composed(2.64, -6.0, "")
    far = replace(document, basic=EpsilonDelta(33.0, -math.inf), loss_distribution=composed)
    mostly = replace(pure, document=Documents(far, far, 1))
    text = " ".join(screen.render([broken(guarantee=mostly)]).split())
    assert "between two sentences of equal length 10¹⁴-fold, but for a δ of 10⁻⁶ 14-fold" in text
    assert "no protection" not in text
    loose = replace(pure, exact=Exact("(ε, δ)-DP", 8.0, 1e-6, -6.0, 3.0))
    assert "-fold" not in screen.render([broken(guarantee=loose)])


def test_how_often_texts_are_told_apart() -> None:
    pairs = ToldApart(0.55, (0.49, 0.61), 300, 1.0, 0.0)
    worst = ToldApart(0.9991, (0.99, 1.0), 300, 1.0, 4.0)
    found = Which("word", 400, "inner product", False, worst, 0.82, pairs, worst, "a and b", 11)
    details = replace(broken().details, which=found)
    text = screen.render([broken(details=details), kept(8)])
    assert row(text, "texts told apart (chance 50%)") == ["55% · worst >99%", "–"]
    assert "of two at random, 82% differ in length" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= screen.WIDTH
    full = "\n".join(summary.told_apart(broken(details=details)))
    assert (
        "two of equal length: told apart 55.0% (49.0% to 61.0%; chance 50%, at most 100.0%" in full
    )
    # of whole texts: what no attacker exceeds, where that is not everything
    answer = ToldApart(0.69, (0.68, 0.7), 300, 0.731, 0.9)
    whole = replace(found, unit="document", any=answer, equal=None, worst=answer, by_length=0.0)
    text = screen.render([broken(unit="document", details=replace(details, which=whole))])
    assert row(text, "texts told apart (chance 50%)") == ["69% · worst 69%"]
    assert "in at most 73.1% of cases" in " ".join(text.split())
    certain = replace(whole, worst=replace(answer, allowed=1.0))
    text = screen.render([broken(unit="document", details=replace(details, which=certain))])
    assert "of cases" not in text


@pytest.mark.parametrize(
    ("both", "said"),
    [
        (0, "of 5,817 private training texts none is a public one word for word"),
        (1, "texts 1 is a public one word for word; it was not removed"),
        (12, "texts 12 are public ones word for word; they were not removed"),
    ],
)
def test_the_curator_hears_of_private_texts_that_are_public(both: int, said: str) -> None:
    provenance = Provenance(dataset={"public": {"documents": 9, "also_in_train": both}})
    details = replace(broken().details, sizes={"train": 5817})
    run = broken(unit="document", provenance=provenance, details=details)
    assert said in " ".join(screen.render([run]).split())
    assert said in (summary.overlap(run) or "")
    assert summary.overlap(broken()) is None


def test_without_noise_there_is_no_promise() -> None:
    nothing = Guarantee(Claimed("none", math.inf, 0.0), Exact(None, math.inf, 1.0, 0.0, math.inf))
    assert "NO PROMISE" in screen.render([broken(guarantee=nothing, mechanism="none")])


def test_the_plan_counts_what_stands_beside(shown: Callable[..., str], run: Run) -> None:
    text = shown("stages=[privatize]", "mechanism=krr", "beside=[crr@5]", "plan=true")
    assert "2 cells" in text and "-crr-eps5-" in text
    assert run("-m", *SMALL, "mechanism=krr,crr", "beside=[krr@1]").returncode == 2


@pytest.mark.parametrize("wrong", ["crr", "crr@", "@8", "crr@abc", "nobody@8", "crr@-1", "crr@0"])
def test_what_cannot_stand_beside_is_one_line(run: Run, tmp_path: Path, wrong: str) -> None:
    done = run(*SMALL, f"beside=['{wrong}']")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.glob("outputs/*/result.json"))


def test_installing_has_help_that_does_nothing_else() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "install.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "requirements.lock" in done.stdout


def test_without_noise_there_is_no_delta_to_speak_of(shown: Callable[..., str]) -> None:
    text = shown("epsilon=inf", "stages=[audit]")
    assert "true δ" not in text and "an attack shows" not in text
    assert "NO PROMISE" in text
