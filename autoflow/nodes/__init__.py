"""Nodes: arrays that remember, the records they point at, and the values kept for derivatives. Reading order:

records.py    what is remembered of an operation, and the scopes that name parts of a computation
nodes.py      Variable, Constant, Operation
coercion.py   what can become a node, and which classes are an exception
grads.py      what is in .grad
versions.py   has a value changed since it was used? And how deep graphs are freed
rebinding.py  w = w - lr * w.grad, and array += node where others hold the array: mistakes that are found
printing.py   how a node prints
"""
