"""vmap: functions written for one example, run on a batch. Reading order:

batched.py     arrays that hide their batch axis; their methods and operators, and what Python may not ask of them
vmap.py        af.vmap itself: opens a layer, runs the function, takes the results out of it
forms.py       what a call is for the whole batch
along_axes.py, moving.py, places.py, products.py   such forms: reductions; moving and joining; indices; products
"""
