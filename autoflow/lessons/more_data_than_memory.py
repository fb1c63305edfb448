"""Questions of lesson 19: sums in parts."""

from .checks import Question

QUESTIONS = {
    "mean_of_all": Question(3.0, "Add all four, and divide by 4.", {4.0: "That is the mean of the means."}),
    "mean_of_means": Question(
        4.0, "The means of the parts are 2 and 6.", {3.0: "That is right only if parts are weighed by their rows."}
    ),
    "rows_of_a_part": Question(938, "60,000 / 64, rounded up.", {937: "Some parts have one row more."}),
    "its_hidden_layer": Question(
        0.24, "Rows times 32 times 8 bytes, in millions.", {15.36: "That is all rows at once.", 0.03: "8 bytes each."}
    ),
    "exercise_1": Question(
        {"mse", "sum"}, "Is it a sum over examples, up to a factor?",
        [({"mse", "sum", "variance"}, "The means of the parts differ."), ({"mse"}, "There is another one.")],
    ),
    "exercise_2": Question(4, "Four parts travel together.", {16: "That is with together=1.", 64: "Divide."}),
    "exercise_2_bits": Question(False, "Are the sums made in another order?", {True: "The tree stays the same."}),
    "exercise_3": Question(10, "Follow the weight to the prediction, and back.", {1: "What comes back changes, too."}),
}  # fmt: skip
