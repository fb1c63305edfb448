"""Questions of lesson 6: a network that reads digits."""

import math

from .checks import Question

QUESTIONS = {
    "p_first": Question(
        0.25,
        "exp(0) = 1 and exp(ln 3) = 3. Divide by their sum.",
        {1: "Divide by the sum.", 0.75: "That is the second."},
    ),
    "loss_of_first": Question(
        math.log(4),
        "Take −ln of the probability of the right class.",
        {
            0.25: "That is the probability.",
            2: "That is in bits, with the logarithm to base 2.",
            -math.log(4): "The sign.",
        },
    ),
    "to_right_score": Question(
        -0.75,
        "p minus 1, at the right class.",
        {0.25: "That is p; subtract 1.", 0.75: "A larger score makes it better."},
    ),
    "to_other_score": Question(0.75, "p itself, where the class is not the right one.", {-0.25: "Subtract nothing."}),
    "steps_per_epoch": Question(
        44,
        "Divide the 1,438 images into batches of 32 or a few more.",
        {1438: "That is one image at a time.", 25: "Epochs."},
    ),
    "exercise_1": Question(
        4810,
        "Two matrices, 64 × 64 and 64 × 10, and two rows of biases, 64 and 10.",
        {4736: "The biases are missing.", 4160: "That is the first layer."},
    ),
    "exercise_1_share": Question(
        4160 / 4810, "Divide 64 · 64 + 64 by the number of all parameters.", {650 / 4810: "That is the second layer."}
    ),
    "exercise_2": Question(
        "b2",
        "Multiply back: which of them gets a gradient that is not multiplied by a 0?",
        {
            "W2": "Its gradient is the hidden values times something, and they are tanh(0).",
            "b1": "W2 is 0.",
            "W1": "W2 is 0, so nothing is sent to the hidden layer.",
        },
    ),
    "exercise_3": Question(
        lambda answer: len(answer) == 3 and int(answer[0]) != int(answer[1]) and 0 < float(answer[2]) < 0.6,
        "Go up the gradient of the loss by small steps, until the network reads something else; then stop.",
        [((4, 4, 0.1), "It still reads the same."), ((4, 9, 3.0), "With such a large change nobody could read it.")],
    ),
    "exercise_4": Question(
        lambda path: len(path) == 100 and min(path[50:]) < -0.9 and max(path[50:]) > 0.9,
        "Without zero_grad() w swings between −1 and 1 for ever. Give all 100 values.",
        [([0.8**k for k in range(1, 101)], "That is with zero_grad().")],
    ),
}
