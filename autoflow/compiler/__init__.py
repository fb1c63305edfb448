"""A recorded function as a program: ``af.compile``. Reading order, which is also the path of a function:

trace/     from a function to a program
    traced.py          arrays that write down what NumPy does with them
    doubts.py          what ends a recording, so that eager code decides, and what is refused
    memory.py          who looks at whose memory; each call as data
    tape.py            from each such call to a value of the program
    recorded.py        one call of the function with such arrays, and what can go wrong with it
    guards.py          what the function sees besides its arguments must not change
    reachable.py       finds that: closures, globals, attributes, and the contents of arrays; and what may differ from
                       call to call: generators, and doors to objects that no guard can check
matching.py            the values of a program; takes arguments apart and puts results together
program.py             the program as data, and which calls can be saved without changing a bit
passes.py              from a program to a better one: many small products as one large one, computing once more
                       instead of keeping, and which calls on large arrays can be done block by block
run/       from a program to numbers
    buffers.py         the calls: by which function, and where results are written; NumPy's warnings, as from eager code
    tiles.py           how blocks run, in threads
    scalars.py         programs of numbers run on Python's floats
engine.py              engine="numpy", and what an engine is: ``options`` and ``prepare``
llvm/      engine="llvm": from a program to our own loops, as machine code
jax/       engine="jax": from a program to XLA, by the names in jax.numpy
signature.py           which calls share a program
compiled.py            af.compile: guards, and the cache
report.py              what a plan does and how long each piece takes, as a table and a picture

Two switches of the process, ``gc_paused`` and ``warm_allocator``, are in ``autoflow/base/process.py``.
"""

from ..base.process import gc_paused, warm_allocator
from .compiled import compile

__all__ = ["compile", "gc_paused", "warm_allocator"]
