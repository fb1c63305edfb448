"""What a node can do that an array cannot: go back, draw itself, explain itself. Each method is a function of another
room, which is loaded when it is first called, and takes the node as its first argument.

``tests/forward/test_node_methods.py`` compares the parameters with those of the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from ..lazy import later
from ..nodes.nodes import NodeRole, VariableRole, named_as

if TYPE_CHECKING:
    import numpy as np

    from ..backprop.hooks import Handle, Hook
    from ..pictures import Graph, Quiz, Step, Stepper, Summary
    from ..pictures.formulas.latex import Formula
    from ..pictures.formulas.why import Why
    from .replay import Inputs

found: Callable[[str], Any] = cache(later)  # to look a function up takes 1 µs


class NodeMethods:
    """Of every node."""

    # -- gradients

    def backward(self, seed: Any = None, *, create_graph: bool = False, keep_grads: bool | None = None) -> None:
        """Carry dL/d(self) back to every node that this one was computed from, into their ``grad``.

        seed : dL/d(self), of this shape; ones by default. create_graph : record the pass, so that gradients can be
        differentiated again. keep_grads : those of operations, too? None: small ones. See :func:`autoflow.backward`.
        """
        found("autoflow.backprop.passes:backward")(self, seed, create_graph=create_graph, keep_grads=keep_grads)

    def zero_grad(self) -> None:
        """Forget the gradient: ``grad`` is None again."""
        found("autoflow.backprop.passes:zero_grad")(self)

    def register_hook(self, hook: Hook) -> Handle:
        """Call ``hook(g)`` in every backward pass with the gradient of this node; what it returns takes its place."""
        return found("autoflow.backprop.hooks:register_hook")(self, hook)

    def register_post_accumulate_hook(self, hook: Hook) -> Handle:
        """Call ``hook(variable)`` after every ``backward()`` that has added to its ``grad``. Variables only."""
        path = "autoflow.backprop.hooks:register_post_accumulate_hook"
        return found(path)(self, hook)

    # -- pictures and words

    def graph(
        self, detail: str | None = None, *, direction: str | None = None, constants: str = "inline",
        legend: bool = True, theme: str | None = None, engine: str | None = None, gradients: bool | None = None,
        limit: int | None = None, depth: int | None = None, open: str | Sequence[str] = (), around: Any = None,
        radius: int = 2, highlight: Any = None, merge: bool = True, fold: bool = True,
    ) -> Graph:  # fmt: skip
        """The picture of how this node was computed, and of one backward pass from it. The parameters are those of
        :func:`autoflow.graph`, which explains them."""
        return found("autoflow.pictures:graph")(
            self, detail, direction=direction, constants=constants, legend=legend, theme=theme, engine=engine,
            gradients=gradients, limit=limit, depth=depth, open=open, around=around, radius=radius,
            highlight=highlight, merge=merge, fold=fold,
        )  # fmt: skip

    def step(self, *, limit: int = 400, **options: Any) -> Stepper:
        """Step through the forward and the backward pass: ◀ ▶ in a notebook, text in a terminal. ``options``: those of
        :meth:`graph`."""
        return found("autoflow.pictures:step")(self, limit=limit, **options)

    def quiz(self, *, limit: int = 400, **options: Any) -> Quiz:
        """The backward pass as questions: ``save("quiz.html")``, or ``sheet()`` for paper. ``options``: those of
        :meth:`graph`."""
        return found("autoflow.pictures:quiz")(self, limit=limit, **options)

    def steps(self, *, limit: int = 400) -> list[Step]:
        """The same as a list."""
        return found("autoflow.pictures:steps")(self, limit=limit)

    def summary(self) -> Summary:
        """A network as a table: scopes, shapes, parameters, sizes of gradients."""
        return found("autoflow.pictures:summary")(self)

    def formula(self, *, expand: bool = False) -> Formula:
        """How this node was computed, in LaTeX. expand : with the formulas of its operands put in."""
        return found("autoflow.pictures.formulas.latex:formula")(self, expand=expand)

    def derivative_formula(self) -> Formula:
        """Its derivatives with respect to its operands, a line each, in LaTeX."""
        return found("autoflow.pictures.formulas.latex:derivative_formula")(self)

    def why(self, node: Any, *, paths: int = 8) -> Why:
        """The derivative of ``node`` with respect to this one as a sum over paths: ``w.why(loss)``."""
        return found("autoflow.pictures.formulas.why:why")(self, node, paths=paths)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What a notebook shows."""
        return found("autoflow.pictures:node_bundle")(self, include, exclude)

    # -- other values, other places

    def replay(self, inputs: Inputs | None = None) -> np.ndarray:
        """The value that this node would have if others had these: ``loss.replay({w: w.value + 0.1})``."""
        return found("autoflow.forward.replay:replay_node")(self, inputs)

    def to_cpu(self) -> Self:
        """This node on the host, with its gradient."""
        return found("autoflow.arrays.devices:to_cpu")(self)

    def to_gpu(self) -> Self:
        """This node on the GPU, with its gradient, as CuPy's."""
        return found("autoflow.arrays.devices:to_gpu")(self)

    def __setitem__(self, i: Any, y: Any) -> None:
        found("autoflow.forward.inplace:write_item")(self, i, y)


class VariableMethods:
    """Of Variables."""

    def assign(self, value: Any) -> Self:
        """Overwrite the numbers, as an optimiser does; returns the Variable. Graphs that need the old ones notice."""
        return found("autoflow.forward.inplace:assign")(self, value)


def install() -> None:
    """Give nodes these methods."""
    for methods, role, name in ((NodeMethods, NodeRole, "Node"), (VariableMethods, VariableRole, "Variable")):
        named_as(name, methods)
        for member, function in vars(methods).items():
            if callable(function):
                setattr(role, member, function)


install()
