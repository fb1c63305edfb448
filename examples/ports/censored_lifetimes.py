"""How long machines last, when some still run: a regression with censored data, as SciPy's users write it.

A machine has failed (its density counts), still runs (what lies above its age), had failed when it was first looked at
(what lies below), or failed between two looks: the four cases of lifelines and SurPyval. The change: one import, and
the optimiser is given the gradient. Needs SciPy.
"""

import numpy as np
from scipy.optimize import minimize

from autoflow import scipy, value_and_grad  # was: import scipy.stats

rng = np.random.RandomState(0)
load = rng.uniform(0.0, 1.0, 60)
lifetime = np.exp(2.0 - load) * rng.weibull(1.7, 60)
failed, runs, before = lifetime[:25], np.minimum(lifetime[25:40], 2.0), np.full(10, 3.0)
running = lifetime[25:40] > 2.0
after, until = np.floor(lifetime[50:]), np.floor(lifetime[50:]) + 1.0
early = lifetime[40:50] < 3.0


def objective(p):
    """−log likelihood: log scale = p[0] + p[1] load, log shape = p[2]."""
    scale, shape = np.exp(p[0] + p[1] * load), np.exp(p[2])
    life = scipy.stats.weibull_min(shape, scale=scale[:25])
    still = scipy.stats.weibull_min(shape, scale=scale[25:40])
    first = scipy.stats.weibull_min(shape, scale=scale[40:50])
    looks = scipy.stats.weibull_min(shape, scale=scale[50:])
    return -(
        np.sum(life.logpdf(failed))
        + np.sum(np.where(running, still.logsf(runs), still.logpdf(runs)))
        + np.sum(np.where(early, first.logcdf(before), first.logsf(before)))
        + np.sum(np.log(looks.cdf(until) - looks.cdf(after)))
    )


start = np.array([1.0, 0.0, 0.0])
result = minimize(value_and_grad(objective), start, jac=True)  # was: result = minimize(objective, start)
for name, number in zip(("level", "slope", "log shape"), result.x, strict=True):
    print(f"{name}: {number:.3f}")
print(f"likelihood: {-result.fun:.5f}")
