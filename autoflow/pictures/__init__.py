"""Pictures of graphs: what was computed, and how the gradients flowed back.

Reading order: ``data`` (what a picture knows), ``walk`` and ``gathering`` (from nodes to data), ``local`` (the flow of
gradients); ``views`` (what is drawn of what was recorded: ``merging`` of chains, ``folding`` of boxes, ``repeats``);
then the renderers: ``cards`` (what stands in a node), ``layout`` (where it stands; ``ordering`` in ranks, ``nesting``
of boxes, ``rows`` of what is too wide), ``svg``, ``dot``, ``text``, ``tables``, ``exports``. ``huge`` draws a million
nodes.
Then ``stepping`` (the passes one step at a time), ``html`` with ``pictures/pages/fragment.js`` (the page that replays them),
``toggling`` (boxes that fold on a click), ``png``, ``cell`` (what a notebook shows of a node), ``still`` (where no
scripts run); ``explore`` with ``live`` and ``pictures/sliders/explore.js`` (sliders), ``widget`` (sliders that ask Python).
"""

from .lesson import Product, Step, Stepper, step, steps
from .model.data import Edge, Graph, Operand, Vertex
from .model.numbers import Numbers
from .notebook import node_bundle
from .render.tables import summary
from .walk import draw, graph, to_dot
from .wrong_queue import wrong_queue_steps

__all__ = [
    "Edge", "Graph", "Numbers", "Operand", "Product", "Step", "Stepper", "Vertex", "draw", "graph", "node_bundle",
    "step", "steps", "summary", "to_dot", "wrong_queue_steps",
]  # fmt: skip
