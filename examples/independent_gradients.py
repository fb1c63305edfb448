"""Rows of a Hessian, folds of a cross-validation and Markov chains: one call for each, on any pool.

Shows functools.partial over af.grad and af.hvp with ``pool.map``. A pool of threads is used here, so that the script
runs anywhere; ProcessPoolExecutor, loky or a Dask client's get_executor() take the same functions, which pickle.
``map`` gives its results one by one, so that tqdm, if it is installed, can show a progress bar.
"""

import functools
import importlib.util
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import autoflow as af

progress = importlib.import_module("tqdm").tqdm if importlib.util.find_spec("tqdm") else lambda results, total: results


def energy(w, x, y, penalty):
    """Minus the logarithm of the posterior of a logistic regression."""
    return np.sum(np.logaddexp(0, x @ w) - y * (x @ w)) + penalty * np.sum(w**2)


def minimise(x, y, penalty):
    """Newton's method."""
    w = np.zeros(x.shape[1])
    for _ in range(10):
        g, h = af.grad(energy)(w, x, y, penalty), af.hessian(energy)(w, x, y, penalty)
        w = w - np.linalg.solve(h, g)
    return w


def validation_loss(fold, x, y, penalty):
    """Trained on four fifths, measured on the rest."""
    held = np.arange(len(x)) % 5 == fold
    w = minimise(x[~held], y[~held], penalty)
    return float(energy(w, x[held], y[held], 0.0) / held.sum())


def chain(seed, w, x, y, steps=500, size=0.02):
    """Langevin's: downhill, and a random step. The mean of the second half."""
    rng, slope, seen = np.random.default_rng(seed), af.compile(af.grad(energy)), []
    for _ in range(steps):
        w = w - size * slope(w, x, y, 0.5) + np.sqrt(2 * size) * rng.normal(size=w.shape)
        seen.append(w)
    return np.mean(seen[steps // 2 :], axis=0)


rng = np.random.default_rng(0)
x = rng.normal(size=(100, 3))
y = (x @ [1.0, -2.0, 0.5] + rng.logistic(size=100) > 0).astype(float)
best = minimise(x, y, 0.5)
product = functools.partial(af.hvp, functools.partial(energy, x=x, y=y, penalty=0.5), best)
with ThreadPoolExecutor() as pool:
    rows = list(progress(pool.map(product, np.eye(3)), total=3))
    losses = list(progress(pool.map(functools.partial(validation_loss, x=x, y=y, penalty=0.5), range(5)), total=5))
    means = list(progress(pool.map(functools.partial(chain, w=best, x=x, y=y), range(4)), total=4))
print(f"information: {np.trace(rows):.4f}")
print(f"validation: {np.mean(losses):.4f}")
print(f"chains apart: {np.max(np.std(means, axis=0)):.3f}")
