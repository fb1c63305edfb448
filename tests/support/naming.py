"""What the program calls nodes, and programs in files."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autoflow.nodes.records import ancestors
from autoflow.program.boxes import Boxes
from autoflow.program.names import Naming


def records_of(*nodes: Any) -> list[Any]:
    """The records and leaves of their graph, in the order in which they were made."""
    found = {id(r): r for node in nodes for r in ancestors(node.grad_fn)}
    return sorted(found.values(), key=lambda r: r.number)


def operations_of(*nodes: Any) -> list[Any]:
    return [r for r in records_of(*nodes) if r.parents]


def naming(*nodes: Any) -> Naming:
    return Naming(records_of(*nodes))


def name_of(x: Any, *roots: Any) -> str | None:
    """What a leaf, a record or a node is called in the graph of the roots."""
    return naming(*roots).name(getattr(x, "grad_fn", None) or x)


def boxes_of(*nodes: Any) -> Boxes:
    return Boxes(naming(*nodes), operations_of(*nodes))


def run_file(file: Path, text: str, **names: Any) -> dict[str, Any]:
    """Write the program into the file, and run it: its names."""
    file.write_text(text)
    exec(compile(text, str(file), "exec"), names)
    return names


@contextmanager
def traced(tracer: Callable[..., Any]) -> Iterator[None]:
    """As a debugger does, or coverage on Python 3.11."""
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)
