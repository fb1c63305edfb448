"""What the program calls nodes: targets, attributes, items, expressions. Never a name that is not the program's."""

import asyncio
import functools
import itertools
import linecache
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from naming import boxes_of, name_of, naming, operations_of, records_of, run_file
from written import PROGRAMS

import autoflow as af
from autoflow.program.names import Naming

GOLDEN = Path(__file__).parents[1] / "golden" / "program"


def told(*nodes):
    """The names of the nodes, or the expressions of those without one."""
    program = naming(*nodes)
    return [program.name(node.grad_fn) or program.text(node.grad_fn) for node in nodes]


def outline(node):
    """The graph as a text: a line for each box, leaf and operation, with the line of the program."""
    program, boxes, lines, last = naming(node), boxes_of(node), [], ()
    for x in records_of(node):
        path = boxes.around(x) if x.parents else last
        for k, (title, key) in enumerate(path):
            if path[: k + 1] != last[: k + 1]:
                lines.append("  " * k + f"[{title}] {boxes.note(key)}".rstrip())
        what = x.rule.name if x.parents else "Variable"
        name = program.name(x) or (program.text(x) if x.parents else None)
        lines.append("  " * len(path) + f"{name}  {what}: {program.place(x).text}")
        last = path
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    """The golden files were looked at. After a change that is meant: AUTOFLOW_GOLDEN=write, and look again."""
    made, file = outline(program()), GOLDEN / f"{program.__name__}.txt"
    if os.environ.get("AUTOFLOW_GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(made, encoding="utf-8", newline="\n")
    assert made == file.read_text(encoding="utf-8")


def test_targets():
    x = af.Variable(2.0)
    y = x * 2.0
    (z := x * 3.0)
    a, b = x * 4.0, x * 5.0
    first = second = x * 6.0
    typed: object = x * 7.0
    assert told(x * 1.0, y, z, a, b, second, typed) == ["x * 1.0", "y", "z", "a", "b", "first", "typed"]
    assert first is second
    (a, (b, c)), d = (X * 2.0, (X * 3.0, X * 4.0)), X * 5.0
    assert told(a, b, c, d) == ["a", "b", "c", "d"]


def test_names_that_are_given_again_are_numbered():
    x = af.Variable(2.0)
    f = f_1 = x * 2.0
    f = f_2 = f * 3.0
    f *= 2.0
    assert told(f_1, f_2, f) == ["f₁", "f₂", "f₃"]
    x = x * 2.0
    assert told(x) == ["x₁"]  # x is the Variable
    a, b = np.split(af.Variable(np.arange(4.0)), 2)
    a = a * b
    assert [name_of(r, a) for r in operations_of(a)] == ["a₁", "b", "a₂"]  # in the order of the program
    w = af.Variable(1.0)
    p = w * 2.0
    w = af.Variable(2.0)
    q = w * 3.0
    w = p * q
    w = w + 1.0
    assert [v.title for v in w.graph(merge=False).nodes if v.title.startswith("w")] == ["w₁", "w₂", "w₃", "w₄"]


def test_writes():
    u = np.zeros(3) * af.Variable(1.0)
    old = u.grad_fn
    u[1:] = 2.0
    one = u[1:]
    one *= 2.0
    u[0] += 1.0
    w = af.Variable(np.ones(3)) * 1.0
    w -= 0.5
    assert (name_of(old, u), name_of(u, u)) == ("u₁", "u₄")
    assert told(w) == ["w₂"]


def test_items_of_containers():
    params = {"W": af.Variable(np.ones(2)), "b": [af.Variable(0.0), af.Variable(1.0)]}
    y = params["W"] * params["b"][1]
    params["W"] = params["W"] * 2.0
    params["out"] = y * 3.0
    assert [name_of(x, y) for x in y.grad_fn.parents] == ['params["W"]', 'params["b"][1]']
    assert told(params["out"]) == ['params["out"]']
    params["fc1.weight"] = af.Variable(1.0)
    rates, gates = {0.5: af.Variable(3.0)}, {gate: af.Variable(1.0) for gate in "if"}
    y = params["fc1.weight"] * rates[0.5] * sum(gate * gate for gate in gates.values())
    assert names_in(y) == {'params["fc1.weight"]', "rates[0.5]", 'gates["i"]', 'gates["f"]'}


def names_of_leaves():
    """A function without assertions: pytest makes other code of those."""

    def make(value):
        return af.Variable(value)

    made = make(2.0)
    listed = [af.Variable(float(k)) for k in range(3)]
    given = af.Variable(1.0, name="given")
    nameless = [*map(af.Variable, (1.0, 2.0))]
    y = made * listed[2] * given * nameless[1]
    return names_in(y)


def names_in(y):
    """Of the leaves."""
    return {name_of(x, y) for x in records_of(y) if not x.parents}


def test_leaves():
    assert names_of_leaves() == {"made", "listed[2]", "given", "nameless[1]"}


def test_what_functions_return():
    def square(x):
        return x * x

    def shifted(x):
        moved = x + 1.0
        return square(moved)

    x = af.Variable(2.0)
    y = shifted(x)
    z = square(x) + 1.0
    assert told(y, z) == ["y", "z"]
    assert told(y)[0] == "y"
    assert naming(z).text(z.grad_fn.parents[0]) == "square(x)"


def test_what_comes_through_a_list_is_called_as_its_user_calls_it():
    """As in micrograd: ``out = [n(x) for n in neurons]; return out[0]``."""

    def layer(x):
        out = [square(x) for _ in range(1)]
        return out[0]

    def square(x):
        return x * x

    x = af.Variable(2.0)
    y = layer(x)
    loss = y - 1.0
    assert name_of(loss.grad_fn.parents[0], loss) == "y"
    u = v = layer(x)
    both = u + v
    assert name_of(both.grad_fn.parents[0], both) is None  # two names say nothing


def test_several_results():
    x = af.Variable(np.arange(6.0))
    a, b = np.split(x, 2)
    p, *rest = x
    assert told(a, b) == ["a", "b"]
    assert told(p * 1.0) == ["p * 1.0"]
    assert rest


def test_what_a_function_returns_to_autoflow_has_no_name_of_the_callers():
    def loss(w):
        return (w - 1.0) ** 2

    page = af.explore(loss, w=(-1, 3))
    assert name_of(page.root, page.root) is None
    assert names_in(page.root) == {"w"}


def test_results_that_are_packed():
    w, v = np.linalg.eigh(af.Variable(np.eye(2)))
    assert told(w, v) == ["w", "v"]
    assert len(records_of(w, v)) == 5


def test_composed_functions_name_the_last_of_their_operations():
    x = af.Variable(np.arange(3.0))
    y = np.trapezoid(x)
    *inner, last = operations_of(y)
    program = naming(y)
    assert program.name(last) == "y"
    assert {(program.name(r), program.text(r)) for r in inner} == {(None, None)}


def test_plain_operands():
    x = af.Variable(np.ones(3))

    def scaled(factor):
        return x * factor

    weights = np.arange(3.0)
    record = scaled(weights).grad_fn
    assert Naming([record]).operand(record, 1) == "weights"


def test_two_leaves_with_one_name_get_their_objects():
    class Linear:
        def __init__(self):
            self.w = af.Variable(2.0)

    class Net:
        def __init__(self):
            self.a, self.b = Linear(), Linear()

    net = Net()
    y = net.a.w * net.b.w
    assert [name_of(x, y) for x in y.grad_fn.parents] == ["a.w", "b.w"]
    one = Linear()
    assert name_of(one.w, one.w * 1.0) == "w"


def test_without_text_there_are_no_names():
    namespace = {"af": af}
    exec("x = af.Variable(2.0)\ny = x * 3.0", namespace)
    record, program = namespace["y"].grad_fn, naming(namespace["y"])
    assert program.name(record) is program.text(record) is program.place(record) is None


def test_deep_recursion():
    def deep(x, n):
        return x * 1.0 if n == 0 else deep(x, n - 1) * 2.0

    y = deep(af.Variable(2.0), 400)
    boxes = boxes_of(y)
    assert max([len(boxes.around(r)) for r in operations_of(y)]) == 399


def test_the_value_of_a_lambda_has_not_the_name_of_what_its_author_returns():
    def model(w):
        act = lambda z: np.tanh(z) * 2.0  # noqa: E731 - as people write it
        return 1.0 + act(w)

    loss = model(af.Variable(0.5))
    assert [v.title for v in loss.graph(merge=False).nodes][-2:] == ["act(w)", "loss"]


def square(x):
    return x * x


async def later(x):
    return x * 3.0


async def both(x, y):
    return sum(await asyncio.gather(later(x), later(y)))


def each(x, y):
    for z in (x, y):
        yield z * 2.0


CALLED_BACK = {  # what runs a function of the user's for its own purposes -> the operations of the function
    "sum(map(square, xs))": ["x*x", "y*y"], "functools.reduce(operator.add, map(square, xs))": ["x*x", "y*y"],
    "sum(sorted(map(lambda v: v * 4.0, xs), key=float))": ["x*4", "y*4"], "sum(each(*xs))": ["x*2", "y*2"],
    "asyncio.run(both(*xs))": ["x*3", "y*3"],
    "sum(squares)": ["x*x", "y*y"],  # what was made before has the function's name no more
    "functools.reduce(operator.add, squares)": ["x*x", "y*y"], "add_up(squares)": ["x*x", "y*y"],
    "sum(map(table['square'], xs))": ["x*x", "y*y"],
    "max([next(squares), next(squares)], key=lambda v: float(v * 9.0))": ["y*y"],
}  # fmt: skip


@pytest.mark.parametrize("call", CALLED_BACK)
@pytest.mark.parametrize("form", ["out = {}", "out = 1.0 * {}"])
def test_what_another_function_calls_has_not_the_name_of_its_result(form, call, tmp_path):
    names = run_file(tmp_path / "program.py", f"""
import asyncio, functools, operator
from functools import partial, reduce
add_up = lambda a: reduce(operator.add, a)
table = {{'square': square}}
squares = map(square, xs)
{form.format(call)}
""", **globals(), xs=[af.Variable(2.0, name="x"), af.Variable(3.0, name="y")])  # fmt: skip
    titles = [v.title for v in names["out"].graph(merge=False).nodes]
    assert [title for title in titles if title in CALLED_BACK[call]] == CALLED_BACK[call], titles
    assert len(set(titles)) == len(titles), titles


class Taking:
    """Two arrays, under names that no caller uses."""

    def method(self, first, second, third=0.0):
        return first * second

    @classmethod
    def of_class(cls, first, second):
        return first * second

    @staticmethod
    def static(first, second):
        return first * second

    def __call__(self, first, second=None):
        return first * (second if second is not None else 1.0)

    @property
    def double(self):
        return A * X + X


A, B, X = np.array([3.0, 4.0]), np.array([5.0, 6.0]), af.Variable(np.array([1.0, 2.0]), name="X")
take = Taking()
GIVEN = {  # how two arrays are given -> as what the product shows them; None: the names of the parameters will do
    "take.method(A, X)": "A X", "take.method(X, B)": "X B", "Taking.method(take, A, X)": None,
    "Taking.of_class(A, X)": "A X", "take.of_class(X, B)": "X B", "Taking.static(B, X)": "B X",
    "take.method(second=A, first=X)": "X A", "take.method(*[A, X])": None, "take(A, X)": "A X",
    "partial(take.method, A)(X)": None, "given(X)": None, "given(second=X)": None, "bound(A, X, 0.0)": "A X",
    "partial(take, second=A)(X)": None, "twice(X)": None, "(lambda p, q: p * q)(A, X)": None,
}  # fmt: skip


@pytest.mark.parametrize("call", GIVEN)
def test_an_operand_has_its_own_name_or_that_of_the_parameter(call, tmp_path):
    """A ``partial`` gives its arguments first, and ``self`` may be given or not."""
    lines = "given = partial(take.method, A)", "bound = take.method", "twice = partial(partial(take.method), B)"
    text = "\n".join([*lines, f"out = 1.0 * {call}"])
    names = run_file(tmp_path / "program.py", text, **globals(), partial=functools.partial)
    nodes = names["out"].graph(merge=False).nodes
    values = {"X": X, "A": A, "B": B}
    product = next(v for v in nodes if v.word == "multiply")
    assert GIVEN[call] in (None, " ".join([row.title for row in product.operands]))
    shown = {v.title: v.value.elements for v in nodes if v.title in values}
    assert all([np.array_equal(elements, values[title]) for title, elements in shown.items()]), shown


def test_entries_of_a_sequence_are_told_apart(tmp_path):
    def entries(k):
        return [np.tanh(X * n) for n in range(1, k)]

    rows = entries(3)
    for join in (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack):
        out = join(rows)
        assert "rows" not in [v.title for v in out.graph(merge=False).nodes]
    table = np.stack(rows)
    out = np.concatenate(table)
    assert [row.title for row in out.graph(merge=False).nodes[-1].operands] == ["table[0]", "table[1]"]


def test_a_property_is_no_call():
    class Scaled:
        def __init__(self):
            self.w = af.Variable(np.ones(2))

        @property
        def double(self):
            return self.w * 2.0 + self.w

        def triple(self):
            return self.w * 3.0 + self.w

    scaled = Scaled()
    out = np.sin(scaled.double + scaled.triple())
    boxes = boxes_of(out)
    assert {title for r in operations_of(out) for title, _ in boxes.around(r)} == {"scaled.double", "scaled.triple(…)"}


def test_leaves_of_several_calls_are_numbered_on():
    def layer(n):
        w = af.Variable(np.ones(n))
        return lambda x: w * x

    first, second = layer(2), layer(2)
    out = second(first(1.0))
    leaves = [v.title for v in out.graph(merge=False).nodes if v.word == "Variable"]
    assert len(set(leaves)) == 2, leaves


def test_a_text_is_no_operand():
    def model(kernel, image):
        return np.einsum("ij,ij->", image, kernel)

    out = model(af.Variable(np.eye(3)), np.ones((3, 3)))
    assert [row.title for row in out.graph().nodes[-1].operands] == ["image", "kernel"]


def test_calls_of_one_function_are_not_merged_into_one_card():
    def fib(n, x):
        return x if n < 2 else fib(n - 1, x) + fib(n - 2, x)

    x = af.Variable(1.5)
    y = fib(4, x) * 1.0
    cards = [v for v in y.graph(fold=False).drawn.nodes if v.word == "add"]
    assert [len(v.operands) for v in cards] == [2, 2, 2, 2]
    total = sum([x * 2.0, x * 3.0, x * 4.0])  # one call, one card
    assert len(total.graph().drawn.nodes[-1].operands) == 4


@pytest.mark.parametrize(("text", "constant", "is_the_text"), [
    ("w in {0, 8, 16}", frozenset([16, 8, 0]), True), ("w in {0, 8, 16}", frozenset([16, 8, 1]), False),
    ("0.0", -0.0, False), ("1", True, False), ("(2.0, 1)", (2, 1), False), ("'a'", b"a", False),
])  # fmt: skip
def test_sets_have_no_order_and_other_constants_are_told_apart(text, constant, is_the_text, tmp_path):
    """A set of constants lies in another order where its code was read from a file."""
    text = f"def f(w):\n    doubled = w + w\n    w = 5\n    return doubled, {text}\n"
    names = run_file(tmp_path / "program.py", text)
    code = names["f"].__code__
    *before, last = code.co_consts
    assert [*before, last] == [None, 5, last]
    names["f"].__code__ = code.replace(co_consts=(*before, constant))
    doubled, _ = names["f"](af.Variable(1.0))
    assert told(doubled) == ["doubled" if is_the_text else None]


def test_what_is_looped_over_is_not_its_entries():
    """``y`` is an entry of ``[x*2, x*3]``; it has none itself."""
    x, total = af.Variable(3.0), 0.0
    for y in [x * 2, x * 3]:
        total = total + np.sin(y)
    for a, b in [(x * 4, x * 5), (x * 6, x * 7)]:
        total = total + a / b
    for w in [af.Variable(1.0), af.Variable(2.0)]:
        total = total * w
    for v in [af.Variable(k) for k in (3.0, 4.0)]:
        total = total * v
    names = {name_of(r, total) for r in records_of(total)}
    assert {"y₁", "y₂", "a₁", "a₂", "b₁", "b₂", "w₁", "w₂", "v₁", "v₂"} <= names
    assert not [name for name in names if name and "[" in name]


def test_a_parameter_is_what_the_caller_has_given_until_it_is_stored_in():
    def scaled(c, w):
        c = c / c.max()
        return c * w

    def plain(c, w):
        return c * w

    data, w = np.arange(4.0), af.Variable(np.ones(4))
    for function, name in ((scaled, "c"), (plain, "data")):
        z = function(data, w)
        assert naming(z).operand(z.grad_fn, 0) == name


def test_a_name_of_a_function_between_is_not_one_of_the_function_around():
    def inner(x):
        return np.sin(x)

    def outer(z):
        return inner(z)

    z = af.Variable(3.0)
    y = outer(z * 2)
    assert name_of(y.grad_fn.parents[0], y) is None


LIBRARY = "class Solver:\n    def __init__(self, f): self.f = f\n    def go(self, x): return 3 * self.f(x)\n"


def test_a_library_that_computes_with_the_value_of_a_function_returns_another():
    space = {"__name__": "solver"}
    exec(compile(LIBRARY, "/x/site-packages/solver.py", "exec"), space)

    def loss(x):
        return np.sin(x)

    result = space["Solver"](loss).go(af.Variable(2.0))
    assert name_of(result, result) == "result"
    assert name_of(result.grad_fn.parents[1], result) is None


def test_data_of_a_library_is_not_called_as_its_argument():
    y, t = af.Variable(np.arange(3.0)), np.array([0.0, 1.0, 4.0])
    area = getattr(np, "trapezoid", None) or np.trapz
    z = area(y, x=t)
    data = [(r, k) for r in records_of(z) for k, parent in enumerate(r.parents) if parent is None]
    assert {naming(z).operand(r, k) for r, k in data if getattr(r.operands[k], "shape", ())} == {None}


def test_a_parameter_that_a_later_turn_or_an_inner_function_sets_is_not_what_was_given():
    x, k, m = af.Variable(2.0), np.arange(3.0), np.ones(3)

    def turns(v, a):
        for _ in range(2):
            v = v * a
            a = a + m
        return v

    def changed(v, a):
        def change():
            nonlocal a
            a = a + m

        change()
        return v * a

    def unchanged(v, a):
        return v * a

    found = [naming(z).operand(z.grad_fn, 1) for z in (turns(x, k), changed(x, k), unchanged(x, k))]
    assert found == ["a", "a", "k"]


def test_the_variable_of_a_loop_names_nothing_that_has_a_name_elsewhere():
    x, y = (af.Variable(v) for v in (2.0, 3.0))

    def f(w, y, c):
        parts = [w * c for c in (y, 0.5)]
        return parts[0] * np.sin(y * w) * c

    assert name_of(y, f(x, y, x * 2.0)) == "y"


def test_a_module_in_a_variable_is_no_operand():
    v, u = (lambda: af.Variable([1.0, 2.0]))(), (lambda: af.Variable([1.0, 3.0]))()

    def f(xp, v, u):
        return xp.sum(xp.sin(v) * xp.exp(u), axis=0) + xp.dot(v, u)

    node = f(np, v, u)
    assert "xp" not in [name_of(x, node) for x in records_of(node)]
    assert (name_of(v, node), name_of(u, node)) == ("v", "u")


def rows_of(x):
    return [row * row for row in x * 2.0][-1]


def elements_of(x):
    for first, second in x * 2.0:
        last = first * second
    return last


def turns_of(x):
    for row in np.exp(x):
        last = row * row
    return last


@pytest.mark.parametrize("loop", [rows_of, elements_of, turns_of])
def test_what_a_loop_goes_through_has_not_the_name_of_its_variable(loop):
    z = loop(af.Variable(np.ones((2, 2)), name="x"))
    whole = [name_of(r, z) for r in operations_of(z) if r.rule.name in ("multiply", "exp") and r.shape[1:]]
    assert whole == [None]
    assert not {"first", "second", "first₁", "second₁"} & {name_of(r, z) for r in records_of(z) if r.shape == (2,)}


def leaves(*values):
    """Without names where they are made: only those who use them name them."""
    yield from map(af.Variable, values)


def test_a_list_of_numbers_is_one_operand():
    (vector,), factor = leaves(np.ones(2)), 2.0
    y = np.dot([1.0, factor], vector)
    assert name_of(vector, y) == "vector"
    *row, more = leaves(1.0, 2.0, 3.0)
    z = np.stack([*row, more])
    assert [name_of(x, z) for x in (*row, more)] == [None, None, None]
    z = np.stack([row[1], more])
    assert [name_of(x, z) for x in (row[1], more)] == ["row[1]", "more"]


def test_a_module_that_another_cell_has_imported_is_no_operand(monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules["__main__"], "numpy_elsewhere", np, raising=False)
    (vector,) = leaves(np.ones(2))
    names = run_file(tmp_path / "cell.py", "y = numpy_elsewhere.sum(vector)\n", numpy_elsewhere=np, vector=vector)
    assert name_of(names["vector"], names["y"]) == "vector"


def test_a_write_shows_all_of_its_place():
    y, k = af.Variable(np.ones(3)) * 1.0, np.array([0, 1, 1])
    y[k == 0] = y[2] * 1000.0
    y[k <= 1] -= 0.5
    y[k != 5] = y[0] = 2.0
    records = operations_of(y)
    assert [*dict.fromkeys([Naming(records).write(r) for r in records])] == [
        "",
        "y[k == 0] = …",
        "y[k <= 1] −= 0.5",
        "y[k != 5] = 2.0",
        "y[0] = 2.0",
    ]


PLACES = {"row": 0, "number": (0, 1), "slice": slice(1, None), "list": [0, 1], "mask": np.eye(2) > 0}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_write_is_one_card(place):
    x, v = leaves(np.ones((2, 2)), 2.0)
    y = x * 1.5
    y[place] -= v
    z = np.sum(y * y)
    cards = [card.write or card.title for card in z.graph().drawn.nodes if card.kind == "Operation"]
    assert cards == ["y₁", "y[place] −= v", "y₂*y₂", "z"]


VIEWS = "A[1]", "A.T[2]", "A.reshape(4, 3, 2)[1]", "A[:, 1:].swapaxes(0, 2)", "np.einsum('iij->ij', A[:, :2])"
WRITES = ("v[0] = y", "v[0, 0] += y", "v[:1] *= y", "v[0] -= 2.0", "v *= y", "u = v[1:]\nu[0, 0] -= y", "v[1][0] = y",
          "u = np.add(v, y, out=v)", "for u in v: u[0] = y", "u = v.T\nu += 2.0", "v.T[0] += y",
          "f(v)", "f(A)", "w = v\nv = 2.0 * v\nw[0] = y")  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_an_array_into_which_a_view_is_written_keeps_its_name(view, write, tmp_path):
    text = f"def f(q): q *= y; q[0] += y\nA = x * 1.0\nv = {view}\n{write}\nz = A * 2.0\n"
    given = {"x": af.Variable(np.ones((2, 3, 4))), "y": af.Variable(3.0), "np": np}
    names = run_file(tmp_path / "program.py", text, **given)
    records = operations_of(names["z"])
    program = Naming(records)
    found = {(name.rstrip("₀₁₂₃₄₅₆₇₈₉"), r.shape) for r in records if (name := program.name(r))}
    shapes = {name: names[name].shape for name, _ in found if name in names}
    assert {("A", (2, 3, 4)), ("z", (2, 3, 4))} <= found
    assert "q" not in dict(found)
    assert {(name, shapes.get(name, shape)) for name, shape in found} == found
    assert program.name(names["A"].grad_fn).startswith("A")
    writes = [card.write for card in names["z"].graph(fold=False).drawn.nodes if card.write]
    assert len({*writes}) == len(writes) or "for" in write


def test_comments_are_no_part_of_an_expression():
    x = af.Variable(2.0, name="x")
    y = (x  # the "input"
         * 3.0)  # fmt: skip
    z = np.where(True, y, {"#": 1.0}["#"]  # a key, and a comment
                 ) \
        * 2.0  # fmt: skip
    assert Naming([y.grad_fn]).place(y.grad_fn).text == "x * 3.0"
    assert "".join(Naming([z.grad_fn]).place(z.grad_fn).text.split()) == 'np.where(True,y,{"#":1.0}["#"])*2.0'


class Half:
    def forward(self, first, second=1.0):
        return first * 0.5


def test_an_object_that_a_method_is_given_is_no_argument():
    half, (inner,) = Half(), leaves(2.0)
    y = Half.forward(half, inner)
    assert name_of(inner, y) in ("inner", "first")


def test_an_operand_with_a_keyword_has_not_the_name_of_another():
    value, weight = leaves(np.ones(3), np.arange(3.0))
    y = np.average(value, weights=weight)
    assert name_of(weight, y) in (None, "weight")


BY_PLACE = {  # a function of two arrays, and a call of it by another name or with more -> the names that are true
    "def f(w, *rest): return w * rest[0]\ng = partial(f, A)\ny = g(X)": {"w"},
    "def f(w, v, **more): return w * v\ng = partial(f, A)\ny = g(X, k=1)": {"w"},
    "def f(cls, w): return cls * w\ny = f(X, A)": {"A"},
    "def f(self, w): return self * w\ny = f(X, A)": {"A"},
    "class C:\n    def f(this, w, v, u=0.0): return w * v\ny = C().f(A, X)": {"A", "w"},
    "class C:\n    def __init__(self, xp): self.xp = xp\n    def f(self, w, v): return self.xp.hypot(w, v)\n"
    "y = C(np).f(A, X)": {"A"},
    "class C:\n    np = np\n    def f(self, w, v): return self.np.dot(w, v)\ny = C().f(A, X)": {"A"},
}


@pytest.mark.parametrize("program", BY_PLACE)
def test_an_operand_has_the_name_of_no_other_one(program, tmp_path):
    text = f"import numpy as np\nfrom functools import partial\n{program}\n"
    y = run_file(tmp_path / "program.py", text, A=np.ones(2), X=af.Variable(np.ones(2), name="X"))["y"]
    (slot,) = [k for k, parent in enumerate(y.grad_fn.parents) if parent is None]
    assert naming(y).operand(y.grad_fn, slot) in BY_PLACE[program] | {None}


def test_lists_have_no_entry_twice():
    def make():
        return af.Variable(1.0)

    ws = [make() for _ in range(3)]
    product = ws[2] * ws[0] * ws[1]
    assert [name_of(w, product) for w in ws] == ["ws[0]", "ws[1]", "ws[2]"]
    rows = [[af.Variable(1.0) for _ in range(2)] for _ in range(2)]
    sides = {key: [af.Variable(1.0) for _ in range(2)] for key in ("a", "b")}
    y = rows[0][0] * rows[0][1] * rows[1][0] * rows[1][1]
    z = sides["a"][0] * sides["a"][1] * sides["b"][0] * sides["b"][1]
    for i, j in itertools.product((0, 1), repeat=2):
        assert name_of(rows[i][j], y) == f"rows[{i}][{j}]"
        assert name_of(sides["ab"[i]][j], z) == f'sides["{"ab"[i]}"][{j}]'


def test_what_a_package_makes_of_a_function_does_not_name_its_value():
    square = lambda w: w * w  # noqa: E731
    page = af.explore(square, w=2.0)
    drawn = af.draw(square, af.Variable(3.0, name="w"))
    assert page.picture.title == drawn.title == "w*w"


SETS = {  # what sets a name again in its next call, given ``x`` -> the name, and the value of the last call
    "global": ("total = x * 0.5", "def add(v):\n    global total\n    total = total + v * x", "add(2.0)", "total"),
    "attribute": ("class Sum:\n    def add(self, v):\n        self.total = self.total + v * x\nsums = Sum()",
                  "sums.total = x * 0.5\nadd = sums.add", "add(2.0)", "self.total"),
    "nonlocal": ("def begin():\n    total = x * 0.5\n    def add(v):\n        nonlocal total\n"
                 "        total = total + v * x\n        return total\n    return add",
                 "add = begin()", "every[:] = [add(2.0)]", "total"),
    "cell": ("total = x * 0.5", "", "total = total + 2.0 * x", "total"),
    "local": ("def add(v):\n    total = v * x\n    return total", "", "every.append(add(2.0))", "total"),
    "loop": ("def add(v):\n    for k in range(1):\n        while k == 0:\n            total, k = v * v, 1\n"
             "    return total", "", "every.append(add(x))", "total"),
    "returned": ("def add(v):\n    total = v * v\n    return total * v", "", "total = add(x)\nevery.append(total)",
                 "total"),
    "operation": ("def add(v):\n    total = v * v\n    return total", "", "every.append(add(x))", "total"),
    "thread": ("from threading import Thread\ndef add(v):\n    total = v * v\n    every.append(total)", "",
               "add.thread = Thread(target=add, args=[x])\nadd.thread.start()\nadd.thread.join()", "total"),
}  # fmt: skip


@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("kind", SETS)
def test_values_of_one_name_are_told_apart_in_every_box(kind, calls, monkeypatch):
    """A global variable has the numbers of its module, in a notebook of all cells; an attribute those of its object. A
    variable of a function is in the box of its call, also if it is all that is in it, unless inner functions set it."""
    *before, again, name = SETS[kind]
    names = {"x": af.Variable(2.0, name="x"), "every": []}
    for k, text in enumerate([*before, *[again] * calls, "out = sum(every, x * 1.5) + globals().get('total', 0.0)"]):
        file = f"<ipython-input-{kind}-{calls}-{k}>"
        monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(True), file))
        exec(compile(text, file, "exec"), names)
    out = names["out"] * (names["sums"].total if "sums" in names else 1.0)
    found = [(v.title, v.entered) for v in out.graph(merge=False, fold=False).nodes if v.named]
    assert len(set(found)) == len(found) > calls
    if kind in ("global", "nonlocal", "cell") or (kind == "attribute" and calls > 1):
        numbers = [f"{name}{'₀₁₂₃₄'[k]}" for k in range(1, calls + 1)]
        assert {*numbers} <= {title for title, _ in found}
