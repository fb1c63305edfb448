"""Questions of lesson 1: an engine of 40 lines."""

from typing import Any

from .checks import Question, same


class Number:
    """Like the lesson's, for functions that go back through numbers."""

    def __init__(self, value: float, parents: Any = (), slopes: Any = ()) -> None:
        self.value, self.parents, self.slopes, self.grad = value, parents, slopes, 0.0


def has_difference_and_quotient(kind: Any) -> bool:
    """Whether a class of numbers knows x − y and x / y, and their slopes."""
    difference, quotient = kind(6.0) - kind(2.0), kind(6.0) / kind(2.0)
    return all(
        [difference.value == 4, quotient.value == 3, same(tuple(difference.slopes), (1.0, -1.0)),
         same(tuple(quotient.slopes), (0.5, -1.5))]
    )  # fmt: skip


def goes_back_twice(backward: Any) -> bool:
    """Whether the second call adds as much as the first one."""
    x = Number(2.0)
    a = Number(4.0, (x, x), (2.0, 2.0))
    product = Number(8.0, (a, x), (2.0, 4.0))
    out = Number(12.0, (a, product), (1.0, 1.0))
    found = []
    for _ in range(2):
        backward(out)
        found.append(x.grad)
    return found == [16.0, 32.0]


class WrongNumber:
    """x / y with a sign forgotten."""

    def __init__(self, value: float, slopes: Any = (1.0, -1.0)) -> None:
        self.value, self.slopes = value, slopes

    def __sub__(self, other: Any) -> Any:
        return WrongNumber(self.value - other.value)

    def __truediv__(self, other: Any) -> Any:
        return WrongNumber(self.value / other.value, (1 / other.value, self.value / other.value**2))


QUESTIONS = {
    "uses_of_x": Question(
        3,
        "Count the arrows that end at x: a = x · x has two of them, a · x has one.",
        {2: "x is both factors of x · x, and that counts twice."},
    ),
    "uses_of_a": Question(2, "a is used in the sum and in the product a · x.", {1: "That is one of them."}),
    "uses_of_product": Question(1, "Where in out = a + a · x is the product used?", {2: "It is used in the sum only."}),
    "sends_first": Question(
        "product",
        "Which of the two has heard from everyone who uses it, once out has sent?",
        {"a": "a still waits for what the product sends."},
    ),
    "calls": Question(
        2**21 - 1,
        "With n steps there are 2^(n + 1) − 1 calls: 63 for 5 steps. Put in n = 20.",
        {2**20: "That is the number of paths; each call counts, also those on the way.", 2**20 - 1: "That is n = 19."},
    ),
    "exercise_1": Question(
        has_difference_and_quotient,
        "x − y has the slopes 1 and −1, x / y has 1/y and −x/y².",
        [(WrongNumber, "If y grows, x / y falls.")],
    ),
    "exercise_2": Question(
        goes_back_twice,
        "It should leave 16 at x after one call and 32 after two: numbers that have parents begin each pass at 0.",
        [(lambda out: None, "Nothing arrives at x.")],
    ),
    "exercise_3": Question(
        6,
        "One arrives along each arrow, and every use is an arrow. Do not forget those that end at a and at a · x.",
        {
            3: "Those arrive at x.",
            5: "That is without the one that arrives at a · x.",
            4: "That is how many numbers there are.",
        },
    ),
    "exercise_4": Question(
        lambda answer: len(answer) == 2 and abs(float(answer[0]) - 1.472) < 0.02 and abs(float(answer[1])) < 0.01,
        "At the end tanh(w) should be 0.9, and c 0. Begin each step with new numbers, or with gradients of 0.",
        [((0.9, 0.0), "0.9 is tanh(w), not w."), ((0.3, 0.5), "That is a start."), ((1.47, 0.5), "Look at c.")],
    ),
}
