"""Texts and labels covered as pairs: the exact law, what is learned from it, and runs on the demo corpus."""

import json
import math
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT, TINY, Run

from trlap.data.vocabulary import Vocabulary
from trlap.documents.candidates import Candidates
from trlap.documents.encoder import MeanWords
from trlap.documents.evidence import counted, drawn_to_equal, estimated_shares, scores
from trlap.documents.pairs import Pairs
from trlap.documents.reading import OfPairs
from trlap.embeddings.space import Space
from trlap.mechanisms import registry
from trlap.mechanisms.drr import DocumentRandomisedResponse
from trlap.privatize.blocks import answer_documents
from trlap.report import groups
from trlap.runs.result import read

WORDS = ["<unk>", "good", "bad", "film"]
VECTORS = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
ENCODER = MeanWords(Vocabulary(WORDS, np.full(4, 0.25), public=True), VECTORS)
DOCUMENTS = [" ".join(d) for n in range(4) for d in product(WORDS[1:], repeat=n)]
# 40 documents, the empty one too
PUBLIC = DOCUMENTS[1:]


def pairs(size: int, classes: int, directions: int = 3) -> Pairs:
    drawn = Candidates.drawn(PUBLIC, ENCODER.encode(PUBLIC), size, seed=0)
    return Pairs.of(drawn, classes, directions)


def mechanism(public: Candidates, epsilon: float) -> DocumentRandomisedResponse:
    first = public.sets[0]
    prior = np.full(len(first), 1 / len(first))
    space = Space([public.texts[i] for i in first], public.vectors[first], prior, clip=None)
    made = registry.make("drr", space, epsilon, encoder="words")
    assert isinstance(made, DocumentRandomisedResponse)
    return made


@pytest.mark.parametrize(("size", "classes"), [(2, 2), (2, 4), (3, 2), (5, 3)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_any_two_documents_with_any_labels(size: int, classes: int, epsilon: float) -> None:
    """All documents with all labels, at places of both kinds of sets; all published pairs."""
    public = pairs(size, classes)
    drr = mechanism(public, epsilon)
    channel = drr.log_probabilities(torch.arange(size)).exp().numpy()
    vectors = ENCODER.encode(DOCUMENTS)
    largest = 0.0
    for place in range(7):
        rows = []
        for vector, label in product(vectors, range(classes)):
            standing = np.stack([vector] * (place + 1))
            chosen = public.choose(standing, labels=[label] * (place + 1))[place]
            law: dict[tuple[str, int], float] = {}
            for answer in range(size):
                answers = np.full(place + 1, answer, np.int32)
                classes_of = public.classes_of(answers)
                published = public.answered(answers)[place], classes_of[place]
                law[published] = law.get(published, 0.0) + channel[chosen, answer]
            assert sum(law.values()) == pytest.approx(1)
            rows.append([law[key] for key in sorted(law)])
        laws = np.log(np.array(rows))
        largest = max(largest, float((laws[:, None] - laws[None]).max()))
    assert largest == pytest.approx(epsilon, rel=1e-12)


def test_no_rule_gives_more_away() -> None:
    """A rule that codes document and label as well as K answers can: all K rows of the channel are met."""
    for size, epsilon in ((2, 0.5), (4, 2.0)):
        channel = mechanism(pairs(size, 2), epsilon).log_probabilities(torch.arange(size)).numpy()
        told = [
            channel[(7 * d + label) % size] for d in range(len(DOCUMENTS)) for label in range(2)
        ]
        apart = max(float((a - b).max()) for a in told for b in told)
        assert apart == pytest.approx(epsilon, rel=1e-12)


def test_what_is_drawn_is_the_channel() -> None:
    public, epsilon = pairs(4, 2), 1.0
    drr = mechanism(public, epsilon)
    count = 30_000
    vectors = np.repeat(ENCODER.encode(["good bad film"]), count, axis=0)
    labels = [0, 1] * (count // 2)

    def chance(block: int) -> torch.Generator:
        return torch.Generator().manual_seed(block)

    private = answer_documents(drr, public, vectors, chance, labels=labels)
    answers = public.answers(private.texts)
    kept = answers == public.choose(vectors, labels=labels)
    assert kept.mean() == pytest.approx(math.e / (math.e + 3), abs=4 * math.sqrt(0.25 / count))
    # text and class are of the one answer
    assert private.labels == public.classes_of(answers.astype(np.int32))
    assert answer_documents(drr, public, vectors, chance).labels is None


def test_the_rules_are_as_they_are_told() -> None:
    public = pairs(3, 4)
    vectors = ENCODER.encode(DOCUMENTS)
    likeness = (vectors - public.vectors.mean(0)) @ public.axes
    numbers = public.numbers(len(vectors))
    texts = (public.vectors - public.vectors.mean(0)) @ public.axes
    for label in range(4):
        chosen = public.choose(vectors, labels=[label] * len(vectors))
        for place, number in enumerate(numbers):
            scores = texts[public.sets[number]] @ likeness[place]
            rule = public.rules[number, label]
            if public.asking[number]:
                assert rule[chosen[place]] == 1
            else:
                best = scores.max() if rule[0] == 1 else scores.min()
                assert scores[chosen[place]] == pytest.approx(best, abs=1e-6)
    for number, rules in enumerate(public.rules):
        # who may choose a pair may be of the class that it carries
        assert all(rules[c, k] == 1 for k, c in enumerate(public.carried[number]))
    # nobody else has a say, and public documents choose as private ones do
    places = [public.choose(public.vectors, labels=[c] * len(PUBLIC)) for c in range(4)]
    for place, number in enumerate(public.numbers(len(PUBLIC))):
        cells = public.pair_cells(int(number))[place]
        assert cells.tolist() == [places[c][place] for c in range(4)]


@pytest.mark.parametrize(("size", "classes", "epsilon"), [(2, 2, 0.5), (2, 3, 0.5), (3, 3, 1.0)])
def test_the_variance_of_shares_is_theirs(size: int, classes: int, epsilon: float) -> None:
    """The parts of a set share its answers, so that their counts go together."""
    rng = np.random.default_rng(4)
    public = pairs(size, classes)
    channel = mechanism(public, epsilon).log_probabilities(torch.arange(size)).exp().numpy()
    stated, found = [], []
    for _ in range(400):
        counts = np.zeros(public.sets.shape, np.int64)
        for number in range(len(public.sets)):
            for label in range(classes):
                chosen = int((public.rules[number, label] == 1).argmax())
                counts[number] += rng.multinomial(500 // classes, channel[chosen])
        shares, variance = estimated_shares(public, counts, epsilon)
        stated.append(variance)
        found.append(shares)
    simulated = float(np.var(found, axis=0, ddof=1).sum())
    assert np.mean(stated) == pytest.approx(simulated, rel=0.25)


@pytest.mark.parametrize(("size", "classes"), [(2, 2), (2, 3), (6, 2)])
def test_shares_of_classes_have_no_bias(size: int, classes: int) -> None:
    """From answers as they are expected, exactly the shares that documents have, whatever their texts."""
    public, epsilon = pairs(size, classes), 0.7
    truth = np.array([0.6, 0.3, 0.1])[:classes] / np.array([0.6, 0.3, 0.1])[:classes].sum()
    channel = mechanism(public, epsilon).log_probabilities(torch.arange(size)).exp().numpy()
    expected = np.zeros(public.sets.shape)
    for number in range(len(public.sets)):
        for label in range(classes):
            rule = public.rules[number, label]
            # any text: where a class may choose, it takes the first pair
            expected[number] += 1000 * truth[label] * channel[int((rule == rule.max()).argmax())]
    shares, variance = estimated_shares(public, expected, epsilon)  # type: ignore[arg-type]
    assert shares == pytest.approx(truth, abs=1e-9)
    assert 0 < variance < 1
    drawn = drawn_to_equal(shares, variance / 1e6)
    assert drawn == pytest.approx(truth, abs=1e-3)
    assert drawn_to_equal(shares, math.inf) == pytest.approx(np.full(classes, 1 / classes))


def test_scores_are_the_gradient_of_the_likelihood() -> None:
    public, epsilon = pairs(3, 2), 1.2
    channel = mechanism(public, epsilon).log_probabilities(torch.arange(3)).exp().numpy()
    rng = np.random.default_rng(1)
    answers = rng.integers(0, 3, 50)
    numbers = public.numbers(50)

    def likelihood(chances: np.ndarray) -> float:
        total = 0.0
        for answer, number in zip(answers, numbers, strict=True):
            told = channel[public.pair_cells(int(number)), answer]
            total += math.log(float((chances * told).sum()) / len(PUBLIC))
        return total

    found = scores(public, counted(public, answers), epsilon)
    equal = np.full((len(PUBLIC), 2), 0.5)
    steps = []
    for row, column in ((0, 0), (5, 1), (17, 0), (30, 1)):
        step = np.zeros_like(equal)
        step[row, column] = 1e-5
        slope = (likelihood(equal + step) - likelihood(equal - step)) / 2e-5
        steps.append(slope * len(PUBLIC) / found[row, column])
    assert steps == pytest.approx([steps[0]] * 4, rel=1e-4)


def test_a_classifier_is_learned_from_pairs() -> None:
    """Classes that lie apart in one direction, as ridge learns them with `debias=posterior`."""
    rng = np.random.default_rng(3)
    count = 3000

    def documents() -> tuple[np.ndarray, np.ndarray]:
        labels = rng.integers(0, 2, count)
        rows = rng.normal(size=(count, 6)) * 0.5
        rows[:, 2] += 2.0 * labels
        return rows.astype(np.float32), labels

    (public, classes), (private, labels) = documents(), documents()
    texts = [str(i) for i in range(count)]
    sets = Pairs.of(Candidates.drawn(texts, public, 2, seed=1), 2, 4)
    epsilon = 1.0
    chosen = sets.choose(private, labels=labels)
    flips = rng.random(count) > math.e / (math.e + 1)
    published = sets.answered(np.where(flips, 1 - chosen, chosen).astype(np.int32))
    documents_ = OfPairs(texts, {}, np.arange(0), sets, epsilon, "posterior")
    found = documents_.evidence("train", "private", published)
    assert found is not None
    assert documents_.evidence("test", "private", published) is None
    gap = found.scores[:, 1] - found.scores[:, 0]
    order = [int(text) for text in sets.texts]
    assert np.corrcoef(gap, classes[order])[0, 1] > 0.7


def test_sizes_and_directions() -> None:
    drr = DocumentRandomisedResponse
    sizes = [drr.size("auto", epsilon, 10_000, True) for epsilon in (0.1, 0.5, 1, 2, 4, 1e100)]
    assert sizes == [2, 2, 3, 7, 32, 32]
    assert [drr.directions(epsilon) for epsilon in (0.5, 1, 2)] == [8, 14, 37]
    assert drr.directions(1e100) > 10_000


STAGES = "stages=[privatize,classify,metrics,audit]"
SMALL = ("audit.samples=200", "audit.words=2", "audit.tokens=5", *TINY)
PAIRS = ("mechanism=drr", "mechanism.encoder=words", "label=private", STAGES, *SMALL)


@pytest.mark.parametrize("debias", ["posterior", "none"])
def test_a_run_with_labels_covered(run: Run, tmp_path: Path, debias: str) -> None:
    reads = (f"classify.debias={debias}", "classify.test_on=original")
    done = run(*PAIRS, "epsilon=3", "mechanism.K=3", *reads)
    assert done.returncode == 0, done.stderr
    assert "promised: (document, label)  " in done.stdout
    assert "and its label with it" in " ".join(done.stdout.split())
    (path,) = (tmp_path / "outputs").glob("*/result.json")
    result = read(path)
    guarantee = result.guarantee
    assert guarantee.covers == "(document, label)" and guarantee.holds is True
    assert guarantee.exact.epsilon == 3 and guarantee.exact.delta == 0
    classified = result.details.classify
    assert classified is not None and classified.protects is not None
    assert classified.protects.startswith("the training texts and their labels are protected")
    # an answer's class is not that of its text
    assert (classified.runs[0].validation_accuracy is None) == (debias == "posterior")
    lines = [json.loads(x) for x in (path.parent / "private.jsonl").read_text().splitlines()]
    for line in lines:
        assert ("private_label" in line) == (line["split"] != "test")
    # the demo stands in the order of its classes, and the rows of a release must not
    labels = [line["label"] for line in lines if line["split"] == "train"]
    assert sum(one != other for one, other in pairwise(labels)) > 5
    both = [line for line in lines if "private_label" in line]
    assert any(line["private_label"] != line["label"] for line in both)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (("mechanism=crr", "label=private"), "mechanism=crr answers for words"),
        (("mechanism=crr", "unit=document", "label=private"), "mechanism=crr answers for words"),
        (("mechanism=drr", "unit=word", "label=private"), "unit=word: mechanism=drr answers"),
        (("protocol=release", "mechanism=trlap", "label=private"), "protects no labels"),
        (("protocol=tables", "mechanism=trlap", "label=private"), "protects no labels"),
        (("mechanism=drr", "dataset.label=null", "label=private"), "dataset=demo has no labels"),
        (("mechanism=drr", "mechanism.K=1", "label=private"), "must be auto or a whole number"),
        (
            ("mechanism=drr", "label=private", "dataset.split.per_label=9"),
            "draws documents by their labels",
        ),
        (
            ("mechanism=drr", "label=private", "classify.train_on=original"),
            "reads labels as they are",
        ),
        (("mechanism=drr", "label=private", "dataset.label_names=[one]"), "has one class"),
        (
            (
                "mechanism=drr",
                "label=private",
                "dataset=text",
                f"dataset.path={ROOT}/results/published/tables.csv",
                "dataset.text=mechanism",
                "dataset.label=metric",
            ),
            "which classes there are must be known",
        ),
        (("mechanism=drr", "label=hidden"), "label=hidden: must be one of public, private"),
    ],
)
def test_what_makes_no_sense_is_one_line(run: Run, keys: tuple[str, ...], says: str) -> None:
    done = run(*keys, *TINY)
    assert done.returncode != 0
    assert says in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_rows_that_are_older_than_the_key_have_public_labels(run: Run, tmp_path: Path) -> None:
    keys = ("mechanism=drr", "mechanism.encoder=words", "stages=[privatize]", "epsilon=2", *TINY)
    for label in ("public", "private"):
        done = run(*keys, f"label={label}")
        assert done.returncode == 0, done.stderr
    results = [read(path) for path in (tmp_path / "outputs").glob("*/result.json")]
    by_label = {result.provenance.config["label"]: result for result in results}
    public, private = by_label["public"], by_label["private"]
    config = {key: value for key, value in public.provenance.config.items() if key != "label"}
    older = replace(public, provenance=replace(public.provenance, config=config))
    assert groups.noise(older) == groups.noise(public) != groups.noise(private)
    assert public.guarantee.covers is None
