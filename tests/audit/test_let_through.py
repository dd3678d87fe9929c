"""With oov=keep no promise holds: the result says so, with its reason and its counts, wherever it is shown."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit_helpers import VECTORS, WORDS, config, make, released, tokens_of
from conftest import TINY

from trlap.audit import audit
from trlap.audit.guarantee import guarantee
from trlap.audit.let_through import let_through
from trlap.audit.records import Audit
from trlap.config.door import Config
from trlap.privatize.privatizer import Privatizer
from trlap.privatize.summary import own_text
from trlap.report.examples import _lines
from trlap.report.render.page import Column, _let_through, _show
from trlap.runs import pipeline, records
from trlap.runs.result import Guarantee, RunResult
from trlap.runs.screen import render, sees_vector
from trlap.runs.summary import guarantee_line
from trlap.runs.summary import render as full

SMALL: dict[str, Any] = {"vectors": "random", "vocabulary_size": 200}


@pytest.mark.parametrize("name", [*VECTORS, *WORDS])
@pytest.mark.parametrize("tokens", [0, 162])
def test_no_promise_holds_where_unknown_words_pass(name: str, tokens: int) -> None:
    stated = guarantee(make(name, 1.0, delta=1e-3))
    found = let_through(stated, tokens, 951)
    assert found.holds is False
    assert found.exact.delta == 1 and found.exact.epsilon_at_delta_1e6 == math.inf
    assert found.word is not None and found.word.verdict == "refuted"
    assert found.let_through is not None
    assert found.let_through.vocabulary == stated
    assert (found.let_through.tokens, found.let_through.of) == (tokens, 951)
    assert ("162 of the 951" if tokens else "none of the 951") in found.let_through.reason
    assert records.from_json(Guarantee, json.loads(json.dumps(_plain(found)))) == found


def _plain(found: Guarantee) -> object:
    from trlap.files import jsonable

    return jsonable(records.to_json(found))


def test_what_nobody_claimed_is_not_broken_and_what_is_unknown_is() -> None:
    nothing = guarantee(make("none", math.inf))
    assert let_through(nothing, 3, 9) == nothing
    unknown = guarantee(released("mahalanobis", 1.0))
    assert unknown.holds is None
    assert let_through(unknown, 3, 9).holds is False


def test_the_audit_attacks_the_vocabulary_and_counts_what_passed() -> None:
    mechanism = make("laplace", 1.0)
    keys: dict[str, Any] = {
        "lengths": [5, 9],
        "tokens": tokens_of(mechanism, 100),
        "epochs": None,
        "seed": 0,
    }
    cfg = config(attacks=["distinguish"], samples=200)
    plain = audit(mechanism, cfg=cfg, **keys)
    kept = audit(mechanism, cfg=cfg, guarantee=let_through(guarantee(mechanism), 2, 14), **keys)
    assert isinstance(kept, Audit)
    assert plain.guarantee.holds and kept.guarantee.holds is False
    assert kept.guarantee.let_through is not None
    assert kept.guarantee.let_through.vocabulary == plain.guarantee
    assert kept.composition is not None
    assert kept.composition.median.loss_distribution is not None
    assert kept.composition.median.loss_distribution.epsilon == math.inf
    assert kept.composition == kept.guarantee.document


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of these the text knows none, but one."""
    file = tmp_path_factory.mktemp("words") / "words.txt"
    file.write_text("the\nnowhere\n")
    return file


@pytest.mark.parametrize("stages", ["privatize", "privatize,audit"])
def test_a_run_says_why_on_every_screen(
    config: Callable[..., Config], tmp_path: Path, words: Path, stages: str
) -> None:
    keys = (*TINY, "wandb.mode=disabled", f"outputs={tmp_path}", "mechanism=krr", "epsilon=5")
    more = (f"dataset.vocabulary={words}", "audit.samples=100", f"stages=[{stages}]")
    unk = pipeline.run(config(*keys, *more))
    kept = pipeline.run(config(*keys, *more, "oov=keep"))
    assert unk.guarantee.holds and unk.guarantee.let_through is None
    unknown = kept.guarantee.let_through
    assert kept.guarantee.holds is False and unknown is not None
    counts = kept.details.privatize.values()
    assert unknown.tokens == sum(count.leaked for count in counts) > 0
    assert unknown.of == sum(count.tokens for count in counts)
    assert unknown.counted in guarantee_line(kept.guarantee)
    assert "DOES NOT HOLD" in full(kept) and unknown.reason in full(kept)
    screen = " ".join(render([kept]).split())
    assert "VERDICT DOES NOT HOLD" in screen and "true δ at that ε 1" in screen
    assert unknown.reason in screen
    file = json.loads((Path(kept.folder or "") / "result.json").read_text())
    assert file["guarantee"]["let_through"]["reason"] == unknown.reason
    if "audit" in stages:
        audited = json.loads((Path(kept.folder or "") / "audit.json").read_text())
        assert audited["guarantee"] == file["guarantee"]
    _report_says_it(kept)


def _report_says_it(kept: RunResult) -> None:
    import pandas as pd

    row = {"holds": False, "let_through": _let_through(kept)}
    assert _show(Column("holds", "holds"), row) == "no (oov=keep)"
    lines = list(_lines(pd.Series([kept])))
    assert lines[0].label == "krr, unknown words let through" and lines[0].holds is False


def test_the_screen_still_knows_who_sees_the_vector(config: Callable[..., Config]) -> None:
    stated = guarantee(make("laplace", 1.0))
    assert stated.word is not None and stated.word.delta_upper == 0
    stated = replace(stated, word=replace(stated.word, delta_upper=0.5))
    seen = RunResult("", "paper", "demo", "random", "laplace", 1.0, 0, let_through(stated, 1, 2))
    assert sees_vector(seen)


def test_the_privatizer_says_it() -> None:
    kept = Privatizer("krr", epsilon=1.0, oov="keep", **SMALL)
    assert kept.guarantee.holds is False
    kept.privatize(["zyzzyva the"])
    found = kept.guarantee.let_through
    assert found is not None and (found.tokens, found.of) == (1, 2)
    said = own_text(kept, "out.txt")
    assert "DOES NOT HOLD" in said and "1 of 2 words are unknown and were let through" in said
    assert "no bound" in said
    assert Privatizer("krr", epsilon=1.0, **SMALL).guarantee.holds
