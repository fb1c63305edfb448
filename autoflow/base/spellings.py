"""The names of PyTorch, JAX and TensorFlow and their counterparts here, for AttributeErrors and a page of the docs.

The table is ``spellings.txt``: ``x``, ``opt`` and ``model`` are attributes of nodes, optimisers and networks,
``keywords`` those of functions, the others names of our modules. docs/coming-from.md shows the table as well.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

# The names that classes get where they are made. What the table says of them is read when somebody asks.
ATTRIBUTES = {
    "x": """
    add_ addcdiv addcmul addmm addmv aminmax as_numpy assign_add assign_sub at baddbmm bernoulli block_until_ready bmm
    bool byte cat char children chunk clamp clamp_ clamp_max clamp_min clear_grad cleargrad clone constant contiguous
    copy_ cpu creator cuda cummax cummin data_ptr derivative detach_ devices diag_embed digamma dim dist div div_ double
    dropout element_size elu eq erf erfc erfinv eval expand expand_as fill_ float frac gather ge gelu ger get_shape
    gradient grads gt H half histc index_add index_add_ index_copy index_fill index_fill_ index_put index_put_
    index_select initialized_value int inverse is_complex is_contiguous is_cuda is_floating_point is_leaf kthvalue label
    le leaky_relu lerp lgamma log_softmax logcumsumexp logdet logit logsumexp long lt masked_fill masked_fill_
    masked_select matrix_exp max_pool2d mH mm mode movedim mul mul_ multinomial mv narrow ndimension ne neg nelement new
    new_empty new_full new_ones new_tensor new_zeros normal_ null_grad null_gradients numel numpy op permute pinverse
    read_value relu repeat_interleave requires_grad_ reshape_as resize_ retain_grad rsqrt scatter scatter_ scatter_add
    scatter_add_ scatter_update select set_shape sgn short sigmoid silu softmax softplus split squeeze_ stride sub sub_
    t take_along_dim tensor_split to to_list to_numpy to_py topk trainable type type_as unbind unchain unflatten unfold
    uniform_ unsqueeze view_as weak_type xlogy zero_ zero_gradient zerograd
    """,
    "opt": """
    add_param_group apply_gradients compute_gradients get_lr init iterations learning_rate minimize param_groups params
    set_lr setup state variables weights zero_grads
    """,
    "model": """
    add append apply backward buffers build call children compile count_params cpu cuda double evaluate extend fit float
    get_parameter get_weights half in_features init load_weights named_children named_modules out_features params
    predict register_buffer register_forward_hook register_full_backward_hook register_parameter requires_grad_
    reset_parameters save_weights set_weights summary train_on_batch trainable_variables trainable_weights variables
    weights
    """,
}


@cache
def tables() -> dict[str, dict[str, str]]:
    """The sections of the table, with rows ``there = here``."""
    text = Path(__file__).with_name("spellings.txt").read_text(encoding="utf-8")
    sections = {}
    for section in text.split("\n\n"):
        head, *rows = section.splitlines()
        sections[head.strip("[]")] = {name: here for name, _, here in [row.partition(" = ") for row in rows]}
    return sections


def numpys() -> dict[str, str]:
    """What others have as methods of arrays, or in their module, and NumPy as a function."""
    return {
        name: f"{module}.{name}(x)"
        for module, names in {"np.linalg": vars(np.linalg), "np": vars(np)}.items() for name, f in names.items()
        if name[0] != "_" and callable(f) and hasattr(f, "__name__") and not isinstance(f, type)
    }  # fmt: skip


NUMPY = numpys()  # (Python 3.12 warns of a comprehension at the top of a module under a debugger.)
NODE = [*ATTRIBUTES["x"].split(), *[name for name in NUMPY if not hasattr(np.ndarray, name)]]
NODE += [f"{name}_" for name in NODE if f"{name}_" not in NODE]


def of_node(name: str) -> str:
    """How an attribute that nodes lack is written here."""
    return tables()["x"].get(name) or NUMPY.get(name) or f"x.assign({of_node(name[:-1])})"


def no_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that a module of ours does not have.

    >>> no_attribute("autoflow", "jit")
    AttributeError("module 'autoflow' has no attribute 'jit': here it is af.compile(f)")
    """
    section = module.rpartition(".")[2]
    names, homes, sections = [tables()[section]], [module], [section]
    if module == "autoflow":
        kinds = (type, float, ModuleType)
        others = {other: f"np.{other}" for other, x in vars(np).items() if isinstance(x, kinds)}
        names += [NUMPY, tables()["x"], others]
        sections = [module, "nn", "optim"]
        homes += [f"{module}.{room}" for room in sections[1:]]
    alike = {
        bare(own): f"{home.replace('autoflow', 'af')}.{own}"
        for home in reversed(homes)
        for own in dir(sys.modules.get(home))
    }
    alike |= {bare(other): here for own in reversed(sections) for other, here in tables()[own].items()}
    here = next((table[name] for table in names if name in table), alike.get(bare(name)))
    return AttributeError(f"module {module!r} has no attribute {name!r}{f': here it is {here}' if here else ''}")


def advise(word: str) -> str:
    """What to write for a keyword of another library; empty for any other word.

    >>> advise("keepdim")
    'for keepdim= write keepdims='
    """
    return f"for {word}= write {here}" if (here := tables()["keywords"].get(word)) else ""


def refuse_keywords(name: str, unknown: Iterable[str]) -> NoReturn:
    """Raise the TypeError that Python would, and say what to write."""
    word = next(iter([w for w in unknown if advise(w)] or unknown))
    advice = f": {advise(word)}" if advise(word) else ""
    raise TypeError(f"Node.{name}() got an unexpected keyword argument {word!r}{advice}")


def explain_error(error: BaseException) -> None:
    """Add to a TypeError of a function of NumPy's or ours what to write for the keyword that it does not know, and to
    an AttributeError of a plain array, as ``x.grad.zero_()``, what to write for that name."""
    if isinstance(error, AttributeError) and isinstance(error.obj, (np.ndarray, np.generic)) and error.name in NODE:
        error.add_note(f"Here it is {of_node(error.name)}")
    match = re.search(r"(\w+)(?:\.\w+)?\(\) got an unexpected keyword argument '(\w+)'", str(error))
    ours = [name for section in ("", ".nn", ".optim") for name in dir(sys.modules.get(f"autoflow{section}"))]
    if match and (match[1] in NUMPY or match[1] in ours) and (advice := advise(match[2])) and advice not in str(error):
        error.add_note(f"{advice[0].upper()}{advice[1:]}")


def bare(name: str) -> str:
    """``LeakyReLU`` and ``leaky_relu`` are alike."""
    return name.replace("_", "").lower()


class Spelling:
    """A name that nodes, networks or optimisers lack: reading it is an AttributeError that says how it is written here.
    So ``hasattr`` is False. (``__getattr__`` would be asked for each slot that is not set.)"""

    def __init__(self, name: str, section: str) -> None:
        self.name, self.section = name, section

    def __get__(self, node: object, kind: type) -> NoReturn:
        here = of_node(self.name) if self.section == "x" else tables()[self.section][self.name]
        text = f"{kind.__name__!r} object has no attribute {self.name!r}: here it is {here}"
        raise AttributeError(text, name=None, obj=None)


def install(kind: Any, section: str) -> None:
    """Give a class the names of a section, which completion does not list."""
    for name in NODE if section == "x" else ATTRIBUTES[section].split():
        setattr(kind, name, Spelling(name, section))
    listed = kind.__dir__
    kind.__dir__ = lambda self: [name for name in listed(self) if not isinstance(vars(kind).get(name), Spelling)]
