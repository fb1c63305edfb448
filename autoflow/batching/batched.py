"""Arrays that hide their batch axis: how a function written for one example runs on all of them at once.

``af.vmap(f)`` calls f once, with :class:`Batched` arrays. To f and to NumPy they look like arrays in the shape of one
example; inside is the array of all examples, with the batch axis first, and outermost in memory. NumPy passes each call
on to them, and ``forms.py`` says what the same call is for the whole batch.

A question that only one example can answer is a doubt (:meth:`Layer.doubt`): the run is abandoned, and f is called for
each example (``definition.py``). So is every exception in our own calls, before f can see it.

How this meets derivatives. The array inside may be a node, and a node's value may be a Batched; the layer decides.

    af.grad(lambda w: af.vmap(f)(w))     the node came first: it is inside, and records what is done to the whole batch
    af.vmap(af.grad(f))                  nodes that f's gradient makes have Batched values, so rows, records and the
                                         pass back run as always, on arrays that happen to hide a batch

So whatever came later is outside. An operation belongs to the deepest layer among its operands (:func:`whose_turn`). To
that layer a node of an outer one is an array like any other (:meth:`Layer.lifted`): no gradient of this layer flows
there, and the node's own is recorded inside.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from ..backends.duck_arrays import NESTED, NP, QUESTIONS, DuckArray, flags_of, flat, private, tuple_like
from ..backends.registry import NODE_TYPES, layer_of as layer_of
from ..base.errors import BatchError
from ..base.lazy import ROWS
from ..base.modes import modes, switched
from ..forward.closures import has_own_hook
from ..forward.recording import Operands
from ..nodes.nodes import MaybeNone, NodeRole, constant_from, gradient_target, target_inside, value_of
from ..nodes.versions import Region, owner_of
from ..program.callers import caller, getframe, is_ours, user_frame, where
from ..program.source import MOVING, is_written_in_c
from ..rules import structure
from ..table.facts import WRAPPING
from ..table.shapes import AnyFunction, Array, ByName, Values, innermost, without_history
from ..table.table import Rule

# ---------------------------------------------------------------- questions about arrays that hide a batch


def whose_turn(*parts: object) -> tuple[Layer | MaybeNone, bool]:
    """Who answers a call with these arguments: the deepest layer among them (None without one); and whether nodes of
    that layer are among them: then they record the call."""
    layer, depth, has_nodes, queue = None, 0, False, list[Any](parts)
    for x in queue:
        kind = type(x)
        if kind is Batched:
            if x.batch_layer.depth > depth:
                layer, depth, has_nodes = x.batch_layer, x.batch_layer.depth, False
        elif kind in NO_ARRAYS:
            continue
        elif kind is tuple or kind is list:
            queue += x
        elif kind is dict:
            queue += x.values()
        elif kind is slice:
            queue += (x.start, x.stop, x.step)
        elif issubclass(kind, NESTED):
            queue += flat(x)
        elif (own := getattr(x, "batch_layer", None)) is not None and (own is layer or own.depth > depth):
            layer, depth, has_nodes = own, own.depth, True
    return layer, has_nodes


def sample(x: Any) -> Any:
    """A plain array of the shape and dtype, for questions about these; no memory."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape) if hasattr(x, "batch_layer") else x


def shares_memory(a: Array, b: Array) -> bool:
    """Is one a view of the other, or both of a third?"""
    a, b = value_of(a), value_of(b)
    if hasattr(a, "batch_layer") and hasattr(b, "batch_layer"):
        return shares_memory(a.inner, b.inner)
    return owner_of(a) is owner_of(b)


SILENT = {"__new__", "__array_finalize__", "__doc__", "__repr__", "__str__", "__reduce__", "__setstate__"}


def own_type(kind: type) -> bool:
    """Is it a class of arrays that compute in their own way: masked arrays, matrices, users' classes that replace parts
    of ndarray?"""
    if not issubclass(kind, np.ndarray) or kind in NODE_TYPES or issubclass(kind, NodeRole):
        return False
    # NumPy's other classes (memmap, recarray) and ours compute as ndarray does.
    users = [cls for cls in kind.__mro__ if cls.__module__.partition(".")[0] not in ("numpy", "autoflow", "builtins")]
    is_changed = any([(vars(np.ndarray).keys() & vars(cls).keys()) - SILENT for cls in users])
    return is_changed or (kind.__mul__, kind.__array_ufunc__) != (np.ndarray.__mul__, np.ndarray.__array_ufunc__)


REPORTING = WRAPPING | {np.power}


def is_count(x: object) -> bool:
    """Is it a NumPy number that repeats a list, as an int does?"""
    return type(x) is Batched and x.is_number and x.dtype.kind in "biu"


# ---------------------------------------------------------------- what Python may not ask


def users_line() -> str:
    """File and line of the first frame outside of autoflow and NumPy."""
    return where(user_frame("numpy"))


def question(word: str, convert: Callable[[Array], object]) -> Callable[[Batched], object]:
    """The method through which Python reads a number. Our rules may look at numbers, so they are answered if all
    examples agree, and then take the same branch for all. A user's function is not: other numbers might take another.
    An array that all examples share has one number.
    """

    def answer(x: Batched) -> object:
        numbers = innermost(x)
        if not x.shape and isinstance(numbers, np.ndarray) and numbers.size:
            shared = x.mapped is False and type(x.inner) is np.ndarray
            ours = getframe(1).f_globals.get("__name__", "").startswith(ROWS)
            if shared or (ours and np.all(numbers == numbers.flat[0])):
                return convert(numbers.flat[0])
        return x.refuse_number(word)

    return answer


# ---------------------------------------------------------------- layers, and what they cannot know


SHOW = "_showwarnmsg_impl"  # of the module warnings: what takes them, also while they are recorded


class Doubt(BaseException):
    """Ends a function under af.vmap that has asked what only a single example can answer. ``except Exception`` does not
    catch it; if a bare except does, ``layer.reason`` remains."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer


class Layer:
    """One vmap that is running.

    size : how many examples there are.
    depth : 1 for the outermost; a vmap inside is deeper, and its arrays hide their batch on top of ours.
    may_loop : False: a function without a batched form is a doubt, as the caller has a better loop.
    open : is it still running? Its arrays mean nothing afterwards.
    reason : why the run must be abandoned; None if it need not be.
    loops : the calls that were made for each example: function and line.
    around : the switches outside it.
    hears_errors : might the function learn of floating-point errors (np.seterrcall)?
    asked : of which kinds might it ask for the class, or the identity, of a number?
    """

    def __init__(self, size: int, may_loop: bool = True) -> None:
        self.around = around = modes()
        self.size, self.depth, self.open = size, 1 if around.layer is None else around.layer.depth + 1, True
        self.written: list[AnyFunction] = []  # functions that run on our arrays as they are written: see forms.py
        self.reason: str | None = None
        self.loops: list[tuple[str, str]] = []
        self.shown, self.hears_errors, self.asked, self.may_loop = getattr(warnings, SHOW, None), False, "O", may_loop

    def doubt(self, reason: str) -> NoReturn:
        """Abandon the run: the function is called for each example instead."""
        if not self.open:
            raise BatchError(
                f"an array that a function under af.vmap has kept is used at {caller()}, after the vmap: it stands for "
                f"one example, and that vmap has ended. Return it instead."
            )
        if self.reason is None:
            self.reason = reason  # first of all: what follows may fail, and the function may catch that
            self.reason = f"{reason} at {users_line()}"
        raise Doubt(self)

    def doubt_captured(self) -> NoReturn:
        """Abandon the run: a function that we call with plain numbers has found one of our arrays elsewhere."""
        self.doubt("a function that finds an array of one example beside its arguments")

    def check_hook(self, kind: type, hook: str) -> None:
        """A doubt if a class computes in its own way: it would see the whole batch, or not be asked."""
        if own_type(kind) or has_own_hook(kind, hook):
            self.doubt(f"the class {kind.__name__}, which computes in its own way,")

    def run_row(self, rule: Rule, values: list[Any], compute: AnyFunction | None) -> Array:
        """Run a row on values with at least one of our arrays among them, for ``forward/recording.py``."""
        return self.run(rule.function, FORM_OF["row"], rule, values, compute)

    def run(self, name: object, form: AnyFunction, *args: object) -> Any:
        """``form(self, *args)``. Its exceptions never reach the function: single examples may not raise them.

        A doubt if an earlier one was swallowed, or if the function listens to warnings and errors.
        """
        if self.reason is not None or not self.open:
            self.doubt(self.reason or "")
        if getattr(warnings, SHOW, None) is not self.shown:
            self.doubt("warnings that are recorded")
        if self.hears_errors and np.geterrcall() is not None:
            self.doubt("np.seterrcall")
        try:
            return form(self, *args)
        except MemoryError:
            raise
        except Exception as error:
            self.doubt(f"{type(error).__name__} in {getattr(name, '__name__', name)}")

    def attempt(self, function: AnyFunction, *args: object, **options: object) -> Any:
        """The result of our function on arrays of the layer; NotImplemented if it asks what cannot be known."""
        with suppress(Doubt):  # the reason of an outer layer stays
            result = function(*args, **options)
            if self.reason is None:
                return result
        self.reason = None
        return NotImplemented

    @staticmethod
    def runs_alone(args: object) -> Batched | None:
        """For a function with its own derivative (``af.Function``): does an argument have nodes of an outer layer
        inside? These must see the call, so it is made for each example, by ``run_each`` of the batch returned here.

        If nodes of this layer are arguments, too, they want one call: a doubt.
        """
        arrays = [x for x in flat(args) if isinstance(x, Batched)]
        layer, has_nodes = whose_turn(*arrays)
        nodes = [x for x in flat(args) if layer_of(x) is not layer and gradient_target(x) is not None]
        if not nodes and all([target_inside(value_of(x)) is None for x in arrays]):
            return None
        if has_nodes:
            layer.doubt("an af.Function whose result is differentiated both inside and outside")
        return next((x for x in arrays if layer_of(x) is layer), None)

    def own_memory(self, array: Array) -> Batched:
        """A new array with these numbers, which the function will write into: each example has its own. It is a
        Constant inside, as nodes of an outer layer may be written into it."""
        z = np.broadcast_to(array, (self.size, *array.shape)).copy()
        return Batched(constant_from(z if self.around.own_memory is None else self.around.own_memory(z)), self)

    def alone(self) -> switched:
        """A block that runs one example outside of the layer."""
        return switched(layer=self.around.layer, own_memory=self.around.own_memory)

    def lifted(self, x: Array) -> Batched:
        """``x``, which may be a node of an outer layer, as an array that all examples share."""
        if isinstance(x, Batched) and x.batch_layer is self:
            return x
        return Batched(x if hasattr(x, "shape") else np.asarray(x), self, mapped=False)


class Shared(np.ndarray):
    """An argument that all examples share: an ordinary array that also accepts batches where NumPy calls no hook: as an
    index of it (``table[i]``, ``np.take(table, i)``)."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Array:
        layer, has_nodes = whose_turn(index)
        if layer is None or has_nodes:
            return super().__getitem__(index)
        return layer.run("getitem", FORM_OF["getitem"], self.view(np.ndarray), index)

    def __array_function__(self, function: AnyFunction, types: Any, args: Any, options: Any) -> Any:
        layer, has_nodes = whose_turn(args, options)
        if has_nodes or any([t is not Shared and t is not np.ndarray and not issubclass(t, Batched) for t in types]):
            return NotImplemented  # this includes nodes
        if layer is None:
            return super().__array_function__(function, types, args, options)
        return layer.run(function, FORM_OF["function"], function, args, options)

    def __array_wrap__(self, array: np.ndarray, context: object = None, return_scalar: bool = False) -> Array:
        return array[()] if return_scalar else array.view(np.ndarray)


NO_ARRAYS = frozenset({np.ndarray, Shared, int, float, bool, str, type(None), type})


# ---------------------------------------------------------------- arrays that hide a batch


class Batched(DuckArray):
    """An array with the shape of one example that stands for a batch of them. See the top of this file."""

    __slots__ = ("__weakref__", "_base", "batch_layer", "inner", "is_number", "mapped")
    inner: Array  # the array behind it; its first axis is the batch, if mapped, and the outermost in memory
    mapped: bool  # False: a node of an outer layer, the same for all examples
    batch_layer: Layer
    _base: Array | None
    takes_primitives = True  # see table/table.py

    def __init__(self, inner: Array, layer: Layer, mapped: bool = True, base: Any = None, number: bool = False) -> None:
        self.inner, self.batch_layer, self.mapped, self._base, self.is_number = inner, layer, mapped, base, number
        if number and inner.dtype.kind in layer.asked:
            layer.doubt("the class or the identity of a number")

    @staticmethod
    def adopt(x: Array, like: Batched) -> Array:
        """Plain arrays may be operands of a Batched unchanged."""
        return x

    def eager_class(self) -> type:
        """The class of the array inside, or of one example."""
        plain = self.dtype.type if self.is_number else np.ndarray
        return type(self.inner) if isinstance(self.inner, NodeRole) else plain

    def refuse_number(self, what: str) -> NoReturn:
        """Refuse a number that differs between examples."""
        self.batch_layer.doubt(f"{what}, which differs between examples,")

    def __getattr__(self, name: str) -> Any:
        """What only nodes have: of an example that is one, also if the function just asks whether it is there."""
        is_nodes = name[:1] != "_" and type(self) is Batched and hasattr(NodeRole, name)
        if is_nodes and isinstance(self.inner, NodeRole) and not is_ours():
            self.refuse_number(f"x.{name} of a node")
        raise AttributeError(name)

    def without_history(self) -> Batched:
        """The same memory, without the history that nodes of outer layers give its numbers."""
        inner = without_history(value_of(self.inner))
        return Batched(inner, self.batch_layer, self.mapped, self._base, self.is_number)

    def dtype_of_number(self) -> np.dtype:
        """The dtype of one of NumPy's numbers. That of a text has its own length."""
        dtype = self.inner.dtype
        if dtype.kind in "SU":
            self.batch_layer.doubt("the length of a text")
        return dtype if dtype.isnative or dtype.kind == "V" else dtype.newbyteorder("=")

    def for_leaf(self) -> Batched:
        """What a new Variable or Constant holds: the numbers, if the user makes it."""
        return self if is_ours(4) else self.without_history()

    def __len__(self) -> int:
        return self.shape[0] if self.shape else self.refuse_number("the length of a number")

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__() if self.shape else self.refuse_number("iteration over a number")

    cast, flatten = structure.astype, structure.flatten  # the primitives

    def copy(self, order: str | None = "C") -> Batched:
        """As in NumPy."""
        return self if self.is_number else NP.copy(self, order or "C")

    def __pow__(self, other: Array) -> Array:
        """NumPy's operator has shortcuts, such as a square, that its function may lack."""
        if self.yields_to(other):
            return NotImplemented
        if issubclass(type(other), (int, float, np.generic)):
            return self.batch_layer.run("power", power, self, other)
        return NP.power(self, other)

    def __rpow__(self, other: Array) -> Array:
        return self.as_pythons(other, NP.power(other, self))

    def __rtruediv__(self, other: Array) -> Array:
        return self.as_pythons(other, NP.divide(other, self))

    def as_pythons(self, other: object, z: Array) -> Array:
        """The result, unless it is Python that computes it: a complex number and a float, which may be an error."""
        is_pythons = self.is_number and isinstance(other, (float, complex)) and type(other) is not float
        if is_pythons and type(numbers := innermost(z)) is np.ndarray and not np.all(np.isfinite(numbers)):
            self.batch_layer.doubt("an operator of Python's, which may raise an error for this number,")
        return z

    def yields_to(self, y: object) -> bool:
        """Does the operand compute the result: a node of our layer, or of one inside?"""
        return issubclass(type(y), NodeRole) and whose_turn(self, y)[1]

    def update(self, name: str, ufunc: np.ufunc, y: Array) -> Array:
        """``x += y`` in the memory of the batch, by the array inside: a node there records it."""
        if self.yields_to(y):
            return NotImplemented
        if self.is_number:  # x += y makes another one
            return ufunc(self, y)
        return whose_turn(self, y)[0].run(name, FORM_OF["update"], self, name, y)

    # -- facts

    told = DuckArray.told_of_shape
    shape = property(lambda self: self.inner.shape[self.mapped :], told)  # of one example
    dtype = property(lambda self: self.dtype_of_number() if self.is_number else self.inner.dtype, told)

    # For our own code, as all that follows: questions about memory.
    strides = private("strides", lambda x: x.inner.strides[x.mapped :])
    base = private("base", lambda x: x._base)  # the Batched whose memory this one shows, as ndarray.base
    flags = private("flags", lambda x: x.flags_of_one())

    def flags_of_one(self) -> Any:
        """The flags of one example."""
        whole = value_of(self.inner)
        facts = {"writeable": bool(getattr(getattr(whole, "flags", None), "writeable", True))}
        if type(whole) is np.ndarray and self.mapped and len(whole):
            return flags_of(whole[0], **facts)
        return flags_of(whole, f_contiguous=False, **facts)

    @property
    def __cuda_array_interface__(self) -> ByName:
        """Where the batch lies in memory, as ``nodes/versions.py`` asks arrays that are not NumPy's."""
        interface = Region(value_of(self.inner)).__array_interface__
        if not isinstance(interface, dict) or not is_ours():
            raise AttributeError("no memory of its own")
        return interface

    def __repr__(self) -> str:
        if self.batch_layer.open:
            self.refuse_number("the text of an array")
        return f"<{self.dtype} array of shape {self.shape}, one of a batch of {self.batch_layer.size}>"

    __str__ = __repr__

    # -- what Python may not know

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        if not self.mapped and gradient_target(self) is None and target_inside(self) is None:
            return np.array(self.inner)
        return self.refuse_number("np.asarray, np.array, plain[i] = x, or a library that is not NumPy")

    # -- NumPy's dispatch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        layer, has_nodes = whose_turn(*inputs, options) if options else whose_turn(*inputs)
        if has_nodes:
            return NotImplemented
        for kind in map(type, inputs):
            if kind is not Batched and kind not in NO_ARRAYS:
                if hasattr(kind, "__carries_nodes__"):
                    return NotImplemented
                layer.check_hook(kind, "__array_ufunc__")
                if ufunc is np.multiply and hasattr(kind, "__len__") and any(map(is_count, inputs)) and is_ours():
                    layer.doubt("a list times a number, which repeats it,")
        if layer.hears_errors and ufunc in REPORTING and any(map(is_count, inputs)) and np.geterr()["over"] == "raise":
            layer.doubt("an integer of NumPy's, which raises an error where an array wraps around,")
        return layer.run(ufunc, FORM_OF["ufunc"], ufunc, method, inputs, options)

    def __array_function__(self, function: AnyFunction, types: Iterable[type], args: Values, options: ByName) -> Any:
        layer, has_nodes = whose_turn(self, args, options)  # of like= only we are left
        if has_nodes:
            return NotImplemented
        for kind in types:
            if kind is not Batched and kind not in NO_ARRAYS:
                layer.check_hook(kind, "__array_function__")
        return layer.run(function, FORM_OF["function"], function, args, options)

    @staticmethod
    def lift_operands(rule: Rule, inputs: Values, operands: Operands) -> tuple[Layer, bool]:
        """Make arrays of the deepest layer out of nodes of outer ones, whose gradient is recorded inside: ``operands``
        change. Returns the layer, and whether a node of it is an operand."""
        values, parents, constants, _ = operands
        layer, has_nodes = whose_turn(*values, *inputs[: rule.operands])
        for k, x in enumerate(inputs[: rule.operands]):
            if layer_of(x) is not layer and gradient_target(x) is not None:
                values[k] = Batched(x, layer, mapped=False)
                parents[k] = None
                constants.pop(k, None)
        return layer, has_nodes

    def run_each(self, function: AnyFunction, args: Values, options: ByName, name: str) -> Any:
        """``function(*args, **options)`` for each example."""
        return self.batch_layer.run(name, FORM_OF["loop"], function, args, options, name)

    # -- reading and writing

    def __getitem__(self, index: Any) -> Array:
        return whose_turn(self, index)[0].run("getitem", FORM_OF["getitem"], self, index)

    def __setitem__(self, index: Any, new: Array) -> None:
        if getattr(new, "shape", ()) and shares_memory(self, new) and is_written_in_c(2):
            self.refuse_layout(MOVING)
        whose_turn(self, index, new)[0].run("setitem", FORM_OF["setitem"], self, index, new)

    def view(self, *args: Any, **options: Any) -> Any:
        """As in NumPy; with one of our classes, the same array as that class: so nodes are made."""
        kind = args[0] if args else options.get("type")
        base = self if self._base is None else self._base
        if isinstance(kind, type) and issubclass(kind, Batched):
            x = object.__new__(kind)
            Batched.__init__(x, self.inner, self.batch_layer, self.mapped, base)
            return x
        if not args and not options:
            return self.batch_layer.run("view", lambda layer: Batched(self.inner.view(), layer, self.mapped, base))
        return self.refuse_number("x.view(dtype)")


def power(layer: Layer, x: Batched, y: Array) -> Batched:
    """``x**y``, y a number. NumPy has shortcuts for arrays, not for its numbers. Where the results differ, exponents
    are an array, for which it has none either: complex numbers, truth values, some roots (``-inf**0.5`` is inf)."""
    inner, kind = x.inner, x.dtype.kind
    if x.is_number and type(inner) is np.ndarray and (kind in "bc" or (y == 0.5 and not np.all(inner > 0))):
        y = np.full(inner.shape, y, np.result_type(x.dtype, y))
    return Batched(inner**y, layer, x.mapped, number=x.is_number)


for _name, _convert in {"bool": bool, "float": float, "int": int, "complex": complex, "index": int}.items():
    setattr(Batched, f"__{_name}__", question(QUESTIONS[_name], _convert))
FORM_OF: dict[str, AnyFunction] = {}  # what a call is for a whole batch; filled by forms.py, which is above this file


def open_layer(x: Any, layer: Layer) -> tuple[Any, bool]:
    """The array behind ``x``, and whether its first axis is the batch of that layer."""
    return (x.inner, x.mapped) if type(x) is Batched and x.batch_layer is layer else (x, False)


def wrap_batched(result: Any, layer: Layer, mapped: bool = True, view_of: object = None) -> Any:
    """An array of all examples, or a tuple of such arrays, as Batched ones."""
    if isinstance(result, (tuple, list)):
        return tuple_like(result, [wrap_batched(r, layer, mapped, view_of) for r in result])
    base, ndim = None, getattr(result, "ndim", -1)
    if ndim < 1 and mapped:
        layer.doubt("a result that is not an array of all examples")
    if ndim < 0 or isinstance(result, np.generic):
        result, ndim = np.asarray(result), 0
    if view_of is not None:
        if type(view_of) is Batched and shares_memory(result, view_of.inner):
            base = view_of if view_of._base is None else view_of._base
    elif ndim > 1 and mapped:
        result = one_behind_another(result)
    return Batched(result, layer, mapped, base, ndim == mapped and view_of is None)


def strides_of(x: Array) -> tuple[int, ...]:
    """The strides of an array, of a node's value, or of a substitute for an array; none if they are not known."""
    return x.strides if type(x) is np.ndarray else getattr(value_of(x), "strides", ())


def in_memory(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The axes in the order in which they lie in memory, the outermost first; those of length 1 do not matter."""
    return tuple(sorted(range(len(shape)), key=lambda k: -abs(strides[k]) if shape[k] > 1 else -math.inf))


def one_behind_another(x: Array) -> Array:
    """The batch as the outermost axis in memory. A copy, if one is needed, has the numbers of each example side by side
    and its axes in their order: a ``reshape`` of it is a view if that of one example is."""
    if type(x) is np.ndarray and x.flags.c_contiguous:  # most are
        return x
    strides = strides_of(x)
    if not strides or abs(strides[0]) == max(map(abs, strides)):
        return x
    return in_order(x, (0, *sorted(range(1, x.ndim), key=lambda k: -abs(strides[k]))))


def in_order(x: Array, order: tuple[int, ...]) -> Array:
    """A copy whose axes lie in this order in memory."""
    axes = range(len(order))
    if order == (*axes,):
        return x.copy()
    return x.transpose(order).copy().transpose(sorted(axes, key=order.__getitem__))


def in_order_of_stack(inner: Array) -> Array:
    """``inner``, or a copy of it whose axes lie in memory as in np.stack of the examples."""
    strides = strides_of(inner)
    lie = in_memory(inner.shape, strides)
    order = order_of_stack(tuple([min(n, 2) for n in inner.shape]), tuple([k - 1 for k in lie if k]))
    return inner if lie == order and all(strides) else in_order(inner, order)  # repeated numbers lie in no order


@lru_cache(maxsize=4096)
def order_of_stack(shape: tuple[int, ...], inside: tuple[int, ...]) -> tuple[int, ...]:
    """The order in memory of the axes of a stack of examples whose own axes lie in the order ``inside``."""
    like = np.stack([in_order(np.empty(shape[1:]), inside)] * shape[0])
    return in_memory(shape, like.strides)
