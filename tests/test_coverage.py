"""The page docs/numpy-coverage.md says what is so, and nothing that a peer differentiates is missing."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError

pytest.importorskip("scipy")  # its functions are on the page
DOCS = Path(af.__file__).parent.parent / "docs"
import make_coverage  # noqa: E402
import probes  # noqa: E402

# What a peer does differentiate or is counted for, and what we have instead.
INSTEAD = {
    "array": "af.array", "asarray": "af.array", "full": "af.full", "tri": "nothing in it to differentiate",
    "count_nonzero": "plain: a count", "row_stack": "an alias of vstack, which is recorded",
    "vectorize": "refused: f(x) itself, or np.apply_along_axis",
}  # fmt: skip


def test_the_page_is_up_to_date():
    assert make_coverage.PAGE.read_text(encoding="utf-8") == make_coverage.page(), "run python docs/make_coverage.py"


@pytest.mark.slow
@pytest.mark.nightly
def test_the_script_says_so():
    done = subprocess.run([sys.executable, str(DOCS / "make_coverage.py"), "--check"], cwd=DOCS.parent, check=False,
                          capture_output=True, encoding="utf-8", env={"PYTHONPATH": str(DOCS.parent)})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


UNSEEN = {  # NumPy makes these from the numbers of a node; the first asks, and is told
    "np.full_like(W, n)", "np.full(3, n)", "np.array([n, n])", "np.array([w, W])", "np.asarray(w)", "np.array(w)",
    "np.vectorize(lambda y: y * y)(w)",
}  # fmt: skip


def test_more_expressions_than_any_peer():
    """Of the probes all are differentiated but those that NumPy does not tell us about."""
    assert set(probes.failures()) == UNSEEN
    asked = json.loads((DOCS / "peers.json").read_text(encoding="utf-8"))["_probes"]
    assert len(probes.probes()) - len(UNSEEN) > max(asked.values())


def slope_and_bend(probe, x, d, recorded):
    """The gradient of L = l + l²/4, l the weighted sum of the results; or that of its derivative in direction d."""
    v = af.Variable(x)
    loss = probes.weighted(probes.function(probe, np)(v), np)
    loss = loss + 0.25 * loss * loss
    if not isinstance(loss, af.Operation):
        return np.zeros_like(x)
    loss.backward(create_graph=recorded)
    first = v.grad
    if not recorded or not isinstance(first, af.Operation):
        return np.zeros_like(x) if recorded else first
    v.zero_grad()
    along = np.real(np.conjugate(first) * d).sum()
    if isinstance(along, af.Operation):
        along.backward()
    return np.zeros_like(x) if v.grad is None else v.grad


@pytest.mark.slow
def test_second_derivatives_of_the_probes():
    """H d, against differences of the gradients in direction d."""
    for probe in probes.probes():
        x = probes.INPUTS[probes.letter(probe)]
        if probe in UNSEEN or np.isnan(x).any():
            continue
        rng, h = np.random.default_rng(1), 1e-6
        d = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ends = [slope_and_bend(probe, x + s * h * d, d, False) for s in (1, -1)]
            bend = slope_and_bend(probe, x, d, True)
        np.testing.assert_allclose(bend, (ends[0] - ends[1]) / (2 * h), rtol=1e-4, atol=1e-4, err_msg=probe)


def test_a_wrong_derivative_does_not_count(monkeypatch):
    monkeypatch.setitem(probes.GRADIENTS, "wrong", lambda probe: 1.001 * probes.autoflows(probe))
    assert "not the derivative" in probes.wrong("np.sin(w)", "wrong")
    assert not probes.wrong("np.floor(w)", "wrong")


def test_every_function_has_a_status():
    assert [name for name, kind, _ in make_coverage.rows() if not kind] == []


def test_nothing_that_a_peer_differentiates_is_missing():
    assert {line.split(": ")[1].split(" is ")[0] for line in make_coverage.missing()} <= set(INSTEAD)


def test_a_missing_function_would_be_noticed(monkeypatch):
    monkeypatch.setattr(make_coverage, "rows", lambda: [("sin", "refused", "")])
    assert "MyGrad: sin is refused" in make_coverage.missing()


def test_r_and_c():
    x = af.Variable([1.0, 2.0])
    np.r_[x, 3.0, x].sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert np.c_[np.ones((2, 1)), x[:, None]].shape == (2, 2)
    x.zero_grad()
    z = np.c_[x, 2 * x, [3.0, 4.0]]  # NumPy makes columns of vectors in C; that they are views says what they are
    np.testing.assert_array_equal(z.value, np.c_[x.value, 2 * x.value, [3.0, 4.0]])
    (z * z).sum().backward()
    np.testing.assert_array_equal(x.grad, 10 * x.value)
    np.testing.assert_array_equal(np.r_["1,2,0", x, x[::-1]].value, np.r_["1,2,0", x.value, x.value[::-1]])


def test_columns_of_what_is_no_plain_view_are_refused():
    x = af.Variable([1.0, 2.0])
    with pytest.raises(LostGradientError, match="without telling us"):
        np.array(x, subok=True) * 2.0  # a copy: whose, nobody knows
