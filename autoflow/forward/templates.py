"""Functions of the fast path as text: what several of them do is written once, and put into each.

A call would cost every operation 45 ns, a tenth of its time. So a line ``<record parents | saved | extra>`` of such a
text stands for a part of :data:`PARTS`, in which ``{0}`` is ``parents``. Debuggers, tracebacks and
``inspect.getsource`` show the text with the parts in it.
"""

from __future__ import annotations

import linecache
import re
import textwrap

from ..base.types import AnyFunction, ByName

PARTS = {
    # The record of ``rule``, made now; its place is where the user's program is, ``depth`` frames further out.
    "record": """
        record = Record()
        if switches.source:
            frame = getframe(depth)
            if type(place := frame.f_trace) is Activation:
                record.place = place
                record.last = frame.f_lasti
            else:
                record.place, record.last = enter(frame)
        record.rule = rule
        record.parents = {0}
        record.saved = {1}
        record.number, release = next(NEW)
        record.count = rule.tick()
        if release is not None:
            record.release = release(record.number, record.parents)
        record.extra = {2}
    """,
    # The result z as an array; of a number that is no float64 the array is z.
    "value": """
        if type(z) is not ndarray:
            value = asarray(z)
            if type(z) is not float64:
                z = value
    """,
    # The node that shows this value, with its record.
    "node": """
        node = view(value, Operation)
        if z is value:  # of a number nothing is read from this array
            set_flags(node, False)
        node._value = value
        node._operand = z
        <record {0} | {1} | {2}>
        node._record = record
        return node
    """,
    # Of the operand {0} the number or array {1}, and {2}, to which its gradient flows. {3}: its place.
    "operand": """
        if type({0}) is Operation:
            {1} = {0}._operand
            if not numbers:
                {1} = {0}._value
            {2} = {0}._record
        elif type({0}) is Variable and {0}._live:
            {1} = {0}._value
            if {1}.size >= FROM:
                return general(rule, x, y, compute)
            if numbers and not {1}.ndim and {1}.dtype is DOUBLE:
                {1} = {1}[()]
            {2} = {0}
        elif type({0}) in REALS:
            {1} = {0}
        elif type({0}) is ndarray and {0}.size < FROM:
            {1} = {0}
            plain = {3}
        else:
            return general(rule, x, y, compute)
    """,
}


def written_out(text: str, names: ByName) -> AnyFunction:
    """The function that ``text`` defines among ``names``, the globals of its module.

    >>> import numpy as np
    >>> names = {"np": np, "ndarray": np.ndarray, "asarray": np.asarray, "float64": np.float64, "__file__": "a.py"}
    >>> lines = "def root(x):", "    value = z = np.sqrt(x)", "    <value>", "    return value"
    >>> written_out("\\n".join(lines), names)(4.0)
    array(2.)
    """

    def fill(line: re.Match[str]) -> str:
        part = textwrap.dedent(PARTS[line[2]]).strip("\n").format(*line[3].split(" | "))
        return textwrap.indent(part, line[1])

    text = textwrap.dedent(text)
    while (filled := re.sub(r"^( *)<(\w+) ?(.*)>$", fill, text, flags=re.MULTILINE)) != text:
        text = filled
    name = text.split("(")[0].split()[-1]
    file = f"{names['__file__']}: {name}"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)  # noqa: S102 - lines of ours
    return names[name]
