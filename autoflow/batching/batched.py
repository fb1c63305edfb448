"""Arrays that hide their batch axis: how a function written for one example runs on all of them at once.

``af.vmap(f)`` calls f once, with :class:`Batched` arrays. To f and to NumPy they look like arrays of another library,
in the shape of one example; inside is the array of all examples. NumPy hands each call over to them, and
``forms.py`` says what the same call is for the whole batch: the batch axis is always the first one.

How this meets derivatives. What is inside may be a node, and a node may have a Batched as its value; the layer decides.

    af.grad(lambda w: af.vmap(f)(w))     the node came first: it is inside, and records what is done to the whole batch
    af.vmap(af.grad(f))                  nodes that f's gradient makes have Batched values, so rows, records and the
                                         pass back run as always, on arrays that happen to hide a batch

So what came later is outside. An operation belongs to the deepest layer among its operands. A node of an outer
layer is an array like any other to it (:meth:`Layer.lifted`): no gradient of this layer flows there, and its own is
recorded inside.

The first section has questions about such arrays, nodes or not. They are known by their ``batch_layer``.

The methods and operators of ndarray, for arrays that hide their batch.

First what Python may not ask of an array that stands for many: a number that differs between examples. Then the
methods; each says which function it is.
"""

from __future__ import annotations

import operator
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..backends.duck_arrays import NP, QUESTIONS, DuckArray, other_methods, refusing, store_results
from ..base.errors import BatchError
from ..base.lazy import ROWS
from ..base.modes import modes
from ..nodes.nodes import NodeRole, gradient_target, value_of
from ..nodes.versions import Region, caller, owner_of, user_frame
from ..table.shapes import Array, name_out, without_history
from ..table.table import Rule

# ---------------------------------------------------------------- questions about arrays that hide a batch


def flat(x: Any) -> list[Any]:
    """The leaves of nested lists, tuples, dicts and slices."""
    kind = type(x)
    if kind is slice:
        return [x.start, x.stop, x.step]
    if kind is dict:
        x = list(x.values())
    elif not isinstance(x, (list, tuple)):
        return [x]
    found: list[Any] = []
    for part in x:
        if isinstance(part, (list, tuple, dict, slice)):
            found += flat(part)
        else:
            found.append(part)
    return found


def layer_of(x: Any) -> Any:
    """The layer whose batch ``x`` hides, also if it is a node; None for other arrays."""
    return getattr(x, "batch_layer", None)


def deepest(x: Any) -> Any:
    """The deepest layer among arrays, which may be in nested lists. There is one."""
    layers = [x.batch_layer for x in flat(x) if hasattr(x, "batch_layer")]
    return max(layers, key=lambda layer: layer.depth)


def is_held_by_node(x: Any, layer: Any) -> bool:
    """Is one of these arrays a node of that layer? Then the operation is recorded by nodes."""
    return any([isinstance(v, NodeRole) and layer_of(v) is layer for v in flat(x)])


def sample(x: Any) -> Any:
    """A plain array of the shape and dtype, for questions about these; no memory."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape) if hasattr(x, "batch_layer") else x


def shares_memory(a: Any, b: Any) -> bool:
    """Is one a view of the other, or both of a third?"""
    a, b = value_of(a), value_of(b)
    if hasattr(a, "batch_layer") and hasattr(b, "batch_layer"):
        return shares_memory(a.inner, b.inner)
    return owner_of(a) is owner_of(b)


def has_nodes_inside(x: Any) -> bool:
    """Is there a node with a history behind this array?"""
    while hasattr(x, "batch_layer"):
        x = x.inner
        if gradient_target(x) is not None:
            return True
        x = value_of(x)
    return False


# ---------------------------------------------------------------- what Python may not ask


def refuse_number(what: str) -> BatchError:
    """Python asks for a number that differs between examples."""
    return BatchError(
        f"{what} needs one number, but under af.vmap each example has another (at {users_line()}). Write "
        f"np.where(condition, a, b) instead of an if and of x[mask]; for an array to be filled np.zeros_like(x); or "
        f"call the function for each example, without vmap."
    )


def users_line() -> str:
    """File and line of the first frame outside of autoflow and NumPy."""
    frame = user_frame()
    if frame.f_globals.get("__name__", "").partition(".")[0] != "numpy":
        return caller()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("numpy", "autoflow"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def refusing_method(word: str, convert: Any) -> Any:
    """The method by which Python asks for a number. A rule of ours may look at numbers, so it is answered if all
    examples agree, and then goes the same way for all. A user's function is refused: with other numbers it might not.
    What all examples share has one number.
    """

    def answer(x: Any) -> Any:
        numbers = x
        while hasattr(numbers, "inner") or isinstance(numbers, NodeRole):
            numbers = value_of(numbers) if isinstance(numbers, NodeRole) else numbers.inner
        if not x.shape and isinstance(numbers, np.ndarray) and numbers.size:
            shared = x.mapped is False and type(x.inner) is np.ndarray
            ours = sys._getframe(1).f_globals.get("__name__", "").startswith(ROWS)
            if shared or (ours and np.all(numbers == numbers.flat[0])):
                return convert(numbers.flat[0])
        raise refuse_number(word)

    return answer


# ---------------------------------------------------------------- methods and operators


class BatchedMethods(DuckArray):
    """What :class:`~.batched.Batched` has in common with ndarray."""

    __slots__ = ()
    inner: Any
    mapped: bool
    batch_layer: Any
    refuse_number = staticmethod(refuse_number)

    def again(self, inner: Array) -> Any:
        """Another array of the same examples."""
        return type_of(self)(inner, self.batch_layer, self.mapped)

    def without_history(self) -> Any:
        """The same numbers: nodes of outer layers have no part in them."""
        return self.again(without_history(value_of(self.inner)))

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """As in NumPy."""
        self.batch_layer.check()
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self.copy() if copy else self
        return self.again(self.inner.astype(dtype, casting=casting))

    def copy(self, order: str = "C") -> Any:
        """As in NumPy."""
        return self.again(self.inner.copy(order="K" if order == "K" else "C"))

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """As in NumPy."""
        return NP.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def ravel(self, order: Any = "C") -> Any:
        """As in NumPy."""
        return NP.ravel(self, order)

    def flatten(self, order: Any = "C") -> Any:
        """As in NumPy."""
        return NP.ravel(self, order).copy()

    def conjugate(self) -> Any:
        """As in NumPy."""
        return NP.conjugate(self) if self.dtype.kind == "c" else self

    conj = conjugate

    def fill(self, value: Any) -> None:
        """As in NumPy."""
        self[...] = value  # type: ignore[index]

    def sort(self, axis: int = -1, **options: Any) -> None:
        """As in NumPy."""
        self[...] = NP.sort(self, axis=axis, **options)  # type: ignore[index]

    def partition(self, kth: Any, axis: int = -1, **options: Any) -> None:
        """As in NumPy."""
        self[...] = NP.partition(self, kth, axis=axis, **options)  # type: ignore[index]

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """As in NumPy."""
        return NP.compress(condition, self, axis=axis, out=out)

    def __pow__(self, other: Any) -> Any:
        """``x**2`` is a square: NumPy's operator has shortcuts that its function has not."""
        if self.yields_to(other):
            return NotImplemented
        if type(other) in (int, float):
            self.batch_layer.check()
            return self.again(self.inner**other)
        return NP.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return NP.power(other, self)

    def __ipow__(self, other: Any) -> Any:
        if not self.shape:  # as in update
            return self**other
        self[...] = self**other  # type: ignore[index]
        return self

    def yields_to(self, y: Any) -> bool:
        """To a node of our layer, or of one inside."""
        layer = getattr(y, "batch_layer", None) if isinstance(y, NodeRole) else None
        return layer is not None and layer.depth >= self.batch_layer.depth

    def update(self, name: str, ufunc: np.ufunc, y: Any) -> Any:
        """``x += y`` in the memory of the batch, by what is behind: a node there records it."""
        if self.yields_to(y):
            return NotImplemented
        if not self.shape:  # of an array x[i] would be a number, and x += y another one
            return ufunc(self, y)
        self.batch_layer.check()
        y, mapped = (y.inner, y.mapped) if getattr(y, "batch_layer", None) is self.batch_layer else (y, False)
        if mapped and not self.mapped:
            self[...] = y  # type: ignore[index] # refused there, with advice
        if mapped and y.ndim < self.inner.ndim:
            y = y.reshape((y.shape[0], *(1,) * (self.inner.ndim - y.ndim), *y.shape[1:]))
        getattr(operator, f"i{name}")(self.inner, y)
        return self


def type_of(x: BatchedMethods) -> Any:
    """Batched, also of a node that has one as its value."""
    return next(cls for cls in type(x).__mro__ if cls.__name__ == "Batched")


WORDS = QUESTIONS | {"index": "plain[i] (write af.Constant(plain)[i]), a range, a shape"}
CONVERT = {"bool": bool, "float": float, "int": int, "complex": complex, "index": int}
VALUES = ("item", "tolist", "tobytes", "tofile", "dump", "dumps")
LAYOUT = ("setflags", "resize", "byteswap", "setfield", "getfield")


def add_methods() -> None:
    """Every other method of ndarray: the function of that name, or refused."""

    def called(name: str) -> Any:
        function: Any = getattr(np, name)
        return lambda self, *args, **options: function(self, *args, **options)

    def hidden(name: str) -> Any:
        def refuse(self: Any, *_: Any, **__: Any) -> Any:
            raise BatchError(
                f"x.{name} is about where the numbers of one array lie in memory (at {caller()}): under af.vmap those "
                f"of all examples lie together"
            )

        return refuse

    for name, convert in CONVERT.items():
        setattr(BatchedMethods, f"__{name}__", refusing_method(WORDS[name], convert))
    for name in VALUES:
        setattr(BatchedMethods, name, refusing(f"x.{name}()"))
    for name in LAYOUT:
        setattr(BatchedMethods, name, hidden(f"{name}()"))
    for name in ("data", "ctypes", "flat"):
        setattr(BatchedMethods, name, property(hidden(name)))
    for name in other_methods(BatchedMethods):
        if hasattr(np, name):
            setattr(BatchedMethods, name, called(name))


add_methods()


# ---------------------------------------------------------------- layers, and the arrays that hide a batch


FACTS = frozenset({
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj, np.common_type,
    np.min_scalar_type,
})  # fmt: skip


class Layer:
    """One vmap that is running.

    size : how many examples there are.
    depth : 1 for the outermost; a vmap inside is deeper, and its arrays hide their batch on top of ours.
    may_loop : False: what has no batched form is a BatchError, as the caller has a better loop.
    open : is it still running? Its arrays mean nothing afterwards.
    """

    __slots__ = ("depth", "may_loop", "open", "size", "written")

    def __init__(self, size: int, may_loop: bool = True) -> None:
        around = modes().layer
        self.may_loop = may_loop
        self.size, self.depth, self.open = size, 1 if around is None else around.depth + 1, True
        self.written: list[Any] = []  # functions that run on our arrays as they are written: see forms.py

    def check(self) -> None:
        """Raise BatchError if the vmap has ended."""
        if not self.open:
            raise BatchError(
                f"an array that a function under af.vmap has kept (in an attribute, a list, a global) is used at "
                f"{caller()}, after the vmap: it stands for one example, and now there is none. Return it instead."
            )

    def runs_alone(self, args: Any) -> Any:
        """See :meth:`Batched.runs_alone`."""
        return Batched.runs_alone(args)

    def lifted(self, x: Any) -> Any:
        """``x``, which may be a node of an outer layer, as an array of ours that all examples share."""
        if isinstance(x, Batched) and x.batch_layer is self:
            return x
        return Batched(x if hasattr(x, "shape") else np.asarray(x), self, mapped=False)


class Batched(BatchedMethods):
    """An array with the shape of one example that stands for a batch of them. See the top of this file."""

    __slots__ = ("__weakref__", "base", "batch_layer", "inner", "mapped")
    inner: Any  # the array behind it; its first axis is the batch, if mapped
    mapped: bool  # False: all examples have the same one
    batch_layer: Layer
    base: Any  # the Batched whose memory this one shows, as ndarray.base
    takes_primitives = True  # see table/table.py

    def __init__(self, inner: Array, layer: Layer, mapped: bool = True, base: Any = None) -> None:
        self.inner, self.batch_layer, self.mapped, self.base = inner, layer, mapped, base

    @staticmethod
    def adopt(x: Any, like: Batched) -> Any:
        """Plain arrays may meet us in an operation as they are."""
        return x

    # -- facts

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one example."""
        return self.inner.shape[1:] if self.mapped else self.inner.shape

    dtype = property(lambda self: self.inner.dtype)
    strides = property(lambda self: self.inner.strides[self.mapped :])

    @property
    def flags(self) -> Any:
        """What rows and writes ask of memory."""
        flags = getattr(value_of(self.inner), "flags", None)
        return SimpleNamespace(
            writeable=getattr(flags, "writeable", True), c_contiguous=getattr(flags, "c_contiguous", True),
            f_contiguous=False, forc=False, carray=False, owndata=False,
        )  # fmt: skip

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where the batch lies in memory, as ``nodes/versions.py`` asks arrays that are not NumPy's."""
        interface = Region(value_of(self.inner)).__array_interface__
        if not isinstance(interface, dict):
            raise AttributeError("no memory of its own")
        return interface

    def __repr__(self) -> str:
        return f"<{self.dtype} array of shape {self.shape}, one of a batch of {self.batch_layer.size}>"

    # -- what Python may not know

    def __array__(self, *_: Any, **__: Any) -> Any:
        if not self.mapped and not has_nodes_inside(self):
            return np.array(self.inner)
        raise refuse_number("np.asarray, np.array, plain[i] = x, or a library that is not NumPy")

    # -- NumPy's dispatch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        layer = deepest([inputs, options])
        if is_held_by_node([inputs, options], layer):
            return NotImplemented
        layer.check()
        out = options.pop("out", None)
        if out is not None and method == "__call__" and options.get("where", True) is not True:
            result = FORM_OF["masked"](layer, ufunc, inputs, options, out)
        else:
            result = FORM_OF["ufunc"](layer, ufunc, method, inputs, options)
        return result if out is None else store_results(out, result, assign)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        layer = deepest([self, args, options])  # of like= only we are left
        if is_held_by_node([self, args, options], layer):
            return NotImplemented
        layer.check()
        if function in (np.may_share_memory, np.shares_memory):
            return shares_memory(*[x.inner if type(x) is Batched else x for x in args[:2]])
        if function in FACTS:
            return function(*[sample(x) for x in args], **{k: sample(v) for k, v in options.items()})
        args, options = name_out(function, args, options)
        if options.get("out") is not None:
            out = options.pop("out")
            return store_results(out if isinstance(out, tuple) else (out,), function(*args, **options), assign)
        return FORM_OF["function"](layer, function, args, options)

    @classmethod
    def run_row(
        cls, rule: Rule, inputs: Any, values: list[Any], parents: list[Any], constants: Any, compute: Any = None
    ) -> tuple[Any, bool]:
        """A row on values of which at least one is a Batched, called by ``forward/recording.py``; and whether it is
        recorded by nodes of this layer."""
        layer, held = cls.lift_operands(rule, inputs, values, parents, constants)
        return FORM_OF["row"](layer, rule, values, compute), held

    @staticmethod
    def lift_operands(
        rule: Rule, inputs: Any, values: list[Any], parents: list[Any], constants: Any
    ) -> tuple[Layer, bool]:
        """Make arrays of the deepest layer out of nodes of outer ones, whose gradient is recorded inside. ``values``,
        ``parents`` and ``constants`` are changed. Returns the layer, and whether a node of it is an operand."""
        layer = deepest(values)
        layer.check()
        is_held = False
        for k, x in enumerate(inputs[: rule.operands]):
            if not isinstance(x, NodeRole):
                continue
            if layer_of(x) is layer:
                is_held = True
            elif gradient_target(x) is not None:
                values[k] = Batched(x, layer, mapped=False)
                parents[k] = None
                constants.pop(k, None)
        return layer, is_held

    @staticmethod
    def runs_alone(args: Any) -> Batched | None:
        """For a function whose derivative is its own (``af.Function``): does an argument have nodes of an outer layer
        inside? These must see the call, so it is made for each example, by :meth:`run_each` of what is returned.

        Raises BatchError if nodes of this layer are arguments, too: they want one call.
        """
        arrays = [x for x in flat(args) if isinstance(x, Batched)]
        if not arrays:
            return None
        layer = deepest(arrays)
        nodes = [x for x in flat(args) if isinstance(x, NodeRole) and layer_of(x) is not layer and gradient_target(x)]
        if not nodes and not any([has_nodes_inside(value_of(x)) for x in arrays]):
            return None
        if any([isinstance(x, NodeRole) and layer_of(x) is layer for x in arrays]):
            raise BatchError(
                f"{caller()} applies an af.Function inside af.vmap, where its result is differentiated both inside and "
                f"outside of the vmap: it is not defined which derivative the outer one sees. Write it with NumPy "
                f"functions, or call it for each example, without vmap."
            )
        return next(x for x in arrays if layer_of(x) is layer)

    def run_each(self, function: Any, args: Any, options: Any, name: str) -> Any:
        """``function(*args, **options)`` for each example."""
        return FORM_OF["loop"](self.batch_layer, function, args, options, name)

    def detached(self) -> Any:
        """The numbers alone: without nodes inside."""
        return detach(self)

    def backward(self, *_: Any, **__: Any) -> None:
        """Refused."""
        raise BatchError(
            f"backward() at {caller()} under af.vmap: the Variables are outside, and each example has a gradient of "
            f"its own. Use af.vmap(af.grad(f)); or go back from what af.vmap(f) returns."
        )

    # -- reading and writing

    def __getitem__(self, index: Any) -> Any:
        layer = deepest([self, index])
        layer.check()
        return FORM_OF["getitem"](layer, self, index)

    def __setitem__(self, index: Any, new: Any) -> None:
        self.batch_layer.check()
        FORM_OF["setitem"](self, index, new)

    def view(self, *args: Any, **options: Any) -> Any:
        """As in NumPy; with one of our classes, the same array as that class: so nodes are made."""
        kind = args[0] if args else options.get("type")
        if isinstance(kind, type) and issubclass(kind, Batched):
            x = object.__new__(kind)
            Batched.__init__(x, self.inner, self.batch_layer, self.mapped, self if self.base is None else self.base)
            return x
        if not args and not options:
            return Batched(self.inner.view(), self.batch_layer, self.mapped, self if self.base is None else self.base)
        raise BatchError(f"{caller()} reads the bytes of an array as other numbers, which af.vmap does not: x.astype")


FORM_OF: dict[str, Any] = {}  # what a call is for a whole batch; filled by forms.py, which is above this file


def open_layer(x: Any, layer: Layer) -> tuple[Any, bool]:
    """What is behind ``x``, and whether its first axis is the batch of that layer."""
    return (x.inner, x.mapped) if type(x) is Batched and x.batch_layer is layer else (x, False)


def wrap_batched(result: Any, layer: Layer, mapped: bool = True, view_of: Any = None) -> Any:
    """An array of all examples, or a tuple of such arrays, as Batched ones."""
    if isinstance(result, (tuple, list)):
        parts = [wrap_batched(r, layer, mapped, view_of) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, (np.generic, int, float, complex)):
        result = np.asarray(result)
    base = None
    if type(view_of) is Batched and shares_memory(result, view_of.inner):
        base = view_of if view_of.base is None else view_of.base
    return Batched(result, layer, mapped, base)


def one_behind_another(x: Array) -> Array:
    """A new batch, with the numbers of each example side by side and its axes in the order that they have in memory:
    whether a ``reshape`` of it is a view is then as of one example alone."""
    axes = sorted(range(1, x.ndim), key=lambda k: -x.strides[k])
    sorted_x = x.transpose((0, *axes))
    if sorted_x.flags.c_contiguous:
        return x
    return sorted_x.copy().transpose((0, *[axes.index(k) + 1 for k in range(1, x.ndim)]))


def assign(x: Any, new: Any) -> None:
    """``out=x``: the array becomes the result."""
    x[...] = new


def detach(x: Any) -> Any:
    """The numbers alone, on the same memory: without the nodes inside."""
    while isinstance(x, NodeRole):
        x = value_of(x)
    if type(x) is Batched:
        return Batched(detach(x.inner), x.batch_layer, x.mapped, x.base)
    return x
