"""Inversion attacks: how often an attacker reads the original word. Ordinary metrics, with intervals.

They say what these attackers reach, not what every attacker must fail at: only the exact guarantee does
that. Attackers know all that is public: the vocabulary, its vectors, the mechanism, its parameters and the
unigram prior. Success is counted over words of the test split as they occur.

- most common: always the prior's likeliest word, without a look at the output;
- nearest: the word nearest to the noisy vector; for a word mechanism the private word itself;
- Bayes: argmax_w prior_w · f(output | w), the best that is possible without context, from the noisy vector
  (with and without the support test) or, exactly, from the private word of a word mechanism;
- one known word (the authors' release): the noise is read off a known word of the batch, then nearest;
- masked-token inference: a masked language model guesses a word from the private words around it (Yue et
  al. 2021), here among the vocabulary's words that are one token to it.

Plausible deniability (Feyisetan et al. 2020) goes by vocabulary words, each counting once: N_w = Pr[M(w) = w]
and S_w, the effective support, here the number of different words in so many draws of M(w).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.audit.empirical import BLOCK, interval
from trlap.audit.exact import Matrix
from trlap.audit.geometry import Geometry
from trlap.errors import TrlapError
from trlap.mechanisms._released import Released
from trlap.mechanisms.base import Base, VectorMechanism, WordMechanism
from trlap.privatize.blocks import block_generator

Words = NDArray[np.int64]

WINDOW = 48  # words of context on either side of a masked one
BATCH = 16


def inversion(
    mechanism: Base,
    noise: Geometry | None,
    found: Matrix | None,
    tokens: NDArray[np.int32],
    count: int,
    confidence: float,
    seed: int,
) -> dict[str, Any]:
    """The context-free attackers, on `count` words drawn from the test split."""
    if not len(tokens):
        return {"reason": "the test split has no words"}
    prior = mechanism.space.prior
    frequency = np.bincount(tokens, minlength=len(prior)) / len(tokens)
    if found is not None:
        return {
            "most_common": _exactly(float(frequency[prior.argmax()])),
            "nearest": _exactly(float(frequency @ found.kept)),
            "bayes": _exactly(float(frequency[found.guesses] @ found.likelihoods)),
        }
    rng = np.random.default_rng([seed, 6])
    truth = tokens[rng.integers(len(tokens), size=count)].astype(np.int64)
    device = mechanism.space.device
    words = torch.from_numpy(truth).to(device)
    generator = block_generator(seed, "audit/inversion", 0, device)

    def rate(guesses: Any) -> dict[str, Any]:
        return success(int((np.asarray(guesses) == truth).sum()), count, confidence)

    attacks = {"most_common": rate(np.full(count, prior.argmax()))}
    if not isinstance(mechanism, VectorMechanism):
        return attacks | {"nearest": rate(mechanism.draw(words, generator).cpu())}
    noisy = mechanism.perturb(words, generator)
    if isinstance(mechanism, Released):
        attacks["nearest"] = rate(mechanism.space.nearest(noisy).cpu())
        if mechanism.released in ("gaussian", "laplace", "trlap", "cmp"):
            cleared = noisy - noisy[0] + mechanism.space.vectors[words[0]]
            attacks["one_known_word"] = rate(mechanism.space.nearest(cleared).cpu())
        return attacks
    if noise is None:
        return attacks | {"nearest": rate(mechanism.draw(words, generator).cpu())}
    log_prior = torch.from_numpy(np.log(np.maximum(prior, 1e-300)))
    attacks["nearest"] = rate(noise.nearest(noisy).cpu())
    free = noise.log_likelihood(noisy, support=False).cpu()
    if np.isfinite(noise.bound):
        attacks["bayes_without_support"] = rate((free + log_prior).argmax(1))
        free[noise.outside(noisy).cpu()] = -torch.inf
    attacks["bayes"] = rate((free + log_prior).argmax(1))
    return attacks


def success(hits: int, trials: int, confidence: float) -> dict[str, Any]:
    low, high = interval(hits, trials, confidence)
    return {"success": hits / trials, "interval": [low, high], "trials": trials}


def _exactly(rate: float) -> dict[str, Any]:
    """From the word-to-word matrix and all words of the test split: nothing is sampled."""
    return {"success": rate, "interval": [rate, rate], "trials": None}


def deniability(
    mechanism: Base, found: Matrix | None, words: int, draws: int, seed: int
) -> dict[str, Any]:
    """N_w and S_w over sampled vocabulary words: mean and worst decile.

    The worst decile of N_w is its 90 % quantile (often unchanged), that of S_w its 10 % quantile (few
    alternatives). For a word mechanism N_w is exact over the whole vocabulary, and S_w is the exact
    expectation Σ_y 1 − (1 − Q(y|w))^n over the sampled words.
    """
    rng = np.random.default_rng([seed, 7])
    size = len(mechanism.space)
    chosen = rng.choice(size, size=min(words, size), replace=False)
    if found is not None:
        assert isinstance(mechanism, WordMechanism)
        rows = mechanism.log_probabilities(torch.from_numpy(chosen).to(mechanism.space.device))
        with np.errstate(divide="ignore"):
            missed = np.exp(draws * np.log1p(-np.exp(rows.cpu().numpy()).clip(max=1)))
        kept, support = found.kept, (1 - missed).sum(1)
    else:
        kept, support = _sampled(mechanism, chosen, draws, seed)
    return {
        "words": len(chosen),
        "draws": draws,
        "sampled": found is None,
        "N_w": {"mean": float(kept.mean()), "worst_decile": float(np.quantile(kept, 0.9))},
        "S_w": {"mean": float(support.mean()), "worst_decile": float(np.quantile(support, 0.1))},
    }


def _sampled(mechanism: Base, chosen: Words, draws: int, seed: int) -> tuple[Any, Any]:
    device = mechanism.space.device
    words = torch.from_numpy(chosen).to(device)
    # the release shares noise within a batch, so there every draw is a batch of its own
    together = 1 if isinstance(mechanism, Released) else max(1, BLOCK // len(words))
    outputs = []
    for block, start in enumerate(range(0, draws, together)):
        times = min(together, draws - start)
        generator = block_generator(seed, "audit/deniability", block, device)
        outputs.append(mechanism.draw(words.repeat(times), generator).view(times, -1).cpu().numpy())
    found = np.concatenate(outputs)
    kept = (found == chosen).mean(0)
    ordered = np.sort(found, axis=0)
    return kept, 1 + (ordered[1:] != ordered[:-1]).sum(0)


def contextual(
    mechanism: Base,
    tokens: NDArray[np.int32],
    lengths: Sequence[int],
    path: str,
    count: int,
    confidence: float,
    seed: int,
) -> dict[str, Any]:
    """Masked-token inference with the model in the folder `path`.

    Success counts all sampled words; `guessable` says how many are one token to the model. `original`
    is the same attack with the true words around the mask: what the context alone gives away.
    """
    model, tokenizer = _masked_model(path)
    device = mechanism.space.device
    known = tokenizer.get_vocab()
    ids = {i: known[word] for i, word in enumerate(mechanism.space.words) if word in known}
    if not ids or tokenizer.mask_token is None:
        raise TrlapError(
            f"audit.masked_lm={path}: it has no mask or none of the vocabulary's words"
        )
    candidates, columns = np.array(list(ids)), torch.tensor(list(ids.values()))
    rng = np.random.default_rng([seed, 8])
    ends = np.cumsum(lengths)
    places = rng.integers(min(len(tokens), int(ends[-1])), size=count)
    truth = tokens[places].astype(np.int64)
    private: list[str] = []
    original: list[str] = []
    for number, place in enumerate(places.tolist()):
        document = int(np.searchsorted(ends, place, side="right"))
        begin = max(int(ends[document]) - int(lengths[document]), place - WINDOW)
        words = tokens[begin : min(int(ends[document]), place + WINDOW + 1)].astype(np.int64)
        generator = block_generator(seed, "audit/contextual", number, device)
        drawn = mechanism.draw(torch.from_numpy(words).to(device), generator).cpu().numpy()
        for texts, shown in ((private, drawn), (original, words)):
            spelt = [mechanism.space.words[i] for i in shown]
            spelt[place - begin] = tokenizer.mask_token
            texts.append(" ".join(spelt))

    def guesses(texts: list[str]) -> Words:
        best = []
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(
                texts[start : start + BATCH],
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=min(tokenizer.model_max_length, model.config.max_position_embeddings),
            )
            with torch.inference_mode():
                logits = model(**batch).logits
            for row, shown in zip(logits, batch["input_ids"], strict=True):
                masks = (shown == tokenizer.mask_token_id).nonzero()
                # a mask beyond the model's length is a miss
                found = int(row[masks[0, 0], columns].argmax()) if len(masks) else None
                best.append(-1 if found is None else int(candidates[found]))
        return np.array(best)

    rates = {
        name: success(int((guesses(texts) == truth).sum()), count, confidence)
        for name, texts in (("private", private), ("original", original))
    }
    return rates["private"] | {
        "original": rates["original"],
        "guessable": float(np.isin(truth, candidates).mean()),
    }


def _masked_model(path: str) -> Any:
    """From a local folder alone; no code and no pickle from it is run."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        model = AutoModelForMaskedLM.from_pretrained(
            path, local_files_only=True, use_safetensors=True
        )
    except (OSError, ValueError) as error:
        raise TrlapError(
            f"audit.masked_lm={path}: no masked language model could be read from there; "
            "give a folder with config.json, model.safetensors and a tokenizer"
        ) from error
    return model.eval(), tokenizer
