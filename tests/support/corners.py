"""Small functions of a vector of length 3 around NumPy's odd corners: what one can ask of an array, catch, and write.

Each is text, the body of a function of x; an expression is returned. ``batching/test_corners.py`` calls them under
af.vmap, af.compile and both, and compares with a loop and with eager code.
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

import autoflow as af

W, TABLE = np.arange(1.0, 4.0), {"a": np.arange(3.0), "b": np.ones(3)}
SCOPE = {
    "__name__": "corners", "np": np, "af": af, "W": W, "TABLE": TABLE, "collections": collections,
    "contextlib": contextlib, "copy": copy, "functools": functools, "itertools": itertools, "math": math,
    "operator": operator, "warnings": warnings,
}  # fmt: skip
EXPRESSIONS = """
x * 2 if type(x) is np.ndarray else x * 3
x * 2 if type(x.sum()) is np.float64 else x * 3
x * 2 if issubclass(type(x), np.ndarray) else x * 3
x * (2 if x.__class__ is np.ndarray else 3)
x * (2 if np.isscalar(x.sum()) else 3)
x * (2 if np.isscalar(x[0]) else 3)
x * (2 if hasattr(x, '__array_interface__') else 3)
x * (2 if hasattr(x, 'tape') or hasattr(x, 'inner') else 3)
x * (2 if np.iterable(x.sum()) else 3)
x * (2 if np.geterr()['divide'] == 'warn' else 3)
x * len({1, 2, len(x)})
sum((v * v for v in x))
functools.reduce(operator.add, x)
np.stack(list(itertools.accumulate(x)))
np.stack([a * b for a, b in zip(x, W, strict=True)])
np.stack([a * k for k, a in enumerate(x)])
np.stack(list(reversed(x)))
np.stack(sorted(x))
max(x)
x * (2 if any(x > 2) else 3)
round(x[0], 1)
x.astype(np.int32) / 2
x.astype(np.float32) + 1
x.astype(np.float32) * np.float64(2)
x.astype(np.float32) * np.array(2.0)
x.astype(np.int8) + 100
(x > 1).sum()
(x > 1).mean()
x.astype(np.float32).mean()
x.astype(np.float16).sum()
x.astype(np.uint8).prod()
np.where(x > 1, 1, 0)
np.where(x > 1, x.astype(np.float32), 0.0)
np.clip(x, None, 2)
np.clip(x.astype(int), 0, 2)
x[np.argsort(x)]
x[slice(None, None, -1)]
x[..., None, 0]
x[:, None] * x[None, :]
x[::-1]
np.asfortranarray(np.outer(x, W))
np.outer(x, W).T
np.outer(x, W).T.ravel('K')
np.outer(x, W).T.copy('K')
np.diag(x * -0.0), np.diag(-0.0 * x, 1)
np.zeros_like(np.outer(x, W).T)
x * (2 if (x * 1).flags.writeable else 3)
x * (2 if (x * 1).flags.c_contiguous else 3)
x * (2 if (x * 1).base is None else 3)
x * (2 if x.ravel() is x else 3)
x * (2 if np.asanyarray(x) is x else 3)
x * (2 if np.atleast_1d(x) is x else 3)
x * len(str(x.shape))
x * len(f'{x[0]:.3f}')
x * len(repr(x))
x * len(str(x.dtype))
(x, (x.sum(), [x[0]]))
np.unique_all(x) if False else np.linalg.slogdet(np.eye(3) * x)
[1, 2.0, x[0]]
x
W
TABLE['a'][1:]
x[x > 1].sum()
np.nonzero(x)[0]
np.unique(np.round(x * 0))
np.array([x[0], x[1]])
np.array([[x[0], 1.0], [2.0, x[1]]])
np.asarray([x, x])
np.full(3, x[0])
np.arange(3) * x
np.linspace(x[0], x[1], 4)
np.vectorize(lambda v: v * v)(x)
np.apply_along_axis(lambda v: v * 2, 0, x)
np.piecewise(x, [x < 2, x >= 2], [lambda v: -v, lambda v: v * 3])
np.select([x < 1, x < 2], [x, x * 2], -1)
np.choose((x > 1).astype(int), [x, x * 5])
np.fromiter(x, float)
math.sqrt(x[0]) * x
np.array(x.tolist())
x * x[0].item()
sum([float(v) for v in np.nditer(x)])
x.flat[1] * x
sum([k[0] * v for k, v in np.ndenumerate(x)])
np.resize(x, (2, 2))
x.view(np.int64)
x.astype('>f8')
x.astype('>f8') + 1
(x * 1j).real + np.abs(x + 1j)
float(np.abs(x[0] + 1j)) * x
np.copysign(1, x * 0) + np.arctan2(-(x * 0), -1.0)
x[3:]
x[3:].sum()
np.concatenate([x[3:], x])
x[3:].max(initial=-5)
x * (2 if x is not None and (x == None) is not None else 3)
x == 'a'
x * [1, 2, 3]
(1, 2, 3) * x
x @ [1, 2, 3]
x.astype(int) << 2
~x.astype(int)
np.add.reduceat(x, [0, 2])
np.add.outer(x, x)
(y := (x * 2)) + y
np.stack(list(map(lambda v: v + 1, x)))
x * np.min_scalar_type(3).itemsize
x.astype(np.result_type(x, np.float32))
x * (2 if np.can_cast(x.dtype, int) else 3)
x + np.finfo(x.dtype).eps
x * (2 if np.iscomplexobj(x) else 3)
x * (2 if np.bool_(True) else 3)
x * (2 if np.array_equal(x, x) else 3)
x * (2 if np.allclose(x, x) else 3)
x * (2 if np.all(np.array(x.shape) == 3) else 3)
np.squeeze(x[:1])
np.r_[x, 1, 2]
np.c_[x, W]
np.histogram(x, bins=[0, 1, 2, 9])[0]
np.bincount(x.astype(int), minlength=9)
np.unravel_index(np.argmax(x), (3,))[0]
np.ravel_multi_index((x.astype(int) % 2, x.astype(int) % 2), (2, 2))
np.packbits(x > 1)
np.ldexp(x, 2)
np.nextafter(x, 9)
np.gcd(x.astype(int), 6)
np.delete(x, 1)
np.insert(x, 1, 5)
np.append(x, 5)
np.stack([x[0], x[1]])
np.hstack([x[0], x[1]])
np.atleast_1d(x[0])
np.expand_dims(x[0], 0)
x[0].sum() + x[0].max() + x[0].mean()
x[0].reshape(1) + x[0].ravel() + x[0].T + x[0].copy() + x[0].flatten()
x[0].clip(0, 1)
x[0].round(1)
x[0].astype(int)
x[0].conj()
x[0].real + x[0].imag
x * (2 if x[0].is_integer() else 3)
x * x[0].as_integer_ratio()[1]
np.bitwise_count(x.astype(int)) if hasattr(np, 'bitwise_count') else x
x.__array__() * 2
x * (2 if 'shape' in dir(x) else 3)
x * (2 if 1.0 in x else 3)
x * (2 if (x == x).all() else 3)
x.sum() if x.ndim else x
"""
BODIES = """
s = x.sum()
return s * 2 if isinstance(s, np.floating) else s * 3

s = x.sum()
return s * 2 if isinstance(s, float) else s * 3

s = np.array(1.0) * x[0]
return s * 2 if isinstance(s, np.generic) else s * 3

try:
    n = len(x.sum())
except TypeError:
    n = 7
return x * n

try:
    return x[5]
except IndexError:
    return x[0] * 2

try:
    return x + np.ones(7)
except ValueError:
    return x + 1

try:
    return x.foo
except AttributeError:
    return x * 5

try:
    return x @ 'a'
except TypeError:
    return x * 5
except ValueError:
    return x * 6

try:
    return x.sum(axis=3)
except np.exceptions.AxisError:
    return x * 5

s = x.sum()
try:
    s[0]
except IndexError:
    return x * 5
return x

s = x.sum()
try:
    s[...] = 3
except TypeError:
    return x * 5
return x

s = x.sum()
return s[()] + s[...] + s[None]

y = x * 1.0
v = y.ravel()
v[0] = 9.0
return y

y = np.outer(x, x)
v = y.T.reshape(-1)
v[0] = 99.0
return y

y = np.outer(x, x)
v = y.flatten()
v[0] = 99.0
return y

y = x * 1.0
v = np.asanyarray(y)
v[0] = 9.0
return y

y = x * 1.0
v = np.atleast_2d(y)
v[0, 0] = 9.0
return y

y = x * 1.0
y.real[0] = 4.0
return y

y = x * 1j
y.imag[:] = 4.0
return y

y = np.outer(x, x)
d = np.diagonal(y)
y[0, 0] = 50.0
return d * 1

y = np.outer(x, x)
d = np.diagonal(y)
try:
    d[0] = 1
except ValueError:
    return y + 1
return y

d = np.broadcast_to(x * 1.0, (2, 3))
try:
    d[0] = 1
except ValueError:
    return x + 1
return x

y = np.concatenate([x, x])
a, b = np.split(y, 2)
a += 10
return y

y = x * 1.0
y[[0, 1]] += 5
v = y[[0, 1]]
v += 100
return y

y = (x * 1.0)[None]
np.squeeze(y)[0] = 3
return y

y = x * 1.0
v = y.astype(float, copy=False)
v[0] = 3
return y

y = x * 1.0
v = y.astype(float)
v[0] = 3
return y

y = x * 1.0
v = np.array(y, copy=True)
v[0] = 3
return y

y = np.outer(x, x)
for row in y:
    row[0] = 7
return y

y = x * 1.0
y[0], y[1] = (y[1], y[0])
return y

y = np.outer(x, W)
y[0], y[1] = (y[1], y[0])
return y

y = x * 1.0
v = y.conj()
v[0] = 44
return y

y = x * 1.0
v = np.conj(y)
v[0] = 44
return y

y = x * 1.0
y.T[0] = 44
return y

y = np.outer(x, x)
np.rot90(y)[0, 0] = 55
return y

y = x * 1.0
y[0] = np.nan
v = np.nan_to_num(y, copy=False)
return y + v

y = np.outer(x, x)
np.einsum('ii->i', y)[:] = 0
return y

y = np.outer(x, x)
v = np.triu(y)
v[...] = 0
return y

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

y = np.zeros_like(x)
np.divide(1.0, x, out=y, where=x > 0)
return y

y = np.zeros_like(x, dtype=int)
try:
    np.multiply(x, 2.5, out=y)
except TypeError:
    return x * 4
return y

y = np.zeros_like(x, dtype=int)
try:
    y += x
except TypeError:
    return x * 4
return y

y = np.zeros_like(x, dtype=int)
y[:] = x
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

try:
    return x * len({x[0], x[1]})
except TypeError:
    return x

try:
    return x * len({x})
except TypeError:
    return x * 9

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

a, b = divmod(x, 2)
return a + 10 * b

y = x.astype(int)
try:
    return y ** (-1)
except ValueError:
    return y * 3

y = x.astype(int)
return y // 2 + y % 2

try:
    return x.astype(np.int8) + 300
except OverflowError:
    return x * 3

b = x > 1
return b + b

b = x > 1
try:
    return b - b
except TypeError:
    return b ^ b

try:
    return -(x > 1)
except TypeError:
    return ~(x > 1)

i = x.astype(int) % 3
return W[i]

i = (x[0] * 0).astype(int)
return W[i]

i = len(x) - 1
return [1.0, 2.0, 3.0][i] * x

a = np.outer(x, W).T
return a + a

try:
    x[0] = 1
except ValueError:
    return x * 3
return x

try:
    x += 1
except ValueError:
    return x * 3
return x * 1

y = x * 1
return x * (2 if np.shares_memory(y, y[1:]) else 3)

y = np.asarray(x) if False else x
return x * (2 if y is x else 3)

n, = x.shape
return x * n

y = x * 2
return (y, y)

y = x * 2
return (y, y[:2])

y = np.empty(3)
y.fill(2.0)
return x * y

y = np.zeros(3)
y[0] = x[0]
return y

y = np.zeros(3)
y += x
return y

y = np.zeros(3)
np.add(x, 1, out=y)
return y

if x[0] > 1:
    return x * 2
return x * 3

s = x.sum()
while s > 1:
    s = s / 2
return s

y = copy.copy(x * 1)
y[0] = 0
return y

y = copy.deepcopy([x * 1])
y[0][0] = 0
return y

y = np.zeros(3, dtype=[('a', float), ('b', int)])
y['a'] = 3.0
return x * y['a']

y = np.zeros(3, dtype=[('a', float), ('b', int)])
y['a'] = x
return y['a']

y = np.array([1, 2, None], dtype=object)
return x * (1 if y[2] is None else 2)

y = x * np.nan
return (y == y) | (y != y)

try:
    return x[3:].max()
except ValueError:
    return x * 8

with contextlib.suppress(ZeroDivisionError, np.linalg.LinAlgError):
    return np.linalg.inv(np.outer(x, x) * 0)
return x

try:
    return np.linalg.cholesky(np.diag(x))
except np.linalg.LinAlgError:
    return np.eye(3)

d = collections.deque([x, x * 2], maxlen=2)
d.append(x * 3)
return d[0] + d[1]

d = collections.defaultdict(lambda: 0)
d['a'] = d['a'] + x
return d['a']

try:
    return x ^ 1
except TypeError:
    return x * 3

try:
    return x @ x[0]
except ValueError:
    return x * 3

y = x * 1
y.sort()
return y

y = -x
y.partition(1)
return y[1]

y = x * 1
np.put(y, [0, 2], [5, 6])
return y

y = x * 1
np.putmask(y, y > 1, 9)
return y

y = x * 1
np.place(y, y > 1, [9, 8])
return y

y = np.outer(x, x)
np.fill_diagonal(y, 1)
return y

y = x * 1
np.copyto(y, 3, where=y > 1)
return y

y = x * 1
np.add.at(y, [0, 0], 1)
return y

y = np.outer(x, x)
try:
    y.shape = (9,)
except AttributeError:
    return x
return y

y = x * 1
y.dtype = np.int64
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
    return float(x[0]) * x
except:
    return x * 0

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

a, b = np.meshgrid(x, W)
return a * b

a, b = np.broadcast_arrays(x[:, None], W)
return a + b

b = np.broadcast(x[:, None], W)
return x * b.size

y = np.outer(x, W)
return y[np.ix_([0, 2], [1, 2])]

m, e = np.frexp(x)
return m * e

a, b = np.modf(x)
return a - b

try:
    return np.concatenate([x[0], x[1]])
except ValueError:
    return x * 3

try:
    return x * len(vars(x))
except TypeError:
    return x * 4

y = x * 1
try:
    y.name = 'a'
except AttributeError:
    return x * 4
return y

try:
    hash(x)
except TypeError:
    return x * 4
return x

a, *b = x
return a + sum(b)

try:
    list(x[0])
except TypeError:
    return x * 4
return x

try:
    bool(x[:2])
except ValueError:
    return x * 4
return x

try:
    return x * int(x)
except TypeError:
    return x * 4

try:
    return x * len(range(x[0]))
except TypeError:
    return x * 4
"""


PAIRS = """
x + y
np.outer(x, y)
(y.__setitem__(0, x[0]), y)[1]
np.concatenate([x.ravel(), y.ravel()])
np.where(x.sum() > y.sum(), x.sum(), y.sum())
y[x.ravel().astype(int) % len(y)]
np.take(y, x.ravel().astype(int) % 2, axis=0)
x @ y
np.dot(x, y)
np.tensordot(x, y, 1)
np.tensordot(x, y, 0)
np.einsum('...i,...i->...', x, y)
np.cross(x, y)
np.kron(x, y)
np.interp(x, [0, 1, 2], y.ravel()[:3])
np.searchsorted(y.ravel(), x)
np.isclose(x, y)
np.maximum(x, y)
divmod(x, y)
np.add(x, y, out=np.empty_like(x))
np.add(x, y, out=np.empty_like(y))
np.broadcast_arrays(x, y)
np.stack([x, y])
np.concatenate([x, y])
np.choose(x.astype(int) % 2, [x, y])
np.select([x > 1], [y], 0)
np.linalg.lstsq(np.outer(x, x).reshape(x.size, x.size) + np.eye(x.size), np.ones(x.size), rcond=None)[0]
np.linalg.solve(np.eye(x.shape[-1]) * 2, x)
np.clip(x, y, None)
np.clip(x, 0, y)
x.clip(y, 5)
x ** y
2 ** y + x
np.hypot(x, y)
np.arctan2(x, y)
(x > 1) & (y > 1)
x.shape == y.shape
x is y
y
y[:1]
(x, y, {'a': x})
x.sum() * y.sum()
bool(y.sum() > 0) and x
x * float(y.sum())
x * len(f'{y.sum():.2f}')
x * (2 if type(y) is np.ndarray else 3)
x * (2 if y.flags.writeable else 3)
np.lexsort((x.ravel(),))
np.polyval(y.ravel()[:2], x)
np.vdot(x, y) if x.size == y.size else x
np.convolve(x.ravel(), y.ravel()[:2])
np.correlate(x.ravel(), y.ravel()[:2], 'full')
np.cov(x.ravel(), y.ravel()) if x.size == y.size else x
np.digitize(x, [0, 1, 2])
np.average(x, weights=np.ones(x.shape))
np.quantile(x, [0.2, 0.5])
np.quantile(W, np.clip(x.ravel() / 9, 0, 1))
np.insert(x, 1, y.ravel()[0])
x.reshape(1, -1)[:, ::-1]
np.roll(x, 1) + 0
np.mean(x, where=x > -9)
np.sum(x, where=y > 1)
np.sum(x, initial=3.0)
np.max(x, initial=y.ravel()[0])
x.cumsum()
x.argmax()
np.argmax(x, axis=0, keepdims=True)
np.sort(x, axis=None)
np.unique(x * 0)
np.pad(x, 1, constant_values=2)
np.pad(x, 1, mode='reflect')
x.reshape(-1, order='F')
x.ravel('F')
np.swapaxes(x, 0, -1)
np.linspace(x, y, 3)
np.linspace(x, 1, 3, axis=-1)
np.geomspace(x + 1, y + 1, 3)
np.full_like(x, y.ravel()[0])
af.grad(lambda x: np.sum(x * np.sum(y) * x))(x)
af.vmap(lambda r: r * 2)(x) if x.ndim else x
af.vmap(lambda r: r * y.sum())(x) if x.ndim else x
af.vmap(lambda r: r if r.sum() > 2 else -r, loop='allow')(x) if x.ndim else x
"""
BODIES_OF_PAIRS = """
z = x * 1.0
z[...] = y
return z

z = x * 1.0
z += y
return z

z = x * 1.0
z += y.T
return z

z = x * 1.0
np.putmask(z, z > 1, y)
return z

z = x * 1.0
np.place(z, z > 1, y)
return z

z = x * 1.0
np.put(z, [0], y)
return z

z = x * 1.0
np.copyto(z, y, where=z > 0)
return z

z = x * 1.0
np.add.at(z, 0, y)
return z

z = x * 1.0
z.fill(y.ravel()[0])
return z

z = x * 1.0
z[z > 1] = 0
return z

z = x * 1.0
z[z > 1] = y.ravel()[:2]
return z

z = x * 1.0
z[z.ravel()[:2] > 1] = 0.0
return z

z = x * 1.0
z[0] = y
return z

z = x * 1.0
z[...] = y[None]
return z

z = x * 1.0
z[:1] = y.ravel()[:2]
return z

z = x * 1.0
z[[0, 0]] = y
return z

z = np.outer(x, W)
z[1:, [0, 2]] = y.ravel()[0]
return z[[1, 0], :, None][..., [2]]

z = np.multiply.outer(np.outer(x, W), W)
z[1:, [0, 2], x.ravel()[:1].astype(int) % 3] = y.ravel()[0]
return z
"""


def corner(text, arguments="x"):
    """The function with that body."""
    scope = dict(SCOPE)
    exec(compile(f"def corner({arguments}):\n" + indent(text, "    "), f"<{text[:60]}>", "exec"), scope)
    return scope["corner"]


CORNERS = {line: corner(f"return {line}") for line in EXPRESSIONS.strip().splitlines()}
CORNERS |= {body: corner(body) for body in BODIES.strip().split("\n\n")}
CORNERS_OF_TWO = {line: corner(f"return {line}", "x, y") for line in PAIRS.strip().splitlines()}
CORNERS_OF_TWO |= {body: corner(body, "x, y") for body in BODIES_OF_PAIRS.strip().split("\n\n")}
