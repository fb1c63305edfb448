"""Everything that can go wrong with a graph, one class per kind.

Each class is an :class:`AutoflowError` and also the built-in exception that a NumPy user would expect, so
``except ValueError`` keeps working. A message says what happened, where, and what to do next. (A misspelled option or a
missing argument is a plain AttributeError or TypeError, as anywhere in Python.)
"""

from .lazy import ERRORS


class AutoflowError(Exception):
    """Base class: ``except AutoflowError`` catches everything below."""


class DataError(AutoflowError, TypeError):
    """These data cannot be a node: text, dates, objects, masked or structured arrays."""


class InputError(AutoflowError, ValueError):
    """A shape, label or number that a layer or loss cannot take."""


class StateError(AutoflowError, ValueError):
    """A saved state does not fit (entries are missing, too many, or of another shape or dtype), a file is damaged, or
    two entries would have one name."""


class LostGradientError(AutoflowError, TypeError):
    """A result has left the graph, so no gradient can flow back through it."""


class NoRuleError(AutoflowError, TypeError):
    """A function, method or keyword whose derivative is not in the table of rules."""


class InPlaceError(AutoflowError, ValueError):
    """A write that would change a value behind the graph's back."""


class StaleValueError(AutoflowError, RuntimeError):
    """A derivative needs a value that has been overwritten since it was used."""


class SeedError(AutoflowError, ValueError):
    """The seed of a backward pass is missing or does not fit its root."""


class GradientShapeError(AutoflowError, ValueError):
    """A rule returned a gradient whose number or shape is not that of the operands."""


class MixedArraysError(AutoflowError, TypeError):
    """Arrays of two libraries (NumPy on the host, CuPy on a GPU) met in one operation, or a node met an object of a
    class with arithmetic of its own, such as a Quantity, and one of them would have lost what it has besides its
    numbers."""


class GradcheckError(AutoflowError, AssertionError):
    """A derivative disagrees with finite differences."""


class AnomalyError(AutoflowError, FloatingPointError):
    """Under anomaly mode: a value or a gradient became NaN or infinite."""


class BatchError(AutoflowError, TypeError):
    """What ``af.vmap`` cannot do: stack results of different shapes or dtypes, ask an empty batch for an example, or,
    with ``loop="refuse"``, answer for all examples what only one can."""


class ConvergenceError(AutoflowError, RuntimeError):
    """A solver has stopped at a point that is not a solution: the message gives the residual."""


class CompileError(AutoflowError, TypeError):
    """A function that cannot be compiled: its program would depend on values that are not known yet."""


class LoopWarning(UserWarning):
    """``af.vmap`` calls a function, or one inside it, once for each example: the text says why, and at which line."""


class UnprovedWarning(UserWarning):
    """Numbers may have left the graph: the function could not be run a second time to find out."""


LOST = (
    "The usual causes: x.value, float(x), np.asarray(x), plain[i] = x, np.array([x, x]); Constants, frozen Variables, "
    "af.no_grad(); steps (argmax, comparisons). Compute with NumPy's functions on nodes, af.array and af.zeros."
)
"""What a user reads when a gradient got lost: shared by every LostGradientError."""


def lost(what: str, cause: str = "") -> LostGradientError:
    """A LostGradientError with its cause; if that is not known, it lists the usual ones."""
    return LostGradientError(f"{what}: {cause}" if cause else f"{what}\n{LOST}")


for _error in (AutoflowError, *AutoflowError.__subclasses__(), LoopWarning, UnprovedWarning):
    _error.__module__ = ERRORS
del _error
