"""Backward: the engine visits the records, and each sends gradients to its operands. Reading order:

engine.py         in which order
passes.py         backward(): the seed, the pass, and what it leaves in .grad
opening.py        what happens at one record; saved values, and gradients written over others
hooks.py          your functions, called with gradients on their way
anomaly.py        where the first NaN came from; masks that keep 0 · ∞ out
checkpointing.py  values computed again instead of kept
second_runs.py    is the second run like the first?
"""
