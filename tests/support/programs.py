"""Random programs for the tests of ``af.compile``: NumPy code that nobody would write, and anybody might."""

import numpy as np

from autoflow.compiler import passes
from autoflow.compiler.run import tiles

UNARY = (
    np.tanh, lambda x: np.exp(-(x * x)), lambda x: np.log(1.0 + np.exp(np.tanh(x))), np.sin, np.abs, lambda x: -x,
    lambda x: x**2, lambda x: np.sqrt(1.0 + x * x), lambda x: np.maximum(x, 0.0), lambda x: np.clip(x, -0.5, 0.5),
    lambda x: np.where(x > 0.1, x, 0.2 * x), lambda x: np.cumsum(np.tanh(x), axis=-1), lambda x: x[..., ::-1],
    lambda x: 1.0 / (2.0 + np.cos(x)), lambda x: x * 1.0, lambda x: x - 0.0, lambda x: np.sort(x, axis=-1),
    lambda x: np.roll(x, 1, -1), lambda x: x * (x > 0), lambda x: +x, lambda x: x**3 - x / 2,
)  # fmt: skip
BINARY = (
    lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y, lambda x, y: x / (1.0 + y * y),
    lambda x, y: -x * y, lambda x, y: x + -y, np.maximum, np.minimum, np.arctan2, lambda x, y: np.where(x < y, x, y),
    lambda x, y: (x + y) - (x - y), lambda x, y: np.hypot(x, y) * 0.5,
)  # fmt: skip


def random_program(seed, rows=0):
    """A scalar function of six arrays, and the arrays: (function, arguments). ``rows``: how many, if not random."""
    rng = np.random.default_rng(seed)
    n, k, m = (int(i) for i in rng.integers(1, 6, 3))
    n = rows or n
    shapes = [(n, k), (n, k), (k,), (n, 1), (k, m), ()]
    arrays = [rng.standard_normal(s) * 0.7 + 0.05 for s in shapes]
    steps = int(rng.integers(3, 20))
    outside = rng.standard_normal((n, k))

    def f(a, b, row, column, matrix, number):
        draw = np.random.default_rng(seed + 1)
        full, vectors, columns, others = [a, b], [row], [column], [number]

        def one(values):
            return values[int(draw.integers(len(values)))]

        for _ in range(steps):
            x, choice = one(full), int(draw.integers(16))
            if choice < 4:
                full.append(one(UNARY)(x))
            elif choice < 8:
                full.append(one(BINARY)(x, one(full + vectors + columns + others)))
            elif choice == 8:
                full.append(np.tanh(np.matmul(np.matmul(x, matrix), matrix.T)))
            elif choice == 9:
                vectors.append(one((np.sum, np.mean, np.max))(x, axis=0))
            elif choice == 10:
                columns.append(one((np.sum, np.mean, np.min))(x, axis=1, keepdims=True))
            elif choice == 11:
                others.append(one((np.mean, np.max, np.var))(x))
            elif choice == 12:
                full.append(x - outside * 2.0)
            elif choice == 13:
                full.append(np.concatenate([x[1:], x[:1]]).reshape(-1).reshape(n, k))
            elif choice == 14:
                full.append(x + (x.T @ one(full)).sum() * 0.1)
            else:
                full.append(np.stack([x, one(full)]).sum(axis=0) * one(others))
        total = np.tanh(full[-1]) + np.tanh(one(full)) * one(vectors) + np.tanh(one(columns))
        return (total * one(others)).sum()

    return f, arrays


def random_scalars(seed):
    """The same with numbers only."""
    rng = np.random.default_rng(seed)
    arrays = [np.array(x) for x in rng.uniform(0.5, 1.5, int(rng.integers(1, 6)))]
    steps = int(rng.integers(3, 60))

    def f(*v):
        draw = np.random.default_rng(seed + 1)
        values = list(v)
        for _ in range(steps):
            x, y = (values[int(draw.integers(len(values)))] for _ in range(2))
            choice = int(draw.integers(9))
            values.append(
                x + y if choice == 0 else x * y if choice == 1 else x - y if choice == 2 else x / (1.0 + y * y)
                if choice == 3 else np.tanh(x) if choice == 4 else np.exp(-x * x) if choice == 5
                else np.maximum(x, y) if choice == 6 else np.log(1.0 + np.abs(x)) if choice == 7 else x**2 * 0.5
            )  # fmt: skip
        return np.tanh(values[-1]) + np.tanh(values[-2])

    return f, arrays


def random_recurrent(seed):
    """A recurrent network, whose weights are used at every step, and in other places."""
    rng = np.random.default_rng(seed)
    steps, batch, size = (int(i) for i in rng.integers([2, 1, 1], [12, 5, 6]))
    inputs = rng.standard_normal((steps, batch, size))
    arrays = [rng.standard_normal(shape) * 0.5 for shape in ((size, size), (size, size), (size,))]
    if seed % 2:
        arrays.append(inputs)
    kind = int(rng.integers(6))

    def f(wx, wh, b, x=inputs):
        state, total, states = x[0] * 0, 0.0, []
        for t in range(steps):
            u = x[t if kind != 1 else steps - 1 - t] @ wx + b
            if kind == 2:
                gate = 1.0 / (1.0 + np.exp(-(state @ wh)))
                state = gate * state + (1.0 - gate) * np.tanh(u)
            elif kind == 3:
                state = np.maximum(u + state @ wh, 0.0) * 0.5
            else:
                state = np.tanh(u + state @ wh)
            states.append(state)
            if kind == 4:
                total = total + (state @ wx * x[t]).sum()
        if kind == 5:
            total = total + (np.stack(states) ** 2).mean()
        return (state**2).sum() + total

    return f, arrays


class State:
    """What a program finds outside: arrays of any layout and dtype, a number, a list, a function."""

    def __init__(self, rng):
        self.a, self.b = any_array(rng, int(rng.integers(1, 900))), any_array(rng, 4)
        self.rate, self.values, self.act = 1.5, [1.0, -2.0], np.tanh
        self.alias = self.b if rng.random() < 0.5 else self.b.copy()

    def change(self, rng):
        """Something small becomes another, or nothing does."""
        kind = int(rng.integers(9))
        for array in [self.a] * (kind in (0, 1)) + [self.b] * (kind == 2) + [self.alias] * (kind == 3):
            array[tuple([int(rng.integers(n)) for n in array.shape])] = int(rng.integers(-5, 6))
        if kind == 4:
            self.rate = float(rng.integers(3))
        elif kind == 5:
            self.values[int(rng.integers(len(self.values)))] += 1.0
        elif kind == 6:
            self.values.append(0.5)
        elif kind == 7:
            self.act = np.sin if self.act is np.tanh else np.tanh
        elif kind == 8:
            self.b = self.b + 1


def any_array(rng, n):
    """n numbers or some more, in any layout and of any dtype."""
    numbers = rng.integers(-4, 5, (n, 3)) + rng.random((n, 3)).round(2)
    numbers = numbers.astype([np.float64, np.float32, np.int64, np.float64, np.complex128][int(rng.integers(5))]).real
    kind = int(rng.integers(5))
    if kind == 0:
        return np.asfortranarray(numbers)
    if kind == 1:
        return np.repeat(numbers, 2, axis=0)[::2]
    return numbers[::-1] if kind == 2 else numbers[:, 0].copy() if kind == 3 else numbers


STEPS = (
    lambda s, z, x, y: z[z > 1].mean() * z, lambda s, z, x, y: z * len(np.nonzero(z > 1)[0]),
    lambda s, z, x, y: z + np.concatenate([z[z > 1], z]).mean(), lambda s, z, x, y: z * np.unique(np.round(x)).size,
    lambda s, z, x, y: np.repeat(z, 2).reshape(-1, 2).sum(axis=1),
    lambda s, z, x, y: z / (1 + np.compress(z > 1, x).size), lambda s, z, x, y: z * s.rate,
    lambda s, z, x, y: z * np.sum(s.a), lambda s, z, x, y: z + float(s.a.ravel()[-1]),
    lambda s, z, x, y: z * (2.0 if s.a.sum() > 0 else 3.0), lambda s, z, x, y: z + np.sum(s.b * 2.0),
    lambda s, z, x, y: z * s.alias.ravel()[0], lambda s, z, x, y: z * s.b[s.b > 0].size,
    lambda s, z, x, y: z + sum(s.values), lambda s, z, x, y: s.act(z),
    lambda s, z, x, y: z * np.sort(s.a, axis=None)[-1], lambda s, z, x, y: np.multiply.outer(z, x).ravel()[: z.size],
    lambda s, z, x, y: z * y - x, lambda s, z, x, y: np.where(z > 1, z, 0.5 * z),
    lambda s, z, x, y: np.cumsum(z) * x.dtype.itemsize, lambda s, z, x, y: z.astype(np.float32) + x,
    lambda s, z, x, y: z + x[y > 1].sum(), lambda s, z, x, y: np.outer(z, y).T.ravel("K")[: z.size] * 1.0,
    lambda s, z, x, y: z * (2.0 if np.may_share_memory(x, y) else 3.0),
    lambda s, z, x, y: z * (2.0 if x.flags.c_contiguous else 3.0),
)  # fmt: skip


def random_hostile(seed):
    """A function of two vectors that asks for shapes, layouts and state outside: (function, arguments, state, rng,
    steps).

    arguments : a function that draws new ones, of one signature; at times both are one array.
    steps : a function of such arguments: what the function computes on its way, a list of arrays.
    """
    rng = np.random.default_rng(seed)
    state, n = State(rng), int(rng.integers(2, 7))
    dtypes = [[np.float64, np.float64, np.float32][int(rng.integers(3))] for _ in range(2)]
    steps = [int(k) for k in rng.integers(len(STEPS), size=int(rng.integers(2, 7)))]
    spread = float(rng.choice([0.1, 2.0]))
    center = np.arange(1, n + 1) * 0.5

    def arguments():
        x, y = [(center + spread * rng.standard_normal(n)).round(1).astype(d) for d in dtypes]
        layout = int(rng.integers(4))
        x = np.repeat(x, 2)[::2] if layout == 0 else x[::-1].copy()[::-1] if layout == 1 else x
        return (x, x) if layout == 2 and x.dtype == y.dtype else (x, y)

    def f(x, y):
        z = x * 1.0
        for k in steps:
            z = STEPS[k](state, z, x, y)
        return np.sum(z)

    def values(x, y):
        found = [x * 1.0]
        for k in steps:
            found.append(STEPS[k](state, found[-1], x, y))
        return found

    return f, arguments, state, rng, values


def make_blocks_small(monkeypatch):
    """Everything block by block, in two threads, as if arrays were large."""
    for name, value in (("LARGE", 1), ("FEW_CALLS", 1), ("WORK", 1), ("PASSES", 0), ("THREADED", 1e9), ("FLOPS", 1e9)):
        monkeypatch.setattr(passes, name, value)
    monkeypatch.setattr(tiles, "BLOCK", 8)
    monkeypatch.setattr(tiles, "count_threads", lambda: 2)


def plan_of(compiled):
    """The plan of its only program."""
    (entry,) = compiled.entries.values()
    return entry.free[-1]
