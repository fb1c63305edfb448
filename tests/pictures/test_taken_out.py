"""Numbers that a program takes out of the graph on purpose are constants, and the picture and ``why`` say so."""

import importlib
import sys

import numpy as np
import pytest

import autoflow as af

TAKEN = ["float(w)", "w.item()", "y.value", "y.detach()", "af.stop_gradient(y)", "y.tolist()[0]"]
ARRAYS = ["np.array([x, x])", "np.asarray(x)", "np.array([2 * x, -x])", "np.full(2, x[0])"]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Makes a module of a function with this first line and these lines."""

    def make(first, *lines):
        (tmp_path / "taken.py").write_text(
            f"import numpy as np\nimport autoflow as af\n{first}\n" + "".join([f"    {line}\n" for line in lines])
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "taken", raising=False)
        return importlib.import_module("taken")

    return make


@pytest.mark.parametrize("preset", ["default", "classroom"])
@pytest.mark.parametrize("form", ["np.sum({} * x)", "np.sum(x * ({} + 1.0))", "c = {}\nL = np.sum(c * x)"])
@pytest.mark.parametrize("text", TAKEN + ARRAYS)
def test_marks(text, form, preset, module):
    form = form if "L =" in form else f"L = {form}"
    taken = module("def run(x, w):", "y = x * w", *form.format(text).split("\n"), "return L")
    with af.options(preset=preset):
        x, w = af.Variable([1.0, 2.0], name="x"), af.Variable(3.0, name="w")
        loss = taken.run(x, w)
        loss.backward()
        said = f"no gradient through {text.removesuffix('[0]')}"
        assert [said in told for told in (str(af.graph(loss)), af.graph(loss).to_svg())] == [True, True]
        assert f"{said}, taken out of the graph" in str(x.why(loss))


@pytest.mark.parametrize("text", ["np.asarray(x).astype(dtype='f4')", "np.asarray(x).astype(dtype=int)"])
def test_errors_name_numbers_that_a_keyword_casts(text, module):
    taken = module("def run(x):", f"return np.sum({text})")
    with pytest.raises(af.errors.LostGradientError, match=r"numbers leave the graph at np\.asarray\(x\)"):
        af.grad(taken.run)(np.ones(2))


def test_numbers_that_were_never_in_it_are_not_marked():
    x, a = af.Variable([1.0, 2.0], name="x"), np.array(3.0)
    made = np.array([a, x.shape[0]]) * np.array([len(x), a]) * np.full(x.size, a) * np.asarray([a, a])
    loss = np.sum(x * 2.0 * a * float("3") * made)
    assert "no gradient through" not in str(x.why(loss)) + str(af.graph(loss))


def test_numbers_of_other_objects_are_not_marked():
    class Slider:
        value, turns = 3.0, iter([2.0])
        once = property(lambda self: next(self.turns))

    slider, n, x = Slider(), "4", af.Variable(2.0, name="x")
    y = x * slider.value * float(n) * Slider.value
    assert "no gradient through" not in str(x.why(y)) + str(af.graph(y))
    data, rows, k = np.array([1.0, 2.0]), {"a": [1.0, 2.0]}, 1
    y = x * float(data[1]) * int(data[0] * 2) * float(rows["a"][k]) * data[k].item() * float(-k + data[k - 1])
    rows["a"].append(rows)  # looked through only once
    y = y * float(np.sqrt(k)) * float(len(data)) * data.max().item() * float(rows["a"][k]) * float(max(data[0], 2 * k))
    assert "no gradient through" not in str(x.why(y)) + str(af.graph(y))
    w, nodes = af.Variable(2.0, name="w"), [1.0, x]
    y = w * float(data[0] * x) * float(nodes[1]) * float(data[1] + np.sin(x)) * (x if k else w).item()
    marked = str(w.why(y * float(sum(nodes)) * float(slider.once)))
    texts = "float(data[0] * x)", "float(nodes[1])", "np.sin(x)", "(x if k else w)", "float(sum(nodes))"
    assert all([text in marked for text in texts])
