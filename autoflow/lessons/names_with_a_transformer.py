"""Questions of lesson 17: a transformer."""

from .checks import Question

# Names of colours that people gave, and that nobody wants to read in class.
RUDE = ("poo", "shit", "piss", "puke", "vomit", "barf", "booger", "snot", "crap", "bile", "diarr")

QUESTIONS = {
    "numbers_of_attention": Question(
        9408, "Each of the four maps 48 numbers to 48 numbers: 48 · 48 weights and 48 biases.",
        {9216: "The biases are missing.", 7056: "One more stands behind the heads.", 2352: "That is one of four."},
    ),
    "sum_of_first_row": Question(1.0, "A row is a softmax.", {0.0: "It looks at itself."}),
    "entries_of_first_row": Question(
        1, "Which places are not later than the first?", {18: "It may not see the future.", 0: "It looks at itself."}
    ),
    "exercise_1": Question(
        True, "Is there anything in attention that knows where a row stands?", {False: "A mean does not know an order."}
    ),
    "exercise_2": Question(
        (17328, 173_280_000), "Each place looks at each place, in each text.",
        {(912, 91200): "Each place looks at every other one.", (361, 3_610_000): "There are 48 of them."},
    ),
    "exercise_3": Question(
        (0.6579, 0.2368, 0.1053), "e to the power of 2 ln p is p². Then divide by the sum.",
        {(0.25, 0.09, 0.04): "Divide by their sum.", (0.5, 0.3, 0.2): "That is temperature 1."},
    ),
}  # fmt: skip
