"""What each pass promises, on programs that are made by hand: fewer calls or less memory, and the same numbers."""

from functools import reduce

import numpy as np
import pytest
from programs import make_blocks_small

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
