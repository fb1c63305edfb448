"""The examples of the playground: (name, program). The first is shown before Python is there."""

EXAMPLES = [
    (
        "One neuron",
        """\
w = af.Variable(0.5)
b = af.Variable(-0.2)
x, target = 1.5, 1.0

prediction = np.tanh(w * x + b)
loss = (prediction - target) ** 2
""",
    ),
    (
        "Three variables",
        """\
x = af.Variable(3.0)
y = af.Variable(5.0)
z = af.Variable(4.0)

a1 = x + y + z
a2 = x * y * z
out = a1**2 * np.sin(a2) - a1 * np.cos(a2)
""",
    ),
    (
        "A value used twice",
        """\
x = af.Variable(2.0)

a = x * x        # both factors are x: two contributions
b = np.exp(-x)   # and a third way to x
out = a * b
""",
    ),
    (
        "Matrix times vector",
        """\
W = af.Variable([[0.5, -1.0], [2.0, 1.0]])
v = np.array([1.0, 2.0])

h = np.tanh(W @ v)
loss = np.sum(h**2)
""",
    ),
    (
        "A layer with softmax",
        """\
rng = np.random.default_rng(0)
x = rng.normal(size=(8, 3))
labels = rng.integers(0, 4, size=8)
W = af.Variable(rng.normal(size=(3, 4)))
b = af.Variable(np.zeros(4))

with af.scope("layer"):
    scores = x @ W + b
with af.scope("cross entropy"):
    logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    loss = -np.mean(logs[np.arange(8), labels])
""",
    ),
    (
        "Training: fit a line",
        """\
rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, size=50)
y = 3 * x - 1 + 0.1 * rng.normal(size=50)

slope, shift = af.Variable(0.0), af.Variable(0.0)
optimiser = af.optim.SGD([slope, shift], lr=0.3)
for step in range(100):
    loss = np.mean((slope * x + shift - y) ** 2)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if step % 20 == 0:
        print(step, round(float(loss.value), 4))
print("slope", slope.value.round(2), "shift", shift.value.round(2))
loss = np.mean((slope * x + shift - y) ** 2)  # as it is now
""",
    ),
    (
        "Vanishing gradients",
        """\
x = af.Variable(1.0)
h = x
for layer in range(8):
    h = np.tanh(0.7 * h)
out = h
""",
    ),
    (
        "Derivatives of derivatives",
        """\
f = np.sin
print("sin'  (1) =", float(af.grad(f)(1.0)))
print("sin'' (1) =", float(af.grad(af.grad(f))(1.0)))

x = af.Variable(1.0)
out = af.grad(lambda t: t * np.sin(t))(x)
""",
    ),
]
