"""The names of PyTorch, JAX and TensorFlow and their counterparts here, for AttributeErrors and a page of the docs.

``x`` are attributes of nodes, the others names of modules of ours. docs/coming-from.md shows the table as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

TEXTS = {
    "x": """
    addmm = x + y @ z; bool = x.value.astype(bool); cholesky = np.linalg.cholesky(x); clamp_max = np.minimum(x, high);
    clamp_min = np.maximum(x, low); eq = x == y; erfc = scipy.special.erfc(x);
    expand_as = np.broadcast_to(x, y.shape); ge = x >= y; gt = x > y; index_put_ = x[i] = y; int = x.value.astype(int);
    le = x <= y; lerp = x + w * (y - x); logit = scipy.special.logit(x); long = x.value.astype(int); lt = x < y;
    masked_select = x[mask]; movedim = np.moveaxis(x, source, destination); narrow = x[start : start + length];
    ne = x != y; nelement = x.size; pinverse = np.linalg.pinv(x); repeat_interleave = np.repeat(x, n);
    reshape_as = x.reshape(y.shape); scatter_add = np.add.at(x, i, y); select = x[i]; softplus = af.nn.softplus(x);
    slogdet = np.linalg.slogdet(x); svd = np.linalg.svd(x); topk = np.sort(x)[-k:]; type = x.astype(dtype);
    unbind = list(x); view_as = x.reshape(y.shape); xlogy = scipy.special.xlogy(x, y);
    add_ = x += y under af.no_grad(); assign_add = x += y under af.no_grad(); assign_sub = x -= y under af.no_grad();
    at = x[i] = y, or np.add.at; block_until_ready = x; bmm = x @ y; cat = np.concatenate([x, y]);
    chunk = np.array_split(x, n); clamp = np.clip(x, low, high); clamp_ = np.clip(x.value, low, high);
    clone = x.copy(); contiguous = np.ascontiguousarray(x); copy_ = x.assign(y); cpu = x.to_cpu(); cuda = x.to_gpu();
    det = np.linalg.det(x); detach_ = x = x.detach(); dim = x.ndim; div = x / y; div_ = x /= y under af.no_grad();
    double = x.astype(np.float64); erf = scipy.special.erf(x); expand = np.broadcast_to(x, shape);
    fill_ = x.assign(np.full(x.shape, y)); float = x.astype(np.float32);
    gather = np.take_along_axis(x, indices, axis); gradient = x.grad; half = x.astype(np.float16);
    index_select = np.take(x, indices, axis); inverse = np.linalg.inv(x); is_leaf = x.grad_fn is None;
    lgamma = scipy.special.gammaln(x); log_softmax = af.nn.log_softmax(x); logsumexp = af.special.logsumexp(x);
    masked_fill = np.where(mask, y, x); matrix_power = np.linalg.matrix_power(x, n); mm = x @ y; mul = x * y;
    mul_ = x *= y under af.no_grad(); mv = x @ y; neg = -x; norm = np.linalg.norm(x); numel = x.size; numpy = x.value;
    permute = x.transpose(axes); relu = af.nn.relu(x); requires_grad_ = x.requires_grad = True;
    retain_grad = loss.backward(keep_grads=True); rsqrt = 1 / np.sqrt(x); sigmoid = af.nn.sigmoid(x);
    softmax = af.nn.softmax(x); split = np.split(x, places); sub = x - y; sub_ = x -= y under af.no_grad(); t = x.T;
    to = x.to_gpu(), or x.astype(dtype); type_as = x.astype(y.dtype);
    unsqueeze = x[:, None], or np.expand_dims(x, axis);
    zero_ = x.zero_grad() for a gradient, x.assign(0 * x.value) for numbers
    """,
    "autoflow": """
    bernoulli = rng.random(shape) < p; cast = x.astype(dtype); chunk = np.array_split(x, n);
    cross_entropy = af.nn.cross_entropy(scores, labels); defvjp = af.primitive(f), or af.Function; gelu = af.nn.gelu(x);
    gather = np.take_along_axis(x, indices, axis); holomorphic_grad = af.grad(f); index_select = np.take(x, i, axis);
    inverse = np.linalg.inv(x); det = np.linalg.det(x); log_softmax = af.nn.log_softmax(x); make_jaxpr = af.graph(f(x));
    make_jvp = af.jvp(f, x, v); make_vjp = af.vjp(f, x); masked_select = x[mask];
    mse_loss = af.nn.mse_loss(x, target); multinomial = rng.choice(n, size, p=p); norm = np.linalg.norm(x);
    normal = rng.normal(size=shape); one_hot = np.eye(n)[labels]; randperm = rng.permutation(n);
    reduce_max = np.max(x); reduce_mean = np.mean(x); reduce_sum = np.sum(x); softplus = af.nn.softplus(x);
    tree_util = af.tree_map, af.tree_leaves; unsqueeze = x[:, None];
    Adam = af.optim.Adam(parameters); as_tensor = af.Constant(x); autograd = af.grad(f), or loss.backward();
    bmm = x @ y; cat = np.concatenate(arrays); checkpoint_sequential = af.checkpoint(f);
    clamp = np.clip(x, low, high); convert_to_tensor = af.Constant(x); custom_gradient = af.primitive(f);
    custom_vjp = af.primitive(f), or af.Function; detach = af.stop_gradient(x); erf = scipy.special.erf(x);
    from_numpy = af.Constant(x); func = af.grad, af.vjp; function = af.compile(f);
    GradientTape = loss.backward(), or af.grad(f); hessian_vector_product = af.hvp(f, x, v);
    inference_mode = af.no_grad(); is_tensor = isinstance(x, af.Node); jacobian_vector_product = af.jvp(f, x, v);
    jit = af.compile(f); lax = NumPy's functions; logsumexp = af.special.logsumexp(x);
    manual_seed = np.random.default_rng(seed); mm = x @ y; Module = af.nn.Module;
    numpy = import numpy as np: plain NumPy; Parameter = af.Variable(x); pmap = af.vmap(f); rand = rng.random(shape);
    randint = rng.integers(low, high, shape); randn = rng.normal(size=shape); relu = af.nn.relu(x);
    remat = af.checkpoint(f); set_default_dtype = np.asarray(x, np.float32); SGD = af.optim.SGD(parameters);
    sigmoid = af.nn.sigmoid(x); softmax = af.nn.softmax(x); tensor = af.Variable(x), or af.Constant(x) for data;
    Tensor = af.Variable, or np.ndarray; value = x.value; vector_jacobian_product = af.vjp(f, x)
    """,
    "nn": """
    Identity = lambda x: x; L1Loss = af.nn.l1_loss(x, target); HuberLoss = af.nn.huber_loss(x, target);
    LeakyReLU = af.nn.leaky_relu, a function; NLLLoss = af.nn.nll_loss(x, labels); ELU = af.nn.elu, a function;
    MaxPool2d = af.nn.max_pool2d, a function; AvgPool2d = af.nn.avg_pool2d, a function; Conv1d = af.nn.conv1d;
    KLDivLoss = af.nn.kl_div(x, target); ParameterList = a list; SiLU = af.nn.silu, a function;
    Softplus = af.nn.softplus, a function; LSTMCell = af.nn.LSTM; GRUCell = af.nn.GRU; RNNCell = af.nn.RNN;
    SmoothL1Loss = af.nn.huber_loss(x, target); one_hot = np.eye(n)[labels]; pad = np.pad(x, widths);
    BatchNorm1d = af.nn.BatchNorm; BatchNorm2d = af.nn.BatchNorm; BCELoss = af.nn.binary_cross_entropy(x, target);
    BCEWithLogitsLoss = af.nn.binary_cross_entropy_with_logits;
    CrossEntropyLoss = af.nn.cross_entropy(scores, labels); Dense = af.nn.Linear(n, m);
    Flatten = x.reshape(len(x), -1); functional = af.nn; GELU = af.nn.gelu; ModuleDict = a dict; ModuleList = a list;
    MSELoss = af.nn.mse_loss(x, target); MultiheadAttention = af.nn.MultiHeadAttention; Parameter = af.Variable(x);
    ReLU = af.nn.relu, a function; Sigmoid = af.nn.sigmoid, a function; Softmax = af.nn.softmax, a function;
    Tanh = np.tanh; utils = af.optim.clip_grad_norm
    """,
    "optim": """
    StepLR = lr=af.optim.step_decay(...); CosineAnnealingLR = lr=af.optim.cosine(...); adam = af.optim.Adam;
    clip_grad_value_ = af.optim.clip_grad_value; sgd = af.optim.SGD; adamw = af.optim.AdamW;
    apply_updates = opt.step(); clip_grad_norm_ = af.optim.clip_grad_norm;
    lr_scheduler = af.optim.step_decay, cosine, linear ...: lr=schedule; Optimizer = af.optim.Optimiser;
    RMSProp = af.optim.RMSprop
    """,
}


def read_table(text: str) -> dict[str, str]:
    """``a = b; c = d`` as a dict."""
    pairs = [pair.partition(" = ") for pair in " ".join(text.split()).split(";")]
    return {name.strip(): here for name, _, here in pairs}


TABLES = {section: read_table(text) for section, text in TEXTS.items()}
# What others have as methods of arrays, or in their module, and NumPy as a function.
NUMPY = {
    name: f"np.{name}(x)" for name, f in vars(np).items()
    if name[0] != "_" and callable(f) and not isinstance(f, type)
}  # fmt: skip
HERE = {**{name: text for name, text in NUMPY.items() if not hasattr(np.ndarray, name)}, **TABLES["x"]}
NODE = {**{f"{name}_": f"x.assign({text})" for name, text in HERE.items()}, **HERE}


def no_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that a module of ours does not have.

    >>> no_attribute("autoflow", "jit")
    AttributeError("module 'autoflow' has no attribute 'jit': here it is af.compile(f)")
    """
    here = TABLES[module.rpartition(".")[2]].get(name) or (NUMPY.get(name) if module == "autoflow" else None)
    return AttributeError(f"module {module!r} has no attribute {name!r}{f': here it is {here}' if here else ''}")


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
