"""Random programs over the whole surface: every row and composed function, lists, views, writes in place, transforms.

A program is a list of steps that is drawn once; it then runs on plain arrays and on nodes alike. Each step takes
arrays from a pool, brings them to the shapes and into the domain of a call, and puts the result back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from calls import CALLS
from cases import Case
from row_examples import examples_of
from support import differentiable, rows

import autoflow as af

Array = Any
Step = Callable[[list[Any]], Any]  # of the pool, to which it adds


def find_cases(scipys: bool) -> list[tuple[Case, tuple[int, ...]]]:
    """Every example of a row and every call of a composed function, and which of its operands may be nodes."""
    examples = [(row, example) for row in rows(scipys=scipys) for example in examples_of(row)]
    composed = [(each, each.example) for calls in CALLS.values() for each in calls]
    found = [(Case(row, e), tuple(differentiable(row, e))) for row, e in (*examples, *composed)]  # type: ignore[arg-type]
    return [(case, live) for case, live in found if live and 0 not in [n for s in case.example.shapes for n in s or ()]]


CASES = {scipys: find_cases(scipys) for scipys in (False, True)}  # now: later, tests have put rows of their own there


def fit(x: Array, shape: tuple[int, ...], domain: tuple[float, float]) -> Array:
    """The elements of x over and over in an array of that shape, with numbers of that domain.

    Zeros do not become its middle, where the roots, logarithms and kinks of many functions are.
    """
    size, (low, high) = int(np.prod(shape)), domain
    flat = np.reshape(x, (-1,))[np.arange(size) % x.size]
    turned = np.sin(flat * (1.0 + 0.3 * np.arange(size)) + np.arange(size) + 0.37)  # equal numbers come apart
    return np.reshape(low + (high - low) * (0.5 + 0.45 * turned), shape)


def call_step(rng: np.random.Generator, scipys: bool) -> Step:
    """One call, perhaps with one of several operands as a list of its rows or numbers."""
    every = CASES[scipys]
    case, live = every[rng.integers(len(every))]
    given, sources = case.values("float64"), rng.integers(0, 1 << 30, len(case.real))
    as_list = int(rng.choice(live)) if len(live) > 1 and rng.random() < 0.3 else None

    def step(pool: list[Any]) -> Any:
        operands = list(given)
        for k in live:
            if case.real[k].dtype.kind == "f":
                operands[k] = fit(pool[sources[k] % len(pool)], case.example.shapes[k], case.row.domain)
                if k == as_list and operands[k].ndim and not case.row.variadic:
                    operands[k] = list(operands[k])
        z = case.run(operands)
        z = np.real(z) + 0.5 * np.imag(z) if z.dtype.kind == "c" else z
        return np.arctan(z) if z.dtype.kind == "f" and z.size else None

    step.__name__ = f"{case.row.name} of {case.example.shapes} {case.example.options}, list {as_list}"
    return step


def write_step(rng: np.random.Generator) -> Step:
    """A copy that is written into: by an operator, an index, a view, ``out=`` with ``where=``."""
    source, value, kind = *rng.integers(0, 1 << 30, 2), int(rng.integers(6))

    def step(pool: list[Any]) -> Any:
        a = fit(pool[source % len(pool)], (3, 4), (-2.0, 2.0)) * 1.0
        v = fit(pool[value % len(pool)], (4,), (0.5, 1.5))
        if kind == 0:
            a *= v
        elif kind == 1:
            a[1:, ::2] = v[:2]
        elif kind == 2:
            row = a[1]
            row += v * row
        elif kind == 3:
            np.multiply(a, v, out=a)
        elif kind == 4:
            a -= a.max(axis=1, keepdims=True)
        else:
            a = np.divide(a, v, out=np.zeros_like(a), where=np.arange(12).reshape(3, 4) % 3 > 0)
        return a

    step.__name__ = f"write {kind}"
    return step


def transform_step(rng: np.random.Generator) -> Step:
    """A derivative inside of the program: af.grad, af.jvp, af.vmap, af.checkpoint."""
    source, kind, c = int(rng.integers(1 << 30)), int(rng.integers(4)), float(rng.uniform(0.5, 1.5))

    def inner(t: Array) -> Any:
        return np.sum(np.sin(c * t) * np.cumsum(t))

    def step(pool: list[Any]) -> Any:
        x = fit(pool[source % len(pool)], (4,), (-1.0, 1.0))
        if kind == 0:
            return af.grad(inner)(x)
        if kind == 1:
            return af.jvp(lambda t: np.tanh(c * t) * t[::-1], (x,), (np.ones(4),))[1]
        if kind == 2:
            return af.vmap(af.grad(inner))(np.stack([x, c * x]))
        return af.checkpoint(lambda t: np.exp(-t * t) * c)(x) if isinstance(x, af.Node) else np.exp(-x * x) * c

    step.__name__ = f"transform {kind}"
    return step


def surface_program(seed: int, scipys: bool = False) -> tuple[Callable[..., Any], list[Array], list[str]]:
    """A function of two arrays whose value is a number, the arrays, and what its steps are."""
    rng = np.random.default_rng([seed, 20])
    makers = [lambda: call_step(rng, scipys)] * 8 + [lambda: write_step(rng)] * 2 + [lambda: transform_step(rng)]
    steps = [makers[rng.integers(len(makers))]() for _ in range(rng.integers(3, 9))]
    arrays = [rng.normal(size=(2, 3)), rng.normal(size=4)]

    def f(*xs: Array) -> Any:
        pool = list(xs)
        for step in steps:
            z = step(pool)
            if z is not None:
                pool.append(z)
        return sum([np.sum(z * np.cos(0.7 * np.arange(z.size)).reshape(z.shape)) for z in pool])

    return f, arrays, [step.__name__ for step in steps]
