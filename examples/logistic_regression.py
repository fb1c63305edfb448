"""Logistic regression, fitted by Newton's method, with standard errors.

Shows af.grad and af.hessian of a function of a plain array. The Hessian of the negative log-likelihood gives Newton's
step, and its inverse the covariance of the estimates.
"""

import numpy as np

import autoflow as af

rng = np.random.default_rng(0)
features = np.column_stack([np.ones(500), rng.normal(size=(500, 2))])
chance = 1.0 / (1.0 + np.exp(-features @ np.array([-0.5, 2.0, -1.0])))
answers = (rng.uniform(size=500) < chance).astype(float)


def surprise(weights):
    """The negative log-likelihood: Σ log(1 + exp(s)) − answer · s, for the scores s."""
    scores = features @ weights
    return np.sum(np.logaddexp(0.0, scores) - answers * scores)


gradient, hessian = af.grad(surprise), af.hessian(surprise)
weights = np.zeros(3)
for _ in range(20):
    change = np.linalg.solve(hessian(weights), gradient(weights))
    weights = weights - change
    if np.max(np.abs(change)) < 1e-10:
        break

errors = np.sqrt(np.diag(np.linalg.inv(hessian(weights))))
print(f"last step {np.max(np.abs(change)):.1e}")
for name, weight, error in zip(["bias", "first", "second"], weights, errors, strict=True):
    print(f"{name}: {weight:.6f} +- {error:.6f}")
