"""IPython: tracebacks show the user's frames, %%gradients shows what happens on each line of a cell."""

import numpy as np
import pytest

from autoflow.base.spellings import tables

shells = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")


@pytest.fixture
def shell():
    """A shell of its own, as a notebook has one."""
    from autoflow.doctor.notebook import load_ipython_extension

    made = shells.InteractiveShell()
    made.run_line_magic("colors", "nocolor")
    load_ipython_extension(made)
    made.run_cell("import numpy as np\nimport autoflow as af\nx = af.Variable([1.0, 2.0], name='x')")
    return made


def test_frames_of_ours_are_hidden(shell, capsys):
    shell.run_cell("def f():\n    return np.sum(x.detach()).backward()\nf()")
    shown = capsys.readouterr().out
    assert "x.detach() (line 2)" in shown
    assert "passes.py" not in shown
    shell.run_line_magic("xmode", "Verbose")
    shell.run_cell("f()")
    assert "passes.py" in capsys.readouterr().out


def test_gradients_of_a_cell(shell, capsys):
    shell.run_cell_magic("gradients", "", "y = np.sum(x * x)\nz = np.round(x)\n(y + np.sum(z)).backward()\n")
    shown = capsys.readouterr().out
    assert ">    1 y = np.sum(x * x)" in shown
    assert "0    2 z = np.round(x)" in shown
    shell.run_cell_magic("gradients", "", "n = len([x])\n(np.sum(x) / float(n)).backward()\nz = x * float(x[0])\n")
    shown = capsys.readouterr().out
    assert ">    2 (np.sum(x) / float(n)).backward()" in shown
    assert "x    3 z = x * float(x[0])" in shown


def test_a_handler_of_the_users_stays(shell):
    from autoflow.doctor.notebook import load_ipython_extension

    def mine(*_, **__): ...

    other = shells.InteractiveShell()
    other.set_custom_exc((ValueError,), mine)
    load_ipython_extension(other)
    assert other.custom_exceptions == (ValueError,)


def test_keywords_of_other_libraries_are_explained(shell, capsys):
    for call in ("np.sum(x, dim=0)", "np.linalg.norm(x, dim=0)", "af.gradients(x, retain_graph=True)",
                 "af.optim.SGD([x], learning_rate=0.1)", "af.Variable(1.0, trainable=True)"):  # fmt: skip
        shell.run_cell(call)
        word = call.rpartition("=")[0].rpartition(" ")[2]
        shown = capsys.readouterr().out
        assert f"For {word}= write " in shown
        assert word in tables()["keywords"]
    shell.run_cell("def mine(x):\n    return x\nmine(x, dim=0)")
    shell.run_cell("x.sum(dim=0)")  # says so itself
    assert "For dim= write" not in capsys.readouterr().out


def test_names_of_other_libraries_on_plain_arrays_are_explained(shell, capsys):
    shell.run_cell("np.sum(x * x).backward()")
    for name, here in [*[*tables()["x"].items()][::20], ("zero_", tables()["x"]["zero_"]), ("exp", "np.exp(x)")]:
        if not hasattr(np.ndarray, name):
            shell.run_cell(f"x.grad.{name}")
            assert f"Here it is {here}" in capsys.readouterr().out
    shell.run_cell("x.grad.nothing")
    assert "Here it is" not in capsys.readouterr().out
