"""Functions of functions: gradients, products with Jacobians, Jacobians, and a check of them all."""
