"""The definition of af.vmap, a loop over the examples, and how what a transform gives is compared with a definition."""

import re

import numpy as np

from autoflow.base import pytree
from autoflow.errors import BatchError, InputError


def expressions(text):
    """Those that stand in a text, with two blanks between them."""
    return re.split(r"\n\s*|  ", text.strip())


def by_loop(f, *args, in_axes=0, out_axes=0):
    """What af.vmap(f, in_axes, out_axes)(*args) is: f for each example, which is read-only, and np.stack of results."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    rows = [x if axis is None else np.moveaxis(x, axis, 0).view() for x, axis in zip(args, axes, strict=True)]
    for x, axis in zip(rows, axes, strict=True):
        if axis is not None:
            x.flags.writeable = False
    size = next(len(x) for x, axis in zip(rows, axes, strict=True) if axis is not None)
    results = [f(*[x if axis is None else x[k] for x, axis in zip(rows, axes, strict=True)]) for k in range(size)]
    columns = zip(*map(pytree.tree_leaves, results), strict=True)
    return pytree.tree_unflatten(results[0], [stack(column, out_axes) for column in columns])


def stack(column, axis=0):
    """The results of all examples as one; a text and anything else that is no number must be the same for all."""
    first = column[0]
    if hasattr(type(first), "dtype") or pytree.is_number(first) or type(first) is bool:
        if len({(np.shape(x), np.result_type(x)) for x in column}) > 1:
            raise BatchError("other shapes or dtypes")
        return np.moveaxis(np.stack(column), 0, axis)
    if any([x is not first and x != first for x in column]):
        raise InputError("a result that is not stacked (a text, or with out_axes=None) differs between examples")
    return first


def outcome(call, *args):
    """The result, or the exception."""
    with np.errstate(all="ignore"):
        try:
            return call(*args)
        except Exception as error:
            return error


def containers_of(z):
    """Their classes, one in another."""
    return (type(z), *map(containers_of, pytree.branches(z))) if pytree.is_container(z) else None


def strides_order(a):
    """The axes in memory; those of length 1 do not matter."""
    return sorted([k for k, n in enumerate(a.shape) if n > 1 and a.size], key=lambda k: -abs(a.strides[k]))


def difference(ours, theirs, tolerance=1e-8, *, apart=None, words=False):
    """How an outcome differs from another, "" if it does not: in containers, classes, dtypes, shapes, order in memory,
    numbers, in what may not be written into; and in the class of an exception, with ``words`` also in its text. Results
    share no memory with each other nor with the arrays of ``apart``, if that is given."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        same = [re.sub(r"_\d+", "", repr(z)) if words else type(z) for z in (ours, theirs)]
        return "" if same[0] == same[1] else f"{ours!r} for {theirs!r}"
    if containers_of(ours) != containers_of(theirs):
        return "containers"
    seen = list(apart or ())
    for a, b in zip(pytree.tree_leaves(ours), pytree.tree_leaves(theirs), strict=True):
        if not isinstance(b, (np.ndarray, np.generic)):
            if type(a) is not type(b) or not (a is b or callable(a) or repr(a) == repr(b)):
                return f"{a!r} for {b!r}"
            continue
        kinds = [
            (type(z), *(getattr(z, name) for name in ("dtype", "shape")), strides_order(z))
            for z in map(np.asanyarray, (a, b))
        ]
        if kinds[0] != kinds[1]:
            return f"{kinds[0]} for {kinds[1]}"
        if isinstance(b, np.ndarray) and b.flags.writeable and not a.flags.writeable:
            return "read-only"
        if not equal(np.asarray(a), np.asarray(b), tolerance):
            return f"{a.tolist()} for {b.tolist()}"
        if apart is not None and any([np.may_share_memory(a, other) for other in seen]):
            return "shared memory"
        seen.append(a)
    return ""


def equal(a, b, tolerance):
    """Are the numbers those, up to rounding? A tolerance of 0: to the bit, but for the payload of NaN."""
    if a.dtype.kind not in "fc":
        return a.tolist() == b.tolist()
    small = max(tolerance, 1e-3) if tolerance and a.dtype.itemsize < 8 else tolerance
    if not np.allclose(a, b, small, small, equal_nan=True):
        return False
    return a.dtype.kind == "c" or tolerance > 1e-12 or np.array_equal(np.signbit(a[a == a]), np.signbit(b[b == b]))
