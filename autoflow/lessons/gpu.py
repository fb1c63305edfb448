"""Questions of lesson 21: what has to travel between two memories. They need no GPU."""

from .checks import Question

QUESTIONS = {
    "journeys_of_a_pass": Question(
        0,
        "The sum and its derivatives are computed by the library of the array, where the array is.",
        {1: "The result stays where it is, until you ask for it.", 2: "Value and gradient both stay there."},
    ),
    "lives_there": Question(
        "Remote",
        "A gradient has the shape of its variable, and lives where its variable does.",
        {"ndarray": "That would be a journey."},
    ),
    "journeys_of_training": Question(
        201,
        "In each of the 200 steps one loss comes back, and the parameters once, at the end.",
        {200: "The parameters come back, too.", 1: "Each loss that is printed must come back.", 400: "Count again."},
    ),
    "exercise_1": Question(
        (2, 3),
        "Two arrays travel, each for itself. What is no array stays as it is.",
        {(3, 3): "The 3 is no array: it does not travel.", (1, 3): "Each array is a journey of its own."},
    ),
    "exercise_2": Question(
        (20, 2),
        "Each slow step has two: the noise there, the loss back. The better loop sends all noise at once, and so on.",
        {(10, 2): "The loss comes back in each step, too.", (20, 11): "All losses can come back in one journey."},
    ),
    "exercise_3": Question(
        0, "A derivative is a program like any other: where do its arrays live?", {2: "Nobody asked for a journey."}
    ),
}
