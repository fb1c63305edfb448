"""The names of PyTorch, JAX and TensorFlow and their counterparts here, for AttributeErrors and a page of the docs.

``x``, ``opt`` and ``model`` are attributes of nodes, optimisers and networks, ``keywords`` those of functions, the
others names of modules of ours. docs/coming-from.md shows the table as well.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

TEXTS = {
    "x": """
    add_ = x += y under af.no_grad(); addmm = x + y @ z; assign_add = x += y under af.no_grad();
    assign_sub = x -= y under af.no_grad(); at = x[i] = y, or np.add.at; block_until_ready = x; bmm = x @ y;
    bool = x.value.astype(bool); cat = np.concatenate([x, y]); chunk = np.array_split(x, n);
    clamp = np.clip(x, low, high); clamp_ = np.clip(x.value, low, high); clamp_max = np.minimum(x, high);
    clamp_min = np.maximum(x, low); clone = x.copy(); contiguous = np.ascontiguousarray(x); copy_ = x.assign(y);
    cpu = x.to_cpu(); cuda = x.to_gpu(); detach_ = x = x.detach(); dim = x.ndim; dist = np.linalg.norm(x - y);
    div = x / y; div_ = x /= y under af.no_grad(); double = x.astype(np.float64);
    dropout = af.nn.dropout(x, p, rng=rng); elu = af.nn.elu(x); eq = x == y; erf = scipy.special.erf(x);
    erfc = scipy.special.erfc(x); eval = x.value; expand = np.broadcast_to(x, shape);
    expand_as = np.broadcast_to(x, y.shape); fill_ = x.assign(np.full(x.shape, y)); float = x.astype(np.float32);
    gather = np.take_along_axis(x, indices, axis); ge = x >= y; gelu = af.nn.gelu(x); get_shape = x.shape;
    gradient = x.grad; gt = x > y; H = x.conj().T; half = x.astype(np.float16); index_put_ = x[i] = y;
    index_select = np.take(x, indices, axis); int = x.value.astype(int); inverse = np.linalg.inv(x);
    is_floating_point = x.dtype.kind == "f"; is_leaf = x.grad_fn is None; le = x <= y; leaky_relu = af.nn.leaky_relu(x);
    lerp = x + w * (y - x); lgamma = scipy.special.gammaln(x); log_softmax = af.nn.log_softmax(x);
    logit = scipy.special.logit(x); logsumexp = af.special.logsumexp(x); long = x.value.astype(int); lt = x < y;
    masked_fill = np.where(mask, y, x); masked_select = x[mask]; mm = x @ y;
    movedim = np.moveaxis(x, source, destination); mul = x * y; mul_ = x *= y under af.no_grad(); mv = x @ y;
    narrow = x[start : start + length]; ne = x != y; neg = -x; nelement = x.size; new_tensor = af.Constant(y);
    new_zeros = af.zeros(shape); normal_ = x.assign(rng.normal(size=x.shape)); numel = x.size; numpy = x.value;
    permute = x.transpose(axes); pinverse = np.linalg.pinv(x); read_value = x.value; relu = af.nn.relu(x);
    repeat_interleave = np.repeat(x, n); requires_grad_ = x.requires_grad = True; reshape_as = x.reshape(y.shape);
    retain_grad = loss.backward(keep_grads=True); rsqrt = 1 / np.sqrt(x); scatter_ = np.put_along_axis(x, i, y, axis);
    scatter_add = np.add.at(x, i, y); select = x[i]; sigmoid = af.nn.sigmoid(x); silu = af.nn.silu(x);
    softmax = af.nn.softmax(x); softplus = af.nn.softplus(x); split = np.split(x, places); sub = x - y;
    sub_ = x -= y under af.no_grad(); t = x.T; to = x.to_gpu(), or x.astype(dtype); to_py = x.value;
    topk = np.sort(x)[-k:]; trainable = x.requires_grad; type = x.astype(dtype); type_as = x.astype(y.dtype);
    unbind = list(x); uniform_ = x.assign(rng.uniform(low, high, x.shape));
    unsqueeze = x[:, None], or np.expand_dims(x, axis); view_as = x.reshape(y.shape); xlogy = scipy.special.xlogy(x, y);
    zero_ = x.zero_grad() for a gradient, x.assign(0 * x.value) for numbers
    """,
    "autoflow": """
    Adam = af.optim.Adam(parameters); as_tensor = af.Constant(x); autograd = af.grad(f), or loss.backward();
    bernoulli = rng.random(shape) < p; cast = x.astype(dtype); checkpoint_sequential = af.checkpoint(f);
    clip_by_global_norm = af.optim.clip_grad_norm(parameters, max_norm); clip_by_value = np.clip(x, low, high);
    convert_to_tensor = af.Constant(x); cuda = x.to_gpu(), model.to_gpu(); custom_gradient = af.primitive(f);
    custom_vjp = af.primitive(f), or af.Function; DataLoader = rng.permutation(n), and slices of it;
    defvjp = af.primitive(f), or af.Function; deriv = af.grad(f); detach = af.stop_gradient(x);
    device = x.to_gpu(), x.to_cpu(); from_numpy = af.Constant(x); func = af.grad, af.vjp; function = af.compile(f);
    grad_and_value = af.value_and_grad(f); grad_named = af.grad(f, argnum);
    GradientTape = loss.backward(), or af.grad(f); hessian_vector_product = af.hvp(f, x, v);
    holomorphic_grad = af.grad(f); inference_mode = af.no_grad(); is_tensor = isinstance(x, af.Node);
    jacobian_vector_product = af.jvp(f, x, v); jit = af.compile(f); lax = NumPy's functions; long = np.int64;
    losses = af.nn; make_jaxpr = af.graph(f(x)); make_jvp = af.jvp(f, x, v); make_vjp = af.vjp(f, x);
    manual_seed = np.random.default_rng(seed); Module = af.nn.Module; normal = rng.normal(size=shape);
    numpy = import numpy as np: plain NumPy; one_hot = np.eye(n)[labels]; Parameter = af.Variable(x);
    placeholder = an argument of a function; pmap = af.vmap(f); PRNGKey = np.random.default_rng(seed);
    rand = rng.random(shape); randint = rng.integers(low, high, shape); randn = rng.normal(size=shape);
    random = np.random.default_rng(seed); randperm = rng.permutation(n); reduce_max = np.max(x);
    reduce_mean = np.mean(x); reduce_min = np.min(x); reduce_sum = np.sum(x); remat = af.checkpoint(f);
    scan = a for loop; Session = nothing: values are there at once; set_default_dtype = np.asarray(x, np.float32);
    SGD = af.optim.SGD(parameters); Tensor = af.Variable, or np.ndarray;
    tensor = af.Variable(x), or af.Constant(x) for data; tree_util = af.tree_map, af.tree_leaves;
    utils = af.checkpoint, af.optim.clip_grad_norm; value = x.value; vector_jacobian_product = af.vjp(f, x)
    """,
    "nn": """
    Activation = the function itself: np.tanh; AdaptiveAvgPool2d = np.mean(x, axis=(-2, -1));
    BatchNorm1d = af.nn.BatchNorm; BatchNorm2d = af.nn.BatchNorm; BatchNormalization = af.nn.BatchNorm;
    BCELoss = af.nn.binary_cross_entropy(x, target); BCEWithLogitsLoss = af.nn.binary_cross_entropy_with_logits;
    CrossEntropyLoss = af.nn.cross_entropy(scores, labels); Dense = af.nn.Linear(n, m); Flatten = x.reshape(len(x), -1);
    functional = af.nn; GlobalAveragePooling2D = np.mean(x, axis=(-2, -1)); GRUCell = af.nn.GRU;
    Hardtanh = np.clip(x, -1, 1); Identity = lambda x: x; KLDivLoss = af.nn.kl_div(x, target);
    LayerNormalization = af.nn.LayerNorm; LSTMCell = af.nn.LSTM; Model = af.nn.Module; ModuleDict = a dict;
    ModuleList = a list; one_hot = np.eye(n)[labels]; pad = np.pad(x, widths); Parameter = af.Variable(x);
    ParameterList = a list; RNNCell = af.nn.RNN;
    sigmoid_cross_entropy_with_logits = af.nn.binary_cross_entropy_with_logits;
    SmoothL1Loss = af.nn.huber_loss(x, target); softmax_cross_entropy_with_logits = af.nn.cross_entropy(scores, labels);
    utils = af.optim.clip_grad_norm
    """,
    "optim": """
    apply_updates = opt.step(); clip_by_global_norm = af.optim.clip_grad_norm(parameters, max_norm);
    CosineAnnealingLR = af.optim.Schedule(opt, af.optim.cosine(steps));
    ExponentialLR = af.optim.Schedule(opt, lambda t: rate**t); LambdaLR = af.optim.Schedule(opt, f);
    lr_scheduler = af.optim.Schedule(opt, af.optim.cosine(steps)); Optimizer = af.optim.Optimiser;
    ReduceLROnPlateau = opt.lr *= 0.1 where the loss does not fall;
    StepLR = af.optim.Schedule(opt, af.optim.step_decay(every))
    """,
    "keywords": """
    allow_unused = nothing: what was not reached gets zeros; argnums = argnum=; axes = axis=; clip_norm = max_norm=;
    clip_value_max = max=; clip_value_min = min=; descending = np.sort(x)[::-1]; dim = axis=; dims = axis=;
    epsilon = eps=; grad_outputs = seed=; gradient = seed=; has_aux = af.grad_and_aux(f); in_channels = inputs=;
    in_dims = in_axes=; in_features = inputs=; inplace = nothing: the result is a new node; input = a=;
    inputs = af.gradients(loss, inputs); keep_dims = keepdims=; keepdim = keepdims=; learning_rate = lr=;
    maximize = (-loss).backward(); multiples = reps=; negative_slope = slope=; num_heads = heads=;
    out_channels = outputs=; out_dims = out_axes=; out_features = outputs=; paddings = pad_width=; perm = axes=;
    reduction_indices = axis=; retain_graph = nothing: graphs stay until their nodes are gone;
    set_to_none = nothing: grad is None; trainable = requires_grad=; unbiased = ddof=1, or ddof=0; units = outputs=;
    use_bias = bias=
    """,
    "opt": """
    add_param_group = another optimiser; apply_gradients = opt.step(); get_lr = opt.lr; learning_rate = opt.lr;
    minimize = opt.zero_grad(), loss.backward(), opt.step();
    param_groups = opt.parameters and opt.lr: an optimiser for each group; state = opt.memory
    """,
    "model": """
    append = af.nn.Sequential(*layers); apply = af.nn.functional_call(model, parameters, x); backward = loss.backward();
    buffers = model.state_dict(); compile = af.compile(f); count_params = sum(p.size for p in model.parameters());
    cpu = model.to_cpu(); cuda = model.to_gpu(); fit = af.fit, or a loop: zero_grad, backward, step;
    predict = model(x) under af.no_grad(); register_buffer = self.name = an array;
    register_parameter = self.name = af.Variable(x);
    requires_grad_ = p.requires_grad = False for each p in model.parameters(); summary = model(x).summary();
    trainable_variables = model.parameters()
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
    tables, homes = [TABLES[module.rpartition(".")[2]]], [module]
    if module == "autoflow":
        types = {other: f"np.{other}" for other, kind in vars(np).items() if isinstance(kind, type)}
        tables, homes = (
            [*tables, NUMPY, TABLES["x"], types],
            [module, *[f"{module}.{room}" for room in ("nn", "optim")]],
        )
    alike = {
        bare(own): f"{home.replace('autoflow', 'af')}.{own}"
        for home in reversed(homes)
        for own in dir(sys.modules.get(home))
    }
    here = next((table[name] for table in tables if name in table), alike.get(bare(name)))
    return AttributeError(f"module {module!r} has no attribute {name!r}{f': here it is {here}' if here else ''}")


def advise(word: str) -> str:
    """What to write for a keyword of another library; empty if it is none.

    >>> advise("keepdim")
    'for keepdim= write keepdims='
    """
    return f"for {word}= write {here}" if (here := TABLES["keywords"].get(word)) else ""


def refuse_keywords(name: str, unknown: Iterable[str]) -> NoReturn:
    """Raise the TypeError that Python would, and say what to write."""
    word = next(iter([w for w in unknown if advise(w)] or unknown))
    advice = f": {advise(word)}" if advise(word) else ""
    raise TypeError(f"Node.{name}() got an unexpected keyword argument {word!r}{advice}")


def explain_keyword(error: BaseException) -> None:
    """Add to a TypeError of a function of NumPy's or ours what to write for the keyword that it does not know."""
    found = re.search(r"(\w+)(?:\.\w+)?\(\) got an unexpected keyword argument '(\w+)'", str(error))
    ours = [name for section in ("", ".nn", ".optim") for name in dir(sys.modules.get(f"autoflow{section}"))]
    if found and (found[1] in NUMPY or found[1] in ours) and (advice := advise(found[2])) and advice not in str(error):
        error.add_note(f"{advice[0].upper()}{advice[1:]}")


def bare(name: str) -> str:
    """``LeakyReLU`` and ``leaky_relu`` are alike."""
    return name.replace("_", "").lower()


class Spelling:
    """A name that nodes, networks or optimisers lack: reading it is an AttributeError that says how it is written here.
    So ``hasattr`` is False. (``__getattr__`` would be asked for each slot that is not set.)"""

    def __init__(self, name: str, here: str) -> None:
        self.name, self.here = name, here

    def __get__(self, node: Any, kind: type) -> Any:
        text = f"{kind.__name__!r} object has no attribute {self.name!r}: here it is {self.here}"
        raise AttributeError(text, name=None, obj=None)


def install(kind: Any, table: dict[str, str]) -> None:
    """Give a class the names of a table, which completion does not list."""
    for name, here in table.items():
        setattr(kind, name, Spelling(name, here))
    listed = kind.__dir__
    kind.__dir__ = lambda self: [name for name in listed(self) if not isinstance(vars(kind).get(name), Spelling)]
