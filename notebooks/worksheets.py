"""What is on the worksheet of each lesson: graphs to go back through with a pencil, and questions with short answers.

One function for each lesson, by the name of its notebook without the number. It returns the outputs of graphs, whose
pictures are printed with blanks, and pairs (question, answer). Numbers in answers are computed here, not copied.
``handouts.py`` makes the sheets; a lesson without a function gets a sheet of its exercises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import autoflow as af

Sheet = tuple[list[Any], list[tuple[str, str]]]  # graphs, questions with answers


def number(x: Any) -> str:
    """A number as one writes it on paper: three digits, and a minus sign that can be seen."""
    text = f"{float(x) + 0.0:.3g}"
    return (f"{float(x):.1e}" if "e" in text else text).replace("-", "−")


def variables(**values: Any) -> list[Any]:
    """Variables of these names."""
    return [af.Variable(value, name=name) for name, value in values.items()]


def name(**nodes: Any) -> None:
    """Give results these names, for the picture."""
    for text, node in nodes.items():
        node.name = text


def backprop_by_hand() -> Sheet:
    x, y = variables(x=2.0, y=3.0)
    a = x * y
    b = a + x
    loss = b**2
    name(a=a, b=b, L=loss)
    loss.backward()
    by_product, by_sum = float(b.grad) * 3, float(b.grad)
    return [loss], [
        ("x is used twice. What arrives at x along each of the two arrows, and what is ∂L/∂x?",
         f"Through the product {number(by_product)}, through the sum {number(by_sum)}; together {number(x.grad)}."),
        ("Now forwards: x moves at speed 1, y stands still. At which speeds move a = x·y, b = a + x and L = b²?",
         f"3, 4 and 2b · 4 = {number(x.grad)}: the same number as on the way back."),
        ("How many passes give all derivatives of one output by 1,000 inputs: forwards? Backwards?", "1,000; one."),
        ("A weight is w = 0.5, its gradient is −4, the learning rate is 0.1. What is w after one step of gradient "
         "descent?", f"0.5 − 0.1 · (−4) = {number(0.5 + 0.4)}."),
    ]  # fmt: skip


def micro_engine() -> Sheet:
    (x,) = variables(x=3.0)
    a = x * x
    out = a + a * x
    name(a=a, out=out)
    out.backward()
    queue = 2 * 3.0 + 9.0  # a sends after the first contribution, 1; the product sends a = 9 to x
    return [out], [
        ("How often is x used, how often a?", "x three times (twice in x·x, once in a·x), a twice."),
        ("In which order may the three operations send, so that each has heard from everyone who uses it?",
         "The sum, then a·x, then a."),
        ("A queue that lets each node send once, a before a·x: which wrong gradient of x does it give?",
         f"1 · 2x from a, too early, and a from the product: {number(queue)} instead of {number(x.grad)}."),
        ("`backward` is called twice, and x.grad is not set to zero between. What is in x.grad?",
         f"{number(2 * x.grad)}: gradients of Variables add up."),
    ]  # fmt: skip


def graph_and_pictures() -> Sheet:
    x, y = variables(x=4.0, y=3.0)
    z = x * y - x
    name(z=z)
    z.backward()
    return [z], [
        ("How many paths lead from x to z? Write down the product of the local derivatives along each.",
         f"Two: through the product 1 · y = 3, through the difference −1. Their sum is ∂z/∂x = {number(x.grad)}."),
        ("`y = x * x if x > 0 else -x` runs at x = −3. Which operations are in the graph, and what is dy/dx?",
         "Only the minus sign, with the derivative −1. A graph is of what was computed, not of the source."),
        ("Which of these remember how they were computed: a Variable, a Constant, an Operation?",
         "Only the Operation. A Variable gets a gradient; a Constant gets none."),
    ]  # fmt: skip


def broadcasting_backwards() -> Sheet:
    table, row = variables(table=np.array([[1.0, 0.0, 2.0], [3.0, 1.0, 0.0]]), row=np.array([1.0, 2.0, 3.0]))
    total = np.sum(table * row)
    name(total=total)
    total.backward()
    return [total], [
        ("How often is each number of the row used? So what is the gradient of the row?",
         f"Twice, once for each row of the table: {row.grad.astype(int).tolist()}, the sums of the columns."),
        ("u has the shape (4, 1), v the shape (1, 5). Which shape has u − v, and over which axis is the gradient of u "
         "summed? That of v?", "(4, 5); axis 1 for u, axis 0 for v."),
        ("A bias of shape (10,) is added to an array of shape (32, 10), and all that comes back is 1. What is each "
         "number in the gradient of the bias?", "32."),
        ("y has the shape (8, 1), t the shape (8,). Which shape has y − t? What was probably meant?",
         "(8, 8). The shape (8,): `y[:, 0] − t`."),
    ]  # fmt: skip


def derivatives_of_derivatives() -> Sheet:
    (x,) = variables(x=2.0)
    z = x**3 + 2 * x
    name(z=z)
    z.backward()
    first = [af.grad(lambda x: x**3), af.grad(af.grad(lambda x: x**3)), af.grad(af.grad(af.grad(lambda x: x**3)))]
    root = [1.0]
    for _ in range(2):
        root.append(root[-1] - (root[-1] ** 2 - 2) / (2 * root[-1]))
    bent = af.hessian(lambda p: p[0] ** 2 * p[1])(np.array([1.0, 2.0]))
    return [z], [
        ("The first three derivatives of x³ at x = 2?", ", ".join([number(f(2.0)) for f in first]) + "."),
        ("Newton's method for the zero of x² − 2, from x = 1: the next two values of x?",
         f"{number(root[1])}, {root[2]:.4f}."),
        ("The Hessian of f(a, b) = a² b at a = 1, b = 2?", f"{bent.astype(int).tolist()}. It is symmetric."),
        ("A function of 1,000 numbers: how many numbers has its Hessian? How many its product with one vector?",
         "A million; 1,000."),
    ]  # fmt: skip


def your_own_rules() -> Sheet:
    (x,) = variables(x=0.0)
    z = np.log(1 + np.exp(x))
    name(z=z)
    z.backward()
    return [z], [
        ("The same at x = 1000: what do exp, the sum and the logarithm give in floating point? What is right?",
         "inf, inf, inf; the value is 1000, the derivative 1."),
        ("The rule of the cube, as a function of g (what has arrived) and x?", "`lambda g, x: g * 3 * x**2`"),
        ("x solves x³ + a x = 1. Differentiate the equation: what is dx/da?", "−x / (3x² + a)."),
        ("A hook on a node that is used twice: how often is it called in one backward pass?",
         "Once, with the sum of what has arrived."),
    ]  # fmt: skip


def digits() -> Sheet:
    w, b = variables(w=np.array([1.0, -2.0, 4.0]), b=0.5)
    x = af.Constant(np.array([0.0, 1.0, 0.5]), name="pixels")
    loss = (np.sum(w * x) + b - 1.0) ** 2
    name(loss=loss)
    loss.backward()
    return [loss], [
        ("One pixel is 0. What is the gradient of its weight, and why?",
         f"{number(w.grad[0])}: a weight that is multiplied by 0 changes nothing."),
        ("A network with 64 inputs, 32 hidden units and 10 outputs, with biases: how many parameters?",
         f"64 · 32 + 32 + 32 · 10 + 10 = {64 * 32 + 32 + 32 * 10 + 10:,}."),
        ("Softmax gives (0.7, 0.2, 0.1), and the first class is right. What is the loss −log p? What is its gradient "
         "by the scores?", f"{number(-np.log(0.7))}; p minus the right answer: (−0.3, 0.2, 0.1)."),
        ("All weights begin at the same number. What do the hidden units learn?",
         "All the same: they get the same gradients."),
    ]  # fmt: skip


def vanishing_and_exploding() -> Sheet:
    w, x = variables(w=0.5, x=1.0)
    z = w * (w * (w * x))
    name(z=z)
    z.backward()
    return [z], [
        ("With thirty factors instead of three: what is ∂z/∂x for w = 0.5? For w = 0.9? For w = 1.1?",
         f"{number(0.5**30)}, {number(0.9**30)}, {number(1.1**30)}."),
        ("What is the largest derivative of the sigmoid, and its 30th power?", f"0.25 at 0; {number(0.25**30)}."),
        ("A layer has 256 inputs, and weights of variance 1/n. What is their standard deviation?",
         f"1/√256 = {1 / 16:.4f}."),
        ("Why does x + f(x) help, where f(x) alone vanishes?", "Its local derivative is 1 + f′(x): the 1 stays."),
    ]  # fmt: skip


def characters_with_an_rnn() -> Sheet:
    w, start = variables(w=0.5, start=1.0)
    first = w * start + 1.0
    memory = w * first + 2.0
    name(first=first, memory=memory)
    memory.backward()
    return [memory], [
        ("The weight w is used in both steps. What does each contribute to its gradient?",
         f"The second step 1.5 (the memory before it), the first 0.5 · 1; together {number(w.grad)}. This sum over the "
         "steps is backpropagation through time."),
        ("After 20 steps, what has become of ∂(memory)/∂(start)?", f"0.5 to the power of 20: {number(0.5**20)}."),
        ("A reader knows nothing but that there are 27 characters. How many bits does each one carry? And if the right "
         "one was given the probability ¼?", f"log₂ 27 = {number(np.log2(27))}; 2."),
    ]  # fmt: skip


def convolution_and_attention() -> Sheet:
    (w,) = variables(w=np.array([1.0, -1.0]))
    x = af.Constant(np.array([1.0, 2.0, 4.0, 3.0]), name="x")
    z = np.sum(x[:-1] * w[0] + x[1:] * w[1])
    name(z=z)
    z.backward()
    scores = np.array([np.log(3.0), 0.0])
    weights = np.exp(scores) / np.sum(np.exp(scores))
    return [z], [
        ("The window slides over x. What is the gradient of each of its two weights?",
         f"The sum of what each has met: {number(w.grad[0])} and {number(w.grad[1])}."),
        ("An image of 28 × 28, a window of 5 × 5, no border added: how large is the result?", "24 × 24."),
        ("Eight windows of 3 × 3 over one channel, with biases: how many parameters? How many has a linear layer from "
         "28 × 28 to 26 × 26 × 8, without biases?", f"80; {28 * 28 * 26 * 26 * 8:,}."),
        ("A query has the scores ln 3 and 0 with two keys, whose values are 4 and 8. What are the weights, and what is "
         "the answer?", f"{number(weights[0])} and {number(weights[1])}; {number(weights @ [4.0, 8.0])}."),
    ]  # fmt: skip


def scipy_gaussian_process_and_ode() -> Sheet:
    x, y = variables(x=2.0, y=3.0)
    valley = (1 - x) ** 2 + 100 * (y - x**2) ** 2
    name(valley=valley)
    valley.backward()
    return [valley], [
        ("Which two things does an optimiser such as BFGS ask for at each point?", "The value and the gradient."),
        ("In which direction does a small step of gradient descent go here?",
         f"Against ({number(x.grad)}, {number(y.grad)}): x smaller, y larger."),
        ("y′ = −y, y(0) = 1, with Euler's steps of 0.1: y after one step, and after ten? ∂y₁₀/∂y₀?",
         f"0.9; {number(0.9**10)}; the same {number(0.9**10)}, as each step multiplies by 0.9."),
        ("Far away from all data, what does a Gaussian process know?",
         "Its prior: the error bars are as wide as that."),
    ]  # fmt: skip


def debugging() -> Sheet:
    x, y = variables(x=3.0, y=1.0)
    distance = np.sqrt((x - y) ** 2)
    name(distance=distance)
    distance.backward()
    return [distance], [
        ("The same at x = y = 1: which two local derivatives meet, and what is their product?",
         "1/(2√0) = inf and 2 · 0 = 0; inf · 0 is NaN."),
        ("The slope of x³ at 2 by central differences with h = 0.1? How far is it from 12?",
         f"{(2.1**3 - 1.9**3) / 0.2:.2f}: too much by h² = 0.01."),
        ("w begins at 1, the loss is w², the step is −0.1 · grad. What is in `w.grad` before the second step, with and "
         "without `zero_grad()`?", "w is 0.8 then: 1.6; 2 + 1.6 = 3.6."),
        ("Name three ways in which a gradient gets lost without an error in plain Python.",
         "`float(x)`, `x.value`, a comparison such as `x > 0`; `np.round(x)` has the slope 0."),
    ]  # fmt: skip


def compile() -> Sheet:
    (x,) = variables(x=np.array([1.0, -2.0, 3.0]))
    z = np.sum(x * x + x)
    name(z=z)
    z.backward()
    return [z], [
        ("The gradient of a function of 1,000 numbers: how many evaluations by differences to one side? How many runs, "
         "about, by a backward pass?", "1,001; two to four."),
        ("A step has 60 operations on arrays of 100 numbers. Each costs 1 µs of Python and 0.2 µs of NumPy. Which "
         "share does a compiled program without Python save?",
         f"{100 / 1.2:.0f} %. With 100,000 numbers hardly anything."),
        ("`if loss > 3: x = x / 2` in a function that is compiled: what goes wrong?",
         "A program that was written down takes the way of its first run: so it is refused, or compared at each run."),
    ]  # fmt: skip


def gpu() -> Sheet:
    (w,) = variables(w=np.array([1.0, -1.0]))
    x = af.Constant(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), name="x")
    z = np.sum((x @ w) ** 2)
    name(z=z)
    z.backward()
    return [z], [
        ("An array of 1,000 × 1,000 float32 crosses a bridge of 10 GB/s. How many bytes, how long?", "4 MB; 0.4 ms."),
        ("Which of these make data travel: `x @ w`, `float(loss)`, `print(loss)`, `w.shape`, `np.sum(x)`?",
         "`float(loss)` and `print(loss)`."),
        ("The product of two 1,000 × 1,000 matrices takes 2 · 10⁹ operations. At 10¹³ in a second, how long? Does it "
         "pay to send both there and the result back?", "0.2 ms, and 1.2 ms on the bridge: only if they stay there."),
    ]  # fmt: skip


LESSONS: dict[str, Callable[[], Sheet]] = {
    f.__name__: f
    for f in (
        backprop_by_hand, micro_engine, graph_and_pictures, broadcasting_backwards, derivatives_of_derivatives,
        your_own_rules, digits, vanishing_and_exploding, characters_with_an_rnn, convolution_and_attention,
        scipy_gaussian_process_and_ode, debugging, compile, gpu,
    )
}  # fmt: skip
