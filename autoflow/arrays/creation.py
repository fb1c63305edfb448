"""Arrays that can be written into and recorded: what ``np.zeros`` and ``np.array`` are for plain numbers."""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np

from ..nodes.coercion import holds_node
from ..nodes.nodes import Constant, Node, NodeRole, Variable, constant_from
from ..table.shapes import join_list

T = TypeVar("T")


def variable(
    value: Any, name: str | None = None, *, dtype: Any = None, copy: bool = True, requires_grad: bool = True
) -> Variable:
    """The same as :class:`autoflow.Variable`.

    >>> import autoflow as af
    >>> af.variable(2, name="x")
    2.0  Variable x
    """
    return Variable(value, name, dtype=dtype, copy=copy, requires_grad=requires_grad)


def constant(value: Any, name: str | None = None, *, dtype: Any = None, copy: bool = True) -> Constant:
    """The same as :class:`autoflow.Constant`.

    >>> import autoflow as af
    >>> af.constant(2, name="c")
    2  Constant c int64
    """
    return Constant(value, name, dtype=dtype, copy=copy)


@overload
def stop_gradient(x: Node) -> Constant: ...
@overload
def stop_gradient(x: T) -> T: ...
def stop_gradient(x: Any) -> Any:
    """``x`` as a read-only Constant on the same memory; anything else is returned unchanged.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> (x * af.stop_gradient(x)).backward()
    >>> x.grad
    array(3.)
    """
    return x.detach() if isinstance(x, NodeRole) else x


def array(data: Any, dtype: Any = None) -> Node:
    """``np.array(data)`` that keeps the nodes in nested lists connected.

    Returns an Operation if there is a node with history in ``data``, else a Constant.

    >>> import autoflow as af
    >>> x, y = af.Variable(1.0), af.Variable(2.0)
    >>> af.array([[x, y], [y, 0.0]]).shape
    (2, 2)
    """
    if isinstance(data, NodeRole):
        return data.copy() if dtype is None else data.astype(dtype)  # type: ignore[attr-defined]
    if not holds_node(data):
        return Constant(data, dtype=dtype)
    made: Any = join_list(data)
    return made if dtype is None else made.astype(dtype)


def zeros(shape: Any, dtype: Any = float) -> Node:
    """Zeros to be filled: a Constant, which becomes an Operation once a node is written into it.

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> a = af.zeros(2)
    >>> a[0] = x * x
    >>> a.sum().backward()
    >>> x.grad
    array(6.)
    """
    return constant_from(np.zeros(shape, dtype))


def ones(shape: Any, dtype: Any = float) -> Node:
    """Ones to be written into, as :func:`zeros`.

    >>> import autoflow as af
    >>> af.ones(2)
    [1., 1.]  Constant const_0
    """
    return constant_from(np.ones(shape, dtype))


def empty(shape: Any, dtype: Any = float) -> Node:
    """An array to be filled completely, as :func:`zeros`; at first it holds whatever was in memory.

    >>> import autoflow as af
    >>> a = af.empty((2, 3))
    >>> a[...] = af.Variable(1.0)
    >>> type(a).__name__, a.shape
    ('Operation', (2, 3))
    """
    return constant_from(np.empty(shape, dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Node:
    """An array of one value, which may be a node.

    >>> import autoflow as af
    >>> af.full((2,), 0.5)
    [0.5, 0.5]  Constant const_0
    """
    if holds_node(fill_value):
        made: Any = np.broadcast_to(fill_value, shape).copy()
        return made if dtype is None else made.astype(dtype)
    return constant_from(np.full(shape, fill_value, dtype))


def stack(arrays: Any, axis: int = 0) -> Node:
    """``np.stack`` that also takes numbers.

    >>> import autoflow as af
    >>> af.stack([af.Variable(1.0), 2.0])
    [1., 2.]  Operation stack_0 = stack(var_0, const_0)
    """
    nodes: list[Any] = [a if isinstance(a, NodeRole) else Constant(a) for a in arrays]
    made: Any = np.stack(nodes, axis=axis)
    return made
