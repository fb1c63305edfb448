"""What a worker needs pickles: functions made of functions, in any nesting, compiled ones, models, optimisers, errors.

Each goes to a process that was spawned and has nothing of ours, and gives the same bits there.
"""

import copy
import functools
import inspect
import pickle
import re
import sys

import numpy as np
import pytest
import workers
from workers import digest, loss_and_more, stretched, tanh_loss

import autoflow as af
from autoflow import errors, nn, optim
from autoflow.base.transformed import FunctionOfFunction

X = np.array([0.5, -1.0, 2.0])


def tanh_in_forward_mode():
    """``workers.tanh_loss`` with a rule of its own."""
    f = af.custom_jvp(tanh_loss)
    f.defjvps(workers.tanh_loss_tangent)
    return f


# Public functions of a function, and what they make of one: a function that pickles, and its arguments.
TRANSFORMS = {
    "grad": (af.grad(tanh_loss), (X,)), "value_and_grad": (af.value_and_grad(tanh_loss), (X,)),
    "grad_and_aux": (af.grad_and_aux(loss_and_more), (X,)), "elementwise_grad": (af.elementwise_grad(stretched), (X,)),
    "jacobian": (af.jacobian(stretched, mode="forward"), (X,)), "jacfwd": (af.jacfwd(stretched), (X,)),
    "jacrev": (af.jacrev(stretched), (X,)), "hessian": (af.hessian(tanh_loss), (X,)),
    "vmap": (af.vmap(tanh_loss, in_axes=1), (np.outer(X, X),)), "checkpoint": (af.checkpoint(stretched), (X,)),
    "compile": (af.compile(af.value_and_grad(tanh_loss), limit=3), (X,)), "no_grad": (af.no_grad(stretched), (X,)),
    "enable_grad": (af.enable_grad(stretched), (X,)), "safe_masking": (af.safe_masking(af.grad(tanh_loss)), (X,)),
    "data_parallel": (af.data_parallel(workers.squares, over=(1, 2), chunks=2), (X, np.outer(X, X), X)),
    "hvp": (functools.partial(af.hvp, tanh_loss), (X, X)), "jvp": (functools.partial(af.jvp, stretched), (X, X)),
    "check": (functools.partial(af.check, tanh_loss), (X,)),
    "gradcheck": (functools.partial(af.gradcheck, tanh_loss), (X,)),
    "multigrad": (af.multigrad(workers.squares, [0]), (X, np.outer(X, X), X)),
    "multigrad_dict": (af.multigrad_dict(workers.squares), (X, np.outer(X, X), X)),
    "custom_jvp": (af.grad(tanh_in_forward_mode()), (X,)),
    "tree_ravel": (af.tree_ravel({"x": X, "name": "three", "n": 2.0})[1], (np.arange(4.0),)),
    "autocast": (af.autocast()(stretched), (X.astype(np.float32),)),
    "detect_anomaly": (af.detect_anomaly()(af.grad(tanh_loss)), (X,)),
    "options": (af.options(keep=0)(af.grad(tanh_loss)), (X,)),
    "set_grad_enabled": (af.set_grad_enabled(True)(af.grad(tanh_loss)), (X,)),
    "scope": (af.scope("box")(af.grad(tanh_loss)), (X,)),
    "checkpointing": (af.checkpointing("products")(af.grad(tanh_loss)), (X,)),
    "on_operation": (af.on_operation(workers.no_op)(af.grad(tanh_loss)), (X,)),
    "gc_paused": (af.gc_paused()(af.grad(tanh_loss)), (X,)),
    "tree_map": (functools.partial(af.tree_map, stretched), ({"x": X},)),
}  # fmt: skip
# The same for other ways of making one, and for nested ones.
MORE = {
    "grad of a name": (af.grad(workers.squares, "w"), (X, np.outer(X, X), X)),
    "grad by several": (af.grad(workers.squares, (0, 1), allow_unused=True), (X, np.outer(X, X), X)),
    "grad of grad": (af.grad(af.grad(np.sin)), (0.5,)),
    "vmap of grad": (af.vmap(af.grad(tanh_loss)), (np.outer(X, X),)),
    "jacobian of a partial": (af.jacobian(functools.partial(np.multiply, X)), (X,)),
    "partial of grad": (functools.partial(af.grad(workers.squares), x=np.outer(X, X), y=X), (X,)),
    "compiled hessian of a checkpoint": (af.hessian(af.checkpoint(tanh_loss)), (X,)),
    "compiled vmap": (af.compile(af.vmap(af.grad(tanh_loss))), (np.outer(X, X),)),
    "grad of a model": (af.vmap(af.no_grad(workers.small_network())), (np.ones((2, 3, 5)),)),
}
CASES = TRANSFORMS | MORE
# Public functions of a function that give no function, or none that outlives a graph.
OTHERS = {
    "vjp": "its pullback holds a graph", "linearize": "its linear function holds a graph",
    "linear_transpose": "its transpose holds a graph", "explore": "shows a widget",
    "trace": "a block in which one looks", "diagnose": "gives a report", "live": "makes a page",
    "ggnvp": "called with its vectors, as hvp", "tree_reduce": "called with its tree, as tree_map",
    "primitive": "found by its name", "register_rule": "enters a row", "minimize": "gives a result",
    "fit": "gives a History", "watch": "notes what a model does here", "plot_boundary": "draws",
    "nn.Sequential": "a model: see grad of a model",
    **{f"implicit.{name}": "gives a node" for name in ("argmin", "fixed_point", "linear_solve", "root")},
    **{f"integrate.{name}": "gives a node" for name in ("fixed_quad", "odeint", "quad", "solve_ivp")},
}  # fmt: skip


def public(room, prefix=""):
    """Pairs (name, thing) of the functions and classes that ``af`` publishes, in its rooms too: ``nn.Linear``."""
    for name in room.__all__:
        thing = getattr(room, name)
        if callable(thing):
            yield prefix + name, thing
        elif inspect.ismodule(thing) and hasattr(thing, "__all__") and not prefix:
            yield from public(thing, f"{name}.")


def concerns_functions(thing):
    """Does ``thing`` take a function first, or give one? By types, and names of parameters. A decorator gives one."""
    try:
        signature = inspect.signature(thing)
    except ValueError:  # node classes: an older NumPy does not tell that of ndarray
        return False
    first = next(iter(signature.parameters.values()), None)
    functions = "Callable|AnyFunction"
    takes = first is not None and (
        first.name in ("f", "function", "strategy") or re.search(functions, str(first.annotation)) is not None
    )
    if inspect.isclass(thing):
        return takes or hasattr(thing, "__enter__")
    return takes or bool(re.search(rf"{functions}|switched|noticing|Scope", str(signature.return_annotation)))


def test_every_function_of_a_function_is_tested():
    """Also decorators, and functions in the answers. A new one is a case here, or says why it is not."""
    concerned = {name for name, thing in public(af) if concerns_functions(thing)}
    assert concerned - {*TRANSFORMS, *OTHERS} == set()
    assert {*OTHERS} - concerned == set()
    assert {*TRANSFORMS} & {*OTHERS} == set()


@pytest.mark.parametrize("name", CASES)
def test_a_round_trip(name):
    f, args = CASES[name]
    other = pickle.loads(pickle.dumps(f))
    assert other is not f
    assert digest(other(*args)) == digest(f(*args))
    if hasattr(f, "__name__"):
        assert (other.__name__, other.__doc__) == (f.__name__, f.__doc__)
    assert len(pickle.dumps(f)) < (5000 if "model" in name else 700)


def test_all_of_them_in_a_spawned_process(pool):
    every = list(CASES.values())
    found = pool.map(workers.call_of, every)
    for (f, args), there in zip(every, found, strict=True):
        assert digest(there) == digest(f(*args)), f


def test_many_starts(pool):
    """The wish that all this is for."""
    starts = [X * k for k in range(4)]
    assert digest(list(pool.map(af.grad(tanh_loss), starts))) == digest([af.grad(tanh_loss)(x) for x in starts])
    rows = list(pool.map(functools.partial(af.hvp, tanh_loss, X), np.eye(3)))
    np.testing.assert_allclose(rows, af.hessian(tanh_loss)(X), rtol=1e-14)


def test_functions_by_value():
    """With cloudpickle lambdas and functions of the main program go as well."""
    cloudpickle = pytest.importorskip("cloudpickle")
    c = 3.0
    for f in (af.grad(lambda x: np.sum(c * x**2)), af.compile(af.vmap(lambda x: c * x)), af.no_grad(lambda x: c * x)):
        assert digest(cloudpickle.loads(cloudpickle.dumps(f))(X)) == digest(f(X))


def test_decorated_functions_of_the_main_program_go_by_value_only_with_cloudpickle(monkeypatch):
    cloudpickle = pytest.importorskip("cloudpickle")
    main = sys.modules["__main__"]
    code = "import numpy as np, autoflow as af\n@af.grad\ndef decorated(x):\n    return np.sum(x**2)\n"
    names = {"__name__": "__main__"}
    exec(code, names)
    decorated = names["decorated"]
    monkeypatch.setattr(main, "decorated", decorated, raising=False)
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    data = cloudpickle.dumps(decorated)
    monkeypatch.delattr(main, "decorated")
    assert digest(pickle.loads(data)(X)) == digest(2 * X)


@af.grad
def decorated(x):
    return np.sum(x**2)


def test_a_decorated_function_is_found_by_its_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert decorated(X).tolist() == (2 * X).tolist()


class Holder:
    """A transform as a method, and one in an attribute."""

    def __init__(self, scale):
        self.scale = scale
        self.slope = af.grad(self.loss)

    def loss(self, x):
        return self.scale * np.sum(x**2)

    gradient = af.grad(lambda self, x: self.scale * np.sum(x**2), 1)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_methods(way):
    holder = Holder(3.0)
    assert holder.slope(X).tolist() == holder.gradient(X).tolist() == (6 * X).tolist()
    other = way(holder)
    other.scale = 1.0
    assert other.slope(X).tolist() == (2 * X).tolist()
    assert holder.slope(X).tolist() == (6 * X).tolist()


def test_how_it_shows_itself():
    f = af.grad(tanh_loss)
    assert isinstance(f, FunctionOfFunction)
    assert repr(f) == "<GradientFunction of tanh_loss>"
    assert inspect.signature(f) == inspect.signature(tanh_loss)
    assert copy.copy(f)(X).tolist() == f(X).tolist()


def test_a_model_with_its_optimiser():
    """In one pickle the optimiser still has the model's parameters."""
    model = workers.small_network()
    optimiser = optim.Adam(model, lr=0.1)
    x, y = np.ones((4, 5)), np.zeros((4, 2))
    for _ in range(2):
        nn.mse_loss(model(x), y).backward()
        optimiser.step()
        optimiser.zero_grad()
    other, others = pickle.loads(pickle.dumps((model, optimiser)))
    for m, o in ((model, optimiser), (other, others)):
        nn.mse_loss(m(x), y).backward()
        o.step()
    assert digest(other.state_dict()) == digest(model.state_dict())


@pytest.mark.parametrize(
    "kind", [k for k in vars(errors).values() if inspect.isclass(k) and issubclass(k, Exception)], ids=str
)
def test_errors_keep_their_class_their_words_and_their_notes(kind):
    error = kind("what happened")
    error.add_note("where")
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), other.__notes__) == (kind, "what happened", ["where"])


def test_an_error_in_a_process_says_what_it_says_here(pool):
    with pytest.raises(errors.LostGradientError, match="depends on none of the arguments"):
        pool.submit(af.grad(len), [1.0]).result()
