"""Everything public can be copied and pickled, or says why not; and is asked for names it does not have without harm.

Tools ask: ``copy`` and ``pickle`` for ``__deepcopy__`` and ``__setstate__``, of objects whose attributes are not there
yet, IPython for ``_repr_html_``, ``inspect`` for ``__wrapped__``.
"""

import copy
import importlib
import inspect
import pickle
import types

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim, stats

MODULES = ["autoflow", *[f"autoflow.{name}" for name in (
    "nn", "nn.init", "optim", "stats", "special", "linalg", "signal", "integrate", "implicit", "errors", "ops",
    "pictures", "backends",
)]]  # fmt: skip
NAMES = ["__deepcopy__", "__setstate__", "__array_interface__", "__wrapped__", "_repr_html_", "_none", "none"]

# Functions that af.ops gives out for ufuncs with parameters (scipy.special.jv) and reductions: modules do not have them
# by their names. Pickle's error says so; the ufunc itself can be pickled.
UNNAMED = ("autoflow.table.parameters", "autoflow.rules.variants")


def public():
    """Every function, class and object of the public modules, by name."""
    for module in map(importlib.import_module, MODULES):
        for name in dir(module):
            found = None if name.startswith("_") else getattr(module, name)
            if (
                not isinstance(found, types.ModuleType | dict | None)
                and getattr(found, "__module__", "") not in UNNAMED
            ):
                yield f"{module.__name__}.{name}", found


def made():
    """Instances of what can be made, by what makes them."""
    rng, weights = np.random.default_rng(0), [af.Variable([1.0, 2.0])]
    for name, x in vars(stats).items():
        if hasattr(x, "_parameters"):
            yield f"frozen {name}", x(*[1.5] * len(x._parameters))
    sgd = optim.SGD(weights, lr=0.1)
    factors = [optim.cosine(5), optim.step_decay(2), optim.linear(3, 0.5), optim.inverse_square_root(4)]
    factors.append(optim.warm_up(2, optim.cosine(3)))
    yield from [(f"factor {k}", factor) for k, factor in enumerate(factors)]
    yield from [(f"Schedule {k}", optim.Schedule(sgd, factor)) for k, factor in enumerate(factors)]
    yield "Accumulation", optim.Accumulation(sgd, 2)
    for name, kind in vars(optim).items():
        if inspect.isclass(kind) and "lr" in inspect.signature(kind).parameters:
            yield f"optim.{name}", kind(weights, lr=0.1)
    for name in dir(nn):
        kind = getattr(nn, name)
        if inspect.isclass(kind) and issubclass(kind, nn.Module):
            for args in ((), (2,), (2, 2), (2, 2, 3), (4, 2, 4)):
                wants = "rng" in inspect.signature(kind).parameters
                try:
                    yield f"nn.{name}", kind(*args, **({"rng": rng} if wants else {}))
                    break
                except (TypeError, ValueError, af.errors.AutoflowError):
                    continue
    model = nn.Sequential(nn.Linear(2, 2, rng=rng), nn.relu)
    yield "watch", af.watch(model)
    for name in ("grad", "value_and_grad", "grad_and_aux", "jacobian", "hessian", "vmap", "compile", "custom_jvp"):
        yield f"af.{name}", getattr(af, name)(np.cos)
    for name in ("no_grad", "detect_anomaly", "checkpointing", "safe_masking", "autocast", "GradScaler"):
        yield f"af.{name}", getattr(af, name)()
    x = weights[0]
    y = np.sum(x * 2.0)
    y.backward()
    yield from {
        "Variable": x, "Operation": y, "Constant": af.Constant(1.0), "view": (x * 2)[:1], "options": af.options,
        "gradients": af.gradients(y, [x]), "graph": y.graph(), "steps": y.steps(), "scope": af.scope("a"),
    }.items()  # fmt: skip


PUBLIC, MADE = dict(public()), dict(made())
REFUSED = {"record": lambda x: np.sum(x * 2.0).grad_fn, "handle": lambda x: x.register_hook(lambda g: g)}


def test_many_are_found():
    assert len(PUBLIC) > 500
    assert len(MADE) > 70


@pytest.mark.filterwarnings("ignore:numpy.core is deprecated:DeprecationWarning")  # pickle looks into every module
@pytest.mark.parametrize("home", [*MODULES, None])
def test_it_can_be_copied_and_pickled(home):
    for name, x in MADE.items() if home is None else PUBLIC.items():
        if home is None or name.rpartition(".")[0] == home:
            try:
                copy.copy(x)
                copy.deepcopy(x)
                again = pickle.loads(pickle.dumps(x))
            except Exception as error:
                error.add_note(name)
                raise
            assert type(again) is type(x) or isinstance(x, np.ndarray), name
            if home and (inspect.isroutine(x) or inspect.isclass(x)):
                assert again is x, name


@pytest.mark.parametrize("name", MADE)
def test_it_is_asked_for_names_that_it_has_not(name):
    x = MADE[name]
    empty = [x.__new__(type(x))] if type(x).__new__ is object.__new__ else []  # as copy and pickle make it
    for asked in (x, *empty):
        assert not hasattr(asked, "__no_such__")
        assert [hasattr(asked, word) in (False, True) for word in NAMES]


@pytest.mark.parametrize("kind", REFUSED)
def test_what_belongs_to_a_graph_says_why_not(kind):
    with pytest.raises(TypeError, match="is part of a graph"):
        pickle.dumps(REFUSED[kind](af.Variable(1.0)))


def test_copies_work():
    frozen = pickle.loads(pickle.dumps(stats.norm(1.0, 2.0)))
    assert frozen.cdf(1.0) == copy.deepcopy(frozen).cdf(1.0) == 0.5
    schedule = pickle.loads(pickle.dumps(optim.Schedule(optim.SGD([af.Variable(1.0)], lr=0.1), optim.cosine(5))))
    schedule.step()
    assert schedule.optimiser.lr == 0.1 * optim.cosine(5)(1)
