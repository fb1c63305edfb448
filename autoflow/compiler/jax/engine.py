"""JAX itself: imported late, and with 64 bits, whatever the user's switch says; the plan of a program.

Arrays of JAX may be arguments of a compiled function: they stay on their devices, and so do the results. The program is
looked up as for NumPy's arrays of these shapes and dtypes; if it is missing, one is recorded with the numbers, which
are fetched for it. Where an array lies, and whether its rows are spread over many devices, is up to JAX: XLA divides
the program as its inputs are divided.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import pytree
from ...base.errors import CompileError
from ...base.lazy import load_package
from ...nodes.nodes import Array, ByName, value_of
from .. import engine as numpy_engine
from ..compiled import Compiled, P, R, wants_nodes
from ..matching import CAPTURED, CONSTANT, INPUT, ITEM
from ..program import Program
from ..report import PlanReport
from ..run.buffers import Planned, WatchedPlan, callers_state
from ..signature import is_array, signature
from .lowering import Lowering, in_layout

# ---------------------------------------------------------------- JAX with 64 bits, and the plan of a program

MISSING = (
    'af.compile(f, engine="jax") computes with JAX, which is not installed: pip install "autoflow[jax]" (for a GPU or '
    'TPU see docs.jax.dev/en/latest/installation.html), or leave engine="numpy".'
)
# XLA's algebra is that of real numbers: to it x + 0 is x, log(exp(x)) is x, (x * a) * b is x * (a * b), and a product
# with truth values is a choice. So -0.0, infinity and NaN would get lost.
EXACT = {"xla_disable_hlo_passes": "algsimp"}
RUNS = itertools.count(1)


def options(how: ByName) -> dict[str, Any]:
    """Raise ImportError without JAX, and ValueError for options of other engines."""
    load_package("jax", MISSING)
    if how["checkpointing"] is not None:
        raise ValueError('checkpointing is not for engine="jax": there XLA decides what is computed again')
    return numpy_engine.options(how)


def prepare(program: Program, how: ByName) -> Callable[[], XlaPlan]:
    """The engine: one program of XLA, for all threads."""
    lowering = Lowering(program, load_package("jax", MISSING))
    compiled = lowering.jax.jit(lowering.trace, compiler_options=EXACT)
    return lambda: XlaPlan(lowering, compiled)


def with_64_bits(jax: Any) -> Any:
    """A block, for this thread alone, in which JAX has float64. Outside it the user's choice holds."""
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


def is_on_device(x: object) -> bool:
    """Is it an array of JAX? If there is one, JAX has been imported."""
    if type(x) is np.ndarray:  # JAX's own question takes 1 µs
        return False
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


class Alarm(Exception):  # noqa: N818 - no error: eager code decides
    """NumPy would raise an error for these values, or computes what JAX cannot."""


class XlaPlan(WatchedPlan):
    """What ``af.compile`` runs, and ``plan()`` shows."""

    def __init__(self, lowering: Lowering, compiled: Any) -> None:
        super().__init__()
        self.lowering, self.compiled, self.program = lowering, compiled, lowering.program
        self.buffers: list[Array] = []
        order = lowering.order
        self.steps = [
            Planned(v, v.function, list(v.args), None) for v in order if v.kind not in (INPUT, CAPTURED, CONSTANT, ITEM)
        ]
        self.title = "NumPy calls by JAX, as one program of XLA"

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The results for these inputs: new arrays of NumPy; of JAX if one of the inputs is.

        Arrays on devices are not waited for, unless NumPy computes part of the program or an index may be out of range.
        """
        if (state := callers_state()) is not self.state:
            self.adapt(state)
        jax, lowering = self.lowering.jax, self.lowering
        number = next(RUNS) % 2**31
        with with_64_bits(jax):
            outside = [np.asarray(v.sample) for v in lowering.outside]
            results, alarm, finite = self.compiled(np.int32(number), list(arrays), outside)
            is_alarmed = lowering.alarms and np.asarray(alarm)  # waits for NumPy's part; bool(alarm) takes 35 µs longer
            if (error := lowering.failures.pop(number, None)) is not None:
                raise error
            if is_alarmed:
                raise Alarm
            if any([is_on_device(x) for x in arrays]):
                return list(results)
            if self.kinds & {"divide", "over", "invalid"} and not np.asarray(finite):  # these show in the results
                self.noticed.any = True
            pairs = zip(map(np.array, results), self.program.outputs, strict=True)
            return [r.item() if v.dtype is None else in_layout(r, v) for r, v in pairs]

    def notes(self) -> list[str]:
        """Lines for ``plan()``: what NumPy computes, and why."""
        left = self.lowering.left
        return [f"{k} is NumPy's: {left[s.value]}" for k, s in enumerate(self.steps, 1) if s.value in left]


# ---------------------------------------------------------------- arrays of JAX as arguments


class CompiledByXla(Compiled[P, R]):
    """A compiled function whose arguments may be arrays of JAX."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        leaves = pytree.tree_leaves([args, options])
        if not any([is_on_device(x) for x in leaves]):
            return super().__call__(*args, **options)
        if wants_nodes(leaves):
            return self.f(*fetched(args), **fetched(options))
        similar = {id(x): np.empty(x.shape, x.dtype) for x in leaves if is_on_device(x)}
        tree = [pytree.tree_map(lambda x: similar.get(id(x), x), part) for part in (args, options)]
        key = signature(tree[0], tree[1], pytree.tree_leaves(tree))
        with self.lock:
            entry: Any = self.entries.get(key)
            if not hasattr(entry, "recorded") or entry.unproved or not entry.recorded.guards.hold():
                super().__call__(*fetched(args), **fetched(options))
                entry = self.entries.get(key)
        if not hasattr(entry, "recorded"):  # it runs eagerly
            return self.f(*fetched(args), **fetched(options))
        try:
            return entry.run([value_of(x) for x in leaves if is_array(x) or is_on_device(x)])
        except CompileError as error:
            return self.handle_failure(error, fetched(args), fetched(options))
        except Exception:  # NumPy has something to report, or raises
            results, jax = self.run_eagerly(fetched(args), fetched(options)), load_package("jax", MISSING)
            with with_64_bits(jax):
                return pytree.tree_map(lambda x: jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x, results)

    def plan(self, *args: object, profile: bool = False) -> PlanReport:
        """Which calls are in the program, and which NumPy computes and why. Raises ValueError for ``profile``."""
        if profile:
            raise ValueError('engine="jax" is one program of XLA, whose profile jax.profiler.trace(folder) writes')
        return super().plan(*fetched(args))


KIND = CompiledByXla


def fetched(tree: object) -> Any:
    """The same with NumPy arrays; one object stays one object."""
    copies: dict[int, Array] = {}
    return pytree.tree_map(lambda x: copies.setdefault(id(x), np.array(x)) if is_on_device(x) else x, tree)
