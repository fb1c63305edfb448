"""vmap: functions written for one example, run on a batch. Reading order:

definition.py  what af.vmap is: a loop over the examples; how results are compared with it; which axes are mapped
batched.py     arrays that hide their batch axis; their methods and operators, and what makes the run a loop after all
vmap.py        af.vmap itself: opens a layer, runs the function, takes the results out of it
forms.py       what a call is for the whole batch
looping.py     NumPy checks the form on one example; functions without a form are called for each
shapes.py, places.py, products.py   such forms: axes, moving and joining; indices; products
"""
