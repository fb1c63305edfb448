"""Lists with nodes in place of arrays: in each argument of each function the gradient is that of the array, or refused.

The calls are those of the generated tests: the examples of every row, and :mod:`calls`. In each of them one array at a
time is written as a list of its numbers, or as a list of its rows, with a node for each; the other arrays are nodes,
so that NumPy asks us, or plain, so that it asks nobody.
"""

import numpy as np
import pytest
from calls import CALLS
from cases import Case
from row_examples import examples_of
from support import differentiable, rows, same_bits

import autoflow as af
from autoflow.errors import AutoflowError, LostGradientError
from autoflow.table.table import COMPOSED, LISTS

# Calls in which the list is first given, alone, to another function (np.abs).
THROUGH_ANOTHER = {"np.gradient 2", "np.gradient 3"}


def numbers(x):
    """Nested lists of the numbers of an array, each a node if x is one."""
    return [numbers(part) for part in x] if np.ndim(x) else x


def listed(x, how):
    """An array as nested lists of its numbers, or as a list of its rows."""
    return numbers(x) if how == "numbers" else list(x)


def cases():
    """Every example with an array that can be written as a list, and the place of that array."""
    composed = [(each, each.example, each.name, False) for calls in CALLS.values() for each in calls]
    of_rows = [(r, e, f"{r.name} {n}", n > 1) for r in rows(scipys=False) for n, e in enumerate(examples_of(r))]
    for row, example, name, more in (*of_rows, *composed):
        for k in differentiable(row, example):
            if example.shapes[k] and 0 not in example.shapes[k] and not (k == 0 and example.prepare):
                mark = pytest.mark.nightly if more else ()
                yield pytest.param(row, example, k, id=f"{name} {k}".replace(" ", "-"), marks=mark)


def gradients(case, xs, k, how, others):
    """Of all arrays, with the k-th one as a list; None where no gradient came."""
    leaves = [
        x if x is None or x.dtype.kind not in "fc" or (others == "plain" and i != k) else af.Variable(x)
        for i, x in enumerate(xs)
    ]
    operands = [x * 1.0 if isinstance(x, af.Variable) else x for x in leaves]
    if how:
        operands[k] = listed(operands[k], how)
    z = case.run(operands)
    if not isinstance(z, af.Node):
        return z, None
    np.real(case.loss(z)).sum().backward()
    return z, [x.grad if isinstance(x, af.Variable) else None for x in leaves]


@pytest.mark.parametrize(("row", "example", "k"), list(cases()))
def test_a_list_with_nodes_counts_as_an_array_of_nodes(row, example, k):
    case = Case(row, example)
    for how, others in (("numbers", "nodes"), ("rows", "nodes"), ("numbers", "plain")):
        xs = case.values("float64")
        if how == "rows" and (xs[k].ndim < 2 or len(xs) == 1):
            continue  # one array alone: NumPy asks nobody, see test_shadow.py
        try:
            z, grads = gradients(case, xs, k, how, others)
        except AutoflowError:
            asked = others == "nodes" and len([x for x in xs if x is not None]) > 1
            assert not asked or case.row.name in THROUGH_ANOTHER, "NumPy asks us here, and the gradient could flow"
            continue
        except Exception as error:  # a list has no shape, and cannot be added to: nor can one of plain numbers
            with pytest.raises(type(error)):
                case.run([listed(x, how) if i == k else x for i, x in enumerate(xs)])
            continue
        right, wanted = gradients(case, xs, k, "", others)
        if not isinstance(z, af.Node):  # a function with steps (floor): nothing is lost
            assert not any([np.any(g) for g in wanted if g is not None]), f"{how} beside {others}: the result is plain"
            continue
        assert same_bits(z.value, right.value)
        for a, b in zip(grads, wanted, strict=True):
            assert (a is None) == (b is None), f"{how} beside {others}: a gradient is missing"
            assert a is None or np.allclose(a, b, rtol=1e-12, atol=1e-12), f"{how} beside {others}"


# Programs as users write them: x and y are numbers, c is a plain vector of two, L makes a list or an array of nodes.
PROGRAMS = {
    "hstack": lambda x, y, c, L: np.hstack([c * x, L([x, y])]),
    "vstack": lambda x, y, c, L: np.vstack((c * x, L((x, y)))),
    "column_stack": lambda x, y, c, L: np.column_stack([c * x, L([x, y])]),
    "dstack": lambda x, y, c, L: np.dstack([c * x, L([x, y])]),
    "concatenate": lambda x, y, c, L: np.concatenate([c * x, L([x, y])]),
    "stack": lambda x, y, c, L: np.stack([c * x, L([x, y])]), "append": lambda x, y, c, L: np.append(c * x, L([y])),
    "insert": lambda x, y, c, L: np.insert(c * x, 1, L([y, y])),
    "cross": lambda x, y, c, L: np.cross(L([x, y, 1.0]), np.arange(3.0) * x),
    "kron": lambda x, y, c, L: np.kron(c * x, L([x, y])), "polyval": lambda x, y, c, L: np.polyval(L([x, y]), c * x),
    "polyval of a number": lambda x, y, c, L: np.polyval(L([1.0, y]), x),
    "interp xp": lambda x, y, c, L: np.interp(x, L([y, 2.0]), c * x),
    "interp fp": lambda x, y, c, L: np.interp(x, [0.0, 2.0], L([x, y])),
    "trapezoid": lambda x, y, c, L: np.trapezoid(c * x, x=L([y, x])),
    "average": lambda x, y, c, L: np.average(c * x, weights=L([x, y * y])),
    "select": lambda x, y, c, L: np.select([c > 2, c < 2.5], [c * x, L([x, y])], default=L([y, y])),
    "choose": lambda x, y, c, L: np.choose([0, 1], [L([x, y]), c * y]),
    "broadcast_arrays": lambda x, y, c, L: np.broadcast_arrays(c * x, L([[x], [y]]))[1],
    "meshgrid": lambda x, y, c, L: np.meshgrid(c * x, L([x, y]))[1],
    "gradient": lambda x, y, c, L: np.gradient(c * x, L([0.0, y * y])),
    "diff": lambda x, y, c, L: np.diff(c * x, prepend=L([y]), append=L([x * y])),
    "ediff1d": lambda x, y, c, L: np.ediff1d(c * x, to_end=L([y])),
    "lstsq": lambda x, y, c, L: np.linalg.lstsq(L([[x, 0.5], [1.0, y]]), c * x)[0],
    "lstsq b": lambda x, y, c, L: np.linalg.lstsq(np.eye(2) * x, L([x, y]))[0],
    "cov": lambda x, y, c, L: np.cov(c * x, L([x, y])),
    "piecewise": lambda x, y, c, L: np.piecewise(c * x, [c > 2], [x, y]),
    "histogram": lambda x, y, c, L: np.histogram(c * x, [0.0, 4.0, 9.0], weights=L([x, y]))[0],
    "einsum": lambda x, y, c, L: np.einsum("i,ij->j", c * x, L([[x, y], [y, 1.0]])),
    "multi_dot": lambda x, y, c, L: np.linalg.multi_dot([c * x, L([[x, y], [y, 1.0]]), c]),
    "pad": lambda x, y, c, L: np.pad(c * x, 1, constant_values=L([x, y])),
    "clip": lambda x, y, c, L: np.clip(c * x, L([y, y]), 4.0),
    "full_like": lambda x, y, c, L: np.full_like(c * x, L([x, y])),
    "multiply": lambda x, y, c, L: c * x * L([x, y]) + L([1.0, y]),
    "matmul": lambda x, y, c, L: L([[x, y], [1.0, 2.0]]) @ (c * x), "dot": lambda x, y, c, L: (c * x).dot(L([x, y])),
    "where": lambda x, y, c, L: np.where(c > 2, c * x, L([x, y])),
    "outer": lambda x, y, c, L: np.multiply.outer(c * x, L([x, y])),
    "divmod": lambda x, y, c, L: np.divmod(c * x, L([x * x, y * y]))[1],
    "af.special": lambda x, y, c, L: af.special.logsumexp(L([x, y])),
    "af.linalg": lambda x, y, c, L: af.linalg.expm(L([[x, y], [0.0, x]])),
    "af.array": lambda x, y, c, L: af.array(L([[x, y], [0.0, x]])),
}  # fmt: skip


def put(a, x, y, L):
    """Writes into an array: each takes the list in another place."""
    np.put(a, [0, 1], L([x, y]))
    a[2:4] = L([y, y * y])
    np.add.at(a, [0, 4], L([x * y, x]))
    np.copyto(a[5:7], L([x, y]))
    np.place(a, np.arange(9) > 6, L([x * x, y]))


PROGRAMS["written into"] = lambda x, y, c, L: (a := af.zeros(9), put(a, x, y, L))[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_lists(name):
    if name in ("af.special", "af.linalg"):
        pytest.importorskip("scipy")
    c = np.array([2.0, 3.0])
    as_list, as_array = (
        af.grad(lambda x, y, L=L: np.sum(np.sin(PROGRAMS[name](x, y, c, L)) * 1.5), (0, 1))(1.5, -0.7)
        for L in (lambda parts: parts, af.array)
    )
    assert as_list == as_array
    assert any([g != 0 for g in as_list])


def test_what_a_list_means_is_said_of_every_composed_function():
    """A list of arrays stays one where NumPy's documentation says "sequence of arrays"."""
    sequences = {f.__name__ for f in COMPOSED if f in LISTS and 1 in (*LISTS[f].positional, *LISTS[f].named.values())}
    assert sequences == {
        "choose", "column_stack", "dstack", "histogram", "histogram2d", "histogramdd", "hstack", "multi_dot",
        "piecewise", "select", "vstack",
    }  # fmt: skip
    assert {f.__name__ for f in LISTS if 2 in LISTS[f].named.values()} == {"apply_along_axis", "block", "piecewise"}
    for f in (np.vstack, np.hstack, np.linalg.multi_dot):  # of different shapes: no array could be made of them
        x = af.Variable([1.0, 2.0])
        a = f([x, x[:1]]) if f is np.hstack else f([x, x[None]] if f is np.vstack else [x, np.eye(2), x])
        assert isinstance(a, af.Operation)
    assert isinstance(np.block([[x, x], [x, x]]), af.Operation)


def test_lists_of_users_functions_stay_lists():
    x = af.Variable([1.0, 2.0])
    z = np.apply_along_axis(lambda row, weights: row * weights[0] + weights[1], 0, x, [x[0], x[1]])
    assert z.tolist() == [3.0, 4.0]
    with pytest.raises(LostGradientError, match=r"np\.sum would take the number of .*af\.array"):
        np.apply_along_axis(lambda row: np.sum([row[0], row[1]]), 0, x)
