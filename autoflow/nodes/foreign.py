"""Libraries for which a node is its numbers, and code that loses a gradient halfway: one table, with the reasons.

Most libraries begin with ``np.asarray``: they have the numbers, and nothing is left to be done. Those below keep the
array that they were given and go on with it, through NumPy's hooks and past them. What they want are numbers (a plot, a
table, an optimum), and a history would only be in their way: kept alive as long as a figure, or joined to rows that
have none. So their calls of NumPy's functions, and of the few methods with which they begin, are answered with plain
arrays. Operators, ``x[0]`` and ``x[1:]`` do not ask who calls: that would cost every user's operation 0.1 µs.

Everything else, SciPy's functions written with NumPy among them, is differentiated as if the user had written it.
"""

from __future__ import annotations

import functools

from ..errors import NoRuleError

# Module or package -> why it gets numbers.
NUMBERS = {
    "matplotlib": "it draws numbers, and a figure would keep the graph alive",
    "mpl_toolkits": "as matplotlib",
    "pandas": "a Series copies, aligns and caches its array, often in C",
    "numpy.ma": "a masked array is an array of another class over the same numbers",
    "numpy.testing": "it compares numbers",
    "scipy.integrate._ivp": "only the starting point would have a history, the steps are written into plain arrays",
    "scipy.optimize": "it iterates in arrays of its own; give it the gradient by jac=af.grad(f)",
}
# Module -> what to use instead: it copies the numbers halfway, so that what it answers would have half a gradient.
HALFWAY = {
    "scipy.special._logsumexp": "use af.special.logsumexp",
}


@functools.cache
def wants_numbers(module: str | None) -> bool:
    """Is the module of that name, or a package that it is in, in one of the tables?

    Who calls is ``sys._getframe(1).f_globals.get("__name__")``; to ask takes 0.1 µs.

    >>> wants_numbers("matplotlib.axes"), wants_numbers("matplot"), wants_numbers("__main__")
    (True, False, False)
    """
    return module is not None and any([f"{module}.".startswith(f"{name}.") for name in (*NUMBERS, *HALFWAY)])


def refuse_halfway(module: str | None, gradient: bool) -> None:
    """Raise NoRuleError in code that would lose a gradient halfway, if there is one to lose."""
    if gradient and module in HALFWAY:
        name = module.replace("._", ".")
        raise NoRuleError(
            f"{name} of a node copies its numbers halfway, so the gradient would be wrong: {HALFWAY[module]}"
        )
