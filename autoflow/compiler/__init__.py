"""A recorded function as a program: ``af.compile``. Reading order, which is also the way of a function:

compiler/trace/traced.py         arrays that write down what NumPy does with them (their methods: compiler/trace/traced_methods.py)
compiler/trace/tape.py           from each such call to a value of the program (compiler/trace/kinds.py: of which kind is a function?)
compiler/trace/recorded.py       one call of the function with such arrays, and what can go wrong with it
compiler/trace/guards.py   what the function sees besides its arguments must stay what it was (compiler/trace/reachable.py: how it is found)
program.py        the program as data: values, and how each is computed
simplify.py       which calls can be saved without changing a bit
compiler/passes/batching.py        many small products as one large one
compiler/passes/rematerialise.py          computing once more instead of keeping
compiler/passes/tiling.py         which calls on large arrays can be done block by block
compiler/run/tiles.py          how they are, in threads (and compiler/run/blas.py, whose threads are then in the way)
compiler/run/buffers.py        where results are written (compiler/run/calls.py: by which function, with which arguments)
compiler/run/scalars.py        programs of numbers: two quicker ways
compiled.py       af.compile: signatures, guards, the cache (matching.py: arguments apart, results together)
report.py         what a plan does, as a table and a picture
process.py        two switches of the process: gc_paused, warm_allocator
"""

from ..process import gc_paused, warm_allocator
from .compiled import compile

__all__ = ["compile", "gc_paused", "warm_allocator"]
