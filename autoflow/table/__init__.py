"""What the rows of ``rules`` are made of.

:mod:`.table`, how a row is written and run; :mod:`.vjps`, derivatives by position, lists in place of arrays, functions
with several results; :mod:`.shapes`, shapes, axes, and what differs between versions of NumPy; :mod:`.kernels`,
functions that are there for speed; :mod:`.indexing`, ``x[i]``; :mod:`.parameters`, how rows of SciPy are written;
:mod:`.outside`, NumPy's functions that have no row, and why.
"""
