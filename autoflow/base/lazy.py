"""Whatever is looked up at its first use: public names, functions of modules further up (so that imports point one
way), modules by the names that they had before, and packages that may not be installed. And where users find what a
package exports.

Modules are named in strings in this file only; :func:`later` takes the name of a function.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from .spellings import no_attribute
from .types import ByName, T


def owners(table: dict[str, str]) -> dict[str, str]:
    """``{"room.file": "f g"}`` -> ``{"f": "room.file", "g": "room.file"}``."""
    return {name: module for module, names in table.items() for name in names.split()}


# Public names of autoflow that are imported at their first use: unused features cost nothing at import.
LATER = owners({
    "": "implicit nn ops optim", "arrays": "Autodiff to_cpu to_gpu",
    "backprop.anomaly": "detect_anomaly safe_masking", "backprop.checkpointing": "checkpoint checkpointing",
    "backprop.hooks": "on_operation",
    "base.pytree": "tree_flatten tree_leaves tree_map tree_paths tree_ravel tree_reduce tree_unflatten",
    "batching.vmap": "vmap", "compiler": "compile gc_paused warm_allocator",
    "doctor.training": "diagnose",
    "extending.custom": "primitive register_rule", "extending.function": "Function",
    "extending.ops": "register_function register_operation", "forward.mixed_precision": "GradScaler autocast",
    "implicit.optima": "minimize", "livepage.page": "live",
    "nn.live": "plot_sizes watch", "nn.plots": "plot_boundary plot_loss plot_weights",
    "nn.train": "fit", "nodes.records": "scope", "parallel.engines": "data_parallel", "pictures": "draw graph to_dot",
    "pictures.sliders.explore": "explore", "program.watch": "trace", "scipy": "integrate linalg signal special stats",
    "transforms.custom_jvp": "custom_jvp", "transforms.gradcheck": "check gradcheck",
    "transforms.gradient": "Gradients gradients", "transforms.jacobian": "hessian jacfwd jacobian jacrev",
    "transforms.vjp_jvp": "ggnvp hvp jvp linear_transpose linearize multigrad multigrad_dict vjp",
})  # fmt: skip
# Not listed, but found: modules, and what pickles name.
IN_PICKLES = owners({
    "": "errors pytree train", "transforms.gradcheck": "Report Row", "nn.live": "Watched",
    "transforms.gradient": "_restored", "forward.node_methods": "restore", "doctor.notebook": "load_ipython_extension",
})  # fmt: skip
# Functions called by name: those of rooms further up, and those that few programs need.
CALLED = owners({
    "arrays": "to_cpu to_gpu", "backprop.anomaly": "check_operation",
    "backprop.hooks": "register_hook register_post_accumulate_hook", "backprop.passes": "backward send zero_grad",
    "doctor.graphs": "diagnose_node", "pictures.summaries": "summary",
    "extending.function": "create_operation set_grad_fn",
    "forward.inplace": "assign set_layout set_value write_item write_numbers write_out",
    "forward.mixed_precision": "cast",
    "forward.replay": "replay_node", "pictures": "graph node_bundle quiz step steps",
    "pictures.formulas.latex": "derivative_formula formula", "pictures.formulas.why": "why",
})  # fmt: skip
# Modules whose files have moved since users have written their names, each with the one that holds its code now.
MOVED = owners({
    "base.errors": "errors", "base.pytree": "pytree", "extending.ops": "ops",
    "lessons.exercises": "lessons.names_with_a_transformer", "nn.train": "train", "scipy.integrate": "integrate",
    "scipy.linalg": "linalg", "scipy.signal": "signal", "scipy.special": "special", "scipy.stats": "stats",
    "table.table": "rules.table",
})  # fmt: skip

ROWS = ("autoflow.rules", "autoflow.table")  # code of the table: it may read numbers where a user's may not
WITH_ROWS = (*ROWS, "autoflow.arrays")  # and a file of its own, of rows for moving arrays
SCIPY = "autoflow.scipy"  # says by itself what it cannot do with a node
ERRORS = "autoflow.errors"  # where users find them, and what tracebacks say
NODE = "autoflow.nodes.nodes.Node"  # as checkers of types name it
NN_MODULE = "autoflow.nn.module"  # without this module loaded there are no networks to look at


def later(name: str) -> Any:
    """A function of :data:`CALLED`.

    >>> later("backward").__module__
    'autoflow'
    """
    return getattr(import_module(f"autoflow.{CALLED[name]}"), name)


def find_public(name: str) -> Any:
    """A public name of autoflow that is imported at its first use. Raises AttributeError if it does not exist."""
    path = LATER.get(name, IN_PICKLES.get(name))
    if path is None:
        raise no_attribute("autoflow", name)
    if not path:
        return import_module(f"autoflow.{name}")
    value = getattr(import_module(f"autoflow.{path}"), name)
    if not isinstance(value, ModuleType):
        value.__module__ = "autoflow"
    vars(sys.modules["autoflow"])[name] = value  # so Python does not ask again
    return value


class Moved:
    """Lets ``import autoflow.linalg`` give the module ``autoflow.scipy.linalg`` itself: the first entry of
    ``sys.meta_path``, and the loader of such imports. (Only checkers of types read the file ``autoflow/linalg.py``.)
    """

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The name of a module of :data:`MOVED`, or of one inside such a package."""
        moved = name.startswith("autoflow.") and new_name(name.partition(".")[2])
        return ModuleSpec(name, cls()) if moved else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """None: Python makes an empty module, which :meth:`exec_module` replaces by the right one."""

    def exec_module(self, module: ModuleType) -> None:
        """Enter the module in ``sys.modules`` under both names."""
        name = module.__name__
        sys.modules[name] = import_module(f"autoflow.{new_name(name.partition('.')[2])}")


def new_name(name: str) -> str:
    """What a module of :data:`MOVED` is called now, or one inside such a package; empty if it has not moved.

    >>> new_name("linalg"), new_name("stats.continuous"), new_name("nodes")
    ('scipy.linalg', 'scipy.stats.continuous', '')
    """
    package, dot, inside = name.partition(".")
    return MOVED.get(name) or (f"{MOVED[package]}.{inside}" if dot and package in MOVED else "")


def load_package(name: str, message: str) -> ModuleType:
    """The module of this name; if it is not installed, an ImportError with the ``message``, which says what to do."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(message) from error


def show_bar(steps: Iterable[T], *, plain: bool = False, **how: object) -> Iterable[T]:
    """``steps``, with a progress bar where tqdm is there to draw one. ``plain``: as text, which every notebook shows,
    and without a thread, since browsers have no threads."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a notebook has no widgets installed: then the bar is text
            if plain:
                from tqdm.std import tqdm
            else:
                from tqdm.auto import tqdm
    except ImportError:
        return steps
    return (type("Bar", (tqdm,), {"monitor_interval": 0}) if plain else tqdm)(steps, **how)


def list_public(public: Iterable[str]) -> Callable[[], list[str]]:
    """``__dir__`` of a module: what completion shows are its public names, also those that are loaded when used."""
    return lambda: sorted(public)


def publish(names: ByName, public: Iterable[str]) -> None:
    """Let the classes and functions of a package say that they are the package's, wherever they are written: pickles
    and ``help()`` name the place that stays. ``names``: the package's ``globals()``."""
    names["__dir__"] = list_public(public)
    if (module := names["__name__"]).rpartition(".")[2] in ("nn", "optim"):

        def missing(name: str) -> NoReturn:
            raise no_attribute(module, name)

        names["__getattr__"] = missing
    for name in public:
        if isinstance(names[name], (type, FunctionType)):
            names[name].__module__ = names["__name__"]
