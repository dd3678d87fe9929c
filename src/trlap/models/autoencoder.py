"""The paper's auto-encoder: a BiLSTM reads a sentence into one code, an LSTM writes it from the code.

    code      z = W h, h the last states of both directions of BiLSTM(dropout(rows));
              `sampled`: z = μ(h) + e^{log σ²(h) / 2}·ε, ε ~ N(0, I)
    words     p(w_t | w_<t, z) = softmax(O · dropout(LSTM(dropout(E w_{t−1}) + U z)))

Rows are the vectors of a sentence's words, with whatever noise was put on them. The sampled code is the
released one, drawn for the loss at test time too; its loss has no KL term. Training starts it at
σ = e^{QUIET/2} = 0.05: started at σ = 1, training on Yelp still ignored the code after 30 epochs.

Ids are those of the V words and two more. V is the boundary: a sentence begins with it on the way in
and ends with it on the way out. V + 1 is the blank of the word noise, on the way in only. Sentences are
packed, not padded, so that nothing else reaches an LSTM or the softmax.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from trlap.models.cpu import cross_entropy, dropout
from trlap.models.packing import Layout

# log σ² of a sampled code when training starts
QUIET = -6.0


@dataclass(frozen=True)
class Code:
    """What the encoder makes of sentences: a code for each, or what codes are drawn around."""

    mean: Tensor
    # null: the mean itself is the code
    log_variance: Tensor | None = None

    def drawn(self) -> Tensor:
        """One draw, by torch's own generator."""
        if self.log_variance is None:
            return self.mean
        return self.mean + (self.log_variance / 2).exp() * torch.randn_like(self.mean)


class AutoEncoder(nn.Module):
    """`vectors`, one a word, are what the embedding starts from; `frequencies`, which are positive and sum
    to 1, those of words and of ends in what is to be written.
    """

    def __init__(
        self,
        vectors: Tensor,
        frequencies: Tensor,
        *,
        hidden: int,
        code: int,
        layers: int,
        dropout: float,
        tied: bool,
        sampled: bool,
    ) -> None:
        super().__init__()
        words, dimension = vectors.shape
        self.boundary, self.tied, self.sampled = words, tied, sampled
        special = torch.randn(2, dimension) * vectors.std()
        self.embedding = nn.Embedding.from_pretrained(torch.cat([vectors, special]), freeze=False)
        between = dropout if layers > 1 else 0.0
        self.encoder = nn.LSTM(dimension, hidden, layers, dropout=between, bidirectional=True)
        self.to_code = nn.Linear(2 * hidden, 2 * code if sampled else code)
        self.from_code = nn.Linear(code, dimension)
        self.decoder = nn.LSTM(dimension, hidden, layers, dropout=between)
        self.output = nn.Linear(hidden, dimension if tied else words + 1, bias=False)
        # Told the frequencies, the decoder need not learn them first, which at a high learning rate
        # drives its states to where no gradient comes back; and the code starts out loud enough to hear.
        self.bias = nn.Parameter(frequencies.log())
        for layer in (self.to_code, self.from_code):
            nn.init.xavier_uniform_(layer.weight, gain=2)
        if sampled:
            nn.init.constant_(self.to_code.bias[code:], QUIET)
        self.dropout = dropout

    def encode(self, rows: Tensor, layout: Layout) -> Code:
        """A code for each sentence of packed rows."""
        _, states = layout.run(self.encoder, dropout(rows, self.dropout, self.training))
        code: Tensor = self.to_code(torch.cat([states[-2], states[-1]], dim=1))
        return Code(*code.chunk(2, dim=1)) if self.sampled else Code(code)

    def loss(self, code: Tensor, inputs: Tensor, targets: Tensor, layout: Layout) -> Tensor:
        """−ln p(sentence | code), summed over the words of all sentences, their ends included."""
        # indexing would sort to go back
        given = self.from_code(code).index_select(0, layout.owner)
        rows = dropout(self.embedding(inputs), self.dropout, self.training) + given
        written, _ = layout.run(self.decoder, rows)
        rows, weight = self._last(written)
        return cross_entropy(rows, weight, self.bias, targets)

    def write(self, code: Tensor, limit: int) -> Tensor:
        """The likeliest next word, again and again, until all sentences have ended or are `limit` long.

        A row for each code: its words, then boundaries.
        """
        word = torch.full((len(code),), self.boundary, device=code.device)
        ended = torch.zeros_like(word, dtype=torch.bool)
        given, state = self.from_code(code), None
        words: list[Tensor] = []
        while len(words) < limit and not ended.all():
            written, state = self.decoder((self.embedding(word) + given)[None], state)
            rows, weight = self._last(written[0])
            scores = linear(rows, weight, self.bias)
            word = scores.argmax(1).masked_fill(ended, self.boundary)
            ended = word == self.boundary
            words.append(word)
        return torch.stack(words, dim=1)

    def _last(self, written: Tensor) -> tuple[Tensor, Tensor]:
        """Whose product, plus the bias, are the scores of all words."""
        written = dropout(written, self.dropout, self.training)
        # a word's score is the product with its own vector
        if self.tied:
            return self.output(written), self.embedding.weight[: self.boundary + 1]
        return written, self.output.weight
