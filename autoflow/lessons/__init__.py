"""What the notebooks of ``notebooks/`` ask: right answers, hints, and a progress bar.

A lesson begins with ``check = checker("backprop_by_hand")``, its file's name without the number. Its questions are in
the module of that name here, so the notebook contains no answer, and a student needs no other file.

:mod:`.checks` compares answers, :mod:`.bars` draws the bar; every other module is a lesson's.
"""

from ..lazy import publish
from .bars import progress
from .checks import Marks, Question, checker

__all__ = ["Marks", "Question", "checker", "progress"]

publish(globals(), __all__)
