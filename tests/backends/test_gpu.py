"""On a real GPU: the rows of the table, transforms, writing in place, training, half precision, checkpointing.

Skipped where CuPy finds no device. ``docs/gpu.md`` says where and when these tests have run.
"""

from __future__ import annotations

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed (extra gpu-test)", exc_type=ImportError)
if not cupy.is_available():
    pytest.skip("CuPy finds no GPU here", allow_module_level=True)

from devices import (  # noqa: E402
    CASES,
    COMBINATIONS,
    INDICES,
    chosen_as,
    gone_through,
    is_refused,
    prove,
    reference,
)
from support import assert_close  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow import nn, optim  # noqa: E402
from autoflow.errors import LostGradientError, MixedArraysError, NoRuleError  # noqa: E402

pytestmark = pytest.mark.gpu


def plain(x):
    return cupy.asnumpy(x.value if isinstance(x, af.Node) else x)


@pytest.fixture
def AF():
    return af.Autodiff(cupy.ndarray)


def refused(case, dtypes, order):
    return is_refused(case.row, case.example, dtypes)


EVERY = [pytest.param(*p.values, *how, id=f"{p.id}-{how[0]}-{how[1]}") for p in CASES for how in COMBINATIONS]
RUNNING, REFUSED = [[p for p in EVERY if refused(*p.values) is wanted] for wanted in (False, True)]


@pytest.mark.parametrize(("case", "dtypes", "order"), RUNNING)
def test_row(case, dtypes, order):
    expected = reference(case, dtypes, order)
    found = gone_through(case, dtypes, cupy.asarray, order)
    expected[0] = chosen_as(case, plain(found[0]), expected[0])
    for ours, theirs in zip(found, expected, strict=True):
        if theirs is not None:
            assert isinstance(ours, cupy.ndarray)
            assert ours.dtype == theirs.dtype
            assert_close(plain(ours), theirs, 1e-3 if dtypes == "float32" else 1e-9, "on the GPU")
    if order == 1:
        prove(case, dtypes, cupy.asarray)


@pytest.mark.parametrize(("case", "dtypes", "order"), REFUSED)
def test_what_cupy_lacks_is_refused_by_cupy(case, dtypes, order):
    reference(case, dtypes, order)
    with pytest.raises((TypeError, ValueError, NotImplementedError)):
        gone_through(case, dtypes, cupy.asarray, order)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex64, np.complex128])
@pytest.mark.parametrize("i", INDICES, ids=str)
def test_what_meets_at_one_index_is_added(AF, i, dtype):
    numbers = np.linspace(-1, 1, 12).astype(dtype).reshape(3, 4)
    here, there = af.Variable(numbers), AF.Variable(numbers)
    (here[i] * 2).backward(np.ones(numbers[i].shape, dtype))
    (there[i] * 2).backward(cupy.ones(numbers[i].shape, dtype))
    assert there.grad.dtype == dtype
    np.testing.assert_array_equal(plain(there.grad), here.grad)


@pytest.mark.parametrize("i", [[0, 0, 2], (np.array([0, 0]), slice(None)), slice(1, None)], ids=str)
def test_at_of_nodes(AF, i):
    x, a = AF.Variable([3.0, 1.0]), AF.zeros((3, 2))
    y, b = af.Variable([3.0, 1.0]), af.zeros((3, 2))
    for z, v in ((a, x), (b, y)):
        np.add.at(z, i, v)
        (z**3).sum().backward()
    np.testing.assert_allclose(plain(a), b.value, rtol=1e-14)
    np.testing.assert_allclose(plain(x.grad), y.grad, rtol=1e-14)


def test_half_of_the_elements_are_folded_with_the_other(AF):
    numbers = np.random.default_rng(0).normal(size=(3, 1001))
    for reduce in (np.logaddexp.reduce, np.logaddexp2.reduce, np.hypot.reduce):
        x, y = af.Variable(numbers), AF.Variable(numbers)
        for node in (x, y):
            reduce(node, axis=1).sum().backward()
        np.testing.assert_allclose(plain(y.grad), x.grad, rtol=1e-12)


def test_a_new_array_like_a_node(AF):
    x = AF.Variable([1.0, 2.0])
    assert [plain(f(x)).tolist() for f in (np.zeros_like, np.ones_like)] == [[0, 0], [1, 1]]
    assert plain(np.full_like(x, 2.0)).tolist() == [2, 2]
    assert plain(x.astype(np.float32)).dtype == np.float32
    assert x.astype(float, copy=False) is x


def test_transforms():
    f = lambda x: np.sum(np.tanh(x) ** 3)  # noqa: E731
    x = np.array([0.3, -0.7, 1.1])
    for transform in (af.grad, af.hessian):
        np.testing.assert_allclose(plain(transform(f)(cupy.asarray(x))), transform(f)(x), rtol=1e-12)
    there, here = cupy.asarray(x), np.ones(3)
    np.testing.assert_allclose(plain(af.hvp(f, there, cupy.asarray(here))), af.hvp(f, x, here), rtol=1e-12)
    assert af.gradcheck(lambda x, y: np.sum(np.linalg.inv(x) @ y), cupy.eye(2) + 0.1, cupy.ones(2), order=2)


READ = {
    "where": lambda xp, x: xp.where(x > 0, x, 0), "concatenate": lambda xp, x: xp.concatenate([x, x]),
    "stack": lambda xp, x: xp.stack([x, x * x]), "einsum": lambda xp, x: xp.einsum("i,i->i", x, x),
    "einsum to a matrix": lambda xp, x: xp.einsum("i,j->ij", x, x), "norm": lambda xp, x: xp.linalg.norm(x),
    "solve": lambda xp, x: xp.linalg.solve(xp.eye(3) * 2, x), "inv": lambda xp, x: xp.linalg.inv(xp.diag(x + 2)),
    "diag": lambda xp, x: xp.diag(x), "dot": lambda xp, x: xp.array([1.0, 2.0, 0.0]).dot(x),
    "matmul": lambda xp, x: xp.matmul(xp.outer(x, x), x), "tensordot": lambda xp, x: xp.tensordot(x, x, 1),
    "cumsum": lambda xp, x: xp.cumsum(x), "sort": lambda xp, x: xp.sort(x), "max": lambda xp, x: xp.max(x),
    "var": lambda xp, x: xp.var(x), "median": lambda xp, x: xp.median(x), "clip": lambda xp, x: xp.clip(x, -0.5, 0.2),
    "take": lambda xp, x: xp.take(x, xp.array([0, 0, 2])), "roll": lambda xp, x: xp.roll(x, 1),
    "flip": lambda xp, x: xp.flip(x), "tile": lambda xp, x: xp.tile(x, 2), "repeat": lambda xp, x: xp.repeat(x, 2),
    "pad": lambda xp, x: xp.pad(x, 1), "kron": lambda xp, x: xp.kron(x, x),
    "interp": lambda xp, x: xp.interp(x, xp.arange(-2.0, 3), xp.arange(-2.0, 3) ** 2),
    "fft": lambda xp, x: xp.real(xp.fft.fft(x)), "sinc": lambda xp, x: xp.sinc(x),
    "asarray": lambda xp, x: xp.asarray(x), "array": lambda xp, x: xp.array(x),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray(x), "full": lambda xp, x: xp.full(3, x[0]),
    "on the host": lambda xp, x: x.sum() * float(cupy.asnumpy(x).sum()),
    "in place": lambda xp, x: xp.add(x, 1, out=xp.empty(3)), "sum into": lambda xp, x: xp.sum(x, out=xp.empty(())),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("joined", ["added", "multiplied"])
def test_a_function_of_cupys_has_the_gradient_of_numpys_or_is_an_error(name, joined):
    def f(xp, x):
        z = np.sum(READ[name](xp, x)) if xp is np else READ[name](xp, x * 1.0).sum()
        return np.sum(x**2) + z if joined == "added" else np.sum(x**2) * z

    x, h = np.array([0.3, -0.7, 0.1]), np.eye(3) * 1e-6
    right = [(f(np, x + step) - f(np, x - step)) / 2e-6 for step in h]
    try:
        found = af.grad(lambda x: f(cupy, x))(cupy.asarray(x))
    except (LostGradientError, NoRuleError, MixedArraysError):
        return
    np.testing.assert_allclose(plain(found), right, rtol=1e-6, atol=1e-6)


def test_the_proof_leaves_no_trace():
    u, parameter = cupy.zeros(3), af.Variable(cupy.ones(3))

    def f(x):
        u[0] += 1
        with af.no_grad():
            parameter[:] = parameter * 2
        return np.sum(x * x)

    assert plain(af.grad(f)(cupy.ones(3))).tolist() == [2, 2, 2]
    assert (u.tolist(), plain(parameter).tolist()) == ([1, 0, 0], [2, 2, 2])


def test_in_place(AF):
    x = AF.Variable([1.0, 2.0])
    a = AF.zeros(3)
    a[0] = x[0] * 2
    a[1:] = x**2
    a *= 3.0
    (a * a).sum().backward()
    np.testing.assert_allclose(plain(x.grad), [9 * (8 + 4), 9 * 4 * 8], rtol=1e-12)


def test_the_digits(AF):
    datasets = pytest.importorskip("sklearn.datasets")
    images, labels = datasets.load_digits(return_X_y=True)
    x, y = cupy.asarray(images / 16), cupy.asarray(labels)
    rng = np.random.default_rng(0)
    w1, b1 = AF.Variable(rng.normal(size=(64, 64)) / 8), AF.Variable(np.zeros(64))
    w2, b2 = AF.Variable(rng.normal(size=(64, 10)) / 8), AF.Variable(np.zeros(10))
    scores = lambda x: np.tanh(x @ w1 + b1) @ w2 + b2  # noqa: E731
    opt = optim.Adam([w1, b1, w2, b2], 0.01)
    for epoch in range(60):
        order = np.random.default_rng(epoch).permutation(1400)
        for k in range(0, 1400, 100):
            opt.zero_grad()
            nn.cross_entropy(scores(x[order[k : k + 100]]), y[order[k : k + 100]]).backward()
            opt.step()
    right = np.argmax(plain(scores(x[1400:])), axis=1) == labels[1400:]
    assert right.mean() > 0.9


def test_half_precision_with_a_scaler(AF):
    w = AF.Variable(np.linspace(-1, 1, 12).reshape(3, 4).astype(np.float32))
    x, target = cupy.ones((8, 3), np.float32), cupy.zeros((8, 4), np.float32)
    scaler, opt, losses = af.GradScaler(), optim.SGD([w], 0.1), []
    for _ in range(10):
        opt.zero_grad()
        with af.autocast():
            loss = nn.mse_loss(x @ w, target)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        losses.append(float(loss))
    assert w.dtype == np.float32
    assert losses[-1] < losses[0] / 2


def test_checkpoint(AF):
    x = AF.Variable([0.5, 1.5])
    af.checkpoint(lambda x: np.exp(np.sin(x)))(x).sum().backward()
    np.testing.assert_allclose(plain(x.grad), np.exp(np.sin([0.5, 1.5])) * np.cos([0.5, 1.5]), rtol=1e-12)


def test_to_and_fro():
    x = af.Variable([1.0, 2.0])
    (np.exp(x.to_gpu()).to_cpu() * 2).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * np.exp([1, 2]))


def test_printing_and_drawing(AF):
    x = AF.Variable(np.arange(1e4).reshape(100, 100), name="x")
    z = np.tanh(x).sum()
    z.backward()
    assert repr(x) == repr(af.Variable(np.arange(1e4).reshape(100, 100), name="x"))
    assert "tanh" in str(z.graph())
