"""autoflow: NumPy arrays that remember how they were computed."""

import sys
from typing import TYPE_CHECKING

from .arrays import array, constant, empty, full, ones, stack, stop_gradient, variable, zeros
from .backprop.passes import backward
from .base.lazy import LATER, Moved, find_public, list_public, publish
from .base.modes import enable_grad, is_grad_enabled, no_grad, options, set_grad_enabled
from .base.numbering import reset
from .forward import array_methods, dispatch, operators  # give nodes their methods, NumPy's hooks and their operators
from .nodes import numpy_warnings
from .nodes.nodes import Constant, Node, Operation, Variable
from .transforms.gradient import elementwise_grad, grad, grad_and_aux, value_and_grad

if TYPE_CHECKING:  # LATER, for editors and checkers of types
    from . import backends as backends, errors as errors, implicit, nn, ops, optim
    from .arrays import Autodiff, to_cpu, to_gpu
    from .backprop.anomaly import detect_anomaly, safe_masking
    from .backprop.checkpointing import checkpoint, checkpointing
    from .backprop.hooks import on_operation
    from .base.pytree import tree_flatten, tree_leaves, tree_map, tree_paths, tree_ravel, tree_reduce, tree_unflatten
    from .batching.vmap import vmap
    from .compiler import compile, gc_paused, warm_allocator
    from .doctor.training import diagnose
    from .extending.custom import primitive, register_rule
    from .extending.function import Function
    from .extending.ops import register_function, register_operation
    from .forward.mixed_precision import GradScaler, autocast
    from .implicit.optima import minimize
    from .livepage.page import live
    from .nn.live import plot_sizes, watch
    from .nn.plots import plot_boundary, plot_loss, plot_weights
    from .nn.train import fit
    from .nodes.records import scope
    from .parallel.engines import data_parallel
    from .pictures import draw, graph, to_dot
    from .pictures.sliders.explore import explore
    from .program.watch import trace
    from .scipy import integrate, linalg, signal, special, stats
    from .transforms.custom_jvp import custom_jvp
    from .transforms.gradcheck import check, gradcheck
    from .transforms.gradient import Gradients, gradients
    from .transforms.jacobian import hessian, jacfwd, jacobian, jacrev
    from .transforms.vjp_jvp import ggnvp, hvp, jvp, linear_transpose, linearize, multigrad, multigrad_dict, vjp

__version__ = "0.2.0"
__all__ = [
    "Autodiff", "Constant", "Function", "GradScaler", "Gradients", "Node", "Operation", "Variable", "array", "autocast",
    "backward", "check", "checkpoint", "checkpointing", "compile", "constant", "custom_jvp", "data_parallel",
    "detect_anomaly", "diagnose", "draw", "elementwise_grad", "empty", "enable_grad", "explore", "fit", "full",
    "gc_paused", "ggnvp", "grad", "grad_and_aux", "gradcheck", "gradients", "graph", "hessian", "hvp", "implicit",
    "integrate", "is_grad_enabled",
    "jacfwd", "jacobian", "jacrev", "jvp", "linalg", "linear_transpose", "linearize", "live",
    "minimize", "multigrad", "multigrad_dict", "nn", "no_grad", "on_operation", "ones", "ops", "optim", "options",
    "plot_boundary", "plot_loss", "plot_sizes", "plot_weights", "primitive", "register_function", "register_operation",
    "register_rule", "reset", "safe_masking", "scope", "set_grad_enabled", "signal", "special", "stack", "stats",
    "stop_gradient", "to_cpu", "to_dot", "to_gpu", "trace", "tree_flatten", "tree_leaves", "tree_map", "tree_paths",
    "tree_ravel", "tree_reduce", "tree_unflatten", "value_and_grad", "variable", "vjp", "vmap", "warm_allocator",
    "watch", "zeros",
]  # fmt: skip
sys.meta_path.insert(0, Moved)
numpy_warnings.install()
publish(globals(), [name for name in __all__ if name not in LATER])
__dir__ = list_public([*__all__, "__version__", "backends", "errors"])
if "IPython" in sys.modules:
    find_public("load_ipython_extension")()
if sys.version_info >= (3, 12):
    from .transforms import monitoring

    del monitoring
del Moved, array_methods, dispatch, list_public, numpy_warnings, operators, publish, sys

if not TYPE_CHECKING:  # else every name would be one
    __getattr__ = find_public  # ``af.draw`` and everything else that is imported at its first use
