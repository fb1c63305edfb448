"""engine="jax": a recorded program by its names in jax.numpy, compiled by XLA for CPU, GPU or TPU.

A program is a list of NumPy calls with their arguments as data. Most NumPy functions have a counterpart of the same
name in ``jax.numpy``, so the whole program can be computed by JAX, and XLA makes machine code for the available device.
Derivatives are already in the program: JAX's own are not used. Calls that XLA cannot make (a function without a
counterpart, a result whose shape depends on values) are made by NumPy on the host, among the rest.

    >>> from autoflow.compiler.jax.table import counterpart
    >>> import numpy as np
    >>> counterpart(np.tanh), counterpart(np.linalg.solve)
    ('jax.numpy.tanh', 'jax.numpy.linalg.solve')
    >>> counterpart(np.partition)
    'left to NumPy: the order within the parts is another'

The names are the easy half. The other half is where the same name means something else: dtypes are promoted in another
way, an index that is out of range counts as the last one, a division of integers by zero is not 0, NaN comes where
NumPy raises an error. ``lowering.py`` deals with each of these.

Read in this order:

table.py      function -> its counterpart, or why NumPy keeps it; numbers of 64 bits on their way to NumPy and back
lowering.py   from a program to one function of JAX, value by value; where the same name is not enough
engine.py     JAX itself, imported late, with 64 bits; the plan of a program; arrays of JAX as arguments
"""
