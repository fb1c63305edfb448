"""One evaluation of a function on leaves of its own: what ``grad``, ``vjp``, ``jacobian`` ... begin with.

First what editors and checkers of types know of transformed functions. ``af.grad(f)`` takes what f takes. Its result
depends on the first argument of f: an array for a number, a node or an array (whose dtype it keeps), the same container
for a container. A lambda says nothing of its arguments; it is taken to be a function of an array. If another
argument is chosen (``argnum``), only the type of the value is known.

Then the evaluation. Each call replaces the arguments of its function by fresh leaves (a copy outside, an identity
operation inside another transform), and its pass stops there. Otherwise ``f`` could not tell its argument from the same
number captured by a closure, and in ``grad(lambda x: x * grad(lambda y: x + y)(1.0))`` the inner derivative would be 2
instead of 1 ("perturbation confusion": Siskind and Pearlmutter, 2005).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Concatenate, ParamSpec, Protocol, Required, TypedDict, TypeVar, overload

import numpy as np

from ..backprop import passes
from ..backprop.hooks import hooks_of
from ..base import pytree
from ..base.errors import lost
from ..base.modes import CAPTURED, modes, switched, transforming
from ..base.numbering import now
from ..base.types import AnyFunction, Array, ByName, Values
from ..nodes.cuts import explain, note_constants, take_constants, taken_by
from ..nodes.grads import cast_gradient
from ..nodes.nodes import ARGUMENT, Node, NodeRole, Variable, VariableRole, gradient_target, target_inside, value_of
from ..nodes.records import Holder, refuse_older
from ..nodes.versions import is_alone
from ..rules.structure import constant_with_history
from ..table import shapes

# ---------------------------------------------------------------- types of transformed functions: nothing here runs

P = ParamSpec("P")  # the other arguments
A = TypeVar("A")  # the first argument
N = TypeVar("N", bound=np.ndarray)
S = TypeVar("S", float, complex, Node)  # whose gradient is an array
Z = TypeVar("Z", float, complex, Node, np.ndarray)  # whose Jacobian is one
C = TypeVar("C", contravariant=True)
X = TypeVar("X", covariant=True)
Sources = set[Holder]
OfFirst = Callable[Concatenate[A, P], Any]  # f
Valued = tuple[np.ndarray, A]  # a value, and something with it


class Unused(TypedDict, total=False):
    """The option of all transforms."""

    allow_unused: bool


class How(Unused, total=False):
    """The options of grad and its like."""

    holomorphic: bool


class HowBy(How, total=False):
    """Those and the other name of argnum."""

    argnums: Required[Argnum]


class Gradient(Protocol[A, P]):
    """What ``grad`` and ``elementwise_grad`` return."""

    @overload
    def __call__(self: Gradient[S, P], x: S, /, *args: P.args, **options: P.kwargs) -> np.ndarray: ...
    @overload
    def __call__(self, x: A, /, *args: P.args, **options: P.kwargs) -> A: ...


class ValueAndGradient(Protocol[A, P]):
    """What ``value_and_grad`` returns."""

    @overload
    def __call__(self: ValueAndGradient[S, P], x: S, /, *args: P.args, **options: P.kwargs) -> Valued[np.ndarray]: ...
    @overload
    def __call__(self, x: A, /, *args: P.args, **options: P.kwargs) -> Valued[A]: ...


class GradientAndAux(Protocol[A, P, X]):
    """What ``grad_and_aux`` returns."""

    @overload
    def __call__(self: GradientAndAux[S, P, X], x: S, /, *args: P.args, **options: P.kwargs) -> Valued[X]: ...
    @overload
    def __call__(self, x: A, /, *args: P.args, **options: P.kwargs) -> tuple[A, X]: ...


class Jacobian(Protocol[C, P]):
    """What ``jacobian`` and ``hessian`` return. Containers give containers in containers."""

    @overload
    def __call__(self: Jacobian[Z, P], x: Z, /, *args: P.args, **options: P.kwargs) -> np.ndarray: ...
    @overload
    def __call__(self, x: C, /, *args: P.args, **options: P.kwargs) -> Any: ...


def with_types_of(_: A) -> Callable[[AnyFunction], A]:
    """A decorator that gives a function the types of another one."""
    return lambda function: function  # type: ignore[return-value]


# ---------------------------------------------------------------- the evaluation


Argnum = int | str | tuple[int | str, ...]
TRANSFORMING = transforming()
HOLDERS = 4  # of a gradient that nobody else has: the list, enumerate, and a name in each of two functions


@cache
def prover(name: str = "proved_run") -> AnyFunction:
    """A function of ``shadow.py``, imported at the first call."""
    from . import shadow

    return getattr(shadow, name)


def known_counts(memory: Any, f: Any, args: Any, options: Any) -> set[tuple[int, int]] | None:
    """With which numbers of operations, and of those that its results need, ``f`` is proved for such arguments, if
    nothing has changed since that decides about its way: the types in its closure, its code, what it names."""
    code, cells, named, proofs, kind, shape, dtype, counts = memory
    if f.__code__ is not code:
        return None
    try:
        if cells:  # an empty loop would take as long as one object
            for cell, content in cells:
                if type(cell.cell_contents) is not content:
                    return None
        if named:
            objects, entries, others = named
            for holder, its_class, own, size, of_class, many in objects:
                if holder.__class__ is not its_class or len(own) != size or len(of_class) != many:
                    return None
            for scope, key, there, its_code in entries:
                if scope[key] is not there or (its_code is not None and there.__code__ is not its_code):
                    return None
            if others:
                for read, place, there in others:
                    if read(place) is not there:
                        return None
    except (ValueError, LookupError):  # a variable, a name or an element that was deleted
        return None
    # Most often there is one argument, and it is like the last one: then no key is built and looked up.
    x: Any = args[0] if len(args) == 1 and not options else None
    if type(x) is not kind or (dtype is not None and (x.dtype is not dtype or x.shape != shape)):
        counts = proofs.get(pytree.kind_of((args, options) if options else args, prover("kind_of_object")))
        if type(x) is float or (type(x) is np.ndarray and x.dtype is not pytree.OBJECT):
            memory[4:] = type(x), getattr(x, "shape", None), getattr(x, "dtype", None), counts
    return counts


CAPTURED.append(lambda *call: prover("check_captured")(*call))


class Trace:
    """One evaluation of a function on leaves of its own.

    z : what it returned.
    leaves : the nodes that replace the numbers in the chosen arguments, all in one list.
    records : their records at the start: f may write into an array, which then has another.
    nested : must results be differentiable again?
    unused : may all results be plain? Otherwise :meth:`checked_reach` follows. None: f returns (number, anything).
    forward : makes the forward pass of the trace, ``push``, for those that make no pass back.
    """

    def __init__(
        self, f: AnyFunction, argnum: Argnum, args: Values, options: ByName, also: Iterable[object] = (),
        memory: list[Any] | None = None, unused: bool | None = False, forward: Callable[[Trace], Any] | None = None,
    ) -> None:  # fmt: skip
        if not callable(f):
            check_function(f)
        self.function = f
        self.many = isinstance(argnum, tuple)
        slots = argnum if isinstance(argnum, tuple) else (argnum,)
        n = len(args)
        places: list[Any] = [k if type(k) is int and 0 <= k < n else find_argument(f, k, args, options) for k in slots]
        originals = [args[p] if type(p) is int else options[p] if p in options else default(f, p) for p in places]
        if len(set(places)) < len(places):
            raise TypeError(f"argnum={argnum!r} names an argument twice")
        values = [*pytree.tree_leaves(originals), *also]
        switches = modes()
        self.nested = switches.recording and (switches.depth > 0 or have_history(values))

        def run() -> Any:
            first = now()  # all that depends on our leaves is made later
            arguments = [own_leaves(tree) for tree in originals]
            leaves = [x for x in pytree.tree_leaves(arguments) if isinstance(x, NodeRole)]
            records = [*map(gradient_target, leaves)]
            positional, named = list(args), dict(options)
            for p, tree in zip(places, arguments, strict=True):
                # The containers that f may change are not those of the answer.
                own = tree if isinstance(tree, NodeRole) else pytree.tree_map(lambda x: x, tree)
                (named if isinstance(p, str) else positional)[p] = own
            return f(*positional, **named), arguments, leaves, records, first, now() - first

        is_usual = not switches.is_looked_at and not switches.depth and switches.prove == "first"
        counts: Any = memory and known_counts(memory, f, args, options) if is_usual else None
        if is_usual and not counts:
            counts = prover("counts_of")(f, args, options, (unused, *places), memory)
        with TRANSFORMING:
            if counts or (switches.prove == "never" and not (switches.strict or switches.anomaly)):
                answer = run()
            else:
                answer, counts = prover()(counts, run, f, unused, args, options, places)
            self.z, self.arguments, self.leaves, self.records, self.first, steps = answer
            z, own, reached = self.z, set(self.records), 0
            self._stops: dict[Holder, Sources | None] = {}
            older: Sources = set()
            if forward is not None:
                self.push = forward(self)
                reached, older = len(self.push.order), self.push.older
            elif unused is None and type(z) is tuple:
                z = z[:1]
            for x in () if forward else (z,) if isinstance(z, NodeRole) else pytree.tree_leaves(z):
                if (record := gradient_target(x)) is not None:
                    self._stops[record], n = stop_set(record, own, self.first, older)
                    reached += n
            if not self.nested:
                if z is not self.z or switches.layer:
                    for x in pytree.tree_leaves(self.z):
                        older |= {gradient_target(x), target_inside(value_of(x))} - {None, *self._stops, *own}
                if older and switches.apart:
                    refuse_older(older, switches.apart)
                elif older and switches.recording:
                    note_constants(take_constants(self.first, older))
            if counts is not None:
                last_steps, last_reached = counts.last
                if steps != last_steps or reached != last_reached:  # in a third of what looking up a pair takes
                    prover("note_way")(counts, (steps, reached), run, f, unused, args, options, places)

    def stop(self, z: object) -> Sources | None:
        """Where a pass from ``z`` ends: our leaves, and what does not depend on them. None if it reaches no leaf."""
        record = gradient_target(z)
        if record is None or record in self._stops:
            return self._stops.get(record)
        return stop_set(record, set(self.records), self.first)[0]

    def reaches(self, z: object) -> bool:
        """Does ``z`` depend on one of the leaves?"""
        return self.stop(z) is not None

    def checked_reach(self, results: list[object], allow_unused: bool) -> None:
        """Raise LostGradientError where all gradients would be zero: in most cases the graph was left by mistake."""
        is_fine = any(self._stops.values()) or allow_unused or not self.leaves
        if not is_fine and not any(map(self.reaches, results)):
            from ..backprop.second_runs import codes_of

            what = "the function's result depends on none of the arguments that it is differentiated for"
            causes = [*map(explain, results), taken_by(*codes_of(self.function))]
            raise lost(what, next(filter(None, causes), ""))

    def gradients(self, z: Array, seed: Array = None, nested: bool | None = None) -> list[Array]:
        """dL/d(leaf) for each leaf, given the seed dL/dz; None where nothing came."""
        stop = self.stop(z)
        if stop is None:
            return [None] * len(self.leaves)
        nested = self.nested if nested is None else nested
        pairs = passes.run_pass(z, seed, create_graph=nested, stop=stop)
        gradients = {id(holder): g for holder, g in pairs}
        return [*map(gradients.get, map(id, self.records))]

    def to_user_tree(self, gradients: list[Array], nested: bool | None = None) -> Any:
        """The gradients as the caller gets them: in the containers of the arguments, zeros where nothing came."""
        nested = self.nested if nested is None else nested
        return self.arrange_answers([self._ready(k, g, nested) for k, g in enumerate(gradients)])

    def arrange_answers(self, answers: list[Any]) -> Any:
        """One thing per leaf, in the containers of the arguments; a tuple if several arguments were chosen."""
        rest = iter(answers)
        parts = [pytree.tree_map(lambda x: next(rest) if isinstance(x, NodeRole) else None, t) for t in self.arguments]
        return tuple(parts) if self.many else parts[0]

    def _ready(self, k: int, g: Array, nested: bool) -> Array:
        value = value_of(self.leaves[k])
        if not nested:
            if type(g) is np.ndarray and g.dtype == value.dtype and g.flags.carray and is_alone(g, HOLDERS):
                return g  # a copy of each would cost a twentieth of a step with large arrays
            return copy_numbers(np.zeros_like(value) if g is None else cast_gradient(value_of(g), value.dtype))
        with switched(recording=True):
            return self.keep_differentiable(k, np.zeros_like(value) if g is None else cast_gradient(g, value.dtype))

    def keep_differentiable(self, k: int, g: Array) -> Array:
        """``g``, which will be differentiated again, and may then be a constant: its derivative is zero, not lost."""
        record, source = self.records[k], gradient_target(g)
        if not self.is_from_outside(k):
            return g
        if isinstance(record, VariableRole):
            outer, is_kept = value_of(record), target_inside(value_of(g)) is not None
        else:
            outer = self.leaves[k]
            is_kept = source is not None and stop_set(source, {record}, record.number)[0] is not None
        with switched(recording=True):
            return g if is_kept else constant_with_history(g, outer)

    def is_from_outside(self, k: int) -> bool:
        """May outer functions differentiate the leaf? Not if it is a Variable of ours, without nodes inside (which
        there are under af.vmap)."""
        is_ours = isinstance(self.records[k], VariableRole) and target_inside(value_of(self.records[k])) is None
        return self.nested and not is_ours

    def detach_results(self, tree: Any) -> Any:
        """Results of ``f`` for the caller: plain arrays instead of nodes, unless they will be differentiated."""
        if self.nested:
            return tree
        if isinstance(tree, NodeRole):
            return copy_numbers(tree)
        return pytree.tree_map(lambda x: copy_numbers(x) if isinstance(x, NodeRole) or pytree.is_number(x) else x, tree)


def stop_set(root: Holder, wanted: Sources, first: int, ends: Sources | None = None) -> tuple[Sources | None, int]:
    """Where a pass from ``root`` to the records ``wanted`` may stop: at these, and at what does not depend on them; and
    from how many records that are not older than ``first`` the root was computed. Where the search for them ends,
    leaves and what is older, is added to ``ends``.

    Without this, ``grad(lambda x: np.sum(w @ x))`` would also go back through all that made ``w``. Creation numbers
    make it cheap: nothing older than ``first`` depends on newer records, and operands are older than results.
    The first is None if ``root`` depends on none of them.
    """
    if root in wanted:
        return wanted, 0
    seen, queue, older, reached = {root, *wanted}, [root], set(), False
    for record in queue:
        for parent in record.parents:
            if parent in wanted:
                reached = True
            elif parent is not None and parent not in seen:
                seen.add(parent)
                if parent.number < first or not parent.parents:
                    older.add(parent)
                else:
                    queue.append(parent)
    if older and ends is not None:
        ends |= older
    if not reached:
        return None, len(queue)
    if not older:
        return wanted, len(queue)  # everything in between depends on them, most often
    useful = set(wanted)
    for record in sorted(queue, key=lambda r: r.number):
        if any([parent in useful for parent in record.parents]):
            useful.add(record)
    outside = {record for record in seen if record not in useful}
    if any([hooks_of(record).get("before") for record in outside]):
        return wanted, len(queue)  # a hook sees a whole gradient or none: here the pass must go everywhere
    return wanted | outside, len(queue)


def proved_call(f: AnyFunction, args: Values, leaves: list[Any], memory: list[Any]) -> Any:
    """``f(*args)``, proved as in a transform, for a pass back to Variables that f captures, the ``leaves``. The result
    is (number, anything). In a transform there is no proof: that has one."""
    switches = modes()
    if switches.depth or (switches.prove == "never" and not (switches.strict or switches.anomaly)):
        return f(*args)

    def run() -> Any:
        start = now()
        return f(*args), start, now() - start

    counts: Any = None
    if not switches.is_looked_at and switches.prove == "first":
        counts = memory and known_counts(memory, f, args, {})
        counts = counts or prover("counts_of")(f, args, {}, "captured", memory)
    call: Any = run, f, None, args, {}, (), leaves
    (result, start, steps), counts = prover()(counts, *call)
    root = gradient_target(result[0])
    way = steps, 0 if root is None else stop_set(root, set(), start)[1]
    if counts is not None and way != counts.last:
        prover("note_way")(counts, way, *call)
    return result


def have_history(xs: Iterable[object]) -> bool:
    """Do gradients flow to any of these, or under af.vmap to a node inside of one?"""
    others = [x for x in xs if type(x) is not np.ndarray]
    return any([gradient_target(x) is not None or target_inside(value_of(x)) is not None for x in others])


def own_leaves(tree: Any) -> Any:
    """The argument with its numbers replaced by fresh nodes."""
    if isinstance(tree, np.ndarray) or not pytree.is_container(tree):
        return own_leaf(tree)
    return pytree.tree_map(lambda x: own_leaf(x) if pytree.is_number(x) else x, tree)


def own_leaf(x: Any) -> Any:
    """A new node that replaces ``x``, used nowhere else in the graph."""
    if type(x) is not np.ndarray and isinstance(x, NodeRole):
        if (layer := modes().layer) is not None:
            x = layer.lifted(x)  # under af.vmap a node from outside is a value like any other
        if isinstance(x, NodeRole) and x.requires_grad:
            return np.positive(x)  # type: ignore[call-overload]
    leaf = Variable(x)
    leaf._live = ARGUMENT
    return leaf


def plain_numbers(x: Array) -> Array:
    """The array under a node; under af.vmap also without the nodes of outer functions that are inside."""
    return shapes.without_history(value_of(x))


def copy_numbers(x: Array) -> Array:
    """The numbers of ``x`` as an array that shares memory with nothing."""
    if type(x) is np.ndarray:
        return x.copy()
    value = plain_numbers(x)
    return np.array(value) if isinstance(value, np.generic) or not hasattr(value, "dtype") else value.copy()


# -- which argument


def check_function(f: object) -> None:
    """Raise TypeError if ``f`` is not a function: most often it is what a function has returned."""
    if callable(f):
        return
    if isinstance(f, NodeRole):
        raise TypeError(
            f"a function is needed here, as in af.grad(lambda x: x * x)(3.0), and {f.name} is a node. The "
            f"gradients of a node: {f.name}.backward(), then x.grad; or gx, gy = af.gradients({f.name}, [x, y])"
        )
    raise TypeError(f"a function is needed here, as in af.grad(lambda x: x * x)(3.0), not {type(f).__name__} {f!r:.40}")


def chosen_argnum(f: object, argnum: Any, argnums: Any) -> Argnum:
    """``argnum`` or ``argnums`` of the function ``f``, whichever was given; 0 if neither."""
    check_function(f)
    if argnum is not None and argnums is not None:
        raise TypeError("argnum and argnums mean the same: give one of them")
    choice = argnum if argnums is None else argnums
    choice = 0 if choice is None else tuple(choice) if isinstance(choice, list) else choice
    for k in choice if isinstance(choice, tuple) else (choice,):
        if isinstance(k, bool) or not isinstance(k, (int, str, np.integer)):
            raise TypeError(f"argnum is a position, a name, or a tuple of them, not {k!r}")
    return choice


def find_argument(f: AnyFunction, k: Any, args: Values, options: ByName) -> Any:
    """Where the argument ``k`` is in this call: a position in ``args``, or the name of a keyword."""
    if not isinstance(k, str) and -len(args) <= k < len(args):
        return int(k) % len(args)
    parameters = parameters_of(f)
    positional = shapes.positional(f)
    name = positional[k] if not isinstance(k, str) and 0 <= k < len(positional) else k
    if name in options:
        return name
    if name in positional[: len(args)]:
        return positional.index(name)
    if any([p.name == name and p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY for p in parameters]):
        return name
    names = ", ".join([*positional[: len(args)], *[str(i) for i in range(len(positional), len(args))], *options])
    called = getattr(f, "__name__", "the function")
    raise TypeError(f"{called} was called without the argument {k!r} that it is differentiated for; given: {names}")


def parameters_of(f: AnyFunction) -> list[inspect.Parameter]:
    """The parameters; none if Python cannot tell them (some functions in C)."""
    try:
        return list(inspect.signature(f).parameters.values())
    except (ValueError, TypeError):
        return []


def default(f: AnyFunction, name: str) -> Any:
    """The default of a parameter that the call leaves out."""
    return next(p.default for p in parameters_of(f) if p.name == name)
