"""The paper's claims are computed from results, and a changed number changes them."""

from collections.abc import Sequence
from pathlib import Path

from report_helpers import PATTERN, WITHIN, rewritten, write_runs

from trlap import load_results
from trlap.report.claims import check_claims
from trlap.runs.result import RunResult

COLLAPSE = "Gaussian and Laplacian noise destroy the text for ε < 1"
PRIVATE = "TrLap is (ε, δ)-differentially private for δ = 4⁻ᵈ (Theorem 1)"
FIRST = "Gaussian noise keeps more than Laplacian noise"
VARIANCE = "TrLap has lower variance than Gaussian and Laplacian noise (Theorem 2)"


def verdicts(results: Sequence[RunResult], outputs: Path) -> dict[tuple[str, str], str]:
    found = check_claims(load_results(write_runs(results, outputs)))
    return {(verdict.claim, verdict.protocol): verdict.verdict for verdict in found}


def test_claims_are_computed(tmp_path: Path) -> None:
    found = verdicts(PATTERN, tmp_path)
    assert found[WITHIN, "release"] == "confirmed"
    assert found[WITHIN, "paper"] == "refuted"
    assert found[COLLAPSE, "release"] == "confirmed"
    assert found[COLLAPSE, "paper"] == "not yet run"
    assert found[FIRST, "release"] == "confirmed"
    assert found[PRIVATE, "paper"] == "refuted"
    assert found[VARIANCE, "all"] == "confirmed"


def test_a_changed_number_changes_the_verdict(tmp_path: Path) -> None:
    changed = [*PATTERN[:1], rewritten("trlap", 0.05, 60.0), *PATTERN[2:]]
    assert verdicts(changed, tmp_path)[WITHIN, "release"] == "refuted"
    order = [*PATTERN[:3], rewritten("laplace", 0.05, 34.0), *PATTERN[4:]]
    found = verdicts(order, tmp_path / "order")
    assert (found[FIRST, "release"], found[COLLAPSE, "release"]) == ("refuted", "undecided")


def test_what_intervals_do_not_tell_apart_is_undecided(tmp_path: Path) -> None:
    # intervals are ± 0.4
    unsure = [*PATTERN[:1], rewritten("trlap", 0.05, 66.5), *PATTERN[2:]]
    assert verdicts(unsure, tmp_path / "near")[WITHIN, "release"] == "undecided"
    without = [*PATTERN[:1], rewritten("trlap", 0.05, 60.0, interval=False), *PATTERN[2:]]
    assert verdicts(without, tmp_path / "without")[WITHIN, "release"] == "undecided"
