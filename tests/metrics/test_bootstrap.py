import numpy as np
import pytest
from text_metric_helpers import config, corpus, score

from trlap.metrics import Scene, Texts
from trlap.metrics._bootstrap import intervals
from trlap.metrics.n_w import UnchangedWords


def test_intervals_hold_the_point_and_depend_on_the_seed_alone() -> None:
    old, new = corpus(300, 0.4)
    one, again, other = (score(old, new, bootstrap=200, seed=seed) for seed in (1, 1, 2))
    assert set(one.intervals) == {"rouge1", "bleu", "n_w"}
    for name, (low, high) in one.intervals.items():
        assert low < one.values[name] < high
    assert one == again
    assert one.values == other.values
    assert one.intervals != other.intervals


def test_no_resamples_no_intervals() -> None:
    assert score(["a"], ["a"], bootstrap=0).intervals == {}


def test_intervals_do_not_depend_on_what_else_was_asked() -> None:
    old, new = corpus(100, 0.4)
    whole = score(old, new, bootstrap=50).intervals
    for name in ("rouge1", "bleu", "n_w"):
        alone = score(old, new, bootstrap=50, names=[name]).intervals
        assert list(alone) == [name]
        # a product with fewer columns may add up in another order
        assert alone[name] == pytest.approx(whole[name], rel=1e-12)


def test_intervals_narrow_with_the_root_of_n() -> None:
    # widths of 100 and 1,600 sentences differ by a factor of 4, here within 30 %
    widths = []
    for n in (100, 1600):
        old, new = corpus(n, 0.4)
        low, high = score(old, new, bootstrap=500).intervals["rouge1"]
        widths.append(high - low)
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.3)


def test_intervals_cover() -> None:
    # 200 corpora whose true n_w is 0.3. With coverage 0.94, a count outside 175..199 has a
    # probability below 0.1 %; the seed is fixed.
    rng = np.random.default_rng(0)
    scene = Scene(config())
    hits = 0
    for _ in range(200):
        kept = rng.random((100, 10)) < 0.3
        old = [" ".join(["a"] * 10)] * 100
        new = [" ".join("a" if same else "b" for same in row) for row in kept]
        measured = UnchangedWords().measure(Texts("rewritten", old, new), scene)
        low, high = intervals({"n_w": measured}, 200, seed=1)["n_w"]
        hits += low <= 0.3 <= high
    assert 175 <= hits <= 199
