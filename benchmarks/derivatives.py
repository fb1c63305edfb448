"""Derivatives of many kinds by autoflow and its peers: what ``toolkit.py`` prints beside implicit derivatives.

Each function is written once, for NumPy, PyTorch and JAX (``xp`` is the library). PyTorch and JAX are optional, and use
what they have for it: ``torch.func``, ``jax.vmap``, ``jax.jacrev`` ..., compiled by ``jax.jit``. For a root JAX has
``jax.lax.custom_root``; for PyTorch the formula is written out here.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import autoflow as af

Array = Any
Run = Callable[[], Any]
Ways = dict[str, Run]
NEWTON = 7  # steps: to rounding, from zero


def mlp(xp: Any, weights: Any, x: Array) -> Array:
    """Layers of tanh."""
    for k in range(0, len(weights), 2):
        x = x @ weights[k] + weights[k + 1]
        x = xp.tanh(x) if k + 2 < len(weights) else x
    return x


def error(xp: Any, weights: Any, x: Array, y: Array) -> Array:
    """The square error of all examples, or of one."""
    return xp.sum((mlp(xp, weights, x) - y) ** 2)


def bowl(xp: Any, x: Array, c: Array) -> Array:
    """A number, of 50 sums over all arguments."""
    return xp.sum(xp.tanh(x @ c) ** 2)


def equation(x: Array, theta: Array, a: Array) -> Array:
    """Zero where A x + x³ = θ."""
    return a @ x + x**3 - theta


def layers(rng: np.random.Generator, *sizes: int) -> list[Array]:
    """Weights and biases."""
    made: list[Array] = []
    for n, m in itertools.pairwise(sizes):
        made += [rng.normal(size=(n, m)) / n**0.5, np.zeros(m)]
    return made


class Library:
    """How one of them differentiates; all functions take and return its own arrays."""

    def __init__(self, name: str) -> None:
        self.name, self.finish, self.rng = name, lambda z: z, np.random.default_rng(0)  # the same numbers for each
        if name in ("autoflow", "af.compile"):
            self.xp, self.own, self.of = np, lambda x: x, af
            self.jit: Any = af.compile if name == "af.compile" else lambda f: f
        elif name == "PyTorch":
            torch = import_module("torch")
            torch.set_num_threads(1)  # as NumPy's products have, and where it is quickest at these sizes
            self.xp, self.own, self.of, self.jit = torch, torch.from_numpy, torch.func, lambda f: f
        else:
            jax = import_module("jax")
            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_enable_x64", True)
            self.xp, self.own, self.of, self.jit = import_module("jax.numpy"), jax.numpy.asarray, jax, jax.jit
            self.finish = jax.block_until_ready

    def ready(self, f: Callable[..., Any], *args: Any) -> Run:
        """``f`` at these arguments, each an array or a tuple of arrays."""
        own = [tuple(map(self.own, x)) if isinstance(x, (list, tuple)) else self.own(x) for x in args]
        function = self.jit(f)
        return lambda: self.finish(function(*own))


def make_per_example(lib: Library, n: int, sizes: tuple[int, ...]) -> Run:
    """The gradient of each of n examples for all weights."""
    weights, x, y = layers(lib.rng, *sizes), lib.rng.normal(size=(n, sizes[0])), lib.rng.normal(size=(n, sizes[-1]))
    one = lib.of.grad(lambda w, x, y: error(lib.xp, w, x, y))
    every = af.vmap if lib.of is af else lib.of.vmap
    return lib.ready(every(one, (None, 0, 0)), weights, x, y)


def make_jacobian(lib: Library, sizes: tuple[int, ...]) -> Run:
    """Of a network for its input."""
    weights, x = layers(lib.rng, *sizes), lib.rng.normal(size=sizes[0])
    return lib.ready(lambda w, x: lib.of.jacrev(lambda x: mlp(lib.xp, w, x))(x), weights, x)


def make_hessian(lib: Library, n: int) -> Run:
    """Of the bowl."""
    x, c = np.linspace(0, 1, n), lib.rng.normal(size=(n, 50)) / n
    return lib.ready(lambda x, c: lib.of.hessian(lambda x: bowl(lib.xp, x, c))(x), x, c)


def make_jvp(lib: Library, n: int, sizes: tuple[int, ...]) -> Run:
    """The error of n examples in a direction of all weights."""
    weights, x, y = layers(lib.rng, *sizes), lib.rng.normal(size=(n, sizes[0])), lib.rng.normal(size=(n, sizes[-1]))
    directions = [lib.rng.normal(size=w.shape) for w in weights]

    def moved(w: Any, t: Any, x: Array, y: Array) -> Any:
        return lib.of.jvp(lambda w: error(lib.xp, w, x, y), (w,), (t,))[1]

    return lib.ready(moved, weights, directions, x, y)


def make_root(lib: Library, n: int) -> Run:
    """Of A x + x³ = θ: Σ x² differentiated by θ."""
    a, theta = lib.rng.normal(size=(n, n)) / n + 2 * np.eye(n), lib.rng.normal(size=n)
    if lib.of is af:
        return lib.ready(
            af.grad(lambda t, a: np.sum(af.implicit.root(lambda x, t: equation(x, t, a), np.zeros(n), t) ** 2)),
            theta, a,
        )  # fmt: skip
    solve, slopes = lib.xp.linalg.solve, lib.of.jacfwd

    def newton(f: Any, x: Array) -> Array:
        for _ in range(NEWTON):
            x = x - solve(slopes(f)(x), f(x))
        return x

    if lib.name == "PyTorch":

        def by_formula(theta: Array, a: Array) -> Array:
            x = newton(lambda x: equation(x, theta, a), 0 * theta)
            return solve(slopes(lambda x: equation(x, theta, a))(x).T, 2 * x)

        return lib.ready(by_formula, theta, a)
    root = import_module("jax").lax.custom_root

    def loss(theta: Array, a: Array) -> Array:
        x = root(lambda x: equation(x, theta, a), 0 * theta, newton, lambda g, y: solve(slopes(g)(0 * y), y))
        return lib.xp.sum(x**2)

    return lib.ready(lib.of.grad(loss), theta, a)


KINDS: dict[str, Callable[[Library], Run]] = {
    "gradients of 256 examples, MLP 16-32-32-4": lambda lib: make_per_example(lib, 256, (16, 32, 32, 4)),
    "Jacobian 64 x 256": lambda lib: make_jacobian(lib, (256, 128, 64)),
    "Hessian 100 x 100": lambda lib: make_hessian(lib, 100),
    "jvp, MLP 16-32-32-4, 32 examples": lambda lib: make_jvp(lib, 32, (16, 32, 32, 4)),
    "root, 32 unknowns": lambda lib: make_root(lib, 32),
}
COMPILED = {"root, 32 unknowns": False}  # a solver looks at numbers, so it is not compiled


def libraries() -> list[str]:
    """Those that are installed."""
    there = {name: importlib.util.find_spec(name) is not None for name in ("torch", "jax")}
    return ["autoflow", "af.compile", *["PyTorch"] * there["torch"], *["JAX, jit"] * there["jax"]]


def make_all(kind: str) -> Ways:
    """One kind by all libraries, on the same numbers, each compared with the first."""
    ways: Ways = {}
    for name in libraries():
        if name == "af.compile" and not COMPILED.get(kind, True):
            continue
        ways[name] = KINDS[kind](Library(name))
    right = leaves(ways["autoflow"]())
    for name, run in ways.items():
        for ours, theirs in zip(right, leaves(run()), strict=True):
            np.testing.assert_allclose(np.asarray(theirs), np.asarray(ours), rtol=1e-6, atol=1e-8, err_msg=name)
    return ways


def leaves(answer: Any) -> list[Array]:
    """The arrays of an answer."""
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]
