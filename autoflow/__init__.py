"""autoflow: NumPy arrays that remember how they were computed."""

from importlib import import_module
from typing import TYPE_CHECKING

from .arrays.creation import array, constant, empty, full, ones, stack, stop_gradient, variable, zeros
from .backprop.passes import backward
from .base.lazy import list_public, publish
from .base.modes import enable_grad, is_grad_enabled, no_grad, options, set_grad_enabled
from .base.numbering import reset
from .base.process import warn_if_free_threaded
from .forward import array_methods, dispatch, operators  # give nodes their methods, NumPy's hooks and their operators
from .nodes.nodes import Constant, Node, Operation, Variable
from .transforms.gradient import elementwise_grad, grad, grad_and_aux, value_and_grad

if TYPE_CHECKING:  # LATER, for editors and checkers of types
    from . import backends, implicit, nn, optim
    from .arrays.devices import Autodiff, to_cpu, to_gpu
    from .backprop.anomaly import detect_anomaly, safe_masking
    from .backprop.checkpointing import checkpoint, checkpointing
    from .backprop.hooks import on_operation
    from .base import errors
    from .base.pytree import tree_flatten, tree_leaves, tree_map, tree_paths, tree_ravel, tree_reduce, tree_unflatten
    from .batching.vmap import vmap
    from .compiler import compile, gc_paused, warm_allocator
    from .extending import ops
    from .extending.custom import primitive, register_rule
    from .extending.function import Function
    from .extending.ops import register_function, register_operation
    from .forward.mixed_precision import GradScaler, autocast
    from .implicit.optima import minimize
    from .nn.live import watch
    from .nn.plots import plot_boundary, plot_loss, plot_sizes, plot_weights
    from .nn.train import fit
    from .nodes.records import scope
    from .parallel.node import data_parallel
    from .pictures import draw, graph, to_dot
    from .pictures.sliders.explore import explore
    from .scipy import integrate, linalg, signal, special, stats
    from .transforms.custom_jvp import custom_jvp
    from .transforms.gradcheck import check, gradcheck
    from .transforms.gradient import Gradients, gradients
    from .transforms.jacobian import hessian, jacfwd, jacobian, jacrev
    from .transforms.vjp_jvp import ggnvp, hvp, jvp, linear_transpose, linearize, multigrad, multigrad_dict, vjp

__version__ = "0.2.0"
LATER = {  # public name -> the module that has it, imported at first use: unused features cost nothing at import
    "Autodiff": "arrays.devices", "Function": "extending.function", "GradScaler": "forward.mixed_precision",
    "Gradients": "transforms.gradient_table", "autocast": "forward.mixed_precision", "check": "transforms.gradcheck",
    "checkpoint": "backprop.checkpointing", "checkpointing": "backprop.checkpointing", "compile": "compiler",
    "custom_jvp": "transforms.custom_jvp", "data_parallel": "parallel.node", "detect_anomaly": "backprop.anomaly",
    "draw": "pictures", "explore": "pictures.sliders.explore", "fit": "train", "gc_paused": "compiler",
    "ggnvp": "transforms.gauss_newton", "gradcheck": "transforms.gradcheck", "gradients": "transforms.gradient_table",
    "graph": "pictures", "hessian": "transforms.jacobian", "hvp": "transforms.vjp_jvp", "implicit": "", "integrate": "",
    "jacfwd": "transforms.jacobian", "jacobian": "transforms.jacobian", "jacrev": "transforms.jacobian",
    "jvp": "transforms.vjp_jvp", "linalg": "", "linear_transpose": "transforms.vjp_jvp",
    "linearize": "transforms.vjp_jvp", "minimize": "implicit.minimizer",
    "multigrad": "transforms.gauss_newton", "multigrad_dict": "transforms.gauss_newton", "nn": "",
    "on_operation": "backprop.hooks", "ops": "", "optim": "", "plot_boundary": "nn.plots", "plot_loss": "nn.plots",
    "plot_sizes": "nn.plots", "plot_weights": "nn.plots", "primitive": "extending.custom", "register_function": "ops",
    "register_operation": "ops", "register_rule": "extending.custom", "safe_masking": "backprop.masking",
    "scope": "nodes.scopes", "signal": "", "special": "", "stats": "", "to_cpu": "arrays.devices", "to_dot": "pictures",
    "to_gpu": "arrays.devices", "tree_flatten": "pytree", "tree_leaves": "pytree", "tree_map": "pytree",
    "tree_paths": "pytree", "tree_ravel": "pytree", "tree_reduce": "pytree", "tree_unflatten": "pytree",
    "vjp": "transforms.vjp_jvp", "vmap": "batching.vmap", "warm_allocator": "compiler", "watch": "nn.watching",
}  # fmt: skip
__all__ = [
    "Autodiff", "Constant", "Function", "GradScaler", "Gradients", "Node", "Operation", "Variable", "array", "autocast",
    "backward", "check", "checkpoint", "checkpointing", "compile", "constant", "custom_jvp", "data_parallel",
    "detect_anomaly", "draw", "elementwise_grad", "empty", "enable_grad", "explore", "fit", "full", "gc_paused",
    "ggnvp", "grad", "grad_and_aux", "gradcheck", "gradients", "graph", "hessian", "hvp", "implicit", "integrate",
    "is_grad_enabled", "jacfwd", "jacobian", "jacrev", "jvp", "linalg", "linear_transpose", "linearize", "minimize",
    "multigrad", "multigrad_dict", "nn", "no_grad", "on_operation", "ones", "ops", "optim", "options", "plot_boundary",
    "plot_loss", "plot_sizes", "plot_weights", "primitive", "register_function", "register_operation", "register_rule",
    "reset", "safe_masking", "scope", "set_grad_enabled", "signal", "special", "stack", "stats", "stop_gradient",
    "to_cpu", "to_dot", "to_gpu", "tree_flatten", "tree_leaves", "tree_map", "tree_paths", "tree_ravel", "tree_reduce",
    "tree_unflatten", "value_and_grad", "variable", "vjp", "vmap", "warm_allocator", "watch", "zeros",
]  # fmt: skip
# Not listed, but found: pickles name them.
IN_PICKLES = {
    "Report": "transforms.gradcheck", "Row": "transforms.gradcheck", "Watched": "nn.watching",
    "_restored": "transforms.gradient_table", "restore": "forward.python_protocols",
}  # fmt: skip
publish(globals(), [name for name in __all__ if name not in LATER])
__dir__ = list_public([*__all__, "__version__", "backends", "errors"])
warn_if_free_threaded()
del array_methods, dispatch, operators, publish, list_public, warn_if_free_threaded


if not TYPE_CHECKING:  # else every name would be one

    def __getattr__(name: str) -> object:
        """``af.draw`` and everything else that is imported at its first use."""
        path = LATER.get(name, IN_PICKLES.get(name))
        if path is None:
            raise AttributeError(f"module 'autoflow' has no attribute {name!r}")
        if not path:
            return import_module(f"autoflow.{name}")
        found = getattr(import_module(f"autoflow.{path}"), name)
        found.__module__ = "autoflow"
        return found
