"""Questions of lesson 7: thirty layers."""

from .checks import Question

QUESTIONS = {
    "slope_of_line": Question(
        0.9**30,
        "Each layer multiplies by w, so there are thirty factors of 0.9.",
        {27: "They are multiplied, not added.", 0.9: "That is one layer."},
    ),
    "forward_factor": Question(
        2.4,
        "The standard deviation of a sum of 64 such products is √64 times that of one.",
        {
            19.2: "Variances add up, not standard deviations: take the root.",
            5.76: "That is the factor of the variance.",
        },
    ),
    "size_for_256": Question(
        1 / 16,
        "The variance should be 1/n. Which standard deviation is that?",
        {1 / 256: "That is the variance; take its root.", 0.125: "That is for 64 inputs."},
    ),
    "exercise_1": Question(
        0.25, "σ (1 − σ) is largest where σ = 1/2.", {0.5: "That is σ itself at 0.", 1: "That is tanh's largest slope."}
    ),
    "exercise_2": Question(
        lambda answer: abs(float(answer[0]) - 1) < 1e-6 and 0 < float(answer[1]) < 0.99,
        "First layer divided by last layer: without activation nothing may change, with tanh something is lost.",
        [((1.0, 1.0), "1 − tanh² is less than 1."), ((0.5, 0.5), "An orthogonal matrix changes no length.")],
    ),
    "exercise_3": Question(
        lambda share: 0.01 < float(share) < 0.5,
        "The standard deviation of after − before, divided by that of before.",
        {1: "So much? Subtract before from after.", 0: "Compare with a network that was not trained."},
    ),
}
