"""autoflow: NumPy arrays that remember how they were computed."""

from importlib import import_module

from . import fast, methods  # give nodes their operators and methods
from .create import array, constant, empty, full, ones, stack, stop_gradient, variable, zeros
from .modes import enable_grad, is_grad_enabled, no_grad, options, set_grad_enabled
from .nodes import Constant, Node, Operation, Variable
from .numbering import reset
from .passes import backward
from .transforms import elementwise_grad, grad, grad_and_aux, value_and_grad

__version__ = "0.1.0"
LATER = {  # public name -> the module that has it, imported at first use: nobody pays for what he does not need
    "Autodiff": "devices", "Function": "function", "Gradients": "collected", "GradScaler": "precision",
    "autocast": "precision", "check": "verify", "checkpoint": "recompute", "checkpointing": "recompute",
    "compile": "plan", "detect_anomaly": "anomaly", "draw": "pictures", "explore": "pictures.explore", "fit": "train",
    "gc_paused": "plan", "gradcheck": "verify", "gradients": "collected",
    "graph": "pictures", "hessian": "jacobians", "hvp": "products", "jacobian": "jacobians", "jvp": "products",
    "linalg": "", "nn": "", "on_operation": "hooks", "ops": "", "optim": "",
    "plot_boundary": "nn.views", "plot_loss": "nn.views", "plot_sizes": "nn.views", "plot_weights": "nn.views",
    "primitive": "custom",
    "register_function": "ops", "register_operation": "ops", "register_rule": "custom",
    "safe_masking": "masking", "scope": "scopes", "special": "", "stats": "",
    "integrate": "", "signal": "",
    "to_cpu": "devices", "to_dot": "pictures", "to_gpu": "devices", "vjp": "products",
    "warm_allocator": "plan", "watch": "nn.views",
}  # fmt: skip
__all__ = [
    "Constant", "Node", "Operation", "Variable", "array", "backward", "constant", "elementwise_grad", "empty",
    "enable_grad", "full", "grad", "grad_and_aux", "is_grad_enabled", "no_grad", "ones", "options", "reset",
    "set_grad_enabled", "stack", "stop_gradient", "value_and_grad", "variable", "zeros",
    *LATER,
]  # fmt: skip
del fast, methods


def __getattr__(name: str) -> object:
    """``af.draw`` and whatever else is imported when it is first needed."""
    if name not in LATER:
        raise AttributeError(f"module 'autoflow' has no attribute {name!r}")
    if not LATER[name]:
        return import_module(f"autoflow.{name}")
    return getattr(import_module(f"autoflow.{LATER[name]}"), name)
