"""engine="llvm": from a recorded program to our own loops.

Between two NumPy calls lies Python, and between two passes over an array lies memory. A loop that does everything at
once needs neither. Here is a program of four calls,

    >>> import numpy as np
    >>> from autoflow.compiler.program import Program
    >>> program = Program()
    >>> x, w = program.input(np.ones(19)), program.input(np.ones(19))
    >>> y = program.ufunc(np.multiply, (x, w))
    >>> z = program.ufunc(np.square, (program.ufunc(np.add, (y, program.constant(1.0))),))
    >>> program.outputs = [program.reduce(np.add, z, None, False)]

and the one loop that it becomes. Only the sum is written; y and z never leave the processor's registers.

    >>> from autoflow.compiler.llvm.schedule import Kernels
    >>> members = [v for v in program.order() if v.args]
    >>> schedule = Kernels(members, program.outputs)
    >>> [what for _, _, what in schedule.calls]
    ['multiply add square add.reduce']

As LLVM's text: a loop over vectors of eight numbers, which adds up eight sums, then a loop over the three numbers that
are left. Every name is given once; a *phi* is what changes from round to round (``functions.py``). A part of it:

    >>> text = next(iter(schedule.kernels))
    >>> print("\\n".join(text.splitlines()[4:17]))
      %i1 = phi i64 [0, %entry], [%i1.next, %loop1]
      %v2 = phi <8 x double> [splat (double 0x0000000000000000), %entry], [%v12, %loop1]
      %v3 = mul i64 %i1, 8
      %v4 = getelementptr i8, ptr %p0, i64 %v3
      %v5 = load <8 x double>, ptr %v4, align 1
      %v6 = mul i64 %i1, 8
      %v7 = getelementptr i8, ptr %p1, i64 %v6
      %v8 = load <8 x double>, ptr %v7, align 1
      %v9 = fmul <8 x double> %v5, %v8
      %v10 = fadd <8 x double> %v9, splat (double 0x3FF0000000000000)
      %v11 = fmul <8 x double> %v10, %v10
      %v12 = fadd <8 x double> %v2, %v11
      %i1.next = add i64 %i1, 8

This is right if a row of ``words.py`` gives NumPy's bits, ``loops.py`` knows where an element lies, and ``schedule.py``
computes operands before results. Each of the three can be read by itself.

Read in this order:

functions.py   how LLVM's text is written; exp, log, tanh, sin and cos, without a branch, eight at a time
words.py       one row for each elementwise NumPy function; what a value of the program is for one element
loops.py       one loop, and the reductions that end it; where values lie: views are offsets and strides
products.py    products of small matrices, and sums of them: convolutions
triangles.py   triangular systems and Cholesky's factor
systems.py     systems of linear equations that share their factors
schedule.py    which values share a loop, and in which order loops run
native.py      what becomes loops, and what stays a NumPy call; the loops as one function
engine.py      LLVM itself, by llvmlite; machine code kept on disk; what the user chooses
"""
