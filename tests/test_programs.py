"""Small programs as users write them, through every door: the numbers are NumPy's, the gradient is right or refused.

Each program is run on a plain array and on a Variable. What it leaves in ``z`` must have the same bits, and the gradient
must agree with differences of the plain program. The refused ones say what to do.
"""

# ruff: noqa: E501 - a program is a line

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import DataError, InPlaceError, LostGradientError, NoRuleError, SeedError, StaleValueError
from autoflow.nodes.nodes import NodeRole, value_of
from autoflow.table.shapes import since

X = np.array([0.5, 1.7, -2.2, 3.1])

# x is a vector of four numbers; f are functions to make arrays that remember (af for nodes, np for plain arrays).
RIGHT = r"""
z = x + x; z = z * x; z = z.sum()
a = x * x; z = (a + a * x).sum()
y = x\nfor _ in range(50): y = y + y\nz = y.sum() * 2.0**-50
z = sum(v * v for v in x)
a, b, c, d = x; z = a * b + c / d
z = [v for v in x][2] * x[-1]
z = max(x) * min(x)
z = sum(sorted(x)[:2])
z = np.array([1.0, 2.0, 3.0, 4.0]) @ x
z = 2.0 - x[::-1] @ x
z = np.float64(2.0) * x[1] + 1
z = (x[[0, 0, 2]] ** 2).sum()
z = x[x > 0].prod()
z = (x[:, None] * x)[np.triu_indices(4)].sum()
z = np.where(x > 0, x, -x).sum()
z = x.T.reshape(2, 2).T.ravel() @ np.arange(4.0)
z = np.sum(x * np.ones((3, 4))[:, None], axis=(0, 1))[2]
z = x.reshape(2, -1).mean(axis=0).std()
z = x.flat[1] * 3 + x.flat[-1]
z = np.concatenate([[1.0, 2.0], x, x[:1]]).cumsum()[-2]
z = np.r_[x, 3.0, x[:2]].sum()
z = np.c_[x, x * x][1] @ [1.0, 2.0]
z = np.vstack([x, 2 * x]).var(ddof=1)
z = np.stack([v * v for v in x]).max()
z = np.clip(x, -1.0, 2.0).sum() + np.clip(0.3, x[0], x[3])
z = np.clip(np.arange(4.0), a_min=-9.0, a_max=x).sum()
z = divmod(x, 2.0)[1].sum()
z = (x % 2 + x // 2 + abs(x)).sum()
z = (2.0 ** x).sum() + (abs(x) ** x[0]).sum()
z = np.linalg.norm(x) + np.linalg.norm(x, 1)
z = np.einsum("i,j->ij", x, x).trace()
z = np.sort(x)[1] + np.partition(x, 2)[2]
z = np.subtract(x, 1.0, dtype=np.float64).sum()
z = np.add.reduce(x) + np.multiply.accumulate(x)[-1] + np.add.outer(x, x).sum()
z = np.hypot(*x[:2]) + np.arctan2(x[1], x[0])
z = (x.astype(np.complex128) * (1 + 2j)).real.sum()
z = abs(np.fft.rfft(x))[1]
z = np.interp(0.3, [0.0, 1.0], x[:2])
z = np.select([x > 1, x < 0], [x, x * x], default=3.0).sum()
z = np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t * t]).sum()
z = np.pad(x, 1, constant_values=x[0]).sum()
z = np.bincount([0, 1, 1, 0], x)[1]
z = np.histogram([0.0, 1.0, 2.0], 3, range=(x[2], x[3]))[1][1]
z = np.apply_along_axis(lambda v: v * v, 0, x).sum()
a = x * 1; a += x; a *= 2; a[0] = a[1]; z = (a * a).sum()
a = x * 1; a[1:] = a[:-1] * 2; z = a.sum()
a = x * 1; v = a[1:3]; v *= x[0]; z = (a * a).sum()
a = x * 1; a.sort(); z = a @ [1.0, 2.0, 3.0, 4.0]
a = x * 1; a.partition(2); z = a[2]
a = x * 1; a[::-1].sort(); z = a @ [1.0, 2.0, 3.0, 4.0]
a = x * 1; a.put([0, 3], x[1:3] ** 2); z = a.sum()
a = x * 1; a.fill(x[2] ** 2); z = a.sum()
a = x * 1; a.flat[1:3] = x[0]; z = (a * a).sum()
a = x.reshape(2, 2) * 1; a.T[0] = x[:2] ** 2; z = (a * a).sum()
a = x * (1 + 1j); a.imag[...] = x * x; z = abs(a).sum()
a = np.zeros_like(x); a[0] = x[1]; a[2:] += x[:2]; z = (a * a).sum()
a = np.full_like(x, x[1]); a[0] *= x[0]; z = a.sum()
a = f.zeros(3)\nfor i in range(3): a[i] = x[i] * x[i + 1]\nz = a.sum()
a = f.zeros((2, 2)); np.fill_diagonal(a, x[:2]); z = (a @ a).sum()
a = f.zeros(2); np.add.at(a, [0, 1, 1, 0], x); z = a[0] * a[1]
a = f.zeros(4); np.copyto(a, x, where=x > 0); z = (a * a).sum()
a = f.zeros(4); np.multiply(x, x, out=a); z = a.sum()
a = x * 1; a -= a.max(); np.exp(a, out=a); a /= a.sum(); z = a @ [1.0, 2.0, 3.0, 4.0]
a = x * 1; a -= a.mean(); a /= a.std(); z = a @ [1.0, 2.0, 3.0, 4.0]
a = x.reshape(2, 2) * 1; a /= np.linalg.norm(a, axis=1, keepdims=True); z = a[0] @ [1.0, 2.0]
a = x * 1; a -= a.min(); a /= np.ptp(a) + 1.0; z = (a * a).sum()
z = np.divide(1.0, x, out=np.zeros_like(x), where=x > 0).sum()
z = np.log(x, out=np.ones_like(x), where=x > 0) @ [1.0, 2.0, 3.0, 4.0]
a = x * (1 + 1j); a.real = x * x; a.imag = x[::-1]; z = abs(a).sum()
a = x * 1; a.shape = (2, 2); z = (a @ a).sum()
z = np.std(x, mean=x[0]) * np.var(x, mean=np.mean(x, keepdims=True), keepdims=True)[0]
z = np.vecdot(x.reshape(2, 2), x[:2, None], axis=0) @ [1.0, 2.0]
z = np.arange(4.0).clip(x[0], x[3]).sum() + x[np.where(x > 0)].sum()
i = np.argsort(x); z = x[i] @ [1.0, 2.0, 3.0, 4.0]
i = f.array([0, 1, 0, 1]); z = i.choose([x, x * x]).sum()
loss = 0.0\nfor v in x: loss += v * v\nz = loss
z = x[0] if x[0] > x[2] else x[2]; z = z * z
n = 0\nwhile (x[0] * 2.0**n).item() < 3: n += 1\nz = x[0] * 2.0**n
z = {"w": x}["w"][0] * float(f"{2.5:.1f}")
""".strip().split("\n")


def run(program, x, f):
    names = {"np": np, "x": x, "f": f}
    exec(program.replace("\\n", "\n"), names)
    return names["z"]


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")  # of a plain one: NumPy 2.5
@pytest.mark.parametrize("program", RIGHT)
def test_right(program):
    x = af.Variable(X)
    z, plain = run(program, x, af), run(program, X.copy(), np)
    assert isinstance(z, NodeRole)
    assert np.array_equal(value_of(z), plain)
    z.backward()
    assert type(x.grad) is np.ndarray
    for k in range(4):
        e = np.zeros(4)
        e[k] = 1e-6
        slope = (run(program, X + e, np) - run(program, X - e, np)) / 2e-6
        assert x.grad[k] == pytest.approx(slope, rel=1e-6, abs=1e-8)


# x: a vector of three numbers; a: an operation of it; c: a complex vector; s: one number; plain: a plain array.
LOUD = [
    ("plain[0] = s", LostGradientError, "af.zeros"), ("plain[0] += s", LostGradientError, "af.zeros"), ("plain[:2] += a[:2]", LostGradientError, "af.zeros"),
    ("np.sqrt(x, out=plain)", LostGradientError, "af.zeros"), ("np.copyto(plain, x)", LostGradientError, "af.zeros"), ("np.put(plain, [0], s)", LostGradientError, "af.zeros"),
    ("np.add.at(plain, [0], s)", LostGradientError, "af.zeros"), ("np.full_like(plain, s)", LostGradientError, "af.zeros"), ("np.nan_to_num(plain * np.nan, nan=s)", LostGradientError, "af.zeros"),
    ("plain + [s, 1.0, 2.0]", LostGradientError, "af.array"), ("np.array([s, s])", LostGradientError, "np.array would take"), ("np.fromiter(x, float)", LostGradientError, "np.fromiter would"), ("s.value.backward()", AttributeError, "backward"), ("af.backward(s.value)", LostGradientError, "usual causes"),
    ("af.grad(lambda x: np.asarray(x).sum())(plain)", LostGradientError, "np.asarray"), ("af.Constant(1.0).backward()", LostGradientError, "Constant"),
    ("np.array(a, subok=True) + 1", LostGradientError, "np.array"), ("np.asanyarray(a, dtype=np.float32) * 2", LostGradientError, "np.array"),
    ("x += 1", InPlaceError, "x.copy()"), ("x[0] = 1", InPlaceError, "x.copy()"), ("x.sort()", InPlaceError, "copy"), ("x.partition(1)", InPlaceError, "copy"), ("x.fill(0)", InPlaceError, "copy"), ("x.flat[0] = 1", InPlaceError, "copy"),
    ("x.detach()[0] = 1", InPlaceError, "copy"), ("a.flags.writeable = False; a += 1", InPlaceError, "copy"), ("np.broadcast_to(a, (2, 3))[0] = 1", InPlaceError, "copy"),
    ("x.shape = (3, 1)", InPlaceError, "x.reshape"), ("a[:].shape = (3, 1)", InPlaceError, "x.reshape"), ("a.dtype = np.int64", InPlaceError, "x.astype"), ("a.strides = (8,)", InPlaceError, "new node"), ("a.imag = 0", TypeError, "imaginary part"), ("x.flat = 0", InPlaceError, "copy"), ("a.data = plain.data", InPlaceError, r"x\[...\] ="),
    ("a.resize(4)", NoRuleError, "np.resize"), ("a.byteswap()", NoRuleError, "x.value.byteswap"), ("a.view(np.float32)", NoRuleError, "astype"), ("a.setflags(write=False)", NoRuleError, "detach"),
    ("np.exp(x, where=plain > 0)", NoRuleError, "where="), ("np.abs(x, dtype=np.int64)", NoRuleError, "dtype="), ("np.absolute(c, dtype=np.float64)", NoRuleError, "dtype="), ("np.add(x, 1, casting='no')", NoRuleError, "casting="), ("np.sum(x, initial=s)", NoRuleError, "initial="), ("np.unwrap(x, period=s)", NoRuleError, "x.value"),
    ("np.vectorize(abs)(x)", *((NoRuleError, "x.value") if since("2.4") else (LostGradientError, "np.vectorize"))), ("np.zeros(3, like=x)", NoRuleError, "af.zeros"), ("x & 1", TypeError, "bitwise_and"),
    ("b = np.tanh(a); b *= 2; c = np.exp(a); a += 1; c.sum().backward(); d = a * a; a._value[0] = 3; a *= 2; d.sum().backward()", StaleValueError, "overwritten"),
    ("big = np.ones(5000); z = (af.Variable(big) * big).sum(); big[:] = 2; z.backward()", StaleValueError, "af.Constant"),
    ("x + np.array(['2020-01-01'], 'M8[D]')", DataError, "dates have no derivative"), ("np.array(['2020-01-01'], 'M8[D]') - x", DataError, "dates have no derivative"), ("x * np.array(['a'])", DataError, "text has no derivative"), ("x * np.array([{}])", DataError, "no arithmetic"),
    ("s.backward('text')", SeedError, "one number per element"), ("a.backward(['a', 'b', 'c'])", SeedError, "one number per element"), ("a.backward([1.0])", SeedError, "shape"), ("(c * c).backward()", SeedError, "complex"),
    ("a.requires_grad = False", AttributeError, r"x\.detach\(\)"), ("af.Constant(1).requires_grad = True", AttributeError, r"af\.Variable\(x\)"),
    ("x.sum(1, 2, 3, 4, 5, 6, 7)", TypeError, r"^Node\.sum\(\) takes"), ("af.Variable()", TypeError, r"^Variable\.__new__\(\) missing"), ("af.Constant(1, color=2)", TypeError, r"^Constant\.__new__\(\) got"), ("af.Operation.create_node()", TypeError, r"^Operation\.create_node\(\) missing"), ("x.__dlpack__(1)", TypeError, r"^Node\.__dlpack__"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "error", "words"), LOUD, ids=[program for program, _, _ in LOUD])
def test_loud(program, error, words):
    x = af.Variable([1.0, 2.0, 3.0], name="x")
    names = {"np": np, "af": af, "x": x, "a": x * 1.0, "c": x * 1j, "s": x[0] * 1.0, "plain": np.zeros(3)}
    with pytest.raises(error, match=words):
        exec(program, names)
    if error is not StaleValueError:
        assert not names["plain"].any()


# What no hook sees: the numbers are taken, and that is all that can be said. docs/lost-gradients.md has the same list.
SILENT = [
    "np.asarray(x)", "np.array(x)", "np.ascontiguousarray(x)", "np.full(3, x)", "np.float64(s)", "np.float32(s)", "float(s)", "x.value", "x.tolist()", "s.item()",
    "np.array([x, x])", "np.array([s, 1j])", "plain.dot(x)", "plain.__setitem__(slice(2), x[:2])", "plain.__setitem__(slice(None), s)", "plain.put([0], s)", "setattr(plain, 'flat', x)",
    "np.pad(plain, 1, constant_values=s)", "np.pad(plain, 1, 'linear_ramp', end_values=s)", "np.select([plain > 0], [plain], default=s)", "np.unwrap(plain, period=s)",
    "np.fill_diagonal(np.eye(3), x)", "np.piecewise(plain, [plain > 0], [1.0, s])", "np.random.default_rng(0).normal(x)", "np.random.default_rng(0).normal(s)",
    "np.lib.stride_tricks.as_strided(x, (2,), (8,))", "__import__('math').sin(s)", "memoryview(x)", "np.ma.array(x, mask=[0, 1, 0]).sum()",
]  # fmt: skip


@pytest.mark.parametrize("program", SILENT)
def test_silent(program):
    """If one of these is loud one day, all the better: then it leaves this list, and docs/lost-gradients.md."""
    x = af.Variable([1.0, 2.0, 3.0])
    z = eval(program, {"np": np, "x": x, "s": x[0] * 1.0, "plain": np.zeros(3)})
    assert not getattr(z, "requires_grad", False)


STRICT = [
    "int(s)", "complex(s)", "plain.__setitem__(0, s)", "np.random.default_rng(0).normal(s)", "__import__('math').sin(s)", "__import__('math').floor(s)",
    "np.argmax([s, s])", "np.isfinite([s, s])",
]  # fmt: skip


@pytest.mark.parametrize("program", STRICT)
def test_strict_mode_refuses_single_numbers(program):
    x = af.Variable([1.0, 2.0, 3.0])
    with af.options(strict=True), pytest.raises(LostGradientError, match="strict mode refuses"):
        eval(program, {"np": np, "x": x, "s": x[0] * 1.0, "plain": np.zeros(3)})
