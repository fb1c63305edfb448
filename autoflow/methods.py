"""The array methods and attributes of nodes: each is a function of the table, or classified like one.

Every public name of ``numpy.ndarray`` is in exactly one of these lists, and a test says so. Methods of modules
further up (drawing, compiling, moving to a GPU) are found at the first call, in :data:`LATER`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import NoRuleError
from .nodes import NodeRole, OperationRole, VariableRole, apply, later, value_of
from .rules import RULES
from .rules.indexing import getitem

SAME = "sum transpose_ matrix_".split()  # placeholder

LATER = {
    "backward": "autoflow.passes:backward",
    "zero_grad": "autoflow.passes:zero_grad",
    "__setitem__": "autoflow.inplace:write_item",
}
GETITEM = RULES[getitem]


def found_later(name: str, path: str) -> Any:
    """A method that looks its function up at the first call, and is that function from then on."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        function = later(path)
        setattr(NodeRole, name, function)
        return function(self, *args, **options)

    method.__name__ = name
    return method


def _inplace(name: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        function = later("autoflow.inplace:augmented")(name)
        setattr(NodeRole, f"__i{name}__", function)
        return function(self, other)

    return method


for _name, _path in LATER.items():
    setattr(NodeRole, _name, found_later(_name, _path))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(NodeRole, f"__i{_name}__", _inplace(_name))
VariableRole.assign = found_later("assign", "autoflow.inplace:assign")


def _getitem(x: Any, i: Any) -> Any:
    """``x[i]``, recorded; a view where NumPy gives one."""
    return apply(GETITEM, (x, i))


NodeRole.__getitem__ = _getitem
for _function in (np.sum,):
    setattr(NodeRole, _function.__name__, lambda x, *args, _row=RULES[_function], **options: apply(_row, (x, *args), options))
NodeRole.T = property(lambda self: apply(RULES[np.transpose], (self,)))
NodeRole.mT = property(lambda self: apply(RULES[np.matrix_transpose], (self,)))
NodeRole.reshape = lambda self, *shape, order="C": apply(RULES[np.reshape], (self, shape[0] if len(shape) == 1 else shape, order))
NodeRole.transpose = lambda self, *axes: apply(RULES[np.transpose], (self, (axes[0] if len(axes) == 1 else axes) or None))
NodeRole.__float__ = lambda self: float(value_of(self))
NodeRole.__bool__ = lambda self: bool(value_of(self))
