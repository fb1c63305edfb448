"""Rules of your own. Reading order:

custom.py    derivatives as formulas: af.primitive, af.register_rule
function.py  af.Function, which remembers things from its forward to its backward
joint.py     derivatives that are computed together, and several results
ops.py       af.ops: operations by name
"""
