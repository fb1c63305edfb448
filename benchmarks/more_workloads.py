"""Work that learners and scientists meet, by autoflow and its peers: networks, solvers, curvature, training.

    python benchmarks/more_workloads.py [--only lstm ...] [--impl autoflow compiled torch ...] [--repeats 20] [--cold]

Each is a plain NumPy function, written once for all libraries as in :mod:`workloads`. Nobody has written their
gradients by hand: before the clock starts all implementations must agree with autoflow, in the value and in the
gradients, and the tests compare autoflow with differences. One that does not carry over (a function that a library
lacks) is left out, and a line says why.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy
from compare import BUDGET, IMPLEMENTATIONS, LIBRARIES, Step, agree, compared, installed, title, visit
from measuring import digits, interleaved, setting, table, warm_malloc
from workloads import Workload, make_mlp

Array = Any


def nobody(*arguments: Any) -> Sequence[Array]:
    """In the place of a gradient by hand."""
    raise NotImplementedError("the gradients of this workload were not written out by hand")


# -- networks --------------------------------------------------------------------------------------------------------


def lstm(np: Any, x: Array, wx: Array, wh: Array, b: Array) -> Array:
    """Squared length of the last state of a long short-term memory (Hochreiter and Schmidhuber, 1997).

    x: (steps, batch, n), wx, wh: (n, 4n), b: (4n,): input, forget and output gate, and what is proposed.
    """
    n = wh.shape[0]
    h = c = x[0] * 0
    for t in range(x.shape[0]):
        a = np.matmul(x[t], wx) + np.matmul(h, wh) + b
        gates = 1 / (1 + np.exp(-a[:, : 3 * n]))
        c = gates[:, n : 2 * n] * c + gates[:, :n] * np.tanh(a[:, 3 * n :])
        h = gates[:, 2 * n :] * np.tanh(c)
    return (h**2).sum()


def make_lstm(steps: int, batch: int, n: int) -> Workload:
    """:func:`lstm` on random data."""
    rng = numpy.random.default_rng(0)
    wx, wh = rng.standard_normal((2, n, 4 * n)) / numpy.sqrt(n)
    return Workload(lstm, nobody, (rng.standard_normal((steps, batch, n)),), (wx, wh, numpy.zeros(4 * n)))


def convolved(np: Any, x: Array, w: Array) -> Array:
    """Slide windows over images: x (batch, height, width, channels), w (3, 3, channels, features).

    One product for each place in the window, which needs no copy of the windows.
    """
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    places = [(i, j) for i in range(3) for j in range(3)]
    return sum([np.matmul(x[:, i : i + rows, j : j + columns], w[i, j]) for i, j in places])


def convolution(np: Any, x: Array, y: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    """Squared error of two layers of 3 x 3 windows and a sum over all places. y: (batch, features of the second)."""
    z = convolved(np, np.tanh(convolved(np, x, w1) + b1), w2) + b2
    return ((np.sum(z, axis=(1, 2), keepdims=False) / (z.shape[1] * z.shape[2]) - y) ** 2).sum()


def make_convolution(batch: int, side: int, features: int) -> Workload:
    """:func:`convolution` on random images of one channel."""
    rng = numpy.random.default_rng(0)
    w1 = rng.standard_normal((3, 3, 1, features)) / 3
    w2 = rng.standard_normal((3, 3, features, 10)) / numpy.sqrt(9 * features)
    data = rng.standard_normal((batch, side, side, 1)), rng.standard_normal((batch, 10))
    return Workload(convolution, nobody, data, (w1, numpy.zeros(features), w2, numpy.zeros(10)))


def attention(np: Any, heads: int, x: Array, wq: Array, wk: Array, wv: Array, wo: Array) -> Array:
    """Self-attention with several heads (Vaswani et al., 2017) and a way around it.

    x: (batch, length, width), the four weights: (width, width).
    """
    batch, length, width = x.shape

    def split(z: Array) -> Array:
        return np.swapaxes(np.reshape(z, (batch, length, heads, width // heads)), 1, 2)

    q, k, v = split(np.matmul(x, wq)), split(np.matmul(x, wk)), split(np.matmul(x, wv))
    scores = np.matmul(q, np.swapaxes(k, 2, 3)) * (width // heads) ** -0.5
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    mixed = np.matmul(e / np.sum(e, axis=-1, keepdims=True), v)
    z = x + np.matmul(np.reshape(np.swapaxes(mixed, 1, 2), (batch, length, width)), wo)
    return (z**2).sum()


def make_attention(batch: int, length: int, width: int, heads: int) -> Workload:
    """:func:`attention` on random data."""
    rng = numpy.random.default_rng(0)
    weights = rng.standard_normal((4, width, width)) / numpy.sqrt(width)
    return Workload(attention, nobody, (heads, rng.standard_normal((batch, length, width))), tuple(weights))


# -- science ---------------------------------------------------------------------------------------------------------


def likelihood(np: Any, squares: Array, y: Array, unit: Array, lengths: Array, amplitude: Array, noise: Array) -> Array:
    """Minus the log likelihood of a Gaussian process, but for a constant: yᵀK⁻¹y / 2 + Σ log Lᵢᵢ, with K = LLᵀ.

    Source: C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine learning", 2006, algorithm 2.1.
    squares: (d, n, n), squared differences along each axis; y: (n, 1); unit: the unit matrix (n, n); the logarithms
    of the length scales (d,), of the amplitude and of the noise.
    """
    scaled = np.sum(squares * np.reshape(np.exp(-2 * lengths), (lengths.shape[0], 1, 1)), axis=0, keepdims=False)
    k = np.exp(amplitude - 0.5 * scaled) + np.exp(noise) * unit
    diagonal = np.sum(np.linalg.cholesky(k) * unit, axis=0, keepdims=False)
    return 0.5 * (y * np.linalg.solve(k, y)).sum() + np.log(diagonal).sum()


def make_likelihood(n: int, d: int) -> Workload:
    """:func:`likelihood` of a noisy sine at random places."""
    rng = numpy.random.default_rng(0)
    x = rng.uniform(-2, 2, (n, d))
    squares = (x.T[:, :, None] - x.T[:, None, :]) ** 2
    y = numpy.sin(x.sum(axis=1, keepdims=True)) + 0.1 * rng.standard_normal((n, 1))
    parameters = numpy.zeros(d), numpy.array(0.0), numpy.array(-2.0)
    return Workload(likelihood, nobody, (squares, y, numpy.eye(n)), parameters)


def solver(np: Any, steps: int, u: Array, target: Array, w1: Array, b1: Array, w2: Array) -> Array:
    """Squared error at time 1 of du/dt = tanh(u w₁ + b₁) w₂ by the classical method of Runge and Kutta.

    u, target: (batch, n), w1: (n, hidden), b1: (hidden,), w2: (hidden, n).
    """
    dt = 1 / steps

    def slope(u: Array) -> Array:
        return np.matmul(np.tanh(np.matmul(u, w1) + b1), w2)

    for _ in range(steps):
        k1 = slope(u)
        k2 = slope(u + dt / 2 * k1)
        k3 = slope(u + dt / 2 * k2)
        k4 = slope(u + dt * k3)
        u = u + dt / 6 * (k1 + 2 * (k2 + k3) + k4)
    return ((u - target) ** 2).sum()


def make_solver(steps: int, batch: int, n: int, hidden: int) -> Workload:
    """:func:`solver` from random starting points."""
    rng = numpy.random.default_rng(0)
    w1 = rng.standard_normal((n, hidden)) / numpy.sqrt(n)
    w2 = rng.standard_normal((hidden, n)) / numpy.sqrt(hidden)
    start, target = rng.standard_normal((2, batch, n))
    return Workload(solver, nobody, (steps, start, target), (w1, numpy.zeros(hidden), w2))


def bodies(np: Any, steps: int, mass: Array, x: Array, v: Array) -> Array:
    """How far bodies have come after some steps of 0.01 under each other's gravity, softened, by the leapfrog method.

    mass: (n, 1), x, v: (n, 3), at the start.
    """
    n = x.shape[0]

    def pull(x: Array) -> Array:
        d = np.reshape(x, (1, n, 3)) - np.reshape(x, (n, 1, 3))
        squares = np.sum(d * d, axis=2, keepdims=True) + 0.01
        return np.sum(d * np.reshape(mass, (1, n, 1)) / (squares * np.sqrt(squares)), axis=1, keepdims=False)

    for _ in range(steps):
        v = v + 0.01 * pull(x)
        x = x + 0.01 * v
    return (x**2).sum()


def make_bodies(steps: int, n: int) -> Workload:
    """:func:`bodies` that begin at random places."""
    rng = numpy.random.default_rng(0)
    x, v = rng.standard_normal((2, n, 3))
    return Workload(bodies, nobody, (steps, rng.uniform(0.5, 1.5, (n, 1)) / n), (x, v))


def diffusion(np: Any, steps: int, target: Array, u: Array, k: Array) -> Array:
    """Squared error of a density that spreads and grows, du/dt = k Δu + u (1 − u), by explicit steps.

    u: (n, m) at the start, k: () how fast it spreads. Each step needs the neighbours of a place, and so loses the
    border; target: (n − 2 steps, m − 2 steps).
    """
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u = inner + k * (around - 4 * inner) + 0.1 * inner * (1 - inner)
    return ((u - target) ** 2).sum()


def make_diffusion(steps: int, n: int) -> Workload:
    """:func:`diffusion` of random numbers on a square."""
    rng = numpy.random.default_rng(0)
    size = n - 2 * steps
    data = steps, rng.random((size, size))
    return Workload(diffusion, nobody, data, (rng.random((n, n)), numpy.array(0.2)))


# -- curvature: the Hessian times a vector, for which every library has its own way ----------------------------------


@dataclass(frozen=True)
class Curvature(Workload):
    """The step is H v, with the Hessian of ``forward`` and these ``vectors``, one for each parameter."""

    vectors: tuple[Array, ...] = ()


def make_curvature(batch: int, *sizes: int) -> Curvature:
    """The Hessian of a multilayer perceptron times a random vector."""
    work = make_mlp(batch, *sizes)
    rng = numpy.random.default_rng(1)
    vectors = tuple([rng.standard_normal(p.shape) for p in work.parameters])
    return Curvature(work.forward, nobody, work.data, work.parameters, vectors)


def hvp_autoflow(work: Curvature, *, engine: str = "") -> Step:
    """``af.hvp``, recorded anew at every step, or compiled by that engine."""
    af = import_module("autoflow")

    def product(*parameters: Array) -> Any:
        return af.hvp(lambda *p: work.forward(numpy, *work.data, *p), parameters, work.vectors)

    function = af.compile(product, engine=engine) if engine else product
    return lambda: list(function(*work.parameters))


def hvp_autograd(work: Curvature) -> Step:
    """The gradient of gᵀv."""
    anp, grad = import_module("autograd.numpy"), import_module("autograd").grad
    slope = grad(lambda parameters: work.forward(anp, *work.data, *parameters))

    def along(parameters: Any) -> Any:
        return sum([anp.sum(g * v) for g, v in zip(slope(parameters), work.vectors, strict=True)])

    product = grad(along)
    return lambda: list(product(work.parameters))


def hvp_torch(work: Curvature) -> Step:
    """The same in PyTorch."""
    torch = import_module("torch")
    names = import_module("compare").TorchNumpy(torch)
    data, vectors = [[torch.from_numpy(a) for a in arrays] for arrays in (work.data, work.vectors)]
    tensors = [torch.tensor(a, requires_grad=True) for a in work.parameters]

    def step() -> list[Array]:
        slope = torch.autograd.grad(work.forward(names, *data, *tensors), tensors, create_graph=True)
        return [g.numpy() for g in torch.autograd.grad(slope, tensors, vectors)]

    return step


def hvp_jax(work: Curvature, *, jit: bool = False) -> Step:
    """Forwards through the gradient, as JAX's documentation does it."""
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    data, parameters, vectors = [
        tuple([jnp.asarray(a) for a in arrays]) for arrays in (work.data, work.parameters, work.vectors)
    ]
    slope = jax.grad(lambda parameters: work.forward(jnp, *data, *parameters))

    def product(parameters: Any) -> Any:
        return jax.jvp(slope, (parameters,), (vectors,))[1]

    function = jax.jit(product) if jit else product
    return lambda: [numpy.asarray(g) for g in jax.block_until_ready(function(parameters))]


CURVATURES: dict[str, Callable[[Any], Step]] = {
    "autoflow": hvp_autoflow,
    "compiled": partial(hvp_autoflow, engine="numpy"),
    "llvm": partial(hvp_autoflow, engine="llvm"),
    "xla": partial(hvp_autoflow, engine="jax"),
    "autograd": hvp_autograd,
    "torch": hvp_torch,
    "jax": hvp_jax,
    "jax-jit": partial(hvp_jax, jit=True),
}  # MyGrad has no derivatives of derivatives


# -- whole programs: transforms, and training, which autoflow and JAX spell alike -----------------------------------


@dataclass(frozen=True)
class Whole(Workload):
    """The step is all of ``forward(library, np, *data, *parameters)``, with the transforms of that library, and gives a
    list of arrays. Data and parameters are its arguments."""


def adam(np: Any, parameters: Any, gradients: Any, means: Any, squares: Any, t: int) -> list[Array]:
    """Step ``t`` of Adam (Kingma and Ba, 2015): the new parameters, means and mean squares, in one list."""
    means = [0.9 * m + 0.1 * g for m, g in zip(means, gradients, strict=True)]
    squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, gradients, strict=True)]
    a, b = 1 - 0.9**t, 1 - 0.999**t
    new = [
        p - 0.001 * (m / a) / (np.sqrt(s / b) + 1e-8) for p, m, s in zip(parameters, means, squares, strict=True)
    ]  # fmt: skip
    return [*new, *means, *squares]


def transformer_loss(np: Any, x: Array, y: Array, parameters: Any) -> Array:
    """Squared error of one block: attention with four heads, then a layer of tanh, each after a normalisation and with
    a way around it. x, y: (batch, length, width)."""
    wq, wk, wv, wo, w1, b1, w2, b2 = parameters

    def normalised(z: Array) -> Array:
        d = z - np.mean(z, axis=-1, keepdims=True)
        return d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + 1e-5)

    batch, length, width = x.shape

    def split(z: Array) -> Array:
        return np.swapaxes(np.reshape(z, (batch, length, 4, width // 4)), 1, 2)

    z = normalised(x)
    q, k, v = split(np.matmul(z, wq)), split(np.matmul(z, wk)), split(np.matmul(z, wv))
    scores = np.matmul(q, np.swapaxes(k, 2, 3)) * (width // 4) ** -0.5
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    mixed = np.matmul(e / np.sum(e, axis=-1, keepdims=True), v)
    x = x + np.matmul(np.reshape(np.swapaxes(mixed, 1, 2), (batch, length, width)), wo)
    z = x + np.matmul(np.tanh(np.matmul(normalised(x), w1) + b1), w2) + b2
    return ((z - y) ** 2).mean()


def transformer(library: Any, np: Any, x: Array, y: Array, *state: Array) -> list[Array]:
    """A step of training: forward, backward, Adam."""
    p, m, s = (state[k : k + 8] for k in (0, 8, 16))
    gradients = library.grad(lambda *p: transformer_loss(np, x, y, p), tuple(range(8)))(*p)
    return adam(np, p, gradients, m, s, 1)


def make_transformer(batch: int, length: int, width: int) -> Whole:
    """:func:`transformer` on random data."""
    rng = numpy.random.default_rng(0)
    wide = 2 * width
    shapes = [(width, width)] * 4 + [(width, wide), (wide,), (wide, width), (width,)]
    parameters = [rng.standard_normal(shape) / numpy.sqrt(shape[0]) for shape in shapes]
    zeros = [numpy.zeros(shape) for shape in shapes]
    data = tuple(rng.standard_normal((2, batch, length, width)))
    return Whole(transformer, nobody, data, (*parameters, *zeros, *zeros))


def network(np: Any, x: Array, y: Array, parameters: Any) -> Array:
    """Squared error of a network with tanh. x: (batch, n), or one example (n,)."""
    *hidden, w, b = parameters
    for k in range(0, len(hidden), 2):
        x = np.tanh(np.matmul(x, hidden[k]) + hidden[k + 1])
    return ((np.matmul(x, w) + b - y) ** 2).sum()


def examples(library: Any, np: Any, x: Array, y: Array, *parameters: Array) -> list[Array]:
    """The gradient of each example."""
    n = len(parameters)
    gradient = library.grad(lambda x, y, *p: network(np, x, y, p), tuple(range(2, n + 2)))
    return list(library.vmap(gradient, (0, 0, *[None] * n))(x, y, *parameters))


def make_network(forward: Callable[..., Any], batch: int, *sizes: int) -> Whole:
    """A network of these sizes, and random data."""
    rng = numpy.random.default_rng(0)
    parameters = []
    for n, m in itertools.pairwise(sizes):
        parameters += [rng.standard_normal((n, m)) / numpy.sqrt(n), numpy.zeros(m)]
    data = rng.standard_normal((batch, sizes[0])), rng.standard_normal((batch, sizes[-1]))
    return Whole(forward, nobody, data, tuple(parameters))


def epoch(library: Any, np: Any, x: Array, y: Array, *parameters: Array) -> list[Array]:
    """Descent over all data, in batches of 32."""
    gradient = library.grad(lambda x, y, *p: network(np, x, y, p), tuple(range(2, len(parameters) + 2)))
    for k in range(0, len(x), 32):
        gradients = gradient(x[k : k + 32], y[k : k + 32], *parameters)
        parameters = tuple([p - 0.001 * g for p, g in zip(parameters, gradients, strict=True)])
    return list(parameters)


def hessian(library: Any, np: Any, x: Array, y: Array, theta: Array) -> list[Array]:
    """The Hessian of a network n-6-2 whose parameters are one vector."""
    n = x.shape[1]

    def loss(theta: Array) -> Array:
        w1, b1, w2, b2 = theta[: 6 * n], theta[6 * n : 6 * n + 6], theta[6 * n + 6 : 6 * n + 18], theta[6 * n + 18 :]
        return network(np, x, y, (np.reshape(w1, (n, 6)), b1, np.reshape(w2, (6, 2)), b2))

    return [library.hessian(loss)(theta)]


def make_hessian(batch: int, n: int) -> Whole:
    """:func:`hessian` on random data, of 6 n + 20 parameters."""
    rng = numpy.random.default_rng(0)
    data = rng.standard_normal((batch, n)), rng.standard_normal((batch, 2))
    return Whole(hessian, nobody, data, (0.3 * rng.standard_normal(6 * n + 20),))


def whole_autoflow(work: Whole, *, engine: str = "") -> Step:
    """With autoflow's transforms, recorded anew at every step, or compiled by that engine."""
    af = import_module("autoflow")
    function = partial(work.forward, af, numpy)
    if engine:
        function = af.compile(function, engine=engine)
    return lambda: list(function(*work.data, *work.parameters))


def whole_jax(work: Whole, *, jit: bool = False) -> Step:
    """With JAX's."""
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    arrays = [jnp.asarray(a) for a in (*work.data, *work.parameters)]
    function = partial(work.forward, jax, jnp)
    function = jax.jit(function) if jit else function
    return lambda: [numpy.asarray(a) for a in jax.block_until_ready(function(*arrays))]


WHOLES: dict[str, Callable[[Any], Step]] = {
    "autoflow": whole_autoflow,
    "compiled": partial(whole_autoflow, engine="numpy"),
    "llvm": partial(whole_autoflow, engine="llvm"),
    "xla": partial(whole_autoflow, engine="jax"),
    "jax": whole_jax,
    "jax-jit": partial(whole_jax, jit=True),
}


# fmt: off
MORE: dict[str, partial[Workload]] = {
    "lstm-50":       partial(make_lstm, 50, 16, 32),
    "convolution":   partial(make_convolution, 32, 28, 8),
    "attention":     partial(make_attention, 8, 64, 64, 4),
    "gp-200":        partial(make_likelihood, 200, 4),
    "ode-50":        partial(make_solver, 50, 32, 4, 32),
    "nbody-64":      partial(make_bodies, 20, 64),
    "diffusion-128": partial(make_diffusion, 20, 128),
    "hvp-mlp":       partial(make_curvature, 32, 16, 32, 32, 4),
    "transformer":   partial(make_transformer, 8, 32, 32),
    "examples-1k":   partial(make_network, examples, 1000, 16, 32, 4),
    "epoch-20":      partial(make_network, epoch, 640, 16, 32, 32, 4),
    "hessian-50":    partial(make_hessian, 32, 5),
}
# fmt: on
OURS = [name for name in IMPLEMENTATIONS if name not in ("forward", "hand")]
# a second per step, operation by operation
TOO_SLOW = {("jax", name) for name in ("lstm-50", "ode-50", "nbody-64", "diffusion-128", "transformer", "epoch-20")}
OF_CLASS = {Workload: IMPLEMENTATIONS, Curvature: CURVATURES, Whole: WHOLES}


# -- checking and measuring ------------------------------------------------------------------------------------------


def step_of(implementation: str, work: Workload) -> Step:
    """How this implementation does this work; KeyError if it cannot."""
    return OF_CLASS[type(work)][implementation](work)


def with_value(work: Workload) -> Workload:
    """``work`` times one more parameter, which is 1: its gradient is the value, so values are compared as gradients."""
    if type(work) is not Workload:
        return work
    n = len(work.data)

    def forward(np: Any, *arrays: Array) -> Array:
        return arrays[-1] * work.forward(np, *arrays[:n], *arrays[n:-1])

    return Workload(forward, nobody, work.data, (*work.parameters, numpy.array(1.0)))


def prepared(name: str, implementations: Sequence[str]) -> dict[str, Step]:
    """The steps of those that agree with autoflow in the value and the gradients; a line about each of the others."""
    work = MORE[name]()
    checked = with_value(work)
    expected = step_of("autoflow", checked)()
    steps: dict[str, Step] = {}
    for implementation in implementations:
        if (implementation, name) in TOO_SLOW or implementation not in OF_CLASS[type(work)]:
            continue
        try:
            agree(step_of(implementation, checked)(), expected)
            steps[implementation] = step_of(implementation, work)
            steps[implementation]()
        except Exception as error:
            steps.pop(implementation, None)
            print(f"{name}: {implementation} fails: {type(error).__name__}: {str(error)[:200]}")
    return steps


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=MORE, default=list(MORE), metavar="WORKLOAD")
    parser.add_argument("--impl", nargs="+", choices=OURS, default=OURS)
    parser.add_argument("--repeats", type=int, default=20, help="rounds; the best counts (20)")
    parser.add_argument("--cold", action="store_true", help="leave malloc as a fresh process has it (README.md)")
    options = parser.parse_args()
    if not options.cold:
        warm_malloc()
    implementations = installed(options.impl)
    ratios = compared(implementations)
    rows = []
    for name in options.only:
        samples = {i: partial(visit, step) for i, step in prepared(name, implementations).items()}
        times = interleaved(samples, options.repeats, seconds=BUDGET * len(samples))
        shares = [
            digits(times[ours] / times[other]) if ours in times and other in times else "" for ours, other in ratios
        ]
        rows.append([name, *[digits(times[i]) if i in times else "" for i in implementations], *shares])
    header = ["workload", *map(title, implementations), *[f"{title(a)} / {title(b)}" for a, b in ratios]]
    malloc = "cold" if options.cold else "warm"
    where = setting([i for i in implementations if i in LIBRARIES])
    print(table(header, rows), "", f"{where}; malloc {malloc}; ms, best of up to {options.repeats} rounds", sep="\n")


if __name__ == "__main__":
    main()
