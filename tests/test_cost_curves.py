"""Whatever walks a graph takes n steps for n operations: counted in steps of the interpreter, not by the clock."""

import copy
import pickle
import sys

import numpy as np
import pytest

import autoflow as af

FEW, MANY = 36, 108
MORE = 1.35  # linear is 1: n log n, and what happens at every tenth operation, have room; n² would be 3


def bytecodes(f):
    """How many steps the interpreter takes for ``f()``: comprehensions and loops count, unlike in calls."""
    if sys.version_info >= (3, 12):
        return counted_by_monitoring(f)
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        f()
    finally:
        sys.settrace(before)
    return count


def counted_by_monitoring(f):
    """The same beside other tools, such as one that measures coverage."""
    count, watch = 0, sys.monitoring
    tool = next(k for k in (4, 3, 2) if watch.get_tool(k) is None)

    def step(code, offset):
        nonlocal count
        count += 1

    watch.use_tool_id(tool, "steps")
    try:
        watch.register_callback(tool, watch.events.INSTRUCTION, step)
        watch.set_events(tool, watch.events.INSTRUCTION)
        f()
    finally:
        watch.set_events(tool, 0)
        watch.free_tool_id(tool)
    return count


def extended(y, x, n, step=lambda y, x: np.sin(y) * x + 0.1):
    for _ in range(n // 3):
        y = step(y, x)
    return y


def chain(n, step=lambda y, x: np.sin(y) * x + 0.1):
    x = af.Variable(0.5, name="x")
    return x, extended(x, x, n, step)


def wide(n, join=sum):
    x = af.Variable(np.ones(3), name="x")
    return x, join([x * float(k) for k in range(n)])


def walked(graph, walk):
    def make(n):
        x, y = graph(n)
        return lambda: walk(x, y)

    return make


def of_a_function(transform):
    """``transform(f)``, where f is a chain of n operations."""
    return lambda n: lambda: transform(lambda x: extended(x, x, n))


def joined(join):
    def make(n):
        x = af.Variable(np.ones((2, 3)), name="x")
        return join([x * 1.0 for _ in range(n)]).sum().backward

    return make


def of_checkpoints(n):
    y = af.Variable(np.ones(3), name="x")
    for _ in range(n // 6):
        y = af.checkpoint(lambda y: np.sin(y) * 2.0)(y)
    return y.sum().backward


def in_a_checkpoint(n):
    y = af.checkpoint(lambda x: extended(x, x, n))(af.Variable(np.ones(3), name="x"))
    return y.sum().backward


def balanced(n):
    x = af.Variable(np.ones(5000), name="x")
    with af.checkpointing("balanced"):
        y = extended(x, x, n)
    return y.sum().backward


def under(mode):
    def make(n):
        _, y = chain(n)

        def run():
            with mode():
                y.backward()

        return run

    return make


OF_CHAINS = {
    "backward of a chain": lambda x, y: y.backward(), "gradients": lambda x, y: af.gradients(y, x),
    "backward with create_graph": lambda x, y: y.backward(create_graph=True),
    "backward with keep_grads": lambda x, y: y.backward(keep_grads=True),
    "replay": lambda x, y: y.replay({x: 0.7}), "why": lambda x, y: str(x.why(y)), "formula": lambda x, y: y.formula(),
    "formula, expanded": lambda x, y: y.formula(expand=True), "graph": lambda x, y: y.graph(),
    "graph as text": lambda x, y: str(y.graph()), "to_dot": lambda x, y: af.to_dot(y), "draw": lambda x, y: af.draw(y),
    "summary": lambda x, y: str(y.summary()), "step": lambda x, y: y.step(), "steps": lambda x, y: y.steps(),
    "repr": lambda x, y: repr(y), "deepcopy": lambda x, y: copy.deepcopy(y), "pickle": lambda x, y: pickle.dumps(y),
}  # fmt: skip
OF_FUNCTIONS = {
    "grad": lambda f: af.grad(f)(0.5), "grad of grad": lambda f: af.grad(af.grad(f))(0.5),
    "value_and_grad": lambda f: af.value_and_grad(f)(0.5), "vjp": lambda f: af.vjp(f, 0.5)[1](1.0),
    "jvp": lambda f: af.jvp(f, (0.5,), (1.0,)), "hvp": lambda f: af.hvp(f, (0.5,), (1.0,)),
    "jacobian": lambda f: af.jacobian(f)(0.5), "hessian": lambda f: af.hessian(f)(0.5),
}  # fmt: skip
JOINS = {
    "concatenate": np.concatenate, "vstack": np.vstack, "hstack": np.hstack, "dstack": np.dstack, "block": np.block,
    "stack": np.stack, "column_stack": np.column_stack, "array": af.array,
    "flat concatenate": lambda parts: np.concatenate(parts, axis=None),
    "last axis": lambda parts: np.concatenate(parts, axis=-1),
}  # fmt: skip
WALKS = {
    **{name: walked(chain, walk) for name, walk in OF_CHAINS.items()},
    **{name: of_a_function(transform) for name, transform in OF_FUNCTIONS.items()},
    **{f"backward of {name}": joined(join) for name, join in JOINS.items()},
    "backward of a wide graph": walked(wide, lambda x, y: y.sum().backward()),
    "why of arrays": walked(wide, lambda x, y: str(x.why(y))),
    "why of products": walked(lambda n: chain(2 * n, lambda y, x: y * 1.01), lambda x, y: x.why(y).to_latex()),
    "why of sums": walked(lambda n: chain(2 * n, lambda y, x: y + x), lambda x, y: x.why(y).to_latex()),
    "checkpoints": of_checkpoints, "a long checkpoint": in_a_checkpoint, "checkpointing": balanced,
    "detect_anomaly": under(af.detect_anomaly), "safe_masking": under(af.safe_masking),
}  # fmt: skip


@pytest.mark.parametrize("name", WALKS)
def test_n_operations_take_n_steps(name):
    make = WALKS[name]
    make(FEW)()  # what is imported and looked up once
    make(MANY)()
    few, many = bytecodes(make(FEW)), bytecodes(make(MANY))
    assert many / few < MORE * MANY / FEW, f"{few:,} steps of the interpreter for {FEW} operations, {many:,} for {MANY}"


def test_a_quadratic_walk_would_be_seen():
    def quadratic(n):
        lengths = list(range(n))
        return lambda: [sum([x for x in lengths[:k]]) for k in range(n)]  # noqa: C416 - what is counted

    assert bytecodes(quadratic(MANY)) / bytecodes(quadratic(FEW)) > MORE * MANY / FEW


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_short_and_long_sequences_have_the_right_gradients(n, axis, dtype):
    """They go two ways. Every fourth array is a Constant; dL/dx of Re Σ w z³, and once more."""
    rng = np.random.default_rng(0)
    shapes = [(2, 1 + k % 3) if axis in (1, -1) else (1 + k % 3, 2) for k in range(n)]
    xs = [(af.Variable if k % 4 else af.Constant)(rng.normal(size=s).astype(dtype)) for k, s in enumerate(shapes)]
    z = np.concatenate(xs, axis=axis)
    w = rng.normal(size=z.shape).astype(dtype)
    np.sum(z**3 * w).real.backward(create_graph=True)
    for x, part in zip(xs, parted(w, shapes, axis), strict=True):
        if isinstance(x, af.Variable):
            first = x.grad
            assert first.dtype == dtype
            np.testing.assert_allclose(first.value, np.conj(3 * x.value**2 * part), rtol=1e-5)
            x.zero_grad()
            first.real.sum().backward()
            np.testing.assert_allclose(x.grad, np.conj(6 * x.value * part), rtol=1e-5)
            x.zero_grad()


def parted(w, shapes, axis):
    ends = np.cumsum([np.prod(s) if axis is None else s[axis] for s in shapes])[:-1]
    return [p.reshape(s) for p, s in zip(np.split(w, ends, axis=0 if axis is None else axis), shapes, strict=True)]
