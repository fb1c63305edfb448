"""Functions of functions: gradients, products with Jacobians, Jacobians, and a check of them all. Reading order:

evaluation.py       one evaluation of a function on leaves of its own
gradient.py         grad and its kin; gradients in a container
vjp_jvp.py          vjp, jvp, hvp, Gauss-Newton products
forward_pass.py     forward mode, by the rows of reverse mode
jacobian.py         whole Jacobians: row by row, all rows at once, or few of them
custom_jvp.py       a derivative that you give in forward mode
gradcheck.py        is it right? compared with differences
shadow.py           numbers that NumPy reads past us
"""
