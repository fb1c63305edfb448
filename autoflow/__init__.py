"""autoflow: NumPy arrays that remember how they were computed."""

from importlib import import_module

from . import fast, methods  # give nodes their operators and methods
from .create import array, constant, empty, full, ones, stack, stop_gradient, variable, zeros
from .modes import enable_grad, is_grad_enabled, no_grad, options, set_grad_enabled
from .nodes import Constant, Node, Operation, Variable
from .numbering import reset
from .passes import backward
from .transforms import grad, value_and_grad

__version__ = "0.1.0"
__all__ = [
    "Constant", "Node", "Operation", "Variable", "array", "backward", "constant", "draw", "empty", "enable_grad",
    "full", "grad", "graph", "is_grad_enabled", "no_grad", "ones", "options", "reset", "set_grad_enabled", "stack",
    "stop_gradient", "to_dot", "value_and_grad", "variable", "zeros",
]  # fmt: skip
del fast, methods
LATER = {
    "draw": "pictures",
    "graph": "pictures",
    "to_dot": "pictures",
}  # imported at first use: nobody pays who draws nothing


def __getattr__(name: str) -> object:
    """``af.draw`` and whatever else is needed rarely."""
    if name not in LATER:
        raise AttributeError(f"module 'autoflow' has no attribute {name!r}")
    return getattr(import_module(f"autoflow.{LATER[name]}"), name)
