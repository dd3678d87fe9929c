"""What the authors' published code does, which is not what the paper's algorithm says.

The paper's tables come from this code. Against Algorithm 1, as read from its source:

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
