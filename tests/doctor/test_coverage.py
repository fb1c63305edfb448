"""Coverage of gradients: each line of a program has the state that it should have."""

import contextlib
import runpy
import sys

import numpy as np
import pytest
from naming import run_file

import autoflow as af
from autoflow.__main__ import main
from autoflow.base.modes import TAKEN, TRUE, switched
from autoflow.cli.checking import log_line
from autoflow.doctor.coverage import STATES, Coverage

PROGRAM = """
import sys
import numpy as np
import autoflow as af
w = af.Variable([1.0, 2.0])
v = af.Variable([0.0, 3.0])
a = w * 2.0                        # flows
b = np.maximum(v * a, -100.0)      # flows
c = np.round(w)                    # zero
d = np.sqrt(v)                     # nan
e = (w * 3.0).detach()             # constant
f = np.abs(v)                      # kink
unused = w + 1.0                   # recorded
number = np.sum(a)                 # recorded
g = a * float(number)              # lost
loss = np.sum(b + c + d + e * w + f + g)  # flows
loss.backward()
print("printed", *sys.argv[1:])
"""


@pytest.fixture
def program(tmp_path):
    """The program in a file."""
    path = tmp_path / "model.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_each_line_has_its_state(program, capsys):
    assert main(["--coverage", str(program), "--fail-under", "10", "--", "word"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split()[0] == "printed"
    expected = [line.rpartition("  # ")[2].strip() if "  # " in line else "" for line in PROGRAM.splitlines()]
    rows = shown[1 : 1 + len(expected)]
    found = [next((state for state, (sign, _) in STATES.items() if row.startswith(sign)), "") for row in rows]
    assert found == expected
    assert rows[expected.index("lost")].endswith("# lost  <- float(number)")
    assert shown[-1] == "Gradients flow on 40 % of the lines with operations."


HEAD = "import numpy as np\nimport autoflow as af\nw = af.Variable([1.0, 2.0])\n"
# Programs after these lines, each line with its state; a second word is what takes the numbers. The first line says how
# many of the lines with operations have gradients that flow.
OTHERS = {
    "a class, called in a loop": """# 100 %
class Net:
    def __init__(self):
        self.w = af.Variable([1.0, 2.0])
    def __call__(self, x):
        return np.tanh(x * self.w)  # flows
net = Net()
for x in np.ones((3, 2)):
    loss = np.sum(net(x)) ** 2  # flows
    loss.backward()
    with af.no_grad():
        net.w -= 0.1 * net.w.grad
""",
    "numbers taken in several ways": """# 33 %
total = np.sum(w * float(np.mean(w)))  # lost float(np.mean(w))
total = total + np.sum(w) * w.max().item()  # lost w.max().item()
picked = np.max([float(v) for v in w])  # recorded
total = total + np.sum(w * picked)  # lost float(v)
total = total + np.sum(w * w.value)  # flows
(total + np.prod(w)).backward()  # flows
""",
    "overwritten": """# 33 %
a = np.sin(w)  # recorded
b = a * w  # overwritten
w.value = [3.0, 4.0]
np.sum(b).backward()  # flows
""",
    "comprehensions, lambdas and two passes": """# 80 %
w = af.Variable([1.0, -2.0])
parts = [np.exp(v) for v in w]  # flows
f = lambda v: np.maximum(v, 0.0)  # flows
g = lambda v: np.minimum(v, -9.0)  # zero
sum(parts).backward()  # flows
np.sum(f(w) + g(w) + np.floor(w)).backward()  # zero
unused = af.Constant(2.0) * 3.0
""",
    "kinks, and what is not a number": """# 75 %
w = af.Variable([0.0, 1.0])
a = np.sum(np.abs(w))  # kink
b = np.sum(np.maximum(w, 1.0))  # kink
c = np.sum(np.where(w > 0, np.sqrt(w), 0.0))  # nan
(a + b + c).backward()  # flows
""",
    "cut on purpose": """# 50 %
w = af.Variable([0.5, 1.0])
with af.no_grad():  # constant
    k = w * 2.0
t = af.stop_gradient(w * w)  # constant
np.sum(w * k + w * t).backward()  # flows
""",
    "numbers that are no nodes'": """# 100 %
n, X = len([1, 2]), np.ones(2)
loss = np.sum(w) / float(np.sqrt(n)) * X.max().item()  # flows
loss = loss * float(X[0])  # flows
loss.backward()
""",
    "a chain of calls over several lines": """# 100 %
loss = (
    (w * 2.0)  # flows
    .reshape(1, 2)  # flows
    .sum()  # flows
)
np.sum(  # flows
    loss  # flows
    + np.sum(  # flows
        w  # flows
        * np.exp(-w)  # flows
    )
).backward()
""",
    "zero in one turn only": """# 100 %
out = af.zeros(3)
for k in range(3):
    out[k] = w[k % 2] * k  # flows
def parts(x):
    for k in range(3):
        yield np.sum(x * k)  # flows
(sum(out) + sum(parts(w))).backward()  # flows
""",
    "zero for one operand": """# 100 %
u = af.Variable([0.0, 0.0])
np.sum(  # flows
    w * u  # zero
).backward()
""",
    "derivatives of gradients": """# 100 %
def f(x):
    return x**3  # flows
af.grad(af.grad(f))(2.0)  # flows
def g(x):
    return np.sum(x**3)  # flows
af.hessian(g)(np.array([1.0, 2.0]))  # flows
""",
    "a pass inside of a pass": """# 100 %
def block(x):
    return np.tanh(x * 2.0)  # flows
h = w * 3.0  # flows
y = af.checkpoint(block)(h)  # flows
np.sum(y).backward()  # flows
""",
    "more kinks": """# 100 %
a = np.clip(w, 1.0, 3.0)  # kink
b = np.clip(w, 0.0, 2.0)  # kink
c = np.clip(w, 0.0, 3.0)  # flows
d = af.nn.leaky_relu(w - 1.0)  # kink
np.sum(a + b + c + d).backward()  # flows
""",
    "try, except, else, finally": """# 67 %
try:
    a = w @ np.ones((3, 3))
except Exception:
    a = w * 2.0  # flows
else:
    a = w * 3.0
finally:
    b = a + 1.0  # recorded
np.sum(a).backward()  # flows
""",
    "written in place": """# 100 %
x = w * 1.0  # flows
x += 2.0  # flows
x *= w  # flows
x[0] = w[1] * 3.0  # flows
np.sum(x).backward()  # flows
""",
    "masks and indices": """# 67 %
m = w > 1.5
a = w[m]  # flows
b = np.where(m, w, 0.0)  # flows
c = np.where(w > 10.0, w, 0.0)  # zero
d = w[np.argsort(w)]  # flows
e = w[w > 5.0]  # recorded
(np.sum(a) + np.sum(b + c + d * m)).backward()  # flows
""",
    "functions of functions": """# 100 %
import functools
def scaled(s):
    def decorate(f):
        @functools.wraps(f)
        def inner(x, n=2):
            return s * f(x) * (inner(x, n - 1) if n else 1.0)  # flows
        return inner
    return decorate
@scaled(3.0)
def f(x):
    return np.sin(x)  # flows
total = sum(map(lambda x: x * x, f(w)))  # flows
total.backward()
""",
    "a class with a property, trained": """# 100 %
class Net:
    def __init__(self):
        self.layers = [af.Variable(np.full((2, 2), 0.1 + k)) for k in range(2)]
    @property
    def size(self):
        return sum(np.sum(W**2) for W in self.layers)  # flows
    def __call__(self, x):
        for k, W in enumerate(self.layers):
            x = x @ W  # flows
            if k == 0:
                x = np.tanh(x)  # flows
        return x
net = Net()
for _ in range(2):
    loss = np.mean(net(np.ones((4, 2))) ** 2) + 0.1 * net.size  # flows
    loss.backward()
    for W in net.layers:
        W.value = W.value - 0.1 * W.grad
        W.zero_grad()
    if float(loss) < 0.0:
        break
""",
    "numbers taken where the text does not show it": """# 38 %
import math
v = af.Variable(0.5)
def as_number(x):
    return float(x)
a = v * math.sin(v)  # lost
s = np.sum(w)  # recorded
b = np.sum(w * as_number(s))  # lost
c = float(s)
d = c + 1
e = np.sum(w * d)  # lost
f = np.sum(w * w.tolist()[0])  # lost w.tolist()
k = [float(x) for x in w.value]
g = np.sum(w * k)  # flows
h = w * w.value  # flows
(a + b + e + f + g + np.sum(h)).backward()  # flows
""",
    "it ends with an error": """# 0 %
loss = np.sum(w * w)  # recorded
raise ValueError("end")
""",
    "it ends early": """# 100 %
import sys
np.sum(w * w).backward()  # flows
sys.exit(0)
""",
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_other_programs(name, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(HEAD + OTHERS[name], encoding="utf-8")
    stops, seen, logs = (ValueError, SystemExit, af.errors.StaleValueError), Coverage(), []
    with contextlib.suppress(*stops), seen.watch():
        runpy.run_path(str(path), run_name="__main__")
    for shadow in (TRUE, TRUE, TRUE, TAKEN):  # as in processes of their own
        logs.append([])
        heard = (lambda node: logs[-1].append(log_line(node)),)
        with contextlib.suppress(*stops), switched(shadow=shadow, keep=sys.maxsize, listeners=heard):
            runpy.run_path(str(path), run_name="__main__")
    seen.compare(*logs)
    rows = [*seen.rows(str(path))]
    for k, state, text in rows[3:]:
        wanted, _, taker = text.partition("  <- ")[0].partition("  # ")[2].partition(" ")
        assert (state, text.partition("  <- ")[2]) == (wanted, taker), (k, text)
    assert rows[3][2] == f"# {seen.percent(str(path)):.0f} %"


def test_a_program_of_several_files(tmp_path, capsys):
    (tmp_path / "layers_of_it.py").write_text("import numpy as np\ndef f(x):\n    return np.round(x) + x\n")
    path = tmp_path / "model.py"
    path.write_text(f"from layers_of_it import f\n{HEAD}np.sum(f(w)).backward()\n", encoding="utf-8")
    before, page = (sys.argv, sys.path[:]), tmp_path / "page.html"
    assert main(["--coverage", str(path), "--fail-under", "100", "--html", str(page)]) == 0
    assert (sys.argv, sys.path) == before
    shown = capsys.readouterr().out
    assert "model.py:\n     1 from layers_of_it import f" in shown
    assert "layers_of_it.py:\n     1 import numpy as np\n     2 def f(x):\n0    3     return np.round(x) + x" in shown
    assert shown.endswith("Gradients flow on 100 % of the lines with operations.\n")
    assert '<span class="zero">0    3     return np.round(x) + x</span>' in page.read_text(encoding="utf-8")
    assert main(["--coverage", str(tmp_path / "none.py")]) == 2
    assert "there is no program" in capsys.readouterr().err


def test_a_program_that_stops_is_shown_and_fails(tmp_path, capsys):
    path = tmp_path / "model.py"
    path.write_text(HEAD + OTHERS["overwritten"], encoding="utf-8")
    assert main(["--coverage", str(path)]) == 1
    shown = capsys.readouterr()
    assert "w    6 b = a * w" in shown.out
    assert "StaleValueError" in shown.err
    path.write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    assert main(["--coverage", str(path)]) == 1
    capsys.readouterr()


def test_a_bound_and_a_page(program, capsys):
    page = program.with_suffix(".html")
    assert main(["--coverage", str(program), "--html", str(page), "--fail-under", "50"]) == 1
    text = page.read_text(encoding="utf-8")
    assert '<span class="zero">0    9 c = np.round(w)' in text
    assert '<span class="zero">0 a gradient came, and nothing was sent on to one of the operands</span>' in text
    assert "http" not in text
    capsys.readouterr()


def test_a_kink_in_single_precision(tmp_path):
    file, seen = tmp_path / "kink.py", Coverage()
    text = "x = af.Variable(np.float32([1.0, 0.0]))\nnp.sum(np.maximum(x, np.float32(0.0))).backward()\n"
    with seen.watch():
        run_file(file, text, af=af, np=np)
    assert seen.state((str(file), 2)) == "kink"
