"""vmap: functions written for one example, run on a batch. Reading order:

batched.py     arrays that hide their batch axis
vmap.py        af.vmap itself: opens a layer, runs the function, takes the results out of it
forms.py       what a call is for the whole batch
methods.py     methods and operators of such arrays, and what Python may not ask of them
along_axes.py, moving.py, places.py, products.py   such forms: reductions; moving and joining; indices; products
"""
