"""naive"""
import numpy as np
from .program import *
class Plan:
    def __init__(self, program):
        self.p = program; self.order = program.order()
    def run(self, arrays):
        S = {}
        with np.errstate(all="ignore"):
            for v in self.order:
                a = [S[x] for x in v.args]
                S[v] = (arrays[v.options] if v.kind == INPUT else v.sample if v.kind in (CAPTURED, CONSTANT) else
                  v.function(*a) if v.kind in (UFUNC, PRODUCT, VIEW, CALL) else v.function.reduce(a[0], v.options[0], keepdims=v.options[1]) if v.kind == REDUCE else a[0][v.options])
        return [np.array(S[v]) for v in self.p.outputs]
