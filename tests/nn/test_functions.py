"""Functions, losses, convolution and pooling: gradients against differences, twice; PyTorch's values; bad input."""

from pathlib import Path

import numpy as np
import pytest
from frozen import check_frozen
from support import directional

import autoflow as af
from autoflow import nn
from autoflow.errors import DataError
from autoflow.nn.module import InputError

RNG = np.random.default_rng(7)


def draw(*shape):
    return np.random.default_rng([7, *shape]).normal(size=shape)


def classes(*shape):
    return np.random.default_rng([8, *shape]).integers(0, 3, shape)


SEES = np.array([[True, False, False, True], [False, False, False, False], [True, True, True, True]])
T3 = draw(2, 3)
# These cases close over float64 targets, and so their result is float64; see test_single_precision_targets.
DOUBLE = {"bce", "bce logits", "cross_entropy p", "kl_div", "l1_loss", "huber_loss", "hinge_loss", "batch_norm in use"}
P3 = np.abs(T3) / np.abs(T3).sum(1, keepdims=True)
# name of the case -> (function of the Variables, their values)
CASES = {
    "tanh": (nn.tanh, [draw(2, 3)]), "softplus": (nn.softplus, [draw(2, 3)]),
    "softplus beta": (lambda x: nn.softplus(x, 2.5), [draw(2, 3)]), "elu": (lambda x: nn.elu(x, 0.7), [draw(2, 3)]),
    "silu": (nn.silu, [draw(2, 3)]), "gelu": (nn.gelu, [draw(2, 3)]),
    "gelu tanh": (lambda x: nn.gelu(x, "tanh"), [draw(2, 3)]),
    "dropout": (lambda x: nn.dropout(x, 0.4, rng=np.random.default_rng(0)), [draw(4, 3)]),
    "layer_norm": (lambda x, w, b: nn.layer_norm(x, (2, 3), w, b), [draw(2, 2, 3), draw(2, 3), draw(2, 3) + 1]),
    "batch_norm": (lambda x, w, b: nn.batch_norm(x, None, None, w, b, True), [draw(3, 2, 2), draw(2), draw(2) + 1]),
    "batch_norm in use": (lambda x, w, b: nn.batch_norm(x, P3[0], P3[1], w, b), [draw(3, 3), draw(3), draw(3) + 1]),
    "embedding": (lambda w: nn.embedding(np.array([[0, 2], [2, 2]]), w), [draw(3, 2)]),
    "attention": (nn.scaled_dot_product_attention, [draw(2, 3, 2), draw(2, 4, 2), draw(2, 4, 3)]),
    "attention causal": (lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, is_causal=True),
                         [draw(3, 2), draw(3, 2) + 1, draw(3, 3)]),
    "attention mask": (lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, SEES, scale=0.3),
                       [draw(3, 2), draw(4, 2), draw(4, 3)]),
    "conv1d": (lambda x, w, b: nn.conv1d(x, w, b, 2, 1, 2), [draw(2, 2, 7), draw(3, 2, 2), draw(3)]),
    "conv2d": (lambda x, w, b: nn.conv2d(x, w, b, (1, 2), (0, 1)), [draw(2, 2, 4, 3), draw(3, 2, 2, 2), draw(3)]),
    "conv2d groups": (lambda x, w: nn.conv2d(x, w, groups=2), [draw(1, 2, 3, 3), draw(4, 1, 2, 2)]),
    "conv2d same": (lambda x, w: nn.conv2d(x, w, padding="same"), [draw(1, 1, 3, 4), draw(1, 1, 2, 3)]),
    "group_norm": (lambda x, w, b: nn.group_norm(x, 2, w, b), [draw(2, 4, 3), draw(4), draw(4) + 1]),
    "conv_transpose1d": (lambda x, w, b: nn.conv_transpose1d(x, w, b, 3, 2, 1, 2, 2),
                         [draw(2, 4, 3), draw(4, 1, 3), draw(2)]),
    "conv_transpose2d": (lambda x, w, b: nn.conv_transpose2d(x, w, b, 2, (0, 1)),
                         [draw(1, 2, 3, 2), draw(2, 3, 3, 3), draw(3)]),
    "max_pool2d": (lambda x: nn.max_pool2d(x, 2, 1, 1), [draw(1, 2, 3, 3)]),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x, (2, 1), 2), [draw(1, 2, 4, 3)]),
    "mse_loss": (lambda x, t: nn.mse_loss(x, t), [draw(2, 3), draw(3, 2).T]),
    "l1_loss": (lambda x: nn.l1_loss(x, T3 + 0.5), [draw(2, 3)]),
    "huber_loss": (lambda x: nn.huber_loss(x, draw(3, 2).T, delta=0.8, reduction="none"), [draw(2, 3)]),
    "bce": (lambda x: nn.binary_cross_entropy(x, P3), [P3[::-1] * 0.9 + 0.05]),
    "bce logits": (lambda x: nn.binary_cross_entropy_with_logits(x, P3, reduction="sum"), [draw(2, 3)]),
    "cross_entropy": (lambda x: nn.cross_entropy(x, np.array([0, 2])), [draw(2, 3)]),
    "cross_entropy p": (lambda x: nn.cross_entropy(x, P3, label_smoothing=0.1), [draw(2, 3)]),
    "cross_entropy pixels": (lambda x: nn.cross_entropy(x, np.where(classes(2, 4) == 1, 9, classes(2, 4)),
                                                        ignore_index=9, label_smoothing=0.2), [draw(2, 3, 4)]),
    "nll_loss": (lambda x: nn.nll_loss(x, np.array([0, 2])), [draw(2, 3)]),
    "kl_div": (lambda x: nn.kl_div(x, P3, reduction="batchmean"), [draw(2, 3)]),
    "kl_div log": (lambda x, t: nn.kl_div(x, t, log_target=True), [draw(2, 3), draw(3, 2).T]),
    "hinge_loss": (lambda x: nn.hinge_loss(x, np.sign(draw(3, 2).T)), [draw(2, 3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    """First derivatives in float64 and float32; second ones against differences of the first."""
    f, xs = CASES[name]
    z = np.asarray(f(*xs))
    seed = RNG.normal(size=z.shape)
    directions = [RNG.normal(size=x.shape) for x in xs]

    def loss(values):
        made = f(*values)
        return np.sum(made * seed + 0.5 * made * made)

    def slope(values, create_graph=False):
        leaves = [af.Variable(x) for x in values]
        af.backward(loss(leaves), create_graph=create_graph)
        return sum([np.sum(v.grad * d) for v, d in zip(leaves, directions, strict=True)]), leaves

    first, _ = slope(xs)
    assert first == pytest.approx(directional(lambda at: float(loss(at)), xs, directions), rel=1e-7, abs=1e-7)

    again, leaves = slope(xs, create_graph=True)
    assert float(again) == pytest.approx(first, rel=1e-12, abs=1e-12)
    for leaf in leaves:
        leaf.zero_grad()
    second = directional(lambda at: slope(at)[0], xs, directions)
    if getattr(again, "requires_grad", False):
        again.backward()
        ours = sum([np.sum(v.grad * d) for v, d in zip(leaves, directions, strict=True) if v.grad is not None])
        assert ours == pytest.approx(second, rel=1e-6, abs=1e-6)
    else:
        assert second == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name not in DOUBLE])
def test_single_precision_stays(name):
    f, xs = CASES[name]
    leaves = [af.Variable(x.astype(np.float32)) for x in xs]
    z = f(*leaves)
    assert z.dtype == np.float32
    z.backward(np.ones(z.shape, np.float32))
    double = [af.Variable(x) for x in xs]
    f(*double).backward(np.ones(z.shape))
    for ours, right in zip(leaves, double, strict=True):
        assert ours.grad.dtype == np.float32
        np.testing.assert_allclose(ours.grad, right.grad, rtol=2e-4, atol=2e-5)


def test_single_precision_targets():
    x, p = af.Variable(np.float32(P3)), np.float32(P3)
    losses = [nn.mse_loss, nn.l1_loss, nn.huber_loss, nn.binary_cross_entropy, nn.binary_cross_entropy_with_logits,
              nn.cross_entropy, nn.kl_div]  # fmt: skip
    for loss in losses:
        assert loss(x, p).dtype == np.float32, loss
    for loss in (*losses[:-2], nn.hinge_loss):
        assert loss(x, np.ones((2, 3), int)).dtype == np.float32, loss
    mean, var = np.zeros(3, np.float32), np.ones(3, np.float32)
    assert nn.batch_norm(x, mean, var).dtype == np.float32
    assert nn.batch_norm(x, mean, var, training=True).dtype == np.float32
    assert mean.dtype == np.float32


# -- PyTorch ---------------------------------------------------------------------------------------------------------


# the same call in both: (name, arguments, options); every array that is float is differentiated
SAME = [
    *[(f, [draw(3, 4)], {}) for f in ("relu", "leaky_relu", "elu", "gelu", "softplus", "silu", "sigmoid", "tanh")],
    ("gelu", [draw(3, 4)], {"approximate": "tanh"}), ("softplus", [draw(3, 4)], {"beta": 2.0}),
    ("elu", [np.array([0.0, -1.0])], {"alpha": 0.5}), ("relu", [np.array([0.0, -1.0])], {}),
    ("leaky_relu", [np.array([0.0, -1.0])], {}),
    ("layer_norm", [draw(2, 3, 4), (3, 4), draw(3, 4), draw(3, 4) + 1], {}),
    ("batch_norm", [draw(5, 3, 2), None, None, draw(3), draw(3) + 1], {"training": True}),
    ("conv1d", [draw(2, 4, 9), draw(6, 2, 3), draw(6)],
     {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}),
    ("conv2d", [draw(2, 3, 7, 6), draw(4, 3, 3, 2), draw(4)], {"stride": (2, 1), "padding": (1, 0)}),
    ("conv2d", [draw(2, 3, 5, 6), draw(4, 3, 4, 3), draw(4)], {"padding": "same"}),
    ("max_pool2d", [draw(2, 3, 7, 6), 3], {"stride": 2, "padding": 1}),
    ("avg_pool2d", [draw(2, 3, 7, 6), (3, 2)], {"stride": 2, "padding": 1}),
    ("embedding", [classes(4, 2), draw(3, 5)], {}),
    ("scaled_dot_product_attention", [draw(2, 5, 3), draw(2, 6, 3), draw(2, 6, 4)], {}),
    ("scaled_dot_product_attention", [draw(2, 6, 3), draw(2, 6, 3), draw(2, 6, 4)], {"is_causal": True}),
    ("scaled_dot_product_attention", [draw(3, 2), draw(4, 2), draw(4, 3), SEES[[0, 0, 2]]], {}),
    ("mse_loss", [draw(3, 4), draw(4, 3).T], {}), ("l1_loss", [draw(3, 4), draw(4, 3).T], {"reduction": "sum"}),
    ("huber_loss", [draw(3, 4), draw(4, 3).T], {"delta": 0.5}), ("binary_cross_entropy", [P3, P3[::-1].copy()], {}),
    ("binary_cross_entropy", [np.array([0.0, 1.0, 0.5]), np.array([0.0, 1.0, 1.0])], {"values only": True}),
    ("binary_cross_entropy", [np.array([1.0, 0.0]), np.array([0.0, 1.0])], {"values only": True}),
    ("binary_cross_entropy_with_logits", [40 * draw(3, 4), np.abs(np.sin(draw(4, 3).T))], {}),
    ("cross_entropy", [30 * draw(5, 3), classes(5)], {"label_smoothing": 0.1}),
    ("cross_entropy", [draw(5, 3), np.array([0, 1, 2, 1, 0])], {"ignore_index": 1, "label_smoothing": 0.1}),
    ("cross_entropy", [draw(2, 3, 2), np.array([[0, 1], [1, 2]])], {"ignore_index": 1}),
    ("cross_entropy", [draw(5, 3, 2), np.abs(draw(2, 3, 5).T)], {"label_smoothing": 0.2}),
    ("cross_entropy", [draw(3), np.array(2)], {}),
    ("nll_loss", [draw(3, 3), np.array([0, 1, 2])], {"ignore_index": 0, "reduction": "none"}),
    ("kl_div", [draw(2, 3), P3], {}),
    ("kl_div", [draw(2, 3), np.array([[1.0, 0, 0], [0, 0.5, 0.5]])], {"reduction": "batchmean", "values only": True}),
    ("kl_div", [draw(2, 3), np.log(P3)], {"log_target": True, "reduction": "sum"}),
    ("group_norm", [draw(2, 6, 3, 2), 3, draw(6), draw(6) + 1], {"eps": 1e-3}), ("group_norm", [draw(3, 4), 1], {}),
    ("conv_transpose1d", [draw(2, 3, 5), draw(3, 2, 4), draw(2)], {"stride": 3, "padding": 2, "output_padding": 1}),
    ("conv_transpose1d", [draw(2, 4, 5), draw(4, 3, 2), draw(6)], {"groups": 2, "dilation": 3, "stride": 2}),
    ("conv_transpose1d", [draw(1, 1, 3), draw(1, 1, 2)], {"stride": 4}),
    ("conv_transpose2d", [draw(2, 3, 4, 3), draw(3, 2, 4, 4), draw(2)], {"stride": 2, "padding": 1}),
    ("conv_transpose2d", [draw(2, 2, 3, 4), draw(2, 3, 2, 3)],
     {"stride": (3, 1), "padding": (1, 0), "dilation": (2, 2), "output_padding": (2, 1)}),
    ("conv_transpose2d", [draw(1, 2, 3, 4), draw(2, 1, 3, 3)], {}),
]  # fmt: skip


# PyTorch's results of these, frozen. Where it is installed, the tests marked `peers` write them anew with
# AUTOFLOW_FREEZE=1.
GOLDEN = Path(__file__).parents[1] / "golden" / "nn.npz"


def isfloat(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def seed_of(z):
    return np.cos(np.arange(z.size)).reshape(z.shape)


def ours(name, arguments, options):
    """The result, and unless only values are wanted the gradient of each float array."""
    options = dict(options)
    values_only = options.pop("values only", False)
    given = [af.Variable(x) if isfloat(x) else x for x in arguments]
    z = getattr(nn, name)(*given, **options)
    if values_only:
        return [z.value]
    z.backward(seed_of(z))
    return [z.value, *[x.grad for x in given if isinstance(x, af.Variable)]]


def pytorchs(name, arguments, options):
    """The same of PyTorch."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    options = dict(options)
    values_only = options.pop("values only", False)
    f = getattr(torch.nn.functional, name, None) or getattr(torch, name)
    given = [torch.tensor(x, requires_grad=isfloat(x)) if isinstance(x, np.ndarray) else x for x in arguments]
    z = f(*given, **options)
    if values_only:
        return [z.detach().numpy()]
    z.backward(torch.tensor(seed_of(z.detach().numpy())))
    return [z.detach().numpy(), *[x.grad.numpy() for x in given if getattr(x, "requires_grad", False)]]


@pytest.mark.parametrize("k", range(len(SAME)), ids=lambda k: f"{k} {SAME[k][0]}")
def test_values_and_gradients_are_pytorchs(k):
    with np.load(GOLDEN) as file:
        for n, found in enumerate(ours(*SAME[k])):
            np.testing.assert_allclose(found, file[f"{k} {SAME[k][0]} {n}"], rtol=1e-9, atol=1e-11)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:reduction:UserWarning", "ignore:Using padding:UserWarning")
def test_the_golden_results_are_those_of_the_pytorch_here():
    results = {f"{k} {c[0]} {n}": a for k, c in enumerate(SAME) for n, a in enumerate(pytorchs(*c))}
    check_frozen(GOLDEN, results)


def test_softmax_of_large_numbers():
    x = 50 * draw(4, 3)
    e = np.exp(x - x.max(axis=0))
    np.testing.assert_allclose(nn.softmax(x, 0), e / e.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(nn.log_softmax(x, 0), np.log(e / e.sum(axis=0)), rtol=1e-12, atol=1e-15)


def test_running_means_and_variances():
    """A tenth of the new one is taken; of variances that of a sample, which is divided by n − 1."""
    found, right = [np.zeros(3), np.ones(3)], [np.zeros(3), np.ones(3)]
    for k in range(3):
        x = draw(4, 3, 2) * (k + 1)
        nn.batch_norm(af.Variable(x), *found, training=True)
        new = x.mean(axis=(0, 2)), x.var(axis=(0, 2), ddof=1)
        right = [0.9 * old + 0.1 * part for old, part in zip(right, new, strict=True)]
    np.testing.assert_allclose(found, right, rtol=1e-12)


# -- what they say of themselves -------------------------------------------------------------------------------------


def test_kinks_and_extremes():
    assert nn.elu(np.array([-1, 2], np.int8)).tolist() == [np.expm1(-1.0), 2.0]
    x = af.Variable([0.0, 1000.0, -1000.0])
    for f, right in ((nn.elu, [1, 1, 0]), (nn.softplus, [0.5, 1, 0]), (nn.silu, [0.5, 1, 0]), (nn.gelu, [0.5, 1, 0])):
        x.zero_grad()
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            f(x).backward(np.ones(3))
        np.testing.assert_allclose(x.grad, right, atol=1e-12)
    for target in (0.0, 1.0):
        x.zero_grad()
        z = nn.binary_cross_entropy_with_logits(x, np.full(3, target), reduction="none")
        z.backward(np.ones(3))
        np.testing.assert_allclose(z.value, [np.log(2), 1000 * (1 - target), 1000 * target], rtol=1e-12)
        np.testing.assert_allclose(x.grad, np.array([0.5, 1, 0]) - target, atol=1e-12)


def test_means_of_half_precision_are_not_infinite():
    """Their sums are."""
    scores, labels = np.zeros((20_000, 200), np.float16), np.zeros(20_000, int)
    labels[:9_000] = -100
    w = af.Variable(scores)
    loss = nn.cross_entropy(w, labels)
    loss.backward()
    assert loss.dtype == w.grad.dtype == np.float16
    assert float(loss) == pytest.approx(np.log(200), rel=1e-3)
    assert w.grad[-1, 0] == pytest.approx(-1 / 11_000, rel=1e-2)
    found = nn.kl_div(np.full((30_000, 2), -3, np.float16), np.ones((30_000, 2), np.float16), reduction="batchmean")
    assert float(found) == 6


@pytest.mark.parametrize("delta", [0.5, 1.0, 1e300, np.inf])
def test_huber_of_any_delta(delta):
    x = np.array([-3.0, -0.5, 0.0, 0.25, 2.0 if delta == np.inf else np.inf])
    gradient = af.grad(lambda w: nn.huber_loss(w, np.zeros(5), delta=delta, reduction="sum"))
    for g in (gradient, af.compile(gradient)):
        assert np.array_equal(g(x), np.clip(x, -delta, delta))


@pytest.mark.parametrize(("keys", "mask"), [
    (4, SEES), (0, None), (0, np.zeros((3, 0))), (0, np.zeros((3, 0), bool)),
])  # fmt: skip
def test_a_query_that_sees_nothing(keys, mask):
    q, k, v = (af.Variable(x) for x in (draw(3, 2), draw(keys, 2), draw(keys, 3)))
    z = nn.scaled_dot_product_attention(q, k, v, mask)
    z.sum().backward()
    assert (z.value[1].tolist(), q.grad[1].tolist()) == ([0, 0, 0], [0, 0])
    assert all(np.isfinite(x.grad).all() for x in (q, k, v))


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (3, 2, 2), (4, 0, 3)])
def test_a_transposed_convolution_is_what_a_convolution_sends_back(stride, padding, dilation):
    x, w = af.Variable(draw(2, 3, 17)), draw(4, 3, 3)
    z = nn.conv1d(x, w, None, stride, padding, dilation)
    g = draw(*z.shape)
    z.backward(g)
    there = nn.conv_transpose1d(g, w, None, stride, padding, 0, 1, dilation)
    np.testing.assert_allclose(there, x.grad[..., : there.shape[-1]], rtol=1e-12, atol=1e-13)
    assert not x.grad[..., there.shape[-1] :].any()  # what the windows did not reach


def test_dropout_keeps_the_mean_and_counts():
    x = np.ones(100_000)
    z = nn.dropout(x, 0.25, rng=np.random.default_rng(1))
    assert set(np.unique(z)) == {0, 1 / 0.75}
    assert z.mean() == pytest.approx(1, abs=0.01)
    assert nn.dropout(x, 0.25, training=False) is x
    assert not nn.dropout(x, 1.0, rng=np.random.default_rng(1)).any()
    assert nn.dropout(af.Variable(x), 0.5, rng=np.random.default_rng(0)).requires_grad


def test_targets_need_not_add_up_to_one_and_small_losses_keep_their_digits():
    x, t = draw(2, 3), np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    z = nn.cross_entropy(x, t, reduction="none")
    np.testing.assert_allclose(z, [-nn.log_softmax(x)[0, :2].sum(), 0], rtol=1e-6)
    z = nn.binary_cross_entropy_with_logits(np.array([40.0]), np.array([1.0]))
    assert z == pytest.approx(np.exp(-40), rel=1e-12, abs=0)


# -- bad input -------------------------------------------------------------------------------------------------------

X23 = draw(2, 3)
BAD = {
    "mse_loss.*shape \\(2, 3\\), targets \\(2,\\)": lambda: nn.mse_loss(X23, np.zeros(2)),
    "reduction is": lambda: nn.mse_loss(X23, X23, reduction="avg"),
    "mse_loss.*empty": lambda: nn.mse_loss(np.zeros((0, 3)), np.zeros((0, 3))),
    "cross_entropy.*every target is ignored": lambda: nn.cross_entropy(X23, np.array([5, 5]), ignore_index=5),
    "label 3 is not one of the 3 classes": lambda: nn.cross_entropy(X23, np.array([0, 3])),
    "label -1": lambda: nn.nll_loss(X23, np.array([0, -1])),
    "class numbers of shape \\(2,\\)": lambda: nn.cross_entropy(X23, np.array([0, 1, 2])),
    "label_smoothing": lambda: nn.cross_entropy(X23, np.array([0, 1]), label_smoothing=2),
    "cross_entropy expected scores": lambda: nn.cross_entropy(np.zeros((2, 0)), np.zeros(2, int)),
    "probabilities": lambda: nn.binary_cross_entropy(np.array([1.5]), np.array([1.0])),
    "delta must be positive": lambda: nn.huber_loss(X23, X23, delta=0),
    "targets are -1 or 1": lambda: nn.hinge_loss(X23, np.zeros((2, 3))),
    "embedding: label 9": lambda: nn.embedding(np.array([9]), X23),
    "conv2d expected input of shape \\(n, 3, height, width\\), got \\(1, 2, 4, 4\\)":
        lambda: nn.conv2d(draw(1, 2, 4, 4), draw(5, 3, 2, 2)),
    "conv1d expected weight": lambda: nn.conv1d(draw(1, 2, 4), draw(5, 3)),
    "expected bias of shape \\(5,\\), got \\(4,\\)": lambda: nn.conv1d(draw(1, 2, 4), draw(5, 2, 2), draw(4)),
    "does not fit": lambda: nn.conv1d(draw(1, 2, 4), draw(5, 2, 6)),
    "stride is an integer": lambda: nn.conv1d(draw(1, 2, 4), draw(5, 2, 2), stride=0),
    "needs stride 1": lambda: nn.conv1d(draw(1, 2, 4), draw(5, 2, 2), stride=2, padding="same"),
    "among 2 groups": lambda: nn.conv1d(draw(1, 4, 4), draw(5, 2, 2), groups=2),
    "conv_transpose1d expected input of shape \\(n, 5, length\\)":
        lambda: nn.conv_transpose1d(draw(1, 2, 4), draw(5, 2, 2)),
    "conv_transpose2d expected weight": lambda: nn.conv_transpose2d(draw(1, 2, 4, 4), draw(2, 5)),
    "5 channels in cannot be shared among 2": lambda: nn.conv_transpose1d(draw(1, 5, 4), draw(5, 2, 2), groups=2),
    "must be less than stride": lambda: nn.conv_transpose1d(draw(1, 2, 4), draw(2, 2, 2), output_padding=1),
    "nothing is left of \\(5,\\)": lambda: nn.conv_transpose1d(draw(1, 2, 4), draw(2, 2, 2), padding=3),
    "bias of shape \\(3,\\)": lambda: nn.conv_transpose1d(draw(1, 2, 4), draw(2, 3, 2), draw(2)),
    "group_norm: 4 channels cannot be shared among 3": lambda: nn.group_norm(draw(2, 4), 3),
    "group_norm expected weight of shape \\(4,\\)": lambda: nn.group_norm(draw(2, 4), 2, draw(2)),
    "group_norm expected input": lambda: nn.group_norm(draw(4), 2),
    "more than half": lambda: nn.max_pool2d(draw(1, 1, 4, 4), 2, padding=2),
    "layer_norm expected input of shape \\(..., 4\\)": lambda: nn.layer_norm(X23, 4),
    "more than one value": lambda: nn.batch_norm(draw(1, 3), training=True),
    "layer_norm.*at least one axis": lambda: nn.layer_norm(X23, ()),
    "n, channels": lambda: nn.batch_norm(draw(3), training=True), "needs running_mean": lambda: nn.batch_norm(X23),
    "p is the probability": lambda: nn.dropout(X23, 1.5), "approximate": lambda: nn.gelu(X23, "erf"),
    "expected key": lambda: nn.scaled_dot_product_attention(X23, draw(2, 4), X23),
    "layer_norm expected weight of shape \\(3,\\), got \\(2, 1\\)": lambda: nn.layer_norm(X23, 3, draw(2, 1)),
    "layer_norm expected bias of shape \\(2, 3\\), got \\(3,\\)": lambda: nn.layer_norm(X23, (2, 3), None, draw(3)),
    "batch_norm expected weight of shape \\(3,\\)": lambda: nn.batch_norm(X23, weight=draw(3, 1), training=True),
    "batch_norm expected running_var of": lambda: nn.batch_norm(X23, draw(3), draw(1), training=True),
    "in training both or neither": lambda: nn.batch_norm(X23, draw(3), training=True),
    "not both": lambda: nn.scaled_dot_product_attention(X23, X23, X23, np.ones((2, 2), bool), is_causal=True),
}  # fmt: skip


OTHER_KINDS = {
    r"conv2d expected floats, got uint8 of shape \(1, 1, 4, 4\).*divided by 255":
        lambda: nn.conv2d(np.zeros((1, 1, 4, 4), np.uint8), draw(1, 1, 2, 2)),
    "integer class numbers": lambda: nn.cross_entropy(X23, np.array([0.0, 1.0])),
    "labels that are masked": lambda: nn.cross_entropy(X23, np.ma.array([0, 1], mask=[False, True])),
    "got list": lambda: nn.mse_loss([1.0], [1.0]), "real floats": lambda: nn.mse_loss(X23 + 1j, X23),
    "attn_mask is boolean or floats that are added, not int64":
        lambda: nn.scaled_dot_product_attention(X23, X23, X23, np.tri(2, dtype=np.int64)),
    "elu is a function of real numbers": lambda: nn.elu(np.array([1j])),
}  # fmt: skip
REFUSED = {InputError: BAD, DataError: OTHER_KINDS, TypeError: {"dropout needs rng": lambda: nn.dropout(X23, 0.5)}}


@pytest.mark.parametrize(("error", "message"), [(error, text) for error, calls in REFUSED.items() for text in calls])
def test_bad_input(error, message):
    with pytest.raises(error, match=message):
        REFUSED[error][message]()


OF_ONE_ARRAY = [
    nn.elu, nn.erf, nn.gelu, nn.leaky_relu, nn.log_softmax, nn.relu, nn.sigmoid, nn.silu, nn.softmax, nn.softplus,
    nn.tanh, lambda x: nn.gelu(x, "tanh"), lambda x: nn.softplus(x, 50),
    lambda x: nn.dropout(x, 0.3, rng=np.random.default_rng(0)), lambda x: nn.layer_norm(x, 4),
    lambda x: nn.group_norm(x, 2), lambda x: nn.batch_norm(x, training=True),
]  # fmt: skip


@pytest.mark.parametrize("f", OF_ONE_ARRAY[:11])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2)])
def test_of_no_elements_none_are_made(f, shape):
    assert f(np.zeros(shape)).shape == af.grad(lambda x: np.sum(f(x)))(np.zeros(shape)).shape == shape


@pytest.mark.parametrize("f", OF_ONE_ARRAY)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64])
def test_whole_numbers_give_what_floats_give_or_are_refused(f, dtype):
    x = np.arange(8).reshape(2, 4).astype(dtype)
    try:
        found = f(x)
    except DataError:
        return
    np.testing.assert_allclose(found, f(x.astype(float)), rtol=1e-3)
    if dtype is not bool:  # from a compiled function, too
        np.testing.assert_array_equal(af.compile(f)(x), found)


OF_TARGETS = {name: getattr(nn.losses, name) for name in nn.losses.__all__ if name != "nll_loss"}


@pytest.mark.parametrize("name", OF_TARGETS)
def test_no_loss_hides_a_number_that_is_none(name):
    """NaN among predictions or targets, logarithms where probabilities should be, complex targets: NaN or an error."""
    loss, x, ones = OF_TARGETS[name], np.full((2, 3), 0.5), np.ones((2, 3))
    with pytest.raises((DataError, InputError), match=r"complex128|class numbers"):
        loss(x, ones + 1j)
    for k in range(2):
        given = [x.copy(), ones.copy()]
        given[k][1, 1] = np.nan
        try:
            with np.errstate(invalid="ignore"):
                assert np.isnan(loss(*given))
        except InputError:
            assert name in {"binary_cross_entropy", "hinge_loss"}
    if name == "kl_div":
        with np.errstate(invalid="ignore"):
            assert np.isnan(loss(np.log(x), np.log(x)))
        assert loss(np.log(x), np.log(x), log_target=True) == 0


# -- half precision: computed in single precision, as PyTorch does, and rounded once

HALF = {
    "layer_norm": lambda x: nn.layer_norm(x, 600), "group_norm": lambda x: nn.group_norm(x, 3),
    "batch_norm": lambda x: nn.batch_norm(x, training=True),
    "batch_norm in use": lambda x: nn.batch_norm(x, np.full(600, -5e4), np.full(600, 1e4)),
    "softmax": lambda x: nn.softmax(x / 1000), "softmax along the first axis": lambda x: nn.softmax(x.T / 1000, 0),
    "log_softmax along the first axis": lambda x: nn.log_softmax(x.T / 1000, 0), "gelu": lambda x: nn.gelu(x, "tanh"),
    "gelu by erf": nn.gelu, "elu": nn.elu, "silu": nn.silu, "softplus": nn.softplus,
    "softplus with a bend": lambda x: nn.softplus(x, 50.0),
}  # fmt: skip


@pytest.mark.parametrize("size", [1.0, 300.0, 10_000.0])
@pytest.mark.parametrize("name", HALF)
def test_half_precision(name, size):
    x = (size * np.random.default_rng(0).normal(size=(4, 600))).astype(np.float16)
    seed = np.random.default_rng(1).uniform(0.5, 1, size=np.shape(HALF[name](x)))
    found = []
    for dtype in (np.float16, np.float64):
        w = af.Variable(x.astype(dtype))
        with np.errstate(under="ignore", over="ignore"):
            z = HALF[name](w)
        z.backward(seed.astype(dtype))
        assert z.dtype == w.grad.dtype == dtype
        found.append((z.value, w.grad))
    for ours, right in zip(*found, strict=True):
        smallest = float(np.finfo(np.float16).smallest_subnormal)
        np.testing.assert_allclose(ours, right, rtol=0, atol=1e-2 * np.max(np.abs(right)) + smallest)


def test_scores_of_half_precision_do_not_overflow():
    """Nor under autocast. The products of queries and keys would, if they were computed before they are scaled."""
    given = np.full((1, 64), 40.0), np.array([[40.0], [39.0], [10.0]]) * np.ones(64), np.eye(3)
    half, single = [[af.Variable(x.astype(dtype)) for x in given] for dtype in (np.float16, np.float32)]
    np.testing.assert_array_equal(nn.scaled_dot_product_attention(*half), [[1.0, 0.0, 0.0]])
    with af.autocast():
        np.testing.assert_array_equal(nn.scaled_dot_product_attention(*single), [[1.0, 0.0, 0.0]])


def test_half_precision_where_two_terms_cancel():
    """For x below 0, 1 + erf(x) has only the last digits of erf(x)."""
    x = np.linspace(-4, 4, 81).astype(np.float16)
    for approximate in ("none", "tanh"):
        right = nn.gelu(x.astype(float), approximate)
        np.testing.assert_allclose(nn.gelu(x, approximate), right, rtol=2e-3, atol=5e-7)


def test_long_sums_of_half_precision_do_not_stop_growing():
    """Along the first axis NumPy adds up in float16, where 2048 + 1 is 2048."""
    x = af.Variable(np.zeros((5000, 2), np.float16))
    z = nn.softmax(x, axis=0)
    z.backward(np.eye(5000, 2, dtype=np.float16))
    np.testing.assert_allclose(z.value, 1 / 5000, rtol=1e-3)
    np.testing.assert_allclose(nn.log_softmax(x.value, axis=0), -np.log(5000), rtol=1e-3)
    w = af.Variable(np.zeros((5000, 2), np.float16))
    nn.log_softmax(w, axis=0).sum(dtype=np.float32).backward()
    np.testing.assert_allclose(w.grad, 0, atol=1e-2)


def test_running_statistics_of_half_precision():
    x = (1000 * np.random.default_rng(0).normal(size=(50, 2))).astype(np.float16)
    mean, variance = np.zeros(2, np.float32), np.ones(2, np.float32)
    nn.batch_norm(x, mean, variance, training=True, momentum=1.0)
    np.testing.assert_allclose(variance, x.astype(float).var(axis=0, ddof=1), rtol=1e-5)  # float16 ends at 65,504


@pytest.mark.parametrize("shape", [(1, 3, 3), (5, 3, 3), (5, 1, 3)])
def test_a_mask_larger_than_the_scores(shape):
    """It would repeat the query."""
    x = np.ones((3, 4))
    with pytest.raises(InputError, match=r"attn_mask of shape .* is larger than the scores \(3, 3\)"):
        nn.scaled_dot_product_attention(x, x, x, np.ones(shape, bool))
    layer = nn.MultiHeadAttention(4, 2, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="larger than the scores"):
        layer(x, attn_mask=np.ones(shape))
    assert layer(np.ones((5, 3, 4)), attn_mask=np.ones(shape)).shape == (5, 3, 4)


def test_batch_norm_in_use_takes_the_running_statistics():
    x, mean, variance, weight, bias = draw(4, 3), draw(3), draw(3) ** 2 + 0.5, draw(3), draw(3)
    found = nn.batch_norm(x, mean, variance, weight, bias, eps=0.25)
    np.testing.assert_allclose(found, (x - mean) / np.sqrt(variance + 0.25) * weight + bias, rtol=1e-13)


@pytest.mark.parametrize("dark", [[], [1]])
def test_a_mask_of_floats_is_added_to_the_scores(dark):
    """A query that may look at nothing, because all of its mask is minus infinity, gets zeros."""
    q, k, v, mask = draw(3, 4), draw(5, 4), draw(5, 2), draw(3, 5)
    mask[0, 2] = -np.inf
    mask[dark] = -np.inf
    with np.errstate(invalid="ignore"):
        weights = np.exp(q @ k.T / 2 + mask)
        weights = np.nan_to_num(weights / weights.sum(axis=1, keepdims=True))
    found = nn.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    np.testing.assert_allclose(found, weights @ v, rtol=1e-12)
    assert np.all(found[dark] == 0)
