"""A recorded function as a program: ``af.compile``. Reading order, which is also the way of a function:

trace/     from a function to a program
    traced.py          arrays that write down what NumPy does with them (their methods: traced_methods.py; memory.py:
                       who looks at whose memory)
    tape.py            from each such call to a value of the program (kinds.py: of which kind is a function? written.py:
                       the call as data)
    recorded.py        one call of the function with such arrays, and what can go wrong with it
    guards.py          what the function sees besides its arguments must not change (reachable.py finds it)
values.py, program.py  the program as data: values, and how each is computed
simplify.py            which calls can be saved without changing a bit
passes/    from a program to a better one
    batching.py        many small products as one large one
    rematerialise.py   computing once more instead of keeping
    tiling.py          which calls on large arrays can be done block by block
run/       from a program to numbers
    tiles.py           how blocks run, in threads
    buffers.py         where results are written (calls.py: by which function, with which arguments)
    scalars.py         programs of numbers: two quicker ways
    reports.py         warnings and errors of NumPy, the same as from eager code
llvm/      engine="llvm": from a program to loops of our own, as machine code
jax/       engine="jax": from a program to XLA, by the names in jax.numpy
compiled.py            af.compile: guards, the cache (signature.py: which calls share a program; matching.py: takes
                       arguments apart and puts results together)
report.py              what a plan does, as a table and a picture (profile.py: and how long each piece takes)

Two switches of the process, ``gc_paused`` and ``warm_allocator``, are in ``autoflow/base/process.py``.
"""

from ..base.process import gc_paused, warm_allocator
from .compiled import compile

__all__ = ["compile", "gc_paused", "warm_allocator"]
