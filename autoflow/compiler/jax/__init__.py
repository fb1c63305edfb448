"""engine="jax": a recorded program by its names in jax.numpy, compiled by XLA for CPU, GPU or TPU.

A program is a list of NumPy calls with their arguments as data. Most functions of NumPy have a counterpart of the same
name in ``jax.numpy``, so the whole program can be computed by JAX, and XLA makes machine code for the device that is
there. Derivatives are in the program already: JAX's own are not used. What XLA cannot do (a function without a
counterpart, a result whose shape depends on values) is computed by NumPy on the host, in the midst of the rest.

    >>> from autoflow.compiler.jax.table import counterpart
    >>> import numpy as np
    >>> counterpart(np.tanh), counterpart(np.linalg.solve)
    ('jax.numpy.tanh', 'jax.numpy.linalg.solve')
    >>> counterpart(np.partition)
    'left to NumPy: the order within the parts is another'

The names are the easy half. The other half is where the same name means something else: dtypes are promoted in another
way, an index that is out of range counts as the last one, a division of integers by zero is not 0, NaN comes where
NumPy raises an error. ``lowering.py`` has these, each with what it does about it.

Read in this order:

table.py      function -> its counterpart, or why NumPy keeps it; numbers of 64 bits on their way to NumPy and back
lowering.py   from a program to one function of JAX, value by value; where the same name is not enough
engine.py     JAX itself, imported late, with 64 bits; the plan of a program; arrays of JAX as arguments
"""
