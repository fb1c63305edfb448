"""What is not a number: identity, classes, attributes, texts, containers, errors. af.vmap is a loop over the examples,
and a compiled function is the function, or an error.

A question is asked of every kind of array that a function can meet; the answer decides about the result. The bodies
are whole functions. Each runs several times, as what is learnt in the first call must hold in the later ones.
"""

import collections
import dataclasses
import functools
import io

import numpy as np
import pytest
from by_loop import by_loop, difference, expressions, outcome
from support import NIGHTLY

import autoflow as af
from autoflow.errors import CompileError

pytestmark = pytest.mark.filterwarnings("ignore")
R = np.random.default_rng(0)
BATCHES = [np.round(R.normal(size=(4, 3)) * 3, 1) for _ in range(2)]
ARRAYS = {
    "an argument": "x", "a result": "x * 1.0", "a view": "(x * 1.0)[::-1]", "a matrix": "np.outer(x, x)",
    "a transposed matrix": "np.outer(x, x + 1).T", "a number": "x.sum()", "an element": "(x * 1.0)[0]",
    "a 0-d array": "(x * 1.0)[0, ...]", "integers": "x.astype(int)", "booleans": "x > 0", "complex": "x + 1j",
    "nothing": "(x * 1.0)[3:]", "an index": "np.argmax(x)", "Python's answer": "np.allclose(x, 1.0)",
    "Python's comparison": "1j == x[0]", "Python's number": "1j * x[0]",
}  # fmt: skip
# Questions, in which a is the array.
QUESTIONS = """
    a is a.copy()  np.asarray(a) is a  np.asanyarray(a) is a  np.ascontiguousarray(a) is a  np.asfortranarray(a) is a
    a.astype(a.dtype, copy=False) is a  a.astype(a.dtype) is a  np.atleast_1d(a) is a  np.atleast_2d(a) is a  a.T is a
    a.reshape(a.shape) is a  a.ravel() is a  np.ravel(a) is a  np.squeeze(a) is a  a.squeeze() is a  np.positive(a) is a
    +a is a  abs(a) is a  np.real(a) is a  a.real is a  a.conj() is a  np.conj(a) is a  np.broadcast_to(a, a.shape) is a
    np.nan_to_num(a, copy=False) is a  a[...] is a  a[()] is a  copy.copy(a) is a  copy.deepcopy(a) is a  a.view() is a
    np.require(a) is a  np.transpose(a) is a  a.round() is a  np.array(a) is a  a in [a]  [a].index(a) == 0
    [a].count(a) == 1  id(a) == id(a)  {id(a): 1}.get(id(a)) == 1  weakref.ref(a)() is a  (a, 1) == (a, 1)  [a] == [a]
    a == a  a != a  not a  bool(a)  a in (1.0, 2.0)  a is None  a == None  a in {}  isinstance(a, np.ndarray)
    isinstance(a, np.generic)  isinstance(a, np.floating)  isinstance(a, np.float64)  isinstance(a, float)
    isinstance(a, (int, float))  isinstance(a, numbers.Number)  isinstance(a, numbers.Real)
    isinstance(a, collections.abc.Sized)  isinstance(a, collections.abc.Iterable)  isinstance(a, typing.Iterable)
    isinstance(a, collections.abc.Sequence)  isinstance(a, collections.abc.Hashable)
    isinstance(a, typing.SupportsFloat)  isinstance(a, typing.SupportsIndex)  isinstance(a, collections.abc.Buffer)
    callable(a)  np.isscalar(a)  np.iterable(a)  type(a) is np.ndarray  type(a) is np.float64  type(a) in (int, float)
    type(a).__name__ == "ndarray"  a.__class__ is np.ndarray  a.__class__.__name__ == "float64"
    issubclass(type(a), np.generic)  issubclass(a.__class__, np.floating)  type(a).__mro__[1] is object  type(a)(3) == 3
    a.__class__(3) == 3  hasattr(a, "__len__")  hasattr(a, "__iter__")  hasattr(a, "__float__")
    hasattr(a, "is_integer")  hasattr(a, "hex")  hasattr(a, "tolist")  hasattr(a, "value")  hasattr(a, "grad")
    hasattr(a, "inner")  hasattr(a, "tape")  hasattr(a, "backward")  hasattr(a, "expr")  hasattr(a, "mapped")
    hasattr(a, "is_number")  hasattr(a, "nothing")  getattr(a, "base", 1) is None  getattr(a, "ndmin", 0) == 0
    "sum" in dir(a)  "inner" in dir(a)  "__dict__" in dir(a)  a.flags.c_contiguous  a.flags.f_contiguous
    a.flags.owndata  a.flags.writeable  a.flags["C"]  a.flags.aligned  a.strides == (8,)  a.strides[0] > 0
    a.base is None  a.base is x  a.nbytes == 24  a.itemsize == 8  a.ndim == 0  a.size == 3  a.shape == ()  len(a) == 3
    a.dtype == float  a.dtype is np.dtype(float)  a.dtype.name == "float64"  a.dtype.char == "d"  a.dtype.isnative
    a.device == "cpu"  a.__array_priority__ == 0.0  a.data.contiguous  a.ctypes.data % 8 == 0
    a.__array_interface__["version"] == 3  a.__sizeof__() > 112  a.__doc__[:2] == "nd"  a.__module__ == "numpy"
    vars(a) == {}  operator.attrgetter("ndim")(a) == 1  operator.length_hint(a, 7) == 3  math.isfinite(a)
    math.copysign(1, a) > 0  float(a) > 0  int(a) > 0  complex(a).real > 0  round(a) > 0  math.floor(a) > 0
    math.ceil(a) > 0  math.trunc(a) > 0  operator.index(a) > 1  range(a).stop > 1  [5, 6, 7][a] > 5  hash(a) != 0
    {a: 1}[a] == 1  {a} == {a}  str(a) == "1.0"  repr(a)[0] == "a"  "-" in str(a)  "-" in repr(a)  "-" in f"{a}"
    "-" in f"{a!r}"  "-" in f"{a!s:>20}"  "-" in "%s" % (a,)  "-" in "{}".format(a)  "-" in format(a)  "-" in f"{a:.2f}"
    "-" in "%.1f" % a  "-" in str([a])  "-" in repr({"a": a})  "-" in str(ValueError(a))  "-" in np.array2string(a)
    "-" in np.array_repr(a)  "-" in np.array_str(a)  "-" in pprint.pformat([a])  "-" in ascii(a)
    "-" in np.format_float_positional(a)  "-" in printed(a)  "-" in str(types.SimpleNamespace(a=a))
    "-" in str(Point(a, 1))  Point(a, 1) == Point(a, 1)  Point(a, 1) < Point(a, 2)  Point(a, 1).x is a
    dataclasses.asdict(Point(a, 1))["x"] is a  dataclasses.replace(Point(a, 1), y=2).x is a  Pair(a, 1).x is a
    Pair(a, 1) == Pair(a, 1)  Pair(a, 1)._replace(y=3).x is a  copy.copy([a])[0] is a  copy.deepcopy([a])[0] is a
    max(a, 0.5) > 0.5  min(a, 0.5) < 0.5  max([a, 0.5]) is a  sorted([a, 0.5])[0] is a  any([a, 0])  all([a, 1])
    sum([a, 1.0]) is a  next(iter([a])) is a  (a or 0) is a  (a and 0) == 0  np.shares_memory(a, x)
    np.may_share_memory(a, x)  np.shares_memory(a, a)  np.may_share_memory(a, a.copy())  np.shares_memory(a.ravel(), a)
    np.shares_memory(a.reshape(-1), a)  np.shares_memory(a.T, a)  a.T.base is a  np.result_type(a) == float
    np.min_scalar_type(a) == float  np.can_cast(a.dtype, int)  np.isrealobj(a)  np.iscomplexobj(a)  np.ndim(a) == 1
    np.shape(a) == (3,)  np.size(a) == 3  np.issubdtype(type(a), np.floating)  matched(a) == "three"
    matched(a) == "number"  unpacked(a) == 3  a.tolist() == []  a.item() > 0  a.tobytes()[0] > 0  bytes(a)[0] > 0
    memoryview(a).nbytes == 24  np.array([a], object)[0] is a  np.isnat is a  isinstance(a, af.Variable)
    np.array_equal(a, a)  np.allclose(a, x)  np.array_equiv(a, 1)  np.testing.assert_array_equal(a, a) is None
    caught(lambda: a[7]) is IndexError  caught(lambda: a.nothing) is AttributeError  caught(lambda: len(a)) is TypeError
    caught(lambda: a + "text") is TypeError  caught(lambda: a.reshape(7)) is ValueError  caught(lambda: iter(a)) is None
    caught(lambda: a @ np.ones(5)) is ValueError  caught(lambda: a["field"]) is IndexError
    caught(lambda: a()) is TypeError  caught(lambda: setattr(a, "color", 1)) is AttributeError
    caught(lambda: a.sum(5)) is np.exceptions.AxisError  caught(lambda: np.add(a, 1, out=())) is ValueError
    caught(lambda: operator.setitem(a, 0, 1)) is TypeError  caught(lambda: operator.setitem(a, ..., a)) is ValueError
    caught(lambda: operator.delitem(a, 0)) is ValueError  caught(lambda: a.flags.nothing) is AttributeError
    caught(lambda: next(a)) is TypeError  caught(lambda: a << 1) is None
    caught(lambda: a.astype("nothing")) is TypeError  caught(lambda: a.view(a.dtype)) is None
    caught(lambda: {**a}) is None  caught(lambda: a.fill("text")) is ValueError
    caught(lambda: float("text")) is ValueError  caught(lambda: a.sort()) is None
"""
BODIES = {
    "numbers are no places": "s = x.sum(); t = s; t += 1.0; return s",
    "elements are no places": "y = x * 1; a, b, c = y; a += 1.0; return y",
    "rows are places": "m = np.outer(x, x); a, b, c = m; a += 1.0; return m",
    "a loop over elements": "y = x * 1\nfor v in y: v += 1\nreturn y",
    "a loop over rows": "m = np.outer(x, x)\nfor v in m: v += 1\nreturn m",
    "0-d": "y = x * 1; a = y[0, ...]; a += 5; return y",
    "0-d copy": "y = x * 1; a = np.array(y[0]); a += 5; return y + a",
    "0-d fill": "a = np.zeros(()); a = a + x[0]; a[()] = 3 if x.ndim else 2; return x * a",
    "array(number)": "a = np.array(x.sum()); b = a; b += 1; return x * a",
    "asarray(number)": "a = np.asarray(x.sum()); b = a; b += 1; return x * a",
    "copy of a number": "a = x.sum().copy(); b = a; b += 1; return x * a",
    "zeros_like(number)": "a = np.zeros_like(x.sum()); b = a; b += 1; return x * a",
    "number[...]": "a = x.sum()[...]; b = a; b += 1; return x * a",
    "number[()]": "a = x.sum()[()]; b = a; b += 1; return x * a",
    "view of a number": "a = x.sum().reshape(()); b = a; b += 1; return x * a",
    "squeeze": "y = x * 1; np.squeeze(y[:1])[...] = 7; return y",
    "squeeze of a number": "y = x * 1; a = y[:1].squeeze(); a += 7; return y",
    "ravel": "m = np.outer(x, x); m.T.ravel()[0] = 9; m.ravel()[1] = 8; return m",
    "reshape of T": "m = np.outer(x, x + 1); r = m.T.reshape(-1); r[0] = 9; return m",
    "reshape F": "m = np.outer(x, x + 1); r = m.reshape(-1, order='F'); r[0] = 9; return m",
    "diagonal": "m = np.outer(x, x); d = m.diagonal().copy(); d += 1; return m + d",
    "fill_diagonal": "m = np.outer(x, x); np.fill_diagonal(m.T, 3.0); return m",
    "split": "y = x * 1; a, b = np.split(y, [1]); b += 1; return y",
    "atleast": "y = x * 1; np.atleast_2d(y)[0, 0] = 7; return y",
    "expand_dims": "y = x * 1; np.expand_dims(y, 0)[0, 1] = 7; return y",
    "broadcast_arrays": "y = x * 1; a, b = np.broadcast_arrays(y, y); return a + b",
    "overlap": "y = x * 1; y[1:] += y[:-1]; return y", "overlap back": "y = x * 1; y[:-1] = y[1:]; return y",
    "swap": "y = x * 1; y[0], y[1] = y[1], y[0]; return y",
    "swap rows": "m = np.outer(x, x + 1); m[0], m[1] = m[1], m[0]; return m",
    "swap by places": "y = x * 1; y[[0, 1]] = y[[1, 0]]; return y",
    "twice the same place": "y = x * 1; y[[0, 0]] += 1.0; return y", "reversed": "y = x * 1; y[:] = y[::-1]; return y",
    "reversed add": "y = x * 1; y += y[::-1]; return y", "sort of a view": "y = x * 1; y[::-1].sort(); return y",
    "real": "z = x + 1j; z.real[0] = 5; z.imag += 2; return z", "real of reals": "y = x * 1; y.real[0] = 5; return y",
    "T": "m = np.outer(x, x + 1); m.T[0] = 5; return m", "out": "y = np.empty(3); np.add(x, 1, out=y); return y",
    "out of itself": "y = x * 1; z = np.add(y, 1, out=y); return y * (2 if z is y else 3)",
    "iadd returns": "y = x * 1; z = y; z += 1; return y * (2 if z is y else 3)",
    "imul of a number": "s = x.sum(); t = s; t *= 2; return x * (s if s is t else t)",
    "resize": "y = x * 1; y.resize(2, refcheck=False); return y",
    "resize larger": "y = x * 1; y.resize((2, 2), refcheck=False); return y.sum()", "byteswap": "return x.byteswap()",
    "byteswap in place": "y = x * 1; y.byteswap(inplace=True); return y",
    "setflags": "y = x * 1; y.setflags(write=False)\ntry: y[0] = 1\nexcept ValueError: return y\nreturn y * 2",
    "getfield": "return x.getfield(np.float64)", "to_device": "return x.to_device('cpu') * 2",
    "shape": "y = x * 1; y.shape = (3, 1); return y", "dtype": "y = x * 1; y.dtype = np.int64; return y",
    "structured": "r = np.zeros(3, [('a', float), ('b', int)]); r['a'] = x; return r['a'] + r['b']",
    "structured view": "return x.view([('a', float)])['a']", "records": "return np.rec.fromarrays([x, x]).f0",
    "strings": "return np.char.startswith(x.astype(str), '-')",
    "strings of numbers": "return np.array([str(v)[0] == '-' for v in x])", "objects": "return x.astype(object).sum()",
    "dates": "return x.astype('m8[s]')", "masked": "return np.ma.masked_less(x, 0).sum()",
    "masked filled": "return np.ma.array(x, mask=x < 0).filled(7.0)",
    "matrix": "return np.asarray(np.matrix(x) * np.matrix(x).T)", "poly1d": "return np.poly1d(x)(2.0)",
    "vectorize": "return np.vectorize(lambda v: v if v > 0 else -2 * v)(x)",
    "apply_along_axis": "return np.apply_along_axis(lambda v: v[0] if v[0] > 0 else v[1], 0, x)",
    "nditer": "return sum(float(v) for v in np.nditer(x))",
    "ndenumerate": "return sum(i[0] * v for i, v in np.ndenumerate(x))", "flat": "y = x * 1; y.flat[1] = 4; return y",
    "fromiter": "return np.fromiter((v for v in x), float)", "frombuffer": "return np.frombuffer(x.tobytes())",
    "float64(number)": "return np.float64(x.sum()) * x", "float32(number)": "return np.float32(x.sum()) * x",
    "type of a number": "return x.sum().dtype.type(3) * x", "class of a number": "return type(x.sum())(3) * x",
    "python's float": "return float(x.sum()) * x", "is_integer": "return x * (2 if x.sum().is_integer() else 3)",
    "as_integer_ratio": "return x * x[0].as_integer_ratio()[0]", "divmod": "a, b = divmod(x, 2.0); return a + b",
    "divmod of numbers": "a, b = divmod(x.sum(), 2.0); return x * (2 if type(a) is np.float64 else 3)",
    "namedtuple": "return Pair(x, x.sum())", "dict": "return {'b': x, 'a': x.sum()}",
    "ordered dict": "return collections.OrderedDict(b=x, a=x + 1)",
    "default dict": "d = collections.defaultdict(list); d['a'].append(x); return d['a'][0]",
    "dataclass": "return Point(x, x.sum()).x * 2", "frozen field": "p = Point(x * 1, 1); p.x[0] = 4; return p.x",
    "deque": "d = collections.deque([x, x + 1], 1); return d[0]",
    "reduce": "return functools.reduce(operator.add, [x, x + 1, x])",
    "accumulate": "return np.stack(list(itertools.accumulate(x)))",
    "zip of rows": "return np.array([a * b for a, b in zip(x, x[::-1])])", "star": "a, *b = x; return a * len(b)",
    "generator": "def g():\n  y = yield x\n  yield y * 2\nit = g(); next(it); return it.send(x + 1)",
    "thrown": "def g():\n  try: yield x\n  except KeyError: yield x * 2\ni = g(); next(i); return i.throw(KeyError())",
    "next of two": "it = iter(x); return x * next(it) + next(it)",
    "default of next": "it = iter(x[3:]); return x * next(it, 7.0)",
    "suppressed": "y = x * 1\nwith contextlib.suppress(IndexError): y[5] = 1\nreturn y",
    "suppressed solve": "y = x\nwith contextlib.suppress(LinAlgError):\n  y = np.linalg.cholesky(np.diag(x))\nreturn y",
    "except group": "y = x\ntry: y = np.linalg.cholesky(x[0] * np.eye(3))[0]\nexcept* LinAlgError: y = x * 5\nreturn y",
    "finally": "y = x * 1\ntry: y = y + float(x[0])\nfinally: return y * 2",
    "else": "try: z = np.linalg.inv(np.diag(np.round(x)))\nexcept LinAlgError: return x * 3\nelse: return z[0]",
    "error in a generator": "return np.stack([caught(lambda v=v: math.sqrt(v)) is None for v in x])",
    "raised by the user": "try:\n  if (x[0] > 0): raise KeyError\nexcept KeyError: return x * 2\nreturn x",
    "raised with an array": "try: raise ValueError(x)\nexcept ValueError as e: return e.args[0] * 2",
    "assert": "try: assert x[0] > 0\nexcept AssertionError: return x * 2\nreturn x",
    "attribute of an array": "y = x * 1\ntry: y.color = 1\nexcept AttributeError: return y\nreturn y * 2",
    "pattern of a number": "match x.sum():\n  case float(): return x * 2\n  case _: return x",
    "pattern of a shape": "match x:\n  case np.ndarray(shape=(3,)): return x * 2\n  case _: return x",
    "pattern of a sequence": "match x:\n  case [a, b, c]: return x * 2\n  case _: return x",
    "singledispatch": "return dispatched(x) + dispatched(x.sum())", "lru_cache": "return x * cached(x.shape)",
    "lru_cache of a number": "return x * cached(x.sum())",
    "dict of numbers": "return x * {True: 2, False: 3}[x[0] > 0]",
    "list by a number": "return x * [2.0, 3.0, 4.0][np.argmax(x)]",
    "slice by a number": "return x[: np.argmax(x) + 1].sum()", "range": "return x * sum(range(np.argmax(x)))",
    "shape by a number": "return np.zeros(np.argmax(x) + 1).sum() + x",
    "walrus": "return x * 2 if (s := x.sum()) > 0 else x * s", "chained": "return x * (2 if -1 < x[0] < 1 else 3)",
    "print": "print(x, file=io.StringIO()); return x",
    "eval of a text": "return np.array(ast.literal_eval(str(x.tolist())))",
    "error state": "with np.errstate(divide='ignore'): return 1 / (x - x)",
    "errors raised": "try:\n  with np.errstate(all='raise'): return np.sqrt(x)\nexcept ArithmeticError: return x * 3",
    "error callback": "n = []\nwith np.errstate(all='call', call=lambda *a: n.append(1)): 1 / x\nreturn x + len(n)",
    "sum with a start": "return sum(x, 10.0)", "in": "return x * (2 if 0.3 in x else 3)",
    "not in": "return x * (2 if x[0] not in [0.3, 1.0] else 3)", "sorted": "return np.array(sorted(x))",
    "sorted by a key": "return np.array(sorted(x, key=lambda v: -v))", "min of a list": "return min(x) * x",
    "unique": "return np.unique(x > 0).size * x", "order K": "return np.outer(x, x + 1).T.ravel('K')",
    "copy K": "return np.outer(x, x + 1).T.copy('K').ravel('A')",
    "contiguous": "return x * (2 if np.outer(x, x).T.flags.c_contiguous else 3)",
    "empty_like": "y = np.empty_like(np.outer(x, x + 1).T); y[...] = 1; return y",
    "setattr of a function": "f.count = getattr(f, 'count', 0) + 1; return x",
    "vars of a namespace": "n = types.SimpleNamespace(); n.x = x; return vars(n)['x'] * 2",
    "slots": "p = Slotted(); p.x = x; return p.x * 2", "property": "return Shaped(x).size * x",
    "weak": "y = x * 1; r = weakref.ref(y); del y; return x * (2 if r() is None else 3)",
    "a kept iterator": "it = zip(x, x[1:]); a, b = next(it); return a + b * x",
}  # fmt: skip


def printed(a):
    """What print writes."""
    stream = io.StringIO()
    print(a, file=stream)
    return stream.getvalue()


def caught(call):
    """The class of the exception that a call raises; None without."""
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def matched(a):
    """What structural pattern matching says of it."""
    match a:
        case np.ndarray(shape=(3,)):
            return "three"
        case float() | int():
            return "number"
        case [_, _, _]:
            return "sequence"
    return ""


def unpacked(a):
    """How many elements it has for Python."""
    first, *rest = a
    return len([first, *rest])


@dataclasses.dataclass(order=True)
class Point:
    """Two values."""

    x: object
    y: object


Pair = collections.namedtuple("Pair", "x y")


class Slotted:
    """A slot."""

    __slots__ = ("x",)


class Shaped:
    """A property."""

    def __init__(self, x):
        self.x = x

    @property
    def size(self):
        """That of the array."""
        return self.x.size


@functools.singledispatch
def dispatched(x):
    """By the class."""
    return 1.0


@dispatched.register(np.ndarray)
def _(x):
    return 2.0


@dispatched.register(float)
def _(x):
    return 3.0


@functools.lru_cache
def cached(key):
    """By a key."""
    return 2.0 if isinstance(key, tuple) else float(key)


def function(body):
    """The function with this body."""
    scope = {**globals()}
    exec("def f(x):\n" + "".join(f" {line}\n" for line in body.splitlines()), scope)
    return scope["f"]


def cases():
    """Bodies by name: those above, and each question of each array."""
    found = dict(BODIES)
    for question in expressions(QUESTIONS):
        for kind, array in ARRAYS.items():
            found[f"{question}, of {kind}"] = f"a = {array}\nreturn x * (2.0 if {question} else 3.0)"
    return found


def wrong_answers(body):
    """Where the transforms silently differ from their definitions."""
    wrong, f, g = [], function(body), function(body)
    mapped, compiled = af.vmap(f, loop="allow"), af.compile(function(body))
    for k, batch in enumerate([BATCHES[0] * [[0], [1], [1], [1]], *BATCHES]):  # a first example of zeros shows little
        text = difference(outcome(mapped, batch.copy()), outcome(by_loop, g, batch.copy()))
        wrong += [f"vmap, call {k}: {text}"] if text else []
    g = function(body)
    for k, x in enumerate([*BATCHES[0], *BATCHES[1]]):
        found, expected = outcome(compiled, x.copy()), outcome(g, x.copy())
        if isinstance(found, CompileError) or (k and isinstance(found, Exception) and type(found) is type(expected)):
            return wrong
        if text := difference(found, expected):
            wrong.append(f"compile, call {k}: {text}")
    return wrong


PARTS = 8 if NIGHTLY else 2


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_no_number_is_as_in_the_definition(part):
    every = [*cases().items()]
    some = every[part::PARTS] if NIGHTLY else every[part :: PARTS * 10]
    wrong = [f"{name}: {text}" for name, body in some for text in wrong_answers(body)]
    assert not wrong, "\n".join(wrong)
