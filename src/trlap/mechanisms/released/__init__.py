"""The noise of the authors' code, which is not what the paper's algorithm says.

Of all its states: of the first one, from which Tables 1 to 3 come (`protocol=tables`), and of the published
head (`protocol=release`). What else differs between protocols is listed in docs/reproduction.md, "Which code
made which number". Against Algorithm 1, as read from the source (`method.py`, `model.py`):

- vectors are not clipped; C = 0.005 only sets the scale of the noise;
- gaussian, laplace, trlap, cmp, pte: **one** noise vector a batch, added to all of its tokens;
- gaussian: standard deviation 2C√d/ε, the Laplace scale, whatever δ;
- trlap: one-sided, on [0, A]: a slip in a call of `bernoulli.rvs` makes the sign always +;
- mahalanobis: per token, but through λ·S + (1−λ)I itself and not its root, S the second moment of the batch's own
  words, λ = 0.5; directions are normalised over the tokens instead of over the coordinates;
- pte: Φ drawn anew each batch with standard deviation 1/m, budget ε/(1 + β), mapped back by Φᵀ;
- no projection: the auto-encoder reads the noisy vectors, at test time too.

Shared noise protects nothing: whoever knows one word of the batch subtracts its vector from the noisy one,
has the noise, and reads all other words exactly. The nearest words written here are for display; a block
of tokens stands for a batch.
"""
