"""The strength of regularisation for each feature, chosen by the gradient of the error on held-out data. Needs SciPy.

Shows af.implicit.argmin: the weights minimise one loss, and a second loss of these weights is minimised over the
strengths on which the first one depends. The inner search is not recorded; the gradient comes from its minimum alone.
"""

import numpy as np

import autoflow as af

rng = np.random.default_rng(0)
truth = np.array([2.0, -1.0, 0.7, 0.0, 0.0, 0.0, 0.0, 0.0])  # five features mean nothing
features, held = rng.normal(size=(40, 8)), rng.normal(size=(40, 8))
targets = features @ truth + rng.normal(scale=0.5, size=40)
held_targets = held @ truth + rng.normal(scale=0.5, size=40)


def training_loss(weights, strengths):
    return np.mean((features @ weights - targets) ** 2) + np.sum(np.exp(strengths) * weights**2)


def fitted_weights(strengths):
    return af.implicit.argmin(training_loss, np.zeros(8), strengths)


def held_error(strengths):
    """On data that the weights have not seen; strengths are logarithms, and not to be without bound."""
    return np.mean((held @ fitted_weights(strengths) - held_targets) ** 2) + 1e-3 * np.sum(strengths**2)


found = af.minimize(held_error, np.full(8, -3.0))
weights = fitted_weights(found.x)
print(f"error before: {held_error(np.full(8, -3.0)):.6f}")
print(f"error after: {found.fun:.6f}, {found.nfev} gradients")
print(f"meaningful: {np.abs(weights[:3]).min():.5f} at least")
print(f"meaningless: {np.abs(weights[3:]).max():.5f} at most")
