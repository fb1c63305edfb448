"""autoflow: NumPy arrays that remember how they were computed."""

from importlib import import_module

from .arrays.creation import array, constant, empty, full, ones, stack, stop_gradient, variable, zeros
from .backprop.passes import backward
from .forward import array_methods, dispatch, operators  # give nodes their methods, NumPy's hooks and their operators
from .lazy import list_public, publish
from .modes import enable_grad, is_grad_enabled, no_grad, options, set_grad_enabled
from .nodes.nodes import Constant, Node, Operation, Variable
from .numbering import reset
from .threads import warn_if_free_threaded
from .transforms.gradient import elementwise_grad, grad, grad_and_aux, value_and_grad

__version__ = "0.2.0"
LATER = {  # public name -> the module that has it, imported at first use: unused features cost nothing at import
    "Autodiff": "arrays.devices", "Function": "extending.function", "Gradients": "transforms.gradient_table",
    "GradScaler": "forward.mixed_precision", "autocast": "forward.mixed_precision", "check": "transforms.gradcheck",
    "checkpoint": "backprop.checkpointing", "checkpointing": "backprop.checkpointing", "compile": "compiler",
    "detect_anomaly": "backprop.anomaly", "draw": "pictures", "explore": "pictures.sliders.explore", "fit": "train",
    "gc_paused": "compiler", "gradcheck": "transforms.gradcheck", "gradients": "transforms.gradient_table",
    "graph": "pictures", "hessian": "transforms.jacobian", "hvp": "transforms.vjp_jvp",
    "jacobian": "transforms.jacobian", "jvp": "transforms.vjp_jvp", "linalg": "", "nn": "",
    "on_operation": "backprop.hooks", "ops": "", "optim": "", "plot_boundary": "nn.plots", "plot_loss": "nn.plots",
    "plot_sizes": "nn.plots", "plot_weights": "nn.plots", "primitive": "extending.custom", "register_function": "ops",
    "register_operation": "ops", "register_rule": "extending.custom", "safe_masking": "backprop.masking",
    "scope": "nodes.scopes", "special": "", "stats": "", "integrate": "", "signal": "", "to_cpu": "arrays.devices",
    "to_dot": "pictures", "to_gpu": "arrays.devices", "vjp": "transforms.vjp_jvp", "warm_allocator": "compiler",
    "watch": "nn.plots",
}  # fmt: skip
__all__ = [
    "Constant", "Node", "Operation", "Variable", "array", "backward", "constant", "elementwise_grad", "empty",
    "enable_grad", "full", "grad", "grad_and_aux", "is_grad_enabled", "no_grad", "ones", "options", "reset",
    "set_grad_enabled", "stack", "stop_gradient", "value_and_grad", "variable", "zeros",
    *LATER,
]  # fmt: skip
# Not listed, but found: pickles name them.
IN_PICKLES = {
    "Report": "transforms.gradcheck", "Row": "transforms.gradcheck", "Watched": "nn.plots",
    "_restored": "transforms.gradient_table", "restore": "forward.python_protocols",
}  # fmt: skip
publish(globals(), [name for name in __all__ if name not in LATER])
__dir__ = list_public([*__all__, "__version__", "backends", "errors"])
warn_if_free_threaded()
del array_methods, dispatch, operators, publish, list_public, warn_if_free_threaded


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
