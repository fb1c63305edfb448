"""Questions of lesson 0: L = ((x + y) · x)² at x = 2, y = 1, and a neuron."""

from .checks import Question

PRODUCT = "In a product, the derivative with respect to one factor is the other factor."
SUM = "Two numbers arrive at x: one from b = a · x, one through a = x + y. Add them."

QUESTIONS = {
    "dL_db": Question(12, "Look at the step L = b²: its local derivative is 2b.", {6: "That is b itself."}),
    "dL_da": Question(
        24,
        f"Look at b = a · x: multiply dL/db by the local derivative of b with respect to a. {PRODUCT}",
        {36: "That goes to x.", 2: "That is the local derivative; what has arrived at b is missing."},
    ),
    "dL_dx": Question(
        60,
        SUM,
        {
            36: "That is the part that comes straight from b.",
            24: "That is the part that comes through a.",
            864: "Where paths meet, contributions are added, not multiplied.",
        },
    ),
    "dL_dy": Question(24, "Look at a = x + y: its local derivatives are 1.", {1: "That is the local derivative."}),
    "speed_of_L": Question(
        84,
        "Then a moves at speed 2. For b = a · x take the speed of each factor times the other factor, and add.",
        {60: "That is with y standing still.", 2: "That is the speed of a."},
    ),
    "dE_dp": Question(
        -2, "Look at E = (p − t)²: its local derivative is 2 (p − t).", {2: "Look at the sign of p − t."}
    ),
    "dE_ds": Question(-2, "Look at p = tanh s: its local derivative is 1 − p².", {2: "The sign is lost."}),
    "dE_dw": Question(
        -4,
        "Look at s = w · u + c: with respect to w its local derivative is u.",
        {-2: "That is what arrives at s; multiply it by u."},
    ),
    "dE_dc": Question(-2, "Look at s = w · u + c: with respect to c its local derivative is 1.", {-4: "That is w's."}),
    "exercise_1": Question(
        (2, 1),
        "From d two numbers go on: 2 · 1 to x and 2 · (−1) to y. At y add what the product sends there.",
        {(2, 3): "At y one contribution is missing: through d.", (2, 5): "d = x − y has −1 for y."},
    ),
    "exercise_2": Question(
        (0.5, -1.5),
        "The local derivatives of x / y are 1/y and −x/y².",
        {(0.5, 1.5): "If y grows, the quotient falls."},
    ),
    "exercise_3": Question(
        3,
        "Count the arrows into x: one from a · x, and one for each factor of x · x.",
        {2: "x is both factors of x · x.", 12: "That is their sum."},
    ),
    "exercise_4": Question(
        2.66e-5,
        "s = 7. Multiply 2 (p − t) = 4 by 1 − p² (which is tiny) and by u = 2.",
        {8: "The local derivative of tanh is 1 only at 0."},
    ),
}
