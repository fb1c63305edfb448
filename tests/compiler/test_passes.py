"""What each pass promises, on programs that are made by hand: fewer calls or less memory, and the same numbers."""

from functools import reduce

import numpy as np
import pytest
from programs import make_blocks_small, plan_of

import autoflow as af
from autoflow.compiler import passes
from autoflow.compiler.program import Program
from autoflow.compiler.run.buffers import Plan


def sum_of_products(program):
    """Σ xᵀ g of six pairs of matrices: what the weights of a recurrent network get."""
    xs, gs = [[program.input(np.ones((3, 2))) for _ in range(6)] for _ in range(2)]
    terms = [program.product(program.transpose(x, (1, 0)), g) for x, g in zip(xs, gs, strict=True)]
    return reduce(lambda a, b: program.ufunc(np.add, (a, b)), terms)


def copy_of_a_result(program):
    x = program.input(np.ones((3, 2)))
    return program.ufunc(np.exp, (program.call(np.copy, (program.ufunc(np.tanh, (x,)),), ()),))


def there_and_back(program, n=40):
    """What a gradient reads again: the values of a chain, the last one first."""
    chain = [program.input(np.ones((n, n)))]
    for _ in range(30):
        chain.append(program.ufunc(np.sin, (chain[-1],)))
    return reduce(lambda g, z: program.ufunc(np.arctan2, (g, z)), reversed(chain))


def long_chain(program):
    x, y = program.input(np.ones((50, 3))), program.input(np.ones((50, 3)))
    for ufunc in (np.add, np.multiply, np.subtract, np.arctan2):
        x = program.ufunc(ufunc, (program.ufunc(np.tanh, (x,)), y))
    return program.reduce(np.add, x, None, False)


def names(program):
    return [v.name for v in program.order()]


PASSES = {  # the pass, a program, and how it is known that it did something
    "join": (passes.join, sum_of_products, lambda before, after: after.count("product") < before.count("product") == 6),
    "drop copies": (
        passes.drop_copies,
        copy_of_a_result,
        lambda before, after: "copy" in before and "copy" not in after,
    ),
    "recompute": (
        passes.recompute,
        there_and_back,
        lambda before, after: after.count("sin") > before.count("sin") == 30,
    ),
    "blocks": (passes.tile_program, long_chain, lambda before, after: "blocks" in after and "tanh" not in after),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_changes_calls_and_no_numbers(name, monkeypatch):
    run, build, has_changed = PASSES[name]
    if name == "blocks":
        make_blocks_small(monkeypatch)
    plans, found = [], []
    for improve in (False, True):
        program = Program()
        program.outputs = [build(program)]
        before = names(program)
        if improve:
            run(program)
            assert has_changed(before, names(program))
        plans.append(Plan(program))
    for seed in range(2):
        rng = np.random.default_rng(seed)
        arrays = [rng.uniform(-1, 1, v.shape) for v in plans[0].program.inputs]
        found = [plan.run(arrays)[0] for plan in plans]
        np.testing.assert_allclose(*found, rtol=1e-13 if name in ("join", "blocks") else 0)
    sizes = [sum([b.nbytes for b in plan.buffers]) for plan in plans]
    assert name != "recompute" or sizes[1] < sizes[0] / 2


@pytest.mark.parametrize("n", [2, passes.FEW - 1])
def test_short_sums_and_small_arrays_are_left_alone(n):
    program = Program()
    xs, gs = [[program.ufunc(np.tanh, (program.input(np.ones((3, 2))),)) for _ in range(n)] for _ in range(2)]
    terms = [program.product(program.transpose(x, (1, 0)), g) for x, g in zip(xs, gs, strict=True)]
    program.outputs = [reduce(lambda a, b: program.ufunc(np.add, (a, b)), terms)]
    before = names(program)
    assert before.count("product") == n
    for run in (passes.drop_copies, passes.join, passes.recompute, passes.tile_program):
        run(program)
        assert names(program) == before
    program.outputs = [there_and_back(program, 3)]
    before = names(program)
    passes.recompute(program)
    assert names(program) == before


# -- what they do to programs of users --------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_a_recurrent_network_has_one_product_for_each_weight(kept):
    """Also if each state waits for another elementwise function of the state before."""

    def recurrent(wx, wh, b, x):
        s = x[0] * 0
        for t in range(len(x)):
            s = np.tanh(x[t] @ wx + s @ wh + (b + s * kept if kept else b))
        return (s**2).sum()

    rng = np.random.default_rng(0)
    x, args = rng.standard_normal((20, 4, 5)), [*rng.standard_normal((2, 5, 5)) * 0.3, np.zeros(5)]
    compiled = af.compile(af.grad(recurrent, (0, 1, 2)))
    eager = af.grad(recurrent, (0, 1, 2))(*args, x)
    for a, b in zip(eager, compiled(*args, x), strict=True):
        assert np.max(np.abs(a - b)) < 1e-13 * np.max(np.abs(a))
    names = [s.value.name for s in plan_of(compiled).steps]
    assert names.count("product") == 1 + 20 + 19 + 2  # x wx; s wh; g whᵀ; two gradients
    assert names.count("stack") == 0  # nothing is copied: states and gradients are computed in place, x is a stack
    assert names.count("square") == 2  # of all states but the last at once
    assert names.count("add.reduce") == 1


def test_products_decide_where_they_take_most_of_the_time():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((400, 300)), rng.standard_normal((300, 300))
    compiled = af.compile(af.grad(lambda w, x: (np.tanh(x @ w) ** 2).sum()))
    compiled(w, x)
    assert "blocks" not in [s.value.name for s in plan_of(compiled).steps]


def test_checkpointing_takes_less_memory_and_gives_the_same_bits():
    def f(x):
        for _ in range(60):
            x = np.tanh(np.sin(x) + x * 0.5)
        return x.sum()

    x = np.random.default_rng(0).standard_normal((40, 40))
    kept, again = af.compile(af.grad(f)), af.compile(af.grad(f), checkpointing="balanced")
    np.testing.assert_array_equal(kept(x), again(x))
    assert again.plan().bytes < kept.plan().bytes / 2.5
    assert again.plan().calls < kept.plan().calls * 1.5
    with pytest.raises(ValueError, match="checkpointing is None or"):
        af.compile(f, checkpointing="all")


def test_where_is_done_block_by_block():
    """np.where of three arrays is elementwise, as the rule of max has it: softmax regression is one phase."""
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((2500, 64)), rng.random((2500, 80)), rng.standard_normal((64, 80))

    def loss(w):
        z = x @ w
        return (y * (z - np.max(z, axis=1, keepdims=True))).sum()

    f = af.compile(af.grad(loss))
    expected = af.grad(loss)(w)
    np.testing.assert_allclose(f(w), expected, rtol=0, atol=1e-13 * np.max(np.abs(expected)))
    names = [row[1] for row in f.plan().rows]
    assert "blocks" in names
    assert not {"where", "product"} & {*names}
