"""Numbers that a program takes out of the graph on purpose are constants, and the picture and ``why`` say so."""

import numpy as np
import pytest

import autoflow as af

TAKEN = ["float(w)", "w.item()", "y.value", "y.detach()", "af.stop_gradient(y)", "y.tolist()[0]"]


@pytest.mark.parametrize("preset", ["default", "classroom"])
@pytest.mark.parametrize("form", ["np.sum({} * x)", "np.sum(x * ({} + 1.0))", "c = {}\nL = np.sum(c * x)"])
@pytest.mark.parametrize("text", TAKEN)
def test_marks(text, form, preset, tmp_path, monkeypatch):
    form = form if "L =" in form else f"L = {form}"
    (tmp_path / "taken.py").write_text(
        "import numpy as np\nimport autoflow as af\ndef run(x, w):\n    y = x * w\n"
        + "".join([f"    {line}\n" for line in form.format(text).split("\n")])
        + "    return L\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "taken", raising=False)
    import taken

    with af.options(preset=preset):
        x, w = af.Variable([1.0, 2.0], name="x"), af.Variable(3.0, name="w")
        loss = taken.run(x, w)
        loss.backward()
        shown = text.removesuffix("[0]")
        assert f"no gradient through {shown}" in str(af.graph(loss))
        assert f"no gradient through {shown}" in af.graph(loss).to_svg()
        assert f"no gradient through {shown}, taken out of the graph" in str(x.why(loss))


def test_numbers_that_were_never_in_it_are_not_marked():
    x, a = af.Variable([1.0, 2.0], name="x"), np.array(3.0)
    loss = np.sum(x * 2.0 * a * float("3"))
    assert "no gradient through" not in str(x.why(loss)) + str(af.graph(loss))
