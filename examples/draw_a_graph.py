"""The graph of a formula as a picture, graph.svg, with every value and gradient.

Shows names, backward, node.graph() and x.why(z), which writes the chain rule out with its numbers. Saved as
"graph.html" the picture can be stepped through in a browser.
"""

import numpy as np

import autoflow as af

x = af.Variable(2.0, name="x")
y = af.Variable(3.0, name="y")
z = x * y + np.sin(x)
z.backward()

z.graph().save("graph.svg")
print(f"z = {float(z):.6f}, dz/dx = {float(x.grad):.6f}, dz/dy = {float(y.grad):.6f}")
print(x.why(z))
