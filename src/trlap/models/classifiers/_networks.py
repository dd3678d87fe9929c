"""The networks of our classifiers: each maps (form, rows) to scores before the softmax."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from trlap.models.classifiers._forms import Means, Pieces, Tokens, pretrained
from trlap.models.packing import Layout

if TYPE_CHECKING:
    from trlap.models.classifiers._neural import NeuralKeys


class Average(nn.Module):
    """softmax(W₂ relu(W₁ dropout(mean of the word vectors)))."""

    def __init__(self, shape: tuple[int, ...], classes: int, keys: "NeuralKeys") -> None:
        super().__init__()
        assert keys.hidden is not None and keys.dropout is not None
        self.displacement = nn.Parameter(torch.zeros(shape))
        # for SummedRows
        self.displacement.grad = torch.zeros(shape)
        self.dropout = nn.Dropout(keys.dropout)
        self.hidden = nn.Linear(shape[1], keys.hidden)
        self.output = nn.Linear(keys.hidden, classes)

    def forward(self, form: Means, rows: Tensor) -> Tensor:
        mean = form.displaced(self.displacement, rows)
        scores: Tensor = self.output(self.hidden(self.dropout(mean)).relu())
        return scores


class BiLSTM(nn.Module):
    """softmax(W dropout(maximum over the outputs of a BiLSTM))."""

    def __init__(self, shape: tuple[int, ...], classes: int, keys: "NeuralKeys") -> None:
        super().__init__()
        assert keys.hidden is not None and keys.dropout is not None
        words, dimension = shape
        self.displacement = nn.Parameter(torch.zeros(words + 1, dimension))
        self.lstm = nn.LSTM(dimension, keys.hidden, bidirectional=True)
        self.dropout = nn.Dropout(keys.dropout)
        self.output = nn.Linear(2 * keys.hidden, classes)

    def forward(self, form: Tokens, rows: Tensor) -> Tensor:
        places, lengths = form.sentences.places(rows)
        layout = Layout(lengths)
        ids = form.sentences.ids[layout.pack(places)]
        moved = nn.functional.embedding(form.shares[ids], self.displacement)
        vectors = form.vectors[ids] + moved * form.trust[ids, None]
        states, _ = layout.run(self.lstm, self.dropout(vectors))
        owner = layout.owner[:, None].expand_as(states)
        lowest = states.new_full((len(rows), states.shape[1]), -torch.inf)
        most = lowest.scatter_reduce(0, owner, states, "amax")
        scores: Tensor = self.output(self.dropout(most))
        return scores


class Transformer(nn.Module):
    """A pretrained model with a head for these classes; one for another number of them is replaced."""

    def __init__(self, classes: int, model: str | None) -> None:
        super().__init__()
        from transformers import AutoModelForSequenceClassification

        self.model = pretrained(
            AutoModelForSequenceClassification,
            model,
            num_labels=classes,
            ignore_mismatched_sizes=True,
            use_safetensors=True,
        )

    def forward(self, form: Pieces, rows: Tensor) -> Tensor:
        chosen = {"input_ids": [form.pieces[i] for i in rows.tolist()]}
        batch = form.tokenizer.pad(chosen, return_tensors="pt").to(form.device)
        scores: Tensor = self.model(**batch).logits
        return scores
