"""vmap: functions written for one example, run on a batch. Reading order:

definition.py  what af.vmap is: a loop over the examples; and how results are compared with it
batched.py     arrays that hide their batch axis; their methods and operators, and what makes the run a loop after all
vmap.py        af.vmap itself: opens a layer, runs the function, takes the results out of it; axes.py for its arguments
forms.py       what a call is for the whole batch; settling.py asks NumPy whether that is right for one example
looping.py     what has no such form
along_axes.py, moving.py, places.py, products.py   such forms: reductions; moving and joining; indices; products
"""
