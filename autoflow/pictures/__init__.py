"""Pictures of graphs: what was computed, and how the gradients flowed back.

Reading order: ``data`` (what a picture knows), ``walk`` (from nodes to data), ``local`` (the flow of gradients), then
the renderers: ``cards`` (what stands in a node), ``layout`` (where it stands), ``svg``, ``dot``, ``text``, ``exports``.
"""

from .data import Edge, Graph, Operand, Vertex
from .numbers import Numbers
from .cell import node_bundle
from .walk import draw, graph, to_dot

__all__ = ["Edge", "Graph", "Numbers", "Operand", "Vertex", "draw", "graph", "to_dot"]
