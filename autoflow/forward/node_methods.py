"""The methods of nodes that arrays lack, and the special methods that Python calls on arrays.

Python asks for a float, a truth value, a copy, a pickle, bits. All answers are plain. The one that deserves care is
``float(node)``: NumPy calls it in ``plain[i] = node``, which is how gradients get lost most often.

A node can go back, draw itself, explain itself. Each of these methods is a function of another room, which is loaded
when it is first called, and takes the node as its first argument. ``tests/forward/test_node_methods.py`` compares the
parameters with those of the functions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Literal, Never, Self, overload

import numpy as np

from ..base.errors import InPlaceError, LostGradientError
from ..base.lazy import later
from ..base.modes import TAKEN, modes
from ..base.spellings import refuse_keywords
from ..base.types import AnyFunction, Array, ByName, Values
from ..nodes import nodes
from ..nodes.nodes import Node, NodeRole, VariableRole, memory_of, plain_view, value_of
from ..program.callers import USERS, carries_nodes, getframe, wants_numbers, who
from .takers import check_taker

if TYPE_CHECKING:
    from ..backprop.hooks import Handle, Hook
    from ..doctor.findings import Diagnosis
    from ..pictures import Graph, Quiz, Step, Stepper
    from ..pictures.formulas.latex import Formula
    from ..pictures.formulas.why import Why
    from ..pictures.summaries import Memory, Summary
    from .replay import Inputs


def install_methods(role: type, methods: type, name: str) -> None:
    """Give ``role`` the methods and properties that the class ``methods`` lists, named as those of ``name``."""
    nodes.named_as(name, methods)
    for key, member in vars(methods).items():
        if isinstance(member, (FunctionType, property)):
            setattr(role, key, member)


# ---------------------------------------------------------------- what Python asks: a float, a copy, a pickle, bits

PANDAS = 5000  # that of a DataFrame is 4000
BITS = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift,
}  # fmt: skip


def number(x: Any, kind: Any) -> Any:
    """``float(x)``, ``int(x)``, ``complex(x)``: the plain number.

    Raises LostGradientError if a gradient flows to x, and the code that takes the number would lose it: see
    ``takers.py``.
    """
    switches = modes()
    if switches.recording and getattr(x, "requires_grad", False):
        on_purpose = check_taker(x, kind, switches.strict)
        # By a function in C, which computes, or by a library, of which one cannot say what it does.
        if switches.shadow and not (on_purpose and switches.shadow != TAKEN and who(getframe(2)) in USERS):
            return kind(plain_view(x))
    return kind(value_of(x))


def copy_node(x: Any, frame: FrameType | None) -> Any:
    """The result of ``copy.copy(x)``: of an operation, and of an argument of a transform, ``x.copy()``, which is
    recorded; of a Variable of the user's a new one, so that a copy of a model is a model. A library whose objects carry
    nodes copies what is in them (xarray, when it sorts); it gets a copy with a history, too."""
    while frame is not None and frame.f_globals.get("__name__") == "copy":
        frame = frame.f_back
    who = None if frame is None else frame.f_globals.get("__name__")
    own = isinstance(x, VariableRole) and getattr(x, "_live", None) is not nodes.ARGUMENT
    if x.requires_grad and (carries_nodes(who) or not (own or wants_numbers(who))):
        return np.copy(x)
    return restore(*state(x)) if own else restore(False, memory_of(x), x.name)


class Protocol:
    """Special methods of nodes that record nothing."""

    def __float__(self) -> float:
        return number(self, float)

    def __int__(self) -> int:
        return number(self, int)

    def __complex__(self) -> complex:
        return number(self, complex)

    def __round__(self, digits: int | None = None) -> Any:
        """The plain number, rounded, as np.float64 does: Python's round serves printing."""
        value = value_of(self)
        if value.ndim:
            raise TypeError(f"round() takes one number, not shape {value.shape}: use np.round(x, digits)")
        return round(value[()], digits)

    def __bool__(self) -> bool:
        return bool(value_of(self))

    def __index__(self) -> int:
        return operator.index(value_of(self))

    def __contains__(self, item: object) -> bool:
        return value_of(item) in value_of(self)

    def __invert__(self) -> np.ndarray:
        return np.invert(value_of(self))

    def __dlpack__(self, **options: Any) -> Any:
        x = value_of(self)
        if modes().shadow:
            x, is_writeable = plain_view(self), x.flags.writeable
            x.flags.writeable = is_writeable
        return x.__dlpack__(**options)

    def __copy__(self) -> Node:
        return copy_node(self, getframe(1))

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return copy_node(self, getframe(1))

    @property
    def __pandas_priority__(self) -> int | None:
        """More than that of a Series, DataFrame or Index: ``series * node`` is computed by the node, as ``node *
        series`` is. Raises LostGradientError for ``series *= node``, which could keep the numbers only."""
        frame = getframe(1)
        for _ in range(4):
            if frame is None or not wants_numbers(frame.f_globals.get("__name__")):
                break
            if frame.f_code.co_name == "_inplace_method":
                if modes().recording and self.requires_grad:  # type: ignore[attr-defined]
                    raise LostGradientError(
                        f"a pandas object += {self.name} would keep its numbers, and its gradient would be lost. Write "  # type: ignore[attr-defined]
                        f"y = series + node, which is a node; or series += node.value"
                    )
                return None
            frame = frame.f_back  # type: ignore[assignment]
        return PANDAS

    def __reduce_ex__(self, version: object) -> Values:
        return (restore, state(self)) if hasattr(self, "_value") else value_of(self).__reduce_ex__(version)

    def __reduce__(self) -> Values:
        return self.__reduce_ex__(2)

    def __setstate__(self, state: object) -> None:
        raise InPlaceError("a node takes no state from outside: it is pickled as a call of autoflow.restore")


def state(x: Any) -> Values:
    """The part of a node that outlives its graph: the arguments of :func:`restore`."""
    if not isinstance(x, VariableRole) or not hasattr(x, "_value"):
        return False, value_of(x), x.name
    return True, value_of(x), x.name, x.requires_grad, value_of(x.grad)


def restore(variable: bool, value: Array, name: str, live: bool = True, grad: Array = None) -> Node:
    """A node from a pickle or copy: a Variable comes back as one, with its gradient; anything else as a Constant."""
    if not variable:
        return nodes.Constant(value, name)
    node = nodes.Variable(value, name, requires_grad=live)
    node.grad = None if grad is None else grad.copy()
    return node


restore.__module__ = "autoflow"  # pickles say so, wherever it is


def bit_operator(name: str, ufunc: np.ufunc) -> None:
    """``x & y``, ``y & x`` on the numbers; ``x &= y`` writes numbers into x."""

    def forward(x: Node, y: Array) -> Array:
        return ufunc(value_of(x), value_of(y))

    def inplace(x: Node, y: Array) -> Array:
        x[...] = forward(x, y)
        return x

    setattr(NodeRole, f"__{name}__", forward)
    setattr(NodeRole, f"__r{name}__", lambda y, x: forward(x, y))
    setattr(NodeRole, f"__i{name}__", inplace)


# ---------------------------------------------------------------- what only a node can do


by_name: Callable[[str], AnyFunction] = cache(later)  # to look a function up takes 1 µs


class NodeMethods:
    """The methods of every node."""

    # -- gradients

    def backward(self, seed: Array = None, *, create_graph: bool = False, keep_grads: bool | None = None,
                 **unknown: Never) -> None:  # fmt: skip
        """Carry dL/d(self) back to every node that this one was computed from, into their ``grad``.

        seed : dL/d(self), of this shape; ones by default. create_graph : record the pass, so that gradients can be
        differentiated again. keep_grads : those of operations, too? None: small ones. See :func:`autoflow.backward`.
        """
        if unknown:
            refuse_keywords("backward", unknown)
        by_name("backward")(self, seed, create_graph=create_graph, keep_grads=keep_grads)

    def zero_grad(self) -> None:
        """Forget the gradient: ``grad`` is None again."""
        by_name("zero_grad")(self)

    def register_hook(self, hook: Hook) -> Handle:
        """Call ``hook(g)`` in every backward pass with the gradient of this node, which its result replaces."""
        return by_name("register_hook")(self, hook)

    def register_post_accumulate_hook(self, hook: Hook) -> Handle:
        """Call ``hook(variable)`` after every ``backward()`` that has added to its ``grad``. Variables only."""
        return by_name("register_post_accumulate_hook")(self, hook)

    # -- pictures and words

    def graph(
        self, detail: str | None = None, *, direction: str | None = None, constants: str = "inline",
        legend: bool = True, theme: str | None = None, engine: str | None = None, gradients: bool | None = None,
        limit: int | None = None, depth: int | None = None, open: str | Sequence[str] = (), around: Any = None,
        radius: int = 2, highlight: Any = None, merge: bool = True, fold: bool = True,
    ) -> Graph:  # fmt: skip
        """The picture of how this node was computed, and of one backward pass from it. The parameters are those of
        :func:`autoflow.graph`, which explains them."""
        return by_name("graph")(
            self, detail, direction=direction, constants=constants, legend=legend, theme=theme, engine=engine,
            gradients=gradients, limit=limit, depth=depth, open=open, around=around, radius=radius,
            highlight=highlight, merge=merge, fold=fold,
        )  # fmt: skip

    def step(self, *, limit: int = 400, **options: Any) -> Stepper:
        """Step through the forward and the backward pass: ◀ ▶ in a notebook, text in a terminal. ``options``: those of
        :meth:`graph`."""
        return by_name("step")(self, limit=limit, **options)

    def quiz(self, *, limit: int = 400, **options: Any) -> Quiz:
        """The backward pass as questions: ``save("quiz.html")``, or ``sheet()`` for paper. ``options``: those of
        :meth:`graph`."""
        return by_name("quiz")(self, limit=limit, **options)

    def steps(self, *, limit: int = 400) -> list[Step]:
        """The same as a list."""
        return by_name("steps")(self, limit=limit)

    @overload
    def summary(self, *, memory: Literal[False] = False) -> Summary: ...
    @overload
    def summary(self, *, memory: Literal[True]) -> Memory: ...
    def summary(self, *, memory: bool = False) -> Summary | Memory:
        """A network as a table: scopes, shapes, parameters, sizes of gradients. memory : show instead the bytes that
        each line of the program keeps for the backward pass."""
        return by_name("summary")(self, memory=memory)

    def formula(self, *, expand: bool = False) -> Formula:
        """How this node was computed, in LaTeX. expand : with the formulas of its operands put in."""
        return by_name("formula")(self, expand=expand)

    def derivative_formula(self) -> Formula:
        """Its derivatives with respect to its operands, a line each, in LaTeX."""
        return by_name("derivative_formula")(self)

    def why(self, node: Node, *, paths: int = 8) -> Why:
        """The derivative of ``node`` with respect to this one as a sum over paths: ``w.why(loss)``."""
        return by_name("why")(self, node, paths=paths)

    def diagnose(self, *wanted: object) -> Diagnosis:
        """What is wrong with the gradients of this node, in sentences with lines; why ``wanted`` get none."""
        return by_name("diagnose_node")(self, *wanted)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> ByName:
        """What a notebook shows."""
        return by_name("node_bundle")(self, include, exclude)

    # -- other values, other places

    def replay(self, inputs: Inputs | None = None) -> np.ndarray:
        """The value that this node would have if others had these: ``loss.replay({w: w.value + 0.1})``."""
        return by_name("replay_node")(self, inputs)

    def to_cpu(self) -> Self:
        """This node on the host, with its gradient."""
        return by_name("to_cpu")(self)

    def to_gpu(self) -> Self:
        """This node on the GPU, with its gradient, as CuPy's."""
        return by_name("to_gpu")(self)

    def __setitem__(self, i: Any, y: Array) -> None:
        by_name("write_item")(self, i, y)


class VariableMethods:
    """The methods of Variables."""

    def assign(self, value: Array) -> Self:
        """Overwrite the numbers, as an optimiser does; returns the Variable. Graphs that need the old ones notice."""
        return by_name("assign")(self, value)


def install() -> None:
    """Give nodes these methods."""
    install_methods(NodeRole, Protocol, "Node")
    install_methods(NodeRole, NodeMethods, "Node")
    install_methods(VariableRole, VariableMethods, "Variable")
    for name, ufunc in BITS.items():
        bit_operator(name, ufunc)


install()
