"""The parts that the rows of ``rules`` are made of. Reading order:

table.py       how a row is written, and run
vjps.py        from a row to derivatives by position; lists given as arrays; functions with several results
shapes.py      shapes and axes, undoing broadcasting; what differs between the versions of NumPy
kernels.py     functions that are there for speed
blocks.py      large arrays in blocks, on several threads
indexing.py    x[i], read and written
parameters.py  how rows of SciPy's functions are written
outside.py     NumPy's functions that have no row, and why
"""
