"""The three guarantees of a result, side by side: claimed, exact, attacked."""

from dataclasses import dataclass, field

from trlap.runs.records import absent

Interval = tuple[float, float]


@dataclass(frozen=True)
class Claimed:
    """What the mechanism's authors say."""

    notion: str  # none | ε-DP | (ε, δ)-DP | metric DP
    epsilon: float
    log10_delta: float
    distance: str | None = absent()  # metric DP: which one ε is multiplied with


@dataclass(frozen=True)
class Exact:
    """What is true, in the worst case, at the claimed ε; all null where nothing is known, with the reason."""

    notion: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    log10_delta: float | None = None
    epsilon_at_delta_1e6: float | None = None
    reason: str | None = absent()


@dataclass(frozen=True)
class Empirical:
    """What an attack showed, at the point that the claim speaks of."""

    epsilon_lower: float
    delta_lower: float
    confidence: float


@dataclass(frozen=True)
class WordBounds:
    """δ of the word that is written: from an attack below, from the noisy vector above."""

    delta_lower: float | None = None
    delta_upper: float | None = None
    # holds | refuted | undecided; null: nothing was claimed
    verdict: str | None = None


@dataclass(frozen=True)
class EpsilonDelta:
    epsilon: float
    log10_delta: float


@dataclass(frozen=True)
class Composed:
    """The losses themselves composed, at δ = 10⁻⁶."""

    epsilon: float
    log10_delta: float
    method: str


@dataclass(frozen=True)
class DocumentGuarantee:
    """Two documents of so many words each, of which all may differ; nothing is said of unequal lengths."""

    words: int
    draws: int
    claimed_basic: EpsilonDelta | None = absent()
    basic: EpsilonDelta | None = None
    loss_distribution: Composed | None = None
    reason: str | None = absent()


@dataclass(frozen=True)
class Documents:
    median: DocumentGuarantee
    longest: DocumentGuarantee
    draws_a_word: int


@dataclass(frozen=True)
class Guarantee:
    """Claimed, exact, attacked. `holds` is null where nothing was claimed or nothing is known."""

    claimed: Claimed
    exact: Exact
    empirical: Empirical | None = None
    word: WordBounds | None = None
    document: Documents | None = None
    holds: bool | None = None
    # of oov=keep alone
    let_through: "LetThrough | None" = absent()
    # of label=private alone: what one ε is of, as a pair
    covers: str | None = absent()


@dataclass(frozen=True)
class LetThrough:
    """oov=keep: tokens outside the vocabulary, which are published as they are.

    So many of so many tokens of the text were, which costs the promise; `vocabulary` is what is true where
    they are left out of account, of two words of the vocabulary.
    """

    tokens: int
    of: int
    reason: str
    vocabulary: Guarantee

    @property
    def counted(self) -> str:
        return f"{self.tokens:,} of {self.of:,} words are unknown and were let through (oov=keep)"


@dataclass(frozen=True)
class Attacker:
    """The best of the attackers who name original words."""

    name: str
    success: float
    interval: Interval


@dataclass(frozen=True)
class ToldApart:
    """How often an attacker who knows two texts names the one that was privatised. Chance is 1/2."""

    success: float
    interval: Interval
    trials: int
    # by the exact guarantee, no attacker has more on average; null: nothing is known
    allowed: float | None
    # what the attack shows of the ε between two texts, at δ = 10⁻⁶
    epsilon_lower: float


@dataclass(frozen=True)
class Which:
    """Two texts, and which of them it was: by attack `which`. A rate is null where its reason stands."""

    unit: str
    # of the test split
    texts: int
    # how what is published is scored, and whether no attacker could do better
    score: str
    optimal: bool
    # two different texts at random, whatever their lengths; and the share that length alone tells apart
    any: ToldApart | None
    by_length: float | None
    # two different texts of one length
    equal: ToldApart | None
    # the two that are told apart best: what they are made of, and of how many answers
    worst: ToldApart | None
    worst_pair: str | None
    answers: int
    # the same two by their noisy vectors, which are not published
    vector: ToldApart | None = absent()
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
