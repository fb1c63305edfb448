"""Functions of SciPy's with a gradient: a sparse system, a spline, a filter, an image; beside SciPy, and beside JAX.

    python benchmarks/scipy_functions.py [--rounds 15]

A figure is the time of value and gradient over the time of SciPy's function alone, of the same numbers. JAX has no
sparse system of its own on CPUs but by iterations (``cg``), no cubic spline, and no recursive filter.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.ndimage
from measuring import digits, interleaved, setting, table
from scipy import signal, sparse

import autoflow as af
from autoflow import scipy as ours

RNG = np.random.default_rng(0)
GRID = 60  # a Laplacian of GRID × GRID points
LINE = sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(GRID, GRID))
LAPLACIAN = (sparse.kron(LINE, sparse.eye_array(GRID)) + sparse.kron(sparse.eye_array(GRID), LINE)).tocsc()
LAPLACIAN = (LAPLACIAN + 0.1 * sparse.eye_array(GRID**2)).tocsc()
KNOTS, POINTS = np.linspace(0.0, 1.0, 200), RNG.uniform(0.0, 1.0, 10_000)
B, A = signal.butter(3, 0.2)
CASES: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    f"spsolve, {GRID**2} unknowns": (lambda m, x: m.sparse.linalg.spsolve(LAPLACIAN, x), RNG.normal(size=GRID**2)),
    f"cg, {GRID**2} unknowns": (lambda m, x: m.sparse.linalg.cg(LAPLACIAN, x)[0], RNG.normal(size=GRID**2)),
    "csr @ x": (lambda m, x: m.sparse.csr_array(LAPLACIAN) @ x, RNG.normal(size=GRID**2)),
    "CubicSpline, 200 values, 10,000 points": (lambda m, y: m.interpolate.CubicSpline(KNOTS, y)(POINTS), np.sin(KNOTS)),
    "grid, linear, 10,000 points": (
        lambda m, y: m.interpolate.RegularGridInterpolator((KNOTS, KNOTS), y)(np.stack([POINTS, POINTS[::-1]], 1)),
        RNG.normal(size=(200, 200)),
    ),
    "lfilter, 100,000 samples": (lambda m, x: m.signal.lfilter(B, A, x), RNG.normal(size=100_000)),
    "fftconvolve, 100,000 samples": (lambda m, x: m.signal.fftconvolve(x, KNOTS), RNG.normal(size=100_000)),
    "map_coordinates, order 1, 200 × 200": (
        lambda m, x: m.ndimage.map_coordinates(x, 199 * np.stack([POINTS, POINTS[::-1]]), order=1),
        RNG.normal(size=(200, 200)),
    ),
}


def with_jax(name: str) -> Callable[[Any], Any] | None:
    """The same function in JAX, as far as it has one."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax.experimental.sparse import BCOO

    matrix = BCOO.from_scipy_sparse(LAPLACIAN)
    places = np.stack([POINTS, POINTS[::-1]])
    known: dict[str, Callable[[Any], Any]] = {
        "cg": lambda x: jax.scipy.sparse.linalg.cg(lambda v: matrix @ v, x, tol=1e-5)[0],
        "csr @ x": lambda x: matrix @ x,
        "grid": lambda y: jax.scipy.interpolate.RegularGridInterpolator((KNOTS, KNOTS), y)(places.T),
        "fftconvolve": lambda x: jax.scipy.signal.fftconvolve(x, KNOTS),
        "map_coordinates": lambda x: jax.scipy.ndimage.map_coordinates(x, list(199 * places), order=1),
    }
    f = known.get(name.partition(",")[0])
    return None if f is None else jax.jit(jax.value_and_grad(lambda x: (f(x) ** 2).sum()))


def timed(f: Callable[[], Any]) -> Callable[[], float]:
    """Seconds of one call."""

    def sample() -> float:
        start = perf_counter()
        f()
        return perf_counter() - start

    return sample


def measured(name: str, f: Callable[[Any, Any], Any], x: Any, rounds: int) -> dict[str, float]:
    """The seconds of each library. JAX's gradient is checked."""
    slope = af.value_and_grad(lambda x: np.sum(np.square(f(ours, x))))
    runs: dict[str, Callable[[], Any]] = {"scipy": lambda: f(scipy, x), "autoflow": lambda: slope(x)}
    try:
        theirs = with_jax(name)
    except ImportError:
        theirs = None
    if theirs is not None:
        gradient = np.asarray(theirs(x)[1])
        np.testing.assert_allclose(gradient, slope(x)[1], rtol=1e-3, atol=1e-3 * np.max(np.abs(gradient)))
        runs["jax"] = lambda: [z.block_until_ready() for z in theirs(x)]
    for run in runs.values():
        run()
    return interleaved({key: timed(run) for key, run in runs.items()}, rounds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Value and gradient of SciPy's functions over SciPy's alone.")
    parser.add_argument("--rounds", type=int, default=15, help="of which the least counts (15)")
    rounds = parser.parse_args().rounds
    found = {name: measured(name, f, x, rounds) for name, (f, x) in CASES.items()}
    rows = []
    for name, best in found.items():
        cells = [digits(best[key] / best["scipy"]) if key in best else "" for key in ("autoflow", "jax")]
        rows.append([name, digits(1e3 * best["scipy"]), *cells])
    print(table(["", "SciPy alone, ms", "autoflow", "JAX"], rows))
    libraries = ["autoflow", "scipy", *(["jax"] if any("jax" in best for best in found.values()) else [])]
    print("", f"{setting(libraries)}; least of {rounds} rounds, in turn", sep="\n")


if __name__ == "__main__":
    main()
