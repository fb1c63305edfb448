"""NumPy functions without a row, and what nodes do with them.

Every public callable of NumPy is in exactly one list, as ``tests/table/test_outside.py`` checks:

    RULES, COMPOSED   differentiated: a row, or written with functions that have rows (``table.py``)
    ALLOCATORS        a new array to be filled, which remembers what is written into it (zeros_like)
    WRITERS           write into their first argument (copyto)
    PLAIN             plain numbers: places, counts, booleans; the derivative is zero or does not exist (argmax, isnan)
    REFUSED           NoRuleError, with what to do instead
    BYPASS_DISPATCH   NumPy does not ask the node: this can only be documented (np.asarray)

The exceptions are classes (they hold data, and NumPy does not ask when one is called) and the namespaces of
:data:`OUT_OF_SCOPE`, each with its reason. A function that gets a row leaves its list here; even before that the row
counts, because nodes look there first. A function in no list is refused.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .shapes import Array, as_dtype, functions, given_keywords, has_gradient, name_out, numbers_of
from .table import composed

# -- answered ---------------------------------------------------------------------------------------------------------

ALLOCATORS = functions(np, "empty_like ones_like zeros_like")

WRITERS = functions(np, "copyto fill_diagonal place put put_along_axis putmask")

PLAIN = functions(np, """
    equal greater greater_equal isfinite isinf isnan isnat less less_equal not_equal signbit
    logical_and logical_not logical_or logical_xor
    bitwise_and bitwise_count bitwise_or bitwise_xor gcd invert lcm left_shift packbits right_shift spacing unpackbits
    all allclose any array_equal array_equiv in1d isclose iscomplex iscomplexobj isin isneginf isposinf isreal isrealobj
    can_cast common_type einsum_path may_share_memory min_scalar_type ndim result_type shape shares_memory size
    argmax argmin argpartition argsort argwhere diag_indices_from digitize flatnonzero ix_ lexsort nanargmax nanargmin
    nonzero ravel_multi_index searchsorted tril_indices_from triu_indices_from unravel_index
    count_nonzero histogram_bin_edges
    array2string array_repr array_str save savetxt savez savez_compressed
""") | functions(np.linalg, "matrix_rank")  # fmt: skip

OTHERS: dict[Any, str] = {}  # functions of other libraries without a row -> why; ``rules/special.py`` writes SciPy's


@composed(np.full_like)
def full_like(
    a: Array, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Array:  # fmt: skip
    """A Constant to be written into, as from zeros_like; an Operation if ``fill_value`` is a node with a gradient."""
    fresh = np.empty_like(a, dtype, order, **given_keywords(shape=shape, device=device))
    if not has_gradient(fill_value):
        np.copyto(fresh, numbers_of(fill_value), casting="unsafe")
        return fresh
    filled = np.copy(np.broadcast_to(fill_value, fresh.shape), order="C")
    return as_dtype(filled, fresh.dtype)


def is_plain(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """May this call be answered with plain numbers? Not if they would be written into a node (``out=``), which has its
    own history."""
    if function not in PLAIN:
        return False
    out = name_out(function, args, options)[1].get("out")
    return not any([is_node(a) for a in (out if isinstance(out, tuple) else (out,))])


def is_node(x: Any) -> bool:
    """Is it a node? (Rules are below nodes and do not know the class.)"""
    return hasattr(x, "requires_grad")


# -- refused ----------------------------------------------------------------------------------------------------------

DATES = "nodes hold numbers, no dates: use days = (dates - dates[0]) / np.timedelta64(1, 'D')"

# Function -> what to do instead. A function that gets a row leaves its line.
REFUSED: dict[Any, str] = dict.fromkeys(functions(np, "busday_count busday_offset datetime_as_string is_busday"), DATES)

# -- never asked ------------------------------------------------------------------------------------------------------

# Arrays with the numbers of their arguments; data from elsewhere, and new arrays. Given a node these take its numbers,
# and the gradient ends there.
MADE = functions(np, """
    arange array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray asmatrix bmat fromiter full
    kaiser require
""")  # fmt: skip
CONSTRUCTORS = MADE | functions(np, """
    empty eye from_dlpack frombuffer fromfile fromfunction frompyfunc fromregex fromstring genfromtxt identity indices
    load loadtxt nested_iters ones tri zeros bartlett blackman hamming hanning
""") | functions(np.fft, "fftfreq rfftfreq") | functions(np.lib.stride_tricks, "as_strided")  # fmt: skip

# Shapes, indices, dtypes, text, settings.
METADATA = functions(np, """
    broadcast_shapes diag_indices iterable isfortran isscalar mask_indices tril_indices triu_indices
    datetime_data isdtype issubdtype mintypecode promote_types typename
    base_repr binary_repr format_float_positional format_float_scientific info
    get_include get_printoptions getbufsize geterr geterrcall printoptions set_printoptions setbufsize seterr seterrcall
    show_config show_runtime test
""") | functions(np.lib.array_utils, "byte_bounds normalize_axis_index normalize_axis_tuple")  # fmt: skip

# Written with functions that do ask.
ALIASES = functions(np, "row_stack trapz")

BYPASS_DISPATCH = CONSTRUCTORS | METADATA | ALIASES

OUT_OF_SCOPE = {
    "numpy.core": "private",
    "numpy.ctypeslib": "it hands out memory: use x.value",
    "numpy.f2py": "a compiler",
    "numpy.lib": "it adds documentation; the rest is in the namespaces below it",
    "numpy.lib.format": "it writes files: use x.value",
    "numpy.lib.introspect": "about NumPy itself",
    "numpy.ma": "masked arrays have arithmetic of their own: use np.where(mask, ...) or where=mask",
    "numpy.matlib": "matrices have arithmetic of their own: use arrays",
    "numpy.polynomial": "p(x) and polyval(x, c) of a node x are recorded; of coefficients it takes the numbers: "
    "use np.polyval, np.polyder",
    "numpy.random": "it draws numbers: scale and shift what it draws, mean + deviation * rng.normal(size=n)",
    "numpy.testing": "it compares numbers, and takes those of nodes",
    **dict.fromkeys(["numpy.char", "numpy.strings"], "nodes hold numbers, no text"),
    **dict.fromkeys(["numpy.rec", "numpy.lib.recfunctions"], "nodes have no fields: use a Variable for each"),
    **dict.fromkeys([f"numpy.{name}" for name in ("dtypes", "exceptions", "typing")], "classes"),
    **dict.fromkeys([f"numpy.lib.{name}" for name in ("mixins", "npyio", "user_array")], "classes"),
}

# -- what the error says ----------------------------------------------------------------------------------------------

BY_METHOD = {
    "accumulate": "use np.cumsum or np.cumprod, or a loop and np.stack",
    "at": "use x[i] = ..., or x += values at their places (np.where, an index)",
    "outer": "make the shapes fit: np.{name}(x[:, None], y) for two vectors",
    "reduce": "use np.sum, np.prod, np.max or np.min, or a loop over x",
    "reduceat": "reduce the slices: np.stack([x[i:j].sum() for i, j in zip(starts, ends)])",
}


def advice(function: Any, method: str = "") -> str:
    """What to do instead of ``function``, or of that method of a ufunc.

    >>> advice(np.is_busday).partition(":")[0]
    'nodes hold numbers, no dates'
    """
    if method in BY_METHOD and (method == "at" or function not in PLAIN):
        instead = BY_METHOD[method].format(name=function.__name__)
    elif function in REFUSED:
        instead = REFUSED[function]
    elif function in PLAIN:
        instead = "it gives numbers, no object, so out= must be a plain array. To write it into a node: a[...] = result"
    elif function in BYPASS_DISPATCH:
        instead = (
            "like= needs no node. Arrays that remember what is written into them: af.array, af.zeros, af.ones, af.full"
        )
    elif function in OTHERS:
        instead = (
            f"{OTHERS[function]}. Give it a derivative with af.register_rule, or write it with functions that have one"
        )
    else:
        instead = OUT_OF_SCOPE.get(
            getattr(function, "__module__", None) or "", "write it with functions that have a derivative"
        )
    return f"{instead}. For the numbers alone use x.value"


def public_name(function: Any, method: str = "") -> str:
    """The function's name as a user writes it.

    >>> public_name(np.linalg.inv), public_name(np.add, "outer"), public_name(np.add.at), public_name(np.ndarray.copy)
    ('np.linalg.inv', 'np.add.outer', 'np.add.at', 'np.ndarray.copy')
    """
    if isinstance(ufunc := getattr(function, "__self__", None), np.ufunc):
        return public_name(ufunc, function.__name__)
    name = getattr(function, "__qualname__", "<")
    name = getattr(function, "__name__", "") or str(function) if "<" in name else name
    module = getattr(function, "__module__", None)
    if not module:  # a ufunc, of any library, or a function in C
        homes = [home for home in ("numpy", "scipy.special") if getattr(sys.modules.get(home), name, None) is function]
        module = [*homes, "" if isinstance(function, np.ufunc) else "numpy"][0]
    home = module.partition("._")[0].replace("numpy", "np", 1)
    name = f"{home}.{name}" if home else name
    return f"{name}.{method}" if method not in ("", "__call__") else name
