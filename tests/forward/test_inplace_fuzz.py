"""Random programs that write into arrays, through views and aliases: the true gradient, or StaleValueError."""

import itertools
import os

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import StaleValueError
from autoflow.nodes import versions

COUNT = 5000 if os.environ.get("AUTOFLOW_NIGHTLY") else 800


STEPS = [  # of two arrays u and v, a number a, and the list of all arrays
    "u[a % 4] = v[(a + 1) % 4]", "u[a % 3 :] *= 0.9", "t = u[1:]; t += v[:-1]; arrays.append(u * 1.0)",
    "m = u.reshape(2, 2); m[0] *= v[:2]", "t = u.reshape(2, 2).T; t[1] = v[2:] * 2; arrays.append(t.reshape(4) * 1.0)",
    "u[[0, 2]] = np.exp(-(v[1:3] ** 2))", "s = u[1:3]; arrays.append(np.concatenate([s, v[:2]])); s -= 0.3 * v[0]",
    "u += v * 0.5", "u *= v", "u /= 2.0 + v * v", "np.add(u, v, out=u)", "u /= np.linalg.norm(u) + 0.5",
    "u -= (u if a % 2 else v).max()", "t = u[a % 3 :]; t *= np.cos(np.sum(t * t)) + 0.1 * v[0]",
    "u[a % 4] = np.sum(u * v) + np.std(u)", "np.divide(u, v, out=u, where=v > 0.3)", "arrays.append(np.tanh(u) * v)",
    "arrays.append(np.sin(u[::-1]) + v)", "arrays.append((u.reshape(2, 2) @ v.reshape(2, 2)).reshape(4))",
    "arrays.append(np.stack([u.max(), v.min(), np.ptp(u), np.max(v, initial=0.1)]))",
    "p, q = np.split(u, 2); p *= q; q += p", "p, q = u.reshape(2, 2); q -= 0.5 * p * p; arrays.append(u * 1.0); p *= q",
    "p, q = u[::2], u[1::2]; p /= 1.5 + q * q; q *= p; p += 0.1 * q", "d = np.einsum('ii->i', np.outer(u, v)); d *= 2",
]  # fmt: skip
CODES = [compile(step, "<step>", "exec") for step in STEPS]


def random_program(rng):
    steps = [(rng.integers(len(STEPS)), *rng.integers(0, 20, 3)) for _ in range(rng.integers(2, 9))]

    def program(x, w):
        arrays = [x * 1.0, w * 1.0, x + w]
        for step, i, j, a in steps:
            u, v = arrays[i % len(arrays)], arrays[j % len(arrays)]
            exec(CODES[step], {"np": np, "u": u, "v": v, "a": a, "arrays": arrays})
        return sum([np.sum(np.sin(array)) for array in arrays])

    program.steps = [(STEPS[step], *numbers) for step, *numbers in steps]
    return program


def slopes(program, points, k, h):
    for step in h * np.eye(4):  # short: many programs have kinks
        ends = [program(*[p + s * step if i == k else p.copy() for i, p in enumerate(points)]) for s in (1, -1)]
        yield (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.slow
def test_random_programs(part, monkeypatch):
    if part % 2:  # as for large arrays, which are not copied
        monkeypatch.setattr(versions, "COPY_BYTES", 0)
    right = 0
    for seed in range(part, COUNT, 4):
        rng = np.random.default_rng(seed)
        program, points = random_program(rng), rng.uniform(-1, 1, (2, 4))
        nodes = [af.Variable(p) for p in points]
        with af.options(keep=4096 if rng.integers(2) else 0):
            try:
                z = program(*nodes)
                z.backward()
            except StaleValueError:
                continue
        right += 1
        np.testing.assert_allclose(float(z), program(*[p.copy() for p in points]), rtol=1e-12)
        for k, node in enumerate(nodes):
            for h in (1e-6, 1e-8):  # the second where the program is steep
                numeric = list(slopes(program, points, k, h))
                close = 1e-6 * max(1.0, np.abs(numeric).max())
                if np.allclose(node.grad, numeric, rtol=1e-5, atol=close):
                    break
            np.testing.assert_allclose(node.grad, numeric, rtol=1e-5, atol=close, err_msg=f"{seed} {program.steps}")
    assert right > (0.14 if part % 2 else 0.2) * COUNT  # most programs are not refused


PARTS = [
    "a *= b", "b *= a", "b += a", "a -= b * b", "b /= 1.5 + a * a", "a /= 2.0 + np.sin(b)", "np.exp(0.1 * a, out=a)",
    "b -= b.max()", "np.tanh(b, out=b)",
]  # fmt: skip


@pytest.mark.parametrize("n", [3, 700])  # 700 numbers are more than is copied
def test_writes_into_two_parts_of_an_array(n):
    """They are refused only if those into two arrays are, and have the same gradient."""
    x = np.linspace(0.2, 1.3, 2 * n)

    def gradient(steps, copies):
        y = af.Variable(x)
        a, b = [part * 1.0 if copies else part for part in np.split(y * 1.0, 2)]
        names = {"np": np, "a": a, "b": b}
        try:
            exec("; ".join(steps), names)
            np.sum(np.sin(names["a"]) + names["b"] ** 2).backward()
        except StaleValueError:
            return None
        return y.grad

    for steps in itertools.product(PARTS, repeat=3):
        if (wanted := gradient(steps, True)) is not None:
            np.testing.assert_allclose(gradient(steps, False), wanted, rtol=1e-12, atol=1e-14, err_msg=str(steps))
