"""The page docs/numpy-coverage.md says what is so, and nothing that a peer differentiates is missing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError

DOCS = Path(af.__file__).parent.parent / "docs"
sys.path.insert(0, str(DOCS))
import make_coverage  # noqa: E402

# What a peer does differentiate or is counted for, and what we have instead.
INSTEAD = {
    "array": "af.array", "asarray": "af.array", "full": "af.full", "tri": "nothing in it to differentiate",
    "count_nonzero": "plain: a count", "row_stack": "an alias of vstack, which is recorded", "c_": "np.column_stack",
    "vectorize": "refused: f(x) itself, or np.apply_along_axis",
}  # fmt: skip


def test_the_page_is_up_to_date():
    assert make_coverage.PAGE.read_text(encoding="utf-8") == make_coverage.page(), "run python docs/make_coverage.py"


def test_the_script_says_so():
    done = subprocess.run([sys.executable, str(DOCS / "make_coverage.py"), "--check"], cwd=DOCS.parent, check=False,
                          capture_output=True, text=True, env={"PYTHONPATH": str(DOCS.parent)})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


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
