"""Forward: NumPy meets a node, the value is computed, the operation is recorded. Reading order:

recording.py        from a call to a node, in general
dispatch.py         NumPy's two hooks
operators.py, array_methods.py, node_methods.py   the operators and methods of nodes
closures.py         the fast path of all this, and the other classes that may answer instead
templates.py        what the functions of the fast path have in common, as text
inplace.py, writing.py   writes, and writes that are cut short
takers.py           who takes a number out of a node
naming.py           what the caller's variables are called; notes on NumPy's errors
mixed_precision.py  af.autocast, and scaled losses
replay.py           a recorded graph, run again with other inputs
"""
