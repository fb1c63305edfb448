"""Small functions of a vector of length 3 around NumPy's odd corners: what one can ask of an array, catch, and write.

Each is text: an expression of x, a statement about y, or the body of a function. Two blanks stand between expressions
and between statements, an empty line between bodies. ``batching/test_corners.py`` calls the functions under af.vmap,
af.compile and both, and compares with a loop and with eager code.
"""

import collections
import contextlib
import copy
import functools
import itertools
import math
import operator
import warnings
from textwrap import indent

import numpy as np
from vmap_calls import parts

import autoflow as af

W, TABLE = np.arange(1.0, 4.0), {"a": np.arange(3.0), "b": np.ones(3)}
SCOPE = {
    "__name__": "corners", "np": np, "af": af, "W": W, "TABLE": TABLE, "collections": collections,
    "contextlib": contextlib, "copy": copy, "functools": functools, "itertools": itertools, "math": math,
    "operator": operator, "warnings": warnings,
}  # fmt: skip
EXPRESSIONS = """
    x * 2 if type(x) is np.ndarray else x * 3  x * 2 if type(x.sum()) is np.float64 else x * 3
    x * 2 if issubclass(type(x), np.ndarray) else x * 3  x * (2 if x.__class__ is np.ndarray else 3)
    x * (2 if np.isscalar(x.sum()) else 3)  x * (2 if np.isscalar(x[0]) else 3)
    x * (2 if hasattr(x, '__array_interface__') else 3)  x * (2 if hasattr(x, 'tape') or hasattr(x, 'inner') else 3)
    x * (2 if np.iterable(x.sum()) else 3)  x * (2 if np.geterr()['divide'] == 'warn' else 3)  x * len({1, 2, len(x)})
    sum((v * v for v in x))  functools.reduce(operator.add, x)  np.stack(list(itertools.accumulate(x)))
    np.stack([a * b for a, b in zip(x, W, strict=True)])  np.stack([a * k for k, a in enumerate(x)])
    np.stack(list(reversed(x)))  np.stack(sorted(x))  max(x)  x * (2 if any(x > 2) else 3)  round(x[0], 1)
    x.astype(np.int32) / 2  x.astype(np.float32) + 1  x.astype(np.float32) * np.float64(2)
    x.astype(np.float32) * np.array(2.0)  x.astype(np.int8) + 100  (x > 1).sum()  (x > 1).mean()
    x.astype(np.float32).mean()  x.astype(np.float16).sum()  x.astype(np.uint8).prod()  np.where(x > 1, 1, 0)
    np.where(x > 1, x.astype(np.float32), 0.0)  np.clip(x, None, 2)  np.clip(x.astype(int), 0, 2)  x[np.argsort(x)]
    x[slice(None, None, -1)]  x[..., None, 0]  x[:, None] * x[None, :]  x[::-1]  np.asfortranarray(np.outer(x, W))
    np.outer(x, W).T  np.outer(x, W).T.ravel('K')  np.outer(x, W).T.copy('K')  np.diag(x * -0.0), np.diag(-0.0 * x, 1)
    np.zeros_like(np.outer(x, W).T)  x * (2 if (x * 1).flags.writeable else 3)
    x * (2 if (x * 1).flags.c_contiguous else 3)  x * (2 if (x * 1).base is None else 3)
    x * (2 if x.ravel() is x else 3)  x * (2 if np.asanyarray(x) is x else 3)  x * (2 if np.atleast_1d(x) is x else 3)
    x * len(str(x.shape))  x * len(f'{x[0]:.3f}')  x * len(repr(x))  x * len(str(x.dtype))  (x, (x.sum(), [x[0]]))
    np.unique_all(x) if False else np.linalg.slogdet(np.eye(3) * x)  [1, 2.0, x[0]]  x  W  TABLE['a'][1:]
    x[x > 1].sum()  np.nonzero(x)[0]  np.unique(np.round(x * 0))  np.array([x[0], x[1]])
    np.array([[x[0], 1.0], [2.0, x[1]]])  np.asarray([x, x])  np.full(3, x[0])  np.arange(3) * x
    np.linspace(x[0], x[1], 4)  np.vectorize(lambda v: v * v)(x)  np.apply_along_axis(lambda v: v * 2, 0, x)
    np.piecewise(x, [x < 2, x >= 2], [lambda v: -v, lambda v: v * 3])  np.select([x < 1, x < 2], [x, x * 2], -1)
    np.choose((x > 1).astype(int), [x, x * 5])  np.fromiter(x, float)  math.sqrt(x[0]) * x  np.array(x.tolist())
    x * x[0].item()  sum([float(v) for v in np.nditer(x)])  x.flat[1] * x  sum([k[0] * v for k, v in np.ndenumerate(x)])
    np.resize(x, (2, 2))  x.view(np.int64)  x.astype('>f8')  x.astype('>f8') + 1  (x * 1j).real + np.abs(x + 1j)
    float(np.abs(x[0] + 1j)) * x  np.copysign(1, x * 0) + np.arctan2(-(x * 0), -1.0)  x[3:]  x[3:].sum()
    np.concatenate([x[3:], x])  x[3:].max(initial=-5)  x * (2 if x is not None and (x == None) is not None else 3)
    x == 'a'  x * [1, 2, 3]  (1, 2, 3) * x  x @ [1, 2, 3]  x.astype(int) << 2  ~x.astype(int)
    np.add.reduceat(x, [0, 2])  np.add.outer(x, x)  (y := (x * 2)) + y  np.stack(list(map(lambda v: v + 1, x)))
    x * np.min_scalar_type(3).itemsize  x.astype(np.result_type(x, np.float32))
    x * (2 if np.can_cast(x.dtype, int) else 3)  x + np.finfo(x.dtype).eps  x * (2 if np.iscomplexobj(x) else 3)
    x * (2 if np.bool_(True) else 3)  x * (2 if np.array_equal(x, x) else 3)  x * (2 if np.allclose(x, x) else 3)
    x * (2 if np.all(np.array(x.shape) == 3) else 3)  np.squeeze(x[:1])  np.r_[x, 1, 2]  np.c_[x, W]
    np.histogram(x, bins=[0, 1, 2, 9])[0]  np.bincount(x.astype(int), minlength=9)
    np.unravel_index(np.argmax(x), (3,))[0]  np.ravel_multi_index((x.astype(int) % 2, x.astype(int) % 2), (2, 2))
    np.packbits(x > 1)  np.ldexp(x, 2)  np.nextafter(x, 9)  np.gcd(x.astype(int), 6)  np.delete(x, 1)
    np.insert(x, 1, 5)  np.append(x, 5)  np.stack([x[0], x[1]])  np.hstack([x[0], x[1]])  np.atleast_1d(x[0])
    np.expand_dims(x[0], 0)  x[0].sum() + x[0].max() + x[0].mean()
    x[0].reshape(1) + x[0].ravel() + x[0].T + x[0].copy() + x[0].flatten()  x[0].clip(0, 1)  x[0].round(1)
    x[0].astype(int)  x[0].conj()  x[0].real + x[0].imag  x * (2 if x[0].is_integer() else 3)
    x * x[0].as_integer_ratio()[1]  np.bitwise_count(x.astype(int)) if hasattr(np, 'bitwise_count') else x
    x.__array__() * 2  x * (2 if 'shape' in dir(x) else 3)  x * (2 if 1.0 in x else 3)  x * (2 if (x == x).all() else 3)
    x.sum() if x.ndim else x  x * (2 if isinstance(x.sum(), np.floating) else 3)
    x * (2 if isinstance(x.sum(), float) else 3)  x * (2 if isinstance(np.array(1.0) * x[0], np.generic) else 3)
    (s := x.sum())[()] + s[...] + s[None]  np.add(*divmod(x, 2))  x.astype(int) // 2 + x.astype(int) % 2
    (x > 1) + (x > 1)  W[x.astype(int) % 3]  W[(x[0] * 0).astype(int)]  [1.0, 2.0, 3.0][len(x) - 1] * x
    np.outer(x, W).T + np.outer(x, W).T  x * (2 if np.shares_memory(y := x * 1, y[1:]) else 3)
    x * (2 if (y := x) is x else 3)  x * [n for n, in [x.shape]][0]  (y := x * 2, y)  (y := x * 2, y[:2])
    ((y := x * np.nan) == y) | (y != y)  np.multiply(*np.meshgrid(x, W))  np.add(*np.broadcast_arrays(x[:, None], W))
    x * np.broadcast(x[:, None], W).size  np.outer(x, W)[np.ix_([0, 2], [1, 2])]  np.multiply(*np.frexp(x))
    np.subtract(*np.modf(x))  x * (1 if np.array([1, 2, None], dtype=object)[2] is None else 2)
"""
# By what is caught: the statement is tried, and y returned.
CAUGHT = {
    "TypeError": """
        y = x * len(x.sum())  y = x * len({x[0], x[1]})  y = x * len({x})  y = -(x > 1)  y = (x > 1) - (x > 1)
        y = x ^ 1  y = x * len(vars(x))  hash(x)  list(x[0])  y = x * int(x)  y = x * len(range(x[0]))  y = x @ 'a'
        x.sum()[...] = 3  np.multiply(x, 2.5, out=np.zeros_like(x, dtype=int))
        y = np.zeros_like(x, dtype=int).__iadd__(x)
    """,
    "IndexError": "y = x[5]  x.sum()[0]",
    "ValueError": """
        y = x + np.ones(7)  y = x[3:].max()  y = x @ x[0]  y = np.concatenate([x[0], x[1]])  bool(x[:2])
        y = x.astype(int) ** (-1)  x[0] = 1  x += 1  np.diagonal(np.outer(x, x))[0] = 1
        np.broadcast_to(x * 1.0, (2, 3))[0] = 1  y = x @ 'a'
    """,
    "AttributeError": "y = x.foo  (x * 1).name = 'a'",
    "OverflowError": "y = x.astype(np.int8) + 300",
    "np.exceptions.AxisError": "y = x.sum(axis=3)",
    "np.linalg.LinAlgError": "y = np.linalg.cholesky(np.diag(x))",
    "": "y = float(x[0]) * x",
}
# By what y is before the statement; y is returned.
WRITTEN = {
    "x * 1.0": """
        y.ravel()[0] = 9.0  np.asanyarray(y)[0] = 9.0  np.atleast_2d(y)[0, 0] = 9.0  y.real[0] = 4.0
        y.astype(float, copy=False)[0] = 3  y.astype(float)[0] = 3  np.array(y, copy=True)[0] = 3
        y[0], y[1] = (y[1], y[0])  y.conj()[0] = 44  np.conj(y)[0] = 44  y.T[0] = 44  y[[0, 1]] += 5
        y[[0, 1]][...] += 100  y.sort()  np.put(y, [0, 2], [5, 6])  np.putmask(y, y > 1, 9)  np.place(y, y > 1, [9, 8])
        np.copyto(y, 3, where=y > 1)  np.add.at(y, [0, 0], 1)  y.dtype = np.int64  y.fill(2.0)
    """,
    "x * 1j": "y.imag[:] = 4.0",
    "(x * 1.0)[None]": "np.squeeze(y)[0] = 3",
    "np.outer(x, x)": """
        y.T.reshape(-1)[0] = 99.0  y.flatten()[0] = 99.0  np.rot90(y)[0, 0] = 55  np.einsum('ii->i', y)[:] = 0
        np.triu(y)[...] = 0  np.fill_diagonal(y, 1)
    """,
    "np.outer(x, W)": "y[0], y[1] = (y[1], y[0])",
    "np.zeros(3)": "y[0] = x[0]  y += x  np.add(x, 1, out=y)",
    "np.zeros_like(x)": "np.divide(1.0, x, out=y, where=x > 0)",
    "np.zeros_like(x, dtype=int)": "y[:] = x",
    "np.zeros(3, dtype=[('a', float), ('b', int)])": "y['a'] = x",
}
BODIES = """
y = np.outer(x, x)
d = np.diagonal(y)
y[0, 0] = 50.0
return d * 1

y = np.concatenate([x, x])
a, b = np.split(y, 2)
a += 10
return y

y = x * 1.0
y[0] = np.nan
v = np.nan_to_num(y, copy=False)
return y + v

s = np.zeros(())
s = s + x.sum()
t = s
s += 1
return np.array([t, s]) if False else np.stack([t, s])

s = np.zeros_like(x[0])
t = s
s += x[1]
return t + s

s = np.sum(x, keepdims=True).reshape(())
t = s
s += 1
return t + s

s = np.empty_like(x, shape=())
np.sum(x, out=s)
return s * 2

y = np.empty_like(x)
np.multiply(x, 2, out=y)
z = np.add(y, x, out=y)
z[0] = -1
return y

with np.errstate(divide='raise'):
    try:
        return 1 / x
    except FloatingPointError:
        return x * 0

with np.errstate(all='ignore'):
    return np.log(x - 1)

seen = []
with np.errstate(divide='call', call=lambda *a: seen.append(1)):
    y = 1 / (x - 1)
return y * (1 + len(seen))

with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter('always')
    y = 1 / (x - 1)
return np.where(np.isfinite(y), y, 0) + len(w)

d = {'s': x.sum(), 'm': x.mean()}
d['t'] = d.pop('s') * 2
return d

def g():
    for v in x:
        yield (v * 2)
return np.stack(list(g()))

it = iter(x)
a = next(it)
return a + sum(it)

n = 0
def inc(v):
    nonlocal n
    n += 1
    return v * n
return inc(x) + inc(x)

if x[0] > 1:
    return x * 2
return x * 3

s = x.sum()
while s > 1:
    s = s / 2
return s

y = np.zeros(3, dtype=[('a', float), ('b', int)])
y['a'] = 3.0
return x * y['a']

with contextlib.suppress(ZeroDivisionError, np.linalg.LinAlgError):
    return np.linalg.inv(np.outer(x, x) * 0)
return x

d = collections.deque([x, x * 2], maxlen=2)
d.append(x * 3)
return d[0] + d[1]

d = collections.defaultdict(lambda: 0)
d['a'] = d['a'] + x
return d['a']

y = np.outer(x, x)
try:
    y.shape = (9,)
except AttributeError:
    return x
return y

y = x * 1
y.flags.writeable = False
try:
    y[0] = 2
except ValueError:
    return x * 7
return y

y = x * 1
y.setflags(write=False)
try:
    y[0] = 2
except ValueError:
    return x * 7
return y

try:
    try:
        return x + np.ones(5)
    finally:
        z = x * 2
except Exception:
    return z

try:
    return x * bool(x[0] > 1)
except BaseException:
    return x * 0

raise KeyError('no')

match x.shape:
    case [3]:
        return x * 2
    case _:
        return x

a, *b = x
return a + sum(b)

y = -x
y.partition(1)
return y[1]

y = np.outer(x, x)
for row in y:
    row[0] = 7
return y

y = copy.copy(x * 1)
y[0] = 0
return y

y = copy.deepcopy([x * 1])
y[0][0] = 0
return y
"""
PAIRS = """
    x + y  np.outer(x, y)  (y.__setitem__(0, x[0]), y)[1]  np.concatenate([x.ravel(), y.ravel()])
    np.where(x.sum() > y.sum(), x.sum(), y.sum())  y[x.ravel().astype(int) % len(y)]
    np.take(y, x.ravel().astype(int) % 2, axis=0)  x @ y  np.dot(x, y)  np.tensordot(x, y, 1)  np.tensordot(x, y, 0)
    np.einsum('...i,...i->...', x, y)  np.cross(x, y)  np.kron(x, y)  np.interp(x, [0, 1, 2], y.ravel()[:3])
    np.searchsorted(y.ravel(), x)  np.isclose(x, y)  np.maximum(x, y)  divmod(x, y)  np.add(x, y, out=np.empty_like(x))
    np.add(x, y, out=np.empty_like(y))  np.broadcast_arrays(x, y)  np.stack([x, y])  np.concatenate([x, y])
    np.choose(x.astype(int) % 2, [x, y])  np.select([x > 1], [y], 0)
    np.linalg.lstsq(np.outer(x, x).reshape(x.size, x.size) + np.eye(x.size), np.ones(x.size), rcond=None)[0]
    np.linalg.solve(np.eye(x.shape[-1]) * 2, x)  np.clip(x, y, None)  np.clip(x, 0, y)  x.clip(y, 5)  x ** y  2 ** y + x
    np.hypot(x, y)  np.arctan2(x, y)  (x > 1) & (y > 1)  x.shape == y.shape  x is y  y  y[:1]  (x, y, {'a': x})
    x.sum() * y.sum()  bool(y.sum() > 0) and x  x * float(y.sum())  x * len(f'{y.sum():.2f}')
    x * (2 if type(y) is np.ndarray else 3)  x * (2 if y.flags.writeable else 3)  np.lexsort((x.ravel(),))
    np.polyval(y.ravel()[:2], x)  np.vdot(x, y) if x.size == y.size else x  np.convolve(x.ravel(), y.ravel()[:2])
    np.correlate(x.ravel(), y.ravel()[:2], 'full')  np.cov(x.ravel(), y.ravel()) if x.size == y.size else x
    np.digitize(x, [0, 1, 2])  np.average(x, weights=np.ones(x.shape))  np.quantile(x, [0.2, 0.5])
    np.quantile(W, np.clip(x.ravel() / 9, 0, 1))  np.insert(x, 1, y.ravel()[0])  x.reshape(1, -1)[:, ::-1]
    np.roll(x, 1) + 0  np.mean(x, where=x > -9)  np.sum(x, where=y > 1)  np.sum(x, initial=3.0)
    np.max(x, initial=y.ravel()[0])  x.cumsum()  x.argmax()  np.argmax(x, axis=0, keepdims=True)  np.sort(x, axis=None)
    np.unique(x * 0)  np.pad(x, 1, constant_values=2)  np.pad(x, 1, mode='reflect')  x.reshape(-1, order='F')
    x.ravel('F')  np.swapaxes(x, 0, -1)  np.linspace(x, y, 3)  np.linspace(x, 1, 3, axis=-1)
    np.geomspace(x + 1, y + 1, 3)  np.full_like(x, y.ravel()[0])  af.grad(lambda x: np.sum(x * np.sum(y) * x))(x)
    af.vmap(lambda r: r * 2)(x) if x.ndim else x  af.vmap(lambda r: r * y.sum())(x) if x.ndim else x
    af.vmap(lambda r: r if r.sum() > 2 else -r, loop='allow')(x) if x.ndim else x
"""
# Of z, a copy of x: it is returned.
WRITTEN_PAIRS = """
    z[...] = y  z += y  z += y.T  np.putmask(z, z > 1, y)  np.place(z, z > 1, y)  np.put(z, [0], y)
    np.copyto(z, y, where=z > 0)  np.add.at(z, 0, y)  z.fill(y.ravel()[0])  z[z > 1] = 0  z[z > 1] = y.ravel()[:2]
    z[z.ravel()[:2] > 1] = 0.0  z[0] = y  z[...] = y[None]  z[:1] = y.ravel()[:2]  z[[0, 0]] = y
"""
BODIES_OF_PAIRS = """
z = np.outer(x, W)
z[1:, [0, 2]] = y.ravel()[0]
return z[[1, 0], :, None][..., [2]]

z = np.multiply.outer(np.outer(x, W), W)
z[1:, [0, 2], x.ravel()[:1].astype(int) % 3] = y.ravel()[0]
return z
"""


def corner(text, arguments="x"):
    scope = dict(SCOPE)
    exec(compile(f"def corner({arguments}):\n" + indent(text, "    "), f"<{text[:60]}>", "exec"), scope)
    return scope["corner"]


def bodies():
    yield from [f"return {part}" for part in parts(EXPRESSIONS)]
    for error, text in CAUGHT.items():
        yield from [f"y = x\ntry:\n    {part}\nexcept {error}:\n    return x * 5\nreturn y" for part in parts(text)]
    for start, text in WRITTEN.items():
        yield from [f"y = {start}\n{part}\nreturn y" for part in parts(text)]
    yield from BODIES.strip().split("\n\n")


def bodies_of_pairs():
    yield from [f"return {part}" for part in parts(PAIRS)]
    yield from [f"z = x * 1.0\n{part}\nreturn z" for part in parts(WRITTEN_PAIRS)]
    yield from BODIES_OF_PAIRS.strip().split("\n\n")


CORNERS = {body.removeprefix("return "): corner(body) for body in bodies()}
CORNERS_OF_TWO = {body.removeprefix("return "): corner(body, "x, y") for body in bodies_of_pairs()}
