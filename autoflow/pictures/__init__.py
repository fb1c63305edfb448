"""Pictures of graphs: the computation, and the gradients that flowed back.

Reading order:

    model/        what a picture knows: data; gathering from nodes to data, with the flow of gradients; names, also of
                  functions with several results; steps of the two passes; style: colours, fonts, widths of text
    walk.py       node.graph() and its arguments; Graph, the class that users see; how a notebook shows a node
    folding/      which part of the record is drawn: views, also of huge graphs; results: a card for several; choose
                  which boxes to fold, and sections of what has no parts; repeats, and merging of chains
    layout/       arrange: positions, how well a layout reads, and boxes that are read downwards; layers: ranks, and the
                  order in them; nesting of boxes; rows for wide pictures
    render/       cards: the contents of a node, and the table of a graph; placing: where cards go, in which direction;
                  drawing: the display list, which svg, png (PDF too), tikz and films are written from; dot and the
                  legend; text, JSON, Mermaid
    pages/        html with fragment.js: the page that replays the steps, with boxes that fold on a click; predict.js
                  asks before it shows, zoom.js makes it larger; listing with program.js: the program beside it;
                  stepper, also where no scripts run; frames: GIF, MP4; exports: files
    formulas/     latex of nodes and derivatives, by algebra of terms; sent_back: what the rows of cards say; chain and
                  why: the chain rule written out
    sliders/      explore with live, explore.js, plots.js, controls.js; javascript: rows traced to it; widget: sliders
                  that ask Python
    quizzes.py    node.step(), node.steps(), node.quiz(): the steps of the passes, as questions too; wrong queues
    summaries.py  tables of networks; which lines keep how many bytes for the way back
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
