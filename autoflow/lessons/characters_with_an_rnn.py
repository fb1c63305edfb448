"""Questions of lesson 8: a network that writes."""

from .checks import Question

QUESTIONS = {
    "bits_of_one_in_eight": Question(
        3,
        "−log₂(1/8): how many times must 8 be halved to get 1?",
        {8: "That is 1/p.", 0.125: "That is p.", 2.0794: "Take the logarithm to base 2."},
    ),
    "numbers_in_U": Question(
        4096, "h has 64 numbers, and so has h U.", {64: "It is a matrix.", 2880: "That is W, 45 × 64."}
    ),
    "contributions_to_U": Question(
        40,
        "U is used once for each character that is read; each use sends something back.",
        {1: "There is one U, but it is used again and again.", 39: "Also the first step multiplies, if only zeros."},
    ),
    "exercise_1": Question(
        lambda text: isinstance(text, str) and text.startswith("Zebras are ") and len(text) == 51,
        'It begins with "Zebras are ", and 40 characters follow.',
        [("Zebras are ", "Nothing was written."), ("Zebras are striped horses.", "You wrote that yourself.")],
    ),
    "exercise_2": Question(
        2.729,
        "The mean of −log₂ of the share that the next character has among those that follow this one.",
        {4.49: "That is with frequencies alone.", 1.892: "That is in nats."},
    ),
    "exercise_3": Question(
        lambda bits: 1.8 < float(bits) < 4.49,
        "It knows one character, so it can come near the reader of exercise 2, and not below.",
        {0.5: "So it still remembers something.", 5.49: "It has not learned anything yet."},
    ),
    "exercise_4": Question(
        True, "gradcheck says True, or raises an error that says what differs.", {False: "Try again."}
    ),
}
