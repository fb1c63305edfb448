"""Support for the notebooks in ``notebooks/``: right answers, hints, and a progress bar.

A lesson begins with ``check = checker("backprop_by_hand")``, its file's name without the number. Its questions are in
the text file of that name here, so the notebook contains no answer, and a student needs no other file.

:mod:`.checks` reads them and gives verdicts, and :mod:`.exercises` has what a text file cannot say: when two answers
are the same, checks of functions, and wrong functions.
"""

from ..base.lazy import publish
from .checks import Marks, Question, checker, progress

__all__ = ["Marks", "Question", "checker", "progress"]

publish(globals(), __all__)
