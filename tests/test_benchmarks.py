"""The benchmarks compare equals: every implementation finds the same gradients; and the plots of cost against size run.
Nothing is timed here."""

import gc
import sys
import types
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from checks import differences

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))  # scripts, no package

import bounds
import compare
import curves
import derivatives
import forward_mode
import measuring
import memory
import more_workloads as more
import workloads

import autoflow as af

SMALL = {
    workloads.make_scalars: (12,), workloads.make_mlp: (3, 4, 5, 2), workloads.make_elementwise: (6,),
    workloads.make_rnn: (3, 2, 4), workloads.make_softmax: (5, 4, 3),
}  # fmt: skip
MORE = {
    more.make_lstm: (3, 2, 4), more.make_convolution: (2, 6, 2), more.make_attention: (2, 3, 4, 2),
    more.make_likelihood: (6, 2), more.make_solver: (3, 2, 2, 3), more.make_bodies: (3, 4), more.make_diffusion: (2, 8),
    more.make_curvature: (3, 4, 5, 2), more.make_transformer: (2, 3, 8), more.make_network: (more.epoch, 70, 3, 4, 2),
    more.make_hessian: (4, 2),
}  # fmt: skip
SPECIAL = (more.make_curvature, more.make_transformer, more.make_network, more.make_hessian)


def each(makes):
    return pytest.mark.parametrize("make", makes, ids=lambda make: make.__name__)


KINDS, MORE_KINDS, FIRST = each(SMALL), each(MORE), each([make for make in MORE if make not in SPECIAL])
OURS = ("hand", "autoflow", "compiled")
PEERS = [name for name in compare.IMPLEMENTATIONS if name not in ("forward", "llvm", *OURS)]
MORE_PEERS = [
    pytest.param(name, marks=pytest.mark.slow) if name.startswith("jax") else name  # it compiles for seconds
    for name in more.OURS
    if name not in ("autoflow", "compiled")
]


def tiny(make):
    return make(*(SMALL | MORE)[make])


def by_peer(implementation, step_of, work):
    """What peers warn about does not concern us."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = implementation.partition("-")[0]
        pytest.importorskip(compare.NEEDED.get(name, name))
        return step_of(work)()


def gradients(implementation, work):
    """By one of the implementations."""
    step_of = compare.IMPLEMENTATIONS[implementation]
    return by_peer(implementation, step_of, work) if implementation in PEERS else step_of(work)()


def test_every_workload_is_of_a_kind_tested_here():
    assert {make.func for make in workloads.WORKLOADS.values()} == set(SMALL)
    assert {make.func for make in more.MORE.values()} == set(MORE)


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


# -- further workloads -------------------------------------------------------------------------------------------------


LACKING = {("mygrad", "make_likelihood")} | {
    (name, make.__name__) for make in SPECIAL for name in more.OURS if name not in more.OF_CLASS[type(tiny(make))]
}


def test_gradients_of_examples_are_those_of_each_alone():
    work = more.make_network(more.examples, 3, 2, 4, 1)
    for k, (x, y) in enumerate(zip(*work.data, strict=True)):
        f = af.grad(lambda *p, x=x, y=y: more.network(np, x, y, p), (0, 1, 2, 3))
        for g, expected in zip(more.step_of("autoflow", work)(), f(*work.parameters), strict=True):
            np.testing.assert_allclose(g[k], expected, rtol=1e-12, atol=1e-14)


@FIRST
def test_autoflow_agrees_with_differences(make):
    work = tiny(make)
    for g, expected in zip(more.step_of("autoflow", work)(), differences(work), strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-5, atol=1e-7)


def test_curvature_agrees_with_differences_of_gradients():
    work, h = tiny(more.make_curvature), 1e-5
    f = af.grad(lambda *p: work.forward(np, *work.data, *p), tuple(range(len(work.parameters))))
    ahead, behind = (f(*[p + s * v for p, v in zip(work.parameters, work.vectors, strict=True)]) for s in (h, -h))
    for product, a, b in zip(more.hvp_autoflow(work)(), ahead, behind, strict=True):
        np.testing.assert_allclose(product, (a - b) / (2 * h), rtol=1e-6, atol=1e-7)


@FIRST
def test_the_last_gradient_is_the_value(make):
    work = tiny(make)
    value = more.step_of("autoflow", more.with_value(work))()[-1]
    np.testing.assert_allclose(value, work.forward(np, *work.data, *work.parameters), rtol=1e-13)


@MORE_KINDS
def test_compiled_agrees(make):
    work = more.with_value(tiny(make))
    compare.agree(more.step_of("compiled", work)(), more.step_of("autoflow", work)())


@pytest.mark.peers
@pytest.mark.parametrize("implementation", MORE_PEERS)
@MORE_KINDS
def test_peer_agrees_on_further_workloads(make, implementation):
    if (implementation, make.__name__) in LACKING:
        pytest.skip("it has no such function")
    work = more.with_value(tiny(make))
    found = by_peer(implementation, partial(more.step_of, implementation), work)
    compare.agree(found, more.step_of("autoflow", work)())


def test_one_that_disagrees_is_not_measured(monkeypatch, capsys):
    wrong = lambda work: lambda: [g * 1.001 for g in compare.autoflow(work)()]  # noqa: E731
    monkeypatch.setitem(compare.IMPLEMENTATIONS, "compiled", wrong)
    monkeypatch.setitem(more.MORE, "lstm-50", lambda: tiny(more.make_lstm))
    assert list(more.prepared("lstm-50", ["autoflow", "compiled"])) == ["autoflow"]
    assert "lstm-50: compiled fails: AssertionError" in capsys.readouterr().out


# -- cost against size -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def collector(monkeypatch):
    """Each measurement collects garbage first. What the tests before have left, it need not go through."""
    gc.freeze()
    monkeypatch.setattr(curves, "gc", types.SimpleNamespace(collect=int, freeze=int, unfreeze=int))


@pytest.mark.slow
def test_curves_are_measured_and_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(curves, "visit", lambda step: step() and 1.0)
    monkeypatch.setattr(curves, "SHOWN", ("hand", "autoflow", "compiled"))
    monkeypatch.setattr(sys, "argv", ["curves.py", "--scale", "1e-9", "--repeats", "1", "--out", str(tmp_path)])
    curves.main()
    for name in ("cost_of_nodes", "cost_of_elements"):
        text = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert text.startswith("<?xml")
        for word in ("autoflow", "af.compile", "for each", "CPUs"):
            assert word in text
        assert "fill: #ffffff" not in text  # no background: they stand on white and on black
    assert "| 1,000 " in capsys.readouterr().out


@pytest.mark.slow
def test_growth_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(curves, "visit", lambda step: step() is None or 1.0)
    monkeypatch.setattr(curves, "VISIT", 0.0)
    monkeypatch.setitem(curves.WORKLOADS, "chain-4M", partial(workloads.make_elementwise, 10))
    monkeypatch.setitem(curves.WORKLOADS, "softmax-10k", partial(workloads.make_softmax, 3, 2, 2))
    monkeypatch.setattr(curves, "GROWTH", {name: (make, 2, 2) for name, (make, *_) in curves.GROWTH.items()})
    monkeypatch.setattr(sys, "argv", ["curves.py", "--growth", "--repeats", "1"])
    curves.main()
    text = capsys.readouterr().out
    assert all([f"| {name}" in text for name in (*curves.GROWTH, "chain-4M", "softmax-10k")])
    assert "CPUs" in text


@pytest.mark.slow
def test_a_curve_ends_where_steps_are_too_long(monkeypatch):
    monkeypatch.setattr(curves, "visit", lambda step: 2.0)
    monkeypatch.setattr(curves, "LONGEST", -1.0)
    found = curves.measured(curves.make_elementwise, [3, 5], ["hand"], 1)
    assert found == {"hand": []}
    monkeypatch.setattr(curves, "LONGEST", 60.0)
    assert curves.measured(curves.make_elementwise, [3, 5], ["hand"], 1) == {"hand": [(3, 0.002), (5, 0.002)]}
    assert curves.rows({"hand": [(3, 0.002)], "torch": []}, 1e6) == [["3", "667", ""]]


def test_bounds_are_measured(monkeypatch, capsys):
    monkeypatch.setattr(bounds, "ROUNDS", 3)
    monkeypatch.setattr(compare, "VISIT", 0.0)
    sizes = {"mlp-tiny": workloads.make_mlp, "chain-1k": workloads.make_elementwise, "rnn-100": workloads.make_rnn}
    tiny = {"mlp-tiny": (4, 3, 5, 2), "chain-1k": (20,), "rnn-100": (3, 2, 4)}
    made = {name: partial(make, *tiny[name]) for name, make in sizes.items()}
    large = {
        "chain-4M": partial(workloads.make_elementwise, 200_000),
        "softmax-10k": partial(workloads.make_softmax, 9, 4, 3),
    }
    monkeypatch.setattr(bounds, "WORKLOADS", made | large)
    bounds.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[2:5]] == list(tiny)
    assert sum("nan" in line or "inf" in line for line in lines) == 0
