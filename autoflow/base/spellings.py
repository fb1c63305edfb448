"""The names of PyTorch, JAX and TensorFlow and their counterparts here, for AttributeErrors and a page of the docs.

``x`` are attributes of nodes, the others names of modules of ours. docs/coming-from.md shows the table as well.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

TEXTS = {
    "x": """
    add_ = x += y under af.no_grad(); addmm = x + y @ z; assign_add = x += y under af.no_grad();
    assign_sub = x -= y under af.no_grad(); at = x[i] = y, or np.add.at; block_until_ready = x; bmm = x @ y;
    bool = x.value.astype(bool); cat = np.concatenate([x, y]); chunk = np.array_split(x, n);
    clamp = np.clip(x, low, high); clamp_ = np.clip(x.value, low, high); clamp_max = np.minimum(x, high);
    clamp_min = np.maximum(x, low); clone = x.copy(); contiguous = np.ascontiguousarray(x); copy_ = x.assign(y);
    cpu = x.to_cpu(); cuda = x.to_gpu(); detach_ = x = x.detach(); dim = x.ndim; div = x / y;
    div_ = x /= y under af.no_grad(); double = x.astype(np.float64); eq = x == y; erf = scipy.special.erf(x);
    erfc = scipy.special.erfc(x); expand = np.broadcast_to(x, shape); expand_as = np.broadcast_to(x, y.shape);
    fill_ = x.assign(np.full(x.shape, y)); float = x.astype(np.float32); gather = np.take_along_axis(x, indices, axis);
    ge = x >= y; gradient = x.grad; gt = x > y; half = x.astype(np.float16); index_put_ = x[i] = y;
    index_select = np.take(x, indices, axis); int = x.value.astype(int); inverse = np.linalg.inv(x);
    is_leaf = x.grad_fn is None; le = x <= y; lerp = x + w * (y - x); lgamma = scipy.special.gammaln(x);
    log_softmax = af.nn.log_softmax(x); logit = scipy.special.logit(x); logsumexp = af.special.logsumexp(x);
    long = x.value.astype(int); lt = x < y; masked_fill = np.where(mask, y, x); masked_select = x[mask]; mm = x @ y;
    movedim = np.moveaxis(x, source, destination); mul = x * y; mul_ = x *= y under af.no_grad(); mv = x @ y;
    narrow = x[start : start + length]; ne = x != y; neg = -x; nelement = x.size; numel = x.size; numpy = x.value;
    permute = x.transpose(axes); pinverse = np.linalg.pinv(x); relu = af.nn.relu(x);
    repeat_interleave = np.repeat(x, n); requires_grad_ = x.requires_grad = True; reshape_as = x.reshape(y.shape);
    retain_grad = loss.backward(keep_grads=True); rsqrt = 1 / np.sqrt(x); scatter_add = np.add.at(x, i, y);
    select = x[i]; sigmoid = af.nn.sigmoid(x); softmax = af.nn.softmax(x); softplus = af.nn.softplus(x);
    split = np.split(x, places); sub = x - y; sub_ = x -= y under af.no_grad(); t = x.T;
    to = x.to_gpu(), or x.astype(dtype); topk = np.sort(x)[-k:]; type = x.astype(dtype); type_as = x.astype(y.dtype);
    unbind = list(x); unsqueeze = x[:, None], or np.expand_dims(x, axis); view_as = x.reshape(y.shape);
    xlogy = scipy.special.xlogy(x, y); zero_ = x.zero_grad() for a gradient, x.assign(0 * x.value) for numbers
    """,
    "autoflow": """
    Adam = af.optim.Adam(parameters); as_tensor = af.Constant(x); autograd = af.grad(f), or loss.backward();
    bernoulli = rng.random(shape) < p; bmm = x @ y; cast = x.astype(dtype); cat = np.concatenate(arrays);
    checkpoint_sequential = af.checkpoint(f); chunk = np.array_split(x, n); clamp = np.clip(x, low, high);
    convert_to_tensor = af.Constant(x); cross_entropy = af.nn.cross_entropy(scores, labels);
    custom_gradient = af.primitive(f); custom_vjp = af.primitive(f), or af.Function;
    defvjp = af.primitive(f), or af.Function; detach = af.stop_gradient(x); erf = scipy.special.erf(x);
    from_numpy = af.Constant(x); func = af.grad, af.vjp; function = af.compile(f);
    gather = np.take_along_axis(x, indices, axis); gelu = af.nn.gelu(x); GradientTape = loss.backward(), or af.grad(f);
    hessian_vector_product = af.hvp(f, x, v); holomorphic_grad = af.grad(f); index_select = np.take(x, i, axis);
    inference_mode = af.no_grad(); inverse = np.linalg.inv(x); is_tensor = isinstance(x, af.Node);
    jacobian_vector_product = af.jvp(f, x, v); jit = af.compile(f); lax = NumPy's functions;
    log_softmax = af.nn.log_softmax(x); logsumexp = af.special.logsumexp(x); make_jaxpr = af.graph(f(x));
    make_jvp = af.jvp(f, x, v); make_vjp = af.vjp(f, x); manual_seed = np.random.default_rng(seed);
    masked_select = x[mask]; mm = x @ y; Module = af.nn.Module; mse_loss = af.nn.mse_loss(x, target);
    multinomial = rng.choice(n, size, p=p); normal = rng.normal(size=shape); numpy = import numpy as np: plain NumPy;
    one_hot = np.eye(n)[labels]; Parameter = af.Variable(x); pmap = af.vmap(f); rand = rng.random(shape);
    randint = rng.integers(low, high, shape); randn = rng.normal(size=shape); randperm = rng.permutation(n);
    reduce_max = np.max(x); reduce_mean = np.mean(x); reduce_sum = np.sum(x); relu = af.nn.relu(x);
    remat = af.checkpoint(f); set_default_dtype = np.asarray(x, np.float32); SGD = af.optim.SGD(parameters);
    sigmoid = af.nn.sigmoid(x); softmax = af.nn.softmax(x); softplus = af.nn.softplus(x);
    tensor = af.Variable(x), or af.Constant(x) for data; Tensor = af.Variable, or np.ndarray;
    tree_util = af.tree_map, af.tree_leaves; unsqueeze = x[:, None]; value = x.value;
    vector_jacobian_product = af.vjp(f, x)
    """,
    "nn": """
    BatchNorm1d = af.nn.BatchNorm; BatchNorm2d = af.nn.BatchNorm; BCELoss = af.nn.binary_cross_entropy(x, target);
    BCEWithLogitsLoss = af.nn.binary_cross_entropy_with_logits; CrossEntropyLoss = af.nn.cross_entropy(scores, labels);
    Dense = af.nn.Linear(n, m); Flatten = x.reshape(len(x), -1); functional = af.nn; GRUCell = af.nn.GRU;
    Identity = lambda x: x; KLDivLoss = af.nn.kl_div(x, target); LSTMCell = af.nn.LSTM; ModuleDict = a dict;
    ModuleList = a list; one_hot = np.eye(n)[labels]; pad = np.pad(x, widths); Parameter = af.Variable(x);
    ParameterList = a list; RNNCell = af.nn.RNN; SmoothL1Loss = af.nn.huber_loss(x, target);
    utils = af.optim.clip_grad_norm
    """,
    "optim": """
    apply_updates = opt.step(); CosineAnnealingLR = lr=af.optim.cosine(...);
    lr_scheduler = af.optim.step_decay, cosine, linear ...: lr=schedule; Optimizer = af.optim.Optimiser;
    StepLR = lr=af.optim.step_decay(...)
    """,
}


def read_table(text: str) -> dict[str, str]:
    """``a = b; c = d`` as a dict."""
    pairs = [pair.partition(" = ") for pair in " ".join(text.split()).split(";")]
    return {name.strip(): here for name, _, here in pairs}


TABLES = {section: read_table(text) for section, text in TEXTS.items()}


def numpys() -> dict[str, str]:
    """What others have as methods of arrays, or in their module, and NumPy as a function."""
    return {
        name: f"{module}.{name}(x)"
        for module, names in {"np.linalg": vars(np.linalg), "np": vars(np)}.items() for name, f in names.items()
        if name[0] != "_" and callable(f) and hasattr(f, "__name__") and not isinstance(f, type)
    }  # fmt: skip


NUMPY = numpys()
HERE = {**{name: text for name, text in NUMPY.items() if not hasattr(np.ndarray, name)}, **TABLES["x"]}
NODE = {**{f"{name}_": f"x.assign({text})" for name, text in HERE.items()}, **HERE}


def no_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that a module of ours does not have.

    >>> no_attribute("autoflow", "jit")
    AttributeError("module 'autoflow' has no attribute 'jit': here it is af.compile(f)")
    """
    here = TABLES[module.rpartition(".")[2]].get(name) or (NUMPY.get(name) if module == "autoflow" else None)
    alike = {bare(other): other for other in dir(sys.modules[module])}
    if here is None and bare(name) in alike:
        here = f"{module.replace('autoflow', 'af')}.{alike[bare(name)]}"
    return AttributeError(f"module {module!r} has no attribute {name!r}{f': here it is {here}' if here else ''}")


def bare(name: str) -> str:
    """``LeakyReLU`` and ``leaky_relu`` are alike."""
    return name.replace("_", "").lower()


class Spelling:
    """A name that nodes lack: reading it is an AttributeError that says how it is written here. So
    ``hasattr`` is False. (``__getattr__`` would be asked for each slot that is not set.)"""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, node: Any, kind: type) -> Any:
        text = f"{kind.__name__!r} object has no attribute {self.name!r}: here it is {NODE[self.name]}"
        raise AttributeError(text, name=None, obj=None)


def install(kind: Any) -> None:
    """Give a class of nodes the names of the table, which completion does not list."""
    for name in NODE:
        setattr(kind, name, Spelling(name))
    listed = kind.__dir__
    kind.__dir__ = lambda self: [name for name in listed(self) if not isinstance(vars(kind).get(name), Spelling)]
