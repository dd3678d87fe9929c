"""Privacy-loss mathematics: what each noise really guarantees, and how much noise that takes.

Two words whose clipped vectors differ by s are protected by noise Z of density f up to

    δ(ε) = sup_S Pr[Z ∈ S] − e^ε Pr[Z + s ∈ S] = E[(1 − e^{ε−L})₊],    L = ln f(Z)/f(Z − s),

the hockey-stick divergence. L is the privacy loss, infinite where Z + s cannot fall. All noises
here are symmetric, so s and −s give the same δ and one direction is enough. Clipping to norm C
leaves ‖s‖₂ ≤ 2C.

Conventions
- δ is passed and returned as its natural logarithm, −inf for 0: 4^-1700 is no float. No formula
  holds an e^ε, which overflows above 709.
- `compose(n)` is n-fold composition: the same two words told apart by n independent draws.
- A calibration returns a parameter that was itself tested valid, the smallest to a relative 1e-10, or
  to 1e-4 in ln δ where validity is a bound over all directions.

Files
    base                  what every noise answers: `Noise`
    gaussian, laplace, truncated_laplace, multivariate_laplace      one noise each
    coordinates           what Laplace and truncated Laplace noise share: the worst case
    every_direction, moments, cover, exits      bounds on it that are proven for every difference
    composition           any (ε, δ)-DP mechanism composed, and the paper's δ
    loss_distribution     the privacy-loss distribution, one for all: `LossDistribution`
    finite_losses, convolution, numerics                            what that is made of
"""
