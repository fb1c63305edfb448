"""The benchmarks compare equals: every implementation finds the same gradients. Nothing is timed here."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from checks import differences

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))  # scripts, no package

import compare
import derivatives
import forward_mode
import measuring
import memory
import workloads

import autoflow as af

TINY = {
    workloads.make_scalars: (12,), workloads.make_mlp: (3, 4, 5, 2), workloads.make_elementwise: (6,),
    workloads.make_rnn: (3, 2, 4), workloads.make_softmax: (5, 4, 3),
}  # fmt: skip
KINDS = pytest.mark.parametrize("make", TINY, ids=lambda make: make.__name__)
OURS = ("hand", "autoflow", "compiled")
PEERS = [name for name in compare.IMPLEMENTATIONS if name not in ("forward", "llvm", *OURS)]


def tiny(make):
    return make(*TINY[make])


def gradients(implementation, work):
    """By one of the implementations; what peers warn about does not concern us."""
    with warnings.catch_warnings():
        if implementation in PEERS:
            warnings.simplefilter("ignore")
            name = implementation.partition("-")[0]
            pytest.importorskip(compare.NEEDED.get(name, name))
        return compare.IMPLEMENTATIONS[implementation](work)()


def test_every_workload_is_of_a_kind_tested_here():
    assert {make.func for make in workloads.WORKLOADS.values()} == set(TINY)


@KINDS
def test_by_hand_agrees_with_differences(make):
    work = tiny(make)
    for g, expected in zip(gradients("hand", work), differences(work), strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-5, atol=1e-7)


@KINDS
def test_autoflow_agrees(make):
    work = tiny(make)
    compare.agree(gradients("autoflow", work), gradients("hand", work))


@KINDS
def test_loops_of_our_own_agree(make):
    pytest.importorskip("llvmlite")
    work = tiny(make)
    compare.agree(gradients("llvm", work), gradients("hand", work))


@pytest.mark.peers
@pytest.mark.parametrize("implementation", PEERS)
@KINDS
def test_peer_agrees(make, implementation):
    work = tiny(make)
    compare.agree(gradients(implementation, work), gradients("hand", work))


LARGE = {
    workloads.make_mlp: (512, *[256] * 6), workloads.make_elementwise: (300_000,), workloads.make_rnn: (8, 512, 256),
    workloads.make_softmax: (5_000, 64, 100),
}  # fmt: skip


@pytest.mark.parametrize("make", LARGE, ids=lambda make: make.__name__)
def test_a_step_needs_no_more_memory_than_by_hand(make):
    work = make(*LARGE[make])
    ours, hand = [memory.peak_of(compare.IMPLEMENTATIONS[name](work))["MB"] for name in ("autoflow", "hand")]
    assert ours <= 1.1 * hand


def test_a_wrong_gradient_is_noticed():
    work = tiny(workloads.make_mlp)
    right = gradients("hand", work)
    with pytest.raises(AssertionError):
        compare.agree([*right[:-1], right[-1] * 1.001], right)


@KINDS
def test_the_parameters_stay_as_they_are(make):
    work = tiny(make)
    before = [p.copy() for p in work.parameters]
    for implementation in OURS:
        gradients(implementation, work)
    for p, expected in zip(work.parameters, before, strict=True):
        np.testing.assert_array_equal(p, expected)


def test_the_least_of_all_rounds_counts():
    asked = []
    answers = {"a": iter([3.0, 1.0, 2.0]), "b": iter([5.0, 6.0, 4.0])}

    def sample(name):
        asked.append(name)
        return next(answers[name])

    found = measuring.interleaved({name: lambda name=name: sample(name) for name in answers}, rounds=3)
    assert found == {"a": 1.0, "b": 4.0}
    assert asked == ["a", "b"] * 3


def test_a_row_has_gaps_where_nothing_was_measured():
    times = {"hand": [2.0, 1.9, 9.0, 2.1, 1.9], "autoflow": [3.0] * 5}
    row = compare.cells("mlp-tiny", times, ["hand", "autoflow", "torch"])
    assert row == ["mlp-tiny", "2.00 ±178%", "3.00 ±0%", "", "1.50", ""]


def test_tables_are_markdown():
    assert measuring.table(["", "ms"], [["a", "1.00"], ["bc", "22"]]).splitlines() == [
        "|     |   ms |",
        "| --- | ---: |",
        "| a   | 1.00 |",
        "| bc  |   22 |",
    ]


def test_rows_by_hand_and_by_autoflow_agree():
    """Or their times would say nothing."""
    import rows

    for name in rows.ROWS:
        call, formula = rows.ROWS[name]
        plain = rows.operands(10)
        nodes = {n: v if v.dtype == bool else af.Variable(v) for n, v in plain.items()}
        z = eval(call, {"np": np, **nodes})
        g = np.cos(np.arange(z.size, dtype=float)).reshape(z.shape)
        z.backward(g)
        by_hand = eval(formula, {"np": np, **plain, "z": z.value, "g": g})
        letters = ("a", "b") if name == "matmul" else ("x", "y")
        for letter, gradient in zip(letters, by_hand, strict=False):
            np.testing.assert_allclose(nodes[letter].grad, gradient, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", derivatives.KINDS)
def test_derivatives_of_each_kind_agree(kind, monkeypatch):
    monkeypatch.setattr(derivatives, "libraries", lambda: ["autoflow", "af.compile"])
    assert list(derivatives.make_all(kind)) == ["autoflow", "af.compile"][: 1 + derivatives.COMPILED.get(kind, True)]


@pytest.mark.peers
@pytest.mark.parametrize("kind", derivatives.KINDS)
def test_derivatives_of_peers_agree(kind):
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert {"PyTorch", "JAX, jit"} <= set(derivatives.make_all(kind))


@pytest.mark.parametrize("name", ["mlp-tiny", "chain-1k"])
def test_jvps_agree(name):
    assert "jvp by hand" in forward_mode.make_ways(name)
