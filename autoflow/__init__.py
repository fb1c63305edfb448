"""autoflow: NumPy arrays that remember how they were computed."""

from . import fast as fast, methods as methods
from .create import array, empty, full, ones, stack, zeros
from .modes import enable_grad, is_grad_enabled, no_grad, options, set_grad_enabled
from .nodes import Constant, Node, Operation, Variable
from .numbering import reset
from .passes import backward
from .transforms import grad, value_and_grad
