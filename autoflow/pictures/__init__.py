"""Pictures of graphs: what was computed, and how the gradients flowed back.

Reading order: ``model`` (what a picture knows: ``data``, and ``gathering`` from nodes to data, ``flow`` of gradients,
``names`` and the ``callers`` who gave them) and ``walk``; ``folding`` (what is drawn of what was recorded: ``views``,
``merging`` of chains, ``choose`` which boxes to fold, ``repeats``; ``huge`` draws a million nodes); ``layout``
(``arrange``: where things stand; ``ordering`` in ranks, ``nesting`` of boxes, ``turning`` of those that one reads
downwards, ``rows`` of what is too wide, ``scoring``: how well it reads); ``render`` (``cards``: what stands in a node;
``placing`` and ``directions``: which layout is drawn; ``svg``, ``dot``, ``text``, ``text_formats``, ``tables``,
``shapes``: our SVG read again by ``png`` and ``tikz``). Then ``model.steps`` and ``lesson`` (the passes one step at a
time), ``quizzes`` (the same as questions), ``wrong_queue``; ``summaries`` of networks; ``pages`` (``html`` with
``fragment.js``: the page that replays the steps; ``predict.js``: it asks before it shows; ``stepper``; ``toggling``:
boxes that fold on a click; ``still``: where no scripts run; ``frames`` and ``films``: GIF, MP4; ``exports``: files);
``notebook`` (what a cell shows of a node); ``formulas``; ``sliders`` (``explore`` with ``live``, ``explore.js``,
``plots.js``, ``controls.js``; ``widget``: sliders that ask Python). ``facade`` is the class that users have of all
this: Graph.
"""

from ..lazy import publish
from .facade import Graph
from .lesson import step, steps
from .model.data import Edge, Fold, Frame, Look, Operand, Vertex
from .model.numbers import Numbers
from .model.steps import Product, Step
from .notebook import node_bundle
from .pages.stepper import Stepper
from .quizzes import Quiz, quiz
from .summaries import Line, Summary, summary
from .walk import draw, graph, to_dot
from .wrong_queue import wrong_queue_steps

__all__ = [
    "Edge", "Fold", "Frame", "Graph", "Line", "Look", "Numbers", "Operand", "Product", "Quiz", "Step", "Stepper",
    "Summary", "Vertex", "draw", "graph", "node_bundle", "quiz", "step", "steps", "summary", "to_dot",
    "wrong_queue_steps",
]  # fmt: skip
publish(globals(), __all__)
