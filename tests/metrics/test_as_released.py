"""What the authors' code computes, beside our metrics: known values by hand, and the published ones."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from text_metric_helpers import config

from trlap.metrics import Scene, Texts, measure
from trlap.metrics.bleu import Bleu
from trlap.metrics.registry import in_order
from trlap.runs.result import Trained

DATA = os.environ.get("TRLAP_DATA")
NEEDS_DATA = pytest.mark.skipif(DATA is None, reason="TRLAP_DATA names no folder of corpora")
NAMES = ("rouge1", "bleu", "n_w")


def released(
    originals: Sequence[str], candidates: Sequence[str], lines: int = 100
) -> dict[str, float]:
    scene = Scene(config(names=NAMES), first_lines=lines)
    scores = measure(Texts("rewritten", originals, candidates), scene)
    return {name: value for name, value in scores.as_released.items() if value is not None}


def corpus(name: str) -> list[str]:
    assert DATA is not None
    head, *rows = (Path(DATA) / name / "test.tsv").read_text(encoding="utf-8").splitlines()
    place = head.split("\t").index("text")
    return [row.split("\t")[place] for row in rows]


def test_rouge1_is_of_stems_and_has_no_punctuation() -> None:
    # waiter, drop, soup of four against the same three: precision 3/4, recall 1
    scores = released(["waiters dropped soup ."], ["a waiter dropping soups !"])
    assert scores["rouge1"] == pytest.approx(100 * 2 * 0.75 / 1.75)


def test_n_w_is_over_what_was_written_in_the_first_lines() -> None:
    old, new = ["a b c d", "e f", "g"], ["a b", "e x y z", "g"]
    assert released(old, new, lines=2)["n_w"] == 3 / 6
    assert released(old, new)["n_w"] == 4 / 7


def test_bleu_hears_of_nothing_but_words_of_one_letter() -> None:
    # one match of four words; method 5 takes (1¼ + ¼ + 0)/3 for it, and for longer runs a third each time
    by_hand = np.prod([0.5 / 3**n for n in range(4)]) ** (1 / 4)
    assert released(["good soup today ."], ["good soup today ."])["bleu"] == pytest.approx(
        100 * by_hand
    )
    # all that counts of the original is that some word of it has this letter, or is this mark
    assert released(["."], ["good soup today ."])["bleu"] == pytest.approx(100 * by_hand)
    assert released(["good soup"], ["good soup"])["bleu"] == 0
    assert released(["", "a"], ["a", ""])["bleu"] == 0


@NEEDS_DATA
@pytest.mark.parametrize(
    ("name", "sentences", "longest", "itself", "unrelated"),
    [
        # the paper prints 8.501 and 8.934 without noise
        ("yahoo", 10_000, None, 8.50, 5.15),
        ("yelp", 1_000, 10, 8.93, 6.2),
    ],
)
def test_the_published_bleu_is_that_of_any_text(
    name: str, sentences: int, longest: int | None, itself: float, unrelated: float
) -> None:
    texts = [text for text in corpus(name) if longest is None or len(text.split()) <= longest]
    texts = texts[:sentences]
    some = texts[:1000]
    others = [some[i] for i in np.random.default_rng(0).permutation(len(some))]
    bleu = Bleu()
    scene = Scene(config(), first_lines=100)
    assert bleu.as_released(Texts("rewritten", texts, texts), scene) == pytest.approx(
        itself, abs=0.005
    )
    scored = bleu.as_released(Texts("rewritten", some, others), scene)
    assert scored == pytest.approx(unrelated, abs=0.15)


def test_the_loss_stands_beside_ours() -> None:
    (loss,) = in_order(["loss"])
    taken = loss.taken(Trained(loss=15.0, training_loss=13.0), None)
    assert taken is not None and (taken.value, taken.as_released) == (15.0, 13.0)
    taken = loss.taken(Trained(loss=15.0), None)
    assert taken is not None and taken.as_released is None


def test_who_says_how_the_authors_did_it_computes_it() -> None:
    said = {
        metric.name
        for metric in in_order(["loss", "rouge1", "bleu", "n_w", "bertscore", "cosine"])
        if metric.released
    }
    assert said == {"loss", "rouge1", "bleu", "n_w", "bertscore"}
