"""Pictures of graphs: what was computed, and how the gradients flowed back.

Reading order:

    model/      what a picture knows: data; gathering from nodes to data; flow of gradients; names, also those of the
                callers' variables; functions with several results, products with ones; steps of the two passes
    walk.py     node.graph() and its arguments
    folding/    which part of the record is drawn: views; results: a card for several; merging of chains; choose which
                boxes to fold; repeats; sections of what has no parts; huge graphs of a million nodes
    layout/     arrange: positions; ordering in ranks; nesting of boxes; turning of boxes that are read downwards; rows
                for wide pictures; scoring: how well a layout reads
    render/     cards: the contents of a node; placing and directions: which layout is drawn; svg, dot, text,
                text_formats, tables; shapes: our SVG read again by png and tikz
    pages/      html with fragment.js: the page that replays the steps; predict.js: it asks before it shows; stepper;
                toggling: boxes that fold on a click; still: where no scripts run; frames and films: GIF, MP4; exports:
                files
    formulas/   LaTeX of nodes and derivatives, and the chain rule written out
    sliders/    explore with live, explore.js, plots.js, controls.js; javascript: rows traced to it; widget: sliders
                that ask Python

``lesson`` steps through the passes, ``quizzes`` asks for them, ``wrong_queue`` through wrong ones; ``summaries`` are
tables of networks; ``notebook`` is how a cell shows a node; ``facade`` has the class that users see: Graph.
"""

from ..base.lazy import publish
from .model.data import Edge, Fold, Frame, Look, Numbers, Operand, Several, Vertex
from .model.steps import Product, Step
from .pages.stepper import Stepper
from .quizzes import Quiz, quiz, step, steps, wrong_queue_steps
from .summaries import Line, Summary, summary
from .walk import Graph, draw, graph, node_bundle, to_dot

__all__ = [
    "Edge", "Fold", "Frame", "Graph", "Line", "Look", "Numbers", "Operand", "Product", "Quiz", "Several", "Step",
    "Stepper", "Summary", "Vertex", "draw", "graph", "node_bundle", "quiz", "step", "steps", "summary", "to_dot",
    "wrong_queue_steps",
]  # fmt: skip
publish(globals(), __all__)
