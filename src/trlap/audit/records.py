"""What an audit finds: the content of audit.json, as frozen dataclasses.

`trlap.runs.records` writes and reads them. What mathematics says stands in `guarantee`, `vocabulary` and
`composition`; what attacks show stands in `empirical`, `attacks` and `deniability`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trlap.runs.records import Json, absent, from_json
from trlap.runs.result import Attacker, Documents, Guarantee, Which

# by the share of pairs below it, as text: "0.5" is the median
Quantile = dict[str, float]


@dataclass(frozen=True)
class PairCost:
    """What two words of the vocabulary cost, exactly, at the point that the claim speaks of."""

    words: tuple[str, str]
    indices: tuple[int, int]
    claimed_epsilon: float
    # at the claimed ε
    delta: float
    log10_delta: float
    epsilon_at_delta_1e6: float
    # of a vector mechanism: in the norm of its noise
    distance: float | None = absent()
    # of a known channel: at δ = 0, and the output that reaches it
    epsilon: float | None = absent()
    output: str | None = absent()


@dataclass(frozen=True)
class Quantiles:
    """Over so many sampled pairs of words; of the three last, those that can be had for all of them."""

    pairs: int
    distance: Quantile | None = absent()
    delta: Quantile | None = absent()
    epsilon: Quantile | None = absent()
    epsilon_at_delta_1e6: Quantile | None = absent()


@dataclass(frozen=True)
class Vocabulary:
    """The words in use. `reason` stands where no pair needs a look of its own."""

    words: int
    reason: str | None = absent()
    # how the largest pair was found
    search: str | None = absent()
    norm: str | None = absent()
    # of a known channel: its exact ε, and the largest |Σ_y Q(y|w) − 1|
    epsilon: float | None = absent()
    row_sum_error: float | None = absent()
    largest: PairCost | None = absent()
    smallest: PairCost | None = absent()
    # of a known channel: sampled pairs that cost more than was claimed
    violations: int | None = absent()
    quantiles: Quantiles | None = absent()


@dataclass(frozen=True)
class Bound:
    """What one event showed of two inputs. Probabilities are those of the second half of the draws."""

    # null: clipped vectors that are no words
    words: list[str] | None
    why: str
    claimed_epsilon: float
    # at the claimed ε
    delta_lower: float
    # at the claimed δ
    epsilon_lower: float
    epsilon_lower_at_delta_1e6: float
    event: str
    # under the one input, under the other
    hits: tuple[int, int]
    # of each
    draws: int
    # under the other input, by the support of the noise
    impossible: bool


@dataclass(frozen=True)
class Distinguished:
    """Lower bounds from telling inputs apart, all of which hold at once with that confidence."""

    confidence: float
    trials: int
    vector: list[Bound]
    word: list[Bound]

    def seen_at(self, point: str) -> list[Bound]:
        """Bounds at one point of release."""
        return self.vector if point == "vector" else self.word


@dataclass(frozen=True)
class Rate:
    """How often an attacker is right. `trials` is null where nothing was sampled."""

    success: float
    interval: tuple[float, float]
    trials: int | None


@dataclass(frozen=True)
class MaskedToken(Rate):
    """`original`: the same attack with the true words around the mask; `guessable`: words it could name."""

    original: Rate
    guessable: float


@dataclass(frozen=True)
class Spread:
    """Over words. The worst decile is at the end that protects less."""

    mean: float
    worst_decile: float


@dataclass(frozen=True)
class Deniability:
    """N_w, how often a word stays, and S_w, how many different words come in so many draws."""

    words: int
    draws: int
    sampled: bool
    N_w: Spread
    S_w: Spread


@dataclass(frozen=True)
class Audit:
    """Of one mechanism on one vocabulary. `attacks` has the findings of every attack by name."""

    guarantee: Guarantee
    vocabulary: Vocabulary
    composition: Documents | None
    empirical: Distinguished | None
    attacks: Mapping[str, Json]
    deniability: Deniability | None
    notes: list[str]

    def which(self) -> Which | None:
        """Of which two texts it was; None where that attack did not run."""
        found = self.attacks.get("which")
        return from_json(Which, found) if isinstance(found, Mapping) else found

    def best_attacker(self) -> Attacker | None:
        """Who names most of the original words; None where no such attack ran."""
        rates = {
            name: rate
            for name, rate in self.attacks.items()
            if isinstance(rate, dict) and "success" in rate
        }
        if not rates:
            return None
        best = max(rates, key=lambda name: rates[name]["success"])
        low, high = rates[best]["interval"]
        return Attacker(best, rates[best]["success"], (low, high))
